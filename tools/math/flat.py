"""Writes straight-line text for ir/prims.tn from infix formulae, one `name = expression` a line, on standard input.

    r = x - n*0x1.62e4p-1            # + - * / % & | ^ << >>, hex floats, comments are kept
    p = horner(z, 0.5, 0.25, 0.125)  # lowest coefficient first
    y = select(lt(x, 0), a, b)       # atoms and earlier primitives as calls; convert(x, f32), bitcast(x, i32)
"""
import ast, re, sys

OPS = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Mod: "rem", ast.BitAnd: "and", ast.BitOr: "or",
       ast.BitXor: "xor", ast.LShift: "shl", ast.RShift: "shr"}


class Flat:
	def __init__(self):
		self.out, self.n = [], 0

	def fresh(self):
		self.n += 1
		return "%" + str(self.n)

	def put(self, text, dst=None):
		dst = dst or self.fresh()
		self.out.append("\t%s = %s" % (dst, text))
		return dst

	def expr(self, e, dst=None):
		if isinstance(e, ast.Name):
			if e.id in ("inf", "nan", "true", "false") or e.id.startswith("A_"):
				return e.id.replace("A_", "")
			return "%" + e.id.replace("_in_", "")
		if isinstance(e, ast.Constant):
			return str(e.value)
		if isinstance(e, ast.UnaryOp):
			return "-" + self.expr(e.operand)
		if isinstance(e, ast.BinOp):
			a, b = self.expr(e.left), self.expr(e.right)
			return self.put("%s %s, %s" % (OPS[type(e.op)], a, b), dst)
		f = e.func.id.rstrip("_")
		if f == "HX":
			return e.args[0].value
		if f == "horner":
			z, c = self.expr(e.args[0]), [self.expr(a) for a in e.args[1:]]
			v = c[-1]
			for k in range(len(c) - 2, -1, -1):
				v = self.put("mul %s, %s" % (v, z))
				v = self.put("add %s, %s" % (v, c[k]), dst if k == 0 else None)
			return v
		if f in ("convert", "bitcast"):
			return self.put("%s %s, dtype = %s" % (f, self.expr(e.args[0]), e.args[1].id), dst)
		args = [self.expr(a) for a in e.args] + ["%s = %s" % (k.arg, self.expr(k.value)) for k in e.keywords]
		return self.put("%s %s" % (f, ", ".join(args)), dst)

	def line(self, raw):
		code, _, note = raw.partition("#")
		code = code.strip()
		if not code:
			if note:
				self.out.append("\t#" + note)
			return
		start = len(self.out)
		code = re.sub(r"0x[0-9a-f]+(?:\.[0-9a-f]+)?p[+-]?\d+", lambda m: 'HX("%s")' % m.group(0), code)
		code = re.sub(r"\b0x[0-9a-fA-F]+\b(?!\.|p)(?!\")", lambda m: 'HX("%s")' % m.group(0), code)
		code = re.sub(r"\b(and|or|lambda|in|is|not)\(", r"\1_(", code)
		if code.startswith("return "):
			v = self.expr(ast.parse(code[7:], mode="eval").body)
			self.out.append("\treturn " + v)
		else:
			name, value = code.split("=", 1)
			v = self.expr(ast.parse(value.strip(), mode="eval").body, "%" + name.strip())
			if v != "%" + name.strip():
				raise SystemExit("no operation: " + raw)
		if note:
			self.out[start] += "    #" + note


def flat(text):
	"""Formulae of several primitives, each between its `prim ... {` and `}`, to straight-line text."""
	out, cur = [], None
	for raw in text.splitlines():
		s = raw.strip()
		if s.startswith("prim "):
			cur = Flat()
			out.append(s)
		elif s == "}":
			out += cur.out + ["}"]
			cur = None
		elif cur is None:
			out.append(raw)
		else:
			cur.line(s)
	return "\n".join(out) + "\n"


if __name__ == "__main__":
	sys.stdout.write(flat(sys.stdin.read()))
