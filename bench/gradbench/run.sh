#!/usr/bin/env bash
# Runs evals of GradBench on Diffeo: run.sh CHECKOUT ENGINE [EVAL… [-- OPTIONS OF THE EVAL]]
# `$PYTHON` has GradBench's packages, `$TOOL` is another tool than target/release/diffeo-gradbench.
set -euo pipefail
checkout=$(cd "$1" && pwd)
engine=$2
shift 2
here=$(cd "$(dirname "$0")/../.." && pwd)
tool=${TOOL:-$here/target/release/diffeo-gradbench}
evals=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  evals+=("$1")
  shift
done
[ $# -eq 0 ] || shift
[ ${#evals[@]} -gt 0 ] || evals=(hello llsq lse det kmeans ode particle saddle gmm ba ht lstm)
cd "$checkout"
bad=0
for eval in "${evals[@]}"; do
  "${PYTHON:-python3}" "$here/bench/gradbench/between.py" \
    "python/gradbench/gradbench/evals/$eval/run.py" "$tool --engine $engine" "$@" || bad=1
done
exit $bad
