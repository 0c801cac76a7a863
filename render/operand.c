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

static void count_runs(struct rd *r, uint32_t step, uint32_t dim, bool *seen, int64_t *found)
{
	const struct tn_step *s = &r->n->steps.at[step];
	bool simple;
	if (seen[step])
		return;
	seen[step] = true;
	if (s->op == TN_STEP_LOAD)
		*found += rd_size_is(&r->sizes, rd_lane_stride(r, s->a, dim, &simple), 1) && simple;
	for (uint32_t i = 0; s->op == TN_STEP_PRIM && i < s->n_args; i++)
		count_runs(r, r->n->args[s->arg0 + i], dim, seen, found);
}

int64_t rd_operand_runs(struct rd *r, const char *which, struct rd_axis x)
{
	uint32_t first, count;
	int64_t found = 0;
	rd_axis_dims(r->n, x, &first, &count);
	if (count)
		count_runs(r, rd_operand_step(r, which), first + count - 1, tn_array(r->arena, bool, r->n->steps.count), &found);
	return found;
}

bool rd_operand_batched(struct rd *r, const char *which)
{
	uint32_t first, count;
	rd_axis_dims(r->n, (struct rd_axis){ TN_AXIS_BATCH, RD_ALL }, &first, &count);
	for (uint32_t i = 0; i < count; i++)
		if (r->deps[rd_operand_step(r, which)] >> (first + i) & 1)
			return true;
	return false;
}

/* one load in the dot's own dtype, whose address is linear in at most one dim of M (N) and one of K, so that a base and two strides
 * say all of it */
bool rd_operand_plain(struct rd *r, const char *which)
{
	uint32_t step = rd_operand_step(r, which), access = rd_operand_access(r, step), first, count;
	struct rd_linear l;
	struct rd_axis rows = { *which == 'A' ? TN_AXIS_M : TN_AXIS_N, RD_ALL }, k = { TN_AXIS_K, RD_ALL };
	uint32_t dtype = r->n->steps.at[step].dtype;
	const char *memory = rd_word_find(r->b, "storage", 0, dtype), *value = rd_word_find(r->b, "type", TN_SCALAR, dtype);
	if (!memory || !value || strcmp(memory, value))      /* it is another type in memory */
		return false;
	if (access == TN_NOTHING || *rd_operand_layout(r, which) || dtype != r->n->steps.at[rd_dot_step(r)].dtype)
		return false;
	if (!rd_address_plain(r, access, &l))
		return false;
	rd_axis_dims(r->n, rows, &first, &count);
	if (count > 1)
		return false;
	rd_axis_dims(r->n, k, &first, &count);
	return count <= 1;
}
