/* loader_test.c - every faulty plugin ends in its state with its reason, and what comes next in the list runs; search and selection. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <dirent.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "host/session.h"
#include "host/trust.h"

/* ---- a folder of plugins, ours alone */
static char folder[64];
static char logged[8192];

static char *in_folder(const char *name)
{
	static char path[4][400];
	static int next;
	next = (next + 1) & 3;
	snprintf(path[next], sizeof path[next], "%s/%s", folder, name);
	return path[next];
}

static char *read_all(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	assert_non_null(f);
	char *p = malloc(1 << 22);
	*size = fread(p, 1, 1 << 22, f);
	fclose(f);
	return p;
}

static void put(const char *name, const void *bytes, size_t size)
{
	char temp[440];
	snprintf(temp, sizeof temp, "%s.new", in_folder(name));
	FILE *f = fopen(temp, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, size, f), size);
	fclose(f);
	chmod(temp, 0644);
	assert_int_equal(rename(temp, in_folder(name)), 0);
}

/* a built plugin, cut to keep bytes (0: all) */
static void copy_plugin(const char *from, const char *as, size_t keep)
{
	char path[512];
	size_t size;
	snprintf(path, sizeof path, "%s/%s.so", getenv("TENON_TEST_PLUGINS"), from);
	char *p = read_all(path, &size);
	put(as, p, keep && keep < size ? keep : size);
	free(p);
}

static int setup(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/tenon_loader_XXXXXX");
	logged[0] = 0;
	return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	chmod(folder, 0700);
	DIR *d = opendir(folder);
	for (struct dirent *e = readdir(d); e; e = readdir(d)) remove(in_folder(e->d_name));
	closedir(d);
	rmdir(folder);
	unsetenv("TENON_BACKEND");
	unsetenv("TENON_ADD_PLUGIN_PATH");
	unsetenv("TENON_PLUGIN_PATH");
	return 0;
}

/* ---- sessions */
static void log_line(void *ctx, uint32_t level, const char *text)
{
	(void)ctx; (void)level;
	size_t n = strlen(logged);
	snprintf(logged + n, sizeof logged - n, "%s\n", text);
}

static int32_t open_session(const char *backend, const char *path, int list_all, struct tn_session **s)
{
	struct tn_session_options o = { .head = TN_HEAD(tn_session_options, 0), .backend = backend, .plugin_path = path, .cache_dir = "", .threads = 1,
		.log = log_line, .list_all = (uint64_t)list_all };
	return tn_session_create(&o, s);
}

static struct tn_plugin_info plugin(struct tn_session *s, const char *id)
{
	struct tn_plugin_info p = { .head = TN_HEAD(tn_plugin_info, 0) };
	for (uint64_t i = 0; tn_session_plugin(s, i, &p) == TN_OK; i++)
		if (!strcmp(p.id, id)) return p;
	fail_msg("no plugin %s", id);
	return p;
}

static void expect(const char *what, const char *text, const char *part)
{
	if (!strstr(text, part)) fail_msg("%s: '%s' has no '%s'", what, text, part);
}

/* ---- each fault: state and reason, listed and selected; the next in the list is loaded */
static void expect_fault(const char *id, uint32_t state, const char *reason)
{
	struct tn_session *s;
	char list[100];
	assert_int_equal(open_session("test.good", folder, 1, &s), TN_OK);
	struct tn_plugin_info p = plugin(s, id);
	if (p.state != state) fail_msg("%s: state %u, not %u: %s", id, p.state, state, p.reason);
	expect(id, p.reason, reason);
	assert_int_equal(plugin(s, "test.good").state, TN_PLUGIN_LOADED);
	tn_session_destroy(s);

	snprintf(list, sizeof list, "%s,test.good", id);
	logged[0] = 0;
	assert_int_equal(open_session(list, folder, 0, &s), TN_OK);
	expect(id, logged, "is passed over");
	expect(id, logged, reason);
	assert_int_equal(s->n_places, 1);
	assert_string_equal(s->place[0].backend->id, "test.good");
	tn_session_destroy(s);

	assert_int_equal(open_session(id, folder, 0, &s), TN_E_ARG);       /* alone: an error with the reason */
	expect(id, tn_error_text(), reason);
}

