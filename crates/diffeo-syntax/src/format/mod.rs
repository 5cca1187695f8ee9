//! The formatter: a text without syntax errors in, the same program in the one layout out.
//!
//! The tree is walked in the order of the text, and the tokens are taken from the text as they come
//! (`build`), so that names, literals and parentheses stay as they were written; comments come with the
//! tokens they stand before or behind (`source`). What comes out is a document of groups, which `layout`
//! breaks into lines. `exprs`, `forms` and `items` are the rules of style.
//!
//! What always holds, because it is checked before a text is handed out: it has the tokens, the comments
//! and the tree of the original, and formatting it again changes nothing.

mod build;
mod exprs;
mod forms;
mod items;
mod layout;
mod source;
#[cfg(test)]
mod tests;

use crate::ast::Module;
use crate::{parse, print};
use build::DocBuilder;
use diffeo_base::{Diagnostic, FileId, Span};
use source::SourceText;

/// How long lines may be.
const WIDTH: usize = 100;

/// How often a text is formatted until nothing changes any more. Once is enough but for comments in odd
/// places.
const MAX_ROUNDS: usize = 4;

/// The text in its layout: lines of at most 100 characters where that is possible, levels indented by
/// two spaces. Comments and single empty lines are kept; formatting the result again changes nothing.
///
/// # Errors
/// The syntax errors of a text that has some; nothing is formatted then.
///
/// ```
/// let text = "def  f(x)=x+ 2*y # why";
/// let formatted = diffeo_syntax::format(diffeo_base::FileId(0), text).unwrap();
/// assert_eq!(formatted, "def f(x) = x + 2 * y  # why\n");
/// ```
pub fn format(file: FileId, text: &str) -> Result<String, Vec<Diagnostic>> {
    let (original, diagnostics) = parse(file, text);
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Err(diagnostics);
    }
    let mut formatted = once(&original, &SourceText::new(text), WIDTH);
    for _ in 0..MAX_ROUNDS {
        let (module, _) = parse(file, &formatted);
        let source = SourceText::new(&formatted);
        let again = once(&module, &source, WIDTH);
        if again != formatted {
            formatted = again;
            continue;
        }
        if source.says_the_same(&SourceText::new(text)) && print(&module) == print(&original) {
            return Ok(formatted);
        }
        return Err(vec![limitation(file, "it would not be the same program afterwards")]);
    }
    Err(vec![limitation(file, "its layout does not come to rest")])
}

fn once(module: &Module, source: &SourceText<'_>, width: usize) -> String {
    layout::layout(&DocBuilder::new(module, source).file(), &source.comments, width)
}

fn limitation(file: FileId, why: &str) -> Diagnostic {
    Diagnostic::error(
        "formatter-limitation",
        Span::new(file, 0, 0),
        format!("the formatter cannot lay out this text: {why}"),
    )
    .note("this is a limitation of the formatter; the text is left as it is")
    .help("a comment in an unusual place may be the reason: move it to a line of its own")
}
