/* validate_compile.c - checks of asking and compiling, and of what a plugin answers to both. */
#include <stdlib.h>
#include <string.h>
#include "host/validate.h"

#define UNSET UINT32_C(0xa5a5a5a5)

static int32_t check_graph(const struct v_call *k, const struct tn_graph *g, const char *what) { return v_head(k, what, g ? &g->head : NULL, sizeof *g, TN_KIND_GRAPH); }

int32_t v_can(struct tn_self *s, const char *target, const struct tn_graph *g, struct tn_verdict *by_node)
{
	struct v_call k = { "can", NULL, TN_E_ARG };
	struct v_object *self = v_find(&k, s, V_SELF, "self");
	int32_t st = self ? check_graph(&k, g, "graph") : TN_E_ARG;
	if (st != TN_OK) return st;
	if (!target || !by_node) return v_complain(&k, TN_E_ARG, "%s is NULL", target ? "by_node" : "target");
	for (uint64_t i = 0; i < g->nodes.count; i++) by_node[i] = (struct tn_verdict){ UNSET, 0, 0, 0 };
	st = v_after(&k, NULL, k.owner->inner.can(self->inner, target, g, by_node));
	for (uint64_t i = 0; i < g->nodes.count; i++) {
		if (st == TN_OK && by_node[i].answer > TN_CAN_YES)
			st = by_node[i].answer == UNSET ? v_complain(&k, TN_E_INTERNAL, "the plugin gives no verdict on node %llu", (unsigned long long)i) :
				v_complain(&k, TN_E_INTERNAL, "the verdict on node %llu is %u", (unsigned long long)i, by_node[i].answer);
		if (st != TN_OK) break;
	}
	if (st != TN_OK) memset(by_node, 0, g->nodes.count * sizeof *by_node);
	return st;
}

/* ---- compile */
union room_compile { struct tn_compile c; unsigned char room[sizeof(struct tn_compile) + TN_ROOM]; };

static int32_t check_entry(const struct v_call *k, const struct tn_compile *c, uint64_t i)
{
	const struct tn_entry *e = &c->entries.at[i];
	unsigned long long n = i;
	if (!e->name || !*e->name) return v_complain(k, TN_E_ARG, "entry %llu has no name", n);
	if (c->text && e->graph) return v_complain(k, TN_E_ARG, "entry %llu (%s) has a graph, and there is text", n, e->name);
	if (!c->text && !c->artifact && !e->graph) return v_complain(k, TN_E_ARG, "entry %llu (%s) has no graph, and there is no text", n, e->name);
	if (e->graph && check_graph(k, e->graph, "an entry's graph")) return TN_E_ARG;
	return e->nest ? v_head(k, "an entry's nest", &e->nest->head, sizeof *e->nest, TN_KIND_NEST) : TN_OK;
}

static int32_t check_compile(const struct v_call *k, const struct tn_compile *c)
{
	int32_t st = v_head(k, "compile", c ? &c->head : NULL, sizeof *c, TN_KIND_COMPILE);
	if (st != TN_OK) return st;
	if (!c->target) return v_complain(k, TN_E_ARG, "target is NULL");
	if (!c->entries.count || !c->entries.at) return v_complain(k, TN_E_ARG, "there are no entries");
	if (!c->programs || !c->scratch) return v_complain(k, TN_E_ARG, "%s is NULL", c->programs ? "scratch" : "programs");
	if ((c->text != NULL) != (c->text_len != 0)) return v_complain(k, TN_E_ARG, "text %p has length %llu", (const void *)c->text, (unsigned long long)c->text_len);
	if ((c->artifact != NULL) != (c->artifact_len != 0))
		return v_complain(k, TN_E_ARG, "artifact %p has length %llu", c->artifact, (unsigned long long)c->artifact_len);
	if (c->optimise > 2) return v_complain(k, TN_E_ARG, "optimise is %u, 2 at most", c->optimise);
	for (uint64_t i = 0; i < c->entries.count && st == TN_OK; i++) st = check_entry(k, c, i);
	return st;
}

static void describe(struct v_object *o, const struct tn_entry *e, uint64_t scratch)
{
	o->n_buffers = e->graph ? e->graph->n_in + e->graph->n_out : e->nest ? (uint32_t)e->nest->buffers.count : TN_NOTHING;
	o->n_scalars = e->graph ? (uint32_t)e->graph->n_symbols : TN_NOTHING;
	o->scratch = scratch;
}

/* after a failure: nothing may be set; after OK: everything */
static int32_t take_programs(struct v_call *k, struct v_object *self, struct tn_compile *c, const struct tn_compile *in, int32_t code)
{
	int32_t st = code;
	for (uint64_t i = 0; i < c->entries.count && st == TN_OK; i++)
		if (!in->programs[i]) st = v_complain(k, TN_E_INTERNAL, "the plugin answers OK and gives no program for entry %llu (%s)", (unsigned long long)i, c->entries.at[i].name);
	for (uint64_t i = 0; i < c->entries.count && st == TN_OK; i++) {
		struct v_object *o = v_new(k->owner, V_PROGRAM, self, in->programs[i]);
		if (!o) { st = TN_E_NOMEM; break; }
		describe(o, &c->entries.at[i], in->scratch[i]);
		c->programs[i] = (struct tn_program *)(void *)o;
		c->scratch[i] = in->scratch[i];
	}
	if (st == TN_OK) return st;
	for (uint64_t i = 0; i < c->entries.count; i++) {
		if (code != TN_OK && in->programs[i]) v_log(k, "the plugin failed (%d) and yet gave a program for entry %llu (%s)", code, (unsigned long long)i, c->entries.at[i].name);
		if (code == TN_OK && in->programs[i]) k->owner->inner.program_release(in->programs[i]);
		if (c->programs[i]) v_retire((struct v_object *)(void *)c->programs[i]);
		c->programs[i] = NULL;
		c->scratch[i] = 0;
	}
	return st;
}

