// The page: an editor, results, derivatives in the forms of the papers. The address holds the program.

import { fragment, program } from "./address.js";
import { pieces } from "./colour.js";
import { editor, jump, mark, replace } from "./editor.js";
import { Engine } from "./engine.js";
import { drawing } from "./graph.js";
import examples from "virtual:examples";

/** How long a program may run, in seconds, and how much memory it may take. */
const SECONDS = 10;
const BYTES = 1 << 30;
/** The border of a picture, in pixels. */
const BORDER = 1;
/** How long the page waits until it looks at a text that changes, in milliseconds. */
const QUIET = 250;

const $ = (id) => document.getElementById(id);

/** An element with attributes and children; `null` children are left out. */
function make(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

/** One engine answers the editor, another one runs programs: neither waits for the other. */
const server = new Engine();
const runner = new Engine();

let view;
const source = () => view.state.doc.toString();

// Messages

/** A text whose names stand between backticks, with them as code. */
const quoted = (text) => text.split("`").map((piece, i) => (i % 2 ? make("code", {}, piece) : piece));

function messages(all) {
  if (!all.length) return null;
  const items = all.map(({ severity, code, message, range }) => {
    const kind = { 1: "error", 2: "warning" }[severity] ?? severity;
    const [first, ...rest] = message.split("\n");
    const place = range && `${range.start.line + 1}:${range.start.character + 1}`;
    const where = place && make("button", { class: "place", onclick: () => jump(view, range.start) }, place);
    return make(
      "li",
      { class: kind },
      where,
      make("strong", {}, `${kind}[${code}] `),
      ...quoted(first),
      ...rest.map((line) => make("div", { class: "more" }, ...quoted(line))),
    );
  });
  return make("ul", { class: "messages" }, ...items);
}

/** What the editor knows of the text as it is. */
async function check() {
  const text = source();
  const { diagnostics, definitions, stopped } = await server.ask({ do: "check", text });
  if (text !== source()) return;
  if (stopped) return status(stopped);
  mark(view, diagnostics);
  names(definitions);
  const errors = diagnostics.filter(({ severity }) => severity === 1).length;
  status(errors ? `${errors} ${errors > 1 ? "errors" : "error"}` : "");
  document.body.dataset.checked = errors ? "errors" : "ok";
}

const status = (text) => ($("status").textContent = text);

// Results

function table({ columns, rows, count }) {
  const cells = (name, row) => row.map((cell) => make(name, {}, String(cell)));
  const more = count > rows.length ? make("p", { class: "more" }, `${count} rows, the first ${rows.length} are shown`) : null;
  const head = make("thead", {}, make("tr", {}, ...cells("th", columns)));
  const body = make("tbody", {}, ...rows.map((row) => make("tr", {}, ...cells("td", row))));
  return make("div", { class: "table" }, make("table", {}, head, body), more);
}

/** A plot as an image, so that nothing in it is run. */
function picture({ name, alt, svg }) {
  const image = make("img", { class: "drawing", alt, src: `data:image/svg+xml,${encodeURIComponent(svg)}` });
  return make("figure", {}, name ? make("figcaption", {}, name) : null, make("div", { class: "canvas" }, image));
}

function value({ name, type, text, table: rows, pictures }) {
  const title = make("h3", {}, name, make("span", { class: "type" }, ` : ${type}`));
  return make("section", { class: "value" }, title, rows ? table(rows) : make("pre", {}, text), ...pictures.map(picture));
}

async function run() {
  select("result");
  const text = source();
  const output = $("result");
  const told = make("pre", { class: "told" });
  output.replaceChildren(make("p", { class: "hint" }, "Running …"), told);
  document.body.dataset.state = "running";
  $("stop").hidden = false;
  const start = performance.now();
  const tell = (line) => {
    if (told.childNodes.length < 1000) told.append(`${line}\n`);
  };
  const request = { do: "run", text, seconds: SECONDS, bytes: BYTES, room: output.clientWidth - 2 * BORDER };
  const { values = [], messages: said = [], lines = [], stopped } = await runner.ask(request, { seconds: SECONDS + 5, tell });
  const seconds = (performance.now() - start) / 1000;
  $("stop").hidden = true;
  const nothing = !values.length && !said.length && !stopped;
  output.replaceChildren(
    ...[
      stopped ? make("p", { class: "stopped", role: "alert" }, stopped) : null,
      messages(said),
      ...values.map(value),
      nothing ? make("p", { class: "hint" }, "The program checks. Define `main`, or any constant, to see a value.") : null,
      lines.length ? make("pre", { class: "told" }, lines.join("\n")) : null,
    ].filter(Boolean),
  );
  if (stopped && told.childNodes.length) output.append(told);
  if (text === source() && said.length) mark(view, said);
  status(`${seconds.toFixed(2)} s`);
  document.body.dataset.state = "done";
}

async function format() {
  const { text, stopped } = await server.ask({ do: "format", text: source() });
  if (stopped) return status(stopped);
  if (text === null) return status("a program with errors is not laid out");
  if (text !== source()) replace(view, text);
  status("laid out");
}

async function share() {
  await remember();
  try {
    await navigator.clipboard.writeText(location.href);
    status("the address is copied: it holds the program");
  } catch {
    status("the address of this page holds the program");
  }
}

/** Puts the program into the address, so that it is still there when the page is loaded again. */
async function remember() {
  history.replaceState(null, "", await fragment(source()));
}

// Derivatives

/** The definitions that the list has, as it was asked for. */
function names(definitions) {
  const before = $("name").value;
  const shown = definitions.filter(({ name, type }) => type && !name.endsWith("_at"));
  const functions = shown.filter(({ function: is }) => is);
  const all = [...functions, ...shown.filter(({ function: is }) => !is)];
  $("name").replaceChildren(...all.map(({ name, type }) => make("option", { value: name, title: type }, name)));
  const wished = all.some(({ name }) => name === before) ? before : preferred(functions, definitions);
  if (wished) $("name").value = wished;
  if (chosen() === "derivative") derivative();
}

/** A function with a point of its own is there to be differentiated. */
function preferred(functions, definitions) {
  const pointed = functions.filter(({ name }) => definitions.some((other) => other.name === `${name}_at`));
  return (pointed[0] ?? functions.at(-1))?.name;
}

let asked = 0;

async function derivative() {
  const output = $("form-output");
  const form = $("form").value;
  const number = ++asked;
  if (!$("name").value) {
    return output.replaceChildren(make("p", { class: "hint" }, "Define a function to see its derivative."));
  }
  const request = { do: "show", text: source(), name: $("name").value, form, at: $("at").value };
  const { text, graph, messages: said = [], stopped, error } = await server.ask(request);
  if (number !== asked) return;
  const failed = stopped ?? error;
  const code = text && make("pre", { class: "code" }, ...coloured(text));
  const large = form === "graph" && text && !graph && make("p", { class: "hint" }, "Too large to be drawn; as text:");
  output.replaceChildren(
    ...[
      failed ? make("p", { class: "stopped", role: "alert" }, failed) : null,
      messages(said),
      make("p", { class: "hint caption" }, $("form").selectedOptions[0].title),
      graph ? make("div", { class: "canvas" }, drawing(graph)) : null,
      large || null,
      code || null,
    ].filter(Boolean),
  );
  output.dataset.form = form;
}

const coloured = (text) =>
  pieces(text).map(([piece, classes]) => (classes ? make("span", { class: classes }, piece) : piece));

// Tabs

const TABS = ["result", "derivative"];
const chosen = () => TABS.find((name) => $(`tab-${name}`).getAttribute("aria-selected") === "true");

function select(wanted) {
  for (const name of TABS) {
    $(`tab-${name}`).setAttribute("aria-selected", String(name === wanted));
    $(`tab-${name}`).tabIndex = name === wanted ? 0 : -1;
    $(`panel-${name}`).hidden = name !== wanted;
  }
  if (wanted === "derivative") derivative();
}

function tabs() {
  TABS.forEach((name, i) => {
    $(`tab-${name}`).addEventListener("click", () => select(name));
    $(`tab-${name}`).addEventListener("keydown", ({ key }) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
      if (!step) return;
      const next = TABS[(i + step + TABS.length) % TABS.length];
      select(next);
      $(`tab-${next}`).focus();
    });
  });
}

