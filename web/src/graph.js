// A Delta as a drawing: Figure 12 of Krawiec et al. Inputs are on the left, the result on the right; an edge has the
// factor with which it counts, a node the derivative of the result by it.

const SVG = "http://www.w3.org/2000/svg";
const [COLUMN, ROW, WIDTH, HEIGHT, MARGIN] = [178, 64, 112, 42, 12];

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

/**
 * Columns by the longest way from an input, rows so that edges are short. An edge over several columns goes through a
 * place of its own in each of them, so that no node lies on it.
 */
function layout({ nodes, edges }) {
  const column = nodes.map(() => 0);
  for (const { from, to } of [...edges].sort((a, b) => a.to - b.to)) column[to] = Math.max(column[to], column[from] + 1);
  const places = nodes.map((_, i) => ({ column: column[i], sources: [] }));
  const ways = edges.map(({ from, to }) => {
    const way = [from];
    for (let at = column[from] + 1; at < column[to]; at++) {
      places.push({ column: at, sources: [way.at(-1)] });
      way.push(places.length - 1);
    }
    places[to].sources.push(way.at(-1));
    return [...way, to];
  });
  const columns = Array.from({ length: Math.max(...column) + 1 }, () => []);
  places.forEach((place, i) => columns[place.column].push(i));
  const tallest = Math.max(...columns.map((members) => members.length));
  const row = places.map(() => 0);
  columns.forEach((members) => {
    const wished = new Map(
      members.map((i) => {
        const { sources } = places[i];
        return [i, sources.length ? sources.reduce((sum, source) => sum + row[source], 0) / sources.length : i];
      }),
    );
    members.sort((a, b) => wished.get(a) - wished.get(b));
    members.forEach((i, at) => (row[i] = at + (tallest - members.length) / 2));
  });
  return { column: places.map((place) => place.column), row, ways, columns: columns.length, rows: tallest };
}

/** The drawing of a graph. */
export function drawing(graph) {
  const { nodes, edges } = graph;
  const { column, row, ways, columns, rows } = layout(graph);
  const x = (i) => MARGIN + column[i] * COLUMN;
  const y = (i) => MARGIN + row[i] * ROW;
  const [width, height] = [(columns - 1) * COLUMN + WIDTH + 2 * MARGIN, (rows - 1) * ROW + HEIGHT + 2 * MARGIN];
  const size = { viewBox: `0 0 ${width} ${height}`, width, height };
  const svg = element("svg", { ...size, class: "graph", role: "img", "aria-label": "The Delta of the run as a graph" });
  // Edges arrive one below the other, in the order in which they come.
  const arrivals = nodes.map((_, i) => {
    const arriving = ways.map((way, edge) => ({ way, edge })).filter(({ way }) => way.at(-1) === i);
    return arriving.sort((a, b) => row[a.way.at(-2)] - row[b.way.at(-2)]).map(({ edge }) => edge);
  });
  const labels = [];
  edges.forEach(({ to, factor }, edge) => {
    const way = ways[edge];
    const port = (HEIGHT * (arrivals[to].indexOf(edge) + 1)) / (arrivals[to].length + 1);
    const stops = way.map((i, at) => {
      const last = at === way.length - 1;
      const height = last ? y(i) + port : y(i) + HEIGHT / 2;
      return at === 0 ? [[x(i) + WIDTH, height]] : last ? [[x(i), height]] : [[x(i), height], [x(i) + WIDTH, height]];
    });
    const points = stops.flat();
    let path = `M${points[0].join(" ")}`;
    points.slice(1).forEach(([right, low], at) => {
      const [left, high] = points[at];
      const middle = (left + right) / 2;
      path += high === low ? ` L${right} ${low}` : ` C${middle} ${high} ${middle} ${low} ${right} ${low}`;
    });
    svg.append(element("path", { d: path, class: "edge" }));
    const [right, low] = points.at(-1);
    labels.push(element("text", { x: right - 5, y: low - 3, class: "factor" }, `× ${short(factor)}`));
  });
  nodes.forEach(({ name, kind, value, derivative }, i) => {
    const box = element("rect", { x: x(i), y: y(i), width: WIDTH, height: HEIGHT, rx: 9, class: `node ${kind}${derivative === 0 ? " idle" : ""}` });
    const known = value === null ? name : `${name} = ${short(value)}`;
    const upper = element("text", { x: x(i) + WIDTH / 2, y: y(i) + 17, class: "name" }, known);
    const lower = element("text", { x: x(i) + WIDTH / 2, y: y(i) + 33, class: "derivative" }, `∂ ${short(derivative)}`);
    svg.append(box, upper, lower);
  });
  svg.append(...labels);
  return svg;
}
