/* tensor.c - TensorProto: where the weights are, and that there are as many bytes as the dims say.
 *
 * Bytes in raw_data and in external files are borrowed where they lie; numbers in the typed fields are decoded into the arena. */
#include "frontend/onnx/model.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- files */

struct mapping { void *at; size_t size; };

static void unmap(void *arg)
{
	const struct mapping *m = arg;
	munmap(m->at, m->size);
}

const void *tn_onnx_map(struct tn_arena *a, const char *path, size_t *size, const char **why)
{
	struct mapping *m = tn_new(a, struct mapping);
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);   /* non-blocking: a pipe must not hold us up */
	*size = 0;
	*why = NULL;
	if (fd < 0) {
		*why = strerror(errno);
		return NULL;
	}
	if (fstat(fd, &st))
		*why = strerror(errno);
	else if (!S_ISREG(st.st_mode))
		*why = "not a regular file";
	if (!*why && st.st_size) {
		m->size = (size_t)st.st_size;
		m->at = mmap(NULL, m->size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (m->at == MAP_FAILED)
			*why = strerror(errno);
	}
	close(fd);
	if (*why)
		return NULL;
	if (!st.st_size)
		return "";
	tn_arena_defer(a, unmap, m);
	*size = m->size;
	return m->at;
}

struct tn_onnx_external { struct tn_onnx_external *next; const char *path; const void *at; size_t size; };

/* below the model's folder, by name only: neither absolute nor upwards.  Links are followed, since model hubs store files so. */
static bool path_allowed(struct tn_str p)
{
	if (!p.len || p.at[0] == '/' || memchr(p.at, 0, p.len))
		return false;
	for (size_t i = 0; i < p.len;) {
		size_t n = 0;
		while (i + n < p.len && p.at[i + n] != '/' && p.at[i + n] != '\\')
			n++;
		if (n == 2 && p.at[i] == '.' && p.at[i + 1] == '.')
			return false;
		i += n + 1;
	}
	return true;
}

static const struct tn_onnx_external *open_external(struct tn_onnx_reader *r, const struct tn_wire *w, struct tn_str location)
{
	struct tn_arena *a = r->file.arena;
	if (!r->dir)
		tn_wire_fail(w, w->end, TN_E_ARG, "weights are in the file '%.*s', but the model was not read from a folder", TN_STR(location));
	if (!path_allowed(location) || location.len > 4096)
		tn_wire_fail(w, w->end, TN_E_ARG, "weights are in '%.*s', which is not a relative path below the model's folder", TN_STR(location));
	const char *path = tn_printf(a, "%s/%.*s", r->dir, (int)location.len, location.at);
	for (struct tn_onnx_external *e = r->external; e; e = e->next)
		if (!strcmp(e->path, path))
			return e;
	const char *why;
	struct tn_onnx_external *e = tn_new(a, struct tn_onnx_external);
	e->path = path;
	e->at = tn_onnx_map(a, path, &e->size, &why);
	if (!e->at)
		tn_wire_fail(w, w->end, TN_E_GONE, "weights in '%.*s': %s", TN_STR(location), why);
	e->next = r->external;
	return r->external = e;
}

/* ---- one tensor */

struct raw {                       /* what the message holds, before it is looked at */
	struct tn_wire_numbers dims, f32, i32, i64, f64, u64;
	int64_t elem, where;
	bool has_raw, has_strings, has_segment;
	struct tn_str bytes, location, offset, length;
};

static void read_external(struct tn_wire w, struct raw *x)
{
	struct tn_str key = { 0 }, value = { 0 };
	struct tn_wire_field f;
	while (tn_wire_next(&w, &f)) {
		if (f.number == 1)
			key = tn_wire_bytes(&w, &f, "key");
		else if (f.number == 2)
			value = tn_wire_bytes(&w, &f, "value");
	}
	if (tn_str_is(key, "location"))
		x->location = value;
	else if (tn_str_is(key, "offset"))
		x->offset = value;
	else if (tn_str_is(key, "length"))
		x->length = value;
}

