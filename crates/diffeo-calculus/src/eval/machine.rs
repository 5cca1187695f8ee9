//! The machine that runs register code: its parts, its public face, and how calls begin and end.
//!
//! A [`Program`] comes in; values of its definitions and of calls of function values go out, or
//! [`RuntimeError`]s with their place and the open calls. Registers and frames lie in vectors of the machine,
//! so calls nest as deep as memory allows; only a derivative term runs the machine again on the native
//! stack, which grows as needed. After an error the machine is as before the call and can be used again.

mod access;
mod lift;
mod paths;
mod run;

pub use access::MOST_ELEMENTS;
pub use lift::environment;

use super::code::{Code, ParamShape};
use super::compile::Compiler;
use super::derivative::{derivative, narrowed, pull_back, Caller};
use super::error::{written, ErrorKind, RuntimeError, RuntimeWarning, WarningKind};
use super::event::{lost, Event, Events};
use super::limits::{Exceeded, Limits};
use super::reals::{Kinks, Reals};
use super::translator::Translator;
use crate::array::ArrayBuilder;
use crate::names::Named;
use crate::prim::DiffOp;
use crate::term::{GlobalId, Program, TermKind};
use crate::value::{FunctionValue, Value};
use diffeo_base::deep;
use diffeo_base::{Name, Span};
use std::collections::HashMap;
use std::rc::Rc;

/// How many open calls the trace of an error names.
const TRACE: usize = 64;

/// After how many operations the limits are checked again.
const CHECK: u64 = 1024;

/// What a run of the machine within a derivative term may take of the native stack, in bytes: it counts
/// against [`Options::max_stack`].
const NATIVE: usize = 6144;

/// How a program is to be run.
pub struct Options {
    /// What happens where a function has no derivative.
    pub kinks: Kinks,
    /// How many bytes the registers and frames of open calls may take.
    pub max_stack: usize,
    /// Takes what the program prints and reports.
    pub events: Events,
    /// What the run may take.
    pub limits: Limits,
}

impl Default for Options {
    /// Kinks are ignored, events are lost, open calls may take 1 GiB, and nothing else is bounded.
    fn default() -> Options {
        Options {
            kinks: Kinks::Ignore,
            max_stack: 1 << 30,
            events: lost(),
            limits: Limits::default(),
        }
    }
}

/// What becomes of the value of a call.
#[derive(Clone, Copy)]
enum Resume {
    /// It goes into a register.
    Register(u32),
    /// It is the value of this definition, and goes into a register.
    Constant { global: u32, to: u32 },
}

/// A call that led into the standard library.
#[derive(Clone, Copy)]
struct Origin {
    /// The place of the call.
    span: Span,
    /// The code of the function that was called.
    function: u32,
}

/// A function that waits for a call to end.
struct Frame {
    code: Rc<Code>,
    /// The function value, for what it captured; `()` for a definition.
    this: Value,
    /// The instruction after the call.
    pc: u32,
    /// Where its registers begin.
    base: u32,
    /// The call that led into the standard library, if that is where it is.
    origin: Origin,
    resume: Resume,
}

/// What is known of a definition.
#[derive(Default)]
struct GlobalState {
    /// Its code: of the function, or of what computes the constant.
    code: Option<u32>,
    /// Its value, as a number and where every Real is an interval.
    values: [Option<Value>; 2],
    /// Whether the constant is being evaluated.
    open: bool,
}

/// Where the vectors of the machine end.
#[derive(Clone, Copy)]
struct Marks {
    stack: usize,
    frames: usize,
    builders: usize,
    constants: usize,
}

/// Runs a program.
pub struct Machine {
    program: Rc<Program>,
    compiler: Compiler,
    options: Options,
    reals: Reals,
    /// By [`GlobalId`].
    globals: Vec<GlobalState>,
    /// The registers of all open calls.
    stack: Vec<Value>,
    frames: Vec<Frame>,
    /// The arrays under construction, innermost last.
    builders: Vec<ArrayBuilder>,
    /// The constants that are being evaluated.
    constants: Vec<u32>,
    /// How many runs are open.
    runs: usize,
    operations: u64,
    /// At how many operations the limits are checked next.
    next_check: u64,
    /// After how many operations the run ends.
    budget: u64,
    /// The run that follows all paths of a program: see `machine/paths.rs`.
    paths: paths::Paths,
    /// The translations of functions, if the derivatives of the program are those of one of the papers' systems.
    translator: Option<Box<dyn Translator>>,
}

