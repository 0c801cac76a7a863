/* frame_spread.c - coordinates spread from the anchor: forward to what is computed from it, backward to operands.  The same steps
 * with real index expressions are in nest.c (homes) and emit.c (views). */
#include "schedule/frame.h"
#include <string.h>

/* ---- maps */
uint32_t fr_entry_uses(const struct fr_ctx *c, int16_t at)
{
	return at >= 0 ? 1u << at : at <= FR_MIXED ? c->mixed[FR_MIXED - at] : 0;
}

void fr_set_uses(const struct fr_ctx *c, struct fr_map *m)
{
	m->uses = 0;
	for (uint32_t i = 0; i < m->rank; i++)
		m->uses |= fr_entry_uses(c, m->at[i]);
}

static int16_t mix(struct fr_ctx *c, uint32_t uses)
{
	*tn_push(c->a, c->mixed, c->n_mixed, c->cap_mixed) = uses;
	return (int16_t)(FR_MIXED - (int)(c->n_mixed - 1));
}

static int same_map(const struct fr_map *x, const struct fr_map *y)
{
	return x->rank == y->rank && memcmp(x->at, y->at, x->rank * sizeof *x->at) == 0;
}

struct fr_map fr_fresh(uint32_t rank) { return (struct fr_map){ .rank = (uint8_t)rank, .known = 1, .bij = 1 }; }

/* a value is read at m by a consumer that is itself read at several places or not */
static void pull(struct fr_ctx *c, uint32_t v, struct fr_map m, int many)
{
	struct fr_value *x = fr_add(c, v);
	for (uint32_t i = 0; i < m.rank; i++)
		if (tn_shape(c->g, v)[i] == 1)
			m.at[i] = FR_ONE;
	fr_set_uses(c, &m);
	if (!x->map.known)
		x->map = m;
	else if (!same_map(&x->map, &m))
		x->many = 1;
	x->many |= (uint8_t)many;
}

/* ---- forward: from known operands to results.  0: not known */
static int forward_broadcast(struct fr_ctx *c, const struct tn_node *n, const struct fr_map *x, struct fr_map *m)
{
	const struct tn_graph *g = c->g;
	const uint32_t r = tn_out(g, n, 0), rank = tn_rank(g, r);
	uint32_t k, red = c->f->red, mapped = 0;
	const int64_t *where = tn_attr_ints(g, n, TN_ATTR_dims, &k);
	*m = fr_fresh(rank);
	for (uint32_t i = 0; i < x->rank; i++) {
		if (tn_shape(g, tn_in(g, n, 0))[i] == 1 && tn_shape(g, r)[where[i]] != 1)
			continue;
		m->at[where[i]] = x->at[i];
		mapped |= 1u << where[i];
	}
	for (uint32_t i = 0; i < rank; i++) {
		if (mapped >> i & 1)
			continue;
		m->at[i] = FR_ONE;
		if (tn_shape(g, r)[i] == 1)
			continue;
		if (!red || x->uses & c->f->red)
			return 0;
		const uint32_t d = (uint32_t)__builtin_ctz(red);
		if (c->f->dims[d].extent != tn_shape(g, r)[i])
			return 0;
		m->at[i] = (int16_t)d;
		red &= red - 1;
	}
	return red == 0 || red == c->f->red;                   /* all reduced dims, or none */
}

static int forward_view(struct fr_ctx *c, const struct tn_node *n, const struct fr_map *x, struct fr_map *m)
{
	const struct tn_graph *g = c->g;
	const uint32_t in = tn_in(g, n, 0), r = tn_out(g, n, 0), rank = tn_rank(g, r);
	uint32_t k;
	*m = fr_fresh(rank);
	if (n->prim == TN_permute) {
		const int64_t *perm = tn_attr_ints(g, n, TN_ATTR_perm, &k);
		for (uint32_t i = 0; i < rank; i++)
			m->at[i] = x->at[perm[i]];
		return 1;
	}
	if (n->prim == TN_reshape) {
		struct fr_reshape f;
		uint32_t uses = 0;
		fr_match_reshape(tn_shape(g, in), tn_rank(g, in), tn_shape(g, r), rank, &f);
		for (uint32_t i = 0; i < rank; i++)
			m->at[i] = FR_ONE;
		for (uint32_t i = 0; i < x->rank; i++)
			if (f.in[i] >= 0)
				m->at[f.in[i]] = x->at[i];
		for (uint32_t i = f.i_lo; i < f.i_hi; i++)
			uses |= fr_entry_uses(c, x->at[i]);
		for (uint32_t i = f.o_lo; i < f.o_hi; i++)
			m->at[i] = mix(c, uses);
		return 1;
	}
	return n->prim == TN_broadcast && forward_broadcast(c, n, x, m);
}

