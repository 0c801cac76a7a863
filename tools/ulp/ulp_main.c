/* ulp_main.c - measures the definitions of the elementwise primitives as compiled kernels:  ulp --help */
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "tools/ulp/ulp.h"

static const char usage[] =
	"ulp                       the same as --all --resume\n"
	"ulp --quick [NAME...]     2^20 inputs of each function and the edges of every exponent; pairs; f64 samples against MPFR; fails over a bound\n"
	"ulp --all [NAME...]       all 2^32 inputs of each function of one f32 operand (nothing else: takes minutes to hours), all of f16 and bf16\n"
	"    --out FILE            results, a line each, appended (out/ulp.txt)\n"
	"    --resume              passes over what FILE has\n"
	"    --shard I/N           the I-th of N parts, I from 0\n"
	"ulp --truth [NAME...]     the truth of f32 against MPFR on 2^10 inputs: is the measure right?\n"
	"ulp --merge FILE...       the lines of finished spans joined, to be kept\n"
	"ulp --table FILE...       the table of docs/accuracy.md\n"
	"    --dtype f32           that dtype only\n"
	"    --samples N           so many inputs of a function (--quick: 2^20, of f64 2^12)\n"
	"    --jobs N              that many functions at once (--quick)\n"
	"The backend is TENON_BACKEND's, else cpu_simd.\n";

struct options {
	int quick, all, resume, merge, table, truth;
	uint32_t shard, n_shards, jobs, dtype, samples;
	const char *out;
	char **names;
	int n_names;
};

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int wanted(const struct options *o, const char *name)
{
	for (int i = 0; i < o->n_names; i++)
		if (!strcmp(o->names[i], name)) return 1;
	return o->n_names == 0;
}

/* what the kernels are compiled for: the device as the plugin names it, without blanks */
static void machine(struct tn_session *s, char *to, size_t size)
{
	struct tn_plugin_info info = { .head = { sizeof info, 0 } };
	for (uint64_t i = 0; tn_session_plugin(s, i, &info) == TN_OK; i++)
		if (info.order == 1) {
			snprintf(to, size, "%s:%s", info.id, info.device);
			for (char *c = to; *c; c++)
				if (*c == ' ' || *c == '\t') *c = '_';
			return;
		}
	snprintf(to, size, "-");
}

static struct ulp_record record_of(const struct ulp_kernel *k, const char *how, const char *isa)
{
	struct ulp_record r = { .bound = k->bound, .units = 1 };
	time_t t = time(NULL);
	struct tm day;
	snprintf(r.name, sizeof r.name, "%s", k->truth->name);
	snprintf(r.attrs, sizeof r.attrs, "%s", k->truth->attrs);
	snprintf(r.dtype, sizeof r.dtype, "%s", tn_dtype_name(k->dtype));
	snprintf(r.how, sizeof r.how, "%s", how);
	snprintf(r.isa, sizeof r.isa, "%s", isa);
	strftime(r.date, sizeof r.date, "%Y-%m-%d", gmtime_r(&t, &day));
	return r;
}

static void print_line(const struct ulp_kernel *k, const struct ulp_tally *t)
{
	char line[400];
	int n = snprintf(line, sizeof line, "%-12s %-15s %-4s  worst %9.4f at %0*" PRIx64, k->truth->name, k->truth->attrs, tn_dtype_name(k->dtype), t->finite,
		(int)tn_dtype_bits(k->dtype) / 4, t->at[0]);
	if (k->n_in > 1) n += snprintf(line + n, sizeof line - (size_t)n, ",%0*" PRIx64, (int)tn_dtype_bits(k->dtype) / 4, t->at[1]);
	n += snprintf(line + n, sizeof line - (size_t)n, "  bound %g  over %" PRIu64 " of %" PRIu64 "  %.0f Melem/s", k->bound, t->over, t->n,
		t->seconds > 0 ? (double)t->n / t->seconds / 1e6 : 0.0);
	if (t->wrong) n += snprintf(line + n, sizeof line - (size_t)n, "  WRONG %" PRIu64 ", first %" PRIx64 ",%" PRIx64, t->wrong, t->wrong_at[0], t->wrong_at[1]);
	if (t->over && !t->failed) n += snprintf(line + n, sizeof line - (size_t)n, "  (known)");
	if (t->failed) n += snprintf(line + n, sizeof line - (size_t)n, "  FAILED");
	if (k->interpreted) n += snprintf(line + n, sizeof line - (size_t)n, "  (interpreted)");
	puts(line);
	fflush(stdout);
}