impl Machine {
    /// A machine for a program that lints.
    pub fn new(program: Rc<Program>, options: Options) -> Machine {
        let globals = program.globals.iter().map(|_| GlobalState::default()).collect();
        let mut reals = Reals::new(options.kinks);
        reals.nests = program.has_inexact_rules();
        Machine {
            compiler: Compiler::new(program.clone()),
            program,
            reals,
            options,
            globals,
            stack: Vec::new(),
            frames: Vec::new(),
            builders: Vec::new(),
            constants: Vec::new(),
            runs: 0,
            operations: 0,
            next_check: 0,
            budget: u64::MAX,
            paths: paths::Paths::default(),
            translator: None,
        }
    }

    /// Another run begins, which may take this.
    pub fn begin(&mut self, limits: Limits) {
        self.options.limits = limits;
        self.reals.begin();
    }

    /// A machine for a program in which function values are translated while it runs ([`crate::Prim::Lift`]).
    pub fn translating(mut translator: Box<dyn Translator>, options: Options) -> Machine {
        let mut machine = Machine::new(translator.program(), options);
        machine.compiler.sources = Some(HashMap::new());
        machine.reals.translated = true;
        machine.translator = Some(translator);
        machine
    }

    /// The value of a definition: a function, or a constant, which is evaluated when it is first needed.
    pub fn eval_global(&mut self, id: GlobalId) -> Result<Value, RuntimeError> {
        if let Some(value) = self.global_value(id.0) {
            return Ok(value.clone());
        }
        let number = self.code_of(id.0);
        if self.is_function(id.0) {
            return Ok(self.function_value(id.0, number));
        }
        if self.globals[id.0 as usize].open {
            let kind = self.cycle(id.0);
            return Err(self.error(kind, self.program.globals[id.0 as usize].span));
        }
        let code = self.compiler.codes[number as usize].clone();
        let marks = self.marks();
        self.globals[id.0 as usize].open = true;
        self.constants.push(id.0);
        let value = self.enter(code, Value::Unit, marks)?;
        self.constants.truncate(marks.constants);
        let entry = &mut self.globals[id.0 as usize];
        entry.open = false;
        entry.values[usize::from(self.reals.encloses())] = Some(value.clone());
        Ok(value)
    }

    /// The value of a definition, where it is known.
    #[inline]
    fn global_value(&self, global: u32) -> Option<&Value> {
        self.globals[global as usize].values[usize::from(self.reals.encloses())].as_ref()
    }

    /// The value of a function at an argument.
    pub fn apply(&mut self, function: &Value, arg: Value) -> Result<Value, RuntimeError> {
        if self.paths.followed {
            return self.apply_paths(function, arg);
        }
        let site = self.site();
        let Value::Function(f) = function else {
            let message = "a value that is no function is called".into();
            return Err(self.error(ErrorKind::Internal { message }, site));
        };
        match &**f {
            FunctionValue::Closure { code, .. } => {
                let code = self.compiler.codes[*code as usize].clone();
                let marks = self.marks();
                self.push_arg(&code.shape, arg);
                self.enter(code, function.clone(), marks)
            }
            FunctionValue::Pullback(pullback) => {
                let value = pull_back(self, pullback, arg, site);
                self.collect_warnings();
                value
            }
        }
    }

    /// The same from outside the program: intervals are no wider than the mean value theorem says.
    ///
    /// # Errors
    /// As for [`Machine::apply`].
    pub fn evaluate(&mut self, function: &Value, arg: Value) -> Result<Value, RuntimeError> {
        if !self.reals.encloses() {
            return self.apply(function, arg);
        }
        let value = self.apply(function, arg.clone())?;
        let site = self.site();
        Ok(narrowed(self, function, &arg, value, site))
    }

    /// The value of a derivative term at the values of its arguments.
    ///
    /// # Errors
    /// What stops the program in the functions called; a tangent or cotangent of another shape than its
    /// point.
    pub fn derivative(&mut self, op: DiffOp, args: Vec<Value>) -> Result<Value, RuntimeError> {
        let site = self.site();
        let value = derivative(self, &op, args, site);
        self.collect_warnings();
        value
    }

