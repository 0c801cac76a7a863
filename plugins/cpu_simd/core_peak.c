/* core_peak.c - for core_bench: a loop of independent multiply-adds in registers, compiled once an ISA with its flags.
 * PEAK_NAME is the function, PEAK_BYTES the width of a register, PEAK_SUMS how many chains fit the register file. */
#include <stdint.h>

typedef float vec __attribute__((vector_size(PEAK_BYTES)));

double PEAK_NAME(int64_t iterations, volatile float *seed);

/* returns the floating-point operations done */
double PEAK_NAME(int64_t iterations, volatile float *seed)
{
	vec sum[PEAK_SUMS], x = *seed - (vec){0}, y = *seed - (vec){0};
#pragma GCC unroll 32
	for (int i = 0; i < PEAK_SUMS; i++)
		sum[i] = (float)i - (vec){0};
	for (int64_t n = 0; n < iterations; n++)
#pragma GCC unroll 32
		for (int i = 0; i < PEAK_SUMS; i++)
			sum[i] = sum[i] * x + y;
#pragma GCC unroll 32
	for (int i = 1; i < PEAK_SUMS; i++)
		sum[0] += sum[i];
	*seed = sum[0][0] > 1e30f ? 0.5f : *seed;
	return (double)iterations * PEAK_SUMS * (PEAK_BYTES / 4) * 2;
}
