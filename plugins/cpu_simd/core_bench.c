/* core_bench.c - how near the contraction cores come to the machine: core_bench [KC MC NC].
 *
 * For each ISA here: peak of multiply-add in registers; each tile with k = 256, its b panel in L1 and a in L2; few rows with b
 * from memory beside a plain read of it; a blocked GEMM on six shapes of BERT and ResNet, b packed ahead, a packed inside.
 * Each figure is the best of its repetitions, one thread. */
#ifndef _POSIX_C_SOURCE   /* clock_gettime */
#define _POSIX_C_SOURCE 200809L
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "isa.h"

double core_peak_baseline(int64_t iterations, volatile float *seed);
double core_peak_avx2(int64_t iterations, volatile float *seed);
double core_peak_avx512(int64_t iterations, volatile float *seed);

static double (*const peaks[])(int64_t, volatile float *) = {
	core_peak_baseline,
#ifdef __x86_64__
	core_peak_avx2, core_peak_avx512,
#endif
};

/* this thread's own time: others on the machine cost it cache and memory, but not the wait for a core */
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double least(double x, double y)
{
	return x < y ? x : y;
}

static void *room(int64_t size)
{
	void *p = aligned_alloc(4096, ((size_t)size + 8191) / 4096 * 4096);
	if (!p)
		exit(1);
	memset(p, 0, (size_t)size);
	return p;
}

static double peak_of(int32_t isa)
{
	volatile float seed = 0.5f;
	double best = 0;
	for (int r = 0; r < 200; r++) {
		double start = now(), done = peaks[isa](200000, &seed), g = done / (now() - start) * 1e-9;
		best = g > best ? g : best;
	}
	return best;
}

/* 20 panels of a against one of b, as the inner loop of a blocked GEMM does; peak: operations a second of this element size */
static void bench_tile(const char *name, const struct cpu_core_dot *core, int64_t size, double peak)
{
	enum { K = 256, PANELS = 20, LDC = 1024 };
	char *a = room(PANELS * K * core->mr * size), *b = room(K * core->nr * size), *c = room(PANELS * core->mr * LDC * size);
	double best = 1;
	for (int r = 0; r < 200; r++) {
		double start = now();
		for (int i = 0; i < PANELS; i++)
			core->run(K, core->mr, a + i * K * core->mr * size, b, c + i * core->mr * LDC * size, LDC, 0);
		best = least(best, now() - start);
	}
	double g = 2.0 * K * core->mr * core->nr * PANELS / best * 1e-9;
	printf("  %s %2dx%-2d  %6.1f G/s  %3.0f %% of FMA peak at this width\n", name, core->mr, core->nr, g, 100 * g / peak);
	free(a), free(b), free(c);
}

static double read_rate(const void *p, int64_t size)
{
	typedef uint64_t vec __attribute__((vector_size(16)));
	volatile uint64_t sink;
	double best = 1e9;
	for (int r = 0; r < 7; r++) {
		double start = now();
		vec sum[8] = {{0}};
		for (const vec *x = p, *end = x + size / 16; x < end; x += 8)
#pragma GCC unroll 8
			for (int u = 0; u < 8; u++)
				sum[u] ^= x[u];
		for (int u = 1; u < 8; u++)
			sum[0] ^= sum[u];
		sink = sum[0][0] ^ sum[0][1];
		best = least(best, now() - start);
	}
	(void)sink;
	return (double)size / best * 1e-9;
}

/* rows x n, k = 768, panels of b one after the other: bytes of b a second */
static void bench_stream(const struct cpu_core_dot *core, int64_t size)
{
	enum { K = 768 };
	int64_t panels = size / (K * core->nr * 4), n = panels * core->nr;
	float *a = room(K * core->mr * 4), *b = room(size), *c = room(4 * n * 4);
	printf("  b of %5d KiB: plain read %5.1f GB/s;", (int)(size >> 10), read_rate(b, size));
	for (int rows = 1; rows <= 4; rows++) {
		double best[2] = {1, 1};
		for (int r = 0; r < 14; r++) {
			double start = now();
			if (r & 1)
				core->run_wide(K, rows, a, b, K * core->nr, panels, c, n, 0);
			else
				for (int64_t j = 0; j < panels; j++)
					core->run(K, rows, a, b + j * K * core->nr, c + j * core->nr, n, 0);
			best[r & 1] = least(best[r & 1], now() - start);
		}
		double bytes = (double)(panels * core->nr * K * 4) * 1e-9;
		printf("  %d row%s %.1f, wide %.1f", rows, rows > 1 ? "s" : "", bytes / best[0], bytes / best[1]);
	}
	printf("\n");
	free(a), free(b), free(c);
}

struct blocking { int64_t kc, mc, nc; };

