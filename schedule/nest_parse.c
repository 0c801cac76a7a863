/* nest_parse.c - reads what nest_print.c writes.  Equal addresses become one access, as in a nest that was built. */
#include "schedule/nest_text.h"
#include "schedule/index.h"
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct parse {
	const char *at, *end, *file; uint32_t line;
	struct tn_arena *a; struct tn_ir *ir;
	struct tn_nest_dim *dims; uint32_t n_dims, cap_dims;
	struct tn_nest_phase *phases; uint32_t n_phases, cap_phases;
	struct tn_step *steps; uint32_t n_steps, cap_steps;
	struct tn_access *accesses; uint32_t n_accesses, cap_accesses;
	struct tn_term *terms; uint32_t n_terms, cap_terms;
	struct tn_bound *bounds; uint32_t n_bounds, cap_bounds;
	struct tn_linear *linears; uint32_t n_linears, cap_linears;
	struct tn_part *parts; uint32_t n_parts, cap_parts;
	struct tn_nest_buffer *buffers; uint32_t n_buffers, cap_buffers;
	struct tn_attr *attrs; uint32_t n_attrs, cap_attrs;
	uint32_t *args, n_args, cap_args;
	char *bytes; uint32_t n_bytes, cap_bytes;
	struct tn_map by_text, by_linear;        /* an access's words; offset and parts */
};

_Noreturn static void fault(const struct parse *p, const char *what)
{
	const size_t left = (size_t)(p->end - p->at);
	tn_raise(p->a->diag, TN_E_ARG, "%s:%u: %s was expected at \"%.*s\"", p->file, p->line, what, (int)(left < 24 ? left : 24), p->at);
}

/* ---- words */
static void blank(struct parse *p)
{
	for (; p->at < p->end && isspace((unsigned char)*p->at); p->at++)
		p->line += *p->at == '\n';
}

static int is(struct parse *p, const char *word)
{
	const size_t n = strlen(word);
	blank(p);
	if ((size_t)(p->end - p->at) < n || memcmp(p->at, word, n) != 0)
		return 0;
	if (isalnum((unsigned char)word[n - 1]) && p->at + n < p->end && (isalnum((unsigned char)p->at[n]) || p->at[n] == '_'))
		return 0;
	p->at += n;
	return 1;
}

static void need(struct parse *p, const char *word)
{
	if (!is(p, word))
		fault(p, word);
}

static const char *name(struct parse *p, size_t *len)
{
	blank(p);
	const char *s = p->at;
	while (p->at < p->end && (isalnum((unsigned char)*p->at) || *p->at == '_'))
		p->at++;
	*len = (size_t)(p->at - s);
	if (*len == 0)
		fault(p, "a name");
	return s;
}

static uint32_t word_of(struct parse *p, const char *(*text)(uint32_t), uint32_t n, const char *what)
{
	size_t len;
	const char *s = name(p, &len);
	for (uint32_t i = 0; i < n; i++)
		if (strlen(text(i)) == len && memcmp(text(i), s, len) == 0)
			return i;
	p->at = s;
	fault(p, what);
}

static uint64_t number(struct parse *p)
{
	char text[40], *end;
	size_t n = 0;
	blank(p);
	while (n + 1 < sizeof text && p->at + n < p->end && (isalnum((unsigned char)p->at[n]) || strchr("+-.", p->at[n])))  {
		text[n] = p->at[n];
		n++;
	}
	text[n] = 0;
	const uint64_t v = text[0] == '-' ? (uint64_t)strtoll(text, &end, 0) : strtoull(text, &end, 0);
	if (end == text)
		fault(p, "a number");
	p->at += end - text;
	return v;
}

static uint32_t reference(struct parse *p, const char *mark, uint32_t below, const char *what)
{
	blank(p);
	if (p->at >= p->end || *p->at != *mark)
		fault(p, what);
	p->at++;
	const uint64_t v = number(p);
	if (v >= below)
		fault(p, what);
	return (uint32_t)v;
}

static uint32_t size(struct parse *p)
{
	blank(p);
	if (p->at < p->end && *p->at == '{') {
		const char *close = memchr(p->at, '}', (size_t)(p->end - p->at));
		if (!close)
			fault(p, "}");
		char *text = tn_copy_bytes(p->a, p->at + 1, (size_t)(close - p->at));
		text[close - p->at - 1] = 0;
		p->at = close + 1;
		return tn_size_parse(p->ir, text);
	}
	if (p->at < p->end && *p->at == 's') {
		size_t len;
		const char *s = name(p, &len);
		char *text = tn_copy_bytes(p->a, s, len + 1);
		text[len] = 0;
		return tn_size_parse(p->ir, text);
	}
	return tn_size_const(p->ir, (int64_t)number(p));
}

