"""Read the bodies of ir/prims.tn and translate them to C: the text itself is what the checks beside this file measure.

C is only a carrier here: one C function for each (primitive, dtype, attributes), one statement for each line, every atom a
helper from ATOMS with exactly the meaning of the specification page.  Compile with -ffp-contract=off for strict numerics."""
import re

FLOATS = {"f32": ("float", 32), "f64": ("double", 64), "f16": ("_Float16", 16)}
INTS = {s + str(w): (("u" if s == "u" else "") + "int%d_t" % w, w) for s in "iu" for w in (8, 16, 32, 64)}
CTYPE = {"bool": "bool", **{k: v[0] for k, v in FLOATS.items()}, **{k: v[0] for k, v in INTS.items()}}
ARITH = "add sub mul div rem max min and or xor shl shr".split()
COMPARE = "eq lt le".split()
UNARY = "floor round sqrt".split()
ATOMS = set(ARITH + COMPARE + UNARY + ["select", "convert", "bitcast"])


class Body:
	def __init__(self, name, params, attrs, when, line):
		self.name, self.params, self.attrs, self.when, self.line = name, params, attrs, when, line
		self.steps, self.ret = [], None

	def holds(self, dtype, attrs):
		values = dict(self.attrs, **attrs)
		for clause in self.when:
			m = re.match(r"T in (.*)$", clause)
			if m:
				if dtype not in [s.strip() for s in m.group(1).split(",")]:
					return False
				continue
			m = re.match(r"(\w+) (==|!=) (\S+)$", clause)
			if not m:
				raise SystemExit("line %d: bad clause: %s" % (self.line, clause))
			if (float(values[m.group(1)]) == float(m.group(3))) != (m.group(2) == "=="):
				return False
		return True


def read(path):
	bodies, cur = {}, None
	for number, raw in enumerate(open(path), 1):
		if raw.startswith("# ==== structural"):
			break      # the other composites are not elementwise
		line = raw.split("#")[0].strip()
		if not line:
			continue
		where = "%s:%d" % (path, number)
		if line.startswith("prim "):
			m = re.match(r"prim (\w+)\(([^;)]*)(?:;([^)]*))?\)(?: when (.*?))? \{$", line)
			if not m:
				raise SystemExit(where + ": bad head: " + line)
			params = [re.match(r"\s*%(\w+)\s*:\s*(\w+)\s*$", p).groups() for p in m.group(2).split(",") if p.strip()]
			attrs = {}
			for a in (m.group(3) or "").split(","):
				if a.strip():
					k, v = a.split("=")
					attrs[k.strip()] = v.strip()
			when = [c.strip() for c in m.group(4).split(" and ")] if m.group(4) else []
			cur = Body(m.group(1), params, attrs, when, number)
			bodies.setdefault(cur.name, []).append(cur)
		elif line == "}":
			cur = None
		elif cur is None:
			raise SystemExit(where + ": outside of a body: " + line)
		elif line.startswith("return "):
			cur.ret = line[7:].strip()
		else:
			m = re.match(r"%(\w+) = (\w+) (.*)$", line)
			if not m:
				raise SystemExit(where + ": bad line: " + line)
			args, kw = [], {}
			for a in m.group(3).split(","):
				a = a.strip()
				if "=" in a:
					k, v = a.split("=")
					kw[k.strip()] = v.strip()
				else:
					args.append(a)
			cur.steps.append((m.group(1), m.group(2), args, kw, where))
	return bodies


def literal(text, dtype):
	if dtype in FLOATS:
		if text in ("inf", "-inf", "nan"):
			return "(%s)(%s%s)" % (CTYPE[dtype], "-" if text[0] == "-" else "", "__builtin_nan(\"\")" if text == "nan" else "__builtin_inf()")
		if re.match(r"-?0x[0-9a-fA-F]+$|-?\d+$", text):
			text = ("-0.0" if text == "-0" else str(int(text, 0)) + ".0")
		value = float.fromhex(text) if "0x" in text else float(text)
		if dtype == "f32":
			import struct
			short = struct.unpack("f", struct.pack("f", value))[0]
			if "0x" in text and short != value:
				raise SystemExit("literal %s does not fit f32" % text)
		return "(%s)%s" % (CTYPE[dtype], value.hex())
	if dtype == "bool":
		return {"1": "true", "0": "false", "true": "true", "false": "false"}[text]
	value = int(text, 0)
	return "(%s)%sULL" % (CTYPE[dtype], value & (2**64 - 1))


