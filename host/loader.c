/* loader.c - from the user's list and the search folders to open plugins: find files, judge each with none of its code run, match
 * them with the list, open what was selected.  Every file ends in a state with a reason. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "host/loader_inner.h"
#include "host/trust.h"

struct wanted { const char *name; const char *device; };     /* id or path; "" or what stood after ':' */

void ld_reason(struct loader *l, struct tn_candidate *c, uint32_t state, const char *fmt, ...)
{
	char text[900];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	c->state = state;
	c->reason = tn_strdup(l->a, text);
}

/* ---- finding */
static struct tn_candidate *add(struct loader *l, const char *path)
{
	struct tn_candidate *c = tn_push(l->a, l->at, l->n, l->cap);
	const char *base = strrchr(path, '/'), *dot;
	memset(c, 0, sizeof *c);
	base = base ? base + 1 : path;
	dot = strrchr(base, '.');
	c->path = tn_strdup(l->a, path);
	c->id = tn_printf(l->a, "%.*s", (int)(dot ? dot - base : (long)strlen(base)), base);     /* until the note says better */
	c->version = c->device = c->reason = c->build = "";
	return c;
}

static void unsearched(struct loader *l, const char *folder, const char *why) { tn_text_add(&l->unsearched, "%s%s (%s)", l->unsearched.len ? ", " : "", folder, why); }

static int by_name(const void *x, const void *y) { return strcmp(*(const char *const *)x, *(const char *const *)y); }

/* a link in a folder that others write to is theirs, wherever it leads: the folder itself is judged, too */
static void scan_folder(struct loader *l, const char *folder, int named)
{
	char real[4096], why[900];
	const char **names = NULL;
	uint32_t n = 0, cap = 0;
	if (*folder != '/') { unsearched(l, folder, "not an absolute path"); return; }
	DIR *dir = realpath(folder, real) ? opendir(real) : NULL;
	if (!dir) { if (named) unsearched(l, folder, strerror(errno)); return; }
	for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
		size_t len = strlen(e->d_name);
		if (len > 3 && !strcmp(e->d_name + len - 3, ".so")) *tn_push(l->a, names, n, cap) = tn_strdup(l->a, e->d_name);
	}
	closedir(dir);
	int trusted = tn_path_trusted(real, why, sizeof why);
	if (n) qsort(names, n, sizeof *names, by_name);
	for (uint32_t i = 0; i < n; i++) {
		struct tn_candidate *c = add(l, tn_printf(l->a, "%s/%s", real, names[i]));
		if (trusted) ld_judge(l, c, 0);
		else ld_reason(l, c, TN_PLUGIN_UNTRUSTED, "%s", why);
	}
}

static void scan_list(struct loader *l, const char *list, int named)
{
	for (const char *at = list; at && *at;) {
		size_t len = strcspn(at, ":");
		if (len) scan_folder(l, tn_printf(l->a, "%.*s", (int)len, at), named);
		at += len + (at[len] == ':');
	}
}

/* ---- matching with the user's list */
static struct wanted *split_list(struct loader *l, const char *list, uint32_t *n)
{
	struct wanted *w = NULL;
	uint32_t cap = 0;
	*n = 0;
	for (const char *at = list; *at;) {
		size_t len = strcspn(at, ",");
		char *name = tn_printf(l->a, "%.*s", (int)len, at), *colon = strchr(name, ':');
		const char *device = "";
		if (colon) { *colon = 0; device = colon + 1; }
		if (*name) *tn_push(l->a, w, *n, cap) = (struct wanted){ name, device };
		at += len + (at[len] == ',');
	}
	return w;
}

static int is_good(const struct tn_candidate *c) { return !c->state || c->state == TN_PLUGIN_LOADED; }

/* the first good file with this id, else the first */
static struct tn_candidate *find(struct loader *l, const char *id)
{
	struct tn_candidate *same = NULL;
	for (uint32_t i = 0; i < l->n; i++)
		if (!strcmp(l->at[i].id, id) && (!same || (!is_good(same) && is_good(&l->at[i])))) same = &l->at[i];
	return same;
}

static const char *what_there_is(struct loader *l)
{
	static const char *const states[] = { "", "", "", " (incompatible)", " (no device)", " (broken)", " (untrusted)" };
	struct tn_text t = { .arena = l->a };
	for (uint32_t i = 0; i < l->n; i++)
		if (find(l, l->at[i].id) == &l->at[i]) tn_text_add(&t, "%s%s%s", t.len ? ", " : "", l->at[i].id, states[l->at[i].state]);
	if (!t.len) tn_text_add(&t, "none");
	if (l->unsearched.len) tn_text_add(&t, "; not searched: %s", l->unsearched.at);
	return t.at;
}

