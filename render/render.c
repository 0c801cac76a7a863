/* render.c - one kernel: the template is chosen, its text filled, arguments and grid worked out; units of many kernels; nest keys */
#include "render/inner.h"
#include <sodium.h>
#include <string.h>

static const char *const class_names[] = { "none", "pointwise", "reduce", "rows", "contract", "cumulate", "scatter", "convolve", "attend", "sort" };

static const char **texts(struct rd *r, uint64_t n, const char *const *from)
{
	const char **to = tn_array(r->arena, const char *, n + 1);
	if (from)
		memcpy(to, from, (size_t)n * sizeof *to);
	return to;
}

struct rd_env rd_env_copy(struct rd *r)
{
	struct rd_env e = r->env;
	uint64_t n = r->n->steps.count;
	e.dim = texts(r, r->n->dims.count, e.dim);
	e.scalar = texts(r, n, e.scalar);
	e.vector = texts(r, n, e.vector);
	e.acc = texts(r, n, e.acc);
	uint32_t *copies = tn_array(r->arena, uint32_t, n + 1);
	bool *across = tn_array(r->arena, bool, n + 1);
	if (e.copies) {
		memcpy(copies, e.copies, (size_t)n * sizeof *copies);
		memcpy(across, e.across, (size_t)n * sizeof *across);
	}
	e.copies = copies;
	e.across = across;
	return e;
}

static const char *kernel_name(struct rd *r)
{
	uint64_t key[4];
	tn_nest_key(r->n, key);
	const char *cls = r->n->cls < sizeof class_names / sizeof *class_names ? class_names[r->n->cls] : "nest";
	const char *name = tn_printf(r->arena, "tn_%s_%012llx", cls, (unsigned long long)(key[0] & UINT64_C(0xffffffffffff)));
	return r->when == TN_NOTHING ? name : tn_printf(r->arena, "%s_%u", name, (unsigned)(r->t - r->b->templates.at));   /* one of several variants */
}

struct rd *rd_start(const struct tn_nest *n, const struct tn_backend *b, const struct tn_device_info *d,
	const struct tn_template_row *t, struct tn_arena *a)
{
	struct rd *r = tn_new(a, struct rd);
	*r = (struct rd){ .when = TN_NOTHING, .n = n, .b = b, .d = d, .t = t, .arena = a, .diag = a->diag, .out.arena = a, .words.arena = a };
	if (n->dims.count > RD_MAX_DIMS)
		rd_fault(r, TN_E_UNSUPPORTED, "a nest of %llu dims; at most %d", (unsigned long long)n->dims.count, RD_MAX_DIMS);
	rd_sizes_init(&r->sizes, n, a);
	rd_depend(r);
	r->env = (struct rd_env){ .lane = RD_NONE };
	r->env = rd_env_copy(r);
	if (t) {
		int32_t *p = tn_array(a, int32_t, t->params.count);
		for (uint64_t i = 0; i < t->params.count; i++)
			p[i] = t->params.at[i].value[0];
		r->params = p;
	}
	return r;
}

/* the declarations of buffers and sizes, now that it is known which sizes the text uses */
static const char *arguments(struct rd *r, const char *indent)
{
	struct tn_text t = { .arena = r->arena };
	for (uint32_t i = 0; i < r->n->buffers.count; i++) {
		uint32_t dtype = r->n->buffers.at[i].dtype;
		bool writes = r->n->buffers.at[i].flags & TN_BUF_WRITE;
		const char *role = writes ? "arg.out" : "arg.in";
		tn_text_add(&t, "%s%s\n", indent, rd_expand(r, rd_word(r, role, 0, dtype), RD_NAMES({ "b", rd_buffer(r, i) },
			{ "k", tn_printf(r->arena, "%u", i) }, { "S", rd_word(r, "storage", 0, dtype) }), role));
	}
	for (uint32_t i = 0; i < r->n_scalars; i++)
		tn_text_add(&t, "%s%s\n", indent, rd_expand(r, rd_word(r, "arg.size", 0, 0), RD_NAMES({ "r", tn_printf(r->arena, "n%u", i) },
			{ "k", tn_printf(r->arena, "%u", i) }), "arg.size"));
	return t.len ? t.at : "";
}

