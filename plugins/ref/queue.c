/* queue.c - the device's thread takes work in order: launches and copies, each told through host->done. */
#include <string.h>
#include "ref.h"

struct job {
	struct job *next;
	struct tn_token *token;
	const struct ref_program *program;         /* a launch; NULL: a copy */
	struct tn_ref *buffers;                    /* copied: arguments are borrowed for the call only */
	int64_t *scalars;
	struct tn_ref dst, src;
};
struct ref_device {
	struct ref_self *self;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct job *first, **last;
	int closing;
};
static struct ref_device *device_of(struct tn_device *d) { return (struct ref_device *)(void *)d; }
struct ref_self *ref_device_self(struct tn_device *d) { return device_of(d)->self; }

static unsigned char *at(const struct tn_ref *r)
{
	return r->memory ? ref_memory_of(r->memory)->cells + r->offset : (unsigned char *)(uintptr_t)r->offset;
}

static int32_t run(const struct job *j)
{
	if (j->program) return ref_execute(j->program, j->buffers, j->scalars);
	memmove(at(&j->dst), at(&j->src), j->src.size);
	return TN_OK;
}

static void *work(void *arg)
{
	struct ref_device *d = arg;
	const struct tn_host *h = d->self->host;
	pthread_mutex_lock(&d->lock);
	for (;;) {
		while (!d->first && !d->closing) pthread_cond_wait(&d->more, &d->lock);
		struct job *j = d->first;
		if (!j) break;
		d->first = j->next;
		if (!d->first) d->last = &d->first;
		pthread_mutex_unlock(&d->lock);
		int32_t code = run(j);
		struct tn_token *token = j->token;
		h->free(h->ctx, j);
		if (token) h->done(h->ctx, token, code);
		pthread_mutex_lock(&d->lock);
	}
	pthread_mutex_unlock(&d->lock);
	return NULL;
}

int32_t ref_device_open(struct tn_self *s, uint32_t i, struct tn_device **out)
{
	const struct tn_host *h = ref_self_of(s)->host;
	(void)i;
	struct ref_device *d = ref_new(h, sizeof *d);
	if (!d) return TN_E_NOMEM;
	d->self = ref_self_of(s);
	d->last = &d->first;
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->more, NULL);
	if (pthread_create(&d->thread, NULL, work, d)) {
		h->free(h->ctx, d);
		return h->fail(h->ctx, TN_E_CALL, 0, "ref: the device's thread does not start");
	}
	*out = (struct tn_device *)(void *)d;
	return TN_OK;
}

void ref_device_close(struct tn_device *td)
{
	if (!td) return;
	struct ref_device *d = device_of(td);
	pthread_mutex_lock(&d->lock);
	d->closing = 1;
	pthread_cond_signal(&d->more);
	pthread_mutex_unlock(&d->lock);
	pthread_join(d->thread, NULL);
	pthread_cond_destroy(&d->more);
	pthread_mutex_destroy(&d->lock);
	d->self->host->free(d->self->host->ctx, d);
}

static int32_t submit(struct ref_device *d, struct job *j)
{
	pthread_mutex_lock(&d->lock);
	*d->last = j;
	d->last = &j->next;
	pthread_cond_signal(&d->more);
	pthread_mutex_unlock(&d->lock);
	return TN_OK;
}

/* one block holds the job and the copies of its lists */
int32_t ref_launch(struct tn_device *td, const struct tn_launch *l)
{
	struct ref_device *d = device_of(td);
	uint64_t refs = l->n_buffers * sizeof *l->buffers, numbers = l->n_scalars * sizeof *l->scalars;
	struct job *j = ref_new(d->self->host, sizeof *j + refs + numbers);
	if (!j) return TN_E_NOMEM;
	j->token = l->token;
	j->program = ref_program_of(l->program);
	j->buffers = (struct tn_ref *)(void *)(j + 1);
	j->scalars = (int64_t *)(void *)((char *)(j + 1) + refs);
	if (refs) memcpy(j->buffers, l->buffers, refs);
	if (numbers) memcpy(j->scalars, l->scalars, numbers);
	return submit(d, j);
}

int32_t ref_copy(struct tn_device *td, const struct tn_copy *c)
{
	struct ref_device *d = device_of(td);
	struct job *j = ref_new(d->self->host, sizeof *j);
	if (!j) return TN_E_NOMEM;
	j->token = c->token;
	j->dst = c->dst;
	j->src = c->src;
	return submit(d, j);
}
