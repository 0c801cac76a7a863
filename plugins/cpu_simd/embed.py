"""Writes text files as C arrays named cpu_text_STEM: embed.py OUT.c FILE...    (C11 caps string literals at 4,095 bytes)"""
import os, sys

with open(sys.argv[1], "w", encoding="utf-8") as out:
	out.write("/* made by embed.py */\n")
	for path in sys.argv[2:]:
		name = "cpu_text_" + os.path.basename(path).split(".")[0]
		data = open(path, "rb").read() + b"\0"
		out.write(f"extern const char {name}[];\nconst char {name}[] = {{\n")
		for i in range(0, len(data), 24):
			out.write("\t" + ", ".join(str(b if b < 128 else b - 256) for b in data[i:i + 24]) + ",\n")
		out.write("};\n")
