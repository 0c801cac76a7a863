/* ir.h - building and reading graphs.  A struct tn_ir is a struct tn_graph that grows: `ir->g` is always a complete, current view.
 *
 * Builders infer and check while they add: a node that breaks a rule raises TN_E_ARG in the arena's diag, naming the node, the
 * rule and the values.  Shapes are vectors of size handles (indices into g.sizes); equal sizes have equal handles.
 * One thread an ir. */
#ifndef TENON_IR_H
#define TENON_IR_H
#include "base/arena.h"
#include "ir/prim.h"

#define TN_RANK_MAX 8          /* dims of a value; more is refused by the builders */

struct tn_ir_store;
struct tn_ir { struct tn_graph g; struct tn_arena *arena; struct tn_ir_store *store; };

struct tn_ir *tn_ir_create(struct tn_arena *a, const char *name);

/* ---- symbolic sizes (ir/size.c): canonical, interned; a handle is an index in g.sizes */
uint32_t tn_size_const(struct tn_ir *ir, int64_t value);
uint32_t tn_size_sym(struct tn_ir *ir, const char *name, int64_t lo, int64_t hi);  /* finds by name and narrows bounds, or adds; name NULL: a fresh one ("s0") */
uint32_t tn_size_op(struct tn_ir *ir, uint32_t op, uint32_t a, uint32_t b);      /* enum tn_size_op; folds, orders, merges like terms */
uint32_t tn_size_product(struct tn_ir *ir, const uint32_t *dims, uint32_t n);
uint32_t tn_size_import(struct tn_ir *ir, const struct tn_graph *from, uint32_t size); /* symbols match by name */
int64_t tn_size_known(const struct tn_graph *g, uint32_t size);                  /* the constant, or -1 */
int tn_size_eq(struct tn_ir *ir, uint32_t a, uint32_t b);                        /* 1 proven equal, 0 proven different, -1 not known */
int tn_size_le(struct tn_ir *ir, uint32_t a, uint32_t b);                        /* likewise for a <= b */
int64_t tn_size_eval(const struct tn_size_rows *sizes, uint32_t size, const int64_t *symbols); /* INT64_MIN on overflow or division by 0 */
uint32_t tn_size_parse(struct tn_ir *ir, const char *text);                      /* "2*n + 1"; unknown names become symbols; raises */
void tn_size_print(struct tn_text *t, const struct tn_graph *g, uint32_t size);

/* ---- reading (static inline: hot and tiny) */
static inline const struct tn_value *tn_val(const struct tn_graph *g, uint32_t v) { return &g->values.at[v]; }
static inline uint32_t tn_in(const struct tn_graph *g, const struct tn_node *n, uint32_t i) { return g->operands[n->in0 + i]; }
static inline uint32_t tn_out(const struct tn_graph *g, const struct tn_node *n, uint32_t i) { return g->operands[n->out0 + i]; }
static inline const uint32_t *tn_shape(const struct tn_graph *g, uint32_t v) { return g->dims + g->values.at[v].dim0; }
static inline uint32_t tn_rank(const struct tn_graph *g, uint32_t v) { return g->values.at[v].rank; }
static inline const char *tn_str_at(const struct tn_graph *g, uint32_t at) { return at == TN_NOTHING ? "" : g->bytes + at; }
const struct tn_attr *tn_attr_find(const struct tn_graph *g, const struct tn_node *n, uint32_t name);           /* NULL */
int64_t tn_attr_int(const struct tn_graph *g, const struct tn_node *n, uint32_t name, int64_t otherwise);       /* a one-element list counts */
double tn_attr_float(const struct tn_graph *g, const struct tn_node *n, uint32_t name, double otherwise);
const int64_t *tn_attr_ints(const struct tn_graph *g, const struct tn_node *n, uint32_t name, uint32_t *count); /* NULL, 0 */
const uint32_t *tn_attr_sizes(const struct tn_graph *g, const struct tn_node *n, uint32_t name, uint32_t *count);
uint32_t *tn_use_counts(const struct tn_graph *g, struct tn_arena *a);                                          /* per value; outputs count as uses */

