#!/usr/bin/env bash
# Writes a line for the text of every program of the corpus, the benchmarks and the examples after every step of its way
# to code. Of a refactoring that changes no code, the files from before and after are the same:
#
#   tests/texts.sh /tmp/before; …; tests/texts.sh /tmp/after; diff /tmp/before /tmp/after
#
# If passes were renamed: `diff <(cut -f1,3 /tmp/before) <(cut -f1,3 /tmp/after)`.
set -euo pipefail
DIFFEO_TEXTS=$(realpath -m "$1")
export DIFFEO_TEXTS
cd "$(dirname "$0")/.."
cargo test --release -p diffeo --test it texts -- --ignored
