/* wire_test.c - the wire reader and the decoder: what they read, and that hostile bytes give an error with its place */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "frontend/onnx/model.h"
#include "frontend/onnx/proto_write.h"

struct job { struct tn_diag d; struct tn_arena a; const void *bytes; size_t size; const char *dir; struct tn_onnx_model *m; };

static void decode(void *arg)
{
	struct job *j = arg;
	j->m = tn_onnx_decode(&j->a, j->bytes, j->size, "t.onnx", j->dir);
}

static int32_t run(struct job *j, const void *bytes, size_t size)
{
	void *copy = malloc(size ? size : 1);   /* its own allocation: a stray read is seen */
	if (size)
		memcpy(copy, bytes, size);
	tn_arena_init(&j->a, &j->d);
	j->bytes = copy;
	j->size = size;
	return tn_protect(&j->d, decode, j);
}

static void done(struct job *j)
{
	tn_arena_fini(&j->a);
	free((void *)(uintptr_t)j->bytes);
	j->m = NULL;
}

static void fails(const void *bytes, size_t size, int32_t code, const char *words)
{
	struct job j = { 0 };
	int32_t rc = run(&j, bytes, size);
	if (rc != code || !strstr(j.d.text, words))
		fail_msg("got %d '%s', not %d '%s'", rc, rc ? j.d.text : "", code, words);
	done(&j);
}

static struct pw model_of_tensor(const struct pw *t)
{
	struct pw g = { 0 };
	pw_msg(&g, 5, t);
	return pw_model(&g, 17);
}

static void test_reads(void **state)
{
	(void)state;
	float w[6] = { 1, 2, 3, 4, 5, 6 };
	struct pw t = pw_tensor("w", 1, (int64_t[]){ 2, 3 }, 2, w, sizeof w), g = { 0 };
	struct pw in = pw_value("x", 1, "n 4 -1 ?"), node = pw_node("Gemm", "g0", "x - w", "y");
	pw_attr_ints(&node, "axes", (int64_t[]){ -1, 2 }, 2);
	pw_msg(&g, 1, &node);
	pw_msg(&g, 5, &t);
	pw_msg(&g, 11, &in);
	struct pw m = pw_model(&g, 17);
	struct job j = { 0 };
	assert_int_equal(run(&j, m.at, m.n), TN_OK);
	const struct tn_onnx_graph *r = j.m->graph;
	assert_int_equal(j.m->opsets[0].version, 17);
	assert_int_equal(r->n_nodes, 1);
	assert_int_equal(r->nodes[0].n_in, 3);
	assert_int_equal(r->nodes[0].in[1].len, 0);
	assert_true(tn_str_is(r->nodes[0].op, "Gemm"));
	assert_int_equal(r->nodes[0].attrs[0].ints[0], -1);
	assert_int_equal(r->init[0].dtype, TN_F32);
	assert_memory_equal(r->init[0].at, w, sizeof w);
	assert_in_range((uintptr_t)r->init[0].at, (uintptr_t)j.bytes, (uintptr_t)j.bytes + j.size);   /* not copied */
	assert_int_equal(r->in[0].rank, 4);
	assert_true(tn_str_is(r->in[0].dims[0].name, "n"));
	assert_int_equal(r->in[0].dims[2].value, -1);
	done(&j);
}

