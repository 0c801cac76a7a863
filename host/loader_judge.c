/* loader_judge.c - a file is judged by who may write it, by its ELF headers, its note and its manifest, before any of its code runs. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "host/loader_inner.h"
#include "host/trust.h"

#define MANIFEST_MOST 65536            /* bytes */

/* ---- the manifest: FILE.json beside FILE.so, optional.  What it says must be what the file says. */

/* its text in out, 0-terminated; 1: read, 0: there is none, -1: it can't be read (errno) */
static int read_manifest(const char *path, char *out, size_t cap)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);        /* a pipe there must not stop us */
	if (fd < 0) return errno == ENOENT ? 0 : -1;
	ssize_t n = -1;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) errno = EINVAL;
	else if (st.st_size >= (off_t)cap) errno = EFBIG;
	else n = read(fd, out, cap - 1);
	close(fd);
	if (n >= 0) out[n] = 0;
	return n >= 0 ? 1 : -1;
}

static int same_hash(const struct tn_candidate *c, const char *wanted, char hex[65])
{
	unsigned char hash[crypto_hash_sha256_BYTES];
	crypto_hash_sha256(hash, c->bytes, c->size);
	sodium_bin2hex(hex, 65, hash, sizeof hash);
	return strlen(wanted) == 64 && !sodium_memcmp(hex, wanted, 64);
}

static void compare_manifest(struct loader *l, struct tn_candidate *c, const struct tn_elf_note *note, const char *path, json_t *m)
{
	const char *id = NULL, *version = NULL, *hash = NULL;
	json_int_t major = note->major, needs = note->needs;
	json_error_t e;
	char hex[65];
	if (json_unpack_ex(m, &e, 0, "{s?s, s?s, s?s, s?I, s?I}", "id", &id, "version", &version, "sha256", &hash, "abi_major", &major, "abi_needs", &needs))
		ld_reason(l, c, TN_PLUGIN_BROKEN, "its manifest %s: %s", path, e.text);
	else if (id && strcmp(id, note->id)) ld_reason(l, c, TN_PLUGIN_BROKEN, "its manifest says id '%.60s', the file '%s'", id, note->id);
	else if (major != note->major) ld_reason(l, c, TN_PLUGIN_BROKEN, "its manifest says ABI major %lld, the file %u", (long long)major, note->major);
	else if (needs != note->needs) ld_reason(l, c, TN_PLUGIN_BROKEN, "its manifest says that it needs ABI minor %lld, the file %u", (long long)needs, note->needs);
	else if (hash && !same_hash(c, hash, hex)) ld_reason(l, c, TN_PLUGIN_UNTRUSTED, "its SHA-256 is %s, its manifest says '%.64s'", hex, hash);
	else if (version) c->promised = tn_strdup(l->a, version);
}

static void check_manifest(struct loader *l, struct tn_candidate *c, const struct tn_elf_note *note)
{
	char path[4200], *text = tn_arena_alloc(l->a, MANIFEST_MOST);
	size_t len = strlen(c->path);
	json_error_t e;
	if (len > 3 && !strcmp(c->path + len - 3, ".so")) len -= 3;
	snprintf(path, sizeof path, "%.*s.json", (int)len, c->path);
	int there = read_manifest(path, text, MANIFEST_MOST);
	if (there < 0) ld_reason(l, c, TN_PLUGIN_BROKEN, "its manifest %s cannot be read: %s", path, strerror(errno));
	if (there <= 0) return;
	json_t *m = json_loads(text, JSON_REJECT_DUPLICATES, &e);
	if (!m) ld_reason(l, c, TN_PLUGIN_BROKEN, "its manifest %s is not JSON: line %d: %s", path, e.line, e.text);
	else compare_manifest(l, c, note, path, m);
	json_decref(m);
}

