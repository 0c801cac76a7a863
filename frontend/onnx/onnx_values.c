/* onnx_values.c - what the converter knows about names: values, attributes, elements that are known while converting, sizes */
#include <float.h>
#include <math.h>
#include <string.h>
#include "frontend/onnx/convert.h"

/* ---- names */

struct ox_val *ox_find(struct ox *o, struct tn_str name)
{
	const uint64_t *at = tn_map_find(&o->names, name.at, name.len);
	return at ? (struct ox_val *)(uintptr_t)*at : NULL;
}

struct ox_val *ox_define(struct ox *o, struct tn_str name)
{
	uint64_t *at = tn_map_at(&o->names, name.at, name.len);
	if (*at)
		ox_fail(o, TN_E_ARG, "%s%s'%.*s' is defined twice", o->node ? "" : o->m->file, o->node ? "" : ": ", TN_STR(name));
	struct ox_val *v = tn_new(o->a, struct ox_val);
	*v = (struct ox_val){ .name = name, .value = TN_NOTHING };
	*at = (uint64_t)(uintptr_t)v;
	return v;
}

void ox_set_value(struct ox *o, struct ox_val *v, uint32_t value)
{
	v->value = value;
	v->dtype = ox_dtype(o, value);
	v->rank = ox_rank(o, value);
	v->dims = tn_copy_bytes(o->a, ox_dims(o, value), v->rank * sizeof *v->dims);   /* the IR's table moves when it grows */
}

static void set_static(struct ox *o, struct ox_val *v, uint32_t dtype, uint32_t rank, const int64_t *dims)
{
	uint32_t *handles = tn_array(o->a, uint32_t, rank + 1u);
	for (uint32_t d = 0; d < rank; d++)
		handles[d] = tn_size_const(o->ir, dims[d]);
	v->dtype = dtype;
	v->rank = rank;
	v->dims = handles;
}

void ox_set_tensor(struct ox *o, struct ox_val *v, const struct tn_onnx_tensor *t)
{
	if (t->rank > OX_RANK)
		ox_fail(o, TN_E_UNSUPPORTED, "%s: tensor '%.*s' has rank %u, more than %d", o->m->file, TN_STR(v->name), t->rank, OX_RANK);
	set_static(o, v, t->dtype, t->rank, t->dims);
	v->tensor = t;
}

/* ---- operands and results */

bool ox_has(const struct ox *o, uint32_t i)
{
	return i < o->node->n_in && o->node->in[i].len;
}

struct ox_val *ox_in(struct ox *o, uint32_t i)
{
	if (!ox_has(o, i))
		ox_fail(o, TN_E_ARG, "input %u is missing, there are %u", i, o->node->n_in);
	struct ox_val *v = ox_find(o, o->node->in[i]);
	if (!v)
		ox_fail(o, TN_E_INTERNAL, "input '%.*s' is not there yet", TN_STR(o->node->in[i]));
	return v;
}

uint32_t ox_v(struct ox *o, uint32_t i)
{
	return ox_value(o, ox_in(o, i));
}

bool ox_wants(const struct ox *o, uint32_t i)
{
	return i < o->node->n_out && o->node->out[i].len;
}

void ox_out(struct ox *o, uint32_t i, uint32_t value)
{
	if (ox_wants(o, i))
		ox_set_value(o, ox_define(o, o->node->out[i]), value);
}

void ox_out_val(struct ox *o, uint32_t i, struct ox_val *same)
{
	if (!ox_wants(o, i))
		return;
	struct tn_str name = o->node->out[i];
	uint64_t *at = tn_map_at(&o->names, name.at, name.len);
	if (*at)
		ox_fail(o, TN_E_ARG, "'%.*s' is defined twice", TN_STR(name));
	*at = (uint64_t)(uintptr_t)same;
}

