/* bad.c - one small plugin, and with BAD_... defined the same with one fault: what the loader must tell apart (host/loader_test.c) */
#include <stdlib.h>
#include <string.h>
#include <tenon/plugin.h>

struct toy { const struct tn_host *h; };
static struct toy *toy_of(void *p) { return p; }

static int32_t open_self(const struct tn_host *h, struct tn_self **s)
{
#ifdef BAD_OPEN
	(void)s;
	return h->fail(h->ctx, TN_E_CALL, 0, "the firmware is missing");
#else
	struct toy *t = h->alloc(h->ctx, sizeof *t, 16);
	if (!t) return TN_E_NOMEM;
	t->h = h;
	*s = (struct tn_self *)(void *)t;
	return TN_OK;
#endif
}
static void close_self(struct tn_self *s) { if (s) toy_of(s)->h->free(toy_of(s)->h->ctx, s); }

#ifndef BAD_SPACES
static const struct tn_space spaces[] = { { .kind = TN_SPACE_HOST, .align = 64, .granule = 64 } };
#endif
static int32_t devices(struct tn_self *s, uint32_t i, struct tn_device_info *out)
{
	static const char *const uids[] = { "toy-a", "toy-b", "toy-c" };
#ifdef BAD_NODEV
	return toy_of(s)->h->fail(toy_of(s)->h->ctx, TN_E_RANGE, 0, "libtoy.so.1 not found");
#endif
	(void)s;
	if (i > 2) return TN_E_RANGE;
	strcpy(out->uid, uids[i]);
	strcpy(out->name, uids[i]);
	strcpy(out->target, "toy");
	out->flags = TN_DEV_SYNC | TN_DEV_HOST_ADDRESS;
#ifdef BAD_SPACES
	out->spaces = (struct tn_space_rows){ (const struct tn_space *)(uintptr_t)4096, 2 };
#else
	out->spaces = (struct tn_space_rows)TN_ROWS(spaces);
#endif
	return TN_OK;
}
static int32_t device_open(struct tn_self *s, uint32_t i, struct tn_device **d)
{
	(void)i;
	*d = (struct tn_device *)(void *)s;
	return TN_OK;
}
static void device_close(struct tn_device *d) { (void)d; }
static int32_t alloc(struct tn_device *d, uint32_t space, uint64_t size, uint64_t flags, struct tn_memory **m)
{
	(void)d; (void)space; (void)flags;
	*m = malloc(size);
	return *m ? TN_OK : TN_E_NOMEM;
}
static void release(struct tn_memory *m) { free(m); }
static int32_t copy(struct tn_device *d, const struct tn_copy *c) { (void)d; (void)c; return TN_E_UNSUPPORTED; }
static int32_t compile(struct tn_self *s, struct tn_compile *c) { (void)s; (void)c; return TN_E_UNSUPPORTED; }
static void program_release(struct tn_program *p) { (void)p; }
#if !defined BAD_MISSING && !defined BAD_FUNCTION
static int32_t launch(struct tn_device *d, const struct tn_launch *l) { (void)d; (void)l; return TN_E_UNSUPPORTED; }
#endif

static const struct tn_backend backend = {
	.head = TN_HEAD(tn_backend, TN_KIND_BACKEND),
#ifdef BAD_ID
	.id = "somebody.else",
#else
	.id = NAME,
#endif
#ifdef TWIN
	.version = "1.3",
#else
	.version = "1.2",
#endif
#ifdef BAD_ROWS
	.caps = { (const struct tn_cap_row *)(uintptr_t)8, 5 },
#endif
	.open = open_self, .close = close_self, .devices = devices, .device_open = device_open, .device_close = device_close,
	.alloc = alloc, .release = release, .compile = compile, .program_release = program_release,
#ifndef BAD_MISSING
	.copy = copy,
#endif
#if defined BAD_FUNCTION
	.launch = (int32_t (*)(struct tn_device *, const struct tn_launch *))(uintptr_t)7,
#elif !defined BAD_MISSING
	.launch = launch,
#endif
#ifdef BAD_RECORD
	.record_release = (void (*)(struct tn_record *))(uintptr_t)program_release,
#endif
};
#ifdef BAD_MISSING
int32_t (*const bad_unused)(struct tn_device *, const struct tn_copy *) = copy;      /* hidden by the version script */
#endif

#ifdef BAD_EXPORT
TN_EXPORT int bad_extra(void);
int bad_extra(void) { return 1; }
#endif

/* ---- the entry.  A note of its own where the fault is in the note, a query of its own where it is there */
#if defined BAD_MAJOR
#define NOTE(id) __attribute__((section(".note.tenon"), used, aligned(8))) static const struct tn_elf_note note = \
	{ 6, sizeof(struct tn_elf_note) - offsetof(struct tn_elf_note, major), 1, TN_NOTE_NAME, TN_ABI_MAJOR + 1, TN_ABI_MINOR, 1, 0, TN_LAYOUT_HASH, id };
#elif defined BAD_LAYOUT
#define NOTE(id) __attribute__((section(".note.tenon"), used, aligned(8))) static const struct tn_elf_note note = \
	{ 6, sizeof(struct tn_elf_note) - offsetof(struct tn_elf_note, major), 1, TN_NOTE_NAME, TN_ABI_MAJOR, TN_ABI_MINOR, 1, 0, TN_LAYOUT_HASH ^ 8, id };
#elif defined BAD_NOTE
#define NOTE(id)
#else
#define NOTE(id) TN_NOTE_(id, 1)
#endif

#if defined BAD_MINOR
TN_PLUGIN(NAME, backend, 99)
#elif defined BAD_QUERY
NOTE(NAME)
int32_t tn_plugin_query_0(const struct tn_hello *h, struct tn_answer *a)
{
	static const struct tn_head not_a_table = { sizeof(struct tn_backend), TN_KIND_GRAPH };
	tn_answer_(h, a, &backend, 1);
	switch (BAD_QUERY) {
	case 1: a->backend = NULL; break;
	case 2: return TN_E_INTERNAL;
	case 3: a->backend = (const struct tn_backend *)(uintptr_t)UINT64_C(0x5a5a5a5a5a5a5a50); break;
	case 4: a->backend = (const struct tn_backend *)(const void *)&not_a_table; break;
	case 5: a->layout_hash ^= 1; break;
	case 6: a->needs = 7; return TN_E_VERSION;
	default: memset(a, 0xff, sizeof *a); break;
	}
	return TN_OK;
}
#else
NOTE(NAME)
int32_t tn_plugin_query_0(const struct tn_hello *h, struct tn_answer *a) { return tn_answer_(h, a, &backend, 1); }
#endif
