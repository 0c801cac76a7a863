/* pool.c - one long-lived team of threads
 *
 * One region runs at a time; whoever finds the team busy (another thread, or f itself) runs alone, so nothing can deadlock.
 * A region is announced by its epoch and joined through the gate, one 64-bit word:
 *
 *     epoch (32) | open (1) | still wanted (15) | joined (16)
 *
 * A worker enters by compare-and-swap, which fails once the gate has closed, so the caller of a parallel region never waits for
 * a thread that has not woken up: it does the work itself and waits only for those who came in.  A team keeps its gate open
 * until all have come. */
#include "base/pool.h"
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base/arena.h"

enum { MAX_THREADS = 1024, SPIN_NS = 30000, CHUNKS = 8 };
#define OPEN   (UINT64_C(1) << 31)
#define WANTED (UINT64_C(1) << 16)

struct job {
	void (*each)(void *arg, uint64_t i);                   /* parallel */
	void (*team)(void *arg, uint32_t rank, uint32_t n);    /* or team */
	void *arg;
	uint64_t n, chunk;
};

struct tn_pool {                       /* the pads keep apart what different threads write */
	uint32_t n_threads, spin_ns, busy, stop;
	pthread_t *workers;
	struct job job;
	char pad0[64];
	uint64_t gate;
	uint32_t epoch, sleepers;
	char pad1[64];
	uint64_t next;                 /* the first item nobody took */
	char pad2[64];
	uint32_t left, caller_sleeps;  /* workers that have finished this region */
};

#define load(p)     __atomic_load_n((p), __ATOMIC_SEQ_CST)
#define store(p, v) __atomic_store_n((p), (v), __ATOMIC_SEQ_CST)
#define add(p, v)   __atomic_fetch_add((p), (v), __ATOMIC_SEQ_CST)