/* a reduction: kept dims keep their places, the reduced ones must be the frame's, in order */
static int forward_reduce(struct fr_ctx *c, const struct tn_node *n, const struct fr_map *x, struct fr_map *m)
{
	uint32_t k, left = c->f->red, axes = 0, at = 0;
	const int64_t *list = tn_attr_ints(c->g, n, TN_ATTR_axes, &k);
	for (uint32_t i = 0; i < k; i++)
		axes |= 1u << list[i];
	*m = fr_fresh(tn_rank(c->g, tn_out(c->g, n, 0)));
	for (uint32_t i = 0; i < x->rank; i++) {
		if (!(axes >> i & 1)) {
			if (fr_entry_uses(c, x->at[i]) & c->f->red)
				return 0;
			m->at[at++] = x->at[i];
		} else if (x->at[i] != FR_ONE) {
			if (!left || x->at[i] != __builtin_ctz(left))
				return 0;
			left &= left - 1;
		}
	}
	return left == 0;
}

void fr_forward(struct fr_ctx *c, const struct tn_node *n, uint32_t member)
{
	const struct tn_graph *g = c->g;
	const struct tn_prim_info *info = tn_prim_info(n->prim);
	struct fr_value *r = fr_add(c, tn_out(g, n, 0));
	r->member = member;
	uint8_t level = 0;
	for (uint32_t i = 0; i < n->n_in; i++) {
		const struct fr_value *x = fr_add(c, tn_in(g, n, i));
		level = x->level > level ? x->level : level;
	}
	r = fr_add(c, tn_out(g, n, 0));                         /* values may have moved */
	r->level = (uint8_t)(level + (info->cls == TN_CLS_REDUCE || info->cls == TN_CLS_CONTRACT || info->cls == TN_CLS_CUMULATE || info->cls == TN_CLS_SCATTER));
	for (uint32_t i = 0; i < n->n_in && !r->map.known; i++) {
		const struct fr_value *x = fr_value(c, tn_in(g, n, i));
		struct fr_map m = x->map;
		const int ok = x->map.known && x->forward && x->map.bij && (info->cls == TN_CLS_POINTWISE || (i == 0 && info->cls == TN_CLS_VIEW && forward_view(c, n, &x->map, &m)) ||
			(info->cls == TN_CLS_REDUCE && forward_reduce(c, n, &x->map, &m)));
		if (ok) {
			fr_set_uses(c, &m);
			r->map = m;
			r->forward = 1;
		}
	}
}

/* ---- backward: from results to operands */
static void pull_axes(struct fr_ctx *c, uint32_t v, const struct fr_map *r, uint32_t changed, int many)
{
	struct fr_map m = *r;
	m.rank = (uint8_t)tn_rank(c->g, v);
	for (uint32_t i = 0; i < m.rank; i++)
		if (changed >> i & 1)
			m.at[i] = mix(c, fr_entry_uses(c, r->at[i]));
	m.bij = r->bij && changed == 0;
	pull(c, v, m, many);
}

static void pull_reshape(struct fr_ctx *c, const struct tn_node *n, const struct fr_map *r, int many)
{
	const struct tn_graph *g = c->g;
	const uint32_t in = tn_in(g, n, 0), out = tn_out(g, n, 0);
	struct fr_map m = *r;
	struct fr_reshape f;
	uint32_t uses = 0;
	m.rank = (uint8_t)tn_rank(g, in);
	fr_match_reshape(tn_shape(g, in), tn_rank(g, in), tn_shape(g, out), tn_rank(g, out), &f);
	for (uint32_t i = f.o_lo; i < f.o_hi; i++)
		uses |= fr_entry_uses(c, r->at[i]);
	for (uint32_t i = 0; i < m.rank; i++)
		m.at[i] = f.in[i] >= 0 ? r->at[f.in[i]] : f.in[i] == FR_ONE ? FR_ONE : mix(c, uses);
	pull(c, in, m, many);
}

static int is_rows(const struct tn_frame *f) { return f->cls == TN_NEST_REDUCE || f->cls == TN_NEST_ROWS; }

