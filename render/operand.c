/* operand.c - what contractions ask: the operands of the dot step, whether one is a plain load, its layout */
#include "render/inner.h"
#include <string.h>

uint32_t rd_dot_step(struct rd *r)
{
	for (uint32_t i = 0; i < r->n->steps.count; i++)
		if (r->n->steps.at[i].op == TN_STEP_DOT)
			return i;
	rd_fault(r, TN_E_ARG, "the nest has no dot step");
}

uint32_t rd_operand_step(struct rd *r, const char *which)
{
	const struct tn_step *dot = &r->n->steps.at[rd_dot_step(r)];
	if (strcmp(which, "A") && strcmp(which, "B"))
		rd_fault(r, TN_E_ARG, "an operand is A or B, not %s", which);
	return *which == 'A' ? dot->a : dot->b;
}

uint32_t rd_operand_access(struct rd *r, uint32_t step)
{
	const struct tn_step *s = &r->n->steps.at[step];
	return s->op == TN_STEP_LOAD ? s->a : TN_NOTHING;
}

const char *rd_operand_layout(struct rd *r, const char *which)
{
	uint32_t access = rd_operand_access(r, rd_operand_step(r, which));
	if (access == TN_NOTHING)
		return "";
	uint32_t layout = r->n->buffers.at[r->n->accesses.at[access].buffer].layout;
	return layout ? r->n->bytes + layout : "";
}

/* one load in the dot's own dtype, whose address is linear in at most one dim of M (N) and one of K, so that a base and two strides
 * say all of it */
bool rd_operand_plain(struct rd *r, const char *which)
{
	uint32_t step = rd_operand_step(r, which), access = rd_operand_access(r, step), first, count;
	struct rd_linear l;
	struct rd_axis rows = { *which == 'A' ? TN_AXIS_M : TN_AXIS_N, RD_ALL }, k = { TN_AXIS_K, RD_ALL };
	if (access == TN_NOTHING || *rd_operand_layout(r, which) || r->n->steps.at[step].dtype != r->n->steps.at[rd_dot_step(r)].dtype)
		return false;
	if (!rd_address_plain(r, access, &l))
		return false;
	rd_axis_dims(r->n, rows, &first, &count);
	if (count > 1)
		return false;
	rd_axis_dims(r->n, k, &first, &count);
	return count <= 1;
}
