//! Abadi & Plotkin, *A Simple Differentiable Programming Language* (POPL 2020): evaluation by contexts and
//! redexes, symbolic evaluation to traces, and their reverse-mode differentiation. A complete evaluator of
//! Core, independent of [`diffeo_calculus::eval::Machine`] but for the values of primitive operations.
//!
//! What comes in: a program that lints. What goes out: values of its definitions, traces of its functions, and
//! derivatives of traces. What always holds: nothing recurses over calls or derivatives, so both nest as deep
//! as the memory allows; a trace has no conditionals, definitions, calls or derivatives.
//!
//! | file | paper |
//! |---|---|
//! | `syntax.rs` | values and trace terms (section 3) |
//! | `prepare.rs` | Core with its variables found; function environments and closures |
//! | `contexts.rs` | evaluation contexts (section 3), Figures 3 and 5 |
//! | `redexes.rs`, `operations.rs` | redexes, Figures 2 and 4; limited recursion, Figure 8 |
//! | `record.rs` | the `let`s of Figure 5 |
//! | `reverse.rs`, `partial.rs` | symbolic differentiation as printed, Figure 6 |
//! | `linear.rs` | the same in linear size (ours) |
//! | `derived.rs` | the other derivative terms, by `rd` (ours; `jvp` by equation (6)) |
//! | `core.rs` | traces as text (ours) |

mod contexts;
mod core;
mod derived;
mod linear;
mod operations;
mod partial;
mod prepare;
mod record;
mod redexes;
mod reverse;
mod syntax;

use contexts::{Next, E};
use diffeo_base::{Name, Span};
use diffeo_calculus::eval::error::{written, ErrorKind, RuntimeError, RuntimeWarning, WarningKind};
use diffeo_calculus::eval::reals::Reals;
use diffeo_calculus::eval::{lost, Event, Events, Kinks, Limits};
use diffeo_calculus::term::{Global, GlobalId, Program};
use diffeo_calculus::ty::Ty;
use diffeo_calculus::value::Value;
use linear::Taken;
use prepare::{prepare, PreparedDefinition, PreparedProgram};
use record::{TraceShared, TraceWriter};
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;
use syntax::{internal, Binding, Influence, C, V, X};

/// How a program is to be run.
pub struct TraceOptions {
    /// What happens where a function has no derivative.
    pub kinks: Kinks,
    /// How often each recursive definition may unfold (`letrec_n` of Figure 8).
    pub fuel: Option<u64>,
    /// Differentiates traces as Figure 6 is printed, which takes time exponential in their length.
    pub printed: bool,
    /// How many bytes contexts and environments may take.
    pub max_stack: usize,
    /// What the run may take.
    pub limits: Limits,
    /// Takes what the program prints and reports.
    pub events: Events,
}

impl Default for TraceOptions {
    /// Kinks are ignored, recursion is not limited, contexts may take 1 GiB, and nothing else is bounded.
    fn default() -> TraceOptions {
        TraceOptions {
            kinks: Kinks::Ignore,
            fuel: None,
            printed: false,
            max_stack: 1 << 30,
            limits: Limits::default(),
            events: lost(),
        }
    }
}

/// Why there is no value.
#[derive(Clone, Debug)]
pub enum TraceStop {
    /// An error stopped the program.
    Error(Box<RuntimeError>),
    /// A recursive definition unfolded as often as it may; see [`TraceOptions::fuel`].
    OutOfFuel,
}

/// The same without the place.
enum TraceFailure {
    Kind(ErrorKind),
    OutOfFuel,
}

impl From<ErrorKind> for TraceFailure {
    fn from(kind: ErrorKind) -> TraceFailure {
        TraceFailure::Kind(kind)
    }
}

/// A call that led into the standard library.
#[derive(Clone)]
struct Origin {
    span: Span,
    /// The function that was called.
    function: Option<u32>,
}

/// φ and ρ of a function that is being evaluated.
#[derive(Clone)]
struct Activation {
    /// Where its ρ begins.
    base: usize,
    /// The function, for what it captured.
    this: V,
    /// The definition that it stands in.
    definition: u32,
    /// Whether it stands in the standard library.
    library: bool,
    origin: Origin,
    /// How often the definitions that call each other may still unfold, if recursion is limited.
    fuel: u64,
}

impl Activation {
    /// A place as a user knows it: within the standard library, the call that led there.
    fn place(&self, span: Span) -> Span {
        if self.library {
            self.origin.span
        } else {
            span
        }
    }

