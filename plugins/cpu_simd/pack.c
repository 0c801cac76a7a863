/* pack.c - operand B of a contraction in panels: the opaque layout "dot.b.panels", made by the node pack and read by the cores.
 * Shape [batch..., K, N], K and N the last two dims; each batch entry is [ceil(N / nr)][K][nr] elements. */
#include <string.h>
#include "cpu.h"

static const struct cpu_core_dot *core_of(const struct cpu_cores *c, uint32_t dtype)
{
	switch (dtype) {
	case TN_F32: return &c->dot_f32;
	case TN_F64: return &c->dot_f64;
	case TN_I32: case TN_U32: return &c->dot_i32;
	case TN_I64: case TN_U64: return &c->dot_i64;
	default: return NULL;
	}
}

static uint64_t elem_bytes(uint32_t dtype) { return dtype == TN_F64 || dtype == TN_I64 || dtype == TN_U64 ? 8 : 4; }

/* elements of one batch entry; 0 with *ok = 0 when it overflows */
static uint64_t panel_elements(const struct cpu_core_dot *core, int64_t k, int64_t n, int *ok)
{
	uint64_t cols = ((uint64_t)n + (uint64_t)core->nr - 1) / (uint64_t)core->nr * (uint64_t)core->nr, all;
	if (__builtin_mul_overflow(cols, (uint64_t)k, &all)) *ok = 0;
	return *ok ? all : 0;
}

int32_t cpu_layout_bytes(struct tn_self *s, const char *layout, uint32_t dtype, uint32_t rank, const int64_t *dims, uint64_t *bytes)
{
	const struct cpu_core_dot *core = core_of(cpu_self_of(s)->cores, dtype);
	int ok = 1;
	*bytes = 0;
	if (strcmp(layout, "dot.b.panels") || !core || rank < 2 || rank > 8) return TN_E_UNSUPPORTED;
	uint64_t all = panel_elements(core, dims[rank - 2], dims[rank - 1], &ok);
	for (uint32_t i = 0; i + 2 < rank && ok; i++) ok = !__builtin_mul_overflow(all, (uint64_t)dims[i], &all);
	if (!ok || __builtin_mul_overflow(all, elem_bytes(dtype), &all)) return TN_E_RANGE;
	*bytes = all;
	return TN_OK;
}

int32_t cpu_pack_compile(struct cpu_self *s, struct tn_compile *c)
{
	for (uint64_t i = 0; i < c->entries.count; i++) {
		const struct tn_graph *g = c->entries.at[i].graph;
		const struct tn_value *v = &g->values.at[g->operands[g->in0]];
		if (g->nodes.count != 1 || g->nodes.at[0].prim != TN_pack || v->rank < 2 || v->rank > 8 || !core_of(s->cores, v->dtype))
			return s->host->fail(s->host->ctx, TN_E_UNSUPPORTED, 0, "cpu_simd takes regions of one pack only");
		struct cpu_program *p = cpu_new(s->host, sizeof *p);
		if (!p) return TN_E_NOMEM;
		p->self = s;
		p->pack.dtype = v->dtype;
		p->pack.rank = v->rank;
		for (uint32_t d = 0; d < v->rank; d++) {
			const struct tn_size *row = &g->sizes.at[g->dims[v->dim0 + d]];
			if (row->op != TN_SIZE_CONST) { s->host->free(s->host->ctx, p); return s->host->fail(s->host->ctx, TN_E_UNSUPPORTED, 0, "pack of a symbolic shape"); }
			p->pack.dims[d] = row->value;
		}
		c->programs[i] = (struct tn_program *)(void *)p;
		c->scratch[i] = 0;
	}
	return TN_OK;
}

void cpu_pack_run(const struct cpu_program *p, const struct tn_ref *src, const struct tn_ref *dst)
{
	const struct cpu_core_dot *core = core_of(p->self->cores, p->pack.dtype);
	uint32_t rank = p->pack.rank;
	int64_t k = p->pack.dims[rank - 2], n = p->pack.dims[rank - 1], batch = 1;
	int ok = 1;
	for (uint32_t i = 0; i + 2 < rank; i++) batch *= p->pack.dims[i];
	uint64_t elem = elem_bytes(p->pack.dtype), step = panel_elements(core, k, n, &ok) * elem;
	for (int64_t i = 0; i < batch; i++)
		core->pack_b(k, n, (const char *)cpu_at(src) + (uint64_t)i * (uint64_t)(k * n) * elem, n, 1, (char *)cpu_at(dst) + (uint64_t)i * step);
}
