/* safetensors.h - tensors in a file: 8 bytes little-endian length of a JSON header, the header, the bytes */
#ifndef TENON_SAFETENSORS_H
#define TENON_SAFETENSORS_H
#include "ir/parse.h"

/* tn_safetensors_map - map a file into memory; the mapping lives as long as the arena.  find works as a struct tn_weights.
 * Raises TN_E_ARG naming the file and what is wrong, TN_E_GONE when it is not there. */
struct tn_safetensors;
struct tn_safetensors *tn_safetensors_map(struct tn_arena *a, const char *path);
const struct tn_weight *tn_safetensors_find(void *file, const char *key);
uint64_t tn_safetensors_count(const struct tn_safetensors *s);

struct tn_tensor_out { const char *key; struct tn_weight w; };
void tn_safetensors_save(struct tn_arena *scratch, const char *path, const struct tn_tensor_out *tensors, uint64_t n);   /* atomically */

/* tn_file_map - a whole file, read-only, unmapped with the arena.  An empty file gives "" and 0 */
const char *tn_file_map(struct tn_arena *a, const char *path, size_t *size);
/* tn_file_replace - n pieces as the file's new content: written beside it, then renamed, so that nobody sees half of it */
struct tn_piece { const void *at; size_t size; };
void tn_file_replace(struct tn_arena *scratch, const char *path, const struct tn_piece *pieces, uint64_t n);
#endif
