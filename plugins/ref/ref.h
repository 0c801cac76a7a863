/* ref.h - the reference plugin: every atom as a plain loop, one node a program.  Memory that the host cannot reach and an asynchronous
 * queue, so that it also proves the ways that a device of its own needs.  The plugin to copy when starting a backend. */
#ifndef REF_H
#define REF_H
#include <pthread.h>
#include <string.h>
#include <tenon/plugin.h>

#define REF_MAX_ARGS 32
#define REF_MAX_RANK 8

struct ref_self { const struct tn_host *host; };
struct ref_memory { struct ref_self *self; uint64_t size; unsigned char *cells; };

/* ---- programs: one node, with all that a launch needs copied out of the graph */
struct ref_value { uint32_t dtype, rank, dim[REF_MAX_RANK]; };                     /* dims: rows of sizes */
struct ref_attr { uint32_t name, count; int64_t i; double f; const int64_t *ints; const uint32_t *sizes; int is_float; };
struct ref_program {
	struct ref_self *self;
	uint32_t prim, n_in, n_out, n_attr, n_size;
	struct ref_value in[REF_MAX_ARGS], out[2];
	uint32_t arg[REF_MAX_ARGS];                /* operand -> buffer of the launch */
	uint32_t result[2];
	struct ref_attr attr[16];
	struct tn_size *size;
	int64_t *ints;
	uint32_t *size_list;
};

/* ---- one run: shapes known, buffers found */
struct ref_array { uint32_t dtype, rank; int64_t dim[REF_MAX_RANK], stride[REF_MAX_RANK], n; unsigned char *at; };   /* dense; strides in elements */
struct ref_run {
	const struct ref_program *p;
	const struct tn_host *host;
	const int64_t *size;                       /* values of p->size */
	struct ref_array in[REF_MAX_ARGS], out;
	int32_t code; const char *words;           /* set by what fails */
};
struct ref_cell { float f; int64_t i; };         /* f32 and f16 in f, the others in i */
float ref_from_half(uint16_t h);
uint16_t ref_to_half(float x);
static inline int ref_is_float(uint32_t dtype) { return dtype == TN_F32 || dtype == TN_F16; }
static inline uint32_t ref_bytes(uint32_t dtype) { return dtype == TN_BOOL ? 1 : dtype == TN_F16 ? 2 : dtype == TN_I64 ? 8 : 4; }

static inline struct ref_cell ref_get(const struct ref_array *a, int64_t i)
{
	struct ref_cell c = { 0, 0 };
	const unsigned char *p = a->at + i * (int64_t)ref_bytes(a->dtype);
	uint16_t h;
	int32_t n;
	switch (a->dtype) {
	case TN_F32: memcpy(&c.f, p, 4); break;
	case TN_F16: memcpy(&h, p, 2); c.f = ref_from_half(h); break;
	case TN_I32: memcpy(&n, p, 4); c.i = n; break;
	case TN_I64: memcpy(&c.i, p, 8); break;
	default: c.i = *p != 0; break;
	}
	return c;
}

static inline void ref_put(const struct ref_array *a, int64_t i, struct ref_cell c)
{
	unsigned char *p = a->at + i * (int64_t)ref_bytes(a->dtype);
	uint16_t h;
	int32_t n;
	switch (a->dtype) {
	case TN_F32: memcpy(p, &c.f, 4); break;
	case TN_F16: h = ref_to_half(c.f); memcpy(p, &h, 2); break;
	case TN_I32: n = (int32_t)(uint32_t)(uint64_t)c.i; memcpy(p, &n, 4); break;
	case TN_I64: memcpy(p, &c.i, 8); break;
	default: *p = c.i != 0; break;
	}
}

const struct ref_attr *ref_attr(const struct ref_program *p, uint32_t name);
int64_t ref_int(const struct ref_program *p, uint32_t name, int64_t otherwise);
int ref_next(int64_t *at, const int64_t *dim, uint32_t rank);                      /* odometer, last dim fastest; 0 after the last */

/* elementwise.c, move.c, reduce.c: 1 when the primitive is theirs */
int ref_elementwise(struct ref_run *r);
int ref_move(struct ref_run *r);
int ref_reduce(struct ref_run *r);
int32_t ref_execute(const struct ref_program *p, const struct tn_ref *buffers, const int64_t *scalars);

/* program.c */
int32_t ref_compile(struct tn_self *s, struct tn_compile *c);
void ref_program_release(struct tn_program *p);

/* queue.c: work in order, on a thread of the device's own */
struct ref_device;
int32_t ref_device_open(struct tn_self *s, uint32_t i, struct tn_device **d);
void ref_device_close(struct tn_device *d);
int32_t ref_launch(struct tn_device *d, const struct tn_launch *l);
int32_t ref_copy(struct tn_device *d, const struct tn_copy *c);
struct ref_self *ref_device_self(struct tn_device *d);

static inline struct ref_self *ref_self_of(struct tn_self *s) { return (struct ref_self *)(void *)s; }
static inline struct ref_memory *ref_memory_of(struct tn_memory *m) { return (struct ref_memory *)(void *)m; }
static inline struct ref_program *ref_program_of(struct tn_program *p) { return (struct ref_program *)(void *)p; }
void *ref_new(const struct tn_host *h, uint64_t size);                             /* zeroed, or NULL */
#endif
