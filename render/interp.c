/* interp.c - the nest interpreter: runs a nest as it stands, with no compiler, over blocks of lanes that stay in L1.
 *
 * Lanes run along one axis: INNER where there is one, N of a contraction, else RED of a row.  All other axes are loops.  A tile is one
 * coordinate of the parallel axes that are not lanes, and one block of lanes where these are parallel too.  A phase evaluates its own
 * steps and again those of earlier phases that it reads (all but reductions, whose results stay): nothing is kept in memory between.
 * Reductions combine in ascending order, one accumulator: the strict order. */
#include "render/interp.h"
#include "base/sizes.h"
#include <string.h>
#include "render/render.h"

/* ---- shapes */
static int64_t known(const struct interp *m, uint32_t size) { return m->size[size]; }

static int has_axis(const struct tn_nest *n, uint32_t axis)
{
	for (uint64_t i = 0; i < n->dims.count; i++)
		if (n->dims.at[i].axis == axis) return 1;
	return 0;
}

static uint32_t lane_axis(const struct tn_nest *n)
{
	if (n->cls == TN_NEST_CONTRACT) return TN_AXIS_N;
	if (has_axis(n, TN_AXIS_INNER)) return TN_AXIS_INNER;
	return has_axis(n, TN_AXIS_RED) ? TN_AXIS_RED : TN_AXIS_INNER;
}

static void set_extents(struct interp *m)
{
	for (int a = 0; a < TN_AXIS_END; a++) m->extent[a] = 1;
	for (uint64_t i = 0; i < m->nest->dims.count; i++) m->extent[m->nest->dims.at[i].axis] *= known(m, m->nest->dims.at[i].extent);
	m->lane_axis = lane_axis(m->nest);
	m->by_lane = m->lane_axis == TN_AXIS_RED;
}

static int64_t lane_blocks(const struct interp *m) { return (m->extent[m->lane_axis] + INTERP_LANES - 1) / INTERP_LANES; }

/* axes that tiles run over besides blocks of lanes */
static const uint32_t tile_axes[] = { TN_AXIS_OUTER, TN_AXIS_BATCH, TN_AXIS_M };

static int64_t n_tiles(const struct interp *m)
{
	int64_t n = m->by_lane ? 1 : lane_blocks(m);
	if (m->nest->cls == TN_NEST_SCATTER) return m->extent[TN_AXIS_OUTER] && m->extent[TN_AXIS_SEQ] && m->extent[m->lane_axis] ? 1 : 0;
	for (int i = 0; i < 3; i++) n *= m->extent[tile_axes[i]];
	return n;
}

/* ---- coordinates: the flat coordinate of an axis into those of its dims, last fastest */
static void spread(struct interp *m, uint32_t axis, uint32_t lanes)
{
	for (uint32_t lane = 0; lane < lanes; lane++) {
		int64_t rest = m->flat[axis] + lane;
		for (uint64_t i = m->nest->dims.count; i-- > 0;) {
			if (m->nest->dims.at[i].axis != axis) continue;
			int64_t n = known(m, m->nest->dims.at[i].extent);
			m->dim[i * INTERP_LANES + lane] = n > 0 ? rest % n : 0;
			rest = n > 0 ? rest / n : 0;
		}
	}
}

static void go_to(struct interp *m, uint32_t axis, int64_t at)
{
	m->flat[axis] = at;
	spread(m, axis, axis == m->lane_axis ? m->lanes : 1);
}

static int dim_varies(const struct interp *m, uint32_t dim) { return m->nest->dims.at[dim].axis == m->lane_axis; }

