/* plan.c - groups in order become launches; values get buffers, moved between memory domains where they must be. */
#include "schedule/plan.h"
#include <string.h>

struct maker {
	const struct tn_groups *gs;
	const struct tn_graph *g;
	const struct tn_places *p;
	struct tn_arena *a;
	struct tn_ir *sizes;              /* the graph's sizes, growing by byte counts */
	struct tn_plan_buffer *buf; uint32_t n_buf, cap_buf;
	struct tn_plan_launch *launch; uint32_t n_launch, cap_launch;
	uint32_t *root;                   /* value -> the value whose bytes it is (aliases) */
	uint32_t *output_of;              /* root -> output number it is computed into, or TN_NOTHING */
	uint32_t *at;                     /* root * n_domains + domain -> buffer, or TN_NOTHING */
	unsigned char *made_once;         /* root -> computed by constant launches only */
	uint32_t n_domains, segment;
};

uint32_t tn_slot_domain(const struct tn_places *p, uint32_t slot)
{
	if (slot >= p->n || (p->at[slot].device->flags & TN_DEV_HOST_ADDRESS)) return 0;
	return slot + 1;
}

/* bytes of a value in a plugin's own layout: the plugin says, dims are fixed there */
static uint32_t opaque_size(struct maker *m, uint32_t v, const char *id)
{
	const struct tn_value *val = tn_val(m->g, v);
	int64_t dims[16];
	uint64_t bytes;
	for (uint32_t i = 0; i < val->rank; i++)
		if ((dims[i] = tn_size_known(m->g, tn_shape(m->g, v)[i])) < 0) tn_raise(m->a->diag, TN_E_INTERNAL, "plan: value %%%u in layout %s has a symbolic dim", v, id);
	for (uint32_t s = 0; s < m->p->n; s++)
		for (uint64_t r = 0; r < m->p->at[s].backend->layouts.count; r++)
			if (!strcmp(m->p->at[s].backend->layouts.at[r].id, id) &&
				m->p->at[s].backend->layout_bytes(m->p->at[s].self, id, val->dtype, val->rank, dims, &bytes) == TN_OK && bytes <= INT64_MAX)
				return tn_size_const(m->sizes, (int64_t)bytes);
	tn_raise(m->a->diag, TN_E_INTERNAL, "plan: no plugin gives the size of layout %s", id);
}

static uint32_t byte_size(struct maker *m, uint32_t v)
{
	uint32_t layout = tn_val(m->g, v)->layout;
	if (layout && m->g->layouts.at[layout - 1].opaque != TN_NOTHING) return opaque_size(m, v, m->g->bytes + m->g->layouts.at[layout - 1].opaque);
	const struct tn_value *val = tn_val(m->g, v);
	uint32_t dims[16], bits = tn_dtype_bits(val->dtype);
	for (uint32_t i = 0; i < val->rank; i++) dims[i] = tn_size_import(m->sizes, m->g, tn_shape(m->g, v)[i]);
	uint32_t n = tn_size_product(m->sizes, dims, val->rank);
	if (bits >= 8) return tn_size_op(m->sizes, TN_SIZE_MUL, n, tn_size_const(m->sizes, bits / 8));
	uint32_t total = tn_size_op(m->sizes, TN_SIZE_MUL, n, tn_size_const(m->sizes, bits));
	return tn_size_op(m->sizes, TN_SIZE_DIV, tn_size_op(m->sizes, TN_SIZE_ADD, total, tn_size_const(m->sizes, 7)), tn_size_const(m->sizes, 8));
}

static uint32_t new_buffer(struct maker *m, uint32_t home, uint32_t index, uint32_t domain, uint32_t v)
{
	*tn_push(m->a, m->buf, m->n_buf, m->cap_buf) = (struct tn_plan_buffer){
		.home = home, .index = index, .domain = domain, .value = v, .bytes = byte_size(m, v),
		.first = m->n_launch, .last = m->n_launch, .segment = m->segment };
	m->at[m->root[v] * m->n_domains + domain] = m->n_buf - 1;
	return m->n_buf - 1;
}

static uint32_t *buffer_at(struct maker *m, uint32_t v, uint32_t domain) { return &m->at[m->root[v] * m->n_domains + domain]; }

static struct tn_plan_launch *new_launch(struct maker *m, uint32_t kind, uint32_t slot, uint32_t group, const uint32_t *buffers, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) m->buf[buffers[i]].last = m->n_launch;
	struct tn_plan_launch *l = tn_push(m->a, m->launch, m->n_launch, m->cap_launch);
	*l = (struct tn_plan_launch){ .kind = kind, .slot = slot, .group = group, .program = TN_NOTHING, .node = TN_NOTHING,
		.segment = m->segment, .buffers = tn_copy_bytes(m->a, buffers, n * sizeof *buffers), .n_buffers = n };
	return l;
}

