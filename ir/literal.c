/* literal.c - numbers as text and back, bits kept (but for a NaN's payload), whatever the locale of the program is */
#include "ir/lex.h"
#include "base/half.h"
#include "ir/prim.h"
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static locale_t c_locale;
static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;

static void make_locale(void)
{
	c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* strtod in the C locale; without memory for one, in the program's */
static double to_double(const char *s, char **end)
{
	pthread_once(&c_locale_once, make_locale);
	return c_locale ? strtod_l(s, end, c_locale) : strtod(s, end);
}

/* precision 0: hexadecimal */
static void from_double(char *out, size_t room, int precision, double x)
{
	pthread_once(&c_locale_once, make_locale);
	const locale_t old = c_locale ? uselocale(c_locale) : (locale_t)0;
	if (precision)
		snprintf(out, room, "%.*g", precision, x);
	else
		snprintf(out, room, "%a", x);
	if (c_locale)
		uselocale(old);
}

double tn_text_to_double(struct tn_lex *l, const char *at, size_t size)
{
	char s[128], *end;
	if (size >= sizeof s)
		tn_lex_expected(l, "a number of fewer than 128 characters");
	memcpy(s, at, size);
	s[size] = 0;
	const double x = to_double(s, &end);
	if (end != s + size || end == s)
		tn_lex_expected(l, "a number");
	return x;
}

static void print_special(struct tn_text *t, double x)
{
	tn_text_add(t, "%s", isnan(x) ? "nan" : x < 0 ? "-inf" : "inf");
}

static int looks_float(const char *s)
{
	return strpbrk(s, ".exp") != NULL;
}

void tn_print_double(struct tn_text *t, double x)
{
	char s[64];
	if (!isfinite(x)) {
		print_special(t, x);
		return;
	}
	for (int precision = 6; precision <= 17; precision++) {
		from_double(s, sizeof s, precision, x);
		if (to_double(s, NULL) == x)
			break;
	}
	tn_text_add(t, "%s%s", s, looks_float(s) ? "" : ".0");
}

/* ---- elements of constants */
static double read_float(uint32_t dtype, const void *at, uint64_t i)
{
	uint16_t h;
	float f;
	double d;
	switch (dtype) {
	case TN_F16:
	case TN_BF16:
		memcpy(&h, (const char *)at + i * sizeof h, sizeof h);
		return (double)(dtype == TN_F16 ? tn_f16_to_f32(h) : tn_bf16_to_f32(h));
	case TN_F32:
		memcpy(&f, (const char *)at + i * sizeof f, sizeof f);
		return (double)f;
	default:
		memcpy(&d, (const char *)at + i * sizeof d, sizeof d);
		return d;
	}
}

static void write_float(uint32_t dtype, void *at, uint64_t i, double x)
{
	const uint16_t h = dtype == TN_F16 ? tn_f64_to_f16(x) : dtype == TN_BF16 ? tn_f64_to_bf16(x) : 0;
	const float f = (float)x;
	switch (dtype) {
	case TN_F16:
	case TN_BF16: memcpy((char *)at + i * sizeof h, &h, sizeof h); break;
	case TN_F32: memcpy((char *)at + i * sizeof f, &f, sizeof f); break;
	default: memcpy((char *)at + i * sizeof x, &x, sizeof x); break;
	}
}

/* decimal where six digits are enough, else hexadecimal */
static void print_float(struct tn_text *t, uint32_t dtype, double x)
{
	char s[64];
	uint64_t back[1] = { 0 };
	if (!isfinite(x)) {
		print_special(t, x);
		return;
	}
	from_double(s, sizeof s, 6, x);
	write_float(dtype, back, 0, to_double(s, NULL));
	if (read_float(dtype, back, 0) != x)
		from_double(s, sizeof s, 0, x);
	tn_text_add(t, "%s%s", s, looks_float(s) ? "" : ".0");
}

void tn_print_element(struct tn_text *t, uint32_t dtype, const void *at, uint64_t i)
{
	const uint32_t size = tn_dtype_bytes(dtype);
	if (TN_M(dtype) & TN_M_FLOAT) {
		print_float(t, dtype, read_float(dtype, at, i));
		return;
	}
	uint64_t u = 0;                /* little-endian, as constants are */
	memcpy(&u, (const char *)at + i * size, size);
	if (TN_M(dtype) & TN_M_SINT) {
		const unsigned shift = 64 - 8 * size;
		tn_text_add(t, "%lld", (long long)((int64_t)(u << shift) >> shift));
	} else {
		tn_text_add(t, "%llu", (unsigned long long)u);
	}
}

static void fits(struct tn_lex *l, uint32_t dtype, int64_t v, int minus, size_t place)
{
	const uint32_t bits = dtype == TN_BOOL ? 1 : tn_dtype_bits(dtype);
	const int sint = (TN_M(dtype) & TN_M_SINT) != 0;
	const uint64_t top = sint ? (UINT64_C(1) << (bits - 1)) - 1 : bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
	const uint64_t low = sint ? top + 1 : 0;
	if (minus ? (uint64_t)0 - (uint64_t)v > low : (uint64_t)v > top)
		tn_lex_fail(l, place, "expected a number that %s holds, found one out of its range", tn_dtype_name(dtype));
}

void tn_parse_element(struct tn_lex *l, uint32_t dtype, void *at, uint64_t i)
{
	const size_t place = l->start;
	if (TN_M(dtype) & TN_M_FLOAT) {
		write_float(dtype, at, i, tn_lex_float(l, "a number"));
		return;
	}
	const int minus = tn_lex_is(l, '-');
	const int64_t v = tn_lex_int(l, "a whole number");
	fits(l, dtype, v, minus, place);
	const uint32_t size = tn_dtype_bytes(dtype);
	memcpy((char *)at + i * size, &v, size);
}
