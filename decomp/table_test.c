/* table_test.c - every row of the table, for every dtype that it claims: built with symbolic sizes, verified, evaluated at several
 * sizes, expanded to atoms and evaluated again: the same bits. */
#include "decomp/decomp.h"
#include "ir/eval.h"
#include <ctype.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* what a row is tried on, by shape rule, or by row where rows of a rule differ (these come first).
 *   operands   "T n 3; T n 3": dtype and dims; T the dtype under test, K an index, a `*` repeats the operand as often as the row takes
 *   attrs      "axis 1; step [1 -2]; start {0 n}; dtype T"
 * A row may stand here more than once: every line is tried. */
struct trial { uint32_t prim, sh; const char *operands, *attrs; };
static const struct trial trials[] = {
	{ TN_select, 0,       "bool n 3; T n 3; T n 3", "" },
	{ TN_full, 0,         "", "value 1; dtype T; shape {n 3}" },
	{ TN_iota, 0,         "", "axis 1; dtype T; shape {n 4}" },
	{ TN_random_bits, 0,  "u64; u64", "dtype u8; shape {n 3}" },
	{ TN_random_bits, 0,  "u64; u64", "dtype u64; shape {n 3}" },
	{ TN_random_uniform, 0, "u64; u64", "dtype f16; shape {3 n}" },
	{ TN_random_uniform, 0, "u64; u64", "dtype f64; shape {3 n}" },
	{ TN_convert, 0,      "T n 3", "dtype any" },
	{ TN_bitcast, 0,      "T n 3", "dtype same" },
	{ TN_gelu, 0,         "T n 3", "approximate 1" },
	{ TN_gelu, 0,         "T n 3", "approximate 0" },
	{ TN_softplus, 0,     "T n 3", "beta 2; threshold 3" },
	{ TN_softmax, 0,      "T n 5", "axis 1" },
	{ TN_softmax, 0,      "T n 5", "axis 0" },
	{ TN_log_softmax, 0,  "T n 5", "axis 1" },
	{ TN_layer_norm, 0,   "T n 3 4; T 3 4; T 3 4", "axis 1" },
	{ TN_rms_norm, 0,     "T n 3 4; T 4", "axis 2" },
	{ TN_batch_norm, 0,   "T n 3 2; T 3; T 3; T 3; T 3", "" },
	{ TN_group_norm, 0,   "T n 4 3; T 4; T 4", "groups 2" },
	{ TN_cumulate, 0,     "T n 5", "axis 1" },
	{ TN_cumulate, 0,     "T n 5", "axis 0; op 2; exclusive 1" },
	{ TN_cumulate, 0,     "T n 5", "axis 1; op 3; reverse 1" },
	{ TN_cumulate, 0,     "T n 5", "axis 1; op 4; exclusive 1; reverse 1" },
	{ TN_sort, 0,         "T n 7 2", "axis 1" },
	{ TN_sort, 0,         "T n 7", "axis 0; descending 1" },
	{ TN_topk, 0,         "T n 7", "axis 1; k {3}" },
	{ TN_topk, 0,         "T n 7", "axis 0; k {n}; largest 0" },
	{ TN_avg_pool, 0,     "T n 2 5 6", "size [2 3]; stride [2 1]; low [1 0]; high [0 1]" },
	{ TN_avg_pool, 0,     "T n 2 5 6", "size [2 3]; stride [2 1]; low [1 0]; high [0 1]; count_pad 0" },
	{ TN_max_pool, 0,     "T n 2 5 6", "size [2 3]; stride [2 1]; low [1 0]; high [0 1]; dilation [2 1]" },
	{ TN_max_pool, 0,     "T 2 n", "size [1]; stride [2]; low [0]; high [0]; dilation [1]" },
	{ TN_scatter, 0,      "T n 4; K 3; T n 3", "axis 1" },
	{ TN_scatter, 0,      "T n 4 2; K n 3; T n 3 2", "axis 1; batch 1; mode 1; op 3" },
	{ TN_gather, 0,       "T n 4 2; K 3 2", "axis 1; mode 1" },
	{ TN_gather, 0,       "T n 4 2; K n 3", "axis 1; batch 1" },
	{ TN_dot, 0,          "T n 4; T 4 5", "contract [1 0]" },
	{ TN_dot, 0,          "T 2 n 3 2; T 2 4 3 2", "contract [2 2 3 3]; batch [0 0]" },
	{ TN_convolution, 0,  "T n 2 6 5; T 4 2 3 2", "stride [2 1]; low [1 0]; high [1 1]; dilation [1 2]" },
	{ TN_convolution, 0,  "T n 4 6 5; T 6 2 3 2", "stride [1 2]; low [1 0]; high [0 1]; dilation [1 1]; groups 2" },
	{ TN_convolution, 0,  "T 2 3 n 4; T 5 3 1 1", "stride [1 2]; low [0 0]; high [0 0]; dilation [1 1]" },
	{ TN_convolution, 0,  "T 1 4 3 n 4; T 4 1 2 1 3", "stride [1 1 1]; low [1 0 0]; high [0 0 0]; dilation [1 1 1]; groups 4" },
	{ 0, TN_SH_SAME,      "T n 3 *", "" },
	{ 0, TN_SH_BROADCAST, "T n 2", "shape {3 n 2}; dims [1 2]" },
	{ 0, TN_SH_PERMUTE,   "T n 3 2", "perm [2 0 1]" },
	{ 0, TN_SH_RESHAPE,   "T n 4", "shape {2 2 n}" },
	{ 0, TN_SH_SLICE,     "T n 5", "start {1 4}; limit {n 0}; step [1 -2]" },
	{ 0, TN_SH_PAD,       "T n 3; T", "low {1 -1}; high {0 2}; interior [1 0]" },
	{ 0, TN_SH_WINDOW,    "T n 7", "dims [1]; size {3}; stride [2]; dilation [1]" },
	{ 0, TN_SH_CAT,       "T n 2; T n 1; T n 3", "axis 1" },
	{ 0, TN_SH_REDUCE,    "T n 3 4", "axes [0 2]" },
	{ 0, TN_SH_REDUCE_AXIS, "T n 5", "axis 1" },
};

