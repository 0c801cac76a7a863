/* test_rows.h - for tests: a graph as text for each row of the primitive table, from the row's columns, with symbolic sizes */
#ifndef TENON_TEST_ROWS_H
#define TENON_TEST_ROWS_H
#include "ir/store.h"
#include <string.h>

#define ROW_WHERE " where 2 <= n <= 64, 3 <= m <= 40, 1 <= b <= 8, 9 <= h <= 99"

/* what stands in the header and after the primitive's name, by shape rule; D is the dtype */
static inline void row_operands(const struct tn_prim_info *p, const char **in, const char **rest)
{
	*rest = "";
	switch (p->sh) {
	case TN_SH_SAME: *in = p->n_in == 1 ? "%x: D[n, 4]" : p->n_in == 2 ? "%x: D[n, 4], %y: E[n, 4]" : "%x: D[n, 4], %y: E[n, 4], %z: E[n, 4]"; break;
	case TN_SH_ATTR: *in = p->cls == TN_CLS_RANDOM ? "%x: u64[], %y: u64[]" : p->n_in ? "%x: D[n, 4]" : ""; *rest = "shape = [n, m*2]"; break;
	case TN_SH_BROADCAST: *in = "%x: D[n]"; *rest = "shape = [m, n, 4], dims = [1]"; break;
	case TN_SH_PERMUTE: *in = "%x: D[n, m, 3]"; *rest = "perm = [2, 0, 1]"; break;
	case TN_SH_RESHAPE: *in = "%x: D[n, 4]"; *rest = "shape = [n*2, 2]"; break;
	case TN_SH_SLICE: *in = "%x: D[n, 8]"; *rest = "start = [1, 7], limit = [n, -1], step = [1, -3]"; break;
	case TN_SH_PAD: *in = "%x: D[n, 4], %y: D[]"; *rest = "low = [1, -1], high = [m, 2], interior = [0, 2]"; break;
	case TN_SH_WINDOW: *in = "%x: D[n, 9]"; *rest = "dims = [1], size = [3], stride = [2], dilation = [1]"; break;
	case TN_SH_CAT: *in = "%x: D[n, 2], %y: D[m, 2], %z: D[1, 2]"; *rest = "axis = 0"; break;
	case TN_SH_GATHER: *in = "%x: D[b, n, 4], %y: i64[b, m]"; *rest = "axis = 1, batch = 1, mode = 1"; break;
	case TN_SH_SCATTER: *in = "%x: D[b, n, 4], %y: i32[b, m], %z: D[b, m, 4]"; *rest = "axis = 1, batch = 1, mode = 1, op = 3"; break;
	case TN_SH_REDUCE: *in = "%x: D[n, m, 4]"; *rest = "axes = [0, 2]"; break;
	case TN_SH_REDUCE_AXIS: *in = "%x: D[n, m, 4]"; *rest = "axis = 1"; break;
	case TN_SH_DOT: *in = "%x: D[b, n, 4], %y: D[b, 4, m]"; *rest = "contract = [2, 1], batch = [0, 0]"; break;
	case TN_SH_CONV: *in = "%x: D[n, 4, h, m], %y: D[6, 2, 3, 2]"; *rest = "stride = [2, 1], low = [1, 1], high = [1, 0], dilation = [1, 2], groups = 2"; break;
	case TN_SH_POOL: *in = "%x: D[n, 4, h, m]"; *rest = "size = [2, 3], stride = [2, 1], low = [0, 1], high = [1, 0]"; break;
	case TN_SH_TOPK: *in = "%x: D[n, 8]"; *rest = "axis = 1, k = [3]"; break;
	case TN_SH_PACK: *in = "%x: D[n, 4]"; break;
	default: *in = "%x: D[n, 4]"; break;
	}
	if (p->sh == TN_SH_FIRST)
		switch (p->number) {
		case TN_layer_norm: *in = "%x: D[n, m, 4], %y: D[m, 4], %z: D[m, 4]"; *rest = "axis = 1"; break;
		case TN_rms_norm: *in = "%x: D[n, m, 4], %y: D[m, 4]"; *rest = "axis = 1"; break;
		case TN_batch_norm: *in = "%x: D[n, 4, m], %y: D[4], %z: D[4], %u: D[4], %v: D[4]"; break;
		case TN_group_norm: *in = "%x: D[n, 4, m], %y: D[4], %z: D[4]"; *rest = "groups = 2"; break;
		default: break;
		}
}