    /// How many operations were carried out so far: instructions, and elements in work on whole arrays.
    pub fn operations(&self) -> u64 {
        self.operations + self.reals.operations
    }

    /// Ends runs that do more than so many operations, as an interruption does, though perhaps a little later.
    pub fn set_budget(&mut self, operations: u64) {
        self.budget = operations;
    }

    /// The largest finite absolute value that the arithmetic of derivatives gave since this was last
    /// asked, primals included: what rounding errors are to be compared with.
    pub fn take_largest(&mut self) -> f64 {
        std::mem::take(&mut self.reals.largest)
    }

    /// The largest finite absolute values of the terms whose sums were Taylor coefficients of order 1 and of order 2
    /// since this was last asked: what rounding errors of derivatives of these orders are to be compared with. Infinity
    /// if that is not known.
    pub fn take_largest_terms(&mut self) -> [f64; 2] {
        let [first, second] = std::mem::take(&mut self.reals.largest_terms);
        [first, if self.reals.nests { f64::INFINITY } else { second }]
    }

    // Definitions

    fn is_function(&self, global: u32) -> bool {
        matches!(self.program.globals[global as usize].body.kind, TermKind::Lam(..))
    }

    fn code_of(&mut self, global: u32) -> u32 {
        match self.globals[global as usize].code {
            Some(code) => code,
            None => {
                let code = self.compiler.global(GlobalId(global));
                self.globals[global as usize].code = Some(code);
                code
            }
        }
    }

    /// The function value of a definition.
    fn function_value(&mut self, global: u32, code: u32) -> Value {
        let captured = Box::new([]);
        let value = Value::Function(Rc::new(FunctionValue::Closure { code, captured }));
        self.globals[global as usize].values = [Some(value.clone()), Some(value.clone())];
        value
    }

    /// The error for a constant whose evaluation needs its own value.
    fn cycle(&self, global: u32) -> ErrorKind {
        let first = self.constants.iter().position(|open| *open == global).unwrap_or(0);
        // What was translated from a constant goes by its name.
        let original = |global: &u32| match &self.translator {
            Some(translator) => translator.original(GlobalId(*global)),
            None => GlobalId(*global),
        };
        let mut ids: Vec<GlobalId> = self.constants[first..].iter().map(original).collect();
        ids.dedup();
        if ids.len() == 1 || ids.last() != Some(&original(&global)) {
            ids.push(original(&global));
        }
        let names = ids.iter().map(|id| self.program.globals[id.0 as usize].name.clone());
        let names: Vec<Name> = names.collect();
        ErrorKind::ConstantCycle { names }
    }

    // Calls

    fn marks(&self) -> Marks {
        Marks {
            stack: self.stack.len(),
            frames: self.frames.len(),
            builders: self.builders.len(),
            constants: self.constants.len(),
        }
    }

    /// Runs code whose arguments lie at `marks.stack`. After an error everything is as at the marks.
    fn enter(&mut self, code: Rc<Code>, this: Value, marks: Marks) -> Result<Value, RuntimeError> {
        self.runs += 1;
        let result = match self.room(&code) {
            Err(kind) => Err(self.error(kind, self.site())),
            Ok(()) => deep(|| self.run(code, this, marks.stack)),
        };
        self.runs -= 1;
        if result.is_err() {
            self.stack.truncate(marks.stack);
            self.frames.truncate(marks.frames);
            self.builders.truncate(marks.builders);
            while self.constants.len() > marks.constants {
                if let Some(global) = self.constants.pop() {
                    self.globals[global as usize].open = false;
                }
            }
        }
        self.collect_warnings();
        result
    }

    /// Checks the limits and says when to do so again.
    #[cold]
    fn check_limits(&mut self) -> Result<(), ErrorKind> {
        let endless = self.budget == u64::MAX && self.options.limits.is_none();
        self.next_check = if endless { u64::MAX } else { self.operations + CHECK };
        self.within_limits().map_err(ErrorKind::Exceeded)
    }

    fn within_limits(&self) -> Result<(), Exceeded> {
        self.options.limits.check()?;
        if self.operations() > self.budget {
            return Err(Exceeded::Interrupt);
        }
        Ok(())
    }

