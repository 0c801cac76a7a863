/* lex.c - tokens of the IR's text.  Any bytes are safe to read: what is no token raises with its place. */
#include "ir/lex.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int is_letter(int c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static int is_digit(int c) { return c >= '0' && c <= '9'; }

static int peek(const struct tn_lex *l, size_t ahead)
{
	return l->pos + ahead < l->len ? (unsigned char)l->text[l->pos + ahead] : -1;
}

void tn_lex_place(const struct tn_lex *l, size_t place, uint32_t *line, uint32_t *column)
{
	const size_t end = place < l->len ? place : l->len;
	size_t first = 0;              /* of the line */
	*line = 1;
	for (const char *nl; first < end && (nl = memchr(l->text + first, '\n', end - first)) != NULL; ++*line)
		first = (size_t)(nl - l->text) + 1;
	*column = (uint32_t)(end - first) + 1;
}

void tn_lex_fail(const struct tn_lex *l, size_t place, const char *fmt, ...)
{
	char words[800];
	uint32_t line, column;
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(words, sizeof words, fmt, ap);
	va_end(ap);
	tn_lex_place(l, place, &line, &column);
	tn_raise(l->diag, TN_E_ARG, "%s:%u:%u: %s", l->file, line, column, words);
}

void tn_lex_expected(const struct tn_lex *l, const char *what)
{
	char found[48];
	size_t n = 0;
	for (size_t i = l->start; i < l->pos && n + 5 < sizeof found; i++)
		n += (size_t)snprintf(found + n, sizeof found - n, l->text[i] >= ' ' && l->text[i] < 127 ? "%c" : "\\x%02x", (unsigned char)l->text[i]);
	found[n] = 0;
	if (l->kind == TN_T_END)
		tn_lex_fail(l, l->start, "expected %s, found the end", what);
	tn_lex_fail(l, l->start, "expected %s, found '%s'", what, found);
}

/* ---- one token */
static void skip_blank(struct tn_lex *l)
{
	for (int c; (c = peek(l, 0)) == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '#';)
		if (c == '#')
			while (peek(l, 0) != '\n' && peek(l, 0) != -1)
				l->pos++;
		else
			l->pos++;
}

