"""Write a file as a C byte array: embed.py FILE OUTPUT NAME.  (C11 promises string literals of 4095 bytes only.)"""
import sys

data = open(sys.argv[1], "rb").read() + b"\0"
with open(sys.argv[2], "w") as out:
	out.write("/* made from %s by embed.py */\n#include <stddef.h>\n" % sys.argv[1].replace("\\", "/").rsplit("/", 1)[-1])
	out.write("extern const unsigned char %s[];\nextern const size_t %s_size;\n" % (sys.argv[3], sys.argv[3]))
	out.write("const size_t %s_size = %d;   /* without the 0 at the end */\nconst unsigned char %s[] = {\n" % (sys.argv[3], len(data) - 1, sys.argv[3]))
	for i in range(0, len(data), 32):
		out.write(",".join(str(b) for b in data[i:i + 32]) + ",\n")
	out.write("};\n")
