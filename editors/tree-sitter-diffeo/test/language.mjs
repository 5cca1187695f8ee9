// Compiles src/parser.c and gives a parser that has it as its language.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import Parser from "tree-sitter";

const require = createRequire(import.meta.url);
export const root = join(dirname(fileURLToPath(import.meta.url)), "..");

function addon() {
  const sources = [join(root, "src/parser.c"), join(root, "test/binding.c")];
  if (!existsSync(sources[0])) {
    throw new Error("src/parser.c is not there: run `npm run generate`");
  }
  const built = join(root, "build/diffeo.node");
  const fresh = existsSync(built) && sources.every((s) => statSync(s).mtimeMs < statSync(built).mtimeMs);
  if (!fresh) {
    mkdirSync(dirname(built), { recursive: true });
    const shared = process.platform === "darwin" ? ["-bundle", "-undefined", "dynamic_lookup"] : ["-shared"];
    const headers = [join(root, "src"), require("node-api-headers").include_dir].map((folder) => `-I${folder}`);
    execFileSync(process.env.CC ?? "cc", ["-O1", "-fPIC", ...shared, ...headers, "-o", built, ...sources], {
      stdio: "inherit",
    });
  }
  return require(built);
}

export const language = { name: "diffeo", language: addon().language, nodeTypeInfo: [] };

const parser = new Parser();
parser.setLanguage(language);

/** The tree of a text. Texts are read in pieces: the binding takes at most 32 KiB at once. */
export function parse(text) {
  return parser.parse((index) => text.slice(index, index + 8192));
}

/** The first ERROR or MISSING node of a tree. */
export function firstError(node) {
  if (node.isError || node.isMissing) return node;
  if (!node.hasError) return null;
  for (const child of node.children) {
    const found = firstError(child);
    if (found) return found;
  }
  return node;
}
