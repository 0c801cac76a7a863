/* fuse.h - inside schedule/: the state of grouping.  fuse.c walks the nodes, fuse_policy.c says what pays, fuse_out.c writes groups. */
#ifndef TENON_FUSE_H
#define TENON_FUSE_H
#include "schedule/frame.h"

struct fz_link { uint32_t group, next; };
struct fz_group {
	uint32_t kind, slot, cls;
	const char *rule;
	uint32_t *nodes, n, cap;         /* ascending */
	uint32_t extra;                  /* arithmetic that is done more than once an element */
	int gone;                        /* merged into another */
};
struct fz {
	const struct tn_graph *g; const uint32_t *slot;
	const struct tn_places *p; struct tn_arena *a;
	struct tn_query q; struct fr_ctx fr;
	struct fz_group *groups; uint32_t n_groups, cap_groups;
	uint32_t *head;                  /* node -> links: the groups that hold it (more than one: it is computed again in each) */
	struct fz_link *links; uint32_t n_links, cap_links;
	uint32_t *owner;                 /* node -> the group that stores its results */
	unsigned char *stored, *is_output, *behind;   /* node; value; node: an anchor is among what it is computed from */
	uint32_t *use0, *uses;           /* value -> nodes that read it: uses[use0[v] .. use0[v + 1]] */
	uint32_t *stamp, tick;           /* by group, for walks */
	uint32_t *list, n_list, cap_list;
};

/* fuse_policy.c */
uint32_t fz_price(const struct tn_graph *g, uint32_t node);
uint32_t fz_reads(const struct fz *z, uint32_t node);          /* nodes that read it; being an output counts */
double fz_elements(const struct tn_graph *g, uint32_t value);
/* f and the values of z->fr describe nodes; node is the one that joins.  0: legal but does not pay; -1: because it would be
 * computed again for each element of a broadcast */
int fz_pays(struct fz *z, const struct fz_group *old, const uint32_t *nodes, uint32_t n, const struct tn_frame *f, uint32_t node, uint32_t *extra);
/* the enabled rule that allows this set; NULL: none.  A set of one node needs none: then *single is 1 where the class has a template */
const char *fz_rule(struct fz *z, uint32_t slot, const uint32_t *nodes, uint32_t n, const struct tn_frame *f, int *allowed);

/* fuse_out.c */
struct tn_groups fz_finish(struct fz *z);
uint32_t fz_class_of_single(struct fz *z, uint32_t node);
#endif
