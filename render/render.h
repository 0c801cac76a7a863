/* render.h - from a nest to text in a plugin's language, and the nest interpreter.  Reads nests and the plugin's const tables only. */
#ifndef TENON_RENDER_H
#define TENON_RENDER_H
#include <tenon/plugin.h>
#include "base/arena.h"

/* one rendered kernel.  A launch takes the nest's buffers in order, these scalars in order, and the grid. */
struct tn_kernel {
	const char *name;                        /* entry symbol, made from the key: equal nests give equal names */
	const struct tn_nest *nest;
	const struct tn_template_row *tmpl;
	const int32_t *params;                   /* chosen value of each of the template's params */
	const uint32_t *scalars; uint32_t n_scalars;  /* sizes (indices in `sizes` below) that the kernel takes, 8 bytes each */
	uint32_t grid[3];                        /* sizes, in `sizes` below */
	uint32_t scratch;                        /* bytes a tile needs, a size in `sizes` */
	struct tn_size_rows sizes;               /* nest->sizes and what addresses, launch and scratch expressions added */
	const char *text; uint64_t text_len;     /* of this kernel alone, without the unit's preamble */
	uint32_t when;                           /* a size, in `sizes`: 0 where this variant does not serve; TN_NOTHING: it always does */
	struct tn_kernel *next;                  /* the variant to take then; NULL: this is the last and serves always */
	const char *const *uses; uint32_t n_uses;     /* helper words ("helper.NAME") that the unit must hold */
};

/* tn_render - choose among the backend's templates of the nest's class whose `where` holds (disabled rows left out by `allow`,
 * which may be NULL), by benefit, and render.  Raises UNSUPPORTED naming what is missing ("no dialect row for exp f64 vector"). */
struct tn_kernel *tn_render(const struct tn_nest *n, const struct tn_backend *b, const struct tn_device_info *d,
	int (*allow)(void *ctx, const char *row), void *ctx, struct tn_arena *a);
/* the whole unit: the backend's preamble word, then each kernel's text once by name */
const char *tn_render_unit(struct tn_kernel *const *k, uint32_t n, const struct tn_backend *b, struct tn_arena *a, uint64_t *len);

/* whether the backend could render this primitive (natively in its dialect; bodies are inlined by whoever builds the nest) */
int tn_dialect_has(const struct tn_backend *b, uint32_t prim, uint32_t in_dtype, uint32_t out_dtype);

/* canonical bytes of a nest, for caches and dedupe: two nests with equal keys are one kernel */
void tn_nest_key(const struct tn_nest *n, uint64_t key[4]);

/* the expression language of launch, scratch, where: evaluates over a nest; raises with the text and the place of the fault */
int tn_where_holds(const char *where, const struct tn_nest *n, const struct tn_device_info *d, struct tn_arena *a);

/* tn_interpret - run a nest on host memory.  buffers: addresses in the order of nest->buffers; symbols: values of the size symbols.
 * tile lo..hi of tn_interpret_tiles tiles, so that tiles may run on many threads.  Strict numerics, same order ids as documented. */
uint64_t tn_interpret_tiles(const struct tn_nest *n, const int64_t *symbols);
int32_t tn_interpret(const struct tn_nest *n, const int64_t *symbols, void *const *buffers, uint64_t lo, uint64_t hi, struct tn_diag *d);

/* tn_lint - check a backend's tables with no device: rows' texts parse, holes exist, every template renders on sample nests.
 * Adds one line a finding to out; returns how many. */
uint32_t tn_lint(const struct tn_backend *b, struct tn_text *out, struct tn_arena *a);
#endif
