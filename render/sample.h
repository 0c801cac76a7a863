/* sample.h - small nests made by hand: what lint renders templates on, and what tests run */
#ifndef RENDER_SAMPLE_H
#define RENDER_SAMPLE_H
#include <tenon/nest.h>
#include "base/arena.h"

struct rd_make {
	struct tn_arena *a;
	struct tn_nest n;
	struct tn_size *sizes; uint32_t n_sizes, cap_sizes;
	struct tn_nest_dim *dims; uint32_t n_dims, cap_dims;
	struct tn_nest_phase *phases; uint32_t n_phases, cap_phases;
	struct tn_step *steps; uint32_t n_steps, cap_steps;
	struct tn_access *accesses; uint32_t n_accesses, cap_accesses;
	struct tn_term *terms; uint32_t n_terms, cap_terms;
	struct tn_bound *bounds; uint32_t n_bounds, cap_bounds;
	struct tn_linear *linears; uint32_t n_linears, cap_linears;
	struct tn_part *parts; uint32_t n_parts, cap_parts;
	struct tn_nest_buffer *buffers; uint32_t n_buffers, cap_buffers;
	struct tn_attr *attrs; uint32_t n_attrs, cap_attrs;
	uint32_t *args; uint32_t n_args, cap_args;
	struct tn_text bytes;
};
void rd_make_init(struct rd_make *m, struct tn_arena *a, uint32_t cls);
uint32_t rd_make_size(struct rd_make *m, int64_t v);              /* a constant's row */
uint32_t rd_make_symbol(struct rd_make *m, uint32_t symbol, int64_t lo, int64_t hi);
uint32_t rd_make_dim(struct rd_make *m, uint32_t axis, uint32_t extent);
uint32_t rd_make_buffer(struct rd_make *m, uint32_t dtype, uint32_t flags, uint32_t length);
void rd_make_phase(struct rd_make *m, uint32_t axes);             /* steps from here on are the new phase's */
uint32_t rd_make_step(struct rd_make *m, struct tn_step s);
uint32_t rd_make_number(struct rd_make *m, uint32_t dtype, uint64_t bits);
uint32_t rd_make_prim(struct rd_make *m, uint32_t prim, uint32_t dtype, uint32_t n, const uint32_t *args);

/* A linear form over dims: n pairs of dim and coefficient (a size).  An access with one term of stride 1 made of it. */
struct rd_make_pair { uint32_t dim, coef; };
uint32_t rd_make_linear(struct rd_make *m, uint32_t offset, const struct rd_make_pair *p, uint32_t n);
uint32_t rd_make_access(struct rd_make *m, uint32_t buffer, uint32_t lin);
void rd_make_bound(struct rd_make *m, uint32_t access, uint32_t lin, uint32_t limit);   /* of the newest access, to which further bounds are added */
uint32_t rd_make_load(struct rd_make *m, uint32_t access);
void rd_make_store(struct rd_make *m, uint32_t access, uint32_t step);
const struct tn_nest *rd_make_done(struct rd_make *m);

/* A small nest of a class, f32: variant 0 has fixed extents, 1 symbolic ones, 2 another shape of the class (see sample_nests.c).
 * NULL: there is no such variant. */
const struct tn_nest *rd_sample(struct tn_arena *a, uint32_t cls, uint32_t variant);
enum { RD_SAMPLE_VARIANTS = 3 };

#define RD_PAIRS(...) (const struct rd_make_pair[]){ __VA_ARGS__ }, (uint32_t)(sizeof((const struct rd_make_pair[]){ __VA_ARGS__ }) / sizeof(struct rd_make_pair))
#endif
