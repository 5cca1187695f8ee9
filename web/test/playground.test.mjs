// The built page in a browser: out of a folder, as a user opens it.

import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { address } from "../book.mjs";

const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const page = new URL("../dist/index.html", import.meta.url).href;
const pictures = process.env.PICTURES;

const folder = mkdtempSync(join(tmpdir(), "diffeo-web-"));
let context;

before(async () => {
  context = await chromium.launchPersistentContext(folder, {
    executablePath,
    headless: true,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
    viewport: { width: 1280, height: 800 },
    permissions: ["clipboard-read", "clipboard-write"],
  });
  await context.setOffline(true);
});

after(async () => {
  await context?.close();
  rmSync(folder, { recursive: true, force: true });
});

const [WIDE, PHONE] = [{ width: 1280, height: 800 }, { width: 390, height: 844 }];
/** How the first view and errors are looked at: name, size, colours. */
const VIEWS = [
  ["wide", WIDE, "light"],
  ["phone-dark", PHONE, "dark"],
  ["wide-dark", WIDE, "dark"],
  ["phone", PHONE, "light"],
];
/** Each size and each colour once, where a page more takes a second. */
const [HALF, OTHERS] = [VIEWS.slice(0, 2), VIEWS.slice(2)];

/** A page with a program, ready to be used. What goes wrong in it fails the test. */
async function opened(text, at = page, size = WIDE, colorScheme = "light") {
  const tab = await context.newPage();
  await tab.setViewportSize(size);
  await tab.emulateMedia({ colorScheme });
  const failures = [];
  tab.on("pageerror", (error) => failures.push(error.message));
  await tab.goto(text === undefined ? at : new URL(address(text), at).href);
  // The program that the page opens on runs by itself.
  await tab.waitForSelector(`body[data-state="${text === undefined ? "done" : "ready"}"]`);
  return Object.assign(tab, { failures });
}

async function closed(tab) {
  assert.deepEqual(tab.failures, []);
  await tab.close();
}

async function run(tab) {
  await tab.keyboard.press("Control+Enter");
  await tab.waitForSelector('body[data-state="done"]');
}

async function picture(tab, name) {
  if (pictures) await tab.screenshot({ path: join(pictures, `${name}.png`) });
}

const focus = (tab) => tab.locator(".cm-content").focus();
const result = (tab) => tab.locator("#result").innerText();
const below = (tab) => tab.locator("#messages").innerText();

/** Nothing is wider than the page. */
async function fits(tab, what) {
  const [wide, inner] = await tab.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(wide <= inner, `${what}: ${wide} > ${inner}`);
}

test("the first view has a short program with its plot, and says what Diffeo is", async () => {
  for (const [name, size, scheme] of VIEWS) {
    const start = Date.now();
    const tab = await opened(undefined, page, size, scheme);
    // The bound is for a machine that does nothing else.
    assert.ok(Date.now() - start < 6000, `${Date.now() - start} ms`);
    const lines = (await tab.locator(".cm-content").innerText()).trimEnd().split("\n");
    assert.ok(lines.length >= 6 && lines.length <= 10, `${lines.length} lines`);
    assert.match(await tab.locator(".about").innerText(), /^Diffeo is a programming language .* press Run/);
    assert.match(await result(tab), /main : Plot/);
    const image = await tab.locator("#result img.drawing").boundingBox();
    assert.ok(image.y < size.height, `the plot begins at ${image.y} of ${size.height}`);
    assert.equal(await tab.locator("#examples option:checked").innerText(), "A function and its derivative");
    assert.equal(await tab.locator("#messages").innerText(), "");
    await fits(tab, name);
    await picture(tab, `first-${name}`);
    await closed(tab);
  }
});

