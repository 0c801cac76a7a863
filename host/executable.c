/* executable.c - life of an executable: walk the pipeline, compile, upload constants, run what is constant once. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "host/exec.h"

#define WALKS 3             /* a compile that declines sends the graph back to assign, twice at most */

static double now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* ---- resident values: constants on the devices, and what constant launches write */
static int32_t own_memory(struct tn_executable *x, const struct tn_plan_buffer *b, uint64_t bytes, struct tn_ref *ref, struct tn_diag *d)
{
	*ref = (struct tn_ref){ NULL, 0, bytes };
	x->constant_bytes += bytes;
	if (!b->domain) {
		void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
		if (!p) return tn_fail(d, TN_E_NOMEM, "no memory for a resident value of %llu bytes", (unsigned long long)bytes);
		*tn_push(&x->arena, x->owned_host, x->n_owned_host, x->cap_owned_host) = p;
		ref->offset = (uint64_t)(uintptr_t)p;
		return TN_OK;
	}
	uint32_t cap = x->cap_owned, n = x->n_owned;
	struct tn_memory **m = tn_push(&x->arena, x->owned, x->n_owned, x->cap_owned);
	*tn_push(&x->arena, x->owned_slot, n, cap) = b->domain - 1;
	int32_t st = tn_domain_alloc(x->s, b->domain, bytes, m, d);
	ref->memory = *m;
	return st;
}

static int32_t constant_size(const struct tn_executable *x, uint32_t b, uint64_t *bytes, struct tn_diag *d)
{
	int64_t n = tn_size_eval(&x->c.plan->sizes, x->c.plan->buffers[b].bytes, NULL);
	if (n < 0) return tn_fail(d, TN_E_RANGE, "the size of constant value %%%u overflows", x->c.plan->buffers[b].value);
	*bytes = (uint64_t)n;
	return TN_OK;
}

static int32_t make_resident(struct tn_executable *x, struct tn_diag *d)
{
	const struct tn_plan *plan = x->c.plan;
	x->resident = tn_array(&x->arena, struct tn_ref, plan->n_buffers);
	int32_t st = TN_OK;
	for (uint32_t b = 0; b < plan->n_buffers && st == TN_OK; b++) {
		const struct tn_plan_buffer *pb = &plan->buffers[b];
		uint64_t bytes = 0;
		if (pb->home != TN_HOME_CONSTANT && pb->home != TN_HOME_RESIDENT) continue;
		const struct tn_constant *k = pb->index == TN_NOTHING ? NULL : &plan->g->constants.at[pb->index];
		if (pb->home == TN_HOME_CONSTANT) { x->resident[b] = (struct tn_ref){ NULL, (uint64_t)(uintptr_t)k->at, k->size }; continue; }
		st = constant_size(x, b, &bytes, d);
		if (st == TN_OK) st = own_memory(x, pb, bytes, &x->resident[b], d);
		if (st == TN_OK && k) st = tn_domain_copy(x->s, pb->domain, x->resident[b], (struct tn_ref){ NULL, (uint64_t)(uintptr_t)k->at, bytes }, d);
	}
	return st;
}

/* launches that read only constants run now, once */
static int32_t run_once(struct tn_executable *x, struct tn_diag *d)
{
	const struct tn_plan *plan = x->c.plan;
	int any = 0;
	for (uint32_t i = 0; i < plan->n_launches; i++) any |= plan->launches[i].once;
	if (!any) return TN_OK;
	struct tn_instance *in;
	int32_t st = tn_instance_take(x, NULL, &in, d);
	if (st != TN_OK) return st;
	for (uint32_t i = 0; i < plan->n_launches && st == TN_OK; i++)
		if (plan->launches[i].once) st = tn_launch_run(in, i, d);
	int32_t last = tn_launch_drain(in, st == TN_OK ? d : NULL);
	tn_instance_give(in, 1);
	return st == TN_OK ? last : st;
}

/* ---- creation */
struct building { struct tn_executable *x; const struct tn_executable_options *o; int32_t st; };

