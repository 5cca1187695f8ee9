// The queries fit the grammar; highlights give the captures of a table, and one for a node.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import Parser from "tree-sitter";
import { language, parse, root } from "./language.mjs";
import { groups } from "./programs.mjs";

const folder = join(root, "queries");

/** A query, without the directives of `tree-sitter tags`, which the binding does not know. */
function query(name) {
  const source = readFileSync(join(folder, name), "utf8").replace(/^\s*\(#(strip|select-adjacent)! .*\)$/gm, "");
  return new Parser.Query(language, source);
}

for (const name of readdirSync(folder, { recursive: true }).filter((n) => n.endsWith(".scm"))) {
  test(`${name} fits the grammar`, () => assert.ok(query(name)));
}

const zed = join(root, "../zed/languages/diffeo");

for (const name of readdirSync(zed).filter((n) => n.endsWith(".scm"))) {
  test(`${name} of Zed fits the grammar`, () => assert.ok(new Parser.Query(language, readFileSync(join(zed, name), "utf8"))));
}

test("the highlights of Zed are those of the grammar", () => {
  const [own, copy] = [folder, zed].map((path) => readFileSync(join(path, "highlights.scm"), "utf8"));
  assert.equal(copy, own);
});

const TEXT = `
# plain
## documentation
type Tree[a] = Leaf(a) | Node(Tree[a], {size: Int})
import shapes (area)
def limit: Real = 1.5e3
def f(x: [n]Real, (y, z)) -> Real =
  let g(u) = if true then grad(x)(u) else "a\\n" in
  case m.Just(r.field) of { Leaf(v) -> g(1, _) | _ -> {size = 2, type = 3}.size }
`;

const TABLE = [
  ["# plain", "comment"],
  ["## documentation", "comment.documentation"],
  ["type", "keyword"],
  ["Tree", "type"],
  ["a", "type.parameter"],
  ["Leaf", "constructor"],
  ["size", "property"],
  ["import", "keyword.import"],
  ["shapes", "module"],
  ["limit", "constant"],
  ["1.5e3", "number.float"],
  ["f", "function"],
  ["x", "variable.parameter"],
  ["n", "type.parameter"],
  ["->", "operator"],
  ["g", "function"],
  ["u", "variable.parameter"],
  ["if", "keyword.conditional"],
  ["true", "boolean"],
  ["grad", "function.builtin"],
  ['"a\\n"', "string"],
  ["\\n", "string.escape"],
  ["case", "keyword.conditional"],
  ["Just", "constructor"],
  ["field", "property"],
  ["g", "function.call"],
  ["1", "number"],
  ["_", "variable.builtin"],
  ["{", "punctuation.bracket"],
  ["type", "property"],
];

test("highlights give the captures of the table", () => {
  const captures = query("highlights.scm").captures(parse(TEXT).rootNode);
  const found = captures.map(({ name, node }) => `${node.text.trimEnd()} ${name}`);
  for (const [text, name] of TABLE) assert.ok(found.includes(`${text} ${name}`), `${text} is ${name}`);
});

test("no node of a program has two highlights", () => {
  const highlights = query("highlights.scm");
  let nodes = 0;
  for (const { name, text } of groups.files) {
    const seen = new Map();
    for (const capture of highlights.captures(parse(text).rootNode)) {
      const { id } = capture.node;
      assert.ok(!seen.has(id), `${name}: ${capture.node.text}: ${seen.get(id)} and ${capture.name}`);
      seen.set(id, capture.name);
      nodes += 1;
    }
  }
  assert.ok(nodes > 10_000, `only ${nodes} captures`);
});

test("tags name the definitions of a file", () => {
  const { text } = groups.files.find(({ name }) => name === join("std", "root.deo"));
  const found = query("tags.scm").captures(parse(text).rootNode);
  const names = found.filter((c) => c.name === "name").map((c) => c.node.text);
  const defined = [...text.matchAll(/^def ([\p{L}_][\p{L}\d_]*'*)/gmu)].map((m) => m[1]);
  assert.ok(defined.length > 2);
  for (const name of defined) assert.ok(names.includes(name), name);
});

test("locals know what patterns bind", () => {
  const source = "def f(a, {b, c = d}) = let e(g) = a in fn h -> case i of { j :: _ -> [k for k in e] }";
  const found = query("locals.scm").captures(parse(source).rootNode);
  const bound = found.filter((c) => c.name.startsWith("local.definition")).map((c) => c.node.text);
  assert.deepEqual(bound.sort(), ["a", "b", "d", "e", "g", "h", "j", "k"]);
});
