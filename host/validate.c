/* validate.c - the validation layer's table: it takes the place of a plugin's when TENON_VALIDATE=1 and in conformance.
 * Here: life, devices, queues, timelines, watching; the rest is in validate_memory.c, validate_compile.c and validate_run.c. */
#include <string.h>
#include "host/validate.h"

static struct tn_self *self_handle(struct v_object *o) { return (struct tn_self *)(void *)o; }

/* ---- life */
static int32_t v_open(const struct tn_host *h, struct tn_self **self)
{
	struct v_call k = { "open", h ? v_plugin_of(h) : NULL, TN_E_ARG };
	struct tn_self *inner = NULL;
	if (self) *self = NULL;
	if (!k.owner) return v_complain(&k, TN_E_ARG, "host %p is not the one that this table was made for", (const void *)h);
	if (!self) return v_complain(&k, TN_E_ARG, "where to put the instance is NULL");
	struct v_object *o = v_new(k.owner, V_SELF, NULL, NULL);
	if (!o) return TN_E_NOMEM;
	memcpy(&o->host.host, h, h->head.size < sizeof o->host ? h->head.size : sizeof o->host);
	o->host.host.done = v_done;
	int32_t st = v_after(&k, NULL, k.owner->inner.open(&o->host.host, &inner));
	if (st != TN_OK && inner) v_log(&k, "the plugin failed (%d) and yet gave an instance", st);
	if (st == TN_OK && !inner) st = v_complain(&k, TN_E_INTERNAL, "the plugin answers OK and gives no instance");
	o->inner = inner;
	if (st != TN_OK) { v_retire(o); return st; }
	*self = self_handle(o);
	return TN_OK;
}

/* destroys one object for those who forgot it */
static void destroy(struct v_object *o)
{
	const struct tn_backend *b = &o->owner->inner;
	void *inner = o->inner;
	uint32_t kind = o->kind;
	v_retire(o);
	switch (kind) {
	case V_MEMORY: b->release(inner); break;
	case V_PROGRAM: b->program_release(inner); break;
	case V_QUEUE: b->queue_release(inner); break;
	case V_TIMELINE: b->timeline_release(inner); break;
	case V_RECORD: b->record_release(inner); break;
	case V_DEVICE: b->device_close(inner); break;
	default: b->close(inner); break;
	}
}

/* newest first: children were made after their parents */
static void sweep(struct v_call *k, const struct v_object *self)
{
	struct v_object *o = k->owner->newest;
	while (o) {
		struct v_object *next = o->newer;
		if (o != self && (o->parent == self || (o->parent && o->parent->parent == self))) {
			v_log(k, "a %s of %llu bytes is still alive: destroyed now", v_kind_name(o->kind), (unsigned long long)(o->kind == V_MEMORY ? o->size : 0));
			destroy(o);
		}
		o = next;
	}
}

static void v_close(struct tn_self *s)
{
	struct v_call k = { "close", NULL, TN_E_ARG };
	struct v_object *o = s ? v_find(&k, s, V_SELF, "self") : NULL;
	if (!o) { if (s) v_log(&k, "%p is no open instance: nothing done", (void *)s); return; }
	sweep(&k, o);
	destroy(o);
}

/* ---- devices */
static int32_t check_info(const struct v_call *k, uint32_t i, const struct tn_device_info *d)
{
	if (!d->uid[0] || !d->name[0] || !d->target[0]) return v_complain(k, TN_E_INTERNAL, "device %u has no %s", i, !d->uid[0] ? "uid" : !d->name[0] ? "name" : "target");
	if (!memchr(d->uid, 0, sizeof d->uid) || !memchr(d->name, 0, sizeof d->name) || !memchr(d->target, 0, sizeof d->target) ||
		!memchr(d->driver, 0, sizeof d->driver) || !memchr(d->firmware, 0, sizeof d->firmware))
		return v_complain(k, TN_E_INTERNAL, "a text of device %u is not terminated", i);
	if (!d->spaces.count || !d->spaces.at) return v_complain(k, TN_E_INTERNAL, "device %u has no memory space", i);
	if (d->queues.count && !d->queues.at) return v_complain(k, TN_E_INTERNAL, "device %u has %llu queue rows at NULL", i, (unsigned long long)d->queues.count);
	if (d->max_rank > 8) return v_complain(k, TN_E_INTERNAL, "device %u: max_rank %u, 8 at most", i, d->max_rank);
	for (uint64_t s = 0; s < d->spaces.count; s++) {
		const struct tn_space *row = &d->spaces.at[s];
		if (row->kind < TN_SPACE_HOST || row->kind > TN_SPACE_SHARED) return v_complain(k, TN_E_INTERNAL, "space %llu of device %u is of kind %u", (unsigned long long)s, i, row->kind);
		if (row->align & (row->align - 1)) return v_complain(k, TN_E_INTERNAL, "space %llu of device %u: alignment %llu is no power of two", (unsigned long long)s, i, (unsigned long long)row->align);
	}
	return TN_OK;
}

