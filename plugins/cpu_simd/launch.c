/* launch.c - running programs: tiles shared out among the host's team, and recorded lists in one wake-up.
 *
 * Tiles are taken from a counter, so a slow thread takes fewer; which thread runs a tile never changes its result.  In a replay the
 * team stays together over the whole list and meets only where the next launch may read what others still write; what is one tile
 * runs on one thread, and neighbours of that kind need no meeting between them. */
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "cpu.h"

#define MAX_BUFFERS 64
#define SPIN        2000      /* looks at a counter before sleeping: about 10 us */
#define SHARE       8         /* pieces a thread's fair share is cut into */

/* ---- one launch, ready to run */
struct work {
	const struct cpu_program *program;
	const struct tn_launch *l;
	void *b[MAX_BUFFERS];
	int64_t tiles, piece, scratch;
	_Alignas(64) _Atomic int64_t next;
};

static int32_t prepare(struct work *w, const struct tn_launch *l, uint32_t threads)
{
	w->program = cpu_program_of(l->program);
	w->l = l;
	if (l->n_buffers > MAX_BUFFERS) return w->program->self->host->fail(w->program->self->host->ctx, TN_E_RANGE, 0, "a kernel with more than 64 buffers");
	for (uint64_t i = 0; i < l->n_buffers; i++) w->b[i] = cpu_at(&l->buffers[i]);
	w->tiles = w->program->run ? (int64_t)l->grid[0] * l->grid[1] * l->grid[2] : 1;
	w->piece = w->tiles / (int64_t)(threads * SHARE);
	if (w->piece < 1) w->piece = 1;
	w->scratch = (int64_t)(l->scratch.size / threads) & ~INT64_C(63);
	atomic_store_explicit(&w->next, 0, memory_order_relaxed);
	return TN_OK;
}

static void run_tiles(struct work *w, uint32_t rank, int64_t lo, int64_t hi)
{
	if (!w->program->run) { cpu_pack_run(w->program, &w->l->buffers[0], &w->l->buffers[1]); return; }
	struct cpu_args a = { .b = w->b, .s = w->l->scalars, .lo = lo, .hi = hi, .cores = w->program->self->cores, .rank = rank,
		.scratch = w->l->scratch.size ? (char *)cpu_at(&w->l->scratch) + w->scratch * rank : NULL };
	w->program->run(&a);
}

static void share(struct work *w, uint32_t rank)
{
	for (;;) {
		int64_t lo = atomic_fetch_add_explicit(&w->next, w->piece, memory_order_relaxed);
		if (lo >= w->tiles) return;
		run_tiles(w, rank, lo, lo + w->piece < w->tiles ? lo + w->piece : w->tiles);
	}
}

static void launch_rank(void *arg, uint32_t rank, uint32_t n) { (void)n; share(arg, rank); }

int32_t cpu_launch(struct tn_device *d, const struct tn_launch *l)
{
	const struct tn_host *h = cpu_device_of(d)->self->host;
	struct work w;
	int32_t st = prepare(&w, l, h->threads(h->ctx));
	if (st != TN_OK || w.tiles == 0) return st;
	if (w.tiles == 1) run_tiles(&w, 0, 0, 1);
	else return h->team(h->ctx, launch_rank, &w);
	return TN_OK;
}

/* ---- meeting: all n threads of a team arrive before any goes on */
struct meeting { _Alignas(64) _Atomic uint32_t arrived; _Alignas(64) _Atomic uint32_t round; };

static void meet(struct meeting *m, uint32_t n)
{
	if (n == 1) return;
	uint32_t round = atomic_load(&m->round);
	if (atomic_fetch_add(&m->arrived, 1) + 1 == n) {
		atomic_store(&m->arrived, 0);
		atomic_fetch_add(&m->round, 1);
		syscall(SYS_futex, &m->round, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
		return;
	}
	for (int i = 0; i < SPIN; i++) {
		if (atomic_load_explicit(&m->round, memory_order_acquire) != round) return;
#if defined __x86_64__
		__builtin_ia32_pause();
#endif
	}
	while (atomic_load_explicit(&m->round, memory_order_acquire) == round) syscall(SYS_futex, &m->round, FUTEX_WAIT_PRIVATE, round, NULL, NULL, 0);
}

/* ---- recorded lists */
struct cpu_record { struct cpu_self *self; uint64_t n; struct work *work; struct meeting meeting; };

int32_t cpu_record(struct tn_device *d, const struct tn_launch *const *l, uint64_t n, struct tn_record **out)
{
	struct cpu_self *s = cpu_device_of(d)->self;
	(void)l;
	struct cpu_record *r = cpu_new(s->host, sizeof *r);
	if (!r) return TN_E_NOMEM;
	r->self = s;
	r->n = n;
	r->work = cpu_new(s->host, n ? n * sizeof *r->work : 1);
	if (!r->work) { s->host->free(s->host->ctx, r); return TN_E_NOMEM; }
	*out = (struct tn_record *)(void *)r;
	return TN_OK;
}

void cpu_record_release(struct tn_record *tr)
{
	struct cpu_record *r = (struct cpu_record *)(void *)tr;
	if (!r) return;
	r->self->host->free(r->self->host->ctx, r->work);
	r->self->host->free(r->self->host->ctx, r);
}

static void replay_rank(void *arg, uint32_t rank, uint32_t n)
{
	struct cpu_record *r = arg;
	int shared = 0;                         /* tiles of an earlier launch may still run on other threads, or on thread 0 alone */
	for (uint64_t i = 0; i < r->n; i++) {
		struct work *w = &r->work[i];
		if (w->tiles == 0) continue;
		int alone = w->tiles == 1;
		if (i && (shared || !alone)) meet(&r->meeting, n);
		if (alone) { if (rank == 0) run_tiles(w, 0, 0, 1); }
		else share(w, rank);
		shared = !alone;
	}
}

int32_t cpu_replay(struct tn_record *tr, const struct tn_launch *const *l, uint64_t n, struct tn_token *token)
{
	struct cpu_record *r = (struct cpu_record *)(void *)tr;
	const struct tn_host *h = r->self->host;
	(void)token;                            /* synchronous */
	if (n != r->n) return h->fail(h->ctx, TN_E_ARG, 0, "replay of another number of launches than recorded");
	for (uint64_t i = 0; i < n; i++) {
		int32_t st = prepare(&r->work[i], l[i], h->threads(h->ctx));
		if (st != TN_OK) return st;
	}
	return h->team(h->ctx, replay_rank, r);
}
