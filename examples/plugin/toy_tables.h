/* toy_tables.h - what the toy can do, as data: how primitives and words are spelled in scalar C, two templates, three rules.
 *
 * The host fuses nodes into loop nests under the rules, picks a template by the nest's class, and writes the body with the dialect
 * and word rows.  docs/templates.md is the language of the holes.  Registers: bool is an int, 0 or 1; the rest is itself. */
#ifndef TOY_TABLES_H
#define TOY_TABLES_H
#include <tenon/plugin.h>

#define F TN_M(TN_F32)
#define I32 TN_M(TN_I32)
#define I64 TN_M(TN_I64)
#define I (I32 | I64)
#define B TN_M(TN_BOOL)
#define ALL (F | I | B)

/* ---- primitives: the atoms on these dtypes, so that every elementwise composite follows from its definition.  A row for a
 * composite is a choice: without `exp` the host would write its polynomial. */
#define R(prim, in, out, text) TN_SPELL(prim, TN_SCALAR, in, out, text)
static const struct tn_dialect_row toy_dialect[] = {
	R(add, F | I, F | I, "@0@ + @1@"), R(sub, F | I, F | I, "@0@ - @1@"), R(mul, F | I, F | I, "@0@ * @1@"),
	R(div, F, F, "@0@ / @1@"), R(div, I, I, "@1@ == 0 ? -1 : @1@ == -1 ? -@0@ : @0@ / @1@"),
	R(rem, F, F, "__builtin_fmodf(@0@, @1@)"), R(rem, I, I, "@1@ == 0 ? @0@ : @1@ == -1 ? 0 : @0@ % @1@"),
	R(max, F, F, "@use(minmax)@max_f32(@0@, @1@)"), R(max, I | B, I | B, "@0@ > @1@ ? @0@ : @1@"),
	R(min, F, F, "@use(minmax)@min_f32(@0@, @1@)"), R(min, I | B, I | B, "@0@ < @1@ ? @0@ : @1@"),
	R(and, I | B, I | B, "@0@ & @1@"), R(or, I | B, I | B, "@0@ | @1@"), R(xor, I | B, I | B, "@0@ ^ @1@"),
	R(shl, I32, I32, "(u64)@1@ < 32 ? @0@ << @1@ : 0"), R(shr, I32, I32, "@0@ >> ((u64)@1@ < 32 ? @1@ : 31)"),
	R(shl, I64, I64, "(u64)@1@ < 64 ? @0@ << @1@ : 0"), R(shr, I64, I64, "@0@ >> ((u64)@1@ < 64 ? @1@ : 63)"),
	R(eq, ALL, B, "@0@ == @1@"), R(lt, ALL, B, "@0@ < @1@"), R(le, ALL, B, "@0@ <= @1@"),
	R(select, ALL, ALL, "@0@ ? @1@ : @2@"),
	R(floor, F, F, "__builtin_floorf(@0@)"), R(round, F, F, "__builtin_rintf(@0@)"), R(sqrt, F, F, "__builtin_sqrtf(@0@)"),
	R(convert, I | B, F | I, "(@T@)@0@"), R(convert, F | I, B, "@0@ != 0"),
	R(convert, F, I32, "@0@ != @0@ ? 0 : @0@ >= 0x1p31f ? 2147483647 : @0@ < -0x1p31f ? -2147483647 - 1 : (i32)@0@"),
	R(convert, F, I64, "@0@ != @0@ ? 0 : @0@ >= 0x1p63f ? 9223372036854775807 : @0@ < -0x1p63f ? -9223372036854775807 - 1 : (i64)@0@"),
	R(bitcast, F, I32, "@use(bits)@i32_of(@0@)"), R(bitcast, I32, F, "@use(bits)@f32_of(@0@)"),
	R(exp, F, F, "__builtin_expf(@0@)"),
};
#undef R