static const struct { const char *file; uint32_t state; const char *reason; } faults[] = {
	{ "open",          TN_PLUGIN_BROKEN,       "the firmware is missing" },
	{ "nodev",         TN_PLUGIN_NO_DEVICE,    "libtoy.so.1 not found" },
	{ "spaces",        TN_PLUGIN_BROKEN,       "2 memory spaces at 0x1000" },
	{ "missing",       TN_PLUGIN_BROKEN,       "lacks required functions: copy, launch" },
	{ "record",        TN_PLUGIN_BROKEN,       "lacks required functions: record, replay" },
	{ "id",            TN_PLUGIN_BROKEN,       "says id 'somebody.else', its note 'test.id'" },
	{ "rows",          TN_PLUGIN_BROKEN,       "5 rows of caps at 0x8" },
	{ "function",      TN_PLUGIN_BROKEN,       "0x7, is no function" },
	{ "major",         TN_PLUGIN_INCOMPATIBLE, "speaks ABI major 1; this is 0" },
	{ "minor",         TN_PLUGIN_INCOMPATIBLE, "needs ABI 0.99" },
	{ "layout",        TN_PLUGIN_INCOMPATIBLE, "build it again" },
	{ "stack",         TN_PLUGIN_BROKEN,       "executable stack" },
	{ "query_null",    TN_PLUGIN_BROKEN,       "no valid table" },
	{ "query_error",   TN_PLUGIN_BROKEN,       "its query answers 13" },
	{ "query_wild",    TN_PLUGIN_BROKEN,       "no valid table" },
	{ "query_kind",    TN_PLUGIN_BROKEN,       "no valid table" },
	{ "query_layout",  TN_PLUGIN_INCOMPATIBLE, "build it again" },
	{ "query_version", TN_PLUGIN_INCOMPATIBLE, "needs ABI 0.7" },
	{ "query_garbage", TN_PLUGIN_INCOMPATIBLE, "another layout" },
};

static void test_faults(void **state)
{
	(void)state;
	copy_plugin("good", "good.so", 0);
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
		char file[64], id[64];
		snprintf(file, sizeof file, "%s.so", faults[i].file);
		snprintf(id, sizeof id, "test.%s", faults[i].file);
		copy_plugin(faults[i].file, file, 0);
		expect_fault(id, faults[i].state, faults[i].reason);
		unlink(in_folder(file));
	}
}

static void test_faults_of_files(void **state)
{
	(void)state;
	size_t size;
	copy_plugin("good", "good.so", 0);
	copy_plugin("minor", "cut.so", 9000);                              /* its note is there, its end is not */
	char *p = read_all(in_folder("good.so"), &size);
	p[18] = (char)0xb7;                                                /* e_machine: another one, whatever ours is */
	p[19] = 0x7f;
	put("machine.so", p, size);
	free(p);
	put("empty.so", "", 0);
	put("text.so", "INPUT(libc.so.6)\n", 17);
	copy_plugin("note", "no_note.so", 0);
	copy_plugin("export", "test.export.so", 0);
	mkdir(in_folder("dir.so"), 0700);
	mkfifo(in_folder("pipe.so"), 0600);
	symlink("/nowhere", in_folder("dangling.so"));
	expect_fault("test.minor", TN_PLUGIN_BROKEN, "cut short");
	expect_fault("machine", TN_PLUGIN_BROKEN, "another processor");
	expect_fault("empty", TN_PLUGIN_BROKEN, "empty");
	expect_fault("text", TN_PLUGIN_BROKEN, "not an ELF file");
	expect_fault("no_note", TN_PLUGIN_BROKEN, "no Tenon note");
	expect_fault("test.export", TN_PLUGIN_BROKEN, "it exports 2 symbols (bad_extra");
	expect_fault("dir", TN_PLUGIN_BROKEN, "not a regular file");
	expect_fault("pipe", TN_PLUGIN_BROKEN, "not a regular file");
	expect_fault("dangling", TN_PLUGIN_BROKEN, "No such file");
	rmdir(in_folder("dir.so"));
}

