/* cmd_run.c - tenon run: load, compile, run on files or made-up inputs, write outputs, compare with expected ones. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tenon/nest.h>
#include "ir/prim.h"
#include "tools/inputs.h"
#include "tools/npy.h"
#include "tools/tool.h"

struct args {
	const char *model, *backend, *output;
	struct tool_inputs inputs;
	struct tool_named compares[TOOL_MAX_PORTS];
	uint32_t n_compares, repeat, strict, fuse_none;
	double tolerance;
};
struct state {
	struct args a;
	struct tn_session *s;
	struct tn_model *m;
	struct tn_executable *x;
	struct tn_tensor *out[TOOL_MAX_PORTS];
	uint32_t n_out;
	double started;
};

static int usage(FILE *f, int status)
{
	fprintf(f, "usage: tenon run MODEL [--input NAME=FILE.npy|random|zeros]... [--dim n=4]... [--output DIR] [--backend LIST]\n"
		"                 [--compare [NAME=]FILE.npy]... [--tolerance 1e-4] [--repeat N] [--numerics strict|default] [--no-fuse]\n\n"
		"Inputs not named are random: normal floats, integers below 100, from a fixed seed.  --dim gives the size of a symbolic dim\n"
		"(1 otherwise).  Outputs go to DIR/NAME.npy.  --compare checks an output (the first, without NAME) against a file: status 1\n"
		"when the largest difference is over tolerance times the largest expected value.\n\n"
		"  tenon run model.onnx --input bytes=random --dim n=4 --output out\n");
	return status;
}

/* ---- arguments */
static int parse(int argc, char **argv, struct args *a)
{
	int bad = 0;
	for (int i = 1; i < argc && !bad; i++) {
		const char *v;
		if (tool_inputs_option(argc, argv, &i, &a->inputs, &bad)) continue;
		if ((v = tool_option(argc, argv, &i, "--compare", &bad))) bad |= !tool_split_named((char *)(uintptr_t)v, a->compares, &a->n_compares, 0);
		else if ((v = tool_option(argc, argv, &i, "--output", &bad))) a->output = v;
		else if ((v = tool_option(argc, argv, &i, "--backend", &bad))) a->backend = v;
		else if ((v = tool_option(argc, argv, &i, "--tolerance", &bad))) a->tolerance = atof(v);
		else if ((v = tool_option(argc, argv, &i, "--repeat", &bad))) a->repeat = (uint32_t)atoi(v);
		else if ((v = tool_option(argc, argv, &i, "--numerics", &bad))) a->strict = !strcmp(v, "strict");
		else if (!strcmp(argv[i], "--no-fuse")) a->fuse_none = 1;
		else if (!strcmp(argv[i], "--help")) return usage(stdout, 0), 0;
		else if (argv[i][0] == '-' || a->model) { fprintf(stderr, "tenon run: what is '%s'?\n", argv[i]); bad = 1; }
		else a->model = argv[i];
	}
	if (!a->model && !bad) { fprintf(stderr, "tenon run: no model given\n"); bad = 1; }
	if (bad) usage(stderr, 2);
	return !bad;
}

/* ---- outputs */
static void print_tensor(const char *name, struct tn_tensor *t)
{
	uint64_t n = tn_tensor_bytes(t) / tn_dtype_bytes(tn_tensor_dtype(t));
	printf("%-12s %s[", name, tn_dtype_name(tn_tensor_dtype(t)));
	for (uint32_t k = 0; k < tn_tensor_rank(t); k++) printf("%s%lld", k ? ", " : "", (long long)tn_tensor_dim(t, k));
	printf("] ");
	for (uint64_t i = 0; i < n && i < 6; i++) printf(" %.6g", tool_number(tn_tensor_dtype(t), tn_tensor_data(t), i));
	printf("%s\n", n > 6 ? " ..." : "");
}

static int write_output(const struct state *st, const char *name, struct tn_tensor *t)
{
	char path[4200], why[4400], safe[256];
	struct npy f = { tn_tensor_dtype(t), tn_tensor_rank(t), { 0 }, tn_tensor_data(t), tn_tensor_bytes(t) };
	snprintf(safe, sizeof safe, "%s", *name ? name : "output");
	for (char *p = safe; *p; p++) if (*p == '/') *p = '_';
	for (uint32_t k = 0; k < f.rank; k++) f.dims[k] = tn_tensor_dim(t, k);
	if (mkdir(st->a.output, 0777) && errno != EEXIST) { fprintf(stderr, "tenon run: %s: %s\n", st->a.output, strerror(errno)); return 0; }
	snprintf(path, sizeof path, "%s/%s.npy", st->a.output, safe);
	if (!npy_write(path, &f, why, sizeof why)) { fprintf(stderr, "tenon run: %s\n", why); return 0; }
	printf("             written to %s\n", path);
	return 1;
}

