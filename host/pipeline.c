/* pipeline.c - the way of a graph, stage after stage: ir, assign, expand, layout, fuse, nest, kernels, plan.
 * Each stage reads what the one before wrote; all of it stays in `out`, so that `tenon show` can print any. */
#include <string.h>
#include "decomp/decomp.h"
#include "host/session.h"

#define FOLD_LIMIT (UINT64_C(1) << 20)      /* bytes of a folded constant: beyond it, computing beats storing */

struct way {
	struct tn_session *s;
	const struct tn_pipeline_options *o;
	struct tn_arena *a;
	struct tn_compiled *c;
	struct tn_places interpreter;           /* the same slots, each with the interpreter's table; n is 0 until asked for */
};

static void tell(const struct way *w, const char *stage, double done)
{
	if (w->o->progress) w->o->progress(w->o->progress_ctx, stage, done);
}

/* ---- what the user switched off: "plugin:row" */
static int disabled(void *ctx, uint32_t slot, const char *row)
{
	const struct way *w = ctx;
	const struct tn_backend *b = w->s->place[slot].backend;
	size_t n = strlen(b->id);
	if (w->o->no_text && w->o->no_text[slot])                       /* the interpreter reads plain layouts only */
		for (uint64_t i = 0; i < b->layouts.count; i++)
			if (!strcmp(b->layouts.at[i].id, row)) return 1;
	for (uint32_t i = 0; i < w->s->n_disabled; i++) {
		const char *d = w->s->disabled[i];
		if (!strncmp(d, b->id, n) && d[n] == ':' && !strcmp(d + n + 1, row)) return 1;
	}
	return 0;
}

static const struct tn_graph *clean(struct way *w, const struct tn_graph *g)
{
	g = &tn_simplify(g, w->a)->g;
	g = &tn_fold(g, FOLD_LIMIT, w->a)->g;
	return &tn_simplify(g, w->a)->g;
}

/* ---- what the nest interpreter speaks: elementwise atoms alone, small floats only as bits.  A nest for it is built as for a plugin
 * with just these rows, so that composites are inlined and small floats go through f32. */
static const struct tn_backend *interpreter_table(struct tn_arena *a)
{
	const uint64_t small = TN_M(TN_F16) | TN_M(TN_BF16);
	struct tn_dialect_row *rows = NULL;
	uint32_t n = 0, cap = 0;
	for (uint32_t i = 0; tn_prim_at(i); i++) {
		const struct tn_prim_info *p = tn_prim_at(i);
		if (p->cls != TN_CLS_POINTWISE || !(p->flags & TN_ATOM)) continue;
		uint64_t mask = p->mask2 ? p->mask2 : p->mask;
		if (p->number != TN_convert && p->number != TN_bitcast && p->number != TN_select) mask &= ~small;
		*tn_push(a, rows, n, cap) = (struct tn_dialect_row){ p->number, TN_SCALAR | TN_VECTOR | TN_BLOCK, mask, TN_M_PLAIN, NULL, "" };
	}
	struct tn_backend *b = tn_new(a, struct tn_backend);
	b->id = "interpreter";
	b->dialect = (struct tn_dialect_row_rows){ rows, n };
	return b;
}

static const struct tn_places *interpreter_places(struct way *w)
{
	if (w->interpreter.n) return &w->interpreter;
	struct tn_place *at = tn_array(w->a, struct tn_place, w->s->n_places);
	const struct tn_backend *b = interpreter_table(w->a);
	for (uint32_t i = 0; i < w->s->n_places; i++) at[i] = (struct tn_place){ b, NULL, w->s->place[i].device };
	w->interpreter = w->c->places;
	w->interpreter.at = at;
	return &w->interpreter;
}

/* ---- kernels */
struct allow { const struct way *w; uint32_t slot; };
static int allowed(void *ctx, const char *row)
{
	const struct allow *al = ctx;
	return !disabled((void *)(uintptr_t)al->w, al->slot, row);
}

struct rendering { struct way *w; uint32_t slot; const struct tn_nest *nest; struct tn_kernel *kernel; };
static void render(void *arg)
{
	struct rendering *r = arg;
	const struct tn_place *p = &r->w->s->place[r->slot];
	struct allow al = { r->w, r->slot };
	r->kernel = tn_render(r->nest, p->backend, p->device, allowed, &al, r->w->a);
}

/* the kernel of a nest, or NULL: then the interpreter runs it */
static struct tn_kernel *try_render(struct way *w, uint32_t slot, const struct tn_nest *nest)
{
	struct rendering r = { w, slot, nest, NULL };
	if (slot >= w->s->n_places || (w->o->no_text && w->o->no_text[slot])) return NULL;
	int32_t st = tn_protect(w->a->diag, render, &r);
	if (st == TN_OK) return r.kernel;
	if (st != TN_E_UNSUPPORTED) tn_raise(w->a->diag, st, "%s", tn_strdup(w->a, w->a->diag->text));
	tn_session_log(w->s, 2, "%s: interpreting a nest: %s", w->s->place[slot].backend->id, w->a->diag->text);
	return NULL;
}

