/* convolve.c - convolution as one dot over windows.
 *
 *   x [N, C, s..]  w [O, C/groups, k..]  ->  [N, O, o..]
 *   pad -> window [N, C, o.., k..] -> view [N, o.., C, k..] . w [O, C, k..] -> [N, o.., O] -> view [N, O, o..]
 *
 * The views cost nothing where loads follow strides; contracting [C, k..] in that order makes rows of w contiguous, and the
 * order of accumulation the same for every kernel size.  Groups are a batch dim of the dot.  A kernel of ones needs no window, only the strides' slice. */
#include "decomp/builders.h"

struct conv {
	struct tn_ir *ir;
	uint32_t x, w, n;              /* n spatial dims */
	int64_t groups;
	uint32_t N, C, O, Cg, Og, k[3], o[3];   /* sizes; o after the window is there */
	int pointwise;
	const int64_t *stride, *dilation;
	struct tn_attr_in attrs[4];    /* of the dot: contract, batch, dtype, acc */
	uint32_t n_attrs;
};

static uint32_t dim(const struct conv *c, uint32_t v, uint32_t d) { return tn_shape(&c->ir->g, v)[d]; }

/* x[:, :, ::stride..] */
static uint32_t strided(struct conv *c, uint32_t x)
{
	uint32_t start[5] = { 0 }, limit[5];
	int64_t step[5] = { 1, 1, 1, 1, 1 }, any = 0;
	for (uint32_t d = 0; d < c->n + 2; d++)
		limit[d] = dim(c, x, d);
	for (uint32_t i = 0; i < c->n; i++) {
		step[2 + i] = c->stride[i];
		any |= c->stride[i] != 1;
	}
	const struct tn_attr_in attrs[] = { TN_A_SIZES(start, start, c->n + 2), TN_A_SIZES(limit, limit, c->n + 2), TN_A_INTS(step, step, c->n + 2) };
	return any ? tn_ir_add(c->ir, TN_slice, &x, 1, attrs, 3) : x;
}

static uint32_t contract(struct conv *c, uint32_t x, uint32_t w, const int64_t *pairs, uint32_t n_pairs, const int64_t *batch, uint32_t n_batch)
{
	c->attrs[0] = TN_A_INTS(contract, pairs, n_pairs);
	c->attrs[1] = TN_A_INTS(batch, batch, n_batch);
	return tn_ir_add(c->ir, TN_dot, (const uint32_t[]){ x, w }, 2, c->attrs, c->n_attrs);
}

/* windows x [N, C, o.., k..], one group */
static uint32_t whole(struct conv *c, uint32_t x)
{
	const uint32_t n = c->n, nk = c->pointwise ? 0 : n;
	int64_t perm[8], pairs[8], back[5];
	uint32_t at = 0, w = c->w, n_pairs = 0;
	perm[at++] = 0;
	for (uint32_t i = 0; i < n; i++)
		perm[at++] = 2 + i;
	perm[at++] = 1;
	for (uint32_t i = 0; i < nk; i++)
		perm[at++] = 2 + n + i;
	if (c->pointwise)
		w = tn_ir_reshape(c->ir, w, (const uint32_t[]){ c->O, c->Cg }, 2);
	for (uint32_t i = 0; i < 1 + nk; i++) {
		pairs[n_pairs++] = 1 + n + i;
		pairs[n_pairs++] = 1 + i;
	}
	const uint32_t y = contract(c, tn_ir_permute(c->ir, x, perm), w, pairs, n_pairs, NULL, 0);
	back[0] = 0;
	back[1] = 1 + n;
	for (uint32_t i = 0; i < n; i++)
		back[2 + i] = 1 + i;
	return tn_ir_permute(c->ir, y, back);
}

/* windows with the channels split, [N, G, C/G, o.., k..].  Three spatial dims would make nine: theirs are merged to [.., o, k] */
static uint32_t split_windows(struct conv *c, uint32_t x, uint32_t *n)
{
	struct tn_ir *ir = c->ir;
	const uint32_t G = tn_size_const(ir, c->groups);
	uint32_t dims[TN_RANK_MAX] = { c->N, G, c->Cg };
	*n = c->n < 3 ? c->n : 1;
	if (c->n < 3) {
		for (uint32_t i = 0; i < c->n; i++)
			dims[3 + i] = dim(c, x, 2 + i);
		return tn_window_spatial(ir, tn_ir_reshape(ir, x, dims, 3 + c->n), 3, c->k, c->stride, c->dilation, c->n);
	}
	dims[3] = tn_size_product(ir, c->o, c->n);
	dims[4] = tn_size_product(ir, c->k, c->n);
	return tn_ir_reshape(ir, tn_window_spatial(ir, x, 2, c->k, c->stride, c->dilation, c->n), dims, 5);
}

