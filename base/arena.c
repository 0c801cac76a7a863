/* arena.c - blocks of memory with one lifetime, and the arrays, texts and cleanups that live in them
 *
 * Blocks come zeroed from the system and remember how far they were ever used (dirty), so that only recycled bytes are cleared
 * again.  Under AddressSanitizer the unused rest of a block and a gap after each piece are poisoned: a stray access inside an
 * arena is seen as well as one in plain malloc memory. */
#include "base/arena.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define GAP 16u
#define HIDE(p, n) __asan_poison_memory_region((p), (n))
#define OPEN(p, n) __asan_unpoison_memory_region((p), (n))
#else
#define GAP 0u
#define HIDE(p, n) ((void)0)
#define OPEN(p, n) ((void)0)
#endif

enum { ALIGN = 16, FIRST_BLOCK = 4 << 10, LAST_BLOCK = 1 << 20 };

struct tn_block { struct tn_block *older; size_t size, used, dirty; };   /* size bytes follow */
struct tn_deferred { struct tn_deferred *older; void (*f)(void *); void *arg; };
_Static_assert(sizeof(struct tn_block) % ALIGN == 0, "what follows a block's head is aligned");

__attribute__((weak)) void *tn_sys_alloc(size_t size)
{
	return calloc(1, size);
}

void tn_arena_init(struct tn_arena *a, struct tn_diag *d)
{
	*a = (struct tn_arena){ .diag = d };
}

static char *bytes_of(struct tn_block *b)
{
	return (char *)(b + 1);
}

/* The next block: twice the newest within the limits, or as large as the piece that asks for it. */
static struct tn_block *add_block(struct tn_arena *a, size_t piece)
{
	size_t size = a->block ? a->block->size + sizeof *a->block : FIRST_BLOCK / 2;
	size = size > LAST_BLOCK / 2 ? LAST_BLOCK : size * 2;
	size -= sizeof(struct tn_block);
	if (size < piece)
		size = piece;
	struct tn_block *b = tn_sys_alloc(sizeof *b + size);
	if (!b)
		return NULL;
	b->older = a->block;
	b->size = size;
	HIDE(bytes_of(b), size);
	return a->block = b;
}

/* alloc without raising: NULL when there is no memory */
static void *take(struct tn_arena *a, size_t size)
{
	if (size > (size_t)PTRDIFF_MAX - sizeof(struct tn_block) - ALIGN - GAP)
		return NULL;
	size_t piece = ((size ? size : 1) + ALIGN - 1) / ALIGN * ALIGN + GAP;
	struct tn_block *b = a->block;
	if (!b || b->size - b->used < piece)
		b = add_block(a, piece);
	if (!b)
		return NULL;
	char *p = bytes_of(b) + b->used;
	OPEN(p, size);
	if (b->used < b->dirty)
		memset(p, 0, size < b->dirty - b->used ? size : b->dirty - b->used);
	b->used += piece;
	if (b->dirty < b->used)
		b->dirty = b->used;
	return p;
}

void *tn_arena_alloc(struct tn_arena *a, size_t size)
{
	void *p = take(a, size);
	if (!p)
		tn_raise(a->diag, TN_E_NOMEM, "out of memory: %zu bytes asked for", size);
	return p;
}

void tn_arena_defer(struct tn_arena *a, void (*f)(void *), void *arg)
{
	struct tn_deferred *e = take(a, sizeof *e);
	if (!e) {
		f(arg);
		tn_raise(a->diag, TN_E_NOMEM, "out of memory: %zu bytes asked for", sizeof *e);
	}
	*e = (struct tn_deferred){ a->deferred, f, arg };
	a->deferred = e;
}

struct tn_mark tn_arena_mark(const struct tn_arena *a)
{
	return (struct tn_mark){ a->block, a->block ? a->block->used : 0, a->deferred };
}

