/* prims_test.c - every row of the primitive table as a compiled kernel against the strict evaluator, cases derived from the table.
 * Elementwise rows, in each dtype that they claim, are bit-equal (a NaN's payload aside), at lengths that have whole vectors, tails
 * and both.  The others are within the bound of a changed order.  All that differs is listed before the test fails.
 *     prims_test [--every N] [ROW...]      every N-th graph; those rows only */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <tenon/nest.h>
#include <tenon/tenon.h>
#include "base/half.h"
#include "ir/ir.h"
#include "ir/test_rows.h"

enum { N_IN = 8, BATCH = 16, N_THREADS = 2, TEXT = 16384, MAX_JOBS = 2048 };

/* ---- work: graphs as text, from a list */
struct job {
	char *text;
	int elementwise;
	uint32_t n_nodes;
	const struct tn_prim_info *row[BATCH];
	uint32_t dtype[BATCH], to[BATCH];      /* to: of convert and bitcast */
};
static struct job jobs[MAX_JOBS];
static uint32_t n_jobs, n_cases, every = 1;
static char **only;
static int n_only;
static struct tn_session *session;
static atomic_uint next_job;
static atomic_int n_failed, n_interpreted, n_on_host;
static pthread_mutex_t print_lock = PTHREAD_MUTEX_INITIALIZER;

static void complain(const char *name, const char *form, ...) __attribute__((format(printf, 2, 3)));
static void complain(const char *name, const char *form, ...)
{
	va_list args;
	va_start(args, form);
	pthread_mutex_lock(&print_lock);
	printf("%s: ", name);
	vprintf(form, args);
	putchar('\n');
	fflush(stdout);
	pthread_mutex_unlock(&print_lock);
	va_end(args);
	atomic_fetch_add(&n_failed, 1);
}

