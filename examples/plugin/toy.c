/* toy.c - the smallest whole backend: a device with memory of its own and one thread, kernels through the system's C compiler
 * (kernel way), a matrix product from a "vendor's library" (graph way).  Copy it, then change toy_tables.h and the functions below. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include "toy_tables.h"

struct toy_self    { const struct tn_host *host; };
struct toy_device  { struct toy_self *self; };
struct toy_memory  { struct toy_self *self; unsigned char *cells; };
struct toy_program {
	struct toy_self *self;
	void *library;                                                   /* kernel way: the shared object that holds run */
	void (*run)(void *const *b, const int64_t *s, int64_t tile);
	int64_t k, n;                                                    /* graph way: result [m, n] = x [m, k] * y [k, n] */
	uint32_t x, y;                                                   /* which of the launch's buffers they are */
};

/* ---- handles: the only casts */
static struct toy_self *self_of(struct tn_self *s) { return (struct toy_self *)(void *)s; }
static struct toy_device *device_of(struct tn_device *d) { return (struct toy_device *)(void *)d; }
static struct toy_memory *memory_of(struct tn_memory *m) { return (struct toy_memory *)(void *)m; }
static struct toy_program *program_of(struct tn_program *p) { return (struct toy_program *)(void *)p; }

static void *make(const struct toy_self *s, uint64_t size)
{
	void *p = s->host->alloc(s->host->ctx, size, 64);
	if (p) memset(p, 0, size);
	return p;
}

static void drop(const struct toy_self *s, void *p) { s->host->free(s->host->ctx, p); }
static int32_t fail(const struct toy_self *s, int32_t code, const char *words) { return s->host->fail(s->host->ctx, code, 0, words); }

/* ---- life */
static int32_t toy_open(const struct tn_host *h, struct tn_self **out)
{
	struct toy_self *s = make(&(struct toy_self){ h }, sizeof *s);
	if (!s) return TN_E_NOMEM;
	s->host = h;
	*out = (struct tn_self *)(void *)s;
	return TN_OK;
}

static void toy_close(struct tn_self *s) { if (s) drop(self_of(s), s); }

static const struct tn_space spaces[] = { { .kind = TN_SPACE_DEVICE, .align = 64, .granule = 64 } };

static int32_t toy_devices(struct tn_self *s, uint32_t i, struct tn_device_info *out)
{
	(void)s;
	if (i) return TN_E_RANGE;
	snprintf(out->uid, sizeof out->uid, "toy");
	snprintf(out->name, sizeof out->name, "toy device, one thread");
	snprintf(out->target, sizeof out->target, "toy-1");
	out->flags = TN_DEV_SYNC;               /* launch and copy have finished when they return: no queue, no tokens */
	out->gflops = 1;
	out->gib_s = 5;
	out->spaces = (struct tn_space_rows)TN_ROWS(spaces);
	return TN_OK;
}

static int32_t toy_device_open(struct tn_self *s, uint32_t i, struct tn_device **out)
{
	(void)i;
	struct toy_device *d = make(self_of(s), sizeof *d);
	if (!d) return TN_E_NOMEM;
	d->self = self_of(s);
	*out = (struct tn_device *)(void *)d;
	return TN_OK;
}

static void toy_device_close(struct tn_device *d) { if (d) drop(device_of(d)->self, d); }

/* ---- memory: slabs, which the host cuts up; it never sees an address */
static int32_t toy_alloc(struct tn_device *d, uint32_t space, uint64_t size, uint64_t flags, struct tn_memory **out)
{
	struct toy_self *s = device_of(d)->self;
	(void)space, (void)flags;
	struct toy_memory *m = make(s, sizeof *m);
	if (!m) return TN_E_NOMEM;
	m->self = s;
	m->cells = s->host->alloc(s->host->ctx, size, 64);
	if (!m->cells) {
		drop(s, m);
		return TN_E_NOMEM;
	}
	*out = (struct tn_memory *)(void *)m;
	return TN_OK;
}

static void toy_release(struct tn_memory *m)
{
	if (!m) return;
	struct toy_self *s = memory_of(m)->self;
	drop(s, memory_of(m)->cells);
	drop(s, m);
}

static void *at(const struct tn_ref *r) { return r->memory ? (void *)(memory_of(r->memory)->cells + r->offset) : (void *)(uintptr_t)r->offset; }

