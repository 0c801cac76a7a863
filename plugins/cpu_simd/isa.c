/* isa.c - which contraction cores this machine runs.  Source: Intel 64 and IA-32 manual, volume 1, 14.3 (AVX), 14.5.3 (FMA),
 * 15.2-15.4 (AVX-512): CPUID must report the feature and XGETBV that the OS saves the registers. */
#include "isa.h"

#include <stddef.h>
#include <string.h>

extern const struct cpu_cores cpu_cores_baseline;

static bool always(const struct cpu_isa_facts *facts)
{
	(void)facts;
	return true;
}

#ifdef __x86_64__
#include <cpuid.h>

extern const struct cpu_cores cpu_cores_avx2, cpu_cores_avx512;

#define BIT(n) (1u << (n))
/* leaf 1 ecx */
#define FMA BIT(12)
#define OSXSAVE BIT(27)
#define AVX BIT(28)
#define F16C BIT(29)
/* leaf 7.0 ebx */
#define AVX2 BIT(5)
#define AVX512_F BIT(16)
#define AVX512_DQ BIT(17)
#define AVX512_BW BIT(30)
#define AVX512_VL BIT(31)
/* XCR0: xmm, ymm; opmask, upper halves of zmm 0-15, zmm 16-31 */
#define SAVES_YMM 0x06u
#define SAVES_ZMM 0xe6u

static bool all(uint64_t bits, uint64_t mask)
{
	return (bits & mask) == mask;
}

static bool has_avx2(const struct cpu_isa_facts *f)
{
	return all(f->leaf1_ecx, OSXSAVE | AVX | FMA | F16C) && all(f->leaf7_ebx, AVX2) && all(f->xcr0, SAVES_YMM);
}

static bool has_avx512(const struct cpu_isa_facts *f)
{
	return has_avx2(f) && all(f->leaf7_ebx, AVX512_F | AVX512_DQ | AVX512_BW | AVX512_VL) && all(f->xcr0, SAVES_ZMM);
}

struct cpu_isa_facts cpu_isa_facts_read(void)
{
	struct cpu_isa_facts facts = {0};
	uint32_t eax, ebx, ecx, edx;
	if (__get_cpuid(1, &eax, &ebx, &ecx, &edx))
		facts.leaf1_ecx = ecx;
	if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx))
		facts.leaf7_ebx = ebx;
	if (facts.leaf1_ecx & OSXSAVE) {   /* else xgetbv is an illegal instruction */
		__asm__ volatile("xgetbv" : "=a"(eax), "=d"(edx) : "c"(0));
		facts.xcr0 = (uint64_t)edx << 32 | eax;
	}
	return facts;
}
#else
struct cpu_isa_facts cpu_isa_facts_read(void)
{
	return (struct cpu_isa_facts){0};
}
#endif

static const struct cpu_isa table[] = {
	{"baseline", &cpu_cores_baseline, always},
#ifdef __x86_64__
	{"avx2",     &cpu_cores_avx2,     has_avx2},
	{"avx512",   &cpu_cores_avx512,   has_avx512},
#endif
};
#define N_TABLE ((int32_t)(sizeof table / sizeof *table))

const struct cpu_isa *cpu_isa_table(int32_t *n)
{
	*n = N_TABLE;
	return table;
}

const struct cpu_cores *cpu_isa_select(const char *name, const char **why)
{
	struct cpu_isa_facts facts = cpu_isa_facts_read();
	bool known = false;
	for (int32_t i = N_TABLE - 1; i >= 0; i--) {
		if (name && strcmp(name, table[i].name) != 0)
			continue;
		known = true;
		if (table[i].usable(&facts))
			return table[i].cores;
	}
	if (why)
		*why = known ? "this machine does not run it" : "no such ISA; there are baseline, and on x86-64 avx2 and avx512";
	return NULL;
}