/* ---- addresses */
static void linear(const struct interp *m, const struct tn_linear *l, int64_t *out, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) out[i] = known(m, l->offset);
	for (uint32_t p = 0; p < l->n_parts; p++) {
		const struct tn_part *part = &m->nest->parts.at[l->part0 + p];
		int64_t coef = known(m, part->coef);
		const int64_t *src = part->step ? interp_at(m, part->index) : m->dim + (size_t)part->index * INTERP_LANES;
		uint32_t s = part->step ? m->varies[part->index] : (uint32_t)dim_varies(m, part->index);
		for (uint32_t i = 0; i < n; i++) out[i] += coef * src[i * s];
	}
}

static int64_t floor_div(int64_t x, int64_t y) { return x / y - (x % y && (x < 0) != (y < 0)); }

static void div_mod(const struct interp *m, int64_t *v, uint32_t n, uint32_t div, uint32_t mod)
{
	int64_t d = div == TN_NOTHING ? 1 : known(m, div), k = mod == TN_NOTHING ? 0 : known(m, mod);
	if (d > 1) for (uint32_t i = 0; i < n; i++) v[i] = floor_div(v[i], d);
	if (mod != TN_NOTHING) for (uint32_t i = 0; i < n; i++) v[i] = k ? v[i] - k * floor_div(v[i], k) : 0;
}

/* element numbers of n lanes into index, lanes inside all bounds into inside */
static void locate(struct interp *m, const struct tn_access *a, uint32_t n)
{
	int64_t part[INTERP_LANES];
	for (uint32_t i = 0; i < n; i++) { m->index[i] = known(m, a->offset); m->inside[i] = 1; }
	for (uint32_t t = 0; t < a->n_terms; t++) {
		const struct tn_term *term = &m->nest->terms.at[a->term0 + t];
		int64_t stride = known(m, term->stride);
		linear(m, &m->nest->linears.at[term->lin], part, n);
		div_mod(m, part, n, term->div, term->mod);
		for (uint32_t i = 0; i < n; i++) m->index[i] += stride * part[i];
	}
	for (uint32_t b = 0; b < a->n_bounds; b++) {
		const struct tn_bound *bound = &m->nest->bounds.at[a->bound0 + b];
		int64_t limit = known(m, bound->limit);
		linear(m, &m->nest->linears.at[bound->lin], part, n);
		div_mod(m, part, n, bound->div, bound->mod);
		for (uint32_t i = 0; i < n; i++) m->inside[i] &= part[i] >= 0 && part[i] < limit;
	}
}

static int access_varies(const struct interp *m, const struct tn_access *a)
{
	int varies = 0;
	for (uint32_t t = 0; t < a->n_terms + a->n_bounds; t++) {
		uint32_t lin = t < a->n_terms ? m->nest->terms.at[a->term0 + t].lin : m->nest->bounds.at[a->bound0 + t - a->n_terms].lin;
		const struct tn_linear *l = &m->nest->linears.at[lin];
		for (uint32_t p = 0; p < l->n_parts; p++) {
			const struct tn_part *part = &m->nest->parts.at[l->part0 + p];
			varies |= part->step ? m->varies[part->index] : dim_varies(m, part->index);
		}
	}
	return varies;
}

/* elements from one lane to the next where that is the same all along: lanes are one dim, enter terms with no div or mod and no bound */
static int64_t lane_step(const struct interp *m, const struct tn_access *a)
{
	int64_t step = 0;
	uint32_t lane_dims = 0;
	for (uint64_t i = 0; i < m->nest->dims.count; i++) lane_dims += m->nest->dims.at[i].axis == m->lane_axis;
	if (lane_dims > 1) return INT64_MIN;
	for (uint32_t t = 0; t < a->n_terms + a->n_bounds; t++) {
		const struct tn_term *term = t < a->n_terms ? &m->nest->terms.at[a->term0 + t] : NULL;
		const struct tn_linear *l = &m->nest->linears.at[term ? term->lin : m->nest->bounds.at[a->bound0 + t - a->n_terms].lin];
		for (uint32_t p = 0; p < l->n_parts; p++) {
			const struct tn_part *part = &m->nest->parts.at[l->part0 + p];
			if (part->step ? !m->varies[part->index] : !dim_varies(m, part->index)) continue;
			if (part->step || !term || term->div != TN_NOTHING || term->mod != TN_NOTHING) return INT64_MIN;
			step += known(m, term->stride) * known(m, part->coef);
		}
	}
	return step;
}

