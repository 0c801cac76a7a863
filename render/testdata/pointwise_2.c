void tn_pointwise_b64733a5b649(const struct kargs *a)
{
	const f32 *const b0 = a->b[0];
	f32 *const b1 = a->b[1];
	/* a tile is a run of rows, or a piece of one row where rows are long */
	const i64 rest = 1, rows = 5, cols = 37;
	const i64 nc = 1, step = 221;
	for (i64 t = a->lo; t < a->hi; t++) {
		const i64 i0 = t / nc * step, i1 = min_i64(i0 + step, rows), j0 = t % nc * 8192, j1 = min_i64(j0 + 8192, cols);
		for (i64 i = i0; i < i1; i++) {
			i64 j = j0;
			for (; j + L <= j1; j += L) {
				f32v v0 = SPLAT(f32v, 0.0f);
				for (i64 l_ = 0; l_ < L; l_++) {
				if ((u64)(((j + l_) + (-1))) < (u64)(37)) {
				v0[l_] = b0[(i / rest) + 5 * (j + l_) + (-1)];
				}
				}
				*(f32v_u *)(b1 + (37 * (i / rest) + j)) = v0;
			}
			if (j < j1) {
				const i64 n = j1 - j;
				f32v v1 = SPLAT(f32v, 0.0f);
				for (i64 l_ = 0; l_ < n; l_++) {
				if ((u64)(((j + l_) + (-1))) < (u64)(37)) {
				v1[l_] = b0[(i / rest) + 5 * (j + l_) + (-1)];
				}
				}
				put_f32(b1 + (37 * (i / rest) + j), v1, n);
			}
		}
	}
}
