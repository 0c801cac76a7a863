/* query.h - what a plugin's tables say, asked by assign, fuse and nest.  Nothing here runs plugin code but `can` (assign). */
#ifndef TENON_QUERY_H
#define TENON_QUERY_H
#include "schedule/schedule.h"

struct tn_query { const struct tn_places *p; struct tn_arena *a; struct tn_map point; };   /* point: answers that were asked before */

int q_disabled(const struct tn_places *p, uint32_t slot, const char *row);
/* a dialect row spells prim on these dtypes: dtype of the first operand that is not bool (or bool), dtype of the result */
int q_spells(const struct tn_places *p, uint32_t slot, uint32_t prim, uint32_t in, uint32_t out);
int q_template(const struct tn_places *p, uint32_t slot, uint32_t cls);                    /* an enabled template of this nest class */
int q_stores(const struct tn_places *p, uint32_t slot, uint32_t dtype);                    /* it can load and store this dtype */
/* a kernel of the plugin can compute this elementwise node: spelled, or through f32, or by a definition whose every node it can */
int q_point(struct tn_query *q, uint32_t slot, const struct tn_graph *g, const struct tn_node *n);
int q_caps(const struct tn_places *p, uint32_t slot, const struct tn_graph *g, const struct tn_node *n);   /* a caps row names the node */
/* no size of the node hangs on a symbol: neither of its operands and results nor of its attributes */
int q_node_fixed(const struct tn_graph *g, const struct tn_node *n);
/* the rule of the graph way with the highest benefit whose masks hold the node's class and that serves it */
const struct tn_rule_row *q_graph_rule(const struct tn_places *p, uint32_t slot, const struct tn_graph *g, const struct tn_node *n);
/* an enabled rule with no pattern whose `where` holds for the node, and whose STATIC does not ask for more than the node has */
int q_rule_serves(const struct tn_places *p, uint32_t slot, const struct tn_rule_row *r, const struct tn_graph *g, const struct tn_node *n);
uint32_t q_in_dtype(const struct tn_graph *g, const struct tn_node *n);                    /* as q_spells wants it */

static inline uint32_t q_class(const struct tn_graph *g, uint32_t node)
{
	const struct tn_prim_info *info = tn_prim_info(g->nodes.at[node].prim);
	return info ? info->cls : TN_CLS_HOST;
}
static inline int q_is_half(uint32_t dtype) { return dtype == TN_F16 || dtype == TN_BF16; }
#endif
