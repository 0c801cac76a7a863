/* diag.h - how a compile stage fails: it raises, and the entry point that called tn_protect gets the code and the words.
 *
 * Everything that a stage owns lives in arenas, so that leaving by a raise loses nothing; what is not memory (a mapping, a
 * file) is handed to tn_arena_defer.  Raising never crosses the plugin ABI: host services return codes.
 * One diag belongs to one thread at a time. */
#ifndef TENON_DIAG_H
#define TENON_DIAG_H
#include <setjmp.h>
#include <stdint.h>
#include <tenon/types.h>

struct tn_diag {
	int32_t code;                 /* TN_OK, or the code of the last failure */
	char text[1024];              /* what, where and the values seen; cut at the end if longer */
	jmp_buf *escape;              /* set while a tn_protect is running */
};

/* tn_raise - end the running stage with code and a formatted text.  Needs a tn_protect on the stack (asserted). */
_Noreturn void tn_raise(struct tn_diag *d, int32_t code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* tn_fail - fill the diag and return code, for functions that report by status */
int32_t tn_fail(struct tn_diag *d, int32_t code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* tn_protect - run f(arg); TN_OK, or the code it raised.  Nests: the inner one catches. */
int32_t tn_protect(struct tn_diag *d, void (*f)(void *arg), void *arg);
#endif
