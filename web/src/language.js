// The language for CodeMirror: a tokenizer for colours, which the pages of the book are coloured by, too.

import { StreamLanguage } from "@codemirror/language";

const KEYWORDS = new Set(
  "def type import let rec in fn if then else case of loop for while do with and or not list".split(" "),
);
const DEFINES = new Set(["def", "let", "rec"]);

export const diffeo = StreamLanguage.define({
  name: "diffeo",
  startState: () => ({ defines: false }),
  token(stream, state) {
    if (stream.eatSpace()) return null;
    const defines = state.defines;
    state.defines = false;
    if (stream.match(/^##.*/)) return "docComment";
    if (stream.match(/^#.*/)) return "comment";
    if (stream.match(/^"(?:[^"\\]|\\.)*"?/)) return "string";
    // A range of a slice, `0..3`, is no number with a point.
    if (stream.match(/^\d[\d_]*(?:\.(?!\.)\d*)?(?:[eE][+-]?\d+)?/)) return "number";
    if (stream.match(/^\p{Lu}[\p{L}\p{M}\d_]*'*/u)) return "typeName";
    const word = stream.match(/^[\p{L}_][\p{L}\p{M}\d_]*'*/u);
    if (word) {
      const name = word[0];
      if (name === "true" || name === "false") return "bool";
      if (KEYWORDS.has(name)) {
        state.defines = DEFINES.has(name);
        return "keyword";
      }
      if (defines) return "variableName.definition";
      return stream.peek() === "(" ? "variableName.function" : "variableName";
    }
    if (stream.match(/^(?:->|\|>|::|\+\+|==|!=|<=|>=|\.\.|[-+*/%^<>=|])/)) return "operator";
    if (stream.match(/^[()[\]{}]/)) return "bracket";
    stream.next();
    return null;
  },
  languageData: {
    commentTokens: { line: "#" },
    closeBrackets: { brackets: ["(", "[", "{", '"'] },
    indentOnInput: /^\s*[)\]}|]$/,
  },
});
