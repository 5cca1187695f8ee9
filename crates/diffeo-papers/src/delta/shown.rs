//! The Delta of a run, as Krawiec et al. show it in Figure 12: what `runDelta` gives, with names for numbers.
//!
//! ```text
//! Let x1 = Add (Scale 5.5 (Var q.y)) (Scale 2.2 (Var v.x)) in
//! …
//! Var x38
//! ```
//!
//! The numbers of the argument are named after the source: by parameters, fields and positions. The bindings
//! are x1, x2, … in the order in which they were made.

use super::{naive, runtime, wrapper};
use crate::engine::TranslatingEngine;
use crate::{derived, Delta, Workspace};
use diffeo_base::{deep, field_name};
use diffeo_calculus::eval::reals::primal;
use diffeo_calculus::eval::{Machine, Options, RuntimeError};
use diffeo_calculus::leaves;
use diffeo_calculus::print::print_real;
use diffeo_calculus::term::{Binder, Global, GlobalId, Program, Term, TermKind, Var};
use diffeo_calculus::ty::{DataDecl, Ty};
use diffeo_calculus::value::Value;
use std::fmt;

/// The Delta of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Shown {
    /// The numbers of the argument, from left to right.
    pub inputs: Vec<(String, f64)>,
    /// The bindings in the order in which they were made.
    pub bindings: Vec<(String, Expression)>,
    /// The numbers of the result, from left to right.
    pub results: Vec<Number>,
    /// The derivatives of each number of the result by the inputs.
    pub derivatives: Vec<Vec<f64>>,
}

/// A dual number of the result.
#[derive(Clone, PartialEq, Debug)]
pub struct Number {
    /// Where it stands in the result; empty for a Real.
    pub name: String,
    /// Its primal.
    pub value: f64,
    /// Its Delta.
    pub delta: Expression,
}

/// A Delta.
#[derive(Clone, PartialEq, Debug)]
pub enum Expression {
    /// No difference.
    Zero,
    /// A multiple.
    Scale(f64, Box<Expression>),
    /// A sum.
    Add(Box<Expression>, Box<Expression>),
    /// An input or a binding.
    Var(String),
    /// An input of the translation without bindings.
    OneHot(String),
    /// A binding, the Delta that it stands for, and what it stands in.
    Let(String, Box<Expression>, Box<Expression>),
}

/// Runs a definition `e : S → T` between first-order types at a point, by the monadic translation.
///
/// # Errors
/// What stops the program.
pub fn figure_12(
    program: &Program,
    e: GlobalId,
    point: Value,
    options: Options,
) -> Result<Shown, RuntimeError> {
    let source = program.globals[e.0 as usize].clone();
    let mut w = Workspace::new(program);
    derived::prepare(&mut w, TranslatingEngine::Delta(Delta::default()));
    let deltas = wrapper::deltas(&mut w, e, Delta::default());
    let r = wrapper::r(&mut w, e, Delta::default());
    let mut machine = Machine::translating(Box::new(w), options);
    let deltas = machine.eval_global(deltas)?;
    let ran = machine.apply(&deltas, point.clone())?;
    let mut reader = Reader::new(&program.datas, false);
    let Ty::Fun(f) = &source.ty else { return Ok(reader.shown(Vec::new(), Vec::new())) };
    reader.input(&f.0, &point, &parameter(&source));
    // (t, (id, bindings)), the bindings a list with the last in front.
    let mut made = Vec::new();
    let mut rest = &ran.fields()[1].fields()[1];
    while let [binding, next] = rest.fields() {
        made.push(&binding.fields()[1]);
        rest = next;
    }
    let bindings = made.iter().rev().enumerate();
    let bindings = bindings.map(|(i, u)| (format!("x{}", i + 1), reader.expression(u))).collect();
    reader.result(&f.1, &ran.fields()[0], String::new());
    let derivatives = gradients(&mut machine, (e, r), &point)?;
    Ok(reader.shown(bindings, derivatives))
}

/// The same by the translation without sharing, D² (Figures 7 and 8): there are no bindings. None for one of
/// more than [`MOST`] nodes.
///
/// # Errors
/// What stops the program.
pub fn naive(
    program: &Program,
    e: GlobalId,
    point: Value,
    options: Options,
) -> Result<Option<Shown>, RuntimeError> {
    let source = program.globals[e.0 as usize].clone();
    let mut w = Workspace::new(program);
    derived::prepare(&mut w, TranslatingEngine::Dual);
    let deltas = naive::deltas(&mut w, e);
    let r = naive::r2(&mut w, e);
    let mut machine = Machine::translating(Box::new(w), options);
    let deltas = machine.eval_global(deltas)?;
    let ran = machine.apply(&deltas, point.clone())?;
    if !at_most(&ran, MOST) {
        return Ok(None);
    }
    let mut reader = Reader::new(&program.datas, true);
    let Ty::Fun(f) = &source.ty else { return Ok(None) };
    reader.input(&f.0, &point, &parameter(&source));
    reader.result(&f.1, &ran, String::new());
    let derivatives = gradients(&mut machine, (e, r), &point)?;
    Ok(Some(reader.shown(Vec::new(), derivatives)))
}