static void release_programs(struct tn_executable *x)
{
	for (uint32_t p = 0; p < x->c.n_programs && x->program; p++) {
		struct tn_program *prog = atomic_load(&x->program[p]);
		if (prog) x->s->place[x->c.programs[p].slot].backend->program_release(prog);
		atomic_store(&x->program[p], NULL);
	}
}

static void add_compile_time(struct tn_executable *x, double start)
{
	pthread_mutex_lock(&x->lock);
	x->compile_ms += now_ms() - start;
	pthread_mutex_unlock(&x->lock);
}

static void *compile_late(void *arg)
{
	struct tn_executable *x = arg;
	struct tn_diag d = { 0 };
	uint64_t *deny = NULL;
	uint32_t n_deny = 0;
	unsigned char *no_text = calloc(x->s->n_places + 1, 1);
	double start = now_ms();
	if (no_text && tn_compile_programs(x, &deny, &n_deny, no_text, &d) != TN_OK) tn_session_log(x->s, 1, "kernels stay in the interpreter: %s", d.text);
	add_compile_time(x, start);
	free(no_text);
	free(deny);
	return NULL;
}

/* kernels may come later where the interpreter can answer meanwhile: all launches are nests in host memory */
static int can_wait(const struct tn_executable *x)
{
	for (uint32_t p = 0; p < x->c.n_programs; p++) {
		if (x->c.regions[p]) return 0;
		if (x->c.kernels[p] && !(x->s->place[x->c.programs[p].slot].device->flags & TN_DEV_HOST_ADDRESS)) return 0;
	}
	return 1;
}

static int has_opaque(const struct tn_executable *x)     /* a packed layout only its plugin can read */
{
	for (uint64_t i = 0; i < x->c.groups.g->nodes.count; i++)
		if (x->c.groups.g->nodes.at[i].prim == TN_pack) return 1;
	return 0;
}

static void build(void *arg)
{
	struct building *w = arg;
	struct tn_executable *x = w->x;
	uint64_t *deny = NULL;
	uint32_t n_deny = 0, n = x->s->n_places;
	unsigned char *no_text = tn_array(&x->arena, unsigned char, n + 1), *asked = tn_array(&x->arena, unsigned char, n + 1);
	struct tn_pipeline_options po = { .numerics = w->o->numerics ? w->o->numerics : TN_DEFAULT, .deterministic = (int)w->o->deterministic,
		.fuse_none = w->o->fuse == 1, .late = !w->o->wait, .until = TN_AT_PLAN, .progress = w->o->progress, .progress_ctx = w->o->progress_ctx, .no_text = asked };
	for (int walk = 0; walk < WALKS; walk++) {
		po.deny = n_deny ? tn_copy_bytes(&x->arena, deny, n_deny * sizeof *deny) : NULL;
		po.n_deny = n_deny;
		tn_pipeline(x->s, &x->model->ir->g, &po, &x->arena, &x->c);
		x->program = (_Atomic(struct tn_program *) *)tn_array(&x->arena, struct tn_program *, x->c.n_programs + 1);
		x->scratch = tn_array(&x->arena, uint64_t, x->c.n_programs + 1);
		if (!w->o->wait && can_wait(x) && !has_opaque(x)) {
			x->has_worker = !pthread_create(&x->worker, NULL, compile_late, x);
			if (x->has_worker) break;
		}
		if (w->o->progress) w->o->progress(w->o->progress_ctx, "compile", 0);
		w->st = tn_compile_programs(x, &deny, &n_deny, no_text, &x->diag);
		int again = w->st == TN_E_DECLINED || memcmp(no_text, asked, n + 1);
		if (w->st != TN_OK && w->st != TN_E_DECLINED) break;
		if (!again) break;
		if (walk + 1 == WALKS) { w->st = tn_fail(&x->diag, TN_E_UNSUPPORTED, "a plugin declined %u nodes that it claims", n_deny); break; }
		memcpy(asked, no_text, n + 1);
		release_programs(x);
	}
	free(deny);
	if (w->st == TN_OK) w->st = make_resident(x, &x->diag);
	if (w->st == TN_OK) w->st = run_once(x, &x->diag);
}

