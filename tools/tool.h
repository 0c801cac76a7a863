/* tool.h - the tenon command: one function a subcommand; each returns the exit status. */
#ifndef TENON_TOOL_H
#define TENON_TOOL_H
#include <tenon/tenon.h>
int cmd_run(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_plugins(int argc, char **argv);
int cmd_lint(int argc, char **argv);

/* log to standard error: errors and warnings, all of it under TENON_LOG=all */
void tool_log(void *ctx, uint32_t level, const char *text);
int tool_fail(void);                              /* prints the last error; returns 1 */
double tool_now_ms(void);
/* --name VALUE or --name=VALUE at argv[*i]; moves *i.  NULL when it is another argument; missing value: prints and exits through `bad` */
const char *tool_option(int argc, char **argv, int *i, const char *name, int *bad);
#endif
