/* core.h - the precompiled contraction cores: the contract between packing, generated kernels and the tiles.
 *
 * Also pasted as text into generated C, which has no headers: there CPU_CORE_NO_HEADERS is defined first. */
#ifndef CPU_CORE_H
#define CPU_CORE_H
#ifdef CPU_CORE_NO_HEADERS
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
#else
#include <stdint.h>
#endif

/* One tile for one element type.  A panel is k steps of mr (or nr) neighbouring elements, zero padded at a ragged edge:
 *
 *   packed a   [ceil(m / mr)][k][mr]     element (i, p) at (i / mr) * k * mr + p * mr + i % mr
 *   packed b   [ceil(n / nr)][k][nr]     element (p, j) at (j / nr) * k * nr + p * nr + j % nr
 *
 * K is not blocked in the packed form: steps p.. of a panel begin at panel + p * mr (p * nr).  No alignment is required;
 * panels at multiples of vector_bytes are faster.
 *
 * run - c[i * ldc + j] (+)= sum over p of a[p * mr + i] * b[p * nr + j], for i < rows and j < nr
 *   k           0 or more; with k = 0 a store writes zeros and an addition adds zero
 *   rows        1..mr; each count has its own body, so few rows read b at the speed of memory
 *   c           rows x nr elements, row stride ldc (elements); always nr columns: a ragged edge goes through a buffer
 *   accumulate  0: store; else the sum is added to c at the end
 *   order       p ascends with one accumulator an element, the same operations for every rows, so a value depends neither
 *               on its place in the tile nor on the thread.  Fused multiply-add where the ISA has it.
 *   integers    wrap (i32 serves u32 too, i64 serves u64)
 * run_wide - the same over n_panels neighbouring panels of b, panel_stride elements apart, c advancing nr columns a panel;
 *   bit-equal to calling run for each.  It keeps several panels in flight, which matters at few rows.
 * pack_a, pack_b - any strides in elements (0 and negative too; unit stride either way is fast); dst holds
 *   ceil(m / mr) * mr * k (ceil(n / nr) * nr * k) elements and is written whole.  k = 0, m = 0 and n = 0 write nothing. */
struct cpu_core_dot {
	int32_t mr, nr;
	void (*run)(int64_t k, int64_t rows, const void *a, const void *b, void *c, int64_t ldc, int32_t accumulate);
	void (*run_wide)(int64_t k, int64_t rows, const void *a, const void *b, int64_t panel_stride, int64_t n_panels, void *c,
			 int64_t ldc, int32_t accumulate);
	void (*pack_a)(int64_t m, int64_t k, const void *src, int64_t stride_m, int64_t stride_k, void *dst);
	void (*pack_b)(int64_t k, int64_t n, const void *src, int64_t stride_k, int64_t stride_n, void *dst);
};

/* Blocking of a GEMM around the f32 tile: KC steps of k, MC rows (rounded up to mr) of a packed at a time, NC columns.  A panel
 * of b (KC * nr * 4 = 16 KiB with AVX2) stays in L1 beside one of a, the block of a (MC * KC * 4 = 192 KiB) in L2.
 * Measured by core_bench KC MC NC on a Zen core (32 KiB, 512 KiB, 8 MiB), AVX2, six shapes: 86 to 94 % of FMA peak for every
 * KC of 192 to 768 and MC of 72 to 252, these within 2 points of the best; NC did not matter (512, 4096). */
#define CPU_CORE_KC 256
#define CPU_CORE_MC 192
#define CPU_CORE_NC 4096

/* The cores of one ISA.  march: the compiler flags, split by spaces, of generated C that runs beside them. */
struct cpu_cores {
	const char *isa;
	const char *march;
	int32_t vector_bytes;
	struct cpu_core_dot dot_f32, dot_f64, dot_i32, dot_i64;
};
#endif
