/* builders.h - where ir/ finds the bodies that are code (rows with TN_BUILDER): decomp/ stands above ir/ and hands its table down. */
#ifndef TENON_BUILDERS_H
#define TENON_BUILDERS_H
#include "ir/ir.h"

/* one builder: adds the nodes of n's definition to ir.  n is a node of g; operands are values of ir; results go to out.
 * Sizes in n's attributes are g's: tn_size_import them. */
struct tn_builder { uint32_t prim; void (*build)(struct tn_ir *ir, const struct tn_graph *g, const struct tn_node *n, const uint32_t *operands, uint32_t *out); };
TN_SPAN(tn_builder);

void tn_ir_set_builders(const struct tn_builder_rows *rows);  /* borrowed for the life of the process; any thread, the last call counts */

/* tn_ir_open - add the definition of n to ir, text or builder.  0: an atom, a host operation, or no body for these dtypes */
int tn_ir_open(struct tn_ir *ir, const struct tn_graph *g, const struct tn_node *n, const uint32_t *operands, uint32_t *out);

/* tn_ir_open_all - g with each node for which keep says 0 replaced by its definition, recursively (decomp.h, tn_expand).
 * keep NULL: down to atoms. */
struct tn_ir *tn_ir_open_all(const struct tn_graph *g, int (*keep)(void *ctx, const struct tn_graph *g, uint32_t node), void *ctx, struct tn_arena *a);

/* tn_graph_map_regions - g with each region replaced by what f makes of it (g itself where there is none); a shallow copy in a */
const struct tn_graph *tn_graph_map_regions(const struct tn_graph *g, const struct tn_graph *(*f)(void *ctx, const struct tn_graph *region, struct tn_arena *a), void *ctx,
	struct tn_arena *a);
#endif