static int hex_digit(int c)
{
	return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static int escaped(struct tn_lex *l)
{
	const int c = peek(l, 1);
	int code = c;
	l->pos += 2;
	if (c == 'n')
		code = '\n';
	else if (c == 't')
		code = '\t';
	else if (c == 'x') {
		code = hex_digit(peek(l, 0)) * 16 + hex_digit(peek(l, 1));
		if (hex_digit(peek(l, 0)) < 0 || hex_digit(peek(l, 1)) < 0 || code == 0)
			tn_lex_fail(l, l->pos - 2, "expected two hexadecimal digits other than 00 after \\x");
		l->pos += 2;
	} else if (c != '"' && c != '\\') {
		tn_lex_fail(l, l->pos - 2, "expected one of \\\\ \\\" \\n \\t \\x after a backslash");
	}
	return code;
}

static void quoted(struct tn_lex *l)
{
	const size_t start = l->pos++;
	struct tn_text t = { .arena = l->arena };
	tn_text_put(&t, "", 0);
	for (int c; (c = peek(l, 0)) != '"';) {
		if (c == -1 || c == '\n' || c == 0)
			tn_lex_fail(l, start, "a quoted text does not end in its line");
		if (c != '\\')
			l->pos++;
		const char byte = (char)(c == '\\' ? escaped(l) : c);
		tn_text_put(&t, &byte, 1);
	}
	l->pos++;
	l->at = t.at ? t.at : "";
	l->size = t.len;
}

static void word(struct tn_lex *l, int dots)
{
	const size_t start = l->pos;
	while (is_letter(peek(l, 0)) || is_digit(peek(l, 0)) || (dots && peek(l, 0) == '.' && peek(l, 1) != '.'))
		l->pos++;
	l->at = l->text + start;
	l->size = l->pos - start;
}

static void number(struct tn_lex *l)
{
	const size_t start = l->pos;
	const int hex = peek(l, 0) == '0' && (peek(l, 1) == 'x' || peek(l, 1) == 'X');
	for (int c; (c = peek(l, 0)) != -1; l->pos++) {
		const int before = l->text[l->pos - (l->pos > start)];
		const int exponent = l->pos > start && (hex ? before == 'p' || before == 'P' : before == 'e' || before == 'E');
		if (!(is_letter(c) || is_digit(c) || (c == '.' && peek(l, 1) != '.') || ((c == '+' || c == '-') && exponent)))
			break;
	}
	l->at = l->text + start;
	l->size = l->pos - start;
}

/* %x, %"x", @x, @"x"; an @ that stands alone */
static void marked(struct tn_lex *l, uint32_t kind)
{
	l->pos++;
	l->kind = kind;
	if (peek(l, 0) == '"')
		quoted(l);
	else if (is_letter(peek(l, 0)) || is_digit(peek(l, 0)))
		word(l, 1);
	else if (kind == TN_T_NAME)
		l->kind = TN_T_AT;
	else
		tn_lex_fail(l, l->start, "expected a name after %%");
}

static int pair(struct tn_lex *l, const char *two, uint32_t kind)
{
	if (peek(l, 0) != two[0] || peek(l, 1) != two[1])
		return 0;
	l->kind = kind;
	l->pos += 2;
	return 1;
}

void tn_lex_next(struct tn_lex *l)
{
	skip_blank(l);
	const int c = peek(l, 0);
	l->start = l->pos;
	l->sign = 0;
	l->at = "";
	l->size = 0;
	if (c == -1) {
		l->kind = TN_T_END;
	} else if (is_letter(c)) {
		l->kind = TN_T_WORD;
		word(l, 0);
	} else if (is_digit(c) || (c == '.' && is_digit(peek(l, 1)))) {
		l->kind = TN_T_NUMBER;
		number(l);
	} else if (c == '%' || c == '@') {
		marked(l, c == '%' ? TN_T_VALUE : TN_T_NAME);
	} else if (c == '"') {
		l->kind = TN_T_TEXT;
		quoted(l);
	} else if (pair(l, "<=", TN_T_LE) || pair(l, "->", TN_T_ARROW) || pair(l, "==", TN_T_EQ2) || pair(l, "!=", TN_T_NE) || pair(l, "..", TN_T_DOT_DOT)) {
		return;
	} else if (c < 127 && c > ' ' && strchr("()[]{},:;=+-*/<>", c)) {
		l->kind = TN_T_SIGN;
		l->sign = c;
		l->pos++;
	} else {
		l->kind = TN_T_SIGN;
		l->pos++;
		tn_lex_expected(l, "a token");
	}
}

struct tn_lex tn_lex_begin(struct tn_arena *a, const char *file, const char *text, size_t len)
{
	struct tn_lex l = { .diag = a->diag, .arena = a, .file = file ? file : "text", .text = text, .len = len };
	tn_lex_next(&l);
	return l;
}

/* ---- what parsers ask for */
int tn_lex_is(const struct tn_lex *l, int sign)
{
	return l->kind == TN_T_SIGN && l->sign == sign;
}

int tn_lex_is_word(const struct tn_lex *l, const char *w)
{
	return l->kind == TN_T_WORD && strlen(w) == l->size && memcmp(l->at, w, l->size) == 0;
}

int tn_lex_take(struct tn_lex *l, int sign)
{
	if (!tn_lex_is(l, sign))
		return 0;
	tn_lex_next(l);
	return 1;
}

int tn_lex_take_word(struct tn_lex *l, const char *w)
{
	if (!tn_lex_is_word(l, w))
		return 0;
	tn_lex_next(l);
	return 1;
}

void tn_lex_need(struct tn_lex *l, int sign)
{
	const char what[] = { '\'', (char)sign, '\'', 0 };
	if (!tn_lex_take(l, sign))
		tn_lex_expected(l, what);
}

/* decimal, or hexadecimal without point and exponent */
int tn_lex_is_int(const struct tn_lex *l)
{
	const int hex = l->size > 2 && l->at[0] == '0' && (l->at[1] == 'x' || l->at[1] == 'X');
	if (l->kind != TN_T_NUMBER)
		return 0;
	for (size_t i = hex ? 2 : 0; i < l->size; i++)
		if (hex ? hex_digit(l->at[i]) < 0 : !is_digit(l->at[i]))
			return 0;
	return 1;
}

int64_t tn_lex_int(struct tn_lex *l, const char *what)
{
	const size_t start = l->start;
	const int minus = tn_lex_take(l, '-');
	uint64_t v = 0;
	if (!tn_lex_is_int(l))
		tn_lex_expected(l, what);
	const int hex = l->size > 2 && !is_digit(l->at[1]);
	for (size_t i = hex ? 2 : 0; i < l->size; i++)
		if (__builtin_mul_overflow(v, (uint64_t)(hex ? 16 : 10), &v) || __builtin_add_overflow(v, (uint64_t)hex_digit(l->at[i]), &v))
			tn_lex_fail(l, start, "expected %s, found a number that does not fit in 64 bits", what);
	if (minus && v > (uint64_t)INT64_MAX + 1)
		tn_lex_fail(l, start, "expected %s, found a number that does not fit in 64 bits", what);
	tn_lex_next(l);
	return (int64_t)(minus ? 0 - v : v);
}

double tn_lex_float(struct tn_lex *l, const char *what)
{
	const int minus = tn_lex_take(l, '-');
	double v;
	if (tn_lex_is_word(l, "inf"))
		v = __builtin_inf();
	else if (tn_lex_is_word(l, "nan"))
		v = __builtin_nan("");
	else if (l->kind == TN_T_NUMBER)
		v = tn_text_to_double(l, l->at, l->size);
	else
		tn_lex_expected(l, what);
	tn_lex_next(l);
	return minus ? -v : v;
}

void tn_lex_enter(struct tn_lex *l)
{
	if (++l->depth > TN_LEX_DEPTH)
		tn_lex_fail(l, l->start, "nested more than %d deep", TN_LEX_DEPTH);
}

char *tn_lex_dup(struct tn_lex *l)
{
	char *s = tn_arena_alloc(l->arena, l->size + 1);
	memcpy(s, l->at, l->size);
	return s;
}
