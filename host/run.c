/* run.c - tn_executable_run: check the arguments, bind symbols, patch addresses, run the launches, hand out results. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "host/exec.h"

struct call {
	struct tn_executable *x;
	struct tn_instance *in;
	struct tn_tensor *const *inputs;
	struct tn_tensor **outputs;
	unsigned char *made;             /* outputs that this call made */
	struct tn_diag diag;
	struct tn_arena arena;           /* of the checks */
};

static const char *port_name(const struct tn_graph *g, uint32_t v, const char *what, uint32_t i, char *room, size_t cap)
{
	const char *name = tn_str_at(g, tn_val(g, v)->name);
	if (!*name) snprintf(room, cap, "%s %u", what, i); else snprintf(room, cap, "%s '%s'", what, name);
	return room;
}

static int32_t check_inputs(struct call *c, uint64_t n_inputs, uint64_t n_outputs, int64_t *symbols)
{
	const struct tn_graph *g = c->x->c.plan->g;
	char name[160];
	if (n_inputs != g->n_in || n_outputs != g->n_out)
		return tn_fail(&c->diag, TN_E_ARG, "run: %llu inputs and %llu outputs given, the model has %u and %u",
			(unsigned long long)n_inputs, (unsigned long long)n_outputs, g->n_in, g->n_out);
	struct tn_array *arrays = tn_array(&c->arena, struct tn_array, g->n_in + 1);
	int32_t st = TN_OK;
	for (uint32_t i = 0; i < g->n_in && st == TN_OK; i++) {
		uint32_t v = g->operands[g->in0 + i];
		const struct tn_tensor *t = c->inputs[i];
		port_name(g, v, "input", i, name, sizeof name);
		if (!t) st = tn_fail(&c->diag, TN_E_ARG, "run: %s is missing", name);
		else if (t->dtype != tn_val(g, v)->dtype)
			st = tn_fail(&c->diag, TN_E_ARG, "run: %s has dtype %s, the model wants %s", name, tn_dtype_name(t->dtype), tn_dtype_name(tn_val(g, v)->dtype));
		else if (t->rank != tn_val(g, v)->rank)
			st = tn_fail(&c->diag, TN_E_ARG, "run: %s has rank %u, the model wants %u", name, t->rank, tn_val(g, v)->rank);
		if (st != TN_OK) break;
		arrays[i] = (struct tn_array){ .dtype = t->dtype, .rank = t->rank, .at = t->data, .size = t->bytes };
		memcpy(arrays[i].dims, t->dims, sizeof t->dims);
	}
	if (st == TN_OK) tn_bind_symbols(g, arrays, symbols, &c->diag);
	return st;
}

/* an input's bytes, dense: its own, or a copy that lives as long as the instance */
static int32_t set_input(struct call *c, uint32_t b)
{
	struct tn_instance *in = c->in;
	uint32_t i = c->x->c.plan->buffers[b].index;
	const struct tn_tensor *t = c->inputs[i];
	const void *at = t->data;
	if (!t->dense) {
		free(in->temp[i]);
		in->temp[i] = malloc(t->bytes + 64);
		if (!in->temp[i]) return tn_fail(&c->diag, TN_E_NOMEM, "run: no memory for a dense copy of input %u", i);
		tn_tensor_to_dense(t, in->temp[i]);
		at = in->temp[i];
	}
	in->refs[b] = (struct tn_ref){ NULL, (uint64_t)(uintptr_t)at, in->bytes[b] };
	return TN_OK;
}

static int32_t check_output(struct call *c, uint32_t i, const int64_t *dims, uint32_t rank, uint32_t dtype)
{
	const struct tn_tensor *t = c->outputs[i];
	char name[160];
	port_name(c->x->c.plan->g, c->x->c.plan->g->operands[c->x->c.plan->g->out0 + i], "output", i, name, sizeof name);
	if (t->dtype != dtype || t->rank != rank)
		return tn_fail(&c->diag, TN_E_ARG, "run: %s is given as %s of rank %u, the model makes %s of rank %u", name, tn_dtype_name(t->dtype), t->rank, tn_dtype_name(dtype), rank);
	for (uint32_t k = 0; k < rank; k++)
		if (t->dims[k] != dims[k]) return tn_fail(&c->diag, TN_E_ARG, "run: %s is given with dim %u = %lld, the model makes %lld", name, k, (long long)t->dims[k], (long long)dims[k]);
	return TN_OK;
}