/* ---- addresses */
static int at_size(struct parse *p)
{
	blank(p);
	return p->at < p->end && (*p->at == '{' || *p->at == 's' || *p->at == '-' || isdigit((unsigned char)*p->at));
}

static int variable(struct parse *p, struct tn_part *r)
{
	blank(p);
	if (p->at >= p->end || (*p->at != 'd' && *p->at != '%'))
		return 0;
	r->step = *p->at == '%';
	r->index = r->step ? reference(p, "%", p->n_steps, "an earlier step") : reference(p, "d", p->n_dims, "a dim");
	return 1;
}

static uint32_t put_linear(struct parse *p, uint32_t offset, const struct tn_part *q, uint32_t n)
{
	uint32_t key[1 + 4 * 32] = { offset };
	memcpy(key + 1, q, n * sizeof *q);
	uint64_t *at = tn_map_at(&p->by_linear, key, (1 + 4 * n) * sizeof *key);
	if (*at)
		return (uint32_t)(*at - 1);
	*at = (uint64_t)p->n_linears + 1;
	*tn_push(p->a, p->linears, p->n_linears, p->cap_linears) = (struct tn_linear){ p->n_parts, n, offset, 0 };
	for (uint32_t i = 0; i < n; i++)
		*tn_push(p->a, p->parts, p->n_parts, p->cap_parts) = q[i];
	return p->n_linears - 1;
}

/* size | [size *] variable, joined by + */
static uint32_t linear(struct parse *p)
{
	struct tn_part q[32];
	uint32_t n = 0, offset = 0;
	do {
		struct tn_part r = { .coef = 1 };
		if (n == 31)
			fault(p, "at most 31 parts");
		if (at_size(p)) {
			const uint32_t v = size(p);
			if (!is(p, "*")) {
				offset = v;
				continue;
			}
			r.coef = v;
		}
		if (!variable(p, &r))
			fault(p, "a dim or a step");
		q[n++] = r;
	} while (is(p, "+"));
	return put_linear(p, offset, q, n);
}

static void quotient(struct parse *p, uint32_t *lin, uint32_t *div, uint32_t *mod)
{
	struct tn_part r = { .coef = 1 };
	*div = *mod = TN_NOTHING;
	if (is(p, "(")) {
		*lin = linear(p);
		need(p, ")");
	} else if (variable(p, &r)) {
		*lin = put_linear(p, 0, &r, 1);
	} else {
		fault(p, "an address");
	}
	if (is(p, "div"))
		*div = size(p);
	if (is(p, "mod"))
		*mod = size(p);
}

static void terms(struct parse *p, struct tn_access *x)
{
	struct tn_term list[32];
	x->n_terms = 0;
	do {
		struct tn_term t = { .stride = 1 };
		if (x->n_terms == 31)
			fault(p, "at most 31 terms");
		if (at_size(p)) {
			const uint32_t v = size(p);
			if (!is(p, "*")) {
				x->offset = v;
				continue;
			}
			t.stride = v;
		}
		quotient(p, &t.lin, &t.div, &t.mod);
		list[x->n_terms++] = t;
	} while (is(p, "+"));
	x->term0 = p->n_terms;
	for (uint32_t i = 0; i < x->n_terms; i++)
		*tn_push(p->a, p->terms, p->n_terms, p->cap_terms) = list[i];
}

static uint32_t access(struct parse *p)
{
	struct tn_access x = { 0 };
	blank(p);
	const char *from = p->at;
	const uint32_t t0 = p->n_terms, b0 = p->n_bounds;
	x.buffer = reference(p, "b", p->n_buffers, "a buffer");
	need(p, "[");
	terms(p, &x);
	need(p, "]");
	x.bound0 = p->n_bounds;
	if (is(p, "if")) {
		do {
			struct tn_bound q = { 0 };
			quotient(p, &q.lin, &q.div, &q.mod);
			need(p, "<");
			q.limit = size(p);
			*tn_push(p->a, p->bounds, p->n_bounds, p->cap_bounds) = q;
		} while (is(p, ","));
		need(p, "else");
		x.fill = number(p);
	}
	x.n_bounds = p->n_bounds - x.bound0;
	uint64_t *at = tn_map_at(&p->by_text, from, (size_t)(p->at - from));
	if (*at) {                             /* seen before: the rows just written are forgotten */
		p->n_terms = t0;
		p->n_bounds = b0;
		return (uint32_t)(*at - 1);
	}
	*at = (uint64_t)p->n_accesses + 1;
	*tn_push(p->a, p->accesses, p->n_accesses, p->cap_accesses) = x;
	return p->n_accesses - 1;
}