static void futex_wait(const uint32_t *at, uint32_t seen)
{
	syscall(SYS_futex, at, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static void futex_wake(const uint32_t *at, int n)
{
	syscall(SYS_futex, at, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
}

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void pause_core(void)
{
#if defined __x86_64__ || defined __i386__
	__builtin_ia32_pause();
#elif defined __aarch64__
	__asm__ volatile("yield");
#endif
}

/* spins while (*at & mask) == seen, for ns at most; the value last read */
static uint32_t spin(const uint32_t *at, uint32_t mask, uint32_t seen, uint32_t ns)
{
	uint32_t v = load(at);
	if (!ns || (v & mask) != seen)
		return v;
	for (uint64_t end = now_ns() + ns; (v & mask) == seen && now_ns() < end;)
		for (int i = 0; i < 32 && ((v = load(at)) & mask) == seen; i++)
			pause_core();
	return v;
}

/* ---- the worker's side */
static void work(struct tn_pool *p, uint32_t rank)
{
	const struct job *j = &p->job;
	if (j->team) {
		j->team(j->arg, rank, p->n_threads);
		return;
	}
	for (uint64_t i; (i = add(&p->next, j->chunk)) < j->n;) {
		uint64_t end = j->chunk < j->n - i ? i + j->chunk : j->n;
		for (; i < end; i++)
			j->each(j->arg, i);
	}
}

/* The rank in the open region, 0 when there is none; *seen becomes its epoch, so that nobody enters a region twice. */
static uint32_t join(struct tn_pool *p, uint32_t *seen)
{
	uint64_t g = load(&p->gate);
	while ((g & OPEN) && (g & (OPEN - WANTED)) && (uint32_t)(g >> 32) != *seen)
		if (__atomic_compare_exchange_n(&p->gate, &g, g - WANTED + 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
			*seen = (uint32_t)(g >> 32);
			return (uint32_t)(g & (WANTED - 1)) + 1;
		}
	return 0;
}

static void await_region(struct tn_pool *p, uint32_t seen)
{
	if (spin(&p->epoch, UINT32_MAX, seen, p->spin_ns) != seen)
		return;
	add(&p->sleepers, 1u);
	while (load(&p->epoch) == seen)
		futex_wait(&p->epoch, seen);
	add(&p->sleepers, -1u);
}

static void *worker(void *arg)
{
	struct tn_pool *p = arg;
	for (uint32_t epoch = 0, joined = 0; !load(&p->stop);) {
		uint32_t rank = join(p, &joined);
		if (rank) {
			work(p, rank);
			add(&p->left, 1u);
			if (load(&p->caller_sleeps))
				futex_wake(&p->left, 1);
			continue;
		}
		await_region(p, epoch);
		epoch = load(&p->epoch);
	}
	return NULL;
}

/* ---- the caller's side */
static int acquire(struct tn_pool *p)
{
	return p->n_threads > 1 && !load(&p->busy) && !__atomic_exchange_n(&p->busy, 1u, __ATOMIC_SEQ_CST);
}

static void announce(struct tn_pool *p, uint32_t wanted)
{
	uint32_t epoch = load(&p->epoch) + 1;
	if (!epoch)
		epoch = 1;                                     /* 0 is "none joined yet" */
	store(&p->next, UINT64_C(0));
	store(&p->left, 0u);
	store(&p->gate, (uint64_t)epoch << 32 | OPEN | wanted * WANTED);
	store(&p->epoch, epoch);
	if (load(&p->sleepers))
		futex_wake(&p->epoch, (int)wanted);
}

static void await_workers(struct tn_pool *p, uint32_t n)
{
	uint32_t left;
	while ((left = load(&p->left)) != n) {
		if (spin(&p->left, UINT32_MAX, left, p->spin_ns) != left)
			continue;
		store(&p->caller_sleeps, 1u);
		if (load(&p->left) == left)
			futex_wait(&p->left, left);
		store(&p->caller_sleeps, 0u);
	}
}

void tn_pool_parallel(struct tn_pool *p, uint64_t n, void (*f)(void *arg, uint64_t i), void *arg)
{
	if (n <= 1 || !acquire(p)) {
		for (uint64_t i = 0; i < n; i++)
			f(arg, i);
		return;
	}
	uint64_t chunk = n / ((uint64_t)p->n_threads * CHUNKS);
	p->job = (struct job){ .each = f, .arg = arg, .n = n, .chunk = chunk ? chunk : 1 };
	announce(p, n - 1 < p->n_threads - 1 ? (uint32_t)n - 1 : p->n_threads - 1);
	work(p, 0);
	uint64_t g = __atomic_exchange_n(&p->gate, UINT64_C(0), __ATOMIC_SEQ_CST);
	await_workers(p, (uint32_t)(g & (WANTED - 1)));
	store(&p->busy, 0u);
}

void tn_pool_team(struct tn_pool *p, void (*f)(void *arg, uint32_t rank, uint32_t n), void *arg)
{
	if (!acquire(p)) {
		f(arg, 0, 1);
		return;
	}
	p->job = (struct job){ .team = f, .arg = arg };
	announce(p, p->n_threads - 1);
	work(p, 0);
	await_workers(p, p->n_threads - 1);
	store(&p->gate, UINT64_C(0));
	store(&p->busy, 0u);
}

/* The lowest bit of round says that someone sleeps on it, so that a barrier of spinning threads makes no system call. */
void tn_barrier_wait(struct tn_barrier *b, uint32_t n)
{
	static uint32_t cores;
	uint32_t c = __atomic_load_n(&cores, __ATOMIC_RELAXED);
	if (!c)
		__atomic_store_n(&cores, c = tn_cores(), __ATOMIC_RELAXED);
	uint32_t round = load(&b->round) & ~1u;
	if (add(&b->arrived, 1u) + 1 == n) {
		store(&b->arrived, 0u);
		if (__atomic_exchange_n(&b->round, round + 2, __ATOMIC_SEQ_CST) & 1)
			futex_wake(&b->round, INT_MAX);
		return;
	}
	uint32_t v = spin(&b->round, ~1u, round, n > c ? 0 : SPIN_NS);
	while ((v & ~1u) == round) {
		if ((v & 1) || __atomic_compare_exchange_n(&b->round, &v, round | 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			futex_wait(&b->round, round | 1);
		v = load(&b->round);
	}
}

/* ---- life */
static uint32_t wanted_threads(void)
{
	const char *s = secure_getenv("TENON_THREADS");
	char *end;
	errno = 0;
	unsigned long n = s && *s >= '0' && *s <= '9' ? strtoul(s, &end, 10) : 0;
	return n && !errno && !*end && n <= MAX_THREADS ? (uint32_t)n : tn_cores();
}

/* Signals stay with the program's own threads. */
static uint32_t start_workers(struct tn_pool *p, uint32_t n)
{
	sigset_t all, old;
	uint32_t i;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	for (i = 0; i < n && !pthread_create(&p->workers[i], NULL, worker, p); i++)
		pthread_setname_np(p->workers[i], "tenon");
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return i;
}

struct tn_pool *tn_pool_create(uint32_t n_threads)
{
	uint32_t n = n_threads ? n_threads : wanted_threads();
	n = n > MAX_THREADS ? MAX_THREADS : n;
	struct tn_pool *p = tn_sys_alloc(sizeof *p);
	if (!p || !(p->workers = tn_sys_alloc(n * sizeof *p->workers))) {
		free(p);
		return NULL;
	}
	p->spin_ns = n > tn_cores() ? 0 : SPIN_NS;
	p->n_threads = start_workers(p, n - 1) + 1;
	return p;
}

void tn_pool_destroy(struct tn_pool *p)
{
	if (!p)
		return;
	store(&p->stop, 1u);
	add(&p->epoch, 1u);
	futex_wake(&p->epoch, INT_MAX);
	for (uint32_t i = 0; i + 1 < p->n_threads; i++)
		pthread_join(p->workers[i], NULL);
	free(p->workers);
	free(p);
}

uint32_t tn_pool_threads(const struct tn_pool *p)
{
	return p->n_threads;
}
