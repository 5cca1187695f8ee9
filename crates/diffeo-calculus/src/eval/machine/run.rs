//! The instructions.
//!
//! Plain numbers are worked on at once; everything that carries derivatives goes to [`super::Reals`], and
//! whole values to [`crate::eval::ops`].

use super::access::{
    closure, fetch, holds, mistyped, set_bool, set_int, set_real, take, take_captured, to_array,
    to_bool, to_int, within, MOST_ELEMENTS,
};
use super::{take_field, Frame, Machine, Resume};
use crate::array::ArrayBuilder;
use crate::eval::code::{Code, Instr, OperandSource};
use crate::eval::derivative::{derivative, pull_back};
use crate::eval::error::{ErrorKind, RuntimeError};
use crate::eval::ops::{self, PrimContext};
use crate::eval::reals::Kinks;
use crate::eval::watch;
use crate::prim::{int, real, DiffOp, IntOp, Prim, RealOp};
use crate::value::{Data, Fields, FunctionValue, Value};
use std::rc::Rc;

impl Machine {
    /// Runs code whose registers begin at `base`, until it returns.
    pub(super) fn run(
        &mut self,
        mut code: Rc<Code>,
        mut this: Value,
        mut base: usize,
    ) -> Result<Value, RuntimeError> {
        let floor = self.frames.len();
        // Translated programs have zeros of their own, and blame operations: see `eval/watch.rs`.
        let encloses = self.reals.encloses();
        let quick = self.translator.is_none() && !encloses;
        let smooth = quick && matches!(self.options.kinks, Kinks::Ignore);
        let mut pc = 0;
        let mut origin = self.origin_of(&code);

        macro_rules! set {
            ($to:expr, $value:expr) => {{
                let value = $value;
                self.stack[base + $to as usize] = value;
            }};
        }
        // See Note [Numbers are written in place].
        macro_rules! real {
            ($to:expr, $x:expr) => {{
                let x = $x;
                set_real(&mut self.stack[base + $to as usize], x);
            }};
        }
        macro_rules! int {
            ($to:expr, $n:expr) => {{
                let n = $n;
                set_int(&mut self.stack[base + $to as usize], n);
            }};
        }
        macro_rules! bool {
            ($to:expr, $b:expr) => {{
                let b = $b;
                set_bool(&mut self.stack[base + $to as usize], b);
            }};
        }
        macro_rules! get {
            ($operand:expr) => {
                fetch(&self.stack, base, &code, &this, $operand)
            };
        }
        macro_rules! take {
            ($operand:expr) => {
                take(&mut self.stack, base, &code, &this, $operand)
            };
        }
        // What was only looked at, for the last time, is given back.
        macro_rules! release {
            ($operand:expr) => {
                if let Some(register) = $operand.taken() {
                    set!(register, Value::Unit);
                }
            };
        }
        macro_rules! check {
            ($result:expr) => {
                match $result {
                    Ok(value) => value,
                    Err(kind) => return Err(self.failure(kind, &code, pc, origin)),
                }
            };
        }
        macro_rules! warnings {
            () => {
                if !self.reals.warnings.is_empty() {
                    self.add_warnings(self.library_function(&code, origin));
                }
            };
        }
        macro_rules! real2 {
            ($op:expr, $to:expr, $a:expr, $b:expr, $plain:expr, $fast:expr) => {
                match (get!($a), get!($b)) {
                    (Value::Real(a), Value::Real(b)) if $plain => real!($to, $fast(*a, *b)),
                    (a, b) => {
                        let value =
                            check!(self.reals.apply($op, a, b, Machine::place(&code, pc, origin)));
                        warnings!();
                        release!($a);
                        release!($b);
                        set!($to, value);
                    }
                }
            };
        }
        macro_rules! compare_real {
            ($comparison:expr, $a:expr, $b:expr) => {
                match (get!($a), get!($b)) {
                    (Value::Real(a), Value::Real(b)) => holds($comparison, *a, *b),
                    (a, b) => {
                        let site = Machine::place(&code, pc, origin);
                        let value = check!(self.reals.compare($comparison, a, b, site));
                        warnings!();
                        release!($a);
                        release!($b);
                        value
                    }
                }
            };
        }
        macro_rules! compare_int {
            ($comparison:expr, $a:expr, $b:expr) => {
                match (get!($a), get!($b)) {
                    (Value::Int(a), Value::Int(b)) => holds($comparison, *a, *b),
                    _ => check!(Err(mistyped("two Ints"))),
                }
            };
        }
        macro_rules! int2 {
            ($op:expr, $to:expr, $a:expr, $b:expr, $fast:expr) => {
                match (get!($a), get!($b)) {
                    (Value::Int(a), Value::Int(b)) => {
                        let (a, b) = (*a, *b);
                        let value = match $fast(a, b) {
                            Some(value) => value,
                            None => check!(int::apply($op, a, b)),
                        };
                        int!($to, value);
                    }
                    _ => check!(Err(mistyped("two Ints"))),
                }
            };
        }
        macro_rules! args {
            ($list:expr) => {
                code.operands[$list.range()].iter().map(|operand| take!(*operand)).collect()
            };
        }
        // Puts the present function on the frames, while `$work` may run the machine again.
        macro_rules! outside {
            ($to:expr, $work:expr) => {{
                self.frames.push(Frame {
                    code: code.clone(),
                    this: this.clone(),
                    pc: pc as u32,
                    base: base as u32,
                    origin,
                    resume: Resume::Register($to),
                });
                let result = $work;
                self.collect_warnings();
                self.frames.pop();
                result?
            }};
        }
        // Calls a function whose arguments are pushed.
        macro_rules! call {
            ($callee:expr, $this:expr, $resume:expr) => {{
                let (callee, next): (Rc<Code>, Value) = ($callee, $this);
                check!(self.room(&callee));
                let from = origin;
                origin = Machine::origin(&code, pc, origin, &callee);
                self.frames.push(Frame {
                    code: std::mem::replace(&mut code, callee),
                    this: std::mem::replace(&mut this, next),
                    pc: pc as u32,
                    base: base as u32,
                    origin: from,
                    resume: $resume,
                });
                base = self.stack.len() - code.registers;
                pc = 0;
            }};
        }
        // Calls a function whose arguments are pushed since `$top`, in place of the present call.
        macro_rules! tail {
            ($callee:expr, $this:expr, $top:expr) => {{
                self.settle(base, $top);
                origin = Machine::origin(&code, pc, origin, &$callee);
                code = $callee;
                this = $this;
                check!(self.room(&code));
                pc = 0;
            }};
        }
        macro_rules! finish {
            ($value:expr) => {{
                let value = $value;
                self.stack.truncate(base);
                if self.frames.len() == floor {
                    return Ok(value);
                }
                let Some(frame) = self.frames.pop() else { return Ok(value) };
                code = frame.code;
                this = frame.this;
                pc = frame.pc as usize;
                base = frame.base as usize;
                origin = frame.origin;
                match frame.resume {
                    Resume::Register(to) => match value {
                        Value::Real(x) => real!(to, x),
                        Value::Int(n) => int!(to, n),
                        value => set!(to, value),
                    },
                    Resume::Constant { global, to } => {
                        self.constants.pop();
                        let entry = &mut self.globals[global as usize];
                        entry.open = false;
                        entry.values[usize::from(self.reals.encloses())] = Some(value.clone());
                        set!(to, value);
                    }
                }
            }};
        }

        loop {
            let instr = code.instrs[pc];
            pc += 1;
            self.operations += 1;
            if self.operations >= self.next_check {
                check!(self.check_limits());
            }
            match instr {
                Instr::Move { to, from } => match get!(from) {
                    Value::Real(x) => real!(to, *x),
                    Value::Int(n) => int!(to, *n),
                    _ => set!(to, take!(from)),
                },
                Instr::Drop { register } => set!(register, Value::Unit),

                Instr::AddReal { to, a, b } => real2!(RealOp::Add, to, a, b, quick, |a, b| a + b),
                Instr::SubReal { to, a, b } => real2!(RealOp::Sub, to, a, b, quick, |a, b| a - b),
                Instr::MulReal { to, a, b } => real2!(RealOp::Mul, to, a, b, quick, |a, b| a * b),
                Instr::DivReal { to, a, b } => {
                    real2!(RealOp::Div, to, a, b, smooth, |a: f64, b: f64| a / b);
                }
                Instr::Real2 { op, to, a, b } => {
                    real2!(op, to, a, b, smooth, |a, b| real::eval(op, a, b));
                }
                Instr::Real1 { op, to, a } => match get!(a) {
                    Value::Real(x) if smooth => real!(to, real::eval(op, *x, 0.0)),
                    x => {
                        let site = Machine::place(&code, pc, origin);
                        let value = check!(self.reals.apply(op, x, &Value::Unit, site));
                        warnings!();
                        release!(a);
                        set!(to, value);
                    }
                },
                Instr::AddInt { to, a, b } => int2!(IntOp::Add, to, a, b, i64::checked_add),
                Instr::SubInt { to, a, b } => int2!(IntOp::Sub, to, a, b, i64::checked_sub),
                Instr::Int2 { op, to, a, b } => int2!(op, to, a, b, |_, _| None),
                Instr::Int1 { op, to, a } => {
                    let a = check!(to_int(get!(a)));
                    int!(to, check!(int::apply(op, a, 0)));
                }
                Instr::CompareReal { comparison, to, a, b } => {
                    let value = compare_real!(comparison, a, b);
                    bool!(to, value);
                }
                Instr::CompareInt { comparison, to, a, b } => {
                    let value = compare_int!(comparison, a, b);
                    bool!(to, value);
                }
                Instr::Not { to, a } => {
                    let a = check!(to_bool(get!(a)));
                    bool!(to, !a);
                }
                Instr::ToReal { to, a } => {
                    let n = check!(to_int(get!(a)));
                    match encloses {
                        true => set!(to, self.reals.of_int(n)),
                        false => real!(to, n as f64),
                    }
                }
                Instr::Prim { prim, to, args } => {
                    let mut args: ops::Values<Value> = args!(args);
                    if let Prim::Lift(lift) = &code.prims[prim as usize] {
                        let site = Machine::place(&code, pc, origin);
                        let noted = watch::note(&mut self.reals, lift.what, &mut args, site);
                        if let Some(value) = check!(noted) {
                            warnings!();
                            set!(to, value);
                            continue;
                        }
                        let function = args.pop().unwrap_or(Value::Unit);
                        let value = outside!(to, self.lift(lift, &function, site));
                        set!(to, value);
                        continue;
                    }
                    let mut context = PrimContext {
                        reals: &mut self.reals,
                        operations: &mut self.operations,
                        smooth,
                        program: &self.program,
                        events: &mut *self.options.events,
                        site: Machine::place(&code, pc, origin),
                    };
                    let value = ops::apply(&mut context, &code.prims[prim as usize], args);
                    let value = check!(value);
                    warnings!();
                    set!(to, value);
                }

                Instr::Length { to, array } => {
                    let length = check!(to_array(get!(array))).len();
                    release!(array);
                    int!(to, length as i64);
                }
                Instr::Index { to, array, index } => {
                    let i = check!(to_int(get!(index)));
                    let elements = check!(to_array(get!(array)));
                    let i = check!(within(i, elements.len()));
                    match elements.reals() {
                        Some(xs) => {
                            let x = xs[i];
                            release!(array);
                            real!(to, x);
                        }
                        None => {
                            let value = elements.get(i);
                            release!(array);
                            set!(to, value);
                        }
                    }
                }
                Instr::Update { to, array, index, value } => {
                    let elements = take!(array);
                    let i = check!(to_int(get!(index)));
                    let element = take!(value);
                    let elements =
                        check!(ops::update(elements, &[i], element, &mut self.operations));
                    set!(to, elements);
                }
                Instr::Sizes { call, args, targets } => {
                    let operands = &code.operands[args.range()];
                    let values: ops::Values<&Value> =
                        operands.iter().map(|operand| get!(*operand)).collect();
                    let call = &code.sizes[call as usize];
                    let sizes = check!(ops::sizes(call, &values, &mut self.operations));
                    drop(values);
                    operands.iter().for_each(|operand| release!(operand));
                    for target in &code.targets[targets.range()] {
                        int!(target.register, sizes[target.index as usize]);
                    }
                }

                Instr::Tuple { to, args } => {
                    set!(to, Value::Tuple(Rc::new(Fields(args!(args)))));
                }
                Instr::Construct { to, tag, args } => {
                    set!(to, Value::Data(Rc::new(Data { tag, fields: args!(args) })));
                }
                Instr::Array { to, args } => {
                    let mut builder = ArrayBuilder::new(args.len as usize);
                    for operand in &code.operands[args.range()] {
                        check!(builder.push(take!(*operand)));
                    }
                    self.operations += u64::from(args.len);
                    set!(to, Value::array(builder.finish()));
                }
                Instr::Project { to, from, index, steal } => {
                    let value = match from.source() {
                        OperandSource::Take(_) => take_field(&mut take!(from), index as usize),
                        OperandSource::Copy(r) if steal => {
                            take_field(&mut self.stack[base + r as usize], index as usize)
                        }
                        OperandSource::Copy(_)
                        | OperandSource::Constant(_)
                        | OperandSource::Captured(_)
                        | OperandSource::Itself => get!(from).fields()[index as usize].clone(),
                    };
                    set!(to, value);
                }
                Instr::Unpack { from, targets } => match from.taken() {
                    Some(_) => {
                        let mut value = take!(from);
                        for target in &code.targets[targets.range()] {
                            let field = take_field(&mut value, target.index as usize);
                            set!(target.register, field);
                        }
                    }
                    None => {
                        for target in &code.targets[targets.range()] {
                            let field = get!(from).fields()[target.index as usize].clone();
                            set!(target.register, field);
                        }
                    }
                },
                Instr::Closure { to, code: number, captured } => {
                    let captured = args!(captured);
                    let closure = FunctionValue::Closure { code: number, captured };
                    set!(to, Value::Function(Rc::new(closure)));
                }
                Instr::Open { targets } => {
                    for target in &code.targets[targets.range()] {
                        let value = take_captured(&mut this, target.index as usize);
                        set!(target.register, value);
                    }
                }
                Instr::Global { to, global } => {
                    if let Some(value) = self.global_value(global) {
                        set!(to, value.clone());
                    } else {
                        let number = self.code_of(global);
                        if self.is_function(global) {
                            set!(to, self.function_value(global, number));
                        } else if self.globals[global as usize].open {
                            let kind = self.cycle(global);
                            return Err(self.failure(kind, &code, pc, origin));
                        } else {
                            self.globals[global as usize].open = true;
                            self.constants.push(global);
                            let callee = self.compiler.codes[number as usize].clone();
                            call!(callee, Value::Unit, Resume::Constant { global, to });
                        }
                    }
                }
                Instr::Diff { diff, to, args } => {
                    let mut args: Vec<Value> = args!(args);
                    let op = code.diffs[diff as usize];
                    if self.reals.proves() && !self.by_the_library(&code, op, &args) {
                        check!(self.reals.check_hidden(op, &args));
                    }
                    let plain = match op {
                        DiffOp::Checkpoint
                        | DiffOp::WithDerivative
                        | DiffOp::WithExactDerivative
                        | DiffOp::Deciding => self.reals.depth() == 0,
                        DiffOp::Decisions
                        | DiffOp::Enclose
                        | DiffOp::Dependence
                        | DiffOp::AllPaths
                        | DiffOp::Rd
                        | DiffOp::RdAlong
                        | DiffOp::Vjp
                        | DiffOp::Jvp
                        | DiffOp::Jet { .. }
                        | DiffOp::StopGradient => false,
                    };
                    match closure(&args[0]) {
                        // Where nothing is differentiated it is a call of the function, the first
                        // argument, on the last.
                        Some((number, _)) if plain => {
                            let new = self.compiler.codes[number as usize].clone();
                            let point = args.pop().unwrap_or(Value::Unit);
                            self.push_arg(&new.shape, point);
                            call!(new, args.swap_remove(0), Resume::Register(to));
                        }
                        Some(_) | None => {
                            let site = Machine::place(&code, pc, origin);
                            let value = outside!(to, derivative(self, &op, args, site));
                            set!(to, value);
                        }
                    }
                }

                Instr::Jump { target } => pc = target as usize,
                Instr::JumpUnless { condition, target } => {
                    if !check!(to_bool(get!(condition))) {
                        pc = target as usize;
                    }
                }
                Instr::JumpIf { condition, target } => {
                    if check!(to_bool(get!(condition))) {
                        pc = target as usize;
                    }
                }
                Instr::JumpUnlessReal { comparison, a, b, target } => {
                    if !compare_real!(comparison, a, b) {
                        pc = target as usize;
                    }
                }
                Instr::JumpUnlessInt { comparison, a, b, target } => {
                    if !compare_int!(comparison, a, b) {
                        pc = target as usize;
                    }
                }
                Instr::Switch { on, table } => {
                    let tag = match get!(on) {
                        Value::Data(data) => data.tag,
                        _ => check!(Err(mistyped("a variant"))),
                    };
                    let target = code.jumps[table.range()][tag as usize];
                    if target == u32::MAX {
                        check!(Err(mistyped("a constructor with an arm")));
                    }
                    release!(on);
                    pc = target as usize;
                }
                Instr::CountStart { index, limit, count, exit } => {
                    let count = check!(to_int(get!(count)));
                    if count < 1 {
                        pc = exit as usize;
                    } else {
                        int!(index, 0);
                        int!(limit, count);
                    }
                }
                Instr::CountNext { index, limit, body } => {
                    let limit = check!(to_int(&self.stack[base + limit as usize]));
                    match &mut self.stack[base + index as usize] {
                        Value::Int(i) => {
                            *i += 1;
                            if *i < limit {
                                pc = body as usize;
                            }
                        }
                        _ => check!(Err(mistyped("an Int"))),
                    }
                }
                Instr::BuildStart { index, limit, count, exit } => {
                    let count = check!(to_int(get!(count)));
                    if count < 0 {
                        check!(Err(ErrorKind::NegativeCount { count }));
                    }
                    if count > MOST_ELEMENTS {
                        check!(Err(ErrorKind::TooLarge { count }));
                    }
                    self.builders.push(ArrayBuilder::new(count as usize));
                    if count < 1 {
                        pc = exit as usize;
                    } else {
                        int!(index, 0);
                        int!(limit, count);
                    }
                }
                Instr::BuildPush { value } => {
                    let value = take!(value);
                    if let Some(builder) = self.builders.last_mut() {
                        check!(builder.push(value));
                    }
                }
                Instr::BuildEnd { to } => {
                    if let Some(builder) = self.builders.pop() {
                        set!(to, Value::array(builder.finish()));
                    }
                }

                Instr::CallGlobal { to, global, args } => {
                    let number = self.code_of(global);
                    let callee = self.compiler.codes[number as usize].clone();
                    self.push_args(base, &code, &this, args);
                    call!(callee, Value::Unit, Resume::Register(to));
                }
                Instr::CallItself { to, args } => {
                    self.push_args(base, &code, &this, args);
                    call!(code.clone(), this.clone(), Resume::Register(to));
                }
                Instr::Call { to, function, args, spread } => {
                    let callee = take!(function);
                    let Value::Function(f) = &callee else {
                        return Err(self.failure(mistyped("a function"), &code, pc, origin));
                    };
                    match &**f {
                        FunctionValue::Closure { code: number, .. } => {
                            let new = self.compiler.codes[*number as usize].clone();
                            self.push_args_for(&new, base, &code, &this, args, spread);
                            call!(new, callee, Resume::Register(to));
                        }
                        FunctionValue::Pullback(pullback) => {
                            let site = Machine::place(&code, pc, origin);
                            let arg = self.one_arg(base, &code, &this, args, spread);
                            let value = outside!(to, pull_back(self, pullback, arg, site));
                            set!(to, value);
                        }
                    }
                }
                Instr::TailGlobal { global, args } => {
                    let number = self.code_of(global);
                    let callee = self.compiler.codes[number as usize].clone();
                    let top = self.stack.len();
                    self.push_args(base, &code, &this, args);
                    tail!(callee, Value::Unit, top);
                }
                Instr::Tail { function, args, spread } => {
                    let callee = take!(function);
                    let Value::Function(f) = &callee else {
                        return Err(self.failure(mistyped("a function"), &code, pc, origin));
                    };
                    match &**f {
                        FunctionValue::Closure { code: number, .. } => {
                            let new = self.compiler.codes[*number as usize].clone();
                            let top = self.stack.len();
                            self.push_args_for(&new, base, &code, &this, args, spread);
                            tail!(new, callee, top);
                        }
                        FunctionValue::Pullback(pullback) => {
                            let site = Machine::place(&code, pc, origin);
                            let arg = self.one_arg(base, &code, &this, args, spread);
                            let value = outside!(0, pull_back(self, pullback, arg, site));
                            finish!(value);
                        }
                    }
                }
                Instr::Return { value } => finish!(take!(value)),
            }
        }
    }
}
