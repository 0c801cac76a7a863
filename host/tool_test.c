/* tool_test.c - programs run for plugins: output bounded, time limit, cancellation, no such program, private folders */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "host/session.h"

static char logged[4096];
static void log_line(void *ctx, uint32_t level, const char *text)
{
	(void)ctx; (void)level;
	size_t n = strlen(logged);
	snprintf(logged + n, sizeof logged - n, "%s\n", text);
}
static struct tn_session session = { .log = log_line };

static int clear(void **state)
{
	(void)state;
	logged[0] = 0;
	return 0;
}

static double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int32_t shell(const char *text, uint64_t timeout_ms, struct tn_token *stop, char *output, uint64_t cap)
{
	const char *argv[] = { "sh", "-c", text, NULL };
	return tn_tool_run(&session, argv, NULL, timeout_ms, stop, output, cap);
}

static void test_output(void **state)
{
	(void)state;
	char out[100], dir[] = "/tmp/tenon_tool_XXXXXX", want[64];
	assert_int_equal(shell("echo one; echo two >&2; printf three", 10000, NULL, out, sizeof out), TN_OK);
	assert_string_equal(out, "one\ntwo\nthree");
	assert_string_equal(logged, "sh: one\nsh: two\nsh: three\n");
	assert_non_null(mkdtemp(dir));
	const char *argv[] = { "pwd", NULL };
	assert_int_equal(tn_tool_run(&session, argv, dir, 10000, NULL, out, sizeof out), TN_OK);
	snprintf(want, sizeof want, "%s\n", dir);
	assert_string_equal(out, want);
	rmdir(dir);
	/* its input is empty, and arguments are no shell text */
	const char *words[] = { "printf", "%s", "$HOME; `id` > x", NULL };
	assert_int_equal(tn_tool_run(&session, words, NULL, 10000, NULL, out, sizeof out), TN_OK);
	assert_string_equal(out, "$HOME; `id` > x");
	assert_int_equal(shell("cat; echo end", 10000, NULL, out, sizeof out), TN_OK);
	assert_string_equal(out, "end\n");
}

static void test_output_bounded(void **state)
{
	(void)state;
	char out[12];
	memset(out, '#', sizeof out);
	assert_int_equal(shell("seq 1 100000", 20000, NULL, out, 8), TN_OK);       /* all is read, 7 bytes are kept */
	assert_string_equal(out, "1\n2\n3\n4");
	assert_memory_equal(out + 8, "####", 4);
	assert_int_equal(shell("seq 1 100000", 20000, NULL, NULL, 0), TN_OK);
	assert_int_equal(shell("seq 1 10", 20000, NULL, out, 0), TN_OK);
	assert_int_equal(shell("printf x", 20000, NULL, out, 1), TN_OK);
	assert_string_equal(out, "");
}

static void test_failures(void **state)
{
	(void)state;
	char out[100];
	const char *none[] = { "tenon-no-such-program", NULL }, *file[] = { "/etc/passwd", NULL }, *pwd[] = { "pwd", NULL };
	assert_int_equal(tn_tool_run(&session, none, NULL, 10000, NULL, out, sizeof out), TN_E_UNSUPPORTED);
	assert_int_equal(tn_tool_run(&session, file, NULL, 10000, NULL, out, sizeof out), TN_E_UNSUPPORTED);
	assert_int_equal(tn_tool_run(&session, pwd, "/tmp/tenon-no-such-folder", 10000, NULL, out, sizeof out), TN_E_GONE);
	assert_non_null(strstr(logged, "no folder /tmp/tenon-no-such-folder"));
	assert_int_equal(shell("echo k.c:1: error; exit 3", 10000, NULL, out, sizeof out), TN_E_CALL);
	assert_string_equal(out, "k.c:1: error\n");
	assert_non_null(strstr(logged, "ended with status 3"));
	assert_int_equal(shell("kill -SEGV $$", 10000, NULL, out, sizeof out), TN_E_CALL);
	assert_non_null(strstr(logged, "ended by signal 11"));
}

static int alive(const char *pid_text)
{
	int pid = atoi(pid_text);
	assert_true(pid > 1);
	for (int i = 0; i < 100 && !kill(pid, 0); i++) {
		char path[64], stat[200] = "";
		snprintf(path, sizeof path, "/proc/%d/stat", pid);         /* a zombie that nobody takes yet is dead, too */
		FILE *f = fopen(path, "r");
		if (f && fgets(stat, sizeof stat, f)) { }
		if (f) fclose(f);
		const char *paren = strrchr(stat, ')');
		if (!paren || paren[2] == 'Z') return 0;
		usleep(10000);
	}
	return !kill(pid, 0);
}

