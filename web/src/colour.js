// Code in colours, for what is no editor: pieces of text with the classes that they have.

import { classHighlighter, highlightCode } from "@lezer/highlight";
import { diffeo } from "./language.js";

/** The pieces of a text in order, as pairs of text and classes (may be empty). */
export function pieces(text) {
  const all = [];
  highlightCode(
    text,
    diffeo.parser.parse(text),
    classHighlighter,
    (piece, classes) => all.push([piece, classes]),
    () => all.push(["\n", ""]),
  );
  return all;
}
