/* tables.h - the const tables of the kernel way, each once in the plugin: dialect and words (dialect.h), templates (templates/) */
#ifndef CPU_TABLES_H
#define CPU_TABLES_H
#include "dialect.h"

extern const char cpu_text_pointwise[], cpu_text_reduce_row[], cpu_text_reduce_column[];

static const struct tn_param_row cpu_tile_params[] = {
	{ "tile", { 8192 }, 1, 0 }, { "long_body", { 60 }, 1, 0 },
};
static const struct tn_param_row cpu_column_params[] = {
	{ "strip", { 256 }, 1, 0 }, { "long_body", { 60 }, 1, 0 },
};

static const struct tn_template_row cpu_template_rows[] = {
	{ .id = "pointwise", .version = TN_TEMPLATE_VERSION, .nest = TN_NEST_POINTWISE, .text = cpu_text_pointwise, .benefit = 1, .params = TN_ROWS(cpu_tile_params),
		.launch = { "ceil_div(extent(OUTER) * extent(INNER.rest), max(1, tile / max(1, extent(INNER.last)))) * ceil_div(extent(INNER.last), tile)" } },
	{ .id = "reduce_row", .version = TN_TEMPLATE_VERSION, .nest = TN_NEST_REDUCE, .text = cpu_text_reduce_row, .benefit = 1, .params = TN_ROWS(cpu_tile_params),
		.where = "dims(INNER) == 0", .launch = { "ceil_div(extent(OUTER), max(1, tile / max(1, extent(RED))))" } },
	{ .id = "reduce_column", .version = TN_TEMPLATE_VERSION, .nest = TN_NEST_REDUCE, .text = cpu_text_reduce_column, .benefit = 1, .params = TN_ROWS(cpu_column_params),
		.where = "dims(INNER) >= 1", .launch = { "extent(OUTER) * extent(INNER.rest) * ceil_div(extent(INNER.last), strip)" } },
};

#define CPU_DIALECT   TN_ROWS(cpu_dialect_rows)
#define CPU_WORDS     TN_ROWS(cpu_word_rows)
#define CPU_TEMPLATES TN_ROWS(cpu_template_rows)
#endif
