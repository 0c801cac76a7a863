/* Memory runs along the outer dim for some accesses, along the inner for others: square blocks keep the lines of both in the cache. */
void tn_pointwise_b64733a5b649(const struct kargs *a)
{
	const f32 *const b0 = a->b[0];
	f32 *const b1 = a->b[1];
	const i64 irest = 1, rows = 5, cols = 37;
	const i64 nr = 1, nc = 1;
	for (i64 t = a->lo; t < a->hi; t++) {
		const i64 o = t / (nr * nc), i0 = t / nc % nr * 64, i1 = min_i64(i0 + 64, rows);
		const i64 j0 = t % nc * 64, j1 = min_i64(j0 + 64, cols);
		for (i64 i = i0; i < i1; i++) {
			i64 j = j0;
			for (; j + L <= j1; j += L) {
				f32v v0 = SPLAT(f32v, 0.0f);
				for (i64 l_ = 0; l_ < L; l_++) {
				if ((u64)(((j + l_) + (-1))) < (u64)(37)) {
				v0[l_] = b0[i + 5 * (j + l_) + (-1)];
				}
				}
				*(f32v_u *)(b1 + (37 * i + j)) = v0;
			}
			for (; j < j1; j += L) {
				const i64 n = min_i64(j1 - j, L);
				f32v v1 = SPLAT(f32v, 0.0f);
				for (i64 l_ = 0; l_ < n; l_++) {
				if ((u64)(((j + l_) + (-1))) < (u64)(37)) {
				v1[l_] = b0[i + 5 * (j + l_) + (-1)];
				}
				}
				put_f32(b1 + (37 * i + j), v1, n);
			}
		}
	}
}
