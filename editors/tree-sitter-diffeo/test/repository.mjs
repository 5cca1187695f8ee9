// Every program of the repository parses without an ERROR or MISSING node; what is no program does not.

import { firstError, parse } from "./language.mjs";
import { groups } from "./programs.mjs";

let failures = 0;
for (const [what, texts] of Object.entries(groups)) {
  const readable = texts.filter((t) => t.readable);
  for (const { name, text } of readable) {
    const error = firstError(parse(text).rootNode);
    if (error) {
      failures += 1;
      const { row, column } = error.startPosition;
      const kind = error.isMissing ? `MISSING ${error.type}` : "ERROR";
      console.log(`${name}: ${kind} at ${row + 1}:${column + 1}: ${JSON.stringify(error.text.slice(0, 60))}`);
    }
  }
  const refused = texts.filter((t) => !t.readable);
  const accepted = refused.filter(({ text }) => !parse(text).rootNode.hasError);
  if (process.argv.includes("--accepted")) accepted.forEach(({ name }) => console.log(`accepted: ${name}`));
  console.log(
    `${readable.length} ${what} parse; ` +
      `of ${refused.length} with errors of syntax, ${refused.length - accepted.length} are refused`,
  );
  if (readable.length === 0) throw new Error(`no ${what} were found`);
}
console.log(`${failures} failed`);
process.exit(failures ? 1 : 0);
