/* infer_host.c - types of the host operations: size, bind, if, while, scan
 *
 *   size   shape = [e] gives e as an i64 with no dims; k sizes other than one give an i64[k]
 *   bind   the integer operand becomes the value of symbol number `index` from here on; no result.  Text: `n = bind %x, hi = 100`
 *   if     operands: a bool, then what both branches take as their inputs.  Results: theirs; where sizes differ, a symbol
 *   while  operands: n_carry carries, then what stays.  Regions: condition (all operands -> bool), body (all operands -> the
 *          carries, then what is stacked).  Results: carries, stacked outputs with as many rows in front as the loop ran
 *   scan   operands: n_carry carries, then sequences of `length` rows.  Region: carries and one row of each sequence -> the carries,
 *          then what is stacked.  Results: carries, stacked outputs with `length` rows in front
 *
 * A region is isolated and its symbols are its own: where a dim of its input is a symbol, that symbol stands for the operand's
 * size.  Result sizes are written in the outer graph's symbols; what cannot be is known only when it runs. */
#include "ir/store.h"

static const struct tn_graph *region(const struct tn_infer *f, uint32_t i) { return f->n->regions[i]; }
static uint32_t region_in(const struct tn_graph *r, uint32_t i) { return r->operands[r->in0 + i]; }
static uint32_t region_out(const struct tn_graph *r, uint32_t i) { return r->operands[r->out0 + i]; }
static const struct tn_graph *outer(const struct tn_infer *f) { return &f->ir->g; }

static void need_regions(const struct tn_infer *f, uint32_t n)
{
	if (f->n->n_regions != n)
		tn_infer_fail(f, "%u regions, it needs %u", f->n->n_regions, n);
	for (uint32_t i = 0; i < n; i++)
		if (f->n->regions[i] == NULL)
			tn_infer_fail(f, "region %u is NULL", i);
}

static uint32_t carries(const struct tn_infer *f)
{
	const int64_t n = tn_infer_int(f, TN_ATTR_n_carry, 0);
	if (n < 0 || n > f->n->n_in)
		tn_infer_fail(f, "n_carry = %lld, with %u operands", (long long)n, f->n->n_in);
	return (uint32_t)n;
}

/* ---- what a region's symbols stand for outside */
static uint32_t *fresh_map(const struct tn_infer *f, const struct tn_graph *r)
{
	uint32_t *map = tn_array(f->ir->arena, uint32_t, r->n_symbols);
	for (uint64_t i = 0; i < r->n_symbols; i++)
		map[i] = TN_NOTHING;
	return map;
}

/* region input i takes a value of this type: dims from dim `skip` of the operand on */
static void enter(const struct tn_infer *f, const struct tn_graph *r, uint32_t which, uint32_t i, uint32_t operand, uint32_t skip, uint32_t *map)
{
	const struct tn_value *in = tn_val(r, region_in(r, i)), *x = tn_val(outer(f), operand);
	const uint32_t *dims = r->dims + in->dim0, *given = tn_shape(outer(f), operand) + skip;
	if (in->dtype != x->dtype || in->rank != x->rank - skip)
		tn_infer_fail(f, "input %u of region %u, %s, does not take operand %s", i, which, tn_value_text(f->ir->arena, r, region_in(r, i)),
			tn_value_text(f->ir->arena, outer(f), operand));
	for (uint32_t d = 0; d < in->rank; d++) {
		const struct tn_size *s = &r->sizes.at[dims[d]];
		if (s->op == TN_SIZE_SYM && map[s->a] == TN_NOTHING)
			map[s->a] = given[d];
		const uint32_t size = tn_size_substitute(f->ir, r, dims[d], map);
		if (size != TN_NOTHING && tn_size_eq(f->ir, size, given[d]) == 0)
			tn_infer_fail(f, "dim %u of input %u of region %u is %s, and operand %s has %s there", d, i, which, tn_infer_size(f, size),
				tn_value_text(f->ir->arena, outer(f), operand), tn_infer_size(f, given[d]));
	}
}

static uint32_t *enter_all(const struct tn_infer *f, uint32_t which, uint32_t first)
{
	const struct tn_graph *r = region(f, which);
	uint32_t *map = fresh_map(f, r);
	if (r->n_in != f->n->n_in - first)
		tn_infer_fail(f, "region %u takes %u inputs and is given %u", which, r->n_in, f->n->n_in - first);
	for (uint32_t i = 0; i < r->n_in; i++)
		enter(f, r, which, i, f->n->in[first + i], 0, map);
	return map;
}

