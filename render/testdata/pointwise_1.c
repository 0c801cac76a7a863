void tn_pointwise_f4861c824ed7(const struct kargs *a)
{
	const f32 *const b0 = a->b[0];
	const f32 *const b1 = a->b[1];
	f32 *const b2 = a->b[2];
	const i64 n0 = a->s[0];
	const i64 n1 = a->s[1];
	const i64 n2 = a->s[2];
	const i64 n3 = a->s[3];
	/* a tile is a run of rows, or a piece of one row where rows are long */
	const i64 rest = 1, rows = n0, cols = n1;
	const i64 nc = n2, step = n3;
	for (i64 t = a->lo; t < a->hi; t++) {
		const i64 i0 = t / nc * step, i1 = min_i64(i0 + step, rows), j0 = t % nc * 8192, j1 = min_i64(j0 + 8192, cols);
		for (i64 i = i0; i < i1; i++) {
			i64 j = j0;
			for (; j + L <= j1; j += L) {
				const f32v v0 = *(const f32v_u *)(b0 + (n1 * (i / rest) + j));
				const f32v v1 = *(const f32v_u *)(b1 + (j));
				const f32v v2 = v0 + v1;
				*(f32v_u *)(b2 + (n1 * (i / rest) + j)) = v2;
			}
			if (j < j1) {
				const i64 n = j1 - j;
				const f32v v3 = part_f32(b0 + (n1 * (i / rest) + j), n);
				const f32v v4 = part_f32(b1 + (j), n);
				const f32v v5 = v3 + v4;
				put_f32(b2 + (n1 * (i / rest) + j), v5, n);
			}
		}
	}
}
