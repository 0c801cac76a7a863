/* pool.h - one long-lived team of threads.  A small job stays on the caller; a region costs one wake-up.
 * Threads spin a short while (not at all when there are more runnable threads than cores), then sleep on a futex. */
#ifndef TENON_POOL_H
#define TENON_POOL_H
#include <stdint.h>

/* tn_cores - cores this process may use: the affinity mask, and the CPU quota of its cgroups (v1 and v2) rounded up; at least 1 */
uint32_t tn_cores(void);
uint32_t tn_cores_quota(const char *root);            /* the quota alone, UINT32_MAX without one; files are looked for below root ("" is the system) */

struct tn_pool;
struct tn_pool *tn_pool_create(uint32_t n_threads);   /* the caller counts as one; 0: TENON_THREADS, else the cores this process may use; NULL without memory */
void tn_pool_destroy(struct tn_pool *p);              /* accepts NULL; joins */
uint32_t tn_pool_threads(const struct tn_pool *p);

/* tn_pool_parallel - f(arg, i) for i in 0..n-1, any order, any thread; returns when all are done.  Callable from many threads
 * and from inside f (then it runs on the caller; also when another thread's region has the team).  f must not unwind past itself. */
void tn_pool_parallel(struct tn_pool *p, uint64_t n, void (*f)(void *arg, uint64_t i), void *arg);

/* tn_pool_team - f(arg, rank, n) on n threads that run at once and may meet at tn_barrier_wait; n = 1 when called from inside a team
 * or while another thread's region has it */
void tn_pool_team(struct tn_pool *p, void (*f)(void *arg, uint32_t rank, uint32_t n), void *arg);

struct tn_barrier { _Alignas(64) uint32_t arrived; _Alignas(64) uint32_t round; };   /* zeroed is ready */
void tn_barrier_wait(struct tn_barrier *b, uint32_t n);
#endif
