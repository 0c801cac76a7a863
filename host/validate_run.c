/* validate_run.c - checks of launches, alone and in records. */
#include <stdlib.h>
#include <string.h>
#include "host/validate.h"

union room_launch { struct tn_launch l; unsigned char room[sizeof(struct tn_launch) + TN_ROOM]; };
#define MOST UINT64_C(65536)           /* buffers, scalars or syncs of one launch: beyond it a count is garbage */

/* one block holds unwrapped copies of n launches and of their lists, and the objects that they use */
struct pile {
	union room_launch *launch;
	const struct tn_launch **list;
	struct tn_ref *refs;
	struct tn_sync *syncs;
	struct v_object **used; uint64_t n_used;
};

static int32_t check_counts(const struct v_call *k, const struct tn_launch *l)
{
	int32_t st = v_head(k, "launch", l ? &l->head : NULL, sizeof *l, TN_KIND_LAUNCH);
	if (st != TN_OK) return st;
	if (l->n_buffers > MOST || l->n_scalars > MOST || l->n_waits > MOST || l->n_signals > MOST)
		return v_complain(k, TN_E_RANGE, "%llu buffers, %llu scalars, %llu waits, %llu signals: more than %llu", (unsigned long long)l->n_buffers,
			(unsigned long long)l->n_scalars, (unsigned long long)l->n_waits, (unsigned long long)l->n_signals, (unsigned long long)MOST);
	if (l->n_buffers && !l->buffers) return v_complain(k, TN_E_ARG, "%llu buffers at NULL", (unsigned long long)l->n_buffers);
	if (l->n_scalars && !l->scalars) return v_complain(k, TN_E_ARG, "%llu scalars at NULL", (unsigned long long)l->n_scalars);
	return TN_OK;
}

static int32_t make_pile(const struct v_call *k, const struct tn_launch *const *l, uint64_t n, struct pile *p)
{
	uint64_t refs = 0, syncs = 0;
	for (uint64_t i = 0; i < n; i++) {
		int32_t st = check_counts(k, l[i]);
		if (st != TN_OK) return st;
		refs += l[i]->n_buffers;
		syncs += l[i]->n_waits + l[i]->n_signals;
	}
	uint64_t used = refs + 2 * n;
	p->launch = tn_sys_alloc(n * (sizeof *p->launch + sizeof *p->list) + refs * sizeof *p->refs + syncs * sizeof *p->syncs + used * sizeof *p->used);
	if (!p->launch) return TN_E_NOMEM;
	p->list = (const struct tn_launch **)(void *)(p->launch + n);
	p->refs = (struct tn_ref *)(void *)(p->list + n);
	p->syncs = (struct tn_sync *)(void *)(p->refs + refs);
	p->used = (struct v_object **)(void *)(p->syncs + syncs);
	return TN_OK;
}

/* ---- the rules of one launch */
int32_t v_queue(struct v_call *k, const struct v_object *dev, struct tn_queue *q, struct tn_queue **inner)
{
	*inner = NULL;
	if (!q) return TN_OK;
	struct v_object *o = v_find_of(k, q, V_QUEUE, "queue", dev);
	if (!o) return TN_E_ARG;
	if (o->dead) return v_complain(k, TN_E_QUEUE, "the queue is dead (TN_E_QUEUE was told): only queue_release may be called");
	*inner = o->inner;
	return TN_OK;
}

static int32_t sync_list(struct v_call *k, const struct v_object *dev, const char *what, const struct tn_sync *in, uint64_t n, struct tn_sync *out)
{
	if (n && !in) return v_complain(k, TN_E_ARG, "%llu %s at NULL", (unsigned long long)n, what);
	for (uint64_t i = 0; i < n; i++) {
		struct v_object *t = v_find_of(k, in[i].timeline, V_TIMELINE, what, dev);
		if (!t) return TN_E_ARG;
		out[i] = (struct tn_sync){ t->inner, in[i].value };
	}
	return TN_OK;
}

int32_t v_syncs(struct v_call *k, const struct v_object *dev, const struct tn_sync *waits, uint64_t n_waits, const struct tn_sync *signals, uint64_t n_signals, struct tn_sync *out)
{
	int32_t st = sync_list(k, dev, "waits", waits, n_waits, out);
	return st == TN_OK ? sync_list(k, dev, "signals", signals, n_signals, out + n_waits) : st;
}

