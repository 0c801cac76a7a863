/* store.h - inside ir/: what a growing graph keeps beside the public view, polynomials of sizes, attribute specifications.
 *
 * Every table of ir->g that grows has its writable pointer and its room here; the view's pointer and count follow each push.
 * Polynomials live in store->scratch, which each public function marks on entry and resets before it returns. */
#ifndef TENON_STORE_H
#define TENON_STORE_H
#include "ir/ir.h"

#define TN_TERM_ATOMS 13       /* makes a term 64 bytes without padding, so that its bytes are a key */
#define TN_SIZE_WEIGHT 1000    /* leaves and operators of one size expression, bounds what printing and evaluating cost */

/* c * atom[0] * ... ; atoms are rows (symbol, div, mod, min, max), sorted; unused ones are 0 */
struct tn_poly_term { int64_t c; uint32_t n, atom[TN_TERM_ATOMS]; };
_Static_assert(sizeof(struct tn_poly_term) == 64, "no padding");
struct tn_poly { const struct tn_poly_term *t; uint64_t n; };      /* no terms: 0.  Terms descend by degree, then by atoms */

struct tn_ir_store {
	struct tn_arena scratch;
	struct tn_size *sizes; uint64_t cap_sizes;
	struct tn_poly *polys; uint64_t n_polys, cap_polys;   /* beside sizes */
	uint32_t *weights; uint64_t n_weights, cap_weights;   /* beside sizes */
	struct tn_map by_poly, by_atom, by_symbol, texts, names;   /* to 1 + row, row, row, offset, value */
	uint32_t next_symbol;                                 /* for fresh names */
	struct tn_value *values; uint64_t cap_values;
	struct tn_node *nodes; uint64_t cap_nodes;
	struct tn_attr *attrs; uint64_t cap_attrs;
	struct tn_constant *constants; uint64_t cap_constants;
	struct tn_layout *layouts; uint64_t cap_layouts;
	struct tn_mutation *mutations; uint64_t cap_mutations;
	uint32_t *dims; uint64_t cap_dims;
	int64_t *ints; uint64_t cap_ints;
	uint32_t *operands; uint64_t cap_operands;
	char *bytes; uint64_t cap_bytes;
	const struct tn_graph **regions; uint64_t cap_regions;
	uint32_t *symbols; uint64_t cap_symbols;
	uint32_t *out_names; uint64_t cap_out_names;
	uint32_t origin;
};

/* ---- size_poly.c: exact arithmetic; results live in scratch.  Overflow and size beyond the limits raise TN_E_RANGE */
struct tn_poly tn_poly_of(const struct tn_ir *ir, uint32_t size);
struct tn_poly tn_poly_const(struct tn_ir *ir, int64_t c);
struct tn_poly tn_poly_add(struct tn_ir *ir, struct tn_poly p, struct tn_poly q, int64_t k);   /* p + k*q */
struct tn_poly tn_poly_mul(struct tn_ir *ir, struct tn_poly p, struct tn_poly q);
int tn_poly_is_const(struct tn_poly p, int64_t *c);
int tn_poly_divide(struct tn_ir *ir, struct tn_poly p, struct tn_poly y, struct tn_poly *q, struct tn_poly *r);  /* p = q*y + r; 0: nothing divides */
void tn_poly_bounds(const struct tn_ir *ir, struct tn_poly p, int64_t *lo, int64_t *hi);
int tn_poly_cmp(const struct tn_ir *ir, struct tn_poly p, struct tn_poly q);   /* an order that does not depend on row numbers */
int64_t tn_floor_div(int64_t x, int64_t y);
void tn_size_bounds(uint32_t op, const struct tn_size *a, const struct tn_size *b, int64_t *lo, int64_t *hi);

/* ---- size.c */
void tn_size_start(struct tn_ir *ir);                                          /* rows 0 and 1 */
uint32_t tn_size_of_poly(struct tn_ir *ir, struct tn_poly p);
const char *tn_symbol_name(const struct tn_graph *g, uint32_t symbol);
/* tn_size_substitute - like import, but symbol s of from becomes map[s]; TN_NOTHING where one that is needed maps to TN_NOTHING */
uint32_t tn_size_substitute(struct tn_ir *ir, const struct tn_graph *from, uint32_t size, const uint32_t *map);

/* ---- build.c */
uint32_t tn_put_text(struct tn_ir *ir, const char *text, size_t len);
uint32_t tn_put_layout(struct tn_ir *ir, const struct tn_layout *l);           /* 1 + index */
struct tn_type { uint32_t dtype, rank, layout, dims[TN_RANK_MAX]; };           /* a dim of TN_NOTHING or TN_TRIPS: known only when it runs */
#define TN_TRIPS (TN_NOTHING - 1)  /* as often as the loop ran: one size for all results of the node */
/* tn_ir_node_as - tn_ir_node, where want (n_want types, or NULL) gives the sizes of results that inference cannot know */
uint32_t tn_ir_node_as(struct tn_ir *ir, const struct tn_node_in *n, const struct tn_type *want, uint32_t n_want);

/* ---- attr.c: the attrs column of a row */
enum tn_spec_type { TN_SPEC_INT = 1, TN_SPEC_FLOAT, TN_SPEC_NUMBER, TN_SPEC_INTS, TN_SPEC_SIZES, TN_SPEC_DTYPE, TN_SPEC_TEXT };
struct tn_spec { uint32_t name, type; int optional, is_float; int64_t i; double f; };   /* default: i, or f; an empty list */
const char *tn_spec_next(const char *at, struct tn_spec *s);                   /* NULL at the end; at starts as info->attrs */
int tn_spec_find(const struct tn_prim_info *p, uint32_t name, struct tn_spec *s);
const char *tn_spec_type_name(uint32_t type);

/* ---- infer.c, infer_shape.c, infer_host.c */
struct tn_infer {
	struct tn_ir *ir;
	const struct tn_prim_info *p;
	const struct tn_node_in *n;    /* attributes in the order of the row, defaults left out */
	uint32_t n_out;
	struct tn_type *out;
};
_Noreturn void tn_infer_fail(const struct tn_infer *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void tn_infer_attrs(struct tn_infer *f, struct tn_node_in *normal);            /* checks and puts in order: writes normal->attrs */
void tn_infer(struct tn_infer *f);
void tn_infer_shape(struct tn_infer *f);
void tn_infer_host(struct tn_infer *f);
const struct tn_attr_in *tn_infer_attr(const struct tn_infer *f, uint32_t name);
int64_t tn_infer_int(const struct tn_infer *f, uint32_t name, int64_t otherwise);
const int64_t *tn_infer_ints(const struct tn_infer *f, uint32_t name, uint32_t *count);
const uint32_t *tn_infer_sizes(const struct tn_infer *f, uint32_t name, uint32_t *count);
void tn_infer_same(const struct tn_infer *f, uint32_t a, uint32_t b, const char *what);   /* two sizes must be proven equal */
const char *tn_infer_size(const struct tn_infer *f, uint32_t size);            /* its text, for messages */

/* ---- print.c */
void tn_print_shape(struct tn_text *t, const struct tn_graph *g, const uint32_t *dims, uint32_t rank);
void tn_print_quoted(struct tn_text *t, const char *s, size_t len);
const char *tn_value_text(struct tn_arena *a, const struct tn_graph *g, uint32_t v);      /* "%x: f32[n, 4]" */
const char *tn_node_text(struct tn_arena *a, const struct tn_graph *g, uint32_t node);    /* "node 3, add (model.onnx: /add)" */
#endif
