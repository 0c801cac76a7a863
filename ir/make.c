/* make.c - the one-result forms of the builder */
#include "ir/store.h"
#include <string.h>

uint32_t tn_ir_add(struct tn_ir *ir, uint32_t prim, const uint32_t *in, uint32_t n_in, const struct tn_attr_in *attrs, uint32_t n_attrs)
{
	const uint32_t node = tn_ir_node(ir, &(struct tn_node_in){ .prim = prim, .in = in, .n_in = n_in, .attrs = attrs, .n_attrs = n_attrs });
	const struct tn_node *n = &ir->g.nodes.at[node];
	if (n->n_out != 1)
		tn_raise(ir->arena->diag, TN_E_ARG, "node %u, %s: %u results where one is asked for", node, tn_prim_name(prim), n->n_out);
	return tn_out(&ir->g, n, 0);
}

uint32_t tn_ir_unary(struct tn_ir *ir, uint32_t prim, uint32_t x)
{
	return tn_ir_add(ir, prim, &x, 1, NULL, 0);
}

uint32_t tn_ir_binary(struct tn_ir *ir, uint32_t prim, uint32_t x, uint32_t y)
{
	return tn_ir_add(ir, prim, (uint32_t[]){ x, y }, 2, NULL, 0);
}

uint32_t tn_ir_select(struct tn_ir *ir, uint32_t c, uint32_t x, uint32_t y)
{
	return tn_ir_add(ir, TN_select, (uint32_t[]){ c, x, y }, 3, NULL, 0);
}

static void need_value(struct tn_ir *ir, const char *what, uint32_t x)
{
	if (x >= ir->g.values.count)
		tn_raise(ir->arena->diag, TN_E_ARG, "%s: there is no value %u (of %llu)", what, x, (unsigned long long)ir->g.values.count);
}

uint32_t tn_ir_convert(struct tn_ir *ir, uint32_t x, uint32_t dtype)
{
	need_value(ir, "convert", x);
	if (tn_val(&ir->g, x)->dtype == dtype)
		return x;
	return tn_ir_add(ir, TN_convert, &x, 1, (struct tn_attr_in[]){ TN_A_INT(dtype, dtype) }, 1);
}

uint32_t tn_ir_full(struct tn_ir *ir, uint32_t dtype, double value, const uint32_t *dims, uint32_t rank)
{
	const struct tn_attr_in a[] = { TN_A_FLOAT(value, value), TN_A_INT(dtype, dtype), TN_A_SIZES(shape, dims, rank) };
	return tn_ir_add(ir, TN_full, NULL, 0, a, 3);
}

uint32_t tn_ir_full_int(struct tn_ir *ir, uint32_t dtype, int64_t value, const uint32_t *dims, uint32_t rank)
{
	const struct tn_attr_in a[] = { TN_A_INT(value, value), TN_A_INT(dtype, dtype), TN_A_SIZES(shape, dims, rank) };
	return tn_ir_add(ir, TN_full, NULL, 0, a, 3);
}

uint32_t tn_ir_iota(struct tn_ir *ir, uint32_t dtype, uint32_t axis, const uint32_t *dims, uint32_t rank)
{
	const struct tn_attr_in a[] = { TN_A_INT(axis, axis), TN_A_INT(dtype, dtype), TN_A_SIZES(shape, dims, rank) };
	return tn_ir_add(ir, TN_iota, NULL, 0, a, 3);
}

/* dims are copied at once, so that they may point into the graph, which moves when it grows */
static int same_shape(const struct tn_ir *ir, uint32_t x, const uint32_t *dims, uint32_t rank)
{
	return tn_rank(&ir->g, x) == rank && (rank == 0 || memcmp(tn_shape(&ir->g, x), dims, rank * sizeof *dims) == 0);
}

