/* tool.c - running a program without a shell: its own process group, a time limit, cancellation, its output kept. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "host/session.h"

#define POLL_MS 20

extern char **environ;

static uint64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static int32_t start(const char *const *argv, const char *dir, int out, pid_t *pid)
{
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t at;
	posix_spawn_file_actions_init(&fa);
	posix_spawnattr_init(&at);
	posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&fa, out, 1);
	posix_spawn_file_actions_adddup2(&fa, out, 2);
	if (dir) posix_spawn_file_actions_addchdir_np(&fa, dir);
	posix_spawnattr_setflags(&at, POSIX_SPAWN_SETPGROUP);
	posix_spawnattr_setpgroup(&at, 0);
	int e = posix_spawnp(pid, argv[0], &fa, &at, (char *const *)(uintptr_t)argv, environ);
	posix_spawn_file_actions_destroy(&fa);
	posix_spawnattr_destroy(&at);
	return e == ENOENT || e == EACCES ? TN_E_UNSUPPORTED : e ? TN_E_CALL : TN_OK;
}

static int stopped(struct tn_token *t)
{
	if (!t) return 0;
	pthread_mutex_lock(&t->lock);
	int stop = t->cancelled;
	pthread_mutex_unlock(&t->lock);
	return stop;
}

/* read what it writes until it closes its end; TN_OK, TIMEOUT or CANCELLED */
static int32_t listen_to(int fd, uint64_t deadline, struct tn_token *stop, char *output, uint64_t cap)
{
	uint64_t n = 0;
	for (;;) {
		char chunk[4096];
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int ready = poll(&p, 1, POLL_MS);
		if (stopped(stop)) return TN_E_CANCELLED;
		if (now_ms() > deadline) return TN_E_TIMEOUT;
		if (ready <= 0) continue;
		ssize_t got = read(fd, chunk, sizeof chunk);
		if (got < 0 && errno == EINTR) continue;
		if (got <= 0) break;
		uint64_t room = cap > n + 1 ? cap - n - 1 : 0, take = (uint64_t)got < room ? (uint64_t)got : room;
		if (output && take) memcpy(output + n, chunk, take);
		n += take;
	}
	if (output && cap) output[n] = 0;
	return TN_OK;
}

int32_t tn_tool_run(struct tn_session *s, const char *const *argv, const char *dir, uint64_t timeout_ms, struct tn_token *stop, char *output, uint64_t cap)
{
	int ends[2], status = 0;
	pid_t pid;
	if (output && cap) output[0] = 0;
	if (pipe2(ends, O_CLOEXEC)) return TN_E_CALL;
	int32_t st = start(argv, dir, ends[1], &pid);
	close(ends[1]);
	if (st != TN_OK) { close(ends[0]); return st; }
	st = listen_to(ends[0], now_ms() + timeout_ms, stop, output, cap);
	close(ends[0]);
	if (st != TN_OK) kill(-pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR) { }
	if (st != TN_OK) return st;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return TN_OK;
	tn_session_log(s, 1, "%s: ended with status %d", argv[0], WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
	return WIFEXITED(status) && WEXITSTATUS(status) == 127 ? TN_E_UNSUPPORTED : TN_E_CALL;
}

int32_t tn_tool_dir(char *path, uint64_t cap)
{
	const char *base = tn_secure_getenv("TMPDIR");
	int n = snprintf(path, cap, "%s/tenon-XXXXXX", base && *base == '/' ? base : "/tmp");
	if (n < 0 || (uint64_t)n >= cap) return TN_E_RANGE;
	return mkdtemp(path) ? TN_OK : TN_E_CALL;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st; (void)kind; (void)at;
	return remove(path);
}

void tn_tool_dir_remove(const char *path)
{
	if (strstr(path, "/tenon-")) nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
