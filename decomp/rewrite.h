/* rewrite.h - inside tn_simplify: what a rule sees and may ask.
 *
 * A rule looks at a node just added to the new graph and answers the value that stands for its (only) result, or TN_NOTHING.
 * It may add nodes; they are looked at in the next round.  The node itself then has no use and is dropped. */
#ifndef TENON_DECOMP_REWRITE_H
#define TENON_DECOMP_REWRITE_H
#include "decomp/builders.h"

struct tn_rewrite {                /* copies: adding nodes moves the tables */
	struct tn_ir *ir;
	struct tn_node node;
	const struct tn_node *n;       /* &node */
	uint32_t in[8], dtype, rank;   /* its first operands; dtype, rank and shape of its result */
	uint32_t dims[TN_RANK_MAX];
};
struct tn_rule {
	const char *name;              /* for `tenon explain` and messages */
	uint32_t prim;                 /* the row it looks at; 0: any row with one of the flags */
	uint32_t flags;
	uint32_t (*apply)(const struct tn_rewrite *w);
};
TN_SPAN(tn_rule);
extern const struct tn_rule_rows tn_algebra_rules, tn_view_rules;

/* tn_uniform - every element of v is one known number, in bits: a full, or a constant whose elements are all equal */
struct tn_number { uint32_t dtype; uint64_t bits; };
int tn_uniform(const struct tn_graph *g, uint32_t v, struct tn_number *number);
int tn_uniform_bytes(uint32_t dtype, const void *at, uint64_t size, struct tn_number *number);
double tn_number_float(struct tn_number x);                       /* the value of a float, exact */
int tn_number_is(struct tn_number x, int64_t value);              /* equal as integers, or as floats (0 is +0 only) */
const struct tn_node *tn_producer(const struct tn_graph *g, uint32_t v, uint32_t prim);   /* the node that makes v if it is of that row, else NULL */
uint32_t tn_full_of(struct tn_ir *ir, struct tn_number x, const uint32_t *dims, uint32_t rank);
#endif
