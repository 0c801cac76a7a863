/* cpu.h - objects of the CPU plugin.  The device is the host's own memory and threads. */
#ifndef CPU_H
#define CPU_H
#include <stdatomic.h>
#include <tenon/plugin.h>
#include "core.h"

struct cpu_self { const struct tn_host *host; const struct cpu_cores *cores; char name[64], cc[64]; };
struct cpu_device { struct cpu_self *self; };
struct cpu_memory { struct cpu_self *self; void *at; };

/* what a generated kernel is called with; the same struct stands in templates/preamble.c.tmpl */
struct cpu_args { void *const *b; const int64_t *s; int64_t lo, hi; void *scratch; const struct cpu_cores *cores; int64_t rank; };

struct cpu_module { struct cpu_self *self; _Atomic uint32_t uses; void *library; };       /* one shared object, several programs */
struct cpu_pack { uint32_t dtype; uint32_t rank; int64_t dims[8]; };
struct cpu_program {
	struct cpu_module *module;               /* NULL for packs */
	void (*run)(const struct cpu_args *a);
	struct cpu_self *self;
	struct cpu_pack pack;
};

static inline struct cpu_self *cpu_self_of(struct tn_self *s) { return (struct cpu_self *)(void *)s; }
static inline struct cpu_device *cpu_device_of(struct tn_device *d) { return (struct cpu_device *)(void *)d; }
static inline struct cpu_memory *cpu_memory_of(struct tn_memory *m) { return (struct cpu_memory *)(void *)m; }
static inline struct cpu_program *cpu_program_of(struct tn_program *p) { return (struct cpu_program *)(void *)p; }
static inline void *cpu_at(const struct tn_ref *r)
{
	return r->memory ? (char *)cpu_memory_of(r->memory)->at + r->offset : (void *)(uintptr_t)r->offset;
}
void *cpu_new(const struct tn_host *h, uint64_t size);                 /* zeroed */

/* compile.c */
int32_t cpu_compile(struct tn_self *s, struct tn_compile *c);
void cpu_program_release(struct tn_program *p);
/* pack.c */
int32_t cpu_pack_compile(struct cpu_self *s, struct tn_compile *c);
void cpu_pack_run(const struct cpu_program *p, const struct tn_ref *src, const struct tn_ref *dst);
int32_t cpu_layout_bytes(struct tn_self *s, const char *layout, uint32_t dtype, uint32_t rank, const int64_t *dims, uint64_t *bytes);
/* launch.c */
int32_t cpu_launch(struct tn_device *d, const struct tn_launch *l);
int32_t cpu_record(struct tn_device *d, const struct tn_launch *const *l, uint64_t n, struct tn_record **r);
int32_t cpu_replay(struct tn_record *r, const struct tn_launch *const *l, uint64_t n, struct tn_token *token);
void cpu_record_release(struct tn_record *r);
#endif
