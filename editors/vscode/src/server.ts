/** The language server: `diffeo lsp`, on standard input and output. */

import * as vscode from "vscode";
import { ExecuteCommandRequest, LanguageClient, type ServerOptions, TransportKind } from "vscode-languageclient/node";

/** The program `diffeo` as the settings have it. */
export function program(scope?: vscode.Uri): string {
  return vscode.workspace.getConfiguration("diffeo", scope).get<string>("path")?.trim() || "diffeo";
}

export class Server {
  private client: LanguageClient | undefined;
  /** Starts and stops follow one another. */
  private last: Promise<void> = Promise.resolve();

  /** `commands` are those that this extension carries out itself, whatever the server offers. */
  constructor(private readonly commands: ReadonlySet<string>) {}

  start(): Promise<void> {
    return this.then(() => this.startNow());
  }

  stop(): Promise<void> {
    return this.then(() => this.stopNow());
  }

  restart(): Promise<void> {
    return this.then(async () => {
      await this.stopNow();
      await this.startNow();
    });
  }

  private then(step: () => Promise<void>): Promise<void> {
    this.last = this.last.then(step, step);
    return this.last;
  }

  private async startNow(): Promise<void> {
    const command = program();
    const run = { command, args: ["lsp"], transport: TransportKind.stdio };
    const options: ServerOptions = { run, debug: run };
    const client = new LanguageClient("diffeo", "Diffeo", options, {
      documentSelector: [{ scheme: "file", language: "diffeo" }, { scheme: "untitled", language: "diffeo" }],
    });
    this.leaveCommands(client);
    this.client = client;
    try {
      await client.start();
    } catch (error) {
      void this.explain(command, error);
    }
  }

  /** A command may be registered only once: what the server offers and the extension has stays the extension's. */
  private leaveCommands(client: LanguageClient): void {
    const feature = client.getFeature(ExecuteCommandRequest.method);
    const register = feature.register.bind(feature);
    feature.register = (data) => {
      const commands = data.registerOptions.commands.filter((c) => !this.commands.has(c));
      register({ ...data, registerOptions: { ...data.registerOptions, commands } });
    };
  }

  private async stopNow(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    try {
      await client?.dispose();
    } catch {
      // A server that never started cannot be stopped.
    }
  }

  private async explain(command: string, error: unknown): Promise<void> {
    const settings = "Open settings";
    const reason = error instanceof Error ? error.message : String(error);
    const answer = await vscode.window.showErrorMessage(
      `The language server \`${command} lsp\` did not start (${reason}). Is diffeo.path the path of the program diffeo?`,
      settings,
    );
    if (answer === settings) {
      await vscode.commands.executeCommand("workbench.action.openSettings", "diffeo.path");
    }
  }
}
