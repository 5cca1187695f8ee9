//! Traces as Core: a trace in, a function in; so traces print, and what prints parses and runs.

use super::syntax::{parts, C, X};
use super::Trace;
use diffeo_base::deep;
use diffeo_base::{Name, Span};
use diffeo_calculus::eval::error::ErrorKind;
use diffeo_calculus::prim::Prim;
use diffeo_calculus::term::{Arm, Binder, Case, Lit, Program, Term, TermKind, Var};
use diffeo_calculus::ty::{DataId, Ty};
use diffeo_calculus::value::Value;
use std::collections::HashMap;
use std::rc::Rc;

fn term(kind: TermKind) -> Term {
    Term::new(kind, Span::NONE)
}

/// The function of a trace, `fn (x : T) -> … let y : S = C in … D`.
pub(super) fn function(trace: &Trace) -> Result<Term, ErrorKind> {
    let mut core = Core {
        program: &trace.cx.program,
        numbers: HashMap::new(),
        next: trace.params.len() as u32,
    };
    let params: Vec<Binder> = trace.params.iter().map(|x| core.binder(x)).collect();
    let mut bindings = Vec::new();
    for binding in &trace.bindings {
        let value = core.c(&binding.term)?;
        bindings.push((core.binder(&binding.x), value));
    }
    let mut body = core.c(&trace.result)?;
    if !bindings.is_empty() {
        body = term(TermKind::Let(bindings, Box::new(body)));
    }
    Ok(params.into_iter().rev().fold(body, |body, x| term(TermKind::Lam(x, Box::new(body)))))
}

struct Core<'p> {
    program: &'p Program,
    /// The variables by their numbers in the evaluation.
    numbers: HashMap<u32, Var>,
    next: u32,
}

impl Core<'_> {
    fn fresh(&mut self, name: &Name) -> Var {
        self.next += 1;
        Var { name: name.clone(), id: self.next }
    }

    fn binder(&mut self, x: &X) -> Binder {
        let var = self.fresh(&x.name);
        self.numbers.insert(x.id, var.clone());
        Binder { var, ty: x.ty.clone() }
    }

    fn all(&mut self, terms: &[C]) -> Result<Vec<Term>, ErrorKind> {
        terms.iter().map(|c| self.c(c)).collect()
    }

    fn c(&mut self, c: &C) -> Result<Term, ErrorKind> {
        Ok(match c {
            C::Var(x) => match self.numbers.get(&x.id) {
                Some(var) => term(TermKind::Var(var.clone())),
                // A variable of a trace around this one.
                None => self.value(&x.value, &x.ty)?,
            },
            C::Closed(value, ty) => self.value(value, ty)?,
            C::Op(op, operands) => term(TermKind::Prim(Prim::Real(*op), self.all(operands)?)),
            C::Let(x, c, d) => {
                let value = self.c(c)?;
                let binder = self.binder(x);
                term(TermKind::Let(vec![(binder, value)], Box::new(deep(|| self.c(d))?)))
            }
            C::Tuple(ty, components) => term(TermKind::Tuple(ty.clone(), self.all(components)?)),
            C::Proj(ty, i, c) => term(TermKind::Proj(ty.clone(), *i, Box::new(self.c(c)?))),
            C::Con(data, args, tag, fields) => {
                term(TermKind::Con(*data, args.clone(), *tag, self.all(fields)?))
            }
            C::Field(data, args, tag, i, c) => {
                let scrutinee = self.c(c)?;
                self.field(*data, args, *tag, *i, scrutinee)
            }
            C::Array(element, elements) => {
                term(TermKind::Array(element.clone(), self.all(elements)?))
            }
            C::Element(element, i, c) => {
                let index = term(TermKind::Lit(Lit::Int(*i as i64)));
                term(TermKind::Prim(Prim::Index(element.clone()), vec![self.c(c)?, index]))
            }
        })
    }

    /// `case C of { con(…, y, …) -> y | else -> fail }`
    fn field(
        &mut self,
        data: DataId,
        args: &Rc<[Ty]>,
        tag: u32,
        i: usize,
        scrutinee: Term,
    ) -> Term {
        let decl = &self.program.datas[data.0 as usize];
        let types = decl.fields(tag, args);
        let several = decl.constructors.len() > 1;
        let ty = types[i].clone();
        let binders: Vec<Binder> =
            types.into_iter().map(|ty| Binder { var: self.fresh(&"y".into()), ty }).collect();
        let body = term(TermKind::Var(binders[i].var.clone()));
        let message =
            term(TermKind::Lit(Lit::String("the trace was taken at another constructor".into())));
        let default = several.then(|| term(TermKind::Prim(Prim::Fail(ty), vec![message])));
        let arms = vec![Arm { tag, binders, body }];
        term(TermKind::Case(Box::new(Case {
            scrutinee,
            data: (data, args.clone()),
            arms,
            default,
        })))
    }

    /// A closed value.
    fn value(&mut self, value: &Value, ty: &Ty) -> Result<Term, ErrorKind> {
        let literal = |literal| Ok(term(TermKind::Lit(literal)));
        match value {
            Value::Unit => literal(Lit::Unit),
            Value::Real(x) => literal(Lit::Real(*x)),
            Value::Int(n) => literal(Lit::Int(*n)),
            Value::Bool(b) => literal(Lit::Bool(*b)),
            Value::String(text) => literal(Lit::String(Name::new(text))),
            Value::Tuple(_) | Value::Data(_) | Value::Array(_) => deep(|| {
                let mut all = Vec::new();
                for i in 0..parts(value) {
                    let part = super::syntax::part_ty(self.program, ty, value, i)?;
                    all.push(self.value(&super::syntax::part_of(value, i)?, &part)?);
                }
                Ok(term(match (ty, value) {
                    (Ty::Data(data, args), Value::Data(d)) => {
                        TermKind::Con(*data, args.clone(), d.tag, all)
                    }
                    (Ty::Array(element), _) => TermKind::Array((**element).clone(), all),
                    _ => TermKind::Tuple(ty.clone(), all),
                }))
            }),
            Value::Function(_) | Value::Dual { .. } | Value::Active(_) | Value::Zero => {
                Err(super::syntax::internal("a value that has no text"))
            }
        }
    }
}