static struct tn_plan_program *add_program(struct way *w, struct tn_kernel *k, const struct tn_graph *region, uint32_t *cap)
{
	struct tn_compiled *c = w->c;
	if (c->n_programs == *cap) {
		uint32_t room = *cap ? *cap * 2 : 16;
		struct tn_plan_program *p = tn_array(w->a, struct tn_plan_program, room);
		struct tn_kernel **ks = tn_array(w->a, struct tn_kernel *, room);
		const struct tn_graph **rs = tn_array(w->a, const struct tn_graph *, room);
		if (c->n_programs) {
			memcpy(p, c->programs, c->n_programs * sizeof *p);
			memcpy(ks, c->kernels, c->n_programs * sizeof *ks);
			memcpy(rs, c->regions, c->n_programs * sizeof *rs);
		}
		c->programs = p; c->kernels = ks; c->regions = rs;
		*cap = room;
	}
	c->kernels[c->n_programs] = k;
	c->regions[c->n_programs] = region;
	return &c->programs[c->n_programs++];
}

/* the kernels of one nest, one after the other: each but the last serves where its `when` is not 0 */
static void add_variants(struct way *w, const struct tn_kernel *k, uint32_t slot, const struct tn_nest *plain, uint32_t *cap)
{
	for (; k; k = k->next) {
		struct tn_plan_program *p = add_program(w, (struct tn_kernel *)(uintptr_t)k, NULL, cap);
		*p = (struct tn_plan_program){ .slot = slot, .name = k->name, .nest = plain, .sizes = k->sizes, .scalars = k->scalars, .n_scalars = k->n_scalars,
			.grid = { k->grid[0], k->grid[1], k->grid[2] }, .scratch = k->scratch, .when = k->when, .next = k->next ? w->c->n_programs : TN_NOTHING };
	}
}

static void kernel_group(struct way *w, uint32_t i, struct tn_map *seen, uint32_t *cap)
{
	struct tn_compiled *c = w->c;
	const struct tn_nest *nest = c->nests[i] = tn_nest_build(&c->groups, i, &c->places, w->a), *plain = nest;
	struct { uint64_t key[4], slot; } key = { .slot = c->groups.at[i].slot };
	tn_nest_key(nest, key.key);
	uint64_t *at = tn_map_at(seen, &key, sizeof key);
	if (!*at) {
		struct tn_kernel *k = w->o->until >= TN_AT_KERNELS ? try_render(w, c->groups.at[i].slot, nest) : NULL;
		if (w->o->until >= TN_AT_KERNELS && (!k || w->o->late)) plain = tn_nest_build(&c->groups, i, interpreter_places(w), w->a);
		*at = c->n_programs + 1;
		if (k) add_variants(w, k, c->groups.at[i].slot, plain, cap);
		else *add_program(w, NULL, NULL, cap) = (struct tn_plan_program){ .slot = c->groups.at[i].slot, .nest = plain, .interpret = 1, .next = TN_NOTHING,
			.sizes = plain->sizes, .name = tn_printf(w->a, "nest_%08llx", (unsigned long long)(key.key[0] >> 32)) };
	} else if (w->o->until >= TN_AT_KERNELS && c->programs[*at - 1].interpret) plain = tn_nest_build(&c->groups, i, interpreter_places(w), w->a);
	if (c->programs[*at - 1].interpret) nest = plain;             /* buffers in the order of the nest that runs */
	uint32_t *values = tn_array(w->a, uint32_t, nest->buffers.count);
	for (uint64_t b = 0; b < nest->buffers.count; b++) values[b] = nest->buffers.at[b].value;
	c->sources[i] = (struct tn_plan_source){ (uint32_t)*at - 1, values, (uint32_t)nest->buffers.count };
}

/* the size in g that stands for a region's symbol */
static uint32_t same_symbol(const struct tn_graph *g, const char *name)
{
	for (uint64_t k = 0; k < g->sizes.count; k++)
		if (g->sizes.at[k].op == TN_SIZE_SYM && !strcmp(g->bytes + g->symbols[g->sizes.at[k].a], name)) return (uint32_t)k;
	return TN_NOTHING;
}

static void graph_group(struct way *w, uint32_t i, uint32_t *cap)
{
	struct tn_compiled *c = w->c;
	const struct tn_group *gr = &c->groups.at[i];
	const struct tn_graph *region = tn_group_region(&c->groups, i, w->a), *g = c->groups.g;
	struct tn_plan_program *p = add_program(w, NULL, region, cap);
	uint32_t *scalars = tn_array(w->a, uint32_t, region->n_symbols);
	for (uint64_t k = 0; k < region->n_symbols; k++) {
		scalars[k] = same_symbol(g, region->bytes + region->symbols[k]);
		if (scalars[k] == TN_NOTHING) tn_raise(w->a->diag, TN_E_INTERNAL, "region %u: symbol %s is not the graph's", i, region->bytes + region->symbols[k]);
	}
	*p = (struct tn_plan_program){ .slot = gr->slot, .next = TN_NOTHING, .sizes = g->sizes, .scalars = scalars, .n_scalars = (uint32_t)region->n_symbols, .grid = { 1, 1, 1 },
		.name = tn_printf(w->a, "%s_%u", tn_prim_name(g->nodes.at[gr->nodes[0]].prim), i) };
	uint32_t *values = tn_array(w->a, uint32_t, gr->n_in + gr->n_out);
	for (uint32_t k = 0; k < gr->n_in + gr->n_out; k++) values[k] = k < gr->n_in ? gr->in[k] : gr->out[k - gr->n_in];
	c->sources[i] = (struct tn_plan_source){ c->n_programs - 1, values, gr->n_in + gr->n_out };
}