    /// That of no function.
    fn outermost() -> Activation {
        Activation {
            base: 0,
            this: V::Closed(Value::Unit),
            definition: u32::MAX,
            library: false,
            origin: Origin { span: Span::NONE, function: None },
            fuel: 0,
        }
    }
}

/// A trace that is being taken.
struct OpenTrace {
    /// The differentiation variable.
    x: X,
    bindings: Vec<Binding>,
    /// Whether it is for a forward derivative.
    forward: bool,
}

/// Evaluates a program.
pub struct TraceEvaluator {
    cx: Rc<TraceShared>,
    code: Rc<PreparedProgram>,
    kinks: Kinks,
    printed: bool,
    fuel: Option<u64>,
    max_stack: usize,
    events: Events,
    /// The groups of recursive definitions, if recursion is limited.
    groups: Vec<Option<u32>>,
    reals: Reals,
    /// Operations of ordinary evaluation on whole values.
    counted: u64,
    /// E
    stack: Vec<E>,
    /// The operands before the holes of E.
    operands: Vec<V>,
    /// ρ, of all open calls.
    rho: Vec<V>,
    at: Activation,
    /// The traces being taken, innermost last; ordinary evaluation if there is none.
    open: Vec<OpenTrace>,
    /// Where ordinary evaluation would write to.
    nothing: Vec<Binding>,
    /// The values of definitions, as far as they are known.
    values: Vec<Option<Value>>,
    /// The constants being evaluated.
    constants: Vec<u32>,
    /// How many calls are open.
    depth: usize,
    /// The term at hand.
    site: prepare::Id,
    /// How many definitions of derivatives are being evaluated, within which nothing is warned of.
    quiet: u32,
}

impl TraceEvaluator {
    /// An evaluator of a program that lints.
    pub fn new(program: Rc<Program>, options: TraceOptions) -> TraceEvaluator {
        let kinks = options.kinks;
        let values = program.globals.iter().map(|_| None).collect();
        let cx = Rc::new(TraceShared::new(program, options.limits));
        let code = Rc::new(prepare(&cx));
        TraceEvaluator {
            groups: if options.fuel.is_some() { code.groups() } else { Vec::new() },
            cx,
            code,
            kinks,
            printed: options.printed,
            fuel: options.fuel,
            max_stack: options.max_stack,
            events: options.events,
            reals: Reals::new(kinks),
            counted: 0,
            stack: Vec::new(),
            operands: Vec::new(),
            rho: Vec::new(),
            at: Activation::outermost(),
            open: Vec::new(),
            nothing: Vec::new(),
            values,
            constants: Vec::new(),
            depth: 0,
            site: 0,
            quiet: 0,
        }
    }

    /// The value of a definition: φ | ∅ ⊢ M ⇒ V. A function is a value that only this evaluator can use.
    ///
    /// # Errors
    /// What stops the program.
    pub fn eval_global(&mut self, id: GlobalId) -> Result<Value, TraceStop> {
        let code = self.code.clone();
        let start = match &code.definitions[id.0 as usize] {
            PreparedDefinition::Function(function) => {
                Ok(Next::Value(self.definition(id.0, *function)))
            }
            PreparedDefinition::Constant(body) => self.constant(id.0, *body),
        };
        self.finish(start).map(|v| v.close())
    }

    /// The value of a function at an argument.
    ///
    /// # Errors
    /// What stops the program.
    pub fn apply(&mut self, function: &Value, argument: Value) -> Result<Value, TraceStop> {
        let code = self.code.clone();
        let start = self.call(&code, &V::Closed(function.clone()), V::Closed(argument));
        self.finish(start).map(|v| v.close())
    }

    /// The trace of a function at an argument, φ | {x ↦ V} ⊢ f(x) ⇝ C, and its value.
    ///
    /// # Errors
    /// What stops the program; an internal error for a definition that is no function between first-order types.
    pub fn trace(&mut self, id: GlobalId, argument: Value) -> Result<(Trace, Value), TraceStop> {
        let f = V::Closed(self.eval_global(id)?);
        let Ty::Fun(fun) = self.cx.program.globals[id.0 as usize].ty.clone() else {
            return Err(self.stop(internal("a definition that is no function").into()));
        };
        let code = self.code.clone();
        let influence = Influence::All(1);
        let x = self.cx.variable(&redexes::parameter(&code, &f), &fun.0, argument, influence);
        self.open.push(OpenTrace { x: x.clone(), bindings: Vec::new(), forward: false });
        let argument =
            if self.cx.traced(&fun.0) { V::Var(x.clone()) } else { V::Closed(x.value.clone()) };
        let start = self.call(&code, &f, argument);
        let result = self.run_from(start);
        let bindings = self.open.pop().map_or(Vec::new(), |open| open.bindings);
        let v = result.map_err(|failure| self.stop(failure))?;
        let result = v.term(&fun.1).map_err(|kind| self.stop(kind.into()))?;
        let (cx, ty) = (self.cx.clone(), fun.1.clone());
        Ok((Trace { cx, params: vec![x], bindings, result, ty }, v.close()))
    }