class Emit:
	"""Collects the C functions that a set of primitives needs."""
	def __init__(self, bodies):
		self.bodies, self.done, self.out = bodies, {}, []

	def pick(self, name, dtype, attrs):
		for b in self.bodies.get(name, []):
			if b.holds(dtype, attrs):
				return b
		return None

	def function(self, name, dtype, attrs=None):
		"""-> (C name, result dtype, dtypes of the operands, number of operations)"""
		attrs = attrs or {}
		key = (name, dtype, tuple(sorted(attrs.items())))
		if key in self.done:
			return self.done[key]
		b = self.pick(name, dtype, attrs)
		if b is None:
			raise KeyError("no body of %s for %s" % (name, dtype))
		values = dict(b.attrs, **attrs)
		cname = re.sub(r"\W", "_", "_".join(["tn", name, dtype] + ["%s_%s" % kv for kv in sorted(attrs.items())]))
		types = {p: (dtype if t == "T" else t) for p, t in b.params}
		lines, count = [], 0
		for dst, op, args, kw, where in b.steps:
			known = [types[a[1:]] for a in args if a[0] == "%"]
			def operand(a, want):
				if a[0] == "%":
					if a[1:] not in types:
						raise SystemExit("%s: %s is not defined" % (where, a))
					return "v_" + a[1:]
				return literal(values.get(a, a), want)
			if dst in types:
				raise SystemExit("%s: %%%s is defined twice" % (where, dst))
			if op == "select":
				inner = [types[a[1:]] for a in args[1:] if a[0] == "%"]
				if not inner:
					raise SystemExit(where + ": select of two literals has no dtype")
				if types[args[0][1:]] != "bool" or len(set(inner)) != 1:
					raise SystemExit(where + ": select of mixed dtypes " + str(inner))
				rt = inner[0]
				expr = "%s ? %s : %s" % (operand(args[0], "bool"), operand(args[1], rt), operand(args[2], rt))
			elif op in ("convert", "bitcast"):
				rt = dtype if kw["dtype"] == "T" else kw["dtype"]
				expr = "%s_%s_%s(%s)" % (op, known[0], rt, operand(args[0], None))
			elif op in ATOMS:
				if not known or len(set(known)) != 1:
					raise SystemExit("%s: operands of mixed dtypes %s" % (where, known))
				rt = "bool" if op in COMPARE else known[0]
				expr = "%s_%s(%s)" % (op, known[0], ", ".join(operand(a, known[0]) for a in args))
			else:
				sub = {k: values.get(v, v) for k, v in kw.items()}
				try:
					f, rt, ts, n = self.function(op, known[0], sub)
				except KeyError as e:
					raise SystemExit("%s: %s" % (where, e))
				count += n - 1
				expr = "%s(%s)" % (f, ", ".join(operand(a, t) for a, t in zip(args, ts)))
			count += op != "bitcast"
			types[dst] = rt
			lines.append("\t%s v_%s = %s;" % (CTYPE[rt], dst, expr))
		rt = types[b.ret[1:]]
		params = ", ".join("%s v_%s" % (CTYPE[types[p]], p) for p, _ in b.params)
		self.out.append("static inline __attribute__((always_inline)) %s %s(%s) {\n%s\n\treturn v_%s;\n}\n" % (CTYPE[rt], cname, params, "\n".join(lines), b.ret[1:]))
		self.done[key] = (cname, rt, [types[p] for p, _ in b.params], count)
		return self.done[key]