/* c[m x n] = a[m x k] * b; bp packed over the whole of k; n a multiple of nr in the shapes below */
static void gemm(const struct cpu_core_dot *core, const int64_t *mnk, const float *a, const float *bp, float *c, float *ap,
		 struct blocking by)
{
	int64_t m = mnk[0], n = mnk[1], k = mnk[2], mr = core->mr, nr = core->nr;
	for (int64_t jc = 0; jc < n; jc += by.nc)
		for (int64_t pc = 0; pc < k; pc += by.kc)
			for (int64_t ic = 0; ic < m; ic += by.mc) {
				int64_t nc = n - jc < by.nc ? n - jc : by.nc, kc = k - pc < by.kc ? k - pc : by.kc;
				int64_t mc = m - ic < by.mc ? m - ic : by.mc;
				core->pack_a(mc, kc, a + ic * k + pc, k, 1, ap);
				for (int64_t j = jc; j < jc + nc; j += nr)
					for (int64_t i = 0; i < mc; i += mr)
						core->run(kc, mc - i < mr ? mc - i : mr, ap + i * kc, bp + j * k + pc * nr,
							  c + (ic + i) * n + j, n, pc > 0);
			}
}

static void bench_gemm(const struct cpu_core_dot *core, double peak, struct blocking by)
{
	static const int64_t shapes[][3] = {
		{960, 1024, 1024}, {126, 768, 768}, {126, 3072, 768}, {126, 768, 3072}, {3138, 256, 64}, {48, 64, 576}};
	by.mc = (by.mc + core->mr - 1) / core->mr * core->mr;
	printf("  gemm, KC %d MC %d NC %d:", (int)by.kc, (int)by.mc, (int)by.nc);
	for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
		const int64_t *mnk = shapes[s], m = mnk[0], n = mnk[1], k = mnk[2];
		float *a = room(m * k * 4), *b = room(k * n * 4), *bp = room(k * n * 4), *c = room(m * n * 4), *ap = room(by.mc * by.kc * 4);
		core->pack_b(k, n, b, n, 1, bp);
		double best = 10, spent = 0;
		for (int r = 0; r < 400 && spent < 0.4; r++) {
			double start = now();
			gemm(core, mnk, a, bp, c, ap, by);
			double took = now() - start;
			spent += took;
			best = least(best, took);
		}
		double g = 2e-9 * (double)(m * n * k) / best;
		printf("  %dx%dx%d %.1f (%.0f %%)", (int)m, (int)n, (int)k, g, 100 * g / peak);
		free(a), free(b), free(bp), free(c), free(ap);
	}
	printf("\n");
}

static void bench_packing(const struct cpu_core_dot *core)
{
	enum { N = 1024 };
	const char *names[] = {"a row-major", "a transposed", "b row-major", "b transposed"};
	float *src = room(N * N * 4), *dst = room((N + 64) * N * 4);
	printf("  packing %dx%d f32, GB/s of source:", N, N);
	for (int way = 0; way < 4; way++) {
		double best = 1;
		for (int r = 0; r < 20; r++) {
			int64_t row = way & 1 ? 1 : N, column = way & 1 ? N : 1;
			double start = now();
			(way < 2 ? core->pack_a : core->pack_b)(N, N, src, row, column, dst);
			best = least(best, now() - start);
		}
		printf("  %s %.1f", names[way], N * N * 4 / best * 1e-9);
	}
	printf("\n");
	free(src), free(dst);
}

int main(int argc, char **argv)
{
	struct blocking by = {CPU_CORE_KC, CPU_CORE_MC, CPU_CORE_NC};
	if (argc == 4)
		by = (struct blocking){atoi(argv[1]), atoi(argv[2]), atoi(argv[3])};
	if (by.kc < 1 || by.mc < 1 || by.nc < 64 || by.nc % 64)
		return fprintf(stderr, "core_bench [KC MC NC]: positive, NC a multiple of 64\n"), 2;
	int32_t n;
	const struct cpu_isa *isa = cpu_isa_table(&n);
	struct cpu_isa_facts here = cpu_isa_facts_read();
	for (int32_t i = 0; i < n; i++) {
		if (!isa[i].usable(&here)) {
			printf("%s: skipped: not on this machine\n", isa[i].name);
			continue;
		}
		const struct cpu_cores *cores = isa[i].cores;
		double peak = peak_of(i);
		printf("%s: FMA peak %.1f GFLOP/s (f32)\n", cores->isa, peak);
		bench_gemm(&cores->dot_f32, peak, by);
		if (argc == 4)
			continue;
		bench_tile("f32", &cores->dot_f32, 4, peak);
		bench_tile("f64", &cores->dot_f64, 8, peak / 2);
		bench_tile("i32", &cores->dot_i32, 4, peak);
		bench_tile("i64", &cores->dot_i64, 8, peak / 2);
		bench_stream(&cores->dot_f32, 32 << 20);
		bench_stream(&cores->dot_f32, 256 << 10);
		bench_packing(&cores->dot_f32);
	}
	return 0;
}
