/* loader_open.c - a judged file is loaded, asked for its table, and its device opened.  What a plugin answers is looked at through the
 * kernel first, so that a table of garbage is a reason and not a crash. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "host/loader_inner.h"
#include "host/session.h"

#define DEVICES_MOST 1024
#define ROWS_MOST    65536

/* ---- looking at memory that may not be there: a pipe takes the bytes or says EFAULT.  syscall: past the sanitizers' own checks */
static int peek(const void *from, void *to, size_t n)
{
	int ends[2], ok = 1;
	if (pipe2(ends, O_CLOEXEC)) return 0;
	for (size_t at = 0, step; at < n && ok; at += step) {
		step = n - at < 4096 ? n - at : 4096;                      /* below PIPE_BUF: all or nothing */
		ok = syscall(SYS_write, ends[1], (const char *)from + at, step) == (long)step &&
			read(ends[0], to ? (char *)to + at : (char[4096]){ 0 }, step) == (ssize_t)step;
	}
	close(ends[0]);
	close(ends[1]);
	return ok;
}

/* a 0-terminated text of fewer than cap bytes */
static int peek_text(const char *from, char *to, size_t cap)
{
	for (size_t i = 0; from && i < cap; i++) {
		if (!peek(from + i, to + i, 1)) return 0;
		if (!to[i]) return 1;
	}
	return 0;
}

/* ---- which file the loader mapped: device and inode of an address, as the kernel prints them (stat's differ on some file systems) */
static int mapped_file(const void *address, char *out, size_t cap)
{
	char line[512];
	int found = 0, start = 1;
	FILE *f = fopen("/proc/self/maps", "re");
	while (f && !found && fgets(line, sizeof line, f)) {
		unsigned long long lo, hi, inode;
		char dev[32];
		if (start && sscanf(line, "%llx-%llx %*s %*s %31s %llu", &lo, &hi, dev, &inode) == 4 && lo <= (uintptr_t)address && (uintptr_t)address < hi) {
			snprintf(out, cap, "%s %llu", dev, inode);
			found = 1;
		}
		start = strchr(line, '\n') != NULL;
	}
	if (f) fclose(f);
	return found;
}

static int is_checked_file(const struct tn_candidate *c, const void *symbol)
{
	char loaded[64], checked[64];
	if (!mapped_file(symbol, loaded, sizeof loaded) || !mapped_file(c->bytes, checked, sizeof checked)) return 1;      /* no /proc: can't be told */
	return !strcmp(loaded, checked);
}

/* ---- the query */
union answer { struct tn_answer a; unsigned char room[sizeof(struct tn_answer) + TN_ROOM]; };

