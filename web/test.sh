#!/usr/bin/env bash
# Builds the playground and the book, and tests them in a browser: needs Cargo with the target wasm32-unknown-unknown,
# Node 20 and Chromium.
set -euo pipefail
cd "$(dirname "$0")"

npm ci --no-audit --no-fund --loglevel=error
npm run --silent build
npm test --silent
