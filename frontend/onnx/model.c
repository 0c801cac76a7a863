/* model.c - from wire to structs: model, graph, node, attribute, value info.  Tensors are in tensor.c. */
#include "frontend/onnx/model.h"
#include <string.h>

static const struct { const char *name; uint32_t dtype; } elems[] = {   /* by ONNX's number */
	{ "UNDEFINED", TN_NONE }, { "FLOAT", TN_F32 }, { "UINT8", TN_U8 }, { "INT8", TN_I8 }, { "UINT16", TN_U16 }, { "INT16", TN_I16 },
	{ "INT32", TN_I32 }, { "INT64", TN_I64 }, { "STRING", TN_NONE }, { "BOOL", TN_BOOL }, { "FLOAT16", TN_F16 }, { "DOUBLE", TN_F64 },
	{ "UINT32", TN_U32 }, { "UINT64", TN_U64 }, { "COMPLEX64", TN_C64 }, { "COMPLEX128", TN_C128 }, { "BFLOAT16", TN_BF16 },
	{ "FLOAT8E4M3FN", TN_F8E4M3FN }, { "FLOAT8E4M3FNUZ", TN_F8E4M3FNUZ }, { "FLOAT8E5M2", TN_F8E5M2 },
	{ "FLOAT8E5M2FNUZ", TN_F8E5M2FNUZ }, { "UINT4", TN_U4 }, { "INT4", TN_I4 }, { "FLOAT4E2M1", TN_F4E2M1 },
	{ "FLOAT8E8M0", TN_F8E8M0 }, { "UINT2", TN_U2 }, { "INT2", TN_I2 },
};
enum { N_ELEMS = sizeof elems / sizeof *elems };
_Static_assert(N_ELEMS == 27, "ONNX numbers its element types from 0 to 26");

uint32_t tn_onnx_dtype(int64_t elem)
{
	return elem >= 0 && elem < N_ELEMS ? elems[elem].dtype : TN_NONE;
}

const char *tn_onnx_dtype_name(int64_t elem)
{
	return elem >= 0 && elem < N_ELEMS ? elems[elem].name : "?";
}

/* ---- value info and types */

static void read_dim(struct tn_wire w, struct tn_onnx_dim *d)
{
	struct tn_wire_field f;
	while (tn_wire_next(&w, &f)) {
		if (f.number == 1)
			*d = (struct tn_onnx_dim){ .kind = TN_ONNX_DIM_VALUE, .value = tn_wire_int(&w, &f, "dim_value") };
		else if (f.number == 2)
			*d = (struct tn_onnx_dim){ .kind = TN_ONNX_DIM_NAMED, .name = tn_wire_name(&w, &f, "dim_param") };
	}
}

static void read_shape(struct tn_wire w, struct tn_onnx_value *v)
{
	struct tn_wire_field f;
	struct tn_onnx_dim *dims = NULL;
	uint32_t n = 0, cap = 0;
	while (tn_wire_next(&w, &f))
		if (f.number == 1) {
			struct tn_onnx_dim *d = tn_push(w.file->arena, dims, n, cap);
			read_dim(tn_wire_enter(&w, &f, "dim", n - 1), d);
		}
	v->has_shape = true;
	v->rank = n;
	v->dims = dims;
}

static void read_tensor_type(struct tn_wire w, struct tn_onnx_value *v)
{
	struct tn_wire_field f;
	while (tn_wire_next(&w, &f)) {
		if (f.number == 1) {
			int64_t elem = tn_wire_int(&w, &f, "elem_type");
			if (elem < 0 || elem >= N_ELEMS)
				tn_wire_fail(&w, f.at, TN_E_ARG, "there is no element type %lld", (long long)elem);
			v->elem = (uint32_t)elem;
		} else if (f.number == 2) {
			read_shape(tn_wire_enter(&w, &f, "shape", -1), v);
		}
	}
}

static void read_type(struct tn_wire w, struct tn_onnx_value *v)
{
	static const uint32_t kinds[] = { [1] = TN_ONNX_TENSOR, [4] = TN_ONNX_SEQUENCE, [5] = TN_ONNX_MAP, [7] = TN_ONNX_OPAQUE,
	                                  [8] = TN_ONNX_SPARSE, [9] = TN_ONNX_OPTIONAL };
	struct tn_wire_field f;
	while (tn_wire_next(&w, &f)) {
		if (f.number < sizeof kinds / sizeof *kinds && kinds[f.number])
			v->kind = kinds[f.number];
		if (f.number == 1)
			read_tensor_type(tn_wire_enter(&w, &f, "tensor_type", -1), v);
	}
}

static void read_value(struct tn_wire w, struct tn_onnx_value *v)
{
	struct tn_wire_field f;
	while (tn_wire_next(&w, &f)) {
		if (f.number == 1)
			v->name = tn_wire_name(&w, &f, "name");
		else if (f.number == 2)
			read_type(tn_wire_enter(&w, &f, "type", -1), v);
	}
}

/* ---- attributes, nodes, graphs: these three call one another */