/* ---- building */
struct tn_attr_in {            /* how an attribute is passed: make it with the TN_A_ macros */
	uint32_t name, type; int64_t i; double f; const void *list; uint32_t count;
};
#define TN_A_INT(nm, v)       ((struct tn_attr_in){ .name = TN_ATTR_##nm, .type = TN_ATTR_INT, .i = (v) })
#define TN_A_FLOAT(nm, v)     ((struct tn_attr_in){ .name = TN_ATTR_##nm, .type = TN_ATTR_FLOAT, .f = (v) })
#define TN_A_INTS(nm, p, n)   ((struct tn_attr_in){ .name = TN_ATTR_##nm, .type = TN_ATTR_INTS, .list = (p), .count = (n) })
#define TN_A_SIZES(nm, p, n)  ((struct tn_attr_in){ .name = TN_ATTR_##nm, .type = TN_ATTR_SIZES, .list = (p), .count = (n) })
#define TN_A_TEXT(nm, s)      ((struct tn_attr_in){ .name = TN_ATTR_##nm, .type = TN_ATTR_TEXT, .list = (s) })

uint32_t tn_ir_input(struct tn_ir *ir, const char *name, uint32_t dtype, uint32_t rank, const uint32_t *dims);
uint32_t tn_ir_constant(struct tn_ir *ir, const char *name, uint32_t dtype, uint32_t rank, const int64_t *dims, const void *at, uint64_t size); /* bytes borrowed for the ir's life */
void tn_ir_output(struct tn_ir *ir, const char *name, uint32_t value);
void tn_ir_name(struct tn_ir *ir, uint32_t value, const char *name);   /* of a value, for people; a suffix makes it unique */
void tn_ir_mutates(struct tn_ir *ir, uint32_t output, uint32_t input, uint32_t kind);
void tn_ir_origin(struct tn_ir *ir, const char *origin);         /* of the nodes added from now on; NULL: none */

/* tn_ir_node - add one node, infer and check; returns its node index.  Results: tn_out(&ir->g, &ir->g.nodes.at[node], i) */
struct tn_node_in {
	uint32_t prim;
	const uint32_t *in; uint32_t n_in;
	const struct tn_attr_in *attrs; uint32_t n_attrs;
	const struct tn_graph *const *regions; uint32_t n_regions;
};
uint32_t tn_ir_node(struct tn_ir *ir, const struct tn_node_in *n);

/* the one-result forms; each returns the result's value number */
uint32_t tn_ir_add(struct tn_ir *ir, uint32_t prim, const uint32_t *in, uint32_t n_in, const struct tn_attr_in *attrs, uint32_t n_attrs);
uint32_t tn_ir_unary(struct tn_ir *ir, uint32_t prim, uint32_t x);
uint32_t tn_ir_binary(struct tn_ir *ir, uint32_t prim, uint32_t x, uint32_t y);            /* equal shapes */
uint32_t tn_ir_select(struct tn_ir *ir, uint32_t c, uint32_t x, uint32_t y);
uint32_t tn_ir_convert(struct tn_ir *ir, uint32_t x, uint32_t dtype);                       /* x itself when it has that dtype */
uint32_t tn_ir_full(struct tn_ir *ir, uint32_t dtype, double value, const uint32_t *dims, uint32_t rank);
uint32_t tn_ir_full_int(struct tn_ir *ir, uint32_t dtype, int64_t value, const uint32_t *dims, uint32_t rank);
uint32_t tn_ir_iota(struct tn_ir *ir, uint32_t dtype, uint32_t axis, const uint32_t *dims, uint32_t rank);
uint32_t tn_ir_broadcast(struct tn_ir *ir, uint32_t x, const uint32_t *dims, uint32_t rank, const int64_t *where); /* x itself when nothing changes */
uint32_t tn_ir_expand_to(struct tn_ir *ir, uint32_t x, const uint32_t *dims, uint32_t rank);   /* numpy rule: align right; dims of size 1 stretch (reshape + broadcast) */
uint32_t tn_ir_reshape(struct tn_ir *ir, uint32_t x, const uint32_t *dims, uint32_t rank);     /* x itself when equal */
uint32_t tn_ir_permute(struct tn_ir *ir, uint32_t x, const int64_t *perm);
uint32_t tn_ir_reduce(struct tn_ir *ir, uint32_t prim, uint32_t x, const int64_t *axes, uint32_t n_axes);
uint32_t tn_ir_dot(struct tn_ir *ir, uint32_t x, uint32_t y, const int64_t *contract, uint32_t n_contract, const int64_t *batch, uint32_t n_batch); /* counts of numbers, not pairs */
void tn_broadcast_shapes(struct tn_ir *ir, uint32_t x, uint32_t y, uint32_t *dims, uint32_t *rank); /* numpy rule, dims room for 16; raises naming both shapes */