/* the plugins of the tree run after faulty ones */
static void test_next_runs(void **state)
{
	(void)state;
	struct tn_session *s;
	copy_plugin("missing", "missing.so", 0);
	setenv("TENON_ADD_PLUGIN_PATH", folder, 1);
	assert_int_equal(open_session("test.missing,ref", getenv("REF_PATH"), 0, &s), TN_OK);
	assert_string_equal(s->place[0].backend->id, "ref");
	assert_int_equal(plugin(s, "ref").order, 2);
	tn_session_destroy(s);
}

/* ---- trust */
static void test_writable_by_others(void **state)
{
	(void)state;
	struct tn_session *s;
	char typed[100];
	copy_plugin("good", "good.so", 0);
	copy_plugin("nodev", "other.so", 0);
	chmod(in_folder("other.so"), 0646);
	assert_int_equal(open_session("test.good", folder, 1, &s), TN_OK);
	assert_int_equal(plugin(s, "other").state, TN_PLUGIN_UNTRUSTED);   /* its code and its note were not looked at */
	expect("file", plugin(s, "other").reason, "other.so is writable by others");
	assert_int_equal(plugin(s, "test.good").state, TN_PLUGIN_LOADED);
	tn_session_destroy(s);

	chmod(folder, 0777);
	assert_int_equal(open_session("good", folder, 0, &s), TN_E_ARG);
	expect("folder", tn_error_text(), "is writable by others");
	snprintf(typed, sizeof typed, "%s/good.so", folder);
	logged[0] = 0;
	assert_int_equal(open_session(typed, folder, 0, &s), TN_OK);       /* the user typed it: a warning */
	assert_string_equal(s->place[0].backend->id, "test.good");
	expect("typed", logged, "warning: ");
	expect("typed", logged, "is writable by others");
	tn_session_destroy(s);

	chmod(folder, 0770);
	if (geteuid() == 0) assert_int_equal(chown(folder, (uid_t)-1, 65534), 0);
	assert_int_equal(open_session("good", folder, 0, &s), geteuid() == 0 ? TN_E_ARG : TN_OK);
	if (geteuid() == 0) expect("group", tn_error_text(), "is writable by its group");
	else tn_session_destroy(s);
	chmod(folder, 0700);
	if (geteuid() != 0) return;
	assert_int_equal(chown(in_folder("good.so"), 65534, (gid_t)-1), 0);
	assert_int_equal(open_session("good", folder, 0, &s), TN_E_ARG);
	expect("owner", tn_error_text(), "is owned by another user (65534)");
}

/* a link in a folder that others write to is theirs, though it leads to a file of ours */
static void test_link_in_open_folder(void **state)
{
	(void)state;
	struct tn_session *s;
	char open_folder[100], target[128];
	snprintf(open_folder, sizeof open_folder, "%s/open", folder);
	mkdir(open_folder, 0700);
	copy_plugin("good", "good.so", 0);
	snprintf(target, sizeof target, "%s/link.so", open_folder);
	assert_int_equal(symlink(in_folder("good.so"), target), 0);
	assert_int_equal(open_session("test.good", open_folder, 0, &s), TN_OK);
	tn_session_destroy(s);
	chmod(open_folder, 0777);
	assert_int_equal(open_session("link", open_folder, 0, &s), TN_E_ARG);
	expect("link", tn_error_text(), "open is writable by others");
	unlink(target);
}

static void test_replaced_file(void **state)
{
	(void)state;
	struct tn_session *s;
	copy_plugin("good", "good.so", 0);
	assert_int_equal(open_session("test.good", folder, 0, &s), TN_OK);
	tn_session_destroy(s);
	copy_plugin("good", "good.so", 0);                                 /* another inode under the path that is loaded */
	assert_int_equal(open_session("test.good", folder, 0, &s), TN_E_ARG);
	expect("replaced", tn_error_text(), "the file was replaced");
}

/* ---- manifests */
static void expect_manifest(const char *text, int32_t code, const char *reason)
{
	struct tn_session *s;
	put("good.json", text, strlen(text));
	int32_t st = open_session("test.good", folder, 0, &s);
	if (st != code) fail_msg("%s: %d: %s", text, st, st ? tn_error_text() : "");
	if (st) expect(text, tn_error_text(), reason);
	else tn_session_destroy(s);
}