// The page

let quiet;
function changed() {
  clearTimeout(quiet);
  document.body.dataset.checked = "";
  quiet = setTimeout(() => {
    check();
    remember();
  }, QUIET);
}

async function load(text) {
  replace(view, text);
  $("result").replaceChildren();
  await Promise.all([check(), remember()]);
}

async function main() {
  const groups = examples.map(({ title, programs }) =>
    make("optgroup", { label: title }, ...programs.map(({ name }) => make("option", {}, name))),
  );
  $("examples").append(...groups);
  const programs = examples.flatMap((group) => group.programs);
  const text = (await program(location.hash)) ?? programs[0].text;
  const key = (name, action) => ({ key: name, preventDefault: true, run: () => (action(), true) });
  view = editor({
    parent: $("editor"),
    text,
    changed,
    ask: (method, params, text) => server.ask({ do: "lsp", method, params, text }),
    commands: [key("Mod-Enter", run), key("Shift-Alt-f", format)],
  });
  if (location.hash && (await program(location.hash)) === null) status("the address holds no program that can be read");
  tabs();
  $("run").addEventListener("click", run);
  $("stop").addEventListener("click", () => runner.stop("stopped"));
  $("format").addEventListener("click", format);
  $("share").addEventListener("click", share);
  $("examples").addEventListener("change", ({ target }) => {
    const found = programs.find(({ name }) => name === target.value);
    if (found) load(found.text).then(() => view.focus());
    target.selectedIndex = 0;
  });
  for (const id of ["name", "form", "at"]) $(id).addEventListener("change", derivative);
  addEventListener("hashchange", async () => {
    const text = await program(location.hash);
    if (text !== null && text !== source()) load(text);
  });
  try {
    const { forms } = await server.ask({ do: "forms" });
    const group = ({ title }) => (title.includes(": ") ? title.split(": ")[0] : "The compiler");
    const label = ({ title }) => title.split(": ").at(-1);
    for (const title of new Set(forms.map(group))) {
      const members = forms.filter((form) => group(form) === title);
      const options = members.map((form) => make("option", { value: form.name, title: form.title }, label(form)));
      $("form").append(make("optgroup", { label: title }, ...options));
    }
    $("form").value = "forward";
    await check();
    await runner.ready;
  } catch (error) {
    status(`the engine does not start: ${error.message}`);
  }
  document.body.dataset.state = "ready";
}

main();
