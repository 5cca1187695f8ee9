//! Flat as StableHLO, the language of XLA: programs on accelerators, and spread over many hosts.
//!
//! What comes in: a module of Flat, and the sizes of the entry's arrays. What goes out: the text of a module of StableHLO
//! whose function `main` takes the arguments of the entry and gives its results, the number of the first check that failed
//! (-1 if all hold) and its operands; or a [`Refusal`]. XLA cannot stop a program, knows no recursion, and no sizes that
//! only data decide.
//!
//! | file | what is in it |
//! |---|---|
//! | `lift.rs` | the walk over Flat: comprehensions as dimensions, arrays |
//! | `accumulate.rs` | accumulators; loops whose steps are computed at once |
//! | `control.rs` | branches, loops, reductions |
//! | `split.rs` | loop distribution |
//! | `checks.rs` | checks as results |
//! | `place.rs` | elements of arrays and accumulators |
//! | `products.rs` | sums of products as contractions |
//! | `scalar.rs`, `special.rs` | scalar operations; functions that StableHLO does not have |
//! | `value.rs` | what is known of values |
//! | `emit.rs` | text |

mod accumulate;
mod checks;
mod control;
mod emit;
mod lift;
mod place;
mod products;
mod scalar;
mod special;
mod split;
mod value;

pub use value::{Check, Piece};

use diffeo_array::ir::{Elem, FlatTy, Module, SiteId};
use diffeo_array::report::{report, ErrorOperand, Failure, Why};
use diffeo_base::Name;
use diffeo_calculus::eval::RuntimeError;
use diffeo_calculus::show::real;
use emit::without_unused;
use lift::{elem, Lift};
use value::{Tensor, Val};

/// A parameter of the entry.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// A number, given when the module runs.
    Scalar,
    /// An Int that the module is made for.
    Fixed(i64),
    /// An array of these sizes.
    Array(Vec<i64>),
}

/// The numbers that Reals are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Precision {
    /// Of 64 bits, as everywhere else in Diffeo.
    #[default]
    F64,
    /// Of 32 bits, for devices that have no others or are slow with them: 7 digits, up to 3.4e38.
    F32,
}

/// A module of StableHLO.
#[derive(Clone, Debug)]
pub struct StableHlo {
    /// Its text.
    pub text: String,
    /// The numbers that its Reals are.
    pub precision: Precision,
    /// The results of the entry: elements and sizes. The number of the failed check and its operands follow them.
    pub results: Vec<(Elem, Vec<i64>)>,
    /// The checks, by number.
    pub checks: Vec<Check>,
}

impl StableHlo {
    /// The error of a check of this number that did not hold, with the operands that the module gave; none if there is no
    /// such check.
    pub fn error(&self, module: &Module, number: i64, operands: &[i64]) -> Option<RuntimeError> {
        let check = self.checks.get(usize::try_from(number).ok()?)?;
        let given = check.operands.iter().zip(operands);
        let mut operands: Vec<ErrorOperand> = given
            .map(|(elem, n)| match elem {
                Elem::Real => ErrorOperand::Real(match self.precision {
                    Precision::F64 => f64::from_bits(*n as u64),
                    Precision::F32 => f32::from_bits(*n as u32).into(),
                }),
                _ => ErrorOperand::Int(*n),
            })
            .collect();
        if matches!(check.why, Why::Fail | Why::Shape(_)) {
            let shown = |i: &usize| match (operands.get(*i), check.operands.get(*i)) {
                (Some(ErrorOperand::Real(x)), _) => real(*x),
                (Some(ErrorOperand::Int(n)), Some(Elem::Bool)) => (*n != 0).to_string(),
                (Some(ErrorOperand::Int(n)), _) => n.to_string(),
                _ => String::new(),
            };
            let text = |piece: &Piece| match piece {
                Piece::Text(text) => text.to_string(),
                Piece::Operand(i) => shown(i),
            };
            let message: String = check.message.iter().map(text).collect();
            operands = vec![ErrorOperand::Text(message)];
        }
        let (why, calls) = (check.why.clone(), check.calls.clone());
        let failure = Failure { why, operands, site: check.site, calls, root: module.entry };
        Some(report(module, failure))
    }
}

/// A program that has no form in XLA.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// Where.
    pub site: SiteId,
    /// Why.
    pub reason: Reason,
}

