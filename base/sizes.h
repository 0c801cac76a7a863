/* sizes.h - values of a table of symbolic sizes: each row once, in order. */
#ifndef TENON_SIZES_H
#define TENON_SIZES_H
#include <tenon/types.h>

/* out: rows->count numbers.  INT64_MIN marks what overflows, divides by zero, or is made of such. */
static inline void tn_sizes_eval(const struct tn_size_rows *rows, const int64_t *symbols, int64_t *out)
{
	for (uint64_t i = 0; i < rows->count; i++) {
		const struct tn_size *r = &rows->at[i];
		int64_t x, y, z = INT64_MIN;
		if (r->op == TN_SIZE_CONST) { out[i] = r->value; continue; }
		if (r->op == TN_SIZE_SYM) { out[i] = symbols[r->a]; continue; }
		x = out[r->a];
		y = out[r->b];
		if (x == INT64_MIN || y == INT64_MIN) { out[i] = z; continue; }
		switch (r->op) {
		case TN_SIZE_ADD: if (__builtin_add_overflow(x, y, &z)) z = INT64_MIN; break;
		case TN_SIZE_MUL: if (__builtin_mul_overflow(x, y, &z)) z = INT64_MIN; break;
		case TN_SIZE_DIV: if (y) { z = x / y; z -= (x % y != 0) && ((x < 0) != (y < 0)); } break;
		case TN_SIZE_MOD: if (y) { z = x % y; if (z && ((z < 0) != (y < 0))) z += y; } break;
		case TN_SIZE_MIN: z = x < y ? x : y; break;
		case TN_SIZE_MAX: z = x > y ? x : y; break;
		default: break;
		}
		out[i] = z;
	}
}
#endif