    /// How many operations on Reals were carried out so far, in values, traces and derivatives.
    pub fn operations(&self) -> u64 {
        self.counted + self.reals.operations + self.cx.operations.get()
    }

    /// How many steps were taken so far: frames of contexts filled, terms taken apart, bindings made.
    pub fn steps(&self) -> u64 {
        self.cx.steps.get()
    }

    fn run_from(&mut self, start: Result<Next, TraceFailure>) -> Result<V, TraceFailure> {
        start.and_then(|next| self.run(next))
    }

    fn finish(&mut self, start: Result<Next, TraceFailure>) -> Result<V, TraceStop> {
        let result = self.run_from(start);
        result.map_err(|failure| self.stop(failure))
    }

    /// Ends the evaluation, which can begin anew.
    fn stop(&mut self, failure: TraceFailure) -> TraceStop {
        let stop = match failure {
            TraceFailure::OutOfFuel => TraceStop::OutOfFuel,
            TraceFailure::Kind(kind) => TraceStop::Error(Box::new(self.error(kind))),
        };
        self.stack.clear();
        self.operands.clear();
        self.rho.clear();
        self.open.clear();
        self.constants.clear();
        self.at = Activation::outermost();
        self.depth = 0;
        self.quiet = 0;
        stop
    }

    /// The error with its place: within the standard library, that of the call that led there.
    fn error(&self, kind: ErrorKind) -> RuntimeError {
        let here = self.code.spans.get(self.site as usize).copied().unwrap_or(Span::NONE);
        let span = self.at.place(here);
        RuntimeError { kind, span, function: self.library_function(), trace: Vec::new() }
    }

    /// The function of the standard library that was called from outside it, if evaluation is within it.
    fn library_function(&self) -> Option<Name> {
        let function = self.at.origin.function.filter(|_| self.at.library)?;
        Some(written(&self.code.functions[function as usize].name))
    }

    /// Passes on the warnings of real arithmetic.
    fn collect_warnings(&mut self) {
        for (kind, span) in std::mem::take(&mut self.reals.warnings) {
            let told = matches!(kind, WarningKind::Told { .. });
            let function = if told { None } else { self.library_function() };
            (self.events)(Event::Warning(RuntimeWarning { kind, span, function }));
        }
    }
}

/// A trace: a function without conditionals, definitions, calls and derivatives, taken at a point. It is a
/// function of its parameters: first what it is differentiated by, then the cotangents of derivatives.
pub struct Trace {
    cx: Rc<TraceShared>,
    params: Vec<X>,
    bindings: Vec<Binding>,
    result: C,
    ty: Ty,
}

impl Trace {
    /// The value at other arguments than those of the trace, of the same shape. At points where the function
    /// takes other branches it has other values.
    ///
    /// # Errors
    /// An internal error for arguments of another shape.
    pub fn evaluate(&self, arguments: &[Value]) -> Result<Value, ErrorKind> {
        let ids = self.params.iter().map(|x| x.id);
        let mut rho: HashMap<u32, Value> = ids.zip(arguments.iter().cloned()).collect();
        for binding in &self.bindings {
            let value = binding.term.value_in(&rho)?;
            rho.insert(binding.x.id, value);
        }
        self.result.value_in(&rho)
    }

    /// `W.R_x(x:T. C)` in linear size, as a trace with one parameter more, for W, whose value this is.
    ///
    /// # Errors
    /// An internal error if the cotangent has not the shape of the result.
    pub fn reverse(&self, cotangent: Value) -> Result<Trace, ErrorKind> {
        self.reversed(cotangent, linear::reverse)
    }

    /// The same as Figure 6 is printed: exponential in the number of bindings.
    ///
    /// # Errors
    /// As for [`Trace::reverse`].
    pub fn reverse_printed(&self, cotangent: Value) -> Result<Trace, ErrorKind> {
        self.reversed(cotangent, redexes::printed)
    }

