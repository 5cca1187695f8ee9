// Answers of the engine as elements: values with tables and plots, gradients, messages.

import { grid, make, quoted } from "./dom.js";

function table({ columns, rows, count }) {
  const more = count > rows.length ? make("p", { class: "more" }, `${count} rows, the first ${rows.length} are shown`) : null;
  return make("div", { class: "table" }, grid(columns, rows), more);
}

/** A plot as an image, so that nothing in it is run. */
function picture({ name, alt, svg }) {
  const image = make("img", { class: "drawing", alt, src: `data:image/svg+xml,${encodeURIComponent(svg)}` });
  return make("figure", {}, name ? make("figcaption", {}, name) : null, make("div", { class: "canvas" }, image));
}

/** A value of a run. */
export function value({ name, type, text, table: rows, pictures }) {
  const title = make("h3", {}, name, make("span", { class: "type" }, ` : ${type}`));
  // Of a value that is a plot, the text says what the picture shows.
  const alone = pictures.length === 1 && !pictures[0].name;
  const written = alone ? make("p", { class: "more" }, text) : make("pre", {}, text);
  return make("section", { class: "value" }, title, rows ? table(rows) : written, ...pictures.map(picture));
}

/** Messages as a list; `jump(place)` shows a place of the program. */
export function messages(all, jump) {
  const items = all.map(({ severity, code, message, range }) => {
    const kind = { 1: "error", 2: "warning" }[severity] ?? severity;
    const [first, ...rest] = message.split("\n");
    const place = range && `${range.start.line + 1}:${range.start.character + 1}`;
    const where = place && make("button", { class: "place", onclick: () => jump(range.start) }, place);
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

/** A number in short. */
const shortly = (x) => (typeof x === "number" ? String(Number(x.toPrecision(6))) : x);

/** How far numbers are apart, in words. */
const apart = (x) => (x === 0 ? "to the last digit" : `to ${x.toExponential(0)}`);

/** A gradient: point, value, a row for each number of the point, how far the modes and differences agree. */
export function gradient({ point, own, value, outputs, rows, count, modes, differences, agrees }) {
  const of = (output) => (output ? `∂${output}` : "derivative");
  const several = outputs.length > 1;
  const heads = ["", "at", ...outputs.map(of), ...(several ? [] : ["by differences"])];
  const lines = rows.map(({ name, at, derivatives, differences }) => [
    name || "x",
    shortly(at),
    ...derivatives.map(shortly),
    ...(several ? [] : differences.map(shortly)),
  ]);
  const more = count > rows.length ? make("p", { class: "more" }, `${count} numbers, the first ${rows.length} are shown`) : null;
  const checked = [
    `Reverse and forward mode agree ${apart(modes)}`,
    differences === null ? "; beside the point the program stops, so there are no differences" : `, and differences agree ${apart(differences)}`,
    agrees ? "." : ": they should. The function may have a kink or a jump here.",
  ].join("");
  return make(
    "section",
    { class: "value" },
    make("h3", {}, "value", make("span", { class: "type" }, ` at ${point}${own ? "" : ", a point of ours: write yours above"}`)),
    make("pre", {}, value),
    make("h3", { class: "next" }, "derivative"),
    make("div", { class: "table" }, grid(heads, lines)),
    ...[more].filter(Boolean),
    make("p", { class: agrees ? "check good" : "check bad" }, checked),
  );
}
