/* threads_test.c - many threads through tenon.h on real plugins: calls, executables made and ended while others run, kernels that arrive
 * during calls, sessions side by side; and what must hold over many rounds or on other threads: flat memory, words of failures. */
#include <malloc.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "host/exec.h"

static const char pointwise[] = "graph @t(%x: f32[n, 37], %y: f32[37]) -> f32[n, 37] where 0 <= n {\n"
	"%b = broadcast %y, shape = [n, 37], dims = [1]\n%a = add %x, %b\n%t = tanh %a\n%r = mul %t, %x\nreturn %r\n}";

static void ok(int32_t st, const char *name, const char *how)
{
	if (st != TN_OK) fail_msg("%s (%s): %d: %s", name, how, st, tn_error_text());
}

static const struct tn_executable_options waits = { .head = TN_HEAD(tn_executable_options, 0), .wait = 1 };
static const struct tn_executable_options does_not_wait = { .head = TN_HEAD(tn_executable_options, 0) };

/* ---- a session and a model to work on */
#define CACHED    1          /* kernels are kept in a folder of its own, so that rounds cost little */
#define VALIDATED 2
struct bench { struct tn_session *s; struct tn_model *m; char folder[256]; };
static struct bench bench(const char *backend, unsigned flags)
{
	struct bench b = { .folder = "" };
	struct tn_session_options o = { .head = TN_HEAD(tn_session_options, 0), .backend = backend, .cache_dir = b.folder, .threads = 2, .validate = !!(flags & VALIDATED) };
	if (flags & CACHED) ok(tn_tool_dir(b.folder, sizeof b.folder), "cache folder", backend);
	ok(tn_session_create(&o, &b.s), "session", backend);
	ok(tn_model_parse(b.s, pointwise, strlen(pointwise), &b.m), "model", backend);
	return b;
}

static void end_bench(struct bench *b)
{
	tn_model_destroy(b->m);
	tn_session_destroy(b->s);
	if (*b->folder) tn_tool_dir_remove(b->folder);
}

/* ---- one executable on many threads, each with its own sizes */
struct caller { struct tn_session *s; struct tn_executable *x; int64_t n; int bad; };
static void call_times(struct caller *c, int times)
{
	for (int k = 0; k < times && !c->bad; k++) {
		struct tn_tensor *in[2], *out[1] = { NULL };
		tn_tensor_create(c->s, TN_F32, 2, (int64_t[]){ c->n, 37 }, &in[0]);
		tn_tensor_create(c->s, TN_F32, 1, (int64_t[]){ 37 }, &in[1]);
		float *x = tn_tensor_data(in[0]);
		for (int64_t i = 0; i < c->n * 37; i++) x[i] = (float)(i % 5);
		c->bad |= tn_executable_run(c->x, in, 2, out, 1) != TN_OK;
		if (c->bad) print_error("%s\n", tn_error_text());
		for (int64_t i = 0; i < c->n * 37 && !c->bad; i++) c->bad |= fabs((double)((float *)tn_tensor_data(out[0]))[i] - tanh((double)x[i]) * (double)x[i]) > 1e-5;
		tn_tensor_release(in[0]); tn_tensor_release(in[1]); tn_tensor_release(out[0]);
	}
}
static void *call_often(void *arg) { call_times(arg, 30); return NULL; }

/* one call of the graph with n rows; 0 when it fails or is wrong */
static int one_call(struct tn_session *s, struct tn_executable *x, int64_t n)
{
	struct caller c = { .s = s, .x = x, .n = n };
	call_times(&c, 1);
	return !c.bad;
}

static void test_threads(void **st)
{
	static const char *const backends[] = { "cpu_simd", "ref" };
	(void)st;
	for (int k = 0; k < 2; k++) {
		struct bench b = bench(backends[k], 0);
		struct caller c[6];
		pthread_t t[6];
		struct tn_executable *x;
		ok(tn_executable_create(b.s, b.m, NULL, &x), "threads", backends[k]);
		for (int i = 0; i < 6; i++) { c[i] = (struct caller){ b.s, x, 3 + i * 7, 0 }; pthread_create(&t[i], NULL, call_often, &c[i]); }
		for (int i = 0; i < 6; i++) { pthread_join(t[i], NULL); assert_false(c[i].bad); }
		tn_executable_destroy(x);
		end_bench(&b);
	}
}

