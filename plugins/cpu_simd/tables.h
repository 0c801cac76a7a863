/* tables.h - the const tables of the kernel way, each once in the plugin: dialect and words (dialect.h), templates (templates/) */
#ifndef CPU_TABLES_H
#define CPU_TABLES_H
#include "core.h"
#include "dialect.h"

extern const char cpu_text_pointwise[], cpu_text_pointwise_blocked[], cpu_text_reduce_row[], cpu_text_reduce_column[], cpu_text_rows[], cpu_text_contract[], cpu_text_cumulate[], cpu_text_scatter[];

static const struct tn_param_row cpu_tile_params[] = {
	{ "tile", { 8192 }, 1, 0 }, { "long_body", { 60 }, 1, 0 },
};
static const struct tn_param_row cpu_blocked_params[] = {
	{ "block", { 64 }, 1, 0 }, { "long_body", { 60 }, 1, 0 },
};
static const struct tn_param_row cpu_column_params[] = {
	{ "strip", { 256 }, 1, 0 }, { "long_body", { 60 }, 1, 0 },
};
static const struct tn_param_row cpu_rows_params[] = {
	{ "tile", { 8192 }, 1, 0 }, { "short_body", { 12 }, 1, 0 }, { "kept", { 1 }, 1, 0 },
};
static const struct tn_param_row cpu_again_params[] = {
	{ "tile", { 8192 }, 1, 0 }, { "short_body", { 12 }, 1, 0 }, { "kept", { 0 }, 1, 0 },
};
static const struct tn_param_row cpu_contract_params[] = {
	{ "mc", { CPU_CORE_MC }, 1, 0 }, { "nc", { 256 }, 1, 0 }, { "kc", { CPU_CORE_KC }, 1, 0 },
};

static const struct tn_template_row cpu_template_rows[] = {
	{ .id = "pointwise", .version = TN_TEMPLATE_VERSION, .nest = TN_NEST_POINTWISE, .text = cpu_text_pointwise, .benefit = 1, .params = TN_ROWS(cpu_tile_params),
		.launch = { "ceil_div(extent(OUTER) * extent(INNER.rest), max(1, tile / max(1, extent(INNER.last)))) * ceil_div(extent(INNER.last), tile)" } },
	{ .id = "pointwise_blocked", .version = TN_TEMPLATE_VERSION, .nest = TN_NEST_POINTWISE, .text = cpu_text_pointwise_blocked, .benefit = 2,
		.params = TN_ROWS(cpu_blocked_params), .where = "dims(OUTER) >= 1 && dims(INNER) >= 1 && strided(INNER) >= 1 && along(OUTER) >= 1",
		.launch = { "extent(OUTER.rest) * extent(INNER.rest) * ceil_div(extent(OUTER.last), block) * ceil_div(extent(INNER.last), block)" } },
	{ .id = "reduce_row", .version = TN_TEMPLATE_VERSION, .nest = TN_NEST_REDUCE, .text = cpu_text_reduce_row, .benefit = 1, .params = TN_ROWS(cpu_tile_params),
		.where = "dims(INNER) == 0", .launch = { "ceil_div(extent(OUTER), max(1, tile / max(1, extent(RED))))" } },
	{ .id = "reduce_column", .version = TN_TEMPLATE_VERSION, .nest = TN_NEST_REDUCE, .text = cpu_text_reduce_column, .benefit = 1, .params = TN_ROWS(cpu_column_params),
		.where = "dims(INNER) >= 1", .launch = { "extent(OUTER) * extent(INNER.rest) * ceil_div(extent(INNER.last), strip)" } },
	/* rows too long to keep are computed again in each phase */
	{ .id = "rows_again", .version = TN_TEMPLATE_VERSION, .nest = TN_NEST_ROWS, .text = cpu_text_rows, .benefit = 2, .params = TN_ROWS(cpu_again_params),
		.where = "keep_bytes * extent(RED) > 4194304", .launch = { "ceil_div(extent(OUTER), max(1, tile / max(1, extent(RED))))" } },
	{ .id = "rows", .version = TN_TEMPLATE_VERSION, .nest = TN_NEST_ROWS, .text = cpu_text_rows, .benefit = 1, .params = TN_ROWS(cpu_rows_params),
		.scratch = "keep_bytes * (ceil_div(extent(RED), 16) * 16 + 16)", .launch = { "ceil_div(extent(OUTER), max(1, tile / max(1, extent(RED))))" } },
	/* scratch: A's panels, C's block, B's panels, an operand before it is packed; 16 and 64 are the most that mr and nr can be */
	{ .id = "contract", .version = TN_TEMPLATE_VERSION, .nest = TN_NEST_CONTRACT, .text = cpu_text_contract, .benefit = 1, .params = TN_ROWS(cpu_contract_params),
		.scratch = "dot_bytes * ((min(mc, extent(M)) + 16) * min(kc, max(1, extent(K))) + (min(mc, extent(M)) + 16) * (nc + 64)"
			" + (nc + 64) * min(kc, max(1, extent(K))) + (max(mc, max(nc, kc)) + 1) * max(nc + 64, kc + 16))",
		.launch = { "extent(BATCH) * ceil_div(extent(M), mc) * ceil_div(extent(N), nc)" } },
	{ .id = "cumulate", .version = TN_TEMPLATE_VERSION, .nest = TN_NEST_CUMULATE, .text = cpu_text_cumulate, .benefit = 1, .params = TN_ROWS(cpu_column_params),
		.launch = { "extent(OUTER) * extent(INNER.rest) * ceil_div(extent(INNER.last), strip)" } },
	{ .id = "scatter", .version = TN_TEMPLATE_VERSION, .nest = TN_NEST_SCATTER, .text = cpu_text_scatter, .benefit = 1 },
};

#define CPU_DIALECT   TN_ROWS(cpu_dialect_rows)
#define CPU_WORDS     TN_ROWS(cpu_word_rows)
#define CPU_TEMPLATES TN_ROWS(cpu_template_rows)
#endif