int32_t tn_executable_create(struct tn_session *s, const struct tn_model *m, const struct tn_executable_options *o, struct tn_executable **out)
{
	static const struct tn_executable_options none = { .head = TN_HEAD(tn_executable_options, 0), .wait = 1 };
	struct tn_executable *x = calloc(1, sizeof *x);
	*out = NULL;
	if (!x) return tn_error_set(TN_E_NOMEM, "no memory for an executable");
	x->s = s;
	x->model = (struct tn_model *)(uintptr_t)m;
	atomic_fetch_add(&x->model->uses, 1);
	tn_arena_init(&x->arena, &x->diag);
	pthread_mutex_init(&x->lock, NULL);
	pthread_cond_init(&x->idle, NULL);
	struct building w = { x, o ? o : &none, TN_OK };
	double start = now_ms();
	int32_t st = tn_protect(&x->diag, build, &w);
	if (st == TN_OK) st = w.st;
	add_compile_time(x, start);
	if (st != TN_OK) {
		tn_error_set(st, "%s", x->diag.text);
		tn_executable_destroy(x);
		return st;
	}
	*out = x;
	return TN_OK;
}

void tn_executable_destroy(struct tn_executable *x)
{
	if (!x) return;
	pthread_mutex_lock(&x->lock);
	while (x->n_busy) pthread_cond_wait(&x->idle, &x->lock);
	pthread_mutex_unlock(&x->lock);
	if (x->has_worker) pthread_join(x->worker, NULL);
	while (x->free) {
		struct tn_instance *in = x->free;
		x->free = in->next;
		tn_instance_destroy(in);
	}
	release_programs(x);
	for (uint32_t i = 0; i < x->n_owned; i++)
		if (x->owned[i]) x->s->place[x->owned_slot[i]].backend->release(x->owned[i]);
	for (uint32_t i = 0; i < x->n_owned_host; i++) free(x->owned_host[i]);
	tn_arena_fini(&x->arena);
	tn_model_release(x->model);
	pthread_cond_destroy(&x->idle);
	pthread_mutex_destroy(&x->lock);
	free(x);
}

int32_t tn_executable_stat(const struct tn_executable *x, struct tn_executable_stats *out)
{
	struct tn_executable_stats st = { .head = TN_HEAD(tn_executable_stats, 0), .nodes = x->model->ir->g.nodes.count, .from_cache = x->from_cache,
		.constant_bytes = x->constant_bytes };
	pthread_mutex_t *lock = (pthread_mutex_t *)(uintptr_t)&x->lock;
	pthread_mutex_lock(lock);
	st.arena_bytes = x->last_arena;
	st.compile_ms = x->compile_ms;
	pthread_mutex_unlock(lock);
	for (uint32_t i = 0; i < x->c.plan->n_launches; i++) {
		const struct tn_plan_launch *l = &x->c.plan->launches[i];
		if (l->once) continue;
		st.launches++;
		if (l->kind == TN_GROUP_HOST) st.on_host++;
		if (l->kind == TN_GROUP_KERNEL && !atomic_load(&x->program[l->program])) st.interpreted++;   /* variants arrive together */
	}
	for (uint32_t p = 0; p < x->c.n_programs; p++) st.kernels += !x->c.regions[p];
	uint32_t size = out->head.size && out->head.size < sizeof st ? out->head.size : sizeof st;
	st.head.size = size;
	memcpy(out, &st, size);
	return TN_OK;
}

int32_t tn_executable_place(const struct tn_executable *x, uint64_t i, const char **id, uint64_t *launches)
{
	if (i > x->s->n_places) return TN_E_RANGE;
	*id = i < x->s->n_places ? x->s->place[i].backend->id : "host";
	*launches = 0;
	for (uint32_t k = 0; k < x->c.plan->n_launches; k++) {
		const struct tn_plan_launch *l = &x->c.plan->launches[k];
		if (!l->once && l->slot == i && l->kind != TN_GROUP_COPY) ++*launches;
	}
	return TN_OK;
}
