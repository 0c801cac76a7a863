/* validate_test.c - the validation layer before a plugin made for it: every rule broken once, on both kinds of device, and nothing
 * between a caller that keeps the rules and the plugin */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "host/loader.h"

/* ---- a host that remembers words */
static char words[1024], logged[4096];
static int allocs, told;
static int32_t told_code;
static void *h_alloc(void *ctx, uint64_t size, uint64_t align) { (void)ctx; (void)align; allocs++; return calloc(1, size); }
static void h_free(void *ctx, void *p) { (void)ctx; allocs -= p != NULL; free(p); }
static int32_t h_fail(void *ctx, int32_t code, int64_t vendor, const char *text)
{
	(void)ctx; (void)vendor;
	snprintf(words, sizeof words, "%s", text);
	return code;
}
static void h_log(void *ctx, uint32_t level, const char *text)
{
	(void)ctx; (void)level;
	size_t n = strlen(logged);
	snprintf(logged + n, sizeof logged - n, "%s\n", text);
}
static int32_t h_done(void *ctx, struct tn_token *t, int32_t code) { (void)ctx; (void)t; told++; told_code = code; return TN_OK; }
static const struct tn_host host = { .head = TN_HEAD(tn_host, TN_KIND_HOST), .ctx = &allocs, .alloc = h_alloc, .free = h_free, .fail = h_fail, .log = h_log, .done = h_done };
static const struct tn_host host2 = { .head = TN_HEAD(tn_host, TN_KIND_HOST), .ctx = &told, .alloc = h_alloc, .free = h_free, .fail = h_fail, .log = h_log, .done = h_done };

/* ---- a plugin that notes what reaches it.  Device 0 is synchronous and takes host addresses, device 1 is neither.  Handles are
 * small blocks with a kind, so that a wrapper's address that slips through is seen */
struct thing { int kind; const struct tn_host *h; };
static struct {
	int live, calls, dead, bad_handle;
	int32_t answer;                        /* of the next call, then TN_OK */
	int mischief;                          /* 1: leave results unset; 2: fail and set them; 3: an unknown code */
	struct tn_token *token;                /* of the last work */
	struct tn_launch launch; struct tn_ref refs[8]; struct tn_copy copy;
	const struct tn_host *h;
	void *left[2];
} p;
enum { SELF = 11, DEVICE, MEMORY, PROGRAM, QUEUE, TIMELINE, RECORD };

static void *make(int kind) { struct thing *t = malloc(sizeof *t); t->kind = kind; t->h = p.h; p.live++; return t; }
static void is_a(const void *h, int kind) { p.calls++; p.bad_handle += ((const struct thing *)h)->kind != kind; }
static void end(void *h, int kind) { is_a(h, kind); p.live--; free(h); }
static int32_t answer(void) { int32_t a = p.mischief == 3 ? 77 : p.answer; p.answer = TN_OK; return a; }
static int32_t give(int kind, void *out)
{
	int32_t a = answer();
	void *v = p.mischief == 1 ? NULL : a == TN_OK || p.mischief == 2 ? make(kind) : NULL;
	memcpy(out, &v, sizeof v);
	return a;
}

