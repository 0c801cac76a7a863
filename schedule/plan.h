/* plan.h - a compiled graph as a list of launches over buffers.  No pointer is baked in: inputs, outputs and the arena are binding
 * slots, sizes are expressions; whoever runs it binds symbols, lays out the arena, and patches addresses. */
#ifndef TENON_PLAN_H
#define TENON_PLAN_H
#include "schedule/schedule.h"

/* Memory domains: domain 0 is the host's memory, shared by every device with TN_DEV_HOST_ADDRESS and by the host itself;
 * any other slot s is domain s + 1.  A value has at most one buffer in a domain. */
uint32_t tn_slot_domain(const struct tn_places *p, uint32_t slot);
enum tn_buffer_home { TN_HOME_INPUT = 1, TN_HOME_OUTPUT = 2, TN_HOME_CONSTANT = 3, TN_HOME_ARENA = 4, TN_HOME_RESIDENT = 5 };
struct tn_plan_buffer {
	uint32_t home;                 /* RESIDENT: written once by a constant launch, or a constant uploaded to a device's domain */
	uint32_t index;                /* input or output number; number in g->constants; else unused */
	uint32_t domain, value;
	uint32_t bytes;                /* a size in plan.sizes */
	uint32_t first, last;          /* launches that write it first and read it last */
	uint32_t segment;              /* of `first` */
};

struct tn_plan_launch {
	uint32_t kind, slot, group;    /* kind: enum tn_group_kind (no ALIAS); group TN_NOTHING for copies that the plan added */
	uint32_t program;              /* KERNEL, GRAPH: index in plan.programs, of the first variant */
	uint32_t node;                 /* HOST */
	uint32_t from;                 /* COPY: domain of the source; domain of the target is the second buffer's */
	uint32_t segment;              /* cut after each launch that defines symbols */
	int once;                      /* constant: run when the plan is made */
	const uint32_t *buffers; uint32_t n_buffers;   /* KERNEL, GRAPH: in the program's order.  HOST: operands, then results.  COPY: source, target */
};

/* what a launch needs to know of a program, whoever made it */
struct tn_plan_program {
	uint32_t slot;
	const char *name;
	struct tn_size_rows sizes;     /* scalars, grid and scratch index these; symbols are the graph's */
	const uint32_t *scalars; uint32_t n_scalars;
	uint32_t grid[3], scratch;
	uint32_t when;                 /* a size: where it is 0 this variant does not serve and `next` is asked */
	uint32_t next;                 /* a program over the same buffers, or TN_NOTHING: this is the last and always serves */
	int interpret;                 /* 1: never compiled, runs in the nest interpreter in domain 0 */
	const struct tn_nest *nest;    /* KERNEL: else NULL */
};
struct tn_plan_source {            /* one a group: its program and the values in the order of the program's buffers */
	uint32_t program;
	const uint32_t *values; uint32_t n_values;
};

struct tn_plan {
	const struct tn_graph *g;
	struct tn_size_rows sizes;
	const struct tn_plan_program *programs; uint32_t n_programs;
	const struct tn_plan_buffer *buffers; uint32_t n_buffers;
	const struct tn_plan_launch *launches; uint32_t n_launches;
	uint32_t n_segments, n_domains;
};
const struct tn_plan *tn_plan_make(const struct tn_groups *gs, const struct tn_places *p, const struct tn_plan_program *programs, uint32_t n_programs,
	const struct tn_plan_source *sources, struct tn_arena *a);
void tn_plan_print(struct tn_text *t, const struct tn_plan *plan, const struct tn_places *p);

/* tn_plan_layout - offsets of the ARENA buffers of one segment and domain by lifetimes: big ones first, lowest free place.
 *   bytes    of every plan buffer;  align  a power of two;  offsets  of every plan buffer, written for those laid out
 * Returns the arena's size.  Buffers whose lifetimes do not overlap share memory; one that outlives its segment shares with none
 * of later segments, which have arenas of their own. */
uint64_t tn_plan_layout(const struct tn_plan *plan, uint32_t segment, uint32_t domain, uint64_t align, const uint64_t *bytes, uint64_t *offsets, struct tn_arena *scratch);
#endif
