/* template.c - a template's text: holes, blocks, conditions (docs/templates.md has the grammar)
 *
 * A hole that stands alone on its line takes the line: statements get its indentation, blocks leave nothing of it. */
#include "render/inner.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct hole { const char *at, *name, *args, *after; size_t name_len, args_len; };     /* args NULL: none */
struct arg { const char *key, *text, *form, *n; };                                    /* key NULL: by place */
enum { MAX_ARGS = 12 };
struct args { struct arg at[MAX_ARGS]; uint32_t n; };

static void walk(struct rd *r, const char *p, const char *end);

_Noreturn static void fault(struct rd *r, const struct hole *h, const char *what)
{
	rd_fault(r, TN_E_ARG, "at \"%.*s\": %s", (int)(h->after - h->at), h->at, what);
}

/* The next hole at or behind p; false when there is none.  Arguments end at the ) that matches, so they may hold holes themselves. */
static bool next_hole(struct rd *r, const char *p, const char *end, struct hole *h)
{
	const char *at = memchr(p, '@', (size_t)(end - p));
	if (!at)
		return false;
	*h = (struct hole){ .at = at, .name = at + 1 };
	const char *q = at + 1;
	while (q < end && (isalnum((unsigned char)*q) || *q == '_' || *q == '.'))
		q++;
	h->name_len = (size_t)(q - h->name);
	if (q < end && *q == '(') {
		int depth = 0;
		h->args = q + 1;
		do
			depth += *q == '(' ? 1 : *q == ')' ? -1 : 0;
		while (++q < end && depth);
		h->args_len = (size_t)(q - 1 - h->args);
	}
	if (q >= end || *q != '@')
		rd_fault(r, TN_E_ARG, "a hole without its end: \"%.40s\"", at);
	h->after = q + 1;
	return true;
}

static bool is(const struct hole *h, const char *name)
{
	return strlen(name) == h->name_len && !memcmp(h->name, name, h->name_len);
}

static bool opens(const struct hole *h)
{
	return is(h, "if") || is(h, "at") || is(h, "repeat");
}

/* ---- lines */
static size_t line_start(const struct tn_text *t)
{
	size_t i = t->len;
	while (i && t->at[i - 1] != '\n')
		i--;
	return i;
}

/* The indentation when the hole stands alone on its line, taken out of what was written; else NULL */
static const char *take_indent(struct rd *r, const char *after, const char *end)
{
	size_t start = line_start(&r->out);
	if (after < end && *after != '\n')
		return NULL;
	for (size_t i = start; i < r->out.len; i++)
		if (r->out.at[i] != ' ' && r->out.at[i] != '\t')
			return NULL;
	const char *indent = tn_printf(r->arena, "%.*s", (int)(r->out.len - start), r->out.at ? r->out.at + start : "");
	r->out.len = start;
	if (r->out.at)
		r->out.at[start] = 0;
	return indent;
}

/* behind a block's hole: the rest of its line goes when the hole stood alone */
static const char *skip_line(struct rd *r, const char *after, const char *end)
{
	return take_indent(r, after, end) && after < end ? after + 1 : after;
}

/* ---- arguments */
static const char *expand_args(struct rd *r, const struct hole *h)
{
	if (!h->args)
		return "";
	if (!memchr(h->args, '@', h->args_len))
		return tn_printf(r->arena, "%.*s", (int)h->args_len, h->args);
	struct tn_text outer = r->out;
	r->out = (struct tn_text){ .arena = r->arena };
	walk(r, h->args, h->args + h->args_len);
	const char *text = r->out.at ? r->out.at : "";
	r->out = outer;
	return text;
}

static const char *trim(struct rd *r, const char *s, const char *end)
{
	while (s < end && isspace((unsigned char)*s))
		s++;
	while (end > s && isspace((unsigned char)end[-1]))
		end--;
	return tn_printf(r->arena, "%.*s", (int)(end - s), s);
}

/* "i + 4:vector(n)" to expression, form and lane count */
static void split_form(struct rd *r, struct arg *a)
{
	const char *colon = strrchr(a->text, ':');
	if (!colon)
		return;
	const char *f = colon + 1;
	while (*f == ' ')
		f++;
	if (strncmp(f, "scalar", 6) && strncmp(f, "vector", 6))
		return;
	const char *open = strchr(f, '('), *whole_end = a->text + strlen(a->text);
	a->form = tn_printf(r->arena, "%.6s", f);
	if (open && whole_end[-1] == ')')
		a->n = trim(r, open + 1, whole_end - 1);
	a->text = trim(r, a->text, colon);
}

static void split_key(struct rd *r, struct arg *a)
{
	const char *q = a->text;
	while (isalnum((unsigned char)*q) || *q == '_' || *q == '.')
		q++;
	const char *eq = q;
	while (*eq == ' ')
		eq++;
	if (q == a->text || *eq != '=' || eq[1] == '=')
		return;
	a->key = trim(r, a->text, q);
	a->text = trim(r, eq + 1, a->text + strlen(a->text));
}

