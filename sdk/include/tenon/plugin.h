/* plugin.h - the backend ABI: everything a vendor includes.
 *
 * A backend is one shared object that exports one symbol, tn_plugin_query_0, made by TN_PLUGIN at the end of its source.  It
 * answers with a struct tn_backend: tables that say what it can do, and functions.  Eleven functions and a few rows are a first
 * backend (examples/plugin); every other member is optional, and its comment says what the host does without it.
 *
 * Three ways in, mixed freely:
 *   kernel   dialect rows and templates: the host fuses, renders text in the plugin's language, the plugin compiles and launches it
 *   library  a rule with a pattern over primitives: the plugin gets the matched nodes as a graph and calls its library
 *   graph    a rule that claims whole regions: the same, for vendors with a graph compiler of their own
 *
 * Rules for every function
 *   - returns a tn_code; the words that explain it go through host->fail.  Nothing throws, exits or aborts across.
 *   - destroyers return nothing and accept NULL.  Whoever's table created an object destroys it.  Children are destroyed first.
 *   - arguments are borrowed for the call unless the comment says otherwise.  The host has checked them (ranges, handles, NULLs,
 *     alignment, overlaps): a plugin checks only what the host cannot know.
 *   - results come back through pointers that are never NULL.  On failure they are left alone or NULL; the host reads none of them.
 *   - INIT: one thread at a time, no other call of this instance meanwhile.  FREE: any thread, concurrently.  OBJECT: one thread an object.
 *     A member with no mark of its own has that of its group's first.
 *   - calls of the host's functions are allowed inside any call, and on threads of the plugin's own until close returns.
 * Every open struct that the host passes is backed by TN_ROOM zeroed bytes, so a plugin built with newer headers reads zeros.
 * What a table points to (rows, texts, functions) stays as it is while the library is loaded: the host never unloads one.
 * "0.1:" in a comment is what the host of this ABI minor does not do yet; the rest of the sentence is the contract all the same.
 * Compiles alone as C11 and C++17. */
