/* isa.h - which contraction cores this machine runs */
#ifndef CPU_ISA_H
#define CPU_ISA_H
#include <stdbool.h>
#include <stdint.h>

#include "core.h"

/* What decides it, raw from the processor: CPUID leaf 1 ecx, leaf 7.0 ebx, and XCR0 (0 where the OS keeps no such state).
 * A processor may have AVX while the OS does not save its registers; then the cores are not usable. */
struct cpu_isa_facts { uint32_t leaf1_ecx, leaf7_ebx; uint64_t xcr0; };

struct cpu_isa {
	const char *name;                /* "baseline", "avx2", "avx512": poorest first */
	const struct cpu_cores *cores;
	bool (*usable)(const struct cpu_isa_facts *facts);
};

/* cpu_isa_table - every ISA that was compiled in, *n rows, poorest first; static */
const struct cpu_isa *cpu_isa_table(int32_t *n);

/* cpu_isa_facts_read - the facts of this machine; all 0 where the processor is not x86 */
struct cpu_isa_facts cpu_isa_facts_read(void);

/* cpu_isa_select - the cores called name, or the best that this machine runs when name is NULL; static, any thread.
 * NULL when no ISA is called name or the machine can't run it; then *why (if why) says which, static. */
const struct cpu_cores *cpu_isa_select(const char *name, const char **why);
#endif
