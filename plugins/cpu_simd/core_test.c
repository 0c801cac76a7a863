/* core_test.c - every core of every ISA here against plain loops; packing at ragged edges and odd strides; ISA choice. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "isa.h"

extern const struct cpu_cores cpu_cores_avx512_shape;

enum { GUARD = 64, PAD = 3, MAX_K = 257, MAX_MR = 14, MAX_PANELS = 7 };
#define FILL 0xa5

union value { float f32; double f64; uint32_t i32; uint64_t i64; };

/* One element type: size in bytes, its core, and plain arithmetic on one element. */
struct type {
	const char *name;
	size_t size;
	size_t core;                                    /* offset in struct cpu_cores */
	void (*random)(void *element);
	/* want (+)= sum over p of a[p] * b[p * stride_b]: true when *got is within bounds of it */
	bool (*agrees)(int64_t k, const void *a, const void *b, int64_t stride_b, const void *old, const void *got);
};

static uint64_t state = 0x9e3779b97f4a7c15u;

static uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

static double next_unit(void)
{
	return (double)(int64_t)next() * 0x1p-63;
}

static void random_f32(void *e) { *(float *)e = (float)next_unit(); }
static void random_f64(void *e) { *(double *)e = next_unit(); }
static void random_i32(void *e) { *(uint32_t *)e = (uint32_t)next(); }
static void random_i64(void *e) { *(uint64_t *)e = next(); }

/* |got - want| <= (k + 1) * eps * (|old| + sum |a b|), the bound of a sum in any order; NaN and infinities as in want */
static bool close_to(double want, double got, int64_t k, double eps, double magnitude)
{
	if (isnan(want) || isinf(want))
		return isnan(want) ? isnan(got) : got == want;
	return fabs(got - want) <= (double)(k + 1) * eps * magnitude;
}

static bool agrees_f32(int64_t k, const void *a, const void *b, int64_t stride_b, const void *old, const void *got)
{
	const float *x = a, *y = b;
	double want = old ? *(const float *)old : 0, magnitude = fabs(want);
	for (int64_t p = 0; p < k; p++) {
		double product = (double)x[p] * y[p * stride_b];
		want += product;
		magnitude += fabs(product);
	}
	return close_to(want, *(const float *)got, k, FLT_EPSILON, magnitude);
}

static bool agrees_f64(int64_t k, const void *a, const void *b, int64_t stride_b, const void *old, const void *got)
{
	const double *x = a, *y = b;
	long double want = old ? *(const double *)old : 0, magnitude = fabsl(want);
	for (int64_t p = 0; p < k; p++) {
		long double product = (long double)x[p] * y[p * stride_b];
		want += product;
		magnitude += fabsl(product);
	}
	return close_to((double)want, *(const double *)got, k, 2 * DBL_EPSILON, (double)magnitude);
}

static bool agrees_i32(int64_t k, const void *a, const void *b, int64_t stride_b, const void *old, const void *got)
{
	const uint32_t *x = a, *y = b;
	uint32_t want = old ? *(const uint32_t *)old : 0;
	for (int64_t p = 0; p < k; p++)
		want += x[p] * y[p * stride_b];
	return want == *(const uint32_t *)got;
}

static bool agrees_i64(int64_t k, const void *a, const void *b, int64_t stride_b, const void *old, const void *got)
{
	const uint64_t *x = a, *y = b;
	uint64_t want = old ? *(const uint64_t *)old : 0;
	for (int64_t p = 0; p < k; p++)
		want += x[p] * y[p * stride_b];
	return want == *(const uint64_t *)got;
}

static const struct type types[] = {
	{"f32", 4, offsetof(struct cpu_cores, dot_f32), random_f32, agrees_f32},
	{"f64", 8, offsetof(struct cpu_cores, dot_f64), random_f64, agrees_f64},
	{"i32", 4, offsetof(struct cpu_cores, dot_i32), random_i32, agrees_i32},
	{"i64", 8, offsetof(struct cpu_cores, dot_i64), random_i64, agrees_i64},
};
enum { N_TYPES = sizeof types / sizeof *types };

static const struct cpu_core_dot *core_of(const struct cpu_cores *cores, const struct type *t)
{
	return (const struct cpu_core_dot *)((const char *)cores + t->core);
}

