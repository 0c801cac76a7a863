/* cache.h - bytes kept on disk between processes, by content key: private folder, written atomically, checked when read.
 * A cache that cannot be used (not writable, not ours, full, garbage) costs a warning, never a failure. */
#ifndef TENON_CACHE_H
#define TENON_CACHE_H
#include <stdint.h>

struct tn_cache;
/* dir NULL: TENON_CACHE_DIR, else XDG_CACHE_HOME/tenon, else HOME/.cache/tenon; "": none (returns NULL).  warn is called with the reason
 * when it can't be used, at most once an object and reason. */
struct tn_cache *tn_cache_open(const char *dir, void (*warn)(void *ctx, const char *text), void *ctx);
void tn_cache_close(struct tn_cache *c);                                            /* accepts NULL */
int32_t tn_cache_get(struct tn_cache *c, const uint64_t key[4], void **bytes, uint64_t *size);  /* malloc'ed; TN_E_GONE when absent or damaged (then removed) */
int32_t tn_cache_put(struct tn_cache *c, const uint64_t key[4], const void *bytes, uint64_t size);
const char *tn_cache_dir(const struct tn_cache *c);                                 /* "" for NULL */
#endif
