/* tn_file_test.c - a graph goes to a .tn and a .safetensors file and comes back; bad files are named */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "ir/ir.h"
#include "ir/safetensors.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/tn_file_test.XXXXXX";

static const char *in_folder(struct tn_arena *a, const char *name)
{
	return tn_printf(a, "%s/%s", folder, name);
}

struct job { struct tn_arena *a; const char *path; struct tn_ir *ir; float big[100]; uint8_t packed[40]; };

static void build_f(void *arg)
{
	struct job *j = arg;
	struct tn_ir *ir = j->ir = tn_ir_create(j->a, "stored");
	const uint32_t n = tn_size_sym(ir, "n", 0, 100), dims[2] = { n, tn_size_const(ir, 50) };
	const uint32_t x = tn_ir_input(ir, "x", TN_F32, 2, dims);
	for (int i = 0; i < 100; i++)
		j->big[i] = (float)i / 7;
	for (int i = 0; i < 40; i++)
		j->packed[i] = (uint8_t)i;
	const uint32_t w = tn_ir_constant(ir, "layer \"1\"/w", TN_F32, 2, (const int64_t[]){ 50, 2 }, j->big, sizeof j->big);
	const uint32_t unnamed = tn_ir_constant(ir, NULL, TN_F32, 1, (const int64_t[]){ 100 }, j->big, sizeof j->big);
	static const int64_t small[] = { -1, 5 };
	tn_ir_constant(ir, "small", TN_I64, 1, (const int64_t[]){ 2 }, small, sizeof small);
	tn_ir_constant(ir, "nibbles", TN_U4, 1, (const int64_t[]){ 79 }, j->packed, sizeof j->packed);
	tn_ir_output(ir, "y", tn_ir_dot(ir, x, w, (const int64_t[]){ 1, 0 }, 2, NULL, 0));
	tn_ir_output(ir, NULL, unnamed);
}

static void save_f(void *arg)
{
	struct job *j = arg;
	tn_ir_save(&j->ir->g, j->path, j->a);
}

static void load_f(void *arg)
{
	struct job *j = arg;
	j->ir = tn_ir_load(j->a, j->path);
	tn_ir_verify(&j->ir->g, j->a);
}

static void there_and_back(void **state)
{
	struct tn_diag d = { 0 };
	struct tn_arena a, b;
	static struct job out, in;
	(void)state;
	tn_arena_init(&a, &d);
	tn_arena_init(&b, &d);
	out = (struct job){ .a = &a, .path = in_folder(&a, "g.tn") };
	in = (struct job){ .a = &b, .path = out.path };
	if (tn_protect(&d, build_f, &out) || tn_protect(&d, save_f, &out) || tn_protect(&d, load_f, &in))
		fail_msg("%s", d.text);
	struct tn_text s = { .arena = &a }, t = { .arena = &b };
	tn_ir_print(&s, &out.ir->g);
	tn_ir_print(&t, &in.ir->g);
	assert_string_equal(s.at, t.at);
	for (uint64_t i = 0; i < out.ir->g.constants.count; i++) {
		const struct tn_constant *p = &out.ir->g.constants.at[i], *q = &in.ir->g.constants.at[i];
		assert_int_equal(p->size, q->size);
		assert_memory_equal(p->at, q->at, p->size);
		assert_int_equal((uintptr_t)q->at % 4, 0);
	}
	if (tn_protect(&d, save_f, &in))       /* over the files that are mapped */
		fail_msg("%s", d.text);
	assert_memory_equal(out.big, in.ir->g.constants.at[0].at, sizeof out.big);
	tn_arena_fini(&a);
	tn_arena_fini(&b);
}

static void write_file(const char *path, const char *header, size_t claimed, size_t data)
{
	FILE *f = fopen(path, "wb");
	const uint64_t n = claimed;
	const char zero[64] = { 0 };
	fwrite(&n, 8, 1, f);
	fwrite(header, 1, strlen(header), f);
	fwrite(zero, 1, data, f);
	fclose(f);
}

static void bad_files(void **state)
{
	static const struct { const char *header; size_t claimed, data; const char *words; } cases[] = {
		{ "", 1000, 0, "are no safetensors file" },
		{ "{", 1, 0, "header, byte" },
		{ "[1]", 3, 0, "no object" },
		{ "{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,9]}}", 0, 8, "\"w\" has bytes 0 to 9 of 8" },
		{ "{\"w\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]}}", 0, 8, "bytes 8 to 0" },
		{ "{\"w\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]}}", 0, 8, "8 bytes, its shape and dtype need 12" },
		{ "{\"w\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}", 0, 8, "a dim is no whole number" },
		{ "{\"w\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,4],\"data_offsets\":[0,8]}}", 0, 8, "8 bytes" },
		{ "{\"w\":{\"shape\":[2]}}", 0, 8, "lacks dtype" },
		{ "{\"w\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0,8]}}", 0, 8, "another dtype or shape" },
		{ "{\"v\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 0, 8, "\"w\" is not in" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct tn_diag d = { 0 };
		struct tn_arena a;
		tn_arena_init(&a, &d);
		struct job j = { .a = &a, .path = in_folder(&a, "bad.tn") };
		FILE *f = fopen(j.path, "w");
		fputs("graph @b() { const %k: f32[2] = \"w\" return %k }", f);
		fclose(f);
		write_file(in_folder(&a, "bad.safetensors"), cases[i].header, cases[i].claimed ? cases[i].claimed : strlen(cases[i].header), cases[i].data);
		if (tn_protect(&d, load_f, &j) != TN_E_ARG || !strstr(d.text, cases[i].words))
			fail_msg("case %zu: '%s', not '%s'", i, d.text, cases[i].words);
		tn_arena_fini(&a);
	}
}

static void no_file(void **state)
{
	struct tn_diag d = { 0 };
	struct tn_arena a;
	(void)state;
	tn_arena_init(&a, &d);
	struct job j = { .a = &a, .path = "/nowhere/g.tn" };
	assert_int_equal(tn_protect(&d, load_f, &j), TN_E_GONE);
	assert_non_null(strstr(d.text, "/nowhere/g.tn"));
	j.path = folder;
	assert_int_equal(tn_protect(&d, load_f, &j), TN_E_ARG);
	tn_arena_fini(&a);
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int drop_folder(void **state)
{
	char path[128];
	static const char *const names[] = { "g.tn", "g.safetensors", "bad.tn", "bad.safetensors" };
	(void)state;
	for (int i = 0; i < 4; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, names[i]);
		unlink(path);
	}
	return rmdir(folder);          /* fails when a temporary file was left */
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(there_and_back), cmocka_unit_test(bad_files), cmocka_unit_test(no_file) };
	return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
