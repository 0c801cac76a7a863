/* schedule.h - from a graph to kernels: assign, expand, layout, fuse, nest.  Each stage reads a const value and writes a new one
 * into the caller's arena.  Nothing here knows a backend: it asks through the const tables of struct tn_place. */
#ifndef TENON_SCHEDULE_H
#define TENON_SCHEDULE_H
#include <tenon/plugin.h>
#include "base/arena.h"
#include "ir/ir.h"

/* one plugin in the user's order, as the host hands it over */
struct tn_place {
	const struct tn_backend *backend;      /* every optional member filled with the host's stub */
	struct tn_self *self;
	const struct tn_device_info *device;
};
struct tn_places {
	const struct tn_place *at; uint32_t n; /* slot n is the host itself: host operations and the strict evaluator */
	int (*disabled)(void *ctx, uint32_t slot, const char *row);   /* TENON_DISABLE: a primitive's name, a rule's or template's id; may be NULL */
	void *ctx;
	uint32_t numerics;                     /* enum tn_numerics */
	int deterministic;
	int fuse_none;                         /* kernels of one node each */
};

/* ---- assign: which slot runs each node.  One entry a node; deny: (node, slot) pairs that a compile declined, encoded node << 8 | slot */
struct tn_assignment { const struct tn_graph *g; const uint32_t *slot; };
struct tn_assignment tn_assign(const struct tn_graph *g, const struct tn_places *p, const uint64_t *deny, uint32_t n_deny, struct tn_arena *a);

/* ---- expand: composites that the assigned plugin has no row, rule or nest class for are opened; slots carry over.  Small integer
 * tensors that only feed host operations stay on the host. */
struct tn_assignment tn_expand_assigned(const struct tn_assignment *as, const struct tn_places *p, struct tn_arena *a);

/* tn_expand_assigned opens rows and reductions made of others (softmax, layer_norm, mean, var, ...), too: fuse finds their nests
 * in what they are made of, wherever a user wrote that by hand or not. */

/* ---- layout: chooses operand layouts for contractions and at boundaries; adds pack, unpack and copy nodes (a copy node where a
 * value moves between slots; none for graph inputs and constants, which are uploaded where they are read).  A constant operand of a
 * dot is packed where the plugin has a layout "dot.b.*" and claims pack: pack's operand is [batch.., K, N]; where K or N were several
 * dims a reshape of the packed value gives them back, and is always part of the dot's nest. */
struct tn_assignment tn_layout(const struct tn_assignment *as, const struct tn_places *p, struct tn_arena *a);

/* ---- fuse: groups in execution order; each becomes one launch */
enum tn_group_kind {
	TN_GROUP_KERNEL = 1,   /* a nest, text through a template (or the nest interpreter) */
	TN_GROUP_GRAPH = 2,    /* a region for the plugin's compile */
	TN_GROUP_ALIAS = 3,    /* a view that needs no work: the output is the input's bytes (reshape of a dense value) */
	TN_GROUP_COPY = 4,     /* between slots */
	TN_GROUP_HOST = 5      /* host operation or the strict evaluator: one node */
};
struct tn_group {
	uint32_t kind, slot;
	uint32_t nest;                           /* KERNEL: enum tn_nest_class */
	uint32_t from;                           /* COPY: slot it comes from */
	const char *rule;                        /* id, for show and disable */
	const uint32_t *nodes; uint32_t n_nodes; /* in graph order */
	const uint32_t *in; uint32_t n_in;       /* values read, constants included, each once */
	const uint32_t *out; uint32_t n_out;     /* values written that someone else reads */
	int constant;                            /* reads only constants: run once when the plan is made, kept resident */
};
/* A KERNEL group of class SCATTER updates its result in place: what runs it first fills that buffer with the scatter's operand 0,
 * which is among in but has no buffer of its own in the nest. */
struct tn_groups { const struct tn_graph *g; const struct tn_group *at; uint32_t n; };
struct tn_groups tn_fuse(const struct tn_assignment *as, const struct tn_places *p, struct tn_arena *a);

/* ---- nest: the loop nest of one KERNEL group.  Canonical: two groups that compute the same have equal nests but for buffers' values.
 * Raises when the group cannot be one nest (fuse asks first through tn_nest_try). */
const struct tn_nest *tn_nest_build(const struct tn_groups *gs, uint32_t group, const struct tn_places *p, struct tn_arena *a);
void tn_nest_print(struct tn_text *t, const struct tn_nest *n);          /* the form that `show --stage nest` prints and tn_nest_parse reads */
const struct tn_nest *tn_nest_parse(struct tn_arena *a, const char *text, size_t len, const char *file);
void tn_groups_print(struct tn_text *t, const struct tn_groups *gs, const struct tn_places *p);

/* a group's region as a graph of its own, for GRAPH groups and for checking kernels against the evaluator: inputs in the order of
 * in, outputs in the order of out; constants among the inputs keep their `constant` */
const struct tn_graph *tn_group_region(const struct tn_groups *gs, uint32_t group, struct tn_arena *a);
#endif
