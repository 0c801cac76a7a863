/* core_avx2.c - the cores of AVX2 with FMA: 12 sums, 2 vectors of b and 1 element of a in 16 registers. */
#define CORE_SYMBOL cpu_cores_avx2
#define CORE_ISA "avx2"
#define CORE_MARCH "-mavx2 -mfma -mf16c"
#define CORE_VECTOR_BYTES 32
#define CORE_ROWS 6
#define CORE_VECTORS 2
#define CORE_ROWS_I64 4
#define CORE_VECTORS_I64 2
#include "core_body.h"
