/* interp.h - inside of the nest interpreter: a machine that evaluates the steps of a phase over blocks of lanes. */
#ifndef TENON_INTERP_H
#define TENON_INTERP_H
#include <tenon/plugin.h>
#include "base/arena.h"

#define INTERP_LANES 128

struct interp {
	const struct tn_nest *nest;
	int64_t *size;                         /* values of nest->sizes */
	void *const *buffer;
	uint32_t lane_axis;                    /* lanes run along this axis */
	int64_t extent[TN_AXIS_END];           /* product of the axis's dims */
	int64_t flat[TN_AXIS_END];             /* coordinate along each axis; of lane 0 on the lane axis */
	int64_t *dim;                          /* by dim: its coordinate, lanes apart: dim[d * INTERP_LANES + lane] */
	unsigned char *value;                  /* by step: INTERP_LANES cells of 8 bytes, packed in the step's dtype */
	unsigned char *varies;                 /* by step: differs between lanes */
	unsigned char *started;                /* by step: a reduction or running value has one */
	int64_t *step;                         /* by access: elements from lane to lane, or INT64_MIN: lanes are located one by one */
	int64_t *index;                        /* scratch: addresses of a block */
	unsigned char *inside;                 /* scratch: lanes within all bounds */
	uint32_t lanes;                        /* of the block in hand */
	int by_lane;                           /* reductions combine the lanes of a block (RED is the lane axis) */
	struct tn_diag *diag;
};

static inline void *interp_at(const struct interp *m, uint32_t step) { return m->value + (size_t)step * INTERP_LANES * 8; }
static inline uint32_t interp_bytes(uint32_t dtype)
{
	switch (dtype) {
	case TN_BOOL: case TN_U8: case TN_I8: return 1;
	case TN_U16: case TN_I16: case TN_F16: case TN_BF16: return 2;
	case TN_U32: case TN_I32: case TN_F32: return 4;
	default: return 8;
	}
}

/* interp_prim.c: one elementwise atom over n lanes; x, y, z with element strides 0 or 1.  0 when there is no such atom for these dtypes */
struct interp_args { const void *x, *y, *z; uint32_t sx, sy, sz; };
int interp_prim(uint32_t prim, uint32_t in, uint32_t out, const struct interp_args *a, void *to, uint32_t n);
/* acc = acc op x in a reduction by prim (TN_sum, ...), one cell */
int interp_combine(uint32_t prim, uint32_t dtype, void *acc, const void *x);
int interp_identity(uint32_t prim, uint32_t dtype, void *acc);
int64_t interp_as_i64(uint32_t dtype, const void *cell);
#endif
