/* model.c - models: a graph in the IR, from a file or from text, and what its inputs and outputs are. */
#include <stdlib.h>
#include <string.h>
#include "decomp/decomp.h"
#include "frontend/onnx/onnx.h"
#include "host/session.h"

struct loading { struct tn_model *m; const char *path, *text; uint64_t len; };

static int ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);
	return n >= k && !strcmp(s + n - k, end);
}

static void load(void *arg)
{
	struct loading *l = arg;
	struct tn_arena *a = &l->m->arena;
	if (l->text) l->m->ir = tn_ir_parse(a, l->text, l->len, "text");
	else if (ends_with(l->path, ".tn")) l->m->ir = tn_ir_load(a, l->path);
	else if (ends_with(l->path, ".onnx")) l->m->ir = tn_onnx_load(a, l->path);
	else tn_raise(a->diag, TN_E_ARG, "%s: neither .onnx nor .tn", l->path);
	struct tn_mark mark = tn_arena_mark(a);
	tn_ir_verify(&l->m->ir->g, a);
	tn_arena_reset(a, mark);
}

static int32_t make(struct tn_session *s, struct loading *l, struct tn_model **out)
{
	*out = NULL;
	struct tn_model *m = l->m = calloc(1, sizeof *m);
	if (!m) return tn_error_set(TN_E_NOMEM, "no memory for a model");
	tn_decomp_register();
	m->session = s;
	atomic_init(&m->uses, 1);
	tn_arena_init(&m->arena, &m->diag);
	int32_t st = tn_protect(&m->diag, load, l);
	if (st == TN_OK) { *out = m; return st; }
	tn_error_take(&m->diag);
	tn_model_release(m);
	return st;
}

int32_t tn_model_load(struct tn_session *s, const char *path, struct tn_model **out)
{
	return make(s, &(struct loading){ .path = path }, out);
}

int32_t tn_model_parse(struct tn_session *s, const char *text, uint64_t len, struct tn_model **out)
{
	return make(s, &(struct loading){ .text = text, .len = len }, out);
}

void tn_model_release(struct tn_model *m)
{
	if (!m || atomic_fetch_sub(&m->uses, 1) != 1) return;
	tn_arena_fini(&m->arena);
	free(m);
}

void tn_model_destroy(struct tn_model *m) { tn_model_release(m); }

/* the expression of a symbolic dim, printed once and kept with the model */
struct printing { struct tn_model *m; uint32_t size; const char *text; };
static void print_dim(void *arg)
{
	struct printing *p = arg;
	if (!p->m->dim_text) p->m->dim_text = tn_array(&p->m->arena, const char *, p->m->ir->g.sizes.count);
	p->text = p->m->dim_text[p->size];
	if (p->text) return;
	struct tn_text t = { .arena = &p->m->arena };
	tn_size_print(&t, &p->m->ir->g, p->size);
	p->text = p->m->dim_text[p->size] = t.at;
}

static int32_t port(const struct tn_model *m, uint32_t v, struct tn_port *out)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	const struct tn_graph *g = &m->ir->g;
	struct tn_port p = { .head = TN_HEAD(tn_port, 0), .name = tn_str_at(g, tn_val(g, v)->name), .dtype = tn_val(g, v)->dtype, .rank = tn_rank(g, v) };
	for (uint32_t i = 0; i < p.rank && i < 8; i++) {
		p.dims[i] = tn_size_known(g, tn_shape(g, v)[i]);
		p.dim_names[i] = "";
		if (p.dims[i] >= 0) continue;
		struct printing pr = { (struct tn_model *)(uintptr_t)m, tn_shape(g, v)[i], "" };
		pthread_mutex_lock(&lock);
		int32_t st = tn_protect(&pr.m->diag, print_dim, &pr);
		pthread_mutex_unlock(&lock);
		if (st != TN_OK) return tn_error_take(&pr.m->diag);
		p.dim_names[i] = pr.text;
	}
	uint32_t size = out->head.size && out->head.size < sizeof p ? out->head.size : sizeof p;
	p.head.size = size;
	memcpy(out, &p, size);
	return TN_OK;
}

int32_t tn_model_input(const struct tn_model *m, uint64_t i, struct tn_port *out)
{
	if (i >= m->ir->g.n_in) return TN_E_RANGE;
	return port(m, m->ir->g.operands[m->ir->g.in0 + i], out);
}

int32_t tn_model_output(const struct tn_model *m, uint64_t i, struct tn_port *out)
{
	if (i >= m->ir->g.n_out) return TN_E_RANGE;
	return port(m, m->ir->g.operands[m->ir->g.out0 + i], out);
}
