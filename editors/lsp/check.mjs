// What `diffeo check` says of texts, in the form in which the server says it.

import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** How many messages of one severity the command line shows. */
export const MOST = 50;

/** The messages of `diffeo check` about the text of an address, whose folder has the other open texts. */
export async function checked(program, folder, client, uri) {
  for (const [open, document] of client.open) writeFileSync(fileURLToPath(open), document.getText());
  const name = uri.slice(uri.lastIndexOf("/") + 1);
  const said = await new Promise((resolve) =>
    execFile(program, ["check", "--message-format", "json", name], { cwd: folder, maxBuffer: 1 << 28 }, (_, __, err) => resolve(err)),
  );
  const document = client.text(uri);
  const bytes = Buffer.from(document.getText());
  const position = (byte) => document.positionAt(bytes.subarray(0, byte).toString().length);
  const range = (place) =>
    place
      ? { start: position(place.start_byte), end: position(place.end_byte) }
      : { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } };
  return said
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line))
    .filter(({ code, place }) => code !== "more" && (!place || place.file === name))
    .map(({ severity, code, message, place, labels, notes, help }) => ({
      range: range(place),
      severity: { error: 1, warning: 2 }[severity],
      code,
      source: "diffeo",
      message: [message, ...notes.map((note) => `note: ${note}`), ...(help ? [`help: ${help}`] : [])].join("\n"),
      relatedInformation: labels
        .filter((label) => label.place && label.place.file === (place?.file ?? name))
        .map((label) => ({ location: { uri, range: range(label.place) }, message: label.message })),
    }));
}

/** The messages that the command line would show of all. */
export function shown(diagnostics) {
  const counts = { 1: 0, 2: 0 };
  return diagnostics.filter(({ severity }) => ++counts[severity] <= MOST);
}
