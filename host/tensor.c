/* tensor.c - tensors of tenon.h: host memory with dtype, shape and strides, counted references. */
#include <stdlib.h>
#include <string.h>
#include "host/session.h"

static int32_t set_shape(struct tn_tensor *t, uint32_t dtype, uint32_t rank, const int64_t *dims, const int64_t *strides)
{
	uint32_t bits = tn_dtype_bits(dtype);
	if (!bits) return tn_error_set(TN_E_ARG, "tensor: dtype %u does not exist", dtype);
	if (rank > 8) return tn_error_set(TN_E_ARG, "tensor: rank %u, at most 8", rank);
	uint64_t n = 1;
	t->dtype = dtype;
	t->rank = rank;
	t->dense = 1;
	for (uint32_t i = rank; i-- > 0;) {
		if (dims[i] < 0) return tn_error_set(TN_E_ARG, "tensor: dim %u is %lld", i, (long long)dims[i]);
		t->dims[i] = dims[i];
		t->strides[i] = strides ? strides[i] : (int64_t)n;
		if (dims[i] > 1 && t->strides[i] != (int64_t)n) t->dense = 0;
		if (__builtin_mul_overflow(n, (uint64_t)dims[i], &n) || n > (uint64_t)INT64_MAX / 16)
			return tn_error_set(TN_E_RANGE, "tensor: the number of elements overflows at dim %u (%lld)", i, (long long)dims[i]);
	}
	if (!t->dense && bits < 8) return tn_error_set(TN_E_ARG, "tensor: %s takes no strides", tn_dtype_name(dtype));
	if (n == 0) t->dense = 1;
	t->bytes = (n * bits + 7) / 8;
	return TN_OK;
}

static void release_malloc(void *p) { free(p); }

static int32_t start(struct tn_tensor **out, struct tn_tensor **t)
{
	*out = NULL;
	*t = calloc(1, sizeof **t);
	if (!*t) return tn_error_set(TN_E_NOMEM, "tensor: no memory for its description");
	atomic_init(&(*t)->uses, 1);
	return TN_OK;
}

int32_t tn_tensor_create(struct tn_session *s, uint32_t dtype, uint32_t rank, const int64_t *dims, struct tn_tensor **out)
{
	struct tn_tensor *t;
	(void)s;
	int32_t st = start(out, &t);
	if (st == TN_OK) st = set_shape(t, dtype, rank, dims, NULL);
	if (st == TN_OK) {
		uint64_t size = (t->bytes + 127) / 64 * 64;
		t->data = aligned_alloc(64, size);
		if (t->data) memset(t->data, 0, size);
		else st = tn_error_set(TN_E_NOMEM, "tensor: no memory for %llu bytes", (unsigned long long)t->bytes);
		t->release = release_malloc;
		t->arg = t->data;
	}
	if (st == TN_OK) *out = t; else free(t);
	return st;
}

int32_t tn_tensor_wrap(struct tn_session *s, uint32_t dtype, uint32_t rank, const int64_t *dims, const int64_t *strides, void *data,
	void (*release)(void *arg), void *arg, struct tn_tensor **out)
{
	struct tn_tensor *t;
	(void)s;
	int32_t st = start(out, &t);
	if (st == TN_OK) st = set_shape(t, dtype, rank, dims, strides);
	if (st == TN_OK && !data && t->bytes) st = tn_error_set(TN_E_ARG, "tensor: no data for %llu bytes", (unsigned long long)t->bytes);
	if (st != TN_OK) { free(t); return st; }
	t->data = data;
	t->release = release;
	t->arg = arg;
	*out = t;
	return TN_OK;
}

struct tn_tensor *tn_tensor_keep(struct tn_tensor *t) { atomic_fetch_add(&t->uses, 1); return t; }

void tn_tensor_release(struct tn_tensor *t)
{
	if (!t || atomic_fetch_sub(&t->uses, 1) != 1) return;
	if (t->release) t->release(t->arg);
	free(t);
}

uint32_t tn_tensor_dtype(const struct tn_tensor *t) { return t->dtype; }
uint32_t tn_tensor_rank(const struct tn_tensor *t) { return t->rank; }
int64_t tn_tensor_dim(const struct tn_tensor *t, uint32_t i) { return i < t->rank ? t->dims[i] : 0; }
int64_t tn_tensor_stride(const struct tn_tensor *t, uint32_t i) { return i < t->rank ? t->strides[i] : 0; }
const char *tn_tensor_device(const struct tn_tensor *t) { (void)t; return "host"; }
void *tn_tensor_data(struct tn_tensor *t) { return t->data; }
uint64_t tn_tensor_bytes(const struct tn_tensor *t) { return t->bytes; }

/* walk all but the last dim; in: strided side, out: dense side */
static void move(const struct tn_tensor *t, char *dense, int to_dense)
{
	uint32_t elem = tn_dtype_bits(t->dtype) / 8, last = t->rank ? t->rank - 1 : 0;
	int64_t at[8] = { 0 }, n = t->rank ? t->dims[last] : 1, step = t->rank ? t->strides[last] : 1;
	for (;;) {
		int64_t base = 0;
		for (uint32_t i = 0; i < last; i++) base += at[i] * t->strides[i];
		for (int64_t k = 0; k < n; k++, dense += elem) {
			char *here = (char *)t->data + (base + k * step) * (int64_t)elem;
			if (to_dense) memcpy(dense, here, elem); else memcpy(here, dense, elem);
		}
		uint32_t i = last;
		while (i > 0 && ++at[i - 1] == t->dims[i - 1]) at[--i] = 0;
		if (i == 0) return;
	}
}

void tn_tensor_to_dense(const struct tn_tensor *t, void *dst)
{
	if (t->bytes == 0) return;
	if (t->dense) memcpy(dst, t->data, t->bytes); else move(t, dst, 1);
}

void tn_tensor_from_dense(struct tn_tensor *t, const void *src)
{
	if (t->bytes == 0) return;
	if (t->dense) memcpy(t->data, src, t->bytes); else move(t, (char *)(uintptr_t)src, 0);
}
