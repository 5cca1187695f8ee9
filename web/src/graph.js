// A Delta as a drawing: Figure 12 of Krawiec et al. Inputs are on the left, the result on the right; an edge has the
// factor with which it counts, a node the derivative of the result by it.

const SVG = "http://www.w3.org/2000/svg";
const [COLUMN, ROW, WIDTH, HEIGHT] = [170, 58, 110, 40];

function element(name, attributes, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** A number as short as it can be read. */
export function short(x) {
  return typeof x === "number" ? String(Number(x.toPrecision(5))) : "nan";
}

/** Columns by the longest way from an input, rows so that edges are short. */
function layout({ nodes, edges }) {
  const column = nodes.map(() => 0);
  for (const { from, to } of [...edges].sort((a, b) => a.to - b.to)) column[to] = Math.max(column[to], column[from] + 1);
  const columns = Array.from({ length: Math.max(...column) + 1 }, () => []);
  nodes.forEach((_, i) => columns[column[i]].push(i));
  const row = nodes.map(() => 0);
  for (const members of columns) {
    const wished = (i) => {
      const sources = edges.filter(({ to }) => to === i).map(({ from }) => row[from]);
      return sources.length ? sources.reduce((a, b) => a + b) / sources.length : i;
    };
    members.sort((a, b) => wished(a) - wished(b)).forEach((i, at) => (row[i] = at));
  }
  const tallest = Math.max(...columns.map((members) => members.length));
  // Columns are centred.
  for (const members of columns) members.forEach((i) => (row[i] += (tallest - members.length) / 2));
  return { column, row, columns: columns.length, rows: tallest };
}

/** The drawing of a graph. */
export function drawing(graph) {
  const { nodes, edges } = graph;
  const { column, row, columns, rows } = layout(graph);
  const x = (i) => 10 + column[i] * COLUMN;
  const y = (i) => 10 + row[i] * ROW;
  const [width, height] = [columns * COLUMN - (COLUMN - WIDTH) + 20, rows * ROW + 10];
  const size = { viewBox: `0 0 ${width} ${height}`, width, height };
  const svg = element("svg", { ...size, class: "graph", role: "img", "aria-label": "The Delta of the run as a graph" });
  for (const { from, to, factor } of edges) {
    const [x1, y1, x2, y2] = [x(from) + WIDTH, y(from) + HEIGHT / 2, x(to), y(to) + HEIGHT / 2];
    const middle = (x1 + x2) / 2;
    svg.append(element("path", { d: `M${x1} ${y1} C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`, class: "edge" }));
    // Nearer to its end, where edges are apart.
    const label = element("text", { x: x2 - 6, y: y2 + (y1 > y2 ? 12 : -5), class: "factor" }, `× ${short(factor)}`);
    svg.append(label);
  }
  nodes.forEach(({ name, kind, value, derivative }, i) => {
    const box = element("rect", { x: x(i), y: y(i), width: WIDTH, height: HEIGHT, rx: 8, class: `node ${kind}` });
    const known = value === null ? name : `${name} = ${short(value)}`;
    const upper = element("text", { x: x(i) + WIDTH / 2, y: y(i) + 16, class: "name" }, known);
    const lower = element("text", { x: x(i) + WIDTH / 2, y: y(i) + 32, class: "derivative" }, `∂ ${short(derivative)}`);
    svg.append(box, upper, lower);
  });
  return svg;
}