void ox_out_sizes(struct ox *o, uint32_t i, uint32_t dtype, uint32_t rank, const int64_t *dims, const uint32_t *sizes)
{
	uint32_t n = 1;
	if (!ox_wants(o, i))
		return;
	for (uint32_t d = 0; d < rank; d++)
		n *= (uint32_t)dims[d];
	struct ox_val *v = ox_define(o, o->node->out[i]);
	set_static(o, v, dtype, rank, dims);
	v->n_sizes = n;
	v->sizes = tn_copy_bytes(o->a, sizes, n * sizeof *sizes);
}

void ox_out_tensor(struct ox *o, uint32_t i, const struct tn_onnx_tensor *t)
{
	if (ox_wants(o, i))
		ox_set_tensor(o, ox_define(o, o->node->out[i]), t);
}

/* ---- values in the IR */

static void put_int(void *to, uint32_t dtype, uint64_t i, int64_t value)
{
	uint32_t bytes = tn_dtype_bytes(dtype);
	memcpy((char *)to + i * bytes, &value, bytes);   /* little-endian, wraps */
}

static const int64_t *static_dims(struct ox *o, const struct ox_val *v)
{
	int64_t *dims = tn_array(o->a, int64_t, v->rank + 1u);
	for (uint32_t d = 0; d < v->rank; d++)
		if (!ox_const(o, v->dims[d], &dims[d]))
			ox_fail(o, TN_E_INTERNAL, "'%.*s' has a dim that is not known", TN_STR(v->name));
	return dims;
}

static uint32_t sizes_in_ir(struct ox *o, const struct ox_val *v)
{
	unsigned char *bytes = tn_arena_alloc(o->a, v->n_sizes * (size_t)8 + 1);
	for (uint32_t i = 0; i < v->n_sizes; i++) {
		int64_t x;
		if (!ox_const(o, v->sizes[i], &x)) {
			uint32_t all = tn_ir_add(o->ir, TN_size, NULL, 0, &TN_A_SIZES(shape, v->sizes, v->n_sizes), 1);
			return tn_ir_convert(o->ir, tn_ir_reshape(o->ir, all, v->dims, v->rank), v->dtype);
		}
		put_int(bytes, v->dtype, i, x);
	}
	return tn_ir_constant(o->ir, NULL, v->dtype, v->rank, static_dims(o, v), bytes, (uint64_t)v->n_sizes * tn_dtype_bytes(v->dtype));
}

/* Small weights are copied where they lie unaligned in the file, so that code which takes them apart may use plain loads. */
static const void *aligned(struct ox *o, const struct tn_onnx_tensor *t)
{
	uint32_t bytes = tn_dtype_bytes(t->dtype);
	bool straight = !((uintptr_t)t->at % (bytes ? bytes : 1));
	return straight || t->size > 65536 ? t->at : tn_copy_bytes(o->a, t->at, (size_t)t->size);
}

uint32_t ox_value(struct ox *o, struct ox_val *v)
{
	if (v->value != TN_NOTHING)
		return v->value;
	if (v->tensor) {
		const char *name = v->name.len ? tn_printf(o->a, "%.*s", (int)v->name.len, v->name.at) : NULL;
		v->value = tn_ir_constant(o->ir, name, v->dtype, v->rank, v->tensor->dims, aligned(o, v->tensor), v->tensor->size);
	} else {
		v->value = sizes_in_ir(o, v);
	}
	return v->value;
}

/* ---- attributes */

const struct tn_onnx_attr *ox_attr(struct ox *o, const char *name, uint32_t type)
{
	for (uint32_t i = 0; i < o->node->n_attr; i++) {
		const struct tn_onnx_attr *a = &o->node->attrs[i];
		if (!tn_str_is(a->name, name))
			continue;
		o->attrs_read |= UINT64_C(1) << i;
		if (a->type == type)
			return a;
		if (a->type == TN_ONNX_INTS && !a->n && type == TN_ONNX_FLOATS)   /* an empty list says nothing of its type */
			return a;
		ox_fail(o, TN_E_ARG, "attribute '%s' has type %u and not %u", name, a->type, type);
	}
	return NULL;
}