/* ---- many threads making, calling and ending executables.  cmocka's asserts belong to the main thread: the others count what is bad */
struct churner { struct bench *b; int rounds, bad; };
static void *churn(void *arg)
{
	struct churner *c = arg;
	for (int k = 0; k < c->rounds && !c->bad; k++) {
		struct tn_executable *x = NULL;
		c->bad |= tn_executable_create(c->b->s, c->b->m, k % 2 ? &waits : &does_not_wait, &x) != TN_OK;
		if (c->bad) print_error("%s\n", tn_error_text());
		for (int call = 0; call < k % 3 && !c->bad; call++) c->bad |= !one_call(c->b->s, x, 2 + k % 5);   /* also none: ended while it compiles */
		tn_executable_destroy(x);
	}
	return NULL;
}

static void test_churn(void **st)
{
	static const char *const backends[] = { "cpu_simd", "ref", "ref,cpu_simd", "cpu_simd,ref" };
	(void)st;
	for (int k = 0; k < 4; k++) {
		struct bench b = bench(backends[k], k < 2 ? CACHED : CACHED | VALIDATED);
		struct churner c[4];
		struct caller callers[2];
		pthread_t t[6];
		struct tn_executable *x;
		ok(tn_executable_create(b.s, b.m, NULL, &x), "churn", backends[k]);
		for (int i = 0; i < 4; i++) { c[i] = (struct churner){ &b, 12, 0 }; pthread_create(&t[i], NULL, churn, &c[i]); }
		for (int i = 0; i < 2; i++) { callers[i] = (struct caller){ b.s, x, 5 + i, 0 }; pthread_create(&t[4 + i], NULL, call_often, &callers[i]); }
		for (int i = 0; i < 6; i++) pthread_join(t[i], NULL);
		for (int i = 0; i < 4; i++) assert_false(c[i].bad);
		assert_false(callers[0].bad || callers[1].bad);
		tn_executable_destroy(x);
		end_bench(&b);
	}
}

/* calls go on from the interpreter's answers to the kernels', while others look at the numbers */
static void *call_until_compiled(void *arg)
{
	struct caller *c = arg;
	for (int left = 5; left > 0 && !c->bad;) {
		struct tn_executable_stats stats = { .head = TN_HEAD(tn_executable_stats, 0) };
		c->bad |= !one_call(c->s, c->x, c->n) || tn_executable_stat(c->x, &stats) != TN_OK;
		left -= !stats.interpreted;
	}
	return NULL;
}

static void test_programs_arrive_during_calls(void **st)
{
	struct bench b = bench("cpu_simd", 0);
	(void)st;
	for (int round = 0; round < 3; round++) {
		struct caller c[4];
		pthread_t t[4];
		struct tn_executable *x;
		struct tn_executable_stats stats = { .head = TN_HEAD(tn_executable_stats, 0) };
		ok(tn_executable_create(b.s, b.m, &does_not_wait, &x), "arrive", "");
		for (int i = 0; i < 4; i++) { c[i] = (struct caller){ b.s, x, 3 + i / 2, 0 }; pthread_create(&t[i], NULL, call_until_compiled, &c[i]); }
		for (int i = 0; i < 4; i++) { pthread_join(t[i], NULL); assert_false(c[i].bad); }
		tn_executable_stat(x, &stats);
		assert_true(stats.compile_ms > 0);
		tn_executable_destroy(x);
	}
	end_bench(&b);
}

/* a program that needs scratch comes after a call was bound without it */
static struct tn_backend whole_table;
static atomic_int may_compile, bad_launches, launches;
static int32_t compile_slowly(struct tn_self *s, struct tn_compile *c)
{
	while (!atomic_load(&may_compile)) usleep(100);
	int32_t st = whole_table.compile(s, c);
	for (uint64_t i = 0; i < c->entries.count; i++) c->scratch[i] = 4096;
	return st;
}

static int32_t launch_with_scratch(struct tn_device *d, const struct tn_launch *l)
{
	atomic_fetch_add(&launches, 1);
	atomic_fetch_add(&bad_launches, l->scratch.size < 4096 || !l->scratch.offset);
	return whole_table.launch(d, l);
}
static int32_t record_nothing(struct tn_device *d, const struct tn_launch *const *l, uint64_t n, struct tn_record **r) { (void)d; (void)l; (void)n; (void)r; return TN_E_UNSUPPORTED; }