/* output i of a region as a type of the outer graph, `lead` in front when it is not TN_NOTHING - 2 */
#define NO_LEAD (TN_NOTHING - 2)
static struct tn_type leave(const struct tn_infer *f, const struct tn_graph *r, uint32_t i, const uint32_t *map, uint32_t lead)
{
	const struct tn_value *v = tn_val(r, region_out(r, i));
	struct tn_type t = { .dtype = v->dtype };
	if (v->rank + (lead != NO_LEAD) > TN_RANK_MAX)
		tn_infer_fail(f, "result %u has more than %d dims", i, TN_RANK_MAX);
	if (lead != NO_LEAD)
		t.dims[t.rank++] = lead;
	for (uint32_t d = 0; d < v->rank; d++)
		t.dims[t.rank++] = tn_size_substitute(f->ir, r, r->dims[v->dim0 + d], map);
	return t;
}

static void results(struct tn_infer *f, uint32_t n)
{
	f->n_out = n;
	f->out = tn_array(f->ir->arena, struct tn_type, n);
}

/* ---- the operations */
static void size(struct tn_infer *f)
{
	uint32_t n;
	tn_infer_sizes(f, TN_ATTR_shape, &n);
	results(f, 1);
	f->out[0] = (struct tn_type){ .dtype = TN_I64, .rank = n != 1 };
	f->out[0].dims[0] = tn_size_const(f->ir, n);
}

static void bind(struct tn_infer *f)
{
	const struct tn_value *x = tn_val(outer(f), f->n->in[0]);
	const int64_t index = tn_infer_int(f, TN_ATTR_index, -1), lo = tn_infer_int(f, TN_ATTR_lo, 0), hi = tn_infer_int(f, TN_ATTR_hi, 0);
	if (!(f->p->mask & TN_M(x->dtype)) || x->rank != 0)
		tn_infer_fail(f, "the operand must be an i32 or i64 with no dims");
	if (index < 0 || (uint64_t)index >= outer(f)->n_symbols)
		tn_infer_fail(f, "index = %lld, and there are %llu symbols", (long long)index, (unsigned long long)outer(f)->n_symbols);
	if (lo > hi)
		tn_infer_fail(f, "lo = %lld is more than hi = %lld", (long long)lo, (long long)hi);
	for (uint64_t i = 0; i < outer(f)->nodes.count; i++)
		if (outer(f)->nodes.at[i].prim == TN_bind && tn_attr_int(outer(f), &outer(f)->nodes.at[i], TN_ATTR_index, -1) == index)
			tn_infer_fail(f, "size %s is bound by node %llu already", tn_symbol_name(outer(f), (uint32_t)index), (unsigned long long)i);
	tn_size_sym(f->ir, tn_symbol_name(outer(f), (uint32_t)index), lo, hi);
	results(f, 0);
}

static void branch(struct tn_infer *f)
{
	const struct tn_value *c = tn_val(outer(f), f->n->in[0]);
	need_regions(f, 2);
	if (c->dtype != TN_BOOL || c->rank != 0)
		tn_infer_fail(f, "the condition must be a bool with no dims");
	const struct tn_graph *yes = region(f, 0), *no = region(f, 1);
	const uint32_t *map_yes = enter_all(f, 0, 1), *map_no = enter_all(f, 1, 1);
	if (yes->n_out != no->n_out)
		tn_infer_fail(f, "the regions have %u and %u results", yes->n_out, no->n_out);
	results(f, yes->n_out);
	for (uint32_t i = 0; i < f->n_out; i++) {
		const struct tn_type b = leave(f, no, i, map_no, NO_LEAD);
		f->out[i] = leave(f, yes, i, map_yes, NO_LEAD);
		if (b.dtype != f->out[i].dtype || b.rank != f->out[i].rank)
			tn_infer_fail(f, "result %u is %s in one region and %s in the other", i, tn_value_text(f->ir->arena, yes, region_out(yes, i)),
				tn_value_text(f->ir->arena, no, region_out(no, i)));
		for (uint32_t d = 0; d < b.rank; d++)
			if (b.dims[d] == TN_NOTHING || f->out[i].dims[d] == TN_NOTHING || tn_size_eq(f->ir, b.dims[d], f->out[i].dims[d]) != 1)
				f->out[i].dims[d] = TN_NOTHING;
	}
}

