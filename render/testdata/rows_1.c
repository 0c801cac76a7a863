void tn_rows_a19d25a1bc2e_4(const struct kargs *a)
{
	const f32 *const b0 = a->b[0];
	f32 *const b1 = a->b[1];
	const i64 n0 = a->s[0];
	const i64 n1 = a->s[1];
	const i64 n2 = a->s[2];
	const i64 rows = n0, rest = 1, cols = n1, step = n2;
	for (i64 t = a->lo; t < a->hi; t++) {
		for (i64 i = t * step; i < min_i64(t * step + step, rows); i++) {
			f32v a0_0 = SPLAT(f32v, (-__builtin_inff()));
			f32v a0_1 = SPLAT(f32v, (-__builtin_inff()));
			f32v a0_2 = SPLAT(f32v, (-__builtin_inff()));
			f32v a0_3 = SPLAT(f32v, (-__builtin_inff()));
			for (i64 q = 0; q < rest; q++) {
				i64 r = 0;
				for (; r + 4 * L <= cols; r += 4 * L) {
					const f32v v1 = *(const f32v_u *)(b0 + (n1 * i + (r + 0 * L)));
					const f32v v2 = max_f32v(a0_0, v1);
					a0_0 = v2;
					const f32v v3 = *(const f32v_u *)(b0 + (n1 * i + (r + 1 * L)));
					const f32v v4 = max_f32v(a0_1, v3);
					a0_1 = v4;
					const f32v v5 = *(const f32v_u *)(b0 + (n1 * i + (r + 2 * L)));
					const f32v v6 = max_f32v(a0_2, v5);
					a0_2 = v6;
					const f32v v7 = *(const f32v_u *)(b0 + (n1 * i + (r + 3 * L)));
					const f32v v8 = max_f32v(a0_3, v7);
					a0_3 = v8;
				}
				for (; r < cols; r += L) {
					const i64 n = min_i64(cols - r, L);
					const f32v v9 = part_f32(b0 + (n1 * i + r), n);
					const f32v v10 = (f32v)select4(iota_i32v < (i32)n, (i32v)v9, (i32v)SPLAT(f32v, (-__builtin_inff())));
					const f32v v11 = max_f32v(a0_0, v10);
					a0_0 = v11;
				}
			}
			const f32v v12 = max_f32v(a0_0, a0_1);
			a0_0 = v12;
			const f32v v13 = max_f32v(a0_2, a0_3);
			a0_2 = v13;
			const f32v v14 = max_f32v(a0_0, a0_2);
			a0_0 = v14;
			const f32 v15 = FOLD(f32, a0_0, max_f32v(x_, y_));
			f32v a16_0 = SPLAT(f32v, 0.0f);
			f32v a16_1 = SPLAT(f32v, 0.0f);
			f32v a16_2 = SPLAT(f32v, 0.0f);
			f32v a16_3 = SPLAT(f32v, 0.0f);
			for (i64 q = 0; q < rest; q++) {
				i64 r = 0;
				for (; r + 4 * L <= cols; r += 4 * L) {
					const f32v v17 = *(const f32v_u *)(b0 + (n1 * i + (r + 0 * L)));
					const f32v v18 = SPLAT(f32v, v15);
					const f32v v19 = v17 - v18;
					const f32v v20 = a16_0 + v19;
					a16_0 = v20;
					const f32v v21 = *(const f32v_u *)(b0 + (n1 * i + (r + 1 * L)));
					const f32v v22 = SPLAT(f32v, v15);
					const f32v v23 = v21 - v22;
					const f32v v24 = a16_1 + v23;
					a16_1 = v24;
					const f32v v25 = *(const f32v_u *)(b0 + (n1 * i + (r + 2 * L)));
					const f32v v26 = SPLAT(f32v, v15);
					const f32v v27 = v25 - v26;
					const f32v v28 = a16_2 + v27;
					a16_2 = v28;
					const f32v v29 = *(const f32v_u *)(b0 + (n1 * i + (r + 3 * L)));
					const f32v v30 = SPLAT(f32v, v15);
					const f32v v31 = v29 - v30;
					const f32v v32 = a16_3 + v31;
					a16_3 = v32;
				}
				for (; r < cols; r += L) {
					const i64 n = min_i64(cols - r, L);
					const f32v v33 = part_f32(b0 + (n1 * i + r), n);
					const f32v v34 = SPLAT(f32v, v15);
					const f32v v35 = v33 - v34;
					const f32v v36 = (f32v)select4(iota_i32v < (i32)n, (i32v)v35, (i32v)SPLAT(f32v, 0.0f));
					const f32v v37 = a16_0 + v36;
					a16_0 = v37;
				}
			}
			const f32v v38 = a16_0 + a16_1;
			a16_0 = v38;
			const f32v v39 = a16_2 + a16_3;
			a16_2 = v39;
			const f32v v40 = a16_0 + a16_2;
			a16_0 = v40;
			const f32 v41 = FOLD(f32, a16_0, x_ + y_);
			for (i64 q = 0; q < rest; q++) {
				i64 r = 0;
				for (; r < cols; r += L) {
					const i64 n = min_i64(cols - r, L);
					const f32v v42 = part_f32(b0 + (n1 * i + r), n);
					const f32v v43 = SPLAT(f32v, v15);
					const f32v v44 = v42 - v43;
					const f32v v45 = SPLAT(f32v, v41);
					const f32v v46 = v44 / v45;
					put_f32(b1 + (n1 * i + r), v46, n);
				}
			}
		}
	}
}
