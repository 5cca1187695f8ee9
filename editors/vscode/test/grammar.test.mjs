// The scopes of a table, and of every program of the repository.

import assert from "node:assert/strict";
import { test } from "node:test";
import { groups } from "../../tree-sitter-diffeo/test/programs.mjs";
import { tokens } from "./grammar.mjs";

// Each line is a program, with some of its tokens in order and their innermost scopes.
const TABLE = [
  ["# a comment", [["# a comment", "comment.line.number-sign"]]],
  ["## documentation", [["## documentation", "comment.line.documentation"]]],
  ["### a ruler", [["### a ruler", "comment.line.number-sign"]]],
  ["import shapes (area, Circle)", [["import", "keyword.control.import"], ["shapes", "entity.name.namespace"], ["area", "variable.other"], ["Circle", "variable.other.enummember"]]],
  ["def pi: Real = 3.14", [["def", "keyword.other.declaration"], ["pi", "variable.other.constant"], ["Real", "support.type"], ["3.14", "constant.numeric.real"]]],
  ["def f(x: [n]Real, {a, b = c}) -> T = x", [["f", "entity.name.function"], ["x", "variable.parameter"], ["n", "variable.other.type"], ["Real", "support.type"], ["a", "variable.parameter"], ["b", "variable.other.property"], ["c", "variable.parameter"], ["->", "keyword.operator.arrow"], ["T", "entity.name.type"], ["=", "keyword.operator.assignment"], ["x", "variable.other"]]],
  ["type Tree[a] = Leaf(a) | Node(Tree[a], {x: Int})", [["type", "keyword.other.declaration"], ["Tree", "entity.name.type"], ["a", "variable.other.type"], ["Leaf", "variable.other.enummember"], ["a", "variable.other.type"], ["Node", "variable.other.enummember"], ["Tree", "entity.name.type"], ["x", "variable.other.property"], ["Int", "support.type"]]],
  ["type Vec = {type: Real} def v = 1", [["type", "keyword.other.declaration"], ["type", "variable.other.property"], ["def", "keyword.other.declaration"], ["1", "constant.numeric.integer"]]],
  ["def a = let rec g(n) = n in let b = 2 in g(b)", [["let", "keyword.other.let"], ["rec", "keyword.other.let"], ["g", "entity.name.function"], ["in", "keyword.other.let"], ["b", "variable.other.definition"], ["2", "constant.numeric.integer"], ["g", "entity.name.function.call"]]],
  ["def a = if x and not y then Just(1) else Nothing", [["if", "keyword.control.conditional"], ["and", "keyword.operator.logical"], ["not", "keyword.operator.logical"], ["then", "keyword.control.conditional"], ["Just", "variable.other.enummember"], ["else", "keyword.control.conditional"], ["Nothing", "variable.other.enummember"]]],
  ["def a = case x of { y :: _ -> true | Nil -> false }", [["case", "keyword.control.conditional"], ["of", "keyword.control.conditional"], ["::", "keyword.operator.list"], ["_", "variable.language.wildcard"], ["true", "constant.language.boolean"], ["|", "punctuation.separator.variant"], ["Nil", "variable.other.enummember"]]],
  ["def a = loop s = 0 for i < n do s + i |> f", [["loop", "keyword.control.loop"], ["s", "variable.other.definition"], ["for", "keyword.control.loop"], ["<", "keyword.operator.comparison"], ["do", "keyword.control.loop"], ["+", "keyword.operator.arithmetic"], ["|>", "keyword.operator.pipe"]]],
  ["def a = grad(fn (w: Real) -> w ^ 2)(1e-3)", [["grad", "support.function.derivative"], ["fn", "storage.type.function"], ["w", "variable.parameter"], ["Real", "support.type"], ["->", "keyword.operator.arrow"], ["2", "constant.numeric.integer"], ["1e-3", "constant.numeric.real"]]],
  ["def a = (p.0.1, r.x, r.type, m.Just(1), m.f(1), xs[0..n])", [["0", "constant.numeric.component"], ["1", "constant.numeric.component"], ["x", "variable.other.property"], ["type", "variable.other.property"], ["Just", "variable.other.enummember"], ["f", "entity.name.function.call"], ["0", "constant.numeric.integer"], ["..", "keyword.operator.range"]]],
  ['def a = {type = 1, "Dose (µM)" = 2, y}', [["type", "variable.other.property"], ['"', "punctuation.definition.string.begin"], ["Dose (µM)", "string.quoted.double"], ["y", "variable.other"]]],
  ["def a = {r with x = e with [i] = 1}", [["with", "keyword.other.with"], ["x", "variable.other.property"], ["with", "keyword.other.with"]]],
  ['def a = "x # \\n\\u{3b4}\\q" ++ "y"', [["x # ", "string.quoted.double"], ["\\n", "constant.character.escape"], ["\\u{3b4}", "constant.character.escape"], ["\\q", "invalid.illegal.escape"], ["++", "keyword.operator.list"]]],
  ["def in' = δ_1'' + list[1]", [["in'", "variable.other.constant"], ["δ_1''", "variable.other"], ["list", "keyword.other.list"]]],
];

