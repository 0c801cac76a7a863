/* frame.c - can these nodes be one nest?  Coordinates as maps of dims; see frame.h */
#include "schedule/frame.h"
#include <string.h>

void fr_init(struct fr_ctx *c, const struct tn_graph *g, struct tn_arena *a)
{
	*c = (struct fr_ctx){ .g = g, .a = a, .local = tn_array(a, uint32_t, g->values.count + 1) };
}

struct fr_value *fr_value(const struct fr_ctx *c, uint32_t v)
{
	return c->local[v] ? &c->values[c->local[v] - 1] : NULL;
}

struct fr_value *fr_add(struct fr_ctx *c, uint32_t v)
{
	if (!c->local[v]) {
		*tn_push(c->a, c->values, c->n_values, c->cap_values) = (struct fr_value){ .value = v, .member = TN_NOTHING };
		c->local[v] = c->n_values;
	}
	return &c->values[c->local[v] - 1];
}

void fr_match_reshape(const uint32_t *in, uint32_t n_in, const uint32_t *out, uint32_t n_out, struct fr_reshape *r)
{
	uint32_t i = 0, o = 0, ie = n_in, oe = n_out;
	for (uint32_t k = 0; k < n_in; k++)
		r->in[k] = FR_MIXED;
	for (;;) {
		if (i < ie && in[i] == 1)
			r->in[i++] = FR_ONE;
		else if (o < oe && out[o] == 1)
			o++;
		else if (i < ie && o < oe && in[i] == out[o])
			r->in[i++] = (int)o++;
		else
			break;
	}
	for (;;) {
		if (ie > i && in[ie - 1] == 1)
			r->in[--ie] = FR_ONE;
		else if (oe > o && out[oe - 1] == 1)
			oe--;
		else if (ie > i && oe > o && in[ie - 1] == out[oe - 1])
			r->in[--ie] = (int)--oe;
		else
			break;
	}
	r->i_lo = i; r->i_hi = ie; r->o_lo = o; r->o_hi = oe;
}

uint32_t fr_inner_axis(const struct tn_graph *g, uint32_t v, int (*member)(void *, uint32_t), void *ctx)
{
	const uint32_t rank = tn_rank(g, v), node = tn_val(g, v)->node;
	uint32_t last = rank ? rank - 1 : 0, n;
	while (last > 0 && tn_shape(g, v)[last] == 1)
		last--;
	if (rank == 0 || node == TN_NOTHING || !member(ctx, node))
		return last;
	const struct tn_node *nd = &g->nodes.at[node];
	const struct tn_prim_info *info = tn_prim_info(nd->prim);
	if (nd->prim == TN_permute) {
		const int64_t *perm = tn_attr_ints(g, nd, TN_ATTR_perm, &n);
		const uint32_t inner = fr_inner_axis(g, tn_in(g, nd, 0), member, ctx);
		for (uint32_t i = 0; i < n; i++)
			if (perm[i] == inner)
				return i;
	}
	if (nd->prim == TN_reshape) {
		struct fr_reshape r;
		const uint32_t x = tn_in(g, nd, 0), inner = fr_inner_axis(g, x, member, ctx);
		fr_match_reshape(tn_shape(g, x), tn_rank(g, x), tn_shape(g, v), rank, &r);
		return tn_rank(g, x) && r.in[inner] >= 0 ? (uint32_t)r.in[inner] : last;
	}
	if (nd->prim == TN_pad || nd->prim == TN_slice || nd->prim == TN_window)
		return fr_inner_axis(g, tn_in(g, nd, 0), member, ctx);
	for (uint32_t i = 0; info->cls == TN_CLS_POINTWISE && i < nd->n_in; i++) {
		const uint32_t x = tn_in(g, nd, i), from = tn_val(g, x)->node;
		if (from == TN_NOTHING || g->nodes.at[from].prim != TN_broadcast)
			return fr_inner_axis(g, x, member, ctx);
	}
	return last;
}

/* ---- the frame */
/* where dim i of a value of these sizes stands when it runs along frame dim d */
static int16_t along(const struct tn_graph *g, uint32_t v, uint32_t i, uint32_t d) { return tn_shape(g, v)[i] == 1 ? FR_ONE : (int16_t)d; }

static void add_dims(struct tn_frame *f, const struct tn_graph *g, uint32_t v, uint32_t special, uint32_t axis)
{
	for (uint32_t i = 0; i < tn_rank(g, v); i++) {
		f->red |= special >> i & 1 ? 1u << f->n_dims : 0;
		f->dims[f->n_dims++] = (struct fr_dim){ tn_shape(g, v)[i], special >> i & 1 ? axis : TN_AXIS_OUTER };
	}
}