void tn_arena_reset(struct tn_arena *a, struct tn_mark m)
{
	while (a->deferred != m.deferred) {
		struct tn_deferred *e = a->deferred;
		a->deferred = e->older;
		e->f(e->arg);
	}
	while (a->block != m.block) {
		struct tn_block *b = a->block;
		a->block = b->older;
		free(b);
	}
	if (a->block) {
		a->block->used = m.used;
		HIDE(bytes_of(a->block) + m.used, a->block->size - m.used);
	}
}

void tn_arena_fini(struct tn_arena *a)
{
	tn_arena_reset(a, (struct tn_mark){ 0 });
}

size_t tn_size_mul(struct tn_diag *d, size_t a, size_t b)
{
	size_t r;
	if (__builtin_mul_overflow(a, b, &r))
		tn_raise(d, TN_E_RANGE, "size %zu * %zu does not fit in %zu bits", a, b, 8 * sizeof r);
	return r;
}

/* cap_bytes: how wide the caller's cap is; doubling it must not wrap */
void *tn_grow_(struct tn_arena *a, const void *v, uint64_t n, size_t elem, size_t cap_bytes)
{
	uint64_t limit = cap_bytes >= 8 ? UINT64_MAX : (UINT64_C(1) << (8 * cap_bytes)) - 1;
	if (n > limit / 2 || n > SIZE_MAX / 2)
		tn_raise(a->diag, TN_E_RANGE, "an array of %llu elements cannot grow: its count has %zu bytes", (unsigned long long)n, cap_bytes);
	void *p = tn_arena_alloc(a, tn_size_mul(a->diag, n ? (size_t)n * 2 : 8, elem));
	if (n)
		memcpy(p, v, (size_t)n * elem);
	return p;
}

void *tn_copy_bytes(struct tn_arena *a, const void *p, size_t size)
{
	void *r = tn_arena_alloc(a, size);
	return size ? memcpy(r, p, size) : r;
}

char *tn_strdup(struct tn_arena *a, const char *s)
{
	return tn_copy_bytes(a, s, strlen(s) + 1);
}

char *tn_printf(struct tn_arena *a, const char *fmt, ...)
{
	va_list ap, again;
	va_start(ap, fmt);
	va_copy(again, ap);
	int len = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	size_t room = len < 0 ? 1 : (size_t)len + 1;
	char *s = take(a, room);
	if (s)
		vsnprintf(s, room, fmt, again);
	va_end(again);
	if (!s || len < 0)
		tn_raise(a->diag, s ? TN_E_RANGE : TN_E_NOMEM, "no text of %d bytes: %s", len, fmt);
	return s;
}

/* room for len more bytes and the terminator */
static void text_room(struct tn_text *t, size_t len)
{
	size_t need;
	if (t->cap > t->len && len < t->cap - t->len)
		return;
	if (__builtin_add_overflow(t->len, len, &need) || need > SIZE_MAX / 2)
		tn_raise(t->arena->diag, TN_E_RANGE, "a text of %zu bytes cannot take %zu more", t->len, len);
	size_t cap = t->cap ? t->cap * 2 : 128;
	if (cap <= need)
		cap = need + 1;
	char *at = tn_arena_alloc(t->arena, cap);
	if (t->len)
		memcpy(at, t->at, t->len);
	t->at = at;
	t->cap = cap;
}

void tn_text_add(struct tn_text *t, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	int len = vsnprintf(t->at ? t->at + t->len : NULL, t->cap - t->len, fmt, ap);
	va_end(ap);
	if (len < 0)
		tn_raise(t->arena->diag, TN_E_RANGE, "text cannot be formatted: %s", fmt);
	if ((size_t)len >= t->cap - t->len) {
		text_room(t, (size_t)len);
		va_start(ap, fmt);
		vsnprintf(t->at + t->len, t->cap - t->len, fmt, ap);
		va_end(ap);
	}
	t->len += (size_t)len;
}

void tn_text_put(struct tn_text *t, const char *bytes, size_t len)
{
	text_room(t, len);
	if (len)
		memcpy(t->at + t->len, bytes, len);
	t->len += len;
	t->at[t->len] = 0;
}
