// The TextMate grammar as VS Code reads it.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import oniguruma from "vscode-oniguruma";
import textmate from "vscode-textmate";

const require = createRequire(import.meta.url);
export const root = join(dirname(fileURLToPath(import.meta.url)), "..");

await oniguruma.loadWASM(readFileSync(require.resolve("vscode-oniguruma/release/onig.wasm")));
const registry = new textmate.Registry({
  onigLib: Promise.resolve({
    createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
    createOnigString: (text) => new oniguruma.OnigString(text),
  }),
  loadGrammar: async (scope) => {
    if (scope !== "source.diffeo") return null;
    const path = join(root, "syntaxes/diffeo.tmLanguage.json");
    return textmate.parseRawGrammar(readFileSync(path, "utf8"), path);
  },
});
const grammar = await registry.loadGrammar("source.diffeo");

/** The pieces of a text with their scopes, innermost last. */
export function tokens(text) {
  let state = textmate.INITIAL;
  return text.split("\n").flatMap((line, row) => {
    const result = grammar.tokenizeLine(line, state);
    state = result.ruleStack;
    return result.tokens.map(({ startIndex, endIndex, scopes }) => ({
      row,
      column: startIndex,
      text: line.slice(startIndex, endIndex),
      scopes,
    }));
  });
}
