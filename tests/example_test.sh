#!/bin/sh
# example_test.sh - the example plugin as an outsider meets it: copied, built by the command in its README, linted, run beside cpu_simd
# and compared with ref.   example_test.sh TOP TENON
set -eu
top=$1 tenon=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TENON_CACHE_DIR="$work/cache"
unset TENON_BACKEND TENON_DISABLE TENON_VALIDATE

fail() { echo "FAIL: $*"; exit 1; }

# ---- out of tree: the folder and the SDK, elsewhere
umask 022
mkdir "$work/away"
cp "$top"/examples/plugin/* "$work/away"
cp -r "$top/sdk" "$work/sdk"
cd "$work/away"
build=$(sed -n 's/^    \(cc .*\)$/\1/p' README.md)
[ "$(printf '%s\n' "$build" | wc -l)" = 1 ] || fail "README.md has no single cc line"
(SDK=../sdk; eval "$build") || fail "$build"
"$tenon" lint ./toy.so || fail "lint finds something"

# ---- same MODEL PLUGINS LAUNCHES [ARGS] - equal to ref's outputs, with launches on the toy
same() {
	model=$1 plugins=$2
	shift 2
	rm -rf want
	"$tenon" run "$model" --backend ref --output want "$@" >ref.txt || fail "ref: $model $*"
	for f in want/*.npy; do
		set -- "$@" --compare "$(basename "$f" .npy)=$f"
	done
	"$tenon" run "$model" --backend "$plugins" "$@" >toy.txt 2>&1 || { cat toy.txt; fail "$model $*"; }
	grep -q '^org.example.toy: [1-9][0-9]* launches' toy.txt || { cat toy.txt; fail "$model: nothing ran on the toy"; }
	grep -q ' 0 interpreted' toy.txt || { cat toy.txt; fail "$model: kernels ran in the interpreter"; }
	echo "ok: $model on $plugins: $(grep launches toy.txt | tr '\n' ' ')"
}

cat >atoms.tn <<'T'
graph @atoms(%x: f32[n, 7], %y: f32[n, 7], %i: i32[n, 7], %j: i64[n], %c: bool[n, 7]) -> f32[n, 7], i32[n, 7], i64[n], bool[n], f32[7, n], f32[n, 7], f32[n, 7] where 0 <= n {
	%a = div %x, %y
	%b = floor %a
	%r = rem %x, %y
	%e = select %c, %b, %r
	%k = convert %x, dtype = i32
	%u = div %i, %k
	%v = shl %u, %k
	%l = mul %j, %j
	%h = shr %l, %j
	%t = reduce_max %c, axes = [1]
	%p = permute %x, perm = [1, 0]
	%q = sin %p
	%s = gather %y, %j, axis = 0
	%g = log %x
	%f = max %g, %y
	return %e, %v, %h, %t, %q, %s, %f
}
T
cat >mixed.tn <<'T'
graph @mixed(%x: f32[n, 6, 9], %w: f32[n, 9, 4], %d: f64[5]) -> f32[n, 6, 4], f64[5], f32[6], f32[n, 6, 9] where 1 <= n {
	%p = dot %x, %w, contract = [2, 1], batch = [0, 0]
	%e = exp %d
	%a = mul %x, %x
	%s = sum %a, axes = [0, 2]
	%v, %i = sort %x, axis = 2
	return %p, %e, %s, %v
}
T
cat >declined.tn <<'T'
graph @declined(%x: f32[9, n], %w: f32[9, 4]) -> f32[n, 4] where 0 <= n {
	%p = dot %x, %w, contract = [0, 0]
	%r = neg %p
	return %r
}
T
for n in 0 1 7 300; do same small.tn ./toy.so,cpu_simd --dim n=$n; done
for n in 0 1 90; do same atoms.tn ./toy.so,cpu_simd --dim n=$n; done
same mixed.tn ./toy.so,cpu_simd --dim n=3               # a product that caps leave out, f64, sort: on the next plugin
same mixed.tn ./toy.so,ref --dim n=3
same declined.tn ./toy.so,cpu_simd --dim n=5
TENON_LOG=all "$tenon" run declined.tn --backend ./toy.so,cpu_simd 2>&1 | grep -q 'goes elsewhere: .*toy: only' || fail "the reason of a decline is not told"
same small.tn ./toy.so --dim n=7                        # alone: the rest on the host's evaluator
same small.tn ./toy.so,cpu_simd --dim n=7 --no-fuse
TENON_VALIDATE=1
export TENON_VALIDATE
same small.tn ./toy.so,cpu_simd --dim n=7
same atoms.tn ./toy.so,cpu_simd --dim n=7
unset TENON_VALIDATE

if [ -f "${TENON_MAGIKA:-none}/model.onnx" ]; then
	"$tenon" run "$TENON_MAGIKA/model.onnx" --backend cpu_simd --output want >/dev/null
	"$tenon" run "$TENON_MAGIKA/model.onnx" --backend ./toy.so,cpu_simd --compare want/output.npy >toy.txt 2>&1 || { cat toy.txt; fail "magika's model"; }
	grep -q '^org.example.toy: [1-9][0-9]* launches' toy.txt && grep -q ' 0 interpreted' toy.txt || { cat toy.txt; fail "magika's model: nothing ran on the toy"; }
	echo "ok: magika's model: $(grep launches toy.txt | tr '\n' ' ')"
else
	echo "magika's model is not here (TENON_MAGIKA): left out"
fi