static void read_fields(struct tn_wire *w, struct raw *x, struct tn_onnx_tensor *t)
{
	struct tn_wire_field f;
	int64_t n_external = 0;
	while (tn_wire_next(w, &f)) {
		switch (f.number) {
		case 1: tn_wire_repeat(w, &f, "dims", TN_WIRE_VARINT, &x->dims); break;
		case 2: x->elem = tn_wire_int(w, &f, "data_type"); break;
		case 3: x->has_segment = true; break;
		case 4: tn_wire_repeat(w, &f, "float_data", TN_WIRE_FIXED32, &x->f32); break;
		case 5: tn_wire_repeat(w, &f, "int32_data", TN_WIRE_VARINT, &x->i32); break;
		case 6: x->has_strings = true; break;
		case 7: tn_wire_repeat(w, &f, "int64_data", TN_WIRE_VARINT, &x->i64); break;
		case 8: t->name = tn_wire_name(w, &f, "name"); break;
		case 9: x->bytes = tn_wire_bytes(w, &f, "raw_data"); x->has_raw = true; break;
		case 10: tn_wire_repeat(w, &f, "double_data", TN_WIRE_FIXED64, &x->f64); break;
		case 11: tn_wire_repeat(w, &f, "uint64_data", TN_WIRE_VARINT, &x->u64); break;
		case 13: read_external(tn_wire_enter(w, &f, "external_data", n_external++), x); break;
		case 14: x->where = tn_wire_int(w, &f, "data_location"); break;
		default: break;
		}
	}
}

static uint32_t bits_of(uint32_t dtype)
{
	static const uint8_t bits[TN_DTYPE_END] = {
		[TN_BOOL] = 8, [TN_U8] = 8, [TN_U16] = 16, [TN_U32] = 32, [TN_U64] = 64, [TN_I8] = 8, [TN_I16] = 16, [TN_I32] = 32, [TN_I64] = 64,
		[TN_F16] = 16, [TN_BF16] = 16, [TN_F32] = 32, [TN_F64] = 64, [TN_C64] = 64, [TN_C128] = 128, [TN_F8E4M3FN] = 8, [TN_F8E5M2] = 8,
		[TN_F8E4M3FNUZ] = 8, [TN_F8E5M2FNUZ] = 8, [TN_F8E8M0] = 8, [TN_F4E2M1] = 4, [TN_I4] = 4, [TN_U4] = 4, [TN_I2] = 2, [TN_U2] = 2,
	};
	return bits[dtype];
}

static void check_dims(const struct tn_wire *w, const struct raw *x, struct tn_onnx_tensor *t)
{
	int64_t *dims = tn_array(w->file->arena, int64_t, x->dims.n + 1);
	uint64_t count = 1, bits;
	if (x->dims.n > 64)
		tn_wire_fail(w, w->end, TN_E_ARG, "tensor '%.*s' has %zu dims", TN_STR(t->name), x->dims.n);
	for (size_t i = 0; i < x->dims.n; i++) {
		dims[i] = (int64_t)x->dims.at[i];
		if (dims[i] < 0)
			tn_wire_fail(w, w->end, TN_E_ARG, "tensor '%.*s' has dim %zu = %lld", TN_STR(t->name), i, (long long)dims[i]);
		if (__builtin_mul_overflow(count, (uint64_t)dims[i], &count))
			tn_wire_fail(w, w->end, TN_E_ARG, "tensor '%.*s': its dims up to %zu (%lld) have a product beyond 64 bits", TN_STR(t->name), i,
			             (long long)dims[i]);
	}
	if (__builtin_mul_overflow(count, (uint64_t)bits_of(t->dtype), &bits) || bits > INT64_MAX)
		tn_wire_fail(w, w->end, TN_E_ARG, "tensor '%.*s' of %llu elements of %u bits is beyond 64 bits", TN_STR(t->name),
		             (unsigned long long)count, bits_of(t->dtype));
	t->rank = (uint32_t)x->dims.n;
	t->dims = dims;
	t->count = count;
	t->size = bits / 8 + (bits % 8 != 0);
}

static void check_size(const struct tn_wire *w, const struct tn_onnx_tensor *t, const char *where, uint64_t present)
{
	if (present != t->size)
		tn_wire_fail(w, w->end, TN_E_ARG, "tensor '%.*s' needs %llu bytes by its dims, but %s has %llu", TN_STR(t->name),
		             (unsigned long long)t->size, where, (unsigned long long)present);
}