static void test_scratch_of_late_programs(void **st)
{
	struct bench b = bench("cpu_simd", 0);
	struct tn_backend *table = &b.s->placed[0]->backend;
	struct caller c[4];
	pthread_t t[4];
	struct tn_executable *x;
	(void)st;
	whole_table = *table;
	table->compile = compile_slowly;
	table->launch = launch_with_scratch;
	table->record = record_nothing;
	ok(tn_executable_create(b.s, b.m, &does_not_wait, &x), "scratch", "");
	assert_true(one_call(b.s, x, 3));
	assert_int_equal(launches, 0);
	for (int i = 0; i < 4; i++) { c[i] = (struct caller){ b.s, x, 3 + i / 3, 0 }; pthread_create(&t[i], NULL, call_until_compiled, &c[i]); }
	atomic_store(&may_compile, 1);
	for (int i = 0; i < 4; i++) { pthread_join(t[i], NULL); assert_false(c[i].bad); }
	assert_int_equal(bad_launches, 0);
	assert_true(launches >= 4);              /* and programs are used, not left aside */
	tn_executable_destroy(x);
	end_bench(&b);
}

/* ---- destroying waits for calls in flight, also for those that fail, and nothing of them touches what is gone */
struct last_call { struct tn_session *s; struct tn_executable *x; int fails, bad; };
static void *call_last(void *arg)
{
	struct last_call *c = arg;
	struct tn_tensor *in[2], *out[1] = { NULL };
	tn_tensor_create(c->s, TN_F32, 2, (int64_t[]){ 400, 37 }, &in[0]);
	tn_tensor_create(c->s, TN_F32, 1, (int64_t[]){ 37 }, &in[1]);
	if (c->fails) tn_tensor_create(c->s, TN_F32, 1, (int64_t[]){ 5 }, &out[0]);
	int32_t code = tn_executable_run(c->x, in, 2, out, 1);
	c->bad = code != (c->fails ? TN_E_ARG : TN_OK);
	tn_tensor_release(in[0]); tn_tensor_release(in[1]); tn_tensor_release(out[0]);
	return NULL;
}

/* calls seen so far: those given back count as ticks */
static uint64_t begun(struct tn_executable *x)
{
	pthread_mutex_lock(&x->lock);
	uint64_t n = x->n_busy + x->tick;
	pthread_mutex_unlock(&x->lock);
	return n;
}

static void test_destroy_waits(void **st)
{
	static const char *const backends[] = { "cpu_simd", "ref" };
	(void)st;
	for (int k = 0; k < 2; k++) {
		struct bench b = bench(backends[k], CACHED);
		for (int round = 0; round < 12; round++) {
			struct last_call c[3];
			pthread_t t[3];
			struct tn_executable *x;
			ok(tn_executable_create(b.s, b.m, round % 2 ? &waits : &does_not_wait, &x), "destroy", backends[k]);
			for (int i = 0; i < 3; i++) { c[i] = (struct last_call){ b.s, x, round % 3 == i, 0 }; pthread_create(&t[i], NULL, call_last, &c[i]); }
			while (begun(x) < 3) usleep(20);
			tn_executable_destroy(x);
			for (int i = 0; i < 3; i++) { pthread_join(t[i], NULL); assert_false(c[i].bad); }
		}
		end_bench(&b);
	}
}

/* ---- sessions side by side; each opens and closes the same plugins */
struct opener { const char *backend; uint32_t validate; int bad; };
static void *open_often(void *arg)
{
	struct opener *w = arg;
	struct tn_session_options o = { .head = TN_HEAD(tn_session_options, 0), .backend = w->backend, .cache_dir = "", .threads = 2, .validate = w->validate };
	for (int k = 0; k < 6 && !w->bad; k++) {
		struct tn_session *s = NULL;
		struct tn_model *m = NULL;
		struct tn_executable *x = NULL;
		w->bad |= tn_session_create(&o, &s) != TN_OK || tn_model_parse(s, pointwise, strlen(pointwise), &m) != TN_OK ||
			tn_executable_create(s, m, &waits, &x) != TN_OK;
		if (w->bad) print_error("%s\n", tn_error_text());
		else w->bad |= !one_call(s, x, 4);
		tn_executable_destroy(x);
		tn_model_destroy(m);
		tn_session_destroy(s);
	}
	return NULL;
}

