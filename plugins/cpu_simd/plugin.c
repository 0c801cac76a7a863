/* plugin.c - the CPU plugin: one device, the host's memory and threads, kernels as generated C beside precompiled contraction cores. */
#include <stdio.h>
#include <string.h>
#include "cpu.h"
#include "isa.h"
#include "tables.h"

/* ---- life */
static int32_t open_self(const struct tn_host *h, struct tn_self **out)
{
	char isa[32] = "";
	const char *why = "";
	struct cpu_self *s = cpu_new(h, sizeof *s);
	if (!s) return TN_E_NOMEM;
	s->host = h;
	if (h->option(h->ctx, "cpu_simd.isa", isa, sizeof isa) != TN_OK) isa[0] = 0;
	if (h->option(h->ctx, "cpu_simd.cc", s->cc, sizeof s->cc) != TN_OK) s->cc[0] = 0;
	s->cores = cpu_isa_select(isa[0] ? isa : NULL, &why);
	if (!s->cores) {
		char words[160];
		snprintf(words, sizeof words, "option cpu_simd.isa=%s: %s", isa, why);
		h->free(h->ctx, s);
		return h->fail(h->ctx, TN_E_ARG, 0, words);
	}
	*out = (struct tn_self *)(void *)s;
	return TN_OK;
}

static void close_self(struct tn_self *s)
{
	if (s) cpu_self_of(s)->host->free(cpu_self_of(s)->host->ctx, s);
}

/* ---- the device */
static const struct tn_space spaces[] = { { .kind = TN_SPACE_HOST, .align = 64, .granule = 64 } };

static void read_model_name(char *out, size_t cap)
{
	char line[256];
	FILE *f = fopen("/proc/cpuinfo", "r");
	snprintf(out, cap, "CPU");
	while (f && fgets(line, sizeof line, f)) {
		char *colon = strncmp(line, "model name", 10) ? NULL : strchr(line, ':');
		if (!colon) continue;
		snprintf(out, cap, "%.30s", colon + 2);
		out[strcspn(out, "\n")] = 0;
		break;
	}
	if (f) fclose(f);
}

static int32_t devices(struct tn_self *ts, uint32_t i, struct tn_device_info *out)
{
	struct cpu_self *s = cpu_self_of(ts);
	char model[40];
	if (i) return TN_E_RANGE;
	read_model_name(model, sizeof model);
	uint32_t threads = s->host->threads(s->host->ctx);
	snprintf(out->uid, sizeof out->uid, "cpu");
	snprintf(out->name, sizeof out->name, "%s, %s, %u thread%s", model, s->cores->isa, threads, threads == 1 ? "" : "s");
	snprintf(out->target, sizeof out->target, "%s", s->cores->isa);
	out->flags = TN_DEV_SYNC | TN_DEV_HOST_ADDRESS;
	out->gflops = (double)s->cores->vector_bytes / 4 * 4 * 3 * threads;       /* two FMA units at about 3 GHz */
	out->gib_s = 10;
	out->spaces = (struct tn_space_rows)TN_ROWS(spaces);
	return TN_OK;
}

static int32_t device_open(struct tn_self *s, uint32_t i, struct tn_device **out)
{
	(void)i;
	struct cpu_device *d = cpu_new(cpu_self_of(s)->host, sizeof *d);
	if (!d) return TN_E_NOMEM;
	d->self = cpu_self_of(s);
	*out = (struct tn_device *)(void *)d;
	return TN_OK;
}

static void device_close(struct tn_device *d)
{
	if (d) cpu_device_of(d)->self->host->free(cpu_device_of(d)->self->host->ctx, d);
}

/* ---- memory */
static int32_t alloc(struct tn_device *d, uint32_t space, uint64_t size, uint64_t flags, struct tn_memory **out)
{
	struct cpu_self *s = cpu_device_of(d)->self;
	(void)flags;
	*out = NULL;
	if (space) return TN_E_UNSUPPORTED;
	struct cpu_memory *m = cpu_new(s->host, sizeof *m);
	if (!m) return TN_E_NOMEM;
	m->self = s;
	m->at = s->host->alloc(s->host->ctx, size, 64);
	if (!m->at) { s->host->free(s->host->ctx, m); return TN_E_NOMEM; }
	*out = (struct tn_memory *)(void *)m;
	return TN_OK;
}

