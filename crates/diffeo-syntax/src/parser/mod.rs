//! Tokens to syntax tree, by recursive descent; operators by precedence climbing.
//!
//! Comes in: the text of a file. Goes out: a tree that covers all of it, with error nodes where it is
//! wrong, and the messages. What always holds: no input panics or takes more than linear time, no tree
//! is deeper than [`MAX_DEPTH`], one place has one message, a file at most [`MAX_ERRORS`].
//!
//! `items` are the definitions, `exprs` the operators and operands, `forms` the expressions that start
//! with a keyword, `brackets` what stands in brackets, `patterns`, `types`; `recover` reports errors
//! and finds the place to go on, `hints` knows what may have been meant.

mod brackets;
mod exprs;
mod forms;
mod hints;
mod items;
mod patterns;
mod recover;
mod types;

use crate::ast::{
    Def, Expr, ExprId, ExprKind, Ident, Item, Module, Pat, PatId, PatKind, TypeExpr, TypeId,
    TypeKind,
};
use crate::lexer::{lex, Lexed};
use crate::token::{Token, TokenKind};
use crate::{MAX_DEPTH, MAX_ERRORS};
use diffeo_base::{Arena, Diagnostic, FileId, Name, Span};
use std::collections::HashMap;

/// Reads a file. Every text gives a tree; if there are errors among the diagnostics, what they are
/// about is an error node in the tree or left out of it.
pub fn parse(file: FileId, text: &str) -> (Module, Vec<Diagnostic>) {
    run(file, text, |parser| parser.file())
}

/// Reads a single expression, as a module with the one definition `def it = …`. Anything after the
/// expression is an error.
pub fn parse_expression(file: FileId, text: &str) -> (Module, Vec<Diagnostic>) {
    run(file, text, |parser| {
        let body = parser.expr();
        if !parser.at(TokenKind::Eof) {
            parser.leftover("an operator or the end of the expression");
        }
        let name = Ident { name: Name::new("it"), span: Span::new(file, 0, 0) };
        let span = parser.module.exprs[body].span;
        parser.module.items.push(Item::Def(Def {
            doc: Vec::new(),
            name,
            param: None,
            ret: None,
            body,
            span,
        }));
    })
}

fn run(file: FileId, text: &str, start: impl FnOnce(&mut Parser<'_>)) -> (Module, Vec<Diagnostic>) {
    let too_long = u32::try_from(text.len()).is_err();
    let text = if too_long { "" } else { text };
    let mut parser = Parser::new(file, text);
    start(&mut parser);
    let mut diagnostics = parser.diagnostics;
    if too_long {
        diagnostics.push(Diagnostic::error(
            "syntax",
            Span::new(file, 0, 0),
            "a file may have at most 4 GiB",
        ));
    }
    diagnostics.sort_by_key(|d| d.primary.span.start);
    if diagnostics.len() > MAX_ERRORS {
        diagnostics.truncate(MAX_ERRORS);
        let last = diagnostics.last().map_or(Span::new(file, 0, 0), |d| d.primary.span);
        diagnostics
            .push(Diagnostic::error("syntax", last, "too many errors").primary_text(format!(
                "only the first {MAX_ERRORS} errors of this file are shown"
            )));
    }
    (parser.module, diagnostics)
}

/// How much stack must be left on entering a level, and how much is added when it is not.
const RED_ZONE: usize = 128 << 10;
const STACK_SEGMENT: usize = 4 << 20;

struct Parser<'t> {
    file: FileId,
    text: &'t str,
    tokens: Vec<Token>,
    docs: HashMap<usize, Vec<Name>>,
    /// The index of the next token; the last token, [`TokenKind::Eof`], is never passed.
    pos: usize,
    module: Module,
    /// The height of every expression and every pattern.
    heights: Vec<u16>,
    pat_heights: Vec<u16>,
    /// How many levels are open above what is being read.
    depth: usize,
    /// What the innermost of them is: an expression, a pattern, a type; or a definition outside all.
    level: SyntaxLevel,
    /// How many levels are open above the outermost of that sort in a row.
    level_from: usize,
    /// Whether this item was found to be too deep.
    too_deep: bool,
    /// How many `(`, `[`, `{` are open.
    open: [usize; 3],
    /// How many values of a `let` are open.
    let_values: usize,
    /// The brackets of calls and indices that stand on a later line than what they apply to.
    continuations: Vec<Continuation>,
    /// The token at which nothing more is to be reported, because something has been.
    muted: Option<usize>,
    diagnostics: Vec<Diagnostic>,
    names: HashMap<&'t str, Name>,
}