/// Why a program has no form in XLA.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The function calls itself.
    Recursion(Name),
    /// The size of an array depends on data.
    Size,
    /// An array grows in a loop.
    Grows,
    /// Rows of an array would have different sizes.
    Ragged,
    /// Lists, trees, function values that are stored.
    Boxes,
    /// Texts outside of messages.
    Texts,
    /// The program prints or warns.
    Prints,
    /// A derivative keeps steps of a loop whose number depends on data.
    Stacks,
    /// Branches or loops lie deeper within each other than XLA's parser follows.
    Nested,
    /// The program has more statements than XLA compiles in minutes; each call is counted.
    Long,
    /// StableHLO lacks the operation, and it has no expansion here.
    Operation(&'static str),
}

impl Reason {
    /// The reason, behind "this".
    pub fn text(&self) -> String {
        match self {
            Reason::Recursion(name) => format!("recursion through `{name}` has no form in XLA"),
            Reason::Size => "a size that depends on data has no form in XLA".to_string(),
            Reason::Grows => "an array that grows in a loop has no form in XLA".to_string(),
            Reason::Ragged => {
                "rows whose sizes depend on their index have no form in XLA".to_string()
            }
            Reason::Boxes => {
                "lists, trees and functions that are stored have no form in XLA".to_string()
            }
            Reason::Texts => "texts have no form in XLA".to_string(),
            Reason::Prints => "`trace` and warnings have no form in XLA".to_string(),
            Reason::Stacks => {
                "the derivative of a loop whose steps are kept has no form in XLA yet".to_string()
            }
            Reason::Nested => {
                "branches or loops that are nested hundreds deep have no form in XLA".to_string()
            }
            Reason::Long => "a program of a million statements has no form in XLA".to_string(),
            Reason::Operation(name) => format!("`{name}` has no form in XLA yet"),
        }
    }
}

/// The text of a module for arguments of these sizes; with a `batch`, all arguments and results have further sizes in front
/// of their own, and each of these elements is a call.
///
/// # Errors
/// A [`Refusal`]: the form that XLA lacks, and its place.
pub fn stablehlo(
    module: &Module,
    inputs: &[Input],
    batch: &[i64],
    precision: Precision,
) -> Result<StableHlo, Box<Refusal>> {
    let entry = &module.functions[module.entry.0 as usize];
    let mut lift = Lift::new(module, precision);
    let rows: Vec<_> = batch.iter().map(|n| lift.new_dim(*n)).collect();
    lift.open.clone_from(&rows);
    let (mut params, mut values) = (Vec::new(), Vec::new());
    for (param, input) in entry.params.iter().zip(inputs) {
        let ty = &entry.vars[param.0 as usize].ty;
        if matches!(ty, FlatTy::Text | FlatTy::Box(_)) {
            let reason = if *ty == FlatTy::Text { Reason::Texts } else { Reason::Boxes };
            return Err(Box::new(Refusal { site: SiteId(0), reason }));
        }
        let shape = match input {
            Input::Fixed(n) => {
                values.push(Val::int(*n));
                continue;
            }
            Input::Scalar => Vec::new(),
            Input::Array(sizes) => sizes.clone(),
        };
        let id = format!("%arg{}", params.len());
        let sizes: Vec<i64> = batch.iter().chain(&shape).copied().collect();
        params.push(format!("{id}: {}", lift.tensor_type(elem(ty), &sizes)));
        let dims = rows.clone();
        values.push(Val::Tensor(Tensor { id: id.into(), elem: elem(ty), dims, shape }));
    }
    let results = lift.entry(values)?;
    let types: Vec<String> = results.iter().map(|t| lift.ty(t)).collect();
    let ids: Vec<&str> = results.iter().map(|t| &*t.id).collect();
    let (params, types) = (params.join(", "), types.join(", "));
    let text = format!(
        "module @diffeo {{\n  func.func public @main({params}) -> ({types}) {{\n{}    return {} : {types}\n  }}\n}}\n",
        without_unused(&lift.out, &ids),
        ids.join(", ")
    );
    let results = results[..results.len() - 2]
        .iter()
        .map(|t| (t.elem, lift.sizes_of(&t.dims, &t.shape)))
        .collect();
    Ok(StableHlo { text, precision, results, checks: lift.checks })
}
