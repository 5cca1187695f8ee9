// A person at an editor, from a seed: types, mistypes, deletes, pastes, moves and undoes in a text, and asks for what
// editors ask. Everything is chosen by the seed and the answers of the server, so that a recording is the same each time.

/** Numbers from a seed, by the generator mulberry32. */
export class Dice {
  #state;

  constructor(seed) {
    this.#state = seed >>> 0;
  }

  /** A number from 0 to below 1. */
  next() {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }

  /** An integer from 0 to below `n`. */
  below(n) {
    return Math.floor(this.next() * n);
  }

  chance(p) {
    return this.next() < p;
  }

  of(list) {
    return list[this.below(list.length)];
  }

  /** One of the names, each as often as its weight says. */
  weighted(weights) {
    let at = this.next() * Object.values(weights).reduce((a, b) => a + b, 0);
    for (const [name, weight] of Object.entries(weights)) {
      at -= weight;
      if (at < 0) return name;
    }
    return Object.keys(weights)[0];
  }
}

const NAME = /[\p{L}_][\p{L}\p{N}_']*/gu;

/** What a person does, and how often. */
const HABITS = {
  write: 7,
  word: 10,
  lines: 6,
  paste: 8,
  retype: 12,
  sign: 14,
  move: 4,
  comment: 4,
  undo: 10,
  redo: 3,
  format: 3,
  rename: 5,
  fix: 5,
  strange: 6,
  everywhere: 3,
  several: 3,
  whole: 1,
};

/** What editors ask of their own accord after an edit, and how often. */
const QUESTIONS = {
  hover: 10,
  completion: 8,
  signatureHelp: 3,
  documentHighlight: 4,
  definition: 2,
  references: 2,
  prepareRename: 1,
  documentSymbol: 3,
  foldingRange: 2,
  selectionRange: 2,
  inlayHint: 2,
  codeAction: 3,
  codeLens: 2,
  "semanticTokens/full": 3,
  "semanticTokens/range": 2,
  formatting: 2,
};

/** Pieces that are hard for somebody: signs of two units, of no width, other line ends, unfinished texts. */
const STRANGE = ["😀", '"µ → ∂f/∂x 😀"', "\r\n", "\t", "e\u0301", "\u200b", '"', "{", "((((", "\\", "0x", "1e999", "é'", "def ", "\u0000", "]"];

export class Person {
  /** `texts` are programs to copy from. */
  constructor(dice, document, texts) {
    this.dice = dice;
    this.document = document;
    this.texts = texts;
    this.cursor = 0;
    /** Groups of changes that undo what was done, the last one last. */
    this.past = [];
    this.future = [];
    /** The text as it was when nothing was wrong with it. */
    this.good = null;
  }

  get text() {
    return this.document.getText();
  }

  /** A change of the text between two offsets. */
  #change(from, to, text) {
    return { range: { start: this.document.positionAt(from), end: this.document.positionAt(to) }, text };
  }

  /** An offset that is a position, too: there is none within the end of a line. */
  #position(at) {
    return this.document.offsetAt(this.document.positionAt(at));
  }

  /** An edit, as the changes of one notification; what undoes it is kept. */
  *#edit(start, end, text) {
    const [from, to] = [this.#position(start), this.#position(end)];
    this.past.push([{ from, to: from + text.length, text: this.text.slice(from, to) }]);
    this.future = [];
    this.cursor = from + text.length;
    yield [this.#change(from, to, text)];
  }

  /** Edits of one text at several places, later places first. */
  *#edits(all) {
    const sorted = [...all].sort((a, b) => b.from - a.from);
    if (!sorted.length) return;
    const undo = [];
    let shift = 0;
    for (const { from, to, text } of [...sorted].reverse()) {
      undo.push({ from: from + shift, to: from + shift + text.length, text: this.text.slice(from, to) });
      shift += text.length - (to - from);
    }
    this.past.push(undo.reverse());
    this.future = [];
    yield sorted.map(({ from, to, text }) => this.#change(from, to, text));
  }

  /** Edits as an answer of the server has them. */
  *#apply(edits) {
    const at = (position) => this.document.offsetAt(position);
    yield* this.#edits((edits ?? []).map(({ range, newText }) => ({ from: at(range.start), to: at(range.end), text: newText })));
  }

  *#step(groups, other) {
    const group = groups.pop();
    if (!group) return;
    const back = [];
    let shift = 0;
    for (const { from, to, text } of [...group].reverse()) {
      back.push({ from: from + shift, to: from + shift + text.length, text: this.text.slice(from, to) });
      shift += text.length - (to - from);
    }
    other.push(back.reverse());
    this.cursor = group[0].from + group[0].text.length;
    yield group.map(({ from, to, text }) => this.#change(from, to, text));
  }

  #lines() {
    const starts = [0];
    for (let i = this.text.indexOf("\n"); i >= 0; i = this.text.indexOf("\n", i + 1)) starts.push(i + 1);
    return starts;
  }

  /** The offsets where a line begins, and where it ends, its end included; nothing beyond the last one. */
  #line(i) {
    const starts = this.#lines();
    return i < starts.length ? [starts[i], starts[i + 1] ?? this.text.length] : [];
  }

  #someLine() {
    return this.dice.below(this.#lines().length);
  }

  #names() {
    return [...this.text.matchAll(NAME)].map((found) => ({ name: found[0], from: found.index, to: found.index + found[0].length }));
  }

  /** A place between signs, not within one of two units. */
  #place() {
    let at = this.dice.below(this.text.length + 1);
    if (at > 0 && /[\udc00-\udfff]/.test(this.text[at] ?? "")) at -= 1;
    return this.#position(at);
  }

  /** Types a text sign by sign: with slips that are taken back, and what a completion offers. */
  *#type(text) {
    const signs = [...text];
    for (let i = 0; i < signs.length; i++) {
      if (this.dice.chance(0.04)) {
        const slips = this.dice.of(["e", "x", ")", "1", " ", ".", "aa", signs[i] + signs[i]]);
        for (const slip of slips) yield* this.#edit(this.cursor, this.cursor, slip);
        for (const _ of slips) yield* this.#edit(this.cursor - 1, this.cursor, "");
      }
      const word = /[\p{L}_][\p{L}\p{N}_]*$/u.exec(this.text.slice(0, this.cursor))?.[0] ?? "";
      const rest = /^[\p{L}\p{N}_]+/u.exec(signs.slice(i).join(""))?.[0] ?? "";
      if (word.length >= 2 && rest && this.dice.chance(0.3)) {
        const found = yield { ask: "completion", more: { position: this.document.positionAt(this.cursor) } };
        if (found?.items.some(({ label }) => label === word + rest)) {
          yield* this.#edit(this.cursor - word.length, this.cursor, word + rest);
          i += [...rest].length - 1;
          continue;
        }
      }
      // An editor puts the indentation of a new line in one edit.
      const indented = signs[i] === "\n" ? `\n${/^ */.exec(signs.slice(i + 1).join(""))[0]}` : signs[i];
      yield* this.#edit(this.cursor, this.cursor, indented);
      i += indented.length - signs[i].length;
    }
  }

  /** A definition of some program. */
  #definition() {
    const parts = this.dice.of(this.texts).split(/\n(?=def |type |import |## )/);
    return this.dice.of(parts).trim().slice(0, 150);
  }

  *write() {
    const starts = this.#lines().filter((at) => /^(?:def|type|import|#|$)/.test(this.text.slice(at, at + 6)));
    this.cursor = this.dice.of(starts.length ? starts : [0]);
    yield* this.#type(`${this.#definition()}\n`);
  }

  *word() {
    const names = this.#names();
    if (!names.length) return;
    const { from, to } = this.dice.of(names);
    if (this.dice.chance(0.5)) return yield* this.#edit(from, to, "");
    this.cursor = to;
    for (let left = to - from; left > 0; left--) yield* this.#edit(this.cursor - 1, this.cursor, "");
  }

  *lines() {
    const first = this.#someLine();
    const last = Math.min(first + this.dice.below(4), this.#lines().length - 1);
    yield* this.#edit(this.#line(first)[0], this.#line(last)[1], "");
  }

  *paste() {
    const lines = this.dice.of(this.texts).split("\n");
    const from = this.dice.below(lines.length);
    const text = lines.slice(from, from + 1 + this.dice.below(8)).join("\n");
    const at = this.dice.chance(0.8) ? this.#line(this.#someLine())[0] : this.#place();
    yield* this.#edit(at, at, this.dice.chance(0.1) ? text.replaceAll("\n", "\r\n") : `${text}\n`);
  }

  *retype() {
    const names = this.#names();
    if (!names.length) return;
    const { from, to } = this.dice.of(names);
    const other = this.dice.chance(0.5) ? this.dice.of(names).name : this.dice.of(["x", "total", "sin", "Real", "grad", "n"]);
    yield* this.#edit(from, to, other[0]);
    yield* this.#type(other.slice(1));
  }

  *sign() {
    const at = this.#place();
    if (this.dice.chance(0.5)) return yield* this.#edit(at, at, this.dice.of([..."()[]{}.,:=+-*|>\"# \n0x"]));
    const width = /[\ud800-\udbff]/.test(this.text[at] ?? "") ? 2 : 1;
    yield* this.#edit(at, Math.min(at + width, this.text.length), "");
  }

  *move() {
    const i = this.dice.below(Math.max(1, this.#lines().length - 1));
    const [from, middle] = this.#line(i);
    const to = this.#line(i + 1)[1];
    if (to === undefined) return;
    yield* this.#edit(from, to, this.text.slice(middle, to) + this.text.slice(from, middle));
  }

  *comment() {
    const [from] = this.#line(this.#someLine());
    const commented = this.text.startsWith("# ", from);
    yield* commented ? this.#edit(from, from + 2, "") : this.#edit(from, from, "# ");
  }

  *undo() {
    for (let i = 1 + this.dice.below(12); i > 0; i--) yield* this.#step(this.past, this.future);
  }

  *redo() {
    for (let i = 1 + this.dice.below(12); i > 0; i--) yield* this.#step(this.future, this.past);
  }

  /** Back to a text without errors. */
  *mend() {
    const [now, good] = [this.text, this.good];
    if (good === null || now === good) return;
    let [from, to] = [0, now.length];
    while (from < now.length && now[from] === good[from]) from += 1;
    while (from > 0 && now[from - 1] !== "\n") from -= 1;
    while (to > from && now[to - 1] === good[good.length - (now.length - to) - 1] && good.length - (now.length - to) > from) to -= 1;
    yield* this.#edit(from, to, good.slice(from, good.length - (now.length - to)));
  }

  *format() {
    yield* this.#apply(yield { ask: "formatting", more: { options: { tabSize: 2, insertSpaces: true } } });
    const again = yield { ask: "formatting", more: { options: { tabSize: 2, insertSpaces: true } } };
    if (again?.length) throw new Error("a text that is laid out is laid out anew");
  }

  *rename() {
    const names = this.#names();
    if (!names.length) return;
    const position = this.document.positionAt(this.dice.of(names).from);
    const range = yield { ask: "prepareRename", more: { position } };
    if (!range) return;
    const before = yield { diagnostics: true };
    const newName = `renamed${this.dice.below(1000)}`;
    const answer = yield { ask: "rename", more: { position, newName } };
    for (const edits of Object.values(answer.changes)) yield* this.#apply(edits);
    const after = yield { diagnostics: true };
    if (!before.length && after.length) throw new Error(`renaming to ${newName} breaks the program: ${after[0].message}`);
  }

  *fix() {
    const found = yield { diagnostics: true };
    if (!found.length) return;
    const { range } = this.dice.of(found);
    const actions = yield { ask: "codeAction", more: { range, context: { diagnostics: [] } } };
    if (!actions?.length) return;
    for (const edits of Object.values(this.dice.of(actions).edit.changes)) yield* this.#apply(edits);
  }

  *strange() {
    const at = this.#place();
    yield* this.#edit(at, at, this.dice.of(STRANGE));
  }

  /** A name changed at all places at once, as with several cursors. */
  *everywhere() {
    const names = this.#names();
    if (!names.length) return;
    const { name } = this.dice.of(names);
    const same = names.filter((other) => other.name === name).map(({ to }) => to);
    yield* this.#edits(same.map((at) => ({ from: at, to: at, text: "q" })));
    yield* this.#edits(same.map((at, i) => ({ from: at + i, to: at + i + 1, text: "2" })));
  }

  /** Changes of one notification that build on each other. */
  *several() {
    const at = this.#place();
    const whole = this.text;
    this.past.push([{ from: at, to: at + 3, text: "" }]);
    this.future = [];
    const start = this.document.positionAt(at);
    const next = { line: start.line, character: start.character + 1 };
    // "1", then "(1", then "(1)".
    yield [
      { range: { start, end: start }, text: "1" },
      { range: { start, end: start }, text: "(" },
      { range: { start: { ...next, character: next.character + 1 }, end: { ...next, character: next.character + 1 } }, text: ")" },
    ];
    if (this.text !== `${whole.slice(0, at)}(1)${whole.slice(at)}`) throw new Error("the changes are not those that were meant");
  }

  /** The whole text at once, as some editors send it. */
  *whole() {
    const text = this.text;
    const at = this.#place();
    const other = `${text.slice(0, at)} ${text.slice(at)}`;
    this.past.push([{ from: 0, to: other.length, text }]);
    this.future = [];
    yield [{ text: other }];
  }

  /** One thing that the person does: yields changes and requests, and takes answers. */
  *habit() {
    const weights = { ...HABITS };
    if (this.text.length > 16_000) Object.assign(weights, { write: 1, paste: 1, lines: 30 });
    if (this.text.length < 200) Object.assign(weights, { lines: 1, word: 1, paste: 20 });
    if (this.dice.chance(0.45)) yield* this.mend();
    yield* this[this.dice.weighted(weights)]();
  }

  /** What the editor asks after an edit. */
  question() {
    const method = this.dice.weighted(QUESTIONS);
    const names = this.#names();
    const somewhere = names.length && this.dice.chance(0.7) ? this.dice.of(names).from : this.#place();
    const at = ["completion", "signatureHelp"].includes(method) ? Math.min(this.cursor, this.text.length) : somewhere;
    const position = this.document.positionAt(at);
    const range = { start: position, end: this.document.positionAt(Math.min(at + 200, this.text.length)) };
    return {
      method,
      position,
      more: {
        position,
        positions: [position],
        range,
        context: method === "codeAction" ? { diagnostics: [] } : { includeDeclaration: true },
        options: { tabSize: 2, insertSpaces: true },
      },
    };
  }
}
