/* rows.c - finding dialect and word rows, filling the holes of their texts, and small pieces of text made of them */
#include "render/inner.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct { const char *name; uint32_t bytes; } dtypes[TN_DTYPE_END] = {
	[TN_BOOL] = { "bool", 1 }, [TN_U8] = { "u8", 1 }, [TN_U16] = { "u16", 2 }, [TN_U32] = { "u32", 4 }, [TN_U64] = { "u64", 8 },
	[TN_I8] = { "i8", 1 }, [TN_I16] = { "i16", 2 }, [TN_I32] = { "i32", 4 }, [TN_I64] = { "i64", 8 },
	[TN_F16] = { "f16", 2 }, [TN_BF16] = { "bf16", 2 }, [TN_F32] = { "f32", 4 }, [TN_F64] = { "f64", 8 },
};

const char *rd_dtype_name(uint32_t dtype)
{
	return dtype < TN_DTYPE_END && dtypes[dtype].name ? dtypes[dtype].name : "?";
}

uint32_t rd_dtype_bytes(uint32_t dtype)
{
	return dtype < TN_DTYPE_END ? dtypes[dtype].bytes : 0;
}

bool rd_dtype_float(uint32_t dtype)
{
	return dtype < TN_DTYPE_END && TN_M(dtype) & TN_M_FLOAT;
}

const char *rd_prim_name(uint32_t prim)
{
	switch (prim) {
#define TN_PRIM(name, number, ...) case (number): return #name;
#include <tenon/prims.def>
#undef TN_PRIM
	}
	return "?";
}

void rd_fault(struct rd *r, int32_t code, const char *fmt, ...)
{
	char text[700];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	tn_raise(r->diag, code, "%s%s%s: %s", r->b->id ? r->b->id : "?", r->t ? ", template " : "", r->t ? r->t->id : "", text);
}

static bool met(const char *needs, const struct tn_device_info *d)
{
	return !needs || !*needs || (d && strstr(d->target, needs));
}

const struct tn_dialect_row *rd_spell(const struct tn_backend *b, const struct tn_device_info *d, uint32_t prim, uint32_t form, uint32_t in, uint32_t out)
{
	for (uint64_t i = 0; i < b->dialect.count; i++) {
		const struct tn_dialect_row *w = &b->dialect.at[i];
		if (w->prim == prim && w->forms & form && w->in & TN_M(in) && w->out & TN_M(out) && met(w->needs, d))
			return w;
	}
	return NULL;
}

int tn_dialect_has(const struct tn_backend *b, uint32_t prim, uint32_t in_dtype, uint32_t out_dtype)
{
	return rd_spell(b, NULL, prim, TN_SCALAR | TN_VECTOR | TN_BLOCK, in_dtype, out_dtype) != NULL;
}

static const struct tn_word_row *find_word(const struct tn_backend *b, const char *role, uint32_t form, uint32_t dtype)
{
	for (uint64_t i = 0; i < b->words.count; i++) {
		const struct tn_word_row *w = &b->words.at[i];
		if (!strcmp(w->role, role) && (!form || !w->forms || w->forms & form) && (!dtype || !w->dtypes || w->dtypes & TN_M(dtype)))
			return w;
	}
	return NULL;
}

const char *rd_word_find(const struct tn_backend *b, const char *role, uint32_t form, uint32_t dtype)
{
	const struct tn_word_row *w = find_word(b, role, form, dtype);
	return w ? w->text : NULL;
}

static const char *form_name(uint32_t form)
{
	return form == TN_SCALAR ? " scalar" : form == TN_VECTOR ? " vector" : form == TN_BLOCK ? " block" : "";
}

const char *rd_word(struct rd *r, const char *role, uint32_t form, uint32_t dtype)
{
	struct { char role[24]; uint32_t form, dtype; } key = { .form = form, .dtype = dtype };
	size_t len = strlen(role);
	uint64_t *known = NULL;
	if (len < sizeof key.role) {         /* a kernel asks for the same few words hundreds of times */
		memcpy(key.role, role, len);
		known = tn_map_at(&r->words, &key, sizeof key);
		if (*known)
			return r->b->words.at[*known - 1].text;
	}
	const char *text = NULL;
	const struct tn_word_row *row = find_word(r->b, role, form, dtype);
	if (row) {
		text = row->text;
		if (known)
			*known = (uint64_t)(row - r->b->words.at) + 1;
	}
	if (!text)
		rd_fault(r, TN_E_UNSUPPORTED, "no word row for %s%s%s%s", role, form_name(form), dtype ? " " : "", dtype ? rd_dtype_name(dtype) : "");
	return text;
}

