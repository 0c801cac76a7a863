/* instance.c - bindings of one call: symbol values, sizes, arenas, launch structs ready to be patched.  Kept for the next call
 * with the same symbol values; calls in flight never share one. */
#include <stdlib.h>
#include <string.h>
#include "base/sizes.h"
#include "host/exec.h"

#define IDLE_MAX 8          /* bindings kept ready; beyond it the one unused for longest goes */

const struct tn_space *tn_domain_space(const struct tn_session *s, uint32_t domain, uint32_t *number)
{
	static const struct tn_space none = { .kind = TN_SPACE_DEVICE };
	const struct tn_space_rows *rows = &s->place[domain - 1].device->spaces;
	*number = 0;
	for (uint64_t i = rows->count; i-- > 0;)
		if (rows->at[i].kind == TN_SPACE_DEVICE || rows->at[i].kind == TN_SPACE_SHARED) *number = (uint32_t)i;
	return rows->count ? &rows->at[*number] : &none;
}

static uint64_t align_of(const struct tn_session *s, uint32_t domain)
{
	uint32_t number;
	uint64_t align = domain ? tn_domain_space(s, domain, &number)->align : 64;
	return align > 64 ? align : 64;
}

int32_t tn_domain_alloc(struct tn_session *s, uint32_t domain, uint64_t size, struct tn_memory **out, struct tn_diag *d)
{
	const struct tn_backend *b = s->place[domain - 1].backend;
	struct tn_device *dev = s->placed[domain - 1]->handle;
	uint32_t number;
	const struct tn_space *space = tn_domain_space(s, domain, &number);
	uint64_t granule = space->granule ? space->granule : 1;
	size = (size + granule - 1) / granule * granule;
	if (!size) size = granule;
	*out = NULL;
	tn_fail_clear();
	int32_t st = b->alloc(dev, number, size, 0, out);
	if (st == TN_E_NOMEM && b->trim(dev, 2) == TN_OK) st = b->alloc(dev, number, size, 0, out);
	return st == TN_OK ? st : tn_plugin_failed(s, domain - 1, "alloc", st, d);
}

/* ---- arenas of one segment */
static int32_t room_host(struct tn_instance *in, uint32_t segment, uint64_t size, struct tn_diag *d)
{
	if (in->host_room[segment] >= size) return TN_OK;
	free(in->host_arena[segment]);
	in->host_room[segment] = 0;
	in->host_arena[segment] = aligned_alloc(64, (size + 127) / 64 * 64);
	if (!in->host_arena[segment]) return tn_fail(d, TN_E_NOMEM, "run: no memory for %llu bytes of intermediate values", (unsigned long long)size);
	in->host_room[segment] = size;
	return TN_OK;
}

static int32_t room_device(struct tn_instance *in, uint32_t k, uint32_t domain, uint64_t size, struct tn_diag *d)
{
	if (in->dev_room[k] >= size) return TN_OK;
	in->x->s->place[domain - 1].backend->release(in->dev_arena[k]);
	in->dev_arena[k] = NULL;
	in->dev_room[k] = 0;
	int32_t st = tn_domain_alloc(in->x->s, domain, size, &in->dev_arena[k], d);
	if (st == TN_OK) in->dev_room[k] = size;
	return st;
}

static int32_t lay_out(struct tn_instance *in, uint32_t segment, uint32_t domain, struct tn_diag *d)
{
	const struct tn_plan *plan = in->x->c.plan;
	uint32_t k = segment * plan->n_domains + domain;
	uint64_t size = tn_plan_layout(plan, segment, domain, align_of(in->x->s, domain), in->bytes, in->offsets, &in->arena);
	if (!size) return TN_OK;
	int32_t st = domain ? room_device(in, k, domain, size, d) : room_host(in, segment, size, d);
	for (uint32_t b = 0; b < plan->n_buffers && st == TN_OK; b++) {
		const struct tn_plan_buffer *pb = &plan->buffers[b];
		if (pb->home != TN_HOME_ARENA || pb->segment != segment || pb->domain != domain) continue;
		in->refs[b] = (struct tn_ref){ domain ? in->dev_arena[k] : NULL,
			in->offsets[b] + (domain ? 0 : (uint64_t)(uintptr_t)in->host_arena[segment]), in->bytes[b] };
	}
	return st;
}

/* ---- launch structs */

/* the first variant that serves these sizes */
static uint32_t choose(const struct tn_instance *in, uint32_t program)
{
	const struct tn_plan_program *p = in->x->c.programs;
	while (p[program].next != TN_NOTHING && in->sizes[program][p[program].when] == 0) program = p[program].next;
	return program;
}

