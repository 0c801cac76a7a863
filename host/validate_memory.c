/* validate_memory.c - checks of slabs, references into them, and copies. */
#include <stdio.h>
#include <string.h>
#include "host/validate.h"

static const struct tn_space *space_of(const struct v_object *dev, uint32_t space)
{
	const struct tn_space_rows *rows = &dev->dev.info.spaces;
	return space < rows->count ? &rows->at[space] : NULL;
}

/* ---- references */
static const char *place(char *room, size_t cap, const char *name, uint64_t i)
{
	if (i == UINT64_MAX) return name;
	snprintf(room, cap, "%s[%llu]", name, (unsigned long long)i);
	return room;
}

static int32_t address_ref(const struct v_call *k, const struct v_object *dev, const struct tn_ref *in, unsigned flags, const char *name)
{
	if (!in->offset) return v_complain(k, TN_E_ARG, "%s has neither memory nor a host address, and %llu bytes", name, (unsigned long long)in->size);
	if (!(flags & V_ADDRESS) && !(dev->dev.info.flags & TN_DEV_HOST_ADDRESS))
		return v_complain(k, TN_E_ARG, "%s is a host address, which the device does not take (no TN_DEV_HOST_ADDRESS)", name);
	if (in->size > UINT64_MAX - in->offset) return v_complain(k, TN_E_RANGE, "%s: %llu bytes at %#llx wrap around", name, (unsigned long long)in->size, (unsigned long long)in->offset);
	return TN_OK;
}

int32_t v_ref(struct v_call *k, const struct v_object *dev, const struct tn_ref *in, struct tn_ref *out, struct v_object **used, unsigned flags, const char *name, uint64_t i)
{
	char room[64];
	*out = *in;
	*used = NULL;
	if (!in->memory && !in->size) return TN_OK;                    /* an empty value may live nowhere */
	name = place(room, sizeof room, name, i);
	if (!in->memory) return address_ref(k, dev, in, flags, name);
	struct v_object *m = v_find_of(k, in->memory, V_MEMORY, name, dev);
	if (!m) return TN_E_ARG;
	if (in->offset > m->size || in->size > m->size - in->offset)
		return v_complain(k, TN_E_RANGE, "%s: %llu bytes at offset %llu reach past its slab of %llu", name, (unsigned long long)in->size,
			(unsigned long long)in->offset, (unsigned long long)m->size);
	uint64_t align = space_of(dev, m->space)->align;
	if ((flags & V_ALIGNED) && align > 1 && in->offset % align)
		return v_complain(k, TN_E_ARG, "%s: offset %llu is no multiple of the space's alignment %llu", name, (unsigned long long)in->offset, (unsigned long long)align);
	out->memory = m->inner;
	*used = m;
	return TN_OK;
}

/* ---- slabs */
static int32_t check_alloc(const struct v_call *k, const struct v_object *dev, uint32_t space, uint64_t size, uint64_t flags)
{
	const struct tn_space *row = space_of(dev, space);
	if (!row) return v_complain(k, TN_E_RANGE, "space %u of %llu", space, (unsigned long long)dev->dev.info.spaces.count);
	uint64_t most = row->max_alloc ? row->max_alloc : row->capacity;
	if (!size) return v_complain(k, TN_E_ARG, "size is 0");
	if (most && size > most) return v_complain(k, TN_E_NOMEM, "%llu bytes, space %u gives %llu at most", (unsigned long long)size, space, (unsigned long long)most);
	if (row->granule > 1 && size % row->granule)
		return v_complain(k, TN_E_ARG, "size %llu is no multiple of the space's granule %llu", (unsigned long long)size, (unsigned long long)row->granule);
	if (flags) return v_complain(k, TN_E_ARG, "flags are %#llx, not 0", (unsigned long long)flags);
	return TN_OK;
}

int32_t v_alloc(struct tn_device *d, uint32_t space, uint64_t size, uint64_t flags, struct tn_memory **m)
{
	struct v_call k = { "alloc", NULL, TN_E_ARG };
	struct tn_memory *inner = NULL;
	struct v_object *o, *dev = v_usable(&k, d);
	if (m) *m = NULL;
	if (!dev) return k.st;
	if (!m) return v_complain(&k, TN_E_ARG, "where to put the memory is NULL");
	int32_t st = check_alloc(&k, dev, space, size, flags);
	if (st != TN_OK) return st;
	int32_t code = v_after(&k, dev, dev->owner->inner.alloc(dev->inner, space, size, flags, &inner));
	st = v_take_handle(&k, V_MEMORY, dev, code, inner, &o);
	if (st != TN_OK) {
		if (code == TN_OK && inner) dev->owner->inner.release(inner);
		return st;
	}
	o->size = size;
	o->space = space;
	*m = (struct tn_memory *)(void *)o;
	return TN_OK;
}

void v_release(struct tn_memory *m)
{
	struct v_call k = { "release", NULL, TN_E_ARG };
	struct v_object *o = v_destroyable(&k, m, V_MEMORY);
	if (!o) return;
	void *inner = o->inner;
	v_retire(o);
	k.owner->inner.release(inner);
}