/// What is being read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SyntaxLevel {
    Definition,
    Expression,
    Pattern,
    Type,
}

struct Continuation {
    token: usize,
    /// How many brackets were open around it.
    nesting: usize,
    span: Span,
}

// The cursor.
impl<'t> Parser<'t> {
    fn new(file: FileId, text: &'t str) -> Self {
        let Lexed { tokens, docs, diagnostics } = lex(file, text);
        Parser {
            file,
            text,
            tokens,
            docs: docs.into_iter().collect(),
            pos: 0,
            module: Module {
                file,
                items: Vec::new(),
                exprs: Arena::default(),
                pats: Arena::default(),
                types: Arena::default(),
            },
            heights: Vec::new(),
            pat_heights: Vec::new(),
            depth: 0,
            level: SyntaxLevel::Definition,
            level_from: 0,
            too_deep: false,
            open: [0; 3],
            let_values: 0,
            continuations: Vec::new(),
            muted: None,
            diagnostics,
            names: HashMap::new(),
        }
    }

    /// The token `ahead` tokens further; [`TokenKind::Eof`] beyond the end.
    fn token(&self, ahead: usize) -> Token {
        let at = (self.pos + ahead).min(self.tokens.len() - 1);
        self.tokens[at]
    }

    fn previous(&self) -> Option<Token> {
        self.pos.checked_sub(1).map(|i| self.tokens[i])
    }

    fn kind(&self) -> TokenKind {
        self.token(0).kind
    }

    fn next_kind(&self) -> TokenKind {
        self.token(1).kind
    }

    fn at(&self, kind: TokenKind) -> bool {
        self.kind() == kind
    }

    fn bump(&mut self) {
        if !self.at(TokenKind::Eof) {
            self.pos += 1;
        }
    }

    fn eat(&mut self, kind: TokenKind) -> bool {
        let there = self.at(kind);
        if there {
            self.bump();
        }
        there
    }

    fn span_of(&self, token: Token) -> Span {
        Span::new(self.file, token.start as usize, token.end as usize)
    }

    fn span(&self) -> Span {
        self.span_of(self.token(0))
    }

    fn text_of(&self, token: Token) -> &'t str {
        self.text.get(token.range()).unwrap_or("")
    }

    /// Where the next token starts.
    fn start(&self) -> usize {
        self.token(0).start as usize
    }

    fn previous_end(&self) -> usize {
        self.previous().map_or(0, |t| t.end as usize)
    }

    /// From `start` to the end of the last token read.
    fn span_from(&self, start: usize) -> Span {
        Span::new(self.file, start, self.previous_end().max(start))
    }

    /// Whether there is a line break before the next token.
    fn on_new_line(&self) -> bool {
        self.text.get(self.previous_end()..self.start()).is_some_and(|gap| gap.contains('\n'))
            || self.pos == 0
    }

    /// The next token as a name; what it is has been looked at.
    fn ident(&mut self) -> Ident {
        let token = self.token(0);
        let name = self.name(self.text_of(token));
        self.bump();
        Ident { name, span: self.span_of(token) }
    }

    fn name(&mut self, text: &'t str) -> Name {
        self.names.entry(text).or_insert_with(|| Name::new(text)).clone()
    }

    fn eat_ident(&mut self, kind: TokenKind) -> Option<Ident> {
        self.at(kind).then(|| self.ident())
    }

    /// Whether the next token can be the name of a field: an identifier, a keyword or a text in quotes.
    fn at_field_name(&self) -> bool {
        match self.kind() {
            TokenKind::Lower | TokenKind::Upper | TokenKind::Str => true,
            kind => kind.is_keyword() && !self.at_end(),
        }
    }

    fn eat_field_name(&mut self) -> Option<Ident> {
        if !self.at_field_name() {
            return None;
        }
        if !self.at(TokenKind::Str) {
            return Some(self.ident());
        }
        let span = self.span();
        Some(Ident { name: self.string(), span })
    }

    /// Says that the name of a field is missing, and how one is written.
    fn missing_field_name(&mut self, how: &str) {
        let number = matches!(self.kind(), TokenKind::Int | TokenKind::Real)
            && matches!(self.next_kind(), TokenKind::Colon | TokenKind::Eq);
        let found = self.text_of(self.token(0));
        let help = match number {
            true => format!("a name that is no identifier stands in quotes: `\"{found}\"`"),
            false => how.to_string(),
        };
        self.unexpected_with("the name of a field", |d| d.help(help));
    }
}