/* ---- values: specials, what functions like, any bits */
static uint64_t mix(uint64_t i)
{
	i = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
	i = (i ^ i >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	i = (i ^ i >> 27) * UINT64_C(0x94d049bb133111eb);
	return i ^ i >> 31;
}

static const double special[] = { 0.0, -0.0, 1, -1, 0.5, -0.5, 2, -2, 1.5, -2.5, 3, 255, -128, 127.5, 65504, 1e5, -1e5, 2147483647.0, -2147483648.0, 4294967296.0, 1e10, -1e10, 1e-5, -1e-3,
	0x1p-149, 0x1p-126, 0x1p-1074, 88.5, -104, 710, 7, 8, 15, 16, 31, 32, 63, 64, INFINITY, -INFINITY, NAN, 9.2233720368547758e18, 1.8446744073709552e19, 20, -20 };
enum { N_SPECIAL = sizeof special / sizeof *special };

/* the processor's conversions make a signalling NaN quiet: part of a NaN's payload, which is nobody's promise */
static uint16_t quiet(uint16_t bits, uint16_t inf, uint16_t bit) { return (uint16_t)((bits & 0x7fff) > inf ? bits | bit : bits); }

static void put(uint32_t dtype, void *at, uint64_t i, double v, uint64_t bits, int raw)
{
	switch (dtype) {
	case TN_BOOL: ((uint8_t *)at)[i] = (uint8_t)(bits & 1); return;
	case TN_F16: ((uint16_t *)at)[i] = raw ? quiet((uint16_t)bits, 0x7c00, 0x200) : tn_f64_to_f16(v); return;
	case TN_BF16: ((uint16_t *)at)[i] = raw ? quiet((uint16_t)bits, 0x7f80, 0x40) : tn_f64_to_bf16(v); return;
	case TN_F32: ((float *)at)[i] = raw ? tn_bits_f32((uint32_t)bits) : (float)v; return;
	case TN_F64:
		if (raw) ((uint64_t *)at)[i] = bits;
		else ((double *)at)[i] = v;
		return;
	default: break;
	}
	int64_t n = raw ? (int64_t)bits : fabs(v) < 9e18 ? (int64_t)v : (int64_t)(bits >> 63);
	memcpy((char *)at + i * tn_dtype_bytes(dtype), &n, tn_dtype_bytes(dtype));      /* the low bytes of a little-endian number */
}

/* element k of operand `which`.  The first N_PAIRS of them are every pair of specials: what a kernel gets wrong is (0, -0), not (0.37, 1.2) */
enum { N_PAIRS = N_SPECIAL * N_SPECIAL };
static void put_value(uint32_t dtype, void *at, uint64_t i, uint64_t k, uint32_t which)
{
	if (k < N_PAIRS) {
		put(dtype, at, i, special[(which == 0 ? k : which == 1 ? k / N_SPECIAL : k * 7 + k / N_SPECIAL) % N_SPECIAL], k / 3, 0);
		return;
	}
	uint64_t r = mix(k * 8 + which), pick = r % 4, bits = mix(r);
	double u = (double)(bits >> 11) * 0x1p-53 * 2 - 1;
	if (pick == 0) put(dtype, at, i, special[r / 4 % N_SPECIAL], bits, 0);
	else if (pick == 1) put(dtype, at, i, 0, bits, 1);
	else if (pick == 2 && !(TN_M(dtype) & TN_M_FLOAT)) put(dtype, at, i, 0, (bits & 7) | (bits & 8 ? ~UINT64_C(7) : 0), 1);
	else put(dtype, at, i, pick == 2 ? u * 4 : u * 120, bits, 0);
}

/* ---- one graph: evaluator and kernel on the same inputs */
struct trial {
	const struct job *job;
	struct tn_diag diag;
	struct tn_arena arena;
	struct tn_ir *ir;
	struct tn_array in[N_IN], want[BATCH];
	struct tn_executable *x;
	char name[64];
	int64_t n;                             /* the first symbol */
	uint64_t seed;
};

static void parse(void *arg)
{
	struct trial *t = arg;
	t->ir = tn_ir_parse(&t->arena, t->job->text, strlen(t->job->text), "case.tn");
}
static void evaluate(void *arg)
{
	struct trial *t = arg;
	tn_eval_graph(&t->ir->g, t->in, t->want, &t->arena);
}

static double number(uint32_t dtype, const void *at, uint64_t i)
{
	int64_t n = 0;
	switch (dtype) {
	case TN_F16: return (double)tn_f16_to_f32(((const uint16_t *)at)[i]);
	case TN_BF16: return (double)tn_bf16_to_f32(((const uint16_t *)at)[i]);
	case TN_F32: return (double)((const float *)at)[i];
	case TN_F64: return ((const double *)at)[i];
	case TN_I8: return ((const int8_t *)at)[i];
	case TN_I16: return ((const int16_t *)at)[i];
	case TN_I32: return ((const int32_t *)at)[i];
	default:
		memcpy(&n, (const char *)at + i * tn_dtype_bytes(dtype), tn_dtype_bytes(dtype));
		return (double)n;
	}
}

/* how far results may lie apart, beside the size of the numbers; 0: the bits are equal */
static double slack(uint32_t dtype, const struct tn_prim_info *p)
{
	if (p->tol == TN_TOL_EXACT || p->cls == TN_CLS_POINTWISE) return 0;
	switch (dtype) {
	case TN_F16: return 0x1p-9;
	case TN_BF16: return 0x1p-6;
	case TN_F32: return 0x1p-17;
	case TN_F64: return 0x1p-46;
	default: return 0;
	}
}

static void show(const struct trial *t, uint32_t node, uint32_t out, uint64_t i, uint64_t n, double got, double want)
{
	char in[200] = "";
	size_t len = 0;
	for (uint32_t k = 0; t->job->elementwise && k < t->ir->g.n_in; k++) {
		uint64_t bits = 0, size = tn_dtype_bytes(t->in[k].dtype);
		memcpy(&bits, (const char *)t->in[k].at + i * size, size);
		len += (size_t)snprintf(in + len, sizeof in - len, " 0x%llx", (unsigned long long)bits);
	}
	complain(t->job->row[node]->name, "%s%s%s, output %u, element %llu of %llu is %.17g, should be %.17g; inputs%s", tn_dtype_name(t->job->dtype[node]),
		t->job->to[node] ? " to " : "", t->job->to[node] ? tn_dtype_name(t->job->to[node]) : "", out, (unsigned long long)i, (unsigned long long)n, got, want, in);
}

static void compare(const struct trial *t, uint32_t out, struct tn_tensor *got)
{
	const struct tn_array *w = &t->want[out];
	uint32_t node = t->job->elementwise ? out : 0, size = tn_dtype_bytes(w->dtype);
	const struct tn_prim_info *p = t->job->row[node];
	uint64_t n = tn_tensor_bytes(got) / size;
	const char *g = tn_tensor_data(got), *e = w->at;
	if (tn_tensor_dtype(got) != w->dtype || tn_tensor_bytes(got) != w->size) {
		complain(p->name, "%s: output %u is %s of %llu bytes, should be %s of %llu", tn_dtype_name(t->job->dtype[node]), out, tn_dtype_name(tn_tensor_dtype(got)),
			(unsigned long long)tn_tensor_bytes(got), tn_dtype_name(w->dtype), (unsigned long long)w->size);
		return;
	}
	double bound = slack(w->dtype, p), large = 1;
	for (uint64_t i = 0; bound > 0 && i < n; i++) {
		double v = fabs(number(w->dtype, e, i));
		if (isfinite(v) && v > large) large = v;
	}
	for (uint64_t i = 0; i < n; i++) {
		if (!memcmp(g + i * size, e + i * size, size)) continue;
		double a = number(w->dtype, g, i), b = number(w->dtype, e, i);
		if ((TN_M(w->dtype) & TN_M_FLOAT) && isnan(a) && isnan(b)) continue;
		if (bound > 0 && (a == b || fabs(a - b) <= bound * large)) continue;
		show(t, node, out, i, n, a, b);
		return;
	}
}

static void make_inputs(void *arg)
{
	struct trial *t = arg;
	const struct tn_graph *g = &t->ir->g;
	int64_t symbols[16];
	for (uint64_t k = 0; k < g->sizes.count; k++) {                /* each within its bounds, the first one n */
		const struct tn_size *s = &g->sizes.at[k];
		if (s->op == TN_SIZE_SYM && s->a < 16) symbols[s->a] = s->a == 0 ? t->n : s->lo + (t->n + s->a) % 5 % (s->hi - s->lo + 1);
	}
	for (uint32_t k = 0; k < g->n_in; k++) {
		uint32_t v = g->operands[g->in0 + k];
		uint64_t count = 1;
		struct tn_array *a = &t->in[k];
		*a = (struct tn_array){ .dtype = tn_val(g, v)->dtype, .rank = tn_rank(g, v) };
		for (uint32_t d = 0; d < a->rank; d++) {
			a->dims[d] = tn_size_eval(&g->sizes, tn_shape(g, v)[d], symbols);
			count *= (uint64_t)a->dims[d];
		}
		a->size = count * tn_dtype_bytes(a->dtype);
		a->at = tn_arena_alloc(&t->arena, a->size + 64);
		for (uint64_t i = 0; i < count; i++)
			if (t->job->elementwise) put_value(a->dtype, a->at, i, t->seed + i, k);
			else put(a->dtype, a->at, i, (double)(mix(t->seed + i * 8 + k) >> 11) * 0x1p-53 * 4 - (TN_M(a->dtype) & TN_M_UINT ? 0 : 2), mix(i), 0);
	}
}

/* at one length */
static void round_of(struct trial *t, int64_t n, uint64_t seed)
{
	struct tn_mark mark = tn_arena_mark(&t->arena);
	struct tn_tensor *in[N_IN] = { NULL }, *out[BATCH] = { NULL };
	const struct tn_graph *g = &t->ir->g;
	t->n = n, t->seed = seed;
	int32_t st = tn_protect(&t->diag, make_inputs, t);
	if (st == TN_OK) st = tn_protect(&t->diag, evaluate, t);
	if (st != TN_OK) complain(t->name, "evaluator, n = %lld: %s", (long long)n, t->diag.text);
	for (uint32_t k = 0; st == TN_OK && k < g->n_in; k++) {
		st = tn_tensor_wrap(session, t->in[k].dtype, t->in[k].rank, t->in[k].dims, NULL, t->in[k].at, NULL, NULL, &in[k]);
		if (st != TN_OK) complain(t->name, "tensor: %s", tn_error_text());
	}
	if (st == TN_OK && (st = tn_executable_run(t->x, in, g->n_in, out, g->n_out)) != TN_OK) complain(t->name, "run, n = %lld: %s", (long long)n, tn_error_text());
	for (uint32_t k = 0; st == TN_OK && k < g->n_out; k++) compare(t, k, out[k]);
	for (uint32_t k = 0; k < N_IN; k++) tn_tensor_release(in[k]);
	for (uint32_t k = 0; k < BATCH; k++) tn_tensor_release(out[k]);
	tn_arena_reset(&t->arena, mark);
}

static int compile(struct trial *t)
{
	const struct tn_executable_options o = { .head = { sizeof o, 0 }, .numerics = TN_STRICT, .wait = 1, .deterministic = 1 };
	struct tn_model *m = NULL;
	struct tn_executable_stats stats = { .head = { sizeof stats, 0 } };
	int32_t st = tn_model_parse(session, t->job->text, strlen(t->job->text), &m);
	if (st == TN_OK) st = tn_executable_create(session, m, &o, &t->x);
	if (st != TN_OK) complain(t->name, "%s\n%s", tn_error_text(), t->job->text);
	tn_model_destroy(m);
	if (st != TN_OK) return 0;
	tn_executable_stat(t->x, &stats);
	atomic_fetch_add(&n_interpreted, (int)stats.interpreted);
	atomic_fetch_add(&n_on_host, (int)stats.on_host);
	return 1;
}

static void run_job(const struct job *j)
{
	static const int64_t lengths[] = { 1, 7, 8, 9, 16, 17, 33, N_PAIRS + 501 }, sizes[] = { 5, 17 };
	struct trial t = { .job = j };
	tn_arena_init(&t.arena, &t.diag);
	snprintf(t.name, sizeof t.name, "%s%s %s", j->row[0]->name, j->n_nodes > 1 ? " and others" : "", tn_dtype_name(j->dtype[0]));
	if (tn_protect(&t.diag, parse, &t) != TN_OK) complain(t.name, "%s\n%s", t.diag.text, j->text);
	else if (compile(&t)) {
		if (j->elementwise) for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) round_of(&t, lengths[i], lengths[i] > N_PAIRS ? 0 : N_PAIRS + 1000 * i);
		else for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) round_of(&t, sizes[i], i * 1000);
	}
	tn_executable_destroy(t.x);
	tn_arena_fini(&t.arena);
}