static int32_t toy_copy(struct tn_device *d, const struct tn_copy *c)
{
	(void)d;
	memmove(at(&c->dst), at(&c->src), c->src.size);
	return TN_OK;
}

/* ---- programs */
static void toy_program_release(struct tn_program *p)
{
	if (!p) return;
	if (program_of(p)->library) dlclose(program_of(p)->library);
	drop(program_of(p)->self, p);
}

/* all or none: what was made goes when one entry fails */
static int32_t undo(struct tn_compile *c, int32_t code)
{
	for (uint64_t i = 0; i < c->entries.count; i++) {
		toy_program_release(c->programs[i]);
		c->programs[i] = NULL;
	}
	return code;
}

static struct toy_program *new_program(struct toy_self *s, struct tn_compile *c, uint64_t entry)
{
	struct toy_program *p = make(s, sizeof *p);
	if (p) p->self = s;
	c->programs[entry] = (struct tn_program *)(void *)p;
	return p;
}

/* ---- kernel way: one text holds all entries; one compiler start, one shared object */
static int32_t build(struct toy_self *s, const struct tn_compile *c, const char *dir)
{
	const char *contract = c->numerics == TN_STRICT ? "-ffp-contract=off" : "-ffp-contract=fast";
	const char *const argv[] = { "cc", "-O2", "-w", "-shared", "-fPIC", "-fwrapv", "-fno-strict-aliasing", "-fno-math-errno", contract,
		"-o", "k.so", "k.c", "-lm", NULL };
	char path[256], output[1024], words[1200];
	snprintf(path, sizeof path, "%s/k.c", dir);
	FILE *f = fopen(path, "wb");
	if (!f) return fail(s, TN_E_CALL, "toy: no room for the kernels' text");
	int written = fwrite(c->text, 1, c->text_len, f) == c->text_len;
	if (fclose(f) || !written) return fail(s, TN_E_CALL, "toy: no room for the kernels' text");
	int32_t st = s->host->tool(s->host->ctx, argv, dir, 60000, c->job, output, sizeof output);
	if (st == TN_E_UNSUPPORTED) return fail(s, st, "toy: no C compiler (cc) on the PATH");      /* the host interprets then */
	if (st == TN_OK) return st;
	snprintf(words, sizeof words, "toy: cc failed on a kernel: %s", output);
	return fail(s, st, words);
}

static int32_t load(struct toy_self *s, struct tn_compile *c, const char *dir)
{
	char path[256];
	snprintf(path, sizeof path, "%s/k.so", dir);
	for (uint64_t i = 0; i < c->entries.count; i++) {
		struct toy_program *p = new_program(s, c, i);
		if (!p) return undo(c, TN_E_NOMEM);
		p->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);                /* counted: the same object for every entry */
		void *run = p->library ? dlsym(p->library, c->entries.at[i].name) : NULL;
		if (!run) return undo(c, fail(s, TN_E_CALL, "toy: a compiled kernel does not load"));
		memcpy(&p->run, &run, sizeof run);
	}
	return TN_OK;
}

static int32_t from_text(struct toy_self *s, struct tn_compile *c)
{
	char dir[160];
	int32_t st = s->host->tool_dir(s->host->ctx, dir, sizeof dir);
	if (st != TN_OK) return fail(s, TN_E_CALL, "toy: no private folder for the compiler");
	st = build(s, c, dir);
	if (st == TN_OK) st = load(s, c, dir);
	s->host->tool_dir_remove(s->host->ctx, dir);
	return st;
}

/* ---- graph way: rule "matmul" hands over one dot as a graph.  Plain x [m, k] * y [k, n] with k and n known is taken; the rest is
 * declined: the host then places those nodes elsewhere. */
static const struct tn_value *value_at(const struct tn_graph *g, uint32_t operand) { return &g->values.at[g->operands[operand]]; }

static int64_t fixed_dim(const struct tn_graph *g, const struct tn_value *v, uint32_t dim)
{
	const struct tn_size *z = &g->sizes.at[g->dims[v->dim0 + dim]];
	return z->op == TN_SIZE_CONST ? z->value : -1;
}