/* ---- steps */
static void load_run(struct interp *m, const struct tn_access *a, int64_t step, uint32_t w, unsigned char *to, uint32_t n)
{
	locate(m, a, 1);
	const unsigned char *from = m->inside[0] ? (const unsigned char *)m->buffer[a->buffer] + m->index[0] * (int64_t)w : (const unsigned char *)&a->fill;
	if (!m->inside[0]) step = 0;
	if (step == 1) { memcpy(to, from, (size_t)n * w); return; }
	for (uint32_t i = 0; i < n; i++) memcpy(to + (size_t)i * w, from + (int64_t)i * step * (int64_t)w, w);
}

static void load(struct interp *m, uint32_t s, uint32_t n)
{
	const struct tn_access *a = &m->nest->accesses.at[m->nest->steps.at[s].a];
	uint32_t w = interp_bytes(m->nest->buffers.at[a->buffer].dtype);
	const unsigned char *from = m->buffer[a->buffer];
	unsigned char *to = interp_at(m, s);
	int64_t step = m->step[m->nest->steps.at[s].a];
	if (step != INT64_MIN) { load_run(m, a, step, w, to, n); return; }
	locate(m, a, n);
	for (uint32_t i = 0; i < n; i++) memcpy(to + (size_t)i * w, m->inside[i] ? from + m->index[i] * (int64_t)w : (const unsigned char *)&a->fill, w);
}

static void store(struct interp *m, const struct tn_step *st, uint32_t n)
{
	const struct tn_access *a = &m->nest->accesses.at[st->a];
	uint32_t w = interp_bytes(m->nest->buffers.at[a->buffer].dtype), s = m->varies[st->b];
	unsigned char *to = m->buffer[a->buffer];
	const unsigned char *from = interp_at(m, st->b);
	locate(m, a, n);
	for (uint32_t i = 0; i < n; i++)
		if (m->inside[i]) memcpy(to + m->index[i] * (int64_t)w, from + (size_t)(i * s) * w, w);
}

/* scatter: the place gets its old value op the new one */
static void update(struct interp *m, const struct tn_step *st, uint32_t n)
{
	static const uint32_t prims[] = { 0, TN_add, TN_mul, TN_max, TN_min };
	const struct tn_access *a = &m->nest->accesses.at[st->a];
	uint32_t dtype = m->nest->buffers.at[a->buffer].dtype, w = interp_bytes(dtype), s = m->varies[st->b], op = (uint32_t)(st->bits & 7);
	unsigned char *to = m->buffer[a->buffer];
	const unsigned char *from = interp_at(m, st->b);
	locate(m, a, n);
	for (uint32_t i = 0; i < n; i++) {
		unsigned char *place = to + m->index[i] * (int64_t)w;
		const unsigned char *new = from + (size_t)(i * s) * w;
		if (!m->inside[i]) continue;
		if (op == 0 || op > 4) memcpy(place, new, w);
		else interp_combine(prims[op], dtype, place, new);
	}
}

static int prim(struct interp *m, uint32_t s, uint32_t n)
{
	const struct tn_step *st = &m->nest->steps.at[s];
	const uint32_t *arg = m->nest->args + st->arg0;
	struct interp_args a = { interp_at(m, arg[0]), NULL, NULL, m->varies[arg[0]], 0, 0 };
	if (st->n_args > 1) { a.y = interp_at(m, arg[1]); a.sy = m->varies[arg[1]]; }
	if (st->n_args > 2) { a.z = interp_at(m, arg[2]); a.sz = m->varies[arg[2]]; }
	return interp_prim(st->prim, m->nest->steps.at[arg[0]].dtype, st->dtype, &a, interp_at(m, s), n);
}