static void *work(void *arg)
{
	(void)arg;
	for (uint32_t i; (i = atomic_fetch_add(&next_job, every)) < n_jobs;) run_job(&jobs[i]);
	return NULL;
}

/* ---- cases from the table */
static int wanted(const struct tn_prim_info *p)
{
	for (int i = 0; i < n_only; i++)
		if (!strcmp(only[i], p->name)) return 1;
	return !n_only;
}

static struct job *new_job(int elementwise)
{
	if (n_jobs == MAX_JOBS) abort();
	struct job *j = &jobs[n_jobs++];
	*j = (struct job){ .text = calloc(1, TEXT), .elementwise = elementwise };
	if (!j->text) abort();
	return j;
}

static void open_text(struct job *j, uint32_t dtype)
{
	const char *d = tn_dtype_name(dtype);
	snprintf(j->text, TEXT, "graph @row(%%x: %s[n], %%y: %s[n], %%z: %s[n], %%c: bool[n]) where 0 <= n {\n", d, d, d);
}

static void close_text(struct job *j)
{
	size_t at = strlen(j->text);
	for (uint32_t i = 0; i < j->n_nodes; i++) at += (size_t)snprintf(j->text + at, TEXT - at, "%s%%r%u", i ? ", " : "\treturn ", i);
	snprintf(j->text + at, TEXT - at, "\n}\n");
}

