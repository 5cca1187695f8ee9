//! All paths of a program whose numbers are not known: on what its results depend at every point.
//!
//! What comes in: code, and registers in which the numbers of the point are nan. What goes out: what the code gives, each
//! number with the derivatives, or sets, of all paths to it. What always holds: a plain nan, or a number whose primal is
//! nan, is a number that is not known; where a value of another type is expected, a number stands for a value that is not
//! known at all, and depends on all that the number depends on. So nothing is missed: what cannot be followed becomes one
//! number.
//!
//! Where a condition is not known, both branches run from the same registers, and the registers are joined where the
//! branches meet: two numbers become their sum, other values that differ what is not known. A branch that stops the program
//! gives nothing. A branch that comes back to its condition is a loop: what differs from one step to the next becomes a
//! number that depends on all registers, until nothing differs.

mod values;

use super::access::{
    captured, fetch, holds, mistyped, take, to_array, to_bool, to_int, within, MOST_ELEMENTS,
};
use super::{Frame, Machine, Origin, Resume};
use crate::eval::code::{Code, Instr, ParamShape};
use crate::eval::derivative::{derivative, pull_back, Caller};
use crate::eval::error::{ErrorKind, RuntimeError};
use crate::eval::ops;
use crate::eval::reals::primal;
use crate::leaves::is_real;
use crate::prim::{int, Comparison, DiffOp, IntOp, RealOp};
use crate::term::GlobalId;
use crate::value::{Data, Fields, FunctionValue, Value};
use diffeo_base::{deep, Span};
use std::rc::Rc;
use values::widen;

/// A value that is not known and depends on nothing: no path that is followed may look at it.
const UNKNOWN: Value = Value::Real(f64::NAN);

/// So many branches within each other are followed.
const MOST_OPEN: usize = 200;

/// So many times both branches of a condition are run: recursion may double the work at each.
const MOST_FORKS: usize = 1_000_000;

/// A loop whose steps still differ after so many rounds becomes numbers altogether.
const MOST_ROUNDS: usize = 8;

/// An array under construction.
#[derive(Clone)]
enum Making {
    Elements(Vec<Value>),
    Unknown(Value),
}

/// How code goes on from a place: at the end of a branch, out of the function, back at a condition.
#[derive(Default)]
struct Flows {
    stopped: Option<Vec<Value>>,
    returned: Option<Value>,
    looped: Vec<(usize, Vec<Value>)>,
}

/// A function that runs.
#[derive(Clone)]
struct Activation {
    code: Rc<Code>,
    this: Value,
    origin: Origin,
}

/// The state while all paths are followed.
#[derive(Default)]
pub(super) struct Paths {
    /// They are.
    pub followed: bool,
    /// A number stands for a value of another type: an error may be no error of the program.
    vague: bool,
    /// The number of functions that are running.
    runs: usize,
    /// The number of branches run, which is bounded.
    forks: usize,
}

impl Machine {
    /// Calls a function on all its paths.
    pub(super) fn on_all_paths(&mut self, f: &Value, arg: Value) -> Result<Value, RuntimeError> {
        if self.translator.is_some() || self.reals.encloses() {
            return Err(undecided(self));
        }
        let before = std::mem::take(&mut self.paths);
        let Paths { vague, runs, forks, .. } = before;
        self.paths = Paths { followed: true, vague, runs, forks };
        let both = self.reals.set_all_paths(true);
        let frames = self.frames.len();
        let result = self.apply_paths(f, arg);
        self.frames.truncate(frames);
        self.reals.set_all_paths(both);
        let Paths { vague, forks, .. } = self.paths;
        self.paths = match before.followed {
            true => Paths { vague, forks, ..before },
            false => Paths::default(),
        };
        result
    }

    /// Calls a function, of whose numbers some are not known.
    pub(super) fn apply_paths(
        &mut self,
        function: &Value,
        arg: Value,
    ) -> Result<Value, RuntimeError> {
        let site = self.site();
        match function {
            Value::Function(f) => match &**f {
                FunctionValue::Closure { code, .. } => {
                    let code = self.compiler.codes[*code as usize].clone();
                    let mut args = Vec::new();
                    spread(&code.shape, arg, &mut args);
                    let origin = self.origin_of(&code);
                    self.enter_paths(Activation { code, this: function.clone(), origin }, args)
                }
                FunctionValue::Pullback(pullback) => pull_back(self, pullback, arg, site),
            },
            _ => self.collapse(&[function, &arg], site),
        }
    }

