void tn_cumulate_1ae90abda8f9(const struct kargs *a)
{
	const f32 *const b0 = a->b[0];
	f32 *const b1 = a->b[1];
	const i64 rest = 1, cols = 5, len = 37, nc = 1;
	for (i64 t = a->lo; t < a->hi; t++) {
		const i64 i = t / nc, j0 = t % nc * 256, j1 = min_i64(j0 + 256, cols);
		for (i64 j = j0; j < j1; j += L) {
			const i64 n = min_i64(j1 - j, L);
			f32v a0_0 = SPLAT(f32v, 0.0f);
			for (i64 s = 0; s < len; s++) {
				const f32v v1 = part_f32(b0 + (j + 5 * (len - 1 - s)), n);
				const f32v v2 = a0_0;
				const f32v v3 = a0_0 + v1;
				a0_0 = v3;
				put_f32(b1 + (j + 5 * (len - 1 - s)), v2, n);
			}
		}
	}
}