static int32_t p_open(const struct tn_host *h, struct tn_self **s) { p.h = h; return give(SELF, s); }
static void p_close(struct tn_self *s) { end(s, SELF); }
static const struct tn_space spaces[] = { { TN_SPACE_DEVICE, 0, 1 << 20, 1 << 16, 64, 256 } };
static const struct tn_queue_row queues[] = { { 15, 2 } };
static int32_t p_devices(struct tn_self *s, uint32_t i, struct tn_device_info *out)
{
	is_a(s, SELF);
	if (i > 1) return TN_E_RANGE;
	strcpy(out->uid, "u");
	strcpy(out->name, "n");
	if (p.mischief != 1) strcpy(out->target, "t");
	out->flags = i ? 0 : TN_DEV_SYNC | TN_DEV_HOST_ADDRESS;
	out->max_groups[1] = 8;
	out->spaces = (struct tn_space_rows)TN_ROWS(spaces);
	out->queues = (struct tn_queue_row_rows)TN_ROWS(queues);
	return answer();
}
static int32_t p_device_open(struct tn_self *s, uint32_t i, struct tn_device **d) { is_a(s, SELF); (void)i; return give(DEVICE, d); }
static void p_device_close(struct tn_device *d) { end(d, DEVICE); }
static int32_t p_alloc(struct tn_device *d, uint32_t sp, uint64_t size, uint64_t fl, struct tn_memory **m) { is_a(d, DEVICE); (void)sp; (void)size; (void)fl; return give(MEMORY, m); }
static void p_release(struct tn_memory *m) { end(m, MEMORY); }
static void see_ref(const struct tn_ref *r) { if (r->memory) is_a(r->memory, MEMORY); }
static int32_t p_copy(struct tn_device *d, const struct tn_copy *c)
{
	is_a(d, DEVICE);
	see_ref(&c->dst);
	see_ref(&c->src);
	if (c->queue) is_a(c->queue, QUEUE);
	for (uint64_t i = 0; i < c->n_waits; i++) is_a(c->waits[i].timeline, TIMELINE);
	p.copy = *c;
	p.token = c->token;
	return answer();
}
static int32_t p_map(struct tn_memory *m, void **at) { is_a(m, MEMORY); if (p.mischief != 1) *at = m; return answer(); }
static int32_t p_can(struct tn_self *s, const char *t, const struct tn_graph *g, struct tn_verdict *v)
{
	is_a(s, SELF);
	(void)t;
	for (uint64_t i = 0; i < g->nodes.count; i++) if (p.mischief != 1 || i) v[i] = (struct tn_verdict){ TN_CAN_YES, 0, 0, 0 };
	return answer();
}
static int32_t p_compile(struct tn_self *s, struct tn_compile *c)
{
	static const uint32_t far[] = { 900 };
	is_a(s, SELF);
	int32_t a = answer();
	for (uint64_t i = 0; i < c->entries.count; i++)
		if ((a == TN_OK && !(p.mischief == 1 && i)) || p.mischief == 2) { p.left[i & 1] = c->programs[i] = make(PROGRAM); c->scratch[i] = 100; }
	if (a == TN_E_DECLINED) { c->declined = far; c->n_declined = 1; }
	return a;
}
static void p_program_release(struct tn_program *x) { end(x, PROGRAM); }
static int32_t p_layout_bytes(struct tn_self *s, const char *l, uint32_t dt, uint32_t r, const int64_t *d, uint64_t *b)
{
	is_a(s, SELF);
	(void)l; (void)dt; (void)r; (void)d;
	if (p.mischief != 1) *b = 640;
	return answer();
}
static int32_t p_launch(struct tn_device *d, const struct tn_launch *l)
{
	is_a(d, DEVICE);
	is_a(l->program, PROGRAM);
	for (uint64_t i = 0; i < l->n_buffers; i++) { see_ref(&l->buffers[i]); p.refs[i] = l->buffers[i]; }
	p.launch = *l;
	p.token = l->token;
	return answer();
}
static int32_t p_queue_create(struct tn_device *d, uint32_t row, struct tn_queue **q) { is_a(d, DEVICE); (void)row; return give(QUEUE, q); }
static void p_queue_release(struct tn_queue *q) { end(q, QUEUE); }
static int32_t p_timeline_create(struct tn_device *d, struct tn_timeline **t) { is_a(d, DEVICE); return give(TIMELINE, t); }
static void p_timeline_release(struct tn_timeline *t) { end(t, TIMELINE); }
static int32_t p_timeline_wait(struct tn_timeline *t, uint64_t v, uint64_t ns) { is_a(t, TIMELINE); (void)v; (void)ns; return answer(); }
static int32_t p_record(struct tn_device *d, const struct tn_launch *const *l, uint64_t n, struct tn_record **r)
{
	is_a(d, DEVICE);
	for (uint64_t i = 0; i < n; i++) is_a(l[i]->program, PROGRAM);
	return give(RECORD, r);
}
static int32_t p_replay(struct tn_record *r, const struct tn_launch *const *l, uint64_t n, struct tn_token *t)
{
	is_a(r, RECORD);
	for (uint64_t i = 0; i < n; i++) { is_a(l[i]->program, PROGRAM); see_ref(&l[i]->buffers[0]); }
	p.token = t;
	return answer();
}
static void p_record_release(struct tn_record *r) { end(r, RECORD); }
static int32_t p_clock(struct tn_device *d, uint64_t *a, uint64_t *b) { is_a(d, DEVICE); *a = 1; if (p.mischief != 1) *b = 2; return answer(); }

static const struct tn_backend backend = {
	.head = TN_HEAD(tn_backend, TN_KIND_BACKEND), .id = "test", .version = "1", .open = p_open, .close = p_close, .devices = p_devices, .device_open = p_device_open,
	.device_close = p_device_close, .alloc = p_alloc, .release = p_release, .copy = p_copy, .map = p_map, .can = p_can, .compile = p_compile,
	.program_release = p_program_release, .layout_bytes = p_layout_bytes, .launch = p_launch, .queue_create = p_queue_create, .queue_release = p_queue_release,
	.timeline_create = p_timeline_create, .timeline_release = p_timeline_release, .timeline_wait = p_timeline_wait, .record = p_record, .replay = p_replay,
	.record_release = p_record_release, .clock = p_clock,
};

/* ---- what each test starts from: device 0 (sync) and 1 (async), a slab on each, a program of two entries */
static struct tn_candidate c;
static struct tn_self *self;
static struct tn_device *sync_dev, *async_dev;
static struct tn_memory *sync_mem, *async_mem;
static struct tn_program *program[2];
static const struct tn_backend *b = &c.backend;
static struct tn_graph graph;
static struct tn_node nodes[2];
static int token_place;
#define TOKEN ((struct tn_token *)(void *)&token_place)

