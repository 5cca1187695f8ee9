// The built extension in a stand-in for VS Code that notes what is asked of it.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import Module, { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { root } from "./grammar.mjs";

const commands = new Map();
const tasks = [];
const asked = [];
const answers = [];
const program = { text: "def f(x: Real) = x\ndef g(x) = x\ndef f_at = 1.0\n", saved: 0 };

/** Anything: a class, a function and an object, so that the language client loads. */
function anything() {
  const target = class {};
  return new Proxy(target, {
    get: (_, key) =>
      key === "prototype" ? target.prototype : key === "then" || key === Symbol.toPrimitive ? undefined : anything(),
    apply: () => anything(),
    construct: () => anything(),
  });
}

class Uri {
  constructor(path) {
    this.scheme = "file";
    this.fsPath = path;
  }
  static parse(text) {
    return new Uri(text.replace("file://", ""));
  }
}

const document = {
  uri: new Uri("/my models/model.deo"),
  languageId: "diffeo",
  isDirty: true,
  isUntitled: false,
  getText: () => program.text,
  save: async () => Boolean((program.saved += 1)),
};

const vscode = {
  Uri,
  Task: class {
    constructor(definition, scope, name, source, execution, matcher) {
      Object.assign(this, { definition, scope, name, source, execution, matcher });
    }
  },
  ProcessExecution: class {
    constructor(process, args, options) {
      Object.assign(this, { process, args, options });
    }
  },
  TaskScope: { Workspace: 2 },
  TaskPanelKind: { Dedicated: 2 },
  commands: { registerCommand: (id, run) => commands.set(id, run) && { dispose() {} } },
  tasks: { executeTask: async (task) => tasks.push(task) },
  workspace: new Proxy(
    {
      openTextDocument: async () => document,
      getWorkspaceFolder: () => undefined,
      getConfiguration: () => ({ get: (key) => ({ path: "/opt/diffeo", "run.arguments": ["--json"] })[key] }),
    },
    { get: (target, key) => target[key] ?? anything() },
  ),
  window: new Proxy(
    {
      activeTextEditor: { document, selection: { active: { line: 1 } } },
      showQuickPick: async (names) => asked.push(names) && answers.shift(),
      showInputBox: async ({ title }) => asked.push(title) && answers.shift(),
      showErrorMessage: async () => undefined,
    },
    { get: (target, key) => target[key] ?? anything() },
  ),
};

const path = join(root, "dist/extension.js");
assert.ok(existsSync(path), "run `npm run build` first");
const require = createRequire(path);
const load = Module._load;
Module._load = (name, ...rest) =>
  name === "vscode" ? new Proxy(vscode, { get: (t, key) => t[key] ?? anything() }) : load(name, ...rest);
const extension = require(path);
Module._load = load;
void extension.activate({ subscriptions: [] }).catch(() => {});

const arguments_ = () => tasks.at(-1).execution.args;

test("every command of the manifest is registered", () => {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  for (const { command } of manifest.contributes.commands) assert.ok(commands.has(command), command);
});

test("a file is saved and run", async () => {
  await commands.get("diffeo.run")();
  assert.equal(program.saved, 1);
  assert.deepEqual(arguments_(), ["run", "/my models/model.deo", "--json"]);
  assert.equal(tasks.at(-1).execution.process, "/opt/diffeo");
  assert.equal(tasks.at(-1).execution.options.cwd, "/my models");
  assert.equal(tasks.at(-1).matcher, "$diffeo");
});

test("a code lens checks the function that it names, at the program's point", async () => {
  await commands.get("diffeo.checkDerivative")("file:///my models/model.deo", "f");
  assert.deepEqual(arguments_(), ["grad", "/my models/model.deo", "f", "--check"]);
  assert.deepEqual(asked, []);
});

test("the palette asks for the function at the cursor, and for a point", async () => {
  answers.push("g", " [1.0, 2.0] ");
  await commands.get("diffeo.showDerivative")();
  assert.deepEqual(asked[0], ["g", "f"]);
  assert.match(asked[1], /differentiate g/);
  assert.deepEqual(arguments_(), ["grad", "/my models/model.deo", "g", "--at", "[1.0, 2.0]"]);
});

test("without an answer nothing runs", async () => {
  const before = tasks.length;
  answers.push(undefined);
  await commands.get("diffeo.checkDerivative")();
  assert.equal(tasks.length, before);
});
