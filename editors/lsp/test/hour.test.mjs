// The language server through a recorded hour of edits, one a second, which are sent as fast as they are answered. After
// each few of them its messages are those of `diffeo check` on the same text; in between it answers what editors ask.
//
// EDITS is how many edits there are (3600 are an hour), EVERY after how many the messages are compared, SEED the seed,
// DIFFEO the program.

import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { groups } from "../../tree-sitter-diffeo/test/programs.mjs";
import { checked, shown } from "../check.mjs";
import { Client } from "../client.mjs";
import { large } from "../large.mjs";
import { Dice, Person } from "../person.mjs";

const EDITS = Number(process.env.EDITS ?? 400);
const EVERY = Number(process.env.EVERY ?? 8);
const SEED = Number(process.env.SEED ?? 1);

/** How many edits a text is open for. */
const SITTING = 120;

const root = fileURLToPath(new URL("../../../", import.meta.url));
const built = ["release", "quick"].map((how) => join(root, "target", how, "diffeo"));
const program = process.env.DIFFEO ?? built.find(existsSync);
const skip = program ? false : "there is no program `diffeo` in target/";

const folder = mkdtempSync(join(tmpdir(), "diffeo-hour-"));
after(() => rmSync(folder, { recursive: true, force: true }));
const address = (name) => pathToFileURL(join(folder, name)).href;

/** Programs of the repository that a person may work on; those that are `right` have no errors. */
const all = [...groups.files, ...groups.cases, ...groups["blocks of the book"]].filter(
  ({ text }) => text.length > 200 && text.length < 12_000,
);
const programs = all.map(({ text }) => text);
const right = all.filter(({ correct }) => correct).map(({ text }) => text);

/** Imports of all of the library. */
const library = groups.files
  .map(({ name }) => /^std\/(\w+)\.deo$/.exec(name)?.[1])
  .filter((name) => name && name !== "prelude")
  .map((name) => `import ${name}\n`)
  .join("");

const milliseconds = (times) => {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (part) => (sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? 0).toFixed(1);
  return `median ${at(0.5)} ms, 95 % ${at(0.95)} ms, most ${at(1)} ms of ${sorted.length}`;
};
const mib = (bytes) => (bytes === null ? "?" : `${(bytes / 2 ** 20).toFixed(1)} MiB`);

/** Each position of an answer is one of the text. */
function positions(answer, document, what) {
  if (Array.isArray(answer)) return answer.forEach((item) => positions(item, document, what));
  if (answer === null || typeof answer !== "object") return;
  if (typeof answer.line === "number" && typeof answer.character === "number") {
    const same = document.positionAt(document.offsetAt(answer));
    assert.deepEqual({ line: same.line, character: same.character }, { line: answer.line, character: answer.character }, what);
  }
  if (answer.uri && answer.uri !== document.uri) return;
  Object.values(answer).forEach((part) => positions(part, document, what));
}

/** Semantic tokens are in order, within their lines, and do not overlap. */
function tokens(data, document) {
  let [line, character, end] = [0, 0, 0];
  for (let i = 0; i < data.length; i += 5) {
    const [down, right, length] = data.slice(i, i + 3);
    line += down;
    if (down) end = 0;
    character = down ? right : character + right;
    assert.ok(character >= end, `tokens overlap at ${line}:${character}`);
    end = character + length;
    const width = document.getText({ start: { line, character: 0 }, end: { line: line + 1, character: 0 } }).length;
    assert.ok(length > 0 && end <= width, `a token beyond line ${line}: ${end} > ${width}`);
  }
}

