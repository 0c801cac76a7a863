/* kernels_test.c - renders nests made by hand with the tables of cpu_simd, compiles and runs them, and compares with plain loops
 *
 * TENON_CPU_TABLES names a module with the tables and the contraction cores.  All kernels of a run are one unit, compiled once for
 * each numerics profile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <dlfcn.h>
#include <math.h>
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

static struct test_case *add_case(const char *name, void (*check)(struct test_case *), int64_t a, int64_t b, int64_t c)
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

static int64_t size_value(const struct tn_kernel *k, uint32_t i, const int64_t *symbols)
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
static void run(struct test_case *c, void **buffers, int backwards)
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

static float noise(uint32_t i)
{
	uint32_t h = i * 2654435761u;
	h ^= h >> 15;
	h *= 2246822519u;
	h ^= h >> 13;
	return (float)(int32_t)h / 2147483648.0f;
}

static float *floats(int64_t n, uint32_t seed)
{
	float *p = malloc((size_t)n * sizeof *p + 1);
	for (int64_t i = 0; i < n; i++)
		p[i] = noise((uint32_t)i + seed * 1000003u);
	return p;
}

static void close_to(struct test_case *c, const float *got, const double *want, int64_t n, double tolerance)
{
	for (int64_t i = 0; i < n; i++)
		if ((double)got[i] != want[i] && !(fabs((double)got[i] - want[i]) <= tolerance * (1 + fabs(want[i])))) {
			fprintf(stderr, "%s: element %lld is %.9g, not %.9g\n%s\n", c->name, (long long)i, (double)got[i], want[i], c->kernel->text);
			fail();
		}
}

/* ---- pointwise: out[i][j] = (x[i][j] + row[j]) * col[i] - 0.5, sizes of rows symbolic or fixed */
static void check_pointwise(struct test_case *c)
{
	int64_t n = c->len[0], m = c->len[1];
	float *x = floats(n * m, 1), *row = floats(m, 2), *col = floats(n, 3), *out = malloc((size_t)(n * m + 1) * sizeof *out);
	double *want = malloc((size_t)(n * m + 1) * sizeof *want);
	for (int back = 0; back < 2; back++) {
		memset(out, 0xff, (size_t)(n * m + 1) * sizeof *out);
		run(c, (void *[]){ x, row, col, out }, back);
		for (int64_t i = 0; i < n * m; i++)
			want[i] = (double)((x[i] + row[i % m]) * col[i / m] - 0.5f);
		close_to(c, out, want, n * m, 1e-6);
		assert_true(isnan(out[n * m]));          /* nothing was written behind the end */
	}
	free(x), free(row), free(col), free(out), free(want);
}

static void make_pointwise(int64_t n, int64_t m, int symbolic)
{
	struct rd_make k;
	struct test_case *t = add_case(symbolic ? "pointwise symbolic" : "pointwise", check_pointwise, n, m, 0);
	rd_make_init(&k, &arena, TN_NEST_POINTWISE);
	uint32_t sn = symbolic ? rd_make_symbol(&k, 0, 0, TN_SIZE_UNBOUNDED) : rd_make_size(&k, n);
	uint32_t sm = symbolic ? rd_make_symbol(&k, 1, 0, TN_SIZE_UNBOUNDED) : rd_make_size(&k, m);
	t->symbols[0] = n;
	t->symbols[1] = m;
	uint32_t i = rd_make_dim(&k, TN_AXIS_OUTER, sn), j = rd_make_dim(&k, TN_AXIS_INNER, sm);
	uint32_t x = rd_make_buffer(&k, TN_F32, TN_BUF_READ, sn), row = rd_make_buffer(&k, TN_F32, TN_BUF_READ, sm);
	uint32_t col = rd_make_buffer(&k, TN_F32, TN_BUF_READ, sn), out = rd_make_buffer(&k, TN_F32, TN_BUF_WRITE, sn);
	uint32_t at = rd_make_linear(&k, 0, RD_PAIRS({ i, sm }, { j, 1 }));
	rd_make_phase(&k, 1 << TN_AXIS_OUTER | 1 << TN_AXIS_INNER);
	uint32_t a = rd_make_load(&k, rd_make_access(&k, x, at)), b = rd_make_load(&k, rd_make_access(&k, row, rd_make_linear(&k, 0, RD_PAIRS({ j, 1 }))));
	uint32_t s = rd_make_prim(&k, TN_add, TN_F32, 2, (uint32_t[]){ a, b });
	uint32_t d = rd_make_load(&k, rd_make_access(&k, col, rd_make_linear(&k, 0, RD_PAIRS({ i, 1 }))));
	uint32_t p = rd_make_prim(&k, TN_mul, TN_F32, 2, (uint32_t[]){ s, d });
	uint32_t half = rd_make_number(&k, TN_F32, 0x3f000000);
	uint32_t r = rd_make_prim(&k, TN_sub, TN_F32, 2, (uint32_t[]){ p, half });
	rd_make_store(&k, rd_make_access(&k, out, at), r);
	t->nest = rd_make_done(&k);
}

