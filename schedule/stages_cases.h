{ "two plugins: the graph way first, copies between", "nc", "",
"graph @t(%x: f32[4, 6], %w: f32[6, 6]) {\n%d = dot %x, %w, contract = [1, 0]\n%t = tanh %d\n%e = tanh %t\n%s = sum %e, axes = [1]\nreturn %s\n}",
	"group 0 graph on npu by region { dot } from %x, %w to %d\n"
	"group 1 graph on npu by region { tanh, tanh } from %d to %e\n"
	"group 2 copy on cpu from npu { copy } from %e to %5\n"
	"group 3 kernel on cpu reduce { sum } from %5 to %s\n"
	"nest reduce strict {\n"
	"\tdim d0 outer 4\n"
	"\tdim d1 red 6\n"
	"\tbuffer b0 f32[24] read value 5\n"
	"\tbuffer b1 f32[4] write value 6\n"
	"\tphase outer red\n"
	"\t\t%0 = load f32 b0[6*d0 + d1]\n"
	"\t\t%1 = reduce f32 sum %0\n"
	"\tphase outer\n"
	"\t\t%2 = store f32 %1, b1[d0]\n"
	"}\n",
	0, 0 },
{ "level 2 says no", "qc", "",
"graph @t(%x: f32[4, 6], %w: f32[6, 6]) {\n%d = dot %x, %w, contract = [1, 0]\n%t = tanh %d\nreturn %t\n}",
	"group 0 graph on npu by region { dot } from %x, %w to %d\n"
	"group 1 copy on cpu from npu { copy } from %d to %3\n"
	"group 2 kernel on cpu pointwise { tanh } from %3 to %t\n"
	"nest pointwise strict {\n"
	"\tdim d0 inner 24\n"
	"\tbuffer b0 f32[24] read value 3\n"
	"\tbuffer b1 f32[24] write value 4\n"
	"\tphase outer inner\n"
	"\t\t%0 = load f32 b0[d0]\n"
	"\t\t%1 = tanh f32 %0\n"
	"\t\t%2 = store f32 %1, b1[d0]\n"
	"}\n",
	0, 0 },
{ "a denied node goes to the next", "nc", "",
"graph @t(%x: f32[4, 6]) {\n%t = tanh %x\n%u = tanh %t\nreturn %u\n}",
	"group 0 graph on npu by region { tanh } from %x to %t\n"
	"group 1 copy on cpu from npu { copy } from %t to %2\n"
	"group 2 kernel on cpu pointwise { tanh } from %2 to %u\n"
	"nest pointwise strict {\n"
	"\tdim d0 inner 24\n"
	"\tbuffer b0 f32[24] read value 2\n"
	"\tbuffer b1 f32[24] write value 3\n"
	"\tphase outer inner\n"
	"\t\t%0 = load f32 b0[d0]\n"
	"\t\t%1 = tanh f32 %0\n"
	"\t\t%2 = store f32 %1, b1[d0]\n"
	"}\n",
	UINT64_C(1) << 8, 1 },
{ "a slow body goes to who has it", "cn", "",
"graph @t(%x: f32[4, 6]) {\n%n = neg %x\n%s, %i = sort %n, axis = 1\nreturn %s\n}",
	"group 0 kernel on cpu pointwise { neg } from %x to %n\n"
	"group 1 copy on npu from cpu { copy } from %n to %2\n"
	"group 2 graph on npu by region { sort } from %2 to %s\n"
	"nest pointwise strict {\n"
	"\tdim d0 inner 24\n"
	"\tbuffer b0 f32[24] read value 0\n"
	"\tbuffer b1 f32[24] write value 1\n"
	"\tphase outer inner\n"
	"\t\t%0 = load f32 b0[d0]\n"
	"\t\t%1 = const f32 0xbf800000\n"
	"\t\t%2 = mul f32 %0, %1\n"
	"\t\t%3 = store f32 %2, b1[d0]\n"
	"}\n",
	0, 0 },
{ "a template off: the evaluator", "c", "t.reduce",
"graph @t(%x: f32[4, 6]) {\n%n = neg %x\n%s = sum %n, axes = [1]\nreturn %s\n}",
	"group 0 kernel on cpu pointwise { neg } from %x to %n\n"
	"group 1 copy on host from cpu { copy } from %n to %2\n"
	"group 2 host on host { sum } from %2 to %s\n"
	"nest pointwise strict {\n"
	"\tdim d0 inner 24\n"
	"\tbuffer b0 f32[24] read value 0\n"
	"\tbuffer b1 f32[24] write value 1\n"
	"\tphase outer inner\n"
	"\t\t%0 = load f32 b0[d0]\n"
	"\t\t%1 = const f32 0xbf800000\n"
	"\t\t%2 = mul f32 %0, %1\n"
	"\t\t%3 = store f32 %2, b1[d0]\n"
	"}\n",
	0, 0 },
{ "small integers stay on the host", "c", "",
"graph @t(%x: f32[n, 6], %k: i64[]) where 0 <= n {\n%one = full value = 1, dtype = i64, shape = []\n%j = add %k, %one\nm = bind %j, lo = 0, hi = 100\n%i = iota axis = 0, dtype = f32, shape = [m]\nreturn %i\n}",
	"group 0 host on host { full } from to %one\n"
	"group 1 host on host { add } from %k, %one to %j\n"
	"group 2 host on host { bind } from %j to\n"
	"group 3 kernel on cpu pointwise { iota } from to %i\n"
	"nest pointwise strict {\n"
	"\tsymbol s0 in 0 .. inf\n"
	"\tsymbol s1 in 0 .. 100\n"
	"\tdim d0 inner s1\n"
	"\tbuffer b0 f32[s1] write value 4\n"
	"\tphase outer inner\n"
	"\t\t%0 = dim i64 d0\n"
	"\t\t%1 = convert f32 %0, dtype = f32\n"
	"\t\t%2 = store f32 %1, b0[d0]\n"
	"}\n",
	0, 0 },
{ "a reshape alone is an alias", "c", "",
"graph @t(%x: f32[4, 6]) {\n%n = neg %x\n%r = reshape %n, shape = [24]\nreturn %n, %r\n}",
	"group 0 kernel on cpu pointwise by pointwise { neg, reshape } from %x to %n, %r\n"
	"nest pointwise strict {\n"
	"\tdim d0 inner 24\n"
	"\tbuffer b0 f32[24] read value 0\n"
	"\tbuffer b1 f32[24] write value 2\n"
	"\tbuffer b2 f32[24] write value 1\n"
	"\tphase outer inner\n"
	"\t\t%0 = load f32 b0[d0]\n"
	"\t\t%1 = const f32 0xbf800000\n"
	"\t\t%2 = mul f32 %0, %1\n"
	"\t\t%3 = store f32 %2, b1[d0]\n"
	"\t\t%4 = store f32 %2, b2[d0]\n"
	"}\n",
	0, 0 },
{ "a rule's limit of nodes", "c", "",
"graph @t(%x: f32[4]) {\n%a = neg %x\n%b = abs %a\n%c = neg %b\n%d = abs %c\n%e = neg %d\n%f = abs %e\n%g = neg %f\nreturn %g\n}",
	"group 0 kernel on cpu pointwise { neg } from %x to %a\n"
	"group 1 kernel on cpu pointwise by pointwise { abs, neg, abs, neg, abs, neg } from %a to %g\n"
	"nest pointwise strict {\n"
	"\tdim d0 inner 4\n"
	"\tbuffer b0 f32[4] read value 0\n"
	"\tbuffer b1 f32[4] write value 1\n"
	"\tphase outer inner\n"
	"\t\t%0 = load f32 b0[d0]\n"
	"\t\t%1 = const f32 0xbf800000\n"
	"\t\t%2 = mul f32 %0, %1\n"
	"\t\t%3 = store f32 %2, b1[d0]\n"
	"}\n"
	"nest pointwise strict {\n"
	"\tdim d0 inner 4\n"
	"\tbuffer b0 f32[4] read value 1\n"
	"\tbuffer b1 f32[4] write value 7\n"
	"\tphase outer inner\n"
	"\t\t%0 = load f32 b0[d0]\n"
	"\t\t%1 = bitcast i32 %0, dtype = i32\n"
	"\t\t%2 = const i32 0x7fffffff\n"
	"\t\t%3 = and i32 %1, %2\n"
	"\t\t%4 = bitcast f32 %3, dtype = f32\n"
	"\t\t%5 = const f32 0xbf800000\n"
	"\t\t%6 = mul f32 %4, %5\n"
	"\t\t%7 = bitcast i32 %6, dtype = i32\n"
	"\t\t%8 = and i32 %7, %2\n"
	"\t\t%9 = bitcast f32 %8, dtype = f32\n"
	"\t\t%10 = mul f32 %9, %5\n"
	"\t\t%11 = bitcast i32 %10, dtype = i32\n"
	"\t\t%12 = and i32 %11, %2\n"
	"\t\t%13 = bitcast f32 %12, dtype = f32\n"
	"\t\t%14 = mul f32 %13, %5\n"
	"\t\t%15 = store f32 %14, b1[d0]\n"
	"}\n",
	0, 0 },
{ "softmax", "c", "", "graph @t(%x: f32[n, 512]) where 0 <= n {\n%r = softmax %x, axis = 1\nreturn %r\n}",
	"group 0 kernel on cpu rows by rows { reduce_max, broadcast, sub, exp, sum, broadcast, div } from %x to %7\n"
	"nest rows strict {\n"
	"\tsymbol s0 in 0 .. inf\n"
	"\tdim d0 outer s0\n"
	"\tdim d1 red 512\n"
	"\tbuffer b0 f32[{s0*512}] read value 0\n"
	"\tbuffer b1 f32[{s0*512}] write value 7\n"
	"\tphase outer red\n"
	"\t\t%0 = load f32 b0[512*d0 + d1]\n"
	"\t\t%1 = reduce f32 reduce_max %0\n"
	"\tphase outer red\n"
	"\t\t%2 = sub f32 %0, %1\n"
	"\t\t%3 = exp f32 %2 keep\n"
	"\t\t%4 = reduce f32 sum %3\n"
	"\tphase outer red\n"
	"\t\t%5 = div f32 %3, %4\n"
	"\t\t%6 = store f32 %5, b1[512*d0 + d1]\n"
	"}\n",
	0, 0 },
{ "columns", "c", "", "graph @t(%x: f32[n, 32, 64]) where 0 <= n {\n%q = mul %x, %x\n%s = sum %x, axes = [1]\n%t = sum %q, axes = [1]\n%r = add %s, %t\nreturn %r\n}",
	"group 0 kernel on cpu reduce by rows { mul, sum, sum, add } from %x to %r\n"
	"nest reduce strict {\n"
	"\tsymbol s0 in 0 .. inf\n"
	"\tdim d0 outer s0\n"
	"\tdim d1 inner 64\n"
	"\tdim d2 red 32\n"
	"\tbuffer b0 f32[{s0*2048}] read value 0\n"
	"\tbuffer b1 f32[{s0*64}] write value 4\n"
	"\tphase outer inner red\n"
	"\t\t%0 = load f32 b0[2048*d0 + 64*d2 + d1]\n"
	"\t\t%1 = reduce f32 sum %0\n"
	"\t\t%2 = mul f32 %0, %0\n"
	"\t\t%3 = reduce f32 sum %2\n"
	"\tphase outer inner\n"
	"\t\t%4 = add f32 %1, %3\n"
	"\t\t%5 = store f32 %4, b1[64*d0 + d1]\n"
	"}\n",
	0, 0 },
{ "an epilogue loads again what the reduction loaded", "c", "",
"graph @t(%x: f32[4, 8], %y: f32[4]) {\n%b = broadcast %y, shape = [4, 8], dims = [0]\n%m = mul %x, %b\n%s = sum %m, axes = [1]\n%r = add %s, %y\nreturn %r\n}",
	"group 0 kernel on cpu reduce by rows { broadcast, mul, sum, add } from %y, %x to %r\n"
	"nest reduce strict {\n"
	"\tdim d0 outer 4\n"
	"\tdim d1 red 8\n"
	"\tbuffer b0 f32[32] read value 0\n"
	"\tbuffer b1 f32[4] read value 1\n"
	"\tbuffer b2 f32[4] write value 5\n"
	"\tphase outer red\n"
	"\t\t%0 = load f32 b0[8*d0 + d1]\n"
	"\t\t%1 = load f32 b1[d0]\n"
	"\t\t%2 = mul f32 %0, %1\n"
	"\t\t%3 = reduce f32 sum %2\n"
	"\tphase outer\n"
	"\t\t%4 = load f32 b1[d0]\n"
	"\t\t%5 = add f32 %3, %4\n"
	"\t\t%6 = store f32 %5, b2[d0]\n"
	"}\n",
	0, 0 },
