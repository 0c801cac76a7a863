/* compile.c - generated C to machine code by the system's compiler, in a private folder, as one shared object a unit.
 * The artifact is that object behind a small header; loading one back needs no compiler. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cpu.h"

#define TIMEOUT_MS 300000
#define OUTPUT     4096
static const char magic[16] = "tenon cpu_simd 1";

void *cpu_new(const struct tn_host *h, uint64_t size)
{
	void *p = h->alloc(h->ctx, size, 64);
	if (p) memset(p, 0, size);
	return p;
}

static int32_t fail(const struct cpu_self *s, int32_t code, const char *what) { return s->host->fail(s->host->ctx, code, 0, what); }

static int write_file(const char *path, const void *bytes, uint64_t size)
{
	FILE *f = fopen(path, "wb");
	if (!f) return 0;
	int ok = fwrite(bytes, 1, size, f) == size;
	return fclose(f) == 0 && ok;
}

/* ---- loading */
static void module_release(struct cpu_module *m)
{
	if (!m || atomic_fetch_sub(&m->uses, 1) != 1) return;
	if (m->library) dlclose(m->library);       /* our own text: no constructors, no thread storage */
	m->self->host->free(m->self->host->ctx, m);
}

void cpu_program_release(struct tn_program *tp)
{
	if (!tp) return;
	struct cpu_program *p = cpu_program_of(tp);
	struct cpu_self *s = p->self;
	module_release(p->module);
	s->host->free(s->host->ctx, p);
}

static void release_all(struct tn_compile *c)
{
	for (uint64_t i = 0; i < c->entries.count; i++) {
		cpu_program_release(c->programs[i]);
		c->programs[i] = NULL;
	}
}

static int32_t take_entries(struct cpu_self *s, struct cpu_module *m, struct tn_compile *c)
{
	for (uint64_t i = 0; i < c->entries.count; i++) {
		void *at = dlsym(m->library, c->entries.at[i].name);
		struct cpu_program *p = at ? cpu_new(s->host, sizeof *p) : NULL;
		if (!p) {
			release_all(c);
			return at ? TN_E_NOMEM : fail(s, TN_E_STALE, "a kernel is missing in its shared object");
		}
		p->self = s;
		p->module = m;
		atomic_fetch_add(&m->uses, 1);
		memcpy(&p->run, &at, sizeof at);
		c->programs[i] = (struct tn_program *)(void *)p;
		c->scratch[i] = 0;
	}
	return TN_OK;
}

static int32_t load(struct cpu_self *s, const char *path, struct tn_compile *c)
{
	struct cpu_module *m = cpu_new(s->host, sizeof *m);
	if (!m) return TN_E_NOMEM;
	m->self = s;
	atomic_store(&m->uses, 1);
	m->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const char *why = m->library ? NULL : dlerror();
	int32_t st = m->library ? take_entries(s, m, c) : fail(s, TN_E_STALE, why ? why : "a kernel's shared object does not load");
	module_release(m);
	return st;
}

static int32_t from_artifact(struct cpu_self *s, struct tn_compile *c, const char *dir)
{
	char so[256];
	if (c->artifact_len <= sizeof magic || memcmp(c->artifact, magic, sizeof magic)) return TN_E_STALE;
	snprintf(so, sizeof so, "%s/k.so", dir);
	if (!write_file(so, (const char *)c->artifact + sizeof magic, c->artifact_len - sizeof magic)) return fail(s, TN_E_CALL, "no room for a kernel's shared object");
	return load(s, so, c);
}

/* ---- compiling */
static void save(struct cpu_self *s, struct tn_compile *c, const char *so)
{
	FILE *f = fopen(so, "rb");
	long size = -1;
	if (f && !fseek(f, 0, SEEK_END)) size = ftell(f);
	char *p = size > 0 ? s->host->alloc(s->host->ctx, (uint64_t)size + sizeof magic, 64) : NULL;
	if (p && !fseek(f, 0, SEEK_SET) && fread(p + sizeof magic, 1, (size_t)size, f) == (size_t)size) {
		memcpy(p, magic, sizeof magic);
		c->save = p;
		c->save_len = (uint64_t)size + sizeof magic;
	} else s->host->free(s->host->ctx, p);
	if (f) fclose(f);
}

/* the compiler the user named, else the first there is */
static int32_t run_compiler(struct cpu_self *s, struct tn_compile *c, const char *dir, char *output)
{
	static const char *const names[] = { "cc", "gcc", "clang" };
	char march[256];
	const char *argv[40] = { NULL };
	int n = 1;
	snprintf(march, sizeof march, "%s", s->cores->march);
	static const char *const flags[] = { "-std=gnu11", "-w", "-fPIC", "-shared", "-fwrapv", "-fno-strict-aliasing", "-fno-math-errno", "-fno-trapping-math",
		"-fvisibility=default", "-fno-stack-protector", "-fno-asynchronous-unwind-tables" };
	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) argv[n++] = flags[i];
	argv[n++] = c->optimise == 0 ? "-O1" : "-O2";
	argv[n++] = c->numerics == TN_STRICT ? "-ffp-contract=off" : "-ffp-contract=fast";
	char *rest = march;
	for (char *flag = strtok_r(march, " ", &rest); flag && n < 32; flag = strtok_r(NULL, " ", &rest)) argv[n++] = flag;
	argv[n++] = "-o";
	argv[n++] = "k.so";
	argv[n++] = "k.c";
	argv[n++] = "-lm";
	int32_t st = TN_E_UNSUPPORTED;
	if (s->cc[0]) {
		argv[0] = s->cc;
		return s->host->tool(s->host->ctx, argv, dir, TIMEOUT_MS, c->job, output, OUTPUT);
	}
	for (size_t i = 0; i < sizeof names / sizeof *names && st == TN_E_UNSUPPORTED; i++) {
		argv[0] = names[i];
		st = s->host->tool(s->host->ctx, argv, dir, TIMEOUT_MS, c->job, output, OUTPUT);
	}
	return st;
}

static int32_t from_text(struct cpu_self *s, struct tn_compile *c, const char *dir)
{
	char path[256], output[OUTPUT] = "", words[OUTPUT + 200];
	snprintf(path, sizeof path, "%s/k.c", dir);
	if (!write_file(path, c->text, c->text_len)) return fail(s, TN_E_CALL, "no room for the generated C");
	int32_t st = run_compiler(s, c, dir, output);
	if (st == TN_E_UNSUPPORTED) return fail(s, st, "no C compiler on the PATH (cc, gcc or clang)");
	if (st != TN_OK) {
		snprintf(words, sizeof words, "the C compiler failed on a generated kernel: %.600s", output);
		return fail(s, st, words);
	}
	snprintf(path, sizeof path, "%s/k.so", dir);
	st = load(s, path, c);
	if (st == TN_OK) save(s, c, path);
	return st;
}

int32_t cpu_compile(struct tn_self *ts, struct tn_compile *c)
{
	struct cpu_self *s = cpu_self_of(ts);
	char dir[160];
	if (!c->text && !c->artifact) return cpu_pack_compile(s, c);
	int32_t st = s->host->tool_dir(s->host->ctx, dir, sizeof dir);
	if (st != TN_OK) return fail(s, TN_E_CALL, "no private folder for the compiler (is TMPDIR writable?)");
	st = c->artifact ? from_artifact(s, c, dir) : from_text(s, c, dir);
	s->host->tool_dir_remove(s->host->ctx, dir);
	return st;
}