/* a compiler driver that hangs in a child of its own, deaf to signals that can be caught */
static void test_timeout_kills_group(void **state)
{
	(void)state;
	char out[100];
	double t = seconds();
	assert_int_equal(shell("trap '' TERM INT HUP; sleep 60 & echo $!; wait", 300, NULL, out, sizeof out), TN_E_TIMEOUT);
	assert_true(seconds() - t < 5);
	assert_false(alive(out));
	/* output closed early is no end */
	t = seconds();
	assert_int_equal(shell("exec >/dev/null 2>&1; sleep 60", 300, NULL, out, sizeof out), TN_E_TIMEOUT);
	assert_true(seconds() - t < 5);
	/* ended, while a child of its own keeps the output open */
	t = seconds();
	assert_int_equal(shell("sleep 60 & echo $!", 30000, NULL, out, sizeof out), TN_OK);
	assert_true(seconds() - t < 5);
	assert_false(alive(out));
	assert_int_equal(shell("exit 0", UINT64_MAX, NULL, out, sizeof out), TN_OK);       /* for ever */
}

static void *cancel_soon(void *arg)
{
	struct tn_token *t = arg;
	usleep(200000);
	pthread_mutex_lock(&t->lock);
	t->cancelled = 1;
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

static void test_cancel(void **state)
{
	(void)state;
	struct tn_token t;
	pthread_t thread;
	char out[100];
	double start = seconds();
	tn_token_init(&t);
	pthread_create(&thread, NULL, cancel_soon, &t);
	assert_int_equal(shell("sleep 60 & echo $!; wait", 60000, &t, out, sizeof out), TN_E_CANCELLED);
	pthread_join(thread, NULL);
	assert_true(seconds() - start < 5);
	assert_false(alive(out));
	assert_int_equal(shell("echo", 60000, &t, out, sizeof out), TN_E_CANCELLED);
	tn_token_fini(&t);
}

static void test_folders(void **state)
{
	(void)state;
	char dir[200], file[300], other[] = "/tmp/tenon_keep_XXXXXX", inside[300];
	struct stat st;
	assert_int_equal(tn_tool_dir(dir, sizeof dir), TN_OK);
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_non_null(mkdtemp(other));
	snprintf(inside, sizeof inside, "%s/tenon-a", other);
	assert_int_equal(mkdir(inside, 0700), 0);
	snprintf(file, sizeof file, "%s/sub", dir);
	assert_int_equal(mkdir(file, 0700), 0);
	snprintf(file, sizeof file, "%s/sub/link", dir);
	assert_int_equal(symlink(other, file), 0);
	tn_tool_dir_remove(dir);
	assert_int_equal(stat(dir, &st), -1);
	assert_int_equal(stat(other, &st), 0);                         /* a link was removed, not what it leads to */
	tn_tool_dir_remove(inside);                                    /* none of ours */
	snprintf(file, sizeof file, "%s/../%s", dir, other + 5);
	tn_tool_dir_remove(file);
	assert_int_equal(stat(inside, &st), 0);
	assert_int_equal(tn_tool_dir(dir, 5), TN_E_RANGE);
	setenv("TMPDIR", "/tmp/tenon-no-such-folder", 1);
	assert_int_equal(tn_tool_dir(dir, sizeof dir), TN_E_CALL);
	unsetenv("TMPDIR");
	rmdir(inside);
	rmdir(other);
}

/* a host program that blocks or ignores signals does not pass that on */
static void test_signals(void **state)
{
	(void)state;
	char out[100];
	sigset_t set, old;
	sigfillset(&set);
	pthread_sigmask(SIG_BLOCK, &set, &old);
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(shell("grep -E 'Sig(Blk|Ign)' /proc/self/status", 10000, NULL, out, sizeof out), TN_OK);
	signal(SIGPIPE, SIG_DFL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	assert_non_null(strstr(out, "SigBlk:\t0000000000000000"));
	assert_null(strstr(out, "SigIgn:\t0000000000001000"));
	signal(SIGCHLD, SIG_IGN);
	assert_int_equal(shell("exit 0", 10000, NULL, out, sizeof out), TN_E_CALL);
	assert_non_null(strstr(logged, "ignores SIGCHLD"));
	signal(SIGCHLD, SIG_DFL);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup(f, clear)
	const struct CMUnitTest tests[] = { TEST(test_output), TEST(test_output_bounded), TEST(test_failures), TEST(test_timeout_kills_group), TEST(test_cancel), TEST(test_folders), TEST(test_signals) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