static void test_manifest(void **state)
{
	(void)state;
	unsigned char hash[32];
	char hex[65], text[200];
	size_t size;
	copy_plugin("good", "good.so", 0);
	expect_manifest("{\"id\": \"test.good\", \"version\": \"1.2\", \"abi_major\": 0, \"abi_needs\": 1, \"vendor\": \"more is fine\"}", TN_OK, NULL);
	expect_manifest("{}", TN_OK, NULL);
	expect_manifest("{\"id\": \"test.other\"}", TN_E_ARG, "says id 'test.other', the file 'test.good'");
	expect_manifest("{\"id\": 7}", TN_E_ARG, "Expected string");
	expect_manifest("[]", TN_E_ARG, "Expected object");
	expect_manifest("{\"id\"", TN_E_ARG, "is not JSON: line 1");
	expect_manifest("{\"abi_major\": 1}", TN_E_ARG, "ABI major 1, the file 0");
	expect_manifest("{\"abi_needs\": 3}", TN_E_ARG, "ABI minor 3, the file 1");
	expect_manifest("{\"version\": \"1.3\"}", TN_E_ARG, "says version '1.3', its table '1.2'");
	expect_manifest("{\"sha256\": \"abc\"}", TN_E_ARG, "its SHA-256 is ");
	char *p = read_all(in_folder("good.so"), &size);
	crypto_hash_sha256(hash, (unsigned char *)p, size);
	free(p);
	sodium_bin2hex(hex, sizeof hex, hash, sizeof hash);
	snprintf(text, sizeof text, "{\"sha256\": \"%s\"}", hex);
	expect_manifest(text, TN_OK, NULL);
	text[12] = text[12] == '0' ? '1' : '0';
	expect_manifest(text, TN_E_ARG, "its SHA-256 is ");
}

/* ---- search and selection */
static void test_unknown_backend_lists(void **state)
{
	(void)state;
	struct tn_session *s;
	copy_plugin("good", "good.so", 0);
	put("text.so", "x", 1);
	assert_int_equal(open_session("nowhere.npu,test.good", folder, 0, &s), TN_E_ARG);
	expect("list", tn_error_text(), "names 'nowhere.npu', which is not there; there is: test.good, text (broken)");
	assert_int_equal(open_session("./nowhere.so", folder, 0, &s), TN_E_ARG);
	expect("path", tn_error_text(), "names './nowhere.so', which is not there");
	assert_int_equal(open_session("test.good,test.good:1", folder, 0, &s), TN_E_ARG);
	expect("twice", tn_error_text(), "names 'test.good' twice");
	assert_int_equal(open_session("x", "/nonexistent", 0, &s), TN_E_ARG);
	expect("none", tn_error_text(), "there is: none; not searched: /nonexistent (No such file or directory)");
}

static void test_duplicates(void **state)
{
	(void)state;
	struct tn_session *s;
	struct tn_plugin_info p = { .head = TN_HEAD(tn_plugin_info, 0) };
	copy_plugin("good", "a.so", 0);
	copy_plugin("good", "b.so", 0);
	symlink(in_folder("a.so"), in_folder("c.so"));
	copy_plugin("twin", "d.so", 0);
	assert_int_equal(open_session("test.good", folder, 1, &s), TN_OK);
	static const char *const reasons[] = { "", "a.so is the same build and comes first", "a.so is the same file and comes first", "a.so is another file with the same id and comes first" };
	for (uint64_t i = 0; i < 4; i++) {
		assert_int_equal(tn_session_plugin(s, i, &p), TN_OK);
		assert_int_equal(p.state, i ? TN_PLUGIN_FILTERED : TN_PLUGIN_LOADED);
		expect("duplicate", p.reason, reasons[i]);
	}
	tn_session_destroy(s);
	copy_plugin("good", "a.so", 9000);                                  /* a faulty first one does not hide the good ones */
	assert_int_equal(open_session("test.good", folder, 0, &s), TN_OK);
	tn_session_destroy(s);
}

