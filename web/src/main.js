// The page: an editor, results, derivatives in the forms of the papers. The address holds the program.

import { fragment, program } from "./address.js";
import { pieces } from "./colour.js";
import { $, make } from "./dom.js";
import { editor, jump, mark, replace } from "./editor.js";
import { Engine } from "./engine.js";
import { drawing } from "./graph.js";
import { gradient, messages, value } from "./shown.js";
import examples from "virtual:examples";

/** How long a program may run, in seconds, and how much memory it may take. */
const SECONDS = 10;
const BYTES = 1 << 30;
/** The border of a picture, in pixels. */
const BORDER = 1;
/** How long the page waits until it looks at a text that changes, in milliseconds. */
const QUIET = 250;

/** One engine answers the editor, another one runs programs: neither waits for the other. */
const server = new Engine();
const runner = new Engine();

let view;
const source = () => view.state.doc.toString();

// Messages

/** The messages of the last check, and of the last run with the text that was run. */
const known = { checked: [], run: [], text: null };

/** Shows what is known of the text, in the editor's lines and below it: a phone has no hover. */
function told() {
  const all = known.text === source() ? known.run : known.checked;
  mark(view, all);
  $("messages").replaceChildren(...(all.length ? [messages(all, (place) => jump(view, place))] : []));
}

/** An old result is grey until the program is run again, or has its text back. */
function stale() {
  const is = known.text !== null && known.text !== source();
  $("panel-result").toggleAttribute("data-stale", is);
  $("stale").hidden = !is;
}

/** What the editor knows of the text as it is. */
async function check() {
  const text = source();
  const { diagnostics, definitions, stopped } = await server.ask({ do: "check", text });
  if (text !== source()) return;
  if (stopped) return status(stopped);
  known.checked = diagnostics;
  told();
  names(definitions);
  entries(definitions);
  const errors = diagnostics.filter(({ severity }) => severity === 1).length;
  status(errors ? `${errors} ${errors > 1 ? "errors" : "error"}` : "");
  document.body.dataset.checked = errors ? "errors" : "ok";
}

const status = (text) => ($("status").textContent = text);

// Results

/** The entries that can be run: what `main` is, or each constant, stands first. */
function entries(definitions) {
  const before = $("entry").value;
  const runnable = definitions.filter((definition) => definition.runnable);
  const first = runnable.some(({ name }) => name === "main") ? "main" : "all constants";
  const names = runnable.map(({ name }) => name).filter((name) => name !== "main");
  $("entry").replaceChildren(
    make("option", { value: "" }, first),
    ...names.map((name) => make("option", { value: name }, name)),
  );
  $("entry").value = names.includes(before) ? before : "";
  $("entry").hidden = !names.length;
}

/** Offers the plots of entries that did not run. */
function offered(plots) {
  if (!plots?.length) return null;
  const show = (name) => () => {
    $("entry").value = name;
    run();
  };
  const buttons = plots.map((name) => make("button", { class: "plot", onclick: show(name) }, name));
  return make("p", { class: "offered" }, plots.length > 1 ? "Plots: " : "A plot: ", ...buttons);
}

/** What stands in place of a value that messages explain. */
function explained(said) {
  const errors = said.filter(({ severity }) => severity === "error").length;
  if (!errors) return null;
  const words = errors > 1 ? `${errors} errors stand` : "An error stands";
  const look = () => $("messages").scrollIntoView({ block: "center", behavior: "smooth" });
  return make("p", { class: "stopped" }, `${words} `, make("button", { class: "place", onclick: look }, "below the program"));
}

async function run() {
  select("result");
  const text = source();
  const entry = $("entry").value;
  const output = $("result");
  const lines_told = make("pre", { class: "told" });
  known.text = text;
  known.run = known.checked;
  stale();
  output.replaceChildren(make("p", { class: "hint" }, "Running …"), lines_told);
  document.body.dataset.state = "running";
  $("stop").hidden = false;
  const start = performance.now();
  const tell = (line) => {
    if (lines_told.childNodes.length < 1000) lines_told.append(`${line}\n`);
  };
  const request = { do: "run", text, entry, seconds: SECONDS, bytes: BYTES, room: output.clientWidth - 2 * BORDER };
  const answer = await runner.ask(request, { seconds: SECONDS + 5, tell });
  const { values = [], messages: said = [], lines = [], plots, stopped } = answer;
  const seconds = (performance.now() - start) / 1000;
  $("stop").hidden = true;
  const nothing = !values.length && !said.length && !stopped;
  output.replaceChildren(
    ...[
      stopped ? make("p", { class: "stopped", role: "alert" }, stopped) : null,
      explained(said),
      ...values.map(value),
      nothing ? make("p", { class: "hint" }, "The program checks. Define `main`, or any constant, to see a value.") : null,
      offered(plots),
      lines.length ? make("pre", { class: "told" }, lines.join("\n")) : null,
    ].filter(Boolean),
  );
  if (stopped && lines_told.childNodes.length) output.append(lines_told);
  if (!stopped) known.run = said;
  told();
  stale();
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
  const functions = shown.filter(({ function: is, runnable }) => is && !runnable);
  const all = [...functions, ...shown.filter((definition) => !functions.includes(definition))];
  $("name").replaceChildren(...all.map(({ name, type }) => make("option", { value: name, title: type }, name)));
  const wished = all.some(({ name }) => name === before) ? before : preferred(functions, definitions);
  if (wished) $("name").value = wished;
  if (chosen() === "derivative") derivative();
}