int64_t ox_int(struct ox *o, const char *name, int64_t otherwise)
{
	const struct tn_onnx_attr *a = ox_attr(o, name, TN_ONNX_INT);
	return a ? a->i : otherwise;
}

double ox_float(struct ox *o, const char *name, double otherwise)
{
	const struct tn_onnx_attr *a = ox_attr(o, name, TN_ONNX_FLOAT);
	return a ? (double)a->f : otherwise;
}

const int64_t *ox_ints(struct ox *o, const char *name, uint32_t *n)
{
	const struct tn_onnx_attr *a = ox_attr(o, name, TN_ONNX_INTS);
	*n = a ? a->n : 0;
	return a ? a->ints : NULL;
}

struct tn_str ox_text(struct ox *o, const char *name, const char *otherwise)
{
	const struct tn_onnx_attr *a = ox_attr(o, name, TN_ONNX_STRING);
	return a ? a->s : (struct tn_str){ otherwise, strlen(otherwise) };
}

void ox_skip_attr(struct ox *o, const char *name)
{
	for (uint32_t i = 0; i < o->node->n_attr; i++)
		if (tn_str_is(o->node->attrs[i].name, name))
			o->attrs_read |= UINT64_C(1) << i;
}

int64_t ox_axis(struct ox *o, int64_t axis, uint32_t rank)
{
	if (axis < -(int64_t)rank || axis >= (int64_t)rank)
		ox_fail(o, TN_E_ARG, "axis %lld of a tensor of rank %u", (long long)axis, rank);
	return axis < 0 ? axis + rank : axis;
}

/* ---- elements */

static bool int_at(const struct tn_onnx_tensor *t, uint64_t i, int64_t *to)   /* false: not an integer, or beyond i64 */
{
	uint32_t bytes = tn_dtype_bytes(t->dtype), unused = 64 - 8 * bytes;
	uint64_t bits = 0;
	if (!ox_is_int(t->dtype) && t->dtype != TN_BOOL)
		return false;
	memcpy(&bits, (const char *)t->at + i * bytes, bytes);
	*to = TN_M_SINT >> t->dtype & 1 ? (int64_t)(bits << unused) >> unused : (int64_t)bits;
	return t->dtype != TN_U64 || *to >= 0;
}

static double half_value(uint32_t bits)
{
	int e = (int)(bits >> 10 & 31);
	double m = bits & 1023, x = e == 31 ? (m != 0 ? (double)NAN : (double)INFINITY) : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
	return bits >> 15 ? -x : x;
}

static bool float_at(const struct tn_onnx_tensor *t, uint64_t i, double *to)
{
	const char *at = t->at;
	if (t->dtype == TN_F64) {
		memcpy(to, at + i * 8, 8);
	} else if (t->dtype == TN_F32 || t->dtype == TN_BF16) {
		uint32_t bits = 0;
		float x;
		memcpy(t->dtype == TN_F32 ? (char *)&bits : (char *)&bits + 2, at + i * (t->dtype == TN_F32 ? 4 : 2), t->dtype == TN_F32 ? 4 : 2);
		memcpy(&x, &bits, 4);
		*to = (double)x;
	} else if (t->dtype == TN_F16) {
		uint16_t bits;
		memcpy(&bits, at + i * 2, 2);
		*to = half_value(bits);
	} else {
		int64_t x;
		if (!int_at(t, i, &x))
			return false;
		*to = (double)x;
	}
	return true;
}

bool ox_number(struct ox *o, struct ox_val *v, double *to)
{
	int64_t x;
	uint32_t n;
	if (v->tensor)
		return v->tensor->count == 1 && float_at(v->tensor, 0, to);
	const uint32_t *sizes = ox_sizes(o, v, &n);
	if (!sizes || n != 1 || !ox_const(o, sizes[0], &x))
		return false;
	*to = (double)x;
	return true;
}

