/* ulp_record.c - results as lines of text, and the table of docs/accuracy.md */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tools/ulp/ulp.h"

#define FORM "%31s %31s %7s %7s units %" SCNu32 "-%" SCNu32 "/%" SCNu32 " worst %lf at %" SCNx64 ",%" SCNx64 " wrong %" SCNu64 " at %" SCNx64 ",%" SCNx64 \
	" over %" SCNu64 " of %" SCNu64 " bound %lf seconds %lf isa %47s date %15s"

static const char *or_dash(const char *text) { return text[0] ? text : "-"; }

/* attributes stand without blanks in a line */
static void squeeze(char *to, size_t size, const char *from)
{
	size_t n = 0;
	for (; *from && n + 1 < size; from++)
		if (*from != ' ') to[n++] = *from;
	to[n] = 0;
}

int ulp_record_text(const struct ulp_record *r, char *line, uint32_t size)
{
	char attrs[32];
	const struct ulp_tally *t = &r->tally;
	squeeze(attrs, sizeof attrs, r->attrs);
	return snprintf(line, size, "%s %s %s %s units %u-%u/%u worst %.6f at %" PRIx64 ",%" PRIx64 " wrong %" PRIu64 " at %" PRIx64 ",%" PRIx64
		" over %" PRIu64 " of %" PRIu64 " bound %.6f seconds %.4f isa %s date %s\n", r->name, or_dash(attrs), r->dtype, r->how, r->first, r->last, r->units, t->finite,
		t->at[0], t->at[1], t->wrong, t->wrong_at[0], t->wrong_at[1], t->over, t->n, r->bound, t->seconds, or_dash(r->isa), or_dash(r->date));
}

int ulp_record_append(const char *path, const struct ulp_record *r)
{
	char line[512];
	int n = ulp_record_text(r, line, sizeof line);
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (fd < 0) return 0;
	int ok = write(fd, line, (size_t)n) == n;
	return close(fd) == 0 && ok;
}

static int parse(const char *line, struct ulp_record *r)
{
	struct ulp_tally *t = &r->tally;
	*r = (struct ulp_record){ .units = 0 };
	if (sscanf(line, FORM, r->name, r->attrs, r->dtype, r->how, &r->first, &r->last, &r->units, &t->finite, &t->at[0], &t->at[1], &t->wrong, &t->wrong_at[0],
		&t->wrong_at[1], &t->over, &t->n, &r->bound, &t->seconds, r->isa, r->date) != 19) return 0;
	if (!strcmp(r->attrs, "-")) r->attrs[0] = 0;
	t->worst = t->wrong ? INFINITY : t->finite;
	return r->first <= r->last && r->last < r->units;
}

int ulp_records_read(const char *path, struct ulp_records *out)
{
	FILE *f = fopen(path, "r");
	char line[1024];
	if (!f) return errno == ENOENT;
	while (fgets(line, sizeof line, f)) {
		if (out->n == out->cap) {
			uint32_t cap = out->cap ? out->cap * 2 : 256;
			struct ulp_record *at = realloc(out->at, cap * sizeof *at);
			if (!at) break;
			out->at = at, out->cap = cap;
		}
		if (parse(line, &out->at[out->n])) out->n++;
	}
	int ok = !ferror(f);
	fclose(f);
	return ok;
}

static int same(const struct ulp_record *a, const struct ulp_record *b)
{
	return !strcmp(a->name, b->name) && !strcmp(a->attrs, b->attrs) && !strcmp(a->dtype, b->dtype) && !strcmp(a->how, b->how) && a->units == b->units;
}

static int by_function(const void *pa, const void *pb)
{
	const struct ulp_record *a = pa, *b = pb;
	int c = strcmp(a->name, b->name);
	if (!c) c = strcmp(a->attrs, b->attrs);
	if (!c) c = strcmp(a->dtype, b->dtype);
	if (!c) c = strcmp(a->how, b->how);
	return c ? c : a->first < b->first ? -1 : a->first > b->first;
}

void ulp_records_merge(struct ulp_records *r)
{
	uint32_t n = 0;
	if (r->n) qsort(r->at, r->n, sizeof *r->at, by_function);
	for (uint32_t i = 0; i < r->n; i++) {
		struct ulp_record *to = n ? &r->at[n - 1] : NULL, *from = &r->at[i];
		if (to && same(to, from) && from->first <= to->last) {         /* measured twice: the later line counts for a sample, the earlier for a unit */
			if (from->units == 1) *to = *from;
		} else if (to && same(to, from) && from->first == to->last + 1) {
			ulp_tally_add(&to->tally, &from->tally);
			to->last = from->last;
		} else r->at[n++] = *from;
	}
	r->n = n;
}

static void print_input(const struct ulp_record *r, const uint64_t *at)
{
	int digits = !strcmp(r->dtype, "f64") ? 16 : !strcmp(r->dtype, "f32") ? 8 : 4, two = at[1] != 0;
	printf("`%0*" PRIx64 "`", digits, at[0]);
	if (two) printf(", `%0*" PRIx64 "`", digits, at[1]);
}

/* a sweep of everything tells more than a sample of the same function */
static int superseded(const struct ulp_records *r, const struct ulp_record *x)
{
	for (uint32_t i = 0; !strcmp(x->how, "sample") && i < r->n; i++) {
		const struct ulp_record *y = &r->at[i];
		if (!strcmp(y->how, "full") && y->first == 0 && y->last == y->units - 1 && !strcmp(x->name, y->name) && !strcmp(x->attrs, y->attrs) && !strcmp(x->dtype, y->dtype)) return 1;
	}
	return 0;
}

static void print_row(const struct ulp_record *x)
{
	const struct ulp_tally *t = &x->tally;
	int full = !strcmp(x->how, "full"), whole = x->first == 0 && x->last == x->units - 1;
	printf("| %s%s%s | ", x->name, x->attrs[0] ? " " : "", x->attrs);
	if (full && whole) printf("**all**");
	else if (full) printf("units %u to %u of %u", x->first, x->last, x->units);
	else printf("%" PRIu64, t->n);
	if (isinf(x->bound)) printf(" | none | %.4g | ", t->finite);
	else printf(" | %.3g | %s%.4g%s | ", x->bound, t->over ? "**" : "", t->finite, t->over ? "**" : "");
	if (t->finite > 0) print_input(x, t->at);
	printf(" | %" PRIu64 " | ", t->over);
	if (t->wrong) printf("%" PRIu64 ", first ", t->wrong), print_input(x, t->wrong_at);
	else printf("0");
	printf(" | %.0f | %s |\n", t->seconds > 0 ? (double)t->n / t->seconds / 1e6 : 0, x->date);
}

void ulp_table(const struct ulp_records *r)
{
	static const char *const dtypes[] = { "f32", "f64", "f16", "bf16" };
	for (uint32_t d = 0; d < 4; d++) {
		printf("%s### %s\n\n| function | inputs | bound | worst, ulp | at | over | wrong | Melem/s | measured |\n|---|---|---|---|---|---|---|---|---|\n", d ? "\n" : "", dtypes[d]);
		for (uint32_t i = 0; i < r->n; i++)
			if (!strcmp(r->at[i].dtype, dtypes[d]) && !superseded(r, &r->at[i])) print_row(&r->at[i]);
	}
	if (r->n) printf("\nOn %s.\n", r->at[0].isa);
}