/* a reduction meets one block: its lanes in order when RED is the lane axis, else lane by lane */
static int reduce(struct interp *m, uint32_t s, uint32_t n)
{
	const struct tn_step *st = &m->nest->steps.at[s];
	uint32_t w = interp_bytes(st->dtype), step = m->varies[st->b];
	unsigned char *acc = interp_at(m, s);
	const unsigned char *x = interp_at(m, st->b);
	int ok = 1;
	for (uint32_t i = 0; i < n; i++) ok &= interp_combine(st->prim, st->dtype, acc + (m->by_lane ? 0 : (size_t)i * w), x + (size_t)(i * step) * w);
	return ok;
}

/* the common case, in one pass */
static void dot_f32(float *acc, const float *x, uint32_t sx, const float *y, uint32_t sy, uint32_t n)
{
	if (!sx && sy)
		for (uint32_t i = 0; i < n; i++) acc[i] += *x * y[i];
	else
		for (uint32_t i = 0; i < n; i++) acc[i] += x[i * sx] * y[i * sy];
}

static int dot(struct interp *m, uint32_t s, uint32_t n)
{
	const struct tn_step *st = &m->nest->steps.at[s];
	if (st->dtype == TN_F32 && m->nest->steps.at[st->a].dtype == TN_F32 && m->nest->steps.at[st->b].dtype == TN_F32) {
		dot_f32(interp_at(m, s), interp_at(m, st->a), m->varies[st->a], interp_at(m, st->b), m->varies[st->b], n);
		return 1;
	}
	uint32_t from = m->nest->steps.at[st->a].dtype;
	uint64_t x[INTERP_LANES], y[INTERP_LANES], p[INTERP_LANES];
	struct interp_args a = { interp_at(m, st->a), NULL, NULL, m->varies[st->a], 0, 0 }, b = { interp_at(m, st->b), NULL, NULL, m->varies[st->b], 0, 0 };
	struct interp_args mul = { x, y, NULL, 1, 1, 0 }, add = { interp_at(m, s), p, NULL, 1, 1, 0 };
	uint32_t from_b = m->nest->steps.at[st->b].dtype;
	return interp_prim(TN_convert, from, st->dtype, &a, x, n) && interp_prim(TN_convert, from_b, st->dtype, &b, y, n) &&
		interp_prim(TN_mul, st->dtype, st->dtype, &mul, p, n) && interp_prim(TN_add, st->dtype, st->dtype, &add, interp_at(m, s), n);
}

/* running value along SEQ; its cell holds what this place gives, the running value stands in the second half of the block */
static int cumulate(struct interp *m, uint32_t s, uint32_t n)
{
	static const uint32_t prims[] = { TN_add, TN_add, TN_mul, TN_max, TN_min };
	const struct tn_step *st = &m->nest->steps.at[s];
	uint32_t w = interp_bytes(st->dtype), step = m->varies[st->b], op = prims[(st->bits & 7) <= 4 ? st->bits & 7 : 0];
	unsigned char *out = interp_at(m, s), *run = m->value + ((size_t)m->nest->steps.count + s) * INTERP_LANES * 8;
	const unsigned char *x = interp_at(m, st->b);
	int ok = 1;
	for (uint32_t i = 0; i < n; i++) {
		if (!m->started[s]) interp_identity(op, st->dtype, run + (size_t)i * w);
		if (st->bits & 8) memcpy(out + (size_t)i * w, run + (size_t)i * w, w);
		ok &= interp_combine(op, st->dtype, run + (size_t)i * w, x + (size_t)(i * step) * w);
		if (!(st->bits & 8)) memcpy(out + (size_t)i * w, run + (size_t)i * w, w);
	}
	m->started[s] = 1;
	return ok;
}

