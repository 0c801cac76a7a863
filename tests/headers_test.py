"""Each public header compiles alone, as C11 and as C++17, with no warning.   headers_test.py SDK_INCLUDE CC..."""
import os, shutil, subprocess, sys, tempfile

WARN = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-fsyntax-only"]

def compiles(cmd, header, include, suffix):
	with tempfile.NamedTemporaryFile("w", suffix=suffix) as f:
		f.write(f'#include <tenon/{header}>\n#include <tenon/{header}>\nint headers_test_unit(void);\n')
		f.flush()
		r = subprocess.run(cmd + WARN + ["-I", include, f.name], capture_output=True, text=True)
	if r.returncode:
		print(f"FAIL {' '.join(cmd)} <tenon/{header}>\n{r.stderr}")
	return r.returncode == 0

include, cc = sys.argv[1], sys.argv[2:]
cxx = next((c for c in ("g++", "c++", "clang++") if shutil.which(c)), None)
headers = sorted(h for h in os.listdir(os.path.join(include, "tenon")) if h.endswith(".h") or h == "prims.def")
good = [compiles(cc + ["-std=c11"], h, include, ".c") for h in headers]
if cxx:
	good += [compiles([cxx, "-std=c++17"], h, include, ".cc") for h in headers]
print(f"{len(headers)} headers, {sum(good)} of {len(good)} compilations clean" + ("" if cxx else "; no C++ compiler: C++17 was not checked"))
if not headers or not all(good):
	sys.exit(1)
