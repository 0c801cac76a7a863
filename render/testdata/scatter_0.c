/* updates in their order, on one thread */
void tn_scatter_427d0575a3a9(const struct kargs *a)
{
	const i64 *const b0 = a->b[0];
	const f32 *const b1 = a->b[1];
	f32 *const b2 = a->b[2];
	const i64 rows = 1, rest = 1, cols = 37, len = 5;
	for (i64 i = 0; i < rows && a->lo < a->hi; i++) {
		for (i64 s = 0; s < len; s++) {
			const i64 v0 = b0[s];
			for (i64 q = 0; q < rest; q++) {
				for (i64 j = 0; j < cols; j += L) {
					const i64 n = min_i64(cols - j, L);
					const f32v v1 = part_f32(b1 + (j + 37 * s), n);
					if ((u64)(((i64)v0)) < (u64)(5)) {
					const f32v v2 = part_f32(b2 + (j + 37 * (i64)v0), n);
					const f32v v3 = v2 + v1;
					put_f32(b2 + (j + 37 * (i64)v0), v3, n);
					}
				}
			}
		}
	}
}