test("a result is grey once the text differs, and no longer where it is the same again", async () => {
  const tab = await opened("def main = 1.0\n");
  await focus(tab);
  await run(tab);
  const grey = () => tab.locator("#panel-result[data-stale]").count();
  assert.equal(await grey(), 0);
  await tab.keyboard.press("Control+End");
  await tab.keyboard.type("# a");
  assert.equal(await grey(), 1);
  assert.match(await tab.locator("#panel-result").innerText(), /earlier text: press Run/);
  await picture(tab, "stale");
  for (let i = 0; i < 3; i++) await tab.keyboard.press("Backspace");
  assert.equal(await grey(), 0);
  await tab.keyboard.type("# b");
  await run(tab);
  assert.equal(await grey(), 0);
  await closed(tab);
});

const HIDDEN = `import plot

def picture = plot.hline(1.0) |> plot.title("A line", _)
def other() = [plot.vline(2.0)]
def half = 0.5
def g(x: Real) = half * x
def main = half + 1.0
`;

test("entries can be chosen, and plots are offered", async () => {
  const tab = await opened(HIDDEN);
  assert.deepEqual(await tab.locator("#entry option").allInnerTexts(), ["main", "picture", "other", "half"]);
  await tab.click("#run");
  await tab.waitForSelector('body[data-state="done"]');
  assert.match(await result(tab), /main : Real\s+1\.5/);
  assert.deepEqual(await tab.locator(".offered .plot").allInnerTexts(), ["picture", "other"]);
  await picture(tab, "offered");
  await tab.locator(".offered .plot").first().click();
  await tab.waitForSelector("#result img.drawing");
  assert.equal(await tab.locator("#entry").inputValue(), "picture");
  assert.match(await result(tab), /picture : Plot/);
  await tab.selectOption("#entry", "half");
  await tab.waitForFunction(() => /half : Real\s+0\.5/.test(document.getElementById("result").innerText));
  await closed(tab);
});

test("the list of examples shows the one that is open", async () => {
  const tab = await opened();
  const shown = () => tab.locator("#examples option:checked").innerText();
  await tab.selectOption("#examples", "A pendulum, fitted through an ODE");
  await tab.waitForSelector(".offered .plot");
  assert.equal(await shown(), "A pendulum, fitted through an ODE");
  assert.deepEqual(await tab.locator(".offered .plot").allInnerTexts(), ["picture"]);
  await focus(tab);
  const before = tab.url();
  await tab.keyboard.type("# mine\n");
  assert.equal(await shown(), "A pendulum, fitted through an ODE, changed");
  // The address has the change after a moment.
  await tab.waitForURL((url) => url.href !== before);
  await tab.reload();
  await tab.waitForSelector('body[data-state="ready"]');
  assert.equal(await shown(), "Examples");
  await closed(tab);
});

test("messages stand below the program, on a phone, too", async () => {
  for (const [name, size, scheme] of HALF) {
    const tab = await opened("def f(x: Real) -> Real = x * undefined_name\ndef main = f(1.0)\n", page, size, scheme);
    await tab.waitForSelector("#messages li.error");
    const [program, said] = [await tab.locator("#editor").boundingBox(), await tab.locator("#messages").boundingBox()];
    assert.ok(said.y >= program.y + program.height && said.y + said.height <= size.height, `${name}: ${said.y}`);
    assert.match(await below(tab), /1:30\s*error\[unknown-name\]/);
    await tab.click("#run");
    await tab.waitForSelector('body[data-state="done"]');
    assert.match(await result(tab), /^An error stands below the program$/);
    await tab.locator("#messages .place").click();
    assert.match(await tab.evaluate(() => document.activeElement.className), /cm-content/);
    await fits(tab, name);
    await picture(tab, `error-${name}`);
    await closed(tab);
  }
});

