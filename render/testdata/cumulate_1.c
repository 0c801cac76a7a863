void tn_cumulate_68fb11a8a5a9(const struct kargs *a)
{
	const f32 *const b0 = a->b[0];
	f32 *const b1 = a->b[1];
	const i64 n0 = a->s[0];
	const i64 rest = 1, cols = 1, len = n0, nc = 1;
	for (i64 t = a->lo; t < a->hi; t++) {
		const i64 i = t / nc, j0 = t % nc * 256, j1 = min_i64(j0 + 256, cols);
		for (i64 j = j0; j < j1; j += L) {
			const i64 n = min_i64(j1 - j, L);
			f32 a0_0 = 0.0f;
			for (i64 s = 0; s < len; s++) {
				const f32 v1 = b0[n0 * (i / rest) + s];
				const f32 v2 = a0_0 + v1;
				a0_0 = v2;
				const f32 v3 = a0_0;
				b1[n0 * (i / rest) + s] = v3;
			}
		}
	}
}
