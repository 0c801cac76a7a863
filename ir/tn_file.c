/* tn_file.c - .tn files, with the constants that are too large for the text in a .safetensors file beside them */
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/safetensors.h"
#include "ir/store.h"
#include <string.h>

/* model.tn -> model.safetensors; a name without .tn gets it appended */
static const char *weights_path(struct tn_arena *a, const char *path)
{
	const size_t n = strlen(path);
	const int ends = n > 3 && strcmp(path + n - 3, ".tn") == 0;
	return tn_printf(a, "%.*s.safetensors", (int)(ends ? n - 3 : n), path);
}

/* maps the file when the first tensor is asked for: a text without stored constants needs none */
struct lazy { struct tn_arena *a; const char *path; struct tn_safetensors *file; };

static const struct tn_weight *find(void *ctx, const char *key)
{
	struct lazy *l = ctx;
	if (!l->file)
		l->file = tn_safetensors_map(l->a, l->path);
	return tn_safetensors_find(l->file, key);
}

struct tn_ir *tn_ir_load(struct tn_arena *a, const char *path)
{
	struct lazy l = { a, weights_path(a, path), NULL };
	size_t size;
	const char *text = tn_file_map(a, path, &size);
	return tn_ir_parse_with(a, text, size, path, &(struct tn_weights){ find, &l });
}

/* ---- saving: constants in the order in which the printer names them */
struct saving {
	struct tn_arena *a;
	struct tn_tensor_out *at; uint64_t n, cap;
	struct tn_map keys;
	uint32_t n_regions;
};

static void add_constant(struct saving *s, const struct tn_graph *g, uint32_t v, uint32_t region)
{
	const struct tn_constant *c = &g->constants.at[tn_val(g, v)->constant];
	struct tn_tensor_out x = { .key = tn_constant_key(s->a, g, v, region), .w = { .dtype = tn_val(g, v)->dtype, .rank = tn_rank(g, v), .at = c->at, .size = c->size } };
	uint64_t *seen = tn_map_at(&s->keys, x.key, strlen(x.key));
	if ((*seen)++)
		tn_raise(s->a->diag, TN_E_ARG, "two constants would be stored as \"%s\": rename one", x.key);
	if (strcmp(x.key, "__metadata__") == 0)
		tn_raise(s->a->diag, TN_E_ARG, "a constant cannot be stored as \"%s\"", x.key);
	for (uint32_t d = 0; d < x.w.rank; d++)
		x.w.dims[d] = tn_size_known(g, tn_shape(g, v)[d]);
	*tn_push(s->a, s->at, s->n, s->cap) = x;
}

static void collect(struct saving *s, const struct tn_graph *g, uint32_t region)
{
	for (uint32_t v = 0; v < g->values.count; v++)
		if (tn_val(g, v)->constant != TN_NOTHING && !tn_constant_is_inline(g, v))
			add_constant(s, g, v, region);
	for (uint64_t i = 0; i < g->nodes.count; i++)
		for (uint32_t k = 0; k < g->nodes.at[i].n_region; k++)
			collect(s, g->regions[g->nodes.at[i].region0 + k], ++s->n_regions);
}

/* The weights go first: a text never names tensors that are not there yet. */
void tn_ir_save(const struct tn_graph *g, const char *path, struct tn_arena *scratch)
{
	struct saving s = { .a = scratch, .keys = { .arena = scratch } };
	struct tn_text t = { .arena = scratch };
	const char *weights = weights_path(scratch, path);
	collect(&s, g, 0);
	tn_ir_print(&t, g);
	if (s.n)
		tn_safetensors_save(scratch, weights, s.at, s.n);
	tn_file_replace(scratch, path, &(struct tn_piece){ t.at, t.len }, 1);
}