static void add_case(struct job **open, const struct tn_prim_info *p, uint32_t dtype, uint32_t to)
{
	static const char *const operands[] = { "", " %x", " %x, %y", " %x, %y, %z" };
	struct tn_diag d = { 0 };
	struct tn_arena a;
	struct tn_spec s;
	if (!*open || (*open)->n_nodes == BATCH) {
		*open = new_job(1);
		open_text(*open, dtype);
	}
	struct job *j = *open;
	tn_arena_init(&a, &d);
	struct tn_text attrs = { .arena = &a };
	tn_text_add(&attrs, "%s", "");
	for (const char *at = p->attrs; (at = tn_spec_next(at, &s)) != NULL;)
		if (!s.optional) row_attr(&attrs, &s, tn_dtype_name(to), !(TN_M(dtype) & TN_M_FLOAT));
	size_t at = strlen(j->text);
	snprintf(j->text + at, TEXT - at, "\t%%r%u = %s%s%s\n", j->n_nodes, p->name, p->dt == TN_DT_SELECT ? " %c, %x, %y" : operands[p->n_in], attrs.at);
	j->row[j->n_nodes] = p, j->dtype[j->n_nodes] = dtype, j->to[j->n_nodes++] = to;
	n_cases++;
	tn_arena_fini(&a);
}