def atoms_c():
	"""The atoms as C helpers."""
	o = ["#include <stdint.h>", "#include <stdbool.h>", "#include <string.h>", "#include <math.h>",
	     "#define F static inline __attribute__((always_inline))"]
	for d, (c, w) in FLOATS.items():
		s = {"f32": "f", "f64": "", "f16": "f"}[d]
		for n, op in (("add", "+"), ("sub", "-"), ("mul", "*"), ("div", "/")):
			o.append("F %s %s_%s(%s a, %s b) { return (%s)(a %s b); }" % (c, n, d, c, c, c, op))
		o.append("F {c} rem_{d}({c} a, {c} b) {{ return ({c})fmod{s}(a, b); }}".format(c=c, d=d, s=s))
		# the first term makes NaN of either win, the last orders the zeros
		o.append("F {c} max_{d}({c} a, {c} b) {{ return a != a ? a : b != b ? b : a == b ? (__builtin_signbit((double)a) ? b : a) : a > b ? a : b; }}".format(c=c, d=d))
		o.append("F {c} min_{d}({c} a, {c} b) {{ return a != a ? a : b != b ? b : a == b ? (__builtin_signbit((double)a) ? a : b) : a < b ? a : b; }}".format(c=c, d=d))
		o.append("F {c} floor_{d}({c} a) {{ return ({c})__builtin_floor{s}(a); }}".format(c=c, d=d, s=s))
		o.append("F {c} round_{d}({c} a) {{ return ({c})__builtin_rint{s}(a); }}".format(c=c, d=d, s=s))
		o.append("F {c} sqrt_{d}({c} a) {{ return ({c})__builtin_sqrt{s}(a); }}".format(c=c, d=d, s=s))
		for n, op in (("eq", "=="), ("lt", "<"), ("le", "<=")):
			o.append("F bool %s_%s(%s a, %s b) { return a %s b; }" % (n, d, c, c, op))
	for d, (c, w) in INTS.items():
		u, sg = "uint%d_t" % w, d[0] == "i"
		for n, op in (("add", "+"), ("sub", "-"), ("mul", "*"), ("and", "&"), ("or", "|"), ("xor", "^")):
			big = "uint64_t" if w == 64 else "uint32_t"   # unsigned and wide enough: no promotion to a signed type
			o.append("F {c} {n}_{d}({c} a, {c} b) {{ return ({c})({u})(({g})({u})a {op} ({g})({u})b); }}".format(c=c, n=n, d=d, u=u, op=op, g=big))
		o.append("F {c} div_{d}({c} a, {c} b) {{ return b == 0 ? ({c})-1 : {m}({c})(a / b); }}".format(c=c, d=d, m="b == -1 ? (%s)(0 - (%s)a) : " % (c, "uint64_t") if sg else ""))
		o.append("F {c} rem_{d}({c} a, {c} b) {{ return b == 0 ? a : {m}({c})(a % b); }}".format(c=c, d=d, m="b == -1 ? 0 : " if sg else ""))
		o.append("F {c} max_{d}({c} a, {c} b) {{ return a > b ? a : b; }}".format(c=c, d=d))
		o.append("F {c} min_{d}({c} a, {c} b) {{ return a < b ? a : b; }}".format(c=c, d=d))
		o.append("F {c} shl_{d}({c} a, {c} b) {{ return ({u})b >= {w} ? 0 : ({c})(({u})a << b); }}".format(c=c, d=d, u=u, w=w))
		o.append("F {c} shr_{d}({c} a, {c} b) {{ return ({u})b >= {w} ? {z} : ({c})(a >> b); }}".format(c=c, d=d, u=u, w=w, z="(%s)(a < 0 ? -1 : 0)" % c if sg else "0"))
		for n, op in (("eq", "=="), ("lt", "<"), ("le", "<=")):
			o.append("F bool %s_%s(%s a, %s b) { return a %s b; }" % (n, d, c, c, op))
	for n, op in (("and", "&"), ("or", "|"), ("xor", "^"), ("eq", "=="), ("lt", "<"), ("le", "<="), ("max", "|"), ("min", "&")):
		o.append("F bool %s_bool(bool a, bool b) { return a %s b; }" % (n, op))
	every = {**FLOATS, **INTS}
	for d, (c, w) in every.items():
		o.append("F %s convert_bool_%s(bool a) { return (%s)a; }" % (c, d, c))
		o.append("F bool convert_%s_bool(%s a) { return a != 0; }" % (d, c))
		for e, (k, v) in every.items():
			if d in FLOATS and e in INTS:
				lo = "0" if e[0] == "u" else "(-0x1p%d)" % (v - 1)
				hi = "0x1p%d" % (v - (e[0] == "i"))
				top = "(%s)%sULL" % (k, (1 << (v - (e[0] == "i"))) - 1)
				bot = "(%s)%sULL" % (k, 0 if e[0] == "u" else (1 << (v - 1)))
				o.append("F {k} convert_{d}_{e}({c} a) {{ double x = (double)a; return x != x ? 0 : x >= {hi} ? {top} : x < {lo} ? {bot} : ({k})a; }}".format(k=k, d=d, e=e, c=c, hi=hi, lo=lo, top=top, bot=bot))
			else:
				o.append("F %s convert_%s_%s(%s a) { return (%s)a; }" % (k, d, e, c, k))
			if v == w:
				o.append("F %s bitcast_%s_%s(%s a) { %s r; memcpy(&r, &a, sizeof r); return r; }" % (k, d, e, c, k))
	return "\n".join(o) + "\n"