static int32_t set_output(struct call *c, uint32_t b)
{
	struct tn_instance *in = c->in;
	const struct tn_graph *g = c->x->c.plan->g;
	uint32_t i = c->x->c.plan->buffers[b].index, v = g->operands[g->out0 + i];
	int64_t dims[8] = { 0 };
	for (uint32_t k = 0; k < tn_rank(g, v); k++) dims[k] = tn_size_eval(&g->sizes, tn_shape(g, v)[k], in->symbols);
	int32_t st = TN_OK;
	if (c->outputs[i]) st = check_output(c, i, dims, tn_rank(g, v), tn_val(g, v)->dtype);
	else {
		st = tn_tensor_create(c->x->s, tn_val(g, v)->dtype, tn_rank(g, v), dims, &c->outputs[i]);
		if (st != TN_OK) return tn_fail(&c->diag, st, "%s", tn_error_text());
		c->made[i] = 1;
	}
	if (st != TN_OK) return st;
	void *at = c->outputs[i]->data;
	if (!c->outputs[i]->dense) {
		free(in->temp[g->n_in + i]);
		at = in->temp[g->n_in + i] = malloc(c->outputs[i]->bytes + 64);
		if (!at) return tn_fail(&c->diag, TN_E_NOMEM, "run: no memory for a dense copy of output %u", i);
	}
	in->refs[b] = (struct tn_ref){ NULL, (uint64_t)(uintptr_t)at, in->bytes[b] };
	return TN_OK;
}

/* addresses of this call into the launches of one segment */
static int32_t patch(struct call *c, uint32_t segment)
{
	const struct tn_plan *plan = c->x->c.plan;
	int32_t st = TN_OK;
	for (uint32_t b = 0; b < plan->n_buffers && st == TN_OK; b++) {
		if (plan->buffers[b].segment != segment) continue;
		if (plan->buffers[b].home == TN_HOME_INPUT) st = set_input(c, b);
		if (plan->buffers[b].home == TN_HOME_OUTPUT) st = set_output(c, b);
	}
	if (st != TN_OK) return st;
	for (uint32_t i = 0; i < plan->n_launches; i++) {
		const struct tn_plan_launch *l = &plan->launches[i];
		if (l->segment != segment || l->once) continue;
		for (uint32_t k = 0; k < l->n_buffers; k++) c->in->args[i][k] = c->in->refs[l->buffers[k]];
	}
	return TN_OK;
}

/* ---- replay: a call whose launches are all compiled for one plugin that can record goes in one piece */
static int can_replay(const struct tn_executable *x, const struct tn_instance *in)
{
	const struct tn_plan *plan = x->c.plan;
	if (plan->n_segments != 1 || !x->s->n_places || !x->s->placed[0]->backend.record) return 0;
	for (uint32_t i = 0; i < plan->n_launches; i++) {
		const struct tn_plan_launch *l = &plan->launches[i];
		if (l->once) continue;
		if (l->slot != 0 || l->program == TN_NOTHING || !tn_launch_program(in, i)) return 0;
	}
	return 1;
}

static int32_t replay(struct call *c, int *did)
{
	struct tn_executable *x = c->x;
	struct tn_instance *in = c->in;
	const struct tn_backend *b = x->s->place[0].backend;
	const struct tn_launch *list[4096];
	uint64_t n = 0, generation = atomic_load(&x->generation);
	*did = 0;
	for (uint32_t i = 0; i < x->c.plan->n_launches; i++) {
		const struct tn_plan_launch *l = &x->c.plan->launches[i];
		if (l->once || tn_launch_empty(in, i)) continue;
		if (n == 4096) return TN_OK;
		in->launches[i].l.program = atomic_load(&x->program[in->chosen[i]]);
		list[n++] = &in->launches[i].l;
	}
	if (!n) { *did = 1; return TN_OK; }
	if (in->record && in->recorded != generation) { b->record_release(in->record); in->record = NULL; }
	if (!in->record) {
		int32_t st = b->record(x->s->placed[0]->handle, list, n, &in->record);
		if (st == TN_E_UNSUPPORTED) { in->record = NULL; return TN_OK; }
		if (st != TN_OK) return tn_plugin_failed(x->s, 0, "record", st, &c->diag);
		in->recorded = generation;
	}
	*did = 1;
	struct tn_token token;
	int sync = !!(x->s->place[0].device->flags & TN_DEV_SYNC);
	if (!sync) tn_token_init(&token);
	tn_fail_clear();
	int32_t st = b->replay(in->record, list, n, sync ? NULL : &token);
	if (!sync) {
		if (st == TN_OK) st = tn_token_wait(&token);
		tn_token_fini(&token);
	}
	return st == TN_OK ? st : tn_plugin_failed(x->s, 0, "replay", st, &c->diag);
}