test("type, run, see an error, mend it, lay out, share, load again", async () => {
  const tab = await opened("");
  await focus(tab);
  await tab.keyboard.type("def  main = grad(fn x -> x ^ 3)(y");
  await tab.waitForSelector('body[data-checked="errors"]');
  await run(tab);
  assert.match(await below(tab), /1:\d+\s*error\[unknown-name\]/);
  await tab.waitForSelector(".cm-lintRange-error");
  await picture(tab, "error");
  await tab.keyboard.press("Backspace");
  await tab.keyboard.type("2.0");
  await tab.waitForSelector('body[data-checked="ok"]');
  await run(tab);
  assert.match(await result(tab), /main : Real\s+12\.0/);
  await tab.click("#format");
  await tab.waitForFunction(() => document.querySelector(".cm-content").innerText.startsWith("def main = grad"));
  await tab.click("#share");
  await tab.waitForFunction(() => /copied/.test(document.getElementById("status").textContent));
  const copied = await tab.evaluate(() => navigator.clipboard.readText());
  assert.equal(copied, tab.url());
  await tab.reload();
  await tab.waitForSelector('body[data-state="ready"]');
  assert.match(await tab.locator(".cm-content").innerText(), /^def main = grad\(fn x -> x \^ 3\)\(2\.0\)/);
  await closed(tab);
});

test("completion, types and documentation come from the language server", async () => {
  const tab = await opened("import stats\n\ndef f(x: Real) = stats.norm\n");
  await tab.locator(".cm-line").nth(2).click();
  await tab.keyboard.press("End");
  await tab.keyboard.type("al_l");
  await tab.waitForSelector(".cm-tooltip-autocomplete");
  const offered = await tab.locator(".cm-tooltip-autocomplete").innerText();
  assert.match(offered, /normal/);
  await picture(tab, "completion");
  await tab.keyboard.press("Escape");
  await tab.locator(".cm-line").nth(2).getByText("Real").hover();
  await tab.locator(".cm-line", { hasText: "def f" }).getByText("f", { exact: true }).hover();
  await tab.waitForSelector(".cm-tooltip-hover .prose");
  assert.match(await tab.locator(".cm-tooltip-hover").innerText(), /f : /);
  await closed(tab);
});

test("programs that take too long or too much end with a message, and the page goes on", async () => {
  const tab = await opened("def spin(x: Real) -> Real = spin(x + 1.0)\ndef main = spin(0.0)\n");
  await tab.click("#run");
  await tab.waitForSelector("#stop:visible");
  await tab.click("#stop");
  await tab.waitForSelector('body[data-state="done"]');
  assert.match(await result(tab), /stopped/);
  await tab.evaluate((hash) => (location.hash = hash), new URL(address("def main = [real(i) for i < 1000000000]\n"), page).hash);
  await tab.waitForSelector('body[data-checked="ok"]');
  await tab.click("#run");
  await tab.waitForFunction(() => /memory/.test(document.querySelector("main").textContent));
  const deep = "def f(x: Real, n: Int) -> Real = if n == 0 then x else 1.0 + f(x, n - 1)\ndef main = (f(1.0, 1000000), grad(fn x -> f(x, 100000))(1.0))\n";
  await tab.evaluate((hash) => (location.hash = hash), new URL(address(deep), page).hash);
  await tab.waitForFunction(() => document.querySelector(".cm-content").innerText.includes("1000000"));
  await tab.waitForSelector('body[data-checked="ok"]');
  await tab.click("#run");
  await tab.waitForFunction(() => document.getElementById("result").textContent.includes("(1000001.0, 1.0)"));
  await closed(tab);
});

test("recursion that a browser's stack cannot hold is told, and the next request is answered", async () => {
  const nested = "def nest(n: Int, x: Real) -> Real = if n == 0 then x else grad(fn y -> y * nest(n - 1, y))(x)\ndef main = nest(3000, 1.0)\n";
  const tab = await opened(nested);
  await tab.click("#run");
  await tab.waitForSelector('body[data-state="done"]', { timeout: 25_000 });
  assert.match(await tab.locator("main").innerText(), /too deep|memory|time is up/);
  const hash = new URL(address("def main = 1 + 1\n"), page).hash;
  await tab.evaluate((hash) => (location.hash = hash), hash);
  await tab.waitForSelector('body[data-checked="ok"]');
  await tab.click("#run");
  await tab.waitForFunction(() => /main : Int\s*2/.test(document.getElementById("result").innerText));
  await closed(tab);
});