/* the group is a batch dim: [G, N, o.., C/G, k..] . [G, O/G, C/G, k..] -> [G, N, o.., O/G] -> [N, G, O/G, o..] -> [N, O, o..] */
static uint32_t grouped(struct conv *c, uint32_t x)
{
	struct tn_ir *ir = c->ir;
	uint32_t n, dims[TN_RANK_MAX] = { tn_size_const(ir, c->groups), c->Og, c->Cg };
	int64_t perm[TN_RANK_MAX] = { 1, 0 }, pairs[TN_RANK_MAX], back[TN_RANK_MAX] = { 1, 0 };
	const uint32_t v = split_windows(c, x, &n);
	for (uint32_t i = 0; i < n; i++) {
		perm[2 + i] = 3 + i;
		perm[3 + n + i] = 3 + n + i;
		back[3 + i] = 2 + i;
		dims[3 + i] = n == c->n ? c->k[i] : tn_size_product(ir, c->k, c->n);
	}
	perm[2 + n] = 2;
	back[2] = 2 + n;
	for (uint32_t i = 0; i < 1 + n; i++) {
		pairs[2 * i] = 2 + n + i;
		pairs[2 * i + 1] = 2 + i;
	}
	const uint32_t w = tn_ir_reshape(ir, c->w, dims, 3 + n);
	const uint32_t y = contract(c, tn_ir_permute(ir, v, perm), w, pairs, 2 * (1 + n), (const int64_t[]){ 0, 0 }, 2);
	const uint32_t z = tn_ir_permute(ir, y, back);
	dims[0] = c->N;
	dims[1] = c->O;
	for (uint32_t i = 0; i < c->n; i++)
		dims[2 + i] = c->o[i];
	return tn_ir_reshape(ir, z, dims, c->n + 2);
}

/* sizes of the result's spatial dims, from the padded operand x */
static void result_sizes(struct conv *c, uint32_t x)
{
	struct tn_ir *ir = c->ir;
	for (uint32_t i = 0; i < c->n; i++) {          /* (s - (k - 1) * dilation - 1) / stride + 1 */
		const uint32_t one = tn_size_const(ir, 1), minus = tn_size_const(ir, -1);
		const uint32_t reach = tn_size_op(ir, TN_SIZE_MUL, tn_size_op(ir, TN_SIZE_ADD, c->k[i], minus), tn_size_const(ir, -c->dilation[i]));
		const uint32_t room = tn_size_op(ir, TN_SIZE_ADD, tn_size_op(ir, TN_SIZE_ADD, dim(c, x, 2 + i), reach), minus);
		c->o[i] = tn_size_op(ir, TN_SIZE_ADD, tn_size_op(ir, TN_SIZE_DIV, room, tn_size_const(ir, c->stride[i])), one);
	}
}

void tn_build_convolution(struct tn_ir *ir, const struct tn_graph *g, const struct tn_node *n, const uint32_t *in, uint32_t *out)
{
	struct conv c = { .ir = ir, .x = in[0], .w = in[1], .n = tn_rank(&ir->g, in[0]) - 2, .groups = tn_attr_int(g, n, TN_ATTR_groups, 1), .pointwise = 1, .n_attrs = 2 };
	const uint32_t dtype = tn_val(&ir->g, c.x)->dtype;
	const int64_t result = tn_attr_int(g, n, TN_ATTR_dtype, TN_NONE), acc = tn_attr_int(g, n, TN_ATTR_acc, TN_NONE);
	uint32_t count;
	if (c.n < 1 || c.n > 3)
		tn_raise(ir->arena->diag, TN_E_UNSUPPORTED, "convolution over %u spatial dims; 1 to 3 are supported", c.n);
	c.stride = tn_attr_ints(g, n, TN_ATTR_stride, &count);
	c.dilation = tn_attr_ints(g, n, TN_ATTR_dilation, &count);
	const int64_t *low = tn_attr_ints(g, n, TN_ATTR_low, &count), *high = tn_attr_ints(g, n, TN_ATTR_high, &count);
	c.N = dim(&c, c.x, 0);
	c.C = dim(&c, c.x, 1);
	c.O = dim(&c, c.w, 0);
	c.Cg = dim(&c, c.w, 1);
	c.Og = tn_size_op(ir, TN_SIZE_DIV, c.O, tn_size_const(ir, c.groups));
	for (uint32_t i = 0; i < c.n; i++) {
		c.k[i] = dim(&c, c.w, 2 + i);
		c.pointwise &= tn_size_known(&ir->g, c.k[i]) == 1;
	}
	if (result != TN_NONE)
		c.attrs[c.n_attrs++] = TN_A_INT(dtype, result);
	if (acc != TN_NONE)
		c.attrs[c.n_attrs++] = TN_A_INT(acc, acc);
	uint32_t v = tn_pad_spatial(ir, c.x, tn_scalar(ir, dtype, 0), 2, low, high, c.n);
	result_sizes(&c, v);
	if (c.groups > 1)
		out[0] = grouped(&c, v);
	else
		out[0] = whole(&c, c.pointwise ? strided(&c, v) : tn_window_spatial(ir, v, 2, c.k, c.stride, c.dilation, c.n));
}