/* the buffer of v in domain, copied there when it lives elsewhere */
static uint32_t need(struct maker *m, uint32_t v, uint32_t domain, uint32_t slot)
{
	uint32_t b = *buffer_at(m, v, domain);
	if (b != TN_NOTHING) return b;
	uint32_t constant = tn_val(m->g, m->root[v])->constant;
	if (constant != TN_NOTHING) return new_buffer(m, domain ? TN_HOME_RESIDENT : TN_HOME_CONSTANT, constant, domain, m->root[v]);
	uint32_t from = TN_NOTHING;
	for (uint32_t d = 0; d < m->n_domains && from == TN_NOTHING; d++) from = *buffer_at(m, v, d);
	if (from == TN_NOTHING) tn_raise(m->a->diag, TN_E_INTERNAL, "plan: value %%%u is read before it is made", v);
	int once = m->made_once[m->root[v]];
	uint32_t via = m->buf[from].domain;
	if (via && domain) { from = need(m, v, 0, slot); via = 0; }           /* device to device goes through the host */
	uint32_t to = new_buffer(m, once ? TN_HOME_RESIDENT : TN_HOME_ARENA, TN_NOTHING, domain, m->root[v]);
	struct tn_plan_launch *l = new_launch(m, TN_GROUP_COPY, domain ? domain - 1 : m->p->n, TN_NOTHING, (uint32_t[]){ from, to }, 2);
	l->from = via;
	l->once = once;
	return to;
}

/* the buffer that v is computed into in domain */
static uint32_t make(struct maker *m, uint32_t v, uint32_t domain, int once)
{
	uint32_t r = m->root[v], have = *buffer_at(m, v, domain);
	if (have != TN_NOTHING) return have;
	m->made_once[r] = (unsigned char)once;
	if (once) return new_buffer(m, TN_HOME_RESIDENT, TN_NOTHING, domain, r);
	if (domain == 0 && m->output_of[r] != TN_NOTHING) return new_buffer(m, TN_HOME_OUTPUT, m->output_of[r], 0, r);
	return new_buffer(m, TN_HOME_ARENA, TN_NOTHING, domain, r);
}

/* a scatter updates its operand: a copy of that goes to where the result will be */
static void fill_scatter(struct maker *m, const struct tn_group *gr, uint32_t domain)
{
	for (uint32_t k = 0; k < gr->n_nodes; k++) {
		const struct tn_node *n = &m->g->nodes.at[gr->nodes[k]];
		if (n->prim != TN_scatter) continue;
		uint32_t from = need(m, tn_in(m->g, n, 0), domain, gr->slot), to = *buffer_at(m, tn_out(m->g, n, 0), domain);
		struct tn_plan_launch *l = new_launch(m, TN_GROUP_COPY, domain ? domain - 1 : m->p->n, TN_NOTHING, (uint32_t[]){ from, to }, 2);
		l->from = domain;
		l->once = gr->constant;
	}
}

static void place_group(struct maker *m, uint32_t i, const struct tn_plan_source *src, const struct tn_plan_program *programs)
{
	const struct tn_group *gr = &m->gs->at[i];
	int interpret = src->program != TN_NOTHING && programs[src->program].interpret;
	uint32_t domain = interpret ? 0 : tn_slot_domain(m->p, gr->slot), n = src->n_values;
	uint32_t *b = tn_array(m->a, uint32_t, n + 1);
	for (uint32_t k = 0; k < n; k++) {
		int written = 0;
		for (uint32_t o = 0; o < gr->n_out; o++) written |= gr->out[o] == src->values[k];
		b[k] = written ? TN_NOTHING : need(m, src->values[k], domain, gr->slot);
	}
	for (uint32_t k = 0; k < n; k++)
		if (b[k] == TN_NOTHING) b[k] = make(m, src->values[k], domain, gr->constant);
	if (gr->kind == TN_GROUP_KERNEL && gr->nest == TN_NEST_SCATTER) fill_scatter(m, gr, domain);
	struct tn_plan_launch *l = new_launch(m, gr->kind, gr->slot, i, b, n);
	l->program = src->program;
	l->once = gr->constant;
	if (gr->kind == TN_GROUP_HOST) l->node = gr->nodes[0];
	if (gr->kind == TN_GROUP_HOST && m->g->nodes.at[gr->nodes[0]].prim == TN_bind) m->segment++;
}

/* a copy group names a move that need() makes when the value is asked for; in the IR it is a value of its own */
static void place_copy(struct maker *m, const struct tn_group *gr)
{
	const struct tn_node *n = &m->g->nodes.at[gr->nodes[0]];
	uint32_t domain = tn_slot_domain(m->p, gr->slot);
	need(m, tn_in(m->g, n, 0), domain, gr->slot);
}

