/* core_dot.h - the tile of one element type; included by core_body.h once a type, with CORE_T (element), CORE_TAG (name),
 * CORE_BITS (element size), CORE_MR (rows) and CORE_NV (vectors a row) defined, which it undefines. */
#define CORE_ID_(name, tag) name##_##tag
#define CORE_ID(name, tag) CORE_ID_(name, tag)
#define T CORE_ID(elem, CORE_TAG)
#define VEC CORE_ID(vec, CORE_TAG)
#define TILE CORE_ID(tile, CORE_TAG)
#define RUN CORE_ID(run, CORE_TAG)
#define STRIP CORE_ID(strip, CORE_TAG)
#define PACK CORE_ID(pack, CORE_BITS)
#define MR CORE_MR
#define LANES ((int)(CORE_VECTOR_BYTES / sizeof(CORE_T)))
#define NR (CORE_NV * LANES)
_Static_assert(MR <= 14 && MR % 2 == 0, "run has a case for each count of rows; packing moves pairs");

typedef CORE_T T __attribute__((may_alias));
/* alignment of an element: a caller's c and a slice of a panel start anywhere */
typedef CORE_T VEC __attribute__((vector_size(CORE_VECTOR_BYTES), aligned(sizeof(CORE_T)), may_alias));

/* rows x (panels * NR) sums, which stay in registers because every loop but that over p has a constant count and is
 * unrolled away.  The fence keeps the compiler from loading the elements of a for all rows first: gcc 12 then spills sums
 * in the loop (measured on a Zen core, 6x16 f32: 74 % of FMA peak without it, 98 % with it). */
CORE_INLINE void TILE(const int rows, const int panels, int64_t k, const T *a, const T *b, int64_t panel_stride, T *c,
		      int64_t ldc, int32_t accumulate)
{
	VEC sum[MR][4 * CORE_NV];
	const int nv = panels * CORE_NV;
#pragma GCC unroll 16
	for (int i = 0; i < rows; i++) {
		__builtin_prefetch(c + i * ldc, 1);
#pragma GCC unroll 16
		for (int v = 0; v < nv; v++)
			sum[i][v] = (VEC){0};
	}
#pragma GCC unroll 4
	for (int64_t p = 0; p < k; p++) {
		VEC bv[4 * CORE_NV];
#pragma GCC unroll 16
		for (int v = 0; v < nv; v++)
			bv[v] = *(const VEC *)(b + v / CORE_NV * panel_stride + v % CORE_NV * LANES);
#pragma GCC unroll 16
		for (int i = 0; i < rows; i++) {
			VEC x = a[i] - (VEC){0};
#pragma GCC unroll 16
			for (int v = 0; v < nv; v++)
				sum[i][v] += x * bv[v];
			CORE_FENCE();
		}
		if (rows <= 4 && panels < 4)
			CORE_AHEAD(b + CORE_STEPS_AHEAD * NR, panels, panel_stride, CORE_NV * CORE_VECTOR_BYTES);
		a += MR;
		b += NR;
	}
#pragma GCC unroll 16
	for (int i = 0; i < rows; i++)
#pragma GCC unroll 16
		for (int v = 0; v < nv; v++) {
			VEC *out = (VEC *)(c + i * ldc + v * LANES);
			if (accumulate)
				sum[i][v] += *out;
			*out = sum[i][v];
		}
}

static void RUN(int64_t k, int64_t rows, const void *a, const void *b, void *c, int64_t ldc, int32_t accumulate)
{
	switch (rows) {
#define ROWS(n) case n: TILE(n, 1, k, a, b, 0, c, ldc, accumulate); break
	ROWS(1); ROWS(2); ROWS(3); ROWS(4);
#if CORE_MR > 4
	ROWS(5); ROWS(6);
#endif
#if CORE_MR > 6
	ROWS(7); ROWS(8);
#endif
#if CORE_MR > 8
	ROWS(9); ROWS(10); ROWS(11); ROWS(12);
#endif
#if CORE_MR > 12
	ROWS(13); ROWS(14);
#endif
#undef ROWS
	default: break;
	}
}

/* One row leaves a single chain of dependent additions a vector; more panels at once hide their latency, and more streams
 * of b keep more of the memory busy. */
static void STRIP(int64_t k, int64_t rows, const void *a, const void *b, int64_t panel_stride, int64_t n_panels, void *c,
		  int64_t ldc, int32_t accumulate)
{
	const T *bp = b;
	T *cp = c;
	int64_t j = 0;
	if (rows == 1)
		for (; j + 4 <= n_panels; j += 4)
			TILE(1, 4, k, a, bp + j * panel_stride, panel_stride, cp + j * NR, ldc, accumulate);
	else if (rows == 2)
		for (; j + 2 <= n_panels; j += 2)
			TILE(2, 2, k, a, bp + j * panel_stride, panel_stride, cp + j * NR, ldc, accumulate);
	else if (rows == 3)
		for (; j + 2 <= n_panels; j += 2)
			TILE(3, 2, k, a, bp + j * panel_stride, panel_stride, cp + j * NR, ldc, accumulate);
	for (; j < n_panels; j++)
		RUN(k, rows, a, bp + j * panel_stride, cp + j * NR, ldc, accumulate);
}

static void CORE_ID(pack_a, CORE_TAG)(int64_t m, int64_t k, const void *src, int64_t stride_m, int64_t stride_k, void *dst)
{
	PACK(MR, k, m, src, stride_k, stride_m, dst);
}

static void CORE_ID(pack_b, CORE_TAG)(int64_t k, int64_t n, const void *src, int64_t stride_k, int64_t stride_n, void *dst)
{
	PACK(NR, k, n, src, stride_k, stride_n, dst);
}

static const struct cpu_core_dot CORE_ID(dot, CORE_TAG) = {
	.mr = MR, .nr = NR, .run = RUN, .run_wide = STRIP, .pack_a = CORE_ID(pack_a, CORE_TAG), .pack_b = CORE_ID(pack_b, CORE_TAG),
};
#undef CORE_ID_
#undef CORE_ID
#undef T
#undef VEC
#undef TILE
#undef RUN
#undef STRIP
#undef PACK
#undef MR
#undef LANES
#undef NR
#undef CORE_T
#undef CORE_TAG
#undef CORE_BITS
#undef CORE_MR
#undef CORE_NV