const uint32_t *ox_sizes(struct ox *o, struct ox_val *v, uint32_t *n)
{
	*n = v->n_sizes;
	if (v->sizes || !v->tensor || v->tensor->count > OX_FOLLOW)
		return v->sizes;
	uint32_t count = (uint32_t)v->tensor->count, *sizes = tn_array(o->a, uint32_t, count + 1u);
	for (uint32_t i = 0; i < count; i++) {
		int64_t x;
		if (!int_at(v->tensor, i, &x))
			return NULL;
		sizes[i] = tn_size_const(o->ir, x);
	}
	v->n_sizes = *n = count;
	return v->sizes = sizes;
}

uint32_t ox_bind(struct ox *o, uint32_t value, int64_t lo)
{
	uint32_t size = tn_size_sym(o->ir, NULL, lo, OX_DIM_MAX);
	struct tn_attr_in attrs[] = { TN_A_INT(index, o->ir->g.sizes.at[size].a), TN_A_INT(lo, lo), TN_A_INT(hi, OX_DIM_MAX) };
	tn_ir_node(o->ir, &(struct tn_node_in){ .prim = TN_bind, .in = &value, .n_in = 1, .attrs = attrs, .n_attrs = 3 });
	return size;
}

/* the elements of an integer vector in the IR, each as a new symbol */
const uint32_t *ox_bind_vector(struct ox *o, uint32_t v, const uint32_t *known, int64_t lo, const char *what, uint32_t *n)
{
	uint32_t count_size = ox_product(o, ox_dims(o, v), ox_rank(o, v));
	int64_t count;
	if (!ox_is_int(ox_dtype(o, v)))
		ox_fail(o, TN_E_ARG, "%s is %s, not integers", what, tn_dtype_name(ox_dtype(o, v)));
	if (!ox_const(o, count_size, &count) || count > OX_RANK)
		ox_fail(o, TN_E_UNSUPPORTED, "%s has %s elements that are known only when it runs", what, ox_print(o, count_size));
	uint32_t *sizes = tn_array(o->a, uint32_t, (size_t)count + 1);
	uint32_t all = tn_ir_convert(o->ir, tn_ir_reshape(o->ir, v, &count_size, 1), TN_I64);
	for (uint32_t i = 0; i < count; i++)
		sizes[i] = known && known[i] != TN_NOTHING ? known[i] : ox_bind(o, tn_ir_reshape(o->ir, ox_axis_slice(o, all, 0, ox_c(o, i), ox_c(o, i + 1), 1), NULL, 0), lo);
	*n = (uint32_t)count;
	return sizes;
}

/* lo < 0: bounds of a slice, where what is too far away means the end and may be cut to what a symbol holds */
static const uint32_t *bind_all(struct ox *o, struct ox_val *v, const char *what, int64_t lo, uint32_t *n)
{
	uint32_t x = ox_value(o, v);
	if (lo < 0 && ox_is_int(v->dtype)) {
		x = tn_ir_convert(o->ir, x, TN_I64);
		x = tn_ir_binary(o->ir, TN_max, tn_ir_binary(o->ir, TN_min, x, ox_like_int(o, x, OX_DIM_MAX)), ox_like_int(o, x, lo));
	}
	const uint32_t *sizes = ox_bind_vector(o, x, v->partial, lo, what, n);
	v->n_sizes = *n;
	return v->sizes = sizes;               /* bound once, whoever asks next */
}

const uint32_t *ox_need_sizes(struct ox *o, uint32_t i, const char *what, uint32_t *n)
{
	struct ox_val *v = ox_in(o, i);
	const uint32_t *sizes = ox_sizes(o, v, n);
	return sizes ? sizes : bind_all(o, v, what, 0, n);
}

const uint32_t *ox_need_signed(struct ox *o, uint32_t i, const char *what, uint32_t *n)
{
	struct ox_val *v = ox_in(o, i);
	const uint32_t *sizes = ox_sizes(o, v, n);
	return sizes ? sizes : bind_all(o, v, what, -OX_DIM_MAX, n);
}

