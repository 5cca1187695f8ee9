#!/bin/sh
# The plots of the examples as Vega-Lite, compiled and drawn by Vega-Lite 6 itself. Needs node and npm; installs into a
# folder that it deletes.
#
#   tests/vega.sh target/quick/diffeo
set -eu
diffeo=$(realpath "$1")
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for file in $(grep -l '^def picture' examples/*.deo); do
  name=$(basename "$file" .deo)
  set -- --entry picture --plot "$work/$name.json"
  case $name in
    iris) set -- "$@" --arg table=examples/data/iris.csv:skip=1 ;;
    digits) set -- "$@" --arg table=examples/data/digits.csv.gz ;;
  esac
  "$diffeo" run "$file" "$@" > /dev/null
done
cp tests/vega.mjs "$work"
cd "$work"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund vega@6 vega-lite@6
node vega.mjs ./*.json
