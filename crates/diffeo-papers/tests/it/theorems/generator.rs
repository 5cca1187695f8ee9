//! Closed, well-typed programs from a list of choices, with a point, a tangent and a cotangent.
//!
//! What comes in: the [`Features`] that programs may have, and two lists of numbers, one for the program and
//! one for the values. What goes out: a [`TheoremCase`], or why there is none ([`Rejected`]: numbers or runs become
//! too large). What always holds: the program lints; every number stands for a choice and 0 for the simplest
//! one, as does the end of a list, so smaller lists make smaller programs (`shrink.rs`); it terminates; and without [`Features::partial`] it has a value.
//!
//! How programs that stop are avoided: Ints stay small by remainders, arrays within arrays have rows of length
//! `ROW`, indices are brought into range, loops and recursions make at most three steps, and operations
//! on Reals get operands inside their domains. And trees do not grow twofold in what is repeated.
//!
//! | file | what is in it |
//! |---|---|
//! | `choices.rs` | choices from a list of numbers |
//! | `types.rs` | types and declarations |
//! | `scope.rs` | binders and the variables in scope |
//! | `terms.rs` | terms of every type: variables, `let`, `if`, `case`, calls, tuples, variants |
//! | `numbers.rs` | Reals, Ints, truth values, texts |
//! | `arrays.rs` | arrays and the operations at every type |
//! | `functions.rs` | functions, recursion, folds, loops, further definitions |
//! | `derivatives.rs` | derivative terms |
//! | `values.rs` | points, tangents, cotangents |
//! | `features.rs` | what programs may have |

mod arrays;
mod choices;
mod derivatives;
mod features;
mod functions;
mod numbers;
mod scope;
mod terms;
mod types;
mod values;

pub use choices::{Choices, Trace};
pub use features::Features;

use crate::support::{proj, term};
use crate::theorems::harness::{apply_main, code, machine, reals};
use diffeo_base::{Name, Span};
use diffeo_calculus::eval::Kinks;
use diffeo_calculus::show::show;
use diffeo_calculus::term::{Global, GlobalId, Term, TermKind};
use diffeo_calculus::value::Value;
use diffeo_calculus::{print, print_type, Program, Ty};
use scope::ScopeEntry;
use std::fmt;
use std::rc::Rc;

/// The operations that one run of a program may take.
pub const MOST_OPERATIONS: u64 = 10_000;

/// The most parts of a point's result: data may be shared many times over.
const MOST_PARTS: usize = 2_000;

/// The largest absolute value in a point's result.
const MOST: f64 = 1e6;

/// The largest size of a program: about how many forms it has that are no variables and literals.
const MOST_FORMS: usize = 100;

/// The same of a short one.
const FEW_FORMS: usize = 12;

/// A program with a function `S → T` and values to differentiate it at.
pub struct TheoremCase {
    /// The program.
    pub program: Rc<Program>,
    /// The function, a definition whose body is a λ: the last definition.
    pub main: GlobalId,
    /// Its parameter type, first-order, with Reals in it.
    pub s: Ty,
    /// Its result type, first-order, with Reals in it.
    pub t: Ty,
    /// A point of `S`.
    pub point: Value,
    /// A tangent at the point: the same with other Reals.
    pub tangent: Value,
    /// The value at the point; `()` for a program that stops.
    pub value: Value,
    /// A cotangent of the value: the same with other Reals; `()` for a program that stops.
    pub cotangent: Value,
    /// The code of the error that the program stops with at the point ([`Features::partial`]).
    pub stops: Option<&'static str>,
    /// The choices that made the program.
    pub trace: Trace,
}

/// Why choices make no case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rejected {
    /// A number is too large or not finite.
    Large,
    /// The run is too long.
    Long,
}

