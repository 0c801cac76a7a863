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
#include "host/trust.h"

#define POLL_MS 20

extern char **environ;

static uint64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* its own group, so that it dies with its children; no signal blocked or ignored because of us */
static int32_t start(const char *const *argv, const char *dir, int out, pid_t *pid)
{
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t at;
	sigset_t none, usual;
	sigemptyset(&none);
	sigemptyset(&usual);
	sigaddset(&usual, SIGPIPE);
	sigaddset(&usual, SIGCHLD);
	posix_spawn_file_actions_init(&fa);
	posix_spawnattr_init(&at);
	posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&fa, out, 1);
	posix_spawn_file_actions_adddup2(&fa, out, 2);
	if (dir) posix_spawn_file_actions_addchdir_np(&fa, dir);
	posix_spawnattr_setflags(&at, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setpgroup(&at, 0);
	posix_spawnattr_setsigmask(&at, &none);
	posix_spawnattr_setsigdefault(&at, &usual);
	int e = posix_spawnp(pid, argv[0], &fa, &at, (char *const *)(uintptr_t)argv, environ);
	posix_spawn_file_actions_destroy(&fa);
	posix_spawnattr_destroy(&at);
	return e == ENOENT || e == EACCES || e == ENOTDIR ? TN_E_UNSUPPORTED : e ? TN_E_CALL : TN_OK;
}

static int stopped(struct tn_token *t)
{
	if (!t) return 0;
	pthread_mutex_lock(&t->lock);
	int stop = t->cancelled;
	pthread_mutex_unlock(&t->lock);
	return stop;
}

struct listening { int fd, status; pid_t pid; char *output; uint64_t cap, n; struct tn_session *s; const char *name; char line[400]; size_t len; };

/* complete lines go to the log as they come */
static void log_bytes(struct listening *w, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i] != '\n') w->line[w->len++] = p[i];
		if (!w->len || (p[i] != '\n' && w->len < sizeof w->line)) continue;
		tn_session_log(w->s, 3, "%s: %.*s", w->name, (int)w->len, w->line);
		w->len = 0;
	}
}

/* all that is there to read now; 0 after the last writer closed its end */
static int drain(struct listening *w)
{
	char chunk[4096];
	for (;;) {
		ssize_t got = read(w->fd, chunk, sizeof chunk);
		if (got < 0 && errno == EINTR) continue;
		if (got <= 0) return got < 0 && errno == EAGAIN;
		uint64_t room = w->cap > w->n + 1 ? w->cap - w->n - 1 : 0, take = (uint64_t)got < room ? (uint64_t)got : room;
		if (w->output && take) memcpy(w->output + w->n, chunk, take);
		w->n += take;
		log_bytes(w, chunk, (size_t)got);
	}
}

/* without taking its end: as long as that is there, no other group gets its number */
static int has_ended(const struct listening *w)
{
	siginfo_t info = { .si_pid = 0 };
	int e = waitid(P_PID, (id_t)w->pid, &info, WEXITED | WNOHANG | WNOWAIT);
	return e ? errno == ECHILD : info.si_pid == w->pid;
}

/* -1: this process ignores SIGCHLD, so nobody knows */
static void take_end(struct listening *w)
{
	pid_t p;
	do p = waitpid(w->pid, &w->status, 0);
	while (p < 0 && errno == EINTR);
	if (p < 0) w->status = -1;
}

/* until it has ended, whoever holds its output; TN_OK, TIMEOUT or CANCELLED */
static int32_t listen_to(struct listening *w, uint64_t deadline, struct tn_token *stop)
{
	int open = 1;
	while (!has_ended(w)) {
		struct pollfd p = { .fd = w->fd, .events = POLLIN };
		poll(&p, open ? 1 : 0, open ? POLL_MS : 1);
		if (open) open = drain(w);
		if (stopped(stop)) return TN_E_CANCELLED;
		if (now_ms() >= deadline) return TN_E_TIMEOUT;
	}
	drain(w);
	log_bytes(w, "\n", 1);
	return TN_OK;
}

static int32_t how_it_ended(const struct listening *w)
{
	if (w->status == -1) { tn_session_log(w->s, 1, "%s: its end is not known: this process ignores SIGCHLD", w->name); return TN_E_CALL; }
	if (WIFEXITED(w->status) && WEXITSTATUS(w->status) == 0) return TN_OK;
	if (WIFEXITED(w->status)) tn_session_log(w->s, 1, "%s: ended with status %d", w->name, WEXITSTATUS(w->status));
	else tn_session_log(w->s, 1, "%s: ended by signal %d", w->name, WTERMSIG(w->status));
	return WIFEXITED(w->status) && WEXITSTATUS(w->status) == 127 ? TN_E_UNSUPPORTED : TN_E_CALL;
}

int32_t tn_tool_run(struct tn_session *s, const char *const *argv, const char *dir, uint64_t timeout_ms, struct tn_token *stop, char *output, uint64_t cap)
{
	struct listening w = { .output = cap ? output : NULL, .cap = cap, .s = s, .name = argv ? argv[0] : NULL };
	uint64_t now = now_ms();
	int ends[2];
	if (w.output) output[0] = 0;
	if (!w.name || !*w.name) return TN_E_ARG;
	if (tn_privileged()) { tn_session_log(s, 1, "%s: not run: this process has more rights than its user, who names the PATH", w.name); return TN_E_UNSUPPORTED; }
	if (dir && access(dir, X_OK)) { tn_session_log(s, 1, "%s: no folder %s to run in", w.name, dir); return TN_E_GONE; }
	if (stopped(stop)) return TN_E_CANCELLED;
	if (pipe2(ends, O_CLOEXEC)) return TN_E_CALL;
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	w.fd = ends[0];
	int32_t st = start(argv, dir, ends[1], &w.pid);
	close(ends[1]);
	if (st == TN_OK) {
		st = listen_to(&w, timeout_ms > UINT64_MAX - now ? UINT64_MAX : now + timeout_ms, stop);
		kill(-w.pid, SIGKILL);                                 /* the rest of its group, also when it left some behind */
		take_end(&w);
		if (st == TN_OK) st = how_it_ended(&w);
	}
	close(ends[0]);
	if (w.output) output[w.n] = 0;
	return st;
}

/* ---- private folders */
static int is_ours(const char *path)
{
	const char *name = strrchr(path, '/');
	return *path == '/' && name && strlen(name) == strlen("/tenon-XXXXXX") && !strncmp(name, "/tenon-", 7) && !strstr(path, "/../");
}

int32_t tn_tool_dir(char *path, uint64_t cap)
{
	const char *base = tn_secure_getenv("TMPDIR");
	int n = snprintf(path, cap, "%s/tenon-XXXXXX", base && *base == '/' ? base : "/tmp");
	if (n < 0 || (uint64_t)n >= cap) return TN_E_RANGE;
	if (mkdtemp(path)) return TN_OK;
	path[0] = 0;
	return TN_E_CALL;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st; (void)kind; (void)at;
	return remove(path);
}

void tn_tool_dir_remove(const char *path)
{
	if (path && is_ours(path)) nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