static void identity(struct fr_ctx *c, uint32_t v, uint32_t skip)
{
	struct fr_value *x = fr_add(c, v);
	uint32_t at = 0;
	x->map = fr_fresh(tn_rank(c->g, v));
	for (uint32_t d = 0; at < x->map.rank; d++)
		if (!(skip >> d & 1)) {
			x->map.at[at] = along(c->g, v, at, d);
			at++;
		}
	x->forward = 1;
	fr_set_uses(c, &x->map);
}

static void frame_dot(struct fr_ctx *c, const struct tn_node *n)
{
	const struct tn_graph *g = c->g;
	struct tn_frame *f = c->f;
	uint32_t nb, nc;
	tn_attr_ints(g, n, TN_ATTR_batch, &nb);
	const int64_t *con = tn_attr_ints(g, n, TN_ATTR_contract, &nc);
	const uint32_t out = tn_out(g, n, 0), m = tn_rank(g, tn_in(g, n, 0)) - nb / 2 - nc / 2;
	add_dims(f, g, out, 0, 0);
	for (uint32_t i = 0; i < f->n_dims; i++)
		f->dims[i].axis = i < nb / 2 ? TN_AXIS_BATCH : i < nb / 2 + m ? TN_AXIS_M : TN_AXIS_N;
	for (uint32_t i = 0; i < nc; i += 2) {
		f->red |= 1u << f->n_dims;
		f->dims[f->n_dims++] = (struct fr_dim){ tn_shape(g, tn_in(g, n, 0))[con[i]], TN_AXIS_K };
	}
	identity(c, out, 0);
}

static void frame_of(struct fr_ctx *c, const struct tn_node *n)
{
	const struct tn_graph *g = c->g;
	const uint32_t cls = tn_prim_info(n->prim)->cls, out = tn_out(g, n, 0);
	uint32_t k, axes = 0;
	if (cls == TN_CLS_CONTRACT) {
		frame_dot(c, n);
	} else if (cls == TN_CLS_REDUCE) {
		const int64_t *list = tn_attr_ints(g, n, TN_ATTR_axes, &k);
		for (uint32_t i = 0; i < k; i++)
			axes |= 1u << list[i];
		add_dims(c->f, g, tn_in(g, n, 0), axes, TN_AXIS_RED);
		identity(c, tn_in(g, n, 0), 0);
		identity(c, out, axes);
	} else if (cls == TN_CLS_CUMULATE) {
		add_dims(c->f, g, out, 1u << tn_attr_int(g, n, TN_ATTR_axis, 0), TN_AXIS_SEQ);
		identity(c, out, 0);
	} else if (cls == TN_CLS_SCATTER) {
		const uint32_t axis = (uint32_t)tn_attr_int(g, n, TN_ATTR_axis, 0);
		const uint32_t many = tn_rank(g, tn_in(g, n, 1)) - (uint32_t)tn_attr_int(g, n, TN_ATTR_batch, 0);
		add_dims(c->f, g, tn_in(g, n, 2), ((1u << many) - 1) << axis, TN_AXIS_SEQ);
		fr_add(c, out)->map = (struct fr_map){ .known = 1, .bij = 1 };
		fr_add(c, out)->forward = 1;
	} else {
		add_dims(c->f, g, c->f->base, 0, 0);
		identity(c, c->f->base, 0);
	}
}

static int listed(const uint32_t *nodes, uint32_t n, uint32_t node)
{
	uint32_t lo = 0, hi = n;
	while (lo < hi) {
		const uint32_t mid = (lo + hi) / 2;
		if (nodes[mid] < node)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < n && nodes[lo] == node;
}

/* the last result, seen through reshapes: what is before them has the dims that other addresses run along */
static uint32_t base_of(const struct tn_graph *g, const uint32_t *nodes, uint32_t n)
{
	uint32_t v = tn_out(g, &g->nodes.at[nodes[n - 1]], 0);
	for (;;) {
		const uint32_t node = tn_val(g, v)->node;
		if (node == TN_NOTHING || g->nodes.at[node].prim != TN_reshape || !listed(nodes, n, node))
			return v;
		v = tn_in(g, &g->nodes.at[node], 0);
	}
}

static int anchor_class(uint32_t cls) { return cls == TN_CLS_REDUCE || cls == TN_CLS_CONTRACT || cls == TN_CLS_CUMULATE || cls == TN_CLS_SCATTER; }

static int classify(struct fr_ctx *c, const uint32_t *nodes, uint32_t n)
{
	struct tn_frame *f = c->f;
	uint32_t first = TN_NOTHING, count = 0, reduces = 0;
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t cls = q_class(c->g, nodes[i]);
		if (!anchor_class(cls))
			continue;
		count++;
		reduces += cls == TN_CLS_REDUCE;
		first = first == TN_NOTHING ? nodes[i] : first;
	}
	f->origin = first;
	if (count == 0) {
		f->cls = TN_NEST_POINTWISE;
		return 1;
	}
	const uint32_t cls = q_class(c->g, first);
	f->cls = cls == TN_CLS_REDUCE ? TN_NEST_REDUCE : cls == TN_CLS_CONTRACT ? TN_NEST_CONTRACT : cls == TN_CLS_CUMULATE ? TN_NEST_CUMULATE : TN_NEST_SCATTER;
	f->why = "two anchors that do not go together";
	return count == 1 || count == reduces;
}