/* ---- a padded, transposed copy: out[i][j] = x[j - 1][i - 2] inside, else 7 */
static void check_pad(struct test_case *c)
{
	int64_t n = c->len[0], m = c->len[1];
	float *x = floats(n * m, 1), *out = malloc((size_t)((n + 3) * (m + 3)) * sizeof *out);
	double *want = malloc((size_t)((n + 3) * (m + 3)) * sizeof *want);
	run(c, (void *[]){ x, out }, 0);
	for (int64_t i = 0; i < n + 3; i++)
		for (int64_t j = 0; j < m + 3; j++) {
			int64_t y = c->q ? j - 1 : i - 1, z = c->q ? i - 2 : j - 2, rows = c->q ? m : n, cols = c->q ? n : m;
			want[i * (m + 3) + j] = y >= 0 && y < rows && z >= 0 && z < cols ? (double)x[y * cols + z] : 7;
		}
	close_to(c, out, want, (n + 3) * (m + 3), 0);
	free(x), free(out), free(want);
}

static void make_pad(int64_t n, int64_t m, uint32_t transposed)
{
	struct rd_make k;
	struct test_case *t = add_case(transposed ? "pad transposed" : "pad", check_pad, n, m, 0);
	t->q = transposed;
	rd_make_init(&k, &arena, TN_NEST_POINTWISE);
	uint32_t i = rd_make_dim(&k, TN_AXIS_OUTER, rd_make_size(&k, n + 3)), j = rd_make_dim(&k, TN_AXIS_INNER, rd_make_size(&k, m + 3));
	uint32_t x = rd_make_buffer(&k, TN_F32, TN_BUF_READ, rd_make_size(&k, n * m)), out = rd_make_buffer(&k, TN_F32, TN_BUF_WRITE, 0);
	uint32_t y = transposed ? j : i, z = transposed ? i : j;
	int64_t rows = transposed ? m : n, cols = transposed ? n : m;
	rd_make_phase(&k, 1 << TN_AXIS_OUTER | 1 << TN_AXIS_INNER);
	uint32_t in = rd_make_access(&k, x, rd_make_linear(&k, rd_make_size(&k, -cols - 2), RD_PAIRS({ y, rd_make_size(&k, cols) }, { z, 1 })));
	rd_make_bound(&k, in, rd_make_linear(&k, rd_make_size(&k, -1), RD_PAIRS({ y, 1 })), rd_make_size(&k, rows));
	rd_make_bound(&k, in, rd_make_linear(&k, rd_make_size(&k, -2), RD_PAIRS({ z, 1 })), rd_make_size(&k, cols));
	k.accesses[in].fill = 0x40e00000;
	uint32_t v = rd_make_load(&k, in);
	rd_make_store(&k, rd_make_access(&k, out, rd_make_linear(&k, 0, RD_PAIRS({ i, rd_make_size(&k, m + 3) }, { j, 1 }))), v);
	t->nest = rd_make_done(&k);
}

/* ---- reductions: out[i] = prim over r of |x[i][r]| + 1, or over i when columns */
static void check_reduce(struct test_case *c)
{
	int64_t n = c->len[0], m = c->len[1];
	float *x = floats(n * m, 5), *out = malloc((size_t)(n + m) * sizeof *out), *again = malloc((size_t)(n + m) * sizeof *out);
	double *want = malloc((size_t)(n + m) * sizeof *want);
	int64_t outer = c->q ? m : n, red = c->q ? n : m;
	run(c, (void *[]){ x, out }, 0);
	run(c, (void *[]){ x, again }, 1);
	for (int64_t i = 0; i < outer; i++) {
		double v = c->p == TN_sum ? 0 : c->p == TN_prod ? 1 : c->p == TN_reduce_max ? -HUGE_VAL : HUGE_VAL;
		for (int64_t r = 0; r < red; r++) {
			double e = fabs((double)x[c->q ? r * m + i : i * m + r]);
			v = c->p == TN_sum ? v + e : c->p == TN_prod ? v * e : c->p == TN_reduce_max ? fmax(v, e) : fmin(v, e);
		}
		want[i] = 2 * v;
	}
	close_to(c, out, want, outer, 1e-5);
	assert_memory_equal(out, again, (size_t)outer * sizeof *out);
	free(x), free(out), free(again), free(want);
}