void rd_use(struct rd *r, const char *helper)
{
	for (uint32_t i = 0; i < r->n_uses; i++)
		if (!strcmp(r->uses[i], helper))
			return;
	char *role = tn_printf(r->arena, "helper.%s", helper);
	const char *text = rd_word_find(r->b, role, 0, 0);
	if (!text)
		rd_fault(r, TN_E_UNSUPPORTED, "no word row for %s", role);
	for (const char *p = text; (p = strstr(p, "@use(")); p++) {      /* what it needs stands before it */
		const char *end = strchr(p, ')');
		if (end)
			rd_use(r, tn_printf(r->arena, "%.*s", (int)(end - p - 5), p + 5));
	}
	*tn_push(r->arena, r->uses, r->n_uses, r->cap_uses) = tn_strdup(r->arena, helper);
}

static const char *find_name(const struct rd_name *names, uint32_t n, const char *key, size_t len)
{
	for (uint32_t i = n; i-- > 0;)
		if (strlen(names[i].key) == len && !memcmp(names[i].key, key, len))
			return names[i].text;
	return NULL;
}

/* Row texts: @name@ from names, @use(helper)@, @@ for a single @. */
const char *rd_expand(struct rd *r, const char *text, const struct rd_name *names, uint32_t n, const char *what)
{
	struct tn_text out = { .arena = r->arena };
	tn_text_put(&out, "", 0);
	for (;;) {
		const char *at = strchr(text, '@');
		if (!at) {
			tn_text_put(&out, text, strlen(text));
			return out.at;
		}
		tn_text_put(&out, text, (size_t)(at - text));
		const char *end = strchr(at + 1, '@');
		if (!end)
			rd_fault(r, TN_E_ARG, "row for %s: an @ without its pair in \"%s\"", what, at);
		size_t len = (size_t)(end - at - 1);
		const char *found = find_name(names, n, at + 1, len);
		if (!found)
			found = find_name(r->names, r->n_names, at + 1, len);
		if (!len) {
			tn_text_put(&out, "@", 1);
		} else if (len > 5 && !memcmp(at + 1, "use(", 4)) {
			rd_use(r, tn_printf(r->arena, "%.*s", (int)len - 5, at + 5));
		} else if (found) {
			tn_text_put(&out, found, strlen(found));
		} else {
			rd_fault(r, TN_E_ARG, "row for %s: no such hole @%.*s@", what, (int)len, at + 1);
		}
		text = end + 1;
	}
}

const char *rd_type(struct rd *r, uint32_t form, uint32_t dtype)
{
	return rd_word(r, "type", form, dtype);
}

static int64_t sign_extend(uint64_t bits, uint32_t bytes)
{
	return bytes >= 8 ? (int64_t)bits : (int64_t)(bits << (64 - 8 * bytes)) >> (64 - 8 * bytes);
}

static double from_half(uint16_t h)
{
	int e = h >> 10 & 31;
	double m = h & 1023, v = e ? (m + 1024) / 1024 : m / 512;
	for (int i = e ? e : 0; i > 15; i--)
		v *= 2;
	for (int i = e; i < 15; i++)
		v /= 2;
	return h >> 15 ? -v : v;
}

static double float_of(uint32_t dtype, uint64_t bits)
{
	uint32_t w = dtype == TN_BF16 ? (uint32_t)bits << 16 : (uint32_t)bits;
	float f;
	double d;
	memcpy(&f, &w, sizeof f);
	memcpy(&d, &bits, sizeof d);
	return dtype == TN_F64 ? d : dtype == TN_F16 ? from_half((uint16_t)bits) : (double)f;
}