static int is_plain(const struct tn_graph *g, const struct tn_node *n)
{
	int plain = g->nodes.count == 1 && n->prim == TN_dot && value_at(g, n->in0)->rank == 2 && value_at(g, n->in0 + 1)->rank == 2;
	for (uint32_t i = 0; plain && i < n->n_attr; i++) {
		const struct tn_attr *a = &g->attrs.at[n->attr0 + i];
		if (a->name == TN_ATTR_contract) plain = a->count == 2 && g->ints[a->at] == 1 && g->ints[a->at + 1] == 0;
		if (a->name == TN_ATTR_batch) plain = a->count == 0;
	}
	return plain;
}

/* an operand's place among the launch's buffers: the region's inputs, in their order */
static uint32_t input_of(const struct tn_graph *g, uint32_t value)
{
	uint32_t i = 0;
	while (i < g->n_in && g->operands[g->in0 + i] != value) i++;
	return i;
}

static int32_t from_graph(struct toy_self *s, struct tn_compile *c)
{
	static const uint32_t all_nodes[] = { 0 };
	for (uint64_t i = 0; i < c->entries.count; i++) {
		const struct tn_graph *g = c->entries.at[i].graph;
		const struct tn_node *n = &g->nodes.at[0];
		int64_t k = is_plain(g, n) ? fixed_dim(g, value_at(g, n->in0), 1) : -1, cols = k > 0 ? fixed_dim(g, value_at(g, n->in0 + 1), 1) : -1;
		if (k <= 0 || cols <= 0) {
			c->declined = all_nodes;
			c->n_declined = 1;
			c->declined_entry = i;
			return undo(c, fail(s, TN_E_DECLINED, "toy: only [m, k] * [k, n] with k and n fixed"));
		}
		struct toy_program *p = new_program(s, c, i);
		if (!p) return undo(c, TN_E_NOMEM);
		p->k = k;
		p->n = cols;
		p->x = input_of(g, g->operands[n->in0]);
		p->y = input_of(g, g->operands[n->in0 + 1]);
	}
	return TN_OK;
}

static int32_t toy_compile(struct tn_self *s, struct tn_compile *c)
{
	if (c->artifact) return TN_E_STALE;     /* nothing is saved: c->save stays NULL */
	return c->text ? from_text(self_of(s), c) : from_graph(self_of(s), c);
}

/* ---- running */
static void matmul(const float *x, const float *y, float *out, int64_t m, int64_t k, int64_t n)
{
	memset(out, 0, (size_t)(m * n) * sizeof *out);
	for (int64_t i = 0; i < m; i++)
		for (int64_t p = 0; p < k; p++)
			for (int64_t j = 0; j < n; j++) out[i * n + j] += x[i * k + p] * y[p * n + j];
}

static int32_t toy_launch(struct tn_device *d, const struct tn_launch *l)
{
	struct toy_self *s = device_of(d)->self;
	const struct toy_program *p = program_of(l->program);
	if (!p->run) {
		const struct tn_ref *out = &l->buffers[l->n_buffers - 1];
		matmul(at(&l->buffers[p->x]), at(&l->buffers[p->y]), at(out), (int64_t)out->size / (4 * p->n), p->k, p->n);
		return TN_OK;
	}
	void **b = make(s, (l->n_buffers + 1) * sizeof *b);
	if (!b) return TN_E_NOMEM;
	for (uint64_t i = 0; i < l->n_buffers; i++) b[i] = at(&l->buffers[i]);
	for (int64_t t = 0; t < l->grid[0]; t++) p->run(b, l->scalars, t);       /* the templates' grids have one dim */
	drop(s, b);
	return TN_OK;
}

static const struct tn_backend toy = {
	.head = TN_HEAD(tn_backend, TN_KIND_BACKEND), .id = "org.example.toy", .version = "1.0",
	.dialect = TN_ROWS(toy_dialect), .words = TN_ROWS(toy_words), .templates = TN_ROWS(toy_templates), .rules = TN_ROWS(toy_rules),
	.caps = TN_ROWS(toy_caps), .targets = TN_ROWS(toy_targets),
	.open = toy_open, .close = toy_close, .devices = toy_devices, .device_open = toy_device_open, .device_close = toy_device_close,
	.alloc = toy_alloc, .release = toy_release, .copy = toy_copy,
	.compile = toy_compile, .program_release = toy_program_release, .launch = toy_launch,
};
TN_PLUGIN("org.example.toy", toy, 1)
