/* region_facts.h - see region_facts.c */
#ifndef TENON_REGION_FACTS_H
#define TENON_REGION_FACTS_H
#include "ir/ir.h"

void rg_layout(struct tn_ir *ir, uint32_t to, const struct tn_graph *g, uint32_t from);   /* to gets from's layout */
void rg_known(struct tn_ir *ir, uint32_t to, uint32_t constant);                           /* to, an input, has the bytes of constant */
#endif
