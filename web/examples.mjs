// What the playground offers: `first.deo`, which it opens on, programs of the repository, then those of the book that need
// no data.

import { readFileSync } from "node:fs";
import { programs } from "./book.mjs";

const PROGRAMS = {
  quaternion: "Rotation by a quaternion (Figure 12)",
  descend: "Gradient descent through itself",
  papers: "Small programs of the three papers",
  tree: "Derivative by a tree",
  pendulum: "A pendulum, fitted through an ODE",
  gaussian_process: "A Gaussian process",
  option: "Option prices and their Greeks",
};

const PAGES = {
  "plot.md": "Plots",
  "derivatives.md": "Derivatives",
  "optim.md": "Optimisation",
  "ode.md": "Differential equations",
  "random.md": "Random numbers",
  "linalg.md": "Linear algebra",
  "stats.md": "Statistics",
};

/** Groups with a title, each of programs with name and text. */
export function examples() {
  const own = Object.entries(PROGRAMS).map(([name, title]) => {
    const text = readFileSync(new URL(`../examples/${name}.deo`, import.meta.url), "utf8");
    return { name: title, text };
  });
  const first = { name: "A function and its derivative", text: readFileSync(new URL("first.deo", import.meta.url), "utf8") };
  const groups = [{ title: "Programs", programs: [first, ...own] }];
  for (const [page, title] of Object.entries(PAGES)) {
    const counts = new Map();
    const found = programs(page).filter(({ text }) => /^def main\s*[=:]/m.test(text));
    const named = found.map(({ heading, text }) => {
      const count = (counts.get(heading) ?? 0) + 1;
      counts.set(heading, count);
      return { name: count > 1 ? `${heading} (${count})` : heading, text };
    });
    if (named.length) groups.push({ title, programs: named });
  }
  return groups;
}