/* ---- --quick: functions taken from a list by a few threads */
struct quick {
	const struct options *o;
	struct tn_session *s;
	char isa[48];
	atomic_uint next;
	atomic_int failed, measured, missing;
	pthread_mutex_t print;
};
static const uint32_t dtypes[] = { TN_F32, TN_F64, TN_F16, TN_BF16 };

static uint32_t how_many(const struct options *o, const struct ulp_truth *t, uint32_t dtype)
{
	if (o->samples) return o->samples;
	if (dtype == TN_F64) return 1 << 12;
	return t->flags & ULP_SLOW ? 1 << 16 : 1 << 20;
}

static int applies(const struct options *o, const struct ulp_truth *t, uint32_t dtype)
{
	const struct tn_prim_info *p = tn_prim_by_name(t->name, strlen(t->name));
	if (!wanted(o, t->name) || (o->dtype && o->dtype != dtype)) return 0;
	if (p && !(p->mask & TN_M(dtype))) return 0;
	if (dtype == TN_F64) return ulp_mpfr() && ulp_mpfr_has(t);
	if (dtype == TN_F32) return 1;
	return t->one && ((t->flags & ULP_HOT) || o->all || o->n_names);
}

static void quick_one(struct quick *q, const struct ulp_truth *t, uint32_t dtype, void *x, void *y)
{
	struct ulp_kernel k;
	struct ulp_tally tally = { 0 };
	char why[300];
	int ok = ulp_kernel_open(&k, q->s, t, dtype, why, sizeof why);
	if (ok) {
		uint32_t n = k.n_in > 1 ? ulp_sample_pairs(dtype, how_many(q->o, t, dtype), x, y) : ulp_samples(dtype, how_many(q->o, t, dtype), x);
		ok = ulp_kernel_measure(&k, x, k.n_in > 1 ? y : NULL, n, &tally);
		if (!ok) snprintf(why, sizeof why, "%s", tn_error_text());
	}
	pthread_mutex_lock(&q->print);
	if (!ok) printf("%-12s %-15s %-4s  NOT MEASURED: %s\n", t->name, t->attrs, tn_dtype_name(dtype), why);
	else print_line(&k, &tally);
	pthread_mutex_unlock(&q->print);
	if (ok && q->o->out) {
		struct ulp_record r = record_of(&k, "sample", q->isa);
		r.tally = tally;
		ulp_record_append(q->o->out, &r);
	}
	atomic_fetch_add(&q->failed, !ok || tally.failed != 0);
	atomic_fetch_add(&q->measured, ok);
	ulp_kernel_close(&k);
}

static void *quick_thread(void *arg)
{
	struct quick *q = arg;
	void *x = malloc(ULP_BLOCK * 8), *y = malloc(ULP_BLOCK * 8);
	for (uint32_t i; x && y && (i = atomic_fetch_add(&q->next, 1), ulp_truth_at(i / 4));)
		if (applies(q->o, ulp_truth_at(i / 4), dtypes[i % 4])) quick_one(q, ulp_truth_at(i / 4), dtypes[i % 4], x, y);
	free(x);
	free(y);
	ulp_mpfr_done();
	return NULL;
}

