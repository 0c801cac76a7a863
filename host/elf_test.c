/* elf_test.c - the ELF reader on a real plugin: its facts, every cut, random bytes; nothing outside is read (ASan), no cut is taken for whole */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "host/loader.h"

static unsigned char *whole;
static size_t size;

static int setup(void **state)
{
	char path[512];
	(void)state;
	snprintf(path, sizeof path, "%s/good.so", getenv("TENON_TEST_PLUGINS"));
	FILE *f = fopen(path, "rb");
	if (!f) return -1;
	whole = malloc(1 << 22);
	size = fread(whole, 1, 1 << 22, f);
	fclose(f);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(whole);
	return 0;
}

static void test_facts(void **state)
{
	(void)state;
	struct tn_elf_facts f;
	tn_elf_inspect(whole, size, &f);
	assert_null(f.fault);
	assert_true(f.is_elf && f.right_machine && f.has_note && f.exports_query);
	assert_int_equal(f.n_exports, 1);
	assert_string_equal(f.note.id, "test.good");
	assert_true(f.note.layout_hash == TN_LAYOUT_HASH);
	assert_int_equal(f.build_id_size, 20);
	assert_false(f.text_relocations || f.exec_stack);
}

/* a block of exactly n bytes, so that ASan sees the first byte too many */
static void inspect(const unsigned char *bytes, size_t n, struct tn_elf_facts *f)
{
	unsigned char *p = malloc(n);
	if (n) memcpy(p, bytes, n);
	tn_elf_inspect(p, n, f);
	free(p);
}

static void test_every_cut(void **state)
{
	(void)state;
	struct tn_elf_facts f;
	for (size_t n = 0; n < size; n += n < 1024 ? 1 : 97) {
		inspect(whole, n, &f);
		if (!f.fault) fail_msg("the first %zu of %zu bytes are taken for a whole file", n, size);
	}
}

static uint64_t seed = 20240607;
static uint64_t next_random(void) { return (seed = seed * 6364136223846793005u + 1442695040888963407u) >> 33; }

/* flips in the headers and tables, where they are read, and anywhere */
static void test_random_flips(void **state)
{
	(void)state;
	struct tn_elf_facts f;
	unsigned char *p = malloc(size);
	uint64_t tables, whole_again = 0;
	memcpy(&tables, whole + 40, 8);                    /* e_shoff */
	memcpy(p, whole, size);
	for (int i = 0; i < 20000; i++) {
		size_t at[8], n = 1 + next_random() % 8;
		for (size_t k = 0; k < n; k++) {
			uint64_t where = next_random() % 4;
			at[k] = where == 0 ? next_random() % 64 : where == 1 ? 64 + next_random() % 700 : where == 2 ? tables + next_random() % (size - tables) : next_random() % size;
			p[at[k]] = next_random() % 3 ? (unsigned char)next_random() : 0xff;
		}
		tn_elf_inspect(p, size, &f);
		whole_again += !f.fault;
		for (size_t k = 0; k < n; k++) p[at[k]] = whole[at[k]];
	}
	free(p);
	assert_in_range(whole_again, 1, 19999);            /* some flips hit what is read, some do not */
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_facts), cmocka_unit_test(test_every_cut), cmocka_unit_test(test_random_flips) };
	return cmocka_run_group_tests(tests, setup, teardown);
}