static int compare(const struct state *st, const char *path, const char *name, struct tn_tensor *t)
{
	struct npy f;
	char why[4400];
	double worst = 0, largest = 0;
	uint64_t at = 0, n = tn_tensor_bytes(t) / tn_dtype_bytes(tn_tensor_dtype(t));
	if (!npy_read(path, &f, why, sizeof why)) { fprintf(stderr, "tenon run: %s\n", why); return 0; }
	int same = f.rank == tn_tensor_rank(t);
	for (uint32_t k = 0; same && k < f.rank; k++) same = f.dims[k] == tn_tensor_dim(t, k);
	if (!same) { fprintf(stderr, "tenon run: %s: another shape than output '%s'\n", path, name); free(f.data); return 0; }
	for (uint64_t i = 0; i < n; i++) {
		double want = tool_number(f.dtype, f.data, i), got = tool_number(tn_tensor_dtype(t), tn_tensor_data(t), i), d = fabs(want - got);
		if (isnan(want) && isnan(got)) d = 0; else if (want == got) d = 0; else if (isnan(d)) d = INFINITY;
		if (d > worst) { worst = d; at = i; }
		if (isfinite(want) && fabs(want) > largest) largest = fabs(want);
	}
	free(f.data);
	int ok = worst <= st->a.tolerance * (largest > 0 ? largest : 1);
	printf("             against %s: largest difference %.3g at %llu, largest value %.3g: %s\n", path, worst, (unsigned long long)at, largest, ok ? "agrees" : "DIFFERS");
	return ok;
}

static int show_outputs(struct state *st)
{
	struct tn_port p = { .head = TN_HEAD(tn_port, 0) };
	int ok = 1;
	for (uint32_t i = 0; i < st->n_out; i++) {
		tn_model_output(st->m, i, &p);
		print_tensor(p.name, st->out[i]);
		if (st->a.output) ok &= write_output(st, p.name, st->out[i]);
		for (uint32_t k = 0; k < st->a.n_compares; k++)
			if (st->a.compares[k].name ? !strcmp(st->a.compares[k].name, p.name) : i == 0) ok &= compare(st, st->a.compares[k].value, p.name, st->out[i]);
	}
	return ok;
}

/* ---- running */
static void progress(void *ctx, const char *stage, double done)
{
	const struct state *st = ctx;
	if (tool_now_ms() - st->started < 2000) return;
	fprintf(stderr, "\r%-10s %3.0f%%   %.0f s ", stage, done * 100, (tool_now_ms() - st->started) / 1000);
}

static int run(struct state *st)
{
	struct tn_session_options so = { .head = TN_HEAD(tn_session_options, 0), .backend = st->a.backend, .log = tool_log };
	struct tn_executable_options xo = { .head = TN_HEAD(tn_executable_options, 0), .wait = 1, .numerics = st->a.strict ? TN_STRICT : TN_DEFAULT,
		.fuse = st->a.fuse_none, .progress = progress, .progress_ctx = st };
	st->started = tool_now_ms();
	if (tn_session_create(&so, &st->s) != TN_OK || tn_model_load(st->s, st->a.model, &st->m) != TN_OK) return tool_fail();
	if (!tool_inputs_make(&st->a.inputs, st->s, st->m)) return 2;
	for (struct tn_port p = { .head = TN_HEAD(tn_port, 0) }; tn_model_output(st->m, st->n_out, &p) == TN_OK && st->n_out < TOOL_MAX_PORTS;) st->n_out++;
	if (tn_executable_create(st->s, st->m, &xo, &st->x) != TN_OK || tn_executable_run(st->x, st->a.inputs.in, st->a.inputs.n_in, st->out, st->n_out) != TN_OK) return tool_fail();
	if (tool_now_ms() - st->started > 2000) fputc('\n', stderr);
	double first = tool_now_ms() - st->started, best = INFINITY;
	for (uint32_t k = 1; k < st->a.repeat; k++) {
		double t = tool_now_ms();
		if (tn_executable_run(st->x, st->a.inputs.in, st->a.inputs.n_in, st->out, st->n_out) != TN_OK) return tool_fail();
		t = tool_now_ms() - t;
		if (t < best) best = t;
	}
	struct tn_executable_stats stats = { .head = TN_HEAD(tn_executable_stats, 0) };
	tn_executable_stat(st->x, &stats);
	const char *id;
	uint64_t launches;
	for (uint64_t i = 0; tn_executable_place(st->x, i, &id, &launches) == TN_OK; i++)
		if (launches) printf("%s: %llu launches\n", id, (unsigned long long)launches);
	printf("%llu nodes, %llu kernels (%llu from the cache), %llu interpreted; first answer %.2f s", (unsigned long long)stats.nodes, (unsigned long long)stats.kernels,
		(unsigned long long)stats.from_cache, (unsigned long long)stats.interpreted, first / 1000);
	if (isfinite(best)) printf(", then %.3f ms a run", best);
	putchar('\n');
	return show_outputs(st) ? 0 : 1;
}

int cmd_run(int argc, char **argv)
{
	static struct state st;
	st.a.tolerance = 1e-4;
	for (int i = 1; i < argc; i++) if (!strcmp(argv[i], "--help")) return usage(stdout, 0);
	if (!parse(argc, argv, &st.a)) return 2;
	int status = run(&st);
	for (uint32_t i = 0; i < TOOL_MAX_PORTS; i++) tn_tensor_release(st.out[i]);
	tool_inputs_free(&st.a.inputs);
	tn_executable_destroy(st.x);
	tn_model_destroy(st.m);
	tn_session_destroy(st.s);
	return status;
}