/* rows of the table that promise ulp and that no truth is written for: a new row needs one */
static int without_truth(const struct options *o)
{
	int n = 0;
	const struct tn_prim_info *p;
	for (uint32_t i = 0; (p = tn_prim_at(i)) != NULL; i++) {
		uint32_t k = 0;
		if (p->tol != TN_TOL_ULP || p->n_in > 2 || !wanted(o, p->name)) continue;
		while (ulp_truth_at(k) && strcmp(ulp_truth_at(k)->name, p->name) != 0) k++;
		if (!ulp_truth_at(k)) printf("%-12s NOT MEASURED: tools/ulp/ulp_truth.c has no truth for it\n", p->name), n++;
	}
	return n;
}

static int quick(const struct options *o, struct tn_session *s)
{
	struct quick q = { .o = o, .s = s };
	pthread_t thread[16];
	double start = now();
	machine(s, q.isa, sizeof q.isa);
	pthread_mutex_init(&q.print, NULL);
	uint32_t n = 0, jobs = o->jobs > 16 ? 16 : o->jobs;
	while (n < jobs && !pthread_create(&thread[n], NULL, quick_thread, &q)) n++;
	if (!n) quick_thread(&q);
	while (n) pthread_join(thread[--n], NULL);
	pthread_mutex_destroy(&q.print);
	int failed = atomic_load(&q.failed) + without_truth(o);
	printf("%d measured, %d failed, %.1f s on %s%s\n", atomic_load(&q.measured), failed, now() - start, q.isa,
		ulp_mpfr() ? "" : "; f64 needs MPFR and was not measured");
	return failed != 0;
}

/* ---- --all: units of 2^26 inputs, each a line when it is done */
struct sweep {
	const struct options *o;
	struct tn_session *s;
	char isa[48];
	struct ulp_records have;
	uint64_t done, all;                /* units */
	double start;
	int failed;
	uint32_t *x;
};

static int has(const struct sweep *w, const struct ulp_kernel *k, uint32_t unit, uint32_t units)
{
	char attrs[32] = "";
	for (const char *c = k->truth->attrs; *c; c++)
		if (*c != ' ') strncat(attrs, c, 1);
	for (uint32_t i = 0; i < w->have.n; i++) {
		const struct ulp_record *r = &w->have.at[i];
		if (!strcmp(r->name, k->truth->name) && !strcmp(r->attrs, attrs) && !strcmp(r->dtype, tn_dtype_name(k->dtype)) && !strcmp(r->how, "full") &&
			r->units == units && r->first <= unit && unit <= r->last) return 1;
	}
	return 0;
}

static void tell(const struct sweep *w, const struct ulp_kernel *k, uint32_t unit, uint32_t units, const struct ulp_tally *t)
{
	double spent = now() - w->start, left = w->done ? spent / (double)w->done * (double)(w->all - w->done) : 0;
	fprintf(stderr, "%s%s %s %s: unit %u of %u, worst %.4f, over %" PRIu64 "; %" PRIu64 " of %" PRIu64 " units, %.0f s left%s", isatty(2) ? "\r\33[K" : "", k->truth->name,
		k->truth->attrs, tn_dtype_name(k->dtype), unit + 1, units, t->finite, t->over, w->done, w->all, left, isatty(2) ? "" : "\n");
}

static int sweep_unit(struct sweep *w, struct ulp_kernel *k, uint32_t unit, uint32_t units, struct ulp_tally *t)
{
	uint64_t n = (UINT64_C(1) << tn_dtype_bits(k->dtype)) / units, first = n * unit;
	for (uint64_t at = 0; at < n; at += ULP_BLOCK) {
		uint32_t m = n - at < ULP_BLOCK ? (uint32_t)(n - at) : ULP_BLOCK;
		if (tn_dtype_bits(k->dtype) == 16) ulp_samples(k->dtype, 0, w->x);
		else for (uint32_t i = 0; i < m; i++) w->x[i] = (uint32_t)(first + at + i);
		if (!ulp_kernel_measure(k, w->x, NULL, m, t)) return 0;
	}
	return 1;
}