static int32_t take_rest(const struct v_call *k, struct tn_compile *c, const struct tn_compile *in, int32_t code)
{
	c->save = in->save;
	c->save_len = in->save_len;
	c->declined = NULL;
	c->n_declined = c->declined_entry = 0;
	if ((in->save != NULL) != (in->save_len != 0)) {
		v_log(k, "the artifact to save is %p with length %llu", in->save, (unsigned long long)in->save_len);
		c->save_len = 0;
	}
	if (code != TN_E_DECLINED) return code;
	if (in->declined_entry >= c->entries.count)
		return v_complain(k, TN_E_INTERNAL, "declined entry %llu of %llu", (unsigned long long)in->declined_entry, (unsigned long long)c->entries.count);
	const struct tn_graph *g = c->entries.at[in->declined_entry].graph;
	for (uint64_t i = 0; i < in->n_declined; i++)
		if (!in->declined || !g || in->declined[i] >= g->nodes.count)
			return v_complain(k, TN_E_INTERNAL, "declined node number %llu is not in entry %llu", (unsigned long long)i, (unsigned long long)in->declined_entry);
	c->declined = in->declined;
	c->n_declined = in->n_declined;
	c->declined_entry = in->declined_entry;
	return code;
}

int32_t v_compile(struct tn_self *s, struct tn_compile *c)
{
	struct v_call k = { "compile", NULL, TN_E_ARG };
	struct v_object *self = v_find(&k, s, V_SELF, "self");
	int32_t st = self ? check_compile(&k, c) : TN_E_ARG;
	if (st != TN_OK) return st;
	union room_compile in;
	memset(&in, 0, sizeof in);
	in.c = *c;
	in.c.save = NULL;
	in.c.save_len = 0;
	in.c.programs = tn_sys_alloc(c->entries.count * (sizeof *in.c.programs + sizeof *in.c.scratch));
	if (!in.c.programs) return TN_E_NOMEM;
	in.c.scratch = (uint64_t *)(void *)(in.c.programs + c->entries.count);
	memset(c->programs, 0, c->entries.count * sizeof *c->programs);
	memset(c->scratch, 0, c->entries.count * sizeof *c->scratch);
	st = v_after(&k, NULL, k.owner->inner.compile(self->inner, &in.c));
	st = take_programs(&k, self, c, &in.c, st);
	st = take_rest(&k, c, &in.c, st);
	free(in.c.programs);
	return st;
}

void v_program_release(struct tn_program *p)
{
	struct v_call k = { "program_release", NULL, TN_E_ARG };
	struct v_object *o = v_destroyable(&k, p, V_PROGRAM);
	if (!o) return;
	void *inner = o->inner;
	v_retire(o);
	k.owner->inner.program_release(inner);
}

/* ---- artifacts and layouts */
int32_t v_artifact_check(struct tn_self *s, const void *bytes, uint64_t size, const char *target)
{
	struct v_call k = { "artifact_check", NULL, TN_E_ARG };
	struct v_object *self = v_find(&k, s, V_SELF, "self");
	if (!self) return TN_E_ARG;
	if (!bytes || !size || !target) return v_complain(&k, TN_E_ARG, "bytes %p, %llu of them, target %s", bytes, (unsigned long long)size, target ? target : "NULL");
	int32_t st = v_after(&k, NULL, k.owner->inner.artifact_check(self->inner, bytes, size, target));
	if (st != TN_OK && st != TN_E_STALE) return v_complain(&k, TN_E_INTERNAL, "the plugin answers %d, neither OK nor STALE", st);
	return st;
}

int32_t v_layout_bytes(struct tn_self *s, const char *layout, uint32_t dtype, uint32_t rank, const int64_t *dims, uint64_t *bytes)
{
	struct v_call k = { "layout_bytes", NULL, TN_E_ARG };
	struct v_object *self = v_find(&k, s, V_SELF, "self");
	if (bytes) *bytes = 0;
	if (!self) return TN_E_ARG;
	if (!bytes || !layout || (rank && !dims)) return v_complain(&k, TN_E_ARG, "%s is NULL", !bytes ? "bytes" : !layout ? "layout" : "dims");
	if (dtype == TN_NONE || dtype >= TN_DTYPE_END) return v_complain(&k, TN_E_ARG, "dtype %u", dtype);
	if (rank > 8) return v_complain(&k, TN_E_ARG, "rank %u, 8 at most", rank);
	for (uint32_t i = 0; i < rank; i++)
		if (dims[i] < 0) return v_complain(&k, TN_E_ARG, "dim %u is %lld", i, (long long)dims[i]);
	*bytes = UINT64_MAX;
	int32_t st = v_after(&k, NULL, k.owner->inner.layout_bytes(self->inner, layout, dtype, rank, dims, bytes));
	if (st == TN_OK && *bytes == UINT64_MAX) st = v_complain(&k, TN_E_INTERNAL, "the plugin answers OK and leaves the size unset");
	if (st != TN_OK) *bytes = 0;
	return st;
}
