/* types.h - numbers and shapes that every public header shares: status codes, dtypes, heads, spans, symbolic sizes.
 *
 * Numbers are fixed for ever: never reused, never moved.  Struct members have fixed-width types only; the enums name their
 * values (so that ABI tools see them) and are never the type of a member.
 *   open struct   starts with struct tn_head, grows at its end in whole 8-byte words, never ends in padding (TN_CLOSE asserts it)
 *   closed row    no head, its size is fixed for the life of a major, so an array of it is a plain C array;
 *                 new facts come as parallel arrays
 * Compiles alone as C11 and as C++17. */
#ifndef TENON_TYPES_H
#define TENON_TYPES_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define TN_ASSERT_(cond, text) static_assert(cond, text)
#else
#define TN_ASSERT_(cond, text) _Static_assert(cond, text)
#endif

/* ---- status codes: what every fallible function returns.  The words go through tn_host.fail (plugins) or
 * tn_error_text (programs). */
enum tn_code {
	TN_OK = 0,
	TN_E_UNSUPPORTED = 1,  /* not offered here; the caller takes another way, so it is no failure */
	TN_E_DECLINED = 2,     /* compile only: this region does not fit, node ids say which */
	TN_E_ARG = 3,          /* an argument or an input file is wrong */
	TN_E_RANGE = 4,        /* an index, offset or size is past the end; also: no more entries, and: the room given is too small */
	TN_E_NOMEM = 5,        /* memory of the host or the device ran out */
	TN_E_TIMEOUT = 6,      /* the time given is over; what was waited for goes on, but a tool is killed */
	TN_E_CANCELLED = 7,    /* the work was asked to stop, and stopped; its results are undefined */
	TN_E_STALE = 8,        /* an artifact was made for something else: compile again */
	TN_E_CALL = 9,         /* this call failed, all objects are good */
	TN_E_QUEUE = 10,       /* the queue is dead: destroy it, its pending work is lost */
	TN_E_DEVICE = 11,      /* the device is dead: only destroyers may be called on its objects, then open it again */
	TN_E_GONE = 12,        /* the object or file is not there any more */
	TN_E_INTERNAL = 13,    /* a fault of the callee: report it */
	TN_E_VERSION = 14      /* the two sides have no ABI version in common */
};

/* ---- dtypes.  Elements are little-endian.  Sub-byte types are packed low bits first, without gaps between rows; e8m0 and below are
 * storage and operands of convert and dot only. */
enum tn_dtype {
	TN_NONE = 0,           /* none given, not known */
	TN_BOOL = 1,           /* one byte, 0 or 1 */
	TN_U8 = 2, TN_U16 = 3, TN_U32 = 4, TN_U64 = 5,
	TN_I8 = 6, TN_I16 = 7, TN_I32 = 8, TN_I64 = 9,
	TN_F16 = 10, TN_BF16 = 11, TN_F32 = 12, TN_F64 = 13,
	TN_C64 = 14, TN_C128 = 15,   /* real and imaginary part, f32 and f64 each */
	TN_F8E4M3FN = 16, TN_F8E5M2 = 17, TN_F8E4M3FNUZ = 18, TN_F8E5M2FNUZ = 19, TN_F8E8M0 = 20,
	TN_F4E2M1 = 21, TN_I4 = 22, TN_U4 = 23, TN_I2 = 24, TN_U2 = 25,
	TN_DTYPE_END = 26      /* grows with later minors: a dtype that a table does not name is one that it does not take */
};
#define TN_M(dtype) (UINT64_C(1) << (dtype))   /* a dtype's bit in a mask: number and mask are two things */
#define TN_M_UINT   (TN_M(TN_U8) | TN_M(TN_U16) | TN_M(TN_U32) | TN_M(TN_U64))
#define TN_M_SINT   (TN_M(TN_I8) | TN_M(TN_I16) | TN_M(TN_I32) | TN_M(TN_I64))
#define TN_M_INT    (TN_M_UINT | TN_M_SINT)
#define TN_M_FLOAT  (TN_M(TN_F16) | TN_M(TN_BF16) | TN_M(TN_F32) | TN_M(TN_F64))
#define TN_M_REAL   (TN_M_INT | TN_M_FLOAT)
#define TN_M_PLAIN  (TN_M_REAL | TN_M(TN_BOOL))  /* what arithmetic is defined on today */

/* ---- heads of open structs.  size: of the struct as whoever made it knew it; members behind it are not there (structs that the host
 * passes have zeroed room behind them).  kind: enum tn_kind, so that a wrong pointer is noticed. */
struct tn_head { uint32_t size, kind; };
enum tn_kind {
	TN_KIND_HELLO = 1, TN_KIND_ANSWER = 2, TN_KIND_HOST = 3, TN_KIND_BACKEND = 4, TN_KIND_DEVICE_INFO = 5, TN_KIND_GRAPH = 6,
	TN_KIND_NEST = 7, TN_KIND_COMPILE = 8, TN_KIND_COPY = 9, TN_KIND_LAUNCH = 10, TN_KIND_ENTRY = 11
};
#define TN_HEAD(T, K) { (uint32_t)sizeof(struct T), (K) }
#define TN_CLOSE(T, last) \
	TN_ASSERT_(sizeof(struct T) % 8 == 0 && offsetof(struct T, last) + sizeof(((struct T *)0)->last) == sizeof(struct T), #T " ends in padding")

/* ---- typed spans of closed rows: crossing two tables is a compile error in C and in C++.  at may be NULL where count is 0; rows are
 * read-only and owned by whoever owns the struct that holds the span */
#define TN_SPAN(T)   struct T##_rows { const struct T *at; uint64_t count; }
#define TN_ROWS(a)   { (a), sizeof(a) / sizeof *(a) }
#define TN_NO_ROWS   { NULL, 0 }

/* ---- symbolic sizes: one row an expression, referring to earlier rows by index.  Row 0 is always the constant 0, row 1 the
 * constant 1.  Every row carries bounds that hold for each value its symbols may take. */
enum tn_size_op {
	TN_SIZE_CONST = 0,     /* value; lo and hi are it */
	TN_SIZE_SYM = 1,       /* symbol number a, its value given with each launch; lo and hi are its bounds */
	TN_SIZE_ADD = 2, TN_SIZE_MUL = 3,
	TN_SIZE_DIV = 4,       /* floor division; b's bounds exclude 0 */
	TN_SIZE_MOD = 5,       /* x - y * floor(x / y) */
	TN_SIZE_MIN = 6, TN_SIZE_MAX = 7
};
#define TN_SIZE_UNBOUNDED INT64_MAX    /* as hi: no bound is known; INT64_MIN as lo */
/* a, b: rows before this one (SYM: see there); value: of CONST, else 0; reserved: 0.  Arithmetic is of 64 bits; the host refuses a call in
 * which it would overflow */
struct tn_size { uint32_t op, a, b, reserved; int64_t value, lo, hi; };
TN_ASSERT_(sizeof(struct tn_size) == 40, "closed row");
TN_SPAN(tn_size);

#define TN_NOTHING UINT32_MAX  /* an index that points nowhere */

#endif