    /// Makes the registers of a call whose arguments are pushed.
    #[inline(always)]
    fn room(&mut self, code: &Code) -> Result<(), ErrorKind> {
        let base = self.stack.len() - code.shape_registers;
        self.stack.resize(base + code.registers, Value::Unit);
        let size = self.stack.len() * std::mem::size_of::<Value>()
            + self.frames.len() * std::mem::size_of::<Frame>()
            + self.runs * NATIVE;
        if size > self.options.max_stack {
            return Err(self.too_deep(code));
        }
        Ok(())
    }

    #[cold]
    fn too_deep(&self, code: &Code) -> ErrorKind {
        let function = self.known_as(code, self.origin_of(code));
        ErrorKind::TooDeep { depth: self.frames.len(), function }
    }

    /// Pushes an argument in the shape that the function wants.
    fn push_arg(&mut self, shape: &ParamShape, arg: Value) {
        match shape {
            ParamShape::One => self.stack.push(arg),
            ParamShape::Split(shapes) => {
                let mut arg = arg;
                for (i, shape) in shapes.iter().enumerate() {
                    let component = take_field(&mut arg, i);
                    self.push_arg(shape, component);
                }
            }
        }
    }

    /// Brings the arguments that were pushed since `base`, one value or the components of a tuple
    /// (`spread`), into the shape that the function wants.
    fn adapt(&mut self, base: usize, spread: bool, shape: &ParamShape) {
        let mut args: Vec<Value> = self.stack.drain(base..).collect();
        match (shape, spread) {
            (ParamShape::One, true) => self.stack.push(Value::tuple(args)),
            (ParamShape::Split(shapes), true) => {
                for (shape, arg) in shapes.iter().zip(args) {
                    self.push_arg(shape, arg);
                }
            }
            (_, false) => {
                if let Some(arg) = args.pop() {
                    self.push_arg(shape, arg);
                }
            }
        }
    }

    // Errors and warnings

    /// The place of the call or derivative term that waits innermost; of the call that led into the
    /// standard library, if that is where it is.
    fn site(&self) -> Span {
        self.frames.last().map_or(Span::NONE, |frame| {
            Machine::place(&frame.code, frame.pc as usize, frame.origin)
        })
    }

    /// The place of the instruction before `pc` as a user knows it: within the standard library, the call
    /// that led there.
    #[inline(always)]
    fn place(code: &Code, pc: usize, origin: Origin) -> Span {
        if code.library {
            origin.span
        } else {
            code.spans[pc - 1]
        }
    }

    /// The call that led into the standard library, for a function that the instruction before `pc` calls.
    #[inline(always)]
    fn origin(code: &Code, pc: usize, origin: Origin, callee: &Code) -> Origin {
        if code.library || !callee.library {
            origin
        } else {
            Origin { span: code.spans[pc - 1], function: callee.number }
        }
    }

    /// The same for a function that is called from outside the instructions.
    fn origin_of(&self, callee: &Code) -> Origin {
        let here = Origin { span: Span::NONE, function: callee.number };
        self.frames
            .last()
            .map_or(here, |f| Machine::origin(&f.code, f.pc as usize, f.origin, callee))
    }