/** A function with a point of its own is there to be differentiated. */
function preferred(functions, definitions) {
  const pointed = functions.filter(({ name }) => definitions.some((other) => other.name === `${name}_at`));
  const differentiable = functions.filter((definition) => definition.differentiable);
  return (pointed[0] ?? differentiable.at(-1) ?? functions.at(-1))?.name;
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
  const { text, graph, gradient: found, messages: said = [], stopped, error } = await server.ask(request);
  if (number !== asked) return;
  const failed = stopped ?? error;
  const code = text && make("pre", { class: "code" }, ...coloured(text));
  const large = form === "graph" && text && !graph && make("p", { class: "hint" }, "Too large to be drawn; as text:");
  output.replaceChildren(
    ...[
      failed ? make("p", { class: "stopped", role: "alert" }, failed) : null,
      said.length ? messages(said, (place) => jump(view, place)) : null,
      found ? gradient(found) : make("p", { class: "hint caption" }, $("form").selectedOptions[0].title),
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
  stale();
  opened();
  quiet = setTimeout(() => {
    check();
    remember();
  }, QUIET);
}

async function load(text) {
  replace(view, text);
  $("entry").value = "";
  await Promise.all([check(), remember()]);
}

const programs = examples.flatMap((group) => group.programs);
/** The example that is open, as it was or changed. */
let example = null;

/** The list shows the example that is open. */
function opened() {
  const text = source();
  example = programs.find((program) => program.text === text) ?? example;
  const same = example?.text === text;
  $("examples").options[0].text = example && !same ? `${example.name}, changed` : "Examples";
  $("examples").selectedIndex = same ? 1 + programs.indexOf(example) : 0;
}

/** Loads an example and runs it. */
async function choose({ target }) {
  // The list has the groups' programs in their order, behind its title.
  const found = programs[target.selectedIndex - 1];
  if (!found) return;
  await load(found.text);
  run();
}

async function main() {
  const groups = examples.map(({ title, programs }) =>
    make("optgroup", { label: title }, ...programs.map(({ name }) => make("option", {}, name))),
  );
  $("examples").append(...groups);
  const given = await program(location.hash);
  const text = given ?? programs[0].text;
  const key = (name, action) => ({ key: name, preventDefault: true, run: () => (action(), true) });
  view = editor({
    parent: $("editor"),
    text,
    changed,
    ask: (method, params, text) => server.ask({ do: "lsp", method, params, text }),
    commands: [key("Mod-Enter", run), key("Shift-Alt-f", format)],
  });
  opened();
  if (location.hash && given === null) status("the address holds no program that can be read");
  tabs();
  $("run").addEventListener("click", run);
  $("stop").addEventListener("click", () => runner.stop("stopped"));
  $("format").addEventListener("click", format);
  $("share").addEventListener("click", share);
  $("examples").addEventListener("change", choose);
  $("entry").addEventListener("change", run);
  for (const id of ["name", "form", "at"]) $(id).addEventListener("change", derivative);
  addEventListener("hashchange", async () => {
    const text = await program(location.hash);
    if (text !== null && text !== source()) load(text);
  });
  try {
    const { forms } = await server.ask({ do: "forms" });
    const groups = { gradient: "At a point", types: "The compiler", core: "The compiler" };
    const group = ({ name, title }) => groups[name] ?? title.split(": ")[0];
    const label = ({ title }) => title.split(": ").at(-1);
    for (const title of new Set(forms.map(group))) {
      const members = forms.filter((form) => group(form) === title);
      const options = members.map((form) => make("option", { value: form.name, title: form.title }, label(form)));
      $("form").append(make("optgroup", { label: title }, ...options));
    }
    $("form").value = "gradient";
    await check();
    await runner.ready;
    // A visitor sees what a program gives before pressing anything.
    if (given === null && source() === text) return run();
  } catch (error) {
    status(`the engine does not start: ${error.message}`);
  }
  document.body.dataset.state = "ready";
}

main();
