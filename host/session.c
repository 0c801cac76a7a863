/* session.c - opening a session: environment, threads, cache, plugins in the user's order. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include "host/session.h"

static const char *or_env(const char *given, const char *name) { return given ? given : tn_secure_getenv(name); }

/* the version keeps a plugin's cache keys apart from those of its other versions */
static const struct tn_host *host_for(void *ctx, const char *id, const char *version)
{
	const struct tn_host *h = tn_service_make(ctx, id);
	((struct tn_service *)h->ctx)->version = version;
	return h;
}

static void cache_warning(void *ctx, const char *text) { tn_session_log(ctx, 1, "cache: %s", text); }

static void split_disabled(struct tn_session *s)
{
	uint32_t cap = 0;
	for (const char *at = tn_secure_getenv("TENON_DISABLE"); at && *at;) {
		size_t len = strcspn(at, ",");
		if (len) *tn_push(&s->arena, s->disabled, s->n_disabled, cap) = tn_printf(&s->arena, "%.*s", (int)len, at);
		at += len + (at[len] == ',');
	}
}

/* the selected plugins in the user's order become places */
static void set_places(struct tn_session *s)
{
	s->place = tn_array(&s->arena, struct tn_place, s->n_candidates + 1);
	s->placed = tn_array(&s->arena, struct tn_candidate *, s->n_candidates + 1);
	for (uint32_t order = 1; order <= s->n_candidates; order++)
		for (uint32_t i = 0; i < s->n_candidates; i++) {
			struct tn_candidate *c = &s->candidates[i];
			if (c->order != order || c->state != TN_PLUGIN_LOADED) continue;
			s->place[s->n_places] = (struct tn_place){ &c->backend, c->self, &c->dev.info };
			s->placed[s->n_places++] = c;
		}
}

struct opening { struct tn_session *s; const struct tn_session_options *o; int32_t st; };
static void open_session(void *arg)
{
	struct opening *w = arg;
	struct tn_session *s = w->s;
	const struct tn_session_options *o = w->o;
	s->service = tn_service_make(s, "host");
	split_disabled(s);
	s->pool = tn_pool_create(o->threads);
	if (!s->pool) tn_raise(&s->diag, TN_E_NOMEM, "no memory for threads");
	s->cache = tn_cache_open(o->cache_dir, cache_warning, s);
	const char *validate = tn_secure_getenv("TENON_VALIDATE");
	struct tn_loader_options lo = { .backend = or_env(o->backend, "TENON_BACKEND"), .otherwise = TN_DEFAULT_BACKEND,
		.plugin_path = or_env(o->plugin_path, "TENON_PLUGIN_PATH"), .add_plugin_path = tn_secure_getenv("TENON_ADD_PLUGIN_PATH"),
		.builtin_path = TN_PLUGIN_DIR, .host_for = host_for, .ctx = s, .list_all = o->list_all != 0,
		.validate = o->validate || (validate && !strcmp(validate, "1")) };
	w->st = tn_load_plugins(&lo, &s->candidates, &s->n_candidates, &s->arena, &s->diag);
	for (uint32_t i = 0; i < s->n_candidates; i++)
		if (s->candidates[i].order && *s->candidates[i].reason)
			tn_session_log(s, 1, "%s%s: %s", s->candidates[i].id, s->candidates[i].state == TN_PLUGIN_LOADED ? "" : " is passed over", s->candidates[i].reason);
	if (w->st == TN_OK) set_places(s);
}

int32_t tn_session_create(const struct tn_session_options *o, struct tn_session **out)
{
	static const struct tn_session_options none = { .head = TN_HEAD(tn_session_options, 0) };
	*out = NULL;
	if (sodium_init() < 0) return tn_error_set(TN_E_INTERNAL, "libsodium does not start");
	struct tn_session *s = calloc(1, sizeof *s);
	if (!s) return tn_error_set(TN_E_NOMEM, "no memory for a session");
	tn_arena_init(&s->arena, &s->diag);
	s->log = o ? o->log : NULL;
	s->log_ctx = o ? o->log_ctx : NULL;
	struct opening w = { s, o ? o : &none, TN_OK };
	int32_t st = tn_protect(&s->diag, open_session, &w);
	if (st == TN_OK) st = w.st;
	if (st == TN_OK) { *out = s; return st; }
	tn_error_set(st, "%s", s->diag.text);
	tn_session_destroy(s);
	return st;
}

void tn_session_destroy(struct tn_session *s)
{
	if (!s) return;
	tn_unload_plugins(s->candidates, s->n_candidates);
	tn_cache_close(s->cache);
	tn_pool_destroy(s->pool);
	tn_arena_fini(&s->arena);
	free(s);
}

int32_t tn_session_plugin(struct tn_session *s, uint64_t i, struct tn_plugin_info *out)
{
	if (i >= s->n_candidates) return TN_E_RANGE;
	const struct tn_candidate *c = &s->candidates[i];
	struct tn_plugin_info p = { .head = TN_HEAD(tn_plugin_info, 0), .id = c->id, .version = c->version, .path = c->path, .device = c->device,
		.reason = c->reason, .state = c->state, .order = c->order };
	uint32_t size = out->head.size && out->head.size < sizeof p ? out->head.size : sizeof p;
	p.head.size = size;
	memcpy(out, &p, size);
	return TN_OK;
}
