/* prim.h - the primitive table in memory: one row a primitive, facts as columns (sdk/include/tenon/prims.def). */
#ifndef TENON_PRIM_H
#define TENON_PRIM_H
#include <stdint.h>
#include <tenon/graph.h>

enum tn_class {                /* how a primitive takes part in fusion and which nests serve it */
	TN_CLS_POINTWISE = 1, TN_CLS_VIEW = 2, TN_CLS_DATA = 3, TN_CLS_REDUCE = 4, TN_CLS_CUMULATE = 5, TN_CLS_CONTRACT = 6,
	TN_CLS_CONVOLVE = 7, TN_CLS_GATHER = 8, TN_CLS_SCATTER = 9, TN_CLS_ROWS = 10, TN_CLS_SORT = 11, TN_CLS_ATTEND = 12,
	TN_CLS_POOL = 13, TN_CLS_RANDOM = 14, TN_CLS_HOST = 15, TN_CLS_PACK = 16
};
enum tn_dtype_rule {           /* result dtype from operand dtypes; `mask` is what the first operand may be */
	TN_DT_SAME = 1,        /* all operands equal, result the same */
	TN_DT_BOOL,            /* all operands equal, result bool */
	TN_DT_SELECT,          /* bool, then two equal; result as these */
	TN_DT_ATTR,            /* attribute dtype (convert, bitcast, full, iota) */
	TN_DT_FIRST,           /* as the first operand; later operands integer where the row's mask2 says so, else equal to the first */
	TN_DT_I64,             /* i64 */
	TN_DT_ACC,             /* dot, convolution: the attribute dtype if given, else as the operands, which are equal */
	TN_DT_FIRST_I64,       /* two results: as the first operand, and i64 */
	TN_DT_OWN              /* the primitive's own code (host operations) */
};
enum tn_shape_rule {
	TN_SH_SAME = 1,        /* all operands of one shape, result that shape */
	TN_SH_ATTR,            /* attribute shape */
	TN_SH_BROADCAST, TN_SH_PERMUTE, TN_SH_RESHAPE, TN_SH_SLICE, TN_SH_PAD, TN_SH_WINDOW, TN_SH_CAT, TN_SH_GATHER, TN_SH_SCATTER,
	TN_SH_REDUCE,          /* axes removed */
	TN_SH_REDUCE_AXIS,     /* axis removed (argmax) */
	TN_SH_DOT, TN_SH_CONV, TN_SH_CONV_TRANSPOSED, TN_SH_POOL, TN_SH_FIRST, TN_SH_TOPK, TN_SH_ATTENTION, TN_SH_PACK,
	TN_SH_OWN
};
enum tn_tolerance { TN_TOL_EXACT = 0, TN_TOL_ULP = 1, TN_TOL_REDUCTION = 2, TN_TOL_COMPOSITE = 3, TN_TOL_RANDOM = 4 };
enum tn_prim_flag {
	TN_ATOM = 1,                   /* what a plugin of class full must have; everything else has a body */
	TN_COMMUTATIVE = 2, TN_IDEMPOTENT = 4,
	TN_ID_ZERO = 8, TN_ID_ONE = 16, /* x op 0 = x, x op 1 = x (right operand; left too when commutative) */
	TN_PAD_NEUTRAL = 32,           /* results at real places do not depend on padded ones */
	TN_SLOW_BODY = 64,             /* the expansion is slow: prefer a plugin that has it natively */
	TN_HOST_OP = 128,              /* done by the host, never a plugin's duty */
	TN_VARIADIC = 256,             /* n_in is the least number */
	TN_BUILDER = 512,              /* the body is a C builder (decomp/), not text */
	TN_INT_OK = 1024
};

struct tn_prim_info {
	const char *name;
	uint32_t number;
	uint32_t n_in, n_opt, n_out;   /* operands needed, further optional ones, results */
	uint32_t cls, dt, sh, flags, tol;
	double ulp;                    /* with TN_TOL_ULP: worst error allowed in f32 (f64: 2) */
	uint64_t mask;                 /* dtypes of the first operand (of the result where there is none) */
	uint64_t mask2;                /* dtypes of the later operands where they differ from the first; 0: equal to it */
	const char *attrs;             /* "axis:int, keep:int=0, shape:sizes, alpha:float=0.01, dtype:dtype"; with = it is optional */
	double lo, hi;                 /* finite input domain worth testing; both 0: everything */
	uint32_t since;
};

const struct tn_prim_info *tn_prim_info(uint32_t prim);              /* NULL when there is no such row */
const struct tn_prim_info *tn_prim_by_name(const char *name, size_t len);
const struct tn_prim_info *tn_prim_at(uint32_t i);                   /* rows in table order; NULL past the end */
const char *tn_prim_name(uint32_t prim);                             /* "?" when there is none */

const char *tn_dtype_name(uint32_t dtype);                           /* "f32"; "?" */
uint32_t tn_dtype_by_name(const char *name, size_t len);             /* TN_NONE */
uint32_t tn_dtype_bits(uint32_t dtype);                              /* 4 for i4; 0 for none */
static inline uint32_t tn_dtype_bytes(uint32_t dtype) { return (tn_dtype_bits(dtype) + 7) / 8; }
const char *tn_attr_name(uint32_t name);
uint32_t tn_attr_by_name(const char *name, size_t len);              /* TN_ATTR_NONE */
#endif