/* ---- steps */
static void attributes(struct parse *p, struct tn_step *s)
{
	s->attr0 = p->n_attrs;
	while (is(p, ",")) {
		size_t len;
		const char *n = name(p, &len);
		struct tn_attr x = { .name = tn_attr_by_name(n, len), .type = TN_ATTR_INT };
		need(p, "=");
		blank(p);
		if (x.name == TN_ATTR_dtype) {
			n = name(p, &len);
			x.i = tn_dtype_by_name(n, len);
		} else if (strncmp(p->at, "0x", 2) == 0 || strncmp(p->at, "-0x", 3) == 0 || strncmp(p->at, "inf", 3) == 0 || strncmp(p->at, "-inf", 4) == 0 || strncmp(p->at, "nan", 3) == 0) {
			char *end;                             /* the text ends in a brace, so strtod stops inside of it */
			x.type = TN_ATTR_FLOAT;
			x.f = strtod(p->at, &end);
			p->at = end;
		} else {
			x.i = (int64_t)number(p);
		}
		*tn_push(p->a, p->attrs, p->n_attrs, p->cap_attrs) = x;
		s->n_attrs++;
	}
	if (s->n_attrs == 0)
		s->attr0 = 0;
}

static uint32_t step_ref(struct parse *p) { return reference(p, "%", p->n_steps, "an earlier step"); }

static void primitive(struct parse *p, struct tn_step *s)
{
	s->arg0 = p->n_args;
	do {
		blank(p);
		if (p->at < p->end && *p->at != '%')
			break;
		*tn_push(p->a, p->args, p->n_args, p->cap_args) = step_ref(p);
		s->n_args++;
		blank(p);
		const char *comma = p->at;
		if (!is(p, ","))
			break;
		blank(p);
		if (*p->at != '%') {
			p->at = comma;
			break;
		}
	} while (1);
	if (s->n_args == 0)
		s->arg0 = 0;
	attributes(p, s);
}

static uint32_t prim_name(struct parse *p)
{
	size_t len;
	const char *s = name(p, &len);
	const struct tn_prim_info *info = tn_prim_by_name(s, len);
	if (!info) {
		p->at = s;
		fault(p, "a primitive");
	}
	return info->number;
}

static uint32_t dtype(struct parse *p)
{
	size_t len;
	const char *s = name(p, &len);
	const uint32_t d = tn_dtype_by_name(s, len);
	if (d == TN_NONE) {
		p->at = s;
		fault(p, "a dtype");
	}
	return d;
}

static void one_step(struct parse *p)
{
	struct tn_step s = { 0 };
	size_t len;
	blank(p);
	p->at++;
	if (number(p) != p->n_steps)
		fault(p, "the next step's number");
	need(p, "=");
	const char *op = name(p, &len);
	for (uint32_t i = 1; i <= TN_STEP_UPDATE; i++)
		if (i != TN_STEP_PRIM && strlen(tn_step_name(i)) == len && memcmp(tn_step_name(i), op, len) == 0)
			s.op = i;
	if (s.op == 0) {
		s.op = TN_STEP_PRIM;
		p->at = op;
		s.prim = prim_name(p);
	}
	s.dtype = dtype(p);
	switch (s.op) {
	case TN_STEP_CONST: s.bits = number(p); break;
	case TN_STEP_DIM: s.a = reference(p, "d", p->n_dims, "a dim"); break;
	case TN_STEP_SIZE: s.a = size(p); break;
	case TN_STEP_LOAD: s.a = access(p); break;
	case TN_STEP_STORE: s.b = step_ref(p); need(p, ","); s.a = access(p); break;
	case TN_STEP_REDUCE: s.prim = prim_name(p); s.b = step_ref(p); break;
	case TN_STEP_DOT: s.a = step_ref(p); need(p, ","); s.b = step_ref(p); break;
	case TN_STEP_CUMULATE: s.b = step_ref(p); need(p, ","); s.bits = number(p); break;
	case TN_STEP_UPDATE: s.b = step_ref(p); need(p, ","); s.bits = number(p); need(p, ","); s.a = access(p); break;
	default: primitive(p, &s);
	}
	s.flags = is(p, "keep") ? TN_STEP_KEEP : 0;
	*tn_push(p->a, p->steps, p->n_steps, p->cap_steps) = s;
}

/* ---- the head */
static uint32_t put_name(struct parse *p)
{
	need(p, "\"");
	if (p->n_bytes == 0)
		*tn_push(p->a, p->bytes, p->n_bytes, p->cap_bytes) = 0;
	const uint32_t at = p->n_bytes;
	for (; p->at < p->end && *p->at != '"'; p->at++)
		*tn_push(p->a, p->bytes, p->n_bytes, p->cap_bytes) = *p->at;
	*tn_push(p->a, p->bytes, p->n_bytes, p->cap_bytes) = 0;
	need(p, "\"");
	return at;
}