    /// Runs a function whose arguments are in its shape.
    fn enter_paths(&mut self, of: Activation, args: Vec<Value>) -> Result<Value, RuntimeError> {
        let mut registers = args;
        registers.resize(of.code.registers, Value::Unit);
        self.paths.runs += 1;
        let flows = match self.paths.runs {
            runs if runs > 20_000 => Err(undecided(self)),
            _ => deep(|| self.flow(&of, registers, (0, usize::MAX), &mut Vec::new())),
        };
        self.paths.runs -= 1;
        match flows?.returned {
            Some(value) => Ok(value),
            None => Err(undecided(self)),
        }
    }

    /// Runs code from a place until another or its end. `open` are the conditions whose branches are being followed.
    fn flow(
        &mut self,
        of: &Activation,
        mut registers: Vec<Value>,
        (from, stop): (usize, usize),
        open: &mut Vec<usize>,
    ) -> Result<Flows, RuntimeError> {
        let Activation { code, this, origin } = of;
        let mut flows = Flows::default();
        let mut builders: Vec<Making> = Vec::new();
        let mut pc = from;

        macro_rules! get {
            ($operand:expr) => {
                fetch(&registers, 0, code, this, $operand)
            };
        }
        macro_rules! take {
            ($operand:expr) => {
                take(&mut registers, 0, code, this, $operand)
            };
        }
        macro_rules! set {
            ($to:expr, $value:expr) => {{
                let value = $value;
                registers[$to as usize] = value;
            }};
        }
        macro_rules! check {
            ($result:expr) => {
                match $result {
                    Ok(value) => value,
                    Err(kind) => return Err(self.failure(kind, code, pc, *origin)),
                }
            };
        }
        macro_rules! site {
            () => {
                Machine::place(code, pc, *origin)
            };
        }
        // Calls what may run the machine again.
        macro_rules! outside {
            ($work:expr) => {{
                self.frames.push(Frame {
                    code: code.clone(),
                    this: this.clone(),
                    pc: pc as u32,
                    base: 0,
                    origin: *origin,
                    resume: Resume::Register(0),
                });
                let result = $work;
                self.frames.pop();
                result?
            }};
        }
        macro_rules! args {
            ($list:expr) => {{
                let operands = &code.operands[$list.range()];
                operands.iter().map(|operand| take!(*operand)).collect::<Vec<Value>>()
            }};
        }
        macro_rules! call {
            ($code:expr, $this:expr, $args:expr) => {{
                let callee: Rc<Code> = $code;
                let origin = Machine::origin(code, pc, *origin, &callee);
                let next = Activation { code: callee, this: $this, origin };
                outside!(self.enter_paths(next, $args))
            }};
        }
        macro_rules! finish {
            ($value:expr) => {{
                let value = $value;
                let site = site!();
                flows.returned = Some(match flows.returned.take() {
                    Some(other) => self.join(&other, &value, site)?,
                    None => value,
                });
                return Ok(flows);
            }};
        }
        // Goes to where a condition decides: the targets that are possible.
        macro_rules! branch {
            ($targets:expr, $join:expr) => {{
                let targets: Vec<usize> = $targets;
                let join: Option<usize> = $join;
                let all =
                    self.branches(of, &registers, (pc, join.unwrap_or(stop)), &targets, open)?;
                let site = site!();
                for (place, registers) in all.looped {
                    self.add_looped(&mut flows, place, registers, site)?;
                }
                if let Some(value) = all.returned {
                    flows.returned = Some(match flows.returned.take() {
                        Some(other) => self.join(&other, &value, site)?,
                        None => value,
                    });
                }
                match (all.stopped, join) {
                    (Some(joined), Some(join)) => {
                        registers = joined;
                        pc = join;
                    }
                    (stopped, _) => {
                        flows.stopped = stopped;
                        return Ok(flows);
                    }
                }
            }};
        }
        macro_rules! condition {
            ($known:expr, $jumps:expr, $target:expr) => {{
                let target = $target as usize;
                match $known {
                    Some(holds) => {
                        if holds == $jumps {
                            pc = target;
                        }
                    }
                    None => {
                        let join = check!(meeting(code, pc, target));
                        branch!(vec![pc, target], join);
                    }
                }
            }};
        }

        loop {
            if pc == stop {
                flows.stopped = Some(registers);
                return Ok(flows);
            }
            let instr = code.instrs[pc];
            pc += 1;
            if open.contains(&pc) {
                let site = site!();
                self.add_looped(&mut flows, pc, registers, site)?;
                return Ok(flows);
            }
            self.operations += 1;
            if self.operations >= self.next_check {
                check!(self.check_limits());
            }
            match instr {
                Instr::Move { to, from } => set!(to, take!(from)),
                Instr::Drop { register } => set!(register, Value::Unit),
                Instr::AddReal { to, a, b } => {
                    set!(to, check!(self.reals.apply(RealOp::Add, get!(a), get!(b), site!())));
                }
                Instr::SubReal { to, a, b } => {
                    set!(to, check!(self.reals.apply(RealOp::Sub, get!(a), get!(b), site!())));
                }
                Instr::MulReal { to, a, b } => {
                    set!(to, check!(self.reals.apply(RealOp::Mul, get!(a), get!(b), site!())));
                }
                Instr::DivReal { to, a, b } => {
                    set!(to, check!(self.reals.apply(RealOp::Div, get!(a), get!(b), site!())));
                }
                Instr::Real2 { op, to, a, b } => {
                    set!(to, check!(self.reals.apply(op, get!(a), get!(b), site!())));
                }
                Instr::Real1 { op, to, a } => {
                    set!(to, check!(self.reals.apply(op, get!(a), &Value::Unit, site!())));
                }
                Instr::AddInt { to, a, b } => {
                    set!(to, check!(int2(IntOp::Add, get!(a), get!(b))));
                }
                Instr::SubInt { to, a, b } => {
                    set!(to, check!(int2(IntOp::Sub, get!(a), get!(b))));
                }
                Instr::Int2 { op, to, a, b } => set!(to, check!(int2(op, get!(a), get!(b)))),
                Instr::Int1 { op, to, a } => set!(to, check!(int2(op, get!(a), &Value::Int(0)))),
                Instr::CompareReal { comparison, to, a, b } => {
                    let known = compared(comparison, get!(a), get!(b));
                    set!(to, known.map_or(UNKNOWN, Value::Bool));
                }
                Instr::CompareInt { comparison, to, a, b } => {
                    let known = check!(compared_ints(comparison, get!(a), get!(b)));
                    set!(to, known.map_or(UNKNOWN, Value::Bool));
                }
                Instr::Not { to, a } => {
                    let known = check!(truth(get!(a)));
                    set!(to, known.map_or(UNKNOWN, |b| Value::Bool(!b)));
                }
                Instr::ToReal { to, a } => {
                    let value = match get!(a) {
                        number if is_real(number) => number.clone(),
                        n => Value::Real(check!(to_int(n)) as f64),
                    };
                    set!(to, value);
                }
                Instr::Prim { prim, to, args } => {
                    let args = args!(args);
                    let site = site!();
                    let value = match self.prim(&code.prims[prim as usize], args, site) {
                        Ok(value) => value,
                        Err(kind) => return Err(self.failure(kind, code, pc, *origin)),
                    };
                    set!(to, value);
                }
                Instr::Length { to, array } => {
                    let length = match get!(array) {
                        number if is_real(number) => UNKNOWN,
                        array => Value::Int(check!(to_array(array)).len() as i64),
                    };
                    set!(to, length);
                }
                Instr::Index { to, array, index } => {
                    let site = site!();
                    let value = match (get!(array), get!(index)) {
                        (number, _) if is_real(number) => number.clone(),
                        (array, number) if is_real(number) => {
                            let elements = check!(to_array(array)).clone();
                            self.any_of(&elements, site)?
                        }
                        (array, index) => {
                            let elements = check!(to_array(array));
                            let i = check!(to_int(index).and_then(|i| within(i, elements.len())));
                            elements.get(i)
                        }
                    };
                    set!(to, value);
                }
                Instr::Update { to, array, index, value } => {
                    let site = site!();
                    let (array, index, value) = (take!(array), take!(index), take!(value));
                    set!(to, self.update_paths(array, index, value, site)?);
                }
                Instr::Sizes { call, args, targets } => {
                    let operands = &code.operands[args.range()];
                    let values: ops::Values<&Value> = operands.iter().map(|o| get!(*o)).collect();
                    let call = &code.sizes[call as usize];
                    let sizes = match ops::sizes(call, &values, &mut self.operations) {
                        Err(ErrorKind::Internal { .. }) => None,
                        sizes => Some(check!(sizes)),
                    };
                    drop(values);
                    for target in &code.targets[targets.range()] {
                        let size = sizes.as_ref().map(|sizes| sizes[target.index as usize]);
                        set!(target.register, size.map_or(UNKNOWN, Value::Int));
                    }
                }

                Instr::Tuple { to, args } => {
                    let args = args!(args);
                    set!(to, Value::Tuple(Rc::new(Fields(args.into_iter().collect()))));
                }
                Instr::Construct { to, tag, args } => {
                    let fields = args!(args).into_iter().collect();
                    set!(to, Value::Data(Rc::new(Data { tag, fields })));
                }
                Instr::Array { to, args } => {
                    let args = args!(args);
                    set!(to, self.array_of(args, site!())?);
                }
                Instr::Project { to, from, index, .. } => {
                    set!(to, part(get!(from), index));
                }
                Instr::Unpack { from, targets } => {
                    let value = take!(from);
                    for target in &code.targets[targets.range()] {
                        set!(target.register, part(&value, target.index));
                    }
                }
                Instr::Closure { to, code: number, captured } => {
                    let captured = args!(captured).into_iter().collect();
                    let closure = FunctionValue::Closure { code: number, captured };
                    set!(to, Value::Function(Rc::new(closure)));
                }
                Instr::Open { targets } => {
                    for target in &code.targets[targets.range()] {
                        set!(target.register, captured(this)[target.index as usize].clone());
                    }
                }
                Instr::Global { to, global } => {
                    // Definitions do not depend on the point.
                    self.paths.followed = false;
                    let both = self.reals.set_all_paths(false);
                    let value = self.eval_global(GlobalId(global));
                    self.reals.set_all_paths(both);
                    self.paths.followed = true;
                    set!(to, value?);
                }
                Instr::Diff { diff, to, args } => {
                    let args = args!(args);
                    let (op, site) = (code.diffs[diff as usize], site!());
                    let value = match is_real(&args[0]) && op != DiffOp::StopGradient {
                        true => self.collapse(&args.iter().collect::<Vec<_>>(), site)?,
                        false => outside!(derivative(self, &op, args, site)),
                    };
                    set!(to, value);
                }

                Instr::Jump { target } => pc = target as usize,
                Instr::JumpUnless { condition, target } => {
                    let known = check!(truth(get!(condition)));
                    condition!(known, false, target);
                }
                Instr::JumpIf { condition, target } => {
                    let known = check!(truth(get!(condition)));
                    condition!(known, true, target);
                }
                Instr::JumpUnlessReal { comparison, a, b, target } => {
                    condition!(compared(comparison, get!(a), get!(b)), false, target);
                }
                Instr::JumpUnlessInt { comparison, a, b, target } => {
                    let known = check!(compared_ints(comparison, get!(a), get!(b)));
                    condition!(known, false, target);
                }
                Instr::Switch { on, table } => {
                    let targets = &code.jumps[table.range()];
                    match get!(on) {
                        Value::Data(data) => pc = targets[data.tag as usize] as usize,
                        number if is_real(number) => {
                            let arms = targets.iter().filter(|target| **target != u32::MAX);
                            let mut arms: Vec<usize> =
                                arms.map(|target| *target as usize).collect();
                            arms.sort_unstable();
                            arms.dedup();
                            let join = match arms.get(1) {
                                Some(second) => check!(meeting(code, pc, *second)),
                                None => Some(arms[0]),
                            };
                            branch!(arms, join);
                        }
                        _ => check!(Err(mistyped("a variant"))),
                    }
                }
                Instr::CountStart { index, limit, count, exit } => match get!(count) {
                    number if is_real(number) => {
                        let site = site!();
                        let all = self.everything(&registers, this, site)?;
                        for register in written(code, pc..exit as usize) {
                            set!(register, all.clone());
                        }
                        pc = exit as usize;
                    }
                    count => {
                        let count = check!(to_int(count));
                        if count < 1 {
                            pc = exit as usize;
                        } else {
                            set!(index, Value::Int(0));
                            set!(limit, Value::Int(count));
                        }
                    }
                },
                Instr::CountNext { index, limit, body } => {
                    let limit = check!(to_int(&registers[limit as usize]));
                    let i = check!(to_int(&registers[index as usize])) + 1;
                    set!(index, Value::Int(i));
                    if i < limit {
                        pc = body as usize;
                    }
                }
                Instr::BuildStart { index, limit, count, exit } => match get!(count) {
                    number if is_real(number) => {
                        let site = site!();
                        builders.push(Making::Unknown(self.everything(&registers, this, site)?));
                        pc = exit as usize;
                    }
                    count => {
                        let count = check!(to_int(count));
                        if count < 0 {
                            check!(Err(ErrorKind::NegativeCount { count }));
                        }
                        if count > MOST_ELEMENTS {
                            check!(Err(ErrorKind::TooLarge { count }));
                        }
                        builders.push(Making::Elements(Vec::new()));
                        if count < 1 {
                            pc = exit as usize;
                        } else {
                            set!(index, Value::Int(0));
                            set!(limit, Value::Int(count));
                        }
                    }
                },
                Instr::BuildPush { value } => {
                    let value = take!(value);
                    if let Some(Making::Elements(elements)) = builders.last_mut() {
                        elements.push(value);
                    }
                }
                Instr::BuildEnd { to } => {
                    let value = match builders.pop() {
                        Some(Making::Elements(elements)) => self.array_of(elements, site!())?,
                        Some(Making::Unknown(value)) => value,
                        None => check!(Err(mistyped("an array under construction"))),
                    };
                    set!(to, value);
                }

                Instr::CallGlobal { to, global, args } => {
                    let number = self.code_of(global);
                    let callee = self.compiler.codes[number as usize].clone();
                    let args = args!(args);
                    set!(to, call!(callee, Value::Unit, args));
                }
                Instr::CallItself { to, args } => {
                    let args = args!(args);
                    set!(to, call!(code.clone(), this.clone(), args));
                }
                Instr::Call { to, function, args, spread } => {
                    let (function, arg) = (take!(function), one(args!(args), spread));
                    set!(to, outside!(self.apply_paths(&function, arg)));
                }
                Instr::TailGlobal { global, args } => {
                    let number = self.code_of(global);
                    let callee = self.compiler.codes[number as usize].clone();
                    let args = args!(args);
                    finish!(call!(callee, Value::Unit, args));
                }
                Instr::Tail { function, args, spread } => {
                    let (function, arg) = (take!(function), one(args!(args), spread));
                    finish!(outside!(self.apply_paths(&function, arg)));
                }
                Instr::Return { value } => finish!(take!(value)),
            }
        }
    }

