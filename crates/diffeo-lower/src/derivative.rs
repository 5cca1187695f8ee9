//! Derivative operators.
//!
//! What comes in: an operator of Core with its operands. What goes out: the call of a function that is *declared* as
//! the derivative of the function. Its body is made when everything has been lowered ([`Lower::derive`]), because only
//! then is complete what the function calls; the derivatives that it takes itself come first. A function whose
//! derivative is taken within itself has infinitely many derivatives: the first is made, and where that would have to
//! be derived, the program stops (`Stop::Order`), and the evaluator begins it again.
//!
//! A derivative that is nan stops the program (`Stop::Nan`). The evaluator, which knows of each number whether it
//! varies at all, finds out whether it is nan indeed, and which operation made it so.

mod make;

use super::polytypic::{Coefficient, Zip};
use super::shape::Shape;
use super::sym::Sym;
use super::{Lower, Nan};
use diffeo_array::ad::{differentiable, factorials, Orders, Rule};
use diffeo_array::ir::{Atom, BoxId, Elem, FlatTy, FunctionId, Op, SiteId, Stop};
use diffeo_base::Span;
use diffeo_calculus::eval::derivative::jet_coefficients;
use diffeo_calculus::prim::{Diff, DiffOp};
use diffeo_calculus::typing::jet_type;
use diffeo_calculus::Ty;
use std::collections::HashSet;
use std::rc::Rc;

/// What the evaluator calls what a rule gives.
const RULE: &str = "the rule of `with_derivative`";

/// A product of two series of Taylor coefficients may take this many multiplications, one by one in the program.
const MOST_PRODUCTS: u64 = 4096;

/// More types than this in a type are not looked at.
const MOST_TYPES: usize = 1000;

/// What is computed of a function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum DerivativeKind {
    /// `captured ++ S ++ T → S`: the gradient for a cotangent.
    Rd,
    /// `captured ++ S → T ++ residuals`: the value, and a box for the pullback, `residuals ++ T ++ S ++ T → S`.
    Vjp,
    /// `captured ++ S ++ … ++ S → T ++ … ++ T`: the Taylor coefficients in some variables up to an order, one after the
    /// other, as tangents are; whether `S` is the one variable, of which only the first is given.
    Jet(Orders, bool),
    /// `captured ++ S ++ S → T`: the sets of what the Reals of the value depend on.
    Dependence,
    /// `captured ++ S → T`: the function on all its paths.
    AllPaths,
}

/// The pullback of a function: a function of Flat that no function of Core is. It has captured the residuals, the
/// value and the point.
pub(super) struct Pullback {
    /// `T → S`
    pub ty: Rc<(Ty, Ty)>,
    pub function: FunctionId,
    /// The shapes of what it has captured.
    pub captured: Rc<[Shape]>,
    /// The function of what it has captured and a cotangent, with the checks, if it is needed.
    whole: Option<FunctionId>,
}

