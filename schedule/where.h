/* where.h - predicates of capability rows, over one node */
#ifndef TENON_WHERE_H
#define TENON_WHERE_H
#include "ir/ir.h"

/* q_where - numbers with + - * / %, comparisons, && || ! and parentheses; names: rank, elements, dim0 to dim7 and dim(i) of the
 * first operand (of the result where there is none), and the node's integer attributes.  0 where it does not hold, does not parse,
 * or hangs on a size that is not fixed: a row is a promise. */
int q_where(const char *where, const struct tn_graph *g, const struct tn_node *n);
#endif