static struct args split(struct rd *r, const struct hole *h)
{
	struct args out = { .n = 0 };
	const char *p = expand_args(r, h), *start = p;
	int depth = 0;
	if (!*p)
		return out;
	for (;; p++) {
		depth += *p == '(' || *p == '[' ? 1 : *p == ')' || *p == ']' ? -1 : 0;
		if (*p && (*p != ',' || depth))
			continue;
		if (out.n == MAX_ARGS)
			fault(r, h, "too many arguments");
		struct arg *a = &out.at[out.n++];
		a->text = trim(r, start, p);
		split_key(r, a);
		split_form(r, a);
		if (!*p)
			return out;
		start = p + 1;
	}
}

static uint32_t number(struct rd *r, const struct hole *h, const struct args *a, uint32_t i)
{
	if (i >= a->n || a->at[i].key)
		fault(r, h, "a number is missing");
	uint32_t size = rd_eval_size(r, a->at[i].text, strlen(a->at[i].text));   /* it may move the rows */
	const struct tn_size *z = &r->sizes.at[size];
	if (z->op != TN_SIZE_CONST || z->value < 0 || z->value > 1 << 20)
		fault(r, h, "a number is expected that is known now");
	return (uint32_t)z->value;
}

/* AXIS=... binds coordinates, small keys set what the hole documents */
static void bind(struct rd *r, const struct hole *h, const struct args *a)
{
	for (uint32_t i = 0; i < a->n; i++) {
		struct rd_axis x;
		const struct arg *g = &a->at[i];
		if (!g->key)
			continue;
		if (rd_axis_parse(g->key, strlen(g->key), &x))
			rd_bind_dims(r, x, g->text, g->form && *g->form == 'v', g->n);
		else if (!strcmp(g->key, "acc"))
			r->env.copy = number(r, h, &(struct args){ { { NULL, g->text, NULL, NULL } }, 1 }, 0);
		else if (!strcmp(g->key, "keep"))
			r->env.keep = g->text;
		else if (!strcmp(g->key, "reuse"))
			r->env.reuse = g->text;
		else
			fault(r, h, "an argument has a key that is neither an axis nor acc, keep, reuse");
	}
}

/* ---- expression holes: text in place */
static uint32_t dtype_arg(struct rd *r, const struct hole *h, const struct args *a)
{
	const char *name = a->n ? a->at[0].text : "";
	if (!strcmp(name, "dot"))
		return r->n->steps.at[rd_dot_step(r)].dtype;
	for (uint32_t d = TN_BOOL; d <= TN_F64; d++)
		if (!strcmp(rd_dtype_name(d), name))
			return d;
	fault(r, h, "a dtype, or dot, was expected");
}

static struct rd_linear plain_address(struct rd *r, const struct hole *h, const char *which)
{
	struct rd_linear l;
	uint32_t access = rd_operand_access(r, rd_operand_step(r, which));
	if (access == TN_NOTHING || !rd_address_plain(r, access, &l))
		fault(r, h, "the operand is no plain load: ask plain(A) first");
	return l;
}

static const char *base_text(struct rd *r, const struct hole *h, const struct args *a)
{
	struct rd_env outer = r->env;
	r->env = rd_env_copy(r);
	bind(r, h, a);
	for (uint32_t i = 0; i < r->n->dims.count; i++)       /* what is not named is 0 */
		if (!r->env.dim[i])
			r->env.dim[i] = "0";
	const char *which = a->n ? a->at[0].text : "";
	struct rd_linear l = plain_address(r, h, which);
	uint32_t buffer = r->n->accesses.at[rd_operand_access(r, rd_operand_step(r, which))].buffer;
	const char *text = tn_printf(r->arena, "%s + (%s)", rd_buffer(r, buffer), rd_linear_text(r, &l));
	r->env = outer;
	return text;
}

static const char *stride_text(struct rd *r, const struct hole *h, const struct args *a)
{
	struct rd_axis x;
	uint32_t first, count;
	if (a->n != 2 || !rd_axis_parse(a->at[1].text, strlen(a->at[1].text), &x))
		fault(r, h, "an operand and an axis were expected");
	rd_axis_dims(r->n, x, &first, &count);
	struct rd_linear l = plain_address(r, h, a->at[0].text);
	return count ? rd_size(r, l.coef[first + count - 1]) : "0";
}

