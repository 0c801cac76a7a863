/* model.h - an ONNX file as structs: names and weights point into the file, everything else lives in the arena.
 *
 * Source: onnx/onnx.proto.  Nothing here knows operators; what the structs hold is well formed (dtypes exist, a tensor's bytes
 * fit its dims), not yet meaningful. */
#ifndef TENON_ONNX_MODEL_H
#define TENON_ONNX_MODEL_H
#include "frontend/onnx/wire.h"

struct tn_onnx_tensor {
	struct tn_str name;
	uint32_t dtype;                /* enum tn_dtype */
	uint32_t rank;
	const int64_t *dims;
	uint64_t count;                /* elements */
	const void *at; uint64_t size; /* dense row-major, little-endian; any alignment */
};
enum tn_onnx_dim_kind { TN_ONNX_DIM_UNSET = 0, TN_ONNX_DIM_VALUE, TN_ONNX_DIM_NAMED };
struct tn_onnx_dim { uint32_t kind; int64_t value; struct tn_str name; };
enum tn_onnx_type_kind { TN_ONNX_TYPE_NONE = 0, TN_ONNX_TENSOR, TN_ONNX_SEQUENCE, TN_ONNX_MAP, TN_ONNX_OPTIONAL, TN_ONNX_SPARSE, TN_ONNX_OPAQUE };
struct tn_onnx_value {
	struct tn_str name;
	uint32_t kind, elem;           /* enum tn_onnx_type_kind; ONNX's number of the element type, 0: not said */
	bool has_shape;
	uint32_t rank; const struct tn_onnx_dim *dims;
};
enum tn_onnx_attr_type {           /* ONNX's numbers */
	TN_ONNX_FLOAT = 1, TN_ONNX_INT, TN_ONNX_STRING, TN_ONNX_A_TENSOR, TN_ONNX_GRAPH, TN_ONNX_FLOATS, TN_ONNX_INTS, TN_ONNX_STRINGS,
	TN_ONNX_TENSORS, TN_ONNX_GRAPHS, TN_ONNX_SPARSE_TENSOR, TN_ONNX_SPARSE_TENSORS, TN_ONNX_TYPE, TN_ONNX_TYPES, TN_ONNX_ATTR_END
};
struct tn_onnx_attr {
	struct tn_str name, ref;       /* ref: of an attribute of the enclosing function */
	uint32_t type, n;              /* n: of the list that type means */
	float f; int64_t i; struct tn_str s;
	const struct tn_onnx_tensor *t;
	const struct tn_onnx_graph *g;
	const float *floats; const int64_t *ints; const struct tn_str *strings;
};
struct tn_onnx_node {
	struct tn_str name, op, domain;
	uint32_t n_in, n_out, n_attr;
	const struct tn_str *in, *out;
	const struct tn_onnx_attr *attrs;
	size_t offset;                 /* in the file, for errors about a node without name */
};
struct tn_onnx_graph {
	struct tn_str name;
	uint32_t n_nodes, n_init, n_in, n_out, n_sparse;
	const struct tn_onnx_node *nodes;
	const struct tn_onnx_tensor *init;
	const struct tn_onnx_value *in, *out;
};
struct tn_onnx_opset { struct tn_str domain; int64_t version; };
struct tn_onnx_function { struct tn_str domain, name; };
struct tn_onnx_model {
	const char *file;              /* what errors call it */
	int64_t ir_version;
	uint32_t n_opsets, n_functions;
	const struct tn_onnx_opset *opsets;
	const struct tn_onnx_function *functions;
	const struct tn_onnx_graph *graph;
};

/* tn_onnx_decode - raises TN_E_ARG for what is not a model, TN_E_UNSUPPORTED for types that the IR has not
 *   dir  folder of external data; NULL: external data is refused */
struct tn_onnx_model *tn_onnx_decode(struct tn_arena *a, const void *bytes, size_t size, const char *name, const char *dir);

uint32_t tn_onnx_dtype(int64_t elem);                 /* enum tn_dtype; TN_NONE for what the IR has not */
const char *tn_onnx_dtype_name(int64_t elem);         /* ONNX's word: "FLOAT"; "?" */

/* shared with tensor.c */
struct tn_onnx_external;
struct tn_onnx_reader { struct tn_wire_file file; const char *dir; struct tn_onnx_external *external; };
void tn_onnx_tensor_read(struct tn_onnx_reader *r, struct tn_wire w, struct tn_onnx_tensor *t);

/* tn_onnx_map - map a file read-only until the arena goes; NULL and the reason in why when it can't be */
const void *tn_onnx_map(struct tn_arena *a, const char *path, size_t *size, const char **why);
#endif
