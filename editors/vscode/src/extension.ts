/** The extension: the language server's client, and commands. */

import * as vscode from "vscode";
import { checkDerivative, run, showDerivative } from "./commands";
import { Server } from "./server";

let server: Server | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  // The code lenses of the server name `checkDerivative` and `showDerivative`, with a file and a function.
  const commands: Record<string, (uri?: string | vscode.Uri, name?: string) => Promise<void>> = {
    "diffeo.run": run,
    "diffeo.checkDerivative": checkDerivative,
    "diffeo.showDerivative": showDerivative,
    "diffeo.restartServer": async () => server?.restart(),
  };
  for (const [id, command] of Object.entries(commands)) {
    context.subscriptions.push(
      vscode.commands.registerCommand(id, (uri?: unknown, name?: unknown) =>
        command(
          typeof uri === "string" || uri instanceof vscode.Uri ? uri : undefined,
          typeof name === "string" ? name : undefined,
        ),
      ),
    );
  }
  server = new Server(new Set(Object.keys(commands)));
  context.subscriptions.push(
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("diffeo.path")) void server?.restart();
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => void server?.restart()),
  );
  await server.start();
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}