/* a finite float as a hexadecimal literal, exact; others by their words */
static const char *float_literal(struct rd *r, uint32_t dtype, uint64_t bits)
{
	uint32_t mantissa = dtype == TN_F64 ? 52 : dtype == TN_F32 ? 23 : dtype == TN_F16 ? 10 : 7;
	uint32_t width = 8 * rd_dtype_bytes(dtype);
	uint64_t exponent = (UINT64_C(1) << (width - 1)) - (UINT64_C(1) << mantissa);
	const char *sign = bits >> (width - 1) & 1 ? "-" : "";
	if ((bits & exponent) == exponent) {
		bool nan = bits & ((UINT64_C(1) << mantissa) - 1);
		return rd_expand(r, rd_word(r, nan ? "literal.nan" : "literal.inf", TN_SCALAR, dtype), RD_NAMES({ "sign", sign }), "literal");
	}
	double v = float_of(dtype, bits);
	char text[64];
	snprintf(text, sizeof text, v == (double)(long long)v && v < 1e6 && v > -1e6 && v != 0 ? "%.1f" : "%a", v);
	if (v == 0)
		snprintf(text, sizeof text, "%s0.0", sign);
	return rd_expand(r, rd_word(r, "literal", TN_SCALAR, dtype), RD_NAMES({ "value", text }), "literal");
}

static const char *int_literal(struct rd *r, uint32_t dtype, uint64_t bits)
{
	uint32_t bytes = rd_dtype_bytes(dtype);
	bool is_signed = TN_M(dtype) & TN_M_SINT;
	uint64_t u = bytes >= 8 ? bits : bits & ((UINT64_C(1) << (8 * bytes)) - 1);
	int64_t s = sign_extend(bits, bytes);
	/* the lowest signed value has no literal of its own in C-like languages */
	char text[64];
	if (is_signed && s == INT64_MIN)
		snprintf(text, sizeof text, "(-9223372036854775807 - 1)");
	else if (is_signed && dtype == TN_I32 && s == INT32_MIN)
		snprintf(text, sizeof text, "(-2147483647 - 1)");
	else if (is_signed)
		snprintf(text, sizeof text, "%lld", (long long)s);
	else
		snprintf(text, sizeof text, "%llu", (unsigned long long)u);
	return rd_expand(r, rd_word(r, "literal", TN_SCALAR, dtype), RD_NAMES({ "value", text }), "literal");
}

const char *rd_literal(struct rd *r, uint32_t dtype, uint64_t bits)
{
	const char *text = rd_dtype_float(dtype) ? float_literal(r, dtype, bits) : int_literal(r, dtype, bits);
	return *text == '-' ? tn_printf(r->arena, "(%s)", text) : text;
}

const char *rd_size(struct rd *r, uint32_t size)
{
	const struct tn_size *z = &r->sizes.at[size];
	if (z->op == TN_SIZE_CONST)
		return tn_printf(r->arena, z->value < 0 ? "(%lld)" : "%lld", (long long)z->value);
	uint32_t k = 0;
	while (k < r->n_scalars && r->scalars[k] != size)
		k++;
	if (k == r->n_scalars)
		*tn_push(r->arena, r->scalars, r->n_scalars, r->cap_scalars) = size;
	return tn_printf(r->arena, "n%u", k);
}

const char *rd_fresh(struct rd *r, const char *stem)
{
	return tn_printf(r->arena, "%s%u", stem, r->next++);
}

void rd_line(struct rd *r, const char *fmt, ...)
{
	va_list ap, again;
	va_start(ap, fmt);
	va_copy(again, ap);
	int len = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (len < 0)
		rd_fault(r, TN_E_INTERNAL, "a statement cannot be formatted");
	char *line = tn_arena_alloc(r->arena, (size_t)len + 1);
	vsnprintf(line, (size_t)len + 1, fmt, again);
	va_end(again);
	for (char *p = line; p;) {           /* each line of a longer statement stands indented */
		char *end = strchr(p, '\n');
		if (end)
			*end++ = 0;
		tn_text_add(&r->out, "%s%s%s", r->indent ? r->indent : " ", p, r->indent ? "\n" : "");
		p = end;
	}
}

const char *rd_let(struct rd *r, uint32_t form, uint32_t dtype, const char *expr)
{
	const char *name = rd_fresh(r, "v");
	rd_line(r, "%s", rd_expand(r, rd_word(r, "let", form, dtype), RD_NAMES({ "T", rd_type(r, form, dtype) }, { "r", name }, { "x", expr }), "let"));
	return name;
}