static int32_t run_launches(struct call *c)
{
	struct tn_executable *x = c->x;
	const struct tn_plan *plan = x->c.plan;
	int32_t st = patch(c, 0);
	int done = 0;
	if (st == TN_OK && can_replay(x, c->in)) st = replay(c, &done);
	uint32_t segment = 0;
	for (uint32_t i = 0; i < plan->n_launches && st == TN_OK && !done; i++) {
		if (plan->launches[i].once) continue;
		if (plan->launches[i].segment != segment) {
			segment = plan->launches[i].segment;
			st = tn_launch_drain(c->in, &c->diag);
			if (st == TN_OK) st = tn_instance_segment(c->in, segment, &c->diag);
			if (st == TN_OK) st = patch(c, segment);
		}
		if (st == TN_OK) st = tn_launch_run(c->in, i, &c->diag);
	}
	int32_t last = tn_launch_drain(c->in, st == TN_OK ? &c->diag : NULL);
	return st == TN_OK ? last : st;
}

static void finish_outputs(struct call *c)
{
	const struct tn_graph *g = c->x->c.plan->g;
	for (uint32_t i = 0; i < g->n_out; i++)
		if (c->outputs[i] && !c->outputs[i]->dense) tn_tensor_from_dense(c->outputs[i], c->in->temp[g->n_in + i]);
}

/* runs protected: arena and binding raise */
struct checking { struct call *c; uint64_t n_in, n_out; int64_t *symbols; int32_t st; };
static void check(void *arg)
{
	struct checking *k = arg;
	k->st = check_inputs(k->c, k->n_in, k->n_out, k->symbols);
}

int32_t tn_executable_run(struct tn_executable *x, struct tn_tensor *const *inputs, uint64_t n_inputs, struct tn_tensor **outputs, uint64_t n_outputs)
{
	const struct tn_graph *g = x->c.plan->g;
	const uint32_t n_out = g->n_out;          /* the executable may be destroyed as soon as the instance is given back */
	unsigned char made[64] = { 0 };
	int64_t symbols[256];
	struct call c = { .x = x, .inputs = inputs, .outputs = outputs, .made = n_out > 64 ? calloc(n_out, 1) : made };
	if (!c.made) return tn_error_set(TN_E_NOMEM, "run: no memory for a call");
	struct checking k = { &c, n_inputs, n_outputs, symbols, TN_OK };
	for (uint64_t i = 0; i < g->n_symbols && i < 256; i++) symbols[i] = -1;
	tn_arena_init(&c.arena, &c.diag);
	int32_t st = g->n_symbols > 256 ? tn_fail(&c.diag, TN_E_RANGE, "run: %llu symbols, at most 256", (unsigned long long)g->n_symbols) : tn_protect(&c.diag, check, &k);
	if (st == TN_OK) st = k.st;
	tn_arena_fini(&c.arena);
	if (st == TN_OK) st = tn_instance_take(x, symbols, &c.in, &c.diag);
	if (st == TN_OK) {
		st = run_launches(&c);
		if (st == TN_OK) finish_outputs(&c);
		tn_instance_give(c.in, st != TN_OK);
	}
	for (uint32_t i = 0; st != TN_OK && i < n_out && n_outputs == n_out; i++)
		if (c.made[i]) { tn_tensor_release(outputs[i]); outputs[i] = NULL; }
	if (c.made != made) free(c.made);
	return st == TN_OK ? st : tn_error_set(st, "%s", c.diag.text);
}
