/* testing.h - what the tests of generated kernels share: cases, the tables under test, one compiled unit, launches
 *
 * TENON_CPU_TABLES names a module with the tables and the contraction cores; TENON_TEST_ISA an ISA poorer than the machine's;
 * TENON_KEEP keeps the unit's folder. */
#ifndef RENDER_TESTING_H
#define RENDER_TESTING_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "render/render.h"
#include "render/sample.h"

struct kargs { void *const *b; const int64_t *s; int64_t lo, hi; void *scratch; const void *cores; int64_t rank; };

static struct tn_diag diag;
static struct tn_arena arena;
static struct tn_backend backend = { .id = "cpu_simd" };
static const void *cores;
static const char *march = "";

enum { MAX_CASES = 400 };
struct test_case {
	char name[64];
	const struct tn_nest *nest;
	struct tn_kernel *kernel;
	int64_t symbols[4];
	void (*check)(struct test_case *c);
	void (*run)(const struct kargs *a);
	uint32_t p, q, dtype;          /* what the check needs to know */
	int64_t len[3];
};
static struct test_case cases[MAX_CASES];
static uint32_t n_cases;

static inline struct test_case *add_case(const char *name, void (*check)(struct test_case *), int64_t a, int64_t b, int64_t c)
{
	if (n_cases == MAX_CASES)
		abort();
	struct test_case *t = &cases[n_cases++];
	snprintf(t->name, sizeof t->name, "%s %lld %lld %lld", name, (long long)a, (long long)b, (long long)c);
	t->check = check;
	t->len[0] = a;
	t->len[1] = b;
	t->len[2] = c;
	return t;
}

static inline int64_t size_value(const struct tn_kernel *k, uint32_t i, const int64_t *symbols)
{
	const struct tn_size *z = &k->sizes.at[i];
	int64_t x, y, q;
	if (z->op == TN_SIZE_CONST)
		return z->value;
	if (z->op == TN_SIZE_SYM)
		return symbols[z->a];
	x = size_value(k, z->a, symbols);
	y = size_value(k, z->b, symbols);
	switch (z->op) {
	case TN_SIZE_ADD: return x + y;
	case TN_SIZE_MUL: return x * y;
	case TN_SIZE_MIN: return x < y ? x : y;
	case TN_SIZE_MAX: return x > y ? x : y;
	}
	q = x / y - (x % y && (x < 0) != (y < 0));
	return z->op == TN_SIZE_DIV ? q : x - q * y;
}

/* run over all tiles, in the order given by step: results must not depend on it */
static inline void run(struct test_case *c, void **buffers, int backwards)
{
	int64_t scalars[64];
	const struct tn_kernel *k = c->kernel;
	assert_true(k->n_scalars <= 64);
	for (uint32_t i = 0; i < k->n_scalars; i++)
		scalars[i] = size_value(k, k->scalars[i], c->symbols);
	int64_t tiles = size_value(k, k->grid[0], c->symbols), bytes = size_value(k, k->scratch, c->symbols);
	void *scratch = aligned_alloc(64, (size_t)(bytes + 127) / 64 * 64);
	memset(scratch, 0xa5, (size_t)(bytes + 127) / 64 * 64);
	struct kargs a = { buffers, scalars, 0, tiles, scratch, cores, 0 };
	if (!backwards) {
		c->run(&a);
	} else {
		for (int64_t t = tiles; t-- > 0;) {
			a.lo = t;
			a.hi = t + 1;
			c->run(&a);
		}
	}
	free(scratch);
}

/* ---- the unit */
static inline void render_one(void *arg)
{
	struct test_case *c = arg;
	c->kernel = tn_render(c->nest, &backend, NULL, NULL, NULL, &arena);
}

static inline void render_all(void)
{
	for (uint32_t i = 0; i < n_cases; i++)
		if (tn_protect(&diag, render_one, &cases[i])) {
			fprintf(stderr, "%s: %s\n", cases[i].name, diag.text);
			fail();
		}
}

struct unit { struct tn_kernel **k; uint32_t n; const char *text; uint64_t len; };
static inline void render_unit(void *arg)
{
	struct unit *u = arg;
	u->text = tn_render_unit(u->k, u->n, &backend, &arena, &u->len);
}

static inline void compile_and_check(const char *contract)
{
	struct tn_kernel *k[MAX_CASES];
	struct unit u = { k, n_cases, NULL, 0 };
	char dir[] = "/tmp/tenon-kernels-XXXXXX", cmd[1024], path[64];
	for (uint32_t i = 0; i < n_cases; i++)
		k[i] = cases[i].kernel;
	assert_int_equal(tn_protect(&diag, render_unit, &u), TN_OK);
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/u.c", dir);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fwrite(u.text, 1, u.len, f);
	fclose(f);
	snprintf(cmd, sizeof cmd, "cc -std=gnu17 -O2 -fPIC -shared -w -Wno-psabi -fwrapv -fno-strict-aliasing -fno-math-errno -fno-trapping-math "
		"-fno-tree-loop-distribute-patterns -ffp-contract=%s %s %s/u.c -o %s/u.so", contract, march, dir, dir);
	assert_int_equal(system(cmd), 0);
	snprintf(path, sizeof path, "%s/u.so", dir);
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		fprintf(stderr, "%s\n", dlerror());
	assert_non_null(lib);
	for (uint32_t i = 0; i < n_cases; i++) {
		*(void **)&cases[i].run = dlsym(lib, cases[i].kernel->name);
		assert_non_null(cases[i].run);
		cases[i].check(&cases[i]);
	}
	dlclose(lib);
	if (!getenv("TENON_KEEP")) {
		snprintf(cmd, sizeof cmd, "rm -r %s", dir);
		assert_int_equal(system(cmd), 0);
	}
}

static inline int open_tables(void)
{
	const char *module = getenv("TENON_CPU_TABLES");
	void *lib = module ? dlopen(module, RTLD_NOW | RTLD_LOCAL) : NULL;
	if (!lib) {
		fprintf(stderr, "TENON_CPU_TABLES: %s\n", module ? dlerror() : "not set");
		return -1;
	}
	const struct tn_dialect_row_rows *dialect = dlsym(lib, "cpu_dialect");
	const struct tn_word_row_rows *words = dlsym(lib, "cpu_words");
	const struct tn_template_row_rows *templates = dlsym(lib, "cpu_templates");
	const void *(*select)(const char *name);
	*(void **)&select = dlsym(lib, "cpu_tables_cores");
	if (!dialect || !words || !templates || !select)
		return -1;
	backend.dialect = *dialect;
	backend.words = *words;
	backend.templates = *templates;
	cores = select(getenv("TENON_TEST_ISA"));
	if (!cores)
		return -1;
	march = ((const char *const *)cores)[1];         /* struct cpu_cores: isa, march */
	tn_arena_init(&arena, &diag);
	return 0;
}
#endif