static void test_typed_fields(void **state)
{
	(void)state;
	static const struct { uint32_t elem, field; uint64_t v[2]; size_t n, size; unsigned char want[4]; int64_t dim; } rows[] = {
		{ 7, 7, { (uint64_t)-2 }, 1, 8, { 0xfe, 0xff, 0xff, 0xff }, 1 },
		{ 3, 5, { (uint64_t)-2, 3 }, 2, 2, { 0xfe, 3 }, 2 },
		{ 10, 5, { 0x3c00 }, 1, 2, { 0, 0x3c }, 1 },
		{ 9, 5, { 7, 0 }, 2, 2, { 1, 0 }, 2 },
		{ 12, 11, { 0x01020304 }, 1, 4, { 4, 3, 2, 1 }, 1 },
		{ 21, 5, { 0x21, 0x3 }, 2, 2, { 0x21, 3 }, 3 },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct pw t = { 0 };
		struct job j = { 0 };
		pw_int(&t, 1, (uint64_t)rows[i].dim);
		pw_int(&t, 2, rows[i].elem);
		for (size_t k = 0; k < rows[i].n; k++)
			pw_int(&t, rows[i].field, rows[i].v[k]);
		struct pw m = model_of_tensor(&t);
		assert_int_equal(run(&j, m.at, m.n), TN_OK);
		assert_int_equal(j.m->graph->init[0].size, rows[i].size);
		assert_memory_equal(j.m->graph->init[0].at, rows[i].want, rows[i].size < 4 ? rows[i].size : 4);
		done(&j);
	}
}

static void test_sizes(void **state)
{
	(void)state;
	struct pw t = pw_tensor("w7", 1, (int64_t[]){ 2, 3 }, 2, "1234", 4), m = model_of_tensor(&t);
	fails(m.at, m.n, TN_E_ARG, "tensor 'w7' needs 24 bytes by its dims, but raw_data has 4");
	t = pw_tensor("big", 1, (int64_t[]){ INT64_MAX, 3 }, 2, "", 0);
	m = model_of_tensor(&t);
	fails(m.at, m.n, TN_E_ARG, "tensor 'big': its dims up to 1 (3) have a product beyond 64 bits");
	t = pw_tensor("big", 11, (int64_t[]){ INT64_MAX / 32 }, 1, "", 0);
	m = model_of_tensor(&t);
	fails(m.at, m.n, TN_E_ARG, "tensor 'big' of 288230376151711743 elements of 64 bits");
	t = pw_tensor("neg", 1, (int64_t[]){ -3 }, 1, "", 0);
	m = model_of_tensor(&t);
	fails(m.at, m.n, TN_E_ARG, "tensor 'neg' has dim 0 = -3");
	t = pw_tensor("text", 8, (int64_t[]){ 1 }, 1, "", 0);
	m = model_of_tensor(&t);
	fails(m.at, m.n, TN_E_UNSUPPORTED, "element type 8 (STRING)");
}