static struct tn_compile compile_of(const struct tn_entry *e, uint64_t n, struct tn_program **out, uint64_t *scratch)
{
	return (struct tn_compile){ .head = TN_HEAD(tn_compile, TN_KIND_COMPILE), .target = "t", .entries = { e, n }, .programs = out, .scratch = scratch };
}

static int setup(void **state)
{
	char missing[100];
	uint64_t scratch[2];
	(void)state;
	memset(&p, 0, sizeof p);
	memset(&c, 0, sizeof c);
	words[0] = logged[0] = 0;
	told = 0;
	graph = (struct tn_graph){ .head = TN_HEAD(tn_graph, TN_KIND_GRAPH), .nodes = { nodes, 2 }, .n_in = 1, .n_out = 1, .n_symbols = 1 };
	tn_backend_take(&backend, &c.backend, missing, sizeof missing);
	assert_string_equal(missing, "");
	tn_validate_wrap(&c, &host);
	assert_int_equal(b->open(&host, &self), TN_OK);
	assert_int_equal(b->device_open(self, 0, &sync_dev), TN_OK);
	assert_int_equal(b->device_open(self, 1, &async_dev), TN_OK);
	assert_int_equal(b->alloc(sync_dev, 0, 1024, 0, &sync_mem), TN_OK);
	assert_int_equal(b->alloc(async_dev, 0, 1024, 0, &async_mem), TN_OK);
	const struct tn_entry e[] = { { "a", &graph, NULL, "" }, { "b", &graph, NULL, "" } };
	struct tn_compile k = compile_of(e, 2, program, scratch);
	assert_int_equal(b->compile(self, &k), TN_OK);
	assert_int_equal(scratch[1], 100);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	p.mischief = 0;
	b->program_release(program[0]);
	b->program_release(program[1]);
	b->release(sync_mem);
	b->release(async_mem);
	b->device_close(sync_dev);
	b->device_close(async_dev);
	b->close(self);
	tn_validate_unwrap(&c);
	assert_int_equal(p.live, 0);
	assert_int_equal(p.bad_handle, 0);
	return 0;
}

/* the call breaks a rule: told with these words, and the plugin heard nothing */
#define REFUSED(call, code, part) do { \
	int calls_ = p.calls; words[0] = 0; \
	assert_int_equal(call, code); \
	if (!strstr(words, part)) fail_msg("'%s' has no '%s'", words, part); \
	assert_int_equal(p.calls, calls_); } while (0)
/* the plugin broke a rule: told, whatever it was called with */
#define FAULT(call, code, part) do { words[0] = 0; assert_int_equal(call, code); if (!strstr(words, part)) fail_msg("'%s' has no '%s'", words, part); } while (0)
#define LOGGED(call, part) do { \
	int calls_ = p.calls; logged[0] = 0; call; \
	if (!strstr(logged, part)) fail_msg("'%s' has no '%s'", logged, part); \
	assert_int_equal(p.calls, calls_); } while (0)

/* ---- memory */
static void test_alloc(void **state)
{
	(void)state;
	struct tn_memory *m = NULL;
	REFUSED(b->alloc(NULL, 0, 256, 0, &m), TN_E_ARG, "alloc: device is NULL");
	REFUSED(b->alloc((struct tn_device *)(void *)&m, 0, 256, 0, &m), TN_E_ARG, "is no handle of this host");
	REFUSED(b->alloc((struct tn_device *)(void *)sync_mem, 0, 256, 0, &m), TN_E_ARG, "is a memory, not a device");
	REFUSED(b->alloc(sync_dev, 1, 256, 0, &m), TN_E_RANGE, "space 1 of 1");
	REFUSED(b->alloc(sync_dev, 0, 0, 0, &m), TN_E_ARG, "size is 0");
	REFUSED(b->alloc(sync_dev, 0, 100, 0, &m), TN_E_ARG, "size 100 is no multiple of the space's granule 256");
	REFUSED(b->alloc(sync_dev, 0, 1 << 17, 0, &m), TN_E_NOMEM, "131072 bytes, space 0 gives 65536 at most");
	REFUSED(b->alloc(sync_dev, 0, 256, 1, &m), TN_E_ARG, "flags are 0x1, not 0");
	REFUSED(b->alloc(sync_dev, 0, 256, 0, NULL), TN_E_ARG, "is NULL");
	p.mischief = 1;
	FAULT(b->alloc(sync_dev, 0, 256, 0, &m), TN_E_INTERNAL, "alloc: the plugin answers OK and gives no memory");
	p.mischief = 3;
	FAULT(b->alloc(sync_dev, 0, 256, 0, &m), TN_E_INTERNAL, "answers 77, which is no status code");
	p.mischief = 0;
	p.answer = TN_E_NOMEM;
	assert_int_equal(b->alloc(sync_dev, 0, 256, 0, &m), TN_E_NOMEM);
	assert_null(m);
}

