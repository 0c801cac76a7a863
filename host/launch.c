/* launch.c - one launch of a plan: a compiled program, the nest interpreter, a host node, or a copy between memory domains. */
#include <string.h>
#include "host/exec.h"

int32_t tn_plugin_failed(struct tn_session *s, uint32_t slot, const char *what, int32_t code, struct tn_diag *d)
{
	const char *words = tn_fail_text(), *id = slot < s->n_places ? s->place[slot].backend->id : "host";
	return tn_fail(d, code, "%s: %s failed (%d)%s%s", id, what, code, *words ? ": " : "", words);
}

static int is_sync(const struct tn_session *s, uint32_t slot) { return slot >= s->n_places || (s->place[slot].device->flags & TN_DEV_SYNC); }

/* ---- waiting */
static int32_t wait_launch(struct tn_instance *in, uint32_t i, struct tn_diag *d)
{
	if (!in->pending[i]) return TN_OK;
	int32_t code = tn_token_wait(&in->tokens[i]);
	in->pending[i] = 0;
	tn_token_fini(&in->tokens[i]);
	if (code == TN_OK || !d) return code;
	const char *words = tn_fail_text();
	return tn_fail(d, code, "%s: launch %u (%s) failed (%d)%s%s", in->x->s->place[in->x->c.plan->launches[i].slot].backend->id, i,
		in->x->c.plan->launches[i].program == TN_NOTHING ? "copy" : in->x->c.programs[in->chosen[i]].name, code, *words ? ": " : "", words);
}

int32_t tn_launch_drain(struct tn_instance *in, struct tn_diag *d)
{
	int32_t st = TN_OK;
	for (uint32_t i = 0; i < in->x->c.plan->n_launches; i++) {
		int32_t one = wait_launch(in, i, st == TN_OK ? d : NULL);
		if (st == TN_OK) st = one;
	}
	return st;
}

/* ---- copies */
int32_t tn_domain_copy(struct tn_session *s, uint32_t domain, struct tn_ref dst, struct tn_ref src, struct tn_diag *d)
{
	if (!domain) { memmove((void *)(uintptr_t)dst.offset, (const void *)(uintptr_t)src.offset, src.size); return TN_OK; }
	if (!src.size) return TN_OK;
	union tn_room_copy c;
	struct tn_token t;
	memset(&c, 0, sizeof c);
	c.c.head = (struct tn_head)TN_HEAD(tn_copy, TN_KIND_COPY);
	c.c.dst = dst;
	c.c.src = src;
	int sync = is_sync(s, domain - 1);
	if (!sync) { tn_token_init(&t); c.c.token = &t; }
	tn_fail_clear();
	int32_t st = s->place[domain - 1].backend->copy(s->placed[domain - 1]->handle, &c.c);
	if (!sync) {
		if (st == TN_OK) st = tn_token_wait(&t);
		tn_token_fini(&t);
	}
	return st == TN_OK ? st : tn_plugin_failed(s, domain - 1, "copy", st, d);
}

static int32_t run_copy(struct tn_instance *in, uint32_t i, struct tn_diag *d)
{
	const struct tn_plan_launch *pl = &in->x->c.plan->launches[i];
	uint32_t to = in->x->c.plan->buffers[pl->buffers[1]].domain, domain = to ? to : pl->from;
	struct tn_ref src = in->args[i][0], dst = in->args[i][1];
	dst.size = src.size;
	int32_t st = tn_launch_drain(in, d);        /* what writes the source may still run */
	return st == TN_OK ? tn_domain_copy(in->x->s, domain, dst, src, d) : st;
}

/* ---- programs */
int tn_launch_empty(const struct tn_instance *in, uint32_t i)
{
	const uint32_t *grid = in->launches[i].l.grid;
	return !grid[0] || !grid[1] || !grid[2];
}

struct tn_program *tn_launch_program(const struct tn_instance *in, uint32_t i)
{
	uint32_t p = in->chosen[i];
	struct tn_program *program = atomic_load(&in->x->program[p]);
	return program && in->x->scratch[p] <= in->launches[i].l.scratch.size ? program : NULL;
}

static int32_t run_program(struct tn_instance *in, uint32_t i, struct tn_program *program, struct tn_diag *d)
{
	const struct tn_plan_launch *pl = &in->x->c.plan->launches[i];
	struct tn_launch *l = &in->launches[i].l;
	l->program = program;
	l->token = NULL;
	if (!is_sync(in->x->s, pl->slot)) {
		tn_token_init(&in->tokens[i]);
		in->pending[i] = 1;
		l->token = &in->tokens[i];
	}
	tn_fail_clear();
	int32_t st = in->x->s->place[pl->slot].backend->launch(in->x->s->placed[pl->slot]->handle, l);
	if (st == TN_OK) return st;
	if (in->pending[i]) { in->pending[i] = 0; tn_token_fini(&in->tokens[i]); }
	return tn_plugin_failed(in->x->s, pl->slot, in->x->c.programs[in->chosen[i]].name, st, d);
}

struct interpreting { const struct tn_nest *nest; const int64_t *symbols; void **buffers; uint64_t tiles; uint32_t parts; _Atomic int32_t code; struct tn_diag diag; pthread_mutex_t lock; };
static void interpret_part(void *arg, uint64_t part)
{
	struct interpreting *w = arg;
	struct tn_diag d = { 0 };
	uint64_t lo = w->tiles * part / w->parts, hi = w->tiles * (part + 1) / w->parts;
	if (lo == hi) return;
	int32_t st = tn_interpret(w->nest, w->symbols, w->buffers, lo, hi, &d);
	if (st == TN_OK) return;
	pthread_mutex_lock(&w->lock);
	if (w->code == TN_OK) { w->code = st; w->diag = d; }
	pthread_mutex_unlock(&w->lock);
}

