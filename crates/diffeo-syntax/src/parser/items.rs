//! The items of a file: `import`, `type`, `def`. After an error the next item starts afresh.

use super::{Parser, SyntaxLevel};
use crate::ast::{Constructor, Def, Ident, Import, Item, TypeBody, TypeDecl};
use crate::token::TokenKind;
use diffeo_base::foreign::{replacement, Role};
use diffeo_base::{Diagnostic, Help, Name};

impl Parser<'_> {
    /// A whole file.
    pub(super) fn file(&mut self) {
        while !self.at(TokenKind::Eof) {
            // An item begins with all brackets closed, whatever came before.
            self.depth = 0;
            self.level = SyntaxLevel::Definition;
            self.too_deep = false;
            self.open = [0; 3];
            self.let_values = 0;
            self.continuations.clear();
            let imported = self.at(TokenKind::Import);
            match self.kind() {
                TokenKind::Def => self.def(),
                TokenKind::Type => self.type_decl(),
                TokenKind::Import => self.import(),
                _ => {
                    self.no_item();
                    self.skip_to_item();
                }
            }
            if !self.at_end() && imported {
                let foreign = match self.module.items.last() {
                    Some(Item::Import(import)) => replacement(Role::Module, &import.module.name),
                    Some(Item::Def(_) | Item::Type(_)) | None => None,
                };
                let help = match foreign {
                    Some(help) => Some(format!("leave the line out: {help}").into()),
                    None => replacement(Role::Item, "use").map(Help::from),
                };
                self.unexpected_with("`(` or the next definition", |mut d| {
                    d.help = help;
                    d
                });
                self.skip_to_item();
            } else if !self.at_end() {
                self.leftover("an operator or the next definition");
                self.skip_to_item();
            }
        }
    }

    /// Says that no item starts here, and passes what does.
    fn no_item(&mut self) {
        let word = self.text_of(self.token(0));
        let help = match (replacement(Role::Item, word), self.kind(), self.next_kind()) {
            (Some(help), _, _) => help.into(),
            (None, TokenKind::Lower, TokenKind::Colon | TokenKind::ColonColon) => {
                format!("types stand in the definition: `def {word}(x: Real) -> Real = e`")
            }
            (None, TokenKind::Lower, TokenKind::Eq) => format!("write `def {word} = e`"),
            _ => "a definition is written `def name = e` or `def name(x) = e`".into(),
        };
        self.unexpected_with("`def`, `type` or `import`", |d| d.help(help));
        if word == "from" {
            // The `import` on its line is not one of ours.
            self.bump();
            while !self.on_new_line() && !self.at(TokenKind::Eof) {
                self.bump();
            }
        } else {
            self.bump();
        }
    }

    /// Says that something is left after an item or an expression that is complete.
    pub(super) fn leftover(&mut self, expected: &str) {
        let what = match self.kind() {
            TokenKind::RParen | TokenKind::RBracket | TokenKind::RBrace => "closes nothing",
            TokenKind::In => "belongs to no `let`",
            TokenKind::Then | TokenKind::Else => "belongs to no `if`",
            TokenKind::Of | TokenKind::Bar => "belongs to no `case`",
            TokenKind::Do | TokenKind::For | TokenKind::While => "belongs to no `loop`",
            _ => {
                let top_level =
                    self.on_new_line() && matches!(self.kind(), TokenKind::Let | TokenKind::Lower);
                return self.unexpected_with(expected, |d| match top_level && d.help.is_none() {
                    true => d.help("definitions of the whole file start with `def`"),
                    false => d,
                });
            }
        };
        if !self.is_muted() {
            let message =
                format!("this {} {what}", self.describe(self.token(0)).replace("the keyword ", ""));
            let mut diagnostic = Diagnostic::error("syntax", self.here(), message);
            diagnostic.help = self.hint().map(Help::from);
            if self.at(TokenKind::In) {
                diagnostic = diagnostic.help("`let x = e in …` needs its `let`; whether x is an element is `any(fn y -> y == x, ys)`");
            }
            self.report(diagnostic);
        }
        self.muted = Some(self.pos);
    }

    fn take_doc(&mut self) -> Vec<Name> {
        self.docs.remove(&self.pos).unwrap_or_default()
    }

    /// `import m`, `import m (a, B)`.
    fn import(&mut self) {
        let start = self.start();
        self.bump();
        let Some(module) = self.eat_ident(TokenKind::Lower) else {
            let upper = self.at(TokenKind::Upper);
            self.unexpected_with("the name of a module", |d| match upper {
                true => d.help("modules have lower-case names, those of their files"),
                false => d.help("write `import linalg` or `import linalg (solve, cholesky)`"),
            });
            return self.skip_to_item();
        };
        let mut names = Vec::new();
        if self.at(TokenKind::LParen) {
            let opener = self.open();
            self.elements(&opener, |p| match p.kind() {
                TokenKind::Lower | TokenKind::Upper => names.push(p.ident()),
                _ => {
                    p.unexpected("a name to import");
                    p.skip();
                }
            });
            self.close(opener);
        }
        let span = self.span_from(start);
        self.module.items.push(Item::Import(Import { module, names, span }));
    }

    /// `type Name[a] = …`.
    fn type_decl(&mut self) {
        let doc = self.take_doc();
        let start = self.start();
        self.bump();
        let name = match self.kind() {
            TokenKind::Upper => self.ident(),
            TokenKind::Lower => {
                self.unexpected_with("the name of a type", |d| {
                    d.help("types start with an upper-case letter")
                });
                self.ident()
            }
            _ => {
                self.unexpected("the name of a type");
                return self.skip_to_item();
            }
        };
        let mut params = Vec::new();
        if self.at(TokenKind::LBracket) {
            let opener = self.open();
            if self.at(TokenKind::RBracket) {
                self.unexpected_with("a type variable", |d| {
                    d.help("a type without parameters has no brackets: `type Point = …`")
                });
            }
            self.elements(&opener, |p| match p.eat_ident(TokenKind::Lower) {
                Some(param) => params.push(param),
                None => {
                    p.unexpected_with("a type variable", |d| {
                        d.help("type variables start with a lower-case letter")
                    });
                    p.skip();
                }
            });
            self.close(opener);
        } else if self.at(TokenKind::LParen) || self.at(TokenKind::Lower) {
            self.unexpected_with("`=`", |d| {
                d.help("type parameters stand in brackets: `type Maybe[a] = …`")
            });
            while !self.at(TokenKind::Eq) && !self.at_end() {
                self.bump();
            }
        }
        self.equals("and the type");
        let body = self.type_body();
        let span = self.span_from(start);
        self.module.items.push(Item::Type(TypeDecl { doc, name, params, body, span }));
    }

    /// Constructors, if there is a `|` or fields in parentheses; otherwise another type.
    fn type_body(&mut self) -> TypeBody {
        let variants = self.eat(TokenKind::Bar)
            || self.at(TokenKind::Upper)
                && matches!(self.next_kind(), TokenKind::LParen | TokenKind::Bar);
        if !variants {
            return TypeBody::Alias(self.type_());
        }
        let mut constructors = Vec::new();
        loop {
            let Some(name) = self.eat_ident(TokenKind::Upper) else {
                self.unexpected_with("a constructor", |d| {
                    d.help("constructors start with an upper-case letter")
                });
                self.skip();
                if self.eat(TokenKind::Bar) {
                    continue;
                }
                break;
            };
            let fields = if self.at(TokenKind::LParen) {
                self.deeper(SyntaxLevel::Type, |p| p.constructor_fields(&name), |_| Vec::new())
            } else {
                Vec::new()
            };
            constructors.push(Constructor { name, fields });
            if !self.eat(TokenKind::Bar) {
                break;
            }
        }
        TypeBody::Variants(constructors)
    }

    fn constructor_fields(&mut self, name: &Ident) -> Vec<crate::ast::TypeId> {
        let opener = self.open();
        let mut fields = Vec::new();
        self.elements(&opener, |p| {
            let ty = p.type_();
            if p.at(TokenKind::Colon) {
                p.missing("`,` or `)`", |d| {
                    d.help("the fields of a constructor have no names; a record has: `Point({x: Real, y: Real})`")
                });
                p.skip();
            }
            fields.push(ty);
        });
        if fields.is_empty() && self.at(TokenKind::RParen) {
            let text = &name.name;
            self.unexpected_with("a type", |d| {
                d.help(format!("a constructor without fields is written `{text}`"))
            });
        }
        self.close(opener);
        fields
    }

    /// `def name(params) -> T = e`, `def name: T = e`.
    fn def(&mut self) {
        let doc = self.take_doc();
        let start = self.start();
        self.bump();
        let name = match self.kind() {
            TokenKind::Lower => self.ident(),
            TokenKind::Upper => {
                self.unexpected_with("the name of a definition", |d| {
                    d.help("names of values and functions start with a lower-case letter")
                });
                self.ident()
            }
            _ if self.at_keyword_name() => {
                self.keyword_as_name("the name of a definition");
                self.ident()
            }
            _ => {
                self.unexpected("the name of a definition");
                return self.skip_to_item();
            }
        };
        let param = match self.kind() {
            TokenKind::LParen => {
                Some(self.deeper(SyntaxLevel::Pattern, Self::params, Self::error_pat))
            }
            TokenKind::Lower | TokenKind::Underscore if !self.on_new_line() => {
                Some(self.bare_params())
            }
            _ => None,
        };
        let ret = match (param, self.kind()) {
            (None, TokenKind::Colon) => {
                self.bump();
                Some(self.type_())
            }
            (None, TokenKind::Arrow) => {
                self.unexpected_with("`=` or `:`", |d| {
                    d.help("the type of a constant is written `def a: T = e`")
                });
                self.bump();
                Some(self.type_())
            }
            _ => self.result_type(),
        };
        self.equals("and the body of the definition");
        let body = self.expr();
        let span = self.span_from(start);
        self.module.items.push(Item::Def(Def { doc, name, param, ret, body, span }));
    }
}