/* ---- the note */
static void judge_note(struct loader *l, struct tn_candidate *c, const struct tn_elf_facts *f)
{
	const struct tn_elf_note *n = &f->note;
	if (f->has_note && n->id[0]) c->id = tn_strdup(l->a, n->id);
	if (!f->exports_query) ld_reason(l, c, TN_PLUGIN_BROKEN, "not a Tenon plugin: it exports no tn_plugin_query_%d", TN_ABI_MAJOR);
	else if (f->n_exports > 1)
		ld_reason(l, c, TN_PLUGIN_BROKEN, "it exports %d symbols (%s is one); only tn_plugin_query_%d may be seen (link with a version script)",
			f->n_exports, f->other_export, TN_ABI_MAJOR);
	else if (!f->has_note) ld_reason(l, c, TN_PLUGIN_BROKEN, "it has no Tenon note (end its source with TN_PLUGIN)");
	else if (!n->id[0] || n->id[strspn(n->id, "abcdefghijklmnopqrstuvwxyz0123456789._")])
		ld_reason(l, c, TN_PLUGIN_BROKEN, "its id '%s' is not made of [a-z0-9._]", n->id);
	else if (n->major != TN_ABI_MAJOR) ld_reason(l, c, TN_PLUGIN_INCOMPATIBLE, "it speaks ABI major %u; this is %d", n->major, TN_ABI_MAJOR);
	else if (n->needs > TN_ABI_MINOR)
		ld_reason(l, c, TN_PLUGIN_INCOMPATIBLE, "needs ABI %u.%u; this is %d.%d: upgrade Tenon", n->major, n->needs, TN_ABI_MAJOR, TN_ABI_MINOR);
	else if (TN_ABI_MAJOR == 0 && n->layout_hash != TN_LAYOUT_HASH)
		ld_reason(l, c, TN_PLUGIN_INCOMPATIBLE, "built with headers of ABI %u.%u, whose layout differs from this %d.%d: build it again", n->major, n->built, TN_ABI_MAJOR, TN_ABI_MINOR);
	else if (f->text_relocations) ld_reason(l, c, TN_PLUGIN_BROKEN, "it has text relocations (build with -fPIC)");
	else if (f->exec_stack) ld_reason(l, c, TN_PLUGIN_BROKEN, "it asks for an executable stack");
	else check_manifest(l, c, n);
}

/* ---- the file */
static int map_file(struct loader *l, struct tn_candidate *c)
{
	struct stat st;
	int fd = open(c->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) { ld_reason(l, c, TN_PLUGIN_BROKEN, "it cannot be read: %s", strerror(errno)); return 0; }
	int ok = !fstat(fd, &st) && S_ISREG(st.st_mode);
	void *bytes = ok && st.st_size ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
	close(fd);
	if (bytes != MAP_FAILED) {
		c->bytes = bytes;
		c->size = (uint64_t)st.st_size;
		return 1;
	}
	ld_reason(l, c, TN_PLUGIN_BROKEN, "%s", !ok ? "it is not a regular file" : st.st_size ? "it cannot be mapped" : "the file is empty");
	return 0;
}

void ld_judge(struct loader *l, struct tn_candidate *c, int typed)
{
	char real[4096], why[900];
	struct tn_elf_facts f;
	if (!realpath(c->path, real)) { ld_reason(l, c, TN_PLUGIN_BROKEN, "%s: %s", c->path, strerror(errno)); return; }
	c->path = tn_strdup(l->a, real);
	if (!tn_path_trusted(real, why, sizeof why)) {
		if (!typed || tn_privileged()) { ld_reason(l, c, TN_PLUGIN_UNTRUSTED, "%s", why); return; }
		c->reason = tn_printf(l->a, "warning: %s", why);
	}
	if (!map_file(l, c)) return;
	tn_elf_inspect(c->bytes, c->size, &f);
	for (uint32_t i = 0; i < f.build_id_size; i++) c->build = tn_printf(l->a, "%s%02x", c->build, f.build_id[i]);
	if (!f.fault) { judge_note(l, c, &f); return; }
	if (f.has_note && f.note.id[0]) c->id = tn_strdup(l->a, f.note.id);
	ld_reason(l, c, TN_PLUGIN_BROKEN, "%s", f.fault);
}
