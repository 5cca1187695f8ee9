// The WebAssembly module without a browser: the examples run, and answers are those that the command line gives.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { examples } from "../examples.mjs";

const script = readFileSync(new URL("../dist/engine.js", import.meta.url), "utf8");
const packed = /="([^"]*)"/.exec(script)[1];
const module = new WebAssembly.Module(gunzipSync(Buffer.from(packed, "base64")));

function engine(told = []) {
  const bytes = (at, length) => new Uint8Array(exports.memory.buffer, at, length);
  const text = (at, length) => new TextDecoder().decode(bytes(at, length));
  const page = {
    now: () => performance.now() / 1000,
    tell: (at, length) => told.push(text(at, length)),
    panicked: (at, length) => assert.fail(text(at, length)),
  };
  const { exports } = new WebAssembly.Instance(module, { page });
  exports.start();
  return (request) => {
    const written = new TextEncoder().encode(JSON.stringify(request));
    const at = exports.room(written.length);
    bytes(at, written.length).set(written);
    const length = exports.answer();
    return JSON.parse(text(exports.text(), length));
  };
}

test("every example runs to a value, without errors", () => {
  const ask = engine();
  const all = examples().flatMap(({ programs }) => programs);
  assert.ok(all.length > 20, `${all.length} examples`);
  for (const { name, text } of all) {
    const { values, messages } = ask({ do: "run", text, seconds: 20, bytes: 1 << 30 });
    assert.deepEqual(messages.filter(({ severity }) => severity === "error"), [], name);
    assert.equal(values.length, 1, name);
    assert.ok(values[0].text.length > 0 && values[0].type.length > 0, name);
  }
});

test("plots beside what is run are named, and an entry is run alone", () => {
  const ask = engine();
  const text = "import plot\ndef picture = plot.hline(1.0)\ndef a = 1\ndef f(x: Real) = plot.hline(x)\ndef main = 2.0\n";
  const of = (entry) => ask({ do: "run", text, entry, seconds: 5, bytes: 1 << 28 });
  const names = ({ values }) => values.map(({ name }) => name);
  assert.deepEqual([names(of()), of().plots], [["main"], ["picture"]]);
  assert.deepEqual([names(of("picture")), of("picture").plots], [["picture"], []]);
  assert.equal(of("picture").values[0].pictures.length, 1);
  assert.equal(of("none").messages[0].severity, "error");
});

test("words lead to entries as they do by `diffeo doc`", () => {
  const ask = engine();
  const names = (words) => ask({ do: "doc", words }).found.map(({ module, name }) => `${module}.${name}`);
  assert.equal(names("least squares with bounds")[0], "optim.levenberg_marquardt_between");
  assert.equal(names("linalg.solve")[0], "linalg.solve");
  assert.deepEqual(names("zzzzzz"), []);
});

test("a run says what it prints, where it stops, and what a value is", () => {
  const told = [];
  const ask = engine(told);
  const text = 'def a = trace("a", 1.5) * 2.0\ndef f(x: Real) = x\ndef b = [1, 2][a |> round]\n';
  const { values, messages, lines } = ask({ do: "run", text, seconds: 5, bytes: 1 << 28 });
  assert.deepEqual(values.map(({ name, type, text }) => [name, type, text]), [["a", "Real", "3.0"]]);
  assert.deepEqual(lines, ["a: 1.5"]);
  assert.deepEqual(told, ["a: 1.5"]);
  assert.equal(messages.length, 1);
  assert.equal(messages[0].code, "index-out-of-bounds");
  assert.deepEqual(messages[0].range.start, { line: 2, character: 8 });
});

test("a run ends within its time", () => {
  const ask = engine();
  const start = performance.now();
  const text = "def spin(x: Real) -> Real = spin(x + 1.0)\ndef main = spin(0.0)\n";
  const { values, messages } = ask({ do: "run", text, seconds: 0.5, bytes: 1 << 28 });
  assert.ok(performance.now() - start < 5000);
  assert.deepEqual(values, []);
  assert.equal(messages[0].code, "timeout");
});

test("requests that are none are answered", () => {
  const ask = engine();
  assert.match(ask({}).error, /no text/);
  assert.match(ask({ do: "fly", text: "" }).error, /no request `fly`/);
  assert.match(ask({ do: "show", text: "def f(x: Real) = x", form: "x", name: "f" }).error, /no form `x`/);
  assert.equal(ask({ do: "lsp", text: "", method: "textDocument/none", params: {} }).error, "there is no textDocument/none");
});