static void sweep_function(struct sweep *w, const struct ulp_truth *t, uint32_t dtype, int count_only)
{
	struct ulp_kernel k = { .truth = t, .dtype = dtype };
	char why[300];
	uint32_t units = dtype == TN_F32 ? ULP_UNITS : 1;
	struct ulp_tally total = { 0 };
	for (uint32_t u = 0; u < units; u++) {
		if (u % w->o->n_shards != w->o->shard || (w->o->resume && has(w, &k, u, units))) continue;
		if (count_only) {
			w->all++;
			continue;
		}
		if (!k.x && !ulp_kernel_open(&k, w->s, t, dtype, why, sizeof why)) {
			printf("%-12s %-15s %-4s  NOT MEASURED: %s\n", t->name, t->attrs, tn_dtype_name(dtype), why);
			w->failed++;
			return;
		}
		struct ulp_record r = record_of(&k, "full", w->isa);
		r.first = r.last = u, r.units = units;
		if (!sweep_unit(w, &k, u, units, &r.tally) || !ulp_record_append(w->o->out, &r)) {
			printf("%s %s: unit %u not measured: %s\n", t->name, tn_dtype_name(dtype), u, tn_error_text());
			w->failed++;
			break;
		}
		ulp_tally_add(&total, &r.tally);
		w->done++;
		tell(w, &k, u, units, &total);
	}
	if (k.x) {
		if (isatty(2)) fputs("\r\33[K", stderr);
		print_line(&k, &total);
		w->failed += total.failed != 0;
	}
	ulp_kernel_close(&k);
}

static int sweep(const struct options *o, struct tn_session *s)
{
	static const uint32_t order[] = { TN_F16, TN_BF16, TN_F32 };       /* the short ones first */
	struct sweep w = { .o = o, .s = s, .start = now(), .x = malloc(ULP_BLOCK * 4) };
	if (!w.x) return 2;
	machine(s, w.isa, sizeof w.isa);
	if (o->resume && !ulp_records_read(o->out, &w.have)) {
		fprintf(stderr, "ulp: cannot read %s\n", o->out);
		free(w.x);
		return 2;
	}
	for (int count = 1; count >= 0; count--)
		for (uint32_t d = 0; d < 3; d++)
			for (uint32_t i = 0; ulp_truth_at(i); i++)
				if (ulp_truth_at(i)->one && applies(o, ulp_truth_at(i), order[d])) sweep_function(&w, ulp_truth_at(i), order[d], count);
	free(w.have.at);
	free(w.x);
	return w.failed != 0;
}

/* ---- --truth: the double functions may err by 2^-12 ulp of f32, where the result is in reach of f32 */
static int check_truth(const struct options *o)
{
	float x[1 << 12];
	int bad = 0;
	if (!ulp_mpfr()) return puts("built without MPFR: nothing to compare with"), 0;
	for (uint32_t i = 0; ulp_truth_at(i); i++) {
		const struct ulp_truth *t = ulp_truth_at(i);
		double worst = 0, at = 0;
		if (!t->one || !ulp_mpfr_has(t) || !wanted(o, t->name)) continue;
		uint32_t n = ulp_samples(TN_F32, sizeof x / sizeof *x, x);
		for (uint32_t k = 0; k < n; k++) {
			double truth = t->one((double)x[k]);
			struct ulp_error e = ulp_mpfr_error(t, (double)x[k], 0, truth);
			if (e.wrong) e.ulp = INFINITY;
			if (fabs(truth) < 0x1p-150 || fabs(truth) > 0x1p129) e.ulp = e.wrong ? e.ulp : 0;
			if (e.ulp > worst) worst = e.ulp, at = (double)x[k];
		}
		int over = worst > 0x1p17;
		bad += over;
		printf("%-12s %-15s worst %.3g ulp of f64 at %a%s\n", t->name, t->attrs, worst, at, over ? "  FAILED" : "");
	}
	ulp_mpfr_done();
	return bad != 0;
}

