/* main.c - the tenon command. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "tools/tool.h"

static const struct { const char *name; int (*run)(int, char **); const char *what; } commands[] = {
	{ "run", cmd_run, "run a model on files or random numbers, write its outputs" },
	{ "show", cmd_show, "print a model at a stage of the compiler" },
	{ "check", cmd_check, "run each fused kernel against the strict evaluator, name what differs" },
	{ "plugins", cmd_plugins, "list the plugins found, and why each is or is not used" },
	{ "lint", cmd_lint, "check a plugin's tables with no device" },
};
#define N_COMMANDS (sizeof commands / sizeof *commands)

void tool_log(void *ctx, uint32_t level, const char *text)
{
	static const char *const words[] = { "error", "warning", "note", "debug" };
	const char *all = getenv("TENON_LOG");
	(void)ctx;
	if (level > 1 && !(all && !strcmp(all, "all"))) return;
	fprintf(stderr, "tenon: %s: %s\n", words[level > 3 ? 3 : level], text);
}

int tool_fail(void)
{
	fprintf(stderr, "tenon: %s\n", tn_error_text());
	return 1;
}

double tool_now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

const char *tool_option(int argc, char **argv, int *i, const char *name, int *bad)
{
	size_t n = strlen(name);
	if (strncmp(argv[*i], name, n)) return NULL;
	if (argv[*i][n] == '=') return argv[*i] + n + 1;
	if (argv[*i][n]) return NULL;
	if (*i + 1 < argc) return argv[++*i];
	fprintf(stderr, "tenon: %s needs a value\n", name);
	*bad = 1;
	return "";
}

static int help(FILE *f, int status)
{
	fprintf(f, "tenon %s: PyTorch and ONNX graphs, fused and run on the plugin that TENON_BACKEND names.\n\n", tn_version());
	for (size_t i = 0; i < N_COMMANDS; i++) fprintf(f, "  tenon %-8s %s\n", commands[i].name, commands[i].what);
	fprintf(f, "\nExamples\n"
		"  tenon run model.onnx --input x=random\n"
		"  TENON_BACKEND=ref tenon run model.onnx --input x=photo.npy --output out --compare expected.npy\n"
		"  tenon show model.onnx --stage fuse\n"
		"  tenon plugins\n\n"
		"Variables\n"
		"  TENON_BACKEND       comma list of plugin ids or paths, first choice first (\"vendor.npu,cpu_simd\", \"./my.so\", \"cpu_simd:0\")\n"
		"  TENON_PLUGIN_PATH   folders searched instead of the installed ones; TENON_ADD_PLUGIN_PATH: before them\n"
		"  TENON_DISABLE       comma list plugin:primitive, plugin:rule or plugin:template\n"
		"  TENON_THREADS, TENON_CACHE_DIR, TENON_VALIDATE=1, TENON_LOG=all\n"
		"`tenon COMMAND --help` says more.\n");
	return status;
}

int main(int argc, char **argv)
{
	if (argc < 2) return help(stderr, 2);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "help") || !strcmp(argv[1], "-h")) return help(stdout, 0);
	if (!strcmp(argv[1], "--version")) { printf("tenon %s\n", tn_version()); return 0; }
	for (size_t i = 0; i < N_COMMANDS; i++)
		if (!strcmp(argv[1], commands[i].name)) return commands[i].run(argc - 1, argv + 1);
	fprintf(stderr, "tenon: there is no command '%s'\n", argv[1]);
	return help(stderr, 2);
}
