/* validate_object.c - handles of the validation layer: the table of live ones, who owns whom, work in flight, and the words. */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "host/validate.h"

#define BUCKETS 1024

struct flight { struct flight *next; struct tn_token *token; struct v_object *dev; const char *function; uint64_t n; struct v_object *used[]; };

/* One table for the process: a call brings nothing but handles, and a handle of another session's plugin must be told apart. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct v_object *live[BUCKETS];
static struct v_plugin *plugins;
static struct flight *flights;

static const char *const kinds[] = { "?", "plugin instance", "device", "memory", "program", "queue", "timeline", "record" };
const char *v_kind_name(uint32_t kind) { return kinds[kind <= V_RECORD ? kind : 0]; }

/* ---- words.  A call whose first handle is wrong has no owner: any host will do */
static const struct tn_host *host_of(const struct v_call *k)
{
	if (k->owner) return k->owner->h;
	pthread_mutex_lock(&lock);
	const struct tn_host *h = plugins ? plugins->h : NULL;
	pthread_mutex_unlock(&lock);
	return h;
}

static void words(const struct v_call *k, char *text, size_t cap, const char *fmt, va_list ap)
{
	int n = snprintf(text, cap, "%s: ", k->function);
	vsnprintf(text + n, cap - (size_t)n, fmt, ap);
}

int32_t v_complain(const struct v_call *k, int32_t code, const char *fmt, ...)
{
	char text[600];
	const struct tn_host *h = host_of(k);
	va_list ap;
	va_start(ap, fmt);
	words(k, text, sizeof text, fmt, ap);
	va_end(ap);
	return h ? h->fail(h->ctx, code, 0, text) : code;
}

void v_log(const struct v_call *k, const char *fmt, ...)
{
	char text[600];
	const struct tn_host *h = host_of(k);
	va_list ap;
	va_start(ap, fmt);
	words(k, text, sizeof text, fmt, ap);
	va_end(ap);
	if (h) h->log(h->ctx, 0, text);
}

