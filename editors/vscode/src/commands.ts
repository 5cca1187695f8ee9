/** Commands that run `diffeo` in a terminal, as tasks: so arguments need no quotes and messages become problems. */

import * as path from "node:path";
import * as vscode from "vscode";
import { functionAt, functions, hasPoint } from "./definitions";
import { program } from "./server";

/** Runs `diffeo` with these arguments in the terminal. */
async function execute(title: string, file: vscode.Uri, args: string[]): Promise<void> {
  const folder = vscode.workspace.getWorkspaceFolder(file);
  const cwd = folder?.uri.fsPath ?? path.dirname(file.fsPath);
  const task = new vscode.Task(
    { type: "diffeo", arguments: args },
    folder ?? vscode.TaskScope.Workspace,
    title,
    "diffeo",
    new vscode.ProcessExecution(program(file), args, { cwd }),
    "$diffeo",
  );
  task.presentationOptions = { panel: vscode.TaskPanelKind.Dedicated, clear: true, showReuseMessage: false };
  await vscode.tasks.executeTask(task);
}

/** The program to run, saved: the one given, or that of the active editor. */
async function saved(uri: string | vscode.Uri | undefined): Promise<vscode.TextDocument | undefined> {
  const given = typeof uri === "string" ? vscode.Uri.parse(uri) : uri;
  const document = given
    ? await vscode.workspace.openTextDocument(given)
    : vscode.window.activeTextEditor?.document;
  if (!document || document.languageId !== "diffeo") {
    void vscode.window.showErrorMessage("Open a Diffeo program (.deo) first.");
    return undefined;
  }
  if ((document.isUntitled || document.isDirty) && !(await document.save())) return undefined;
  if (document.uri.scheme !== "file") {
    void vscode.window.showErrorMessage("Only files on disk can be run.");
    return undefined;
  }
  return document;
}

export async function run(uri?: string | vscode.Uri): Promise<void> {
  const document = await saved(uri);
  if (!document) return;
  const further = vscode.workspace.getConfiguration("diffeo", document.uri).get<string[]>("run.arguments") ?? [];
  const file = document.uri.fsPath;
  await execute(`run ${path.basename(file)}`, document.uri, ["run", file, ...further]);
}

/** `diffeo grad FILE NAME`, with the point that the user gives where the program has none. */
async function grad(
  title: string,
  options: string[],
  uri: string | vscode.Uri | undefined,
  name: string | undefined,
): Promise<void> {
  const document = await saved(uri);
  if (!document) return;
  const text = document.getText();
  const entry = name ?? (await chosen(document));
  if (!entry) return;
  let point: string[] = [];
  if (!hasPoint(text, entry)) {
    const value = await vscode.window.showInputBox({
      title: `The point at which to differentiate ${entry}`,
      prompt: `JSON or a data file, such as 0.5 or [1.0, 2.0]. A definition ${entry}_at in the program makes this question unnecessary.`,
      ignoreFocusOut: true,
    });
    if (!value?.trim()) return;
    point = ["--at", value.trim()];
  }
  const file = document.uri.fsPath;
  await execute(`${title} ${entry}`, document.uri, ["grad", file, entry, ...options, ...point]);
}

/** The function to differentiate: the user's choice, with the one at the cursor first. */
async function chosen(document: vscode.TextDocument): Promise<string | undefined> {
  const text = document.getText();
  const all = functions(text);
  if (all.length === 0) {
    void vscode.window.showErrorMessage("This program defines no function.");
    return undefined;
  }
  const editor = vscode.window.activeTextEditor;
  const line = editor?.document === document ? editor.selection.active.line : 0;
  const here = functionAt(text, line)?.name;
  const names = all.map((f) => f.name).sort((a, b) => Number(b === here) - Number(a === here));
  return vscode.window.showQuickPick(names, { title: "The function to differentiate" });
}

export const checkDerivative = (uri?: string | vscode.Uri, name?: string) =>
  grad("check derivative of", ["--check"], uri, name);

export const showDerivative = (uri?: string | vscode.Uri, name?: string) => grad("derivative of", [], uri, name);
