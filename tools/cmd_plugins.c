/* cmd_plugins.c - tenon plugins: every candidate, its state and the reason. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include "tools/tool.h"

static const char *const states[] = { "?", "loaded", "filtered", "incompatible", "no device", "broken", "untrusted" };

static int print_json(struct tn_session *s)
{
	json_t *all = json_array();
	struct tn_plugin_info p = { .head = TN_HEAD(tn_plugin_info, 0) };
	for (uint64_t i = 0; tn_session_plugin(s, i, &p) == TN_OK; i++)
		json_array_append_new(all, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:i}", "id", p.id, "version", p.version, "state", states[p.state], "device", p.device,
			"reason", p.reason, "path", p.path, "order", (int)p.order));
	json_dumpf(all, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(all);
	return 0;
}

static int print_table(struct tn_session *s)
{
	struct tn_plugin_info p = { .head = TN_HEAD(tn_plugin_info, 0) };
	int id = 10, device = 12;
	for (uint64_t i = 0; tn_session_plugin(s, i, &p) == TN_OK; i++) {
		if ((int)strlen(p.id) > id) id = (int)strlen(p.id);
		if ((int)strlen(p.device) > device) device = (int)strlen(p.device);
	}
	printf("  %-*s  %-8s %-13s %-*s  why\n", id, "id", "version", "state", device, "device");
	for (uint64_t i = 0; tn_session_plugin(s, i, &p) == TN_OK; i++)
		printf("%c %-*s  %-8s %-13s %-*s  %s\n", p.order && p.state == TN_PLUGIN_LOADED ? '*' : ' ', id, p.id, p.version, states[p.state], device, p.device, p.reason);
	return 0;
}

int cmd_plugins(int argc, char **argv)
{
	int json = 0;
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--json")) { json = 1; continue; }
		printf("usage: tenon plugins [--json]\n\n* marks what TENON_BACKEND selects.  States: loaded, filtered (not selected, or another file with this id\n"
			"comes first), incompatible (ABI), no device, broken, untrusted (others may write to it).\n");
		return strcmp(argv[i], "--help") ? 2 : 0;
	}
	struct tn_session *s;
	struct tn_session_options o = { .head = TN_HEAD(tn_session_options, 0), .log = tool_log, .list_all = 1 };
	if (tn_session_create(&o, &s) != TN_OK) return tool_fail();
	int status = json ? print_json(s) : print_table(s);
	tn_session_destroy(s);
	return status;
}
