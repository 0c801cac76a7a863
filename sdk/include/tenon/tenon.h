/* tenon.h - for programs: load a model or write a graph, compile it for the plugins that TENON_BACKEND names, run it.
 *
 *     struct tn_session *s;      struct tn_model *m;      struct tn_executable *x;
 *     tn_session_create(NULL, &s);
 *     tn_model_load(s, "model.onnx", &m);
 *     tn_executable_create(s, m, NULL, &x);
 *     struct tn_tensor *in[1], *out[1] = { NULL };
 *     tn_tensor_wrap(s, TN_I32, 2, (int64_t[]){ 4, 2048 }, NULL, bytes, NULL, NULL, &in[0]);
 *     if (tn_executable_run(x, in, 1, out, 1) != TN_OK) puts(tn_error_text());
 *
 * Functions return a tn_code; tn_error_text gives the words.  Objects are freed by their own destroy or release, which accept NULL;
 * an executable keeps what it needs of its model, and everything of a session is destroyed before it.
 * Threads: every function may be called from any thread; one executable may run on many threads at once.  Nothing prints.
 * Compiles alone as C11 and C++17.  Since 0.1. */
#ifndef TENON_TENON_H
#define TENON_TENON_H
#include <tenon/types.h>
#ifdef __cplusplus
extern "C" {
#endif
#if defined __GNUC__
#define TN_API __attribute__((visibility("default")))
#else
#define TN_API
#endif

struct tn_session;      /* open plugins, threads, caches */
struct tn_model;        /* a graph in the IR, read-only */
struct tn_executable;   /* a model compiled for the session's plugins */
struct tn_tensor;       /* dtype, shape, strides, device and bytes; counted references */

/* tn_error_text - words of the last failure on this thread; "" after none.  Valid until the next call on this thread. */
TN_API const char *tn_error_text(void);
TN_API const char *tn_version(void);                      /* "0.1.0" */

/* ---- sessions */
struct tn_session_options {
	struct tn_head head;          /* { sizeof, 0 } */
	const char *backend;          /* like TENON_BACKEND: ids or paths, "a,b:1,./c.so"; NULL: the variable, else the build's default */
	const char *plugin_path;      /* like TENON_PLUGIN_PATH; NULL: the variable, else the build's folders */
	const char *cache_dir;        /* NULL: TENON_CACHE_DIR, else XDG_CACHE_HOME/tenon, else ~/.cache/tenon; "" : none */
	uint32_t threads, validate;   /* threads 0: TENON_THREADS, else the cores of this process; validate 1: check every plugin call */
	void (*log)(void *ctx, uint32_t level, const char *text);   /* NULL: dropped; level as tn_host.log; on any thread, also several at once */
	void *log_ctx;
	uint64_t list_all;            /* 1: open what is not selected, too, to learn its devices; a list that can't be had is no error */
};
TN_CLOSE(tn_session_options, list_all);
/* tn_session_create - load and open the plugins.  A backend in the list that is there but can't be used is logged and passed over.
 * TN_E_ARG: a backend in the list does not exist (the text lists what there is), or none of the list can be used (it says why). */
TN_API int32_t tn_session_create(const struct tn_session_options *o, struct tn_session **out);
TN_API void tn_session_destroy(struct tn_session *s);

enum tn_plugin_state { TN_PLUGIN_LOADED = 1, TN_PLUGIN_FILTERED = 2, TN_PLUGIN_INCOMPATIBLE = 3, TN_PLUGIN_NO_DEVICE = 4, TN_PLUGIN_BROKEN = 5, TN_PLUGIN_UNTRUSTED = 6 };
struct tn_plugin_info {
	struct tn_head head;
	const char *id, *version, *path, *device, *reason;   /* "" where not known; valid until the session is destroyed */
	uint32_t state;               /* enum tn_plugin_state */
	uint32_t order;               /* 1: first in the list of backends; 0: not selected */
};
/* tn_session_plugin - what became of candidate i (also those not selected); TN_E_RANGE past the last */
TN_API int32_t tn_session_plugin(struct tn_session *s, uint64_t i, struct tn_plugin_info *out);

/* ---- models */
TN_API int32_t tn_model_load(struct tn_session *s, const char *path, struct tn_model **out);              /* .onnx, .tn */
TN_API int32_t tn_model_parse(struct tn_session *s, const char *text, uint64_t len, struct tn_model **out); /* the IR's text form (docs/ir.md) */
TN_API void tn_model_destroy(struct tn_model *m);
struct tn_port {
	struct tn_head head;
	const char *name;
	uint32_t dtype, rank;
	int64_t dims[8];              /* -1 where symbolic */
	const char *dim_names[8];     /* the expression of a symbolic dim ("n", "2*n + 1"), else "" */
};
TN_API int32_t tn_model_input(const struct tn_model *m, uint64_t i, struct tn_port *out);    /* TN_E_RANGE past the last */
TN_API int32_t tn_model_output(const struct tn_model *m, uint64_t i, struct tn_port *out);

/* ---- tensors */
TN_API int32_t tn_tensor_create(struct tn_session *s, uint32_t dtype, uint32_t rank, const int64_t *dims, struct tn_tensor **out);  /* zeroed, on the host */
/* wrap memory of the caller's: strides in elements, NULL for dense row-major; release(arg) is called once, when the last use is over */
TN_API int32_t tn_tensor_wrap(struct tn_session *s, uint32_t dtype, uint32_t rank, const int64_t *dims, const int64_t *strides, void *data,
	void (*release)(void *arg), void *arg, struct tn_tensor **out);
TN_API void tn_tensor_release(struct tn_tensor *t);
TN_API uint32_t tn_tensor_dtype(const struct tn_tensor *t);
TN_API uint32_t tn_tensor_rank(const struct tn_tensor *t);
TN_API int64_t tn_tensor_dim(const struct tn_tensor *t, uint32_t i);        /* elements; 0 past the rank */
TN_API int64_t tn_tensor_stride(const struct tn_tensor *t, uint32_t i);     /* elements */
TN_API const char *tn_tensor_device(const struct tn_tensor *t);             /* "host" */
TN_API void *tn_tensor_data(struct tn_tensor *t);                           /* host address of the first element; NULL when it is elsewhere */
TN_API uint64_t tn_tensor_bytes(const struct tn_tensor *t);                 /* of the dense value */

/* ---- executables */
struct tn_executable_options {
	struct tn_head head;
	uint32_t numerics;            /* enum tn_numerics of nest.h; 0: default */
	uint32_t deterministic;
	uint32_t wait;                /* 1: create returns when all kernels are compiled; 0: it may answer from the interpreter at first */
	uint32_t fuse;                /* 0: yes; 1: every node alone (for finding faults) */
	void (*progress)(void *ctx, const char *stage, double done);   /* NULL: none; done is 0 to 1 */
	void *progress_ctx;
};
TN_API int32_t tn_executable_create(struct tn_session *s, const struct tn_model *m, const struct tn_executable_options *o, struct tn_executable **out);
TN_API void tn_executable_destroy(struct tn_executable *x);     /* waits for calls in flight */
/* tn_executable_run - one call.  Inputs in the model's order, with its dtypes and shapes (TN_E_ARG names the input, the dim and both
 * values).  outputs[i] NULL: a new tensor is made and is the caller's to release; else it is written, and must have the right shape. */
TN_API int32_t tn_executable_run(struct tn_executable *x, struct tn_tensor *const *inputs, uint64_t n_inputs, struct tn_tensor **outputs, uint64_t n_outputs);
struct tn_executable_stats {
	struct tn_head head;
	uint64_t nodes, launches, kernels;        /* nodes of the model; launches of a call; distinct kernels */
	uint64_t interpreted, on_host;            /* launches that run in the nest interpreter; nodes on the strict evaluator */
	uint64_t from_cache;                      /* kernels whose code came from the disk cache */
	uint64_t arena_bytes, constant_bytes;     /* of the newest call; resident constants */
	double compile_ms;
};
TN_API int32_t tn_executable_stat(const struct tn_executable *x, struct tn_executable_stats *out);
/* tn_executable_place - i-th plugin of the session's order: its id and how many launches of a call run there; TN_E_RANGE past the last,
 * which is the host itself ("host") */
TN_API int32_t tn_executable_place(const struct tn_executable *x, uint64_t i, const char **id, uint64_t *launches);

#ifdef __cplusplus
}
#endif
#endif