static int is_member(void *ctx, uint32_t node)
{
	const struct fr_ctx *c = ctx;
	const struct fr_value *v = fr_value(c, tn_out(c->g, &c->g->nodes.at[node], 0));
	return v && v->member != TN_NOTHING;
}

/* REDUCE or ROWS: rows when a value over the reduced dims is stored or depends on a reduction */
static int settle_rows(struct fr_ctx *c, const uint32_t *nodes)
{
	struct tn_frame *f = c->f;
	int rows = 0;
	for (uint32_t i = 0; i < c->n_values; i++) {
		const struct fr_value *v = &c->values[i];
		if (v->member == TN_NOTHING)
			continue;
		const int full = (v->map.uses & f->red) != 0;
		rows |= full && (v->out || v->level > 0);
		if (q_class(c->g, nodes[v->member]) == TN_CLS_REDUCE) {
			rows |= v->level > 1;
			f->levels = v->level > f->levels ? v->level : f->levels;
		}
	}
	if (!rows)
		return 1;
	f->cls = TN_NEST_ROWS;
	const uint32_t x = tn_in(c->g, &c->g->nodes.at[f->origin], 0);
	f->why = "rows whose memory does not run along what is reduced";
	return tn_rank(c->g, x) > 0 && f->red >> fr_inner_axis(c->g, x, is_member, c) & 1;
}

static int check_outs(struct fr_ctx *c, const uint32_t *outs, uint32_t n)
{
	const struct tn_frame *f = c->f;
	for (uint32_t i = 0; i < n; i++) {
		const struct fr_value *v = fr_value(c, outs[i]);
		c->f->why = "a stored value is not read exactly once a place";
		if (!v || !v->map.known || !v->map.bij)
			return 0;
		c->f->why = "a value is stored beside the anchor's frame";
		if ((f->cls == TN_NEST_CONTRACT || f->cls == TN_NEST_CUMULATE || f->cls == TN_NEST_SCATTER) && (v->level == 0 || !v->forward))
			return 0;
		if (f->cls == TN_NEST_CONTRACT && v->map.uses & f->red)
			return 0;
	}
	return 1;
}

/* a stored value of a REDUCE or ROWS nest must cover all kept dims; one that was only read through a broadcast does not */
static int covers(const struct fr_ctx *c, const uint32_t *outs, uint32_t n)
{
	const struct tn_frame *f = c->f;
	uint32_t kept = 0, red = 0;
	for (uint32_t d = 0; d < f->n_dims; d++)
		*(f->red >> d & 1 ? &red : &kept) |= f->dims[d].extent != 1 ? 1u << d : 0;
	for (uint32_t i = 0; i < n && f->cls != TN_NEST_SCATTER; i++) {
		const uint32_t uses = fr_value(c, outs[i])->map.uses;
		if ((uses & kept) != kept || (uses & red && (uses & red) != red))
			return 0;
	}
	return 1;
}

int fr_try(struct fr_ctx *c, const uint32_t *nodes, uint32_t n, const uint32_t *outs, uint32_t n_outs, struct tn_frame *f)
{
	const struct tn_graph *g = c->g;
	for (uint32_t i = 0; i < c->n_values; i++)
		c->local[c->values[i].value] = 0;
	c->n_values = c->n_mixed = 0;
	*f = (struct tn_frame){ 0 };
	c->f = f;
	if (!classify(c, nodes, n))
		return 0;
	f->base = base_of(g, nodes, n);
	frame_of(c, &g->nodes.at[f->origin == TN_NOTHING ? nodes[n - 1] : f->origin]);
	for (uint32_t i = 0; i < n; i++)
		fr_forward(c, &g->nodes.at[nodes[i]], i);
	for (uint32_t i = 0; i < n_outs; i++)
		fr_add(c, outs[i])->out = 1;
	for (uint32_t i = n; i-- > 0;)
		if (!fr_backward(c, &g->nodes.at[nodes[i]]))
			return 0;
	if (f->cls == TN_NEST_REDUCE && !settle_rows(c, nodes))
		return 0;
	if (f->cls == TN_NEST_SCATTER) {
		f->why = "what a scatter writes over is computed in its nest";
		if (fr_value(c, tn_in(g, &g->nodes.at[f->origin], 0)) && fr_add(c, tn_in(g, &g->nodes.at[f->origin], 0))->member != TN_NOTHING)
			return 0;
	}
	if (!check_outs(c, outs, n_outs))
		return 0;
	f->why = "a stored value does not cover the frame";
	return covers(c, outs, n_outs);
}
