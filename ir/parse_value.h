/* parse_value.h - between parse.c and parse_value.c: the parser and the leaves that it reads */
#ifndef TENON_PARSE_VALUE_H
#define TENON_PARSE_VALUE_H
#include "ir/lex.h"
#include "ir/parse.h"
#include "ir/store.h"

struct tn_parser {
	struct tn_lex *l;
	struct tn_ir *ir;
	struct tn_map values;              /* name -> 1 + value */
	const struct tn_weights *weights;
};
struct tn_item { uint32_t value; int is_float; int64_t i; double f; size_t place; };      /* an operand; value TN_NOTHING: a literal */

void tn_parse_guarded(struct tn_parser *p, size_t place, void (*f)(void *), void *arg);   /* what f raises gets file, line and column of place */
void tn_parse_define(struct tn_parser *p, const char *name, uint32_t value, size_t place);
uint32_t tn_parse_value(struct tn_parser *p, const char *what);                           /* a %name that is defined */
struct tn_type tn_parse_type(struct tn_parser *p);
void tn_parse_check_type(struct tn_parser *p, const struct tn_type *want, uint32_t v, size_t place);
int tn_parse_starts_literal(const struct tn_lex *l);
struct tn_item tn_parse_literal(struct tn_parser *p);
struct tn_attr_in tn_parse_attribute(struct tn_parser *p, const struct tn_spec *s);       /* what stands after the '=' */
void tn_parse_constant(struct tn_parser *p);                                              /* what stands after "const" */
#endif