static void test_map(void **state)
{
	(void)state;
	void *at;
	assert_int_equal(b->map(sync_mem, &at), TN_OK);
	assert_non_null(at);
	REFUSED(b->map(sync_mem, NULL), TN_E_ARG, "is NULL");
	p.mischief = 1;
	FAULT(b->map(sync_mem, &at), TN_E_INTERNAL, "gives no address");
	uint64_t used = 1, room = 1;
	assert_int_equal(b->budget(sync_dev, 0, &used, &room), TN_E_UNSUPPORTED);        /* a stub's answer comes through */
	assert_int_equal(used, 0);
	REFUSED(b->budget(sync_dev, 4, &used, &room), TN_E_RANGE, "space 4 of 1");
	REFUSED(b->trim(sync_dev, 3), TN_E_ARG, "level 3");
}

static struct tn_copy copy_of(struct tn_ref dst, struct tn_ref src) { return (struct tn_copy){ .head = TN_HEAD(tn_copy, TN_KIND_COPY), .dst = dst, .src = src }; }

static void test_copy(void **state)
{
	(void)state;
	char bytes[64];
	struct tn_ref address = { NULL, (uint64_t)(uintptr_t)bytes, 64 }, slab = { sync_mem, 128, 64 };
	struct tn_copy k = copy_of(slab, address);
	assert_int_equal(b->copy(sync_dev, &k), TN_OK);
	assert_int_equal(p.copy.dst.offset, 128);
	REFUSED(b->copy(sync_dev, NULL), TN_E_ARG, "copy is NULL");
	k.head.size = 8;
	REFUSED(b->copy(sync_dev, &k), TN_E_ARG, "copy has size 8 and kind 9 in its head");
	k = copy_of(address, address);
	REFUSED(b->copy(sync_dev, &k), TN_E_ARG, "dst and src are both host addresses");
	k = copy_of(slab, address);
	k.dst.size = 32;
	REFUSED(b->copy(sync_dev, &k), TN_E_ARG, "dst has 32 bytes, src 64");
	k = copy_of((struct tn_ref){ sync_mem, 0, 0 }, (struct tn_ref){ NULL, 8, 0 });
	REFUSED(b->copy(sync_dev, &k), TN_E_ARG, "0 bytes");
	k = copy_of((struct tn_ref){ sync_mem, 961, 64 }, address);
	REFUSED(b->copy(sync_dev, &k), TN_E_RANGE, "dst: 64 bytes at offset 961 reach past its slab of 1024");
	k = copy_of((struct tn_ref){ sync_mem, UINT64_MAX - 31, 64 }, address);
	REFUSED(b->copy(sync_dev, &k), TN_E_RANGE, "reach past its slab");
	k = copy_of(slab, (struct tn_ref){ sync_mem, 160, 64 });
	REFUSED(b->copy(sync_dev, &k), TN_E_ARG, "dst and src overlap: 64 bytes at offsets 128 and 160");
	k = copy_of(slab, (struct tn_ref){ sync_mem, 192, 64 });
	assert_int_equal(b->copy(sync_dev, &k), TN_OK);
	k = copy_of(slab, (struct tn_ref){ NULL, 0, 64 });
	REFUSED(b->copy(sync_dev, &k), TN_E_ARG, "src has neither memory nor a host address");
	k = copy_of((struct tn_ref){ async_mem, 0, 64 }, address);
	REFUSED(b->copy(sync_dev, &k), TN_E_ARG, "belongs to another device");
	k = copy_of(slab, address);
	k.token = TOKEN;
	REFUSED(b->copy(sync_dev, &k), TN_E_ARG, "there is a token, and the device is TN_DEV_SYNC");
	k.token = NULL;
	k.n_waits = 1;
	REFUSED(b->copy(sync_dev, &k), TN_E_ARG, "1 waits at NULL");
}

/* ---- launches */
static struct tn_launch launch_of(const struct tn_ref *refs, const int64_t *scalars)
{
	return (struct tn_launch){ .head = TN_HEAD(tn_launch, TN_KIND_LAUNCH), .program = program[0], .buffers = refs, .n_buffers = 2, .scalars = scalars, .n_scalars = 1,
		.grid = { 1, 1, 1 }, .scratch = { sync_mem, 512, 128 } };
}