/* A block of n elements between guard zones of FILL bytes. */
struct block { unsigned char *raw; size_t size; };

static struct block block_new(int64_t n, size_t size)
{
	struct block b = {.size = (size_t)n * size};
	b.raw = malloc(b.size + 2 * GUARD);
	assert_non_null(b.raw);
	memset(b.raw, FILL, b.size + 2 * GUARD);
	return b;
}

static void *at(struct block b, int64_t i, size_t size)
{
	return b.raw + GUARD + i * (int64_t)size;
}

static bool filled(const unsigned char *p, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (p[i] != FILL)
			return false;
	return true;
}

static bool guards_whole(struct block b)
{
	return filled(b.raw, GUARD) && filled(b.raw + GUARD + b.size, GUARD);
}

static struct block block_random(int64_t n, const struct type *t)
{
	struct block b = block_new(n, t->size);
	for (int64_t i = 0; i < n; i++)
		t->random(at(b, i, t->size));
	return b;
}

/* One call of run on random a[rows][k], b[k][nr]; c has rows of nr + PAD elements. */
static void check_run(const struct cpu_cores *cores, const struct type *t, int64_t rows, int64_t k, int32_t accumulate, int special)
{
	const struct cpu_core_dot *core = core_of(cores, t);
	int64_t mr = core->mr, nr = core->nr, ldc = nr + PAD;
	struct block a = block_random(rows * k, t), b = block_random(k * nr, t), old = block_random(rows * ldc, t);
	if (special && k > 0) {   /* a NaN and an infinity in a, zeros and an infinity in b: 0 * inf, inf - inf, NaN */
		union value nan32 = {.f32 = NAN}, inf32 = {.f32 = INFINITY}, minus32 = {.f32 = -INFINITY};
		union value nan64 = {.f64 = NAN}, inf64 = {.f64 = INFINITY}, minus64 = {.f64 = -INFINITY};
		memcpy(at(a, (rows - 1) * k, t->size), t->size == 4 ? &nan32 : &nan64, t->size);
		memcpy(at(a, k - 1, t->size), t->size == 4 ? &inf32 : &inf64, t->size);
		memcpy(at(b, 1, t->size), t->size == 4 ? &minus32 : &minus64, t->size);
		memset(at(b, (k - 1) * nr, t->size), 0, t->size);
	}
	struct block pa = block_new(mr * k, t->size), pb = block_new(nr * k, t->size), c = block_new(rows * ldc, t->size);
	core->pack_a(rows, k, at(a, 0, t->size), k, 1, at(pa, 0, t->size));
	core->pack_b(k, nr, at(b, 0, t->size), nr, 1, at(pb, 0, t->size));
	if (accumulate)
		for (int64_t i = 0; i < rows; i++)
			memcpy(at(c, i * ldc, t->size), at(old, i * ldc, t->size), (size_t)nr * t->size);
	core->run(k, rows, at(pa, 0, t->size), at(pb, 0, t->size), at(c, 0, t->size), ldc, accumulate);

	for (int64_t i = 0; i < rows; i++) {
		for (int64_t j = 0; j < nr; j++)
			if (!t->agrees(k, at(a, i * k, t->size), at(b, j, t->size), nr,
				       accumulate ? at(old, i * ldc + j, t->size) : NULL, at(c, i * ldc + j, t->size)))
				fail_msg("%s %s: rows %d, k %d, accumulate %d: element (%d, %d) is wrong", cores->isa, t->name,
					 (int)rows, (int)k, accumulate, (int)i, (int)j);
		assert_true(filled(at(c, i * ldc + nr, t->size), PAD * t->size));
	}
	assert_true(guards_whole(c) && guards_whole(pa) && guards_whole(pb));
	free(a.raw), free(b.raw), free(old.raw), free(pa.raw), free(pb.raw), free(c.raw);
}