/* scratch: by domain, the most that a launch so far needs */
static int32_t fill_launch(struct tn_instance *in, uint32_t i, uint64_t *scratch, struct tn_diag *d)
{
	const struct tn_plan_launch *pl = &in->x->c.plan->launches[i];
	for (uint32_t k = 0; k < pl->n_buffers; k++) in->args[i][k] = in->refs[pl->buffers[k]];
	if (pl->program == TN_NOTHING) return TN_OK;
	uint32_t p = in->chosen[i] = choose(in, pl->program);
	const struct tn_plan_program *pr = &in->x->c.programs[p];
	const int64_t *v = in->sizes[p];
	uint32_t domain = tn_slot_domain(&in->x->c.places, pl->slot);
	struct tn_launch *l = &in->launches[i].l;
	for (uint32_t k = 0; k < pr->n_scalars; k++) in->scalars[i][k] = v[pr->scalars[k]];
	*l = (struct tn_launch){ .head = TN_HEAD(tn_launch, TN_KIND_LAUNCH), .buffers = in->args[i], .n_buffers = pl->n_buffers,
		.scalars = in->scalars[i], .n_scalars = pr->n_scalars };
	for (int k = 0; k < 3; k++) {
		int64_t n = pr->interpret ? 1 : v[pr->grid[k]];        /* handle 1 is the constant 1 */
		if (n < 0 || n > UINT32_MAX) return tn_fail(d, TN_E_RANGE, "run: %s needs a grid of %lld", pr->name, (long long)n);
		l->grid[k] = (uint32_t)n;
	}
	uint64_t need = atomic_load(&in->x->program[p]) ? in->x->scratch[p] : 0;
	if (!pr->interpret && in->x->c.kernels[p] && v[pr->scratch] > 0) {
		uint32_t at_once = domain ? 1 : tn_pool_threads(in->x->s->pool);     /* a device of its own makes its own copies */
		uint64_t tile = ((uint64_t)v[pr->scratch] + 63) / 64 * 64 * at_once;
		if (tile > need) need = tile;
	}
	l->scratch.size = need;
	if (need > scratch[domain]) scratch[domain] = need;
	return TN_OK;
}

static int32_t room_scratch(struct tn_instance *in, uint32_t domain, uint64_t size, struct tn_diag *d)
{
	if (size <= in->scratch_room[domain]) return TN_OK;
	in->scratch_room[domain] = 0;
	int32_t st = TN_OK;
	if (domain) {
		in->x->s->place[domain - 1].backend->release(in->dev_scratch[domain]);
		st = tn_domain_alloc(in->x->s, domain, size, &in->dev_scratch[domain], d);
	} else {
		free(in->scratch);
		in->scratch = aligned_alloc(64, (size + 127) / 64 * 64);
		if (!in->scratch) st = tn_fail(d, TN_E_NOMEM, "run: no memory for %llu bytes of scratch", (unsigned long long)size);
	}
	if (st == TN_OK) in->scratch_room[domain] = size;
	return st;
}

/* every launch up to this segment points at the scratch of its domain, which may have moved */
static int32_t set_scratch(struct tn_instance *in, uint32_t segment, const uint64_t *sizes, struct tn_diag *d)
{
	const struct tn_plan *plan = in->x->c.plan;
	int32_t st = TN_OK;
	for (uint32_t domain = 0; domain < plan->n_domains && st == TN_OK; domain++) st = room_scratch(in, domain, sizes[domain], d);
	for (uint32_t i = 0; i < plan->n_launches && st == TN_OK; i++) {
		struct tn_ref *ref = &in->launches[i].l.scratch;
		uint32_t domain = tn_slot_domain(&in->x->c.places, plan->launches[i].slot);
		if (plan->launches[i].segment > segment || !ref->size) continue;
		ref->memory = domain ? in->dev_scratch[domain] : NULL;
		ref->offset = domain ? 0 : (uint64_t)(uintptr_t)in->scratch;
	}
	return st;
}

static int32_t size_buffers(struct tn_instance *in, uint32_t segment, struct tn_diag *d)
{
	struct tn_executable *x = in->x;
	const struct tn_plan *plan = x->c.plan;
	for (uint32_t b = 0; b < plan->n_buffers; b++) {
		int resident = plan->buffers[b].home == TN_HOME_CONSTANT || plan->buffers[b].home == TN_HOME_RESIDENT;
		if (plan->buffers[b].segment != segment || (in->once && !resident)) continue;
		int64_t n = in->plan_sizes[plan->buffers[b].bytes];
		if (n < 0) return tn_fail(d, TN_E_RANGE, "run: the size of value %%%u overflows or is negative", plan->buffers[b].value);
		in->bytes[b] = (uint64_t)n;
		in->refs[b].size = (uint64_t)n;
		if (resident) in->refs[b] = x->resident[b];
	}
	return TN_OK;
}