    /// Runs each of the branches from the same registers, as often as they come back to the condition.
    fn branches(
        &mut self,
        of: &Activation,
        registers: &[Value],
        (pc, stop): (usize, usize),
        targets: &[usize],
        open: &mut Vec<usize>,
    ) -> Result<Flows, RuntimeError> {
        self.paths.forks += 1;
        if open.len() > MOST_OPEN || self.paths.forks > MOST_FORKS {
            return Err(undecided(self));
        }
        let site = Machine::place(&of.code, pc, of.origin);
        let mut start = registers.to_vec();
        let mut everything = None;
        for round in 0.. {
            let mut all = Flows::default();
            let mut failure = None;
            open.push(pc);
            for target in targets {
                match deep(|| self.flow(of, start.clone(), (*target, stop), open)) {
                    Ok(flows) => self.add_flows(&mut all, flows, site)?,
                    Err(error) if !self.paths.vague && stops(&error.kind) => failure = Some(error),
                    Err(error) => {
                        open.pop();
                        return Err(error);
                    }
                }
            }
            open.pop();
            let (own, others) = all.looped.into_iter().partition(|(place, _)| *place == pc);
            all.looped = others;
            let own: Vec<(usize, Vec<Value>)> = own;
            let nothing = all.stopped.is_none() && all.returned.is_none() && all.looped.is_empty();
            if let (true, true, Some(error)) = (nothing, own.is_empty(), failure) {
                return Err(error);
            }
            if own.is_empty() {
                return Ok(all);
            }
            let whole = match &everything {
                Some(known) => known,
                None => everything.insert(self.everything(registers, &of.this, site)?),
            };
            let mut changed = false;
            for (_, again) in &own {
                for (old, new) in start.iter_mut().zip(again) {
                    changed |= widen(old, new, whole, round >= MOST_ROUNDS);
                }
            }
            if changed {
                self.paths.vague = true;
            } else {
                return Ok(all);
            }
        }
        Err(undecided(self))
    }