for (const [program, pieces] of TABLE) {
  test(program, () => {
    const found = tokens(program);
    let next = 0;
    for (const [text, scope] of pieces) {
      if (scope.startsWith("comment")) {
        assert.ok(found.every((t) => t.scopes[1] === `${scope}.diffeo`), text);
        continue;
      }
      const at = found.findIndex((t, i) => i >= next && t.text === text);
      assert.ok(at >= 0, `${text} is no token of ${found.map((t) => t.text).join(" ")}`);
      assert.equal(found[at].scopes.at(-1), `${scope}.diffeo`, `the scope of ${text}`);
      next = at + 1;
    }
  });
}

const KEYWORDS =
  /^(def|type|import|let|rec|in|fn|if|then|else|case|of|loop|for|while|do|with|and|or|not|list|true|false)$/;
const LEXEMES =
  /(?<doc>##(?!#)[^\n]*)|(?<comment>#[^\n]*)|(?<string>"(?:[^"\\\n]|\\.)*")|(?<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(?<word>[\p{L}_][\p{L}\p{M}\d_]*'*)/gu;

/** What the scopes of a lexeme must be; undefined where any will do. */
function expected({ doc, comment, string, number, word }) {
  if (doc) return /^comment\.line\.documentation/;
  if (comment) return /^comment\.line\.number-sign/;
  if (string) return /^string\.quoted\.double/;
  if (number) return /^constant\.numeric/;
  if (KEYWORDS.test(word)) return /^(keyword|storage\.type\.function|constant\.language\.boolean)/;
  if (/^(Real|Int|Bool|String|List|Maybe)$/.test(word)) return /^(support\.type|entity\.name\.type)/;
  if (/^(Just|Nothing|Nil)$/.test(word)) return /^variable\.other\.enummember/;
  if (/^\p{Lu}/u.test(word)) return /^(entity\.name\.type|variable\.other\.(enummember|property))/; // or a field
  return /^(variable|entity\.name|support\.function)/;
}

test("every lexeme of the repository has a scope of its kind", () => {
  let lexemes = 0;
  for (const { name, text, correct } of Object.values(groups).flat()) {
    if (!correct) continue;
    const starts = [0];
    for (const line of text.split("\n")) starts.push(starts.at(-1) + line.length + 1);
    const scopes = new Map(tokens(text).map((t) => [starts[t.row] + t.column, t.scopes.slice(1)]));
    for (const { groups: kinds, index, 0: lexeme } of text.matchAll(LEXEMES)) {
      const pattern = expected(kinds);
      // Words that name fields are no keywords.
      const field = /(?<!\.)\.\s*$/.test(text.slice(Math.max(0, index - 9), index)) ||
        (KEYWORDS.test(kinds.word) && /^\s*[:=,}]/.test(text.slice(index + lexeme.length, index + lexeme.length + 9)));
      if (field && kinds.word) continue;
      lexemes += 1;
      const found = scopes.get(index);
      assert.ok(found?.some((s) => pattern.test(s)), `${name}: ${lexeme} at ${index}: ${found} is not ${pattern}`);
    }
  }
  assert.ok(lexemes > 50_000, `only ${lexemes} lexemes`);
});
