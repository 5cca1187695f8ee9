// A long program without errors: examples of the repository, over and over, with names of their own.

import { groups } from "../tree-sitter-diffeo/test/programs.mjs";

const EXAMPLES = /^examples\/\w+\.deo$/;

/** Adds the imports of a line to those that there are: names by module. */
function add(imports, line) {
  const [, module, names] = /^import (\w+)(?: \(([^)]*)\))?/.exec(line);
  const all = imports.get(module) ?? new Set();
  for (const name of (names ?? "").split(",")) if (name.trim()) all.add(name.trim());
  imports.set(module, all);
  return names === undefined;
}

/** A program of so many lines or some more. */
export function large(lines) {
  const programs = groups.files.filter(({ name }) => EXAMPLES.test(name)).map(({ text }) => text);
  const imports = new Map();
  const plain = new Set();
  let body = "";
  for (let i = 0; body.split("\n").length < lines; i++) {
    let text = programs[i % programs.length];
    for (const [line, module] of text.matchAll(/^import (\w+).*$/gm)) if (add(imports, line)) plain.add(module);
    text = text.replace(/^import .*\n/gm, "");
    const defined = [...text.matchAll(/^(?:def|type) ([\p{L}_][\p{L}\p{N}_']*)/gmu)].map(([, name]) => name);
    for (const name of new Set(defined)) {
      text = text.replace(new RegExp(`(?<![\\p{L}\\p{N}_'.])${name}(?![\\p{L}\\p{N}_'])`, "gu"), `${name}_${i}`);
    }
    body += text;
  }
  const written = [...imports].sort().flatMap(([module, names]) => [
    ...(plain.has(module) ? [`import ${module}`] : []),
    ...(names.size ? [`import ${module} (${[...names].sort().join(", ")})`] : []),
  ]);
  return `${written.join("\n")}\n\n${body}`;
}
