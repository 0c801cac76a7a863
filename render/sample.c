/* sample.c - small nests made by hand */
#include "render/sample.h"
#include <string.h>

void rd_make_init(struct rd_make *m, struct tn_arena *a, uint32_t cls)
{
	*m = (struct rd_make){ .a = a, .bytes.arena = a };
	m->n = (struct tn_nest){ .head = TN_HEAD(tn_nest, TN_KIND_NEST), .cls = cls, .numerics = TN_DEFAULT };
	rd_make_size(m, 0);
	rd_make_size(m, 1);
	tn_text_put(&m->bytes, "", 1);       /* offset 0 names no layout */
}

uint32_t rd_make_size(struct rd_make *m, int64_t v)
{
	for (uint32_t i = 0; i < m->n_sizes; i++)
		if (m->sizes[i].op == TN_SIZE_CONST && m->sizes[i].value == v)
			return i;
	*tn_push(m->a, m->sizes, m->n_sizes, m->cap_sizes) = (struct tn_size){ TN_SIZE_CONST, 0, 0, 0, v, v, v };
	return m->n_sizes - 1;
}

uint32_t rd_make_symbol(struct rd_make *m, uint32_t symbol, int64_t lo, int64_t hi)
{
	*tn_push(m->a, m->sizes, m->n_sizes, m->cap_sizes) = (struct tn_size){ TN_SIZE_SYM, symbol, 0, 0, 0, lo, hi };
	return m->n_sizes - 1;
}

uint32_t rd_make_dim(struct rd_make *m, uint32_t axis, uint32_t extent)
{
	*tn_push(m->a, m->dims, m->n_dims, m->cap_dims) = (struct tn_nest_dim){ axis, extent };
	return m->n_dims - 1;
}

uint32_t rd_make_buffer(struct rd_make *m, uint32_t dtype, uint32_t flags, uint32_t length)
{
	*tn_push(m->a, m->buffers, m->n_buffers, m->cap_buffers) = (struct tn_nest_buffer){ dtype, flags, TN_ROLE_NONE, TN_NOTHING, 0, length };
	return m->n_buffers - 1;
}

void rd_make_phase(struct rd_make *m, uint32_t axes)
{
	*tn_push(m->a, m->phases, m->n_phases, m->cap_phases) = (struct tn_nest_phase){ axes, m->n_steps, 0, 0 };
}

uint32_t rd_make_step(struct rd_make *m, struct tn_step s)
{
	*tn_push(m->a, m->steps, m->n_steps, m->cap_steps) = s;
	m->phases[m->n_phases - 1].n_steps++;
	return m->n_steps - 1;
}

uint32_t rd_make_number(struct rd_make *m, uint32_t dtype, uint64_t bits)
{
	return rd_make_step(m, (struct tn_step){ .op = TN_STEP_CONST, .dtype = dtype, .bits = bits });
}

uint32_t rd_make_prim(struct rd_make *m, uint32_t prim, uint32_t dtype, uint32_t n, const uint32_t *args)
{
	uint32_t arg0 = m->n_args;
	for (uint32_t i = 0; i < n; i++)
		*tn_push(m->a, m->args, m->n_args, m->cap_args) = args[i];
	return rd_make_step(m, (struct tn_step){ .op = TN_STEP_PRIM, .dtype = dtype, .prim = prim, .arg0 = arg0, .n_args = n });
}

uint32_t rd_make_linear(struct rd_make *m, uint32_t offset, const struct rd_make_pair *p, uint32_t n)
{
	*tn_push(m->a, m->linears, m->n_linears, m->cap_linears) = (struct tn_linear){ m->n_parts, n, offset, 0 };
	for (uint32_t i = 0; i < n; i++)
		*tn_push(m->a, m->parts, m->n_parts, m->cap_parts) = (struct tn_part){ 0, p[i].dim, p[i].coef, 0 };
	return m->n_linears - 1;
}

uint32_t rd_make_access(struct rd_make *m, uint32_t buffer, uint32_t lin)
{
	*tn_push(m->a, m->terms, m->n_terms, m->cap_terms) = (struct tn_term){ lin, TN_NOTHING, TN_NOTHING, 1 };
	*tn_push(m->a, m->accesses, m->n_accesses, m->cap_accesses) = (struct tn_access){ buffer, m->n_terms - 1, 1, 0, m->n_bounds, 0, 0 };
	return m->n_accesses - 1;
}

void rd_make_bound(struct rd_make *m, uint32_t access, uint32_t lin, uint32_t limit)
{
	*tn_push(m->a, m->bounds, m->n_bounds, m->cap_bounds) = (struct tn_bound){ lin, TN_NOTHING, TN_NOTHING, limit };
	m->accesses[access].n_bounds++;
}

uint32_t rd_make_load(struct rd_make *m, uint32_t access)
{
	return rd_make_step(m, (struct tn_step){ .op = TN_STEP_LOAD, .dtype = m->buffers[m->accesses[access].buffer].dtype, .a = access });
}

void rd_make_store(struct rd_make *m, uint32_t access, uint32_t step)
{
	rd_make_step(m, (struct tn_step){ .op = TN_STEP_STORE, .a = access, .b = step });
}

const struct tn_nest *rd_make_done(struct rd_make *m)
{
	struct tn_nest *n = tn_new(m->a, struct tn_nest);
	*n = m->n;
	n->sizes = (struct tn_size_rows){ m->sizes, m->n_sizes };
	n->dims = (struct tn_nest_dim_rows){ m->dims, m->n_dims };
	n->phases = (struct tn_nest_phase_rows){ m->phases, m->n_phases };
	n->steps = (struct tn_step_rows){ m->steps, m->n_steps };
	n->accesses = (struct tn_access_rows){ m->accesses, m->n_accesses };
	n->terms = (struct tn_term_rows){ m->terms, m->n_terms };
	n->bounds = (struct tn_bound_rows){ m->bounds, m->n_bounds };
	n->linears = (struct tn_linear_rows){ m->linears, m->n_linears };
	n->parts = (struct tn_part_rows){ m->parts, m->n_parts };
	n->buffers = (struct tn_nest_buffer_rows){ m->buffers, m->n_buffers };
	n->attrs = (struct tn_attr_rows){ m->attrs, m->n_attrs };
	n->args = m->args;
	n->n_args = m->n_args;
	n->bytes = m->bytes.at;
	n->n_bytes = m->bytes.len;
	return n;
}
