/* ops_einsum.c - Einsum as reductions, dots and one permutation
 *
 * Operands are taken from left to right.  A label that neither the result nor a later operand has is summed away: by a reduction
 * when one operand has it, as a contracted dim of the dot when both have.  Dims of an ellipsis get labels of their own, counted
 * from the right; one of size 1 that broadcasts is dropped, and comes back at the end if nobody else has it. */
#include <string.h>
#include "frontend/onnx/convert.h"

enum { ELLIPSIS = 128, LABELS = 128 + OX_RANK };   /* 128 + k: dim k of the ellipsis, from the right */

struct term { uint32_t value, n; uint8_t at[OX_RANK]; };      /* a value, and the label of each dim */

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* labels of a term of the equation; rank: of its operand, or -1: of the result, whose ellipsis has as many dims as the widest */
static void read_labels(struct ox *o, struct tn_str text, int64_t rank, uint32_t widest, struct term *t)
{
	uint32_t letters = 0;
	for (size_t i = 0; i < text.len; i++)
		letters += is_letter(text.at[i]);
	bool dots = false;
	t->n = 0;
	for (size_t i = 0; i < text.len; i++) {
		char c = text.at[i];
		uint32_t more = 1;
		if (c == ' ')
			continue;
		if (c == '.' && !dots && i + 2 < text.len && text.at[i + 1] == '.' && text.at[i + 2] == '.') {
			dots = true;
			i += 2;
			more = rank < 0 ? widest : rank < letters ? 0 : (uint32_t)(rank - letters);
		} else if (!is_letter(c)) {
			ox_fail(o, TN_E_ARG, "equation term '%.*s'", TN_STR(text));
		}
		if (t->n + more > OX_RANK)
			ox_fail(o, TN_E_UNSUPPORTED, "equation term '%.*s' has more than %d dims", TN_STR(text), OX_RANK);
		for (uint32_t k = more; k-- > 0;)
			t->at[t->n++] = c == '.' ? (uint8_t)(ELLIPSIS + k) : (uint8_t)c;
	}
	if (rank >= 0 && t->n != rank)
		ox_fail(o, TN_E_ARG, "equation term '%.*s' for an operand of rank %lld", TN_STR(text), (long long)rank);
}

static int32_t find(const struct term *t, uint32_t label)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (t->at[i] == label)
			return (int32_t)i;
	return -1;
}

static void drop(struct term *t, uint32_t d)
{
	memmove(t->at + d, t->at + d + 1, t->n - d - 1);
	t->n--;
}

/* a label that stands twice: only the diagonal counts */
static void take_diagonals(struct ox *o, struct term *t)
{
	for (uint32_t d = 0; d < t->n; d++) {
		uint32_t e = d + 1;
		while (e < t->n && t->at[e] != t->at[d])
			e++;
		if (e == t->n)
			continue;
		const uint32_t *dims = ox_dims(o, t->value);
		uint32_t on = tn_ir_binary(o->ir, TN_eq, tn_ir_iota(o->ir, TN_I64, d, dims, t->n), tn_ir_iota(o->ir, TN_I64, e, dims, t->n));
		int64_t axis = e;
		t->value = tn_ir_reduce(o->ir, TN_sum, tn_ir_select(o->ir, on, t->value, ox_like(o, t->value, 0)), &axis, 1);
		drop(t, e);
		d--;
	}
}

/* dims of size 1 where another operand has more */
static void drop_ones(struct ox *o, struct term *terms, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t d = 0; d < terms[i].n; d++) {
			uint32_t one = ox_c(o, 1), wider = 0, dims[OX_RANK], k = 0;
			const uint32_t *old = ox_dims(o, terms[i].value);
			for (uint32_t j = 0; j < n; j++) {
				int32_t at = find(&terms[j], terms[i].at[d]);
				wider |= at >= 0 && ox_dims(o, terms[j].value)[at] != one;
			}
			if (old[d] != one || !wider)
				continue;
			for (uint32_t e = 0; e < terms[i].n; e++)
				if (e != d)
					dims[k++] = old[e];
			terms[i].value = tn_ir_reshape(o->ir, terms[i].value, dims, k);
			drop(&terms[i], d--);
		}
}

static void sum_unneeded(struct ox *o, struct term *t, const bool *needed)
{
	int64_t axes[OX_RANK];
	uint32_t n = 0;
	for (uint32_t d = 0; d < t->n; d++)
		if (!needed[t->at[d]])
			axes[n++] = d;
	if (!n)
		return;
	t->value = tn_ir_reduce(o->ir, TN_sum, t->value, axes, n);
	for (uint32_t i = n; i-- > 0;)
		drop(t, (uint32_t)axes[i]);
}

