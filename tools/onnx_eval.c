/* onnx_eval.c - converts ONNX models, runs them on the strict evaluator and compares with stored results
 *
 *     onnx_eval FOLDER...              each with model.onnx, in_0.npy ..., out_0.npy ..., and perhaps tolerance.txt ("rtol atol")
 *     onnx_eval --print MODEL.onnx     the graph as text
 * One line a folder: "pass NAME", "fail NAME: why", "skip NAME: why" (not offered here).  Ends with counts; fails when one did. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "decomp/decomp.h"
#include "frontend/onnx/onnx.h"

struct file { char *at; size_t size; };
struct run { struct tn_diag d; struct tn_arena a; const char *folder; bool print; int result; char why[1200]; };

static struct file slurp(struct tn_arena *a, const char *path)
{
	struct file f = { 0 };
	FILE *in = fopen(path, "rb");
	if (!in)
		return f;
	fseek(in, 0, SEEK_END);
	long size = ftell(in);
	rewind(in);
	f.at = tn_arena_alloc(a, (size_t)size + 1);
	f.size = fread(f.at, 1, (size_t)size, in);
	fclose(in);
	return f;
}

static uint32_t npy_dtype(const char *descr)
{
	static const struct { const char *name; uint32_t dtype; } rows[] = {
		{ "|b1", TN_BOOL }, { "|u1", TN_U8 }, { "<u2", TN_U16 }, { "<u4", TN_U32 }, { "<u8", TN_U64 }, { "|i1", TN_I8 }, { "<i2", TN_I16 },
		{ "<i4", TN_I32 }, { "<i8", TN_I64 }, { "<f2", TN_F16 }, { "<f4", TN_F32 }, { "<f8", TN_F64 },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (!strncmp(descr, rows[i].name, 3))
			return rows[i].dtype;
	return TN_NONE;
}

/* version 1 of numpy's format, row-major; false: there is no such file */
static bool load_npy(struct tn_arena *a, const char *path, struct tn_array *x)
{
	struct file f = slurp(a, path);
	if (!f.at)
		return false;
	char *descr = f.size > 10 ? strstr(f.at + 10, "'descr': '") : NULL, *shape = descr ? strstr(descr, "'shape': (") : NULL;
	if (!shape || strstr(descr, "'fortran_order': True"))
		tn_raise(a->diag, TN_E_ARG, "%s: not an array that can be read", path);
	*x = (struct tn_array){ .dtype = npy_dtype(descr + 10) };
	for (char *p = shape + 10; *p && *p != ')' && x->rank < 8;) {
		char *end;
		int64_t n = strtoll(p, &end, 10);
		if (end == p)
			break;
		x->dims[x->rank++] = n;
		for (p = end; *p == ',' || *p == ' ' || *p == 'L'; p++)
			;
	}
	size_t head = 10u + (unsigned char)f.at[8] + 256u * (unsigned char)f.at[9];
	if (!x->dtype || head > f.size)
		tn_raise(a->diag, TN_E_ARG, "%s: elements of type %.3s", path, descr + 10);
	x->size = f.size - head;
	x->at = tn_copy_bytes(a, f.at + head, x->size);
	return true;
}

static double half(uint16_t b)
{
	int e = b >> 10 & 31, m = b & 1023;
	double x = e == 31 ? (m ? (double)NAN : (double)INFINITY) : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
	return b >> 15 ? -x : x;
}

static double number(const struct tn_array *x, uint64_t i)
{
	uint32_t bits;
	float f;
	switch (x->dtype) {
	case TN_F32: return (double)((const float *)x->at)[i];
	case TN_F64: return ((const double *)x->at)[i];
	case TN_F16: return half(((const uint16_t *)x->at)[i]);
	default:
		bits = (uint32_t)((const uint16_t *)x->at)[i] << 16;   /* bf16 */
		memcpy(&f, &bits, 4);
		return (double)f;
	}
}

static bool is_float(uint32_t dtype)
{
	return TN_M_FLOAT >> dtype & 1;
}

/* stored arrays of types that numpy has not come as unsigned integers of the same width */
static void retype(struct tn_array *x, uint32_t dtype)
{
	if (x->dtype != dtype && tn_dtype_bytes(x->dtype) == tn_dtype_bytes(dtype) && (x->dtype == TN_U8 || x->dtype == TN_U16))
		x->dtype = dtype;
}