/* Carry i keeps dtype and number of dims; a size that the body does not keep is known only when it runs. */
static void carry(struct tn_infer *f, const struct tn_graph *r, uint32_t i, const uint32_t *map)
{
	const struct tn_value *x = tn_val(outer(f), f->n->in[i]);
	f->out[i] = leave(f, r, i, map, NO_LEAD);
	if (f->out[i].dtype != x->dtype || f->out[i].rank != x->rank)
		tn_infer_fail(f, "carry %u goes in as %s and comes out as %s", i, tn_value_text(f->ir->arena, outer(f), f->n->in[i]),
			tn_value_text(f->ir->arena, r, region_out(r, i)));
	for (uint32_t d = 0; d < x->rank; d++)
		if (f->out[i].dims[d] == TN_NOTHING || tn_size_eq(f->ir, f->out[i].dims[d], tn_shape(outer(f), f->n->in[i])[d]) != 1)
			f->out[i].dims[d] = TN_NOTHING;
}

/* sizes of carries that change from round to round stand for no outer size */
static void forget_changing(struct tn_infer *f, const struct tn_graph *r, uint32_t n_carry, uint32_t *map)
{
	for (uint32_t i = 0; i < n_carry; i++) {
		const struct tn_value *in = tn_val(r, region_in(r, i));
		for (uint32_t d = 0; d < in->rank && d < f->out[i].rank; d++) {
			const struct tn_size *s = &r->sizes.at[r->dims[in->dim0 + d]];
			if (f->out[i].dims[d] == TN_NOTHING && s->op == TN_SIZE_SYM)
				map[s->a] = TN_NOTHING;
		}
	}
}

static void loop_results(struct tn_infer *f, const struct tn_graph *body, uint32_t n_carry, uint32_t *map, uint32_t lead)
{
	if (body->n_out < n_carry)
		tn_infer_fail(f, "the body has %u results and %u carries", body->n_out, n_carry);
	results(f, body->n_out);
	for (uint32_t i = 0; i < n_carry; i++)
		carry(f, body, i, map);
	for (uint32_t round = 0; round < n_carry; round++) {   /* one carry's change may change another */
		forget_changing(f, body, n_carry, map);
		for (uint32_t i = 0; i < n_carry; i++)
			carry(f, body, i, map);
	}
	for (uint32_t i = n_carry; i < body->n_out; i++)
		f->out[i] = leave(f, body, i, map, lead);
}

static void loop(struct tn_infer *f)
{
	const uint32_t n_carry = carries(f);
	need_regions(f, 2);
	const struct tn_graph *cond = region(f, 0);
	if (tn_infer_int(f, TN_ATTR_hi, 0) < 0)
		tn_infer_fail(f, "hi = %lld, and must be 0 for no bound, or more", (long long)tn_infer_int(f, TN_ATTR_hi, 0));
	enter_all(f, 0, 0);
	uint32_t *map = enter_all(f, 1, 0);
	if (cond->n_out != 1 || tn_val(cond, region_out(cond, 0))->dtype != TN_BOOL || tn_val(cond, region_out(cond, 0))->rank != 0)
		tn_infer_fail(f, "the first region must have one result, a bool with no dims");
	loop_results(f, region(f, 1), n_carry, map, TN_TRIPS);
}

static void scan(struct tn_infer *f)
{
	const uint32_t n_carry = carries(f);
	uint32_t n;
	const uint32_t *length = tn_infer_sizes(f, TN_ATTR_length, &n);
	need_regions(f, 1);
	if (n != 1)
		tn_infer_fail(f, "attribute 'length' has %u elements, it needs 1", n);
	const struct tn_graph *body = region(f, 0);
	uint32_t *map = fresh_map(f, body);
	if (body->n_in != f->n->n_in)
		tn_infer_fail(f, "region 0 takes %u inputs and is given %u", body->n_in, f->n->n_in);
	for (uint32_t i = 0; i < body->n_in; i++) {
		if (i >= n_carry) {
			if (tn_rank(outer(f), f->n->in[i]) == 0)
				tn_infer_fail(f, "sequence %u has no dims", i - n_carry);
			tn_infer_same(f, tn_shape(outer(f), f->n->in[i])[0], *length, "rows of a sequence and the length");
		}
		enter(f, body, 0, i, f->n->in[i], i >= n_carry, map);
	}
	loop_results(f, body, n_carry, map, *length);
}

void tn_infer_host(struct tn_infer *f)
{
	switch (f->p->number) {
	case TN_size: size(f); break;
	case TN_bind: bind(f); break;
	case TN_if: branch(f); break;
	case TN_while: loop(f); break;
	case TN_scan: scan(f); break;
	default: tn_infer_fail(f, "the table has no rule for it");
	}
}
