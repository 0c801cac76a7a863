/* region.h - a group's nodes as a graph of their own */
#ifndef TENON_REGION_H
#define TENON_REGION_H
#include "schedule/schedule.h"

/* original (may be NULL): array in a of the group's graph's value number of each region value that is an input or an output */
struct tn_ir *rg_build(const struct tn_graph *g, const struct tn_group *group, uint32_t **original, struct tn_arena *a);
#endif