static void compare(struct run *r, uint32_t k, const char *name, const struct tn_array *got, struct tn_array *want, double rtol, double atol)
{
	uint64_t n = 1, bad = 0, first = 0;
	retype(want, got->dtype);
	if (got->dtype != want->dtype || got->rank != want->rank)
		tn_raise(&r->d, TN_E_CALL, "output %u (%s) is %s of rank %u, not %s of rank %u", k, name, tn_dtype_name(got->dtype), got->rank,
		         tn_dtype_name(want->dtype), want->rank);
	for (uint32_t d = 0; d < got->rank; d++) {
		n *= (uint64_t)got->dims[d];
		if (got->dims[d] != want->dims[d])
			tn_raise(&r->d, TN_E_CALL, "output %u (%s) dim %u is %lld, not %lld", k, name, d, (long long)got->dims[d], (long long)want->dims[d]);
	}
	double worst = 0;
	for (uint64_t i = 0; i < n; i++) {
		bool same;
		if (is_float(got->dtype)) {
			double x = number(got, i), y = number(want, i), off = fabs(x - y);
			same = x == y || (isnan(x) && isnan(y)) || off <= atol + rtol * fabs(y);
			worst = off > worst ? off : worst;
		} else {
			uint32_t bytes = tn_dtype_bytes(got->dtype);
			same = !memcmp((const char *)got->at + i * bytes, (const char *)want->at + i * bytes, bytes);
		}
		first = same || bad ? first : i;
		bad += !same;
	}
	if (bad && is_float(got->dtype))
		tn_raise(&r->d, TN_E_CALL, "output %u (%s): %llu of %llu elements differ, first at %llu: %.9g, not %.9g; worst by %g", k, name, (unsigned long long)bad,
		         (unsigned long long)n, (unsigned long long)first, number(got, first), number(want, first), worst);
	if (bad)
		tn_raise(&r->d, TN_E_CALL, "output %u (%s): %llu of %llu elements differ, first at %llu", k, name, (unsigned long long)bad, (unsigned long long)n,
		         (unsigned long long)first);
	if (r->print && is_float(got->dtype))
		printf("output %u: worst difference %g\n", k, worst);
}

static void work(void *arg)
{
	struct run *r = arg;
	struct tn_arena *a = &r->a;
	double rtol = 1e-3, atol = 1e-7;
	struct tn_ir *ir = tn_onnx_load(a, tn_printf(a, "%s/model.onnx", r->folder));
	tn_ir_verify(&ir->g, a);
	struct file f = slurp(a, tn_printf(a, "%s/tolerance.txt", r->folder));
	if (f.at)
		sscanf(f.at, "%lf %lf", &rtol, &atol);
	struct tn_array *in = tn_array(a, struct tn_array, ir->g.n_in + 1u), *out = tn_array(a, struct tn_array, ir->g.n_out + 1u), want;
	for (uint32_t i = 0; i < ir->g.n_in; i++) {
		if (!load_npy(a, tn_printf(a, "%s/in_%u.npy", r->folder, i), &in[i]))
			tn_raise(&r->d, TN_E_GONE, "in_%u.npy is missing", i);
		retype(&in[i], tn_val(&ir->g, ir->g.operands[ir->g.in0 + i])->dtype);
	}
	tn_eval_graph(&ir->g, in, out, a);
	for (uint32_t i = 0; i < ir->g.n_out; i++) {
		if (!load_npy(a, tn_printf(a, "%s/out_%u.npy", r->folder, i), &want))
			tn_raise(&r->d, TN_E_GONE, "out_%u.npy is missing", i);
		compare(r, i, i < ir->g.n_out_names ? tn_str_at(&ir->g, ir->g.out_names[i]) : "", &out[i], &want, rtol, atol);
	}
}

static void print(void *arg)
{
	struct run *r = arg;
	struct tn_ir *ir = tn_onnx_load(&r->a, r->folder);
	struct tn_text t = { .arena = &r->a };
	tn_ir_print(&t, &ir->g);
	fputs(t.at, stdout);
	tn_ir_verify(&ir->g, &r->a);
}

int main(int argc, char **argv)
{
	int count[3] = { 0 };
	bool just_print = argc > 2 && !strcmp(argv[1], "--print"), detail = argc > 2 && !strcmp(argv[1], "--detail");
	tn_decomp_register();
	for (int i = 1 + (just_print || detail); i < argc; i++) {
		static const char *const words[] = { "pass", "fail", "skip" };
		struct run *r = calloc(1, sizeof *r);
		if (!r)
			return 1;
		r->folder = argv[i];
		r->print = detail;
		tn_arena_init(&r->a, &r->d);
		int32_t rc = tn_protect(&r->d, just_print ? print : work, r);
		const char *name = strrchr(argv[i], '/');
		int result = !rc ? 0 : rc == TN_E_UNSUPPORTED ? 2 : 1;
		count[result]++;
		if (!just_print || rc)
			printf("%s %s%s%s\n", words[result], name ? name + 1 : argv[i], rc ? ": " : "", rc ? r->d.text : "");
		fflush(stdout);
		tn_arena_fini(&r->a);
		free(r);
	}
	if (!just_print)
		printf("%d passed, %d failed, %d skipped\n", count[0], count[1], count[2]);
	return count[1] != 0;
}
