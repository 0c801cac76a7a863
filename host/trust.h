/* trust.h - whether a file may be loaded as code: every component of its path owned by root or the user, and not writable by others. */
#ifndef TENON_TRUST_H
#define TENON_TRUST_H
#include <stddef.h>
int tn_path_trusted(const char *canonical, char *why, size_t cap);     /* 1, or 0 with the component and the reason */
int tn_privileged(void);                                               /* set-user-id and the like: user paths are ignored */
#endif
