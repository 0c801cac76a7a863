/* safetensors.c - reading (mapped) and writing .safetensors files, with every number of the header checked
 * Format: https://github.com/huggingface/safetensors, "Format" of its README. */
#include "ir/safetensors.h"
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_HEADER = 100000000, ALIGN = 64 };

/* ---- files */
struct mapping { void *at; size_t size; };

static void unmap(void *arg)
{
	const struct mapping *m = arg;
	munmap(m->at, m->size);
}

const char *tn_file_map(struct tn_arena *a, const char *path, size_t *size)
{
	struct mapping *m = tn_new(a, struct mapping);
	struct stat st;
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		tn_raise(a->diag, errno == ENOENT ? TN_E_GONE : TN_E_ARG, "%s: %s", path, strerror(errno));
	const int bad = fstat(fd, &st) != 0 || !S_ISREG(st.st_mode);
	*size = bad ? 0 : (size_t)st.st_size;
	m->size = *size;
	m->at = *size ? mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
	const int failed = m->at == MAP_FAILED ? errno : 0;
	close(fd);
	if (bad || failed)
		tn_raise(a->diag, TN_E_ARG, "%s: %s", path, bad ? "is no regular file" : strerror(failed));
	if (!m->at)
		return "";
	tn_arena_defer(a, unmap, m);
	return m->at;
}