static uint64_t state = 0x9e3779b97f4a7c15u;
static uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

/* ---- reading a trial */
static uint32_t dtype_word(const char *s, uint32_t t)
{
	const size_t len = strcspn(s, " ;");
	return len == 1 && *s == 'T' ? t : len == 1 && *s == 'K' ? (next() & 1 ? TN_I64 : TN_I32) : tn_dtype_by_name(s, len);
}

static uint32_t read_sizes(struct tn_ir *ir, const char **at, uint32_t *sizes)
{
	uint32_t n = 0;
	for (*at += strspn(*at, " "); **at && !strchr(";}*", **at); *at += strspn(*at, " ")) {
		const size_t len = strcspn(*at, " ;}");
		sizes[n++] = tn_size_parse(ir, tn_printf(ir->arena, "%.*s", (int)len, *at));
		*at += len;
	}
	return n;
}

static uint32_t read_operands(struct tn_ir *ir, const struct tn_prim_info *p, const char *s, uint32_t t, uint32_t *in)
{
	uint32_t n = 0;
	for (s += strspn(s, " ;"); *s; s += strspn(s, " ;")) {
		uint32_t dims[TN_RANK_MAX];
		const uint32_t dtype = dtype_word(s, t);
		s += strcspn(s, " ;");
		const uint32_t rank = read_sizes(ir, &s, dims), times = *s == '*' ? p->n_in : 1;
		s += *s == '*';
		for (uint32_t k = 0; k < times; k++)
			in[n++] = tn_ir_input(ir, NULL, dtype, rank, dims);
	}
	return n;
}

static uint32_t read_attrs(struct tn_ir *ir, const char *s, uint32_t t, uint32_t result, struct tn_attr_in *attrs)
{
	uint32_t n = 0;
	for (s += strspn(s, " ;"); *s; s += strspn(s, " ;")) {
		struct tn_attr_in *a = &attrs[n++];
		*a = (struct tn_attr_in){ .name = tn_attr_by_name(s, strcspn(s, " ")) };
		s += strcspn(s, " ") + 1;
		if (*s == '{') {
			uint32_t *sizes = tn_array(ir->arena, uint32_t, TN_RANK_MAX);
			s++;
			a->type = TN_ATTR_SIZES;
			a->count = read_sizes(ir, &s, sizes);
			a->list = sizes;
			s++;
		} else if (*s == '[') {
			int64_t *ints = tn_array(ir->arena, int64_t, TN_RANK_MAX);
			a->type = TN_ATTR_INTS;
			for (s++; *s != ']'; s += strspn(s, " ")) {
				char *end;
				ints[a->count++] = strtoll(s, &end, 10);
				s = end;
			}
			a->list = ints;
			s++;
		} else {
			a->type = TN_ATTR_INT;
			a->i = a->name != TN_ATTR_dtype ? strtoll(s, NULL, 10) : isupper((unsigned char)*s) ? (int64_t)t : result ? (int64_t)result : (int64_t)dtype_word(s, t);
			s += strcspn(s, ";");
		}
	}
	return n;
}