static void splice_arguments(struct rd *r)
{
	for (uint32_t i = r->n_args; i-- > 0;) {
		struct tn_text t = { .arena = r->arena };
		const char *args = arguments(r, r->args_indent[i]);
		tn_text_put(&t, r->out.at, r->args[i]);
		tn_text_put(&t, args, strlen(args));
		tn_text_put(&t, r->out.at + r->args[i], r->out.len - r->args[i]);
		r->out = t;
	}
}

static struct tn_kernel *fill_template(struct rd *r)
{
	const struct tn_template_row *t = r->t;
	if (t->version != TN_TEMPLATE_VERSION)
		rd_fault(r, TN_E_VERSION, "it is in version %u of the template language, this is %d", t->version, TN_TEMPLATE_VERSION);
	r->name = kernel_name(r);
	rd_walk(r, t->text);
	splice_arguments(r);
	struct tn_kernel *k = tn_new(r->arena, struct tn_kernel);
	for (int i = 0; i < 3; i++)
		k->grid[i] = t->launch[i] ? rd_eval_size(r, t->launch[i], strlen(t->launch[i])) : rd_size_const(&r->sizes, 1);
	k->when = r->when;
	k->scratch = t->scratch ? rd_eval_size(r, t->scratch, strlen(t->scratch)) : rd_size_const(&r->sizes, 0);
	k->name = r->name;
	k->nest = r->n;
	k->tmpl = t;
	k->params = r->params;
	k->scalars = r->scalars;
	k->n_scalars = r->n_scalars;
	k->sizes = (struct tn_size_rows){ r->sizes.at, r->sizes.n };
	k->text = r->out.at;
	k->text_len = r->out.len;
	k->uses = r->uses;
	k->n_uses = r->n_uses;
	return k;
}

int tn_where_holds(const char *where, const struct tn_nest *n, const struct tn_device_info *d, struct tn_arena *a)
{
	static const struct tn_backend nobody = { .id = "where" };
	return !where || rd_holds(rd_start(n, &nobody, d, NULL, a), where, strlen(where));
}

/* ---- choosing */
struct trial {
	const struct tn_nest *n;
	const struct tn_backend *b;
	const struct tn_device_info *d;
	const struct tn_template_row *t;
	struct tn_arena *a;
	struct tn_kernel *kernel;
};

static void try_template(void *arg)
{
	struct trial *t = arg;
	struct rd *r = rd_start(t->n, t->b, t->d, t->t, t->a);
	if (t->t->where) {
		struct rd_num v = rd_eval(r, t->t->where, strlen(t->t->where));
		if (v.lo == 0 && v.hi == 0)
			return;
		if (v.lo <= 0 && v.hi >= 0)
			r->when = v.size;
	}
	t->kernel = fill_template(r);
}

/* the best template that was not tried: higher benefit first, then the table's order */
static const struct tn_template_row *next_template(const struct trial *t, const bool *tried)
{
	const struct tn_template_row *best = NULL;
	for (uint64_t i = 0; i < t->b->templates.count; i++) {
		const struct tn_template_row *row = &t->b->templates.at[i];
		if (!tried[i] && row->nest == t->n->cls && (!best || row->benefit > best->benefit))
			best = row;
	}
	return best;
}

struct tn_kernel *tn_render(const struct tn_nest *n, const struct tn_backend *b, const struct tn_device_info *d,
	int (*allow)(void *ctx, const char *row), void *ctx, struct tn_arena *a)
{
	struct trial t = { n, b, d, NULL, a, NULL };
	bool *tried = tn_array(a, bool, b->templates.count);
	struct tn_diag first = { .code = TN_OK };
	struct tn_kernel *chain = NULL, **last = &chain;
	while ((t.t = next_template(&t, tried))) {
		tried[t.t - b->templates.at] = true;
		t.kernel = NULL;
		if (allow && !allow(ctx, t.t->id))
			continue;
		if (tn_protect(a->diag, try_template, &t) == TN_OK && t.kernel) {
			*last = t.kernel;
			last = &t.kernel->next;
			if (t.kernel->when == TN_NOTHING)
				return chain;                 /* what comes after one that always serves is never taken */
		}
		if (a->diag->code == TN_E_NOMEM)
			tn_raise(a->diag, TN_E_NOMEM, "%s", a->diag->text);
		if (!t.kernel && a->diag->code != TN_OK && first.code == TN_OK)
			first = *a->diag;
		a->diag->code = TN_OK;
	}
	if (first.code != TN_OK)
		tn_raise(a->diag, first.code, "%s", first.text);
	tn_raise(a->diag, TN_E_UNSUPPORTED, "%s: no template for this %s nest", b->id, n->cls < sizeof class_names / sizeof *class_names ? class_names[n->cls] : "?");
}