// Nodes and levels.
impl Parser<'_> {
    /// Reads something one level deeper, unless that is too deep; then `bail` gives what stands for it.
    fn deeper<R>(
        &mut self,
        level: SyntaxLevel,
        read: impl FnOnce(&mut Self) -> R,
        bail: impl FnOnce(&mut Self) -> R,
    ) -> R {
        if self.depth >= MAX_DEPTH {
            self.report_too_deep();
            return bail(self);
        }
        let outer = (self.level, self.level_from);
        if level != self.level {
            (self.level, self.level_from) = (level, self.depth);
        }
        self.depth += 1;
        let result = stacker::maybe_grow(RED_ZONE, STACK_SEGMENT, || read(self));
        self.depth -= 1;
        (self.level, self.level_from) = outer;
        result
    }

    /// Says once for an item that it is too deep, and goes to the next one.
    fn report_too_deep(&mut self) {
        let what = match self.level {
            SyntaxLevel::Pattern if self.level_from < MAX_DEPTH / 2 => "pattern",
            SyntaxLevel::Type if self.level_from < MAX_DEPTH / 2 => "type",
            SyntaxLevel::Definition
            | SyntaxLevel::Expression
            | SyntaxLevel::Pattern
            | SyntaxLevel::Type => "expression",
        };
        if !std::mem::replace(&mut self.too_deep, true) {
            let span = self.here();
            self.report(
                Diagnostic::error(
                    "too-deep",
                    span,
                    format!("this {what} is nested more than {MAX_DEPTH} levels deep"),
                )
                .help("split it with `let` or `def`"),
            );
        }
        self.skip_to_item();
        self.muted = Some(self.pos);
    }

    /// Adds an expression that starts at `start` and ends here.
    fn expr_node(&mut self, start: usize, kind: ExprKind) -> ExprId {
        let span = self.span_from(start);
        let height = 1 + self.height_below(&kind);
        if self.depth.saturating_sub(1) + height > MAX_DEPTH {
            self.report_too_deep();
            return self.error_expr();
        }
        self.heights.push(height as u16);
        self.module.exprs.push(Expr { kind, span })
    }

    fn error_expr(&mut self) -> ExprId {
        self.heights.push(1);
        let span = Span::new(self.file, self.start(), self.start());
        self.module.exprs.push(Expr { kind: ExprKind::Error, span })
    }

    /// An error node for the text from `start` to here.
    fn error_expr_from(&mut self, start: usize) -> ExprId {
        self.expr_node(start, ExprKind::Error)
    }

    fn height_below(&self, kind: &ExprKind) -> usize {
        let mut most = 0;
        kind.each_child(&mut |id| most = most.max(usize::from(self.heights[id.index()])));
        most
    }

    /// Adds a pattern that starts at `start` and ends here.
    fn pat_node(&mut self, start: usize, kind: PatKind) -> PatId {
        let of = |id: &PatId| usize::from(self.pat_heights[id.index()]);
        let below = match &kind {
            PatKind::Error
            | PatKind::Wild
            | PatKind::Var(_)
            | PatKind::Int(_)
            | PatKind::Real(_)
            | PatKind::Bool(_)
            | PatKind::Str(_)
            | PatKind::Unit => 0,
            PatKind::Tuple(parts) => parts.iter().map(of).max().unwrap_or(0),
            PatKind::Record(fields) => fields.iter().map(|(_, p)| of(p)).max().unwrap_or(0),
            PatKind::Con { path: _, arg } => arg.as_ref().map_or(0, of),
            PatKind::Cons(head, tail) => of(head).max(of(tail)),
            PatKind::Annot(pat, _) => of(pat),
        };
        let span = self.span_from(start);
        if self.depth.saturating_sub(1) + below + 1 > MAX_DEPTH {
            self.report_too_deep();
            return self.error_pat();
        }
        self.pat_heights.push(below as u16 + 1);
        self.module.pats.push(Pat { kind, span })
    }

    fn error_pat(&mut self) -> PatId {
        self.pat_heights.push(1);
        let span = Span::new(self.file, self.start(), self.start());
        self.module.pats.push(Pat { kind: PatKind::Error, span })
    }

    /// Adds a type. Every type below a type is read one level deeper, so that its height is bounded.
    fn type_node(&mut self, start: usize, kind: TypeKind) -> TypeId {
        let span = self.span_from(start);
        self.module.types.push(TypeExpr { kind, span })
    }

    fn error_type(&mut self) -> TypeId {
        let span = Span::new(self.file, self.start(), self.start());
        self.module.types.push(TypeExpr { kind: TypeKind::Error, span })
    }
}
