/* cmd_lint.c - tenon lint: a plugin's rows and templates, checked and rendered on sample nests with no device. */
#include <stdio.h>
#include <string.h>
#include "host/session.h"
#include "tools/tool.h"

struct linting { const struct tn_backend *b; uint32_t findings; struct tn_diag diag; struct tn_arena arena; };
static void lint(void *arg)
{
	struct linting *w = arg;
	struct tn_text t = { .arena = &w->arena };
	w->findings = tn_lint(w->b, &t, &w->arena);
	if (t.len) fwrite(t.at, 1, t.len, stdout);
}

int cmd_lint(int argc, char **argv)
{
	if (argc != 2 || !strcmp(argv[1], "--help")) {
		printf("usage: tenon lint NAME|PATH.so\n\nChecks every dialect row, word and template of a plugin; status 1 when something is found.\n");
		return argc == 2 ? 0 : 2;
	}
	struct tn_session *s;
	struct tn_session_options so = { .head = TN_HEAD(tn_session_options, 0), .backend = argv[1], .log = tool_log };
	if (tn_session_create(&so, &s) != TN_OK) return tool_fail();
	struct linting w = { .b = s->place[0].backend };
	tn_arena_init(&w.arena, &w.diag);
	int failed = tn_protect(&w.diag, lint, &w) != TN_OK;
	if (failed) fprintf(stderr, "tenon lint: %s\n", w.diag.text);
	else printf("%s: %llu dialect rows, %llu words, %llu templates, %llu rules: %u findings\n", w.b->id, (unsigned long long)w.b->dialect.count,
		(unsigned long long)w.b->words.count, (unsigned long long)w.b->templates.count, (unsigned long long)w.b->rules.count, w.findings);
	tn_arena_fini(&w.arena);
	tn_session_destroy(s);
	return failed || w.findings;
}