static int32_t v_devices(struct tn_self *s, uint32_t i, struct tn_device_info *out)
{
	struct v_call k = { "devices", NULL, TN_E_ARG };
	struct v_object *self = v_find(&k, s, V_SELF, "self");
	int32_t st = self ? v_head(&k, "device info", out ? &out->head : NULL, sizeof *out, TN_KIND_DEVICE_INFO) : TN_E_ARG;
	if (st != TN_OK) return st;
	struct tn_head head = out->head;
	st = v_after(&k, NULL, k.owner->inner.devices(self->inner, i, out));
	if (st == TN_OK) st = check_info(&k, i, out);
	if (st == TN_OK) st = v_head(&k, "device info, filled", &out->head, sizeof *out, TN_KIND_DEVICE_INFO);
	if (st != TN_OK) memset(out, 0, sizeof *out);
	out->head = head;
	return st;
}

static int32_t v_device_open(struct tn_self *s, uint32_t i, struct tn_device **d)
{
	struct v_call k = { "device_open", NULL, TN_E_ARG };
	struct v_object *o, *self = v_find(&k, s, V_SELF, "self");
	struct tn_device *inner = NULL;
	if (d) *d = NULL;
	if (!self) return TN_E_ARG;
	if (!d) return v_complain(&k, TN_E_ARG, "where to put the device is NULL");
	int32_t code = v_after(&k, NULL, k.owner->inner.device_open(self->inner, i, &inner));
	int32_t st = v_take_handle(&k, V_DEVICE, self, code, inner, &o);
	if (st == TN_OK) {
		o->ordinal = i;
		o->dev.info.head = (struct tn_head)TN_HEAD(tn_device_info, TN_KIND_DEVICE_INFO);
		st = v_devices(s, i, &o->dev.info);
		if (st != TN_OK) { v_retire(o); st = v_complain(&k, TN_E_INTERNAL, "device %u opens and `devices` does not describe it (%d)", i, st); }
	}
	if (st != TN_OK && code == TN_OK && inner) k.owner->inner.device_close(inner);
	if (st == TN_OK) *d = (struct tn_device *)(void *)o;
	return st;
}

static void v_device_close(struct tn_device *d)
{
	struct v_call k = { "device_close", NULL, TN_E_ARG };
	struct v_object *o = v_destroyable(&k, d, V_DEVICE);
	if (o) destroy(o);
}

/* ---- queues and timelines */
static int32_t v_queue_create(struct tn_device *d, uint32_t row, struct tn_queue **q)
{
	struct v_call k = { "queue_create", NULL, TN_E_ARG };
	struct v_object *o, *dev = v_usable(&k, d);
	struct tn_queue *inner = NULL;
	if (q) *q = NULL;
	if (!dev) return k.st;
	if (!q) return v_complain(&k, TN_E_ARG, "where to put the queue is NULL");
	uint64_t rows = dev->dev.info.queues.count ? dev->dev.info.queues.count : 1;
	if (row >= rows) return v_complain(&k, TN_E_RANGE, "queue row %u of %llu", row, (unsigned long long)rows);
	int32_t code = v_after(&k, dev, k.owner->inner.queue_create(dev->inner, row, &inner));
	if (code == TN_OK && !inner) return TN_OK;                     /* the one queue that NULL names */
	int32_t st = v_take_handle(&k, V_QUEUE, dev, code, inner, &o);
	if (st != TN_OK && code == TN_OK) k.owner->inner.queue_release(inner);
	if (st == TN_OK) *q = (struct tn_queue *)(void *)o;
	return st;
}

static void v_queue_release(struct tn_queue *q)
{
	struct v_call k = { "queue_release", NULL, TN_E_ARG };
	struct v_object *o = v_destroyable(&k, q, V_QUEUE);
	if (o) destroy(o);
}

static int32_t v_timeline_create(struct tn_device *d, struct tn_timeline **t)
{
	struct v_call k = { "timeline_create", NULL, TN_E_ARG };
	struct v_object *o, *dev = v_usable(&k, d);
	struct tn_timeline *inner = NULL;
	if (t) *t = NULL;
	if (!dev) return k.st;
	if (!t) return v_complain(&k, TN_E_ARG, "where to put the timeline is NULL");
	int32_t code = v_after(&k, dev, k.owner->inner.timeline_create(dev->inner, &inner));
	int32_t st = v_take_handle(&k, V_TIMELINE, dev, code, inner, &o);
	if (st != TN_OK && code == TN_OK && inner) k.owner->inner.timeline_release(inner);
	if (st == TN_OK) *t = (struct tn_timeline *)(void *)o;
	return st;
}

