#!/bin/sh
# Writes the golden renderings anew: testdata/update.sh BUILD_FOLDER.  Read the difference before it is committed.
set -e
cd "$(dirname "$0")/../.."
TENON_UPDATE=1 TENON_SOURCE="$PWD" TENON_CPU_TABLES="$1/plugins/cpu_simd/cpu_tables.module" "$1/tests/lint_test"
git diff --stat render/testdata