static const struct tn_onnx_graph *read_graph(struct tn_onnx_reader *r, struct tn_wire w);

static const float *as_floats(struct tn_arena *a, const struct tn_wire_numbers *n)
{
	float *v = tn_array(a, float, n->n + 1);
	for (size_t i = 0; i < n->n; i++) {
		uint32_t bits = (uint32_t)n->at[i];
		memcpy(&v[i], &bits, sizeof bits);
	}
	return v;
}

static const int64_t *as_ints(struct tn_arena *a, const struct tn_wire_numbers *n)
{
	int64_t *v = tn_array(a, int64_t, n->n + 1);
	for (size_t i = 0; i < n->n; i++)
		v[i] = (int64_t)n->at[i];
	return v;
}

/* Before IR version 3 the type could be left out: what is there tells it. */
static void finish_attr(const struct tn_wire *w, struct tn_onnx_attr *a, uint32_t seen, const struct tn_wire_numbers *floats,
                        const struct tn_wire_numbers *ints, uint32_t n_strings)
{
	if (!a->type)
		a->type = seen;
	if (!a->type || a->type >= TN_ONNX_ATTR_END)
		tn_wire_fail(w, w->at, TN_E_ARG, "attribute '%.*s' has type %u", TN_STR(a->name), a->type);
	if ((a->type == TN_ONNX_A_TENSOR && !a->t) || (a->type == TN_ONNX_GRAPH && !a->g))
		tn_wire_fail(w, w->at, TN_E_ARG, "attribute '%.*s' has no value", TN_STR(a->name));
	size_t n = a->type == TN_ONNX_FLOATS ? floats->n : a->type == TN_ONNX_INTS ? ints->n : a->type == TN_ONNX_STRINGS ? n_strings : 1;
	if (n > INT32_MAX)
		tn_wire_fail(w, w->at, TN_E_ARG, "attribute '%.*s' has %zu elements", TN_STR(a->name), n);
	a->n = (uint32_t)n;
	a->floats = as_floats(w->file->arena, floats);
	a->ints = as_ints(w->file->arena, ints);
}

static void read_attr(struct tn_onnx_reader *r, struct tn_wire w, struct tn_onnx_attr *a)
{
	struct tn_arena *arena = r->file.arena;
	struct tn_wire_numbers floats = { 0 }, ints = { 0 };
	struct tn_str *strings = NULL;
	uint32_t n_strings = 0, cap = 0, seen = 0;
	struct tn_wire_field f;
	while (tn_wire_next(&w, &f)) {
		switch (f.number) {
		case 1: a->name = tn_wire_name(&w, &f, "name"); break;
		case 2: a->f = tn_wire_float(&w, &f, "f"); seen = TN_ONNX_FLOAT; break;
		case 3: a->i = tn_wire_int(&w, &f, "i"); seen = TN_ONNX_INT; break;
		case 4: a->s = tn_wire_bytes(&w, &f, "s"); seen = TN_ONNX_STRING; break;
		case 5: {
			struct tn_onnx_tensor *t = tn_new(arena, struct tn_onnx_tensor);
			tn_onnx_tensor_read(r, tn_wire_enter(&w, &f, "t", -1), t);
			a->t = t;
			seen = TN_ONNX_A_TENSOR;
			break;
		}
		case 6: a->g = read_graph(r, tn_wire_enter(&w, &f, "g", -1)); seen = TN_ONNX_GRAPH; break;
		case 7: tn_wire_repeat(&w, &f, "floats", TN_WIRE_FIXED32, &floats); seen = TN_ONNX_FLOATS; break;
		case 8: tn_wire_repeat(&w, &f, "ints", TN_WIRE_VARINT, &ints); seen = TN_ONNX_INTS; break;
		case 9: *tn_push(arena, strings, n_strings, cap) = tn_wire_bytes(&w, &f, "strings"); seen = TN_ONNX_STRINGS; break;
		case 20: {
			int64_t type = tn_wire_int(&w, &f, "type");
			a->type = type > 0 && type < TN_ONNX_ATTR_END ? (uint32_t)type : UINT32_MAX;
			break;
		}
		case 21: a->ref = tn_wire_name(&w, &f, "ref_attr_name"); break;
		default: break;   /* tensors, graphs, sparse tensors and types: no operator here takes them */
		}
	}
	a->strings = strings;
	finish_attr(&w, a, seen, &floats, &ints, n_strings);
}

static void read_node(struct tn_onnx_reader *r, struct tn_wire w, struct tn_onnx_node *n)
{
	struct tn_arena *a = r->file.arena;
	struct tn_str *in = NULL, *out = NULL;
	struct tn_onnx_attr *attrs = NULL;
	uint32_t in_cap = 0, out_cap = 0, attr_cap = 0;
	struct tn_wire_field f;
	n->offset = (size_t)(w.at - r->file.bytes);
	while (tn_wire_next(&w, &f)) {
		switch (f.number) {
		case 1: *tn_push(a, in, n->n_in, in_cap) = tn_wire_name(&w, &f, "input"); break;
		case 2: *tn_push(a, out, n->n_out, out_cap) = tn_wire_name(&w, &f, "output"); break;
		case 3: n->name = tn_wire_name(&w, &f, "name"); break;
		case 4: n->op = tn_wire_name(&w, &f, "op_type"); break;
		case 5: {
			struct tn_onnx_attr *at = tn_push(a, attrs, n->n_attr, attr_cap);
			read_attr(r, tn_wire_enter(&w, &f, "attribute", n->n_attr - 1), at);
			break;
		}
		case 7: n->domain = tn_wire_name(&w, &f, "domain"); break;
		default: break;
		}
	}
	n->in = in;
	n->out = out;
	n->attrs = attrs;
}

