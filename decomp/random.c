/* random.c - Philox4x32-10 (Salmon and others, "Parallel random numbers: as easy as 1, 2, 3", 2011) in integer atoms.
 *
 * Element i of the result, counted row-major, takes 32-bit word i mod 4 of the block with key = seed and
 * counter = [offset + i / 4 (64 bits), 0, 0]; elements of 64 bits take words 2i and 2i + 1, the first one low.  Narrower integers
 * take the top bits of their word.  Nothing else enters, so fusion, order and recomputation cannot change a number. */
#include "decomp/builders.h"

struct words { uint32_t at[4]; };

/* high and low half of m * x, both [n] u32 */
static void mul_wide(struct tn_ir *ir, uint32_t x, int64_t m, uint32_t *hi, uint32_t *lo)
{
	const uint32_t wide = tn_ir_convert(ir, x, TN_U64), product = tn_ir_binary(ir, TN_mul, wide, tn_full_like_int(ir, wide, m));
	*lo = tn_ir_convert(ir, product, TN_U32);
	*hi = tn_ir_convert(ir, tn_ir_binary(ir, TN_shr, product, tn_full_like_int(ir, product, 32)), TN_U32);
}

static struct words philox(struct tn_ir *ir, struct words c, uint32_t key0, uint32_t key1)
{
	for (int round = 0; round < 10; round++) {
		uint32_t hi0, lo0, hi1, lo1;
		mul_wide(ir, c.at[0], 0xD2511F53, &hi0, &lo0);
		mul_wide(ir, c.at[2], 0xCD9E8D57, &hi1, &lo1);
		c = (struct words){ {
			tn_ir_binary(ir, TN_xor, tn_ir_binary(ir, TN_xor, hi1, c.at[1]), key0), lo1,
			tn_ir_binary(ir, TN_xor, tn_ir_binary(ir, TN_xor, hi0, c.at[3]), key1), lo0 } };
		key0 = tn_ir_binary(ir, TN_add, key0, tn_full_like_int(ir, key0, 0x9E3779B9));
		key1 = tn_ir_binary(ir, TN_add, key1, tn_full_like_int(ir, key1, 0xBB67AE85));
	}
	return c;
}

static void halves(struct tn_ir *ir, uint32_t x, uint32_t *lo, uint32_t *hi)
{
	*lo = tn_ir_convert(ir, x, TN_U32);
	*hi = tn_ir_convert(ir, tn_ir_binary(ir, TN_shr, x, tn_full_like_int(ir, x, 32)), TN_U32);
}

/* words of each of total elements: one (of 32 bits) or, wide, two as one u64; [total] */
static uint32_t random_words(struct tn_ir *ir, const uint32_t *in, uint32_t total, int wide)
{
	const uint32_t i = tn_ir_iota(ir, TN_U64, 0, &total, 1);
	const uint32_t block = tn_ir_binary(ir, TN_shr, i, tn_full_like_int(ir, i, wide ? 1 : 2));
	uint32_t key0, key1;
	struct words c;
	halves(ir, tn_ir_broadcast(ir, in[0], &total, 1, NULL), &key0, &key1);
	halves(ir, tn_ir_binary(ir, TN_add, tn_ir_broadcast(ir, in[1], &total, 1, NULL), block), &c.at[0], &c.at[1]);
	c.at[2] = c.at[3] = tn_full_like_int(ir, key0, 0);
	c = philox(ir, c, key0, key1);
	const uint32_t lane = tn_ir_binary(ir, TN_and, i, tn_full_like_int(ir, i, wide ? 1 : 3));
	if (wide) {
		uint32_t pair[2];
		for (uint32_t k = 0; k < 2; k++) {
			const uint32_t lo = tn_ir_convert(ir, c.at[2 * k], TN_U64), hi = tn_ir_convert(ir, c.at[2 * k + 1], TN_U64);
			pair[k] = tn_ir_binary(ir, TN_or, lo, tn_ir_binary(ir, TN_shl, hi, tn_full_like_int(ir, hi, 32)));
		}
		return tn_ir_select(ir, tn_ir_binary(ir, TN_eq, lane, tn_full_like_int(ir, lane, 0)), pair[0], pair[1]);
	}
	uint32_t word = c.at[3];
	for (uint32_t k = 3; k-- > 0;)
		word = tn_ir_select(ir, tn_ir_binary(ir, TN_eq, lane, tn_full_like_int(ir, lane, k)), c.at[k], word);
	return word;
}

/* the top `bits` bits of each element's words as an unsigned number, [total] */
static uint32_t top_bits(struct tn_ir *ir, const uint32_t *in, uint32_t total, uint32_t bits)
{
	const uint32_t word = random_words(ir, in, total, bits > 32), width = bits > 32 ? 64 : 32;
	return bits == width ? word : tn_ir_binary(ir, TN_shr, word, tn_full_like_int(ir, word, width - bits));
}

/* the attribute shape in ir's sizes, and their product */
static uint32_t result_shape(struct tn_ir *ir, const struct tn_graph *g, const struct tn_node *n, uint32_t *dims, uint32_t *rank)
{
	const uint32_t *sizes = tn_attr_sizes(g, n, TN_ATTR_shape, rank);
	for (uint32_t i = 0; i < *rank; i++)
		dims[i] = tn_size_import(ir, g, sizes[i]);
	return tn_size_product(ir, dims, *rank);
}

void tn_build_random_bits(struct tn_ir *ir, const struct tn_graph *g, const struct tn_node *n, const uint32_t *in, uint32_t *out)
{
	const uint32_t dtype = (uint32_t)tn_attr_int(g, n, TN_ATTR_dtype, TN_U32);
	uint32_t dims[TN_RANK_MAX], rank;
	const uint32_t total = result_shape(ir, g, n, dims, &rank);
	if (!((TN_M_INT | TN_M(TN_BOOL)) >> dtype & 1))
		tn_raise(ir->arena->diag, TN_E_ARG, "random_bits: bits of dtype %s; integers and bool have them", tn_dtype_name(dtype));
	const uint32_t bits = top_bits(ir, in, total, dtype == TN_BOOL ? 1 : tn_dtype_bits(dtype));
	out[0] = tn_ir_reshape(ir, tn_ir_convert(ir, bits, dtype), dims, rank);
}

/* as many bits as the dtype has in its significand: every number is k * 2^-bits, 0 <= k < 2^bits */
void tn_build_random_uniform(struct tn_ir *ir, const struct tn_graph *g, const struct tn_node *n, const uint32_t *in, uint32_t *out)
{
	const uint32_t dtype = (uint32_t)tn_attr_int(g, n, TN_ATTR_dtype, TN_F32);
	uint32_t dims[TN_RANK_MAX], rank;
	const uint32_t total = result_shape(ir, g, n, dims, &rank);
	if (!tn_is_float(dtype))
		tn_raise(ir->arena->diag, TN_E_ARG, "random_uniform: dtype %s is not a float", tn_dtype_name(dtype));
	const uint32_t bits = dtype == TN_F64 ? 53 : dtype == TN_F32 ? 24 : dtype == TN_F16 ? 11 : 8;
	const uint32_t k = tn_ir_convert(ir, top_bits(ir, in, total, bits), dtype);
	out[0] = tn_ir_reshape(ir, tn_ir_binary(ir, TN_mul, k, tn_full_like(ir, k, 1.0 / (double)(UINT64_C(1) << bits))), dims, rank);
}
