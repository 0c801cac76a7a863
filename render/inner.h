/* inner.h - what the renderer's files share: the state of one rendering.
 *
 *   expr.c      size rows that grow, and the expression language of where, launch, scratch and @if@
 *   rows.c      finding dialect and word rows, filling the holes of their texts
 *   value.c     statements of a nest's steps at given coordinates, scalar or vector
 *   access.c    loads, stores and updates: addresses, bounds, lanes
 *   reduce.c    accumulators of reduce and cumulate steps, kept rows
 *   operand.c   what contractions need: operands through their prologue, packed layouts, the product's result
 *   template.c  a template's text: holes, blocks, conditions */
#ifndef RENDER_INNER_H
#define RENDER_INNER_H
#include <stdbool.h>
#include "render/render.h"

enum { RD_NONE = -1, RD_MAX_DIMS = 64 };
__extension__ typedef __int128 rd_wide;

/* ---- sizes: nest.sizes and what expressions add, hash-consed */
struct rd_sizes { struct tn_arena *arena; struct tn_size *at; uint32_t n, cap; struct tn_map index; };
void rd_sizes_init(struct rd_sizes *z, const struct tn_nest *n, struct tn_arena *a);
uint32_t rd_size_const(struct rd_sizes *z, int64_t v);
uint32_t rd_size_op(struct rd_sizes *z, uint32_t op, uint32_t a, uint32_t b);
bool rd_size_is(const struct rd_sizes *z, uint32_t i, int64_t v);     /* is the constant v */

/* ---- a value of the expression language: a size row, or a truth that the sizes' bounds leave open */
struct rd_num { uint32_t size; int64_t lo, hi; };                     /* a comparison that bounds leave open is a size that is 0 or 1 */

struct rd;
struct rd_num rd_eval(struct rd *r, const char *text, size_t len);
uint32_t rd_eval_size(struct rd *r, const char *text, size_t len);    /* raises when it is not a size */
bool rd_holds(struct rd *r, const char *text, size_t len);            /* provably true */

/* ---- axes as templates write them: RED, RED.last (its innermost dim), RED.rest (the others) */
enum rd_part { RD_ALL = 0, RD_LAST = 1, RD_REST = 2 };
struct rd_axis { uint32_t axis, part; };
bool rd_axis_parse(const char *s, size_t len, struct rd_axis *out);
void rd_axis_dims(const struct tn_nest *n, struct rd_axis x, uint32_t *first, uint32_t *count);

/* ---- what is bound where the template stands; copied at each block */
struct rd_env {
	const char **dim;            /* coordinate of each dim, scalar text (of lane 0 along the lane dim); NULL: not bound */
	const char **scalar, **vector;   /* names of steps' values */
	const char **acc;            /* stem of a reduce or cumulate step's accumulators */
	uint32_t *copies;            /* how many */
	bool *across;                /* the accumulator is a vector whose lanes run along the reduced axis */
	bool vec;                    /* a vector axis is bound */
	int lane;                    /* the dim along which lanes run, RD_NONE when the axis has no dim */
	const char *n;               /* how many lanes count; NULL: all */
	const char *keep, *reuse;    /* index of the kept rows, where steps marked KEEP are stored, read */
	uint32_t phase;              /* being emitted */
	uint32_t copy;               /* which accumulator */
};
struct rd_name { const char *key, *text; };

struct rd {
	const struct tn_nest *n;
	const struct tn_backend *b;
	const struct tn_device_info *d;
	const struct tn_template_row *t;
	uint32_t when;               /* the size that an open `where` is, or TN_NOTHING */
	const int32_t *params;
	struct tn_arena *arena;
	struct tn_diag *diag;
	struct rd_sizes sizes;
	struct tn_text out;
	const char *indent;          /* of emitted lines; NULL: they stand inline */
	struct rd_env env;
	bool in_lanes;               /* inside a lane loop: vectors are read one lane at a time */
	uint32_t next;               /* number of the next name */
	uint64_t *deps;              /* dims on which each step depends */
	uint32_t *phase_of;
	uint32_t *keeps, n_keeps;    /* steps marked KEEP, in order */
	uint32_t *scalars, n_scalars, cap_scalars;
	const char **uses; uint32_t n_uses, cap_uses;
	struct tn_map words;         /* (role, form, dtype) to a row's number + 1 */
	struct rd_name *names; uint32_t n_names, cap_names;    /* @x@ that the template bound */
	const char *name;            /* entry symbol */
	size_t *args; uint32_t n_args, cap_args;               /* places in out where the arguments go, and their indents */
	const char **args_indent; uint32_t n_args_indent, cap_args_indent;
};
struct rd *rd_start(const struct tn_nest *n, const struct tn_backend *b, const struct tn_device_info *d,
	const struct tn_template_row *t, struct tn_arena *a);
