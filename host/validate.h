/* validate.h - inside of the validation layer: a plugin's table replaced by functions that check every argument and result.
 *
 * The ABI's functions carry no user pointer, so the layer hands out handles of its own.  A handle is the address of a struct
 * v_object, known to one table of live objects; an address is looked up there before it is read, so that a stale or foreign
 * handle is told without touching it.  Released objects stay a while in a ring, so that their addresses mean "released".
 * What breaks a rule is told through host->fail and answered (functions with a status), or told through host->log and left
 * undone (destroyers; closing sweeps up what they left). */
#ifndef TENON_VALIDATE_H
#define TENON_VALIDATE_H
#include <stdatomic.h>
#include "host/loader.h"

enum v_kind { V_SELF = 1, V_DEVICE, V_MEMORY, V_PROGRAM, V_QUEUE, V_TIMELINE, V_RECORD };

struct v_plugin;
struct v_object {
	struct v_object *next;             /* in its bucket of the live table */
	struct v_object *newer;            /* all live objects of one plugin, newest first */
	struct v_plugin *owner;
	struct v_object *parent;           /* of a self: NULL; of a device or a program: its self; of the rest: their device */
	void *inner;                       /* the plugin's own handle */
	uint32_t kind, children, busy;     /* busy: work in flight that names it */
	_Atomic int32_t dead;              /* code that killed it, or 0 */
	uint64_t size;                     /* memory: bytes; record: launches */
	uint32_t space;                    /* memory */
	uint32_t ordinal;                  /* device */
	uint32_t n_buffers, n_scalars;     /* program; TN_NOTHING where not known */
	uint64_t scratch;                  /* program: bytes that a launch needs */
	atomic_flag in_use;                /* record: a replay is running */
	struct v_object **programs;        /* record: as recorded */
	union { struct tn_device_info info; unsigned char room[sizeof(struct tn_device_info) + TN_ROOM]; } dev;   /* device */
	union { struct tn_host host; unsigned char room[sizeof(struct tn_host) + TN_ROOM]; } host;               /* self: what the plugin got */
};

#define V_RING 64
struct v_plugin {                      /* one wrapped table */
	struct v_plugin *next;
	const struct tn_host *h;
	struct tn_backend inner;
	struct v_object *newest;
	struct v_object *gone[V_RING];
	uint32_t n_gone;
};

/* one call being checked */
struct v_call { const char *function; struct v_plugin *owner; int32_t st; };   /* st: what to return when v_find or v_usable gave NULL */

/* ---- validate_object.c: handles, words, work in flight */
int32_t v_complain(const struct v_call *k, int32_t code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));  /* host->fail; returns code */
void v_log(const struct v_call *k, const char *fmt, ...) __attribute__((format(printf, 2, 3)));                       /* host->log, level 0 */
const char *v_kind_name(uint32_t kind);
struct v_object *v_new(struct v_plugin *p, uint32_t kind, struct v_object *parent, void *inner);   /* NULL without memory */
void v_retire(struct v_object *o);                                  /* takes it out of the live table and its parent */
/* the object behind a handle, or NULL with words.  The first one sets the call's owner, later ones must be of the same plugin. */
struct v_object *v_find(struct v_call *k, const void *handle, uint32_t kind, const char *what);
struct v_object *v_find_of(struct v_call *k, const void *handle, uint32_t kind, const char *what, const struct v_object *parent);
struct v_object *v_usable(struct v_call *k, struct tn_device *d);   /* a device that is alive */
/* for destroyers: the object when it may be destroyed now, else NULL and a line in the log.  NULL handle: NULL, silently */
struct v_object *v_destroyable(struct v_call *k, const void *handle, uint32_t kind);
int32_t v_head(const struct v_call *k, const char *what, const struct tn_head *h, size_t size, uint32_t kind);   /* TN_OK or words */
int32_t v_after(const struct v_call *k, struct v_object *dev, int32_t code);   /* a plugin's answer: known code; marks a dead device */
/* the handle that the plugin made, wrapped: OK needs one, a failure none */
int32_t v_take_handle(const struct v_call *k, uint32_t kind, struct v_object *parent, int32_t code, void *inner, struct v_object **out);
struct v_plugin *v_plugin_of(const struct tn_host *h);
struct v_plugin *v_plugin_add(const struct tn_host *h, const struct tn_backend *inner);
void v_plugin_remove(struct v_plugin *p);                           /* nothing live is left */
/* asynchronous work: begun before the plugin hears of it, ended by host->done or by the call's failure */
int32_t v_flight_begin(const struct v_call *k, struct tn_token *t, struct v_object *dev, struct v_object *const *used, uint64_t n);
void v_flight_failed(const struct v_call *k, struct tn_token *t);
int32_t v_done(void *ctx, struct tn_token *t, int32_t code);        /* stands in for tn_host.done */

/* ---- validate_memory.c */
#define V_ALIGNED 1                    /* offsets are multiples of the space's alignment */
#define V_ADDRESS 2                    /* a host address is allowed */
int32_t v_ref(struct v_call *k, const struct v_object *dev, const struct tn_ref *in, struct tn_ref *out, struct v_object **used, unsigned flags, const char *name, uint64_t i);
int32_t v_alloc(struct tn_device *d, uint32_t space, uint64_t size, uint64_t flags, struct tn_memory **m);
void v_release(struct tn_memory *m);
int32_t v_copy(struct tn_device *d, const struct tn_copy *c);
int32_t v_map(struct tn_memory *m, void **at);
int32_t v_budget(struct tn_device *d, uint32_t space, uint64_t *used, uint64_t *room);
int32_t v_trim(struct tn_device *d, uint32_t level);

/* ---- validate_compile.c */
int32_t v_can(struct tn_self *s, const char *target, const struct tn_graph *g, struct tn_verdict *by_node);
int32_t v_compile(struct tn_self *s, struct tn_compile *c);
void v_program_release(struct tn_program *p);
int32_t v_artifact_check(struct tn_self *s, const void *bytes, uint64_t size, const char *target);
int32_t v_layout_bytes(struct tn_self *s, const char *layout, uint32_t dtype, uint32_t rank, const int64_t *dims, uint64_t *bytes);

/* ---- validate_run.c */
int32_t v_launch(struct tn_device *d, const struct tn_launch *l);
int32_t v_record(struct tn_device *d, const struct tn_launch *const *l, uint64_t n, struct tn_record **r);
int32_t v_replay(struct tn_record *r, const struct tn_launch *const *l, uint64_t n, struct tn_token *token);
void v_record_release(struct tn_record *r);
/* waits and signals, unwrapped into out (n_waits + n_signals long); and the token rule of the device */
int32_t v_syncs(struct v_call *k, const struct v_object *dev, const struct tn_sync *waits, uint64_t n_waits, const struct tn_sync *signals, uint64_t n_signals, struct tn_sync *out);
int32_t v_token(const struct v_call *k, const struct v_object *dev, const struct tn_token *t);
int32_t v_queue(struct v_call *k, const struct v_object *dev, struct tn_queue *q, struct tn_queue **inner);
#endif
