/* sample_nests.c - one small nest or a few of each class, on which lint renders every template, and whose renderings are golden
 *
 *   pointwise   out[i][j] = x[i][j] + row[j];             variant 2: a transposed copy with a border
 *   reduce      out[i] = sum over r of x[i][r] * x[i][r];  variant 2: columns
 *   rows        e = x - max x, kept; out = e / sum e;      variant 2: the last phase over OUTER alone
 *   contract    out = A B + bias;                          variant 2: A through an addition, B packed
 *   cumulate    running sums;                              variant 2: lanes along INNER, backwards, exclusive
 *   scatter     out[index[s]][j] += x[s][j] */
#include "render/sample.h"

struct sample { struct rd_make k; uint32_t n, m, variant; };      /* two extents: 5 and 37, or symbols */

static uint32_t load(struct sample *s, uint32_t buffer, uint32_t lin)
{
	return rd_make_load(&s->k, rd_make_access(&s->k, buffer, lin));
}

static void store(struct sample *s, uint32_t buffer, uint32_t lin, uint32_t step)
{
	rd_make_store(&s->k, rd_make_access(&s->k, buffer, lin), step);
}

static uint32_t buffer(struct sample *s, uint32_t dtype, uint32_t flags)
{
	return rd_make_buffer(&s->k, dtype, flags, s->m);
}

static uint32_t prim2(struct sample *s, uint32_t prim, uint32_t x, uint32_t y)
{
	return rd_make_prim(&s->k, prim, TN_F32, 2, (uint32_t[]){ x, y });
}

static uint32_t reduce(struct sample *s, uint32_t prim, uint32_t x)
{
	return rd_make_step(&s->k, (struct tn_step){ .op = TN_STEP_REDUCE, .dtype = TN_F32, .prim = prim, .b = x });
}

static void pointwise(struct sample *s)
{
	struct rd_make *k = &s->k;
	uint32_t i = rd_make_dim(k, TN_AXIS_OUTER, s->n), j = rd_make_dim(k, TN_AXIS_INNER, s->m);
	uint32_t x = buffer(s, TN_F32, TN_BUF_READ), at = rd_make_linear(k, 0, RD_PAIRS({ i, s->m }, { j, 1 }));
	rd_make_phase(k, 1 << TN_AXIS_OUTER | 1 << TN_AXIS_INNER);
	if (s->variant == 2) {
		uint32_t out = buffer(s, TN_F32, TN_BUF_WRITE), minus = rd_make_size(k, -1);
		uint32_t in = rd_make_access(k, x, rd_make_linear(k, minus, RD_PAIRS({ i, 1 }, { j, s->n })));
		rd_make_bound(k, in, rd_make_linear(k, minus, RD_PAIRS({ j, 1 })), s->m);
		store(s, out, at, rd_make_load(k, in));
		return;
	}
	uint32_t row = buffer(s, TN_F32, TN_BUF_READ), out = buffer(s, TN_F32, TN_BUF_WRITE);
	uint32_t a = load(s, x, at), b = load(s, row, rd_make_linear(k, 0, RD_PAIRS({ j, 1 })));
	store(s, out, at, prim2(s, TN_add, a, b));
}

static void reduction(struct sample *s)
{
	struct rd_make *k = &s->k;
	uint32_t axis = s->variant == 2 ? TN_AXIS_INNER : TN_AXIS_OUTER;
	uint32_t i = rd_make_dim(k, axis, s->n), r = rd_make_dim(k, TN_AXIS_RED, s->m);
	uint32_t x = buffer(s, TN_F32, TN_BUF_READ), out = buffer(s, TN_F32, TN_BUF_WRITE);
	uint32_t at = s->variant == 2 ? rd_make_linear(k, 0, RD_PAIRS({ i, 1 }, { r, s->n })) : rd_make_linear(k, 0, RD_PAIRS({ i, s->m }, { r, 1 }));
	rd_make_phase(k, 1u << axis | 1 << TN_AXIS_RED);
	uint32_t v = load(s, x, at), sum = reduce(s, TN_sum, prim2(s, TN_mul, v, v));
	rd_make_phase(k, 1u << axis);
	store(s, out, rd_make_linear(k, 0, RD_PAIRS({ i, 1 })), sum);
}

static void rows(struct sample *s)
{
	struct rd_make *k = &s->k;
	uint32_t i = rd_make_dim(k, TN_AXIS_OUTER, s->n), r = rd_make_dim(k, TN_AXIS_RED, s->m), both = 1 << TN_AXIS_OUTER | 1 << TN_AXIS_RED;
	uint32_t x = buffer(s, TN_F32, TN_BUF_READ), out = buffer(s, TN_F32, TN_BUF_WRITE), at = rd_make_linear(k, 0, RD_PAIRS({ i, s->m }, { r, 1 }));
	rd_make_phase(k, both);
	uint32_t v = load(s, x, at), top = reduce(s, TN_reduce_max, v);
	rd_make_phase(k, both);
	uint32_t e = prim2(s, TN_sub, v, top);
	k->steps[e].flags = TN_STEP_KEEP;
	uint32_t sum = reduce(s, TN_sum, e);
	if (s->variant == 2) {
		rd_make_phase(k, 1 << TN_AXIS_OUTER);
		store(s, out, rd_make_linear(k, 0, RD_PAIRS({ i, 1 })), prim2(s, TN_div, top, sum));
		return;
	}
	rd_make_phase(k, both);
	store(s, out, at, prim2(s, TN_div, e, sum));
}

