/* cmd_show.c - tenon show: a model at any stage of the compiler, as text.  Links the inside of libtenon. */
#include <stdio.h>
#include <string.h>
#include "host/session.h"
#include "tools/tool.h"

static const struct { const char *name; enum tn_stage stage; const char *what; } stages[] = {
	{ "ir", TN_AT_IR, "the graph after simplification and folding" },
	{ "assign", TN_AT_ASSIGN, "which plugin runs each node" },
	{ "expand", TN_AT_EXPAND, "composites opened as far as the plugins want" },
	{ "layout", TN_AT_LAYOUT, "packs and copies added" },
	{ "fuse", TN_AT_FUSE, "groups: what becomes one launch" },
	{ "nest", TN_AT_NEST, "the loop nest of each kernel" },
	{ "kernels", TN_AT_KERNELS, "source text of the kernels" },
	{ "plan", TN_AT_PLAN, "buffers and launches in order" },
};
#define N_STAGES (sizeof stages / sizeof *stages)

static int usage(FILE *f, int status)
{
	fprintf(f, "usage: tenon show MODEL [--stage STAGE] [--backend LIST] [--numerics strict|default] [--no-fuse]\n\n");
	for (size_t i = 0; i < N_STAGES; i++) fprintf(f, "  %-8s %s\n", stages[i].name, stages[i].what);
	fprintf(f, "\n  TENON_BACKEND=ref tenon show model.onnx --stage plan\n");
	return status;
}

struct showing { struct tn_session *s; struct tn_model *m; struct tn_pipeline_options o; struct tn_arena arena; struct tn_diag diag; };

static void print_slots(const struct tn_assignment *as, const struct tn_places *p, struct tn_text *t)
{
	struct tn_text body = { .arena = t->arena };
	tn_ir_print(&body, as->g);
	tn_text_put(t, body.at, body.len);
	tn_text_add(t, "\n# node  plugin      primitive\n");
	for (uint64_t i = 0; i < as->g->nodes.count; i++)
		tn_text_add(t, "# %4llu  %-10s  %s\n", (unsigned long long)i, as->slot[i] < p->n ? p->at[as->slot[i]].backend->id : "host", tn_prim_name(as->g->nodes.at[i].prim));
}

static void print_nests(const struct tn_compiled *c, struct tn_text *t)
{
	for (uint32_t i = 0; i < c->n_programs; i++)
		if (c->programs[i].nest) {
			tn_text_add(t, "# program %u: %s\n", i, c->programs[i].name);
			tn_nest_print(t, c->programs[i].nest);
		}
}

static void print_kernels(const struct tn_compiled *c, struct tn_text *t)
{
	for (uint32_t s = 0; s < c->places.n; s++)
		if (c->texts[s]) tn_text_put(t, c->texts[s], c->text_lens[s]);
	for (uint32_t i = 0; i < c->n_programs; i++)
		if (c->regions[i]) { tn_text_add(t, "# region %s\n", c->programs[i].name); tn_ir_print(t, c->regions[i]); }
}

static void show(void *arg)
{
	struct showing *w = arg;
	struct tn_compiled c;
	struct tn_text t = { .arena = &w->arena };
	tn_pipeline(w->s, &w->m->ir->g, &w->o, &w->arena, &c);
	switch (w->o.until) {
	case TN_AT_IR: tn_ir_print(&t, c.ir); break;
	case TN_AT_ASSIGN: print_slots(&c.assigned, &c.places, &t); break;
	case TN_AT_EXPAND: print_slots(&c.expanded, &c.places, &t); break;
	case TN_AT_LAYOUT: print_slots(&c.laid, &c.places, &t); break;
	case TN_AT_FUSE: tn_groups_print(&t, &c.groups, &c.places); break;
	case TN_AT_NEST: print_nests(&c, &t); break;
	case TN_AT_KERNELS: print_kernels(&c, &t); break;
	case TN_AT_PLAN: tn_plan_print(&t, c.plan, &c.places); break;
	}
	if (t.len) fwrite(t.at, 1, t.len, stdout);
}

int cmd_show(int argc, char **argv)
{
	const char *model = NULL, *backend = NULL, *v;
	struct showing w = { .o = { .numerics = TN_DEFAULT, .until = TN_AT_IR } };
	int bad = 0;
	for (int i = 1; i < argc && !bad; i++) {
		if (!strcmp(argv[i], "--help")) return usage(stdout, 0);
		if ((v = tool_option(argc, argv, &i, "--stage", &bad))) {
			size_t k = 0;
			while (k < N_STAGES && strcmp(stages[k].name, v)) k++;
			if (k == N_STAGES) { fprintf(stderr, "tenon show: there is no stage '%s'\n", v); return usage(stderr, 2); }
			w.o.until = stages[k].stage;
		}
		else if ((v = tool_option(argc, argv, &i, "--backend", &bad))) backend = v;
		else if ((v = tool_option(argc, argv, &i, "--numerics", &bad))) w.o.numerics = strcmp(v, "strict") ? TN_DEFAULT : TN_STRICT;
		else if (!strcmp(argv[i], "--no-fuse")) w.o.fuse_none = 1;
		else if (argv[i][0] != '-' && !model) model = argv[i];
		else bad = 1;
	}
	if (bad || !model) return usage(stderr, 2);
	struct tn_session_options so = { .head = TN_HEAD(tn_session_options, 0), .backend = backend, .log = tool_log };
	int status = 0;
	if (tn_session_create(&so, &w.s) != TN_OK || tn_model_load(w.s, model, &w.m) != TN_OK) status = tool_fail();
	else {
		tn_arena_init(&w.arena, &w.diag);
		if (tn_protect(&w.diag, show, &w) != TN_OK) { fprintf(stderr, "tenon: %s\n", w.diag.text); status = 1; }
		tn_arena_fini(&w.arena);
	}
	tn_model_destroy(w.m);
	tn_session_destroy(w.s);
	return status;
}