#ifndef TENON_PLUGIN_H
#define TENON_PLUGIN_H
#include <tenon/nest.h>
#ifdef __cplusplus
extern "C" {
#endif

#define TN_ABI_MAJOR 0
#define TN_ABI_MINOR 1
#define TN_ROOM      512
#define TN_TEMPLATE_VERSION 0    /* of the template language (docs/templates.md) */

/* ---- opaque objects: completed by nobody; a plugin casts in one inline function a kind */
struct tn_self;      /* one open plugin */
struct tn_device;
struct tn_memory;    /* a slab that a plugin allocated */
struct tn_program;   /* one compiled entry */
struct tn_queue;
struct tn_timeline;  /* a 64-bit counter that only grows, or failed for ever */
struct tn_record;    /* a recorded list of launches */
struct tn_token;     /* the host's end of one asynchronous piece of work */

/* ---- what the host offers: the only link to it.  All FREE.  Members up to `extension` exist in every host of this major. */
struct tn_host {
	struct tn_head head;         /* TN_KIND_HOST */
	void *ctx;                   /* first argument of every member; not shared between plugins */
	/* size bytes at a power-of-two alignment (8 to 4096), contents undefined; size 0 gives a pointer too.  NULL when there is none, or
	 * when align is neither.  Freed by free of the same table.  Fault tests fail exactly these. */
	void   *(*alloc)(void *ctx, uint64_t size, uint64_t align);
	void    (*free)(void *ctx, void *p);                             /* accepts NULL */
	/* keep the words that explain the failure of the call in progress on this thread; returns code, so `return h->fail(...)`.
	 * vendor_code: the driver's own number, or 0.  The text is copied (1023 bytes of it); of several the last counts.  Work
	 * that ends on another thread: said there before host->done, which takes them along with a failure and forgets them else. */
	int32_t (*fail)(void *ctx, int32_t code, int64_t vendor_code, const char *text);
	/* one line for the user, copied, shown with the plugin's id before it.  level 0 error, 1 warning, 2 information, 3 debugging: the
	 * tenon command shows 0 and 1, all under TENON_LOG=all */
	void    (*log)(void *ctx, uint32_t level, const char *text);
	/* the user's value of an option, by its whole name "plugin.name" (TENON_OPTIONS=plugin.name=value,...), 0-terminated in out;
	 * UNSUPPORTED when not set, RANGE when cap is too small (nothing written) */
	int32_t (*option)(void *ctx, const char *name, char *out, uint64_t cap);
	/* f(arg, i) for each i below n, on the host's threads, in any order; returns OK when all are done.  May be called inside itself
	 * (then it runs on the caller).  f returns: no longjmp, no exception leaves it. */
	int32_t (*parallel)(void *ctx, uint64_t n, void (*f)(void *arg, uint64_t i), void *arg);
	/* f(arg, rank, n) on n threads that really run at once, so that they may meet at barriers; n is threads(), or 1 (inside of a team,
	 * or while another call has it).  As parallel else. */
	int32_t (*team)(void *ctx, void (*f)(void *arg, uint32_t rank, uint32_t n), void *arg);
	uint32_t (*threads)(void *ctx);                                  /* how many a team has, 1 or more; the same for the life of the instance */
	/* run a program found on the PATH, without a shell: argv ends with NULL, dir (NULL: where the process stands) becomes its folder, its
	 * input is empty, its environment ours.  Returns when it has ended.  Killed with its children after timeout_ms (TIMEOUT) or when
	 * the work of `stop` (may be NULL) is cancelled (CANCELLED).  UNSUPPORTED: no such program.  CALL: it failed.  What it wrote to
	 * both outputs goes to the log (level 3); up to cap - 1 bytes of it and a 0 are in output (may be NULL). */
	int32_t (*tool)(void *ctx, const char *const *argv, const char *dir, uint64_t timeout_ms, struct tn_token *stop, char *output, uint64_t cap);
	/* a private empty folder (below TMPDIR, else /tmp) that is removed by tool_dir_remove, with all that is in it; path gets its
	 * 0-terminated name.  RANGE: cap is too small (128 is enough for /tmp).  CALL: it cannot be made */
	int32_t (*tool_dir)(void *ctx, char *path, uint64_t cap);
	void    (*tool_dir_remove)(void *ctx, const char *path);
	/* an asynchronous submission ended with this code: once a token, any thread, no lock held, also before the submitting call has
	 * returned OK.  Never for a submission that failed.  The token is gone afterwards.  ARG: told twice, or NULL */
	int32_t (*done)(void *ctx, struct tn_token *t, int32_t code);
	/* poll in long work, with how much of it is done (0 to 1): CANCELLED or OK; t may be NULL (OK) */
	int32_t (*stopped)(void *ctx, struct tn_token *t, double progress);
	/* bytes kept between processes by content key; got bytes are the caller's, freed by free.  GONE: not there, or the user has no
	 * cache.  The host adds plugin, version and ABI to the key and checks what it reads.  put copies; its failure costs time only. */
	int32_t (*cache_get)(void *ctx, const uint64_t key[4], void **bytes, uint64_t *size);
	int32_t (*cache_put)(void *ctx, const uint64_t key[4], const void *bytes, uint64_t size);
	void    (*hash)(void *ctx, const void *bytes, uint64_t size, uint64_t key[4]);      /* BLAKE2b-256 */
	const void *(*extension)(void *ctx, const char *name, uint32_t major);  /* a named table that lives as long as this one, or NULL (0.1: always) */
};
TN_CLOSE(tn_host, extension);

/* ---- devices */
enum tn_device_flag {
	TN_DEV_SYNC = 1,            /* launch, replay and copy have finished when they return; tokens are NULL */
	TN_DEV_VIRTUAL = 2,         /* an emulation: never chosen when a real one is there (0.1: the user's list alone chooses) */
	TN_DEV_STATIC_SHAPES = 4,   /* graphs must have every dim fixed: the host specialises (0.1: it does not; DECLINE regions with symbols) */
	TN_DEV_HOST_ADDRESS = 8,    /* a tn_ref may have memory NULL and a host address in offset, for launches too: then values live in the
	                               host's memory, nothing is copied, and the interpreter can answer while a kernel compiles */
	TN_DEV_NO_F32_DENORMALS = 16    /* f32 below 2^-126 may read as 0 and be flushed: tolerances allow for it */
};
enum tn_space_kind { TN_SPACE_HOST = 1, TN_SPACE_PINNED = 2, TN_SPACE_DEVICE = 3, TN_SPACE_SCRATCHPAD = 4, TN_SPACE_SHARED = 5 };
struct tn_space {               /* space numbers are row numbers; buffers live in the first row of kind DEVICE or SHARED, else in row 0 */
	uint32_t kind;          /* enum tn_space_kind */
	uint32_t flags;         /* 0 */
	uint64_t capacity;      /* bytes; 0: the machine's */
	uint64_t max_alloc;     /* bytes in one alloc; 0: capacity */
	uint64_t align;         /* of a buffer inside a slab; a power of two, 0 means 1.  The host aligns to 64 at least */
	uint64_t granule;       /* slab sizes are multiples; 0: 1 */
};
TN_SPAN(tn_space);
/* queues that may be created.  kinds: 1 compute, 2 copy in, 4 copy out, 8 copy inside; count: how many at a time */
struct tn_queue_row { uint32_t kinds, count; };
TN_SPAN(tn_queue_row);
/* filled by `devices` in zeroed memory with its head set.  Texts are 0-terminated within their arrays. */
struct tn_device_info {
	struct tn_head head;        /* TN_KIND_DEVICE_INFO; left as it is */
	char uid[64];               /* stable between processes: PCI address, UUID.  TENON_BACKEND=id:uid names it */
	char name[64];              /* for people: "AMD EPYC, AVX2, 2 threads" */
	char target[64];            /* what tn_compile.target takes and caches are keyed by; not empty */
	char driver[32];            /* version of what artifacts depend on besides the target: a part of cache keys */
	char firmware[32];          /* for people and certificates */
	uint64_t flags;             /* enum tn_device_flag */
	uint32_t numa;              /* node that is nearest (0.1: not looked at) */
	uint32_t max_rank;          /* of a value in a region; 0: 8, which is the most */
	uint64_t max_elements;      /* in one value; 0: no limit */
	uint64_t max_groups[3];     /* of a grid; 0: no limit.  0.1: the three limits do not steer placement, so let caps and `can` refuse */
	double gflops, gib_s;       /* rough f32 peak and memory bandwidth, for cost estimates; 0: not known */
	struct tn_space_rows spaces;       /* one row or more; they stay valid until close */
	struct tn_queue_row_rows queues;   /* none: one queue, named by NULL.  (0.1: all work goes to the queue NULL) */
};
TN_CLOSE(tn_device_info, queues);

/* ---- tables: static data, listable, diffable.  TENON_DISABLE=plugin:NAME,... switches rows off: NAME is a primitive's name (dialect, caps)
 * or the id of a rule, a template or a layout; so give a rule and a template different ids. */

/* capability, level 1: what may be claimed one node at a time, by a rule with TN_RULE_GRAPH.  No row is a final no; a row is an upper
 * bound that `can` may lower, and `compile` by DECLINED; for atoms of a plugin of class full it is a promise.  Primitives of the kernel
 * way need no rows: their dialect rows and templates count.  The first row that covers the node counts. */
struct tn_cap_row {
	uint32_t prim;                          /* enum tn_prim */
	uint32_t version;                       /* of the primitive's meaning: its row's `since` or later */
	uint64_t out, in0, in1, rest;           /* dtype masks (TN_M): every result, first, second, each further operand */
	uint32_t rank_lo, rank_hi;              /* of the first operand (of the result where there is none); 0, 0: 0 to 8 */
	uint32_t flags;                         /* 0 */
	uint32_t ulp;                           /* worst error claimed, 0: the table's */
	const char *where;                      /* a predicate over the node, or NULL: always.  Numbers, + - * / %, comparisons, && || !, and the
	                                           names rank, elements, dim0 to dim7 and dim(i) of the first operand and the node's integer
	                                           attributes; one that hangs on a symbolic size does not hold */
};
TN_SPAN(tn_cap_row);

/* dialect: how a primitive is spelled.  The row is chosen by form and by the dtypes of the first operand that is not bool (bool when all
 * are) and of the result; the first that fits.  A composite without a row is written out by its definition. */
enum tn_form { TN_SCALAR = 1, TN_VECTOR = 2, TN_BLOCK = 4 };
struct tn_dialect_row {
	uint32_t prim, forms;                   /* enum tn_prim; mask of enum tn_form */
	uint64_t in, out;                       /* dtype masks; any of in goes with any of out */
	const char *needs;                      /* a word that tn_device_info.target holds where the row may be used, or NULL.  Another row
	                                           must serve the other targets */
	const char *text;                       /* @0@ @1@ ... operands, @T@ result type, @T0@ type of operand 0, @attr(alpha)@ an attribute */
};
TN_SPAN(tn_dialect_row);
#define TN_SPELL(p, forms, in, out, text)  { TN_##p, (forms), (in), (out), NULL, (text) }

/* words: how the rest is spelled: types, literals, loads, stores, splats, arguments (docs/templates.md lists the roles).  The dtypes that
 * `type` rows name are those that the kernel way takes; without such rows all plain ones. */
struct tn_word_row {
	const char *role;
	uint32_t forms, reserved;               /* mask of enum tn_form, 0: any; reserved 0 */
	uint64_t dtypes;                        /* mask, 0: any */
	const char *text;
};
TN_SPAN(tn_word_row);
#define TN_WORD(role, forms, dtypes, text) { (role), (forms), 0, (dtypes), (text) }

/* templates: loop structure in the plugin's language with @holes@.  Tried by benefit, then in the table's order; one that does not
 * render (a spelling is missing) is passed over, and a nest that none renders is interpreted on the host. */
struct tn_param_row {
	const char *name;                       /* known in expressions and as @param(name)@ */
	int32_t value[14];                      /* choices; value[0] is the default (0.1: the only one that is used) */
	uint32_t count, reserved;               /* 1 to 14; 0 */
};
TN_SPAN(tn_param_row);
struct tn_template_row {
	const char *id;
	uint32_t version, nest;                 /* TN_TEMPLATE_VERSION; enum tn_nest_class */
	const char *text;
	const char *where;                      /* predicate over the nest: "extent(INNER) >= 8"; NULL: always */
	const char *scratch;                    /* bytes of private scratch a tile needs, an expression; NULL: 0.  tn_launch.scratch holds so
	                                           many, rounded up to 64: on a TN_DEV_HOST_ADDRESS device for each of host->threads (one
	                                           piece a member of the team), else once */
	const char *launch[3];                  /* grid, expressions over extents and params; NULL: 1 */
	struct tn_param_row_rows params;
	double benefit;                         /* higher is tried first */
	uint64_t flags;                         /* 0 */
};
TN_SPAN(tn_template_row);

/* rules: what may become one kernel or one region.  A single node needs none where a template of its class is there. */
enum tn_rule_flag {
	TN_RULE_GRAPH = 1,      /* the region comes to compile as a graph (library and graph way); else nests and templates */
	TN_RULE_ATOMS = 2,      /* with GRAPH: composites are expanded before matching, down to what caps name.  0.1: always so */
	TN_RULE_STATIC = 4      /* all dims must be fixed: a node with symbols in its shapes is not claimed */
};
#define TN_CLASS(c) (UINT32_C(1) << (c))      /* masks over enum tn_prim_class */
enum tn_prim_class {
	TN_CLASS_POINTWISE = 1, TN_CLASS_VIEW = 2, TN_CLASS_DATA = 3, TN_CLASS_REDUCE = 4, TN_CLASS_CUMULATE = 5, TN_CLASS_CONTRACT = 6,
	TN_CLASS_CONVOLVE = 7, TN_CLASS_GATHER = 8, TN_CLASS_SCATTER = 9, TN_CLASS_ROWS = 10, TN_CLASS_SORT = 11, TN_CLASS_ATTEND = 12,
	TN_CLASS_POOL = 13, TN_CLASS_RANDOM = 14, TN_CLASS_HOST = 15, TN_CLASS_PACK = 16
};
#define TN_CLASS_ALL UINT32_C(0x17ffe)         /* every class but HOST */
struct tn_rule_row {
	const char *id; uint32_t version;        /* for show and TENON_DISABLE; of the rule, for people */
	uint32_t anchor, producers, consumers;   /* masks of classes: the anchor's, what may be drawn in before and after it.  With GRAPH a
	                                            node of any of the three that caps name may join the region */
	uint32_t max_inputs, max_nodes;          /* 0: no limit.  max_inputs: of kernels.  A single node may have more of both */
	const char *pattern;                     /* .tn text of a small graph to match (library way), or NULL.  0.1: such rows are passed over */
	const char *where;                       /* predicate over the anchor, as in a capability row, or NULL: always */
	double benefit;                          /* of the rules that allow a set the one with the highest counts; the first of equal ones */
	uint64_t flags;                          /* enum tn_rule_flag */
};
TN_SPAN(tn_rule_row);

/* opaque layouts: made by the node `pack` with this id, which the plugin claims (caps, a GRAPH rule); size through layout_bytes.  An id
 * that starts with "dot.b." is for operand B of contractions: packed once where constant, read by a template (@layout(B, id)@). */
struct tn_layout_row { const char *id; uint64_t dtypes, flags; };   /* dtypes: mask; flags 0 */
TN_SPAN(tn_layout_row);
/* what can be compiled for with no device present; parent: also runs this one's code, or NULL; flags 0 */
struct tn_target_row { const char *id, *parent; uint64_t flags; };
TN_SPAN(tn_target_row);

/* ---- asking */
enum tn_answer_to_can { TN_CAN_NO = 0, TN_CAN_YES = 1 };
struct tn_verdict {
	uint32_t answer;                        /* enum tn_answer_to_can; set to YES before the call */
	uint32_t reason;                        /* a tn_code that explains a no; 0: none given */
	uint32_t cost_ns;                       /* of the node alone; 0: not known.  0.1: not looked at */
	uint32_t reserved;
};
TN_SPAN(tn_verdict);

/* ---- compiling: many entries in one call, so that one compiler start serves a graph.  All of it is borrowed for the call, but graphs'
 * constants (see graph.h).  A call is kernel way (text set, every entry's graph NULL) or graph way (text NULL, every graph set). */
struct tn_entry {
	const char *name;               /* kernel way: the function in the text; graph way: for people */
	const struct tn_graph *graph;   /* graph way: the region; buffers of a launch are its inputs, then its outputs; scalars its symbols.
	                                   An input whose value also has `constant` set is known at compile time.  Kernel way: NULL */
	const struct tn_nest *nest;     /* kernel way: what the text computes, for plugins that want to know; may be NULL */
	const char *rule;               /* id of the template of a kernel, of the rule of a region */
};
TN_SPAN(tn_entry);
struct tn_compile {
	struct tn_head head;            /* TN_KIND_COMPILE */
	const char *target;             /* a tn_target_row id or tn_device_info.target; the device may be absent */
	struct tn_entry_rows entries;   /* one or more */
	const char *text;               /* kernel way: one unit that holds all entries, 0-terminated; else NULL */
	uint64_t text_len;
	uint32_t numerics;              /* enum tn_numerics: under TN_STRICT no multiply and add may become one */
	uint32_t optimise;              /* 0 quick, 1 normal, 2 hard */
	const void *artifact;           /* load way: bytes that an earlier compile saved, with text as well; NULL: none.  STALE, or any other
	                                   failure: the host calls again without */
	uint64_t artifact_len;
	struct tn_token *job;           /* for host->stopped and host->tool; may be NULL */
	/* out: arrays that the host provides, zeroed, entries.count long */
	struct tn_program **programs;   /* owned by the host, released by program_release; all or none are set */
	uint64_t *scratch;              /* bytes of workspace that each launch needs: tn_launch.scratch has as many, or the template's when those are more */
	/* out */
	void *save;                     /* an artifact for the host's cache, made with host->alloc, freed by the host; NULL: none */
	uint64_t save_len;
	const uint32_t *declined;       /* with TN_E_DECLINED: node numbers of entry `declined_entry`; live until the next call on this thread.
	                                   0.1: the whole region goes elsewhere */
	uint64_t n_declined;
	uint64_t declined_entry;
};
TN_CLOSE(tn_compile, declined_entry);

/* ---- running */
/* size bytes at offset of a slab.  memory NULL: offset is a host address (in launches only for TN_DEV_HOST_ADDRESS).  Offsets of buffers are
 * multiples of the space's align; those of copies may be any.  size 0: nothing is there, memory and offset mean nothing. */
struct tn_ref  { struct tn_memory *memory; uint64_t offset, size; };
struct tn_sync { struct tn_timeline *timeline; uint64_t value; };   /* wait until it is value or more; signal: set it to value */
/* lives for the call: what an asynchronous device needs later it copies.  The memory itself stays until the work is done. */
struct tn_copy {
	struct tn_head head;            /* TN_KIND_COPY */
	struct tn_queue *queue;         /* NULL: the one there is */
	struct tn_ref dst, src;         /* equal sizes; at most one is a host address, which stays valid until the copy is done; no overlap */
	const struct tn_sync *waits, *signals; uint64_t n_waits, n_signals;   /* 0.1: none; what the copy depends on has ended before */
	struct tn_token *token;         /* told through host->done; NULL on a TN_DEV_SYNC device */
};
TN_CLOSE(tn_copy, token);
/* lives for the call, as a copy does */
struct tn_launch {
	struct tn_head head;            /* TN_KIND_LAUNCH */
	struct tn_queue *queue;         /* NULL: the one there is */
	struct tn_program *program;
	const struct tn_ref *buffers; uint64_t n_buffers;     /* in the order of the nest's buffers, or inputs then outputs of the region */
	const int64_t *scalars;       uint64_t n_scalars;     /* in the order fixed at rendering, or the region's symbols */
	uint32_t grid[3];               /* kernel way: what the template's launch says, no dim 0 (such launches are not sent).  Graph way: 1 1 1 */
	uint32_t after;                 /* what it waits for on its queue, enum tn_after */
	struct tn_ref scratch;          /* contents undefined; this launch's until it ends; size 0 where none is needed */
	const struct tn_sync *waits, *signals; uint64_t n_waits, n_signals;   /* 0.1: none */
	struct tn_token *token;         /* NULL on a TN_DEV_SYNC device: finished on return */
};
TN_CLOSE(tn_launch, token);
enum tn_after { TN_AFTER_ALL = 0, TN_AFTER_NOTHING = 1, TN_AFTER_TILE = 2 };  /* all earlier launches; none; the same tile of the one before */
struct tn_counter { const char *name, *unit; double value; };                 /* texts that stay valid until device_close */

/* ---- the backend.  R: required.  In brackets: what the host does without it.  Members that belong together (queue_*, timeline_*,
 * record with replay and record_release; layouts with layout_bytes) are there all or none. */
struct tn_backend {
	struct tn_head head;            /* TN_KIND_BACKEND */
	const char *id;                 /* reverse DNS for vendors ("com.example.npu"); [a-z0-9._]; the one that TN_PLUGIN got */
	const char *version;            /* for people and cache keys, below 64 bytes; NULL: "" */
	/* tables; each may be TN_NO_ROWS */
	struct tn_dialect_row_rows dialect;
	struct tn_word_row_rows words;
	struct tn_template_row_rows templates;
	struct tn_rule_row_rows rules;
	struct tn_cap_row_rows caps;
	struct tn_layout_row_rows layouts;
	struct tn_target_row_rows targets;
	/* life */
	/* R INIT  make one instance; h stays valid until close.  Several instances in one process must work, also after a close: nothing of
	 * theirs in static variables.  A failure with its words is what `tenon plugins` shows */
	int32_t (*open)(const struct tn_host *h, struct tn_self **self);
	void    (*close)(struct tn_self *s);              /* R INIT  joins own threads; the host has destroyed all objects */
	/* R INIT  fill out with device i; RANGE past the last.  No device of the kind: RANGE for 0, with words from host->fail that say why.
	 * May be asked again at any time; the answer for one i does not change while a device is open */
	int32_t (*devices)(struct tn_self *s, uint32_t i, struct tn_device_info *out);
	int32_t (*device_open)(struct tn_self *s, uint32_t i, struct tn_device **d);   /* R INIT  an i that `devices` described */
	void    (*device_close)(struct tn_device *d);     /* R INIT  all work has ended or the device is dead */
	/* memory */
	/* R FREE  a slab in a space, contents undefined; the host sub-allocates.  size is over 0 and a multiple of the granule, flags 0.  NOMEM
	 * when it does not fit: the host trims and retries.  Not called for space 0 of a TN_DEV_HOST_ADDRESS device: that memory is the host's */
	int32_t (*alloc)(struct tn_device *d, uint32_t space, uint64_t size, uint64_t flags, struct tn_memory **m);
	void    (*release)(struct tn_memory *m);          /* R FREE  no work uses it any more */
	int32_t (*copy)(struct tn_device *d, const struct tn_copy *c);                 /* R FREE  between host and device or inside a device, flat bytes */
	int32_t (*map)(struct tn_memory *m, void **at);   /* FREE  a host address valid until release; UNSUPPORTED for this slab [copies] */
	int32_t (*budget)(struct tn_device *d, uint32_t space, uint64_t *used, uint64_t *room);  /* FREE  bytes [capacity less the host's own count] */
	int32_t (*trim)(struct tn_device *d, uint32_t level);                          /* FREE  give back caches, level 0 (what is idle) to 2 (all) [nothing] */
	/* asking and compiling */
	/* FREE  level 2: one verdict a node, on the shapes at hand, which may hold symbols.  A yes means that the node alone compiles and is
	 * right.  by_node: nodes.count long, all YES before; a failure counts as that.  Asked about each form of a graph (as loaded, expanded), of
	 * plugins with a GRAPH rule; what the kernel way takes stays with it [the tables alone] */
	int32_t (*can)(struct tn_self *s, const char *target, const struct tn_graph *g, struct tn_verdict *by_node);
	/* R FREE  see struct tn_compile.  UNSUPPORTED for text: no compiler here, the host interprets this plugin's nests.  DECLINED or
	 * UNSUPPORTED for a region: it does not fit, its nodes go to who is next (the graph is placed anew, twice at most).  Any other code
	 * ends the user's call with the words */
	int32_t (*compile)(struct tn_self *s, struct tn_compile *c);
	void    (*program_release)(struct tn_program *p); /* R FREE  no launch or record uses it any more */
	int32_t (*artifact_check)(struct tn_self *s, const void *bytes, uint64_t size, const char *target); /* FREE  OK or STALE [STALE when plugin version or target differ] */
	/* FREE  bytes of a value in an opaque layout; dims fixed [layouts must be empty] */
	int32_t (*layout_bytes)(struct tn_self *s, const char *layout, uint32_t dtype, uint32_t rank, const int64_t *dims, uint64_t *bytes);
	/* running */
	/* R FREE  runs or enqueues; programs may run many times at once, on different buffers.  Launches of one queue start in the order in
	 * which they were called, as `after` says; the host waits for tokens before it reads, copies or reuses what they write elsewhere */
	int32_t (*launch)(struct tn_device *d, const struct tn_launch *l);
	int32_t (*queue_create)(struct tn_device *d, uint32_t row, struct tn_queue **q);  /* FREE  row of tn_device_info.queues [one queue, NULL] */
	void    (*queue_release)(struct tn_queue *q);                                  /* FREE  its work has ended, or it is dead */
	int32_t (*timeline_create)(struct tn_device *d, struct tn_timeline **t);       /* FREE  at value 0 [the host counts tokens] */
	void    (*timeline_release)(struct tn_timeline *t);                            /* FREE  nobody waits for it */
	int32_t (*timeline_wait)(struct tn_timeline *t, uint64_t value, uint64_t timeout_ns);  /* FREE  OK, TIMEOUT; a failed timeline gives its code, always */
	/* FREE  a list of launches that will run together, in order; what it copies it must be able to patch.  The host records a call that
	 * runs on this plugin alone.  UNSUPPORTED: not this list [launch by launch] */
	int32_t (*record)(struct tn_device *d, const struct tn_launch *const *l, uint64_t n, struct tn_record **r);
	/* OBJECT  run the list with these launches' buffers, scalars and grids (programs are as recorded); their tokens are NULL, one token
	 * ends them all: as in a launch */
	int32_t (*replay)(struct tn_record *r, const struct tn_launch *const *l, uint64_t n, struct tn_token *token);
	void    (*record_release)(struct tn_record *r);                                /* FREE  no replay runs */
	/* watching */
	int32_t (*counters)(struct tn_device *d, uint32_t i, struct tn_counter *out);  /* FREE  counter i; RANGE past the last [none] */
	int32_t (*clock)(struct tn_device *d, uint64_t *device_ns, uint64_t *host_ns); /* FREE  both at one moment; host: CLOCK_MONOTONIC [host times only] */
	int32_t (*hint)(struct tn_device *d, uint32_t what, uint64_t value);           /* FREE  advice; unknown ones are OK.  None is defined [nothing] */
	const void *(*extension)(struct tn_self *s, const char *name, uint32_t major); /* FREE  a named table that lives until close, or NULL [NULL] */
};
TN_CLOSE(tn_backend, extension);

/* ---- entry: filled by TN_PLUGIN, never by hand.  The query is pure: it is asked before open, maybe often, and does nothing else.
 * hello: the minors that the host speaks, its layout hash, feature bits (0), its name for people.  answer: the minor of the headers that
 * the plugin was built with, the oldest that it works with, its hash, features (0), and its table, which stays. */
struct tn_hello  { struct tn_head head; uint32_t minor_lo, minor_hi; uint64_t layout_hash, features; const char *host; };
struct tn_answer { struct tn_head head; uint32_t built, needs; uint64_t layout_hash, features; const struct tn_backend *backend; };
TN_CLOSE(tn_hello, host);
TN_CLOSE(tn_answer, backend);

/* A number made of the sizes of all structs that cross; while TN_ABI_MAJOR is 0 the host's and the plugin's must be equal. */
#define TN_LAYOUT_HASH \
	((UINT64_C(0x7e40) << 48) ^ (uint64_t)sizeof(struct tn_host) ^ ((uint64_t)sizeof(struct tn_backend) << 9) ^ ((uint64_t)sizeof(struct tn_graph) << 18) ^ \
	 ((uint64_t)sizeof(struct tn_nest) << 27) ^ ((uint64_t)sizeof(struct tn_compile) << 33) ^ ((uint64_t)sizeof(struct tn_launch) << 38) ^ \
	 ((uint64_t)TN_ABI_MINOR << 44) ^ ((uint64_t)sizeof(struct tn_template_row) << 3))

#define TN_EXPORT __attribute__((visibility("default")))
TN_EXPORT int32_t tn_plugin_query_0(const struct tn_hello *h, struct tn_answer *a);
static inline int32_t tn_answer_(const struct tn_hello *h, struct tn_answer *a, const struct tn_backend *b, uint32_t needs) {
	a->built = TN_ABI_MINOR;
	a->needs = needs;
	a->layout_hash = TN_LAYOUT_HASH;
	a->features = 0;
	a->backend = b;
	return h->minor_hi < needs ? TN_E_VERSION : TN_OK;
}

/* An ELF note that says the same (type 1, sizes as in ELF), so that the loader judges a file before any of its code runs. */
struct tn_elf_note {
	uint32_t name_size, desc_size, type;
	char name[8];
	uint32_t major, built, needs, reserved;
	uint64_t layout_hash;
	char id[48];
};
#define TN_NOTE_NAME "Tenon"
#if defined __ELF__
#define TN_NOTE_(id, needs) \
	__attribute__((section(".note.tenon"), used, aligned(8))) static const struct tn_elf_note tn_note_ = \
		{ 6, (uint32_t)(sizeof(struct tn_elf_note) - offsetof(struct tn_elf_note, major)), 1, TN_NOTE_NAME, TN_ABI_MAJOR, TN_ABI_MINOR, (needs), 0, TN_LAYOUT_HASH, id };
#else
#define TN_NOTE_(id, needs)
#endif

/* TN_PLUGIN - the last line of a plugin.  id: a string literal under 48 bytes; backend: a const struct tn_backend;
 * needs: the oldest host minor it works with */
#define TN_PLUGIN(id, backend, needs) \
	TN_NOTE_(id, needs) \
	int32_t tn_plugin_query_0(const struct tn_hello *h, struct tn_answer *a) { return tn_answer_(h, a, &(backend), (needs)); }

#ifdef __cplusplus
}
#endif
#endif