static void test_bad_bytes(void **state)
{
	(void)state;
	fails("", 0, TN_E_ARG, "t.onnx: the file is empty");
	fails("\x08\x07", 2, TN_E_ARG, "no graph in 2 bytes");
	fails("\x3a\x05\x0a", 3, TN_E_ARG, "t.onnx: byte 0: field 7 has 5 bytes, but only 1 are left");
	fails("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11, TN_E_ARG, "more than 64 bits");
	fails("\x0b", 1, TN_E_ARG, "wire type 3");
	fails("\x00", 1, TN_E_ARG, "no field with tag 0");
	fails("\x38\x01", 2, TN_E_ARG, "graph (field 7) has wire type 0 and not 2");
	fails("\x3a\x04\x0a\x02\x0a\x05", 6, TN_E_ARG, "t.onnx: byte 4, in graph.node[0]: field 1 has 5 bytes, but only 0 are left");
	fails("\x3a\x05\x0a\x03\x0a\x01\x00", 7, TN_E_ARG, "input has a byte 0 in it");
}

static void test_cut_everywhere(void **state)
{
	(void)state;
	float w[6] = { 0 };
	struct pw t = pw_tensor("w", 1, (int64_t[]){ 2, 3 }, 2, w, sizeof w), g = { 0 }, node = pw_node("Add", "a", "w w", "y");
	pw_msg(&g, 1, &node);
	pw_msg(&g, 5, &t);
	struct pw m = pw_model(&g, 17);
	for (size_t n = 0; n < m.n; n++) {
		struct job j = { 0 };
		assert_int_equal(run(&j, m.at, n), TN_E_ARG);
		done(&j);
	}
}

/* graph in attribute in node in graph ..., written from the inside out at the end of a buffer */
static void test_nested_deep(void **state)
{
	(void)state;
	static const unsigned char tags[3] = { 0x2a /* node.attribute */, 0x0a /* graph.node */, 0x32 /* attribute.g */ };
	size_t room = 3000000, at = room;
	unsigned char *b = malloc(room);
	assert_non_null(b);
	for (int i = 0; i < 300000; i++) {
		struct pw head = { 0 };
		pw_byte(&head, i == 299999 ? 0x3a : tags[i % 3]);
		pw_varint(&head, room - at);
		at -= head.n;
		memcpy(b + at, head.at, head.n);
	}
	fails(b + at, room - at, TN_E_ARG, "messages are nested more than 64 deep");
	free(b);
}

static struct pw external(const char *location, const char *offset, const char *length)
{
	static const char *const keys[3] = { "location", "offset", "length" };
	const char *values[3] = { location, offset, length };
	struct pw t = { 0 };
	pw_int(&t, 1, 2);
	pw_int(&t, 2, 1);
	pw_text(&t, 8, "w");
	pw_int(&t, 14, 1);
	for (int i = 0; i < 3; i++) {
		struct pw e = { 0 };
		if (!values[i])
			continue;
		pw_text(&e, 1, keys[i]);
		pw_text(&e, 2, values[i]);
		pw_msg(&t, 13, &e);
	}
	return model_of_tensor(&t);
}

static void external_fails(const char *dir, const struct pw *m, int32_t code, const char *words)
{
	struct job j = { .dir = dir };
	int32_t rc = run(&j, m->at, m->n);
	if (rc != code || !strstr(j.d.text, words))
		fail_msg("got %d '%s', not %d '%s'", rc, rc ? j.d.text : "", code, words);
	done(&j);
}

static void test_external(void **state)
{
	(void)state;
	char dir[] = "/tmp/tenon-wire-XXXXXX", path[64];
	float w[4] = { 1, 2, 3, 4 };
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/w.bin", dir);
	FILE *f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(w, sizeof *w, 4, f), 4);
	fclose(f);
	struct pw m = external("w.bin", "4", "8");
	struct job j = { .dir = dir };
	assert_int_equal(run(&j, m.at, m.n), TN_OK);
	assert_memory_equal(j.m->graph->init[0].at, &w[1], 8);
	done(&j);
	m = external("w.bin", "12", "8");
	external_fails(dir, &m, TN_E_ARG, "bytes 12 to 20 of 'w.bin', which has 16");
	m = external("w.bin", "99999999999999999999", "8");
	external_fails(dir, &m, TN_E_ARG, "is not a number");
	m = external("w.bin", "0", "12");
	external_fails(dir, &m, TN_E_ARG, "needs 8 bytes by its dims, but its external length has 12");
	m = external("../w.bin", NULL, NULL);
	external_fails(dir, &m, TN_E_ARG, "not a relative path below");
	m = external("a/../../w.bin", NULL, NULL);
	external_fails(dir, &m, TN_E_ARG, "not a relative path below");
	m = external(path, NULL, NULL);
	external_fails(dir, &m, TN_E_ARG, "not a relative path below");
	m = external("none.bin", NULL, NULL);
	external_fails(dir, &m, TN_E_GONE, "No such file");
	m = external("w.bin", NULL, NULL);
	external_fails(NULL, &m, TN_E_ARG, "not read from a folder");
	unlink(path);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads), cmocka_unit_test(test_typed_fields), cmocka_unit_test(test_sizes), cmocka_unit_test(test_bad_bytes),
		cmocka_unit_test(test_cut_everywhere), cmocka_unit_test(test_nested_deep), cmocka_unit_test(test_external),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
