// Runs test/corpus in the format of `tree-sitter test`. `node test/corpus.test.mjs --update` writes the trees.

import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parse, root } from "./language.mjs";

const HEAD = /^={3,}\n([^]*?)\n={3,}\n/gm;
const RULE = /^-{3,}$/m;

function cases(text) {
  const heads = [...text.matchAll(HEAD)];
  return heads.map((head, i) => {
    const body = text.slice(head.index + head[0].length, heads[i + 1]?.index);
    const [, source, tree] = /^([^]*?)^-{3,}$([^]*)$/m.exec(body) ?? assert.fail(`no --- after ${head[1]}`);
    const [name, ...attributes] = head[1].split("\n");
    return { name, attributes, source: source.replace(/\n$/, ""), tree: tree.trim() };
  });
}

/** A tree with each node on a line of its own. */
function lay(tree) {
  let level = 0;
  const tokens = tree.match(/\(|\)|[^\s()]+/g) ?? [];
  let out = "";
  let field = "";
  for (const [i, token] of tokens.entries()) {
    if (token.endsWith(":")) field = `${token} `;
    else if (token === "(") {
      out += `${level ? "\n" : ""}${"  ".repeat(level)}${field}(`;
      field = "";
      level += 1;
    } else if (token === ")") {
      out += ")";
      level -= 1;
    } else out += (tokens[i - 1] === "(" ? "" : " ") + token;
  }
  return out;
}

const folder = join(root, "test/corpus");
for (const file of readdirSync(folder).sort()) {
  const path = join(folder, file);
  const all = cases(readFileSync(path, "utf8"));
  if (process.argv.includes("--update")) {
    const bar = "=".repeat(80);
    const parts = all.map(({ name, attributes, source }) => {
      const error = attributes.includes(":error");
      const tree = error ? "" : `${lay(parse(source).rootNode.toString())}\n`;
      return `${bar}\n${[name, ...attributes].join("\n")}\n${bar}\n${source}\n${"-".repeat(80)}\n\n${tree}`;
    });
    writeFileSync(path, parts.join("\n"));
    continue;
  }
  test(file, async (t) => {
    for (const { name, attributes, source, tree } of all) {
      await t.test(name, () => {
        const found = parse(source).rootNode;
        if (attributes.includes(":error")) assert.ok(found.hasError, "an error is expected");
        else assert.equal(lay(found.toString()), lay(tree));
      });
    }
  });
}
