//! Counts the operations of programs, and of their values with gradients.

use crate::support::loaded;
use diffeo::differentiate::numbers;
use diffeo::{Engine, Entry, Limits, Options, Session};
use diffeo_calculus::value::Value;

/// What is looked at: `fn o -> …` of a function and a point, which says of which type `o` is.
const VALUE: &str = "fn o -> let _ = fn () -> [o, POINT] in (FUNCTION)(o)";
const GRADIENT: &str =
    "fn o -> let _ = fn () -> [o, POINT] in let (y, back) = vjp(FUNCTION, o) in (y, back(y))";

pub struct Costs {
    pub value: u64,
    pub gradient: u64,
    /// Of point and value: their numbers, and the constructors of their data.
    pub size: u64,
}

impl Costs {
    pub fn ratio(&self) -> f64 {
        self.gradient as f64 / (self.value + self.size) as f64
    }
}

fn entry(program: &str, text: &str) -> Option<(Session, Entry)> {
    let (mut session, module) = loaded(program);
    let it = session.expression(Some(module), text)?;
    let entry = session.function(it, "it")?;
    Some((session, entry))
}

/// The operations on Flat, and the result; none if it runs on the evaluator, or stops.
fn run(
    entry: &Entry,
    session: &Session,
    arg: Option<Value>,
    limits: &Limits,
) -> Option<(u64, Value)> {
    let options = Options { limits: limits.clone(), ..Options::default() };
    let run = session.run_on(entry, arg, options, Engine::Flat);
    let value = run.result.ok()?;
    Some((run.operations.filter(|_| run.unsupported.is_none())?, value))
}

/// How many numbers there are in a value, and how many constructors.
fn size(value: &Value) -> u64 {
    let mut size = numbers(value).len() as u64;
    let mut pending = vec![value.clone()];
    while let Some(value) = pending.pop() {
        size += u64::from(matches!(value, Value::Data(_)));
        if let Value::Array(array) = &value {
            pending.extend((0..array.len()).map(|i| array.get(i)));
        }
        pending.extend(value.fields().iter().cloned());
    }
    size
}

/// The costs of a function of a program at a point, its gradient within these limits; none if the evaluator computes it.
pub fn costs([program, function, point]: [&str; 3], limits: &Limits) -> Option<Costs> {
    let (session, at) = entry(program, point)?;
    let at = session.run_on(&at, None, Options::default(), Engine::Reference).result.ok()?;
    let text = |form: &str| form.replace("POINT", point).replace("FUNCTION", function);
    let entry = |form: &str| entry(program, &text(form));
    let ((first, value), (second, gradient)) = (entry(VALUE)?, entry(GRADIENT)?);
    let (value, result) = run(&value, &first, Some(at.clone()), &Limits::default())?;
    let (gradient, _) = run(&gradient, &second, Some(at.clone()), limits)?;
    let size = size(&at) + size(&result);
    Some(Costs { value, gradient, size })
}

/// The same of one that is compiled.
pub fn counted(text: &[String; 3], limits: &Limits) -> Costs {
    let costs = costs(text.each_ref().map(String::as_str), limits);
    costs.unwrap_or_else(|| panic!("{}: left to the evaluator", text[1]))
}
