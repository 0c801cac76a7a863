/* loader.c - from the user's list and the search folders to open plugins.  Steps: find files, judge each with none of its code run,
 * match them with the list, then query, check and open what was selected.  Every file ends in a state with a reason. */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "host/loader.h"
#include "host/trust.h"

struct loader {
	const struct tn_loader_options *o;
	struct tn_arena *a;
	struct tn_diag *d;
	struct tn_candidate *at; uint32_t n, cap;
};
struct wanted { const char *name; const char *device; uint32_t order; };     /* id or path; "" or what stood after ':' */

static void reason(struct loader *l, struct tn_candidate *c, uint32_t state, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
static void reason(struct loader *l, struct tn_candidate *c, uint32_t state, const char *fmt, ...)
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
	c->version = c->device = c->reason = "";
	return c;
}

static int by_name(const void *x, const void *y) { return strcmp(*(const char *const *)x, *(const char *const *)y); }

static void scan_folder(struct loader *l, const char *folder)
{
	DIR *dir = *folder == '/' ? opendir(folder) : NULL;       /* never relative to where the program runs */
	const char **names = NULL;
	uint32_t n = 0, cap = 0;
	if (!dir) return;
	for (struct dirent *e = readdir(dir); e; e = readdir(dir)) {
		size_t len = strlen(e->d_name);
		if (len > 3 && !strcmp(e->d_name + len - 3, ".so")) *tn_push(l->a, names, n, cap) = tn_strdup(l->a, e->d_name);
	}
	closedir(dir);
	if (n) qsort(names, n, sizeof *names, by_name);
	for (uint32_t i = 0; i < n; i++) add(l, tn_printf(l->a, "%s/%s", folder, names[i]));
}

static void scan_list(struct loader *l, const char *list)
{
	for (const char *at = list; at && *at;) {
		size_t len = strcspn(at, ":");
		if (len) scan_folder(l, tn_printf(l->a, "%.*s", (int)len, at));
		at += len + (at[len] == ':');
	}
}

/* ---- judging without running */
static int check_manifest(struct loader *l, struct tn_candidate *c, const struct tn_elf_note *note)
{
	char path[4200];
	json_error_t e;
	snprintf(path, sizeof path, "%.*s.json", (int)(strlen(c->path) - 3), c->path);
	if (access(path, R_OK)) return 1;
	json_t *m = json_load_file(path, 0, &e);
	const char *id = json_string_value(json_object_get(m, "id"));
	json_t *major = json_object_get(m, "abi_major");
	int ok = 1;
	if (!m) { reason(l, c, TN_PLUGIN_BROKEN, "its manifest %s is not JSON: line %d: %s", path, e.line, e.text); ok = 0; }
	else if (id && strcmp(id, note->id)) { reason(l, c, TN_PLUGIN_BROKEN, "its manifest says id '%s', the file '%s'", id, note->id); ok = 0; }
	else if (major && json_integer_value(major) != note->major) {
		reason(l, c, TN_PLUGIN_BROKEN, "its manifest says ABI major %lld, the file %u", (long long)json_integer_value(major), note->major);
		ok = 0;
	}
	json_decref(m);
	return ok;
}

static void judge_note(struct loader *l, struct tn_candidate *c, const struct tn_elf_facts *f)
{
	if (!f->exports_query) { reason(l, c, TN_PLUGIN_BROKEN, "not a Tenon plugin: it exports no tn_plugin_query_%d", TN_ABI_MAJOR); return; }
	if (f->n_exports > 1) { reason(l, c, TN_PLUGIN_BROKEN, "it exports %d symbols; only tn_plugin_query_%d may be seen (link with a version script)", f->n_exports, TN_ABI_MAJOR); return; }
	if (!f->has_note) { reason(l, c, TN_PLUGIN_BROKEN, "it has no Tenon note (end its source with TN_PLUGIN)"); return; }
	c->id = tn_strdup(l->a, f->note.id);
	if (f->note.major != TN_ABI_MAJOR) reason(l, c, TN_PLUGIN_INCOMPATIBLE, "it speaks ABI major %u; this is %d", f->note.major, TN_ABI_MAJOR);
	else if (f->note.needs > TN_ABI_MINOR) reason(l, c, TN_PLUGIN_INCOMPATIBLE, "needs ABI %u.%u; this is %d.%d: upgrade Tenon", f->note.major, f->note.needs, TN_ABI_MAJOR, TN_ABI_MINOR);
	else if (TN_ABI_MAJOR == 0 && f->note.layout_hash != TN_LAYOUT_HASH)
		reason(l, c, TN_PLUGIN_INCOMPATIBLE, "built with headers of ABI %u.%u, whose layout differs from this %d.%d: build it again", f->note.major, f->note.built, TN_ABI_MAJOR, TN_ABI_MINOR);
	else if (f->text_relocations) reason(l, c, TN_PLUGIN_BROKEN, "it has text relocations (build with -fPIC)");
	else if (f->exec_stack) reason(l, c, TN_PLUGIN_BROKEN, "it asks for an executable stack");
	else check_manifest(l, c, &f->note);
}

