/* filetype.c - labels files with magika's model through tenon.h, on the backend that TENON_BACKEND names.
 *
 *     filetype [--reference SCORES] MODEL_FOLDER FILE...
 *
 * SCORES is what another runtime gave for the same files (tools/filetype_reference.py): a line "path label s0 s1 ..." a file. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/tenon.h>
#include <time.h>
#include "magika.h"

struct job {
	const char *folder, *reference, **files;
	int n_files, n_rows;
	struct magika m;
	int *row;                  /* by file: its row of the batch, or -1 */
	const char **label;        /* by file, where no model is needed */
	int32_t *tokens;
	double start, first, again;
	struct tn_session *s;
	struct tn_model *model;
	struct tn_executable *x;
	struct tn_tensor *in, *out;
};

static double now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void on_log(void *ctx, uint32_t level, const char *text)
{
	(void)ctx;
	if (level <= 1) fprintf(stderr, "filetype: %s\n", text);
}

static int read_files(struct job *j)
{
	size_t width = (size_t)(j->m.beg + j->m.end), n = (size_t)j->n_files;
	char why[512] = "";
	j->row = calloc(n, sizeof *j->row);
	j->label = calloc(n, sizeof *j->label);
	j->tokens = calloc(n * width, sizeof *j->tokens);
	if (!j->row || !j->label || !j->tokens) { fprintf(stderr, "filetype: no memory\n"); return 0; }
	for (int i = 0; i < j->n_files; i++) {
		int got = magika_features(&j->m, j->files[i], j->tokens + (size_t)j->n_rows * width, &j->label[i], why, sizeof why);
		if (got < 0) { fprintf(stderr, "filetype: %s: %s\n", j->files[i], why); return 0; }
		j->row[i] = got ? j->n_rows++ : -1;
	}
	return 1;
}

static int run_model(struct job *j)
{
	char path[4200];
	int64_t dims[2] = { j->n_rows, j->m.beg + j->m.end };
	struct tn_session_options o = { .head = TN_HEAD(tn_session_options, 0), .log = on_log };
	snprintf(path, sizeof path, "%s/model.onnx", j->folder);
	if (tn_session_create(&o, &j->s) != TN_OK || tn_model_load(j->s, path, &j->model) != TN_OK || tn_executable_create(j->s, j->model, NULL, &j->x) != TN_OK ||
		tn_tensor_wrap(j->s, TN_I32, 2, dims, NULL, j->tokens, NULL, NULL, &j->in) != TN_OK || tn_executable_run(j->x, &j->in, 1, &j->out, 1) != TN_OK) {
		fprintf(stderr, "filetype: %s\n", tn_error_text());
		return 0;
	}
	if (tn_tensor_dim(j->out, 1) != j->m.n_labels) {
		fprintf(stderr, "filetype: the model gives %lld scores, its settings name %d labels\n", (long long)tn_tensor_dim(j->out, 1), j->m.n_labels);
		return 0;
	}
	j->first = now_ms() - j->start;
	if (j->first > 2000) return 1;                  /* a slow backend is not asked twice */
	double t = now_ms();
	if (tn_executable_run(j->x, &j->in, 1, &j->out, 1) != TN_OK) return 0;
	j->again = now_ms() - t;
	return 1;
}

/* largest difference from the reference's scores of this file, or NaN when it has no line there */
static double difference(const struct job *j, const char *file, const float *scores)
{
	FILE *f = j->reference ? fopen(j->reference, "r") : NULL;
	char *line = NULL;
	size_t cap = 0, len = strlen(file);
	double worst = NAN;
	while (f && getline(&line, &cap, f) > 0) {
		if (strncmp(line, file, len) || line[len] != '\t') continue;
		char *at = strchr(line + len + 1, '\t');
		worst = 0;
		for (int i = 0; at && i < j->m.n_labels; i++) {
			char *end;
			double d = fabs(strtod(at, &end) - (double)scores[i]);
			if (end == at) { worst = NAN; break; }
			if (!(d <= worst)) worst = d;
			at = end;
		}
	}
	free(line);
	if (f) fclose(f);
	return worst;
}

static int print_labels(const struct job *j)
{
	double worst = 0;
	int compared = 0;
	for (int i = 0; i < j->n_files; i++) {
		const char *name = strrchr(j->files[i], '/') ? strrchr(j->files[i], '/') + 1 : j->files[i];
		if (j->row[i] < 0) { printf("%-24s %-14s (no model needed)\n", name, j->label[i]); continue; }
		const float *scores = (const float *)tn_tensor_data(j->out) + (size_t)j->row[i] * (size_t)j->m.n_labels;
		int best;
		const char *label = magika_label(&j->m, scores, &best);
		double d = difference(j, j->files[i], scores);
		printf("%-24s %-14s %.4f", name, label, (double)scores[best]);
		if (!isnan(d)) {
			printf("   differs from onnxruntime by %.1e", d);
			compared++;
			if (d > worst) worst = d;
		}
		putchar('\n');
	}
	if (compared) printf("%d files compared with onnxruntime's scores: largest difference %.1e: %s\n", compared, worst, worst <= 1e-4 ? "they agree" : "THEY DIFFER");
	return worst <= 1e-4;
}

static void print_how(const struct job *j)
{
	struct tn_executable_stats st = { .head = TN_HEAD(tn_executable_stats, 0) };
	const char *id;
	uint64_t launches;
	tn_executable_stat(j->x, &st);
	printf("backend:");
	for (uint64_t i = 0; tn_executable_place(j->x, i, &id, &launches) == TN_OK; i++)
		if (launches) printf(" %s (%llu launches)", id, (unsigned long long)launches);
	printf("; %llu kernels from %llu nodes, %llu from the cache\n", (unsigned long long)st.kernels, (unsigned long long)st.nodes, (unsigned long long)st.from_cache);
	printf("first answer for %d files %.2f s after start, of it compiling %.2f s", j->n_rows, j->first / 1e3, st.compile_ms / 1e3);
	if (j->again > 0) printf("; again %.1f ms", j->again);
	putchar('\n');
}

static int usage(void)
{
	fprintf(stderr, "usage: filetype [--reference SCORES] MODEL_FOLDER FILE...\n\n"
		"MODEL_FOLDER is the folder of magika's model.onnx and config.min.json; TENON_BACKEND chooses the backend.\n");
	return 2;
}

int main(int argc, char **argv)
{
	struct job j = { .start = now_ms() };
	char why[4600];
	int at = 1, ok = 0;
	if (at + 1 < argc && !strcmp(argv[at], "--reference")) { j.reference = argv[at + 1]; at += 2; }
	if (at + 1 >= argc) return usage();
	j.folder = argv[at];
	j.files = (const char **)(argv + at + 1);
	j.n_files = argc - at - 1;
	if (!magika_open(&j.m, j.folder, why, sizeof why)) fprintf(stderr, "filetype: %s\n", why);
	else if (read_files(&j)) {
		ok = j.n_rows == 0 || run_model(&j);
		if (ok) ok = print_labels(&j);
		if (ok && j.x) print_how(&j);
	}
	tn_tensor_release(j.in);
	tn_tensor_release(j.out);
	tn_executable_destroy(j.x);
	tn_model_destroy(j.model);
	tn_session_destroy(j.s);
	free(j.row);
	free(j.label);
	free(j.tokens);
	magika_close(&j.m);
	return !ok;
}
