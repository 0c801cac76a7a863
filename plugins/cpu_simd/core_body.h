/* core_body.h - all cores of one ISA.  The file that includes it defines
 *   CORE_SYMBOL CORE_ISA CORE_MARCH            the table's symbol, name and flags for generated C
 *   CORE_VECTOR_BYTES                          width of a register
 *   CORE_ROWS CORE_VECTORS                     tile of f32, f64 and i32: rows, vectors a row
 *   CORE_ROWS_I64 CORE_VECTORS_I64             tile of i64
 * and is compiled with the flags of its ISA, so nothing here may be called before isa.c has checked the machine. */
#include <stddef.h>

#include "core.h"

#define CORE_INLINE static inline __attribute__((always_inline))
#define CORE_FENCE() __asm__ volatile("" ::: "memory")

/* With few rows b arrives from memory: asking for it this many steps ahead (of 0, 8, 16, 32 on a Zen core, core_bench with b
 * of 32 MiB) makes 2 to 4 rows 15 to 25 % faster and costs nothing when b is in cache.  Past the end it is harmless. */
#define CORE_STEPS_AHEAD 8
#define CORE_AHEAD(b, panels, panel_stride, bytes) do { \
	_Pragma("GCC unroll 4") \
	for (int q_ = 0; q_ < (panels); q_++) \
		for (int z_ = 0; z_ < (bytes); z_ += 64) \
			__builtin_prefetch((const char *)((b) + q_ * (panel_stride)) + z_); \
} while (0)

#include "core_pack.h"

#define CORE_T float
#define CORE_TAG f32
#define CORE_BITS 32
#define CORE_MR CORE_ROWS
#define CORE_NV CORE_VECTORS
#include "core_dot.h"

#define CORE_T double
#define CORE_TAG f64
#define CORE_BITS 64
#define CORE_MR CORE_ROWS
#define CORE_NV CORE_VECTORS
#include "core_dot.h"

/* unsigned, because signed overflow is undefined and these wrap */
#define CORE_T uint32_t
#define CORE_TAG i32
#define CORE_BITS 32
#define CORE_MR CORE_ROWS
#define CORE_NV CORE_VECTORS
#include "core_dot.h"

#define CORE_T uint64_t
#define CORE_TAG i64
#define CORE_BITS 64
#define CORE_MR CORE_ROWS_I64
#define CORE_NV CORE_VECTORS_I64
#include "core_dot.h"

extern const struct cpu_cores CORE_SYMBOL;
const struct cpu_cores CORE_SYMBOL = {
	.isa = CORE_ISA, .march = CORE_MARCH, .vector_bytes = CORE_VECTOR_BYTES,
	.dot_f32 = dot_f32, .dot_f64 = dot_f64, .dot_i32 = dot_i32, .dot_i64 = dot_i64,
};