struct sizing { struct tn_instance *in; uint32_t segment; struct tn_diag *d; int32_t st; };
static void size_segment(void *arg)
{
	struct sizing *w = arg;
	struct tn_instance *in = w->in;
	const struct tn_plan *plan = in->x->c.plan;
	tn_sizes_eval(&plan->sizes, in->symbols, in->plan_sizes);
	for (uint32_t p = 0; p < plan->n_programs; p++) tn_sizes_eval(&plan->programs[p].sizes, in->symbols, in->sizes[p]);
	w->st = size_buffers(in, w->segment, w->d);
	for (uint32_t domain = 0; domain < plan->n_domains && w->st == TN_OK && !in->once; domain++) w->st = lay_out(in, w->segment, domain, w->d);
	memset(in->scratch_need, 0, plan->n_domains * sizeof *in->scratch_need);
	for (uint32_t i = 0; i < plan->n_launches && w->st == TN_OK; i++)
		if (plan->launches[i].segment == w->segment && (plan->launches[i].once || !in->once)) w->st = fill_launch(in, i, in->scratch_need, w->d);
	if (w->st == TN_OK) w->st = set_scratch(in, w->segment, in->scratch_need, w->d);
}

int32_t tn_instance_segment(struct tn_instance *in, uint32_t segment, struct tn_diag *d)
{
	struct sizing w = { in, segment, d, TN_OK };
	int32_t st = tn_protect(&in->diag, size_segment, &w);          /* laying out takes memory from the arena */
	return st == TN_OK ? w.st : tn_fail(d, st, "%s", in->diag.text);
}

/* ---- life */
struct making { struct tn_instance *in; };
static void make_arrays(void *arg)
{
	struct tn_instance *in = ((struct making *)arg)->in;
	const struct tn_plan *plan = in->x->c.plan;
	struct tn_arena *a = &in->arena;
	uint32_t nb = plan->n_buffers, nl = plan->n_launches;
	in->symbols = tn_array(a, int64_t, plan->g->n_symbols);
	in->plan_sizes = tn_array(a, int64_t, plan->sizes.count);
	in->sizes = tn_array(a, int64_t *, plan->n_programs);
	for (uint32_t p = 0; p < plan->n_programs; p++) in->sizes[p] = tn_array(a, int64_t, plan->programs[p].sizes.count);
	in->bytes = tn_array(a, uint64_t, nb);
	in->offsets = tn_array(a, uint64_t, nb);
	in->refs = tn_array(a, struct tn_ref, nb);
	in->args = tn_array(a, struct tn_ref *, nl);
	in->scalars = tn_array(a, int64_t *, nl);
	in->launches = tn_array(a, union tn_room_launch, nl);
	in->chosen = tn_array(a, uint32_t, nl);
	in->tokens = tn_array(a, struct tn_token, nl);
	in->pending = tn_array(a, unsigned char, nl);
	for (uint32_t i = 0; i < nl; i++) {
		const struct tn_plan_launch *pl = &plan->launches[i];
		in->args[i] = tn_array(a, struct tn_ref, pl->n_buffers);
		uint32_t most = 0;
		for (uint32_t p = pl->program; p != TN_NOTHING; p = plan->programs[p].next)
			if (plan->programs[p].n_scalars > most) most = plan->programs[p].n_scalars;
		in->scalars[i] = tn_array(a, int64_t, most);
	}
	in->host_arena = tn_array(a, void *, plan->n_segments);
	in->host_room = tn_array(a, uint64_t, plan->n_segments);
	in->dev_arena = tn_array(a, struct tn_memory *, plan->n_segments * plan->n_domains);
	in->dev_room = tn_array(a, uint64_t, plan->n_segments * plan->n_domains);
	in->dev_scratch = tn_array(a, struct tn_memory *, plan->n_domains);
	in->scratch_room = tn_array(a, uint64_t, plan->n_domains);
	in->scratch_need = tn_array(a, uint64_t, plan->n_domains);
	in->temp = tn_array(a, void *, plan->g->n_in + plan->g->n_out);
}