    /// The open calls when this function runs, called by the last of `frames`: those outside the standard
    /// library.
    fn trace_of<'a>(
        &self,
        mut code: &'a Code,
        mut origin: Origin,
        frames: &'a [Frame],
    ) -> Vec<(Name, Span)> {
        let mut trace = Vec::new();
        // Of a long trace the two ends are of interest.
        let skipped = frames.len().saturating_sub(TRACE);
        for (i, frame) in frames.iter().rev().enumerate() {
            if !frame.code.library && (i < TRACE / 2 || i >= TRACE / 2 + skipped) {
                let place = frame.code.spans[frame.pc as usize - 1];
                trace.push((self.known_as(code, origin), place));
            }
            (code, origin) = (&*frame.code, frame.origin);
        }
        trace
    }

    /// The name of a function for the user; within the standard library, that of the function that the user called, which may
    /// have ended with a call of another one.
    fn known_as(&self, code: &Code, origin: Origin) -> Name {
        match self.compiler.codes.get(origin.function as usize) {
            Some(entered) if code.library => written(&entered.name),
            _ => written(&code.name),
        }
    }

    /// A derivative term, which `code` holds, is the library's: its rule is written there, or it is no rule.
    fn by_the_library(&self, code: &Code, op: DiffOp, args: &[Value]) -> bool {
        match args.get(1).and_then(access::closure) {
            Some((rule, _)) => self.compiler.codes[rule as usize].library,
            None => code.library && !code.name.starts_with(op.name()),
        }
    }

    /// The function of the standard library that was called from outside it, if this one belongs to it.
    fn library_function(&self, code: &Code, origin: Origin) -> Option<Name> {
        let entered = &self.compiler.codes[origin.function as usize];
        let in_sources =
            self.compiler.sources.is_none() || entered.spans.iter().any(|s| *s != Span::NONE);
        (code.library && in_sources).then(|| written(&entered.name))
    }

    /// The same for the innermost function on the frames.
    fn innermost_library_function(&self) -> Option<Name> {
        self.frames.last().and_then(|frame| self.library_function(&frame.code, frame.origin))
    }

    /// An error in the function that runs.
    #[cold]
    fn failure(&self, kind: ErrorKind, code: &Code, pc: usize, origin: Origin) -> RuntimeError {
        // What the papers' systems have made has no place of its own.
        let here = (code, pc, origin);
        let open = self.frames.iter().rev().map(|f| (&*f.code, f.pc as usize, f.origin));
        let mut places =
            std::iter::once(here).chain(open).map(|(code, pc, at)| Machine::place(code, pc, at));
        RuntimeError {
            kind,
            span: places.find(|span| !span.is_none()).unwrap_or(Span::NONE),
            function: self.library_function(code, origin),
            trace: self.trace_of(code, origin, &self.frames),
        }
    }

    /// Passes on the warnings of real arithmetic; the innermost function is on the frames.
    fn collect_warnings(&mut self) {
        if !self.reals.warnings.is_empty() {
            self.add_warnings(self.innermost_library_function());
        }
    }

    #[cold]
    fn add_warnings(&mut self, function: Option<Name>) {
        for (kind, span) in std::mem::take(&mut self.reals.warnings) {
            // A nan is found when the operation that made it is long over.
            let function = match kind {
                WarningKind::NanDerivative { .. } | WarningKind::Told { .. } => None,
                WarningKind::Kink { .. } | WarningKind::OutsideDomain { .. } => function.clone(),
            };
            (self.options.events)(Event::Warning(RuntimeWarning { kind, span, function }));
        }
    }
}

/// A component of a tuple or a field of a constructor: moved out if nothing else refers to the value.
fn take_field(value: &mut Value, index: usize) -> Value {
    let fields: Option<&mut [Value]> = match value {
        Value::Tuple(rc) => Rc::get_mut(rc).map(|fields| &mut fields.0[..]),
        Value::Data(rc) => Rc::get_mut(rc).map(|data| &mut data.fields[..]),
        Value::Unit
        | Value::Real(_)
        | Value::Int(_)
        | Value::Bool(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Function(_)
        | Value::Dual { .. }
        | Value::Active(_)
        | Value::Zero => None,
    };
    match fields {
        Some(fields) => std::mem::replace(&mut fields[index], Value::Unit),
        None => value.fields()[index].clone(),
    }
}

impl Caller for Machine {
    fn call(&mut self, f: &Value, arg: Value) -> Result<Value, RuntimeError> {
        self.apply(f, arg)
    }

    fn call_on_all_paths(&mut self, f: &Value, arg: Value) -> Result<Value, RuntimeError> {
        self.on_all_paths(f, arg)
    }

    fn follows_all_paths(&self) -> bool {
        self.paths.followed
    }

    fn check_limits(&mut self, site: Span) -> Result<(), RuntimeError> {
        match self.within_limits() {
            Ok(()) => Ok(()),
            Err(bound) => Err(Caller::error(self, ErrorKind::Exceeded(bound), site)),
        }
    }

    fn reals(&mut self) -> &mut Reals {
        &mut self.reals
    }

    fn swap_events(&mut self, events: &mut Events) {
        std::mem::swap(&mut self.options.events, events);
    }

    fn error(&mut self, kind: ErrorKind, site: Span) -> RuntimeError {
        let last = self.frames.split_last();
        RuntimeError {
            kind,
            span: site,
            function: self.innermost_library_function(),
            trace: last
                .map_or(Vec::new(), |(last, rest)| self.trace_of(&last.code, last.origin, rest)),
        }
    }
}