static int write_all(int fd, const struct tn_piece *p)
{
	for (size_t done = 0; done < p->size;) {
		const ssize_t n = write(fd, (const char *)p->at + done, p->size - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? errno : EIO;
		done += (size_t)n;
	}
	return 0;
}

/* a new file beside path, with the permissions that the umask leaves */
static int open_temp(struct tn_arena *scratch, const char *path, char **temp)
{
	static _Atomic unsigned counter;
	for (int tries = 0; tries < 100; tries++) {
		*temp = tn_printf(scratch, "%s.%ld.%u.tmp", path, (long)getpid(), counter++);
		const int fd = open(*temp, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return -1;
}

void tn_file_replace(struct tn_arena *scratch, const char *path, const struct tn_piece *pieces, uint64_t n)
{
	char *temp;
	const int fd = open_temp(scratch, path, &temp);
	int error = fd < 0 ? errno : 0;
	if (error)
		tn_raise(scratch->diag, TN_E_ARG, "%s: %s", temp, strerror(error));
	for (uint64_t i = 0; i < n && !error; i++)
		error = write_all(fd, &pieces[i]);
	if (!error && fsync(fd) != 0)
		error = errno;
	if (close(fd) != 0 && !error)
		error = errno;
	if (!error && rename(temp, path) != 0)
		error = errno;
	if (error) {
		unlink(temp);
		tn_raise(scratch->diag, TN_E_ARG, "%s: %s", path, strerror(error));
	}
}

/* ---- reading */
static const struct { const char *name; uint32_t dtype; } names[] = {
	{ "BOOL", TN_BOOL }, { "U8", TN_U8 }, { "I8", TN_I8 }, { "U16", TN_U16 }, { "I16", TN_I16 }, { "U32", TN_U32 }, { "I32", TN_I32 },
	{ "U64", TN_U64 }, { "I64", TN_I64 }, { "F16", TN_F16 }, { "BF16", TN_BF16 }, { "F32", TN_F32 }, { "F64", TN_F64 },
	{ "F8_E4M3", TN_F8E4M3FN }, { "F8_E5M2", TN_F8E5M2 }, { "C64", TN_C64 },
};
enum { N_NAMES = sizeof names / sizeof *names };

static const char *dtype_name(uint32_t dtype)
{
	for (size_t i = 0; i < N_NAMES; i++)
		if (names[i].dtype == dtype)
			return names[i].name;
	return NULL;
}

struct tn_safetensors {
	struct tn_map by_key;              /* 1 + index */
	struct tn_weight *tensors;
	uint64_t n;
};

struct reading { struct tn_arena *a; const char *path, *data; uint64_t data_size; json_t *root; };

static void drop_json(void *root)
{
	json_decref(root);
}

static uint64_t whole(const struct reading *r, const char *key, const json_t *x, const char *what)
{
	if (!json_is_integer(x) || json_integer_value(x) < 0)
		tn_raise(r->a->diag, TN_E_ARG, "%s: tensor \"%s\": %s is no whole number", r->path, key, what);
	return (uint64_t)json_integer_value(x);
}

static void read_shape(const struct reading *r, const char *key, const json_t *shape, struct tn_weight *w)
{
	if (!json_is_array(shape))
		tn_raise(r->a->diag, TN_E_ARG, "%s: tensor \"%s\" has no shape", r->path, key);
	w->rank = (uint32_t)json_array_size(shape);
	if (json_array_size(shape) > TN_RANK_MAX)
		w->dtype = TN_NONE, w->rank = 0;       /* bytes; its user says what they are */
	for (uint32_t d = 0; d < w->rank; d++)
		w->dims[d] = (int64_t)whole(r, key, json_array_get(shape, d), "a dim");
}

static void check_bytes(const struct reading *r, const char *key, const struct tn_weight *w)
{
	uint64_t bits = tn_dtype_bits(w->dtype);
	for (uint32_t d = 0; d < w->rank; d++)
		if (__builtin_mul_overflow(bits, (uint64_t)w->dims[d], &bits))
			bits = UINT64_MAX;
	if (w->dtype != TN_NONE && bits / 8 + (bits % 8 != 0) != w->size)
		tn_raise(r->a->diag, TN_E_ARG, "%s: tensor \"%s\" has %llu bytes, its shape and dtype need %llu", r->path, key, (unsigned long long)w->size,
			(unsigned long long)(bits / 8));
}

static struct tn_weight read_tensor(const struct reading *r, const char *key, const json_t *x)
{
	struct tn_weight w = { .dtype = TN_NONE };
	const char *name = json_string_value(json_object_get(x, "dtype"));
	const json_t *at = json_object_get(x, "data_offsets");
	for (size_t i = 0; name && i < N_NAMES; i++)
		if (strcmp(names[i].name, name) == 0)
			w.dtype = names[i].dtype;
	if (!name || !json_is_array(at) || json_array_size(at) != 2)
		tn_raise(r->a->diag, TN_E_ARG, "%s: tensor \"%s\" lacks dtype or data_offsets", r->path, key);
	read_shape(r, key, json_object_get(x, "shape"), &w);
	const uint64_t begin = whole(r, key, json_array_get(at, 0), "an offset"), end = whole(r, key, json_array_get(at, 1), "an offset");
	if (begin > end || end > r->data_size)
		tn_raise(r->a->diag, TN_E_ARG, "%s: tensor \"%s\" has bytes %llu to %llu of %llu", r->path, key, (unsigned long long)begin,
			(unsigned long long)end, (unsigned long long)r->data_size);
	w.at = r->data + begin;
	w.size = end - begin;
	check_bytes(r, key, &w);
	return w;
}

static struct reading open_file(struct tn_arena *a, const char *path)
{
	struct reading r = { .a = a, .path = path };
	size_t size;
	const char *file = tn_file_map(a, path, &size);
	uint64_t header = 0;
	json_error_t error;
	if (size >= 8)
		memcpy(&header, file, 8);      /* little-endian, as this machine */
	if (size < 8 || header > MAX_HEADER || header > size - 8)
		tn_raise(a->diag, TN_E_ARG, "%s: %zu bytes with a header of %llu are no safetensors file", path, size, (unsigned long long)header);
	r.root = json_loadb(file + 8, header, JSON_REJECT_DUPLICATES, &error);
	if (!r.root)
		tn_raise(a->diag, TN_E_ARG, "%s: header, byte %d: %s", path, error.position, error.text);
	tn_arena_defer(a, drop_json, r.root);
	if (!json_is_object(r.root))
		tn_raise(a->diag, TN_E_ARG, "%s: the header is no object", path);
	r.data = file + 8 + header;
	r.data_size = size - 8 - header;
	return r;
}

struct tn_safetensors *tn_safetensors_map(struct tn_arena *a, const char *path)
{
	const struct reading r = open_file(a, path);
	struct tn_safetensors *s = tn_new(a, struct tn_safetensors);
	const char *key;
	json_t *x;
	s->by_key.arena = a;
	s->tensors = tn_array(a, struct tn_weight, json_object_size(r.root));
	json_object_foreach(r.root, key, x)
		if (strcmp(key, "__metadata__") != 0) {
			s->tensors[s->n] = read_tensor(&r, key, x);
			*tn_map_at(&s->by_key, key, strlen(key)) = ++s->n;
		}
	return s;
}

const struct tn_weight *tn_safetensors_find(void *file, const char *key)
{
	const struct tn_safetensors *s = file;
	const uint64_t *at = tn_map_find(&s->by_key, key, strlen(key));
	return at ? &s->tensors[*at - 1] : NULL;
}

uint64_t tn_safetensors_count(const struct tn_safetensors *s)
{
	return s->n;
}

/* ---- writing */
static void json_text(struct tn_text *t, const char *s)
{
	tn_text_add(t, "\"");
	for (; *s; s++)
		if (*s == '"' || *s == '\\')
			tn_text_add(t, "\\%c", *s);
		else if ((unsigned char)*s < ' ')
			tn_text_add(t, "\\u%04x", (unsigned)*s);
		else
			tn_text_put(t, s, 1);
	tn_text_add(t, "\"");
}

static void header_entry(struct tn_text *t, const struct tn_tensor_out *x, uint64_t begin)
{
	const char *name = dtype_name(x->w.dtype);
	json_t *key = json_string(x->key);
	json_decref(key);
	if (!key)
		tn_raise(t->arena->diag, TN_E_ARG, "a tensor's name must be UTF-8, and \"%s\" is not", x->key);
	json_text(t, x->key);
	tn_text_add(t, ":{\"dtype\":\"%s\",\"shape\":[", name ? name : "U8");
	for (uint32_t d = 0; name && d < x->w.rank; d++)
		tn_text_add(t, "%s%lld", d ? "," : "", (long long)x->w.dims[d]);
	if (!name)                             /* no name for the dtype: its bytes */
		tn_text_add(t, "%llu", (unsigned long long)x->w.size);
	tn_text_add(t, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)begin, (unsigned long long)(begin + x->w.size));
}

static int wider_first(const void *a, const void *b)
{
	const struct tn_tensor_out *const *x = a, *const *y = b;
	const uint32_t p = tn_dtype_bits((*x)->w.dtype), q = tn_dtype_bits((*y)->w.dtype);
	if (p != q)
		return p > q ? -1 : 1;
	return strcmp((*x)->key, (*y)->key);
}

/* The format allows no gaps, so only the first tensor is aligned to 64; wide elements first keeps every one aligned to its element. */
void tn_safetensors_save(struct tn_arena *scratch, const char *path, const struct tn_tensor_out *tensors, uint64_t n)
{
	struct tn_text t = { .arena = scratch };
	struct tn_piece *pieces = tn_array(scratch, struct tn_piece, n + 2);
	const struct tn_tensor_out **order = tn_array(scratch, const struct tn_tensor_out *, n);
	uint64_t begin = 0;
	for (uint64_t i = 0; i < n; i++)
		order[i] = &tensors[i];
	if (n)
		qsort(order, n, sizeof *order, wider_first);
	tn_text_add(&t, "{");
	for (uint64_t i = 0; i < n; i++) {
		tn_text_add(&t, i ? "," : "");
		header_entry(&t, order[i], begin);
		begin += order[i]->w.size;
		pieces[2 + i] = (struct tn_piece){ order[i]->w.at, order[i]->w.size };
	}
	tn_text_add(&t, "}");
	while ((t.len + 8) % ALIGN)
		tn_text_put(&t, " ", 1);
	const uint64_t size = t.len;
	pieces[0] = (struct tn_piece){ &size, sizeof size };
	pieces[1] = (struct tn_piece){ t.at, t.len };
	tn_file_replace(scratch, path, pieces, n + 2);
}