/* ---- units */
static bool listed(const char *const *names, uint32_t n, const char *name)
{
	for (uint32_t i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

const char *tn_render_unit(struct tn_kernel *const *k, uint32_t n, const struct tn_backend *b, struct tn_arena *a, uint64_t *len)
{
	static const struct tn_nest no_nest = { .cls = 0 };
	struct rd *r = rd_start(&no_nest, b, NULL, NULL, a);
	struct tn_text t = { .arena = a };
	const char **names = tn_array(a, const char *, n);
	const char *preamble = rd_word_find(b, "preamble", 0, 0);
	tn_text_put(&t, "", 0);
	if (preamble)
		tn_text_add(&t, "%s", rd_expand(r, preamble, NULL, 0, "preamble"));
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t u = 0; u < k[i]->n_uses; u++)
			rd_use(r, k[i]->uses[u]);
	for (uint32_t u = 0; u < r->n_uses; u++) {
		const char *role = tn_printf(a, "helper.%s", r->uses[u]);
		tn_text_add(&t, "%s", rd_expand(r, rd_word(r, role, 0, 0), NULL, 0, role));
	}
	for (uint32_t i = 0, done = 0; i < n; i++) {
		if (listed(names, done, k[i]->name))
			continue;
		names[done++] = k[i]->name;
		tn_text_put(&t, k[i]->text, k[i]->text_len);
	}
	*len = t.len;
	return t.at;
}

/* ---- keys */
static void add_rows(crypto_generichash_state *h, const void *at, uint64_t count, size_t row)
{
	crypto_generichash_update(h, (const unsigned char *)&count, sizeof count);
	if (count)
		crypto_generichash_update(h, at, count * row);
}

void tn_nest_key(const struct tn_nest *n, uint64_t key[4])
{
	crypto_generichash_state h;
	const uint32_t head[] = { n->cls, n->numerics };
	crypto_generichash_init(&h, NULL, 0, 32);
	add_rows(&h, head, 2, sizeof *head);
	add_rows(&h, n->sizes.at, n->sizes.count, sizeof *n->sizes.at);
	add_rows(&h, n->dims.at, n->dims.count, sizeof *n->dims.at);
	add_rows(&h, n->phases.at, n->phases.count, sizeof *n->phases.at);
	add_rows(&h, n->steps.at, n->steps.count, sizeof *n->steps.at);
	add_rows(&h, n->accesses.at, n->accesses.count, sizeof *n->accesses.at);
	add_rows(&h, n->terms.at, n->terms.count, sizeof *n->terms.at);
	add_rows(&h, n->bounds.at, n->bounds.count, sizeof *n->bounds.at);
	add_rows(&h, n->linears.at, n->linears.count, sizeof *n->linears.at);
	add_rows(&h, n->parts.at, n->parts.count, sizeof *n->parts.at);
	add_rows(&h, n->attrs.at, n->attrs.count, sizeof *n->attrs.at);
	add_rows(&h, n->args, n->n_args, sizeof *n->args);
	add_rows(&h, n->ints, n->n_ints, sizeof *n->ints);
	add_rows(&h, n->bytes, n->n_bytes, 1);
	add_rows(&h, &n->order, 1, sizeof n->order);
	for (uint64_t i = 0; i < n->buffers.count; i++) {
		struct tn_nest_buffer b = n->buffers.at[i];
		b.value = 0;                         /* whose value it is says nothing about the kernel */
		add_rows(&h, &b, 1, sizeof b);
	}
	crypto_generichash_final(&h, (unsigned char *)key, 32);
}
