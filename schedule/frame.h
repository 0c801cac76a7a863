/* frame.h - whether a set of nodes can be one nest, and in which frame of dims: the one place where legality is decided.
 *
 * Every value of the set gets the coordinates at which it is read, as a map from its dims to the frame's.  Coordinates spread
 * from the anchor (a reduction, dot, cumulate, scatter; without one, the last result) forward to what is computed from it and
 * back to operands.  A value that is stored must be read at home: at coordinates that cover it exactly once. */
#ifndef TENON_FRAME_H
#define TENON_FRAME_H
#include "schedule/query.h"

enum { FR_ONE = -1, FR_MIXED = -2, FR_DIMS = 24 };   /* a dim of extent 1; FR_MIXED - k: mixed coordinate k */
struct fr_map { int16_t at[TN_RANK_MAX]; uint8_t rank, known, bij, reserved; uint32_t uses; };   /* uses: mask of frame dims */
struct fr_value {
	uint32_t value, member;         /* member: index of the node that makes it among the nodes, or TN_NOTHING */
	struct fr_map map;
	uint8_t forward;                /* the map comes from the anchor */
	uint8_t many;                   /* also read at other coordinates */
	uint8_t out, level;             /* level: reductions (or the dot, ...) behind it */
};
struct fr_dim { uint32_t extent, axis; };            /* extent: a size of the graph; axis: enum tn_axis (kept dims: OUTER) */
struct tn_frame {
	uint32_t cls, origin;           /* enum tn_nest_class; node of the first anchor or TN_NOTHING */
	uint32_t base;                  /* POINTWISE: the value whose dims the frame has */
	uint32_t n_dims, red;           /* red: mask of RED, K or SEQ dims */
	struct fr_dim dims[FR_DIMS];
	uint32_t levels;                /* ROWS, REDUCE: the highest level of a reduction */
	const char *why;                /* why not */
};
struct fr_ctx {
	const struct tn_graph *g;
	struct tn_arena *a;
	uint32_t *local;                /* value -> 1 + index in values; reset after use */
	struct fr_value *values; uint32_t n_values, cap_values;
	uint32_t *mixed; uint32_t n_mixed, cap_mixed;     /* uses of each mixed coordinate */
	struct tn_frame *f;
};

void fr_init(struct fr_ctx *c, const struct tn_graph *g, struct tn_arena *a);
/* nodes ascending; outs: values that are stored.  1 and f filled, and the values of c are those of the set; or 0 and f->why */
int fr_try(struct fr_ctx *c, const uint32_t *nodes, uint32_t n_nodes, const uint32_t *outs, uint32_t n_outs, struct tn_frame *f);
struct fr_value *fr_value(const struct fr_ctx *c, uint32_t value);   /* NULL: not in the last set */

/* inside: frame.c and frame_spread.c */
struct fr_value *fr_add(struct fr_ctx *c, uint32_t value);           /* finds or adds */
struct fr_map fr_fresh(uint32_t rank);
uint32_t fr_entry_uses(const struct fr_ctx *c, int16_t at);
void fr_set_uses(const struct fr_ctx *c, struct fr_map *m);
void fr_forward(struct fr_ctx *c, const struct tn_node *n, uint32_t member);
int fr_backward(struct fr_ctx *c, const struct tn_node *n);          /* 0: f->why */

/* how dims of a reshape correspond: in[i] is the result dim that operand dim i equals, FR_ONE, or FR_MIXED; what is mixed are the
 * dims i_lo..i_hi of the operand and o_lo..o_hi of the result */
struct fr_reshape { int in[TN_RANK_MAX]; uint32_t i_lo, i_hi, o_lo, o_hi; };
void fr_match_reshape(const uint32_t *in, uint32_t n_in, const uint32_t *out, uint32_t n_out, struct fr_reshape *r);
/* the axis of v along which memory runs, seen through the nodes for which member says 1 */
uint32_t fr_inner_axis(const struct tn_graph *g, uint32_t v, int (*member)(void *ctx, uint32_t node), void *ctx);
#endif
