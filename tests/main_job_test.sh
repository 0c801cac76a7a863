#!/bin/sh
# main_job_test.sh TOP BUILD [quick] - the main job and the bad input that it must survive, by the built programs.
# quick leaves out what is slow in a sanitized build and tested by other means there: the interpreter, unfused and split runs.
# Needs TENON_MAGIKA (folder of the model) and TENON_PYTHON (has magika and onnxruntime): ./dev check sets them.
set -u
top=$1 build=$2 quick=${3:-}
[ -n "${TENON_MAGIKA:-}" ] && [ -f "$TENON_MAGIKA/model.onnx" ] || { echo "no model: TENON_MAGIKA is not set"; exit 77; }
filetype=$build/examples/filetype/filetype tenon=$build/tools/tenon
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT INT TERM
export XDG_CACHE_HOME="$work/cache"
cd "$top" || exit 1
bad=0 n=0

# says WORDS COMMAND...: it succeeds and prints the words.  refuses WORDS COMMAND...: it fails, prints them, and is not killed
run() {
	words=$1; shift
	n=$((n + 1))
	"$@" >"$work/out" 2>&1
	status=$?
	grep -q -e "$words" "$work/out" || { echo "FAILED: '$words' is not in the output of: $*"; tail -n 5 "$work/out"; bad=$((bad + 1)); }
}
says() { run "$@"; [ $status = 0 ] || { echo "FAILED with status $status: $*"; tail -n 5 "$work/out"; bad=$((bad + 1)); }; }
refuses() { run "$@"; { [ $status -gt 0 ] && [ $status -lt 100 ]; } || { echo "FAILED, status $status: $*"; bad=$((bad + 1)); }; }

# ---- labels, on each backend, equal to the package's
set -- examples/filetype/samples/*
"$TENON_PYTHON" tools/filetype_reference.py "$TENON_MAGIKA" "$work/scores" "$@" || exit 1
says "they agree" "$filetype" --reference "$work/scores" "$TENON_MAGIKA" "$@"
while IFS='	' read -r file label _; do
	grep -q "^$(basename "$file") *$label " "$work/out" || { echo "FAILED: $file is not labelled $label"; bad=$((bad + 1)); }
done <"$work/scores"
says "from the cache" "$filetype" "$TENON_MAGIKA" "$@"
grep -q " 0 from the cache" "$work/out" && { echo "FAILED: the second run compiled again"; bad=$((bad + 1)); }
says "backend: ref" env TENON_BACKEND=ref "$filetype" --reference "$work/scores" "$TENON_MAGIKA" examples/filetype/samples/prime.c
says "they agree" env TENON_OPTIONS=cpu_simd.isa=baseline TENON_CACHE_DIR= "$filetype" --reference "$work/scores" "$TENON_MAGIKA" examples/filetype/samples/prime.c
says "blank *txt" "$filetype" "$TENON_MAGIKA" examples/filetype/samples/blank examples/filetype/samples/short
: >"$work/empty"
says "empty *empty" "$filetype" "$TENON_MAGIKA" "$work/empty"
refuses "No such file" "$filetype" "$TENON_MAGIKA" "$work/absent"

# ---- no compiler, no cache
mkdir "$work/bin"
if [ -z "$quick" ]; then
	says "they agree" env PATH="$work/bin" TENON_CACHE_DIR= "$filetype" --reference "$work/scores" "$TENON_MAGIKA" examples/filetype/samples/prime.c
	grep -q "interpreter: .*no C compiler" "$work/out" || { echo "FAILED: it does not say why kernels are interpreted"; bad=$((bad + 1)); }
fi
: >"$work/file"
says "running without a cache" env TENON_CACHE_DIR="$work/file/cache" "$filetype" "$TENON_MAGIKA" examples/filetype/samples/prime.c
for f in "$work"/cache/tenon/*; do echo garbage >"$f"; done
says "they agree" "$filetype" --reference "$work/scores" "$TENON_MAGIKA" examples/filetype/samples/prime.c
rm -rf "$work/cache"
"$filetype" "$TENON_MAGIKA" "$@" >"$work/one" 2>&1 & first=$!
says "cpu_simd" "$filetype" "$TENON_MAGIKA" "$@"
wait $first || { echo "FAILED: one of two processes that filled the same cache"; bad=$((bad + 1)); }

# ---- backends that are not there, or no good
refuses "there is: .*cpu_simd" env TENON_BACKEND=nonesuch "$filetype" "$TENON_MAGIKA" examples/filetype/samples/prime.c
head -c 3000 "$build/plugins/ref/ref.so" >"$work/cut.so"
says "passed over" env TENON_BACKEND="$work/cut.so,cpu_simd" "$filetype" "$TENON_MAGIKA" examples/filetype/samples/prime.c
refuses "cut short" env TENON_BACKEND="$work/cut.so" "$filetype" "$TENON_MAGIKA" examples/filetype/samples/prime.c
says "cpu_simd" "$tenon" plugins
says '"state": "loaded"' "$tenon" plugins --json

# ---- models and inputs that are wrong
model=$TENON_MAGIKA/model.onnx
says "f32\[2, 214\]" "$tenon" run "$model" --input bytes=random --dim unk__214=2 --output "$work/y"
out=$(ls "$work"/y/*.npy)
says "agrees" "$tenon" run "$model" --input bytes=random --dim unk__214=2 --compare "$out"
if [ -z "$quick" ]; then
	says "agrees" env TENON_BACKEND=ref,cpu_simd TENON_DISABLE=ref:dot,ref:reduce_max "$tenon" run "$model" --input bytes=random --dim unk__214=2 --compare "$out"
	says "agrees" "$tenon" run "$model" --no-fuse --numerics strict --input bytes=random --dim unk__214=2 --compare "$out"
fi
for stage in ir assign expand layout fuse nest kernels plan; do says "." "$tenon" show "$model" --stage $stage; done
refuses "no input 'byte'" "$tenon" run "$model" --input byte=random
refuses "dtype f32" "$tenon" run "$model" --input bytes="$out"
refuses "there is no command" "$tenon" rum
refuses "absent" "$tenon" run "$work/absent.onnx"
: >"$work/empty.onnx"
refuses "empty.onnx" "$tenon" run "$work/empty.onnx"
size=$(wc -c <"$model")
at=1000
while [ $at -lt "$size" ]; do
	head -c $at "$model" >"$work/cut.onnx"
	refuses "cut.onnx" "$tenon" run "$work/cut.onnx"
	at=$((at + size / 12))
done
echo "$n checks, $bad failed"
[ $bad = 0 ]