static void test_devices(void **state)
{
	(void)state;
	struct tn_session *s;
	copy_plugin("good", "good.so", 0);
	static const char *const lists[][2] = { { "test.good", "toy-a" }, { "test.good:1", "toy-b" }, { "test.good:toy-c", "toy-c" } };
	for (int i = 0; i < 3; i++) {
		assert_int_equal(open_session(lists[i][0], folder, 0, &s), TN_OK);
		assert_string_equal(plugin(s, "test.good").device, lists[i][1]);
		tn_session_destroy(s);
	}
	static const char *const none[] = { "test.good:3", "test.good:toy-d", "test.good:-1" };
	for (int i = 0; i < 3; i++) {
		assert_int_equal(open_session(none[i], folder, 0, &s), TN_E_ARG);
		expect(none[i], tn_error_text(), "it has 3 devices, none is '");
	}
}

static void test_search_path(void **state)
{
	(void)state;
	struct tn_session *s;
	char *here = getcwd(NULL, 0), *own, path[600];
	copy_plugin("good", "good.so", 0);
	assert_int_equal(chdir(folder), 0);
	own = strdup(getenv("TENON_TEST_PLUGINS"));
	/* the variable is used where the program gives none; a relative folder is not searched, nor is the current one */
	setenv("TENON_PLUGIN_PATH", folder, 1);
	setenv("TENON_BACKEND", "test.good", 1);
	assert_int_equal(open_session(NULL, NULL, 0, &s), TN_OK);
	tn_session_destroy(s);
	static const char *const nowhere[] = { "", ".", "./", "::" };
	for (int i = 0; i < 4; i++) {
		setenv("TENON_PLUGIN_PATH", nowhere[i], 1);
		assert_int_equal(open_session(NULL, NULL, 0, &s), TN_E_ARG);
		expect("current folder", tn_error_text(), "names 'test.good', which is not there");
		if (nowhere[i][0] == '.') expect("relative", tn_error_text(), "(not an absolute path)");
	}
	unsetenv("TENON_PLUGIN_PATH");
	assert_int_equal(open_session("good.so", NULL, 0, &s), TN_E_ARG);  /* without a slash it is an id */
	assert_int_equal(open_session("./good.so", NULL, 0, &s), TN_OK);   /* a path that the user typed */
	tn_session_destroy(s);
	/* ADD comes first, the other one is still searched */
	setenv("TENON_ADD_PLUGIN_PATH", folder, 1);
	snprintf(path, sizeof path, "%s", own);
	assert_int_equal(open_session("test.good", path, 1, &s), TN_OK);
	snprintf(path, sizeof path, "%s/good.so", folder);
	assert_string_equal(plugin(s, "test.good").path, path);
	assert_int_equal(plugin(s, "test.nodev").state, TN_PLUGIN_NO_DEVICE);
	tn_session_destroy(s);
	assert_int_equal(chdir(here), 0);
	free(here);
	free(own);
}

static void test_rounds(void **state)
{
	(void)state;
	copy_plugin("good", "good.so", 0);
	for (int i = 0; i < 100; i++) {
		struct tn_session *s;
		struct tn_session_options o = { .head = TN_HEAD(tn_session_options, 0), .backend = "test.good", .plugin_path = folder, .cache_dir = "", .threads = 1,
			.validate = i & 1, .log = log_line };
		setenv("TENON_ADD_PLUGIN_PATH", getenv("REF_PATH"), 1);
		if (i & 2) o.backend = "ref,test.good";
		assert_int_equal(tn_session_create(&o, &s), TN_OK);
		assert_int_equal(s->n_places, i & 2 ? 2 : 1);
		tn_unload_plugins(s->candidates, s->n_candidates);
		assert_int_equal(s->host_allocs, 0);                       /* all that plugins took from the host is back */
		tn_session_destroy(s);
	}
	assert_string_equal(logged, "");
}

int main(void)
{
	/* the tree's plugins: TENON_PLUGIN_PATH as the build sets it */
	if (getenv("TENON_PLUGIN_PATH")) setenv("REF_PATH", getenv("TENON_PLUGIN_PATH"), 1);
	umask(022);
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_faults), TEST(test_faults_of_files), TEST(test_next_runs), TEST(test_writable_by_others), TEST(test_link_in_open_folder), TEST(test_replaced_file),
		TEST(test_manifest), TEST(test_unknown_backend_lists), TEST(test_duplicates), TEST(test_devices), TEST(test_search_path), TEST(test_rounds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
