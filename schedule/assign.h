/* assign.h - inside schedule/: who can run a node, asked by assign and expand */
#ifndef TENON_ASSIGN_H
#define TENON_ASSIGN_H
#include "schedule/query.h"

struct as_ctx {
	const struct tn_places *p; struct tn_arena *a;
	struct tn_query q;
	struct tn_map opened;            /* (slot, primitive, dtypes): 1 its definition can be run, 2 not */
	const uint64_t *deny; uint32_t n_deny;
	unsigned char **refused;         /* slot -> node -> the plugin said no; NULL: it was not asked */
};
void as_init(struct as_ctx *c, const struct tn_places *p, struct tn_arena *a);
int as_kernel(struct as_ctx *c, uint32_t slot, const struct tn_graph *g, const struct tn_node *n);   /* as text through a template */
int as_native(struct as_ctx *c, uint32_t slot, const struct tn_graph *g, const struct tn_node *n);   /* or as a graph */
struct tn_ir *as_open(const struct tn_graph *g, const struct tn_node *n, struct tn_arena *a);        /* its definition: inputs, outputs; NULL: an atom */
uint32_t as_choose(struct as_ctx *c, const struct tn_graph *g, uint32_t node, uint32_t prefer);      /* prefer is tried first; TN_NOTHING: none */
void as_keep_small(const struct tn_graph *g, uint32_t *slot, uint32_t host, struct tn_arena *a);
#endif
