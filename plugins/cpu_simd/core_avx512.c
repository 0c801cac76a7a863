/* core_avx512.c - the cores of AVX-512 (F, BW, DQ, VL): 28 sums, 2 vectors of b and 1 element of a in 32 registers. */
#ifndef CORE_SYMBOL   /* core_test compiles this tile a second time, for machines without AVX-512 */
#define CORE_SYMBOL cpu_cores_avx512
#endif
#define CORE_ISA "avx512"
#define CORE_MARCH "-mavx512f -mavx512bw -mavx512dq -mavx512vl -mfma -mf16c -mprefer-vector-width=512"
#define CORE_VECTOR_BYTES 64
#define CORE_ROWS 14
#define CORE_VECTORS 2
#define CORE_ROWS_I64 14
#define CORE_VECTORS_I64 2
#include "core_body.h"
