/* cmd_check.c - tenon check: each fused kernel of a model, run alone by the nest interpreter on the values that the strict evaluator
 * gives, against the evaluator on the kernel's own nodes.  Names the first that differs: that is where a wrong result comes from. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "host/session.h"
#include "tools/inputs.h"
#include "tools/tool.h"

struct checking {
	struct tn_session *s;
	struct tn_model *m;
	struct tn_tensor **in; uint32_t n_in;
	double tolerance;
	struct tn_diag diag;
	struct tn_arena arena;
	struct tn_compiled c;
	int64_t *symbols;
	struct tn_array *value;           /* by value of the graph that was fused */
	uint32_t checked, differing;
};

/* largest difference as a part of the largest value */
static double difference(const struct tn_array *want, const void *got, uint64_t *at)
{
	double worst = 0, largest = 0;
	uint64_t n = want->size / tn_dtype_bytes(want->dtype);
	for (uint64_t i = 0; i < n; i++) {
		double x = tool_number(want->dtype, want->at, i), y = tool_number(want->dtype, got, i), d = fabs(x - y);
		if ((isnan(x) && isnan(y)) || x == y) d = 0;
		if (isnan(d)) d = INFINITY;
		if (d > worst) { worst = d; *at = i; }
		if (isfinite(x) && fabs(x) > largest) largest = fabs(x);
	}
	return largest > 0 ? worst / largest : worst;
}

static void set_shape(const struct checking *w, uint32_t v, struct tn_array *x)
{
	const struct tn_graph *g = w->c.groups.g;
	x->dtype = tn_val(g, v)->dtype;
	x->rank = tn_rank(g, v);
	for (uint32_t k = 0; k < x->rank; k++) x->dims[k] = tn_size_eval(&g->sizes, tn_shape(g, v)[k], w->symbols);
}

static const struct tn_array *value(struct checking *w, uint32_t v)
{
	const struct tn_graph *g = w->c.groups.g;
	struct tn_array *x = &w->value[v];
	uint32_t constant = tn_val(g, v)->constant;
	if (!x->dtype && constant != TN_NOTHING) {
		set_shape(w, v, x);
		x->at = (void *)(uintptr_t)g->constants.at[constant].at;
		x->size = g->constants.at[constant].size;
	}
	if (!x->dtype) tn_raise(&w->diag, TN_E_INTERNAL, "check: value %%%u is read before it is made", v);
	return x;
}

/* node by node: values inside the group become known, too */
static void evaluate_group(struct checking *w, uint32_t i)
{
	const struct tn_group *gr = &w->c.groups.at[i];
	const struct tn_graph *g = w->c.groups.g;
	for (uint32_t k = 0; k < gr->n_nodes; k++) {
		const struct tn_node *n = &g->nodes.at[gr->nodes[k]];
		struct tn_array *in = tn_array(&w->arena, struct tn_array, n->n_in), *out = tn_array(&w->arena, struct tn_array, n->n_out);
		for (uint32_t x = 0; x < n->n_in; x++) in[x] = *value(w, tn_in(g, n, x));
		for (uint32_t x = 0; x < n->n_out; x++) set_shape(w, tn_out(g, n, x), &out[x]);
		tn_eval_node(g, n, w->symbols, in, out, &w->arena);
		for (uint32_t x = 0; x < n->n_out; x++) w->value[tn_out(g, n, x)] = out[x];
	}
}

static int is_out(const struct tn_group *gr, uint32_t v)
{
	for (uint32_t k = 0; k < gr->n_out; k++) if (gr->out[k] == v) return 1;
	return 0;
}

static void report(struct checking *w, uint32_t i, uint32_t v, double d, uint64_t at)
{
	const struct tn_graph *g = w->c.groups.g;
	const struct tn_group *gr = &w->c.groups.at[i];
	printf("group %u (%s) differs: value %%%u by %.3g of its largest, at element %llu\n  nodes:", i, w->c.programs[w->c.sources[i].program].name, v, d, (unsigned long long)at);
	for (uint32_t k = 0; k < gr->n_nodes; k++) printf(" %s", tn_prim_name(g->nodes.at[gr->nodes[k]].prim));
	printf("\n  last: %s\n", tn_str_at(g, g->nodes.at[gr->nodes[gr->n_nodes - 1]].origin));
	w->differing++;
}