static int is_alias(const struct tn_group *gr) { return gr->kind == TN_GROUP_ALIAS || gr->kind == TN_GROUP_COPY; }

static void find_roots(struct maker *m)
{
	const struct tn_graph *g = m->g;
	for (uint32_t v = 0; v < g->values.count; v++) { m->root[v] = v; m->output_of[v] = TN_NOTHING; }
	for (uint32_t i = 0; i < m->gs->n; i++) {
		const struct tn_group *gr = &m->gs->at[i];
		if (!is_alias(gr)) continue;
		m->root[gr->out[0]] = m->root[gr->in[0]];
	}
	for (uint32_t i = g->n_out; i-- > 0;) {
		uint32_t r = m->root[g->operands[g->out0 + i]];
		if (tn_val(g, r)->constant == TN_NOTHING && tn_val(g, r)->node != TN_NOTHING) m->output_of[r] = i;
	}
}

static void start(struct maker *m)
{
	const struct tn_graph *g = m->g;
	m->n_domains = m->p->n + 1;
	m->root = tn_array(m->a, uint32_t, g->values.count + 1);
	m->output_of = tn_array(m->a, uint32_t, g->values.count + 1);
	m->made_once = tn_array(m->a, unsigned char, g->values.count + 1);
	m->at = tn_array(m->a, uint32_t, (g->values.count + 1) * m->n_domains);
	memset(m->at, 0xff, (g->values.count + 1) * m->n_domains * sizeof *m->at);
	m->sizes = tn_ir_create(m->a, "plan");
	for (uint32_t s = 0; s < g->n_symbols; s++)                            /* keep the graph's numbering of symbols */
		for (uint32_t k = 0; k < g->sizes.count; k++)
			if (g->sizes.at[k].op == TN_SIZE_SYM && g->sizes.at[k].a == s) { tn_size_import(m->sizes, g, k); break; }
	find_roots(m);
	for (uint32_t i = 0; i < g->n_in; i++) {
		uint32_t v = g->operands[g->in0 + i];
		if (*buffer_at(m, v, 0) == TN_NOTHING) new_buffer(m, TN_HOME_INPUT, i, 0, v);
	}
}

/* outputs that are not computed into place: inputs and constants handed through, values wanted twice, values made on a device */
static void finish_outputs(struct maker *m)
{
	for (uint32_t i = 0; i < m->g->n_out; i++) {
		uint32_t v = m->g->operands[m->g->out0 + i], from = *buffer_at(m, v, 0);
		if (from != TN_NOTHING && m->buf[from].home == TN_HOME_OUTPUT && m->buf[from].index == i) continue;
		from = TN_NOTHING;
		for (uint32_t d = 0; d < m->n_domains && from == TN_NOTHING; d++) from = *buffer_at(m, v, d);
		if (from == TN_NOTHING) from = need(m, v, 0, m->p->n);
		uint32_t via = m->buf[from].domain;
		uint32_t saved = *buffer_at(m, v, 0), to = new_buffer(m, TN_HOME_OUTPUT, i, 0, v);
		*buffer_at(m, v, 0) = saved != TN_NOTHING ? saved : to;
		struct tn_plan_launch *l = new_launch(m, TN_GROUP_COPY, via ? via - 1 : m->p->n, TN_NOTHING, (uint32_t[]){ from, to }, 2);
		l->from = via;
	}
}

const struct tn_plan *tn_plan_make(const struct tn_groups *gs, const struct tn_places *p, const struct tn_plan_program *programs, uint32_t n_programs,
	const struct tn_plan_source *sources, struct tn_arena *a)
{
	struct maker m = { .gs = gs, .g = gs->g, .p = p, .a = a };
	start(&m);
	for (int pass = 0; pass < 2; pass++)                                   /* what is constant first: it runs before the first call */
		for (uint32_t i = 0; i < gs->n; i++) {
			if ((pass == 0) != !!gs->at[i].constant) continue;
			if (gs->at[i].kind == TN_GROUP_ALIAS) continue;
			if (gs->at[i].kind == TN_GROUP_COPY) place_copy(&m, &gs->at[i]);
			else place_group(&m, i, &sources[i], programs);
		}
	finish_outputs(&m);
	struct tn_plan *plan = tn_new(a, struct tn_plan);
	*plan = (struct tn_plan){ .g = gs->g, .sizes = m.sizes->g.sizes, .programs = programs, .n_programs = n_programs, .buffers = m.buf, .n_buffers = m.n_buf,
		.launches = m.launch, .n_launches = m.n_launch, .n_segments = m.segment + 1, .n_domains = m.n_domains };
	return plan;
}

/* ---- arena layout */
struct piece { uint64_t size, offset; uint32_t buffer; };

