/* prim.c - the primitive table, and names of dtypes and attributes */
#include "ir/prim.h"
#include <string.h>

/* A row overrides the defaults that stand before its columns. */
#pragma GCC diagnostic ignored "-Woverride-init"

enum { COLUMN_DEFAULT_SINCE = 1 };

static const struct tn_prim_info rows[] = {
#define TN_PRIM(nm, no, ...) { .name = #nm, .number = (no), .n_out = 1, .mask = TN_M_PLAIN, .since = COLUMN_DEFAULT_SINCE, __VA_ARGS__ },
#include <tenon/prims.def>
#undef TN_PRIM
};
enum { N_ROWS = sizeof rows / sizeof *rows };

enum row_place {
#define TN_PRIM(nm, no, ...) AT_##nm,
#include <tenon/prims.def>
#undef TN_PRIM
};

static const uint16_t place[TN_PRIM_END] = {   /* 1 + index in rows */
#define TN_PRIM(nm, no, ...) [no] = 1 + AT_##nm,
#include <tenon/prims.def>
#undef TN_PRIM
};

#define TN_PRIM(nm, no, ...) _Static_assert((no) > 0 && (no) < TN_PRIM_END, #nm ": number out of range");
#include <tenon/prims.def>
#undef TN_PRIM

/* Two rows of one number, or two attributes of one, are two equal cases, which no compiler takes. */
__attribute__((unused)) static int numbers_differ(uint32_t prim, uint32_t attr)
{
	switch (prim) {
#define TN_PRIM(nm, no, ...) case (no):
#include <tenon/prims.def>
#undef TN_PRIM
		return 1;
	default:
		break;
	}
	switch (attr) {
#define TN_ATTR(nm, no) case (no):
#include <tenon/attrs.def>
#undef TN_ATTR
		return 1;
	default:
		return 0;
	}
}

const struct tn_prim_info *tn_prim_info(uint32_t prim)
{
	return prim < TN_PRIM_END && place[prim] ? &rows[place[prim] - 1] : NULL;
}

const struct tn_prim_info *tn_prim_by_name(const char *name, size_t len)
{
	for (uint32_t i = 0; i < N_ROWS; i++)
		if (strncmp(rows[i].name, name, len) == 0 && rows[i].name[len] == 0)
			return &rows[i];
	return NULL;
}

const struct tn_prim_info *tn_prim_at(uint32_t i)
{
	return i < N_ROWS ? &rows[i] : NULL;
}

const char *tn_prim_name(uint32_t prim)
{
	const struct tn_prim_info *p = tn_prim_info(prim);
	return p ? p->name : "?";
}

static const struct { const char *name; uint32_t bits; } dtypes[] = {
	[TN_NONE] = { "none", 0 },
	[TN_BOOL] = { "bool", 8 },
	[TN_U8] = { "u8", 8 }, [TN_U16] = { "u16", 16 }, [TN_U32] = { "u32", 32 }, [TN_U64] = { "u64", 64 },
	[TN_I8] = { "i8", 8 }, [TN_I16] = { "i16", 16 }, [TN_I32] = { "i32", 32 }, [TN_I64] = { "i64", 64 },
	[TN_F16] = { "f16", 16 }, [TN_BF16] = { "bf16", 16 }, [TN_F32] = { "f32", 32 }, [TN_F64] = { "f64", 64 },
	[TN_C64] = { "c64", 64 }, [TN_C128] = { "c128", 128 },
	[TN_F8E4M3FN] = { "f8e4m3fn", 8 }, [TN_F8E5M2] = { "f8e5m2", 8 },
	[TN_F8E4M3FNUZ] = { "f8e4m3fnuz", 8 }, [TN_F8E5M2FNUZ] = { "f8e5m2fnuz", 8 }, [TN_F8E8M0] = { "f8e8m0", 8 },
	[TN_F4E2M1] = { "f4e2m1", 4 }, [TN_I4] = { "i4", 4 }, [TN_U4] = { "u4", 4 }, [TN_I2] = { "i2", 2 }, [TN_U2] = { "u2", 2 },
};
_Static_assert(sizeof dtypes / sizeof *dtypes == TN_DTYPE_END, "a name for each dtype");

const char *tn_dtype_name(uint32_t dtype)
{
	return dtype > TN_NONE && dtype < TN_DTYPE_END ? dtypes[dtype].name : "?";
}

uint32_t tn_dtype_by_name(const char *name, size_t len)
{
	for (uint32_t i = TN_NONE + 1; i < TN_DTYPE_END; i++)
		if (strncmp(dtypes[i].name, name, len) == 0 && dtypes[i].name[len] == 0)
			return i;
	return TN_NONE;
}

uint32_t tn_dtype_bits(uint32_t dtype)
{
	return dtype < TN_DTYPE_END ? dtypes[dtype].bits : 0;
}

static const struct { const char *name; uint32_t number; } attrs[] = {
#define TN_ATTR(nm, no) { #nm, no },
#include <tenon/attrs.def>
#undef TN_ATTR
};

const char *tn_attr_name(uint32_t name)
{
	for (size_t i = 0; i < sizeof attrs / sizeof *attrs; i++)
		if (attrs[i].number == name)
			return attrs[i].name;
	return "?";
}

uint32_t tn_attr_by_name(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof attrs / sizeof *attrs; i++)
		if (strncmp(attrs[i].name, name, len) == 0 && attrs[i].name[len] == 0)
			return attrs[i].number;
	return TN_ATTR_NONE;
}
