// The texts of the repository that are Diffeo: files, cases of tests/lang, blocks of the book. A text is `readable` if
// its syntax is right, and `correct` if nothing is said to be wrong with it.

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const repository = join(dirname(fileURLToPath(import.meta.url)), "../../..");

/** The codes of messages about the text itself: with them it is no program. */
const UNREADABLE =
  /^(syntax|stray-character|unterminated-string|bad-escape|needs-parentheses|chained-comparison|misplaced-hole)$/;

/** Folders that hold no sources, and the corpus, which is read by cases. */
const PASSED_OVER = new Set([".git", "target", "node_modules", "build", "tests/lang"]);

function files(folder, ending) {
  return readdirSync(join(repository, folder), { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return PASSED_OVER.has(entry.name) || PASSED_OVER.has(path) ? [] : files(path, ending);
      return entry.isFile() && entry.name.endsWith(ending) ? [path] : [];
    });
}

const read = (path) => readFileSync(join(repository, path), "utf8");

/** The cases of a file of tests/lang. A case begins at a line `#: name`; lines of directives follow. */
function cases(path) {
  const found = [];
  let head = false;
  read(path)
    .split("\n")
    .forEach((line, i) => {
      if (line.startsWith("#: ")) {
        found.push({ name: `${path}:${i + 1}: ${line.slice(3)}`, lines: [], readable: true, correct: true });
        head = true;
        return;
      }
      const last = found.at(-1);
      if (!last) return;
      if (head && line.startsWith("#") && !line.startsWith("# ")) {
        const error = /^#! (\S+)/.exec(line);
        if (error) last.correct = false;
        if (error && UNREADABLE.test(error[1])) last.readable = false;
        return;
      }
      head = false;
      last.lines.push(line);
    });
  return found.map(({ lines, ...rest }) => ({ ...rest, text: lines.join("\n") }));
}

/** The blocks of a page of the book that are marked `diffeo`, with the message that a refused one has. */
function blocks(path) {
  const page = read(path);
  return [...page.matchAll(/^```diffeo([^\n]*)\n([^]*?)^```$(?:\s*^```(?:sh|text)\n([^]*?)^```$)*/gm)].map((match) => {
    const line = page.slice(0, match.index).split("\n").length;
    const code = /error\[([\w-]+)\]/.exec(match[3] ?? "")?.[1] ?? "";
    const correct = !match[1].includes("error");
    return { name: `${path}:${line}`, text: match[2], readable: correct || !UNREADABLE.test(code), correct };
  });
}

const programs = files("", ".deo").map((path) => ({ name: path, text: read(path), readable: true, correct: true }));

export const groups = {
  files: programs,
  cases: files("tests/lang", ".deo").flatMap(cases),
  "blocks of the book": files("docs/book", ".md").flatMap(blocks),
};
