/* groups_print.c - groups as text, for `tenon show --stage fuse` and for tests */
#include "schedule/nest_text.h"

static const char *const kinds[] = { "", "kernel", "graph", "alias", "copy", "host" };

static const char *slot_name(const struct tn_places *p, uint32_t slot) { return p && slot < p->n ? p->at[slot].backend->id : "host"; }

static void put_values(struct tn_text *t, const struct tn_graph *g, const char *head, const uint32_t *v, uint32_t n)
{
	tn_text_add(t, "%s", head);
	for (uint32_t i = 0; i < n; i++) {
		const char *name = tn_str_at(g, tn_val(g, v[i])->name);
		tn_text_add(t, *name ? "%s%%%s" : "%s%%%s%u", i ? ", " : " ", name, v[i]);
	}
}

void tn_groups_print(struct tn_text *t, const struct tn_groups *gs, const struct tn_places *p)
{
	for (uint32_t i = 0; i < gs->n; i++) {
		const struct tn_group *x = &gs->at[i];
		tn_text_add(t, "group %u %s on %s", i, kinds[x->kind], slot_name(p, x->slot));
		if (x->kind == TN_GROUP_KERNEL)
			tn_text_add(t, " %s", tn_nest_class_name(x->nest));
		if (x->kind == TN_GROUP_COPY)
			tn_text_add(t, " from %s", slot_name(p, x->from));
		if (x->rule)
			tn_text_add(t, " by %s", x->rule);
		if (x->constant)
			tn_text_add(t, " once");
		tn_text_add(t, " {");
		for (uint32_t k = 0; k < x->n_nodes; k++)
			tn_text_add(t, "%s%s", k ? ", " : " ", tn_prim_name(gs->g->nodes.at[x->nodes[k]].prim));
		put_values(t, gs->g, " } from", x->in, x->n_in);
		put_values(t, gs->g, " to", x->out, x->n_out);
		tn_text_add(t, "\n");
	}
}