/* typed: the user named this path; then bad permissions are only a warning, unless we run with more rights than the user */
static void judge(struct loader *l, struct tn_candidate *c, int typed)
{
	char real[4096], why[900];
	struct stat st;
	if (!realpath(c->path, real)) { reason(l, c, TN_PLUGIN_BROKEN, "%s: no such file", c->path); return; }
	c->path = tn_strdup(l->a, real);
	if (!tn_path_trusted(real, why, sizeof why)) {
		if (!typed || tn_privileged()) { reason(l, c, TN_PLUGIN_UNTRUSTED, "%s", why); return; }
		c->reason = tn_printf(l->a, "warning: %s", why);
	}
	int fd = open(real, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode)) { reason(l, c, TN_PLUGIN_BROKEN, "cannot be read"); if (fd >= 0) close(fd); return; }
	void *bytes = st.st_size ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
	close(fd);
	if (bytes == MAP_FAILED) { reason(l, c, TN_PLUGIN_BROKEN, "the file is empty or cannot be mapped"); return; }
	struct tn_elf_facts f;
	tn_elf_inspect(bytes, (uint64_t)st.st_size, &f);
	if (f.fault) {
		if (f.has_note) c->id = tn_strdup(l->a, f.note.id);
		reason(l, c, TN_PLUGIN_BROKEN, "%s", f.fault);
	}
	else judge_note(l, c, &f);
	munmap(bytes, (size_t)st.st_size);
}

/* ---- opening */
static int query(struct loader *l, struct tn_candidate *c, const struct tn_backend **b)
{
	int32_t (*ask)(const struct tn_hello *, struct tn_answer *);
	union { struct tn_answer a; unsigned char room[sizeof(struct tn_answer) + TN_ROOM]; } answer;
	union { struct tn_hello h; unsigned char room[sizeof(struct tn_hello) + TN_ROOM]; } hello;
	dlerror();
	c->library = dlopen(c->path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	const char *e = c->library ? NULL : dlerror();
	if (!c->library) { reason(l, c, TN_PLUGIN_BROKEN, "%s", e ? e : "it cannot be loaded"); return 0; }
	void *symbol = dlsym(c->library, "tn_plugin_query_0");
	if (!symbol) { reason(l, c, TN_PLUGIN_BROKEN, "no tn_plugin_query_0"); return 0; }
	memcpy(&ask, &symbol, sizeof ask);
	memset(&answer, 0, sizeof answer);
	memset(&hello, 0, sizeof hello);
	answer.a.head = (struct tn_head)TN_HEAD(tn_answer, TN_KIND_ANSWER);
	hello.h = (struct tn_hello){ TN_HEAD(tn_hello, TN_KIND_HELLO), 0, TN_ABI_MINOR, TN_LAYOUT_HASH, 0, "tenon" };
	int32_t st = ask(&hello.h, &answer.a);
	*b = answer.a.backend;
	if (st == TN_E_VERSION) { reason(l, c, TN_PLUGIN_INCOMPATIBLE, "needs ABI %d.%u; this is %d.%d", TN_ABI_MAJOR, answer.a.needs, TN_ABI_MAJOR, TN_ABI_MINOR); return 0; }
	if (st != TN_OK) { reason(l, c, TN_PLUGIN_BROKEN, "its query answers %d", st); return 0; }
	if (answer.a.layout_hash != TN_LAYOUT_HASH) { reason(l, c, TN_PLUGIN_INCOMPATIBLE, "its query answers another layout: build it again"); return 0; }
	if (!*b || (*b)->head.kind != TN_KIND_BACKEND || (*b)->head.size < 64 || (*b)->head.size > (1u << 16) || (*b)->head.size % 8 || !(*b)->id) {
		reason(l, c, TN_PLUGIN_BROKEN, "its query answers no valid table of functions");
		return 0;
	}
	if (strcmp((*b)->id, c->id)) { reason(l, c, TN_PLUGIN_BROKEN, "its table says id '%.60s', its note '%s'", (*b)->id, c->id); return 0; }
	return 1;
}

static int choose_device(struct loader *l, struct tn_candidate *c, const char *device)
{
	char *end;
	unsigned long ordinal = strtoul(device, &end, 10);
	int by_ordinal = *device && !*end;
	for (uint32_t i = 0;; i++) {
		memset(&c->dev, 0, sizeof c->dev);
		c->dev.info.head = (struct tn_head)TN_HEAD(tn_device_info, TN_KIND_DEVICE_INFO);
		int32_t st = c->backend.devices(c->self, i, &c->dev.info);
		if (st != TN_OK) {
			if (i && *device) reason(l, c, TN_PLUGIN_NO_DEVICE, "it has %u devices, none is '%s'", i, device);
			else reason(l, c, TN_PLUGIN_NO_DEVICE, "no device of its kind%s", st == TN_E_RANGE ? "" : " (its query failed)");
			return 0;
		}
		c->dev.info.uid[63] = c->dev.info.name[63] = c->dev.info.target[63] = 0;
		if (!*device || (by_ordinal && ordinal == i) || !strcmp(device, c->dev.info.uid)) { c->ordinal = i; return 1; }
	}
}

static void open_one(struct loader *l, struct tn_candidate *c, const char *device)
{
	const struct tn_backend *b;
	char missing[300];
	if (!query(l, c, &b)) return;
	tn_backend_take(b, &c->backend, missing, sizeof missing);
	c->version = b->version ? tn_strdup(l->a, b->version) : "";
	if (*missing) { reason(l, c, TN_PLUGIN_BROKEN, "its table lacks required functions: %s", missing); return; }
	const struct tn_host *h = l->o->host_for(l->o->ctx, c->id);
	if (l->o->validate) tn_validate_wrap(c, h);
	int32_t st = c->backend.open(h, &c->self);
	if (st != TN_OK || !c->self) { reason(l, c, TN_PLUGIN_BROKEN, "it does not open (%d)", st); c->self = NULL; return; }
	if (!choose_device(l, c, device)) return;
	c->device = c->dev.info.name;
	st = c->backend.device_open(c->self, c->ordinal, &c->handle);
	if (st != TN_OK || !c->handle) { reason(l, c, TN_PLUGIN_BROKEN, "device %u does not open (%d)", c->ordinal, st); c->handle = NULL; return; }
	c->state = TN_PLUGIN_LOADED;
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
		if (*name) {
			*tn_push(l->a, w, *n, cap) = (struct wanted){ name, device, 0 };
			w[*n - 1].order = *n;
		}
		at += len + (at[len] == ',');
	}
	return w;
}

