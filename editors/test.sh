#!/usr/bin/env bash
# Tests what is here from a clean clone: needs Node 20.6, a C and a C++ compiler, Python 3.9. Stops at the first failure.
# The language server is tested where the program is built.
set -euo pipefail
cd "$(dirname "$0")"

step() {
  printf '\n== %s (%s s)\n' "$1" "$SECONDS"
}

# Installs exactly what the lock file names.
install() {
  npm ci --no-audit --no-fund --loglevel=error
}

step "tree-sitter-diffeo: the packages"
cd tree-sitter-diffeo
install
# The package downloads the command line from GitHub; any of the same version on the PATH will do, too.
PATH="$PWD/node_modules/.bin:$PATH"
wanted=$(node -p 'require("./package.json").optionalDependencies["tree-sitter-cli"]')
if tree-sitter --version 2>/dev/null | grep -qF " $wanted"; then
  step "tree-sitter-diffeo: src/ is what grammar.js gives"
  tree-sitter generate
  changed=$(git status --porcelain -- src)
  if [ -n "$changed" ]; then
    printf 'src/ is not what tree-sitter %s makes of grammar.js; commit it:\n%s\n' "$wanted" "$changed"
    exit 1
  fi
else
  echo "tree-sitter $wanted is not here: src/ is taken as it is"
fi
step "tree-sitter-diffeo: corpus, queries, every program of the repository"
npm test

step "vscode: the packages"
cd ../vscode
install
step "vscode: types and bundle"
npm run build
step "vscode: grammar, configuration and commands"
npm test
step "vscode: the package"
npm run package

step "lsp: the packages"
cd ../lsp
install
step "lsp: edits, after which the server says what \`diffeo check\` does"
npm test

step "pygments: an environment"
cd ../pygments
python3 -m venv .venv
.venv/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
step "pygments: a table, every program of the repository"
.venv/bin/python -B -m unittest test_diffeo_lexer

step "all passed"