/* ---- the table of live objects.  These run under the lock */
static struct v_object **bucket(const void *handle) { return &live[((uintptr_t)handle >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 54]; }

static struct v_object *look_up(const void *handle)
{
	struct v_object *o = *bucket(handle);
	while (o && o != handle) o = o->next;
	return o;
}

static const struct v_object *released(const void *handle)
{
	for (const struct v_plugin *p = plugins; p; p = p->next)
		for (uint32_t i = 0; i < V_RING; i++)
			if (p->gone[i] && p->gone[i] == handle) return p->gone[i];
	return NULL;
}

static void take_out(struct v_object *o)
{
	struct v_object **at = bucket(o);
	while (*at != o) at = &(*at)->next;
	*at = o->next;
	for (at = &o->owner->newest; *at != o; at = &(*at)->newer) { }
	*at = o->newer;
	if (o->parent) o->parent->children--;
}

static void free_object(struct v_object *o)
{
	if (o) free(o->programs);
	free(o);
}

struct v_object *v_new(struct v_plugin *p, uint32_t kind, struct v_object *parent, void *inner)
{
	struct v_object *o = tn_sys_alloc(sizeof *o);
	if (!o) return NULL;
	o->owner = p;
	o->kind = kind;
	o->parent = parent;
	o->inner = inner;
	pthread_mutex_lock(&lock);
	o->next = *bucket(o);
	*bucket(o) = o;
	o->newer = p->newest;
	p->newest = o;
	if (parent) parent->children++;
	pthread_mutex_unlock(&lock);
	return o;
}

void v_retire(struct v_object *o)
{
	pthread_mutex_lock(&lock);
	take_out(o);
	struct v_object **seat = &o->owner->gone[o->owner->n_gone++ % V_RING], *oldest = *seat;
	*seat = o;
	pthread_mutex_unlock(&lock);
	free_object(oldest);
}

/* ---- plugins */
struct v_plugin *v_plugin_of(const struct tn_host *h)
{
	pthread_mutex_lock(&lock);
	struct v_plugin *p = plugins;
	while (p && p->h != h) p = p->next;
	pthread_mutex_unlock(&lock);
	return p;
}

struct v_plugin *v_plugin_add(const struct tn_host *h, const struct tn_backend *inner)
{
	struct v_plugin *p = tn_sys_alloc(sizeof *p);
	if (!p) return NULL;
	p->h = h;
	p->inner = *inner;
	pthread_mutex_lock(&lock);
	p->next = plugins;
	plugins = p;
	pthread_mutex_unlock(&lock);
	return p;
}

void v_plugin_remove(struct v_plugin *p)
{
	pthread_mutex_lock(&lock);
	struct v_plugin **at = &plugins;
	while (*at != p) at = &(*at)->next;
	*at = p->next;
	pthread_mutex_unlock(&lock);
	for (uint32_t i = 0; i < V_RING; i++) free_object(p->gone[i]);
	free(p);
}

/* ---- looking at handles */
struct v_object *v_find(struct v_call *k, const void *handle, uint32_t kind, const char *what)
{
	if (!handle) { v_complain(k, TN_E_ARG, "%s is NULL", what); return NULL; }
	pthread_mutex_lock(&lock);
	struct v_object *o = look_up(handle);
	const struct v_object *gone = o ? NULL : released(handle);
	uint32_t was = o ? o->kind : gone ? gone->kind : 0;
	pthread_mutex_unlock(&lock);
	if (gone) v_complain(k, TN_E_ARG, "%s %p was released before (a %s)", what, handle, v_kind_name(was));
	else if (!o) v_complain(k, TN_E_ARG, "%s %p is no handle of this host", what, handle);
	else if (was != kind) v_complain(k, TN_E_ARG, "%s %p is a %s, not a %s", what, handle, v_kind_name(was), v_kind_name(kind));
	else if (k->owner && o->owner != k->owner)
		v_complain(k, TN_E_ARG, "%s %p belongs to another plugin (%s, not %s)", what, handle, o->owner->inner.id, k->owner->inner.id);
	else { k->owner = o->owner; return o; }
	return NULL;
}

struct v_object *v_find_of(struct v_call *k, const void *handle, uint32_t kind, const char *what, const struct v_object *parent)
{
	struct v_object *o = v_find(k, handle, kind, what);
	if (!o || o->parent == parent) return o;
	v_complain(k, TN_E_ARG, "%s %p belongs to another %s", what, handle, v_kind_name(parent->kind));
	return NULL;
}

struct v_object *v_usable(struct v_call *k, struct tn_device *d)
{
	struct v_object *o = v_find(k, d, V_DEVICE, "device");
	if (!o || !o->dead) return o;
	k->st = v_complain(k, TN_E_DEVICE, "device %u is dead (TN_E_DEVICE was told): only destroyers may be called", o->ordinal);
	return NULL;
}

struct v_object *v_destroyable(struct v_call *k, const void *handle, uint32_t kind)
{
	if (!handle) return NULL;
	pthread_mutex_lock(&lock);
	struct v_object *o = look_up(handle);
	const struct v_object *gone = o ? NULL : released(handle);
	uint32_t was = o ? o->kind : gone ? gone->kind : 0, children = o ? o->children : 0, busy = o ? o->busy : 0;
	pthread_mutex_unlock(&lock);
	if (o) k->owner = o->owner;
	if (gone) v_log(k, "%p was released before (a %s): nothing done", handle, v_kind_name(was));
	else if (!o) v_log(k, "%p is no handle of this host: nothing done", handle);
	else if (was != kind) v_log(k, "%p is a %s, not a %s: nothing done", handle, v_kind_name(was), v_kind_name(kind));
	else if (busy) v_log(k, "the %s is used by %u pieces of work in flight: nothing done", v_kind_name(kind), busy);
	else if (children) v_log(k, "the %s has %u live objects; they are destroyed first: nothing done", v_kind_name(kind), children);
	else return o;
	return NULL;
}

int32_t v_head(const struct v_call *k, const char *what, const struct tn_head *h, size_t size, uint32_t kind)
{
	if (!h) return v_complain(k, TN_E_ARG, "%s is NULL", what);
	if (h->size == size && h->kind == kind) return TN_OK;
	return v_complain(k, TN_E_ARG, "%s has size %u and kind %u in its head, not %zu and %u", what, h->size, h->kind, size, kind);
}

int32_t v_after(const struct v_call *k, struct v_object *dev, int32_t code)
{
	if (code < TN_OK || code > TN_E_VERSION) return v_complain(k, TN_E_INTERNAL, "the plugin answers %d, which is no status code", code);
	if (code == TN_E_DEVICE && dev) dev->dead = code;
	return code;
}

int32_t v_take_handle(const struct v_call *k, uint32_t kind, struct v_object *parent, int32_t code, void *inner, struct v_object **out)
{
	*out = NULL;
	if (code != TN_OK) {
		if (inner) v_log(k, "the plugin failed (%d) and yet gave a %s", code, v_kind_name(kind));
		return code;
	}
	if (!inner) return v_complain(k, TN_E_INTERNAL, "the plugin answers OK and gives no %s", v_kind_name(kind));
	*out = v_new(k->owner, kind, parent, inner);
	return *out ? TN_OK : TN_E_NOMEM;
}

/* ---- work in flight */
static struct flight *land(struct tn_token *t)
{
	pthread_mutex_lock(&lock);
	struct flight **at = &flights;
	while (*at && (*at)->token != t) at = &(*at)->next;
	struct flight *f = *at;
	if (f) {
		*at = f->next;
		for (uint64_t i = 0; i < f->n; i++) f->used[i]->busy--;
		f->dev->busy--;
	}
	pthread_mutex_unlock(&lock);
	return f;
}

int32_t v_flight_begin(const struct v_call *k, struct tn_token *t, struct v_object *dev, struct v_object *const *used, uint64_t n)
{
	struct flight *f;
	if (!t) return TN_OK;
	pthread_mutex_lock(&lock);
	for (f = flights; f && f->token != t; f = f->next) { }
	pthread_mutex_unlock(&lock);
	if (f) return v_complain(k, TN_E_ARG, "token %p belongs to work in flight (%s)", (void *)t, f->function);
	f = tn_sys_alloc(sizeof *f + n * sizeof *used);
	if (!f) return TN_E_NOMEM;
	f->token = t;
	f->dev = dev;
	f->function = k->function;
	pthread_mutex_lock(&lock);
	for (uint64_t i = 0; i < n; i++)
		if (used[i]) { f->used[f->n++] = used[i]; used[i]->busy++; }
	dev->busy++;
	f->next = flights;
	flights = f;
	pthread_mutex_unlock(&lock);
	return TN_OK;
}

void v_flight_failed(const struct v_call *k, struct tn_token *t)
{
	struct flight *f = t ? land(t) : NULL;
	if (t && !f) v_log(k, "the plugin failed and yet told the end of the work through host->done");
	free(f);
}

int32_t v_done(void *ctx, struct tn_token *t, int32_t code)
{
	struct v_call k = { "host->done", NULL, TN_E_ARG };
	pthread_mutex_lock(&lock);
	for (k.owner = plugins; k.owner && k.owner->h->ctx != ctx; k.owner = k.owner->next) { }
	pthread_mutex_unlock(&lock);
	struct flight *f = land(t);
	if (!f) {
		v_log(&k, "token %p is of no work in flight (told twice?)", (void *)t);
		return TN_E_ARG;
	}
	if (code == TN_E_DEVICE) f->dev->dead = code;
	const struct tn_host *h = f->dev->owner->h;
	free(f);
	return h->done(h->ctx, t, code);
}