static void test_launch(void **state)
{
	(void)state;
	int64_t scalars[] = { 4 };
	struct tn_ref refs[] = { { sync_mem, 64, 100 }, { NULL, 0x7000, 32 } };
	struct tn_launch l = launch_of(refs, scalars);
	assert_int_equal(b->launch(sync_dev, &l), TN_OK);
	assert_int_equal(p.refs[0].offset, 64);
	assert_int_equal(p.refs[1].offset, 0x7000);
	assert_ptr_equal(p.launch.scalars, scalars);
	refs[1] = (struct tn_ref){ NULL, 0, 0 };                           /* an empty value */
	assert_int_equal(b->launch(sync_dev, &l), TN_OK);
	refs[0].offset = 65;
	REFUSED(b->launch(sync_dev, &l), TN_E_ARG, "launch: buffers[0]: offset 65 is no multiple of the space's alignment 64");
	refs[0].offset = 960;
	REFUSED(b->launch(sync_dev, &l), TN_E_RANGE, "buffers[0]: 100 bytes at offset 960 reach past its slab of 1024");
	refs[0] = (struct tn_ref){ async_mem, 0, 64 };
	REFUSED(b->launch(sync_dev, &l), TN_E_ARG, "belongs to another device");
	refs[0].memory = sync_mem;
	l.n_buffers = 1;
	REFUSED(b->launch(sync_dev, &l), TN_E_ARG, "1 buffers, the program takes 2");
	l.n_buffers = 2;
	l.n_scalars = 0;
	REFUSED(b->launch(sync_dev, &l), TN_E_ARG, "0 scalars, the program takes 1");
	l.n_scalars = 1;
	l.scalars = NULL;
	REFUSED(b->launch(sync_dev, &l), TN_E_ARG, "1 scalars at NULL");
	l.scalars = scalars;
	l.scratch.size = 64;
	REFUSED(b->launch(sync_dev, &l), TN_E_ARG, "64 bytes of scratch, the program needs 100");
	l.scratch.size = 128;
	l.grid[1] = 9;
	REFUSED(b->launch(sync_dev, &l), TN_E_RANGE, "grid[1] is 9, the device takes 8");
	l.grid[1] = 1;
	l.after = 3;
	REFUSED(b->launch(sync_dev, &l), TN_E_ARG, "after is 3");
	l.after = 0;
	l.program = NULL;
	REFUSED(b->launch(sync_dev, &l), TN_E_ARG, "program is NULL");
	l.program = program[0];
	l.n_buffers = UINT64_MAX / 16;
	REFUSED(b->launch(sync_dev, &l), TN_E_RANGE, "buffers");
	l.n_buffers = 2;
	l.token = TOKEN;
	REFUSED(b->launch(sync_dev, &l), TN_E_ARG, "there is a token");
	l.head.kind = TN_KIND_COPY;
	REFUSED(b->launch(sync_dev, &l), TN_E_ARG, "launch has size");
}

/* a kernel's grid counts; its buffers are its nest's */
static void test_kernel(void **state)
{
	(void)state;
	struct tn_nest_buffer buffers[3] = { { 0 } };
	struct tn_nest nest = { .head = TN_HEAD(tn_nest, TN_KIND_NEST), .buffers = { buffers, 3 } };
	const struct tn_entry e = { "k", NULL, &nest, "tile" };
	struct tn_program *kernel;
	uint64_t scratch;
	struct tn_compile k = compile_of(&e, 1, &kernel, &scratch);
	k.text = "text";
	k.text_len = 4;
	assert_int_equal(b->compile(self, &k), TN_OK);
	struct tn_ref refs[3] = { { sync_mem, 0, 64 }, { sync_mem, 64, 64 }, { sync_mem, 128, 64 } };
	struct tn_launch l = launch_of(refs, NULL);
	l.program = kernel;
	l.n_scalars = 0;
	REFUSED(b->launch(sync_dev, &l), TN_E_ARG, "2 buffers, the program takes 3");
	l.n_buffers = 3;
	assert_int_equal(b->launch(sync_dev, &l), TN_OK);
	l.grid[2] = 0;
	REFUSED(b->launch(sync_dev, &l), TN_E_ARG, "grid[2] is 0");
	b->program_release(kernel);
}

static void test_asynchronous(void **state)
{
	(void)state;
	int64_t scalars[] = { 4 };
	struct tn_ref refs[] = { { async_mem, 0, 64 }, { async_mem, 64, 64 } };
	struct tn_launch l = launch_of(refs, scalars);
	l.scratch.memory = async_mem;
	REFUSED(b->launch(async_dev, &l), TN_E_ARG, "token is NULL, and the device is asynchronous");
	l.token = TOKEN;
	assert_int_equal(b->launch(async_dev, &l), TN_OK);
	REFUSED(b->launch(async_dev, &l), TN_E_ARG, "belongs to work in flight (launch)");
	LOGGED(b->release(async_mem), "the memory is used by 3 pieces of work in flight");
	LOGGED(b->program_release(program[0]), "in flight");
	assert_int_equal(p.h->done(p.h->ctx, p.token, TN_OK), TN_OK);
	assert_int_equal(told, 1);
	LOGGED(assert_int_equal(p.h->done(p.h->ctx, p.token, TN_OK), TN_E_ARG), "is of no work in flight (told twice?)");
	assert_int_equal(told, 1);
	refs[1] = (struct tn_ref){ NULL, 0x7000, 64 };
	REFUSED(b->launch(async_dev, &l), TN_E_ARG, "buffers[1] is a host address, which the device does not take");
	struct tn_copy k = copy_of(refs[0], refs[1]);                      /* a copy may have one */
	k.token = TOKEN;
	p.answer = TN_E_CALL;                                              /* a failed submission has no end */
	assert_int_equal(b->copy(async_dev, &k), TN_E_CALL);
	assert_int_equal(b->copy(async_dev, &k), TN_OK);
	assert_int_equal(p.h->done(p.h->ctx, TOKEN, TN_E_DEVICE), TN_OK);
	assert_int_equal(told_code, TN_E_DEVICE);
	REFUSED(b->copy(async_dev, &k), TN_E_DEVICE, "device 1 is dead");
}