static void elementwise_cases(void)
{
	const struct tn_prim_info *p;
	for (uint32_t dtype = TN_BOOL; dtype <= TN_F64; dtype++) {
		struct job *open = NULL;
		uint32_t first = n_jobs;
		for (uint32_t i = 0; (p = tn_prim_at(i)) != NULL; i++) {
			uint64_t mask = p->dt == TN_DT_SELECT ? p->mask2 : p->mask;
			if (p->cls != TN_CLS_POINTWISE || p->sh != TN_SH_SAME || !wanted(p) || !(mask & TN_M(dtype))) continue;
			if (p->dt != TN_DT_ATTR) add_case(&open, p, dtype, 0);
			else for (uint32_t to = TN_BOOL; to <= TN_F64; to++)
				if (p->number == TN_convert || (to != TN_BOOL && tn_dtype_bits(to) == tn_dtype_bits(dtype))) add_case(&open, p, dtype, to);
		}
		for (uint32_t k = first; k < n_jobs; k++) close_text(&jobs[k]);
	}
}

/* the rows that are not elementwise: f32 where they claim it, and one dtype more, a different one from row to row */
static void other_cases(void)
{
	const struct tn_prim_info *p;
	struct tn_diag d = { 0 };
	struct tn_arena a;
	tn_arena_init(&a, &d);
	for (uint32_t i = 0; (p = tn_prim_at(i)) != NULL; i++) {
		uint32_t taken = 0;
		if ((p->cls == TN_CLS_POINTWISE && p->sh == TN_SH_SAME) || p->cls == TN_CLS_PACK || !wanted(p)) continue;      /* pack is the layout stage's */
		for (uint32_t k = 0; k < 14 && taken < 2; k++) {
			uint32_t dtype = k == 0 ? TN_F32 : 1 + (i * 5 + k) % 13;
			struct tn_text t = { .arena = &a };
			if ((k && dtype == TN_F32) || !(p->mask & TN_M(dtype)) || !row_text(&t, p, dtype)) continue;
			struct job *j = new_job(0);
			snprintf(j->text, TEXT, "%s", t.at);
			j->row[0] = p, j->dtype[0] = dtype, j->n_nodes = 1;
			n_cases++, taken++;
		}
	}
	tn_arena_fini(&a);
}

int main(int argc, char **argv)
{
	struct tn_session_options o = { .head = { sizeof o, 0 }, .backend = "cpu_simd", .threads = 1 };
	pthread_t thread[N_THREADS];
	struct timespec start, end;
	if (argc > 2 && !strcmp(argv[1], "--every") && (every = (uint32_t)strtoul(argv[2], NULL, 10)) > 0) argv += 2, argc -= 2;
	only = argv + 1, n_only = argc - 1;
	clock_gettime(CLOCK_MONOTONIC, &start);
	if (tn_session_create(&o, &session) != TN_OK) return puts(tn_error_text()), 1;
	elementwise_cases();
	other_cases();
	uint32_t n = 0;
	while (n < N_THREADS && !pthread_create(&thread[n], NULL, work, NULL)) n++;
	work(NULL);
	while (n) pthread_join(thread[--n], NULL);
	tn_session_destroy(session);
	for (uint32_t i = 0; i < n_jobs; i++) free(jobs[i].text);
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%u cases in %u graphs, %d wrong; %d kernels interpreted, %d nodes on the host; %.1f s\n", n_cases, n_jobs, atomic_load(&n_failed), atomic_load(&n_interpreted),
		atomic_load(&n_on_host), (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec));
	return atomic_load(&n_failed) != 0 || !n_cases;
}
