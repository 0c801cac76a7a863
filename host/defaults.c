/* defaults.c - a plugin's table as the host uses it: a copy in which every optional member is there.  A stub does what plugin.h says
 * in brackets, or answers UNSUPPORTED with its results cleared. */
#include <stdio.h>
#include <string.h>
#include "host/loader.h"

static int32_t no_map(struct tn_memory *m, void **at) { (void)m; *at = NULL; return TN_E_UNSUPPORTED; }
static int32_t no_budget(struct tn_device *d, uint32_t space, uint64_t *used, uint64_t *room) { (void)d; (void)space; *used = *room = 0; return TN_E_UNSUPPORTED; }
static int32_t no_trim(struct tn_device *d, uint32_t level) { (void)d; (void)level; return TN_E_UNSUPPORTED; }
static int32_t no_artifact_check(struct tn_self *s, const void *b, uint64_t n, const char *t) { (void)s; (void)b; (void)n; (void)t; return TN_E_STALE; }
static int32_t no_layout_bytes(struct tn_self *s, const char *l, uint32_t dt, uint32_t r, const int64_t *d, uint64_t *n)
{ (void)s; (void)l; (void)dt; (void)r; (void)d; *n = 0; return TN_E_UNSUPPORTED; }
static int32_t no_queue_create(struct tn_device *d, uint32_t row, struct tn_queue **q) { (void)d; *q = NULL; return row ? TN_E_RANGE : TN_OK; }
static void no_queue_release(struct tn_queue *q) { (void)q; }
static int32_t no_timeline_create(struct tn_device *d, struct tn_timeline **t) { (void)d; *t = NULL; return TN_E_UNSUPPORTED; }
static void no_timeline_release(struct tn_timeline *t) { (void)t; }
static int32_t no_timeline_wait(struct tn_timeline *t, uint64_t v, uint64_t ns) { (void)t; (void)v; (void)ns; return TN_E_UNSUPPORTED; }
static int32_t no_counters(struct tn_device *d, uint32_t i, struct tn_counter *out) { (void)d; (void)i; memset(out, 0, sizeof *out); return TN_E_RANGE; }
static int32_t no_clock(struct tn_device *d, uint64_t *device, uint64_t *host) { (void)d; *device = *host = 0; return TN_E_UNSUPPORTED; }
static int32_t no_hint(struct tn_device *d, uint32_t what, uint64_t v) { (void)d; (void)what; (void)v; return TN_OK; }
static const void *no_extension(struct tn_self *s, const char *name, uint32_t major) { (void)s; (void)name; (void)major; return NULL; }

void tn_backend_take(const struct tn_backend *in, struct tn_backend *b, char *missing, size_t cap)
{
	size_t n = 0;
	memset(b, 0, sizeof *b);
	memcpy(b, in, in->head.size < sizeof *b ? in->head.size : sizeof *b);
	b->head.size = sizeof *b;
	if (cap) missing[0] = 0;
#define NEED(member) if (!b->member && n < cap) n += (size_t)snprintf(missing + n, cap - n, "%s%s", n ? ", " : "", #member)
	NEED(open); NEED(close); NEED(devices); NEED(device_open); NEED(device_close); NEED(alloc); NEED(release); NEED(copy); NEED(compile);
	NEED(program_release); NEED(launch);
	/* optional ones come whole or not at all */
	if (b->queue_create || b->queue_release) { NEED(queue_create); NEED(queue_release); }
	if (b->timeline_create || b->timeline_release || b->timeline_wait) { NEED(timeline_create); NEED(timeline_release); NEED(timeline_wait); }
	if (b->record || b->replay || b->record_release) { NEED(record); NEED(replay); NEED(record_release); }
	if (b->layouts.count) NEED(layout_bytes);
#undef NEED
	if (!b->version) b->version = "";
	/* `can`, `record` and its kin stay NULL when absent: there the host takes another way, not another function */
#define FILL(member) if (!b->member) b->member = no_##member
	FILL(map); FILL(budget); FILL(trim); FILL(artifact_check); FILL(layout_bytes); FILL(queue_create); FILL(queue_release); FILL(timeline_create);
	FILL(timeline_release); FILL(timeline_wait); FILL(counters); FILL(clock); FILL(hint); FILL(extension);
#undef FILL
}