    fn add_flows(&mut self, to: &mut Flows, from: Flows, site: Span) -> Result<(), RuntimeError> {
        for (place, registers) in from.looped {
            self.add_looped(to, place, registers, site)?;
        }
        to.stopped = match (to.stopped.take(), from.stopped) {
            (Some(a), Some(b)) => Some(self.join_all(&a, &b, site)?),
            (a, b) => a.or(b),
        };
        to.returned = match (to.returned.take(), from.returned) {
            (Some(a), Some(b)) => Some(self.join(&a, &b, site)?),
            (a, b) => a.or(b),
        };
        Ok(())
    }

    fn add_looped(
        &mut self,
        to: &mut Flows,
        place: usize,
        registers: Vec<Value>,
        site: Span,
    ) -> Result<(), RuntimeError> {
        let known = to.looped.iter().position(|(other, _)| *other == place);
        match known {
            Some(i) => to.looped[i].1 = self.join_all(&to.looped[i].1.clone(), &registers, site)?,
            None => to.looped.push((place, registers)),
        }
        Ok(())
    }
}

/// The error where paths are not followed.
fn undecided(machine: &mut Machine) -> RuntimeError {
    let site = machine.site();
    let message = "there is no end of the paths of the program".into();
    Caller::error(machine, ErrorKind::Internal { message }, site)
}