static void v_timeline_release(struct tn_timeline *t)
{
	struct v_call k = { "timeline_release", NULL, TN_E_ARG };
	struct v_object *o = v_destroyable(&k, t, V_TIMELINE);
	if (o) destroy(o);
}

static int32_t v_timeline_wait(struct tn_timeline *t, uint64_t value, uint64_t timeout_ns)
{
	struct v_call k = { "timeline_wait", NULL, TN_E_ARG };
	struct v_object *o = v_find(&k, t, V_TIMELINE, "timeline");
	if (!o) return TN_E_ARG;
	int32_t st = v_after(&k, o->parent, k.owner->inner.timeline_wait(o->inner, value, timeout_ns));
	if (st != TN_OK && st != TN_E_TIMEOUT) o->dead = st;
	else if (st == TN_OK && o->dead) st = v_complain(&k, TN_E_INTERNAL, "the timeline had failed (%d) and now answers OK", o->dead);
	return st;
}

/* ---- watching */
static int32_t v_counters(struct tn_device *d, uint32_t i, struct tn_counter *out)
{
	struct v_call k = { "counters", NULL, TN_E_ARG };
	struct v_object *dev = v_usable(&k, d);
	if (!dev) return k.st;
	if (!out) return v_complain(&k, TN_E_ARG, "where to put the counter is NULL");
	memset(out, 0, sizeof *out);
	int32_t st = v_after(&k, dev, k.owner->inner.counters(dev->inner, i, out));
	if (st == TN_OK && (!out->name || !out->unit)) st = v_complain(&k, TN_E_INTERNAL, "counter %u has no %s", i, out->name ? "unit" : "name");
	if (st != TN_OK) memset(out, 0, sizeof *out);
	return st;
}

static int32_t v_clock(struct tn_device *d, uint64_t *device_ns, uint64_t *host_ns)
{
	struct v_call k = { "clock", NULL, TN_E_ARG };
	struct v_object *dev = v_usable(&k, d);
	if (!dev) return k.st;
	if (!device_ns || !host_ns) return v_complain(&k, TN_E_ARG, "where to put the times is NULL");
	*device_ns = *host_ns = UINT64_MAX;
	int32_t st = v_after(&k, dev, k.owner->inner.clock(dev->inner, device_ns, host_ns));
	if (st == TN_OK && (*device_ns == UINT64_MAX || *host_ns == UINT64_MAX)) st = v_complain(&k, TN_E_INTERNAL, "the plugin answers OK and leaves its times unset");
	if (st != TN_OK) *device_ns = *host_ns = 0;
	return st;
}

static int32_t v_hint(struct tn_device *d, uint32_t what, uint64_t value)
{
	struct v_call k = { "hint", NULL, TN_E_ARG };
	struct v_object *dev = v_usable(&k, d);
	return dev ? v_after(&k, dev, k.owner->inner.hint(dev->inner, what, value)) : k.st;
}

/* an extension's table takes the plugin's own handles, which nobody here has: there is none under validation */
static const void *v_extension(struct tn_self *s, const char *name, uint32_t major)
{
	(void)s; (void)name; (void)major;
	return NULL;
}

/* ---- the table.  Members that tn_backend_take leaves NULL stay NULL; its stubs are called like a plugin's functions */
void tn_validate_wrap(struct tn_candidate *c, const struct tn_host *h)
{
	struct tn_backend *b = &c->backend;
	struct v_plugin *p = v_plugin_add(h, b);
	if (!p) return;
	c->validator = p;
	b->open = v_open; b->close = v_close; b->devices = v_devices; b->device_open = v_device_open; b->device_close = v_device_close;
	b->alloc = v_alloc; b->release = v_release; b->copy = v_copy; b->map = v_map; b->budget = v_budget; b->trim = v_trim;
	if (b->can) b->can = v_can;
	b->compile = v_compile; b->program_release = v_program_release; b->artifact_check = v_artifact_check; b->layout_bytes = v_layout_bytes;
	b->launch = v_launch; b->queue_create = v_queue_create; b->queue_release = v_queue_release;
	b->timeline_create = v_timeline_create; b->timeline_release = v_timeline_release; b->timeline_wait = v_timeline_wait;
	if (b->record) { b->record = v_record; b->replay = v_replay; b->record_release = v_record_release; }
	b->counters = v_counters; b->clock = v_clock; b->hint = v_hint; b->extension = v_extension;
}

void tn_validate_unwrap(struct tn_candidate *c)
{
	struct v_plugin *p = c->validator;
	if (!p) return;
	struct v_call k = { "unload", p, TN_E_ARG };
	while (p->newest) {
		struct v_object *o = p->newest;
		v_log(&k, "a %s is still alive: destroyed now", v_kind_name(o->kind));
		destroy(o);
	}
	v_plugin_remove(p);
	c->validator = NULL;
}