static const char *expression(struct rd *r, const struct hole *h)
{
	struct args a;
	if (is(h, "name"))
		return r->name;
	if (is(h, "extent") || is(h, "size")) {
		const char *e = expand_args(r, h);
		if (is(h, "extent"))
			e = tn_printf(r->arena, "extent(%s)", e);
		return rd_size(r, rd_eval_size(r, e, strlen(e)));
	}
	if (is(h, "param"))
		return rd_size(r, rd_eval_size(r, h->args, h->args_len));
	if (is(h, "use")) {
		rd_use(r, expand_args(r, h));
		return "";
	}
	a = split(r, h);
	if (is(h, "type"))
		return rd_type(r, a.n > 1 && !strcmp(a.at[1].text, "vector") ? TN_VECTOR : TN_SCALAR, dtype_arg(r, h, &a));
	if (is(h, "dtype"))
		return rd_dtype_name(dtype_arg(r, h, &a));
	if (is(h, "word") && a.n == 2) {
		struct args second = { { a.at[1] }, 1 };
		return rd_word(r, a.at[0].text, 0, dtype_arg(r, h, &second));
	}
	if (is(h, "base"))
		return base_text(r, h, &a);
	if (is(h, "stride"))
		return stride_text(r, h, &a);
	if (is(h, "buffer") && a.n == 1) {
		uint32_t access = rd_operand_access(r, rd_operand_step(r, a.at[0].text));
		if (access == TN_NOTHING)
			fault(r, h, "the operand has a prologue, no buffer of its own");
		return rd_buffer(r, r->n->accesses.at[access].buffer);
	}
	for (uint32_t i = r->n_names; i-- > 0;)
		if (is(h, r->names[i].key))
			return r->names[i].text;
	const char *word = h->args ? NULL : rd_word_find(r->b, tn_printf(r->arena, "%.*s", (int)h->name_len, h->name), 0, 0);
	if (!word)
		fault(r, h, "no such hole");
	return rd_expand(r, word, NULL, 0, "word");
}

/* ---- statement holes */
static void set_name(struct rd *r, const char *key, const char *text)
{
	*tn_push(r->arena, r->names, r->n_names, r->cap_names) = (struct rd_name){ key, text };
}

static void operand_hole(struct rd *r, const struct hole *h, const struct args *a)
{
	if (a->n < 2 || a->at[0].key || a->at[1].key)
		fault(r, h, "an operand and a name for its value were expected");
	uint32_t step = rd_operand_step(r, a->at[0].text), dtype = r->n->steps.at[rd_dot_step(r)].dtype;
	bind(r, h, a);
	uint32_t form = r->env.vec ? TN_VECTOR : TN_SCALAR;
	const char *x = rd_value(r, step, form);
	if (r->n->steps.at[step].dtype != dtype)
		x = rd_apply(r, TN_convert, form, r->n->steps.at[step].dtype, dtype, &x, 1, NULL);
	set_name(r, a->at[1].text, x);
}

static void dot_hole(struct rd *r, const struct args *a)
{
	uint32_t step = rd_dot_step(r), form = rd_form(r, step);
	uint32_t dtype = r->n->steps.at[step].dtype;
	const char *x = rd_let(r, form, dtype, a->at[0].text);
	if (dtype == TN_F16 || dtype == TN_BF16)             /* the cores sum in f32 */
		x = rd_apply(r, TN_convert, form, TN_F32, dtype, &x, 1, NULL);
	*(form == TN_VECTOR ? &r->env.vector[step] : &r->env.scalar[step]) = x;
}

/* holes whose bindings last: they change the env of the block around them.  True when h was one. */
static bool lasting(struct rd *r, const struct hole *h)
{
	struct args a;
	if (is(h, "uniform")) {
		a = split(r, h);
		rd_uniform(r, number(r, h, &a, 0));
	} else if (is(h, "acc")) {
		a = split(r, h);
		rd_acc(r, number(r, h, &a, 0), a.n > 1 ? number(r, h, &a, 1) : 1, a.n > 2 && !strcmp(a.at[2].text, "across"));
	} else if (is(h, "merge")) {
		a = split(r, h);
		rd_acc_merge(r, number(r, h, &a, 0));
	} else if (is(h, "finish")) {
		a = split(r, h);
		uint32_t copy = r->env.copy;
		r->env.copy = a.n > 1 ? number(r, h, &a, 1) : 0;
		rd_acc_finish(r, number(r, h, &a, 0));
		r->env.copy = copy;
	} else if (is(h, "keep")) {
		rd_keep_declare(r, expand_args(r, h));
	} else if (is(h, "dot")) {
		a = split(r, h);
		if (a.n != 1)
			fault(r, h, "one expression was expected");
		dot_hole(r, &a);
	} else {
		return false;
	}
	return true;
}

static bool statement(struct rd *r, const struct hole *h)
{
	if (lasting(r, h))
		return true;
	if (!is(h, "body") && !is(h, "operand"))
		return false;
	struct args a = split(r, h);
	struct rd_env outer = r->env;
	r->env = rd_env_copy(r);
	if (is(h, "operand")) {
		operand_hole(r, h, &a);
	} else {
		bind(r, h, &a);
		rd_body(r, number(r, h, &a, 0));
	}
	r->env = outer;
	return true;
}

