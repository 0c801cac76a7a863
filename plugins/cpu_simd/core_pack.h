/* core_pack.h - packing into panels for 4- and 8-byte elements; included by core_body.h.  Bits move, no value is computed. */
typedef uint32_t u32_any __attribute__((may_alias));
typedef uint64_t u64_any __attribute__((may_alias));
typedef uint32_t u32x4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef uint64_t u64x2 __attribute__((vector_size(16), aligned(4), may_alias));

/* Two rows of two 8-byte elements each become two neighbours at each of two steps, width elements apart. */
CORE_INLINE void transpose_pair_64(const int width, const u64_any *r0, const u64_any *r1, u64_any *dst)
{
	u64x2 x = *(const u64x2 *)r0, y = *(const u64x2 *)r1;
	*(u64x2 *)dst = __builtin_shufflevector(x, y, 0, 2);
	*(u64x2 *)(dst + width) = __builtin_shufflevector(x, y, 1, 3);
}

/* 2 steps of one full panel whose source is contiguous in k */
CORE_INLINE void transpose_64(const int width, const u64_any *src, int64_t stride, u64_any *dst)
{
	for (int r = 0; r < width; r += 2)
		transpose_pair_64(width, src + r * stride, src + (r + 1) * stride, dst + r);
}

/* 4 steps of the same for 4-byte elements: rows by fours, then a last pair when width is not a multiple of 4 */
CORE_INLINE void transpose_32(const int width, const u32_any *src, int64_t stride, u32_any *dst)
{
	int r = 0;
	for (; r + 4 <= width; r += 4) {
		const u32_any *row = src + r * stride;
		u32x4 x0 = *(const u32x4 *)row, x1 = *(const u32x4 *)(row + stride);
		u32x4 x2 = *(const u32x4 *)(row + 2 * stride), x3 = *(const u32x4 *)(row + 3 * stride);
		u64x2 lo01 = (u64x2)__builtin_shufflevector(x0, x1, 0, 4, 1, 5), hi01 = (u64x2)__builtin_shufflevector(x0, x1, 2, 6, 3, 7);
		u64x2 lo23 = (u64x2)__builtin_shufflevector(x2, x3, 0, 4, 1, 5), hi23 = (u64x2)__builtin_shufflevector(x2, x3, 2, 6, 3, 7);
		*(u64x2 *)(dst + r) = __builtin_shufflevector(lo01, lo23, 0, 2);
		*(u64x2 *)(dst + width + r) = __builtin_shufflevector(lo01, lo23, 1, 3);
		*(u64x2 *)(dst + 2 * width + r) = __builtin_shufflevector(hi01, hi23, 0, 2);
		*(u64x2 *)(dst + 3 * width + r) = __builtin_shufflevector(hi01, hi23, 1, 3);
	}
	for (; r < width; r += 2)
		for (int p = 0; p < 4; p++) {
			dst[p * width + r] = src[r * stride + p];
			dst[p * width + r + 1] = src[(r + 1) * stride + p];
		}
}

/* Steps are taken by runs, all panels for each run, so that a source row-major in n is not read a page a step. */
#define CORE_PACK_RUN 64

#define CORE_DEFINE_PACK(bits, steps) \
/* w of width elements at each of k steps; the rest of the width is zero */ \
CORE_INLINE void pack_strip_##bits(const int width, int64_t k, int w, const u##bits##_any *src, int64_t stride_k, \
				   int64_t stride_n, u##bits##_any *dst) \
{ \
	int64_t p = 0; \
	if (w == width && stride_n == 1) \
		for (; p < k; p++) \
			__builtin_memcpy(dst + p * width, src + p * stride_k, (size_t)width * sizeof *dst); \
	else if (w == width && stride_k == 1) \
		for (; p + steps <= k; p += steps) \
			transpose_##bits(width, src + p, stride_n, dst + p * width); \
	for (; p < k; p++) \
		for (int r = 0; r < width; r++) \
			dst[p * width + r] = r < w ? src[p * stride_k + r * stride_n] : 0; \
} \
CORE_INLINE void pack_##bits(const int width, int64_t k, int64_t n, const u##bits##_any *src, int64_t stride_k, \
			     int64_t stride_n, u##bits##_any *dst) \
{ \
	for (int64_t p = 0; p < k; p += CORE_PACK_RUN) { \
		int64_t run = k - p < CORE_PACK_RUN ? k - p : CORE_PACK_RUN; \
		for (int64_t j = 0; j < n; j += width) \
			pack_strip_##bits(width, run, (int)(n - j < width ? n - j : width), src + p * stride_k + j * stride_n, \
					  stride_k, stride_n, dst + j * k + p * width); \
	} \
}
CORE_DEFINE_PACK(32, 4)
CORE_DEFINE_PACK(64, 2)
