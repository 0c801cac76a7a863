/* index.h - index expressions while a nest is built: offset + sum of coef * atom, with atoms that are dims of the frame, i64 steps,
 * or floor(expression / div) mod mod.  Interned: equal expressions have equal handles.  All sizes are those of `ir`.
 *
 * Rewrites keep every intermediate at 0 or above where the coordinates are, so that floor and truncation agree. */
#ifndef TENON_INDEX_H
#define TENON_INDEX_H
#include "ir/ir.h"

enum ix_kind { IX_DIM = 1, IX_STEP = 2, IX_DIV = 3 };
struct ix_atom {
	uint32_t kind, at;      /* DIM: dim; STEP: step; DIV: an expression of dims and steps alone */
	uint32_t div, mod;      /* sizes; mod TN_NOTHING: none */
	uint32_t extent;        /* its value is 0 or above and below this size; TN_NOTHING: not known */
	uint32_t reserved;
};
struct ix_term { uint32_t atom, coef; };
struct ix { uint32_t offset, n; const struct ix_term *t; };
struct ix_space {
	struct tn_ir *ir;
	struct tn_arena *a;
	struct ix_atom *atoms; uint32_t n_atoms, cap_atoms;
	struct ix *exprs; uint32_t n_exprs, cap_exprs;
	struct tn_map by_atom, by_expr;
	uint32_t (*to_step)(void *ctx, uint32_t expr);   /* computes an expression as an i64 step: for what the form cannot say */
	void *ctx;
};

void ix_init(struct ix_space *s, struct tn_ir *ir, struct tn_arena *a, uint32_t (*to_step)(void *, uint32_t), void *ctx);
uint32_t ix_size(struct ix_space *s, uint32_t size);
uint32_t ix_dim(struct ix_space *s, uint32_t dim, uint32_t extent);
uint32_t ix_step(struct ix_space *s, uint32_t step, uint32_t extent);
uint32_t ix_add(struct ix_space *s, uint32_t x, uint32_t y);
uint32_t ix_scale(struct ix_space *s, uint32_t x, uint32_t by);
uint32_t ix_plus(struct ix_space *s, uint32_t x, uint32_t size);
uint32_t ix_div(struct ix_space *s, uint32_t x, uint32_t by);      /* floor; by > 0 wherever the nest runs */
uint32_t ix_mod(struct ix_space *s, uint32_t x, uint32_t by);
int ix_below(struct ix_space *s, uint32_t x, uint32_t limit);      /* 0 <= x < limit proven */
#endif
