/* region_facts.c - facts of a region's inputs that no builder sets: an opaque layout, a known value.  Apart from region.c because
 * ir/store.h and nest.h both have a struct tn_term. */
#include "ir/store.h"
#include "schedule/region_facts.h"
#include <string.h>

void rg_layout(struct tn_ir *ir, uint32_t to, const struct tn_graph *g, uint32_t from)
{
	struct tn_layout l = g->layouts.at[tn_val(g, from)->layout - 1];
	if (l.opaque != TN_NOTHING)
		l.opaque = tn_put_text(ir, tn_str_at(g, l.opaque), strlen(tn_str_at(g, l.opaque)));
	const uint32_t layout = tn_put_layout(ir, &l);
	ir->store->values[to].layout = layout;
}

void rg_known(struct tn_ir *ir, uint32_t to, uint32_t constant)
{
	ir->store->values[to].constant = ir->store->values[constant].constant;
}