static void args_hole(struct rd *r)
{
	*tn_push(r->arena, r->args, r->n_args, r->cap_args) = r->out.len;
	*tn_push(r->arena, r->args_indent, r->n_args_indent, r->cap_args_indent) = r->indent ? r->indent : "";
}

/* ---- blocks: from behind the opening hole to its @end@ */
struct block { const char *body[8], *end[8]; struct hole head[8]; uint32_t n; const char *after; };   /* parts of an if; one part else */

static struct block find_end(struct rd *r, const struct hole *open, const char *end)
{
	struct block b = { .n = 1 };
	struct hole h;
	int depth = 0;
	b.head[0] = *open;
	b.body[0] = open->after;
	for (const char *p = open->after; next_hole(r, p, end, &h); p = h.after) {
		if (opens(&h)) {
			depth++;
		} else if (is(&h, "end") && !depth--) {
			b.end[b.n - 1] = h.at;
			b.after = h.after;
			return b;
		} else if (!depth && (is(&h, "else") || is(&h, "elif"))) {
			if (b.n == 8)
				fault(r, open, "too many @elif@");
			b.end[b.n - 1] = h.at;
			b.head[b.n] = h;
			b.body[b.n++] = h.after;
		}
	}
	fault(r, open, "its @end@ is missing");
}

/* a block's text: what stands before its end on the end's line goes with the line */
static void walk_part(struct rd *r, const struct block *b, uint32_t i, const char *end)
{
	walk(r, b->body[i], b->end[i]);
	(void)end;
}

static const char *if_block(struct rd *r, const struct block *b, const char *end)
{
	for (uint32_t i = 0; i < b->n; i++) {
		const struct hole *h = &b->head[i];
		if (!is(h, "else")) {
			const char *cond = expand_args(r, h);
			if (!rd_holds(r, cond, strlen(cond)))
				continue;
		}
		struct block part = *b;
		part.body[i] = i ? skip_line(r, b->body[i], end) : b->body[i];
		walk_part(r, &part, i, end);
		break;
	}
	return b->after;
}

static const char *repeat_block(struct rd *r, const struct hole *h, const struct block *b, const char *end)
{
	struct args a = split(r, h);
	uint32_t count = number(r, h, &a, 1), names = r->n_names;
	for (uint32_t i = 0; i < count; i++) {
		set_name(r, a.at[0].text, tn_printf(r->arena, "%u", i));
		walk_part(r, b, 0, end);
		r->n_names = names;
		take_indent(r, b->after, end);
	}
	return b->after;
}

/* runs a block; returns where the text goes on */
static const char *block(struct rd *r, const struct hole *h, const char *end)
{
	struct block b = find_end(r, h, end);
	const char *indent = take_indent(r, h->after, end);
	if (indent && h->after < end)
		b.body[0]++;
	if (is(h, "if")) {
		const char *body = if_block(r, &b, end);
		return skip_line(r, body, end);
	}
	if (is(h, "repeat"))
		return skip_line(r, repeat_block(r, h, &b, end), end);
	struct rd_env outer = r->env;
	uint32_t names = r->n_names;
	r->env = rd_env_copy(r);
	r->indent = indent;
	struct args a = split(r, h);
	bind(r, h, &a);
	walk_part(r, &b, 0, end);
	r->env = outer;
	r->n_names = names;
	return skip_line(r, b.after, end);
}

static void walk(struct rd *r, const char *p, const char *end)
{
	struct hole h;
	while (next_hole(r, p, end, &h)) {
		tn_text_put(&r->out, p, (size_t)(h.at - p));
		p = h.after;
		if (!h.name_len) {                   /* @@ */
			tn_text_put(&r->out, "@", 1);
			continue;
		}
		if (opens(&h)) {
			p = block(r, &h, end);
			continue;
		}
		bool line = is(&h, "args") || is(&h, "uniform") || is(&h, "acc") || is(&h, "merge") || is(&h, "finish") || is(&h, "keep") || is(&h, "dot") ||
			is(&h, "body") || is(&h, "operand") || is(&h, "use");
		if (line) {
			r->indent = take_indent(r, h.after, end);
			if (r->indent && p < end)
				p++;
			if (is(&h, "args"))
				args_hole(r);
			else if (!statement(r, &h))
				expression(r, &h);
			continue;
		}
		const char *text = expression(r, &h);
		tn_text_put(&r->out, text, strlen(text));
	}
	tn_text_put(&r->out, p, (size_t)(end - p));
}

void rd_walk(struct rd *r, const char *text)
{
	walk(r, text, text + strlen(text));
}