/// The largest Delta without sharing that is shown.
pub const MOST: usize = 5_000;

/// Whether a value, written out, has at most so many nodes.
fn at_most(value: &Value, most: usize) -> bool {
    let (mut count, mut pending) = (0, vec![value.clone()]);
    while let Some(value) = pending.pop() {
        count += 1;
        match &value {
            Value::Array(array) => pending.extend(array.iter()),
            value => pending.extend(value.fields().iter().cloned()),
        }
        if count + pending.len() > most {
            return false;
        }
    }
    true
}

/// For each number of the value of a definition at a point the derivatives of it, by its wrapper R.
fn gradients(
    machine: &mut Machine,
    (e, r): (GlobalId, GlobalId),
    point: &Value,
) -> Result<Vec<Vec<f64>>, RuntimeError> {
    let (e, r) = (machine.eval_global(e)?, machine.eval_global(r)?);
    let value = machine.apply(&e, point.clone())?;
    let mut rows = Vec::new();
    for row in 0..numbers(&value).len() {
        let mut i = 0;
        let unit = leaves::map_leaves(&value, &mut |_| {
            i += 1;
            Ok(Value::Real(if i - 1 == row { 1.0 } else { 0.0 }))
        });
        let unit = unit.unwrap_or_else(|never: std::convert::Infallible| match never {});
        let gradient = machine.apply(&r, Value::tuple([point.clone(), unit]))?;
        rows.push(numbers(&gradient));
    }
    Ok(rows)
}

fn numbers(value: &Value) -> Vec<f64> {
    let mut out = Vec::new();
    let _: Result<(), std::convert::Infallible> = leaves::each_leaf(value, &mut |leaf| {
        out.push(primal(leaf));
        Ok(())
    });
    out
}

/// What the components of an argument are called in the source.
struct Named {
    name: String,
    /// By the names that the function gives them at its beginning.
    components: Vec<(usize, Named)>,
}

impl Named {
    fn new(name: &str) -> Named {
        Named { name: name.to_string(), components: Vec::new() }
    }
}

/// The parameter of a function, and the variables that it is taken apart into at the beginning.
fn parameter(source: &Global) -> Named {
    let TermKind::Lam(x, body) = &source.body.kind else { return Named::new("x") };
    let bindings = match &body.kind {
        TermKind::Let(bindings, _) => &bindings[..],
        _ => &[],
    };
    named(&x.var, bindings)
}

/// A variable with those that it is taken apart into, and these in their turn.
fn named(x: &Var, bindings: &[(Binder, Term)]) -> Named {
    let component = |(binder, value): &(Binder, Term)| match &value.kind {
        TermKind::Proj(_, i, of) if is_variable(of, x.id) => {
            Some((*i, named(&binder.var, bindings)))
        }
        _ => None,
    };
    Named { name: x.name.to_string(), components: bindings.iter().filter_map(component).collect() }
}

fn is_variable(t: &Term, id: u32) -> bool {
    matches!(&t.kind, TermKind::Var(x) if x.id == id)
}

struct Reader<'p> {
    datas: &'p [DataDecl],
    /// The names of the inputs.
    names: Vec<String>,
    inputs: Vec<(String, f64)>,
    results: Vec<Number>,
    /// Whether the Deltas are those of Figure 7.
    naive: bool,
}

/// The parts of a structure with what they are called in it.
fn parts(datas: &[DataDecl], ty: &Ty, value: &Value) -> Vec<(String, Ty, Value)> {
    let named = |types: Vec<(String, Ty)>| {
        let values = value.fields().iter().cloned();
        types.into_iter().zip(values).map(|((name, ty), v)| (name, ty, v)).collect()
    };
    match (ty, value) {
        (Ty::Tuple(types), _) => {
            named(types.iter().enumerate().map(|(i, t)| (format!(".{i}"), t.clone())).collect())
        }
        (Ty::Record(fields), _) => named(
            fields.iter().map(|(name, t)| (format!(".{}", field_name(name)), t.clone())).collect(),
        ),
        (Ty::Data(id, args), Value::Data(data)) => {
            let fields = datas[id.0 as usize].fields(data.tag, args);
            named(fields.into_iter().enumerate().map(|(i, t)| (format!(".{i}"), t)).collect())
        }
        (Ty::Array(element), Value::Array(array)) => array
            .iter()
            .enumerate()
            .map(|(i, v)| (format!("[{i}]"), Ty::clone(element), v))
            .collect(),
        _ => Vec::new(),
    }
}

