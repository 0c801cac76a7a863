/* proto_write.h - for tests: a protobuf message written front to back into fixed room, and the few ONNX messages made of it */
#ifndef TENON_PROTO_WRITE_H
#define TENON_PROTO_WRITE_H
#include <assert.h>
#include <stdint.h>
#include <string.h>

struct pw { size_t n; unsigned char at[6000]; };

static inline void pw_byte(struct pw *w, unsigned b)
{
	assert(w->n < sizeof w->at);
	w->at[w->n++] = (unsigned char)b;
}

static inline void pw_varint(struct pw *w, uint64_t v)
{
	for (; v > 127; v >>= 7)
		pw_byte(w, (unsigned)(v & 127) | 128u);
	pw_byte(w, (unsigned)v);
}

static inline void pw_int(struct pw *w, uint32_t field, uint64_t v)
{
	pw_varint(w, (uint64_t)field << 3);
	pw_varint(w, v);
}

static inline void pw_bytes(struct pw *w, uint32_t field, const void *p, size_t size)
{
	pw_varint(w, ((uint64_t)field << 3) | 2);
	pw_varint(w, size);
	for (size_t i = 0; i < size; i++)
		pw_byte(w, ((const unsigned char *)p)[i]);
}

static inline void pw_text(struct pw *w, uint32_t field, const char *s) { pw_bytes(w, field, s, strlen(s)); }
static inline void pw_msg(struct pw *w, uint32_t field, const struct pw *m) { pw_bytes(w, field, m->at, m->n); }

/* ---- ONNX */

static inline struct pw pw_tensor(const char *name, uint32_t elem, const int64_t *dims, size_t rank, const void *raw, size_t size)
{
	struct pw t = { 0 };
	for (size_t i = 0; i < rank; i++)
		pw_int(&t, 1, (uint64_t)dims[i]);
	pw_int(&t, 2, elem);
	pw_text(&t, 8, name);
	pw_bytes(&t, 9, raw, size);
	return t;
}

/* dims: numbers, or names where it does not start with a digit or '-': "n 4 ? -1" */
static inline struct pw pw_value(const char *name, uint32_t elem, const char *dims)
{
	struct pw shape = { 0 }, tensor = { 0 }, type = { 0 }, v = { 0 };
	while (*dims) {
		struct pw d = { 0 };
		size_t n = strcspn(dims, " ");
		if ((*dims >= '0' && *dims <= '9') || *dims == '-') {
			int64_t k = 0;
			for (size_t i = *dims == '-'; i < n; i++)
				k = k * 10 + (dims[i] - '0');
			pw_int(&d, 1, (uint64_t)(*dims == '-' ? -k : k));
		} else {
			pw_bytes(&d, 2, dims, n);
		}
		pw_msg(&shape, 1, &d);
		dims += n + (dims[n] == ' ');
	}
	pw_int(&tensor, 1, elem);
	pw_msg(&tensor, 2, &shape);
	pw_msg(&type, 1, &tensor);
	pw_text(&v, 1, name);
	pw_msg(&v, 2, &type);
	return v;
}

static inline void pw_names(struct pw *n, uint32_t field, const char *names)
{
	while (*names) {
		size_t len = strcspn(names, " ");
		pw_bytes(n, field, names, len == 1 && *names == '-' ? 0 : len);   /* "-": an absent optional */
		names += len + (names[len] == ' ');
	}
}

static inline struct pw pw_node(const char *op, const char *name, const char *in, const char *out)
{
	struct pw n = { 0 };
	pw_names(&n, 1, in);
	pw_names(&n, 2, out);
	pw_text(&n, 3, name);
	pw_text(&n, 4, op);
	return n;
}

static inline void pw_attr_ints(struct pw *node, const char *name, const int64_t *v, size_t count)
{
	struct pw a = { 0 };
	pw_text(&a, 1, name);
	for (size_t i = 0; i < count; i++)
		pw_int(&a, 8, (uint64_t)v[i]);
	pw_int(&a, 20, 7);
	pw_msg(node, 5, &a);
}

static inline void pw_attr_int(struct pw *node, const char *name, int64_t v)
{
	struct pw a = { 0 };
	pw_text(&a, 1, name);
	pw_int(&a, 3, (uint64_t)v);
	pw_int(&a, 20, 2);
	pw_msg(node, 5, &a);
}

static inline struct pw pw_model(const struct pw *graph, int64_t opset)
{
	struct pw m = { 0 }, o = { 0 };
	pw_int(&m, 1, 8);
	pw_int(&o, 2, (uint64_t)opset);
	pw_msg(&m, 8, &o);
	pw_msg(&m, 7, graph);
	return m;
}
#endif
