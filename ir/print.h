/* print.h - what the printer and the files share: which constants stand in the text, and what the others are called */
#ifndef TENON_PRINT_H
#define TENON_PRINT_H
#include "ir/ir.h"

#define TN_INLINE_ELEMENTS 32
int tn_constant_is_inline(const struct tn_graph *g, uint32_t value);
/* the tensor's name in the .safetensors file; region: 0 for the graph, then 1, 2, ... as regions print */
const char *tn_constant_key(struct tn_arena *a, const struct tn_graph *g, uint32_t value, uint32_t region);
#endif