/* the kernel on buffers of its own, beside what the evaluator gave */
static void check_kernel(struct checking *w, uint32_t i)
{
	const struct tn_group *gr = &w->c.groups.at[i];
	const struct tn_plan_source *src = &w->c.sources[i];
	const struct tn_nest *nest = w->c.programs[src->program].nest;
	const struct tn_graph *g = w->c.groups.g;
	void **buffers = tn_array(&w->arena, void *, src->n_values);
	for (uint32_t k = 0; k < src->n_values; k++) {
		buffers[k] = is_out(gr, src->values[k]) ? tn_arena_alloc(&w->arena, w->value[src->values[k]].size + 64) : value(w, src->values[k])->at;
		for (uint32_t n = 0; n < gr->n_nodes && gr->nest == TN_NEST_SCATTER; n++)
			if (g->nodes.at[gr->nodes[n]].prim == TN_scatter && tn_out(g, &g->nodes.at[gr->nodes[n]], 0) == src->values[k])
				memcpy(buffers[k], value(w, tn_in(g, &g->nodes.at[gr->nodes[n]], 0))->at, w->value[src->values[k]].size);
	}
	int32_t st = tn_interpret(nest, w->symbols, buffers, 0, tn_interpret_tiles(nest, w->symbols), &w->diag);
	if (st != TN_OK) tn_raise(&w->diag, st, "%s", tn_strdup(&w->arena, w->diag.text));
	w->checked++;
	for (uint32_t k = 0; k < src->n_values; k++) {
		uint64_t at = 0;
		if (!is_out(gr, src->values[k])) continue;
		double d = difference(&w->value[src->values[k]], buffers[k], &at);
		if (d > w->tolerance) report(w, i, src->values[k], d, at);
	}
}

static void check(void *arg)
{
	struct checking *w = arg;
	const struct tn_graph *g;
	unsigned char *no_text = tn_array(&w->arena, unsigned char, w->s->n_places + 1);
	memset(no_text, 1, w->s->n_places + 1);
	struct tn_pipeline_options o = { .numerics = TN_STRICT, .until = TN_AT_PLAN, .no_text = no_text };
	tn_pipeline(w->s, &w->m->ir->g, &o, &w->arena, &w->c);
	g = w->c.groups.g;
	w->value = tn_array(&w->arena, struct tn_array, g->values.count);
	w->symbols = tn_array(&w->arena, int64_t, g->n_symbols);
	struct tn_array *in = tn_array(&w->arena, struct tn_array, g->n_in);
	for (uint32_t i = 0; i < g->n_in; i++) {
		in[i] = (struct tn_array){ .dtype = w->in[i]->dtype, .rank = w->in[i]->rank, .at = w->in[i]->data, .size = w->in[i]->bytes };
		memcpy(in[i].dims, w->in[i]->dims, sizeof in[i].dims);
		w->value[g->operands[g->in0 + i]] = in[i];
	}
	tn_bind_symbols(g, in, w->symbols, &w->diag);
	for (uint32_t i = 0; i < w->c.groups.n; i++) {
		const struct tn_group *gr = &w->c.groups.at[i];
		if (gr->kind == TN_GROUP_ALIAS || gr->kind == TN_GROUP_COPY) {
			struct tn_array x = *value(w, gr->in[0]);
			set_shape(w, gr->out[0], &x);
			w->value[gr->out[0]] = x;
			continue;
		}
		evaluate_group(w, i);
		if (gr->kind == TN_GROUP_KERNEL) check_kernel(w, i);
	}
}

int cmd_check(int argc, char **argv)
{
	struct tool_inputs in = { 0 };
	struct checking w = { .tolerance = 1e-4 };
	const char *model = NULL, *v;
	int bad = 0, status = 1;
	for (int i = 1; i < argc && !bad; i++) {
		if (!strcmp(argv[i], "--help")) { bad = 1; break; }
		if (tool_inputs_option(argc, argv, &i, &in, &bad)) continue;
		if ((v = tool_option(argc, argv, &i, "--tolerance", &bad))) w.tolerance = atof(v);
		else if (argv[i][0] != '-' && !model) model = argv[i];
		else bad = 1;
	}
	if (bad || !model) {
		printf("usage: tenon check MODEL [--input NAME=FILE.npy|random|zeros]... [--dim n=4]... [--tolerance 1e-4]\n\n"
			"Runs every fused kernel alone, on right inputs, against the strict evaluator, and names those that differ; status 1 then.\n");
		return argc == 2 && !strcmp(argv[1], "--help") ? 0 : 2;
	}
	struct tn_session_options so = { .head = TN_HEAD(tn_session_options, 0), .log = tool_log };
	if (tn_session_create(&so, &w.s) != TN_OK || tn_model_load(w.s, model, &w.m) != TN_OK) status = tool_fail();
	else if (tool_inputs_make(&in, w.s, w.m)) {
		w.in = in.in;
		w.n_in = in.n_in;
		tn_arena_init(&w.arena, &w.diag);
		status = tn_protect(&w.diag, check, &w) != TN_OK;
		if (status) fprintf(stderr, "tenon check: %s\n", w.diag.text);
		else printf("%u kernels checked, %u differ\n", w.checked, w.differing);
		status |= w.differing > 0;
		tn_arena_fini(&w.arena);
	}
	tool_inputs_free(&in);
	tn_model_destroy(w.m);
	tn_session_destroy(w.s);
	return status;
}