static void test_dead_device(void **state)
{
	(void)state;
	struct tn_memory *m;
	struct tn_queue *q;
	uint64_t x, y;
	void *at;
	p.answer = TN_E_DEVICE;
	assert_int_equal(b->alloc(sync_dev, 0, 256, 0, &m), TN_E_DEVICE);
	REFUSED(b->alloc(sync_dev, 0, 256, 0, &m), TN_E_DEVICE, "alloc: device 0 is dead (TN_E_DEVICE was told): only destroyers may be called");
	REFUSED(b->map(sync_mem, &at), TN_E_DEVICE, "dead");
	REFUSED(b->queue_create(sync_dev, 0, &q), TN_E_DEVICE, "dead");
	REFUSED(b->clock(sync_dev, &x, &y), TN_E_DEVICE, "dead");
	assert_int_equal(b->alloc(async_dev, 0, 256, 0, &m), TN_OK);       /* the other one lives */
	b->release(m);
}

/* ---- order and lifetimes */
static void test_destroyers(void **state)
{
	(void)state;
	struct tn_memory *m;
	assert_int_equal(b->alloc(sync_dev, 0, 256, 0, &m), TN_OK);
	b->release(m);
	LOGGED(b->release(m), "release: ");
	LOGGED(b->release(m), "was released before (a memory): nothing done");
	REFUSED(b->map(m, (void *[]){ NULL }), TN_E_ARG, "was released before (a memory)");
	LOGGED(b->release((struct tn_memory *)(void *)program[0]), "is a program, not a memory: nothing done");
	LOGGED(b->release((struct tn_memory *)(void *)words), "is no handle of this host: nothing done");
	LOGGED(b->device_close(sync_dev), "the device has 1 live objects; they are destroyed first: nothing done");
	logged[0] = 0;
	b->release(NULL);
	b->program_release(NULL);
	b->device_close(NULL);
	b->queue_release(NULL);
	b->timeline_release(NULL);
	b->record_release(NULL);
	b->close(NULL);
	assert_string_equal(logged, "");
}

static void test_leaks_are_told_and_swept(void **state)
{
	(void)state;
	struct tn_candidate c2 = { 0 };
	struct tn_self *s2;
	struct tn_device *d2;
	struct tn_memory *m2;
	struct tn_queue *q2;
	char missing[100];
	int before = p.live;
	tn_backend_take(&backend, &c2.backend, missing, sizeof missing);
	tn_validate_wrap(&c2, &host2);
	assert_int_equal(c2.backend.open(&host2, &s2), TN_OK);
	assert_int_equal(c2.backend.device_open(s2, 0, &d2), TN_OK);
	assert_int_equal(c2.backend.alloc(d2, 0, 512, 0, &m2), TN_OK);
	assert_int_equal(c2.backend.queue_create(d2, 0, &q2), TN_OK);
	/* handles of one plugin mean nothing to another */
	struct tn_copy k = copy_of((struct tn_ref){ m2, 0, 64 }, (struct tn_ref){ sync_mem, 0, 64 });
	REFUSED(b->copy(sync_dev, &k), TN_E_ARG, "belongs to another plugin");
	logged[0] = 0;
	c2.backend.close(s2);
	assert_non_null(strstr(logged, "close: a memory of 512 bytes is still alive: destroyed now"));
	assert_non_null(strstr(logged, "close: a queue"));
	assert_non_null(strstr(logged, "close: a device"));
	assert_int_equal(p.live, before);
	LOGGED(c2.backend.release(m2), "was released before");
	assert_int_equal(c2.backend.open(&host2, &s2), TN_OK);             /* not closed at all */
	logged[0] = 0;
	tn_validate_unwrap(&c2);
	assert_non_null(strstr(logged, "unload: a plugin instance is still alive"));
	assert_int_equal(p.live, before);
	REFUSED(c2.backend.open(&host2, &s2), TN_E_ARG, "is not the one that this table was made for");
	tn_validate_unwrap(&c2);
}