/// The derivative of a function.
pub(super) struct Derivative {
    what: DerivativeKind,
    /// The function declared for it.
    wrapper: FunctionId,
    /// Of [`DerivativeKind::Vjp`]: the pullback and the type of residuals.
    pullback: Option<(FunctionId, BoxId)>,
    /// The function.
    of: FunctionId,
    /// How many of its parameters it captured.
    captured: usize,
    /// The function where it is first taken, and the place there.
    taken: (FunctionId, SiteId),
    /// The place that messages name.
    place: Span,
    /// Whether a nan in it stops the program.
    watched: bool,
    state: DerivativeState,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum DerivativeState {
    Declared,
    /// What is differentiated within the function is being made.
    Open,
    Made,
}

/// A function that is called with an argument of its type, first-order.
struct Callee {
    function: FunctionId,
    captured: Vec<Atom>,
    from: Shape,
    to: Shape,
}

impl<'p> Lower<'p> {
    /// The value of a derivative operator.
    pub(super) fn diff(&mut self, diff: &Diff, values: &[Sym], at: SiteId) -> Sym {
        match (diff.op, values) {
            (DiffOp::StopGradient, [x]) => self.stop_gradient(x, at),
            (DiffOp::Checkpoint, [f, x]) => self.checkpoint(f, x, at),
            (DiffOp::WithDerivative | DiffOp::WithExactDerivative, [f, rule, x]) => {
                self.with_derivative(diff, [f, rule, x], at)
            }
            (DiffOp::Deciding, [f, _, x]) => self.apply(f, x, false, at),
            (DiffOp::Decisions, [f, x, words]) => self.decisions(f, [x, words], at),
            (DiffOp::Jvp, [f, x, tangent]) => self.jvp(diff, [f, x, tangent], at),
            (DiffOp::Dependence, [f, x, sets]) => self.dependence(diff, [f, x, sets], at),
            (DiffOp::AllPaths, [f, x]) => self.all_paths(f, x, at),
            (DiffOp::Rd, [f, x, cotangent]) => self.rd(diff, [f, x, cotangent], at),
            (DiffOp::Vjp, [f, x]) => self.vjp(diff, f, x, at),
            (DiffOp::Jet { k, r }, [f, x]) => self.jet(diff, (f, x), (k, r), at),
            (
                DiffOp::Rd
                | DiffOp::RdAlong
                | DiffOp::Vjp
                | DiffOp::Jvp
                | DiffOp::Jet { .. }
                | DiffOp::StopGradient
                | DiffOp::Checkpoint
                | DiffOp::WithDerivative
                | DiffOp::WithExactDerivative
                | DiffOp::Decisions
                | DiffOp::Deciding
                | DiffOp::Enclose
                | DiffOp::Dependence
                | DiffOp::AllPaths,
                _,
            ) => {
                self.bug("a derivative that was not found beforehand");
                Sym::Never
            }
        }
    }

    /// The function that a value is.
    fn callee(&mut self, function: &Sym, at: SiteId) -> Option<Callee> {
        match function {
            Sym::Known(id, captured) => {
                let Some(lambda) = self.lambdas.get(id).cloned() else {
                    return self.pullback(*id, captured, at);
                };
                let from = self.plain(&lambda.parameter.ty);
                let (function, captured, from, to) = self.resolve(&lambda, captured, from, at);
                Some(Callee { function, captured, from, to })
            }
            Sym::Dynamic(k, object) => {
                let (function, from, to) = self.apply_of(*k as usize);
                Some(Callee { function, captured: vec![object.clone()], from, to })
            }
            Sym::Never => None,
            Sym::Unit
            | Sym::Leaf(_)
            | Sym::Tuple(_)
            | Sym::Boxed(..)
            | Sym::Array(_)
            | Sym::Con(..)
            | Sym::Sum(..) => {
                self.bug("what is differentiated is no function");
                None
            }
        }
    }

    fn cannot(&mut self, why: &str, at: SiteId) {
        self.unsupported.get_or_insert((self.f.id, at, why.to_string()));
    }

    /// Has all types of boxes in values of a type made; notes if there is no end of them.
    fn finite(&mut self, ty: &Ty, at: SiteId) {
        self.complete(ty);
        let mut seen = HashSet::new();
        let mut pending = vec![ty.clone()];
        while let Some(ty) = pending.pop() {
            if seen.len() > MOST_TYPES {
                return self.cannot("its types have no end", at);
            }
            if !seen.insert(ty.clone()) {
                continue;
            }
            match &ty {
                Ty::Tuple(_) | Ty::Record(_) => pending.extend(ty.components().unwrap_or_default()),
                Ty::Array(element) => pending.push((**element).clone()),
                Ty::Data(data, args) => {
                    let decl = &self.program.datas[data.0 as usize];
                    for tag in 0..decl.constructors.len() as u32 {
                        pending.extend(decl.fields(tag, args));
                    }
                }
                Ty::Real
                | Ty::Int
                | Ty::Bool
                | Ty::String
                | Ty::Unit
                | Ty::Fun(_)
                | Ty::Param(_) => {}
            }
        }
    }