    fn reversed(
        &self,
        cotangent: Value,
        reverse: fn(&mut TraceWriter<'_>, &Taken, &V, &V) -> Result<V, ErrorKind>,
    ) -> Result<Trace, ErrorKind> {
        let Some((x, others)) = self.params.split_first() else {
            return Err(internal("a trace without a parameter"));
        };
        // A copy in new variables: a derivative changes what is known of those that it is of.
        let mut copy = Vec::new();
        let mut writer = TraceWriter { cx: &self.cx, out: &mut copy };
        let inner = self.cx.variable(&x.name, &x.ty, x.value.clone(), Influence::All(1));
        let mut rho = HashMap::from([(x.id, V::Var(inner.clone()))]);
        for binding in &self.bindings {
            let y = &binding.x;
            let term = rename(&binding.term, &rho);
            let v = writer.bind_to(&y.name, &y.ty, term, y.value.clone())?;
            if let (Some(level), V::Var(y), Some(last)) = (binding.held, &v, writer.out.last_mut())
            {
                let influence = y.influence.borrow().without(level);
                *y.influence.borrow_mut() = influence;
                last.held = Some(level);
            }
            rho.insert(y.id, v);
        }
        let result = rename(&self.result, &rho);
        let taken = Taken { x: inner, level: 0, bindings: copy, result, ty: self.ty.clone() };

        let point = self.cx.variable(&x.name, &x.ty, x.value.clone(), Influence::All(1));
        let w = self.cx.variable(&"w".into(), &self.ty, cotangent, Influence::NONE);
        let mut bindings = Vec::new();
        let mut writer = TraceWriter { cx: &self.cx, out: &mut bindings };
        let cotangent =
            if self.cx.traced(&self.ty) { V::Var(w.clone()) } else { V::Closed(w.value.clone()) };
        let x_bar = reverse(&mut writer, &taken, &V::Var(point.clone()), &cotangent)?;
        let params = [vec![point], others.to_vec(), vec![w]].concat();
        let result = x_bar.term(&x.ty)?;
        Ok(Trace { cx: self.cx.clone(), params, bindings, result, ty: x.ty.clone() })
    }

    /// The type, a function of each parameter in turn.
    pub fn type_of(&self) -> Ty {
        let result = self.ty.clone();
        self.params.iter().rev().fold(result, |ty, x| Ty::fun(x.ty.clone(), ty))
    }

    /// How many bindings there are.
    pub fn len(&self) -> usize {
        self.bindings.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.bindings.is_empty()
    }

    /// The trace as a program of the one definition `trace`, with the variant types of its own.
    ///
    /// # Errors
    /// An internal error, if a value of the trace has no text.
    pub fn to_core(&self) -> Result<Program, ErrorKind> {
        let body = core::function(self)?;
        let global = Global { name: "trace".into(), ty: self.type_of(), body, span: Span::NONE };
        let datas = self.cx.program.datas.clone();
        Ok(Program { datas, globals: vec![global.into()], library: Vec::new() })
    }

    /// The text of [`Trace::to_core`].
    ///
    /// # Errors
    /// As for [`Trace::to_core`].
    pub fn print(&self) -> Result<String, ErrorKind> {
        Ok(diffeo_calculus::print(&self.to_core()?))
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trace({} bindings)", self.bindings.len())
    }
}

/// A term of values with its variables replaced.
fn rename(c: &C, rho: &HashMap<u32, V>) -> C {
    let all = |terms: &[C]| terms.iter().map(|c| rename(c, rho)).collect();
    match c {
        C::Var(x) => match rho.get(&x.id) {
            Some(V::Var(y)) => C::Var(y.clone()),
            Some(_) | None => c.clone(),
        },
        C::Closed(..) => c.clone(),
        C::Op(op, operands) => C::Op(*op, all(operands)),
        C::Let(x, c, d) => C::Let(x.clone(), Box::new(rename(c, rho)), Box::new(rename(d, rho))),
        C::Tuple(ty, components) => C::Tuple(ty.clone(), all(components)),
        C::Proj(ty, i, c) => C::Proj(ty.clone(), *i, Box::new(rename(c, rho))),
        C::Con(data, args, tag, fields) => C::Con(*data, args.clone(), *tag, all(fields)),
        C::Field(data, args, tag, i, c) => {
            C::Field(*data, args.clone(), *tag, *i, Box::new(rename(c, rho)))
        }
        C::Array(element, elements) => C::Array(element.clone(), all(elements)),
        C::Element(element, i, c) => C::Element(element.clone(), *i, Box::new(rename(c, rho))),
    }
}
