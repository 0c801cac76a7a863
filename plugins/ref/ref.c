/* ref.c - tables, life, device and memory of the reference plugin. */
#include <stdio.h>
#include <string.h>
#include "ref.h"

#define CAPACITY (UINT64_C(4) << 30)

void *ref_new(const struct tn_host *h, uint64_t size)
{
	void *p = h->alloc(h->ctx, size ? size : 1, 64);
	if (p) memset(p, 0, size);
	return p;
}

static int32_t open_self(const struct tn_host *h, struct tn_self **out)
{
	struct ref_self *s = ref_new(h, sizeof *s);
	if (!s) return TN_E_NOMEM;
	s->host = h;
	*out = (struct tn_self *)(void *)s;
	return TN_OK;
}

static void close_self(struct tn_self *s)
{
	if (s) ref_self_of(s)->host->free(ref_self_of(s)->host->ctx, s);
}

/* ---- the device */
static const struct tn_space spaces[] = { { .kind = TN_SPACE_DEVICE, .capacity = CAPACITY, .align = 64, .granule = 64 } };
static const struct tn_queue_row queues[] = { { 15, 1 } };

static int32_t devices(struct tn_self *s, uint32_t i, struct tn_device_info *out)
{
	(void)s;
	if (i) return TN_E_RANGE;
	snprintf(out->uid, sizeof out->uid, "ref");
	snprintf(out->name, sizeof out->name, "reference device, one thread");
	snprintf(out->target, sizeof out->target, "ref");
	out->gflops = 0.8;
	out->gib_s = 1;
	out->spaces = (struct tn_space_rows)TN_ROWS(spaces);
	out->queues = (struct tn_queue_row_rows)TN_ROWS(queues);
	return TN_OK;
}

static int32_t alloc(struct tn_device *d, uint32_t space, uint64_t size, uint64_t flags, struct tn_memory **out)
{
	struct ref_self *s = ref_device_self(d);
	(void)flags;
	*out = NULL;
	if (space) return TN_E_UNSUPPORTED;
	struct ref_memory *m = ref_new(s->host, sizeof *m);
	if (!m) return TN_E_NOMEM;
	m->self = s;
	m->size = size;
	m->cells = s->host->alloc(s->host->ctx, size ? size : 1, 64);
	if (!m->cells) { s->host->free(s->host->ctx, m); return TN_E_NOMEM; }
	*out = (struct tn_memory *)(void *)m;
	return TN_OK;
}

static void release(struct tn_memory *tm)
{
	if (!tm) return;
	struct ref_memory *m = ref_memory_of(tm);
	const struct tn_host *h = m->self->host;
	h->free(h->ctx, m->cells);
	h->free(h->ctx, m);
}

/* ---- the table: atoms of bool, i32, i64, f16, f32 */
#define B TN_M(TN_BOOL)
#define I (TN_M(TN_I32) | TN_M(TN_I64))
#define F (TN_M(TN_F16) | TN_M(TN_F32))
#define A (B | I | F)
#define CAP1(p, a, o)    { .prim = TN_##p, .version = 1, .in0 = (a), .out = (o) }
#define CAP2(p, a, b, o) { .prim = TN_##p, .version = 1, .in0 = (a), .in1 = (b), .out = (o) }
static const struct tn_cap_row caps[] = {
	CAP2(add, I | F, I | F, I | F), CAP2(sub, I | F, I | F, I | F), CAP2(mul, I | F, I | F, I | F), CAP2(div, I | F, I | F, I | F),
	CAP2(rem, I | F, I | F, I | F), CAP2(max, A, A, A), CAP2(min, A, A, A), CAP2(and, B | I, B | I, B | I), CAP2(or, B | I, B | I, B | I),
	CAP2(xor, B | I, B | I, B | I), CAP2(shl, I, I, I), CAP2(shr, I, I, I), CAP2(eq, A, A, B), CAP2(lt, A, A, B), CAP2(le, A, A, B),
	{ .prim = TN_select, .version = 1, .in0 = B, .in1 = A, .rest = A, .out = A },
	CAP1(floor, F, F), CAP1(round, F, F), CAP1(sqrt, F, F), CAP1(convert, A, A), CAP1(bitcast, I | F, I | F),
	{ .prim = TN_full, .version = 1, .out = A }, { .prim = TN_iota, .version = 1, .out = I | F },
	CAP1(broadcast, A, A), CAP1(permute, A, A), CAP1(reshape, A, A), CAP1(slice, A, A), CAP2(pad, A, A, A), CAP1(window, A, A),
	{ .prim = TN_cat, .version = 1, .in0 = A, .in1 = A, .rest = A, .out = A },
	CAP2(gather, A, I, A), { .prim = TN_scatter, .version = 1, .in0 = A, .in1 = I, .rest = A, .out = A },
	CAP1(sum, I | F, I | F), CAP1(prod, I | F, I | F), CAP1(reduce_max, A, A), CAP1(reduce_min, A, A), CAP1(cumulate, I | F, I | F),
	CAP2(dot, I | F, I | F, I | F),
};
static const struct tn_rule_row rules[] = {
	{ .id = "node", .version = 1, .anchor = TN_CLASS_ALL, .max_inputs = REF_MAX_ARGS, .max_nodes = 1, .flags = TN_RULE_GRAPH | TN_RULE_ATOMS },
};
static const struct tn_target_row targets[] = { { "ref", NULL, 0 } };

static const struct tn_backend backend = {
	.head = TN_HEAD(tn_backend, TN_KIND_BACKEND), .id = "ref", .version = "0.1.0",
	.rules = TN_ROWS(rules), .caps = TN_ROWS(caps), .targets = TN_ROWS(targets),
	.open = open_self, .close = close_self, .devices = devices, .device_open = ref_device_open, .device_close = ref_device_close,
	.alloc = alloc, .release = release, .copy = ref_copy,
	.compile = ref_compile, .program_release = ref_program_release, .launch = ref_launch,
};
TN_PLUGIN("ref", backend, 1)
