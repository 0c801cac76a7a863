/* compile.c - texts and regions become programs: one compile call a plugin for its kernels, one a region; artifacts through the cache. */
#include <stdlib.h>
#include <string.h>
#include "host/exec.h"

union room_compile { struct tn_compile c; unsigned char room[sizeof(struct tn_compile) + TN_ROOM]; };

struct unit {                    /* what one compile call holds */
	uint32_t slot;
	const uint32_t *programs; uint32_t n;      /* numbers in x->c.programs */
	struct tn_entry *entries;
	union room_compile room;
	struct tn_program **out; uint64_t *scratch;
	uint64_t key[4];
};

/* the template of a kernel, the rule of a region */
static const char *rule_of(const struct tn_executable *x, uint32_t program)
{
	if (x->c.kernels[program]) return x->c.kernels[program]->tmpl->id;
	for (uint32_t i = 0; i < x->c.groups.n; i++)
		if (x->c.sources[i].program == program && x->c.groups.at[i].rule) return x->c.groups.at[i].rule;
	return "";
}

static void set_entries(struct tn_executable *x, struct unit *u, struct tn_arena *a)
{
	u->entries = tn_array(a, struct tn_entry, u->n);
	u->out = tn_array(a, struct tn_program *, u->n);
	u->scratch = tn_array(a, uint64_t, u->n);
	for (uint32_t i = 0; i < u->n; i++) {
		uint32_t p = u->programs[i];
		u->entries[i].name = x->c.programs[p].name;
		u->entries[i].graph = x->c.regions[p];
		u->entries[i].nest = x->c.kernels[p] ? x->c.kernels[p]->nest : NULL;
		u->entries[i].rule = rule_of(x, p);
	}
	struct tn_compile *c = &u->room.c;
	*c = (struct tn_compile){ .head = TN_HEAD(tn_compile, TN_KIND_COMPILE), .target = x->s->place[u->slot].device->target,
		.entries = { u->entries, u->n }, .numerics = x->c.places.numerics, .optimise = 1, .programs = u->out, .scratch = u->scratch };
}

/* what the artifact depends on: plugin, version, ABI, target, numerics, text and the order of entries */
static void set_key(struct tn_executable *x, struct unit *u, struct tn_arena *a)
{
	const struct tn_place *p = &x->s->place[u->slot];
	struct tn_text t = { .arena = a };
	tn_text_add(&t, "%s\n%s\n%llx\n%s\n%s\n%u\n", p->backend->id, p->backend->version, (unsigned long long)TN_LAYOUT_HASH, p->device->target, p->device->driver, u->room.c.numerics);
	for (uint32_t i = 0; i < u->n; i++) tn_text_add(&t, "%s\n", u->entries[i].name);
	tn_text_put(&t, u->room.c.text, u->room.c.text_len);
	x->s->service->hash(x->s->service->ctx, t.at, t.len, u->key);
}

static void take_programs(struct tn_executable *x, struct unit *u)
{
	for (uint32_t i = 0; i < u->n; i++) {
		x->scratch[u->programs[i]] = u->scratch[i];
		atomic_store(&x->program[u->programs[i]], u->out[i]);
	}
	atomic_fetch_add(&x->generation, 1);
}

static int32_t compile_from_cache(struct tn_executable *x, struct unit *u)
{
	void *bytes;
	uint64_t size;
	if (!x->s->cache || tn_cache_get(x->s->cache, u->key, &bytes, &size) != TN_OK) return TN_E_GONE;
	u->room.c.artifact = bytes;
	u->room.c.artifact_len = size;
	int32_t st = x->s->place[u->slot].backend->compile(x->s->place[u->slot].self, &u->room.c);
	u->room.c.artifact = NULL;
	u->room.c.artifact_len = 0;
	free(bytes);
	if (st == TN_OK) atomic_fetch_add(&x->from_cache, u->n);
	return st;
}

static int32_t compile_unit(struct tn_executable *x, struct unit *u, struct tn_diag *d)
{
	const struct tn_place *p = &x->s->place[u->slot];
	if (u->room.c.text && compile_from_cache(x, u) == TN_OK) { take_programs(x, u); return TN_OK; }
	memset(u->out, 0, u->n * sizeof *u->out);
	tn_fail_clear();
	int32_t st = p->backend->compile(p->self, &u->room.c);
	if (st == TN_OK) {
		take_programs(x, u);
		if (u->room.c.save && x->s->cache && u->room.c.text) tn_cache_put(x->s->cache, u->key, u->room.c.save, u->room.c.save_len);
		if (u->room.c.save) x->s->service->free(x->s->service->ctx, u->room.c.save);
		return st;
	}
	return tn_plugin_failed(x->s, u->slot, u->room.c.text ? "compile of kernels" : "compile of a region", st, d);
}