    fn jvp(&mut self, diff: &Diff, [f, x, tangent]: [&Sym; 3], at: SiteId) -> Sym {
        self.finite(&diff.from, at);
        self.finite(&diff.to, at);
        let Some(Callee { function, captured, from, to }) = self.callee(f, at) else {
            return Sym::Never;
        };
        let dot = self.zip(Zip::Second("the tangent"), &diff.from, x, tangent, at);
        let count = captured.len();
        let mut args = captured;
        args.extend(self.store(x, &from, at));
        args.extend(self.store(&dot, &from, at));
        let results = [self.types(&to), self.types(&to)].concat();
        let i = self.declare_derivative(
            DerivativeKind::Jet(Orders::FIRST, false),
            function,
            count,
            &args,
            results,
            at,
        );
        self.derivatives[i].watched |= self.is_watched();
        let mut atoms = self.ops(at, Op::Call(self.derivatives[i].wrapper, args)).into_iter();
        let (value, dot) = (self.load(&to, &mut atoms), self.load(&to, &mut atoms));
        Sym::Tuple([value, dot].into())
    }

    fn dependence(&mut self, diff: &Diff, [f, x, sets]: [&Sym; 3], at: SiteId) -> Sym {
        self.finite(&diff.from, at);
        self.finite(&diff.to, at);
        let Some(Callee { function, captured, from, to }) = self.callee(f, at) else {
            return Sym::Never;
        };
        let sets = self.zip(Zip::Second("the sets"), &diff.from, x, sets, at);
        let count = captured.len();
        let mut args = captured;
        args.extend(self.store(x, &from, at));
        args.extend(self.store(&sets, &from, at));
        let (what, results) = (DerivativeKind::Dependence, self.types(&to));
        let i = self.declare_derivative(what, function, count, &args, results, at);
        let atoms = self.ops(at, Op::Call(self.derivatives[i].wrapper, args));
        self.load(&to, &mut atoms.into_iter())
    }

    fn all_paths(&mut self, f: &Sym, x: &Sym, at: SiteId) -> Sym {
        let Some(Callee { function, captured, from, to }) = self.callee(f, at) else {
            return Sym::Never;
        };
        let count = captured.len();
        let mut args = captured;
        args.extend(self.store(x, &from, at));
        let (what, results) = (DerivativeKind::AllPaths, self.types(&to));
        let i = self.declare_derivative(what, function, count, &args, results, at);
        let atoms = self.ops(at, Op::Call(self.derivatives[i].wrapper, args));
        self.load(&to, &mut atoms.into_iter())
    }

    fn rd(&mut self, diff: &Diff, [f, x, cotangent]: [&Sym; 3], at: SiteId) -> Sym {
        if diff.to != Ty::Real {
            // The shape of the cotangent is looked at when the function has given its value.
            let Sym::Tuple(parts) = self.vjp(diff, f, x, at) else { return Sym::Never };
            return self.apply(&parts[1], cotangent, false, at);
        }
        self.finite(&diff.from, at);
        let Some(Callee { function, captured, from, to }) = self.callee(f, at) else {
            return Sym::Never;
        };
        let count = captured.len();
        let mut args = captured;
        args.extend(self.store(x, &from, at));
        args.extend(self.store(cotangent, &to, at));
        let results = self.types(&from);
        let i = self.declare_derivative(DerivativeKind::Rd, function, count, &args, results, at);
        self.derivatives[i].watched |= self.is_watched();
        let atoms = self.ops(at, Op::Call(self.derivatives[i].wrapper, args));
        self.load(&from, &mut atoms.into_iter())
    }