static int32_t run_interpreter(struct tn_instance *in, uint32_t i, struct tn_diag *d)
{
	const struct tn_plan_launch *pl = &in->x->c.plan->launches[i];
	const struct tn_nest *nest = in->x->c.programs[in->chosen[i]].nest;
	void *buffers[64];
	if (pl->n_buffers > 64) return tn_fail(d, TN_E_RANGE, "interpreter: %u buffers, at most 64", pl->n_buffers);
	for (uint32_t k = 0; k < pl->n_buffers; k++) buffers[k] = (void *)(uintptr_t)in->args[i][k].offset;
	struct interpreting w = { .nest = nest, .symbols = in->symbols, .buffers = buffers, .tiles = tn_interpret_tiles(nest, in->symbols) };
	if (!w.tiles) return TN_OK;
	w.parts = tn_pool_threads(in->x->s->pool);
	if (w.parts > w.tiles) w.parts = (uint32_t)w.tiles;
	pthread_mutex_init(&w.lock, NULL);
	tn_pool_parallel(in->x->s->pool, w.parts, interpret_part, &w);
	pthread_mutex_destroy(&w.lock);
	if (w.code != TN_OK) return tn_fail(d, w.code, "%s: %s", in->x->c.programs[in->chosen[i]].name, w.diag.text);
	return TN_OK;
}

/* ---- host nodes */
struct evaluating { struct tn_instance *in; uint32_t launch; struct tn_arena arena; };
static void fill_array(const struct tn_instance *in, uint32_t v, const struct tn_ref *ref, struct tn_array *out)
{
	const struct tn_graph *g = in->x->c.plan->g;
	const struct tn_value *val = tn_val(g, v);
	*out = (struct tn_array){ .dtype = val->dtype, .rank = val->rank };
	for (uint32_t k = 0; k < val->rank; k++) out->dims[k] = tn_size_eval(&g->sizes, tn_shape(g, v)[k], in->symbols);
	if (ref) { out->at = (void *)(uintptr_t)ref->offset; out->size = ref->size; }
}

static void evaluate(void *arg)
{
	struct evaluating *e = arg;
	struct tn_instance *in = e->in;
	const struct tn_graph *g = in->x->c.plan->g;
	const struct tn_node *n = &g->nodes.at[in->x->c.plan->launches[e->launch].node];
	struct tn_array *ins = tn_array(&e->arena, struct tn_array, n->n_in), *outs = tn_array(&e->arena, struct tn_array, n->n_out);
	for (uint32_t k = 0; k < n->n_in; k++) fill_array(in, tn_in(g, n, k), &in->args[e->launch][k], &ins[k]);
	if (n->prim == TN_bind) {
		int64_t v = ins[0].dtype == TN_I32 ? *(const int32_t *)ins[0].at : *(const int64_t *)ins[0].at;
		int64_t symbol = tn_attr_int(g, n, TN_ATTR_index, -1), lo = tn_attr_int(g, n, TN_ATTR_lo, 0), hi = tn_attr_int(g, n, TN_ATTR_hi, INT64_MAX);
		if (symbol < 0 || (uint64_t)symbol >= g->n_symbols) tn_raise(e->arena.diag, TN_E_INTERNAL, "bind: symbol %lld of %llu", (long long)symbol, (unsigned long long)g->n_symbols);
		if (v < lo || v > hi) tn_raise(e->arena.diag, TN_E_ARG, "%s: a computed size is %lld, outside %lld..%lld", tn_str_at(g, n->origin), (long long)v, (long long)lo, (long long)hi);
		in->symbols[symbol] = v;
		return;
	}
	for (uint32_t k = 0; k < n->n_out; k++) fill_array(in, tn_out(g, n, k), NULL, &outs[k]);
	tn_eval_node(g, n, in->symbols, ins, outs, &e->arena);
	for (uint32_t k = 0; k < n->n_out; k++) {
		const struct tn_ref *ref = &in->args[e->launch][n->n_in + k];
		if (outs[k].size != ref->size)
			tn_raise(e->arena.diag, TN_E_INTERNAL, "%s: result %u has %llu bytes, %llu were planned", tn_prim_name(n->prim), k,
				(unsigned long long)outs[k].size, (unsigned long long)ref->size);
		memcpy((void *)(uintptr_t)ref->offset, outs[k].at, ref->size);
	}
}

static int32_t run_host(struct tn_instance *in, uint32_t i, struct tn_diag *d)
{
	struct evaluating e = { .in = in, .launch = i };
	struct tn_diag own = { 0 };
	tn_arena_init(&e.arena, &own);
	int32_t st = tn_protect(&own, evaluate, &e);
	tn_arena_fini(&e.arena);
	return st == TN_OK ? st : tn_fail(d, st, "%s", own.text);
}

int32_t tn_launch_run(struct tn_instance *in, uint32_t i, struct tn_diag *d)
{
	const struct tn_plan_launch *pl = &in->x->c.plan->launches[i];
	int32_t st = TN_OK;
	switch (pl->kind) {
	case TN_GROUP_COPY: return run_copy(in, i, d);
	case TN_GROUP_HOST: st = tn_launch_drain(in, d); return st == TN_OK ? run_host(in, i, d) : st;
	default: break;
	}
	if (tn_launch_empty(in, i)) return TN_OK;
	struct tn_program *program = tn_launch_program(in, i);
	if (program) return run_program(in, i, program, d);
	st = tn_launch_drain(in, d);
	return st == TN_OK ? run_interpreter(in, i, d) : st;
}