/// An error of the program: a branch with it gives nothing.
fn stops(kind: &ErrorKind) -> bool {
    !matches!(
        kind,
        ErrorKind::Internal { .. }
            | ErrorKind::Exceeded(_)
            | ErrorKind::TooDeep { .. }
            | ErrorKind::NanDerivative
            | ErrorKind::DerivativeOrder
    )
}

/// Where the branches of a condition meet, the second of which begins at the target: none if that is the end of the
/// function. The instruction before the second is the last of the first.
fn meeting(code: &Code, pc: usize, second: usize) -> Result<Option<usize>, ErrorKind> {
    match code.instrs[second - 1] {
        Instr::Jump { target } if target as usize >= second => Ok(Some(target as usize)),
        // Back to the beginning of a loop.
        Instr::Jump { target } if (target as usize) < pc => Ok(Some(second)),
        Instr::Return { .. } | Instr::TailGlobal { .. } | Instr::Tail { .. } => Ok(None),
        _ => Err(mistyped("the end of a branch")),
    }
}

/// The registers that are written in a part of the code.
fn written(code: &Code, part: std::ops::Range<usize>) -> Vec<u32> {
    let mut pool = code.targets.clone();
    let mut registers = Vec::new();
    for instr in &code.instrs[part] {
        let mut instr = *instr;
        instr.each_target(&mut pool, &mut |to| registers.push(*to));
    }
    registers
}