void tn_instance_destroy(struct tn_instance *in)
{
	if (!in) return;
	const struct tn_plan *plan = in->x->c.plan;
	if (in->temp) {                          /* all arrays were made */
		if (in->record) in->x->s->place[0].backend->record_release(in->record);
		for (uint32_t s = 0; s < plan->n_segments; s++) {
			free(in->host_arena[s]);
			for (uint32_t dm = 1; dm < plan->n_domains; dm++)
				if (in->dev_arena[s * plan->n_domains + dm]) in->x->s->place[dm - 1].backend->release(in->dev_arena[s * plan->n_domains + dm]);
		}
		for (uint32_t i = 0; i < plan->g->n_in + plan->g->n_out; i++) free(in->temp[i]);
		free(in->scratch);
		for (uint32_t dm = 1; dm < plan->n_domains; dm++)
			if (in->dev_scratch[dm]) in->x->s->place[dm - 1].backend->release(in->dev_scratch[dm]);
	}
	tn_arena_fini(&in->arena);
	free(in);
}

static int32_t create(struct tn_executable *x, const int64_t *symbols, struct tn_instance **out, struct tn_diag *d)
{
	struct tn_instance *in = calloc(1, sizeof *in);
	if (!in) return tn_fail(d, TN_E_NOMEM, "run: no memory for a call");
	in->x = x;
	in->generation = atomic_load(&x->generation);
	tn_arena_init(&in->arena, &in->diag);
	struct making m = { in };
	int32_t st = tn_protect(&in->diag, make_arrays, &m);
	if (st != TN_OK) tn_fail(d, st, "%s", in->diag.text);
	if (st == TN_OK) {
		in->once = !symbols;
		if (symbols) memcpy(in->symbols, symbols, x->c.plan->g->n_symbols * sizeof *symbols);
		st = tn_instance_segment(in, 0, d);
	}
	if (st != TN_OK) { tn_instance_destroy(in); return st; }
	*out = in;
	return TN_OK;
}

/* an idle one with these symbol values, unlinked, or NULL */
static struct tn_instance *find(struct tn_executable *x, const int64_t *symbols)
{
	size_t size = x->c.plan->g->n_symbols * sizeof *symbols;
	for (struct tn_instance **at = &x->free; *at; at = &(*at)->next) {
		if (x->c.plan->n_segments > 1 || memcmp((*at)->symbols, symbols, size)) continue;
		struct tn_instance *in = *at;
		*at = in->next;
		x->n_free--;
		return in;
	}
	return NULL;
}

int32_t tn_instance_take(struct tn_executable *x, const int64_t *symbols, struct tn_instance **out, struct tn_diag *d)
{
	pthread_mutex_lock(&x->lock);
	x->n_busy++;
	struct tn_instance *in = symbols ? find(x, symbols) : NULL;
	pthread_mutex_unlock(&x->lock);
	if (in && in->generation == atomic_load(&x->generation)) { *out = in; return TN_OK; }
	tn_instance_destroy(in);                 /* programs came since: they may need scratch */
	int32_t st = create(x, symbols, out, d);
	if (st == TN_OK) return st;
	pthread_mutex_lock(&x->lock);
	x->n_busy--;
	pthread_cond_broadcast(&x->idle);
	pthread_mutex_unlock(&x->lock);
	return st;
}

/* the idle one unused for longest, unlinked */
static struct tn_instance *oldest(struct tn_executable *x)
{
	struct tn_instance **worst = &x->free;
	for (struct tn_instance **at = &x->free; *at; at = &(*at)->next)
		if ((*at)->used < (*worst)->used) worst = at;
	struct tn_instance *in = *worst;
	*worst = in->next;
	x->n_free--;
	return in;
}

void tn_instance_give(struct tn_instance *in, int broken)
{
	struct tn_executable *x = in->x;
	struct tn_instance *drop = NULL;
	pthread_mutex_lock(&x->lock);
	in->used = ++x->tick;
	x->last_arena = 0;
	for (uint32_t s = 0; s < x->c.plan->n_segments; s++) x->last_arena += in->host_room[s];
	for (uint32_t k = 0; k < x->c.plan->n_segments * x->c.plan->n_domains; k++) x->last_arena += in->dev_room[k];
	if (broken || x->c.plan->n_segments > 1) drop = in;
	else {
		in->next = x->free;
		x->free = in;
		if (++x->n_free > IDLE_MAX) drop = oldest(x);
	}
	pthread_mutex_unlock(&x->lock);
	tn_instance_destroy(drop);
	pthread_mutex_lock(&x->lock);
	x->n_busy--;
	pthread_cond_broadcast(&x->idle);
	pthread_mutex_unlock(&x->lock);
}
