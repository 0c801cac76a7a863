/* session.h - what the host knows: sessions, models, tensors, executables, and the services it offers to plugins. */
#ifndef TENON_SESSION_H
#define TENON_SESSION_H
#include <pthread.h>
#include <stdatomic.h>
#include <tenon/tenon.h>
#include "base/pool.h"
#include "host/cache.h"
#include "host/loader.h"
#include "schedule/plan.h"
#include "render/render.h"

/* one service table a plugin: ctx of tn_host points here */
struct tn_service {
	struct tn_session *session;
	const char *plugin, *version;      /* id of the plugin it was made for; "" in the probe */
	union { struct tn_host host; unsigned char room[sizeof(struct tn_host) + TN_ROOM]; } table;
};
/* the host's end of one asynchronous submission */
struct tn_token { pthread_mutex_t lock; pthread_cond_t told; int done, cancelled; int32_t code; char *words; };
void tn_token_init(struct tn_token *t);
int32_t tn_token_wait(struct tn_token *t);                    /* its code; fini follows.  After a failure its words are what tn_fail_text says */
void tn_token_fini(struct tn_token *t);

struct tn_session {
	struct tn_diag diag;               /* of creation */
	struct tn_arena arena;             /* process lifetime: plugins, services */
	struct tn_pool *pool;
	struct tn_cache *cache;            /* NULL: none */
	struct tn_candidate *candidates; uint32_t n_candidates;
	struct tn_place *place; uint32_t n_places;       /* selected, in order */
	struct tn_candidate **placed;
	const char **disabled; uint32_t n_disabled;      /* TENON_DISABLE, split: "plugin:row" */
	const struct tn_host *service;                   /* the host's own use of its services */
	void (*log)(void *ctx, uint32_t level, const char *text);
	void *log_ctx;
	_Atomic uint64_t host_allocs;      /* live host->alloc blocks, for leak checks */
};

/* services.c */
const struct tn_host *tn_service_make(struct tn_session *s, const char *plugin);   /* only while the session opens: it lives in its arena */
void tn_session_log(struct tn_session *s, uint32_t level, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void tn_fail_clear(void);                                     /* before a plugin call whose words are wanted */
const char *tn_fail_text(void);                               /* what the plugin said on this thread, or "" */
/* tool.c: run a program without a shell; see tn_host.tool */
int32_t tn_tool_run(struct tn_session *s, const char *const *argv, const char *dir, uint64_t timeout_ms, struct tn_token *stop, char *output, uint64_t cap);
int32_t tn_tool_dir(char *path, uint64_t cap);
void tn_tool_dir_remove(const char *path);

/* error.c: the thread's last error of tenon.h */
int32_t tn_error_set(int32_t code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int32_t tn_error_take(const struct tn_diag *d);               /* copies its text; returns its code */
void tn_error_clear(void);

struct tn_model {
	struct tn_session *session;
	struct tn_diag diag;
	struct tn_arena arena;
	struct tn_ir *ir;
	const char **dim_text;             /* by size: its expression, once asked for */
	_Atomic uint32_t uses;             /* the owner and each executable: constants are mapped from the file */
};
void tn_model_release(struct tn_model *m);

struct tn_tensor {
	_Atomic uint32_t uses;
	uint32_t dtype, rank;
	int64_t dims[8], strides[8];       /* elements */
	void *data;
	uint64_t bytes;                    /* of the dense value */
	int dense;
	void (*release)(void *arg); void *arg;
};
struct tn_tensor *tn_tensor_keep(struct tn_tensor *t);
void tn_tensor_to_dense(const struct tn_tensor *t, void *dst); /* row-major copy */
void tn_tensor_from_dense(struct tn_tensor *t, const void *src);

/* ---- compiling (pipeline.c): everything up to the plan; each part stays for `tenon show` */
struct tn_compiled {
	struct tn_places places;
	const struct tn_graph *ir;         /* after simplification */
	struct tn_assignment assigned, expanded, laid;
	struct tn_groups groups;
	const struct tn_nest **nests;      /* by group; NULL where none */
	struct tn_kernel **kernels;        /* by program; NULL for regions and interpreted nests */
	const struct tn_graph **regions;   /* by program; NULL for kernels */
	struct tn_plan_program *programs; uint32_t n_programs;
	struct tn_plan_source *sources;    /* by group */
	const char **texts; uint64_t *text_lens;   /* by slot: the unit; NULL where none */
	const struct tn_plan *plan;
};
enum tn_stage { TN_AT_IR, TN_AT_ASSIGN, TN_AT_EXPAND, TN_AT_LAYOUT, TN_AT_FUSE, TN_AT_NEST, TN_AT_KERNELS, TN_AT_PLAN };
struct tn_pipeline_options {
	uint32_t numerics; int deterministic, fuse_none;
	int late;                          /* 1: kernels may come after the first call: each needs a nest that the interpreter can run */
	enum tn_stage until;
	const uint64_t *deny; uint32_t n_deny;
	const unsigned char *no_text;      /* by slot: compile of text answered UNSUPPORTED, interpret its kernels */
	void (*progress)(void *ctx, const char *stage, double done); void *progress_ctx;
};
/* raises; stages past `until` are left zero */
void tn_pipeline(struct tn_session *s, const struct tn_graph *g, const struct tn_pipeline_options *o, struct tn_arena *a, struct tn_compiled *out);

/* ---- running (exec.c) */
struct tn_executable;
#endif