/* ---- compiling */
static void test_compile(void **state)
{
	(void)state;
	struct tn_program *out[2] = { NULL, NULL };
	uint64_t scratch[2];
	struct tn_entry e[2] = { { "a", &graph, NULL, "" }, { "b", &graph, NULL, "" } };
	struct tn_compile k = compile_of(e, 2, out, scratch), good = k;
#define BAD(change, part) do { k = good; change; REFUSED(b->compile(self, &k), TN_E_ARG, part); } while (0)
	BAD(k.entries.count = 0, "there are no entries");
	BAD(k.target = NULL, "target is NULL");
	BAD(k.programs = NULL, "programs is NULL");
	BAD(k.scratch = NULL, "scratch is NULL");
	BAD(k.optimise = 3, "optimise is 3");
	BAD(k.head.kind = 1, "compile has size");
	BAD(k.text = "x", "has length 0");
	BAD(k.artifact_len = 1, "has length 1");
	BAD((k.text = "x", k.text_len = 1), "entry 0 (a) has a graph, and there is text");
	e[1].graph = NULL;
	BAD((void)0, "entry 1 (b) has no graph, and there is no text");
	e[1].graph = &graph;
	e[0].name = NULL;
	BAD((void)0, "entry 0 has no name");
	e[0].name = "a";
	REFUSED(b->compile(NULL, &good), TN_E_ARG, "self is NULL");
	k = good;
	p.mischief = 1;
	FAULT(b->compile(self, &k), TN_E_INTERNAL, "answers OK and gives no program for entry 1 (b)");
	assert_true(!out[0] && !out[1]);                                   /* all or none; the one it gave is back */
	p.mischief = 2;
	p.answer = TN_E_CALL;
	logged[0] = 0;
	k = good;
	assert_int_equal(b->compile(self, &k), TN_E_CALL);
	assert_non_null(strstr(logged, "failed (9) and yet gave a program for entry 0 (a)"));
	assert_true(!out[0] && !out[1]);
	for (int i = 0; i < 2; i++) end(p.left[i], PROGRAM);               /* nobody's after that mischief */
	p.mischief = 0;
	p.answer = TN_E_DECLINED;
	k = good;
	FAULT(b->compile(self, &k), TN_E_INTERNAL, "declined node number 0 is not in entry 0");
	assert_int_equal(k.n_declined, 0);
}

static void test_asking(void **state)
{
	(void)state;
	struct tn_verdict v[2];
	uint64_t bytes;
	int64_t dims[] = { 4, -1 };
	assert_int_equal(b->can(self, "t", &graph, v), TN_OK);
	assert_int_equal(v[1].answer, TN_CAN_YES);
	REFUSED(b->can(self, NULL, &graph, v), TN_E_ARG, "target is NULL");
	REFUSED(b->can(self, "t", NULL, v), TN_E_ARG, "graph is NULL");
	p.mischief = 1;
	FAULT(b->can(self, "t", &graph, v), TN_E_INTERNAL, "gives no verdict on node 0");
	FAULT(b->layout_bytes(self, "panels", TN_F32, 1, dims, &bytes), TN_E_INTERNAL, "leaves the size unset");
	p.mischief = 0;
	assert_int_equal(b->layout_bytes(self, "panels", TN_F32, 1, dims, &bytes), TN_OK);
	assert_int_equal(bytes, 640);
	REFUSED(b->layout_bytes(self, "panels", TN_F32, 2, dims, &bytes), TN_E_ARG, "dim 1 is -1");
	REFUSED(b->layout_bytes(self, "panels", 99, 1, dims, &bytes), TN_E_ARG, "dtype 99");
	REFUSED(b->layout_bytes(self, NULL, TN_F32, 1, dims, &bytes), TN_E_ARG, "layout is NULL");
	struct { struct tn_device_info info; char room[TN_ROOM]; } d = { { .head = TN_HEAD(tn_device_info, TN_KIND_DEVICE_INFO) }, { 0 } };
	assert_int_equal(b->devices(self, 2, &d.info), TN_E_RANGE);
	d.info.head.size = 3;
	REFUSED(b->devices(self, 0, &d.info), TN_E_ARG, "device info has size 3");
	d.info.head = (struct tn_head)TN_HEAD(tn_device_info, TN_KIND_DEVICE_INFO);
	p.mischief = 1;
	FAULT(b->devices(self, 0, &d.info), TN_E_INTERNAL, "device 0 has no target");
	uint64_t x, y;
	FAULT(b->clock(sync_dev, &x, &y), TN_E_INTERNAL, "leaves its times unset");
	assert_int_equal(b->artifact_check(self, "x", 1, "t"), TN_E_STALE);
	REFUSED(b->artifact_check(self, NULL, 1, "t"), TN_E_ARG, "artifact_check");
	assert_int_equal(b->counters(sync_dev, 0, &(struct tn_counter){ 0 }), TN_E_RANGE);
	assert_null(b->extension(self, "x", 1));
}