test("a derivative opens with value, gradient and check at a point", async () => {
  const tab = await opened("def f(x: Real, y: [2]Real) -> Real = x * y[0] * y[1]\ndef f_at = (2.0, [3.0, 0.5])\ndef g(x: Real) -> Real = sq(x)\n");
  await tab.click("#tab-derivative");
  await tab.waitForSelector("#form-output .check");
  assert.equal(await tab.locator("#form option:checked").innerText(), "Value, gradient, check");
  const cells = () => tab.locator("#form-output td").allInnerTexts();
  assert.deepEqual(await cells(), ["x", "2", "1.5", "1.5", "y[0]", "3", "1", "1", "y[1]", "0.5", "6", "6"]);
  assert.match(await tab.locator("#form-output").innerText(), /value at \(2\.0, \[3\.0, 0\.5\]\)\s+3\.0/);
  assert.match(await tab.locator("#form-output .good").innerText(), /^Reverse and forward mode agree to the last digit, and differences agree to \de-\d+\.$/);
  await picture(tab, "gradient");
  await tab.selectOption("#name", "g");
  await tab.waitForFunction(() => /a point of ours/.test(document.getElementById("form-output").textContent));
  assert.deepEqual(await cells(), ["x", "1", "2", "2"]);
  await tab.fill("#at", "3.0");
  await tab.keyboard.press("Tab");
  await tab.waitForFunction(() => /9\.0/.test(document.getElementById("form-output").textContent));
  assert.deepEqual(await cells(), ["x", "3", "6", "6"]);
  await closed(tab);
});

