/* wire.h - reading protobuf's wire format from a span of memory: bounded, depth limited, nothing is copied.
 *
 * Source: protobuf.dev/programming-guides/encoding.  A reader walks the fields of one message; a field that is itself a
 * message is entered and gives a reader of its own, which knows the way it came by, so that every error names the byte offset
 * in the file and the path ("model.onnx: byte 1234, in graph.node[3].attribute[0]: ...").  Errors are raised as TN_E_ARG. */
#ifndef TENON_WIRE_H
#define TENON_WIRE_H
#include <stdbool.h>
#include "base/arena.h"

struct tn_str { const char *at; size_t len; };        /* borrowed, not terminated */
bool tn_str_is(struct tn_str s, const char *text);
#define TN_STR_MAX 200
#define TN_STR(s) ((int)((s).len > TN_STR_MAX ? TN_STR_MAX : (s).len)), ((s).len ? (s).at : "")   /* for %.*s */

enum { TN_WIRE_DEPTH = 64 };
enum tn_wire_type { TN_WIRE_VARINT = 0, TN_WIRE_FIXED64 = 1, TN_WIRE_BYTES = 2, TN_WIRE_FIXED32 = 5 };

struct tn_wire_file { const char *name; const unsigned char *bytes; size_t size; struct tn_arena *arena; };
struct tn_wire {               /* a reader of one message */
	const struct tn_wire_file *file;
	const unsigned char *at, *end;
	const struct tn_wire *parent;  /* NULL: the outermost message */
	const char *field;             /* what the parent calls this message */
	int64_t index;                 /* which one, of a repeated field; -1: it is not repeated */
	uint32_t depth;
};
struct tn_wire_field {
	uint32_t number, type;
	uint64_t value;                /* varint, fixed64, fixed32 */
	const unsigned char *at;       /* bytes: size of them.  else where the value stands */
	size_t size;
};

struct tn_wire tn_wire_begin(const struct tn_wire_file *file);
bool tn_wire_next(struct tn_wire *w, struct tn_wire_field *f);          /* false at the end */
struct tn_wire tn_wire_enter(const struct tn_wire *w, const struct tn_wire_field *f, const char *name, int64_t index);
_Noreturn void tn_wire_fail(const struct tn_wire *w, const void *at, int32_t code, const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* values of a field; each raises when the field has another wire type */
int64_t tn_wire_int(const struct tn_wire *w, const struct tn_wire_field *f, const char *name);
float tn_wire_float(const struct tn_wire *w, const struct tn_wire_field *f, const char *name);
struct tn_str tn_wire_bytes(const struct tn_wire *w, const struct tn_wire_field *f, const char *name);
struct tn_str tn_wire_name(const struct tn_wire *w, const struct tn_wire_field *f, const char *name);   /* bytes without a 0 among them */

/* repeated numbers, packed or not: each call appends what the field holds */
struct tn_wire_numbers { uint64_t *at; size_t n, cap; };               /* ints as they are, fixed32 and fixed64 as their bits */
void tn_wire_repeat(const struct tn_wire *w, const struct tn_wire_field *f, const char *name, uint32_t type, struct tn_wire_numbers *to);
#endif
