/* body.h - definitions of primitives as parsed from ir/prims.tn: what body_parse.c makes and body.c turns into nodes
 *
 *   prim NAME(%x: T, %c: bool; axis, alpha = 0.01) when T in f16, f32 and axis == 1 { statements return %r }
 *
 * A statement is one of a graph's text; its numbers are expressions over
 *   the primitive's attributes by their names, T (the dtype of the first operand declared so), numbers
 *   shape(%x)  shape(%x)[i]  shape(%x)[a..b]  rank(%x)  product(list)  count(%x, axes): elements along these dims
 *   except(%x, axes): the other dim numbers   from(%x, axis): axis .. rank - 1   range(a, b): a .. b - 1
 *   + - * /  div mod min max
 * A list within a list is spliced.  An operand that is an expression takes the dtype and shape of the statement's first value
 * operand (in select past the condition; pad's fill has no dims); a symbolic size becomes a value by a slice of an iota. */
#ifndef TENON_BODY_H
#define TENON_BODY_H
#include "ir/ir.h"

enum tn_expr_op {
	TN_X_INT = 1, TN_X_FLOAT, TN_X_VALUE, TN_X_ATTR, TN_X_T, TN_X_TEXT, TN_X_LIST,
	TN_X_SHAPE, TN_X_AT, TN_X_SPAN, TN_X_RANK, TN_X_PRODUCT, TN_X_COUNT, TN_X_EXCEPT, TN_X_FROM, TN_X_RANGE,
	TN_X_ADD, TN_X_SUB, TN_X_MUL, TN_X_OVER, TN_X_DIV, TN_X_MOD, TN_X_MIN, TN_X_MAX
};
struct tn_expr {
	uint32_t op, slot, n;              /* slot: VALUE, SHAPE, RANK, COUNT, EXCEPT, FROM; the attribute's name for ATTR */
	const struct tn_expr *const *kid;  /* n operands */
	int64_t i; double f; const char *text;
};
struct tn_body_attr { uint32_t name; const struct tn_expr *x; };
struct tn_step {
	uint32_t prim, n_in, n_attrs, n_out, out0;     /* results take the slots from out0 on */
	const struct tn_expr *const *in;
	const struct tn_body_attr *attrs;
	uint32_t line;
};
struct tn_when { uint32_t attr; int differs; double value; };
struct tn_body {
	uint32_t prim, n_params, n_slots, n_steps, n_out, n_when, line;
	const uint32_t *param_dtype;       /* TN_NONE: T */
	uint64_t mask;                     /* dtypes T may be */
	const struct tn_when *when;
	const struct tn_step *steps;
	const uint32_t *out;               /* slots */
	const struct tn_body *next;        /* of the same primitive */
};
struct tn_bodies {
	const struct tn_body *of[TN_PRIM_END];
	const char *fault;                 /* what is wrong with the first definition that was passed over; NULL: all are good */
};

void tn_bodies_parse(struct tn_arena *a, const char *file, const char *text, size_t len, struct tn_bodies *out);   /* raises without memory */
const struct tn_bodies *tn_bodies_builtin(const char **error);     /* once per process; NULL, and why, when prims.tn has a fault */
#endif
