/* inputs.h - inputs of a model from the command line: files, random numbers, zeros; sizes of symbolic dims. */
#ifndef TENON_INPUTS_H
#define TENON_INPUTS_H
#include <tenon/tenon.h>
#include "tools/npy.h"

#define TOOL_MAX_PORTS 64
struct tool_named { const char *name, *value; };
struct tool_inputs {
	struct tool_named inputs[TOOL_MAX_PORTS], dims[TOOL_MAX_PORTS];
	uint32_t n_inputs, n_dims;
	struct tn_tensor *in[TOOL_MAX_PORTS];     /* made by tool_inputs_make */
	uint32_t n_in;
};
/* takes --input NAME=FILE.npy|random|zeros and --dim NAME=SIZE at argv[*i]; 1 when it was one of them */
int tool_inputs_option(int argc, char **argv, int *i, struct tool_inputs *in, int *bad);
/* NAME=VALUE, or VALUE alone unless need_name; changes text; 0 with words on standard error */
int tool_split_named(char *text, struct tool_named *out, uint32_t *n, int need_name);
int tool_inputs_make(struct tool_inputs *in, struct tn_session *s, struct tn_model *m);   /* 0 with words on standard error */
void tool_inputs_free(struct tool_inputs *in);
double tool_number(uint32_t dtype, const void *at, uint64_t i);    /* element i of a dense array */
#endif
