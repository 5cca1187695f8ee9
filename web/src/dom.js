// Elements of a page.

export const $ = (id) => document.getElementById(id);

/** An element with attributes and children; `null` children are left out. */
export function make(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

/** A text whose names stand between backticks, with them as code. */
export const quoted = (text) => text.split("`").map((piece, i) => (i % 2 ? make("code", {}, piece) : piece));

/** A table with a line of heads. */
export function grid(columns, rows) {
  const cells = (name, row) => row.map((cell) => make(name, {}, String(cell)));
  const head = make("thead", {}, make("tr", {}, ...cells("th", columns)));
  const body = make("tbody", {}, ...rows.map((row) => make("tr", {}, ...cells("td", row))));
  return make("table", {}, head, body);
}