/* ---- words: everything of the language that is not a primitive */
#define W(role, dtypes, text) TN_WORD(role, 0, dtypes, text)
static const struct tn_word_row toy_words[] = {
	W("preamble", 0, "typedef unsigned char u8;\ntypedef int i32;\ntypedef __INT64_TYPE__ i64;\ntypedef __UINT64_TYPE__ u64;\ntypedef float f32;\n"),
	W("type", B, "i32"), W("type", I32, "i32"), W("type", I64, "i64"), W("type", F, "f32"),       /* in a register */
	W("storage", B, "u8"), W("storage", I32, "i32"), W("storage", I64, "i64"), W("storage", F, "f32"),   /* in memory */
	W("literal", B | I32, "@value@"), W("literal", I64, "(i64)@value@"), W("literal", F, "@value@f"),
	W("literal.inf", F, "@sign@__builtin_inff()"), W("literal.nan", F, "__builtin_nanf(\"\")"),
	W("let", 0, "const @T@ @r@ = @x@;"), W("var", 0, "@T@ @r@ = @x@;"), W("set", 0, "@r@ = @x@;"),
	W("if", 0, "if (@c@) {"), W("endif", 0, "}"), W("inside", 0, "(u64)(@0@) < (u64)(@1@)"),
	W("index", 0, "(i64)@0@"), W("div", 0, "(@0@ / @1@)"), W("mod", 0, "(@0@ % @1@)"),
	W("floor_div", 0, "@use(floor)@floor_div(@0@, @1@)"), W("floor_mod", 0, "@use(floor)@floor_mod(@0@, @1@)"),
	W("arg.in", 0, "const @S@ *const @b@ = b[@k@];"), W("arg.out", 0, "@S@ *const @b@ = b[@k@];"), W("arg.size", 0, "const i64 @r@ = s[@k@];"),
	W("load", 0, "@b@[@i@]"), W("store", 0, "@b@[@i@] = @x@;"),
	W("helper.minmax", 0,      /* NaN wins, +0 is above -0 */
		"static f32 max_f32(f32 x, f32 y) { return x > y || x != x ? x : x == y && x == 0 ? x + y : y; }\n"
		"static f32 min_f32(f32 x, f32 y) { return x < y || x != x ? x : x == y && x == 0 ? -(-x - y) : y; }\n"),
	W("helper.bits", 0,
		"static i32 i32_of(f32 x) { union { f32 f; i32 i; } c = { .f = x }; return c.i; }\n"
		"static f32 f32_of(i32 x) { union { f32 f; i32 i; } c = { .i = x }; return c.f; }\n"),
	W("helper.floor", 0,
		"static i64 floor_div(i64 x, i64 y) { return x / y - (x % y != 0 && (x < 0) != (y < 0)); }\n"
		"static i64 floor_mod(i64 x, i64 y) { return x - y * floor_div(x, y); }\n"),
};
#undef W

/* ---- templates.  A kernel is called once a tile t of its grid, with the addresses of its buffers and the sizes it asked for */
#define HEAD \
	"void @name@(void *const *b, const i64 *s, i64 t)\n{\n" \
	"\t@args@\n" \
	"\tconst i64 cols = @extent(INNER)@, n = @size(extent(OUTER) * extent(INNER))@;\n" \
	"\tfor (i64 k = t * @param(tile)@; k < n && k < (t + 1) * @param(tile)@; k++) {\n" \
	"\t\t@at(OUTER=k / cols, INNER=k % cols)@\n"
#define GRID "ceil_div(extent(OUTER) * extent(INNER), tile)"

static const char toy_pointwise[] = HEAD
	"\t\t@body(0)@\n"
	"\t\t@end@\n\t}\n}\n";

static const char toy_reduce[] = HEAD          /* one result after the other, each over all of RED */
	"\t\t@acc(0)@\n"
	"\t\tfor (i64 r = 0; r < @extent(RED)@; r++) {\n"
	"\t\t\t@body(0, RED=r)@\n"
	"\t\t}\n"
	"\t\t@finish(0)@\n"
	"\t\t@body(1)@\n"
	"\t\t@end@\n\t}\n}\n";

static const struct tn_param_row toy_tile[] = { { "tile", { 4096 }, 1, 0 } };
static const struct tn_param_row toy_rows[] = { { "tile", { 64 }, 1, 0 } };
static const struct tn_template_row toy_templates[] = {
	{ .id = "pointwise", .version = TN_TEMPLATE_VERSION, .nest = TN_NEST_POINTWISE, .text = toy_pointwise, .launch = { GRID }, .params = TN_ROWS(toy_tile) },
	{ .id = "reduce", .version = TN_TEMPLATE_VERSION, .nest = TN_NEST_REDUCE, .text = toy_reduce, .launch = { GRID }, .params = TN_ROWS(toy_rows) },
};

/* ---- rules: what may become one kernel (around an anchor of these classes), and what is compiled as a graph.  Ids of rules and of
 * templates differ: TENON_DISABLE=org.example.toy:ID switches one of them off */
#define SIMPLE (TN_CLASS(TN_CLASS_POINTWISE) | TN_CLASS(TN_CLASS_VIEW) | TN_CLASS(TN_CLASS_DATA) | TN_CLASS(TN_CLASS_GATHER))
static const struct tn_rule_row toy_rules[] = {
	{ .id = "fuse.pointwise", .version = 1, .anchor = SIMPLE, .producers = SIMPLE, .consumers = SIMPLE, .max_inputs = 16, .max_nodes = 64 },
	{ .id = "fuse.reduce", .version = 1, .anchor = TN_CLASS(TN_CLASS_REDUCE), .producers = SIMPLE, .consumers = SIMPLE, .max_inputs = 16, .max_nodes = 64 },
	{ .id = "matmul", .version = 1, .anchor = TN_CLASS(TN_CLASS_CONTRACT), .max_nodes = 1, .flags = TN_RULE_GRAPH },
};
static const struct tn_cap_row toy_caps[] = {      /* the graph way's claims: an upper bound, compile still looks at the attributes */
	{ .prim = TN_dot, .version = 1, .out = F, .in0 = F, .in1 = F, .rank_lo = 2, .rank_hi = 2 },
};
static const struct tn_target_row toy_targets[] = { { "toy-1", NULL, 0 } };

#undef F
#undef I32
#undef I64
#undef I
#undef B
#undef ALL
#endif
