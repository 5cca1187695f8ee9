// A page of the book: contents that fold, and the search, over headings and over what the library has.

import { $, make, quoted } from "./dom.js";
import { fragment } from "./address.js";
import { Engine } from "./engine.js";
import { pages, sections } from "virtual:sections";

/** How long the page waits until it looks for a text that changes, in milliseconds. */
const QUIET = 120;
/** The most sections that are shown. */
const MOST = 6;
/** How wide a page is that has no room for the contents beside it. */
const NARROW = "(max-width: 760px)";

let engine = null;

/** The engine, which is loaded when the search is used: its script is the largest part of the page. */
function loaded() {
  engine ??= new Promise((resolve, reject) => {
    const script = make("script", { src: "../engine.js", onload: () => resolve(new Engine()), onerror: reject });
    document.head.append(script);
  });
  return engine;
}

/** The sections that have all words, those with the words in the heading first. */
function found(words) {
  const wanted = words.toLowerCase().split(/[^\p{L}\p{N}_]+/u).filter(Boolean);
  if (!wanted.length) return [];
  const score = ({ title, page, text }) => {
    const [head, whole] = [title.toLowerCase(), page.toLowerCase()];
    const of = (word) => (head.includes(word) ? 4 : whole.includes(word) ? 2 : text.includes(word) ? 1 : -1000);
    return wanted.map(of).reduce((a, b) => a + b) - title.length / 1000;
  };
  const scored = sections.map((section) => [score(section), section]).filter(([points]) => points > 0);
  return scored.sort(([a], [b]) => b - a).slice(0, MOST).map(([, section]) => section);
}

function section({ href, page, title }) {
  return make("li", {}, make("a", { href }, title), page === title ? null : make("span", { class: "of" }, ` · ${page}`));
}

/** An entry of the library with its first sentence, and an example that can be tried. */
async function entry({ module, signature, doc, examples }) {
  const everywhere = ["prelude", "language"].includes(module);
  const [first] = doc.replaceAll("\n", " ").split(/(?<=\.) /);
  const written = everywhere || signature.startsWith("type ") ? signature : `${module}.${signature}`;
  const more = pages[module] ? make("a", { href: `${module}.html` }, pages[module]) : null;
  const item = make("li", {}, make("code", {}, written), make("div", {}, ...quoted(first), " ", ...[more].filter(Boolean)));
  if (!examples.length) return item;
  const [{ expression, value }] = examples;
  const shown = make("div", { class: "of" }, make("code", {}, `${expression} → ${value}`));
  // The example of a module has names that need its import.
  if (everywhere) shown.append(" ", make("a", { href: `../index.html${await fragment(`def main = ${expression}\n`)}` }, "Try it"));
  item.append(shown);
  return item;
}

let asked = 0;

async function search() {
  const words = $("search").value.trim();
  const number = ++asked;
  const output = $("found");
  output.hidden = !words;
  if (!words) return;
  const places = found(words);
  const head = (text) => make("h2", {}, text);
  const list = (items) => make("ul", {}, ...items);
  const first = places.length ? [head("In the book"), list(places.map(section))] : [];
  output.replaceChildren(...first, make("p", { class: "hint" }, "Looking in the library …"));
  let answer;
  try {
    answer = await (await loaded()).ask({ do: "doc", words });
  } catch {
    answer = { stopped: "the library's search does not start in this browser" };
  }
  if (number !== asked) return;
  const entries = await Promise.all((answer.found ?? []).map(entry));
  const second = entries.length ? [head("In the library"), list(entries)] : [];
  const none = !first.length && !second.length ? `Nothing is found for “${words}”.` : null;
  const said = answer.stopped ?? answer.error ?? none;
  output.replaceChildren(...first, ...second, ...(said ? [make("p", { class: "hint" }, said)] : []));
  output.dataset.words = words;
}

let quiet;
$("search").addEventListener("input", () => {
  clearTimeout(quiet);
  quiet = setTimeout(search, QUIET);
});
$("search").addEventListener("focus", () => loaded().catch(() => {}), { once: true });
$("search").addEventListener("keydown", ({ key }) => {
  if (key !== "Escape") return;
  $("search").value = "";
  search();
});
addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target.matches("input, textarea")) return;
  event.preventDefault();
  $("search").focus();
});

const narrow = matchMedia(NARROW);
const fold = () => ($("contents").open = !narrow.matches);
narrow.addEventListener("change", fold);
fold();
