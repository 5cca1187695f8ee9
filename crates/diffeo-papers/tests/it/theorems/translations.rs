//! What the theorems about translations have in common: runs of translated programs, values of translated
//! types, further definitions for a case, numbers that depend on the case alone.

use crate::theorems::generator::TheoremCase;
use crate::theorems::harness::{machine_for, reals, CaseFailure, MOST_OPERATIONS};
use crate::theorems::rewrite::fresh;
use diffeo_base::{Name, Span};
use diffeo_calculus::eval::{Kinks, Machine, RuntimeError};
use diffeo_calculus::leaves::map_leaves;
use diffeo_calculus::term::{Global, GlobalId, Program, Term, TermKind};
use diffeo_calculus::value::Value;
use diffeo_calculus::{lint, Ty};
use diffeo_papers::Workspace;
use std::rc::Rc;

/// Variables of generated programs have smaller numbers.
const NEXT: u32 = 1_000_000;

// Runs

/// A machine for everything in a workspace.
pub fn machine_of(w: &mut Workspace) -> Result<Machine, CaseFailure> {
    let program = w.program();
    match w.refusals() {
        [] => Ok(machine_for(program, Kinks::Ignore, MOST_OPERATIONS)),
        refusals => Err(format!("it is not translated: {refusals:?}").into()),
    }
}

/// What a definition gives.
pub fn call(machine: &mut Machine, f: GlobalId, arg: Value) -> Result<Value, RuntimeError> {
    let f = machine.eval_global(f)?;
    machine.apply(&f, arg)
}

/// Fails unless the program lints.
pub fn lints(program: &Program) -> Result<(), CaseFailure> {
    match lint(program) {
        violations if violations.is_empty() => Ok(()),
        violations => Err(violations.join("\n").into()),
    }
}

// Further definitions

/// The program of a case with further definitions, whose variables get numbers of their own.
pub fn with(case: &TheoremCase, definitions: Vec<(&str, Ty, Term)>) -> (Program, Vec<GlobalId>) {
    let mut program = (*case.program).clone();
    let mut next = NEXT;
    let mut ids = Vec::new();
    for (name, ty, mut body) in definitions {
        fresh(&mut body, &mut next);
        ids.push(GlobalId(program.globals.len() as u32));
        let global = Global { name: Name::new(name), ty, body, span: Span::NONE };
        program.globals.push(Rc::new(global));
    }
    (program, ids)
}

/// The function of a case, as it is defined, with variables that no other term made here has.
pub fn main_body(case: &TheoremCase) -> Term {
    let mut body = case.program.globals[case.main.0 as usize].body.clone();
    fresh(&mut body, &mut (1 << 31));
    body
}

/// The function of a case.
pub fn main_term(case: &TheoremCase) -> Term {
    Term::new(TermKind::Global(case.main), Span::NONE)
}

// Values

/// The value of the first one's shape with the tuple of the numbers of all of them in the place of each Real.
pub fn tuples(parts: &[&Value]) -> Value {
    let mut all: Vec<_> = parts.iter().map(|part| reals(part).into_iter()).collect();
    mapped(parts[0], &mut |_| {
        let numbers = all.iter_mut().filter_map(Iterator::next).map(Value::Real);
        match parts.len() {
            1 => numbers.last().unwrap_or(Value::Real(0.0)),
            _ => Value::tuple(numbers),
        }
    })
}

/// The value with others in the place of its Reals, from left to right.
pub fn mapped(value: &Value, of: &mut dyn FnMut(f64) -> Value) -> Value {
    let mapped = map_leaves(value, &mut |leaf| {
        Ok::<_, String>(of(diffeo_calculus::eval::reals::primal(leaf)))
    });
    mapped.expect("no leaf fails")
}

/// Each number so many after the first, of a value whose Reals are tuples of `count` numbers.
pub fn component(value: &Value, i: usize, count: usize) -> Vec<f64> {
    reals(value).chunks(count).filter_map(|numbers| numbers.get(i).copied()).collect()
}

