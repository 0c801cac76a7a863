/* graph.h - a graph as data: what the host hands a plugin, and what every stage of the compiler reads.
 *
 * Flat arrays of closed rows that refer to one another by index.  The graph is read-only and stays valid for the call it is
 * passed to (constants: until the program made from it is released).  Values are SSA: each is a graph input, a constant or the
 * result of one node, and nodes stand in an order in which every operand comes before its use.  There is no aliasing: views are
 * nodes, a write to an input is the table `mutations`.
 * Row-major: the last dim is innermost.  Compiles alone as C11 and C++17. */
#ifndef TENON_GRAPH_H
#define TENON_GRAPH_H
#include <tenon/types.h>

#ifndef TN_PRIM_ENUM_
#define TN_PRIM_ENUM_
/* TN_add = 1, ...: numbers of the primitives, from the table.  Never reused, never moved. */
enum tn_prim {
	TN_PRIM_NONE = 0,
#define TN_PRIM(name, number, ...) TN_##name = (number),
#include <tenon/prims.def>
#undef TN_PRIM
	TN_PRIM_END = 512
};
#endif

/* names of attributes; a primitive's row in prims.def says which it takes */
enum tn_attr_name {
#define TN_ATTR(name, number) TN_ATTR_##name = (number),
#include <tenon/attrs.def>
#undef TN_ATTR
	TN_ATTR_NONE = 0
};
enum tn_attr_type {
	TN_ATTR_INT = 1,       /* i */
	TN_ATTR_FLOAT = 2,     /* f */
	TN_ATTR_INTS = 3,      /* count numbers at graph.ints[at] */
	TN_ATTR_SIZES = 4,     /* count size expressions at graph.dims[at] */
	TN_ATTR_TEXT = 5       /* count bytes at graph.bytes[at], and a 0 after them */
};
/* name: enum tn_attr_name; type: enum tn_attr_type; the members that the type does not use are 0.  A node has an attribute at most once,
 * in any order; one that is not there has the default of the primitive's row ("mode:int=0").  A dtype is an INT, a bool 0 or 1. */
struct tn_attr { uint32_t name, type; int64_t i; double f; uint32_t at, count; };

/* a value.  Its shape is graph.sizes[graph.dims[dim0 + 0 .. rank-1]] */
struct tn_value {
	uint32_t dtype;        /* enum tn_dtype */
	uint32_t rank;         /* 0 (one element) to 8 */
	uint32_t dim0;         /* where in graph.dims its shape starts */
	uint32_t node;         /* the node that makes it; TN_NOTHING for an input or a constant */
	uint32_t result;       /* which of the node's results; 0 where there is no node */
	uint32_t constant;     /* index in graph.constants, or TN_NOTHING */
	uint32_t layout;       /* 0: dense row-major.  Else 1 + index in graph.layouts */
	uint32_t quant;        /* index in graph.quants, or TN_NOTHING */
	uint32_t name;         /* offset in graph.bytes of a 0-terminated name, or TN_NOTHING */
	uint32_t reserved;
	uint64_t flags;        /* 0 today */
};

/* a node: operands are value numbers at graph.operands[in0 ..], results at graph.operands[out0 ..], attributes rows of graph.attrs */
struct tn_node {
	uint32_t prim;         /* enum tn_prim.  A number that is not known is a primitive of a later minor: decline it */
	uint32_t in0, n_in, out0, n_out, attr0, n_attr;
	uint32_t region0, n_region;  /* graph.regions: bodies of if, while, scan */
	uint32_t origin;       /* offset in graph.bytes of where the user wrote it ("model.onnx: /conv1/Conv"), or TN_NOTHING */
	uint64_t flags;        /* 0 today */
};

/* size bytes of a constant: dense row-major, little-endian, 64-byte aligned where the host made them, at any address where they lie in a
 * mapped file.  hash: BLAKE2b-256 of dtype, shape and bytes; zero: not computed.  flags: 0 */
struct tn_constant { uint64_t hash[4]; const void *at; uint64_t size, flags; };
/* number = (stored - zero) * scale.  scale, zero: value numbers (zero TN_NOTHING: 0); axis: the dim along which they vary, TN_NOTHING: per
 * tensor; block: elements along it that share one, 0: 1 */
struct tn_quant { uint32_t scale, zero, axis, block; };

/* a physical layout: dim perm[0] is outermost (n_perm is the rank).  opaque: offset in graph.bytes of a name that the plugin gave ("id" of
 * its tn_layout_row), and perm means nothing; else TN_NOTHING */
struct tn_layout { uint32_t perm[8]; uint32_t n_perm, opaque; };

/* the caller wants output number `output` in the memory of input number `input`: MUST, or MAY.  The host sees to it; regions have none */
enum tn_mutation_kind { TN_MUST_WRITE = 1, TN_MAY_WRITE = 2 };
struct tn_mutation { uint32_t output, input, kind, reserved; };

TN_ASSERT_(sizeof(struct tn_attr) == 32 && sizeof(struct tn_value) == 48 && sizeof(struct tn_node) == 48, "closed rows");
TN_ASSERT_(sizeof(struct tn_constant) == 56 && sizeof(struct tn_layout) == 40, "closed rows");
TN_SPAN(tn_attr); TN_SPAN(tn_value); TN_SPAN(tn_node); TN_SPAN(tn_constant); TN_SPAN(tn_quant); TN_SPAN(tn_layout); TN_SPAN(tn_mutation);

struct tn_graph {
	struct tn_head head;                       /* TN_KIND_GRAPH */
	struct tn_size_rows sizes;                 /* size expressions; symbols are numbered from 0 in order of appearance */
	struct tn_value_rows values;               /* value numbers are row numbers here */
	struct tn_node_rows nodes;                 /* in an order of execution */
	struct tn_attr_rows attrs;                 /* of all nodes: attr0, n_attr */
	struct tn_constant_rows constants;         /* tn_value.constant */
	struct tn_quant_rows quants;               /* tn_value.quant */
	struct tn_layout_rows layouts;             /* tn_value.layout - 1 */
	struct tn_mutation_rows mutations;
	const uint32_t *dims;     uint64_t n_dims;      /* indices into sizes: shapes and TN_ATTR_SIZES */
	const int64_t *ints;      uint64_t n_ints;      /* TN_ATTR_INTS */
	const uint32_t *operands; uint64_t n_operands;  /* value numbers */
	const char *bytes;        uint64_t n_bytes;     /* texts, UTF-8, each with a 0 behind it */
	const struct tn_graph *const *regions; uint64_t n_regions;   /* isolated: what a region reads is its input; symbols are its own */
	const uint32_t *symbols;  uint64_t n_symbols;   /* symbol number -> offset in bytes of its name */
	uint32_t in0, n_in;                        /* graph inputs: operands[in0 ..], each value once */
	uint32_t out0, n_out;                      /* graph outputs: operands[out0 ..]; a value may stand here twice, an input too */
	uint32_t name, reserved;                   /* offset in bytes, or TN_NOTHING; 0 */
	const uint32_t *out_names; uint64_t n_out_names;   /* n_out offsets in bytes, or TN_NOTHING */
};
TN_CLOSE(tn_graph, n_out_names);
#endif