static void make_reduce(int64_t n, int64_t m, uint32_t prim, uint32_t columns)
{
	struct rd_make k;
	struct test_case *t = add_case(columns ? "reduce columns" : "reduce rows", check_reduce, n, m, prim);
	t->p = prim;
	t->q = columns;
	rd_make_init(&k, &arena, TN_NEST_REDUCE);
	uint32_t i, r;
	if (columns) {
		i = rd_make_dim(&k, TN_AXIS_INNER, rd_make_size(&k, m));
		r = rd_make_dim(&k, TN_AXIS_RED, rd_make_size(&k, n));
	} else {
		i = rd_make_dim(&k, TN_AXIS_OUTER, rd_make_size(&k, n));
		r = rd_make_dim(&k, TN_AXIS_RED, rd_make_size(&k, m));
	}
	uint32_t x = rd_make_buffer(&k, TN_F32, TN_BUF_READ, 0), out = rd_make_buffer(&k, TN_F32, TN_BUF_WRITE, 0);
	uint32_t own = columns ? 1u << TN_AXIS_INNER : 1u << TN_AXIS_OUTER;
	rd_make_phase(&k, own | 1 << TN_AXIS_RED);
	uint32_t sm = rd_make_size(&k, m);
	uint32_t at = columns ? rd_make_linear(&k, 0, RD_PAIRS({ i, 1 }, { r, sm })) : rd_make_linear(&k, 0, RD_PAIRS({ i, sm }, { r, 1 }));
	uint32_t v = rd_make_load(&k, rd_make_access(&k, x, at));
	uint32_t a = rd_make_prim(&k, TN_abs, TN_F32, 1, &v);
	uint32_t s = rd_make_step(&k, (struct tn_step){ .op = TN_STEP_REDUCE, .dtype = TN_F32, .prim = prim, .b = a });
	rd_make_phase(&k, own);
	uint32_t two = rd_make_number(&k, TN_F32, 0x40000000);
	uint32_t d = rd_make_prim(&k, TN_mul, TN_F32, 2, (uint32_t[]){ s, two });
	rd_make_store(&k, rd_make_access(&k, out, rd_make_linear(&k, 0, RD_PAIRS({ i, 1 }))), d);
	t->nest = rd_make_done(&k);
}

/* ---- the unit */
static void render_one(void *arg)
{
	struct test_case *c = arg;
	c->kernel = tn_render(c->nest, &backend, NULL, NULL, NULL, &arena);
}

static void render_all(void)
{
	for (uint32_t i = 0; i < n_cases; i++)
		if (tn_protect(&diag, render_one, &cases[i])) {
			fprintf(stderr, "%s: %s\n", cases[i].name, diag.text);
			fail();
		}
}

struct unit { struct tn_kernel **k; uint32_t n; const char *text; uint64_t len; };
static void render_unit(void *arg)
{
	struct unit *u = arg;
	u->text = tn_render_unit(u->k, u->n, &backend, &arena, &u->len);
}

static void compile_and_check(const char *contract)
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
	snprintf(cmd, sizeof cmd, "cc -std=gnu17 -O2 -fPIC -shared -w -fwrapv -fno-strict-aliasing -fno-math-errno -fno-trapping-math "
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

static void make_cases(void *unused)
{
	static const int64_t lengths[] = { 1, 7, 8, 9, 16, 17, 33 };
	(void)unused;
	for (uint32_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
		int64_t n = lengths[i], m = lengths[(i + 3) % 7];
		make_pointwise(n, m, 0);
		make_pointwise(n, n, 1);
		make_pad(n, m, 0);
		make_pad(n, m, 1);
		make_reduce(n, m, TN_sum, 0);
		make_reduce(n, n, TN_prod, 0);
		make_reduce(n, m, TN_reduce_max, 0);
		make_reduce(m, n, TN_reduce_min, 0);
		make_reduce(n, m, TN_sum, 1);
		make_reduce(m, n, TN_reduce_max, 1);
	}
	make_pointwise(3, 20000, 1);
	make_pointwise(0, 5, 1);
	make_reduce(2, 1000, TN_sum, 0);
	make_reduce(1000, 300, TN_sum, 1);
	make_reduce(3, 0, TN_reduce_max, 0);
}

static void test_strict(void **s)
{
	(void)s;
	render_all();
	compile_and_check("off");
}

static void test_default(void **s)
{
	(void)s;
	compile_and_check("fast");
}

static int setup(void **s)
{
	(void)s;
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
	march = ((const char *const *)cores)[1];         /* struct cpu_cores: isa, march */
	tn_arena_init(&arena, &diag);
	return tn_protect(&diag, make_cases, NULL);
}

static int teardown(void **s)
{
	(void)s;
	tn_arena_fini(&arena);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_strict), cmocka_unit_test(test_default) };
	return cmocka_run_group_tests(tests, setup, teardown);
}