    fn vjp(&mut self, diff: &Diff, f: &Sym, x: &Sym, at: SiteId) -> Sym {
        self.finite(&diff.from, at);
        self.finite(&diff.to, at);
        let Some(Callee { function, captured, from, to }) = self.callee(f, at) else {
            return Sym::Never;
        };
        let count = captured.len();
        let mut args = captured;
        args.extend(self.store(x, &from, at));
        let id = match self.by_function.get(&(DerivativeKind::Vjp, function)) {
            Some(known) => self.derivatives[*known].pullback.map(|(_, id)| id),
            None => None,
        };
        let id = id.unwrap_or_else(|| self.residuals_box(function));
        let (point, value) = (self.types(&from), self.types(&to));
        let results = [value.clone(), vec![FlatTy::Box(id)]].concat();
        let i = self.declare_derivative(DerivativeKind::Vjp, function, count, &args, results, at);
        let pull = match self.derivatives[i].pullback {
            Some((pull, _)) => pull,
            None => {
                let name = format!("{}.pull", self.module.functions[function.0 as usize].name);
                let params = [vec![FlatTy::Box(id)], value.clone(), point.clone(), value].concat();
                let pull = self.glue(&name, &params, point);
                self.derivatives[i].pullback = Some((pull, id));
                self.declared.insert(pull, i);
                pull
            }
        };
        let mut atoms = self.ops(at, Op::Call(self.derivatives[i].wrapper, args)).into_iter();
        let y = self.load(&to, &mut atoms);
        let residuals = Shape::Leaf(FlatTy::Box(id));
        let captured = [self.load(&residuals, &mut atoms), y.clone(), x.clone()];
        // Functions of Core have lower numbers.
        let number = u32::MAX - i as u32;
        let ty = Rc::new((diff.to.clone(), diff.from.clone()));
        let captured_shapes = Rc::new([residuals, to, from]);
        let pullback = Pullback { ty, function: pull, captured: captured_shapes, whole: None };
        self.pullbacks.entry(number).or_insert(pullback);
        Sym::Tuple(Rc::new([y, Sym::Known(number, Rc::new(captured))]))
    }

    fn jet(&mut self, diff: &Diff, (f, x): (&Sym, &Sym), (k, r): (u32, u32), at: SiteId) -> Sym {
        if jet_coefficients(2 * u64::from(k), r.into()) > MOST_PRODUCTS {
            self.cannot("too many Taylor coefficients", at);
            return Sym::Never;
        }
        for ty in [&diff.from, &diff.to] {
            self.finite(ty, at);
            self.finite(&jet_type(ty), at);
        }
        let Some(callee) = self.callee(f, at) else { return Sym::Never };
        let orders = Orders { k, r };
        let Callee { function, captured, from, to } = callee;
        let total = factorials(orders).len();
        // What `derivatives` asks for.
        let variable = k == 1 && diff.from == Ty::Real && self.is_variable(x);
        let count = captured.len();
        let mut args = captured;
        for place in 0..if variable { 1 } else { total } {
            let value = self.coefficient(&diff.from, x, Coefficient { orders, place }, at);
            args.extend(self.store(&value, &from, at));
        }
        let results = vec![self.types(&to); total].concat();
        let what = DerivativeKind::Jet(orders, variable);
        let i = self.declare_derivative(what, function, count, &args, results, at);
        self.derivatives[i].watched |= self.is_watched();
        let mut atoms = self.ops(at, Op::Call(self.derivatives[i].wrapper, args)).into_iter();
        let values: Vec<Sym> = (0..total).map(|_| self.load(&to, &mut atoms)).collect();
        self.jet_of(&diff.to, &values, orders, at)
    }

    /// Whether these are the derivatives of a variable by itself.
    fn is_variable(&self, derivatives: &Sym) -> bool {
        let Sym::Array(arrays) = derivatives else { return false };
        let [array] = &arrays[..] else { return false };
        let Some(Op::Elements(_, all)) = self.f.builder.made(array) else { return false };
        let is = |atom: &Atom, x: f64| matches!(atom, Atom::Real(y) if y.to_bits() == x.to_bits());
        match &all[..] {
            [_, first, rest @ ..] => is(first, 1.0) && rest.iter().all(|x| is(x, 0.0)),
            _ => false,
        }
    }

    /// A function of what a pullback captured and a cotangent.
    fn pullback(&mut self, id: u32, captured: &[Sym], at: SiteId) -> Option<Callee> {
        let pullback = self.pullbacks.get(&id)?;
        let (ty, shapes, known) = (pullback.ty.clone(), pullback.captured.clone(), pullback.whole);
        let (from, to) = (self.plain(&ty.0), self.plain(&ty.1));
        let mut atoms = Vec::new();
        for (value, shape) in captured.iter().zip(shapes.iter()) {
            atoms.extend(self.store(value, shape, at));
        }
        if let Some(function) = known {
            return Some(Callee { function, captured: atoms, from, to });
        }
        let mut params: Vec<FlatTy> = shapes.iter().flat_map(|shape| self.types(shape)).collect();
        params.extend(self.types(&from));
        let function = self.glue("pullback", &params, self.types(&to));
        if let Some(pullback) = self.pullbacks.get_mut(&id) {
            pullback.whole = Some(function);
        }
        let saved = self.begin(function, SiteId(0));
        let mut params = self.params(function).into_iter();
        let captured: Vec<Sym> = shapes.iter().map(|shape| self.load(shape, &mut params)).collect();
        let bar = self.load(&from, &mut params);
        let gradient = self.pull(id, &captured, &bar, SiteId(0)).unwrap_or(Sym::Never);
        let results = self.store(&gradient, &to, SiteId(0));
        self.end(function, results, saved);
        Some(Callee { function, captured: atoms, from, to })
    }