/* number in the expanded graph of a node of the laid-out one: layout only inserts moves and packs */
static uint32_t before_layout(const struct tn_compiled *c, uint32_t node)
{
	uint32_t at = 0;
	for (uint32_t i = 0; i < node; i++) {
		uint32_t prim = c->laid.g->nodes.at[i].prim;
		if (at < c->expanded.g->nodes.count && c->expanded.g->nodes.at[at].prim == prim) at++;
	}
	return at;
}

/* the nodes of a region that the plugin declined go on the deny list: the whole group stays away */
static void deny_group(struct tn_executable *x, uint32_t program, uint64_t **deny, uint32_t *n_deny)
{
	for (uint32_t i = 0; i < x->c.groups.n; i++) {
		if (x->c.sources[i].program != program) continue;
		const struct tn_group *gr = &x->c.groups.at[i];
		for (uint32_t k = 0; k < gr->n_nodes; k++) {
			uint64_t *more = realloc(*deny, (*n_deny + 1) * sizeof **deny);
			if (!more) return;
			*deny = more;
			more[(*n_deny)++] = (uint64_t)before_layout(&x->c, gr->nodes[k]) << 8 | gr->slot;
		}
	}
}

struct compiling { struct tn_executable *x; uint64_t **deny; uint32_t *n_deny; unsigned char *no_text; struct tn_diag *d; int32_t st; struct tn_arena arena; };

static void compile_kernels(struct compiling *w, uint32_t slot)
{
	struct tn_executable *x = w->x;
	uint32_t *mine = tn_array(&w->arena, uint32_t, x->c.n_programs), n = 0;
	for (uint32_t p = 0; p < x->c.n_programs; p++)
		if (x->c.kernels[p] && x->c.programs[p].slot == slot) mine[n++] = p;
	if (!n) return;
	struct unit *u = tn_new(&w->arena, struct unit);
	u->slot = slot;
	u->programs = mine;
	u->n = n;
	set_entries(x, u, &w->arena);
	u->room.c.text = x->c.texts[slot];
	u->room.c.text_len = x->c.text_lens[slot];
	set_key(x, u, &w->arena);
	w->st = compile_unit(x, u, w->d);
	if (w->st != TN_E_UNSUPPORTED) return;
	tn_session_log(x->s, 1, "%s: kernels run in the interpreter: %s", x->s->place[slot].backend->id, w->d->text);
	w->no_text[slot] = 1;                       /* plan again: nests of atoms, on host memory */
	w->st = TN_OK;
}

static void compile_region(struct compiling *w, uint32_t p)
{
	struct unit *u = tn_new(&w->arena, struct unit);
	uint32_t *one = tn_new(&w->arena, uint32_t);
	*one = p;
	u->slot = w->x->c.programs[p].slot;
	u->programs = one;
	u->n = 1;
	set_entries(w->x, u, &w->arena);
	w->st = compile_unit(w->x, u, w->d);
	if (w->st != TN_E_DECLINED && w->st != TN_E_UNSUPPORTED) return;
	tn_session_log(w->x->s, 2, "region %s goes elsewhere: %s", w->x->c.programs[p].name, w->d->text);
	deny_group(w->x, p, w->deny, w->n_deny);
	w->st = TN_E_DECLINED;
}

static void compile_all(void *arg)
{
	struct compiling *w = arg;
	int declined = 0;
	for (uint32_t slot = 0; slot < w->x->s->n_places && w->st == TN_OK; slot++) compile_kernels(w, slot);
	for (uint32_t p = 0; p < w->x->c.n_programs && (w->st == TN_OK || w->st == TN_E_DECLINED); p++) {
		if (w->x->c.regions[p]) compile_region(w, p);
		declined |= w->st == TN_E_DECLINED;
	}
	if (w->st == TN_OK && declined) w->st = TN_E_DECLINED;
}

int32_t tn_compile_programs(struct tn_executable *x, uint64_t **deny, uint32_t *n_deny, unsigned char *no_text, struct tn_diag *d)
{
	struct tn_diag own = { 0 };
	struct compiling w = { x, deny, n_deny, no_text, d, TN_OK, { 0 } };
	tn_arena_init(&w.arena, &own);
	int32_t st = tn_protect(&own, compile_all, &w);
	tn_arena_fini(&w.arena);
	if (st != TN_OK) return tn_fail(d, st, "%s", own.text);
	return w.st;
}
