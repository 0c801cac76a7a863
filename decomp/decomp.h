/* decomp.h - graph to graph: open composites, simplify, fold constants.
 *
 * Each pass reads a const graph and writes a new one into the arena; inputs, outputs, their names, mutations, symbols and origins
 * are carried over, and numbers of values and nodes change.  Passes raise through the arena's diag.  Regions of if, while and scan
 * are rewritten by the same pass. */
#ifndef TENON_DECOMP_H
#define TENON_DECOMP_H
#include "ir/ir.h"

/* tn_decomp_register - make the builders of this folder (convolution, pooling, sort, random numbers) known to ir/, so that the
 * evaluator can open their rows.  Idempotent, any thread.  The passes below do it themselves. */
void tn_decomp_register(void);

/* tn_expand - replace each node for which keep says 0 by its body, and that body's nodes likewise, until keep says 1 or the node
 * is an atom or a host operation.  Nodes of a body get the origin of the node they stand for.
 *   keep  asked about node number `node` of graph g, which is the graph passed in or one that holds an opened body;
 *         NULL: keep nothing, expand to atoms
 * A row that has neither text nor builder for its dtypes raises TN_E_UNSUPPORTED, unless keep says 1. */
struct tn_ir *tn_expand(const struct tn_graph *g, int (*keep)(void *ctx, const struct tn_graph *g, uint32_t node), void *ctx,
	struct tn_arena *a);

/* tn_simplify - algebra, views that change nothing or merge, equal nodes once, dead nodes gone.  Never changes a bit of a result,
 * except that a NaN may carry another payload.  Rules: the table in decomp/rules.c. */
struct tn_ir *tn_simplify(const struct tn_graph *g, struct tn_arena *a);

/* tn_fold - evaluate nodes whose operands are constants (size of constant sizes, small full and iota count as such when another
 * node uses them) and keep results of up to limit_bytes each as constants in a. */
struct tn_ir *tn_fold(const struct tn_graph *g, uint64_t limit_bytes, struct tn_arena *a);
#endif