static uint64_t decimal(const struct tn_wire *w, const struct tn_onnx_tensor *t, struct tn_str s, const char *what)
{
	uint64_t v = 0;
	for (size_t i = 0; i < s.len; i++)
		if (s.at[i] < '0' || s.at[i] > '9' || __builtin_mul_overflow(v, 10u, &v) || __builtin_add_overflow(v, (uint64_t)(s.at[i] - '0'), &v))
			tn_wire_fail(w, w->end, TN_E_ARG, "tensor '%.*s': %s '%.*s' is not a number", TN_STR(t->name), what, TN_STR(s));
	return v;
}

static void take_external(struct tn_onnx_reader *r, const struct tn_wire *w, const struct raw *x, struct tn_onnx_tensor *t)
{
	const struct tn_onnx_external *e = open_external(r, w, x->location);
	uint64_t offset = decimal(w, t, x->offset, "external offset");
	uint64_t length = x->length.len ? decimal(w, t, x->length, "external length") : t->size;
	check_size(w, t, "its external length", length);
	if (offset > e->size || length > e->size - offset)
		tn_wire_fail(w, w->end, TN_E_ARG, "tensor '%.*s': bytes %llu to %llu of '%.*s', which has %zu", TN_STR(t->name),
		             (unsigned long long)offset, (unsigned long long)offset + (unsigned long long)length, TN_STR(x->location), e->size);
	t->at = (const char *)e->at + offset;
}

/* the typed field that holds a dtype, and how many bytes of each of its numbers count */
static const struct tn_wire_numbers *typed_field(const struct raw *x, uint32_t dtype, size_t *bytes)
{
	*bytes = (bits_of(dtype) + 7) / 8;
	switch (dtype) {
	case TN_F32: return &x->f32;
	case TN_C64: *bytes = 4; return &x->f32;
	case TN_F64: return &x->f64;
	case TN_C128: *bytes = 8; return &x->f64;
	case TN_I64: return &x->i64;
	case TN_U32: case TN_U64: return &x->u64;
	default: return &x->i32;
	}
}

static void take_typed(const struct tn_wire *w, const struct raw *x, struct tn_onnx_tensor *t)
{
	size_t bytes;
	const struct tn_wire_numbers *n = typed_field(x, t->dtype, &bytes);
	check_size(w, t, "its data field", (uint64_t)n->n * bytes);
	unsigned char *to = tn_arena_alloc(w->file->arena, (size_t)t->size);
	for (size_t i = 0; i < n->n; i++)
		memcpy(to + i * bytes, &n->at[i], bytes);   /* little-endian: the low bytes come first */
	t->at = to;
}

/* a bool is 0 or 1 wherever the IR meets it; a file may hold anything */
static void clean_bools(struct tn_arena *a, struct tn_onnx_tensor *t)
{
	const unsigned char *from = t->at;
	unsigned char *to = tn_arena_alloc(a, (size_t)t->size);
	for (uint64_t i = 0; i < t->size; i++)
		to[i] = from[i] != 0;
	t->at = to;
}

void tn_onnx_tensor_read(struct tn_onnx_reader *r, struct tn_wire w, struct tn_onnx_tensor *t)
{
	struct raw x = { 0 };
	read_fields(&w, &x, t);
	t->dtype = tn_onnx_dtype(x.elem);
	if (!t->dtype)
		tn_wire_fail(&w, w.end, x.elem == 8 ? TN_E_UNSUPPORTED : TN_E_ARG, "tensor '%.*s' has element type %lld (%s)", TN_STR(t->name),
		             (long long)x.elem, tn_onnx_dtype_name(x.elem));
	if (x.has_segment)
		tn_wire_fail(&w, w.end, TN_E_UNSUPPORTED, "tensor '%.*s' is stored in segments", TN_STR(t->name));
	check_dims(&w, &x, t);
	if (x.where == 1) {
		take_external(r, &w, &x, t);
	} else if (x.where) {
		tn_wire_fail(&w, w.end, TN_E_ARG, "tensor '%.*s' has data_location %lld", TN_STR(t->name), (long long)x.where);
	} else if (x.has_raw) {
		check_size(&w, t, "raw_data", x.bytes.len);
		t->at = x.bytes.at;
	} else {
		take_typed(&w, &x, t);
	}
	if (t->dtype == TN_BOOL)
		clean_bools(w.file->arena, t);
}
