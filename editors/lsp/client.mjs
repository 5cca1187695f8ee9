// A client of `diffeo lsp`: open texts, as an editor has them, and what the server says of them.

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import {
  createProtocolConnection,
  DidChangeTextDocumentNotification,
  DidCloseTextDocumentNotification,
  DidOpenTextDocumentNotification,
  ExitNotification,
  InitializedNotification,
  InitializeRequest,
  PublishDiagnosticsNotification,
  ShutdownRequest,
  StreamMessageReader,
  StreamMessageWriter,
  TextDocumentSyncKind,
  WorkspaceSymbolRequest,
} from "vscode-languageserver-protocol/node";
import { TextDocument } from "vscode-languageserver-textdocument";

export class Client {
  #connection;
  #server;
  #told = new Map();
  /** By address, the texts that are open. */
  open = new Map();

  /** A server that has said what it can do. */
  static async start(program, folder) {
    const client = new Client();
    client.#server = spawn(program, ["lsp"], { cwd: folder, stdio: ["pipe", "pipe", "inherit"] });
    client.ended = new Promise((resolve) => client.#server.on("exit", (code) => resolve(code)));
    const { stdin, stdout } = client.#server;
    const connection = createProtocolConnection(new StreamMessageReader(stdout), new StreamMessageWriter(stdin));
    client.#connection = connection;
    connection.onNotification(PublishDiagnosticsNotification.type, (told) => client.#told.set(told.uri, told));
    connection.listen();
    const { capabilities } = await connection.sendRequest(InitializeRequest.type, {
      processId: process.pid,
      rootUri: null,
      capabilities: { textDocument: { publishDiagnostics: { versionSupport: true, relatedInformation: true } } },
    });
    if (capabilities.textDocumentSync.change !== TextDocumentSyncKind.Incremental) {
      throw new Error("the server takes whole texts alone");
    }
    await connection.sendNotification(InitializedNotification.type, {});
    return client;
  }

  /** The memory of the server in bytes, where the system tells it. */
  memory() {
    try {
      const status = readFileSync(`/proc/${this.#server.pid}/status`, "utf8");
      return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)[1]) * 1024;
    } catch {
      return null;
    }
  }

  text(uri) {
    return this.open.get(uri);
  }

  async begin(uri, text) {
    this.open.set(uri, TextDocument.create(uri, "diffeo", 1, text));
    const textDocument = { uri, languageId: "diffeo", version: 1, text };
    await this.#connection.sendNotification(DidOpenTextDocumentNotification.type, { textDocument });
  }

  async end(uri) {
    this.open.delete(uri);
    await this.#connection.sendNotification(DidCloseTextDocumentNotification.type, { textDocument: { uri } });
  }

  /** Changes a text: each change is of the text that the ones before it leave, as the protocol has it. */
  async change(uri, contentChanges) {
    const document = this.open.get(uri);
    const version = document.version + 1;
    TextDocument.update(document, contentChanges, version);
    await this.#connection.sendNotification(DidChangeTextDocumentNotification.type, {
      textDocument: { uri, version },
      contentChanges,
    });
  }

  /** The answer to a request about a text. */
  ask(method, uri, more = {}) {
    return this.#connection.sendRequest(`textDocument/${method}`, { textDocument: { uri }, ...more });
  }

  /** The messages about a text as it is now. All that was sent before a request is dealt with before it. */
  async diagnostics(uri) {
    await this.#connection.sendRequest(WorkspaceSymbolRequest.type, { query: "no such name" });
    const { version, diagnostics } = this.#told.get(uri);
    if (version !== this.open.get(uri).version) {
      throw new Error(`messages about version ${version} of ${uri}, which is at ${this.open.get(uri).version}`);
    }
    return diagnostics;
  }

  /** Ends the server as an editor does; its exit status. */
  async stop() {
    await this.#connection.sendRequest(ShutdownRequest.type);
    await this.#connection.sendNotification(ExitNotification.type);
    return this.ended;
  }

  kill() {
    this.#server.kill("SIGKILL");
  }
}