uint32_t tn_ir_broadcast(struct tn_ir *ir, uint32_t x, const uint32_t *dims, uint32_t rank, const int64_t *where)
{
	need_value(ir, "broadcast", x);
	if (same_shape(ir, x, dims, rank))     /* where ascends and is complete: nothing moves */
		return x;
	const struct tn_attr_in a[] = { TN_A_SIZES(shape, dims, rank), TN_A_INTS(dims, where, tn_rank(&ir->g, x)) };
	return tn_ir_add(ir, TN_broadcast, &x, 1, a, 2);
}

uint32_t tn_ir_reshape(struct tn_ir *ir, uint32_t x, const uint32_t *dims, uint32_t rank)
{
	need_value(ir, "reshape", x);
	if (same_shape(ir, x, dims, rank))
		return x;
	return tn_ir_add(ir, TN_reshape, &x, 1, (struct tn_attr_in[]){ TN_A_SIZES(shape, dims, rank) }, 1);
}

/* dims of size 1 that must grow are taken out by a reshape, so that broadcast only adds dims */
uint32_t tn_ir_expand_to(struct tn_ir *ir, uint32_t x, const uint32_t *dims, uint32_t rank)
{
	need_value(ir, "expand", x);
	const uint32_t r = tn_rank(&ir->g, x);
	uint32_t kept[TN_RANK_MAX], n = 0;
	int64_t where[TN_RANK_MAX];
	if (r > rank || rank > TN_RANK_MAX)
		tn_raise(ir->arena->diag, TN_E_ARG, "expand: %s to %u dims", tn_value_text(ir->arena, &ir->g, x), rank);
	for (uint32_t i = 0; i < r; i++) {
		const uint32_t from = tn_shape(&ir->g, x)[i], to = dims[rank - r + i];
		if (from == 1 && to != 1)
			continue;
		kept[n] = from;
		where[n++] = rank - r + i;
	}
	return tn_ir_broadcast(ir, tn_ir_reshape(ir, x, kept, n), dims, rank, where);
}

uint32_t tn_ir_permute(struct tn_ir *ir, uint32_t x, const int64_t *perm)
{
	need_value(ir, "permute", x);
	return tn_ir_add(ir, TN_permute, &x, 1, (struct tn_attr_in[]){ TN_A_INTS(perm, perm, tn_rank(&ir->g, x)) }, 1);
}

uint32_t tn_ir_reduce(struct tn_ir *ir, uint32_t prim, uint32_t x, const int64_t *axes, uint32_t n_axes)
{
	return tn_ir_add(ir, prim, &x, 1, (struct tn_attr_in[]){ TN_A_INTS(axes, axes, n_axes) }, 1);
}

uint32_t tn_ir_dot(struct tn_ir *ir, uint32_t x, uint32_t y, const int64_t *contract, uint32_t n_contract, const int64_t *batch, uint32_t n_batch)
{
	const struct tn_attr_in a[] = { TN_A_INTS(contract, contract, n_contract), TN_A_INTS(batch, batch, n_batch) };
	return tn_ir_add(ir, TN_dot, (uint32_t[]){ x, y }, 2, a, 2);
}

void tn_broadcast_shapes(struct tn_ir *ir, uint32_t x, uint32_t y, uint32_t *dims, uint32_t *rank)
{
	need_value(ir, "broadcast", x);
	need_value(ir, "broadcast", y);
	const uint32_t rx = tn_rank(&ir->g, x), ry = tn_rank(&ir->g, y);
	*rank = rx > ry ? rx : ry;
	for (uint32_t i = 0; i < *rank; i++) {         /* from the right */
		const uint32_t a = i < rx ? tn_shape(&ir->g, x)[rx - 1 - i] : 1, b = i < ry ? tn_shape(&ir->g, y)[ry - 1 - i] : 1;
		if (a != 1 && b != 1 && tn_size_eq(ir, a, b) != 1)
			tn_raise(ir->arena->diag, TN_E_ARG, "shapes do not broadcast: %s and %s, dim %u from the right", tn_value_text(ir->arena, &ir->g, x),
				tn_value_text(ir->arena, &ir->g, y), i);
		dims[*rank - 1 - i] = a == 1 ? b : a;
	}
}