int32_t v_token(const struct v_call *k, const struct v_object *dev, const struct tn_token *t)
{
	int sync = (dev->dev.info.flags & TN_DEV_SYNC) != 0;
	if (sync && t) return v_complain(k, TN_E_ARG, "there is a token, and the device is TN_DEV_SYNC");
	if (!sync && !t) return v_complain(k, TN_E_ARG, "token is NULL, and the device is asynchronous");
	return TN_OK;
}

static int32_t check_program(const struct v_call *k, const struct v_object *p, const struct tn_launch *l)
{
	if (p->n_buffers != TN_NOTHING && l->n_buffers != p->n_buffers)
		return v_complain(k, TN_E_ARG, "%llu buffers, the program takes %u", (unsigned long long)l->n_buffers, p->n_buffers);
	if (p->n_scalars != TN_NOTHING && l->n_scalars != p->n_scalars)
		return v_complain(k, TN_E_ARG, "%llu scalars, the program takes %u", (unsigned long long)l->n_scalars, p->n_scalars);
	if (l->scratch.size < p->scratch)
		return v_complain(k, TN_E_ARG, "%llu bytes of scratch, the program needs %llu", (unsigned long long)l->scratch.size, (unsigned long long)p->scratch);
	return TN_OK;
}

static int32_t check_grid(const struct v_call *k, const struct v_object *dev, const struct tn_launch *l)
{
	for (int i = 0; i < 3; i++) {
		uint64_t most = dev->dev.info.max_groups[i];
		if (!l->grid[i]) return v_complain(k, TN_E_ARG, "grid[%d] is 0", i);
		if (most && l->grid[i] > most) return v_complain(k, TN_E_RANGE, "grid[%d] is %u, the device takes %llu", i, l->grid[i], (unsigned long long)most);
	}
	return l->after > TN_AFTER_TILE ? v_complain(k, TN_E_ARG, "after is %u", l->after) : TN_OK;
}

static int32_t unwrap(struct v_call *k, const struct v_object *dev, const struct tn_launch *l, struct pile *p, uint64_t i)
{
	struct tn_launch *out = &p->launch[i].l;
	struct v_object *program = v_find_of(k, l->program, V_PROGRAM, "program", dev->parent);
	if (!program) return TN_E_ARG;
	*out = *l;
	p->list[i] = out;
	out->program = program->inner;
	out->buffers = p->refs;
	out->waits = p->syncs;
	out->signals = p->syncs + l->n_waits;
	p->used[p->n_used++] = program;
	int32_t st = check_program(k, program, l);
	if (st == TN_OK) st = check_grid(k, dev, l);
	if (st == TN_OK) st = v_queue(k, dev, l->queue, &out->queue);
	for (uint64_t b = 0; b < l->n_buffers && st == TN_OK; b++)
		st = v_ref(k, dev, &l->buffers[b], &p->refs[b], &p->used[p->n_used++], V_ALIGNED, "buffers", b);
	if (st == TN_OK) st = v_ref(k, dev, &l->scratch, &out->scratch, &p->used[p->n_used++], V_ALIGNED, "scratch", UINT64_MAX);
	if (st == TN_OK) st = v_syncs(k, dev, l->waits, l->n_waits, l->signals, l->n_signals, p->syncs);
	p->refs += l->n_buffers;
	p->syncs += l->n_waits + l->n_signals;
	return st;
}

int32_t v_launch(struct tn_device *d, const struct tn_launch *l)
{
	struct v_call k = { "launch", NULL, TN_E_ARG };
	struct v_object *dev = v_usable(&k, d);
	struct pile p = { 0 };
	if (!dev) return k.st;
	int32_t st = make_pile(&k, &l, 1, &p);
	if (st != TN_OK) return st;
	st = unwrap(&k, dev, l, &p, 0);
	if (st == TN_OK) st = v_token(&k, dev, l->token);
	if (st == TN_OK) st = v_flight_begin(&k, l->token, dev, p.used, p.n_used);
	if (st == TN_OK) {
		struct v_object *queue = (struct v_object *)(void *)l->queue;
		st = v_after(&k, dev, k.owner->inner.launch(dev->inner, &p.launch->l));
		if (st != TN_OK) v_flight_failed(&k, l->token);
		if (st == TN_E_QUEUE && queue) queue->dead = st;
	}
	free(p.launch);
	return st;
}