static void host_group(struct way *w, uint32_t i)
{
	const struct tn_graph *g = w->c->groups.g;
	const struct tn_group *gr = &w->c->groups.at[i];
	const struct tn_node *n = &g->nodes.at[gr->nodes[0]];
	if (gr->n_nodes != 1) tn_raise(w->a->diag, TN_E_INTERNAL, "fuse: a host group of %u nodes", gr->n_nodes);
	uint32_t *values = tn_array(w->a, uint32_t, n->n_in + n->n_out);
	for (uint32_t k = 0; k < n->n_in; k++) values[k] = tn_in(g, n, k);
	for (uint32_t k = 0; k < n->n_out; k++) values[n->n_in + k] = tn_out(g, n, k);
	w->c->sources[i] = (struct tn_plan_source){ TN_NOTHING, values, n->n_in + n->n_out };
}

static void make_programs(struct way *w)
{
	struct tn_compiled *c = w->c;
	struct tn_map seen = { .arena = w->a };
	uint32_t cap = 0;
	c->nests = tn_array(w->a, const struct tn_nest *, c->groups.n);
	c->sources = tn_array(w->a, struct tn_plan_source, c->groups.n);
	for (uint32_t i = 0; i < c->groups.n; i++) {
		c->sources[i].program = TN_NOTHING;
		switch (c->groups.at[i].kind) {
		case TN_GROUP_KERNEL: kernel_group(w, i, &seen, &cap); break;
		case TN_GROUP_GRAPH: graph_group(w, i, &cap); break;
		case TN_GROUP_HOST: host_group(w, i); break;
		default: break;
		}
		if (i % 16 == 0) tell(w, "kernels", c->groups.n ? (double)i / c->groups.n : 1);
	}
}

/* one unit a slot that holds its kernels */
static void make_texts(struct way *w)
{
	struct tn_compiled *c = w->c;
	uint32_t n = w->s->n_places;
	c->texts = tn_array(w->a, const char *, n + 1);
	c->text_lens = tn_array(w->a, uint64_t, n + 1);
	struct tn_kernel **mine = tn_array(w->a, struct tn_kernel *, c->n_programs + 1);
	for (uint32_t slot = 0; slot < n; slot++) {
		uint32_t count = 0;
		for (uint32_t p = 0; p < c->n_programs; p++)
			if (c->kernels[p] && c->programs[p].slot == slot) mine[count++] = c->kernels[p];
		if (count) c->texts[slot] = tn_render_unit(mine, count, w->s->place[slot].backend, w->a, &c->text_lens[slot]);
	}
}

void tn_pipeline(struct tn_session *s, const struct tn_graph *g, const struct tn_pipeline_options *o, struct tn_arena *a, struct tn_compiled *out)
{
	memset(out, 0, sizeof *out);
	struct way *w = tn_new(a, struct way);           /* places keep a pointer to it */
	*w = (struct way){ .s = s, .o = o, .a = a, .c = out };
	out->places = (struct tn_places){ s->place, s->n_places, disabled, w, o->numerics, o->deterministic, o->fuse_none };
	tell(w, "simplify", 0);
	out->ir = clean(w, g);
	if (o->until < TN_AT_ASSIGN) return;
	out->assigned = tn_assign(out->ir, &out->places, NULL, 0, a);        /* what was declined is counted in nodes of the expanded graph */
	if (o->until < TN_AT_EXPAND) return;
	out->expanded = tn_expand_assigned(&out->assigned, &out->places, a);
	out->expanded = tn_assign(clean(w, out->expanded.g), &out->places, o->deny, o->n_deny, a);
	if (o->until < TN_AT_LAYOUT) return;
	out->laid = tn_layout(&out->expanded, &out->places, a);
	if (o->until < TN_AT_FUSE) return;
	tell(w, "fuse", 0);
	out->groups = tn_fuse(&out->laid, &out->places, a);
	if (o->until < TN_AT_NEST) return;
	make_programs(w);
	if (o->until < TN_AT_KERNELS) return;
	make_texts(w);
	if (o->until < TN_AT_PLAN) return;
	out->plan = tn_plan_make(&out->groups, &out->places, out->programs, out->n_programs, out->sources, a);
	tell(w, "plan", 1);
}
