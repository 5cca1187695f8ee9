/** What the commands need to know of a program's text; the rest is the language server's. */

/** A function of the whole file. */
export interface Definition {
  name: string;
  /** The line of its `def`, from 0. */
  line: number;
}

const FUNCTION = /^[ \t]*def[ \t]+([\p{L}_][\p{L}\p{M}\d_]*'*)[ \t]*\(/gmu;

/** The functions that a text defines. */
export function functions(text: string): Definition[] {
  const found: Definition[] = [];
  let line = 0;
  let at = 0;
  for (const match of text.matchAll(FUNCTION)) {
    line += count(text.slice(at, match.index));
    at = match.index;
    found.push({ name: match[1], line });
  }
  return found;
}

function count(text: string): number {
  return text.split("\n").length - 1;
}

/** The function in which a line stands, or the one that follows its documentation. */
export function functionAt(text: string, line: number): Definition | undefined {
  const lines = text.split("\n");
  while (line + 1 < lines.length && lines[line].startsWith("##")) line += 1;
  return functions(text).filter((f) => f.line <= line).at(-1);
}

/** Whether the text has the point at which `diffeo grad` differentiates a function by default. */
export function hasPoint(text: string, name: string): boolean {
  const at = `${name}_at`.replace(/[$^*+?.()|[\]{}\\]/g, "\\$&");
  return new RegExp(`^[ \\t]*def[ \\t]+${at}(?![\\p{L}\\p{M}\\d_'])`, "mu").test(text);
}