static struct tn_candidate *find(struct loader *l, const char *id)
{
	struct tn_candidate *same = NULL;
	for (uint32_t i = 0; i < l->n; i++)
		if (!strcmp(l->at[i].id, id) && (!same || (same->state && !l->at[i].state))) same = &l->at[i];
	return same;
}

static const char *what_there_is(struct loader *l)
{
	struct tn_text t = { .arena = l->a };
	for (uint32_t i = 0; i < l->n; i++) tn_text_add(&t, "%s%s", i ? ", " : "", l->at[i].id);
	return t.len ? t.at : "none";
}

static void match(struct loader *l, struct wanted *w, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		int typed = strchr(w[i].name, '/') != NULL;
		struct tn_candidate *c;
		if (typed) {
			c = add(l, w[i].name);
			judge(l, c, 1);
		} else c = find(l, w[i].name);
		if (!c && l->o->list_all) continue;
		if (!c) tn_raise(l->d, TN_E_ARG, "TENON_BACKEND names '%s', which is not there; there is: %s", w[i].name, what_there_is(l));
		if (c->order) tn_raise(l->d, TN_E_ARG, "TENON_BACKEND names '%s' twice", w[i].name);
		c->order = w[i].order;
		if (!c->state) open_one(l, c, w[i].device);
	}
}

static void load(void *arg)
{
	struct loader *l = arg;
	const char *list = l->o->backend && *l->o->backend ? l->o->backend : l->o->otherwise;
	uint32_t n, alive = 0;
	struct wanted *w = split_list(l, list, &n);
	if (!tn_privileged()) scan_list(l, l->o->add_plugin_path);
	scan_list(l, l->o->plugin_path && !tn_privileged() ? l->o->plugin_path : l->o->builtin_path);
	uint32_t scanned = l->n;
	for (uint32_t i = 0; i < scanned; i++) judge(l, &l->at[i], 0);
	match(l, w, n);
	for (uint32_t i = 0; i < l->n; i++) alive += l->at[i].state == TN_PLUGIN_LOADED && l->at[i].order;
	if (!alive && !l->o->list_all) {
		struct tn_text t = { .arena = l->a };
		for (uint32_t i = 0; i < l->n; i++)
			if (l->at[i].order) tn_text_add(&t, "%s%s: %s", t.len ? "; " : "", l->at[i].id, l->at[i].reason);
		tn_raise(l->d, TN_E_ARG, "no backend of '%s' can be used: %s", list, t.len ? t.at : "the list is empty");
	}
	for (uint32_t i = 0; i < l->n; i++) {
		struct tn_candidate *c = &l->at[i];
		if (c->state || c->order) continue;
		struct tn_candidate *first = find(l, c->id);
		if (l->o->list_all && first == c) open_one(l, c, "");
		if (!c->state || c->state == TN_PLUGIN_LOADED)
			if (first != c) reason(l, c, TN_PLUGIN_FILTERED, "%s has the same id and comes first", first->path);
		if (!c->state) reason(l, c, TN_PLUGIN_FILTERED, "not named in TENON_BACKEND");
	}
}

int32_t tn_load_plugins(const struct tn_loader_options *o, struct tn_candidate **at, uint32_t *n, struct tn_arena *a, struct tn_diag *d)
{
	struct loader l = { .o = o, .a = a, .d = d };
	int32_t st = tn_protect(d, load, &l);
	*at = l.at;
	*n = l.n;
	return st;
}