/* The first rows of a full tile, the same rows alone, and run_wide over several panels give the same bits. */
static void check_same_bits(const struct cpu_cores *cores, const struct type *t, int64_t rows, int64_t k)
{
	const struct cpu_core_dot *core = core_of(cores, t);
	int64_t mr = core->mr, nr = core->nr, stride = k * nr + 5, ldc = MAX_PANELS * nr + PAD;
	struct block a = block_random(mr * k, t), b = block_random(MAX_PANELS * stride, t);
	struct block full = block_new(mr * ldc, t->size), wide = block_new(rows * ldc, t->size);
	for (int32_t accumulate = 0; accumulate < 2; accumulate++)
		for (int64_t n = 0; n <= MAX_PANELS; n++) {
			for (int64_t q = 0; q < n; q++)
				core->run(k, mr, at(a, 0, t->size), at(b, q * stride, t->size), at(full, q * nr, t->size), ldc, accumulate);
			core->run_wide(k, rows, at(a, 0, t->size), at(b, 0, t->size), stride, n, at(wide, 0, t->size), ldc, accumulate);
			for (int64_t i = 0; i < rows; i++)
				assert_memory_equal(at(full, i * ldc, t->size), at(wide, i * ldc, t->size), (size_t)ldc * t->size);
		}
	assert_true(guards_whole(full) && guards_whole(wide));
	free(a.raw), free(b.raw), free(full.raw), free(wide.raw);
}

static void test_cores(void **cores_at)
{
	static const int64_t ks[] = {0, 1, 2, 7, 64, MAX_K};
	const struct cpu_cores *cores = *cores_at;
	for (int t = 0; t < N_TYPES; t++)
		for (int64_t rows = 1; rows <= core_of(cores, types + t)->mr; rows++)
			for (size_t i = 0; i < sizeof ks / sizeof *ks; i++) {
				for (int32_t accumulate = 0; accumulate < 2; accumulate++)
					check_run(cores, types + t, rows, ks[i], accumulate, 0);
				if (types[t].name[0] == 'f')
					check_run(cores, types + t, rows, ks[i], 0, 1);
				check_same_bits(cores, types + t, rows, ks[i]);
			}
}

/* panels of width from element (p, j) at base + p * stride_k + j * stride_j, against the formula in core.h */
static void check_pack(const struct cpu_core_dot *core, const struct type *t, int is_b, int64_t k, int64_t n,
		       int64_t stride_k, int64_t stride_j)
{
	int64_t width = is_b ? core->nr : core->mr, panels = (n + width - 1) / width;
	int64_t span_k = k ? (k - 1) * stride_k : 0, span_j = n ? (n - 1) * stride_j : 0;
	int64_t base = (span_k < 0 ? -span_k : 0) + (span_j < 0 ? -span_j : 0);
	struct block src = block_random(llabs(span_k) + llabs(span_j) + 1, t), dst = block_new(panels * width * k, t->size);
	if (is_b)
		core->pack_b(k, n, at(src, base, t->size), stride_k, stride_j, at(dst, 0, t->size));
	else
		core->pack_a(n, k, at(src, base, t->size), stride_j, stride_k, at(dst, 0, t->size));
	const uint64_t zero = 0;
	for (int64_t j = 0; j < panels * width; j++)
		for (int64_t p = 0; p < k; p++) {
			const void *want = j < n ? at(src, base + p * stride_k + j * stride_j, t->size) : &zero;
			if (memcmp(at(dst, j / width * k * width + p * width + j % width, t->size), want, t->size) != 0)
				fail_msg("pack_%s %s: k %d, n %d, strides %d, %d: element (%d, %d) is wrong", is_b ? "b" : "a", t->name,
					 (int)k, (int)n, (int)stride_k, (int)stride_j, (int)p, (int)j);
		}
	assert_true(guards_whole(dst));
	free(src.raw), free(dst.raw);
}