/* ---- records */
static int32_t unwrap_list(struct v_call *k, const struct v_object *dev, const struct tn_launch *const *l, uint64_t n, struct pile *p)
{
	if (!n || !l) return v_complain(k, TN_E_ARG, "there are no launches");
	int32_t st = make_pile(k, l, n, p);
	for (uint64_t i = 0; i < n && st == TN_OK; i++) {
		st = unwrap(k, dev, l[i], p, i);
		p->launch[i].l.token = NULL;            /* one token ends them all */
	}
	return st;
}

static int32_t take_record(struct v_call *k, struct v_object *dev, const struct tn_launch *const *l, uint64_t n, int32_t code, void *inner, struct v_object **out)
{
	int32_t st = v_take_handle(k, V_RECORD, dev, code, inner, out);
	if (st == TN_OK && !((*out)->programs = tn_sys_alloc(n * sizeof *(*out)->programs))) {
		v_retire(*out);
		st = TN_E_NOMEM;
	}
	if (st != TN_OK) {
		if (code == TN_OK && inner) k->owner->inner.record_release(inner);
		return st;
	}
	(*out)->size = n;
	for (uint64_t i = 0; i < n; i++) (*out)->programs[i] = (struct v_object *)(void *)l[i]->program;
	return TN_OK;
}

int32_t v_record(struct tn_device *d, const struct tn_launch *const *l, uint64_t n, struct tn_record **r)
{
	struct v_call k = { "record", NULL, TN_E_ARG };
	struct v_object *o = NULL, *dev = v_usable(&k, d);
	struct tn_record *inner = NULL;
	struct pile p = { 0 };
	if (r) *r = NULL;
	if (!dev) return k.st;
	if (!r) return v_complain(&k, TN_E_ARG, "where to put the record is NULL");
	int32_t st = unwrap_list(&k, dev, l, n, &p);
	if (st == TN_OK) {
		int32_t code = v_after(&k, dev, k.owner->inner.record(dev->inner, p.list, n, &inner));
		st = take_record(&k, dev, l, n, code, inner, &o);
	}
	free(p.launch);
	*r = (struct tn_record *)(void *)o;
	return st;
}

static int32_t replay(struct v_call *k, struct v_object *o, const struct tn_launch *const *l, uint64_t n, struct tn_token *token)
{
	struct pile p = { 0 };
	if (n != o->size) return v_complain(k, TN_E_ARG, "%llu launches, %llu were recorded", (unsigned long long)n, (unsigned long long)o->size);
	int32_t st = unwrap_list(k, o->parent, l, n, &p);
	for (uint64_t i = 0; i < n && st == TN_OK; i++)
		if ((struct v_object *)(void *)l[i]->program != o->programs[i]) st = v_complain(k, TN_E_ARG, "launch %llu has another program than the recorded one", (unsigned long long)i);
	if (st == TN_OK) st = v_token(k, o->parent, token);
	if (st == TN_OK) st = v_flight_begin(k, token, o->parent, p.used, p.n_used);
	if (st == TN_OK) {
		st = v_after(k, o->parent, k->owner->inner.replay(o->inner, p.list, n, token));
		if (st != TN_OK) v_flight_failed(k, token);
	}
	free(p.launch);
	return st;
}

int32_t v_replay(struct tn_record *r, const struct tn_launch *const *l, uint64_t n, struct tn_token *token)
{
	struct v_call k = { "replay", NULL, TN_E_ARG };
	struct v_object *o = v_find(&k, r, V_RECORD, "record");
	if (!o || !v_usable(&k, (struct tn_device *)(void *)o->parent)) return k.st;
	if (atomic_flag_test_and_set(&o->in_use)) return v_complain(&k, TN_E_ARG, "another thread replays this record: one thread an object");
	int32_t st = replay(&k, o, l, n, token);
	atomic_flag_clear(&o->in_use);
	return st;
}

void v_record_release(struct tn_record *r)
{
	struct v_call k = { "record_release", NULL, TN_E_ARG };
	struct v_object *o = v_destroyable(&k, r, V_RECORD);
	if (!o) return;
	void *inner = o->inner;
	v_retire(o);
	k.owner->inner.record_release(inner);
}
