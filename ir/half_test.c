/* half_test.c - small floats: every code of every format, rounding against its neighbours, f16 against the compiler's own */
#include "ir/half.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static const struct { uint32_t dtype, bits; double largest, least; } formats[] = {
	{ TN_F16, 16, 65504, 0x1p-24 },
	{ TN_BF16, 16, 0x1.fep127, 0x1p-133 },
	{ TN_F8E4M3FN, 8, 448, 0x1p-9 },
	{ TN_F8E5M2, 8, 57344, 0x1p-16 },
	{ TN_F8E4M3FNUZ, 8, 240, 0x1p-10 },
	{ TN_F8E5M2FNUZ, 8, 57344, 0x1p-17 },
	{ TN_F4E2M1, 4, 6, 0.5 },
	{ TN_F8E8M0, 8, 0x1p127, 0x1p-127 },
};
enum { FORMATS = sizeof formats / sizeof formats[0] };

static uint64_t state = 88172645463325252u;
static uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

static void every_code_survives(void **unused)
{
	(void)unused;
	for (int f = 0; f < FORMATS; f++)
		for (uint32_t code = 0; code < 1u << formats[f].bits; code++) {
			const double x = tn_small_decode(formats[f].dtype, code);
			const double back = tn_small_decode(formats[f].dtype, tn_small_encode(formats[f].dtype, x));
			if (isnan(x))
				assert_true(isnan(back));
			else
				assert_int_equal(tn_small_encode(formats[f].dtype, x), code);
			if (isfinite(x))
				assert_true(fabs(x) <= formats[f].largest && (x == 0 || fabs(x) >= formats[f].least));
		}
}

/* the result is the nearest value; of two the one with the even code */
static void rounding_is_nearest_even(void **unused)
{
	(void)unused;
	for (int f = 0; f < FORMATS; f++) {
		const uint32_t dtype = formats[f].dtype;
		for (uint32_t i = 0; i < 20000; i++) {
			const double top = log2(formats[f].largest), low = log2(formats[f].least) - 2;
			double x = exp2(low + (top - low) * (double)(next() >> 11) * 0x1p-53);
			if (i % 4 == 0)           /* a point between two values */
				x = 0.5 * (tn_small_decode(dtype, i % 97 + 1) + tn_small_decode(dtype, i % 97 + 2));
			if (!(x <= formats[f].largest))
				continue;
			const uint32_t code = tn_small_encode(dtype, x);
			const double at = tn_small_decode(dtype, code), up = tn_small_decode(dtype, code + 1), down = code ? tn_small_decode(dtype, code - 1) : -1;
			assert_true(at <= formats[f].largest);
			if (up > at && isfinite(up) && at < formats[f].largest)
				assert_true(x - at < up - x || (x - at == up - x && !(code & 1)));
			if (code > 0 && down < at && down >= 0)
				assert_true(at - x < x - down || (at - x == x - down && !(code & 1)));
		}
	}
}

static void too_large(void **unused)
{
	(void)unused;
	assert_int_equal(tn_f64_to_f16(65519.999), 0x7bff);
	assert_int_equal(tn_f64_to_f16(65520), 0x7c00);
	assert_int_equal(tn_small_encode(TN_F8E4M3FN, 464), 0x7e);
	assert_int_equal(tn_small_encode(TN_F8E4M3FN, 465), 0x7f);
	assert_int_equal(tn_small_encode(TN_F8E5M2, -1e9), 0xfc);
	assert_int_equal(tn_small_encode(TN_F8E4M3FNUZ, 1e9), 0x80);
	assert_int_equal(tn_small_encode(TN_F4E2M1, -100), 0xf);
	assert_int_equal(tn_small_encode(TN_F8E4M3FNUZ, -0.0), 0);
	assert_int_equal(tn_f64_to_bf16(-0.0), 0x8000);
	assert_int_equal(tn_small_encode(TN_F8E8M0, 0), 0xff);
	assert_int_equal(tn_small_encode(TN_F8E8M0, 6), 130);       /* between 4 and 8, codes 129 and 130 */
	assert_int_equal(tn_small_encode(TN_F8E8M0, 12), 130);      /* between 8 and 16 */
}

/* f32 to f16 and bf16 by the fast ways equals the general one; f16 equals the compiler's */
static void fast_equals_general(void **unused)
{
	(void)unused;
	for (uint32_t i = 0; i < 2000000; i++) {
		const uint32_t bits = i < 65536 ? i << 16 : i < 131072 ? (i - 65536) << 16 | 0x8000 : (uint32_t)next();
		const float x = tn_bits_f32(bits);
		if (isnan(x)) {
			assert_true(isnan(tn_f16_to_f32(tn_f32_to_f16(x))) && isnan(tn_bf16_to_f32(tn_f32_to_bf16(x))));
			continue;
		}
		assert_int_equal(tn_f32_to_f16(x), tn_f64_to_f16((double)x));
		assert_int_equal(tn_f32_to_bf16(x), tn_f64_to_bf16((double)x));
#ifdef __FLT16_MANT_DIG__
		__extension__ typedef _Float16 native;
		const native h = (native)x;
		uint16_t own;
		memcpy(&own, &h, sizeof own);
		assert_int_equal(tn_f32_to_f16(x), own);
#endif
	}
	for (uint32_t code = 0; code < 65536; code++) {
		const double f16 = tn_small_decode(TN_F16, code), bf16 = tn_small_decode(TN_BF16, code);
		const float fast16 = tn_f16_to_f32((uint16_t)code), fast_b = tn_bf16_to_f32((uint16_t)code);
		assert_true(isnan(f16) ? isnan(fast16) : (double)fast16 == f16 && !signbit(fast16) == !signbit(f16));
		assert_true(isnan(bf16) ? isnan(fast_b) : (double)fast_b == bf16 && !signbit(fast_b) == !signbit(bf16));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_code_survives), cmocka_unit_test(rounding_is_nearest_even), cmocka_unit_test(too_large), cmocka_unit_test(fast_equals_general),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
