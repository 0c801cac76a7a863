/* diag.c - raising and catching failures of a compile stage */
#include "base/diag.h"
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The arguments may point into d->text (a caller that adds its place to the words), hence the copy. */
static void fill(struct tn_diag *d, int32_t code, const char *fmt, va_list ap)
{
	char text[sizeof d->text];
	if (vsnprintf(text, sizeof text, fmt, ap) < 0)
		snprintf(text, sizeof text, "%s", fmt);
	memcpy(d->text, text, sizeof text);
	d->code = code;
}

void tn_raise(struct tn_diag *d, int32_t code, const char *fmt, ...)
{
	va_list ap;
	assert(d->escape && "tn_raise outside of tn_protect");
	assert(code != TN_OK);
	va_start(ap, fmt);
	fill(d, code, fmt, ap);
	va_end(ap);
	longjmp(*d->escape, 1);
}

int32_t tn_fail(struct tn_diag *d, int32_t code, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	fill(d, code, fmt, ap);
	va_end(ap);
	return code;
}

int32_t tn_protect(struct tn_diag *d, void (*f)(void *arg), void *arg)
{
	jmp_buf *const outer = d->escape;
	jmp_buf here;
	d->escape = &here;
	if (setjmp(here)) {
		d->escape = outer;
		return d->code;
	}
	f(arg);
	d->escape = outer;
	return TN_OK;
}