static int run_step(struct interp *m, uint32_t s)
{
	const struct tn_step *st = &m->nest->steps.at[s];
	uint32_t n = m->varies[s] ? m->lanes : 1;
	int64_t *cell = interp_at(m, s);
	switch (st->op) {
	case TN_STEP_CONST: memcpy(cell, &st->bits, 8); return 1;
	case TN_STEP_SIZE: *cell = known(m, st->a); return 1;
	case TN_STEP_DIM: memcpy(cell, m->dim + (size_t)st->a * INTERP_LANES, n * sizeof *cell); return 1;
	case TN_STEP_LOAD: load(m, s, n); return 1;
	case TN_STEP_STORE: store(m, st, m->lanes); return 1;
	case TN_STEP_PRIM: return prim(m, s, n);
	case TN_STEP_REDUCE: return reduce(m, s, m->lanes);
	case TN_STEP_DOT: return dot(m, s, m->lanes);
	case TN_STEP_CUMULATE: return cumulate(m, s, m->lanes);
	case TN_STEP_UPDATE: update(m, st, m->lanes); return 1;
	default: return 0;
	}
}

/* ---- which steps a phase runs: its own, and what these read of earlier phases, reductions apart */
static int is_result(const struct tn_step *st) { return st->op == TN_STEP_REDUCE || st->op == TN_STEP_DOT; }

static void mark_lin(const struct tn_nest *n, uint32_t lin, unsigned char *want)
{
	const struct tn_linear *l = &n->linears.at[lin];
	for (uint32_t p = 0; p < l->n_parts; p++)
		if (n->parts.at[l->part0 + p].step) want[n->parts.at[l->part0 + p].index] = 1;
}

static void mark_operands(const struct tn_nest *n, const struct tn_step *st, unsigned char *want)
{
	for (uint32_t k = 0; k < st->n_args; k++) want[n->args[st->arg0 + k]] = 1;
	if (st->op >= TN_STEP_REDUCE || st->op == TN_STEP_STORE) want[st->b] = 1;
	if (st->op == TN_STEP_DOT) want[st->a] = 1;
	if (st->op == TN_STEP_LOAD || st->op == TN_STEP_STORE || st->op == TN_STEP_UPDATE) {
		const struct tn_access *a = &n->accesses.at[st->a];
		for (uint32_t t = 0; t < a->n_terms; t++) mark_lin(n, n->terms.at[a->term0 + t].lin, want);
		for (uint32_t b = 0; b < a->n_bounds; b++) mark_lin(n, n->bounds.at[a->bound0 + b].lin, want);
	}
}

static void mark_phase(const struct tn_nest *n, const struct tn_nest_phase *p, unsigned char *want)
{
	memset(want, 0, n->steps.count);
	for (uint32_t s = p->step0 + p->n_steps; s-- > 0;) {
		const struct tn_step *st = &n->steps.at[s];
		int own = s >= p->step0;
		want[s] = (unsigned char)(own || (want[s] && !is_result(st)));
		if (want[s]) mark_operands(n, st, want);
	}
}

static int step_varies(const struct interp *m, const struct tn_step *st)
{
	int varies = 0;
	switch (st->op) {
	case TN_STEP_DIM: return dim_varies(m, st->a);
	case TN_STEP_LOAD: return access_varies(m, &m->nest->accesses.at[st->a]);
	case TN_STEP_PRIM:
		for (uint32_t k = 0; k < st->n_args; k++) varies |= m->varies[m->nest->args[st->arg0 + k]];
		return varies;
	case TN_STEP_REDUCE: return !m->by_lane;
	case TN_STEP_DOT: case TN_STEP_CUMULATE: return 1;
	default: return 0;
	}
}