    /// What a pullback makes of a cotangent.
    pub(super) fn pull(&mut self, id: u32, captured: &[Sym], bar: &Sym, at: SiteId) -> Option<Sym> {
        let pullback = self.pullbacks.get(&id)?;
        let (ty, function) = (pullback.ty.clone(), pullback.function);
        let shapes = pullback.captured.clone();
        let [_, to, from] = &*shapes else { return None };
        let (Some(value), true) = (captured.get(1), captured.len() == 3) else { return None };
        let bar = self.zip(Zip::Second("the cotangent"), &ty.0, value, bar, at);
        let mut args = Vec::new();
        for (part, shape) in captured.iter().zip(shapes.iter()) {
            args.extend(self.store(part, shape, at));
        }
        args.extend(self.store(&bar, to, at));
        let watched = self.is_watched();
        if let Some(i) = self.declared.get(&function).copied() {
            self.derivatives[i].watched |= watched;
        }
        let atoms = self.ops(at, Op::Call(function, args));
        Some(self.load(from, &mut atoms.into_iter()))
    }

    /// The function for a derivative, with such arguments.
    fn declare_derivative(
        &mut self,
        what: DerivativeKind,
        of: FunctionId,
        captured: usize,
        args: &[Atom],
        results: Vec<FlatTy>,
        at: SiteId,
    ) -> usize {
        if let Some(known) = self.by_function.get(&(what, of)) {
            return *known;
        }
        let kind = match what {
            DerivativeKind::Rd => "rd",
            DerivativeKind::Vjp => "vjp",
            DerivativeKind::Jet(Orders::FIRST, false) => "jvp",
            DerivativeKind::Jet(..) => "jet",
            DerivativeKind::Dependence => "dependence",
            DerivativeKind::AllPaths => "all_paths",
        };
        let name = format!("{}.{kind}", self.module.functions[of.0 as usize].name);
        let params: Vec<FlatTy> = args.iter().map(|arg| self.f.builder.ty(arg)).collect();
        let wrapper = self.glue(&name, &params, results);
        let i = self.derivatives.len();
        self.by_function.insert((what, of), i);
        self.declared.insert(wrapper, i);
        let (pullback, taken, place) = (None, (self.f.id, at), Span::NONE);
        self.derivatives.push(Derivative {
            what,
            wrapper,
            pullback,
            of,
            captured,
            taken,
            place,
            watched: false,
            state: DerivativeState::Declared,
        });
        i
    }

    /// Whether the program stops if there is a nan in a derivative.
    fn is_watched(&self) -> bool {
        match self.options.nan {
            Nan::Stops => true,
            Nan::Given => false,
        }
    }

    // What is no operator