static const struct tn_onnx_graph *read_graph(struct tn_onnx_reader *r, struct tn_wire w)
{
	struct tn_arena *a = r->file.arena;
	struct tn_onnx_graph *g = tn_new(a, struct tn_onnx_graph);
	struct tn_onnx_node *nodes = NULL;
	struct tn_onnx_tensor *init = NULL;
	struct tn_onnx_value *in = NULL, *out = NULL;
	uint32_t node_cap = 0, init_cap = 0, in_cap = 0, out_cap = 0;
	struct tn_wire_field f;
	while (tn_wire_next(&w, &f)) {
		switch (f.number) {
		case 1: {
			struct tn_onnx_node *n = tn_push(a, nodes, g->n_nodes, node_cap);
			read_node(r, tn_wire_enter(&w, &f, "node", g->n_nodes - 1), n);
			break;
		}
		case 2: g->name = tn_wire_name(&w, &f, "name"); break;
		case 5: {
			struct tn_onnx_tensor *t = tn_push(a, init, g->n_init, init_cap);
			tn_onnx_tensor_read(r, tn_wire_enter(&w, &f, "initializer", g->n_init - 1), t);
			break;
		}
		case 11: {
			struct tn_onnx_value *v = tn_push(a, in, g->n_in, in_cap);
			read_value(tn_wire_enter(&w, &f, "input", g->n_in - 1), v);
			break;
		}
		case 12: {
			struct tn_onnx_value *v = tn_push(a, out, g->n_out, out_cap);
			read_value(tn_wire_enter(&w, &f, "output", g->n_out - 1), v);
			break;
		}
		case 15: g->n_sparse++; break;
		default: break;   /* value_info is a hint (shapes are inferred here), the rest is description */
		}
	}
	g->nodes = nodes;
	g->init = init;
	g->in = in;
	g->out = out;
	return g;
}

/* ---- the model */

static void read_opset(struct tn_wire w, struct tn_onnx_opset *o)
{
	struct tn_wire_field f;
	while (tn_wire_next(&w, &f)) {
		if (f.number == 1)
			o->domain = tn_wire_name(&w, &f, "domain");
		else if (f.number == 2)
			o->version = tn_wire_int(&w, &f, "version");
	}
}

static void read_function(struct tn_wire w, struct tn_onnx_function *fn)
{
	struct tn_wire_field f;
	while (tn_wire_next(&w, &f)) {
		if (f.number == 1)
			fn->name = tn_wire_name(&w, &f, "name");
		else if (f.number == 10)
			fn->domain = tn_wire_name(&w, &f, "domain");
	}
}

struct tn_onnx_model *tn_onnx_decode(struct tn_arena *a, const void *bytes, size_t size, const char *name, const char *dir)
{
	struct tn_onnx_reader r = { .file = { tn_strdup(a, name), bytes, size, a }, .dir = dir };
	struct tn_onnx_model *m = tn_new(a, struct tn_onnx_model);
	struct tn_onnx_opset *opsets = NULL;
	struct tn_onnx_function *functions = NULL;
	uint32_t opset_cap = 0, function_cap = 0;
	struct tn_wire_field f;
	if (!size)
		tn_raise(a->diag, TN_E_ARG, "%s: the file is empty", name);
	struct tn_wire w = tn_wire_begin(&r.file);
	m->file = r.file.name;
	while (tn_wire_next(&w, &f)) {
		if (f.number == 1) {
			m->ir_version = tn_wire_int(&w, &f, "ir_version");
		} else if (f.number == 7) {
			if (m->graph)
				tn_wire_fail(&w, f.at, TN_E_ARG, "a second graph");
			m->graph = read_graph(&r, tn_wire_enter(&w, &f, "graph", -1));
		} else if (f.number == 8) {
			struct tn_onnx_opset *o = tn_push(a, opsets, m->n_opsets, opset_cap);
			read_opset(tn_wire_enter(&w, &f, "opset_import", m->n_opsets - 1), o);
		} else if (f.number == 25) {
			struct tn_onnx_function *fn = tn_push(a, functions, m->n_functions, function_cap);
			read_function(tn_wire_enter(&w, &f, "functions", m->n_functions - 1), fn);
		}
	}
	if (!m->graph)
		tn_raise(a->diag, TN_E_ARG, "%s: no graph in %zu bytes: this is not an ONNX model, or it is cut off", name, size);
	m->opsets = opsets;
	m->functions = functions;
	return m;
}
