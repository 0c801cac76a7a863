/* map.c - a hash map from bytes to a number: open addressing, linear probing, at most half full, nothing is ever removed */
#include "base/arena.h"
#include <string.h>

struct tn_map_slot { const void *key; size_t len; uint64_t hash, value; };   /* key NULL: free */

static uint64_t mix(uint64_t h)
{
	h = (h ^ (h >> 33)) * UINT64_C(0xff51afd7ed558ccd);
	h = (h ^ (h >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
	return h ^ (h >> 33);
}

/* Eight bytes a step; each step is a bijection of the state, so no key can cancel an earlier one.  The finish is that of
 * MurmurHash3 (A. Appleby, public domain). */
uint64_t tn_hash(const void *p, size_t len)
{
	const unsigned char *s = p;
	uint64_t h = UINT64_C(0x9e3779b97f4a7c15) ^ len;
	for (; len >= 8; s += 8, len -= 8) {
		uint64_t w;
		memcpy(&w, s, 8);
		h = (h ^ w) * UINT64_C(0x9fb21c651e98df25);
		h ^= h >> 32;
	}
	uint64_t tail = 0;
	for (size_t i = 0; i < len; i++)
		tail |= (uint64_t)s[i] << (8 * i);
	return mix(h ^ tail);
}

/* the slot that has the key, or the free one where it belongs */
static struct tn_map_slot *probe(struct tn_map_slot *slots, uint32_t cap, const void *key, size_t len, uint64_t hash)
{
	for (uint32_t i = (uint32_t)hash & (cap - 1);; i = (i + 1) & (cap - 1)) {
		struct tn_map_slot *s = &slots[i];
		if (!s->key || (s->hash == hash && s->len == len && (!len || !memcmp(s->key, key, len))))
			return s;
	}
}

static void widen(struct tn_map *m)
{
	if (m->cap > UINT32_MAX / 2)
		tn_raise(m->arena->diag, TN_E_RANGE, "a map of %u keys cannot grow", m->n);
	uint32_t cap = m->cap ? m->cap * 2 : 16;
	struct tn_map_slot *slots = tn_array(m->arena, struct tn_map_slot, cap);
	for (uint32_t i = 0; i < m->cap; i++) {
		const struct tn_map_slot *s = &m->slots[i];
		if (s->key)
			*probe(slots, cap, s->key, s->len, s->hash) = *s;
	}
	m->slots = slots;
	m->cap = cap;
}

uint64_t *tn_map_at(struct tn_map *m, const void *key, size_t len)
{
	if (m->n >= m->cap / 2)
		widen(m);
	uint64_t hash = tn_hash(key, len);
	struct tn_map_slot *s = probe(m->slots, m->cap, key, len, hash);
	if (!s->key) {
		*s = (struct tn_map_slot){ tn_copy_bytes(m->arena, key, len), len, hash, 0 };
		m->n++;
	}
	return &s->value;
}

const uint64_t *tn_map_find(const struct tn_map *m, const void *key, size_t len)
{
	if (!m->cap)
		return NULL;
	const struct tn_map_slot *s = probe(m->slots, m->cap, key, len, tn_hash(key, len));
	return s->key ? &s->value : NULL;
}
