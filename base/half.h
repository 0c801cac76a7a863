/* half.h - small floats to and from f32 and f64, bit-exact: round to nearest even, subnormals kept, NaN stays NaN. */
#ifndef TENON_HALF_H
#define TENON_HALF_H
#include <stdint.h>
#include <string.h>
#include <tenon/types.h>

static inline uint32_t tn_f32_bits(float x) { uint32_t u; memcpy(&u, &x, sizeof u); return u; }
static inline float tn_bits_f32(uint32_t u) { float x; memcpy(&x, &u, sizeof x); return x; }

static inline float tn_f16_to_f32(uint16_t h)
{
	const uint32_t sign = (uint32_t)(h & 0x8000u) << 16, e = h & 0x7c00u;
	uint32_t u = (uint32_t)(h & 0x7fffu) << 13;
	if (e == 0x7c00u)
		u += (uint32_t)(255 - 31) << 23;
	else if (e != 0)
		u += (uint32_t)(127 - 15) << 23;
	else                   /* 2^-14 + mantissa, minus 2^-14: exact */
		u = tn_f32_bits(tn_bits_f32(u + ((uint32_t)113 << 23)) - tn_bits_f32((uint32_t)113 << 23));
	return tn_bits_f32(u | sign);
}

static inline uint16_t tn_f32_to_f16(float x)
{
	uint32_t u = tn_f32_bits(x);
	const uint32_t sign = (u >> 16) & 0x8000u;
	u &= 0x7fffffffu;
	if (u > 0x7f800000u)
		u = 0x7e00u | (u >> 13 & 0x3ffu);
	else if (u >= (uint32_t)(127 + 16) << 23)
		u = 0x7c00u;
	else if (u < (uint32_t)113 << 23)      /* 0.5 has an ulp of 2^-24, the least f16: the addition rounds */
		u = tn_f32_bits(tn_bits_f32(u) + 0.5f) - tn_f32_bits(0.5f);
	else                                   /* a carry out of the mantissa is a step of the exponent, and at the top infinity */
		u = (u - ((uint32_t)(127 - 15) << 23) + 0xfffu + (u >> 13 & 1u)) >> 13;
	return (uint16_t)(u | sign);
}

static inline float tn_bf16_to_f32(uint16_t h) { return tn_bits_f32((uint32_t)h << 16); }

static inline uint16_t tn_f32_to_bf16(float x)
{
	const uint32_t u = tn_f32_bits(x);
	if ((u & 0x7fffffffu) > 0x7f800000u)
		return (uint16_t)(u >> 16 | 0x40u);
	return (uint16_t)((u + 0x7fffu + (u >> 16 & 1u)) >> 16);
}

/* tn_small_encode - the code of x in a small float dtype: f16, bf16, the four f8, e8m0, f4e2m1.
 * Too large: infinity where the format has one, else NaN; f4e2m1, which has neither, takes its largest value, and 0 for NaN.
 * e8m0 takes the nearest power of two (ties to the even exponent), NaN for what is not positive. */
uint32_t tn_small_encode(uint32_t dtype, double x);
double tn_small_decode(uint32_t dtype, uint32_t code);   /* exact */
int tn_small_is(uint32_t dtype);                         /* has a row here */

static inline uint16_t tn_f64_to_f16(double x) { return (uint16_t)tn_small_encode(TN_F16, x); }
static inline uint16_t tn_f64_to_bf16(double x) { return (uint16_t)tn_small_encode(TN_BF16, x); }
#endif
