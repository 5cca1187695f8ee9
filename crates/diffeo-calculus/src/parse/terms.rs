//! Terms, from their text.

use super::lexer::Token;
use super::Parser;
use crate::names::{plain_prim, typed_prim, Named, Names};
use crate::prim::{Comparison, Diff, DiffOp, IntOp, Prim, RealOp, Rounding, TextOp};
use crate::prim::{Shape, SizePattern, SizeRef};
use crate::term::{Arm, Build, Case, Control, GlobalId, Kind, Lit, Loop, Term};
use diffeo_base::deep;
use diffeo_base::{Name, Span};
use std::rc::Rc;

/// The keywords and marks that start an atom.
const ATOM_MARKS: &[&str] =
    &["(", "@", "true", "false", "nan", "inf", "-inf", "tuple", "array", "proj", "con"];

impl Parser<'_> {
    pub(super) fn term(&mut self) -> Term {
        deep(|| {
            let kind = match self.peek() {
                Token::Mark("fn") => self.function(),
                Token::Mark("let") => self.let_(),
                Token::Mark("letrec") => self.letrec(),
                Token::Mark("if") => self.conditional(),
                Token::Mark("case") => self.case(),
                Token::Mark("build") => self.build(),
                Token::Mark("loop") => self.loop_(),
                Token::Mark(_)
                | Token::Name(..)
                | Token::Op(_)
                | Token::Number(_)
                | Token::Text(_)
                | Token::End => return self.application(),
            };
            Term::new(kind, Span::NONE)
        })
    }

    fn boxed(&mut self) -> Box<Term> {
        Box::new(self.term())
    }

    fn function(&mut self) -> Kind {
        self.expect("fn");
        self.expect("(");
        let parameter = self.binder();
        self.expect(")");
        self.expect("->");
        self.enter(&parameter);
        let body = self.boxed();
        Kind::Lam(self.leave(parameter), body)
    }

    fn let_(&mut self) -> Kind {
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
        Kind::Let(bindings.into_iter().rev().collect(), body)
    }

    fn letrec(&mut self) -> Kind {
        self.expect("letrec");
        let declared = self.binder();
        self.enter(&declared);
        self.expect("=");
        let value = self.boxed();
        self.expect("in");
        let body = self.boxed();
        Kind::LetRec(self.leave(declared), value, body)
    }

    fn conditional(&mut self) -> Kind {
        self.expect("if");
        let condition = self.boxed();
        self.expect("then");
        let yes = self.boxed();
        self.expect("else");
        Kind::If(condition, yes, self.boxed())
    }

    fn case(&mut self) -> Kind {
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
            let declared = self.list("(", ")", Parser::binder);
            self.expect("->");
            for binder in &declared {
                self.enter(binder);
            }
            let body = self.term();
            let binders = declared.into_iter().map(|binder| self.leave(binder)).collect();
            arms.push(Arm { tag, binders, body });
        }
        self.expect("}");
        Kind::Case(Box::new(Case { scrutinee, data, arms, default }))
    }

    fn build(&mut self) -> Kind {
        self.expect("build");
        let element = self.type_argument();
        let declared = self.binder();
        self.expect("<");
        let count = self.term();
        self.expect("do");
        self.enter(&declared);
        let body = self.term();
        Kind::Build(Box::new(Build { count, index: self.leave(declared), body, element }))
    }

    fn loop_(&mut self) -> Kind {
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
            return Kind::Loop(Box::new(Loop { state, init, control, body }));
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
        Kind::Loop(Box::new(Loop { state: self.leave(state), init, control, body }))
    }

    fn application(&mut self) -> Term {
        let mut term = self.atom();
        while self.sees_atom() {
            let argument = self.atom();
            term = Term::new(Kind::App(Box::new(term), Box::new(argument)), Span::NONE);
        }
        term
    }

    fn sees_atom(&self) -> bool {
        match self.peek() {
            Token::Mark(mark) => ATOM_MARKS.contains(mark),
            Token::Name(..) | Token::Op(_) | Token::Number(_) | Token::Text(_) => true,
            Token::End => false,
        }
    }

    fn atom(&mut self) -> Term {
        let kind = match self.peek().clone() {
            Token::Name(..) => self.variable(),
            Token::Op(name) => {
                self.advance();
                self.operation(&name)
            }
            Token::Text(text) => {
                self.advance();
                Kind::Lit(Lit::String(text))
            }
            Token::Number(digits) => Kind::Lit(if digits.contains(['.', 'e']) {
                Lit::Real(self.number())
            } else {
                Lit::Int(self.number())
            }),
            Token::Mark("(") => {
                self.advance();
                if !self.eat(")") {
                    let term = self.term();
                    self.expect(")");
                    return term;
                }
                Kind::Lit(Lit::Unit)
            }
            Token::Mark(mark) => {
                self.advance();
                self.marked(mark)
            }
            Token::End => {
                self.fail("expected a term");
                Kind::Lit(Lit::Unit)
            }
        };
        Term::new(kind, Span::NONE)
    }

    fn arguments(&mut self) -> Vec<Term> {
        self.list("(", ")", Parser::term)
    }

    /// The form that starts with this keyword or mark.
    fn marked(&mut self, mark: &str) -> Kind {
        match mark {
            "true" => Kind::Lit(Lit::Bool(true)),
            "false" => Kind::Lit(Lit::Bool(false)),
            "nan" => Kind::Lit(Lit::Real(f64::NAN)),
            "inf" => Kind::Lit(Lit::Real(f64::INFINITY)),
            "-inf" => Kind::Lit(Lit::Real(f64::NEG_INFINITY)),
            "@" => {
                let position = self.position("definition", |p, name, n| p.globals.find(name, n));
                Kind::Global(GlobalId(position as u32))
            }
            "tuple" => Kind::Tuple(self.type_argument(), self.arguments()),
            "array" => Kind::Array(self.type_argument(), self.arguments()),
            "proj" => {
                self.expect("[");
                let ty = self.ty();
                self.expect(",");
                let index = self.number();
                self.expect("]");
                self.expect("(");
                let tuple = self.boxed();
                self.expect(")");
                Kind::Proj(ty, index, tuple)
            }
            "con" => {
                let (data, args) = self.data();
                self.expect(".");
                let tag = self.constructor(data);
                Kind::Con(data, args, tag, self.arguments())
            }
            _ => {
                self.at -= 1;
                self.fail("expected a term");
                Kind::Lit(Lit::Unit)
            }
        }
    }

    /// The primitive operation or derivative term of this name.
    fn operation(&mut self, name: &str) -> Kind {
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
            return Kind::Lit(Lit::Unit);
        };
        Kind::Prim(prim, self.arguments())
    }

    /// The rest of a derivative term, from its types on.
    fn derivative(&mut self, op: DiffOp) -> Kind {
        let from = self.ty();
        self.expect(",");
        let to = self.ty();
        self.expect("]");
        Kind::Diff(Diff { op, from, to }, self.arguments())
    }

    fn size_pattern(&mut self) -> SizePattern {
        let written = self.list("{", "}", Parser::numbered_name);
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
        self.expect(",");
        let shape = self.shape(&names);
        self.expect(",");
        SizePattern { names: list, given, shape }
    }

    fn shape(&mut self, names: &Names) -> Shape {
        deep(|| {
            if self.eat("_") {
                return Shape::Any;
            }
            if self.sees("(") {
                return Shape::Tuple(self.list("(", ")", |p| p.shape(names)));
            }
            if self.sees("{") {
                let fields = |p: &mut Self| p.list("(", ")", |p| p.shape(names));
                return Shape::Data(self.list("{", "}", fields));
            }
            self.expect("[");
            let size = match self.peek() {
                Token::Number(_) => SizeRef::Literal(self.number()),
                Token::Name(..) => {
                    SizeRef::Name(self.position("size", |_, name, n| names.find(name, n)))
                }
                Token::Mark(_) | Token::Op(_) | Token::Text(_) | Token::End => {
                    self.expect("_");
                    SizeRef::Any
                }
            };
            self.expect("]");
            Shape::Array(size, Box::new(self.shape(names)))
        })
    }
}