    /// The value, which does not vary.
    fn stop_gradient(&mut self, value: &Sym, at: SiteId) -> Sym {
        if !self.differentiates {
            return value.clone();
        }
        let shape = self.shape_of(value);
        let atoms = self.store(value, &shape, at);
        let varies = |ty: &FlatTy| match ty {
            FlatTy::Real | FlatTy::Array(Elem::Real | Elem::Box(_), _) | FlatTy::Box(_) => true,
            FlatTy::Int
            | FlatTy::Bool
            | FlatTy::Text
            | FlatTy::Array(..)
            | FlatTy::Acc(_)
            | FlatTy::Stack(_) => false,
        };
        let types: Vec<FlatTy> = atoms.iter().map(|atom| self.f.builder.ty(atom)).collect();
        let kept = |(atom, ty): &(&Atom, &FlatTy)| matches!(atom, Atom::Var(_)) && varies(ty);
        let (args, params): (Vec<Atom>, Vec<FlatTy>) =
            atoms.iter().zip(&types).filter(kept).map(|(a, t)| (a.clone(), t.clone())).unzip();
        if args.is_empty() {
            return value.clone();
        }
        let identity = match self.identities.get(&params) {
            Some(known) => *known,
            None => {
                let made = self.glue("stop_gradient", &params, params.clone());
                let saved = self.begin(made, SiteId(0));
                let results = self.params(made);
                self.end(made, results, saved);
                self.deriver.detached.insert(made);
                self.identities.insert(params, made);
                made
            }
        };
        let mut constant = self.ops(at, Op::Call(identity, args)).into_iter();
        let all: Vec<Atom> = atoms
            .iter()
            .zip(&types)
            .map(|pair| if kept(&pair) { constant.next() } else { None }.unwrap_or(pair.0.clone()))
            .collect();
        self.load(&shape, &mut all.into_iter())
    }

    /// The call, by a function of its own that reverse mode can compute again.
    fn checkpoint(&mut self, f: &Sym, x: &Sym, at: SiteId) -> Sym {
        if !self.differentiates {
            return self.apply(f, x, false, at);
        }
        let Some(callee) = self.callee(f, at) else { return Sym::Never };
        let mut args = callee.captured.clone();
        args.extend(self.store(x, &callee.from, at));
        let wrapper = self.calling(&callee, &args, 0, "checkpoint");
        self.deriver.checkpoints.insert(wrapper);
        let atoms = self.ops(at, Op::Call(wrapper, args));
        self.load(&callee.to, &mut atoms.into_iter())
    }

    /// A function that calls another one with its arguments, after which it takes so many further ones that it captured
    /// before the last ones, which are the argument.
    fn calling(
        &mut self,
        callee: &Callee,
        args: &[Atom],
        further: usize,
        name: &str,
    ) -> FunctionId {
        let params: Vec<FlatTy> = args.iter().map(|arg| self.f.builder.ty(arg)).collect();
        let wrapper = self.glue(name, &params, self.types(&callee.to));
        let saved = self.begin(wrapper, SiteId(0));
        let mut params = self.params(wrapper);
        params.drain(callee.captured.len()..callee.captured.len() + further);
        let results = self.ops(SiteId(0), Op::Call(callee.function, params));
        self.end(wrapper, results, saved);
        wrapper
    }

    fn with_derivative(&mut self, diff: &Diff, [f, rule, x]: [&Sym; 3], at: SiteId) -> Sym {
        if !self.differentiates {
            return self.apply(f, x, false, at);
        }
        self.finite(&diff.from, at);
        self.finite(&diff.to, at);
        let Some(callee) = self.callee(f, at) else { return Sym::Never };
        let Some(rule) = self.callee(rule, at) else { return Sym::Never };
        let point = callee.captured.len() + rule.captured.len();
        let mut args = [callee.captured.clone(), rule.captured.clone()].concat();
        args.extend(self.store(x, &callee.from, at));
        let key = (callee.function, rule.function);
        let wrapper = match self.ruled.get(&key) {
            Some(known) => *known,
            None => {
                let name = "with_derivative";
                let wrapper = self.calling(&callee, &args, rule.captured.len(), name);
                let function = self.rule(diff, &callee, &rule, &args);
                self.deriver.rules.insert(wrapper, Rule { function, point, decisions: None });
                if diff.op == DiffOp::WithDerivative {
                    self.inexact.insert(wrapper);
                }
                self.ruled.insert(key, wrapper);
                wrapper
            }
        };
        let atoms = self.ops(at, Op::Call(wrapper, args));
        self.load(&callee.to, &mut atoms.into_iter())
    }

