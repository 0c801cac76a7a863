void tn_reduce_6e22e39e7278(const struct kargs *a)
{
	const f32 *const b0 = a->b[0];
	f32 *const b1 = a->b[1];
	const i64 inner = 1, rows = 1, cols = 5;
	const i64 rest = 1, len = 37, nc = 1;
	(void)rows;
	for (i64 t = a->lo; t < a->hi; t++) {
		const i64 i = t / nc, j1 = min_i64(t % nc * 256 + 256, cols);
		i64 j = t % nc * 256;
		/* four vectors of neighbouring columns at once, one accumulator each */
		for (; j + 4 * L <= j1; j += 4 * L) {
			f32v a0_0 = SPLAT(f32v, 0.0f);
			f32v a0_1 = SPLAT(f32v, 0.0f);
			f32v a0_2 = SPLAT(f32v, 0.0f);
			f32v a0_3 = SPLAT(f32v, 0.0f);
			for (i64 q = 0; q < rest; q++) {
				for (i64 r = 0; r < len; r++) {
					const f32v v1 = *(const f32v_u *)(b0 + ((j + 0 * L) + 5 * r));
					const f32v v2 = v1 * v1;
					const f32v v3 = a0_0 + v2;
					a0_0 = v3;
					const f32v v4 = *(const f32v_u *)(b0 + ((j + 1 * L) + 5 * r));
					const f32v v5 = v4 * v4;
					const f32v v6 = a0_1 + v5;
					a0_1 = v6;
					const f32v v7 = *(const f32v_u *)(b0 + ((j + 2 * L) + 5 * r));
					const f32v v8 = v7 * v7;
					const f32v v9 = a0_2 + v8;
					a0_2 = v9;
					const f32v v10 = *(const f32v_u *)(b0 + ((j + 3 * L) + 5 * r));
					const f32v v11 = v10 * v10;
					const f32v v12 = a0_3 + v11;
					a0_3 = v12;
				}
			}
			{
				*(f32v_u *)(b1 + ((j + 0 * L))) = a0_0;
			}
			{
				*(f32v_u *)(b1 + ((j + 1 * L))) = a0_1;
			}
			{
				*(f32v_u *)(b1 + ((j + 2 * L))) = a0_2;
			}
			{
				*(f32v_u *)(b1 + ((j + 3 * L))) = a0_3;
			}
		}
		for (; j < j1; j += L) {
			const i64 n = min_i64(j1 - j, L);
			f32v a13_0 = SPLAT(f32v, 0.0f);
			for (i64 q = 0; q < rest; q++) {
				for (i64 r = 0; r < len; r++) {
					const f32v v14 = part_f32(b0 + (j + 5 * r), n);
					const f32v v15 = v14 * v14;
					const f32v v16 = a13_0 + v15;
					a13_0 = v16;
				}
			}
			put_f32(b1 + (j), a13_0, n);
		}
	}
}