static void release(struct tn_memory *tm)
{
	if (!tm) return;
	struct cpu_memory *m = cpu_memory_of(tm);
	const struct tn_host *h = m->self->host;
	h->free(h->ctx, m->at);
	h->free(h->ctx, m);
}

static int32_t copy(struct tn_device *d, const struct tn_copy *c)
{
	(void)d;
	memmove(cpu_at(&c->dst), cpu_at(&c->src), c->src.size);
	return TN_OK;
}

static int32_t map(struct tn_memory *m, void **at) { *at = cpu_memory_of(m)->at; return TN_OK; }

/* ---- the table */
static const struct tn_target_row targets[] = { { "baseline", NULL, 0 }, { "avx2", "baseline", 0 }, { "avx512", "avx2", 0 } };
static const struct tn_layout_row layouts[] = { { "dot.b.panels", TN_M(TN_F32) | TN_M(TN_F64) | TN_M(TN_I32) | TN_M(TN_U32) | TN_M(TN_I64) | TN_M(TN_U64), 0 } };
static const struct tn_cap_row caps[] = {
	{ .prim = TN_pack, .version = 1, .out = TN_M(TN_F32) | TN_M(TN_F64) | TN_M(TN_I32) | TN_M(TN_U32) | TN_M(TN_I64) | TN_M(TN_U64),
	  .in0 = TN_M(TN_F32) | TN_M(TN_F64) | TN_M(TN_I32) | TN_M(TN_U32) | TN_M(TN_I64) | TN_M(TN_U64), .rank_lo = 2, .rank_hi = 8 },
};
#define SIMPLE (TN_CLASS(TN_CLASS_POINTWISE) | TN_CLASS(TN_CLASS_VIEW) | TN_CLASS(TN_CLASS_DATA) | TN_CLASS(TN_CLASS_GATHER))
static const struct tn_rule_row rules[] = {
	{ .id = "pack", .version = 1, .anchor = TN_CLASS(TN_CLASS_PACK), .max_nodes = 1, .flags = TN_RULE_GRAPH | TN_RULE_STATIC },
	{ .id = "contract", .version = 1, .anchor = TN_CLASS(TN_CLASS_CONTRACT), .producers = SIMPLE, .consumers = SIMPLE, .max_inputs = 32, .max_nodes = 256, .benefit = 4 },
	{ .id = "rows", .version = 1, .anchor = TN_CLASS(TN_CLASS_ROWS) | TN_CLASS(TN_CLASS_REDUCE), .producers = SIMPLE | TN_CLASS(TN_CLASS_REDUCE),
	  .consumers = SIMPLE | TN_CLASS(TN_CLASS_REDUCE), .max_inputs = 32, .max_nodes = 256, .benefit = 3 },
	{ .id = "cumulate", .version = 1, .anchor = TN_CLASS(TN_CLASS_CUMULATE), .producers = SIMPLE, .consumers = SIMPLE, .max_inputs = 32, .max_nodes = 64, .benefit = 2 },
	{ .id = "scatter", .version = 1, .anchor = TN_CLASS(TN_CLASS_SCATTER), .producers = SIMPLE, .max_inputs = 32, .max_nodes = 64, .benefit = 2 },
	{ .id = "pointwise", .version = 1, .anchor = SIMPLE, .producers = SIMPLE, .consumers = SIMPLE, .max_inputs = 32, .max_nodes = 256, .benefit = 1 },
};

static const struct tn_backend backend = {
	.head = TN_HEAD(tn_backend, TN_KIND_BACKEND), .id = "cpu_simd", .version = "0.1.0",
	.dialect = CPU_DIALECT, .words = CPU_WORDS, .templates = CPU_TEMPLATES,
	.rules = TN_ROWS(rules), .caps = TN_ROWS(caps), .layouts = TN_ROWS(layouts), .targets = TN_ROWS(targets),
	.open = open_self, .close = close_self, .devices = devices, .device_open = device_open, .device_close = device_close,
	.alloc = alloc, .release = release, .copy = copy, .map = map,
	.compile = cpu_compile, .program_release = cpu_program_release, .layout_bytes = cpu_layout_bytes,
	.launch = cpu_launch, .record = cpu_record, .replay = cpu_replay, .record_release = cpu_record_release,
};
TN_PLUGIN("cpu_simd", backend, 1)