/* ---- lines to lines and to the table */
static int show(const struct options *o)
{
	struct ulp_records r = { 0 };
	for (int i = 0; i < o->n_names; i++)
		if (access(o->names[i], R_OK) || !ulp_records_read(o->names[i], &r)) {
			fprintf(stderr, "ulp: cannot read %s\n", o->names[i]);
			free(r.at);
			return 2;
		}
	ulp_records_merge(&r);
	if (o->table) ulp_table(&r);
	for (uint32_t i = 0; o->merge && i < r.n; i++) {
		char line[512];
		ulp_record_text(&r.at[i], line, sizeof line);
		fputs(line, stdout);
	}
	free(r.at);
	return 0;
}

static int parse_options(int argc, char **argv, struct options *o)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	*o = (struct options){ .n_shards = 1, .jobs = cores < 1 ? 1 : cores > 4 ? 4 : (uint32_t)cores };
	o->names = argv;
	for (int i = 1; i < argc; i++) {
		const char *a = argv[i], *next = i + 1 < argc ? argv[i + 1] : NULL;
		char end;
		if (!strcmp(a, "--quick")) o->quick = 1;
		else if (!strcmp(a, "--all")) o->all = 1;
		else if (!strcmp(a, "--truth")) o->truth = 1;
		else if (!strcmp(a, "--resume")) o->resume = 1;
		else if (!strcmp(a, "--merge")) o->merge = 1;
		else if (!strcmp(a, "--table")) o->table = 1;
		else if (!strcmp(a, "--out") && next) o->out = argv[++i];
		else if (!strcmp(a, "--shard") && next && sscanf(next, "%u/%u%c", &o->shard, &o->n_shards, &end) == 2 && o->shard < o->n_shards) i++;
		else if (!strcmp(a, "--jobs") && next && sscanf(next, "%u%c", &o->jobs, &end) == 1 && o->jobs) i++;
		else if (!strcmp(a, "--samples") && next && sscanf(next, "%u%c", &o->samples, &end) == 1 && o->samples && o->samples <= ULP_BLOCK) i++;
		else if (!strcmp(a, "--dtype") && next && (o->dtype = tn_dtype_by_name(next, strlen(next))) != 0) i++;
		else if (a[0] == '-') {
			fprintf(stderr, "ulp: what is %s%s%s?\n%s", a, next ? " " : "", next ? next : "", usage);
			return 0;
		} else o->names[o->n_names++] = argv[i];
	}
	if (argc == 1) o->all = o->resume = 1;
	if (o->quick + o->all + o->truth + (o->merge || o->table) == 1) return 1;
	fputs(usage, stderr);
	return 0;
}

static int known(const struct options *o)
{
	for (int i = 0; i < o->n_names; i++) {
		uint32_t k = 0;
		while (ulp_truth_at(k) && strcmp(ulp_truth_at(k)->name, o->names[i]) != 0) k++;
		if (!ulp_truth_at(k)) {
			fprintf(stderr, "ulp: no function %s\n", o->names[i]);
			return 0;
		}
	}
	return 1;
}

int main(int argc, char **argv)
{
	struct options o;
	struct tn_session *s = NULL;
	struct tn_session_options so = { .head = { sizeof so, 0 } };
	if (!parse_options(argc, argv, &o)) return 2;
	if (o.merge || o.table) return show(&o);
	if (!known(&o)) return 2;
	if (o.truth) return check_truth(&o);
	if (o.all && !o.out) {
		o.out = "out/ulp.txt";
		mkdir("out", 0755);
	}
	so.threads = 1;                        /* a kernel's speed on one core */
	if (tn_session_create(&so, &s) != TN_OK) {
		fprintf(stderr, "ulp: %s\n", tn_error_text());
		return 2;
	}
	int rc = o.quick ? quick(&o, s) : sweep(&o, s);
	tn_session_destroy(s);
	return rc;
}
