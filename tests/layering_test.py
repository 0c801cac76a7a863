"""Who may include what: the folder table of docs/design.md section 1 as data, checked against every #include "..." and <tenon/...>.

	layering_test.py TREE    checks the tree; then a copy of each rule's breach, so that the check is seen to fail
"""
import os, re, sys

PUBLIC = ["types.h", "prims.def", "attrs.def", "graph.h", "nest.h", "plugin.h", "tenon.h"]
INNER = PUBLIC[:-1]                                                # all but the programs' interface
GRAPH = PUBLIC[:4]                                                 # what says what a graph is

# folder: (folders of ours that it may include besides itself, public headers that it may include)
TABLE = {
	"sdk":               ([], PUBLIC),
	"base":              ([], ["types.h"]),
	"ir":                (["base"], GRAPH),
	"frontend/onnx":     (["base", "ir"], GRAPH),
	"frontend/torch":    ([], PUBLIC),
	"frontend/capture":  (["base", "ir"], PUBLIC),
	"decomp":            (["base", "ir"], GRAPH),
	"schedule":          (["base", "ir"], INNER),
	"render":            (["base"], INNER),
	"host":              (["base", "ir", "frontend/onnx", "decomp", "schedule", "render"], PUBLIC),
	"plugins/*":         ([], INNER),
	"examples/*":        ([], PUBLIC),
	"conformance":       (["base", "ir", "host"], PUBLIC),
	"tools":             (["base", "ir", "frontend/onnx", "decomp", "schedule", "render", "host"], PUBLIC),
	"bench":             (["base", "ir", "frontend/onnx", "decomp", "schedule", "render", "host"], PUBLIC),
	"tests":             (["base", "ir", "frontend/onnx", "decomp", "schedule", "render", "host"], PUBLIC),
}
# Where the table opens a door a little: (file, header it may include besides).  Say why.
ALSO = {
}
SUFFIXES = (".c", ".h", ".def", ".cc", ".cpp", ".inc")
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<(tenon/[^>]+)>)', re.M)

def folder_of(path):
	"""The row of TABLE that a file stands under, and the folder itself."""
	parts = path.split("/")
	for folder in ("/".join(parts[:2]), parts[0]):
		if folder in TABLE:
			return folder, folder
	if len(parts) > 2 and parts[0] + "/*" in TABLE:
		return parts[0] + "/*", "/".join(parts[:2])
	return None, None

def breach(path, quoted, public, exists):
	"""None when the include is allowed, else why not.  exists(p): whether the tree has the file p."""
	row, own = folder_of(path)
	if row is None:
		return "this folder is not in the table"
	folders, publics = TABLE[row]
	if public or quoted.startswith("tenon/"):
		name = (public or quoted).split("/", 1)[1]
		return None if name in publics else f"<tenon/{name}> is not for {row}"
	beside = os.path.normpath(os.path.join(os.path.dirname(path), quoted))
	target = beside if exists(beside) else os.path.normpath(quoted)
	if target.startswith(".."):
		return f'"{quoted}" leaves the tree'
	if target.startswith(own + "/") or (path, target) in ALSO or not exists(target) and "/" not in quoted:   # the last: generated, or a library's
		return None
	if target.startswith("sdk/include/tenon/"):
		return f'"{quoted}": write <tenon/{os.path.basename(target)}>'
	there = folder_of(target)[0]
	return None if there in folders else f'"{quoted}" is in {there or "no folder of the table"}; {row} may include {folders or "nothing of ours"}'

def check(tree):
	bad, seen = [], 0
	for at, dirs, files in os.walk(tree):
		dirs[:] = [d for d in dirs if not d.startswith((".", "build")) and d not in ("docs", "out", "shared", "subprojects")]
		for name in sorted(files):
			path = os.path.relpath(os.path.join(at, name), tree)
			if not name.endswith(SUFFIXES) or "/" not in path:
				continue
			seen += 1
			text = open(os.path.join(at, name), encoding="utf-8", errors="replace").read()
			for m in INCLUDE.finditer(text):
				why = breach(path, m[1] or "", m[2] or "", lambda p: os.path.exists(os.path.join(tree, p)))
				if why:
					bad.append(f"{path}:{text.count(chr(10), 0, m.start()) + 1}: {why}")
	return bad, seen

def self_test():
	yes = lambda p: p in ("ir/ir.h", "base/arena.h", "host/load.h", "plugins/ref/ref.h", "plugins/cpu_simd/isa.h")
	refused = [("base/x.c", "ir/ir.h", ""), ("ir/x.c", "host/load.h", ""), ("plugins/ref/x.c", "base/arena.h", ""), ("ir/x.c", "", "tenon/plugin.h"),
		("plugins/ref/x.c", "../cpu_simd/isa.h", ""), ("render/x.c", "ir/ir.h", ""), ("plugins/ref/x.c", "", "tenon/tenon.h"), ("stray/x.c", "y.h", "")]
	allowed = [("ir/x.c", "base/arena.h", ""), ("ir/x.c", "ir.h", ""), ("plugins/ref/x.c", "ref.h", ""), ("plugins/ref/x.c", "", "tenon/plugin.h"),
		("host/x.c", "ir/ir.h", ""), ("base/x.c", "", "tenon/types.h")]
	return [f"self test: {c} should be refused" for c in refused if not breach(*c, yes)] + \
		[f"self test: {c} should be allowed: {breach(*c, yes)}" for c in allowed if breach(*c, yes)]

bad, seen = check(sys.argv[1])
bad += self_test()
print("\n".join(bad + [f"{seen} files, {len(bad)} breaches"]))
sys.exit(1 if bad or not seen else 0)
