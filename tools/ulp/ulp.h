/* ulp.h - inside tools/ulp: measuring the definitions of the elementwise primitives, as compiled kernels, against truth.
 *
 * An error is in ulp of the correctly rounded result's binade (subnormals: the last one's).  Past the largest number an infinity
 * counts as the next power of two, so that a result that just overflows errs by what it errs.  A NaN on one side only, an infinity
 * of the wrong sign and a zero of the wrong sign where the truth rounds to zero err by infinity. */
#ifndef TENON_ULP_H
#define TENON_ULP_H
#include <stdint.h>
#include <tenon/tenon.h>
#include "ir/prim.h"

/* ---- truth (ulp_truth.c, ulp_mpfr.c) */
enum ulp_flag {
	ULP_SLOW = 1,                      /* truth takes over a microsecond: fewer samples in --quick */
	ULP_HOT = 2,                       /* what models spend their time in: full sweeps first, f16 and bf16 in --quick, too */
	ULP_CANCELS = 4,                   /* a sum that can come near 0: measured in ulp of the largest of operands and result */
	ULP_MIRROR = 8                     /* f(1 - x) minus what is known of x: f64 below 0 in ulp of the largest of f(x), f(1 - x) and 1 */
};
struct ulp_truth {
	const char *name, *attrs;          /* the primitive; attributes as text, "" for the defaults */
	double (*one)(double x);           /* far better than f32: 2^-40 ulp of f32 or so */
	double (*two)(double x, double y);
	uint32_t flags;
	double bound;                      /* where the table has none: 4 (specification page); 0.5: rounded right; -1: nothing is promised */
	double known[2];                   /* a body over its bound in f32, f64: what it is held to until it is better; -1: nothing; 0: it keeps the bound */
};
const struct ulp_truth *ulp_truth_at(uint32_t i);          /* NULL past the last; the hot ones first */
/* truth[k] of x[k], by vectors of four where the machine and the C library have them (within 4 ulp of double) */
void ulp_truth_block(const struct ulp_truth *t, const double *x, double *truth, uint32_t n);

int ulp_mpfr(void);                                        /* false: built without MPFR */
struct ulp_error { double ulp; int wrong; };               /* wrong: infinite by kind (NaN, infinity, sign of zero) */
/* got = f(x, y) in f64 against MPFR at 160 bits and more */
struct ulp_error ulp_mpfr_error(const struct ulp_truth *t, double x, double y, double got);
int ulp_mpfr_has(const struct ulp_truth *t);
void ulp_mpfr_done(void);                                  /* frees what MPFR keeps for the thread */

/* ---- judging (ulp_judge.c) */
struct ulp_tally {
	double worst;                      /* ulp; INFINITY when any is wrong */
	uint64_t at[2], wrong_at[2];       /* bits of the inputs of the worst that is not wrong; of the first wrong one */
	double finite;                     /* worst of those that are not wrong */
	uint64_t n, over, wrong, failed;   /* inputs, errors over the bound (wrong ones included), errors that are infinite, over what is known */
	double seconds;                    /* of the kernel alone */
};
void ulp_tally_add(struct ulp_tally *to, const struct ulp_tally *from);
struct ulp_error ulp_error_of(uint32_t dtype, double got, double truth);      /* f16, bf16, f32 */
struct ulp_error ulp_error_beside(uint32_t dtype, double got, double truth, double large);    /* the same in ulp of `large`, if that is larger */
struct ulp_bounds { double bound, known; };
void ulp_note(struct ulp_tally *t, struct ulp_error e, struct ulp_bounds b, uint64_t x, uint64_t y);
/* n results of f32 against truth[]: quick where all are well, the errors that count by truth's own function */
void ulp_judge_f32(struct ulp_tally *t, const struct ulp_truth *f, struct ulp_bounds b, const float *x, const float *y, const float *got, const double *truth, uint32_t n);

/* ---- kernels (ulp_kernel.c) */
struct ulp_kernel {
	const struct ulp_truth *truth;
	const struct tn_prim_info *prim;
	uint32_t dtype, n_in;
	double bound, known;               /* promised, and what the body is held to; INFINITY: nothing */
	struct tn_executable *x;
	struct tn_session *s;
	uint64_t interpreted;
};
enum { ULP_BLOCK = 1 << 20 };              /* inputs a launch */
/* 0, with words in why, when there is no kernel: no body, a fault of the compiler */
int ulp_kernel_open(struct ulp_kernel *k, struct tn_session *s, const struct ulp_truth *t, uint32_t dtype, char *why, uint32_t size);
void ulp_kernel_close(struct ulp_kernel *k);
/* measures f of n inputs of the kernel's dtype; y is NULL where it has one operand.  0: the run failed (tn_error_text) */
int ulp_kernel_measure(struct ulp_kernel *k, void *x, void *y, uint32_t n, struct ulp_tally *t);

/* ---- inputs (ulp_samples.c): bits, 1 << 20 at most a block; the same ones each time.  Return how many */
uint32_t ulp_samples(uint32_t dtype, uint32_t n_random, void *x);                     /* edges of every exponent, specials, random ones */
uint32_t ulp_sample_pairs(uint32_t dtype, uint32_t n_random, void *x, void *y);       /* pairs of specials, random ones */

/* ---- results (ulp_record.c): one line a function and span of units */
enum { ULP_UNITS = 64 };                   /* a full sweep of f32 is 64 units of 2^26 inputs */
struct ulp_record {
	char name[32], attrs[32], dtype[8], how[8], isa[48], date[16];     /* how: full, sample */
	uint32_t first, last, units;       /* units of this line, and of all */
	struct ulp_tally tally;
	double bound;
};
int ulp_record_text(const struct ulp_record *r, char *line, uint32_t size);            /* its length */
int ulp_record_append(const char *path, const struct ulp_record *r);                  /* one write: whole or not at all */
struct ulp_records { struct ulp_record *at; uint32_t n, cap; };
int ulp_records_read(const char *path, struct ulp_records *out);                      /* lines that are not ours are passed over */
void ulp_records_merge(struct ulp_records *r);                                        /* spans of one function become one where they meet */
void ulp_table(const struct ulp_records *r);
#endif