static void one_buffer(struct parse *p)
{
	struct tn_nest_buffer b = { .value = TN_NOTHING };
	if (reference(p, "b", p->n_buffers + 1, "the next buffer's number") != p->n_buffers)
		fault(p, "the next buffer's number");
	b.dtype = dtype(p);
	need(p, "[");
	b.length = size(p);
	need(p, "]");
	b.flags = is(p, "read") ? TN_BUF_READ : 0;
	b.flags |= is(p, "write") ? TN_BUF_WRITE : 0;
	if (is(p, "role"))
		b.role = word_of(p, tn_role_name, 4, "a role");
	if (is(p, "layout"))
		b.layout = put_name(p);
	if (is(p, "value"))
		b.value = (uint32_t)number(p);
	*tn_push(p->a, p->buffers, p->n_buffers, p->cap_buffers) = b;
}

static void one_symbol(struct parse *p)
{
	size_t len;
	const char *s = name(p, &len);
	char *text = tn_copy_bytes(p->a, s, len + 1);
	text[len] = 0;
	need(p, "in");
	const int64_t lo = (int64_t)number(p);
	need(p, "..");
	tn_size_sym(p->ir, text, lo, is(p, "inf") ? TN_SIZE_UNBOUNDED : (int64_t)number(p));
}

static void one_dim(struct parse *p)
{
	if (reference(p, "d", p->n_dims + 1, "the next dim's number") != p->n_dims)
		fault(p, "the next dim's number");
	const uint32_t axis = word_of(p, tn_axis_name, TN_AXIS_END, "an axis");
	*tn_push(p->a, p->dims, p->n_dims, p->cap_dims) = (struct tn_nest_dim){ axis, size(p) };
}

static void one_phase(struct parse *p)
{
	struct tn_nest_phase ph = { .step0 = p->n_steps };
	for (blank(p); p->at < p->end && isalpha((unsigned char)*p->at); blank(p)) {
		const char *at = p->at;
		if (is(p, "phase")) {
			p->at = at;
			break;
		}
		ph.axes |= 1u << word_of(p, tn_axis_name, TN_AXIS_END, "an axis");
	}
	for (blank(p); p->at < p->end && *p->at == '%'; blank(p))
		one_step(p);
	ph.n_steps = p->n_steps - ph.step0;
	*tn_push(p->a, p->phases, p->n_phases, p->cap_phases) = ph;
}

const struct tn_nest *tn_nest_parse(struct tn_arena *a, const char *text, size_t len, const char *file)
{
	char *own = tn_array(a, char, len + 1);                /* ends in a zero, which a text need not */
	memcpy(own, text, len);
	struct parse p = { .at = own, .end = own + len, .file = file, .line = 1, .a = a, .ir = tn_ir_create(a, NULL), .by_text = { .arena = a }, .by_linear = { .arena = a } };
	struct tn_nest *n = tn_new(a, struct tn_nest);
	need(&p, "nest");
	n->head = (struct tn_head)TN_HEAD(tn_nest, TN_KIND_NEST);
	n->cls = word_of(&p, tn_nest_class_name, TN_NEST_SORT + 1, "a class of nests");
	n->numerics = word_of(&p, tn_numerics_name, TN_FAST + 1, "strict, default or fast");
	need(&p, "{");
	while (!is(&p, "}")) {
		if (is(&p, "symbol"))
			one_symbol(&p);
		else if (is(&p, "dim"))
			one_dim(&p);
		else if (is(&p, "buffer"))
			one_buffer(&p);
		else if (is(&p, "phase"))
			one_phase(&p);
		else
			fault(&p, "symbol, dim, buffer, phase or }");
	}
	n->sizes = p.ir->g.sizes;
	n->dims = (struct tn_nest_dim_rows){ p.dims, p.n_dims };
	n->phases = (struct tn_nest_phase_rows){ p.phases, p.n_phases };
	n->steps = (struct tn_step_rows){ p.steps, p.n_steps };
	n->accesses = (struct tn_access_rows){ p.accesses, p.n_accesses };
	n->terms = (struct tn_term_rows){ p.terms, p.n_terms };
	n->bounds = (struct tn_bound_rows){ p.bounds, p.n_bounds };
	n->linears = (struct tn_linear_rows){ p.linears, p.n_linears };
	n->parts = (struct tn_part_rows){ p.parts, p.n_parts };
	n->buffers = (struct tn_nest_buffer_rows){ p.buffers, p.n_buffers };
	n->attrs = (struct tn_attr_rows){ p.attrs, p.n_attrs };
	n->args = p.args;
	n->n_args = p.n_args;
	n->bytes = p.bytes;
	n->n_bytes = p.n_bytes;
	return n;
}