impl TheoremCase {
    /// The case that these choices stand for.
    ///
    /// # Panics
    /// If the program stops without [`Features::partial`]: a mistake of the generator.
    pub fn new(
        features: Features,
        program: &[u16],
        values: &[u16],
    ) -> Result<TheoremCase, Rejected> {
        let mut generator = Generator {
            features,
            choices: Choices::new(program),
            next: 0,
            scope: Vec::new(),
            globals: Vec::new(),
            steps: 1,
            lambdas: 0,
            derivatives: 0,
        };
        let (s, t) = generator.main();
        let (globals, trace) = (generator.globals, generator.choices.into_trace());
        let main = GlobalId(globals.len() as u32 - 1);
        let program = Rc::new(Program {
            datas: types::datas(),
            globals: globals.into_iter().map(Rc::new).collect(),
            library: Vec::new(),
        });
        let mut values = values::ValueMaker::new(values);
        let point = values.of(&s);
        let tangent = values.direction(&point);
        let mut case = TheoremCase {
            program,
            main,
            s,
            t,
            point,
            tangent,
            value: Value::Unit,
            cotangent: Value::Unit,
            stops: None,
            trace,
        };
        let mut machine = machine(&case, Kinks::Ignore, MOST_OPERATIONS);
        let result = apply_main(&mut machine, &case, case.point.clone());
        if machine.operations() > MOST_OPERATIONS {
            return Err(Rejected::Long);
        }
        match result {
            Ok(value) => {
                let small = values::is_small(&value, MOST_PARTS);
                if !small || !reals(&value).iter().all(|x| x.abs() < MOST) {
                    return Err(Rejected::Large);
                }
                case.cotangent = values.direction(&value);
                case.value = value;
            }
            Err(error) => match code(&error) {
                "out-of-memory" | "too-deep" => return Err(Rejected::Long),
                // Only of a Real that is not finite.
                "not-an-int" => return Err(Rejected::Large),
                stops if features.partial => case.stops = Some(stops),
                _ => panic!("the program stops: {}\n{case}", error.kind.message()),
            },
        }
        Ok(case)
    }
}

impl fmt::Display for TheoremCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", print(&self.program))?;
        let name = &self.program.globals[self.main.0 as usize].name;
        let [s, t] = [&self.s, &self.t].map(|ty| print_type(ty, &self.program));
        writeln!(f, "@{name} : {s} -> {t}")?;
        let all = [
            ("at", &self.s, &self.point),
            ("tangent", &self.s, &self.tangent),
            ("value", &self.t, &self.value),
            ("cotangent", &self.t, &self.cotangent),
        ];
        for (what, ty, value) in all {
            match (self.stops, what) {
                (Some(code), "value") => writeln!(f, "stops with {code}")?,
                (Some(_), "cotangent") => {}
                _ => writeln!(f, "{what} {}", show(value, ty, &self.program.datas))?,
            }
        }
        Ok(())
    }
}

/// Makes one program.
struct Generator<'c> {
    features: Features,
    choices: Choices<'c>,
    /// The last id of a binder.
    next: u32,
    /// What can be referred to.
    scope: Vec<ScopeEntry>,
    /// The definitions so far.
    globals: Vec<Global>,
    /// How often the term being made is run at most in one call of the function around it.
    steps: usize,
    /// How many functions are around the term being made.
    lambdas: usize,
    /// How many derivative terms are around the term being made.
    derivatives: usize,
}

impl Generator<'_> {
    /// Makes the definitions, the last of which is the function; its types.
    fn main(&mut self) -> (Ty, Ty) {
        let most = if self.features.short { FEW_FORMS } else { MOST_FORMS };
        let size = self.choices.below(most);
        // Most points have a Real on top, which every term can use.
        let mut s = self.first_order_type(2);
        let direct = s == Ty::Real || s.components().iter().flatten().any(|t| *t == Ty::Real);
        if !direct && self.choices.below(4) > 0 {
            s = Ty::tuple(vec![s, Ty::Real]);
        }
        let mut rest = size;
        if self.features.globals {
            for _ in 0..3 {
                let start = self.choices.made();
                if self.choices.below(8) < 3 {
                    break;
                }
                rest -= rest / 4;
                self.helper(rest / 3);
                self.choices.helper_since(start);
            }
        }
        let start = self.choices.made();
        let t = self.first_order_type(2);
        self.choices.result_since(start);
        let body = self.lam(&s, |g, _| g.term(&t, rest));
        self.define("main", Ty::fun(s.clone(), t.clone()), body);
        (s, t)
    }

    /// Adds a definition and brings it into scope.
    fn define(&mut self, name: &str, ty: Ty, body: Term) {
        let id = GlobalId(self.globals.len() as u32);
        self.globals.push(Global { name: Name::new(name), ty: ty.clone(), body, span: Span::NONE });
        self.scope.push(ScopeEntry { ty, term: term(TermKind::Global(id)), regular: false });
    }

    /// The components of a tuple.
    fn components(ty: &Ty, tuple: &Term) -> Vec<(Ty, Term)> {
        let types = ty.components().unwrap_or_default();
        types.into_iter().enumerate().map(|(i, t)| (t, proj(ty, i, tuple.clone()))).collect()
    }
}
