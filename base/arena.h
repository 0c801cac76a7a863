/* arena.h - memory with one lifetime, freed at once.  Three lifetimes: process, graph (one compilation), scratch (one pass). */
#ifndef TENON_ARENA_H
#define TENON_ARENA_H
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include "base/diag.h"

struct tn_block;
struct tn_deferred;
struct tn_arena {
	struct tn_diag *diag;         /* where running out of memory is raised */
	struct tn_block *block;       /* newest block */
	struct tn_deferred *deferred; /* newest first; run by fini and reset */
};
struct tn_mark { struct tn_block *block; size_t used; struct tn_deferred *deferred; };

void tn_arena_init(struct tn_arena *a, struct tn_diag *d);
void tn_arena_fini(struct tn_arena *a);                      /* accepts zeroed memory; twice is fine */
void *tn_arena_alloc(struct tn_arena *a, size_t size);       /* zeroed, 16-byte aligned, never NULL: raises TN_E_NOMEM */
void tn_arena_defer(struct tn_arena *a, void (*f)(void *), void *arg); /* without memory: runs f(arg), then raises, so nothing leaks */
struct tn_mark tn_arena_mark(const struct tn_arena *a);
void tn_arena_reset(struct tn_arena *a, struct tn_mark m);   /* forget what came after the mark */

/* tn_sys_alloc - where base gets its memory: zeroed, NULL when there is none; given back by free().  Weak: a test program that
 * defines its own can fail the k-th allocation. */
void *tn_sys_alloc(size_t size);

/* tn_size_mul - a * b, or raises TN_E_RANGE naming both */
size_t tn_size_mul(struct tn_diag *d, size_t a, size_t b);

#define tn_new(a, T)      ((T *)tn_arena_alloc((a), sizeof(T)))
#define tn_array(a, T, n) ((T *)tn_arena_alloc((a), tn_size_mul((a)->diag, (size_t)(n), sizeof(T))))

/* tn_push - room for one more at the end of a growing array: `*tn_push(a, v, n, cap) = x;` appends and counts.
 *   v pointer lvalue, n and cap unsigned lvalues (any width).  The old array stays valid in the arena. */
#define tn_push(a, v, n, cap) \
	((n) == (cap) ? (void)((v) = tn_grow_((a), (v), (n), sizeof *(v), sizeof(cap)), (cap) = (cap) ? (cap) * 2 : 8) : (void)0, \
	 &(v)[(n)++])
void *tn_grow_(struct tn_arena *a, const void *v, uint64_t n, size_t elem, size_t cap_bytes);

void *tn_copy_bytes(struct tn_arena *a, const void *p, size_t size);
char *tn_strdup(struct tn_arena *a, const char *s);
char *tn_printf(struct tn_arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* a growing text; at is always terminated once something was added */
struct tn_text { struct tn_arena *arena; char *at; size_t len, cap; };
void tn_text_add(struct tn_text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void tn_text_put(struct tn_text *t, const char *bytes, size_t len);

/* a hash map from bytes to a number.  Keys are copied into the arena. */
struct tn_map { struct tn_arena *arena; struct tn_map_slot *slots; uint32_t n, cap; };
uint64_t *tn_map_at(struct tn_map *m, const void *key, size_t len);             /* finds or adds with value 0; good until the next add */
const uint64_t *tn_map_find(const struct tn_map *m, const void *key, size_t len); /* NULL when absent */
uint64_t tn_hash(const void *p, size_t len);                                    /* 64 bits, not for security */
#endif