_Noreturn void rd_fault(struct rd *r, int32_t code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
struct rd_env rd_env_copy(struct rd *r);

/* ---- rows.c */
const char *rd_prim_name(uint32_t prim);
const char *rd_dtype_name(uint32_t dtype);
uint32_t rd_dtype_bytes(uint32_t dtype);
bool rd_dtype_float(uint32_t dtype);
const struct tn_dialect_row *rd_spell(const struct tn_backend *b, const struct tn_device_info *d, uint32_t prim, uint32_t form, uint32_t in, uint32_t out);
const char *rd_word_find(const struct tn_backend *b, const char *role, uint32_t form, uint32_t dtype);   /* NULL when there is none */
const char *rd_word(struct rd *r, const char *role, uint32_t form, uint32_t dtype);                      /* raises UNSUPPORTED */
const char *rd_expand(struct rd *r, const char *text, const struct rd_name *names, uint32_t n, const char *what);
#define RD_NAMES(...) (const struct rd_name[]){ __VA_ARGS__ }, (uint32_t)(sizeof((const struct rd_name[]){ __VA_ARGS__ }) / sizeof(struct rd_name))
const char *rd_type(struct rd *r, uint32_t form, uint32_t dtype);
const char *rd_literal(struct rd *r, uint32_t dtype, uint64_t bits);
const char *rd_size(struct rd *r, uint32_t size);            /* a literal or the name of a scalar argument */
const char *rd_fresh(struct rd *r, const char *stem);
void rd_use(struct rd *r, const char *helper);
void rd_line(struct rd *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *rd_let(struct rd *r, uint32_t form, uint32_t dtype, const char *expr);   /* a named value */

/* ---- value.c */
void rd_depend(struct rd *r);
uint32_t rd_form(const struct rd *r, uint32_t step);         /* scalar or vector at the bound coordinates */
const char *rd_value(struct rd *r, uint32_t step, uint32_t form);
const char *rd_apply(struct rd *r, uint32_t prim, uint32_t form, uint32_t in, uint32_t out, const char *const *args, uint32_t n, const struct tn_step *s);
void rd_bind_dims(struct rd *r, struct rd_axis x, const char *expr, bool vector, const char *n);
void rd_uniform(struct rd *r, uint32_t phase);
void rd_body(struct rd *r, uint32_t phase);
const char *rd_lane_of(struct rd *r, uint32_t dtype, const char *vector);

/* ---- access.c */
struct rd_linear { uint32_t coef[RD_MAX_DIMS], offset; const char *rest; bool rest_varies; };
struct rd_linear rd_address(struct rd *r, uint32_t access);
void rd_access_steps(struct rd *r, uint32_t access, void (*f)(struct rd *r, uint32_t step));
uint64_t rd_access_deps(struct rd *r, uint32_t access);
const char *rd_linear_text(struct rd *r, const struct rd_linear *l);
bool rd_address_plain(struct rd *r, uint32_t access, struct rd_linear *out);   /* no computed index, div, mod or bound: out's coefs say all */
const char *rd_load(struct rd *r, uint32_t step, uint32_t form);
void rd_store(struct rd *r, uint32_t step);
const char *rd_buffer(struct rd *r, uint32_t buffer);
uint32_t rd_lane_stride(struct rd *r, uint32_t access, uint32_t dim, bool *simple);

/* ---- reduce.c */
struct rd_fold { uint32_t prim; uint64_t identity; uint32_t acc; };   /* combining primitive, its identity's bits in acc, the accumulator's dtype */
struct rd_fold rd_fold_of(struct rd *r, const struct tn_step *s);
void rd_acc(struct rd *r, uint32_t phase, uint32_t copies, bool across);
void rd_acc_merge(struct rd *r, uint32_t phase);
void rd_acc_finish(struct rd *r, uint32_t phase);
void rd_reduce(struct rd *r, uint32_t step);
const char *rd_cumulate(struct rd *r, uint32_t step, uint32_t form);
void rd_keep_declare(struct rd *r, const char *pitch);
void rd_keep_store(struct rd *r, uint32_t phase);
const char *rd_keep_load(struct rd *r, uint32_t step);
uint32_t rd_keep_slot(const struct rd *r, uint32_t step);    /* TN_NOTHING: it is not kept */

/* ---- operand.c */
uint32_t rd_dot_step(struct rd *r);
uint32_t rd_operand_step(struct rd *r, const char *which);
uint32_t rd_operand_access(struct rd *r, uint32_t step);     /* TN_NOTHING: it has a prologue */
const char *rd_operand_layout(struct rd *r, const char *which);   /* "" when it is dense */
int64_t rd_operand_runs(struct rd *r, const char *which, struct rd_axis x);   /* loads below it whose lanes would be neighbours along x */
bool rd_operand_batched(struct rd *r, const char *which);
bool rd_operand_plain(struct rd *r, const char *which);

/* ---- template.c */
void rd_walk(struct rd *r, const char *text);
#endif