/* ---- phases and tiles */
static int run_wanted(struct interp *m, const struct tn_nest_phase *p, const unsigned char *want)
{
	for (uint32_t s = 0; s < p->step0 + p->n_steps; s++)
		if (want[s] && !run_step(m, s)) {
			const struct tn_step *st = &m->nest->steps.at[s];
			return tn_fail(m->diag, TN_E_UNSUPPORTED, "interpreter: no primitive %u in dtype %u (step %u)", st->prim, st->dtype, s);
		}
	return TN_OK;
}

static void begin_phase(struct interp *m, const struct tn_nest_phase *p)
{
	for (uint32_t s = p->step0; s < p->step0 + p->n_steps; s++) {
		const struct tn_step *st = &m->nest->steps.at[s];
		m->started[s] = 0;
		if (!is_result(st)) continue;
		uint32_t w = interp_bytes(st->dtype);
		for (uint32_t i = 0; i < INTERP_LANES; i++)
			interp_identity(st->op == TN_STEP_DOT ? TN_sum : st->prim, st->dtype, (unsigned char *)interp_at(m, s) + (size_t)i * w);
	}
}

static int is_reverse(const struct interp *m, const struct tn_nest_phase *p)
{
	for (uint32_t s = p->step0; s < p->step0 + p->n_steps; s++)
		if (m->nest->steps.at[s].op == TN_STEP_CUMULATE && (m->nest->steps.at[s].bits & 16)) return 1;
	return 0;
}

/* the axis that a phase loops over inside a tile: RED, K or SEQ, lane by lane in ascending order */
static int32_t run_phase(struct interp *m, const struct tn_nest_phase *p, const unsigned char *want)
{
	uint32_t inner = m->nest->cls == TN_NEST_CONTRACT ? TN_AXIS_K : m->nest->cls == TN_NEST_CUMULATE ? TN_AXIS_SEQ : TN_AXIS_RED;
	int32_t st = TN_OK;
	begin_phase(m, p);
	if (!(p->axes >> inner & 1)) {
		if (m->by_lane) { m->lanes = 1; }
		return run_wanted(m, p, want);
	}
	if (m->by_lane) {
		for (int64_t at = 0; at < m->extent[inner] && st == TN_OK; at += INTERP_LANES) {
			m->lanes = (uint32_t)(m->extent[inner] - at < INTERP_LANES ? m->extent[inner] - at : INTERP_LANES);
			go_to(m, inner, at);
			st = run_wanted(m, p, want);
		}
		return st;
	}
	int reverse = is_reverse(m, p);
	for (int64_t at = 0; at < m->extent[inner] && st == TN_OK; at++) {
		go_to(m, inner, reverse ? m->extent[inner] - 1 - at : at);
		st = run_wanted(m, p, want);
	}
	return st;
}

static void place_lanes(struct interp *m, int64_t block)
{
	int64_t left = m->extent[m->lane_axis] - block * INTERP_LANES;
	m->lanes = (uint32_t)(left < INTERP_LANES ? left : INTERP_LANES);
	go_to(m, m->lane_axis, block * INTERP_LANES);
}

static void place_tile(struct interp *m, int64_t tile)
{
	if (!m->by_lane) {
		int64_t blocks = lane_blocks(m);
		place_lanes(m, tile % blocks);
		tile /= blocks;
	} else m->lanes = 1;
	for (int i = 3; i-- > 0;) {
		go_to(m, tile_axes[i], tile % m->extent[tile_axes[i]]);
		tile /= m->extent[tile_axes[i]];
	}
}

/* scatter: updates in SEQ order over everything else */
static int32_t run_scatter(struct interp *m, const unsigned char *want)
{
	int32_t st = TN_OK;
	for (int64_t q = 0; q < m->extent[TN_AXIS_SEQ] && st == TN_OK; q++) {
		go_to(m, TN_AXIS_SEQ, q);
		for (int64_t o = 0; o < m->extent[TN_AXIS_OUTER] && st == TN_OK; o++) {
			go_to(m, TN_AXIS_OUTER, o);
			for (int64_t b = 0; b < lane_blocks(m) && st == TN_OK; b++) {
				place_lanes(m, b);
				st = run_wanted(m, &m->nest->phases.at[0], want);
			}
		}
	}
	return st;
}