    /// A call of a function that tells of no decisions, with a rule that takes its place where the function `f` decides by
    /// numbers that vary: then the evaluator, which knows how the place moves, takes over. Whoever calls a library is told.
    fn decisions(&mut self, f: &Sym, [x, words]: [&Sym; 2], at: SiteId) -> Sym {
        let none = Op::Empty(Elem::Real, 1);
        if !self.differentiates {
            return Sym::Array(vec![self.one(at, none)].into());
        }
        let Some(callee) = self.callee(f, at) else { return Sym::Never };
        let mut args = callee.captured.clone();
        args.extend(self.store(x, &callee.from, at));
        let decisive = args.len();
        let shape = self.plain(&Ty::String);
        args.extend(self.store(words, &shape, at));
        let wrapper = match self.deciders.get(&callee.function) {
            Some(known) => *known,
            None => {
                let params: Vec<FlatTy> = args.iter().map(|arg| self.f.builder.ty(arg)).collect();
                let result = FlatTy::Array(Elem::Real, 1);
                let wrapper = self.glue("decisions", &params, vec![result.clone()]);
                let saved = self.begin(wrapper, SiteId(0));
                let empty = self.one(SiteId(0), none.clone());
                self.end(wrapper, vec![empty], saved);
                let function = self.glue("decides", &params, vec![result.clone(), result]);
                let saved = self.begin(function, SiteId(0));
                let why = match (self.options.nan, self.params(function).pop()) {
                    (Nan::Given, Some(words)) => Stop::Fail(words),
                    (Nan::Given, None) | (Nan::Stops, _) => Stop::Nan,
                };
                self.stop(why, SiteId(0));
                let empty = self.one(SiteId(0), none);
                self.end(function, vec![empty.clone(), empty], saved);
                let (point, decisions) = (params.len(), Some((callee.function, decisive)));
                self.deriver.rules.insert(wrapper, Rule { function, point, decisions });
                self.deciders.insert(callee.function, wrapper);
                wrapper
            }
        };
        let atoms = self.ops(at, Op::Call(wrapper, args));
        Sym::Array(atoms.into())
    }

    /// The function that [`Rule::function`] asks for.
    fn rule(&mut self, diff: &Diff, callee: &Callee, rule: &Callee, args: &[Atom]) -> FunctionId {
        let at = SiteId(0);
        let varies = |cx: &Self, types: &[FlatTy]| -> Vec<bool> {
            types.iter().map(|ty| differentiable(&cx.module, ty)).collect()
        };
        let (from, to) = (self.types(&callee.from), self.types(&callee.to));
        let (inputs, outputs) = (varies(self, &from), varies(self, &to));
        let chosen = |types: &[FlatTy], varies: &[bool]| -> Vec<FlatTy> {
            types.iter().zip(varies).filter(|(_, v)| **v).map(|(ty, _)| ty.clone()).collect()
        };
        let mut params: Vec<FlatTy> = args.iter().map(|arg| self.f.builder.ty(arg)).collect();
        params.extend(chosen(&from, &inputs));
        let results = [to.clone(), chosen(&to, &outputs)].concat();
        let function = self.glue("rule", &params, results);
        let saved = self.begin(function, at);
        let params = self.params(function);
        let captured = &params[callee.captured.len()..callee.captured.len() + rule.captured.len()];
        let point = &params[args.len() - from.len()..args.len()];
        let mut tangents = params[args.len()..].iter();
        let mut tangent = Vec::new();
        for (atom, varies) in point.iter().zip(&inputs) {
            let dot = if *varies { tangents.next() } else { None };
            tangent.push(dot.unwrap_or(atom).clone());
        }
        let x = self.load(&callee.from, &mut point.iter().cloned());
        let v = self.load(&callee.from, &mut tangent.into_iter());
        let mut all = captured.to_vec();
        all.extend(self.store(&Sym::Tuple(Rc::new([x, v])), &rule.from, at));
        let atoms = self.ops(at, Op::Call(rule.function, all));
        let pair = self.load(&rule.to, &mut atoms.into_iter());
        let parts = self.components(&pair, at);
        let [y, w] = &*parts else {
            self.bug("a rule that gives no pair");
            return function;
        };
        let w = self.zip(Zip::Second(RULE), &diff.to, y, w, at);
        let mut results = self.store(y, &callee.to, at);
        let linear = self.store(&w, &callee.to, at);
        results.extend(linear.into_iter().zip(&outputs).filter(|(_, v)| **v).map(|(a, _)| a));
        self.end(function, results, saved);
        function
    }
}