test("an hour of edits", { skip }, async (t) => {
  const client = await Client.start(program, folder);
  const dice = new Dice(SEED);
  // What was done last, for a failure to be seen.
  const trail = [];
  const note = (what) => {
    trail.push(what);
    if (trail.length > 12) trail.shift();
  };
  const memory = [];
  let [edits, compared, asked, wrong, last] = [0, 0, 0, 0, 0];

  const compare = async (person) => {
    const { uri } = person.document;
    const found = await client.diagnostics(uri);
    const expected = await checked(program, folder, client, uri);
    assert.deepEqual(shown(found), expected, "the messages are those of `diffeo check`");
    compared += 1;
    wrong += found.length > 0;
    if (!found.length) person.good = person.text;
  };

  /** The answer to a request; a refusal is an answer where it is one to the user. */
  const ask = async (uri, method, more) => {
    asked += 1;
    let answer;
    try {
      answer = await client.ask(method, uri, more);
    } catch (error) {
      if (method === "rename" && /nothing to rename|is renamed there/.test(error.message)) return { changes: {} };
      throw new Error(`${method} ${JSON.stringify(more.position)}: ${error.message}`);
    }
    const document = client.text(uri);
    if (answer?.data) tokens(answer.data, document);
    else positions(answer, document, method);
    return answer;
  };

  const sitting = async (number) => {
    const uri = address(`p${number}.deo`);
    const others = [...client.open.keys()];
    if (others.length > 2) await client.end(others.shift());
    // Some import another text that is open, as it is by then.
    const name = others.length && dice.chance(0.3) && /(\w+)\.deo$/.exec(others.at(-1))[1];
    const text = dice.of(dice.chance(0.8) ? right : programs);
    await client.begin(uri, name ? `import ${name}\n${text}` : text);
    const document = client.text(uri);
    const person = new Person(dice, document, programs);
    await compare(person);
    const until = Math.min(edits + SITTING, EDITS);
    while (edits < until) {
      const habit = person.habit();
      let answer;
      for (let step = habit.next(); !step.done && edits < EDITS; step = habit.next(answer)) {
        answer = undefined;
        const { value } = step;
        if (value.ask) answer = await ask(uri, value.ask, value.more);
        else if (value.diagnostics) answer = await client.diagnostics(uri);
        else {
          note(JSON.stringify(value));
          await client.change(uri, value);
          edits += 1;
          if (edits % EVERY === 0) await compare(person);
          if (dice.chance(0.3)) {
            const { method, more } = person.question();
            note(`${method} ${JSON.stringify(more.position)}`);
            await ask(uri, method, more);
          }
          if (edits - last >= EDITS / 20) {
            await client.diagnostics(uri);
            memory.push(client.memory());
            last = edits;
          }
        }
      }
    }
  };

  try {
    // The server keeps what it knows of the library.
    await client.begin(address("library.deo"), library);
    assert.deepEqual(await client.diagnostics(address("library.deo")), []);
    await client.end(address("library.deo"));
    memory.push(client.memory());
    for (let number = 0; edits < EDITS; number++) await sitting(number);
    assert.equal(await client.stop(), 0);
  } catch (error) {
    const [uri, document] = [...client.open].at(-1) ?? [];
    const kept = join(tmpdir(), "diffeo-hour-failed.deo");
    if (document) writeFileSync(kept, document.getText());
    console.log(`after ${edits} edits of ${uri} (seed ${SEED}); the text is in ${kept}:\n${trail.join("\n")}`);
    throw error;
  } finally {
    client.kill();
  }
  t.diagnostic(`${edits} edits, ${compared} comparisons with \`diffeo check\` (${wrong} with messages), ${asked} requests`);
  const at = (part) => memory[Math.floor(part * (memory.length - 1))];
  const [first, third, middle, end] = [0, 1 / 3, 1 / 2, 1].map(at);
  t.diagnostic(`memory of the server: ${mib(first)} at the start, ${mib(middle)} in the middle, ${mib(end)} at the end`);
  if (process.env.MEMORY) t.diagnostic(memory.map(mib).join(" "));
  assert.ok(wrong > compared / 20 && wrong < compared, "some texts are wrong, and some are not");
  if (end !== null) assert.ok(end < 1.15 * third + 2 ** 22, `memory grows: ${memory.map(mib)}`);
});

test("hover and completion in a file of 1,000 lines", { skip }, async (t) => {
  const client = await Client.start(program, folder);
  const uri = address("large.deo");
  const text = large(1000);
  await client.begin(uri, text);
  assert.deepEqual(await client.diagnostics(uri), []);
  const document = client.text(uri);
  const dice = new Dice(SEED);
  const times = { hover: [], completion: [], "hover after an edit": [], "completion after an edit": [] };
  const timed = async (kind, method, position) => {
    const start = performance.now();
    const answer = await client.ask(method, uri, { position });
    times[kind].push(performance.now() - start);
    return answer;
  };
  let offered = 0;
  for (let i = 0; i < Math.min(EDITS / 4, 300); i++) {
    const names = [...document.getText().matchAll(/\b[a-z]\w+\b/g)];
    const at = document.positionAt(dice.of(names).index + 1);
    const change = (text, from, to) => client.change(uri, [{ range: { start: from, end: to }, text }]);
    await change("x", at, at);
    await timed("hover after an edit", "hover", at);
    const next = { line: at.line, character: at.character + 1 };
    await change("", at, next);
    const found = await timed("completion after an edit", "completion", at);
    offered += found.items.length > 100;
    await timed("hover", "hover", document.positionAt(dice.of(names).index));
    await timed("completion", "completion", document.positionAt(dice.of(names).index + 2));
  }
  assert.deepEqual(await client.diagnostics(uri), []);
  assert.ok(offered > 0);
  client.kill();
  for (const [kind, all] of Object.entries(times)) {
    t.diagnostic(`${kind}: ${milliseconds(all)}`);
    // They take 20 ms at most on a machine that does nothing else; this is for one that is busy.
    assert.ok(all.sort((a, b) => a - b)[all.length >> 1] < 100, `${kind} takes too long`);
  }
});