/// What stands in a value of a translated type where a value of the type has a Real.
pub fn at_reals(plain: &Value, translated: &Value) -> Option<Vec<Value>> {
    let mut found = Vec::new();
    let mut pending = vec![(plain.clone(), translated.clone())];
    while let Some((a, b)) = pending.pop() {
        let first = pending.len();
        match (&a, &b) {
            (Value::Real(_), _) => found.push(b),
            (Value::Array(x), Value::Array(y)) if x.len() == y.len() => {
                pending.extend(x.iter().zip(y.iter()));
            }
            // A vector of numbers as a pair of vectors (Krawiec et al., section 10.2).
            (Value::Array(x), Value::Tuple(_)) => match b.fields() {
                [Value::Array(y), Value::Array(u)] if x.len() == y.len() && x.len() == u.len() => {
                    let duals = y.iter().zip(u.iter()).map(|(y, u)| Value::tuple([y, u]));
                    pending.extend(x.iter().zip(duals));
                }
                _ => return None,
            },
            (Value::Tuple(_), Value::Tuple(_)) | (Value::Data(_), Value::Data(_)) => {
                if a.fields().len() != b.fields().len() || tag(&a) != tag(&b) {
                    return None;
                }
                pending.extend(a.fields().iter().cloned().zip(b.fields().iter().cloned()));
            }
            // Texts may show Reals.
            (Value::String(_), Value::String(_)) => {}
            _ if format!("{a:?}") == format!("{b:?}") => {}
            _ => return None,
        }
        pending[first..].reverse();
    }
    Some(found)
}

fn tag(value: &Value) -> Option<u32> {
    match value {
        Value::Data(data) => Some(data.tag),
        _ => None,
    }
}

/// Fails unless the numbers are the same ones.
pub fn exactly(a: &[f64], b: &[f64]) -> Result<(), CaseFailure> {
    let same = |(a, b): (&f64, &f64)| a == b || (a.is_nan() && b.is_nan());
    match a.len() == b.len() && a.iter().zip(b).all(same) {
        true => Ok(()),
        false => Err(format!("{a:?} is not {b:?}").into()),
    }
}

/// Fails unless the numbers agree, see [`crate::theorems::harness::close`].
pub fn close_all(a: &[f64], b: &[f64], largest: f64) -> Result<(), CaseFailure> {
    if a.len() != b.len() {
        return Err(format!("{} numbers and {}", a.len(), b.len()).into());
    }
    a.iter().zip(b).try_for_each(|(a, b)| match a.is_nan() && b.is_nan() {
        true => Ok(()),
        false => crate::theorems::harness::close(*a, *b, largest),
    })
}

/// The largest of these numbers and 1.
pub fn magnitude(numbers: &[f64]) -> f64 {
    numbers.iter().fold(1.0, |m: f64, x| if x.is_finite() { m.max(x.abs()) } else { m })
}

// Numbers

/// Numbers that depend on the case alone.
pub struct Numbers(u64);

impl Numbers {
    /// Those of a case.
    pub fn of(case: &TheoremCase) -> Numbers {
        let all = case.trace.list.iter().map(|n| u64::from(*n));
        let bits = reals(&case.point).into_iter().map(f64::to_bits);
        Numbers(all.chain(bits).fold(0x9e37_79b9_7f4a_7c15, |hash, n| {
            (hash ^ n).wrapping_mul(0x100_0000_01b3).rotate_left(23)
        }))
    }

    /// A number below n (xorshift).
    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 33) as usize) % n
    }

    /// One of these.
    pub fn pick<T: Clone>(&mut self, options: &[T]) -> T {
        options[self.below(options.len())].clone()
    }

    /// A number in (-1, 1).
    pub fn real(&mut self) -> f64 {
        self.below(1 << 20) as f64 / f64::from(1 << 19) - 1.0
    }

    /// The value with such numbers for its Reals.
    pub fn like(&mut self, value: &Value) -> Value {
        mapped(value, &mut |_| Value::Real(self.real()))
    }
}