/* ---- entry */
struct interp_call { const struct tn_nest *nest; const int64_t *symbols; void *const *buffers; uint64_t lo, hi; struct tn_diag *diag; struct tn_arena arena; int32_t code; int64_t tiles; };

static struct interp *start(struct interp_call *c)
{
	const struct tn_nest *n = c->nest;
	struct interp *m = tn_new(&c->arena, struct interp);
	m->nest = n;
	m->buffer = c->buffers;
	m->diag = c->diag;
	m->size = tn_array(&c->arena, int64_t, n->sizes.count + 1);
	tn_sizes_eval(&n->sizes, c->symbols, m->size);
	set_extents(m);
	return m;
}

static void run(void *arg)
{
	struct interp_call *c = arg;
	struct interp *m = start(c);
	const struct tn_nest *n = c->nest;
	uint64_t steps = n->steps.count + 1;
	m->dim = tn_array(&c->arena, int64_t, (n->dims.count + 1) * INTERP_LANES);
	m->value = tn_arena_alloc(&c->arena, tn_size_mul(c->diag, 2 * steps, INTERP_LANES * 8));
	m->varies = tn_array(&c->arena, unsigned char, steps);
	m->started = tn_array(&c->arena, unsigned char, steps);
	m->index = tn_array(&c->arena, int64_t, INTERP_LANES);
	m->inside = tn_array(&c->arena, unsigned char, INTERP_LANES);
	m->lanes = 1;
	for (uint32_t s = 0; s < n->steps.count; s++) m->varies[s] = (unsigned char)step_varies(m, &n->steps.at[s]);
	m->step = tn_array(&c->arena, int64_t, n->accesses.count + 1);
	for (uint64_t i = 0; i < n->accesses.count; i++) m->step[i] = lane_step(m, &n->accesses.at[i]);
	unsigned char *want = tn_array(&c->arena, unsigned char, n->phases.count * steps + 1);
	for (uint64_t p = 0; p < n->phases.count; p++) mark_phase(n, &n->phases.at[p], want + p * steps);
	if (n->cls == TN_NEST_SCATTER) { c->code = c->lo < c->hi ? run_scatter(m, want) : TN_OK; return; }
	for (uint64_t t = c->lo; t < c->hi && c->code == TN_OK; t++) {
		place_tile(m, (int64_t)t);
		uint32_t lanes = m->lanes;
		for (uint64_t p = 0; p < n->phases.count && c->code == TN_OK; p++) {
			m->lanes = lanes;
			c->code = run_phase(m, &n->phases.at[p], want + p * steps);
		}
	}
}

static void count(void *arg)
{
	struct interp_call *c = arg;
	c->tiles = n_tiles(start(c));
}

static int32_t call(struct interp_call *c, void (*f)(void *))
{
	struct tn_diag own = { 0 };
	if (!c->diag) c->diag = &own;
	tn_arena_init(&c->arena, c->diag);
	int32_t st = tn_protect(c->diag, f, c);
	tn_arena_fini(&c->arena);
	return st == TN_OK ? c->code : st;
}

uint64_t tn_interpret_tiles(const struct tn_nest *n, const int64_t *symbols)
{
	struct interp_call c = { .nest = n, .symbols = symbols };
	return call(&c, count) == TN_OK && c.tiles > 0 ? (uint64_t)c.tiles : 0;
}

int32_t tn_interpret(const struct tn_nest *n, const int64_t *symbols, void *const *buffers, uint64_t lo, uint64_t hi, struct tn_diag *d)
{
	struct interp_call c = { .nest = n, .symbols = symbols, .buffers = buffers, .lo = lo, .hi = hi, .diag = d };
	return call(&c, run);
}
