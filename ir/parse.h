/* parse.h - what the parser and the loader of .tn files share */
#ifndef TENON_PARSE_H
#define TENON_PARSE_H
#include "ir/ir.h"

struct tn_weight { uint32_t dtype, rank; int64_t dims[TN_RANK_MAX]; const void *at; uint64_t size; };   /* dtype TN_NONE: bytes of any dtype */
struct tn_weights { const struct tn_weight *(*find)(void *ctx, const char *key); void *ctx; };          /* NULL when absent */
struct tn_ir *tn_ir_parse_with(struct tn_arena *a, const char *text, size_t len, const char *file, const struct tn_weights *weights);
#endif