/* ---- operands: the edges of each dtype among random numbers */
static double float_value(const struct tn_prim_info *p, uint64_t i)
{
	static const double edges[] = { 0.0, -0.0, 1, -1, INFINITY, -INFINITY, NAN, 0.5, 2.5, -3.5, 1e-40, 65504, 3e38, -1e-6, 88, -104, 1e300 };
	const double u = (double)(next() >> 11) * 0x1p-53;
	if (i % 3 == 0 && p->lo == p->hi)
		return edges[next() % (sizeof edges / sizeof *edges)];
	return p->lo < p->hi ? p->lo + u * (p->hi - p->lo) : (u - 0.5) * 8;
}

static int64_t int_value(uint64_t i)
{
	static const int64_t edges[] = { 0, 1, -1, 2, 127, -128, 255, INT32_MIN, INT32_MAX, INT64_MIN, INT64_MAX, 31, 64 };
	return i % 2 ? edges[next() % (sizeof edges / sizeof *edges)] : (int64_t)(next() % 23) - 11;
}

static struct tn_array make_operand(struct tn_arena *a, const struct tn_graph *g, uint32_t v, const int64_t *symbols, const struct tn_prim_info *p, int is_index)
{
	struct tn_array x;
	ev_shape(g, NULL, v, symbols, &x, a);
	x.at = tn_arena_alloc(a, x.size);
	for (uint64_t i = 0; i < ev_count(&x); i++) {
		void *at = (char *)x.at + i * tn_dtype_bytes(x.dtype);
		const double f = float_value(p, i);
		const int64_t k = is_index ? (int64_t)(next() % 6) - 1 : int_value(i);
		if (TN_M_FLOAT >> x.dtype & 1)
			ev_convert_n(x.dtype, at, TN_F64, &f, 1);
		else
			ev_convert_n(x.dtype, at, TN_I64, &k, 1);
	}
	return x;
}

static int equal_element(uint32_t dtype, const char *x, const char *y)
{
	double p, q;
	if (memcmp(x, y, tn_dtype_bytes(dtype)) == 0)
		return 1;
	if (!(TN_M_FLOAT >> dtype & 1))
		return 0;
	ev_convert_n(TN_F64, &p, dtype, x, 1);
	ev_convert_n(TN_F64, &q, dtype, y, 1);
	return p != p && q != q;
}

static void check_equal(struct tn_arena *a, const char *what, int64_t n, const struct tn_array *x, const struct tn_array *y)
{
	if (x->dtype != y->dtype || x->rank != y->rank || memcmp(x->dims, y->dims, x->rank * sizeof *x->dims) != 0)
		tn_raise(a->diag, TN_E_INTERNAL, "%s, n = %lld: shapes differ after expansion", what, (long long)n);
	for (uint64_t i = 0; i < ev_count(x); i++)
		if (!equal_element(x->dtype, (const char *)x->at + i * tn_dtype_bytes(x->dtype), (const char *)y->at + i * tn_dtype_bytes(x->dtype)))
			tn_raise(a->diag, TN_E_INTERNAL, "%s, n = %lld: element %llu differs after expansion", what, (long long)n, (unsigned long long)i);
}

/* ---- one line, one dtype */
struct job { struct tn_arena *a; const struct trial *trial; const struct tn_prim_info *p; uint32_t dtype, result; };

static void evaluate_both(const struct job *j, const struct tn_ir *ir, const struct tn_ir *atoms, int64_t n)
{
	struct tn_array in[8], x[2], y[2];
	const int64_t symbols[4] = { n, n, n, n };
	for (uint32_t i = 0; i < ir->g.n_in; i++)
		in[i] = make_operand(j->a, &ir->g, ir->g.operands[ir->g.in0 + i], symbols, j->p, i == 1 && (j->p->number == TN_gather || j->p->number == TN_scatter));
	tn_eval_graph(&ir->g, in, x, j->a);
	tn_eval_graph(&atoms->g, in, y, j->a);
	for (uint32_t i = 0; i < ir->g.n_out; i++)
		check_equal(j->a, j->p->name, n, &x[i], &y[i]);
}

