/* build.h - inside schedule/: a nest while it is built.  nest.c drives, emit.c computes values, emit_prim.c spells primitives,
 * nest_out.c writes the rows of struct tn_nest. */
#ifndef TENON_BUILD_H
#define TENON_BUILD_H
#include "schedule/frame.h"
#include "schedule/index.h"

/* where a value is read: coordinates as index expressions, or (c[0] is TN_NOTHING) only the row-major position in it */
struct nb_at { uint32_t rank, c[TN_RANK_MAX], flat; };           /* flat: an expression or TN_NOTHING */
struct nb_guard { uint32_t parent, index, limit; };              /* inside when 0 <= index < limit */
struct nb_access { uint32_t buffer, index, guard; uint64_t fill; };
struct nb_dim { uint32_t extent, axis, into; };                  /* into: TN_NOTHING, or the dim that it was merged into */
struct nb_phase { uint32_t outer_only, step0, n_steps; };

struct nb {
	struct tn_ir *ir;                        /* the group's region; more sizes are added */
	const struct tn_graph *g;
	struct tn_query *q; uint32_t slot;
	struct tn_arena *a;                      /* scratch */
	struct tn_frame f;
	struct fr_ctx fr;
	struct ix_space ix;
	struct nb_dim dims[FR_DIMS];
	struct nb_at *home;                      /* by value; rank TN_NOTHING: none */
	uint32_t *anchor;                        /* by value: the step of a reduction, dot, cumulate; TN_NOTHING */
	unsigned char *member, *out;             /* by node; by value: stored */
	const uint32_t *original;                /* by value: its number in the graph, or TN_NOTHING */
	uint32_t scope;                          /* steps are shared within one */
	struct tn_step *steps; uint32_t n_steps, cap_steps;
	uint32_t *args, n_args, cap_args;
	struct tn_attr *attrs; uint32_t n_attrs, cap_attrs;
	int64_t *ints; uint32_t n_ints, cap_ints;
	char *bytes; uint32_t n_bytes, cap_bytes;
	struct nb_guard *guards; uint32_t n_guards, cap_guards;
	struct nb_access *accesses; uint32_t n_accesses, cap_accesses;
	struct tn_nest_buffer *buffers; uint32_t n_buffers, cap_buffers;
	struct nb_phase *phases; uint32_t n_phases, cap_phases;
	struct tn_map by_step, by_value, by_access, by_buffer, by_guard;
};

/* emit.c */
uint32_t nb_emit(struct nb *b, uint32_t value, struct nb_at at, uint32_t guard, uint64_t fill);  /* the step that computes it */
void nb_store(struct nb *b, uint32_t value, const struct nb_at *at, uint32_t step);
void nb_coords(struct nb *b, uint32_t value, struct nb_at *at);                                  /* fills c */
uint32_t nb_position(struct nb *b, uint32_t value, const struct nb_at *at);                        /* row-major, from c */
uint32_t nb_access(struct nb *b, uint32_t value, struct nb_at at, uint32_t guard, uint64_t fill, uint32_t flags);
uint32_t nb_to_step(void *ctx, uint32_t expr);                                                   /* an expression as an i64 step */
struct nb_at nb_blank(uint32_t rank);
struct nb_at nb_view_operand(struct nb *b, const struct tn_node *n, struct nb_at at);            /* broadcast, permute, reshape, slice, window */
int nb_view_result(struct nb *b, const struct tn_node *n, const struct nb_at *in, struct nb_at *out); /* the other way; broadcast, permute, reshape */
uint32_t nb_guard(struct nb *b, uint32_t parent, uint32_t index, uint32_t limit);
uint32_t nb_index_step(struct nb *b, const struct tn_node *n, const struct nb_at *at);           /* gather's and scatter's index, i64, clamped where the mode says */

/* emit_prim.c */
uint32_t nb_step(struct nb *b, struct tn_step s, const uint32_t *args);                          /* appends or finds an equal one */
uint32_t nb_prim(struct nb *b, uint32_t prim, uint32_t dtype, const uint32_t *args, uint32_t n, const struct tn_graph *g, const struct tn_node *node);
uint32_t nb_const(struct nb *b, uint32_t dtype, uint64_t bits);
uint32_t nb_size_step(struct nb *b, uint32_t size);
uint32_t nb_convert(struct nb *b, uint32_t step, uint32_t dtype);
uint64_t nb_bits(uint32_t dtype, int is_float, int64_t i, double f);

/* nest_out.c */
const struct tn_nest *nb_finish(struct nb *b, struct tn_arena *a);
#endif
