/* builders.c - the table of C builders that decomp/ hands down, and opening a node by text or by builder. */
#include "ir/builders.h"
#include <stdatomic.h>

/* written once or twice in the life of a process with the same const table; release and acquire make its rows visible */
static _Atomic(const struct tn_builder_rows *) builders;

void tn_ir_set_builders(const struct tn_builder_rows *rows)
{
	atomic_store_explicit(&builders, rows, memory_order_release);
}

int tn_ir_open(struct tn_ir *ir, const struct tn_graph *g, const struct tn_node *n, const uint32_t *operands, uint32_t *out)
{
	const struct tn_prim_info *info = tn_prim_info(n->prim);
	const struct tn_builder_rows *rows = atomic_load_explicit(&builders, memory_order_acquire);
	if (info == NULL || info->flags & (TN_ATOM | TN_HOST_OP))
		return 0;
	if (!(info->flags & TN_BUILDER))
		return tn_ir_inline_body(ir, g, n, operands, out);
	for (uint64_t i = 0; rows != NULL && i < rows->count; i++)
		if (rows->at[i].prim == n->prim) {
			rows->at[i].build(ir, g, n, operands, out);
			return 1;
		}
	return 0;
}