const int64_t *ox_need_ints(struct ox *o, uint32_t i, const char *what, uint32_t *n)
{
	const uint32_t *sizes = ox_sizes(o, ox_in(o, i), n);
	int64_t *ints = tn_array(o->a, int64_t, *n + 1u);
	if (!sizes)
		ox_fail(o, TN_E_UNSUPPORTED, "%s '%.*s' is known only when it runs", what, TN_STR(o->node->in[i]));
	for (uint32_t k = 0; k < *n; k++)
		if (!ox_const(o, sizes[k], &ints[k]))
			ox_fail(o, TN_E_UNSUPPORTED, "%s is not constant: %s", what, ox_print(o, sizes[k]));
	return ints;
}

const int64_t *ox_axes(struct ox *o, uint32_t input, uint32_t *n)
{
	const int64_t *axes = ox_ints(o, "axes", n);
	return axes || !ox_has(o, input) ? axes : ox_need_ints(o, input, "axes", n);
}

/* ---- sizes */

static const struct tn_size *row(const struct ox *o, uint32_t size)
{
	return &o->ir->g.sizes.at[size];
}

bool ox_const(const struct ox *o, uint32_t size, int64_t *to)
{
	if (row(o, size)->op != TN_SIZE_CONST)
		return false;
	*to = row(o, size)->value;
	return true;
}

int64_t ox_lo(const struct ox *o, uint32_t size) { return row(o, size)->lo; }
int64_t ox_hi(const struct ox *o, uint32_t size) { return row(o, size)->hi; }
uint32_t ox_c(struct ox *o, int64_t value) { return tn_size_const(o->ir, value); }
uint32_t ox_plus(struct ox *o, uint32_t a, uint32_t b) { return tn_size_op(o->ir, TN_SIZE_ADD, a, b); }
uint32_t ox_times(struct ox *o, uint32_t a, uint32_t b) { return tn_size_op(o->ir, TN_SIZE_MUL, a, b); }
uint32_t ox_minus(struct ox *o, uint32_t a, uint32_t b) { return ox_plus(o, a, ox_times(o, ox_c(o, -1), b)); }
uint32_t ox_over(struct ox *o, uint32_t a, uint32_t b) { return tn_size_op(o->ir, TN_SIZE_DIV, a, b); }

uint32_t ox_min(struct ox *o, uint32_t a, uint32_t b)
{
	return ox_hi(o, a) <= ox_lo(o, b) ? a : ox_hi(o, b) <= ox_lo(o, a) ? b : tn_size_op(o->ir, TN_SIZE_MIN, a, b);
}

uint32_t ox_max(struct ox *o, uint32_t a, uint32_t b)
{
	return ox_lo(o, a) >= ox_hi(o, b) ? a : ox_lo(o, b) >= ox_hi(o, a) ? b : tn_size_op(o->ir, TN_SIZE_MAX, a, b);
}

uint32_t ox_negative(struct ox *o, uint32_t a)
{
	if (ox_lo(o, a) >= 0)
		return ox_c(o, 0);
	if (ox_hi(o, a) < 0)
		return ox_c(o, 1);
	return ox_min(o, ox_max(o, ox_minus(o, ox_c(o, 0), a), ox_c(o, 0)), ox_c(o, 1));
}

uint32_t ox_product(struct ox *o, const uint32_t *dims, uint32_t n)
{
	return tn_size_product(o->ir, dims, n);
}

const char *ox_print(struct ox *o, uint32_t size)
{
	struct tn_text t = { .arena = o->a };
	tn_size_print(&t, &o->ir->g, size);
	return t.at ? t.at : "";
}

const char *ox_print_dims(struct ox *o, const uint32_t *dims, uint32_t n)
{
	struct tn_text t = { .arena = o->a };
	tn_text_add(&t, "[");
	for (uint32_t i = 0; i < n; i++)
		tn_text_add(&t, "%s%s", i ? ", " : "", ox_print(o, dims[i]));
	tn_text_add(&t, "]");
	return t.at;
}
