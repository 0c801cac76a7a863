/* lint_test.c - the bundled tables are clean; each kind of fault is found.  Golden renderings of the sample nests: testdata/ */
#include "render/testing.h"

static uint32_t findings;
static struct tn_text report;
static const struct tn_backend *linted;

static void lint(void *unused)
{
	(void)unused;
	report = (struct tn_text){ .arena = &arena };
	findings = tn_lint(linted, &report, &arena);
}

static void expect_finding(struct tn_backend b, const char *words)
{
	linted = &b;
	assert_int_equal(tn_protect(&diag, lint, NULL), TN_OK);
	if (!findings || !strstr(report.at, words)) {
		fprintf(stderr, "\"%s\" is not in: %s\n", words, findings ? report.at : "nothing");
		fail();
	}
}

static void test_clean(void **s)
{
	(void)s;
	linted = &backend;
	assert_int_equal(tn_protect(&diag, lint, NULL), TN_OK);
	if (findings)
		fprintf(stderr, "%s", report.at);
	assert_int_equal(findings, 0);
}

static void test_rows(void **s)
{
	(void)s;
	static const struct tn_dialect_row pair[] = { TN_SPELL(add, TN_SCALAR, TN_M(TN_F32), TN_M(TN_F32), "@0 + @1@") };
	static const struct tn_dialect_row hole[] = { TN_SPELL(add, TN_SCALAR, TN_M(TN_F32), TN_M(TN_F32), "@0@ + @y@") };
	static const struct tn_dialect_row mask[] = { TN_SPELL(add, TN_SCALAR, 0, TN_M(TN_F32), "@0@ + @1@") };
	static const struct tn_dialect_row helper[] = { TN_SPELL(add, TN_SCALAR, TN_M(TN_F32), TN_M(TN_F32), "@use(nobody)@@0@") };
	static const struct { const struct tn_dialect_row *row; const char *words; } all[] = {
		{ pair, "hole" }, { hole, "@y@" }, { mask, "empty dtype mask" }, { helper, "helper.nobody" } };
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		struct tn_backend b = backend;
		b.dialect = (struct tn_dialect_row_rows){ all[i].row, 1 };
		expect_finding(b, all[i].words);
	}
}

static void test_templates(void **s)
{
	(void)s;
	static const struct { const char *text, *where, *launch, *words; } all[] = {
		{ "@body(0, OUTER=i, INNER=j)@ @nothing@", NULL, NULL, "no such hole" },
		{ "@if(dims(INNER) > 0)@ x", NULL, NULL, "@end@ is missing" },
		{ "@body(0, OUTER=i)@", NULL, NULL, "is not bound" },
		{ "@body(7, OUTER=i, INNER=j)@", NULL, NULL, "phases" },
		{ "@body(0, OUTER=i, INNER=j", NULL, NULL, "without its end" },
		{ "x", "extent(SIDE) > 1", NULL, "axis" },
		{ "x", NULL, "extent(OUTER) / (extent(OUTER) - 5)", "divisor" },
		{ "x", NULL, "extent(OUTER) +", "value was expected" },
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		struct tn_template_row t = { .id = "t", .version = TN_TEMPLATE_VERSION, .nest = TN_NEST_POINTWISE, .text = all[i].text, .where = all[i].where,
			.launch = { all[i].launch } };
		struct tn_backend b = backend;
		b.templates = (struct tn_template_row_rows){ &t, 1 };
		expect_finding(b, all[i].words);
	}
}

/* ---- golden renderings: TENON_UPDATE=1 writes them anew (testdata/update.sh) */
struct golden { uint32_t cls, variant; struct tn_kernel *k; };
static void render_sample(void *arg)
{
	struct golden *g = arg;
	const struct tn_nest *n = rd_sample(&arena, g->cls, g->variant);
	g->k = n ? tn_render(n, &backend, NULL, NULL, NULL, &arena) : NULL;
}

static void compare_golden(const struct tn_kernel *k, const char *name)
{
	char path[512], *have = malloc(1 << 20);
	snprintf(path, sizeof path, "%s/render/testdata/%s.c", getenv("TENON_SOURCE") ? getenv("TENON_SOURCE") : ".", name);
	FILE *f = fopen(path, getenv("TENON_UPDATE") ? "w" : "r");
	if (!f)
		fprintf(stderr, "%s cannot be opened\n", path);
	assert_non_null(f);
	if (getenv("TENON_UPDATE")) {
		fwrite(k->text, 1, k->text_len, f);
	} else {
		size_t n = fread(have, 1, 1 << 20, f);
		if (n != k->text_len || memcmp(have, k->text, n))
			fprintf(stderr, "%s differs from what is rendered; when the change is meant: render/testdata/update.sh\n%s", path, k->text);
		assert_int_equal(n, k->text_len);
		assert_memory_equal(have, k->text, n);
	}
	fclose(f);
	free(have);
}

static void test_golden(void **s)
{
	static const char *const classes[] = { NULL, "pointwise", "reduce", "rows", "contract", "cumulate", "scatter" };
	(void)s;
	for (uint32_t c = TN_NEST_POINTWISE; c <= TN_NEST_SCATTER; c++)
		for (uint32_t v = 0; v < RD_SAMPLE_VARIANTS; v++) {
			struct golden g = { c, v, NULL };
			char name[64];
			snprintf(name, sizeof name, "%s_%u", classes[c], v);
			if (tn_protect(&diag, render_sample, &g))
				fprintf(stderr, "%s: %s\n", name, diag.text);
			assert_non_null(g.k);
			compare_golden(g.k, name);
		}
}

static int setup(void **s) { (void)s; return open_tables(); }
static int teardown(void **s) { (void)s; tn_arena_fini(&arena); return 0; }

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_clean), cmocka_unit_test(test_rows), cmocka_unit_test(test_templates),
		cmocka_unit_test(test_golden) };
	return cmocka_run_group_tests(tests, setup, teardown);
}
