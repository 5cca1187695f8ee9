//! Terms, from their text.

use super::lexer::CoreToken;
use super::CoreParser;
use crate::names::{plain_prim, typed_prim, Named, Names};
use crate::prim::{Comparison, Diff, DiffOp, IntOp, Prim, RealOp, Rounding, TextOp};
use crate::prim::{SizePattern, SizeRef, SizeShape};
use crate::term::{Arm, Build, Case, Control, GlobalId, Lit, Loop, Term, TermKind};
use diffeo_base::deep;
use diffeo_base::{Name, Span};
use std::rc::Rc;

/// The keywords and marks that start an atom.
const ATOM_MARKS: &[&str] =
    &["(", "@", "true", "false", "nan", "inf", "-inf", "tuple", "array", "proj", "con"];

impl CoreParser<'_> {
    pub(super) fn term(&mut self) -> Term {
        deep(|| {
            let kind = match self.peek() {
                CoreToken::Mark("fn") => self.function(),
                CoreToken::Mark("let") => self.let_(),
                CoreToken::Mark("letrec") => self.letrec(),
                CoreToken::Mark("if") => self.conditional(),
                CoreToken::Mark("case") => self.case(),
                CoreToken::Mark("build") => self.build(),
                CoreToken::Mark("loop") => self.loop_(),
                CoreToken::Mark(_)
                | CoreToken::Name(..)
                | CoreToken::Op(_)
                | CoreToken::Number(_)
                | CoreToken::Text(_)
                | CoreToken::End => return self.application(),
            };
            Term::new(kind, Span::NONE)
        })
    }

    fn boxed(&mut self) -> Box<Term> {
        Box::new(self.term())
    }

    fn function(&mut self) -> TermKind {
        self.expect("fn");
        self.expect("(");
        let parameter = self.binder();
        self.expect(")");
        self.expect("->");
        self.enter(&parameter);
        let body = self.boxed();
        TermKind::Lam(self.leave(parameter), body)
    }

    fn let_(&mut self) -> TermKind {
        self.expect("let");
        let mut bindings = Vec::new();
        while self.error.is_none() && !self.sees("in") {
            let declared = self.binder();
            self.expect("=");
            let value = self.term();
            self.enter(&declared);
            bindings.push((declared, value));
            if !self.eat(";") {
                break;
            }
        }
        self.expect("in");
        let body = self.boxed();
        let mut leave = |(declared, value)| (self.leave(declared), value);
        let bindings: Vec<_> = bindings.into_iter().rev().map(&mut leave).collect();
        TermKind::Let(bindings.into_iter().rev().collect(), body)
    }

    fn letrec(&mut self) -> TermKind {
        self.expect("letrec");
        let declared = self.binder();
        self.enter(&declared);
        self.expect("=");
        let value = self.boxed();
        self.expect("in");
        let body = self.boxed();
        TermKind::LetRec(self.leave(declared), value, body)
    }

    fn conditional(&mut self) -> TermKind {
        self.expect("if");
        let condition = self.boxed();
        self.expect("then");
        let yes = self.boxed();
        self.expect("else");
        TermKind::If(condition, yes, self.boxed())
    }

    fn case(&mut self) -> TermKind {
        self.expect("case");
        let scrutinee = self.term();
        self.expect("of");
        let data = self.data();
        self.expect("{");
        let (mut arms, mut default) = (Vec::new(), None);
        while default.is_none() && self.eat("|") {
            if self.eat("else") {
                self.expect("->");
                default = Some(self.term());
                break;
            }
            let tag = self.constructor(data.0);
            let declared = self.list("(", ")", CoreParser::binder);
            self.expect("->");
            for binder in &declared {
                self.enter(binder);
            }
            let body = self.term();
            let binders = declared.into_iter().map(|binder| self.leave(binder)).collect();
            arms.push(Arm { tag, binders, body });
        }
        self.expect("}");
        TermKind::Case(Box::new(Case { scrutinee, data, arms, default }))
    }

    fn build(&mut self) -> TermKind {
        self.expect("build");
        let element = self.type_argument();
        let declared = self.binder();
        self.expect("<");
        let count = self.term();
        self.expect("do");
        self.enter(&declared);
        let body = self.term();
        TermKind::Build(Box::new(Build { count, index: self.leave(declared), body, element }))
    }

    fn loop_(&mut self) -> TermKind {
        self.expect("loop");
        let state = self.binder();
        self.expect("=");
        let init = self.term();
        if self.eat("while") {
            self.enter(&state);
            let condition = self.term();
            self.expect("do");
            let body = self.term();
            let (state, control) = (self.leave(state), Control::While(condition));
            return TermKind::Loop(Box::new(Loop { state, init, control, body }));
        }
        self.expect("for");
        let index = self.binder();
        self.expect("<");
        let count = self.term();
        self.expect("do");
        self.enter(&state);
        self.enter(&index);
        let body = self.term();
        let control = Control::Count { index: self.leave(index), count };
        TermKind::Loop(Box::new(Loop { state: self.leave(state), init, control, body }))
    }

    fn application(&mut self) -> Term {
        let mut term = self.atom();
        while self.sees_atom() {
            let argument = self.atom();
            term = Term::new(TermKind::App(Box::new(term), Box::new(argument)), Span::NONE);
        }
        term
    }

    fn sees_atom(&self) -> bool {
        match self.peek() {
            CoreToken::Mark(mark) => ATOM_MARKS.contains(mark),
            CoreToken::Name(..) | CoreToken::Op(_) | CoreToken::Number(_) | CoreToken::Text(_) => {
                true
            }
            CoreToken::End => false,
        }
    }

    fn atom(&mut self) -> Term {
        let kind = match self.peek().clone() {
            CoreToken::Name(..) => self.variable(),
            CoreToken::Op(name) => {
                self.advance();
                self.operation(&name)
            }
            CoreToken::Text(text) => {
                self.advance();
                TermKind::Lit(Lit::String(text))
            }
            CoreToken::Number(digits) => TermKind::Lit(if digits.contains(['.', 'e']) {
                Lit::Real(self.number())
            } else {
                Lit::Int(self.number())
            }),
            CoreToken::Mark("(") => {
                self.advance();
                if !self.eat(")") {
                    let term = self.term();
                    self.expect(")");
                    return term;
                }
                TermKind::Lit(Lit::Unit)
            }
            CoreToken::Mark(mark) => {
                self.advance();
                self.marked(mark)
            }
            CoreToken::End => {
                self.fail("expected a term");
                TermKind::Lit(Lit::Unit)
            }
        };
        Term::new(kind, Span::NONE)
    }

    fn arguments(&mut self) -> Vec<Term> {
        self.list("(", ")", CoreParser::term)
    }

    /// The form that starts with this keyword or mark.
    fn marked(&mut self, mark: &str) -> TermKind {
        match mark {
            "true" => TermKind::Lit(Lit::Bool(true)),
            "false" => TermKind::Lit(Lit::Bool(false)),
            "nan" => TermKind::Lit(Lit::Real(f64::NAN)),
            "inf" => TermKind::Lit(Lit::Real(f64::INFINITY)),
            "-inf" => TermKind::Lit(Lit::Real(f64::NEG_INFINITY)),
            "@" => {
                let position = self.position("definition", |p, name, n| p.globals.find(name, n));
                TermKind::Global(GlobalId(position as u32))
            }
            "tuple" => TermKind::Tuple(self.type_argument(), self.arguments()),
            "array" => TermKind::Array(self.type_argument(), self.arguments()),
            "proj" => {
                self.expect("[");
                let ty = self.ty();
                self.expect(",");
                let index = self.number();
                self.expect("]");
                self.expect("(");
                let tuple = self.boxed();
                self.expect(")");
                TermKind::Proj(ty, index, tuple)
            }
            "con" => {
                let (data, args) = self.data();
                self.expect(".");
                let tag = self.constructor(data);
                TermKind::Con(data, args, tag, self.arguments())
            }
            _ => {
                self.at -= 1;
                self.fail("expected a term");
                TermKind::Lit(Lit::Unit)
            }
        }
    }

    /// The primitive operation or derivative term of this name.
    fn operation(&mut self, name: &str) -> TermKind {
        if name == "jet" {
            self.expect("[");
            let k = self.number();
            self.expect(",");
            let r = self.number();
            self.expect(",");
            return self.derivative(DiffOp::Jet { k, r });
        }
        if let Some(op) = DiffOp::named(name) {
            self.expect("[");
            return self.derivative(op);
        }
        let prim = if let Some(op) = name.strip_prefix("real.").and_then(RealOp::named) {
            Prim::Real(op)
        } else if name == "real.polygamma" {
            self.expect("[");
            let order = self.number();
            self.expect("]");
            Prim::Real(RealOp::Polygamma(order))
        } else if let Some(op) = name.strip_prefix("text.").and_then(TextOp::named) {
            Prim::Text(op)
        } else if let Some(op) = name.strip_prefix("int.").and_then(IntOp::named) {
            Prim::Int(op)
        } else if let Some(comparison) = Comparison::named(name) {
            Prim::Compare(comparison, self.type_argument())
        } else if let Some(rounding) = Rounding::named(name) {
            Prim::Round(rounding)
        } else if let Some(prim) = plain_prim(name) {
            prim
        } else if let Some(prim) = typed_prim(name) {
            prim(self.type_argument())
        } else if name == "sizes" {
            self.expect("[");
            let pattern = self.size_pattern();
            let ty = self.ty();
            self.expect("]");
            Prim::Sizes(Rc::new(pattern), ty)
        } else {
            self.fail(format!("no operation is called `{name}`"));
            return TermKind::Lit(Lit::Unit);
        };
        TermKind::Prim(prim, self.arguments())
    }

    /// The rest of a derivative term, from its types on.
    fn derivative(&mut self, op: DiffOp) -> TermKind {
        let from = self.ty();
        self.expect(",");
        let to = self.ty();
        self.expect("]");
        TermKind::Diff(Diff { op, from, to }, self.arguments())
    }

    fn size_pattern(&mut self) -> SizePattern {
        let written = self.list("{", "}", CoreParser::numbered_name);
        if written
            .iter()
            .enumerate()
            .any(|(i, (_, number))| number.is_some_and(|n| n as usize != i))
        {
            self.fail("the number is not that of the size");
        }
        let list: Vec<Name> = written.into_iter().map(|(name, _)| name).collect();
        let names = Names::new(list.iter().cloned());
        self.expect(",");
        let given = self.number();
        let parts = match self.eat(":") {
            true => self.list("{", "}", |p| p.numbered_name().0),
            false => Vec::new(),
        };
        self.expect(",");
        let shape = self.shape(&names);
        self.expect(",");
        SizePattern { names: list, given, parts, shape }
    }

    fn shape(&mut self, names: &Names) -> SizeShape {
        deep(|| {
            if self.eat("_") {
                return SizeShape::Any;
            }
            if self.sees("(") {
                return SizeShape::Tuple(self.list("(", ")", |p| p.shape(names)));
            }
            if self.sees("{") {
                let fields = |p: &mut Self| p.list("(", ")", |p| p.shape(names));
                return SizeShape::Data(self.list("{", "}", fields));
            }
            if !self.eat("[") {
                self.fail("expected the sizes of a value");
                return SizeShape::Any;
            }
            let size = match self.peek() {
                CoreToken::Number(_) => SizeRef::Literal(self.number()),
                CoreToken::Name(..) => {
                    SizeRef::Name(self.position("size", |_, name, n| names.find(name, n)))
                }
                CoreToken::Mark(_) | CoreToken::Op(_) | CoreToken::Text(_) | CoreToken::End => {
                    self.expect("_");
                    SizeRef::Any
                }
            };
            self.expect("]");
            SizeShape::Array(size, Box::new(self.shape(names)))
        })
    }
}