impl<'p> Reader<'p> {
    fn new(datas: &'p [DataDecl], naive: bool) -> Reader<'p> {
        Reader { datas, names: Vec::new(), inputs: Vec::new(), results: Vec::new(), naive }
    }

    fn shown(self, bindings: Vec<(String, Expression)>, derivatives: Vec<Vec<f64>>) -> Shown {
        Shown { inputs: self.inputs, bindings, results: self.results, derivatives }
    }

    fn input(&mut self, ty: &Ty, value: &Value, named: &Named) {
        if let Value::Real(x) = value {
            self.names.push(named.name.clone());
            self.inputs.push((named.name.clone(), *x));
        }
        for (i, (part, ty, value)) in parts(self.datas, ty, value).into_iter().enumerate() {
            match named.components.iter().find(|(at, _)| *at == i) {
                Some((_, component)) => self.input(&ty, &value, component),
                None => {
                    let name = format!("{}{part}", named.name);
                    self.input(&ty, &value, &Named::new(name.trim_start_matches('.')));
                }
            }
        }
    }

    fn result(&mut self, ty: &Ty, value: &Value, name: String) {
        if let (Ty::Real, [Value::Real(x), u]) = (ty, value.fields()) {
            let delta = self.expression(u);
            self.results.push(Number { name, value: *x, delta });
            return;
        }
        for (part, ty, value) in parts(self.datas, ty, value) {
            let name = format!("{name}{part}");
            self.result(&ty, &value, name.trim_start_matches('.').to_string());
        }
    }

    /// The inputs have the ids from 1, the bindings those that follow.
    fn name(&self, id: i64) -> String {
        let position = usize::try_from(id - 1).unwrap_or_default();
        match self.names.get(position) {
            Some(name) => name.clone(),
            None => format!("x{}", position + 1 - self.names.len()),
        }
    }

    fn expression(&self, u: &Value) -> Expression {
        let Value::Data(data) = u else { return Expression::Zero };
        let boxed = |u: &Value| Box::new(deep(|| self.expression(u)));
        if self.naive {
            return match (data.tag, &data.fields[..]) {
                (naive::ONE_HOT, [Value::Int(i)]) => Expression::OneHot(self.name(*i + 1)),
                (naive::SCALE, [Value::Real(x), u]) => Expression::Scale(*x, boxed(u)),
                (naive::ADD, [a, b]) => Expression::Add(boxed(a), boxed(b)),
                (naive::ZERO, _) | (_, _) => Expression::Zero,
            };
        }
        match (data.tag, &data.fields[..]) {
            (runtime::SCALE, [Value::Real(x), u]) => Expression::Scale(*x, boxed(u)),
            (runtime::ADD, [a, b]) => Expression::Add(boxed(a), boxed(b)),
            (runtime::VAR, [Value::Int(id)]) => Expression::Var(self.name(*id)),
            (_, [Value::Int(id), a, b]) => Expression::Let(self.name(*id), boxed(a), boxed(b)),
            _ => Expression::Zero,
        }
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let atom = |u: &Expression| match u {
            Expression::Zero => u.to_string(),
            Expression::Scale(..)
            | Expression::Add(..)
            | Expression::Var(_)
            | Expression::OneHot(_)
            | Expression::Let(..) => format!("({u})"),
        };
        match self {
            Expression::Zero => f.write_str("Zero"),
            Expression::Scale(x, u) if *x < 0.0 => {
                write!(f, "Scale ({}) {}", print_real(*x), atom(u))
            }
            Expression::Scale(x, u) => write!(f, "Scale {} {}", print_real(*x), atom(u)),
            Expression::Add(a, b) => write!(f, "Add {} {}", atom(a), atom(b)),
            Expression::Var(name) => write!(f, "Var {name}"),
            Expression::OneHot(name) => write!(f, "OneHot {name}"),
            Expression::Let(name, u, body) => write!(f, "Let {name} = {u} in\n{body}"),
        }
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, u) in &self.bindings {
            writeln!(f, "Let {name} = {u} in")?;
        }
        match &self.results[..] {
            [only] if only.name.is_empty() => write!(f, "{}", only.delta),
            several => {
                let lines: Vec<String> =
                    several.iter().map(|n| format!("{} = {}", n.name, n.delta)).collect();
                f.write_str(&lines.join("\n"))
            }
        }
    }
}
