/* test_arrays.h - for tests: arrays as text, both ways: "f32[2, 2]: 1 -0 inf nan; i64[]: 3" */
#ifndef TENON_TEST_ARRAYS_H
#define TENON_TEST_ARRAYS_H
#include "ir/eval.h"
#include "ir/half.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void put_element(struct tn_array *x, uint64_t i, const char *text, char **end)
{
	const uint32_t elem = tn_dtype_bytes(x->dtype);
	char *to = (char *)x->at + i * elem;
	if (x->dtype == TN_U64) {
		const uint64_t u = strtoull(text, end, 0);
		memcpy(to, &u, elem);
	} else if (TN_M_FLOAT >> x->dtype & 1) {
		const double d = strtod(text, end);
		ev_convert_n(x->dtype, to, TN_F64, &d, 1);
	} else {
		const int64_t v = strtoll(text, end, 0);
		ev_convert_n(x->dtype, to, TN_I64, &v, 1);
	}
}

/* elements that the text does not give repeat those it does */
static inline struct tn_array read_array(struct tn_arena *a, const char **text)
{
	struct tn_array x = { 0 };
	const char *s = *text + strspn(*text, " ;"), *p = s;
	uint64_t n = 1, i = 0;
	x.dtype = tn_dtype_by_name(s, strcspn(s, "["));
	for (p = s + strcspn(s, "[") + 1; *p != ']'; p += strspn(p, ", ")) {
		char *end;
		x.dims[x.rank] = strtoll(p, &end, 10);
		n *= (uint64_t)x.dims[x.rank++];
		p = end;
	}
	x.size = n * tn_dtype_bytes(x.dtype);
	x.at = tn_arena_alloc(a, x.size);
	for (p += 2; p[strspn(p, " ")] != 0 && p[strspn(p, " ")] != ';' && i < n; i++) {
		char *end;
		put_element(&x, i, p, &end);
		p = end;
	}
	for (uint64_t k = i; i > 0 && k < n; k++)
		memcpy((char *)x.at + k * tn_dtype_bytes(x.dtype), (char *)x.at + (k - i) * tn_dtype_bytes(x.dtype), tn_dtype_bytes(x.dtype));
	*text = p + strcspn(p, ";");
	return x;
}

static inline uint32_t read_arrays(struct tn_arena *a, const char *text, struct tn_array *x, uint32_t most)
{
	uint32_t n = 0;
	while (text[strspn(text, " ;")] != 0 && n < most)
		x[n++] = read_array(a, &text);
	return n;
}

static inline void put_array(struct tn_text *t, const struct tn_array *x)
{
	tn_text_add(t, "%s[", tn_dtype_name(x->dtype));
	for (uint32_t d = 0; d < x->rank; d++)
		tn_text_add(t, "%s%lld", d ? ", " : "", (long long)x->dims[d]);
	tn_text_add(t, "]:");
	for (uint64_t i = 0; i < ev_count(x); i++) {
		const void *at = (const char *)x->at + i * tn_dtype_bytes(x->dtype);
		double d;
		int64_t v;
		uint64_t u;
		ev_convert_n(TN_F64, &d, x->dtype, at, 1);
		ev_convert_n(TN_I64, &v, x->dtype, at, 1);
		ev_convert_n(TN_U64, &u, x->dtype, at, 1);
		if (d != d)
			tn_text_add(t, " nan");
		else if (TN_M_FLOAT >> x->dtype & 1)
			tn_text_add(t, " %.*g", x->dtype == TN_F64 ? 17 : 9, d);
		else if (x->dtype == TN_U64)
			tn_text_add(t, " %llu", (unsigned long long)u);
		else
			tn_text_add(t, " %lld", (long long)v);
	}
}
#endif
