// The book as pages: each of its programs in colours, with a link that opens it in the playground.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { deflateRawSync } from "node:zlib";
import MarkdownIt from "markdown-it";
import { pieces } from "./src/colour.js";

export const BOOK = new URL("../docs/book/", import.meta.url);

const read = (name) => readFileSync(new URL(name, BOOK), "utf8");
const escaped = (text) => text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);

/** The address of a program, as `src/address.js` reads it. */
export function address(text) {
  return `index.html#code=${deflateRawSync(text, { level: 9 }).toString("base64url")}`;
}

/** The anchor of a heading: as GitHub makes it, since the pages link to one another by it. */
function anchor(text) {
  return text.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, "").trim().replace(/\s/g, "-");
}

/** The program of `diffeo eval '…'`, if that is all that a block of a shell has. */
function evaluated(text) {
  const found = /^diffeo eval '([^']*)'\s*$/.exec(text);
  return found && `def main = ${found[1].trim()}\n`;
}

function code(text) {
  return pieces(text.trimEnd())
    .map(([piece, classes]) => (classes ? `<span class="${classes}">${escaped(piece)}</span>` : escaped(piece)))
    .join("");
}

function block(info, text) {
  const [language, file] = info.trim().split(/\s+/);
  // A program with a name belongs to files beside it, which the playground does not have.
  const program = language === "diffeo" ? !file?.endsWith(".deo") && text : language === "sh" ? evaluated(text) : null;
  const inner = language === "diffeo" ? code(text) : escaped(text.trimEnd());
  const link = program ? `<a class="try" href="../${address(program)}">Try it</a>` : "";
  return `<div class="example"><pre><code>${inner}</code></pre>${link}</div>\n`;
}

/** Links to other pages stay within the book; programs of the repository open in the playground, other files do not. */
function target(href) {
  if (/^(?:[a-z]+:|#)/.test(href)) return href;
  const [path, hash] = href.split("#");
  if (/^[\w-]+\.md$/.test(path)) return `${page(path)}${hash ? `#${hash}` : ""}`;
  const file = new URL(path, BOOK);
  if (path.endsWith(".deo") && existsSync(file)) return `../${address(readFileSync(file, "utf8"))}`;
  return null;
}

const page = (name) => (name === "README.md" ? "index.html" : name.replace(/\.md$/, ".html"));

function renderer() {
  const markdown = new MarkdownIt({ html: false, linkify: false });
  const rules = markdown.renderer.rules;
  rules.fence = (tokens, i) => block(tokens[i].info, tokens[i].content);
  rules.heading_open = (tokens, i) => `<${tokens[i].tag} id="${anchor(tokens[i + 1].content.replaceAll("`", ""))}">`;
  rules.link_open = (tokens, i) => {
    const href = target(tokens[i].attrGet("href"));
    return href === null ? "<a>" : `<a href="${escaped(href)}">`;
  };
  return markdown;
}

/** The blocks of the book that are whole programs: page, heading and text. */
export function programs(name) {
  const tokens = new MarkdownIt().parse(read(name), {});
  const found = [];
  let heading = "";
  tokens.forEach((token, i) => {
    if (token.type === "heading_open") heading = tokens[i + 1].content.replaceAll("`", "");
    if (token.type === "fence" && token.info.trim() === "diffeo") found.push({ heading, text: token.content });
  });
  return found;
}

/** The names of the pages, in their order. */
function listed() {
  const order = [...read("README.md").matchAll(/\]\(([\w-]+\.md)\)/g)].map((found) => found[1]);
  const names = ["README.md", ...order, ...readdirSync(BOOK).filter((name) => name.endsWith(".md"))];
  return [...new Set(names)];
}

const titled = (name, text) => /^# (.*)$/m.exec(text)?.[1] ?? name;

/** The words of a text, each once. */
const words = (text) => [...new Set(text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [])].join(" ");

/** What the search of the book knows: sections by their headings with the words in them, and the pages of modules. */
export function index() {
  const [sections, pages] = [[], {}];
  for (const name of listed()) {
    const text = read(name);
    const title = titled(name, text);
    pages[name.replace(/\.md$/, "")] = title;
    const tokens = new MarkdownIt().parse(text, {});
    let section = null;
    const close = () => section && sections.push({ ...section, text: words(section.text) });
    tokens.forEach((token, i) => {
      if (token.type === "heading_open" && /h[123]/.test(token.tag)) {
        close();
        const heading = tokens[i + 1].content.replaceAll("`", "");
        const href = token.tag === "h1" ? page(name) : `${page(name)}#${anchor(heading)}`;
        section = { href, page: title, title: heading, text: "" };
      } else if (section && token.content) {
        section.text += ` ${token.content}`;
      }
    });
    close();
  }
  return { sections, pages };
}

/** The pages: names of files and HTML. */
export function pages() {
  const markdown = renderer();
  const all = listed().map((name) => {
    const text = read(name);
    return { file: page(name), title: titled(name, text), html: markdown.render(text) };
  });
  const links = (here) =>
    all.map(({ file, title }) => {
      const current = file === here ? ' aria-current="page"' : "";
      const shown = file === "index.html" ? "Start" : title;
      return `<a href="${file}"${current}>${escaped(shown)}</a>`;
    });
  return all.map(({ file, title, html }) => ({
    file,
    html: `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>${escaped(title)} · Diffeo</title>
    <link rel="stylesheet" href="../style.css" />
  </head>
  <body>
    <header>
      <a class="brand" href="index.html"><span aria-hidden="true">∂</span> Diffeo</a>
      <input id="search" type="search" placeholder="Search: least squares" aria-label="Search the book and the library" autocomplete="off" spellcheck="false" />
      <a class="link" href="../index.html">Playground</a>
    </header>
    <main class="book">
      <nav aria-label="Pages">
        <details id="contents" open>
          <summary>Contents</summary>
          ${links(file).join("\n")}
        </details>
      </nav>
      <div>
        <div id="found" aria-live="polite" hidden></div>
        <article>${html}</article>
      </div>
    </main>
    <script src="book.js"></script>
  </body>
</html>
`,
  }));
}