static inline void row_attr(struct tn_text *t, const struct tn_spec *s, const char *dtype, int whole)
{
	tn_text_add(t, ", %s = ", tn_attr_name(s->name));
	switch (s->type) {
	case TN_SPEC_FLOAT: tn_text_add(t, whole ? "2.0" : "0.75"); break;
	case TN_SPEC_INTS:
	case TN_SPEC_SIZES: tn_text_add(t, "[1, 1]"); break;
	case TN_SPEC_DTYPE: tn_text_add(t, "%s", dtype); break;
	case TN_SPEC_TEXT: tn_text_add(t, "\"tiles of 8\""); break;
	default: tn_text_add(t, "1"); break;
	}
}

/* false: the row needs a text of its own (row_host) */
static inline int row_text(struct tn_text *t, const struct tn_prim_info *p, uint32_t dtype)
{
	const char *in, *rest, *d = tn_dtype_name(dtype), *first = p->mask2 && p->dt == TN_DT_SELECT ? "bool" : d;
	const char *result = p->number == TN_bitcast ? d : p->number == TN_random_bits ? "u32" : p->cls == TN_CLS_RANDOM ? "f32" :
		p->n_in == 0 ? d : p->sh == TN_SH_DOT || p->sh == TN_SH_CONV ? d : "f64";
	struct tn_spec s;
	if (p->dt == TN_DT_OWN || p->sh == TN_SH_OWN)
		return 0;
	row_operands(p, &in, &rest);
	tn_text_add(t, "graph @row(");
	for (const char *c = in; *c; c++)
		if (*c == 'D')
			tn_text_add(t, "%s", first);
		else if (*c == 'E')
			tn_text_add(t, "%s", d);
		else
			tn_text_put(t, c, 1);
	tn_text_add(t, "%s%%like: bool[n, m]", *in ? ", " : "");       /* gives the sizes that only attributes name */
	tn_text_add(t, ")%s {\n\t%%r%s = %s ", ROW_WHERE, p->n_out == 2 ? ", %i" : "", p->name);
	const char *sep = "";
	for (const char *c = in; (c = strchr(c, '%')) != NULL; c++, sep = ", ")
		tn_text_add(t, "%s%%%c", sep, c[1]);
	tn_text_add(t, "%s%s", *in && *rest ? ", " : "", rest);
	for (const char *at = p->attrs; (at = tn_spec_next(at, &s)) != NULL;)
		if (!strstr(rest, tn_attr_name(s.name)) && (!s.optional || s.type == TN_SPEC_FLOAT))
			row_attr(t, &s, result, !(TN_M(dtype) & TN_M_FLOAT));
	tn_text_add(t, " @ \"test: /row\"\n\treturn %%r%s\n}\n", p->n_out == 2 ? ", %i as \"index\"" : "");
	return 1;
}

static const char *const row_host[] = {
	"graph @size() where 0 <= n { %r = size shape = [3] return %r }",
	"graph @bind(%x: i64[], %y: f32[n]) where 0 <= n <= 9 { m = bind %x, hi = 100 %r = iota axis = 0, dtype = i32, shape = [m + n] %z = neg %y return %r, %z must write %y }",
	"graph @if(%c: bool[], %x: f32[n, 4]) { %r, %s = if %c, %x { (%a: f32[q, 4]) %b = neg %a yield %b, %a } { (%a: f32[k, 4]) "
		"%b = slice %a, start = [0, 0], limit = [k div 2, 4], step = [1, 1] yield %b, %a } @ \"x: /if\" return %r as \"a b\", %s may write %x }",
	"graph @while(%i: i64[], %x: f32[n]) { %j, %y, %all = while %i, %x, n_carry = 2, hi = 20 { (%i: i64[], %x: f32[k]) %c = lt %i, 5 yield %c } "
		"{ (%i: i64[], %x: f32[k]) const %one: i64[] = {1} %j = add %i, %one %z = add %x, 0.5 yield %j, %z, %z } return %y, %all, %j }",
	"graph @scan(%h: f32[4], %x: f32[n, 3]) { %l, %all = scan %h, %x, n_carry = 1, length = [n], reverse = 1 { (%h: f32[4], %x: f32[3]) "
		"%s = sum %x, axes = [0] %b = broadcast %s, shape = [4], dims = [] %g = add %h, %b yield %g, %g } return %l, %all }",
};
#endif