/// A component or field; of what is not known, the same.
fn part(v: &Value, index: u32) -> Value {
    match v.fields().get(index as usize) {
        Some(field) => field.clone(),
        None => v.clone(),
    }
}

/// The arguments of a call in one piece.
fn one(args: Vec<Value>, spread: bool) -> Value {
    match (spread, args.len()) {
        (false, 1) => args.into_iter().next().unwrap_or(Value::Unit),
        _ => Value::tuple(args),
    }
}

/// An argument in the shape that a function wants.
fn spread(shape: &ParamShape, arg: Value, to: &mut Vec<Value>) {
    match shape {
        ParamShape::One => to.push(arg),
        ParamShape::Split(shapes) => {
            for (i, shape) in (0..).zip(shapes) {
                spread(shape, part(&arg, i), to);
            }
        }
    }
}

/// A truth value, if it is known.
fn truth(v: &Value) -> Result<Option<bool>, ErrorKind> {
    match v {
        number if is_real(number) => Ok(None),
        v => to_bool(v).map(Some),
    }
}

fn compared(comparison: Comparison, a: &Value, b: &Value) -> Option<bool> {
    let (x, y) = (primal(a), primal(b));
    (!x.is_nan() && !y.is_nan()).then(|| holds(comparison, x, y))
}

fn compared_ints(c: Comparison, a: &Value, b: &Value) -> Result<Option<bool>, ErrorKind> {
    match is_real(a) || is_real(b) {
        true => Ok(None),
        false => Ok(Some(holds(c, to_int(a)?, to_int(b)?))),
    }
}

/// An operation on Ints; the second counts only for one of two.
fn int2(op: IntOp, a: &Value, b: &Value) -> Result<Value, ErrorKind> {
    match is_real(a) || is_real(b) {
        true => Ok(UNKNOWN),
        false => int::apply(op, to_int(a)?, to_int(b)?).map(Value::Int),
    }
}