/* ---- queues, timelines, records */
static void test_queues_and_timelines(void **state)
{
	(void)state;
	struct tn_queue *q;
	struct tn_timeline *t;
	char bytes[64];
	REFUSED(b->queue_create(sync_dev, 1, &q), TN_E_RANGE, "queue row 1 of 1");
	assert_int_equal(b->queue_create(sync_dev, 0, &q), TN_OK);
	assert_int_equal(b->timeline_create(sync_dev, &t), TN_OK);
	struct tn_copy k = copy_of((struct tn_ref){ sync_mem, 0, 64 }, (struct tn_ref){ NULL, (uint64_t)(uintptr_t)bytes, 64 });
	struct tn_sync sync[] = { { t, 5 } };
	k.queue = q;
	k.waits = sync;
	k.n_waits = 1;
	assert_int_equal(b->copy(sync_dev, &k), TN_OK);
	assert_int_equal(p.copy.waits[0].value, 5);
	k.queue = (struct tn_queue *)(void *)t;
	REFUSED(b->copy(sync_dev, &k), TN_E_ARG, "is a timeline, not a queue");
	p.answer = TN_E_CALL;                                              /* failed once, failed for ever */
	assert_int_equal(b->timeline_wait(t, 5, 0), TN_E_CALL);
	FAULT(b->timeline_wait(t, 5, 0), TN_E_INTERNAL, "had failed (9) and now answers OK");
	LOGGED(b->device_close(sync_dev), "3 live objects");
	b->timeline_release(t);
	b->queue_release(q);
	LOGGED(b->queue_release(q), "was released before");
}

static void test_records(void **state)
{
	(void)state;
	int64_t scalars[] = { 4 };
	struct tn_ref refs[] = { { sync_mem, 0, 64 }, { sync_mem, 64, 64 } };
	struct tn_launch one = launch_of(refs, scalars), two = one;
	two.program = program[1];
	const struct tn_launch *list[] = { &one, &two }, *turned[] = { &two, &one };
	struct tn_record *r;
	REFUSED(b->record(sync_dev, list, 0, &r), TN_E_ARG, "there are no launches");
	refs[1].offset = 1;
	REFUSED(b->record(sync_dev, list, 2, &r), TN_E_ARG, "buffers[1]: offset 1");
	refs[1].offset = 64;
	two.grid[0] = 0;
	REFUSED(b->record(sync_dev, list, 2, &r), TN_E_ARG, "grid[0] is 0");
	two.grid[0] = 1;
	assert_int_equal(b->record(sync_dev, list, 2, &r), TN_OK);
	assert_int_equal(b->replay(r, list, 2, NULL), TN_OK);
	REFUSED(b->replay(r, list, 1, NULL), TN_E_ARG, "1 launches, 2 were recorded");
	REFUSED(b->replay(r, turned, 2, NULL), TN_E_ARG, "launch 0 has another program than the recorded one");
	REFUSED(b->replay(r, list, 2, TOKEN), TN_E_ARG, "there is a token");
	b->record_release(r);
	REFUSED(b->replay(r, list, 2, NULL), TN_E_ARG, "was released before (a record)");
}

/* optional members that the plugin lacks stay NULL, or are the host's stubs */
static void test_absent_members(void **state)
{
	(void)state;
	struct tn_backend few = backend;
	struct tn_candidate c2 = { 0 };
	char missing[100];
	few.can = NULL;
	few.record = NULL;
	few.replay = NULL;
	few.record_release = NULL;
	few.queue_create = NULL;
	few.queue_release = NULL;
	tn_backend_take(&few, &c2.backend, missing, sizeof missing);
	tn_validate_wrap(&c2, &host2);
	assert_true(!c2.backend.can && !c2.backend.record && !c2.backend.replay && !c2.backend.record_release);
	struct tn_self *s;
	struct tn_device *d;
	struct tn_queue *q = (struct tn_queue *)(void *)&s;
	assert_int_equal(c2.backend.open(&host2, &s), TN_OK);
	assert_int_equal(c2.backend.device_open(s, 0, &d), TN_OK);
	assert_int_equal(c2.backend.queue_create(d, 0, &q), TN_OK);        /* the one queue, named by NULL */
	assert_null(q);
	c2.backend.queue_release(q);
	c2.backend.device_close(d);
	c2.backend.close(s);
	logged[0] = 0;
	tn_validate_unwrap(&c2);
	assert_string_equal(logged, "");
	few.queue_create = p_queue_create;
	tn_backend_take(&few, &c2.backend, missing, sizeof missing);
	assert_string_equal(missing, "queue_release");
	few = (struct tn_backend){ .head = TN_HEAD(tn_backend, TN_KIND_BACKEND) };
	tn_backend_take(&few, &c2.backend, missing, 40);
	assert_string_equal(missing, "open, close, devices, device_open, devi");       /* cut, not past its room */
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_alloc), TEST(test_map), TEST(test_copy), TEST(test_launch), TEST(test_kernel), TEST(test_asynchronous), TEST(test_dead_device), TEST(test_destroyers),
		TEST(test_leaks_are_told_and_swept), TEST(test_compile), TEST(test_asking), TEST(test_queues_and_timelines), TEST(test_records), TEST(test_absent_members),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
