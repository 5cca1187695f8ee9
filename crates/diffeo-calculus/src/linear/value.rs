//! Abstract values: their structure, the functions in them, and the dependence of each number on the tangent.
//!
//! An array is known by one element, which stands for all; data by what each constructor of each of its types holds.
//! So every type has finitely many values but for functions, whose number is bounded ([`MOST_FUNCTIONS`]).

use super::number::{Constant, Dependence, Number};
use crate::term::{GlobalId, Term};
use crate::ty::{DataId, Ty};
use crate::typing::{first_order, mentions_real};
use crate::Program;
use diffeo_base::{deep, Name, Span};
use std::cell::Cell;
use std::rc::Rc;

/// The most functions that a value may be, and the most constructors that data may have.
const MOST_FUNCTIONS: usize = 16;
const MOST_CONSTRUCTORS: usize = 48;

/// A value.
#[derive(Clone, PartialEq, Debug)]
pub enum Value<'p> {
    /// None: the program stops before.
    Never,
    /// Anything whose Reals are such numbers: a Real, or data of which no more is known.
    Any(Number),
    /// An Int, truth value, text or `()`, with its value where that is one of the first two and known.
    Plain(Option<i64>, Dependence),
    /// A tuple or record.
    Tuple(Rc<[Value<'p>]>),
    /// An array, and how its length depends on the tangent.
    Array(Rc<Value<'p>>, Dependence),
    /// A variant.
    Data(Rc<Data<'p>>),
    /// Within data, data that is made of the same constructors.
    Within,
    /// One of some functions, and how it depends on the tangent which.
    Fun(Rc<[Closure<'p>]>, Dependence),
}

/// What the constructors of a value's types hold.
#[derive(Clone, PartialEq, Debug)]
pub struct Data<'p> {
    pub cells: Vec<Holding<'p>>,
    /// How the choice of constructors depends on the tangent.
    pub on: Dependence,
}

/// What a constructor holds.
#[derive(Clone, PartialEq, Debug)]
pub struct Holding<'p> {
    pub of: (DataId, Rc<[Ty]>),
    pub tag: u32,
    pub fields: Rc<[Value<'p>]>,
}

/// A function.
#[derive(Clone, Debug)]
pub enum Closure<'p> {
    /// A `Lam` and the values of its free variables; the name it was bound to, and the variable that is itself.
    Lam { lam: &'p Term, env: Rc<[(u32, Value<'p>)]>, name: Option<Name>, own: Option<u32> },
    /// A definition. Of the functions that take rules, the place where it is named.
    Global(GlobalId, Span),
    /// A pullback: the point, and what the function gives.
    Pullback(Rc<(Value<'p>, Number)>),
    /// An unknown one that has captured such numbers.
    Unknown(Number),
}

impl PartialEq for Closure<'_> {
    fn eq(&self, other: &Self) -> bool {
        use Closure::{Global, Lam, Pullback, Unknown};
        match (self, other) {
            (Lam { lam: f, env: a, own: x, .. }, Lam { lam: g, env: b, own: y, .. }) => {
                std::ptr::eq(*f, *g) && x == y && (Rc::ptr_eq(a, b) || deep(|| a == b))
            }
            (Global(f, a), Global(g, b)) => f == g && a == b,
            (Pullback(a), Pullback(b)) => Rc::ptr_eq(a, b) || a == b,
            (Unknown(a), Unknown(b)) => a == b,
            (Lam { .. } | Global(..) | Pullback(_) | Unknown(_), _) => false,
        }
    }
}

/// What becomes of the parts of a value.
pub struct Change<'f> {
    /// Of numbers.
    pub number: &'f mut dyn FnMut(&Number) -> Number,
    /// Of the dependence of everything else.
    pub on: &'f mut dyn FnMut(&Dependence) -> Dependence,
    /// Whether what functions captured changes, too.
    pub captured: bool,
}

impl<'p> Value<'p> {
    /// `()`, or an Int, truth value or text that is not known.
    pub const PLAIN: Value<'static> = Value::Plain(None, Dependence::Free);

    /// A tuple.
    pub fn tuple(parts: impl IntoIterator<Item = Value<'p>>) -> Value<'p> {
        Value::Tuple(parts.into_iter().collect())
    }

    /// A function.
    pub fn function(closure: Closure<'p>) -> Value<'p> {
        Value::Fun([closure].into(), Dependence::Free)
    }

    /// A component of a tuple.
    pub fn part(&self, index: usize) -> Value<'p> {
        match self {
            Value::Tuple(parts) => parts.get(index).cloned().unwrap_or(Value::Never),
            other => other.clone(),
        }
    }

    /// The value with its parts changed; literals are forgotten where their dependence changes.
    pub fn changed(&self, change: &mut Change) -> Value<'p> {
        deep(|| match self {
            Value::Never | Value::Within => self.clone(),
            Value::Any(number) => Value::Any((change.number)(number)),
            Value::Plain(value, on) => Value::Plain(*value, (change.on)(on)),
            Value::Tuple(parts) => Value::tuple(parts.iter().map(|part| part.changed(change))),
            Value::Array(element, on) => {
                let element = element.changed(change);
                Value::Array(Rc::new(element), (change.on)(on))
            }
            Value::Data(data) => {
                let cells = data.cells.iter().map(|cell| Holding {
                    fields: cell.fields.iter().map(|field| field.changed(change)).collect(),
                    ..cell.clone()
                });
                let cells = cells.collect();
                Value::Data(Rc::new(Data { cells, on: (change.on)(&data.on) }))
            }
            Value::Fun(closures, on) => {
                let closures = match change.captured {
                    true => closures.iter().map(|closure| closure.changed(change)).collect(),
                    false => closures.clone(),
                };
                Value::Fun(closures, (change.on)(on))
            }
        })
    }

    /// The value as one of this type: where the type has no Real, it has no number.
    pub fn typed(&self, ty: &Ty, program: &Program) -> Value<'p> {
        deep(|| match (self, ty) {
            (Value::Any(n), Ty::Int | Ty::Bool | Ty::String | Ty::Unit) => {
                Value::Plain(None, n.on.beside())
            }
            (Value::Any(n), ty) if !mentions_real(ty, program) && first_order(ty, program) => {
                Value::Any(Number::new(Constant::Zero, n.on.beside()))
            }
            (Value::Tuple(parts), Ty::Tuple(types)) => {
                Value::tuple(parts.iter().zip(types.iter()).map(|(v, ty)| v.typed(ty, program)))
            }
            (Value::Tuple(parts), Ty::Record(fields)) => {
                let typed = parts.iter().zip(fields.iter());
                Value::tuple(typed.map(|(v, (_, ty))| v.typed(ty, program)))
            }
            (Value::Array(element, on), Ty::Array(ty)) => {
                Value::Array(Rc::new(element.typed(ty, program)), on.clone())
            }
            (Value::Data(data), Ty::Data(..)) => {
                let typed = |cell: &Holding<'p>| -> Rc<[Value<'p>]> {
                    let types = program.datas[cell.of.0 .0 as usize].fields(cell.tag, &cell.of.1);
                    let fields = cell.fields.iter().zip(&types);
                    fields.map(|(field, ty)| field.typed(ty, program)).collect()
                };
                if data.cells.iter().all(|cell| typed(cell) == cell.fields) {
                    return self.clone();
                }
                let cells = data.cells.iter();
                let cells = cells.map(|cell| Holding { fields: typed(cell), ..cell.clone() });
                Value::Data(Rc::new(Data { cells: cells.collect(), on: data.on.clone() }))
            }
            (other, _) => other.clone(),
        })
    }

    /// The value with its numbers changed.
    pub fn numbers(&self, number: &mut dyn FnMut(&Number) -> Number) -> Value<'p> {
        self.changed(&mut Change { number, on: &mut Dependence::clone, captured: false })
    }

    /// The value where it depends on the tangent in this way which value it is.
    pub fn chosen(self, by: &Dependence) -> Value<'p> {
        if *by == Dependence::Free {
            return self;
        }
        self.changed(&mut Change {
            number: &mut |n| Number::new(Constant::Unknown, by.and(&n.on)),
            on: &mut |on| by.and(on),
            captured: false,
        })
    }

    /// The value as one that is captured: free of the tangent, and the same at all points.
    pub fn captured(&self) -> Value<'p> {
        self.changed(&mut Change {
            number: &mut |n| match (&n.on, n.constant) {
                (Dependence::Free, Constant::Zero | Constant::Exactly(_) | Constant::Infinite) => {
                    n.clone()
                }
                _ => Number::FREE,
            },
            on: &mut |_| Dependence::Free,
            captured: true,
        })
    }

    /// The value without its literals, for what is done again and again with other ones.
    pub fn general(&self) -> Value<'p> {
        let exact = |n: &Number| match n.constant {
            Constant::Exactly(_) => Number::new(Constant::Unknown, n.on.clone()),
            _ => n.clone(),
        };
        match self {
            Value::Plain(_, on) => Value::Plain(None, on.clone()),
            Value::Tuple(parts) => Value::tuple(parts.iter().map(Value::general)),
            other => other.numbers(&mut |n| exact(n)),
        }
    }

    /// Shows every number, and the dependence of everything else; `captured`: what functions captured, too.
    fn each(
        &self,
        captured: bool,
        number: &mut dyn FnMut(&Number),
        shape: &mut dyn FnMut(&Dependence),
        plain: &mut dyn FnMut(&Dependence),
    ) {
        deep(|| match self {
            Value::Never | Value::Within => {}
            Value::Any(n) => {
                number(n);
                shape(&n.on.beside());
            }
            Value::Plain(_, on) => plain(on),
            Value::Tuple(parts) => {
                parts.iter().for_each(|part| part.each(captured, number, shape, plain));
            }
            Value::Array(element, on) => {
                shape(on);
                element.each(captured, number, shape, plain);
            }
            Value::Data(data) => {
                shape(&data.on);
                for field in data.cells.iter().flat_map(|cell| cell.fields.iter()) {
                    field.each(captured, number, shape, plain);
                }
            }
            Value::Fun(closures, on) => {
                shape(on);
                for closure in closures.iter().filter(|_| captured) {
                    match closure {
                        Closure::Lam { env, .. } => {
                            env.iter().for_each(|(_, v)| v.each(captured, number, shape, plain));
                        }
                        Closure::Global(..) => {}
                        Closure::Pullback(pullback) => {
                            pullback.0.each(captured, number, shape, plain);
                            number(&pullback.1);
                        }
                        Closure::Unknown(n) => number(n),
                    }
                }
            }
        })
    }

    /// Shows what is in a result: every number, how shapes depend on the tangent, and how other data does.
    pub fn leaves(
        &self,
        number: &mut dyn FnMut(&Number),
        shape: &mut dyn FnMut(&Dependence),
        plain: &mut dyn FnMut(&Dependence),
    ) {
        self.each(false, number, shape, plain);
    }

    /// A number that each of the Reals in the value may be; none if there is none.
    pub fn total(&self) -> Option<Number> {
        let mut total: Option<Number> = None;
        let mut worst = Dependence::Free;
        let mut number =
            |n: &Number| total = Some(total.take().map_or(n.clone(), |t| t.or(n, true)));
        self.each(false, &mut number, &mut |on| worst = worst.and(on), &mut |_| {});
        total.map(|n| Number::new(n.constant, n.on.and(&worst)))
    }

    /// As [`Value::total`], where nothing is 0.
    pub fn real(&self) -> Number {
        self.total().unwrap_or(Number::ZERO)
    }

    /// How an Int, truth value, text or `()` depends on the tangent.
    pub fn plain(&self) -> Dependence {
        match self {
            Value::Plain(_, on) => on.clone(),
            Value::Any(n) => n.on.beside(),
            _ => Dependence::Free,
        }
    }

    /// How anything in the value depends on the tangent: but for Reals, or with them and what functions captured.
    pub fn dependence(&self, reals: bool) -> Dependence {
        let all = Cell::new(Dependence::Free);
        let add = |on: &Dependence| all.set(all.replace(Dependence::Free).and(on));
        let number = |n: &Number| if reals { add(&n.on) } else { add(&n.on.beside()) };
        self.each(reals, &mut { number }, &mut { add }, &mut { add });
        all.into_inner()
    }

    /// Whether functions are in it that are known.
    pub fn has_functions(&self) -> bool {
        match self {
            Value::Never | Value::Any(_) | Value::Plain(..) | Value::Within => false,
            Value::Tuple(parts) => parts.iter().any(Value::has_functions),
            Value::Array(element, _) => element.has_functions(),
            Value::Data(data) => {
                data.cells.iter().any(|cell| cell.fields.iter().any(Value::has_functions))
            }
            Value::Fun(closures, _) => {
                closures.iter().any(|closure| !matches!(closure, Closure::Unknown(_)))
            }
        }
    }

    /// As [`Value::Any`]; `lost` is set if functions get lost.
    fn smashed(&self, lost: &Cell<bool>) -> Value<'p> {
        lost.set(lost.get() || self.has_functions());
        let shape = self.dependence(false);
        let n = self.real();
        Value::Any(Number::new(n.constant, n.on.and(&shape)))
    }

    /// A value that is one of these two, of branches.
    pub fn or(&self, other: &Value<'p>, lost: &Cell<bool>) -> Value<'p> {
        self.joined(other, false, lost)
    }

    /// A value that stands for both, since one variable has them in turn.
    pub fn with(&self, other: &Value<'p>, lost: &Cell<bool>) -> Value<'p> {
        self.joined(other, true, lost)
    }

    fn joined(&self, other: &Value<'p>, mixed: bool, lost: &Cell<bool>) -> Value<'p> {
        deep(|| match (self, other) {
            (Value::Never, v) | (v, Value::Never) => v.clone(),
            (Value::Within, Value::Within) => Value::Within,
            (Value::Any(a), Value::Any(b)) => Value::Any(a.or(b, mixed)),
            (Value::Plain(x, a), Value::Plain(y, b)) => {
                Value::Plain(if x == y { *x } else { None }, a.or(b, mixed))
            }
            (Value::Tuple(a), Value::Tuple(b)) if a.len() == b.len() => {
                if Rc::ptr_eq(a, b) {
                    return self.clone();
                }
                Value::tuple(a.iter().zip(b.iter()).map(|(a, b)| a.joined(b, mixed, lost)))
            }
            (Value::Array(a, m), Value::Array(b, n)) => {
                Value::Array(Rc::new(a.joined(b, mixed, lost)), m.or(n, mixed))
            }
            (Value::Data(a), Value::Data(b)) => {
                if Rc::ptr_eq(a, b) {
                    return self.clone();
                }
                let mut all = Data { cells: a.cells.clone(), on: a.on.or(&b.on, mixed) };
                let fits = b.cells.iter().all(|cell| all.add(cell, mixed, lost));
                let all = Value::Data(Rc::new(all));
                if fits {
                    all
                } else {
                    all.joined(&other.smashed(lost), mixed, lost)
                }
            }
            (Value::Fun(a, m), Value::Fun(b, n)) => {
                let new = b.iter().filter(|f| !a.contains(f));
                let all: Rc<[Closure]> = a.iter().chain(new).cloned().collect();
                if all.len() > MOST_FUNCTIONS {
                    lost.set(true);
                    let on = all.iter().fold(m.or(n, mixed), |on, f| {
                        on.and(&Value::function(f.clone()).dependence(true))
                    });
                    return Value::Any(Number::new(Constant::Unknown, on));
                }
                Value::Fun(all, m.or(n, mixed))
            }
            (Value::Any(n), Value::Plain(_, on)) | (Value::Plain(_, on), Value::Any(n)) => {
                Value::Plain(None, on.or(&n.on.beside(), mixed))
            }
            (Value::Any(n), Value::Tuple(parts)) | (Value::Tuple(parts), Value::Any(n)) => {
                let any = Value::Any(n.clone());
                Value::tuple(parts.iter().map(|part| part.joined(&any, mixed, lost)))
            }
            (Value::Any(n), Value::Array(element, on))
            | (Value::Array(element, on), Value::Any(n)) => {
                let any = Value::Any(n.clone());
                Value::Array(
                    Rc::new(element.joined(&any, mixed, lost)),
                    on.or(&n.on.beside(), mixed),
                )
            }
            (Value::Any(n), Value::Fun(closures, on))
            | (Value::Fun(closures, on), Value::Any(n)) => {
                let unknown = Value::Fun([Closure::Unknown(n.clone())].into(), Dependence::Free);
                Value::Fun(closures.clone(), on.clone()).joined(&unknown, mixed, lost)
            }
            // Data of which no more is known; values of different types do not meet.
            (a, b) => {
                let (Value::Any(a), Value::Any(b)) = (a.smashed(lost), b.smashed(lost)) else {
                    return Value::Never;
                };
                Value::Any(a.or(&b, mixed))
            }
        })
    }

    /// A value whose numbers are made of those at the same place of two of one type. What is not Real comes from the
    /// first.
    pub fn zip(
        &self,
        other: &Value<'p>,
        f: &mut dyn FnMut(&Number, &Number) -> Number,
    ) -> Value<'p> {
        deep(|| match (self, other) {
            (Value::Never, _) | (_, Value::Never) => Value::Never,
            (Value::Any(a), Value::Any(b)) => Value::Any(f(a, b)),
            (Value::Tuple(a), Value::Tuple(b)) => {
                Value::tuple(a.iter().zip(b.iter()).map(|(a, b)| a.zip(b, f)))
            }
            (Value::Any(_), Value::Tuple(b)) => Value::tuple(b.iter().map(|b| self.zip(b, f))),
            (Value::Tuple(a), Value::Any(_)) => Value::tuple(a.iter().map(|a| a.zip(other, f))),
            (Value::Array(a, m), Value::Array(b, n)) => {
                Value::Array(Rc::new(a.zip(b, f)), m.and(n))
            }
            (Value::Any(a), Value::Array(b, n)) => {
                Value::Array(Rc::new(self.zip(b, f)), a.on.beside().and(n))
            }
            (Value::Array(a, m), Value::Any(b)) => {
                Value::Array(Rc::new(a.zip(other, f)), m.and(&b.on.beside()))
            }
            (first, second) => {
                let b = second.real();
                first.numbers(&mut |a| f(a, &b)).chosen(&second.dependence(false))
            }
        })
    }

    /// A variant; `lost` is set if functions get lost.
    pub fn variant(
        of: (DataId, Rc<[Ty]>),
        tag: u32,
        fields: Vec<Value<'p>>,
        program: &Program,
        lost: &Cell<bool>,
    ) -> Value<'p> {
        let types = program.datas[of.0 .0 as usize].fields(tag, &of.1);
        let fields: Vec<Value> =
            fields.iter().zip(&types).map(|(field, ty)| field.typed(ty, program)).collect();
        let mut data = Data { cells: Vec::new(), on: Dependence::Free };
        let mut fits = true;
        let within: Vec<Value> =
            fields.iter().map(|field| field.absorbed(&mut data, &mut fits, lost)).collect();
        fits &= data.add(&Holding { of, tag, fields: within.into() }, true, lost);
        if fits && data.cells.len() <= MOST_CONSTRUCTORS {
            Value::Data(Rc::new(data))
        } else {
            Value::tuple(fields).smashed(lost)
        }
    }

    /// The value as a field of data, which takes over the constructors of data in it.
    fn absorbed(&self, into: &mut Data<'p>, fits: &mut bool, lost: &Cell<bool>) -> Value<'p> {
        match self {
            Value::Data(data) => {
                into.on = into.on.or(&data.on, true);
                for cell in &data.cells {
                    *fits &= into.add(cell, true, lost);
                }
                Value::Within
            }
            Value::Tuple(parts) => {
                Value::tuple(parts.iter().map(|part| part.absorbed(into, fits, lost)))
            }
            Value::Array(element, on) => {
                Value::Array(Rc::new(element.absorbed(into, fits, lost)), on.clone())
            }
            Value::Never | Value::Any(_) | Value::Plain(..) | Value::Within | Value::Fun(..) => {
                self.clone()
            }
        }
    }

    /// A field of data as a value of its own.
    pub fn freed(&self, whole: &Rc<Data<'p>>) -> Value<'p> {
        match self {
            Value::Within => Value::Data(whole.clone()),
            Value::Tuple(parts) => Value::tuple(parts.iter().map(|part| part.freed(whole))),
            Value::Array(element, on) => Value::Array(Rc::new(element.freed(whole)), on.clone()),
            Value::Never | Value::Any(_) | Value::Plain(..) | Value::Data(_) | Value::Fun(..) => {
                self.clone()
            }
        }
    }

    /// Whether data that is part of the same whole in one value is unknown data in the other.
    fn clashes(&self, other: &Value<'p>) -> bool {
        match (self, other) {
            (Value::Never, _) | (_, Value::Never) | (Value::Within, Value::Within) => false,
            (Value::Within, _) | (_, Value::Within) => true,
            (Value::Tuple(a), Value::Tuple(b)) => a.iter().zip(b.iter()).any(|(a, b)| a.clashes(b)),
            (Value::Tuple(parts), any) | (any, Value::Tuple(parts)) => {
                parts.iter().any(|part| part.clashes(any))
            }
            (Value::Array(a, _), Value::Array(b, _)) => a.clashes(b),
            (Value::Array(element, _), any) | (any, Value::Array(element, _)) => {
                element.clashes(any)
            }
            (..) => false,
        }
    }
}

impl<'p> Data<'p> {
    /// Adds what a constructor holds; false if what is known of it does not fit.
    fn add(&mut self, cell: &Holding<'p>, mixed: bool, lost: &Cell<bool>) -> bool {
        let own = self.cells.iter_mut().find(|own| own.tag == cell.tag && own.of == cell.of);
        let Some(own) = own else {
            self.cells.push(cell.clone());
            return true;
        };
        let pairs = own.fields.iter().zip(cell.fields.iter());
        if pairs.clone().any(|(a, b)| a.clashes(b)) {
            return false;
        }
        own.fields = pairs.map(|(a, b)| a.joined(b, mixed, lost)).collect();
        true
    }
}

impl<'p> Closure<'p> {
    fn changed(&self, change: &mut Change) -> Closure<'p> {
        match self {
            Closure::Lam { lam, env, name, own } => {
                let env = env.iter().map(|(x, v)| (*x, v.changed(change))).collect();
                Closure::Lam { lam, env, name: name.clone(), own: *own }
            }
            Closure::Global(..) => self.clone(),
            Closure::Pullback(pullback) => {
                let (point, of) = &**pullback;
                let point = point.changed(change);
                Closure::Pullback(Rc::new((point, (change.number)(of))))
            }
            Closure::Unknown(n) => Closure::Unknown((change.number)(n)),
        }
    }
}