/* ---- copying between graphs (how a stage writes its result) */
struct tn_remap { const struct tn_graph *from; uint32_t *value; uint32_t *size; };   /* old -> new, TN_NOTHING when not there yet */
struct tn_remap tn_remap_begin(struct tn_ir *to, const struct tn_graph *from);       /* copies name, symbols; not inputs */
void tn_remap_inputs(struct tn_ir *to, struct tn_remap *m);                          /* copies graph inputs, too */
uint32_t tn_remap_value(struct tn_ir *to, struct tn_remap *m, uint32_t v);           /* constants are copied when first asked for */
uint32_t tn_remap_node(struct tn_ir *to, struct tn_remap *m, const struct tn_node *n); /* copies one node as it is (results mapped); keeps its origin */
void tn_remap_outputs(struct tn_ir *to, struct tn_remap *m);                         /* outputs, names, mutations */

/* ---- bodies from ir/prims.tn and the C builders (decomp/ registers them) */
/* tn_ir_inline_body - add the nodes of the primitive's definition to ir and return its results in out.  operands are values of ir,
 * attrs those of the node.  false when the row has no body for these dtypes (an atom, or a C builder: see decomp/). */
int tn_ir_inline_body(struct tn_ir *ir, const struct tn_graph *g, const struct tn_node *n, const uint32_t *operands, uint32_t *out);

/* ---- text (ir/print.c, ir/parse.c): round-trips */
void tn_ir_print(struct tn_text *t, const struct tn_graph *g);
struct tn_ir *tn_ir_parse(struct tn_arena *a, const char *text, size_t len, const char *file);  /* raises with file:line:column */
struct tn_ir *tn_ir_load(struct tn_arena *a, const char *path);    /* a .tn file with its weights in .safetensors beside it; mapped, not copied */
void tn_ir_save(const struct tn_graph *g, const char *path, struct tn_arena *scratch);  /* writes both, atomically */

/* ---- checking */
void tn_ir_verify(const struct tn_graph *g, struct tn_arena *scratch);   /* every rule of a graph; raises naming node, rule and values */

/* ---- evaluation (ir/eval*.c): strict, slow, every row and dtype it claims; folding and the last fallback.
 * Values are dense row-major arrays. */
struct tn_array { uint32_t dtype, rank; int64_t dims[8]; void *at; uint64_t size; };
void tn_eval_graph(const struct tn_graph *g, const struct tn_array *inputs, struct tn_array *outputs, struct tn_arena *a); /* binds symbols from inputs; outputs allocated in a; raises */
void tn_eval_node(const struct tn_graph *g, const struct tn_node *n, const int64_t *symbols, const struct tn_array *in, struct tn_array *out, struct tn_arena *a);
int tn_eval_can(const struct tn_graph *g, const struct tn_node *n);
/* tn_bind_symbols - values of the symbols from the inputs' shapes; raises naming input, dim, and both sizes when they disagree or leave their bounds */
void tn_bind_symbols(const struct tn_graph *g, const struct tn_array *inputs, int64_t *symbols, struct tn_diag *d);
#endif
