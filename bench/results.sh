#!/usr/bin/env bash
# Measures GradBench's tasks and writes bench/RESULTS.md with its picture: bench/results.sh [DIR]
#
# What is not installed is left out: JAX and CasADi for Python (`$PYTHON`, bench/requirements.txt), a C compiler. DIR is a
# checkout of GradBench whose tool in C++ is compiled (`make -C cpp && make -C tools/manual all`). Nothing else should run
# meanwhile.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release -p diffeo-cli -p diffeo-bench
target="${CARGO_TARGET_DIR:-target}/release"
rows=$(mktemp --suffix .json)
trap 'rm -f "$rows"' EXIT
"$target/diffeo-bench" --budget "${BUDGET:-0.1}" --engines llvm,jit --results bench/RESULTS.md --json "$rows" \
  ${1:+--gradbench "$1"} || echo "some runs failed: they stand at the end of bench/RESULTS.md"
"$target/diffeo" run bench/programs/results.deo --arg rows="$rows" --plot bench/results.svg
