/* services.c - the table that the host hands each plugin: memory, words of a failure, threads, tools, completion, cache. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "host/session.h"

static struct tn_session *of(void *ctx) { return ((struct tn_service *)ctx)->session; }

static void *host_alloc(void *ctx, uint64_t size, uint64_t align)
{
	if (align < sizeof(void *)) align = sizeof(void *);
	if ((align & (align - 1)) || align > 4096 || size > (uint64_t)INT64_MAX / 2) return NULL;
	void *p = NULL;
	if (posix_memalign(&p, align, size ? size : 1)) return NULL;
	atomic_fetch_add(&of(ctx)->host_allocs, 1);
	return p;
}

static void host_free(void *ctx, void *p)
{
	if (p) atomic_fetch_sub(&of(ctx)->host_allocs, 1);
	free(p);
}

/* ---- words of a failure: one text a thread, between the host's clear and its read */
static _Thread_local char words[1024];
void tn_fail_clear(void) { words[0] = 0; }
const char *tn_fail_text(void) { return words; }

static int32_t host_fail(void *ctx, int32_t code, int64_t vendor_code, const char *text)
{
	(void)ctx;
	if (vendor_code) snprintf(words, sizeof words, "%s (driver code %lld)", text ? text : "", (long long)vendor_code);
	else snprintf(words, sizeof words, "%s", text ? text : "");
	return code;
}

static void host_log(void *ctx, uint32_t level, const char *text)
{
	const struct tn_service *v = ctx;
	tn_session_log(v->session, level, "%s: %s", v->plugin, text);
}

/* TENON_OPTIONS is a comma list "plugin.name=value" */
static int32_t host_option(void *ctx, const char *name, char *out, uint64_t cap)
{
	const char *all = tn_secure_getenv("TENON_OPTIONS");
	size_t n = strlen(name);
	(void)ctx;
	for (const char *at = all; at && *at;) {
		size_t len = strcspn(at, ",");
		if (len > n && !strncmp(at, name, n) && at[n] == '=') {
			if (len - n - 1 >= cap) return TN_E_RANGE;
			memcpy(out, at + n + 1, len - n - 1);
			out[len - n - 1] = 0;
			return TN_OK;
		}
		at += len + (at[len] == ',');
	}
	return TN_E_UNSUPPORTED;
}

static int32_t host_parallel(void *ctx, uint64_t n, void (*f)(void *arg, uint64_t i), void *arg)
{
	tn_pool_parallel(of(ctx)->pool, n, f, arg);
	return TN_OK;
}

static int32_t host_team(void *ctx, void (*f)(void *arg, uint32_t rank, uint32_t n), void *arg)
{
	tn_pool_team(of(ctx)->pool, f, arg);
	return TN_OK;
}

static uint32_t host_threads(void *ctx) { return tn_pool_threads(of(ctx)->pool); }

static int32_t host_tool(void *ctx, const char *const *argv, const char *dir, uint64_t timeout_ms, struct tn_token *stop, char *output, uint64_t cap)
{
	return tn_tool_run(of(ctx), argv, dir, timeout_ms, stop, output, cap);
}

static int32_t host_tool_dir(void *ctx, char *path, uint64_t cap) { (void)ctx; return tn_tool_dir(path, cap); }
static void host_tool_dir_remove(void *ctx, const char *path) { (void)ctx; tn_tool_dir_remove(path); }

/* ---- completion */
void tn_token_init(struct tn_token *t)
{
	memset(t, 0, sizeof *t);
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->told, NULL);
}

void tn_token_fini(struct tn_token *t)
{
	pthread_mutex_destroy(&t->lock);
	pthread_cond_destroy(&t->told);
	free(t->words);
}

int32_t tn_token_wait(struct tn_token *t)
{
	pthread_mutex_lock(&t->lock);
	while (!t->done) pthread_cond_wait(&t->told, &t->lock);
	int32_t code = t->code;
	pthread_mutex_unlock(&t->lock);
	if (code != TN_OK) snprintf(words, sizeof words, "%s", t->words ? t->words : "");
	return code;
}