static int ask(struct loader *l, struct tn_candidate *c, union answer *answer)
{
	int32_t (*query)(const struct tn_hello *, struct tn_answer *);
	union { struct tn_hello h; unsigned char room[sizeof(struct tn_hello) + TN_ROOM]; } hello;
	dlerror();
	c->library = dlopen(c->path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	const char *e = c->library ? NULL : dlerror();
	if (!c->library) { ld_reason(l, c, TN_PLUGIN_BROKEN, "%s", e ? e : "it cannot be loaded"); return 0; }
	void *symbol = dlsym(c->library, "tn_plugin_query_0");
	if (!symbol) { ld_reason(l, c, TN_PLUGIN_BROKEN, "no tn_plugin_query_0"); return 0; }
	if (!is_checked_file(c, symbol)) {
		ld_reason(l, c, TN_PLUGIN_BROKEN, "the file was replaced: this process holds another one under the same path (start it again)");
		return 0;
	}
	memcpy(&query, &symbol, sizeof query);
	memset(answer, 0, sizeof *answer);
	memset(&hello, 0, sizeof hello);
	answer->a.head = (struct tn_head)TN_HEAD(tn_answer, TN_KIND_ANSWER);
	hello.h = (struct tn_hello){ TN_HEAD(tn_hello, TN_KIND_HELLO), 0, TN_ABI_MINOR, TN_LAYOUT_HASH, 0, "tenon" };
	int32_t st = query(&hello.h, &answer->a);
	if (st == TN_E_VERSION)
		ld_reason(l, c, TN_PLUGIN_INCOMPATIBLE, "its query needs ABI %d.%u; this is %d.%d", TN_ABI_MAJOR, answer->a.needs, TN_ABI_MAJOR, TN_ABI_MINOR);
	else if (st != TN_OK) ld_reason(l, c, TN_PLUGIN_BROKEN, "its query answers %d", st);
	else if (answer->a.layout_hash != TN_LAYOUT_HASH) ld_reason(l, c, TN_PLUGIN_INCOMPATIBLE, "its query answers another layout of structs: build it again");
	return !c->state;
}

/* ---- its table.  in: a copy; members past the plugin's own size are zero */
union table { struct tn_backend b; unsigned char room[sizeof(struct tn_backend) + TN_ROOM]; };

static int take_table(struct loader *l, struct tn_candidate *c, const struct tn_backend *from, union table *in)
{
	struct tn_head h;
	char text[64];
	memset(in, 0, sizeof *in);
	if (!from || !peek(from, &h, sizeof h) || h.kind != TN_KIND_BACKEND || h.size % 8 || h.size < offsetof(struct tn_backend, dialect) || h.size > 65536 ||
		!peek(from, in, h.size < sizeof *in ? h.size : sizeof *in)) {
		ld_reason(l, c, TN_PLUGIN_BROKEN, "its query answers no valid table of functions");
		return 0;
	}
	if (!peek_text(in->b.id, text, sizeof text)) ld_reason(l, c, TN_PLUGIN_BROKEN, "the id in its table is no text");
	else if (strcmp(text, c->id)) ld_reason(l, c, TN_PLUGIN_BROKEN, "its table says id '%s', its note '%s'", text, c->id);
	else if (in->b.version && !peek_text(in->b.version, text, sizeof text)) ld_reason(l, c, TN_PLUGIN_BROKEN, "the version in its table is no text");
	else if (c->promised && strcmp(c->promised, in->b.version ? text : ""))
		ld_reason(l, c, TN_PLUGIN_BROKEN, "its manifest says version '%.60s', its table '%s'", c->promised, in->b.version ? text : "");
	else c->version = in->b.version ? tn_strdup(l->a, text) : "";
	return !c->state;
}

struct span { const char *name; const void *at; uint64_t count; size_t row, text; };   /* text: where a row keeps the text it can't be without */

static int check_rows(struct loader *l, struct tn_candidate *c)
{
	const struct tn_backend *b = &c->backend;
#define SPAN(name, member) { #name, b->name.at, b->name.count, sizeof *b->name.at, member }
	const struct span spans[] = {
		SPAN(dialect, offsetof(struct tn_dialect_row, text)), SPAN(words, offsetof(struct tn_word_row, role)), SPAN(templates, offsetof(struct tn_template_row, id)),
		SPAN(rules, offsetof(struct tn_rule_row, id)), SPAN(caps, SIZE_MAX), SPAN(layouts, offsetof(struct tn_layout_row, id)), SPAN(targets, offsetof(struct tn_target_row, id)),
	};
#undef SPAN
	for (size_t i = 0; i < sizeof spans / sizeof *spans && !c->state; i++) {
		const struct span *s = &spans[i];
		if (!s->count) continue;
		if (s->count > ROWS_MOST || !s->at || !peek(s->at, NULL, s->count * s->row))
			ld_reason(l, c, TN_PLUGIN_BROKEN, "its table has %llu rows of %s at %p, which is not so", (unsigned long long)s->count, s->name, s->at);
		for (uint64_t r = 0; r < s->count && !c->state && s->text != SIZE_MAX; r++) {
			const char *text;
			memcpy(&text, (const char *)s->at + r * s->row + s->text, sizeof text);
			if (!text) ld_reason(l, c, TN_PLUGIN_BROKEN, "row %llu of %s in its table has no text", (unsigned long long)r, s->name);
		}
	}
	return !c->state;
}

/* each function stands in code that some loaded object brought: numbers that were meant as something else do not */
static int check_functions(struct loader *l, struct tn_candidate *c, const struct tn_backend *in)
{
	const size_t first = offsetof(struct tn_backend, open), end = sizeof *in;
	for (size_t at = first; at < end; at += sizeof(void *)) {
		const void *f;
		Dl_info info;
		memcpy(&f, (const char *)in + at, sizeof f);
		if (!f || dladdr(f, &info)) continue;
		ld_reason(l, c, TN_PLUGIN_BROKEN, "member %zu of the functions in its table, %p, is no function", (at - first) / sizeof(void *), f);
		return 0;
	}
	return 1;
}

/* ---- its device */
static const char *said(const struct loader *l)
{
	const char *words = tn_fail_text();
	return *words ? tn_printf(l->a, ": %s", words) : "";
}

static int usable_device(struct loader *l, struct tn_candidate *c, uint32_t i)
{
	struct tn_device_info *d = &c->dev.info;
	char *const texts[] = { d->uid, d->name, d->target, d->driver, d->firmware };
	const size_t rooms[] = { sizeof d->uid, sizeof d->name, sizeof d->target, sizeof d->driver, sizeof d->firmware };
	for (int k = 0; k < 5; k++) texts[k][rooms[k] - 1] = 0;
	if (!d->target[0]) ld_reason(l, c, TN_PLUGIN_BROKEN, "its device %u names no target", i);
	else if (!d->spaces.count || d->spaces.count > 64 || !peek(d->spaces.at, NULL, d->spaces.count * sizeof *d->spaces.at))
		ld_reason(l, c, TN_PLUGIN_BROKEN, "its device %u has %llu memory spaces at %p, which is not so", i, (unsigned long long)d->spaces.count, (const void *)d->spaces.at);
	for (uint64_t s = 0; s < d->spaces.count && !c->state; s++)
		if (d->spaces.at[s].align & (d->spaces.at[s].align - 1))
			ld_reason(l, c, TN_PLUGIN_BROKEN, "space %llu of its device %u is aligned to %llu, no power of two", (unsigned long long)s, i, (unsigned long long)d->spaces.at[s].align);
	return !c->state;
}

static int choose_device(struct loader *l, struct tn_candidate *c, const char *device)
{
	char *end;
	unsigned long ordinal = strtoul(device, &end, 10);
	int by_ordinal = *device && !*end;
	for (uint32_t i = 0; i < DEVICES_MOST; i++) {
		memset(&c->dev, 0, sizeof c->dev);
		c->dev.info.head = (struct tn_head)TN_HEAD(tn_device_info, TN_KIND_DEVICE_INFO);
		tn_fail_clear();
		int32_t st = c->backend.devices(c->self, i, &c->dev.info);
		if (st != TN_OK) {
			if (st != TN_E_RANGE) ld_reason(l, c, TN_PLUGIN_BROKEN, "it does not describe device %u (%d)%s", i, st, said(l));
			else if (i) ld_reason(l, c, TN_PLUGIN_NO_DEVICE, "it has %u device%s, none is '%s'", i, i == 1 ? "" : "s", device);
			else ld_reason(l, c, TN_PLUGIN_NO_DEVICE, "%s", *tn_fail_text() ? tn_fail_text() : "no device of its kind");
			return 0;
		}
		if (*device && !(by_ordinal && ordinal == i) && strcmp(device, c->dev.info.uid)) continue;
		c->ordinal = i;
		return usable_device(l, c, i);
	}
	ld_reason(l, c, TN_PLUGIN_NO_DEVICE, "none of its first %d devices is '%s'", DEVICES_MOST, device);
	return 0;
}

void ld_open(struct loader *l, struct tn_candidate *c, const char *device)
{
	union answer answer;
	union table table;
	char missing[300];
	if (!ask(l, c, &answer) || !take_table(l, c, answer.a.backend, &table) || !check_functions(l, c, &table.b)) return;
	tn_backend_take(&table.b, &c->backend, missing, sizeof missing);
	c->backend.id = c->id;
	c->backend.version = c->version;
	if (*missing) { ld_reason(l, c, TN_PLUGIN_BROKEN, "its table lacks required functions: %s", missing); return; }
	if (!check_rows(l, c)) return;
	const struct tn_host *h = l->o->host_for(l->o->ctx, c->id, c->version);
	if (l->o->validate) tn_validate_wrap(c, h);
	tn_fail_clear();
	int32_t st = c->backend.open(h, &c->self);
	if (st != TN_OK || !c->self) { ld_reason(l, c, TN_PLUGIN_BROKEN, "it does not open (%d)%s", st, said(l)); c->self = NULL; return; }
	if (!choose_device(l, c, device)) return;
	c->device = c->dev.info.name;
	tn_fail_clear();
	st = c->backend.device_open(c->self, c->ordinal, &c->handle);
	if (st != TN_OK || !c->handle) { ld_reason(l, c, TN_PLUGIN_BROKEN, "device %u does not open (%d)%s", c->ordinal, st, said(l)); c->handle = NULL; return; }
	c->state = TN_PLUGIN_LOADED;
}