static void test_sessions_side_by_side(void **st)
{
	struct opener w[3] = { { "ref,cpu_simd", 0, 0 }, { "ref,cpu_simd", 1, 0 }, { "cpu_simd,ref", 1, 0 } };
	pthread_t t[3];
	(void)st;
	for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, open_often, &w[i]);
	for (int i = 0; i < 3; i++) { pthread_join(t[i], NULL); assert_false(w[i].bad); }
}

/* ---- memory stays flat: bytes in use, by the sanitizer's count where its allocator stands in */
size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));
static size_t bytes_in_use(void)
{
	return __sanitizer_get_current_allocated_bytes ? __sanitizer_get_current_allocated_bytes() : mallinfo2().uordblks;
}

static void test_memory_is_flat(void **st)
{
	static const char *const backends[] = { "cpu_simd", "ref" };
	enum { WARM = 20, ROUNDS = 100, ROOM = 16384 };           /* a block of 256 bytes lost each round shows */
	(void)st;
	for (int k = 0; k < 2; k++) {
		struct bench b = bench(backends[k], CACHED);
		uint64_t blocks = b.s->host_allocs;
		size_t start = 0;
		for (int round = 0; round < ROUNDS; round++) {
			struct tn_executable *x;
			if (round == WARM) start = bytes_in_use();
			ok(tn_executable_create(b.s, b.m, round % 2 ? &waits : &does_not_wait, &x), "flat", backends[k]);
			for (int call = 0; call < 12; call++) assert_true(one_call(b.s, x, 1 + call));    /* more bindings than are kept */
			tn_executable_destroy(x);
			assert_int_equal(b.s->host_allocs, blocks);
		}
		size_t end = bytes_in_use();
		if (end > start + ROOM) fail_msg("%s: %zu bytes in use after %d rounds, %zu after %d", backends[k], end, ROUNDS, start, WARM);
		end_bench(&b);
	}
}

/* ---- words said on a device's own thread reach the caller */
static const char gathering[] = "graph @t(%x: f32[4], %i: i32[2]) -> f32[2] {\n%g = gather %x, %i, axis = 0, mode = 2\nreturn %g\n}";

/* a checked gather goes to the host as a whole, so the plugin is asked directly */
static void test_words_of_the_device(void **st)
{
	struct bench b = bench("ref", 0);
	const struct tn_place *p = &b.s->place[0];
	struct tn_diag d = { 0 };
	struct tn_token token;
	struct tn_memory *memory = NULL;
	struct tn_program *program = NULL;
	struct tn_model *m;
	uint64_t scratch = 0;
	float x[4] = { 0 };
	int32_t index[2] = { 1, 4 };
	(void)st;
	ok(tn_model_parse(b.s, gathering, strlen(gathering), &m), "words", "");
	struct tn_entry entry = { .name = "gather", .graph = &m->ir->g, .rule = "node" };
	struct tn_compile c = { .head = TN_HEAD(tn_compile, TN_KIND_COMPILE), .target = "ref", .entries = { &entry, 1 }, .programs = &program, .scratch = &scratch };
	ok(p->backend->compile(p->self, &c), "words", "compile");
	ok(tn_domain_alloc(b.s, 1, 192, &memory, &d), "words", "alloc");
	ok(tn_domain_copy(b.s, 1, (struct tn_ref){ memory, 0, 16 }, (struct tn_ref){ NULL, (uint64_t)(uintptr_t)x, 16 }, &d), "words", "copy");
	ok(tn_domain_copy(b.s, 1, (struct tn_ref){ memory, 64, 8 }, (struct tn_ref){ NULL, (uint64_t)(uintptr_t)index, 8 }, &d), "words", "copy");
	struct tn_ref buffers[3] = { { memory, 0, 16 }, { memory, 64, 8 }, { memory, 128, 8 } };
	tn_token_init(&token);
	struct tn_launch l = { .head = TN_HEAD(tn_launch, TN_KIND_LAUNCH), .program = program, .buffers = buffers, .n_buffers = 3, .grid = { 1, 1, 1 }, .token = &token };
	tn_fail_clear();
	ok(p->backend->launch(b.s->placed[0]->handle, &l), "words", "launch");
	assert_int_equal(tn_token_wait(&token), TN_E_RANGE);
	assert_string_equal(tn_fail_text(), "ref: an index is out of range");
	tn_token_fini(&token);
	p->backend->release(memory);
	p->backend->program_release(program);
	tn_model_destroy(m);
	end_bench(&b);
}