static struct term product(struct ox *o, const struct term *x, const struct term *y, const bool *needed)
{
	struct term r = { 0 };
	int64_t contract[2 * OX_RANK], batch[2 * OX_RANK];
	uint32_t n_contract = 0, n_batch = 0;
	uint8_t at[3 * OX_RANK];
	for (uint32_t d = 0; d < x->n; d++) {
		int32_t e = find(y, x->at[d]);
		if (e < 0)
			continue;
		ox_same(o, ox_dims(o, x->value)[d], ox_dims(o, y->value)[e]);
		bool keep = needed[x->at[d]];
		int64_t *pair = keep ? batch + n_batch : contract + n_contract;
		pair[0] = d;
		pair[1] = e;
		if (keep)
			at[r.n++] = x->at[d];
		*(keep ? &n_batch : &n_contract) += 2;
	}
	for (uint32_t d = 0; d < x->n; d++)
		if (find(y, x->at[d]) < 0)
			at[r.n++] = x->at[d];
	for (uint32_t d = 0; d < y->n; d++)
		if (find(x, y->at[d]) < 0)
			at[r.n++] = y->at[d];
	if (r.n > OX_RANK)
		ox_fail(o, TN_E_UNSUPPORTED, "a product of %u dims, more than %d", r.n, OX_RANK);
	memcpy(r.at, at, r.n);
	struct tn_attr_in attrs[] = { TN_A_INTS(contract, contract, n_contract), TN_A_INTS(batch, batch, n_batch) };
	r.value = tn_ir_add(o->ir, TN_dot, (uint32_t[]){ x->value, y->value }, 2, attrs, 2);
	return r;
}

/* the dims in the order of the result; a label that is gone was 1 everywhere */
static uint32_t arranged(struct ox *o, const struct term *t, const struct term *want)
{
	int64_t perm[OX_RANK];
	uint32_t dims[OX_RANK], n = 0;
	for (uint32_t d = 0; d < want->n; d++)
		if (find(t, want->at[d]) >= 0)
			perm[n++] = find(t, want->at[d]);
	if (n != t->n)
		ox_fail(o, TN_E_ARG, "the result names a label twice");
	uint32_t v = tn_ir_permute(o->ir, t->value, perm);
	const uint32_t *have = ox_dims(o, v);
	n = 0;
	for (uint32_t d = 0; d < want->n; d++)
		dims[d] = find(t, want->at[d]) >= 0 ? have[n++] : ox_c(o, 1);
	return tn_ir_reshape(o->ir, v, dims, want->n);
}

/* without "->": the ellipsis, then the labels that stand once, in order */
static void implicit_result(const struct term *terms, uint32_t n, uint32_t widest, struct term *out)
{
	uint32_t seen[LABELS] = { 0 };
	out->n = 0;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t d = 0; d < terms[i].n; d++)
			seen[terms[i].at[d]]++;
	for (uint32_t k = widest; k-- > 0;)
		out->at[out->n++] = (uint8_t)(ELLIPSIS + k);
	for (uint32_t c = 0; c < ELLIPSIS && out->n < OX_RANK; c++)
		if (seen[c] == 1)
			out->at[out->n++] = (uint8_t)c;
}

static struct tn_str next_term(struct tn_str *rest)   /* up to ',' or "->" */
{
	size_t n = 0;
	while (n < rest->len && rest->at[n] != ',' && rest->at[n] != '-')
		n++;
	struct tn_str t = { rest->at, n };
	rest->at += n;
	rest->len -= n;
	return t;
}

static void einsum(struct ox *o)
{
	struct tn_str rest = ox_text(o, "equation", ""), whole = rest;
	uint32_t n = o->node->n_in, widest = 0;
	struct term *terms = tn_array(o->a, struct term, n + 1u), out = { 0 };
	for (uint32_t i = 0; i < n; i++) {
		terms[i].value = ox_v(o, i);
		read_labels(o, next_term(&rest), ox_rank(o, terms[i].value), 0, &terms[i]);
		for (uint32_t d = 0; d < terms[i].n; d++)
			if (terms[i].at[d] >= ELLIPSIS && terms[i].at[d] - ELLIPSIS + 1u > widest)
				widest = terms[i].at[d] - ELLIPSIS + 1u;
		if (i + 1 < n && (!rest.len || *rest.at != ','))
			ox_fail(o, TN_E_ARG, "equation '%.*s' for %u operands", TN_STR(whole), n);
		rest.at += i + 1 < n;
		rest.len -= i + 1 < n;
	}
	if (!n || (rest.len && (rest.len < 2 || rest.at[0] != '-' || rest.at[1] != '>')))
		ox_fail(o, TN_E_ARG, "equation '%.*s' for %u operands", TN_STR(whole), n);
	if (rest.len)
		read_labels(o, (struct tn_str){ rest.at + 2, rest.len - 2 }, -1, widest, &out);
	else
		implicit_result(terms, n, widest, &out);
	for (uint32_t i = 0; i < n; i++)
		take_diagonals(o, &terms[i]);
	drop_ones(o, terms, n);
	for (uint32_t i = 0; i < n; i++) {         /* terms[0] holds the product so far; needed: by the result, or by later operands */
		bool needed[LABELS] = { false };
		for (uint32_t d = 0; d < out.n; d++)
			needed[out.at[d]] = true;
		for (uint32_t j = i + 1; j < n; j++)
			for (uint32_t d = 0; d < terms[j].n; d++)
				needed[terms[j].at[d]] = true;
		if (i) {
			bool both[LABELS];
			memcpy(both, needed, sizeof both);
			for (uint32_t d = 0; d < terms[0].n; d++)
				both[terms[0].at[d]] = true;
			sum_unneeded(o, &terms[i], both);  /* labels of this operand alone */
			terms[0] = product(o, &terms[0], &terms[i], needed);
		}
		sum_unneeded(o, &terms[0], needed);
	}
	ox_out(o, 0, arranged(o, &terms[0], &out));
}

static const struct ox_op rows[] = {
	{ "Einsum", 12, 0, einsum, 0, NULL, 0 },
};
const struct ox_ops ox_ops_einsum = { rows, sizeof rows / sizeof *rows };
