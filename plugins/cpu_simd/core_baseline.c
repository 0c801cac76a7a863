/* core_baseline.c - the cores of 128-bit vectors, which every machine runs: SSE2 on x86-64, otherwise what the compiler has. */
#define CORE_SYMBOL cpu_cores_baseline
#define CORE_ISA "baseline"
#ifdef __x86_64__
#define CORE_MARCH "-march=x86-64"
#else
#define CORE_MARCH ""
#endif
#define CORE_VECTOR_BYTES 16
#define CORE_ROWS 6
#define CORE_VECTORS 2
#define CORE_ROWS_I64 4
#define CORE_VECTORS_I64 2
#include "core_body.h"
