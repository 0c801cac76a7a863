/* wire.c - protobuf's wire format: the only code that reads bytes of a model's messages */
#include "frontend/onnx/wire.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool tn_str_is(struct tn_str s, const char *text)
{
	return s.len == strlen(text) && (!s.len || !memcmp(s.at, text, s.len));
}

static void put_path(struct tn_text *t, const struct tn_wire *w)
{
	if (!w->parent)
		return;
	put_path(t, w->parent);
	tn_text_add(t, "%s%s", w->parent->parent ? "." : "", w->field);
	if (w->index >= 0)
		tn_text_add(t, "[%lld]", (long long)w->index);
}

void tn_wire_fail(const struct tn_wire *w, const void *at, int32_t code, const char *fmt, ...)
{
	const struct tn_wire_file *file = w->file;
	struct tn_text path = { .arena = file->arena };
	char what[600];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(what, sizeof what, fmt, ap);
	va_end(ap);
	put_path(&path, w);
	tn_raise(file->arena->diag, code, "%s: byte %zu%s%.300s: %s", file->name, (size_t)((const unsigned char *)at - file->bytes),
	         path.len ? ", in " : "", path.len ? path.at : "", what);
}

struct tn_wire tn_wire_begin(const struct tn_wire_file *file)
{
	return (struct tn_wire){ .file = file, .at = file->bytes, .end = file->bytes + file->size, .index = -1 };
}

static uint64_t varint(const struct tn_wire *w, const unsigned char **at, const unsigned char *end)
{
	const unsigned char *p = *at;
	uint64_t v = 0;
	for (unsigned i = 0; i < 10; i++) {
		if (p == end)
			tn_wire_fail(w, *at, TN_E_ARG, "a number is cut off");
		unsigned char b = *p++;
		if (i == 9 && b > 1)
			break;
		v |= (uint64_t)(b & 127) << (7 * i);
		if (b < 128) {
			*at = p;
			return v;
		}
	}
	tn_wire_fail(w, *at, TN_E_ARG, "a number has more than 64 bits");
}

static uint64_t fixed(const struct tn_wire *w, const unsigned char **at, const unsigned char *end, unsigned bytes)
{
	uint64_t v = 0;
	if ((size_t)(end - *at) < bytes)
		tn_wire_fail(w, *at, TN_E_ARG, "a number of %u bytes is cut off, %zu are left", bytes, (size_t)(end - *at));
	for (unsigned i = 0; i < bytes; i++)
		v |= (uint64_t)(*at)[i] << (8 * i);
	*at += bytes;
	return v;
}

bool tn_wire_next(struct tn_wire *w, struct tn_wire_field *f)
{
	const unsigned char *start = w->at;
	if (w->at == w->end)
		return false;
	uint64_t tag = varint(w, &w->at, w->end);
	if (tag > UINT32_MAX || tag < 8)
		tn_wire_fail(w, start, TN_E_ARG, "there is no field with tag %llu", (unsigned long long)tag);
	*f = (struct tn_wire_field){ .number = (uint32_t)tag >> 3, .type = (uint32_t)tag & 7, .at = w->at };
	switch (f->type) {
	case TN_WIRE_VARINT:
		f->value = varint(w, &w->at, w->end);
		break;
	case TN_WIRE_FIXED64:
		f->value = fixed(w, &w->at, w->end, 8);
		break;
	case TN_WIRE_FIXED32:
		f->value = fixed(w, &w->at, w->end, 4);
		break;
	case TN_WIRE_BYTES: {
		uint64_t size = varint(w, &w->at, w->end);
		if (size > (uint64_t)(w->end - w->at))
			tn_wire_fail(w, start, TN_E_ARG, "field %u has %llu bytes, but only %zu are left", f->number, (unsigned long long)size,
			             (size_t)(w->end - w->at));
		f->at = w->at;
		f->size = (size_t)size;
		w->at += size;
		break;
	}
	default:
		tn_wire_fail(w, start, TN_E_ARG, "field %u has wire type %u, which ONNX does not use", f->number, f->type);
	}
	return true;
}

static void need(const struct tn_wire *w, const struct tn_wire_field *f, const char *name, uint32_t type)
{
	if (f->type != type)
		tn_wire_fail(w, f->at, TN_E_ARG, "%s (field %u) has wire type %u and not %u", name, f->number, f->type, type);
}

struct tn_wire tn_wire_enter(const struct tn_wire *w, const struct tn_wire_field *f, const char *name, int64_t index)
{
	need(w, f, name, TN_WIRE_BYTES);
	if (w->depth + 1 >= TN_WIRE_DEPTH)
		tn_wire_fail(w, f->at, TN_E_ARG, "messages are nested more than %d deep", TN_WIRE_DEPTH);
	return (struct tn_wire){ .file = w->file, .at = f->at, .end = f->at + f->size, .parent = w, .field = name, .index = index,
	                         .depth = w->depth + 1 };
}

int64_t tn_wire_int(const struct tn_wire *w, const struct tn_wire_field *f, const char *name)
{
	need(w, f, name, TN_WIRE_VARINT);
	return (int64_t)f->value;
}

float tn_wire_float(const struct tn_wire *w, const struct tn_wire_field *f, const char *name)
{
	need(w, f, name, TN_WIRE_FIXED32);
	uint32_t bits = (uint32_t)f->value;
	float v;
	memcpy(&v, &bits, sizeof v);
	return v;
}

struct tn_str tn_wire_bytes(const struct tn_wire *w, const struct tn_wire_field *f, const char *name)
{
	need(w, f, name, TN_WIRE_BYTES);
	return (struct tn_str){ (const char *)f->at, f->size };
}

struct tn_str tn_wire_name(const struct tn_wire *w, const struct tn_wire_field *f, const char *name)
{
	struct tn_str s = tn_wire_bytes(w, f, name);
	if (s.len && memchr(s.at, 0, s.len))
		tn_wire_fail(w, f->at, TN_E_ARG, "%s has a byte 0 in it", name);
	return s;
}

void tn_wire_repeat(const struct tn_wire *w, const struct tn_wire_field *f, const char *name, uint32_t type, struct tn_wire_numbers *to)
{
	struct tn_arena *a = w->file->arena;
	if (f->type == type && type != TN_WIRE_BYTES) {
		*tn_push(a, to->at, to->n, to->cap) = f->value;
		return;
	}
	need(w, f, name, TN_WIRE_BYTES);
	const unsigned char *at = f->at, *end = f->at + f->size;
	if (!to->at && type != TN_WIRE_VARINT) {   /* the count is known: no growing */
		to->cap = f->size / (type == TN_WIRE_FIXED32 ? 4 : 8) + 1;
		to->at = tn_array(a, uint64_t, to->cap);
	}
	while (at < end)
		*tn_push(a, to->at, to->n, to->cap) = type == TN_WIRE_VARINT ? varint(w, &at, end) : fixed(w, &at, end, type == TN_WIRE_FIXED32 ? 4 : 8);
}
