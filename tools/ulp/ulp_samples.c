/* ulp_samples.c - inputs: stratified over exponents and signs, edges of every exponent, special values; pairs */
#include <math.h>
#include <string.h>
#include "base/half.h"
#include "tools/ulp/ulp.h"

static uint64_t next(uint64_t *state)          /* splitmix64 (Steele, Lea, Flood 2014) */
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static uint32_t fraction_bits(uint32_t dtype) { return dtype == TN_F16 ? 10 : dtype == TN_BF16 ? 7 : dtype == TN_F32 ? 23 : 52; }
static uint32_t width(uint32_t dtype) { return tn_dtype_bits(dtype); }

static void put(uint32_t dtype, void *x, uint32_t i, uint64_t bits)
{
	if (width(dtype) == 16) ((uint16_t *)x)[i] = (uint16_t)bits;
	else if (width(dtype) == 32) ((uint32_t *)x)[i] = (uint32_t)bits;
	else ((uint64_t *)x)[i] = bits;
}

static uint64_t bits_of_number(uint32_t dtype, double v)
{
	float f = (float)v;
	uint32_t b;
	uint64_t w;
	memcpy(&b, &f, 4);
	memcpy(&w, &v, 8);
	return dtype == TN_F16 ? tn_f64_to_f16(v) : dtype == TN_BF16 ? tn_f64_to_bf16(v) : dtype == TN_F32 ? b : w;
}

static const double special[] = { 0.0, -0.0, 1, -1, 2, -2, 3, -3, 0.5, -0.5, 1.5, -1.5, 0.1, -0.1, 0.25, 0.75, 10, -10, 20, -20, 33, -33, 88.72283935546875, -87.5, -103.9,
	100, -100, 1.5707963267948966, 3.141592653589793, -3.141592653589793, 6.283185307179586, 0.6931471805599453, 2.718281828459045, 1e5, 1e10, -1e10, 16777215, 16777216,
	2147483648.0, -2147483648.0, INFINITY, -INFINITY, NAN };
enum { N_SPECIAL = sizeof special / sizeof *special };

static uint64_t special_bits(uint32_t dtype, uint32_t i)
{
	uint64_t sign = UINT64_C(1) << (width(dtype) - 1), inf = bits_of_number(dtype, INFINITY);
	uint64_t extra[] = { 1, sign | 1, inf - 1, sign | (inf - 1), UINT64_C(1) << fraction_bits(dtype), (UINT64_C(1) << fraction_bits(dtype)) - 1,
		bits_of_number(dtype, 1) + 1, bits_of_number(dtype, 1) - 1, sign | (bits_of_number(dtype, 1) - 1) };
	return i < N_SPECIAL ? bits_of_number(dtype, special[i]) : extra[i - N_SPECIAL];
}
enum { N_ALL = N_SPECIAL + 9 };

/* half of them spread evenly over signs and exponents, half where functions live: 2^-12 to 2^8 */
static uint64_t random_bits(uint32_t dtype, uint64_t *state)
{
	uint64_t r = next(state), one = bits_of_number(dtype, 1), unit = UINT64_C(1) << fraction_bits(dtype), mask = width(dtype) == 64 ? ~UINT64_C(0) : (UINT64_C(1) << width(dtype)) - 1;
	if (r & 1) return next(state) & mask;
	uint64_t magnitude = one - 12 * unit + next(state) % (20 * unit);
	return magnitude | (r >> 1 & 1) << (width(dtype) - 1);
}

uint32_t ulp_samples(uint32_t dtype, uint32_t n_random, void *x)
{
	uint64_t state = 1, unit = UINT64_C(1) << fraction_bits(dtype), exponents = (UINT64_C(1) << (width(dtype) - 1)) / unit;
	uint32_t n = 0;
	if (width(dtype) == 16) {
		for (; n < 65536; n++) put(dtype, x, n, n);
		return n;
	}
	for (uint32_t i = 0; i < N_ALL; i++) put(dtype, x, n++, special_bits(dtype, i));
	for (uint64_t sign = 0; sign < 2; sign++)
		for (uint64_t e = 0; e < exponents; e += dtype == TN_F64 ? 8 : 1)       /* an f64 costs a thousand times as much */
			for (int k = -1; k <= 1; k++) {
				if (e || k >= 0) put(dtype, x, n++, (e * unit + (uint64_t)(int64_t)k) | sign << (width(dtype) - 1));
				if (k <= 0) put(dtype, x, n++, (e * unit + unit - 1 + (uint64_t)(int64_t)k) | sign << (width(dtype) - 1));
			}
	while (n < n_random) put(dtype, x, n++, random_bits(dtype, &state));
	return n;
}

uint32_t ulp_sample_pairs(uint32_t dtype, uint32_t n_random, void *x, void *y)
{
	uint64_t state = 2;
	uint32_t n = 0;
	for (uint32_t i = 0; i < N_ALL; i++)
		for (uint32_t j = 0; j < N_ALL; j++, n++) {
			put(dtype, x, n, special_bits(dtype, i));
			put(dtype, y, n, special_bits(dtype, j));
		}
	for (; n < n_random; n++) {
		uint64_t a = random_bits(dtype, &state), b = random_bits(dtype, &state), kind = next(&state) % 4;
		if (kind == 0) b = a + next(&state) % 4096 - 2048;                     /* neighbours: what cancels */
		if (kind == 1) b = special_bits(dtype, (uint32_t)(next(&state) % N_ALL));
		put(dtype, x, n, a);
		put(dtype, y, n, b);
	}
	return n;
}