static void contract(struct sample *s)
{
	struct rd_make *k = &s->k;
	uint32_t i = rd_make_dim(k, TN_AXIS_M, s->n), j = rd_make_dim(k, TN_AXIS_N, s->m), p = rd_make_dim(k, TN_AXIS_K, s->n);
	uint32_t x = buffer(s, TN_F32, TN_BUF_READ), y = buffer(s, TN_F32, TN_BUF_READ), w = buffer(s, TN_F32, TN_BUF_READ), out = buffer(s, TN_F32, TN_BUF_WRITE);
	uint32_t own = 1 << TN_AXIS_BATCH | 1 << TN_AXIS_M | 1 << TN_AXIS_N;
	if (s->variant == 2) {
		k->buffers[y].layout = (uint32_t)k->bytes.len;
		tn_text_put(&k->bytes, "dot.b.panels", 13);
	}
	rd_make_phase(k, own | 1 << TN_AXIS_K);
	uint32_t a = load(s, x, rd_make_linear(k, 0, RD_PAIRS({ i, s->n }, { p, 1 }))), b = load(s, y, rd_make_linear(k, 0, RD_PAIRS({ p, s->m }, { j, 1 })));
	if (s->variant == 2)
		a = prim2(s, TN_add, a, a);
	uint32_t dot = rd_make_step(k, (struct tn_step){ .op = TN_STEP_DOT, .dtype = TN_F32, .a = a, .b = b });
	rd_make_phase(k, own);
	uint32_t bias = load(s, w, rd_make_linear(k, 0, RD_PAIRS({ j, 1 })));
	store(s, out, rd_make_linear(k, 0, RD_PAIRS({ i, s->m }, { j, 1 })), prim2(s, TN_add, dot, bias));
}

static void cumulate(struct sample *s)
{
	struct rd_make *k = &s->k;
	uint32_t lanes = s->variant == 2, i = rd_make_dim(k, lanes ? TN_AXIS_INNER : TN_AXIS_OUTER, s->n), q = rd_make_dim(k, TN_AXIS_SEQ, s->m);
	uint32_t x = buffer(s, TN_F32, TN_BUF_READ), out = buffer(s, TN_F32, TN_BUF_WRITE);
	uint32_t at = lanes ? rd_make_linear(k, 0, RD_PAIRS({ q, s->n }, { i, 1 })) : rd_make_linear(k, 0, RD_PAIRS({ i, s->m }, { q, 1 }));
	rd_make_phase(k, 1 << TN_AXIS_OUTER | 1 << TN_AXIS_INNER | 1 << TN_AXIS_SEQ);
	uint32_t v = load(s, x, at);
	store(s, out, at, rd_make_step(k, (struct tn_step){ .op = TN_STEP_CUMULATE, .dtype = TN_F32, .b = v, .bits = lanes ? 1 | 8 | 16 : 1 }));
}

static void scatter(struct sample *s)
{
	struct rd_make *k = &s->k;
	uint32_t j = rd_make_dim(k, TN_AXIS_INNER, s->m), q = rd_make_dim(k, TN_AXIS_SEQ, s->n);
	uint32_t index = buffer(s, TN_I64, TN_BUF_READ), x = buffer(s, TN_F32, TN_BUF_READ), out = buffer(s, TN_F32, TN_BUF_READ | TN_BUF_WRITE);
	rd_make_phase(k, 1 << TN_AXIS_OUTER | 1 << TN_AXIS_INNER | 1 << TN_AXIS_SEQ);
	uint32_t at = load(s, index, rd_make_linear(k, 0, RD_PAIRS({ q, 1 }))), v = load(s, x, rd_make_linear(k, 0, RD_PAIRS({ q, s->m }, { j, 1 })));
	uint32_t to = rd_make_linear(k, 0, RD_PAIRS({ at, s->m }, { j, 1 })), row = rd_make_linear(k, 0, RD_PAIRS({ at, 1 }));
	k->parts[k->linears[to].part0].step = k->parts[k->linears[row].part0].step = 1;
	uint32_t far = rd_make_access(k, out, to);
	rd_make_bound(k, far, row, s->n);
	rd_make_step(k, (struct tn_step){ .op = TN_STEP_UPDATE, .a = far, .b = v, .bits = 1 });
}

const struct tn_nest *rd_sample(struct tn_arena *a, uint32_t cls, uint32_t variant)
{
	static void (*const make[])(struct sample *) = {
		[TN_NEST_POINTWISE] = pointwise, [TN_NEST_REDUCE] = reduction, [TN_NEST_ROWS] = rows, [TN_NEST_CONTRACT] = contract,
		[TN_NEST_CUMULATE] = cumulate, [TN_NEST_SCATTER] = scatter,
	};
	struct sample s = { .variant = variant };
	if (cls >= sizeof make / sizeof *make || !make[cls] || variant >= RD_SAMPLE_VARIANTS)
		return NULL;
	rd_make_init(&s.k, a, cls);
	s.n = variant == 1 ? rd_make_symbol(&s.k, 0, 0, TN_SIZE_UNBOUNDED) : rd_make_size(&s.k, 5);
	s.m = variant == 1 ? rd_make_symbol(&s.k, 1, 0, TN_SIZE_UNBOUNDED) : rd_make_size(&s.k, 37);
	make[cls](&s);
	return rd_make_done(&s.k);
}