static int overlaps(const struct tn_plan_buffer *x, const struct tn_plan_buffer *y) { return x->first <= y->last && y->first <= x->last; }

static void sort_by_size(struct piece *p, uint32_t n)            /* stable shell-like insertion on a heap-sized list: n is hundreds */
{
	for (uint32_t gap = n / 2; gap; gap /= 2)
		for (uint32_t i = gap; i < n; i++) {
			struct piece x = p[i];
			uint32_t j = i;
			for (; j >= gap && (p[j - gap].size < x.size || (p[j - gap].size == x.size && p[j - gap].buffer > x.buffer)); j -= gap) p[j] = p[j - gap];
			p[j] = x;
		}
}

/* lowest offset at which x fits beside the pieces already placed that live at the same time */
static uint64_t lowest(const struct tn_plan *plan, const struct piece *placed, uint32_t n, const struct piece *x, uint64_t align)
{
	uint64_t at = 0;
	for (int moved = 1; moved;) {
		moved = 0;
		for (uint32_t i = 0; i < n; i++) {
			if (!overlaps(&plan->buffers[placed[i].buffer], &plan->buffers[x->buffer])) continue;
			if (at + x->size <= placed[i].offset || placed[i].offset + placed[i].size <= at) continue;
			at = (placed[i].offset + placed[i].size + align - 1) / align * align;
			moved = 1;
		}
	}
	return at;
}

uint64_t tn_plan_layout(const struct tn_plan *plan, uint32_t segment, uint32_t domain, uint64_t align, const uint64_t *bytes, uint64_t *offsets, struct tn_arena *scratch)
{
	struct tn_mark mark = tn_arena_mark(scratch);
	struct piece *p = tn_array(scratch, struct piece, plan->n_buffers + 1);
	uint32_t n = 0;
	uint64_t total = 0;
	for (uint32_t i = 0; i < plan->n_buffers; i++) {
		const struct tn_plan_buffer *b = &plan->buffers[i];
		if (b->home == TN_HOME_ARENA && b->segment == segment && b->domain == domain) p[n++] = (struct piece){ bytes[i] ? bytes[i] : 1, 0, i };
	}
	sort_by_size(p, n);
	for (uint32_t i = 0; i < n; i++) {
		p[i].offset = lowest(plan, p, i, &p[i], align);
		offsets[p[i].buffer] = p[i].offset;
		if (p[i].offset + p[i].size > total) total = p[i].offset + p[i].size;
	}
	tn_arena_reset(scratch, mark);
	return total;
}

/* ---- print */
static const char *home_name(uint32_t home)
{
	static const char *const names[] = { "?", "input", "output", "constant", "arena", "resident" };
	return home < 6 ? names[home] : "?";
}

static const char *place_name(const struct tn_places *p, uint32_t slot) { return slot < p->n ? p->at[slot].backend->id : "host"; }

void tn_plan_print(struct tn_text *t, const struct tn_plan *plan, const struct tn_places *p)
{
	struct tn_graph g = *plan->g;
	g.sizes = plan->sizes;
	tn_text_add(t, "plan: %u launches, %u programs, %u buffers, %u segments\n", plan->n_launches, plan->n_programs, plan->n_buffers, plan->n_segments);
	for (uint32_t i = 0; i < plan->n_buffers; i++) {
		const struct tn_plan_buffer *b = &plan->buffers[i];
		tn_text_add(t, "  b%-3u %-8s", i, home_name(b->home));
		if (b->index != TN_NOTHING) tn_text_add(t, " %-3u", b->index); else tn_text_add(t, "    ");
		tn_text_add(t, "  value %%%-4u  domain %u  live %u..%u  bytes ", b->value, b->domain, b->first, b->last);
		tn_size_print(t, &g, b->bytes);
		tn_text_add(t, "\n");
	}
	for (uint32_t i = 0; i < plan->n_launches; i++) {
		const struct tn_plan_launch *l = &plan->launches[i];
		static const char *const kinds[] = { "?", "kernel", "graph", "alias", "copy", "host" };
		tn_text_add(t, "  %3u %s%-6s on %-10s", i, l->once ? "once " : "", kinds[l->kind], place_name(p, l->slot));
		for (uint32_t p = l->program; p != TN_NOTHING; p = plan->programs[p].next)
			tn_text_add(t, " %s%s%s", plan->programs[p].name, plan->programs[p].interpret ? " (interpreted)" : "", plan->programs[p].next == TN_NOTHING ? "" : " or");
		if (l->node != TN_NOTHING) tn_text_add(t, " %s", tn_prim_name(plan->g->nodes.at[l->node].prim));
		tn_text_add(t, " (");
		for (uint32_t k = 0; k < l->n_buffers; k++) tn_text_add(t, "%sb%u", k ? ", " : "", l->buffers[k]);
		tn_text_add(t, ")\n");
	}
}
