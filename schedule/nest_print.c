/* nest_print.c - a nest as text: what `show --stage nest` prints and nest_parse.c reads.
 *
 *   nest rows default {
 *   	symbol s0 in 0 .. inf
 *   	dim outer s0
 *   	dim red 512
 *   	buffer b0 f32[{512*s0}] read value 3
 *   	phase outer red
 *   		%0 = load f32 b0[512*d0 + d1]
 *   		%1 = reduce f32 sum %0
 *   }
 *
 * An address is a sum of stride * ((linear) div n mod m); `if` and `else` give its bounds and the fill.  A size that is not a plain
 * number or symbol stands in braces. */
#include "schedule/nest_text.h"
#include <inttypes.h>

static const char *const classes[] = { "", "pointwise", "reduce", "rows", "contract", "cumulate", "scatter", "convolve", "attend", "sort" };
static const char *const axes[] = { "outer", "inner", "red", "seq", "batch", "m", "n", "k" };
static const char *const roles[] = { "", "a", "b", "bias" };
static const char *const profiles[] = { "", "strict", "default", "fast" };
static const char *const ops[] = { "", "const", "dim", "size", "load", "store", "prim", "reduce", "dot", "cumulate", "update" };

const char *tn_nest_class_name(uint32_t cls) { return cls < sizeof classes / sizeof *classes ? classes[cls] : "?"; }
const char *tn_axis_name(uint32_t axis) { return axis < TN_AXIS_END ? axes[axis] : "?"; }
const char *tn_role_name(uint32_t role) { return role < sizeof roles / sizeof *roles ? roles[role] : "?"; }
const char *tn_numerics_name(uint32_t n) { return n < sizeof profiles / sizeof *profiles ? profiles[n] : "?"; }
const char *tn_step_name(uint32_t op) { return op < sizeof ops / sizeof *ops ? ops[op] : "?"; }

struct print { struct tn_text *t; const struct tn_nest *n; struct tn_graph g; };   /* g: sizes with symbols named s0, s1, ... */

static void put_size(struct print *p, uint32_t size)
{
	const struct tn_size *s = &p->n->sizes.at[size];
	if (s->op == TN_SIZE_CONST) {
		tn_text_add(p->t, "%" PRId64, s->value);
		return;
	}
	if (s->op != TN_SIZE_SYM)
		tn_text_add(p->t, "{");
	tn_size_print(p->t, &p->g, size);
	if (s->op != TN_SIZE_SYM)
		tn_text_add(p->t, "}");
}

static void put_times(struct print *p, uint32_t size)
{
	if (size != 1) {
		put_size(p, size);
		tn_text_add(p->t, "*");
	}
}

static void put_linear(struct print *p, uint32_t lin)
{
	const struct tn_linear *l = &p->n->linears.at[lin];
	if (l->offset != 0 || l->n_parts == 0)
		put_size(p, l->offset);
	for (uint32_t i = 0; i < l->n_parts; i++) {
		const struct tn_part *q = &p->n->parts.at[l->part0 + i];
		if (i > 0 || l->offset != 0)
			tn_text_add(p->t, " + ");
		put_times(p, q->coef);
		tn_text_add(p->t, q->step ? "%%%u" : "d%u", q->index);
	}
}

static void put_quotient(struct print *p, uint32_t lin, uint32_t div, uint32_t mod)
{
	const struct tn_linear *l = &p->n->linears.at[lin];
	const int bare = l->offset == 0 && l->n_parts == 1 && p->n->parts.at[l->part0].coef == 1 && div == TN_NOTHING && mod == TN_NOTHING;
	if (!bare)
		tn_text_add(p->t, "(");
	put_linear(p, lin);
	if (!bare)
		tn_text_add(p->t, ")");
	if (div != TN_NOTHING) {
		tn_text_add(p->t, " div ");
		put_size(p, div);
	}
	if (mod != TN_NOTHING) {
		tn_text_add(p->t, " mod ");
		put_size(p, mod);
	}
}

static void put_access(struct print *p, uint32_t access)
{
	const struct tn_access *x = &p->n->accesses.at[access];
	tn_text_add(p->t, "b%u[", x->buffer);
	if (x->offset != 0 || x->n_terms == 0)
		put_size(p, x->offset);
	for (uint32_t i = 0; i < x->n_terms; i++) {
		const struct tn_term *t = &p->n->terms.at[x->term0 + i];
		if (i > 0 || x->offset != 0)
			tn_text_add(p->t, " + ");
		put_times(p, t->stride);
		put_quotient(p, t->lin, t->div, t->mod);
	}
	tn_text_add(p->t, "]");
	for (uint32_t i = 0; i < x->n_bounds; i++) {
		const struct tn_bound *b = &p->n->bounds.at[x->bound0 + i];
		tn_text_add(p->t, i ? ", " : " if ");
		put_quotient(p, b->lin, b->div, b->mod);
		tn_text_add(p->t, " < ");
		put_size(p, b->limit);
	}
	if (x->n_bounds)
		tn_text_add(p->t, " else 0x%" PRIx64, x->fill);
}

static void put_attrs(struct print *p, const struct tn_step *s)
{
	for (uint32_t i = 0; i < s->n_attrs; i++) {
		const struct tn_attr *a = &p->n->attrs.at[s->attr0 + i];
		tn_text_add(p->t, ", %s = ", tn_attr_name(a->name));
		if (a->name == TN_ATTR_dtype && a->type == TN_ATTR_INT)
			tn_text_add(p->t, "%s", tn_dtype_name((uint32_t)a->i));
		else if (a->type == TN_ATTR_FLOAT)
			tn_text_add(p->t, "%a", a->f);
		else
			tn_text_add(p->t, "%" PRId64, a->i);
	}
}