test("derivatives are shown in the forms of the papers, and a Delta as a graph", async () => {
  const tab = await opened("def product(x: Real, y: Real) -> Real = x * sin(y)\ndef product_at = (2.0, 0.5)\n");
  await tab.click("#tab-derivative");
  await tab.waitForSelector("#form-output .check");
  const forms = await tab.locator("#form option").evaluateAll((all) => all.map((option) => option.value));
  for (const form of forms) {
    await tab.selectOption("#form", form);
    await tab.waitForFunction((form) => document.getElementById("form-output").dataset.form === form, form);
    const shown = await tab.locator("#form-output").innerText();
    assert.ok(shown.length > 20 && !/error\[/.test(shown), `${form}: ${shown}`);
  }
  await tab.selectOption("#form", "graph");
  await tab.waitForSelector("svg.graph");
  const graph = await tab.locator("svg.graph").evaluate((svg) => svg.textContent);
  // By y: x cos(y), by x: sin(y).
  assert.match(graph, /y = 0\.5∂ 1\.7552/);
  assert.match(graph, /x = 2∂ 0\.47943/);
  await tab.fill("#at", "(1.0, 0.0)");
  await tab.keyboard.press("Tab");
  await tab.waitForFunction(() => /y = 0∂ 1/.test(document.querySelector("svg.graph")?.textContent));
  await picture(tab, "graph");
  await closed(tab);
});

test("arrays of records are tables", async () => {
  const tab = await opened("def main = [{x = real(i), name = show(i)} for i < 3]\n");
  await tab.click("#run");
  await tab.waitForSelector("#result table");
  assert.deepEqual(await tab.locator("#result th").allInnerTexts(), ["name", "x"]);
  assert.deepEqual(await tab.locator("#result tr").nth(2).locator("td").allInnerTexts(), ["1", "1.0"]);
  await closed(tab);
});

/** What the image of a plot shows, each by the words of its texts and how many paths it has. */
const drawn = (tab) =>
  tab.locator("#result img.drawing").evaluateAll((all) =>
    all.map((image) => {
      const svg = decodeURIComponent(image.src.slice(image.src.indexOf(",") + 1));
      const page = new DOMParser().parseFromString(svg, "image/svg+xml");
      return {
        words: [...page.querySelectorAll("text")].map((text) => text.textContent),
        strokes: [...page.querySelectorAll("path")].map((path) => path.getAttribute("stroke")),
        natural: image.naturalWidth,
        wide: image.getBoundingClientRect().width,
        complete: image.complete,
      };
    }),
  );

const PLOTS = `import plot

def times = linspace(0.0, 6.0, 25)
def measured = [exp(-0.3 * t) * cos(2.0 * t) + 0.05 * sin(40.0 * t) for t in times]

def main =
  let fit = plot.curve(fn t -> exp(-0.3 * t) * cos(2.0 * t), 0.0, 6.0) |> plot.name("fit", _) in
  {
    rate = 0.3,
    motion = plot.layers([fit, plot.points(times, measured) |> plot.name("measured", _)])
      |> plot.axes("time (s)", "angle (rad)", _)
      |> plot.title("Damped oscillation", _),
    others = list[plot.histogram(8, measured), plot.grid(2, [fit, plot.heatmap([[1.0, 2.0], [3.0, 4.0]])])]
  }
`;

test("plots in a value are drawn one below another", async () => {
  for (const [view, size, scheme] of OTHERS) {
    const name = `plots-${view}`;
    const tab = await opened(PLOTS, page, size, scheme);
    await tab.click("#run");
    await tab.waitForSelector('body[data-state="done"]');
    assert.match(await result(tab), /motion = <plot "Damped oscillation": line "fit" of 201 points, 25 points "measured">/);
    assert.deepEqual(await tab.locator("#result figcaption").allInnerTexts(), ["motion", "others.0", "others.1"]);
    assert.equal(await tab.locator("#result img").first().getAttribute("alt"), 'plot "Damped oscillation": line "fit" of 201 points, 25 points "measured"');
    await tab.waitForFunction(() => [...document.querySelectorAll("#result img")].every((image) => image.naturalWidth > 0));
    const [motion, histogram, grid] = await drawn(tab);
    for (const word of ["Damped oscillation", "time (s)", "angle (rad)", "fit", "measured"]) {
      assert.ok(motion.words.includes(word), `${word} in ${motion.words}`);
    }
    // The curve and the points have colours of their own, beside axes and grid.
    assert.ok(new Set(motion.strokes).size >= 4, String(motion.strokes));
    const room = await tab.locator("#result").evaluate((result) => result.clientWidth);
    for (const { natural, wide } of [motion, histogram]) {
      assert.ok(natural <= room && natural >= 300 && wide === natural, `${wide} of ${natural} in ${room}`);
    }
    assert.ok(grid.wide >= 480, `${grid.wide}`);
    await fits(tab, name);
    await picture(tab, name);
    await tab.locator("#result figure").last().scrollIntoViewIfNeeded();
    await picture(tab, `${name}-below`);
    await closed(tab);
  }
});

test("a plot that cannot be drawn is told", async () => {
  const tab = await opened('import plot\ndef main = plot.line([0.0, 1.0], [2.0, 3.0]) |> plot.color("plaid", _)\n');
  await tab.click("#run");
  await tab.waitForSelector('body[data-state="done"]');
  const said = `${await below(tab)} ${await result(tab)}`;
  assert.match(said, /2:5\s*error\[plot\] the plot cannot be drawn: layer 1 \(line\) has the colour "plaid", which is none of blue, orange/);
  assert.match(said, /<plot: line of 2 points>/);
  assert.equal(await tab.locator("#result img").count(), 0);
  await picture(tab, "plot-wrong");
  await closed(tab);
});

test("nothing is wider than a phone", async () => {
  const wide = `def main = {rows = [[real(i * j) / 7.0 for j < 30] for i < 4], word = "${"long".repeat(60)}"}\n`;
  const table = "def main = [{a_long_name = real(i), another_long_name = real(i), a_third_long_name = show(i), last = i} for i < 3]\n";
  const f = "def f(first: Real, others: [3]Real) -> [2]Real = [first * sum(others), sin(first)]\n";
  for (const [name, text] of [["record", wide], ["table", table], ["derivative", f]]) {
    const tab = await opened(text, page, PHONE);
    await tab.click(name === "derivative" ? "#tab-derivative" : "#run");
    await tab.waitForSelector(name === "derivative" ? "#form-output .check" : 'body[data-state="done"]');
    await fits(tab, name);
    await picture(tab, `phone-${name}`);
    await closed(tab);
  }
});

test("the keyboard alone reaches everything", async () => {
  const tab = await opened("def f(x: Real) = x * x\ndef g = 1.0\ndef main = f(3.0)\n");
  const active = () => tab.evaluate(() => document.activeElement.id || document.activeElement.className);
  const seen = [];
  for (let i = 0; i < 12 && !(await active()).includes("cm-content"); i++) {
    await tab.keyboard.press("Tab");
    seen.push(await active());
  }
  for (const id of ["examples", "run", "entry", "format", "share"]) assert.ok(seen.includes(id), `${id} of ${seen}`);
  await run(tab);
  assert.match(await result(tab), /9\.0/);
  await tab.keyboard.press("Escape");
  await tab.keyboard.press("Tab");
  assert.equal(await active(), "tab-result");
  await tab.keyboard.press("ArrowRight");
  assert.equal(await active(), "tab-derivative");
  await tab.keyboard.press("Tab");
  assert.equal(await active(), "name");
  await closed(tab);
});

test("the book opens its programs in the playground", async () => {
  const tab = await context.newPage();
  await tab.setViewportSize(WIDE);
  await tab.goto(new URL("../dist/book/tutorial.html", import.meta.url).href);
  await picture(tab, "book");
  await tab.locator("a.try").nth(2).click();
  await tab.waitForSelector('body[data-state="ready"]');
  assert.match(await tab.locator(".cm-content").innerText(), /def main/);
  await tab.close();
});

test("the book is searched, by headings and by what the library has", async () => {
  const tab = await context.newPage();
  for (const [name, size, colorScheme] of OTHERS) {
    await tab.setViewportSize(size);
    await tab.emulateMedia({ colorScheme });
    await tab.goto(new URL("../dist/book/tutorial.html", import.meta.url).href);
    assert.equal(await tab.locator("#contents[open]").count(), size === WIDE ? 1 : 0, name);
    await tab.keyboard.press("/");
    await tab.keyboard.type("least squares");
    await tab.waitForSelector('#found[data-words="least squares"]');
    const found = await tab.locator("#found").innerText();
    // As `diffeo doc least squares` has it.
    assert.match(found, /In the book[^]*In the library[^]*optim\.levenberg_marquardt\(/);
    await fits(tab, name);
    await picture(tab, `search-${name}`);
    await tab.fill("#search", "");
    await tab.waitForSelector("#found", { state: "hidden" });
  }
  await tab.locator("#contents summary").click();
  await tab.locator("#contents a", { hasText: "Optimisation" }).click();
  await tab.waitForURL(/optim\.html/);
  await tab.close();
});

test("no page of the book is wider than a phone", async () => {
  const tab = await context.newPage();
  await tab.setViewportSize(PHONE);
  const folder = new URL("../dist/book/", import.meta.url);
  for (const name of readdirSync(folder).filter((name) => name.endsWith(".html"))) {
    await tab.goto(new URL(name, folder).href);
    await fits(tab, name);
  }
  await picture(tab, "book-phone");
  await tab.close();
});

test("no page asks for anything outside of its folder", async () => {
  const tab = await context.newPage();
  const asked = [];
  tab.on("request", (request) => asked.push(request.url()));
  await tab.goto(page);
  await tab.waitForSelector('body[data-state="done"]');
  await tab.goto(new URL("../dist/book/index.html", import.meta.url).href);
  await tab.fill("#search", "gradient");
  await tab.waitForSelector("#found[data-words]");
  const own = new URL("../dist/", import.meta.url).href;
  assert.deepEqual(asked.filter((url) => !url.startsWith(own) && !/^(?:blob|data):/.test(url)), []);
  await tab.close();
  assert.ok(fileURLToPath(own).endsWith("dist/"));
});
