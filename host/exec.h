/* exec.h - inside of an executable: a plan, its programs, resident values, and a pool of instances, one for each call in flight. */
#ifndef TENON_EXEC_H
#define TENON_EXEC_H
#include "host/session.h"

union tn_room_launch { struct tn_launch l; unsigned char room[sizeof(struct tn_launch) + TN_ROOM]; };
union tn_room_copy { struct tn_copy c; unsigned char room[sizeof(struct tn_copy) + TN_ROOM]; };

/* one call's worth of bindings for one set of symbol values; kept for the next call with the same ones */
struct tn_instance {
	struct tn_instance *next;
	struct tn_executable *x;
	struct tn_diag diag;
	struct tn_arena arena;               /* everything below */
	int64_t *symbols;
	int64_t *plan_sizes;                 /* values of plan->sizes */
	int64_t **sizes;                     /* by program: values of its sizes */
	uint64_t *bytes, *offsets;           /* by plan buffer */
	struct tn_ref *refs;                 /* by plan buffer */
	struct tn_ref **args;                /* by launch: refs in the program's order */
	int64_t **scalars;                   /* by launch */
	union tn_room_launch *launches;
	uint32_t *chosen;                    /* by launch: the variant that serves these sizes */
	struct tn_token *tokens; unsigned char *pending;   /* by launch, on asynchronous devices */
	void **host_arena; uint64_t *host_room;            /* by segment: domain 0 */
	struct tn_memory **dev_arena; uint64_t *dev_room;  /* by segment * n_domains + domain */
	void *scratch;                       /* domain 0 */
	struct tn_memory **dev_scratch;      /* by domain */
	uint64_t *scratch_room, *scratch_need;   /* by domain: bytes there, bytes that a segment asks for */
	void **temp;                         /* by input, then by output: dense stand-ins */
	int once;                            /* for the constant launches: nothing else is sized or laid out */
	uint64_t used;                       /* tick of the newest use */
	uint64_t generation;                 /* of the programs it was bound for */
	struct tn_record *record;            /* of the whole call, or NULL */
	uint64_t recorded;                   /* generation of the programs in it */
};

struct tn_executable {
	struct tn_session *s;
	struct tn_model *model;
	struct tn_diag diag;
	struct tn_arena arena;
	struct tn_compiled c;
	_Atomic(struct tn_program *) *program;   /* by program; NULL: not yet, or interpreted */
	uint64_t *scratch;                       /* by program; written before the program is stored, read once it is seen */
	_Atomic uint64_t generation;             /* grows when programs arrive */
	struct tn_ref *resident;                 /* by plan buffer: CONSTANT and RESIDENT */
	struct tn_memory **owned; uint32_t n_owned, cap_owned; uint32_t *owned_slot;
	void **owned_host; uint32_t n_owned_host, cap_owned_host;
	uint64_t constant_bytes;
	_Atomic uint64_t from_cache;
	pthread_mutex_t lock; pthread_cond_t idle;   /* of the next three lines */
	struct tn_instance *free; uint32_t n_free, n_busy;
	uint64_t tick, last_arena;
	double compile_ms;
	pthread_t worker; int has_worker;        /* compiles while the interpreter answers */
};

/* compile.c: texts and regions to programs, through the cache.  Fills x->program.  TN_E_DECLINED: deny holds what to keep away */
int32_t tn_compile_programs(struct tn_executable *x, uint64_t **deny, uint32_t *n_deny, unsigned char *no_text, struct tn_diag *d);

/* instance.c */
const struct tn_space *tn_domain_space(const struct tn_session *s, uint32_t domain, uint32_t *number);   /* where buffers live; domain is not 0 */
int32_t tn_domain_alloc(struct tn_session *s, uint32_t domain, uint64_t size, struct tn_memory **out, struct tn_diag *d);  /* a slab; trims once */
/* symbols NULL: an instance for the constant launches alone, which hang on no symbol; it is given back as broken */
int32_t tn_instance_take(struct tn_executable *x, const int64_t *symbols, struct tn_instance **out, struct tn_diag *d);
void tn_instance_give(struct tn_instance *in, int broken);
void tn_instance_destroy(struct tn_instance *in);
int32_t tn_instance_segment(struct tn_instance *in, uint32_t segment, struct tn_diag *d);   /* sizes and arenas of a segment whose symbols are known */

/* launch.c */
int32_t tn_launch_run(struct tn_instance *in, uint32_t launch, struct tn_diag *d);
int tn_launch_empty(const struct tn_instance *in, uint32_t launch);   /* a grid of 0: nothing to compute for these sizes */
/* the program of a launch, or NULL: interpreted, still compiling, or it came after the binding and needs more scratch than that has */
struct tn_program *tn_launch_program(const struct tn_instance *in, uint32_t launch);
int32_t tn_launch_drain(struct tn_instance *in, struct tn_diag *d);   /* waits for everything pending; the first failure; d NULL: keeps no words */
int32_t tn_plugin_failed(struct tn_session *s, uint32_t slot, const char *what, int32_t code, struct tn_diag *d);
int32_t tn_domain_copy(struct tn_session *s, uint32_t domain, struct tn_ref dst, struct tn_ref src, struct tn_diag *d);  /* waits */
#endif