static void put_step(struct print *p, uint32_t i)
{
	const struct tn_step *s = &p->n->steps.at[i];
	tn_text_add(p->t, "\t\t%%%u = %s %s", i, s->op == TN_STEP_PRIM ? tn_prim_name(s->prim) : tn_step_name(s->op), tn_dtype_name(s->dtype));
	switch (s->op) {
	case TN_STEP_CONST: tn_text_add(p->t, " 0x%" PRIx64, s->bits); break;
	case TN_STEP_DIM: tn_text_add(p->t, " d%u", s->a); break;
	case TN_STEP_SIZE: tn_text_add(p->t, " "); put_size(p, s->a); break;
	case TN_STEP_LOAD: tn_text_add(p->t, " "); put_access(p, s->a); break;
	case TN_STEP_STORE: tn_text_add(p->t, " %%%u, ", s->b); put_access(p, s->a); break;
	case TN_STEP_REDUCE: tn_text_add(p->t, " %s %%%u", tn_prim_name(s->prim), s->b); break;
	case TN_STEP_DOT: tn_text_add(p->t, " %%%u, %%%u", s->a, s->b); break;
	case TN_STEP_CUMULATE: tn_text_add(p->t, " %%%u, %" PRIu64, s->b, s->bits); break;
	case TN_STEP_UPDATE: tn_text_add(p->t, " %%%u, %" PRIu64 ", ", s->b, s->bits); put_access(p, s->a); break;
	default:
		for (uint32_t k = 0; k < s->n_args; k++)
			tn_text_add(p->t, "%s%%%u", k ? ", " : " ", p->n->args[s->arg0 + k]);
		put_attrs(p, s);
	}
	tn_text_add(p->t, s->flags & TN_STEP_KEEP ? " keep\n" : "\n");
}

static void put_symbols(struct print *p, struct tn_arena *a)
{
	uint32_t n = 0;
	for (uint64_t i = 0; i < p->n->sizes.count; i++)
		if (p->n->sizes.at[i].op == TN_SIZE_SYM && p->n->sizes.at[i].a >= n)
			n = p->n->sizes.at[i].a + 1;
	struct tn_text names = { .arena = a };
	uint32_t *at = tn_array(a, uint32_t, n + 1);
	for (uint32_t i = 0; i < n; i++) {
		char name[16];
		at[i] = (uint32_t)names.len;
		tn_text_put(&names, name, (size_t)snprintf(name, sizeof name, "s%u", i) + 1);
	}
	p->g = (struct tn_graph){ .sizes = p->n->sizes, .bytes = names.at, .n_bytes = names.len, .symbols = at, .n_symbols = n };
	for (uint64_t i = 0; i < p->n->sizes.count; i++) {
		const struct tn_size *s = &p->n->sizes.at[i];
		if (s->op == TN_SIZE_SYM && s->hi == TN_SIZE_UNBOUNDED)
			tn_text_add(p->t, "\tsymbol s%u in %" PRId64 " .. inf\n", s->a, s->lo);
		else if (s->op == TN_SIZE_SYM)
			tn_text_add(p->t, "\tsymbol s%u in %" PRId64 " .. %" PRId64 "\n", s->a, s->lo, s->hi);
	}
}

void tn_nest_print(struct tn_text *t, const struct tn_nest *n)
{
	struct print p = { .t = t, .n = n };
	tn_text_add(t, "nest %s %s {\n", tn_nest_class_name(n->cls), tn_numerics_name(n->numerics));
	put_symbols(&p, t->arena);
	for (uint64_t i = 0; i < n->dims.count; i++) {
		tn_text_add(t, "\tdim d%u %s ", (unsigned)i, tn_axis_name(n->dims.at[i].axis));
		put_size(&p, n->dims.at[i].extent);
		tn_text_add(t, "\n");
	}
	for (uint64_t i = 0; i < n->buffers.count; i++) {
		const struct tn_nest_buffer *b = &n->buffers.at[i];
		tn_text_add(t, "\tbuffer b%u %s[", (unsigned)i, tn_dtype_name(b->dtype));
		put_size(&p, b->length);
		tn_text_add(t, "]%s%s", b->flags & TN_BUF_READ ? " read" : "", b->flags & TN_BUF_WRITE ? " write" : "");
		if (b->role)
			tn_text_add(t, " role %s", tn_role_name(b->role));
		if (b->layout)
			tn_text_add(t, " layout \"%s\"", n->bytes + b->layout);
		if (b->value != TN_NOTHING)
			tn_text_add(t, " value %u", b->value);
		tn_text_add(t, "\n");
	}
	for (uint64_t i = 0; i < n->phases.count; i++) {
		const struct tn_nest_phase *ph = &n->phases.at[i];
		tn_text_add(t, "\tphase");
		for (uint32_t k = 0; k < TN_AXIS_END; k++)
			if (ph->axes >> k & 1)
				tn_text_add(t, " %s", tn_axis_name(k));
		tn_text_add(t, "\n");
		for (uint32_t k = 0; k < ph->n_steps; k++)
			put_step(&p, ph->step0 + k);
	}
	tn_text_add(t, "}\n");
}