/* and through the host: a device that tells, on its own thread, why each launch and copy fails */
struct failing { const struct tn_host *h; struct tn_token *token; const char *words; };
static struct failing failing_next;
static void *fail_late(void *arg)
{
	struct failing *f = arg;
	if (f->words) (f->h->fail)(f->h->ctx, TN_E_CALL, 0, f->words);      /* cmocka has a macro of that name */
	f->h->done(f->h->ctx, f->token, TN_E_CALL);
	free(f);
	return NULL;
}

static int32_t fail_on_a_thread(struct tn_token *token)
{
	struct failing *f = malloc(sizeof *f);
	pthread_t t;
	*f = failing_next;
	f->token = token;
	pthread_create(&t, NULL, fail_late, f);
	pthread_detach(t);
	return TN_OK;
}
static int32_t launch_fails(struct tn_device *d, const struct tn_launch *l) { (void)d; return fail_on_a_thread(l->token); }
static int32_t copy_fails(struct tn_device *d, const struct tn_copy *c) { (void)d; return fail_on_a_thread(c->token); }

static void expect_words(struct bench *b, struct tn_executable *x, const char *words, const char *begin, const char *end)
{
	failing_next = (struct failing){ b->s->service, NULL, words };
	assert_false(one_call(b->s, x, 3));
	const char *text = tn_error_text();
	size_t n = strlen(text), k = strlen(end);
	if (strncmp(text, begin, strlen(begin)) || n < k || strcmp(text + n - k, end)) fail_msg("'%s' is not '%s ... %s'", text, begin, end);
}

static void test_words_reach_the_caller(void **st)
{
	struct bench b = bench("ref", 0);
	struct tn_backend *table = &b.s->placed[0]->backend, whole = *table;
	struct tn_executable *x;
	(void)st;
	ok(tn_executable_create(b.s, b.m, NULL, &x), "words", "");
	table->launch = launch_fails;
	expect_words(&b, x, "the index is out of range", "ref: launch ", "failed (9): the index is out of range");
	expect_words(&b, x, NULL, "ref: launch ", "failed (9)");            /* words of the failure before are gone */
	*table = whole;
	table->copy = copy_fails;
	expect_words(&b, x, "the bus is too hot", "ref: copy failed (9)", ": the bus is too hot");
	*table = whole;
	assert_true(one_call(b.s, x, 3));
	tn_executable_destroy(x);
	end_bench(&b);
}

static void test_checked_index(void **st)
{
	struct bench b = bench("ref", 0);
	struct tn_model *m;
	struct tn_executable *x;
	struct tn_tensor *in[2], *out[1] = { NULL };
	(void)st;
	ok(tn_model_parse(b.s, gathering, strlen(gathering), &m), "checked", "");
	ok(tn_executable_create(b.s, m, NULL, &x), "checked", "");
	tn_tensor_create(b.s, TN_F32, 1, (int64_t[]){ 4 }, &in[0]);
	tn_tensor_create(b.s, TN_I32, 1, (int64_t[]){ 2 }, &in[1]);
	((int32_t *)tn_tensor_data(in[1]))[1] = 4;
	assert_int_equal(tn_executable_run(x, in, 2, out, 1), TN_E_RANGE);
	if (!strstr(tn_error_text(), "index is out of range")) fail_msg("'%s' names no index", tn_error_text());
	tn_tensor_release(in[0]); tn_tensor_release(in[1]);
	tn_executable_destroy(x);
	tn_model_destroy(m);
	end_bench(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads), cmocka_unit_test(test_churn), cmocka_unit_test(test_programs_arrive_during_calls), cmocka_unit_test(test_scratch_of_late_programs),
		cmocka_unit_test(test_destroy_waits), cmocka_unit_test(test_sessions_side_by_side),
		cmocka_unit_test(test_memory_is_flat), cmocka_unit_test(test_words_of_the_device), cmocka_unit_test(test_words_reach_the_caller), cmocka_unit_test(test_checked_index),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