int32_t v_map(struct tn_memory *m, void **at)
{
	struct v_call k = { "map", NULL, TN_E_ARG };
	struct v_object *o = v_find(&k, m, V_MEMORY, "memory");
	if (at) *at = NULL;
	if (!o) return TN_E_ARG;
	if (!v_usable(&k, (struct tn_device *)(void *)o->parent)) return k.st;
	if (!at) return v_complain(&k, TN_E_ARG, "where to put the address is NULL");
	int32_t st = v_after(&k, o->parent, k.owner->inner.map(o->inner, at));
	if (st != TN_OK) *at = NULL;
	else if (!*at) st = v_complain(&k, TN_E_INTERNAL, "the plugin answers OK and gives no address");
	return st;
}

#define UNSET UINT64_C(0xa5a5a5a5a5a5a5a5)

int32_t v_budget(struct tn_device *d, uint32_t space, uint64_t *used, uint64_t *room)
{
	struct v_call k = { "budget", NULL, TN_E_ARG };
	struct v_object *dev = v_usable(&k, d);
	if (used) *used = 0;
	if (room) *room = 0;
	if (!dev) return k.st;
	if (!used || !room) return v_complain(&k, TN_E_ARG, "where to put the numbers is NULL");
	if (!space_of(dev, space)) return v_complain(&k, TN_E_RANGE, "space %u of %llu", space, (unsigned long long)dev->dev.info.spaces.count);
	*used = *room = UNSET;
	int32_t st = v_after(&k, dev, k.owner->inner.budget(dev->inner, space, used, room));
	if (st == TN_OK && (*used == UNSET || *room == UNSET)) st = v_complain(&k, TN_E_INTERNAL, "the plugin answers OK and leaves its numbers unset");
	if (st != TN_OK) *used = *room = 0;
	return st;
}

int32_t v_trim(struct tn_device *d, uint32_t level)
{
	struct v_call k = { "trim", NULL, TN_E_ARG };
	struct v_object *dev = v_usable(&k, d);
	if (!dev) return k.st;
	if (level > 2) return v_complain(&k, TN_E_ARG, "level %u, 2 at most", level);
	return v_after(&k, dev, k.owner->inner.trim(dev->inner, level));
}

/* ---- copies */
union room_copy { struct tn_copy c; unsigned char room[sizeof(struct tn_copy) + TN_ROOM]; };
#define SYNCS 64

static int32_t check_ends(const struct v_call *k, const struct tn_copy *c)
{
	if (c->dst.size != c->src.size)
		return v_complain(k, TN_E_ARG, "dst has %llu bytes, src %llu", (unsigned long long)c->dst.size, (unsigned long long)c->src.size);
	if (!c->src.size) return v_complain(k, TN_E_ARG, "0 bytes");
	if (!c->dst.memory && !c->src.memory) return v_complain(k, TN_E_ARG, "dst and src are both host addresses");
	uint64_t gap = c->dst.offset > c->src.offset ? c->dst.offset - c->src.offset : c->src.offset - c->dst.offset;
	if (c->dst.memory == c->src.memory && gap < c->src.size)
		return v_complain(k, TN_E_ARG, "dst and src overlap: %llu bytes at offsets %llu and %llu of one slab", (unsigned long long)c->src.size,
			(unsigned long long)c->dst.offset, (unsigned long long)c->src.offset);
	return TN_OK;
}

int32_t v_copy(struct tn_device *d, const struct tn_copy *c)
{
	struct v_call k = { "copy", NULL, TN_E_ARG };
	struct v_object *used[2], *dev = v_usable(&k, d);
	struct tn_sync syncs[SYNCS];
	union room_copy in;
	int32_t st = dev ? v_head(&k, "copy", c ? &c->head : NULL, sizeof *c, TN_KIND_COPY) : k.st;
	if (st != TN_OK) return st;
	memset(&in, 0, sizeof in);
	in.c = *c;
	if (c->n_waits > SYNCS || c->n_signals > SYNCS - c->n_waits)
		return v_complain(&k, TN_E_RANGE, "%llu waits and %llu signals, %d at most here", (unsigned long long)c->n_waits, (unsigned long long)c->n_signals, SYNCS);
	st = check_ends(&k, c);
	if (st == TN_OK) st = v_queue(&k, dev, c->queue, &in.c.queue);
	if (st == TN_OK) st = v_ref(&k, dev, &c->dst, &in.c.dst, &used[0], V_ADDRESS, "dst", UINT64_MAX);
	if (st == TN_OK) st = v_ref(&k, dev, &c->src, &in.c.src, &used[1], V_ADDRESS, "src", UINT64_MAX);
	if (st == TN_OK) st = v_syncs(&k, dev, c->waits, c->n_waits, c->signals, c->n_signals, syncs);
	if (st == TN_OK) st = v_token(&k, dev, c->token);
	if (st == TN_OK) st = v_flight_begin(&k, c->token, dev, used, 2);
	if (st != TN_OK) return st;
	in.c.waits = syncs;
	in.c.signals = syncs + c->n_waits;
	st = v_after(&k, dev, k.owner->inner.copy(dev->inner, &in.c));
	if (st != TN_OK) v_flight_failed(&k, c->token);
	return st;
}
