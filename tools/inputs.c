/* inputs.c - a model's inputs from the command line. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/half.h"
#include "ir/prim.h"
#include "tools/inputs.h"
#include "tools/tool.h"

int tool_split_named(char *text, struct tool_named *out, uint32_t *n, int need_name)
{
	char *eq = strchr(text, '=');
	if ((!eq && need_name) || *n == TOOL_MAX_PORTS) { fprintf(stderr, "tenon: '%s' is not NAME=VALUE\n", text); return 0; }
	if (eq) *eq = 0;
	out[(*n)++] = (struct tool_named){ eq ? text : NULL, eq ? eq + 1 : text };
	return 1;
}

int tool_inputs_option(int argc, char **argv, int *i, struct tool_inputs *in, int *bad)
{
	const char *v;
	if ((v = tool_option(argc, argv, i, "--input", bad))) *bad |= !tool_split_named((char *)(uintptr_t)v, in->inputs, &in->n_inputs, 1);
	else if ((v = tool_option(argc, argv, i, "--dim", bad))) *bad |= !tool_split_named((char *)(uintptr_t)v, in->dims, &in->n_dims, 1);
	return v != NULL;
}

static uint64_t random_state = 0x9e3779b97f4a7c15u;
static double uniform(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (double)(random_state >> 11) / 9007199254740992.0;
}

static double normal(void) { return sqrt(-2 * log(uniform() + 1e-300)) * cos(6.283185307179586 * uniform()); }

static int fill_random(uint32_t dtype, void *at, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		double x = normal(), k = floor(uniform() * 100);
		switch (dtype) {
		case TN_F32: ((float *)at)[i] = (float)x; break;
		case TN_F64: ((double *)at)[i] = x; break;
		case TN_F16: ((uint16_t *)at)[i] = tn_f32_to_f16((float)x); break;
		case TN_BF16: ((uint16_t *)at)[i] = tn_f32_to_bf16((float)x); break;
		case TN_BOOL: ((uint8_t *)at)[i] = k < 50; break;
		case TN_U8: case TN_I8: ((uint8_t *)at)[i] = (uint8_t)k; break;
		case TN_U16: case TN_I16: ((uint16_t *)at)[i] = (uint16_t)k; break;
		case TN_U32: case TN_I32: ((uint32_t *)at)[i] = (uint32_t)k; break;
		case TN_U64: case TN_I64: ((uint64_t *)at)[i] = (uint64_t)k; break;
		default: return 0;
		}
	}
	return 1;
}

static const char *named_value(const struct tool_named *v, uint32_t n, const char *name)
{
	for (uint32_t i = 0; i < n; i++)
		if (v[i].name && !strcmp(v[i].name, name)) return v[i].value;
	return NULL;
}

static int make_input(struct tool_inputs *st, struct tn_session *s, uint32_t i, const struct tn_port *p, const char *how)
{
	int64_t dims[8];
	for (uint32_t k = 0; k < p->rank; k++) {
		const char *given = named_value(st->dims, st->n_dims, p->dim_names[k]);
		dims[k] = p->dims[k] >= 0 ? p->dims[k] : given ? atoll(given) : 1;
	}
	if (tn_tensor_create(s, p->dtype, p->rank, dims, &st->in[i]) != TN_OK) return 0;
	if (!strcmp(how, "zeros")) return 1;
	uint64_t bytes = tn_dtype_bytes(p->dtype);
	if (fill_random(p->dtype, tn_tensor_data(st->in[i]), bytes ? tn_tensor_bytes(st->in[i]) / bytes : 0)) return 1;
	fprintf(stderr, "tenon: input '%s' is %s: give a file or zeros\n", p->name, tn_dtype_name(p->dtype));
	return 0;
}

int tool_inputs_make(struct tool_inputs *st, struct tn_session *s, struct tn_model *m)
{
	struct tn_port p = { .head = TN_HEAD(tn_port, 0) };
	char why[4400];
	for (uint32_t k = 0; k < st->n_inputs; k++) {                    /* a name that the model does not have */
		int found = 0;
		for (uint32_t i = 0; tn_model_input(m, i, &p) == TN_OK; i++) found |= !strcmp(p.name, st->inputs[k].name);
		if (found) continue;
		fprintf(stderr, "tenon: the model has no input '%s'; it has:", st->inputs[k].name);
		for (uint32_t i = 0; tn_model_input(m, i, &p) == TN_OK; i++) fprintf(stderr, " %s", p.name);
		fputc('\n', stderr);
		return 0;
	}
	for (; tn_model_input(m, st->n_in, &p) == TN_OK; st->n_in++) {
		uint32_t i = st->n_in;
		if (i == TOOL_MAX_PORTS) { fprintf(stderr, "tenon: more than %d inputs\n", TOOL_MAX_PORTS); return 0; }
		const char *how = named_value(st->inputs, st->n_inputs, p.name);
		if (!how || !strcmp(how, "random") || !strcmp(how, "zeros")) {
			if (!make_input(st, s, i, &p, how ? how : "random")) return *tn_error_text() ? !tool_fail() : 0;
			continue;
		}
		struct npy f;
		if (!npy_read(how, &f, why, sizeof why)) { fprintf(stderr, "tenon: input '%s': %s\n", p.name, why); return 0; }
		if (tn_tensor_wrap(s, f.dtype, f.rank, f.dims, NULL, f.data, free, f.data, &st->in[i]) != TN_OK) return !tool_fail();
	}
	return 1;
}

void tool_inputs_free(struct tool_inputs *in)
{
	for (uint32_t i = 0; i < TOOL_MAX_PORTS; i++) tn_tensor_release(in->in[i]);
}

double tool_number(uint32_t dtype, const void *at, uint64_t i)
{
	switch (dtype) {
	case TN_F32: return (double)((const float *)at)[i];
	case TN_F64: return ((const double *)at)[i];
	case TN_F16: return (double)tn_f16_to_f32(((const uint16_t *)at)[i]);
	case TN_BF16: return (double)tn_bf16_to_f32(((const uint16_t *)at)[i]);
	case TN_BOOL: case TN_U8: return ((const uint8_t *)at)[i];
	case TN_I8: return ((const int8_t *)at)[i];
	case TN_U16: return ((const uint16_t *)at)[i];
	case TN_I16: return ((const int16_t *)at)[i];
	case TN_U32: return ((const uint32_t *)at)[i];
	case TN_I32: return ((const int32_t *)at)[i];
	case TN_U64: return (double)((const uint64_t *)at)[i];
	default: return (double)((const int64_t *)at)[i];
	}
}
