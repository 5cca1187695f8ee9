#!/usr/bin/env bash
# What compiled programs do with memory, on every case of tests/lang: machine code of `jit` and `llvm` under valgrind,
# that of `c` with AddressSanitizer and UndefinedBehaviorSanitizer. Takes an hour or more on two processors; needs
# valgrind and a C compiler with sanitizers. `DIFFEO_CASE=name` runs the cases with this in their names.
#
# Blocks of memory are allocated one by one here (feature `separate-blocks`), so that the tools see where each
# ends and when it is freed. Programs run on stacks of their own: valgrind sees that a stack was changed by the
# distance, which is more than a frame ever has.
set -euo pipefail
cd "$(dirname "$0")/../crates/diffeo"

test="compiled::corpus::the_corpus_gives_what_the_evaluator_gives"
binary=$(cargo test --release -p diffeo --test it --features separate-blocks --no-run --message-format=json |
  sed -n 's/.*"executable":"\([^"]*it-[^"]*\)".*/\1/p')

# `cc` is told twice: compiled code has to be instrumented, and this process has to have the runtime.
# What the evaluator keeps until the end is no leak; blocks of compiled programs are counted by the test.
LD_PRELOAD=$(cc -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0 \
  UBSAN_OPTIONS=halt_on_error=1 CC="cc -fsanitize=address,undefined -fno-sanitize-recover=undefined" \
  DIFFEO_TARGET=c "$binary" --exact "$test"

# Errors within the Rust code are not of interest: valgrind takes some comparisons that its compiler makes for
# branches on values that were not set. Frames of compiled programs have no names.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for engine in jit llvm; do
  DIFFEO_TARGET=$engine valgrind --max-stackframe=500000 --error-limit=no --show-mismatched-frees=no --log-file="$log" "$binary" --exact "$test"
  if grep -A 2 -E 'Invalid|uninitialised|points to' "$log" | grep -E 'at 0x[0-9A-F]+: (\?\?\?|diffeo_codegen)'; then
    echo "engine $engine: errors of memory in compiled programs, see $log"
    trap - EXIT
    exit 1
  fi
done
echo "no errors of memory"
