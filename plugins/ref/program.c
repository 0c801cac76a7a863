/* program.c - compile copies one node out of its region; running it finds shapes and buffers and calls the loop. */
#include <stdio.h>
#include <string.h>
#include "ref.h"

static int32_t refuse(const struct ref_self *s, const char *what) { return s->host->fail(s->host->ctx, TN_E_UNSUPPORTED, 0, what); }

static void copy_value(const struct tn_graph *g, uint32_t v, struct ref_value *out)
{
	const struct tn_value *val = &g->values.at[v];
	out->dtype = val->dtype;
	out->rank = val->rank;
	for (uint32_t i = 0; i < val->rank; i++) out->dim[i] = g->dims[val->dim0 + i];
}

/* position of value v among the launch's buffers: inputs, then outputs */
static uint32_t buffer_of(const struct tn_graph *g, uint32_t v)
{
	for (uint32_t i = 0; i < g->n_in; i++) if (g->operands[g->in0 + i] == v) return i;
	for (uint32_t i = 0; i < g->n_out; i++) if (g->operands[g->out0 + i] == v) return g->n_in + i;
	return TN_NOTHING;
}

static void copy_attrs(const struct tn_graph *g, const struct tn_node *n, struct ref_program *p)
{
	p->n_attr = n->n_attr;
	for (uint32_t k = 0; k < n->n_attr; k++) {
		const struct tn_attr *a = &g->attrs.at[n->attr0 + k];
		p->attr[k] = (struct ref_attr){ .name = a->name, .i = a->i, .f = a->f, .is_float = a->type == TN_ATTR_FLOAT };
		if (a->type == TN_ATTR_INTS) { p->attr[k].ints = p->ints + a->at; p->attr[k].count = a->count; }
		if (a->type == TN_ATTR_SIZES) { p->attr[k].sizes = p->size_list + a->at; p->attr[k].count = a->count; }
	}
}

static int fits(const struct tn_graph *g, const struct tn_node *n)
{
	int ok = n->n_in <= REF_MAX_ARGS && n->n_out == 1 && n->n_attr <= 16;
	for (uint32_t i = 0; ok && i < n->n_in + n->n_out; i++)
		ok = g->values.at[g->operands[i < n->n_in ? n->in0 + i : n->out0 + i - n->n_in]].rank <= REF_MAX_RANK;
	return ok;
}

static int32_t compile_one(struct ref_self *s, const struct tn_graph *g, struct tn_program **out)
{
	if (!g || g->nodes.count != 1 || !fits(g, &g->nodes.at[0])) return refuse(s, "ref: regions are one node with one result, rank 8 at most");
	const struct tn_node *n = &g->nodes.at[0];
	uint64_t sizes = g->sizes.count * sizeof *g->sizes.at, ints = g->n_ints * sizeof *g->ints, lists = g->n_dims * sizeof *g->dims;
	struct ref_program *p = ref_new(s->host, sizeof *p + sizes + ints + lists);
	if (!p) return TN_E_NOMEM;
	p->self = s;
	p->prim = n->prim;
	p->n_in = n->n_in;
	p->n_out = n->n_out;
	p->n_size = (uint32_t)g->sizes.count;
	p->size = (struct tn_size *)(void *)(p + 1);
	p->ints = (int64_t *)(void *)((char *)p->size + sizes);
	p->size_list = (uint32_t *)(void *)((char *)p->ints + ints);
	if (sizes) memcpy(p->size, g->sizes.at, sizes);
	if (ints) memcpy(p->ints, g->ints, ints);
	if (lists) memcpy(p->size_list, g->dims, lists);
	for (uint32_t i = 0; i < n->n_in; i++) {
		copy_value(g, g->operands[n->in0 + i], &p->in[i]);
		p->arg[i] = buffer_of(g, g->operands[n->in0 + i]);
	}
	copy_value(g, g->operands[n->out0], &p->out[0]);
	p->result[0] = buffer_of(g, g->operands[n->out0]);
	copy_attrs(g, n, p);
	*out = (struct tn_program *)(void *)p;
	return TN_OK;
}