static int already_named(const struct loader *l, const struct tn_candidate *c)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (l->at[i].order && (&l->at[i] == c || !strcmp(l->at[i].id, c->id))) return 1;
	return 0;
}

static struct tn_candidate *find_wanted(struct loader *l, const struct wanted *w)
{
	if (!strchr(w->name, '/')) return find(l, w->name);
	char real[4096];
	if (!realpath(w->name, real)) return NULL;
	struct tn_candidate *c = add(l, w->name);
	ld_judge(l, c, 1);
	return c;
}

static void match(struct loader *l, const struct wanted *w, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct tn_candidate *c = find_wanted(l, &w[i]);
		if (l->o->list_all && (!c || already_named(l, c))) continue;
		if (!c) tn_raise(l->d, TN_E_ARG, "TENON_BACKEND names '%s', which is not there; there is: %s", w[i].name, what_there_is(l));
		if (already_named(l, c)) tn_raise(l->d, TN_E_ARG, "TENON_BACKEND names '%s' twice", c->id);
		c->order = i + 1;
		if (!c->state) ld_open(l, c, w[i].device);
	}
}

/* what was not selected: listed, or another of the same id */
static void settle(struct loader *l, struct tn_candidate *c)
{
	struct tn_candidate *first = find(l, c->id);
	for (uint32_t i = 0; i < l->n; i++)
		if (l->at[i].order && !strcmp(l->at[i].id, c->id)) first = &l->at[i];
	if (first != c) {
		int same = *c->build && !strcmp(first->build, c->build);
		ld_reason(l, c, TN_PLUGIN_FILTERED, "%s is %s and comes first", first->path, !strcmp(first->path, c->path) ? "the same file" :
			same ? "the same build" : "another file with the same id");
	} else if (l->o->list_all) ld_open(l, c, "");
	else ld_reason(l, c, TN_PLUGIN_FILTERED, "not named in TENON_BACKEND");
}

static void load(void *arg)
{
	struct loader *l = arg;
	const char *list = l->o->backend && *l->o->backend ? l->o->backend : l->o->otherwise;
	int ours = !l->o->plugin_path || tn_privileged();
	uint32_t n, alive = 0;
	struct wanted *w = split_list(l, list, &n);
	if (!tn_privileged()) scan_list(l, l->o->add_plugin_path, 1);
	scan_list(l, ours ? l->o->builtin_path : l->o->plugin_path, !ours);
	match(l, w, n);
	for (uint32_t i = 0; i < l->n; i++) alive += l->at[i].state == TN_PLUGIN_LOADED && l->at[i].order;
	if (!alive && !l->o->list_all) {
		struct tn_text t = { .arena = l->a };
		for (uint32_t i = 0; i < l->n; i++)
			if (l->at[i].order) tn_text_add(&t, "%s%s: %s", t.len ? "; " : "", l->at[i].id, l->at[i].reason);
		tn_raise(l->d, TN_E_ARG, "no backend of '%s' can be used: %s", list, t.len ? t.at : "the list is empty");
	}
	for (uint32_t i = 0; i < l->n; i++)
		if (!l->at[i].state) settle(l, &l->at[i]);
}

int32_t tn_load_plugins(const struct tn_loader_options *o, struct tn_candidate **at, uint32_t *n, struct tn_arena *a, struct tn_diag *d)
{
	struct loader l = { .o = o, .a = a, .d = d, .unsearched = { .arena = a } };
	int32_t st = tn_protect(d, load, &l);
	for (uint32_t i = 0; i < l.n; i++) {
		if (l.at[i].bytes) munmap(l.at[i].bytes, (size_t)l.at[i].size);
		l.at[i].bytes = NULL;
	}
	*at = l.at;
	*n = l.n;
	return st;
}

void tn_unload_plugins(struct tn_candidate *at, uint32_t n)
{
	for (uint32_t i = n; i-- > 0;) {
		if (at[i].handle) at[i].backend.device_close(at[i].handle);
		if (at[i].self) at[i].backend.close(at[i].self);
		at[i].handle = NULL;
		at[i].self = NULL;
		tn_validate_unwrap(&at[i]);
	}
}
