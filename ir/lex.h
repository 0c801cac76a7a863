/* lex.h - tokens of the IR's text: graphs, sizes, definitions of primitives */
#ifndef TENON_LEX_H
#define TENON_LEX_H
#include "base/arena.h"

enum tn_token {
	TN_T_END = 0,
	TN_T_WORD,             /* add, f32, n, div */
	TN_T_VALUE,            /* %x, %0, %"any text": text without the % */
	TN_T_NAME,             /* @classify, @"any text" */
	TN_T_NUMBER,           /* 12, 0.5, 1e-3, 0x1p+0 */
	TN_T_TEXT,             /* "..." */
	TN_T_LE, TN_T_ARROW, TN_T_EQ2, TN_T_NE,   /* <=  ->  ==  != */
	TN_T_DOT_DOT,          /* .. */
	TN_T_AT,               /* @ before a quoted text with a space between: an origin */
	TN_T_SIGN              /* one of ( ) [ ] { } , : ; = + - * / < > : sign says which */
};
struct tn_lex {
	struct tn_diag *diag;
	struct tn_arena *arena;            /* where texts with escapes are made */
	const char *file, *text;
	size_t len, pos;                   /* pos: after the current token */
	uint32_t depth;                    /* of what the parsers nest */
	uint32_t kind; int sign;           /* the current token */
	const char *at; size_t size;       /* its text: the name without mark, what a quoted text says; not terminated */
	size_t start;                      /* its place */
};
#define TN_LEX_DEPTH 64

struct tn_lex tn_lex_begin(struct tn_arena *a, const char *file, const char *text, size_t len);   /* stands on the first token */
void tn_lex_next(struct tn_lex *l);
_Noreturn void tn_lex_expected(const struct tn_lex *l, const char *what);          /* "f.tn:3:7: expected an operand, found 'x'" */
_Noreturn void tn_lex_fail(const struct tn_lex *l, size_t place, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void tn_lex_place(const struct tn_lex *l, size_t place, uint32_t *line, uint32_t *column);
int tn_lex_is(const struct tn_lex *l, int sign);
int tn_lex_is_word(const struct tn_lex *l, const char *word);
int tn_lex_take(struct tn_lex *l, int sign);                                       /* steps over it when it is there */
int tn_lex_take_word(struct tn_lex *l, const char *word);
void tn_lex_need(struct tn_lex *l, int sign);
int tn_lex_is_int(const struct tn_lex *l);                                         /* the current token is a whole number */
int64_t tn_lex_int(struct tn_lex *l, const char *what);                            /* signed; 64 bits unsigned wrap */
double tn_lex_float(struct tn_lex *l, const char *what);                           /* signed; inf and nan too */
void tn_lex_enter(struct tn_lex *l);                                               /* one level deeper, or raises; leave: l->depth-- */
char *tn_lex_dup(struct tn_lex *l);                                                /* the current token's text, terminated */

/* ---- literal.c: numbers as text, whatever the locale is */
double tn_text_to_double(struct tn_lex *l, const char *at, size_t size);
void tn_print_double(struct tn_text *t, double x);                                 /* shortest that reads back equal; always looks like a float */
void tn_print_element(struct tn_text *t, uint32_t dtype, const void *at, uint64_t i);
void tn_parse_element(struct tn_lex *l, uint32_t dtype, void *at, uint64_t i);

/* ---- size_text.c */
struct tn_ir;
uint32_t tn_parse_size(struct tn_lex *l, struct tn_ir *ir);
int tn_is_word(const char *s, size_t len);                                         /* prints without quotes as a symbol */
#endif
