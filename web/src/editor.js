// The editor: CodeMirror with what the language server knows.

import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching, HighlightStyle, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintKeymap, setDiagnostics, lintGutter } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  hoverTooltip,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { diffeo } from "./language.js";

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--keyword)" },
  { tag: tags.comment, color: "var(--comment)", fontStyle: "italic" },
  { tag: tags.docComment, color: "var(--doc)", fontStyle: "italic" },
  { tag: tags.string, color: "var(--string)" },
  { tag: [tags.number, tags.bool], color: "var(--number)" },
  { tag: tags.typeName, color: "var(--type)" },
  { tag: tags.definition(tags.variableName), color: "var(--definition)", fontWeight: "600" },
  { tag: tags.function(tags.variableName), color: "var(--definition)" },
  { tag: tags.operator, color: "var(--operator)" },
]);

/** The protocol's number of what a completion is, as CodeMirror calls it. */
const KINDS = { 3: "function", 21: "constant", 6: "variable", 13: "type", 20: "enum", 9: "namespace" };

/** A position of the protocol in a document; its end for one beyond. */
export function offset(doc, { line, character }) {
  if (line >= doc.lines) return doc.length;
  const { from, to } = doc.line(line + 1);
  return Math.min(from + character, to);
}

function position(doc, at) {
  const line = doc.lineAt(at);
  return { line: line.number - 1, character: at - line.from };
}

/** A doc comment or a type as text nodes; code between backticks and fences. */
function prose(text) {
  const block = document.createElement("div");
  block.className = "prose";
  for (const [i, part] of text.split(/```(?:diffeo)?\n?/).entries()) {
    if (!part.trim()) continue;
    if (i % 2) {
      const code = document.createElement("pre");
      code.textContent = part.trimEnd();
      block.append(code);
      continue;
    }
    const paragraph = document.createElement("p");
    for (const [j, piece] of part.trim().split("`").entries()) {
      const element = document.createElement(j % 2 ? "code" : "span");
      element.textContent = piece;
      paragraph.append(element);
    }
    block.append(paragraph);
  }
  return block;
}

/**
 * An editor in a place of the page. `ask(method, params, text)` asks the language server, `changed(text)` hears of
 * changes.
 */
export function editor({ parent, text, ask, changed, commands }) {
  const about = async (method, state, at, more = {}) => {
    const { result } = await ask(method, { position: position(state.doc, at), ...more }, state.doc.toString());
    return result ?? null;
  };

  async function complete(context) {
    const word = context.matchBefore(/[\p{L}_][\p{L}\p{M}\d_]*'*/u);
    const behind = context.state.sliceDoc(Math.max(0, (word?.from ?? context.pos) - 1), word?.from ?? context.pos);
    if (!word && behind !== "." && !context.explicit) return null;
    const found = await about("textDocument/completion", context.state, context.pos);
    if (!found?.items.length) return null;
    const options = found.items.map(({ label, kind, detail, documentation }) => ({
      label,
      type: KINDS[kind],
      detail: detail ?? undefined,
      info: documentation ? () => prose(documentation) : undefined,
    }));
    return { from: word?.from ?? context.pos, options, validFor: /^[\p{L}_][\p{L}\p{M}\d_]*'*$/u };
  }

  const hover = hoverTooltip(async (view, at) => {
    const found = await about("textDocument/hover", view.state, at);
    if (!found?.contents) return null;
    const { doc } = view.state;
    const [pos, end] = [offset(doc, found.range.start), offset(doc, found.range.end)];
    return { pos, end, above: true, create: () => ({ dom: prose(found.contents.value) }) };
  });

  return new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        lintGutter(),
        highlightActiveLine(),
        highlightActiveLineGutter(),
        history(),
        drawSelection(),
        bracketMatching(),
        closeBrackets(),
        highlightSelectionMatches(),
        indentUnit.of("  "),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ "aria-label": "Program", spellcheck: "false" }),
        diffeo,
        syntaxHighlighting(colours),
        autocompletion({ override: [complete] }),
        hover,
        keymap.of([
          ...commands,
          ...closeBracketsKeymap,
          ...defaultKeymap,
          ...searchKeymap,
          ...historyKeymap,
          ...completionKeymap,
          ...lintKeymap,
          indentWithTab,
        ]),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) changed(update.state.doc.toString());
        }),
      ],
    }),
  });
}

/** Shows messages at their places; those of the language server, or of a run. */
export function mark(view, messages) {
  const { doc } = view.state;
  const severities = { 1: "error", 2: "warning", error: "error", warning: "warning" };
  const diagnostics = messages
    .filter(({ range }) => range)
    .map(({ range, severity, message }) => ({
      from: offset(doc, range.start),
      to: offset(doc, range.end),
      severity: severities[severity],
      message,
    }));
  view.dispatch(setDiagnostics(view.state, diagnostics));
}

/** Replaces the text. */
export function replace(view, text) {
  view.dispatch({
    changes: { from: 0, to: view.state.doc.length, insert: text },
    selection: { anchor: Math.min(view.state.selection.main.head, text.length) },
  });
}

/** Puts the cursor to a place and shows it. */
export function jump(view, place) {
  view.dispatch({ selection: { anchor: offset(view.state.doc, place) }, scrollIntoView: true });
  view.focus();
}
