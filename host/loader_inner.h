/* loader_inner.h - what the loader's files share: finding and matching (loader.c), judging files with none of their code run
 * (loader_judge.c), opening them (loader_open.c). */
#ifndef TENON_LOADER_INNER_H
#define TENON_LOADER_INNER_H
#include "host/loader.h"

struct loader {
	const struct tn_loader_options *o;
	struct tn_arena *a;
	struct tn_diag *d;
	struct tn_candidate *at; uint32_t n, cap;
	struct tn_text unsearched;         /* folders that were named and not searched, and why */
};

void ld_reason(struct loader *l, struct tn_candidate *c, uint32_t state, const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* typed: the user named this path; then bad permissions are only a warning, unless we run with more rights than the user.
 * c->state stays 0 when the file may be opened; c->bytes is then the checked file, mapped. */
void ld_judge(struct loader *l, struct tn_candidate *c, int typed);
void ld_open(struct loader *l, struct tn_candidate *c, const char *device);   /* to state LOADED, or another with its reason */
#endif
