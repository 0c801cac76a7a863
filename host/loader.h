/* loader.h - finding, judging and opening plugins.  Loading one never fails the host: every candidate ends in a state with a reason. */
#ifndef TENON_LOADER_H
#define TENON_LOADER_H
#include <tenon/plugin.h>
#include <tenon/tenon.h>
#include "base/arena.h"

struct tn_candidate {
	const char *id, *version, *path, *device, *reason;   /* "" where not known */
	uint32_t state;                        /* enum tn_plugin_state */
	uint32_t order;                        /* 1-based place in the user's list; 0: not selected */
	struct tn_backend backend;             /* a copy: optional members filled with the host's defaults; valid in state LOADED */
	struct tn_self *self;                  /* open when selected */
	uint32_t ordinal;                      /* of the chosen device */
	union { struct tn_device_info info; unsigned char room[sizeof(struct tn_device_info) + TN_ROOM]; } dev;
	struct tn_device *handle;
	void *library;
	struct v_plugin *validator;            /* of tn_validate_wrap, or NULL */
	const char *build;                     /* the file's build id in hex; "" where it has none */
	const char *promised;                  /* the version that its manifest says, or NULL */
	void *bytes; uint64_t size;            /* while loading: the judged file, mapped, so that what is opened can be compared with it */
};
struct tn_loader_options {
	const char *backend;                   /* the user's list, or NULL: `otherwise` */
	const char *otherwise;                 /* the build's default */
	const char *plugin_path, *add_plugin_path;  /* colon lists, or NULL */
	const char *builtin_path;              /* folders that the build knows */
	const struct tn_host *(*host_for)(void *ctx, const char *id, const char *version);  /* the service table handed to this plugin's open */
	void *ctx;
	int list_all;                          /* 1: also open what was not selected, to learn its device (tenon plugins) */
	int validate;                          /* wrap each backend with host/validate.c */
};
/* tn_load_plugins - fills candidates in a (process-lifetime arena of the session).  TN_OK, or TN_E_ARG with words when something the
 * user named can't be had: what, why, and what there is. */
int32_t tn_load_plugins(const struct tn_loader_options *o, struct tn_candidate **at, uint32_t *n, struct tn_arena *a, struct tn_diag *d);
void tn_unload_plugins(struct tn_candidate *at, uint32_t n);    /* device_close, close; libraries stay mapped */

/* what a file says of itself with no code run (host/elf.c) */
struct tn_elf_facts {
	int is_elf, right_machine, has_note, n_exports, exports_query, text_relocations, exec_stack; struct tn_elf_note note; const char *fault;
	char other_export[64];                 /* one that should not be seen, or "" */
	unsigned char build_id[32]; uint32_t build_id_size;
};
void tn_elf_inspect(const void *bytes, uint64_t size, struct tn_elf_facts *out);   /* never reads outside; fault: words, or NULL */

/* defaults for optional members, and the list of required ones that are missing ("" when none), all reported together (host/defaults.c) */
void tn_backend_take(const struct tn_backend *in, struct tn_backend *out, char *missing, size_t cap);

/* tn_validate_wrap - c->backend becomes a table whose functions check arguments and results against plugin.h, then call the plugin's.
 * Words go through h->fail (destroyers: h->log, level 0).  Before open; h is what open will get.  Ended by tn_validate_unwrap,
 * which logs and destroys what is still alive and accepts a candidate that was never wrapped (host/validate.c) */
void tn_validate_wrap(struct tn_candidate *c, const struct tn_host *h);
void tn_validate_unwrap(struct tn_candidate *c);

const char *tn_secure_getenv(const char *name);                 /* the one place where the environment is read */
#endif
