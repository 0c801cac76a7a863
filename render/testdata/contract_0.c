/* A block of C a tile: operands packed into panels of KC steps, the cores multiply, the epilogue runs over the block. */
void tn_contract_3913c6393f08(const struct kargs *a)
{
	const f32 *const b0 = a->b[0];
	const f32 *const b1 = a->b[1];
	const f32 *const b2 = a->b[2];
	f32 *const b3 = a->b[3];
	typedef f32 T;
	const struct cpu_core_dot *core = &a->cores->dot_f32;
	const i64 M = 5, N = 37, K = 5, mr = core->mr, nr = core->nr;
	const i64 MC = 5, NC = 256, KC = 5;
	const i64 nm = 1, nn = 1, ldc = NC + 64, ldt = 320;
	T *const pa = a->scratch, *const pc = pa + (MC + 16) * KC, *const pb = pc + (MC + 16) * ldc, *const pt = pb + (NC + 64) * KC;
	for (i64 t = a->lo; t < a->hi; t++) {
		const i64 bt = t / (nm * nn), i0 = t / nn % nm * 192, j0 = t % nn * NC, rows = min_i64(MC, M - i0), cols = min_i64(NC, N - j0);
		i64 p0 = 0;
		do {
			const i64 k = min_i64(KC, K - p0);
			const T *b = pb;
			i64 panel = k * nr;
			core->pack_a(rows, k, b0 + (5 * i0 + p0), 5, 1, pa);
			core->pack_b(k, cols, b1 + (j0 + 37 * p0), 37, 1, pb);
			if (rows <= mr)
				core->run_wide(k, rows, pa, b, panel, (cols + nr - 1) / nr, pc, ldc, p0 > 0);
			else
				for (i64 j = 0; j < cols; j += nr)
					for (i64 i = 0; i < rows; i += mr)
						core->run(k, min_i64(mr, rows - i), pa + i * k, b + j / nr * panel, pc + i * ldc + j, ldc, p0 > 0);
			p0 += KC;
		} while (p0 < K);
		for (i64 i = i0; i < i0 + rows; i++) {
			for (i64 j = j0; j < j0 + cols;) {
				const i64 q = j / 37, s = j % 37, end = min_i64(j0 + cols, j + 37 - s), back = j - s;
				for (; j < end; j += L) {
					const i64 n = min_i64(end - j, L);
					const f32v v0 = *(const f32v_u *)(pc + (i - i0) * ldc + j - j0);
					const f32v v1 = part_f32(b2 + ((j - back)), n);
					const f32v v2 = v0 + v1;
					put_f32(b3 + (37 * i + (j - back)), v2, n);
				}
				j = end;
			}
		}
	}
}
