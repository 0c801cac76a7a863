/* error.c - the words of the last failure, one a thread. */
#include <stdarg.h>
#include <stdio.h>
#include "host/session.h"

static _Thread_local char words[1024];

void tn_error_clear(void) { words[0] = 0; }

int32_t tn_error_set(int32_t code, const char *fmt, ...)
{
	char text[sizeof words];                   /* the arguments may point into the old words */
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	snprintf(words, sizeof words, "%s", text);
	return code;
}

int32_t tn_error_take(const struct tn_diag *d) { return tn_error_set(d->code, "%s", d->text); }

const char *tn_error_text(void) { return words; }
const char *tn_version(void) { return "0.1.0"; }
