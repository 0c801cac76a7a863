void tn_reduce_2b7c42e984e8(const struct kargs *a)
{
	const f32 *const b0 = a->b[0];
	f32 *const b1 = a->b[1];
	const i64 n0 = a->s[0];
	const i64 n1 = a->s[1];
	const i64 n2 = a->s[2];
	const i64 rows = n0, rest = 1, cols = n1, step = n2;
	for (i64 t = a->lo; t < a->hi; t++) {
		for (i64 i = t * step; i < min_i64(t * step + step, rows); i++) {
			f32v a0_0 = SPLAT(f32v, 0.0f);
			f32v a0_1 = SPLAT(f32v, 0.0f);
			f32v a0_2 = SPLAT(f32v, 0.0f);
			f32v a0_3 = SPLAT(f32v, 0.0f);
			for (i64 q = 0; q < rest; q++) {
				i64 r = 0;
				for (; r + 4 * L <= cols; r += 4 * L) {
					const f32v v1 = *(const f32v_u *)(b0 + (n1 * i + (r + 0 * L)));
					const f32v v2 = v1 * v1;
					const f32v v3 = a0_0 + v2;
					a0_0 = v3;
					const f32v v4 = *(const f32v_u *)(b0 + (n1 * i + (r + 1 * L)));
					const f32v v5 = v4 * v4;
					const f32v v6 = a0_1 + v5;
					a0_1 = v6;
					const f32v v7 = *(const f32v_u *)(b0 + (n1 * i + (r + 2 * L)));
					const f32v v8 = v7 * v7;
					const f32v v9 = a0_2 + v8;
					a0_2 = v9;
					const f32v v10 = *(const f32v_u *)(b0 + (n1 * i + (r + 3 * L)));
					const f32v v11 = v10 * v10;
					const f32v v12 = a0_3 + v11;
					a0_3 = v12;
				}
				for (; r + L <= cols; r += L) {
					const f32v v13 = *(const f32v_u *)(b0 + (n1 * i + r));
					const f32v v14 = v13 * v13;
					const f32v v15 = a0_0 + v14;
					a0_0 = v15;
				}
				if (r < cols) {
					const i64 n = cols - r;
					const f32v v16 = part_f32(b0 + (n1 * i + r), n);
					const f32v v17 = v16 * v16;
					const f32v v18 = (f32v)select4(iota_i32v < (i32)n, (i32v)v17, (i32v)SPLAT(f32v, 0.0f));
					const f32v v19 = a0_1 + v18;
					a0_1 = v19;
				}
			}
			const f32v v20 = a0_0 + a0_1;
			a0_0 = v20;
			const f32v v21 = a0_2 + a0_3;
			a0_2 = v21;
			const f32v v22 = a0_0 + a0_2;
			a0_0 = v22;
			const f32 v23 = FOLD(f32, a0_0, x_ + y_);
			b1[i] = v23;
		}
	}
}