static void run_job(void *arg)
{
	const struct job *j = arg;
	struct tn_ir *ir = tn_ir_create(j->a, "t");
	uint32_t in[8];
	struct tn_attr_in attrs[8];
	tn_size_sym(ir, "n", 0, TN_SIZE_UNBOUNDED);
	const uint32_t n_in = read_operands(ir, j->p, j->trial->operands, j->dtype, in), n_attrs = read_attrs(ir, j->trial->attrs, j->dtype, j->result, attrs);
	tn_ir_input(ir, "rows", TN_BOOL, 1, (const uint32_t[]){ tn_size_sym(ir, "n", 0, TN_SIZE_UNBOUNDED) });   /* tells n where no operand does */
	const uint32_t node = tn_ir_node(ir, &(struct tn_node_in){ .prim = j->p->number, .in = in, .n_in = n_in, .attrs = attrs, .n_attrs = n_attrs });
	for (uint32_t i = 0; i < j->p->n_out; i++)
		tn_ir_output(ir, NULL, tn_out(&ir->g, &ir->g.nodes.at[node], i));
	tn_ir_verify(&ir->g, j->a);
	assert_true(tn_eval_can(&ir->g, &ir->g.nodes.at[node]));
	const struct tn_ir *atoms = tn_expand(&ir->g, NULL, NULL, j->a);
	tn_ir_verify(&atoms->g, j->a);
	for (uint64_t i = 0; i < atoms->g.nodes.count; i++)
		if (!(tn_prim_info(atoms->g.nodes.at[i].prim)->flags & TN_ATOM))
			tn_raise(j->a->diag, TN_E_INTERNAL, "%s stands in the expansion", tn_prim_name(atoms->g.nodes.at[i].prim));
	static const int64_t sizes[] = { 1, 2, 5, 9 };
	for (uint32_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
		evaluate_both(j, ir, atoms, sizes[k]);
}

static int run_trial(const struct trial *t, const struct tn_prim_info *p, uint32_t dtype, uint32_t result)
{
	struct tn_diag d = { 0 };
	struct tn_arena a = { 0 };
	tn_arena_init(&a, &d);
	struct job j = { &a, t, p, dtype, result };
	const int32_t code = tn_protect(&d, run_job, &j);
	if (code != TN_OK)
		print_error("%s %s%s%s (%s; %s): %s\n", p->name, tn_dtype_name(dtype), result ? " to " : "", result ? tn_dtype_name(result) : "", t->operands, t->attrs, d.text);
	tn_arena_fini(&a);
	return code != TN_OK;
}

/* convert and bitcast: every result dtype, or every one as wide */
static int run_results(const struct trial *t, const struct tn_prim_info *p, uint32_t dtype)
{
	const int any = strstr(t->attrs, "dtype any") != NULL, same = strstr(t->attrs, "dtype same") != NULL;
	int failed = 0;
	if (!any && !same)
		return run_trial(t, p, dtype, 0);
	for (uint32_t r = TN_BOOL; r <= TN_F64; r++)
		if (any || (r != TN_BOOL && tn_dtype_bits(r) == tn_dtype_bits(dtype)))
			failed += run_trial(t, p, dtype, r);
	return failed;
}

static void every_row_expands_to_equal_atoms(void **unused)
{
	int failed = 0, tried = 0, rows = 0;
	(void)unused;
	tn_decomp_register();
	for (uint32_t i = 0; tn_prim_at(i) != NULL; i++) {
		const struct tn_prim_info *p = tn_prim_at(i);
		int own = 0, any = 0;
		if (p->flags & TN_HOST_OP || p->cls == TN_CLS_PACK)
			continue;
		for (uint32_t k = 0; k < sizeof trials / sizeof *trials; k++)
			own |= trials[k].prim == p->number;
		for (uint32_t k = 0; k < sizeof trials / sizeof *trials; k++) {
			const struct trial *t = &trials[k];
			if (own ? t->prim != p->number : t->prim != 0 || t->sh != p->sh)
				continue;
			any = 1;
			for (uint32_t dtype = TN_BOOL; dtype <= TN_F64; dtype++)
				if (p->mask >> dtype & 1 && !(dtype == TN_BOOL && strstr(t->attrs, "op "))) {
					failed += run_results(t, p, dtype);
					tried++;
				}
		}
		if (!any)
			print_error("%s: no trial\n", p->name);
		failed += !any;
		rows++;
	}
	print_message("%d rows, %d trials, %d failed\n", rows, tried, failed);
	assert_int_equal(failed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_row_expands_to_equal_atoms) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
