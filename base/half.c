/* half.c - one encoder and one decoder for every small float, driven by a table of formats.
 *
 * Sources: IEEE 754-2019 (f16), OCP 8-bit Floating Point Specification 1.0 (e4m3fn, e5m2), OCP Microscaling Formats 1.0 (e8m0,
 * f4e2m1), and Noune and others 2022 (the fnuz forms: no infinity, no -0, its code is NaN, bias one higher). */
#include "base/half.h"
#include <math.h>

struct format {
	int mant, bias;          /* mantissa bits, exponent bias */
	uint32_t sign;           /* the sign bit, 0: unsigned */
	uint32_t top;            /* code of the largest finite value */
	uint32_t over;           /* what a larger one becomes */
	uint32_t nan;            /* the NaN that is written */
	uint32_t nan_from;       /* magnitudes from here on are NaN; infinity is top + 1 where that is smaller */
	int fnuz;
};

/*                          mant bias sign    top     over    nan     nan_from fnuz */
static const struct format formats[TN_DTYPE_END] = {
	[TN_F16] =        { 10,  15, 0x8000, 0x7bff, 0x7c00, 0x7e00, 0x7c01, 0 },
	[TN_BF16] =       {  7, 127, 0x8000, 0x7f7f, 0x7f80, 0x7fc0, 0x7f81, 0 },
	[TN_F8E5M2] =     {  2,  15, 0x80,   0x7b,   0x7c,   0x7e,   0x7d,   0 },
	[TN_F8E4M3FN] =   {  3,   7, 0x80,   0x7e,   0x7f,   0x7f,   0x7f,   0 },
	[TN_F8E5M2FNUZ] = {  2,  16, 0x80,   0x7f,   0x80,   0x80,   0x80,   1 },
	[TN_F8E4M3FNUZ] = {  3,   8, 0x80,   0x7f,   0x80,   0x80,   0x80,   1 },
	[TN_F4E2M1] =     {  1,   1, 0x8,    0x7,    0x7,    0x0,    0x8,    0 },
	[TN_F8E8M0] =     {  0, 127, 0,      0xfe,   0xff,   0xff,   0xff,   0 },
};

int tn_small_is(uint32_t dtype) { return dtype < TN_DTYPE_END && formats[dtype].top != 0; }

/* round x = sig * 2^(e - 52) to the format's grid; the carry walks into the exponent by itself */
static uint32_t round_code(const struct format *f, uint64_t sig, int e)
{
	const int least = 1 - f->bias;                 /* exponent of the smallest normal value */
	int shift = 52 - f->mant + (e < least ? least - e : 0);
	if (shift > 54)
		return 0;
	const uint64_t half = UINT64_C(1) << (shift - 1), rest = sig & (2 * half - 1);
	uint64_t q = sig >> shift;
	const uint64_t code = e < least ? q : q + ((uint64_t)(e - least) << f->mant);
	return (uint32_t)(code + (rest > half || (rest == half && (code & 1))));
}

static uint32_t encode_e8m0(double x)
{
	int e;
	if (!(x > 0) || isinf(x))
		return 0xff;
	const double m = 2 * frexp(x, &e);             /* x = m * 2^(e - 1), 1 <= m < 2 */
	const int code = e - 1 + 127;
	const int up = m > 1.5 || (m == 1.5 && (code & 1));
	return code + up < 0 ? 0 : code + up > 0xfe ? 0xff : (uint32_t)(code + up);
}

uint32_t tn_small_encode(uint32_t dtype, double x)
{
	const struct format *f = &formats[dtype];
	uint64_t bits;
	if (dtype == TN_F8E8M0)
		return encode_e8m0(x);
	memcpy(&bits, &x, sizeof bits);
	const uint32_t sign = bits >> 63 ? f->sign : 0;
	const int e = (int)(bits >> 52 & 0x7ff) - 1023;
	const uint64_t frac = bits & ((UINT64_C(1) << 52) - 1);
	if (e == 1024 && frac != 0)
		return f->nan | (f->nan ? f->fnuz ? 0 : sign : 0);
	if (e == 1024)
		return f->over | (f->fnuz ? 0 : sign);
	uint32_t code = e == -1023 ? 0 : round_code(f, frac | UINT64_C(1) << 52, e);
	if (code > f->top)
		code = f->over;
	return f->fnuz && (code == 0 || code == f->nan) ? code : code | sign;
}

double tn_small_decode(uint32_t dtype, uint32_t code)
{
	const struct format *f = &formats[dtype];
	const uint32_t mag = code & ~f->sign & (f->fnuz || f->sign == 0 ? 0xff : f->sign - 1);
	const double s = f->sign != 0 && code & f->sign ? -1 : 1;
	if (dtype == TN_F8E8M0)
		return mag == 0xff ? (double)NAN : ldexp(1, (int)mag - 127);
	if (f->fnuz && code == f->nan)
		return (double)NAN;
	if (mag >= f->nan_from)
		return copysign((double)NAN, s);
	if (mag > f->top)
		return s * (double)INFINITY;
	const int e = (int)(mag >> f->mant);
	const double m = (double)(mag & ((1u << f->mant) - 1)) + (e > 0 ? (double)(1u << f->mant) : 0);
	return s * ldexp(m, (e > 0 ? e : 1) - f->bias - f->mant);
}