static void pull_view(struct fr_ctx *c, const struct tn_node *n, const struct fr_value *rv)
{
	const struct tn_graph *g = c->g;
	const uint32_t in = tn_in(g, n, 0), out = tn_out(g, n, 0);
	const struct fr_map r = rv->map;
	const int many = rv->many;
	struct fr_map m = r;
	uint32_t k, changed = 0;
	m.rank = (uint8_t)tn_rank(g, in);
	switch (n->prim) {
	case TN_broadcast: {
		const int64_t *where = tn_attr_ints(g, n, TN_ATTR_dims, &k);
		uint32_t kept = 0;
		for (uint32_t i = 0; i < m.rank; i++) {
			m.at[i] = r.at[where[i]];
			kept |= tn_shape(g, in)[i] != 1 || tn_shape(g, out)[where[i]] == 1 ? 1u << where[i] : 0;
		}
		for (uint32_t i = 0; i < r.rank; i++)      /* along reduced dims one value stands for a row, and is stored once a row */
			m.bij &= (kept >> i & 1) || tn_shape(g, out)[i] == 1 || (is_rows(c->f) && r.at[i] >= 0 && c->f->red >> r.at[i] & 1);
		pull(c, in, m, many);
		return;
	}
	case TN_permute: {
		const int64_t *perm = tn_attr_ints(g, n, TN_ATTR_perm, &k);
		for (uint32_t i = 0; i < m.rank; i++)
			m.at[perm[i]] = r.at[i];
		pull(c, in, m, many);
		return;
	}
	case TN_reshape:
		pull_reshape(c, n, &r, many);
		return;
	case TN_window: {
		const int64_t *dims = tn_attr_ints(g, n, TN_ATTR_dims, &k);
		for (uint32_t i = 0; i < k; i++)
			m.at[dims[i]] = mix(c, fr_entry_uses(c, r.at[dims[i]]) | fr_entry_uses(c, r.at[m.rank + i]));
		m.bij = 0;
		pull(c, in, m, many);
		return;
	}
	case TN_cat:
		for (uint32_t i = 0; i < n->n_in; i++)
			pull_axes(c, tn_in(g, n, i), &r, 1u << tn_attr_int(g, n, TN_ATTR_axis, 0), many);
		return;
	default:                                               /* slice, pad */
		for (uint32_t i = 0; i < m.rank; i++)
			changed |= tn_shape(g, in)[i] != tn_shape(g, out)[i] ? 1u << i : 0;
		if (n->prim == TN_pad || n->prim == TN_slice)  /* same extents may still mean other elements */
			changed = m.rank ? (1u << m.rank) - 1 : 0;
		pull_axes(c, in, &r, changed, many);
		for (uint32_t i = 1; i < n->n_in; i++)
			pull(c, tn_in(g, n, i), (struct fr_map){ .known = 1 }, many);
	}
}

static void pull_gather(struct fr_ctx *c, const struct tn_node *n, const struct fr_value *rv)
{
	const struct tn_graph *g = c->g;
	const uint32_t x = tn_in(g, n, 0), ix = tn_in(g, n, 1);
	const uint32_t axis = (uint32_t)tn_attr_int(g, n, TN_ATTR_axis, 0), batch = (uint32_t)tn_attr_int(g, n, TN_ATTR_batch, 0);
	const struct fr_map r = rv->map;
	const int many = rv->many;
	struct fr_map m = fr_fresh(tn_rank(g, x)), i = fr_fresh(tn_rank(g, ix));
	uint32_t uses = 0;
	for (uint32_t d = 0; d < i.rank; d++) {
		i.at[d] = d < batch ? r.at[d] : r.at[axis + d - batch];
		uses |= fr_entry_uses(c, i.at[d]);
	}
	for (uint32_t d = 0; d < m.rank; d++)
		m.at[d] = d < axis ? r.at[d] : d > axis ? r.at[d - 1 + i.rank - batch] : mix(c, uses);
	m.bij = i.bij = 0;
	pull(c, x, m, many);
	pull(c, ix, i, many);
}

/* the operand of a reduction whose result stands at r: reduced axes are the frame's reduced dims in order */
static int pull_reduce(struct fr_ctx *c, const struct tn_node *n, const struct fr_map *r, int forward)
{
	const struct tn_graph *g = c->g;
	const uint32_t x = tn_in(g, n, 0);
	uint32_t k, left = c->f->red, axes = 0, at = 0, seen = 0;
	const int64_t *list = tn_attr_ints(g, n, TN_ATTR_axes, &k);
	struct fr_map m = fr_fresh(tn_rank(g, x));
	for (uint32_t i = 0; i < k; i++)
		axes |= 1u << list[i];
	for (uint32_t i = 0; i < m.rank; i++) {
		const uint32_t extent = tn_shape(g, x)[i];
		if (!(axes >> i & 1)) {
			const int16_t e = r->at[at++];
			if (e >= 0 && (seen >> e & 1 || c->f->red >> e & 1))
				return 0;
			if (e < FR_ONE && (!forward || fr_entry_uses(c, e) & c->f->red))
				return 0;
			seen |= e >= 0 ? 1u << e : 0;
			m.at[i] = e;
			continue;
		}
		while (left && c->f->dims[__builtin_ctz(left)].extent == 1)
			left &= left - 1;
		m.at[i] = FR_ONE;
		if (extent == 1)
			continue;
		if (!left || c->f->dims[__builtin_ctz(left)].extent != extent)
			return 0;
		m.at[i] = (int16_t)__builtin_ctz(left);
		left &= left - 1;
	}
	while (left && c->f->dims[__builtin_ctz(left)].extent == 1)
		left &= left - 1;
	if (left)
		return 0;
	pull(c, x, m, 0);
	return 1;
}

