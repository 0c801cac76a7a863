/* tables_module.c - the tables and the cores alone, as a module: render's tests render, compile and run with them */
#include "isa.h"
#include "tables.h"

extern const struct tn_dialect_row_rows cpu_dialect;
extern const struct tn_word_row_rows cpu_words;
extern const struct tn_template_row_rows cpu_templates;
const struct cpu_cores *cpu_tables_cores(const char *isa);

TN_EXPORT const struct tn_dialect_row_rows cpu_dialect = CPU_DIALECT;
TN_EXPORT const struct tn_word_row_rows cpu_words = CPU_WORDS;
TN_EXPORT const struct tn_template_row_rows cpu_templates = CPU_TEMPLATES;

TN_EXPORT const struct cpu_cores *cpu_tables_cores(const char *isa)
{
	return cpu_isa_select(isa, NULL);
}