void ref_program_release(struct tn_program *p)
{
	if (p) ref_program_of(p)->self->host->free(ref_program_of(p)->self->host->ctx, p);
}

int32_t ref_compile(struct tn_self *ts, struct tn_compile *c)
{
	struct ref_self *s = ref_self_of(ts);
	if (c->artifact) return TN_E_STALE;
	if (c->text) return refuse(s, "ref: it has no language, only graphs");
	for (uint64_t i = 0; i < c->entries.count; i++) {
		int32_t st = compile_one(s, c->entries.at[i].graph, &c->programs[i]);
		if (st == TN_OK) continue;
		while (i-- > 0) { ref_program_release(c->programs[i]); c->programs[i] = NULL; }
		return st;
	}
	return TN_OK;
}

/* ---- running */
const struct ref_attr *ref_attr(const struct ref_program *p, uint32_t name)
{
	for (uint32_t i = 0; i < p->n_attr; i++) if (p->attr[i].name == name) return &p->attr[i];
	return NULL;
}

int64_t ref_int(const struct ref_program *p, uint32_t name, int64_t otherwise)
{
	const struct ref_attr *a = ref_attr(p, name);
	return !a ? otherwise : a->ints && a->count == 1 ? a->ints[0] : a->i;
}

static int64_t floor_div(int64_t x, int64_t y) { return x / y - (x % y && (x < 0) != (y < 0)); }

static void eval_sizes(const struct ref_program *p, const int64_t *symbols, int64_t *v)
{
	for (uint32_t i = 0; i < p->n_size; i++) {
		const struct tn_size *s = &p->size[i];
		int64_t x = s->op > TN_SIZE_SYM ? v[s->a] : 0, y = s->op > TN_SIZE_SYM ? v[s->b] : 0;
		switch (s->op) {
		case TN_SIZE_CONST: v[i] = s->value; break;
		case TN_SIZE_SYM: v[i] = symbols[s->a]; break;
		case TN_SIZE_ADD: v[i] = (int64_t)((uint64_t)x + (uint64_t)y); break;
		case TN_SIZE_MUL: v[i] = (int64_t)((uint64_t)x * (uint64_t)y); break;
		case TN_SIZE_DIV: v[i] = y ? floor_div(x, y) : 0; break;
		case TN_SIZE_MOD: v[i] = y ? x - y * floor_div(x, y) : 0; break;
		case TN_SIZE_MIN: v[i] = x < y ? x : y; break;
		default: v[i] = x > y ? x : y; break;
		}
	}
}

static struct ref_array array_of(const struct ref_value *v, const int64_t *size, const struct tn_ref *ref)
{
	struct ref_array a = { .dtype = v->dtype, .rank = v->rank, .n = 1, .at = ref_memory_of(ref->memory)->cells + ref->offset };
	for (uint32_t i = v->rank; i-- > 0;) {
		a.dim[i] = size[v->dim[i]];
		a.stride[i] = a.n;
		a.n *= a.dim[i];
	}
	return a;
}

int ref_next(int64_t *at, const int64_t *dim, uint32_t rank)
{
	while (rank-- > 0) {
		if (++at[rank] < dim[rank]) return 1;
		at[rank] = 0;
	}
	return 0;
}

int32_t ref_execute(const struct ref_program *p, const struct tn_ref *buffers, const int64_t *scalars)
{
	const struct tn_host *h = p->self->host;
	int64_t *size = ref_new(h, p->n_size * sizeof *size);
	if (!size) return TN_E_NOMEM;
	eval_sizes(p, scalars, size);
	struct ref_run r = { .p = p, .host = h, .size = size, .out = array_of(&p->out[0], size, &buffers[p->result[0]]) };
	for (uint32_t i = 0; i < p->n_in; i++) r.in[i] = array_of(&p->in[i], size, &buffers[p->arg[i]]);
	if (r.out.n && !ref_elementwise(&r) && !ref_move(&r) && !ref_reduce(&r)) { r.code = TN_E_UNSUPPORTED; r.words = "ref: no loop for this primitive"; }
	h->free(h->ctx, size);
	return r.code ? h->fail(h->ctx, r.code, 0, r.words) : TN_OK;
}