static void pull_dot(struct fr_ctx *c, const struct tn_node *n)
{
	const struct tn_graph *g = c->g;
	for (uint32_t side = 0; side < 2; side++) {
		const uint32_t x = tn_in(g, n, side);
		uint32_t nb, nc, batch = 0, k = 0, at = 0, used = 0;
		const int64_t *b = tn_attr_ints(g, n, TN_ATTR_batch, &nb), *con = tn_attr_ints(g, n, TN_ATTR_contract, &nc);
		struct fr_map m = fr_fresh(tn_rank(g, x));
		const uint32_t n_m = tn_rank(g, tn_in(g, n, 0)) - nb / 2 - nc / 2, n_n = tn_rank(g, tn_in(g, n, 1)) - nb / 2 - nc / 2;
		const uint32_t free0 = nb / 2 + (side ? n_m : 0), k0 = nb / 2 + n_m + n_n;
		for (uint32_t i = side; i < nb; i += 2, batch++) {
			m.at[b[i]] = (int16_t)batch;
			used |= 1u << b[i];
		}
		for (uint32_t i = side; i < nc; i += 2, k++) {
			m.at[con[i]] = (int16_t)(k0 + k);
			used |= 1u << con[i];
		}
		for (uint32_t i = 0; i < m.rank; i++)
			if (!(used >> i & 1))
				m.at[i] = (int16_t)(free0 + at++);
		m.bij = 0;
		pull(c, x, m, 0);
	}
}

static void pull_scatter(struct fr_ctx *c, const struct tn_node *n)
{
	const struct tn_graph *g = c->g;
	const uint32_t ix = tn_in(g, n, 1), upd = tn_in(g, n, 2);
	const uint32_t axis = (uint32_t)tn_attr_int(g, n, TN_ATTR_axis, 0), batch = (uint32_t)tn_attr_int(g, n, TN_ATTR_batch, 0);
	struct fr_map m = fr_fresh(tn_rank(g, upd)), i = fr_fresh(tn_rank(g, ix));
	for (uint32_t d = 0; d < m.rank; d++)
		m.at[d] = (int16_t)d;
	for (uint32_t d = 0; d < i.rank; d++)
		i.at[d] = (int16_t)(d < batch ? d : axis + d - batch);
	i.bij = 0;
	pull(c, upd, m, 0);
	pull(c, ix, i, 0);
}

int fr_backward(struct fr_ctx *c, const struct tn_node *n)
{
	const struct tn_graph *g = c->g;
	const struct tn_prim_info *info = tn_prim_info(n->prim);
	struct fr_value r = *fr_add(c, tn_out(g, n, 0));
	if (!r.map.known) {
		c->f->why = "a value has no place in the frame";
		return 0;
	}
	switch (info->cls) {
	case TN_CLS_POINTWISE:
		for (uint32_t i = 0; i < n->n_in; i++)
			pull(c, tn_in(g, n, i), r.map, r.many);
		return 1;
	case TN_CLS_VIEW: {
		const struct fr_value *x = n->n_in ? fr_add(c, tn_in(g, n, 0)) : NULL;
		if (r.forward && x && x->forward && x->map.bij && (n->prim == TN_permute || n->prim == TN_reshape || n->prim == TN_broadcast)) {
			if (r.many)
				fr_add(c, tn_in(g, n, 0))->many = 1;
			return 1;
		}
		pull_view(c, n, &r);
		return 1;
	}
	case TN_CLS_DATA:
		return 1;
	case TN_CLS_GATHER:
		pull_gather(c, n, &r);
		return 1;
	default:
		break;
	}
	c->f->why = "an anchor is read at several places";
	if (r.many)
		return 0;
	c->f->why = "a reduction's dims are not the frame's";
	if (info->cls == TN_CLS_REDUCE)
		return pull_reduce(c, n, &r.map, r.forward);
	if (info->cls == TN_CLS_CONTRACT)
		pull_dot(c, n);
	else if (info->cls == TN_CLS_SCATTER)
		pull_scatter(c, n);
	else
		pull(c, tn_in(g, n, 0), r.map, 0);
	return 1;
}
