// What the manifest, the language configuration and the commands know of programs and messages.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { transformSync } from "esbuild";
import { root } from "./grammar.mjs";

const read = (path) => readFileSync(join(root, path), "utf8");
const manifest = JSON.parse(read("package.json"));
const configuration = JSON.parse(read("language-configuration.json"));
const code = transformSync(read("src/definitions.ts"), { loader: "ts", format: "esm" }).code;
const { functions, functionAt, hasPoint } = await import(`data:text/javascript,${encodeURIComponent(code)}`);

const PROGRAM = `def limit = 1.0
## What is lost.
## In all.
def loss(w: Real) -> Real =
  w * limit
def loss_at = 0.5
def δ'(x) = x def f_at'(x) = x
  def indented(
    x) = x
`;

test("the functions of a program", () => {
  assert.deepEqual(functions(PROGRAM), [
    { name: "loss", line: 3 },
    { name: "δ'", line: 6 },
    { name: "indented", line: 7 },
  ]);
  const names = [0, 1, 4, 5, 8].map((line) => functionAt(PROGRAM, line)?.name);
  assert.deepEqual(names, [undefined, "loss", "loss", "loss", "indented"]);
});

test("the point of a function", () => {
  assert.ok(hasPoint(PROGRAM, "loss"));
  for (const name of ["los", "δ'", "f", "indented"]) assert.ok(!hasPoint(PROGRAM, name), name);
});

test("the problem matcher reads messages", () => {
  const { pattern } = manifest.contributes.problemMatchers[0];
  const regexp = new RegExp(pattern.regexp);
  const [, ...parts] = regexp.exec("a b/c.deo:12:3: error[type-mismatch]: expected `Int`: found `Real`");
  assert.deepEqual(parts, ["a b/c.deo", "12", "3", "error", "type-mismatch", "expected `Int`: found `Real`"]);
  assert.equal(regexp.exec("/x/y.deo:1:1: warning[inexact-division]: this division")[4], "warning");
  assert.equal(regexp.exec("  ┌─ c.deo:12:3"), null);
});

test("a documentation comment goes on, an empty one ends", () => {
  const next = (line) => {
    const rule = configuration.onEnterRules.find((r) => new RegExp(r.beforeText).test(line));
    return rule && (rule.action.appendText ?? "");
  };
  assert.equal(next("## What it gives."), "## ");
  assert.equal(next("##x"), "## ");
  assert.equal(next("## "), "");
  assert.equal(next("### a ruler"), undefined);
  assert.equal(next("# a comment"), undefined);
  assert.equal(next("def f(x) = x"), undefined);
});

test("what opens is indented below, what closes is not", () => {
  const { increaseIndentPattern, decreaseIndentPattern } = configuration.indentationRules;
  const opens = (line) => new RegExp(increaseIndentPattern).test(line);
  const closes = (line) => new RegExp(decreaseIndentPattern).test(line);
  for (const line of ["def f(x) =", "  case x of {", "  | x ->", "  loop s = 0 for i < n do", "if a then # b", 'f("#", [']) {
    assert.ok(opens(line), line);
  }
  for (const line of ["def f(x) = x", "  let a = 1 in", "# a =", 'f("=")', "a == b", "## a ->", "redo"]) {
    assert.ok(!opens(line), line);
  }
  assert.ok(closes("  }") && closes(")") && !closes("x }"));
});

test("words are names with their primes, and numbers", () => {
  const { pattern, flags } = configuration.wordPattern;
  const words = "δ_1'' + f'(1.5e-3, x2)".match(new RegExp(pattern, `${flags}g`));
  assert.deepEqual(words, ["δ_1''", "f'", "1.5e-3", "x2"]);
});

test("what the manifest names is there", () => {
  const { languages, grammars, snippets, commands, menus } = manifest.contributes;
  for (const { configuration: path } of languages) JSON.parse(read(path));
  for (const { path } of [...grammars, ...snippets]) JSON.parse(read(path));
  const known = new Set(commands.map((c) => c.command));
  const source = read("src/extension.ts");
  for (const command of known) assert.ok(source.includes(`"${command}"`), command);
  for (const entry of Object.values(menus).flat()) assert.ok(known.has(entry.command), entry.command);
});

test("semantic tokens of the server have scopes, for themes that know no tokens", () => {
  const tokens = readFileSync(join(root, "../../crates/diffeo-ide/src/tokens.rs"), "utf8");
  const listed = (name) => [...new RegExp(`const ${name}: [^=]*= \\[([^\\]]*)\\]`).exec(tokens)[1].matchAll(/"(\w+)"/g)].map(([, n]) => n);
  const [types, modifiers] = [listed("TYPES"), listed("MODIFIERS")];
  const [{ language, scopes }] = manifest.contributes.semanticTokenScopes;
  assert.equal(language, "diffeo");
  for (const type of types) assert.ok(scopes[type], type);
  for (const selector of Object.keys(scopes)) {
    const [type, ...with_] = selector.split(".");
    assert.ok(types.includes(type) && with_.every((modifier) => modifiers.includes(modifier)), selector);
  }
});

test("the manifest has what a registry asks for", () => {
  for (const field of ["publisher", "icon", "license", "repository", "bugs", "categories", "keywords", "galleryBanner"]) {
    assert.ok(manifest[field], field);
  }
  // A picture in the format and size of the registry
  const icon = readFileSync(join(root, manifest.icon));
  assert.deepEqual([icon.subarray(1, 4).toString("latin1"), icon.readUInt32BE(16), icon.readUInt32BE(20)], ["PNG", 256, 256]);
  for (const { steps } of manifest.contributes.walkthroughs) {
    for (const { media } of steps) assert.ok(read(media.markdown).length > 20, media.markdown);
  }
});