static void test_packing(void **cores_at)
{
	static const int64_t ks[] = {0, 1, 2, 3, 5, 64, 67, 130};
	const struct cpu_cores *cores = *cores_at;
	for (int t = 0; t < N_TYPES; t++)
		for (int is_b = 0; is_b < 2; is_b++) {
			const struct cpu_core_dot *core = core_of(cores, types + t);
			int64_t w = is_b ? core->nr : core->mr;
			const int64_t ns[] = {0, 1, w - 1, w, w + 1, 2 * w + 3};
			for (size_t i = 0; i < sizeof ks / sizeof *ks; i++)
				for (size_t j = 0; j < sizeof ns / sizeof *ns; j++) {
					int64_t k = ks[i], n = ns[j];
					const int64_t strides[][2] = {
						{n, 1}, {1, k}, {n + 3, 1}, {1, k + 5}, {2 * n, 2}, {3, 3 * k + 1}, {0, 1}, {1, 0}, {0, 0},
						{-n, 1}, {1, -k}, {-1, k}, {n, -1},
					};
					for (size_t s = 0; s < sizeof strides / sizeof *strides; s++)
						check_pack(core, types + t, is_b, k, n, strides[s][0], strides[s][1]);
				}
		}
}

static void test_isa(void **unused)
{
	(void)unused;
	int32_t n;
	const struct cpu_isa *isa = cpu_isa_table(&n);
	const char *why = NULL;
	struct cpu_isa_facts here = cpu_isa_facts_read();
	const struct cpu_cores *best = NULL;
	for (int32_t i = 0; i < n; i++) {
		assert_string_equal(isa[i].name, isa[i].cores->isa);
		if (isa[i].usable(&here))
			best = isa[i].cores;
		assert_ptr_equal(cpu_isa_select(isa[i].name, &why), isa[i].usable(&here) ? isa[i].cores : NULL);
	}
	assert_ptr_equal(cpu_isa_select(NULL, NULL), best);
	assert_null(cpu_isa_select("avx3", &why));
	assert_non_null(strstr(why, "no such ISA"));
	if (n < 3)
		return;
	/* leaf 1: OSXSAVE AVX FMA F16C; leaf 7: AVX2, then AVX-512 F DQ BW VL */
	const uint32_t leaf1 = 1u << 27 | 1u << 28 | 1u << 12 | 1u << 29, avx2 = 1u << 5, avx512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;
	const struct { struct cpu_isa_facts facts; bool avx2, avx512; } rows[] = {
		{{0, 0, 0},                                 false, false},
		{{leaf1, avx2, 0x7},                        true,  false},
		{{leaf1, avx2, 0x3},                        false, false},   /* the OS does not save ymm */
		{{leaf1 & ~(1u << 12), avx2, 0x7},          false, false},   /* no FMA */
		{{leaf1 & ~(1u << 27), avx2, 0x7},          false, false},   /* no XGETBV */
		{{leaf1, avx2 | avx512, 0xe7},              true,  true},
		{{leaf1, avx2 | avx512, 0x7},               true,  false},   /* the OS does not save zmm */
		{{leaf1, avx2 | (avx512 & ~(1u << 31)), 0xe7}, true, false}, /* no VL */
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		assert_int_equal(isa[1].usable(&rows[i].facts), rows[i].avx2);
		assert_int_equal(isa[2].usable(&rows[i].facts), rows[i].avx512);
	}
}

int main(void)
{
	static char names[4][2][64];
	struct CMUnitTest tests[9];
	int n_tests = 0;
	int32_t n;
	const struct cpu_isa *isa = cpu_isa_table(&n);
	struct cpu_isa_facts here = cpu_isa_facts_read();
	for (int32_t i = 0; i <= n; i++) {
		const char *name = i < n ? isa[i].name : "tile of avx512 in plain vectors";
		const struct cpu_cores *cores = i < n ? isa[i].cores : &cpu_cores_avx512_shape;
		if (i < n && !isa[i].usable(&here)) {
			print_message("%s: skipped: not on this machine\n", name);
			continue;
		}
		snprintf(names[i][0], sizeof names[i][0], "cores %s", name);
		snprintf(names[i][1], sizeof names[i][1], "packing %s", name);
		tests[n_tests++] = (struct CMUnitTest){.name = names[i][0], .test_func = test_cores, .initial_state = (void *)(uintptr_t)cores};
		tests[n_tests++] = (struct CMUnitTest){.name = names[i][1], .test_func = test_packing, .initial_state = (void *)(uintptr_t)cores};
	}
	tests[n_tests++] = (struct CMUnitTest){.name = "ISA choice", .test_func = test_isa};
	return _cmocka_run_group_tests("cpu_core", tests, (size_t)n_tests, NULL, NULL);
}
