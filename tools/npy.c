/* npy.c - reading and writing .npy files. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "ir/prim.h"
#include "tools/npy.h"

/* NumPy's spelling; bf16 and narrower have none and travel as their bits */
static const struct { const char *descr; uint32_t dtype; } names[] = {
	{ "|b1", TN_BOOL }, { "|u1", TN_U8 }, { "<u2", TN_U16 }, { "<u4", TN_U32 }, { "<u8", TN_U64 }, { "|i1", TN_I8 }, { "<i2", TN_I16 },
	{ "<i4", TN_I32 }, { "<i8", TN_I64 }, { "<f2", TN_F16 }, { "<f4", TN_F32 }, { "<f8", TN_F64 }, { "<u2", TN_BF16 },
};

static int fault(char *why, size_t cap, const char *path, const char *what)
{
	snprintf(why, cap, "%s: %s", path, what);
	return 0;
}

/* the value of 'key' in the header's dictionary */
static const char *value_of(const char *header, const char *key)
{
	const char *at = strstr(header, key);
	at = at ? strchr(at + strlen(key), ':') : NULL;
	while (at && (*at == ':' || *at == ' ')) at++;
	return at;
}

static int parse_shape(const char *at, struct npy *out)
{
	if (!at || *at++ != '(') return 0;
	while (*at && *at != ')') {
		char *end;
		if (*at == ' ' || *at == ',') { at++; continue; }
		long long n = strtoll(at, &end, 10);
		if (end == at || n < 0 || out->rank == 8) return 0;
		out->dims[out->rank++] = n;
		at = end;
	}
	return *at == ')';
}

static int parse_header(const char *header, struct npy *out)
{
	const char *descr = value_of(header, "'descr'"), *order = value_of(header, "'fortran_order'");
	if (!descr || !order || strncmp(order, "False", 5)) return 0;
	for (size_t i = 0; i < sizeof names / sizeof *names && !out->dtype; i++)
		if (!strncmp(descr + 1, names[i].descr, 3) || (descr[1] == '=' && !strncmp(descr + 2, names[i].descr + 1, 2))) out->dtype = names[i].dtype;
	return out->dtype && parse_shape(value_of(header, "'shape'"), out);
}

int npy_read(const char *path, struct npy *out, char *why, size_t cap)
{
	unsigned char lead[12];
	char *header = NULL;
	memset(out, 0, sizeof *out);
	FILE *f = fopen(path, "rb");
	if (!f) return fault(why, cap, path, strerror(errno));
	int ok = fread(lead, 1, 10, f) == 10 && !memcmp(lead, "\x93NUMPY", 6);
	uint32_t len = (uint32_t)lead[8] | (uint32_t)lead[9] << 8;
	if (ok && lead[6] >= 2) {
		ok = fread(lead + 10, 1, 2, f) == 2;
		len |= (uint32_t)lead[10] << 16 | (uint32_t)lead[11] << 24;
	}
	if (ok && len < (1u << 20) && (header = calloc(len + 1, 1))) ok = fread(header, 1, len, f) == len && parse_header(header, out);
	else ok = 0;
	free(header);
	if (!ok) { fclose(f); return fault(why, cap, path, "not a .npy file in C order of a dtype that is known here"); }
	uint64_t n = tn_dtype_bytes(out->dtype);
	for (uint32_t i = 0; i < out->rank; i++)
		if (__builtin_mul_overflow(n, (uint64_t)out->dims[i], &n) || n > (UINT64_C(1) << 40)) { fclose(f); return fault(why, cap, path, "its shape is too large"); }
	out->bytes = n;
	out->data = malloc(n ? n : 1);
	ok = out->data && fread(out->data, 1, n, f) == n;
	fclose(f);
	if (ok) return 1;
	free(out->data);
	out->data = NULL;
	return fault(why, cap, path, "cut short: fewer bytes than its shape says");
}

int npy_write(const char *path, const struct npy *in, char *why, size_t cap)
{
	char temp[4200], shape[256] = "", header[512];
	const char *descr = NULL;
	size_t n = 0;
	for (size_t i = 0; i < sizeof names / sizeof *names && !descr; i++)
		if (names[i].dtype == in->dtype) descr = names[i].descr;
	if (!descr) return fault(why, cap, path, "NumPy has no such dtype");
	for (uint32_t i = 0; i < in->rank; i++) n += (size_t)snprintf(shape + n, sizeof shape - n, "%lld,%s", (long long)in->dims[i], i + 1 < in->rank ? " " : "");
	int len = snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, shape);
	while ((len + 11) % 64) header[len++] = ' ';
	header[len++] = '\n';
	snprintf(temp, sizeof temp, "%s.%ld", path, (long)getpid());
	FILE *f = fopen(temp, "wb");
	if (!f) return fault(why, cap, path, strerror(errno));
	unsigned char lead[10] = { 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)(len & 255), (unsigned char)(len >> 8) };
	int ok = fwrite(lead, 1, 10, f) == 10 && fwrite(header, 1, (size_t)len, f) == (size_t)len && fwrite(in->data, 1, in->bytes, f) == in->bytes;
	int e = errno;
	if (fclose(f)) { ok = 0; e = errno; }
	if (ok && !rename(temp, path)) return 1;
	if (ok) e = errno;
	unlink(temp);
	return fault(why, cap, path, strerror(e));
}