/* Words said on this thread since its last done belong to the work that ends here: they go along with a failure, and never to later work. */
static int32_t host_done(void *ctx, struct tn_token *t, int32_t code)
{
	(void)ctx;
	if (!t) return TN_E_ARG;
	char *said = code != TN_OK && *words ? strdup(words) : NULL;     /* without memory the code has to do */
	tn_fail_clear();
	pthread_mutex_lock(&t->lock);
	int again = t->done;
	t->done = 1;
	if (!again) { t->code = code; t->words = said; }
	pthread_cond_broadcast(&t->told);          /* under the lock: the waiter may destroy the token right after */
	pthread_mutex_unlock(&t->lock);
	if (again) free(said);
	return again ? TN_E_ARG : TN_OK;
}

static int32_t host_stopped(void *ctx, struct tn_token *t, double progress)
{
	(void)ctx; (void)progress;
	if (!t) return TN_OK;
	pthread_mutex_lock(&t->lock);
	int stop = t->cancelled;
	pthread_mutex_unlock(&t->lock);
	return stop ? TN_E_CANCELLED : TN_OK;
}

/* ---- cache and hash */
static void host_hash(void *ctx, const void *bytes, uint64_t size, uint64_t key[4])
{
	(void)ctx;
	crypto_generichash((unsigned char *)key, 32, bytes, size, NULL, 0);
}

/* a plugin's own keys are kept apart from other plugins' and versions' */
static void own_key(const struct tn_service *v, const uint64_t key[4], uint64_t out[4])
{
	crypto_generichash_state st;
	uint64_t hash = TN_LAYOUT_HASH;
	crypto_generichash_init(&st, NULL, 0, 32);
	crypto_generichash_update(&st, (const unsigned char *)v->plugin, strlen(v->plugin) + 1);
	crypto_generichash_update(&st, (const unsigned char *)v->version, strlen(v->version) + 1);
	crypto_generichash_update(&st, (const unsigned char *)&hash, sizeof hash);
	crypto_generichash_update(&st, (const unsigned char *)key, 32);
	crypto_generichash_final(&st, (unsigned char *)out, 32);
}

static int32_t host_cache_get(void *ctx, const uint64_t key[4], void **bytes, uint64_t *size)
{
	uint64_t own[4];
	if (!of(ctx)->cache) return TN_E_GONE;
	own_key(ctx, key, own);
	int32_t st = tn_cache_get(of(ctx)->cache, own, bytes, size);
	if (st == TN_OK) atomic_fetch_add(&of(ctx)->host_allocs, 1);    /* freed through host->free */
	return st;
}

static int32_t host_cache_put(void *ctx, const uint64_t key[4], const void *bytes, uint64_t size)
{
	uint64_t own[4];
	if (!of(ctx)->cache) return TN_E_GONE;
	own_key(ctx, key, own);
	return tn_cache_put(of(ctx)->cache, own, bytes, size);
}

static const void *host_extension(void *ctx, const char *name, uint32_t major) { (void)ctx; (void)name; (void)major; return NULL; }

static const struct tn_host table = {
	.head = TN_HEAD(tn_host, TN_KIND_HOST), .alloc = host_alloc, .free = host_free, .fail = host_fail, .log = host_log, .option = host_option,
	.parallel = host_parallel, .team = host_team, .threads = host_threads, .tool = host_tool, .tool_dir = host_tool_dir,
	.tool_dir_remove = host_tool_dir_remove, .done = host_done, .stopped = host_stopped, .cache_get = host_cache_get, .cache_put = host_cache_put,
	.hash = host_hash, .extension = host_extension,
};

const struct tn_host *tn_service_make(struct tn_session *s, const char *plugin)
{
	struct tn_service *v = tn_new(&s->arena, struct tn_service);
	v->session = s;
	v->plugin = tn_strdup(&s->arena, plugin);
	v->version = "";
	v->table.host = table;
	v->table.host.ctx = v;
	return &v->table.host;
}

void tn_session_log(struct tn_session *s, uint32_t level, const char *fmt, ...)
{
	if (!s->log) return;
	char text[1200];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	s->log(s->log_ctx, level, text);
}
