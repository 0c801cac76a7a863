/* lint.c - checks a backend's tables with no device: texts of rows, ids, expressions, and every template on the sample nests */
#include "render/inner.h"
#include "render/sample.h"
#include <string.h>

struct lint {
	const struct tn_backend *b;
	struct tn_text *out;
	struct tn_arena *a;
	uint32_t found;
	struct rd *r;                            /* for rows: no nest, no template */
	const struct rd_name *names; uint32_t n_names;
	const char *text, *what;                 /* of the row at hand */
	const struct tn_nest *nest;              /* of the template at hand */
	const struct tn_template_row *t;
	bool held;                               /* its `where` held */
};

static void finding(struct lint *l, const char *where, const char *what)
{
	tn_text_add(l->out, "%s: %s\n", where, what);
	l->found++;
}

/* ---- texts */
static void expand_row(void *arg)
{
	struct lint *l = arg;
	rd_expand(l->r, l->text, l->names, l->n_names, l->what);
}

static void check_text(struct lint *l, const char *what, const char *text)
{
	l->what = what;
	l->text = text;
	if (!text)
		finding(l, what, "no text");
	else if (tn_protect(l->a->diag, expand_row, l))
		finding(l, what, l->a->diag->text);
}

static struct rd_name *names(struct tn_arena *a, uint32_t *n)
{
	static const char *const all[] = { "0", "1", "2", "3", "T", "T0", "T1", "T2", "T3", "r", "value", "sign", "x", "c", "b", "i", "n", "k", "S", "fill", "offset",
#define TN_ATTR(name, number) "attr(" #name ")",
#include <tenon/attrs.def>
#undef TN_ATTR
	};
	struct rd_name *r = tn_array(a, struct rd_name, sizeof all / sizeof *all);
	*n = sizeof all / sizeof *all;
	for (uint32_t i = 0; i < *n; i++)
		r[i] = (struct rd_name){ all[i], "x" };
	return r;
}

static void dialect(struct lint *l)
{
	for (uint64_t i = 0; i < l->b->dialect.count; i++) {
		const struct tn_dialect_row *w = &l->b->dialect.at[i];
		const char *what = tn_printf(l->a, "dialect row %llu (%s)", (unsigned long long)i, rd_prim_name(w->prim));
		if (!strcmp(rd_prim_name(w->prim), "?"))
			finding(l, what, "no primitive has this number");
		if (!w->forms || w->forms > (TN_SCALAR | TN_VECTOR | TN_BLOCK))
			finding(l, what, "its forms are neither scalar, vector nor block");
		if (!w->in || !w->out)
			finding(l, what, "an empty dtype mask: it can never be chosen");
		check_text(l, what, w->text);
	}
}

static void word_rows(struct lint *l)
{
	static const char *const needed[] = { "type", "storage", "literal", "let", "var", "set", "if", "endif", "inside", "index", "div", "mod", "arg.in", "arg.out", "arg.size", "load",
		"store" };
	for (uint64_t i = 0; i < l->b->words.count; i++) {
		const struct tn_word_row *w = &l->b->words.at[i];
		if (!w->role)
			finding(l, tn_printf(l->a, "word row %llu", (unsigned long long)i), "no role");
		else
			check_text(l, tn_printf(l->a, "word row %llu (%s)", (unsigned long long)i, w->role), w->text);
	}
	for (size_t i = 0; l->b->templates.count && i < sizeof needed / sizeof *needed; i++)
		if (!rd_word_find(l->b, needed[i], 0, 0))
			finding(l, "words", tn_printf(l->a, "no row for %s, which every rendering needs", needed[i]));
}

/* ---- templates */
static void try_where(void *arg)
{
	struct lint *l = arg;
	struct rd *r = rd_start(l->nest, l->b, NULL, l->t, l->a);
	l->held = !l->t->where || rd_holds(r, l->t->where, strlen(l->t->where));
}

static void try_render(void *arg)
{
	struct lint *l = arg;
	struct tn_backend alone = *l->b;
	struct tn_template_row row = *l->t;
	row.where = NULL;                        /* a nest that it would not be chosen for shows faults of the text just as well */
	alone.templates = (struct tn_template_row_rows){ &row, 1 };
	tn_render(l->nest, &alone, NULL, NULL, NULL, l->a);
}

static void samples(struct lint *l, const char *what)
{
	uint32_t tried = 0;
	for (uint32_t v = 0; v < RD_SAMPLE_VARIANTS; v++) {
		l->nest = rd_sample(l->a, l->t->nest, v);
		if (!l->nest)
			continue;
		tried++;
		if (tn_protect(l->a->diag, try_where, l)) {
			finding(l, what, l->a->diag->text);
			return;
		}
		if (l->held && tn_protect(l->a->diag, try_render, l))
			finding(l, tn_printf(l->a, "%s, sample %u", what, v), l->a->diag->text);
	}
	if (!tried)
		finding(l, what, "no sample nest of its class: nothing was rendered");
}

static void templates(struct lint *l)
{
	for (uint64_t i = 0; i < l->b->templates.count; i++) {
		const struct tn_template_row *t = l->t = &l->b->templates.at[i];
		const char *what = tn_printf(l->a, "template %s", t->id ? t->id : "without an id");
		if (!t->id || !t->text) {
			finding(l, what, "id and text are needed");
			continue;
		}
		for (uint64_t k = 0; k < i; k++)
			if (l->b->templates.at[k].id && !strcmp(l->b->templates.at[k].id, t->id))
				finding(l, what, "its id is another one's too");
		for (uint64_t k = 0; k < t->params.count; k++)
			if (!t->params.at[k].count || t->params.at[k].count > 14)
				finding(l, what, tn_printf(l->a, "parameter %s has %u values, 1 to 14 are possible", t->params.at[k].name, t->params.at[k].count));
		if (t->version != TN_TEMPLATE_VERSION)
			finding(l, what, "another version of the template language");
		else
			samples(l, what);
	}
}

uint32_t tn_lint(const struct tn_backend *b, struct tn_text *out, struct tn_arena *a)
{
	static const struct tn_nest no_nest = { .cls = 0 };
	struct lint l = { .b = b, .out = out, .a = a };
	l.r = rd_start(&no_nest, b, NULL, NULL, a);
	l.names = names(a, &l.n_names);
	dialect(&l);
	word_rows(&l);
	templates(&l);
	return l.found;
}
