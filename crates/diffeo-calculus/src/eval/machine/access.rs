//! Registers and operands: reading, moving and writing values, and passing arguments.

use super::Machine;
use crate::array::Array;
use crate::eval::code::{Code, List, OperandSource, PackedOperand, ParamShape};
use crate::eval::error::ErrorKind;
use crate::prim::Comparison;
use crate::value::{FunctionValue, Value};
use std::rc::Rc;

/// The value of an operand.
#[inline(always)]
pub(super) fn fetch<'v>(
    stack: &'v [Value],
    base: usize,
    code: &'v Code,
    this: &'v Value,
    operand: PackedOperand,
) -> &'v Value {
    match operand.source() {
        OperandSource::Copy(r) | OperandSource::Take(r) => &stack[base + r as usize],
        OperandSource::Constant(k) => &code.constants[k as usize],
        OperandSource::Captured(i) => &captured(this)[i as usize],
        OperandSource::Itself => this,
    }
}

/// The value of an operand, moved out of its register if this is the last use.
#[inline(always)]
pub(super) fn take(
    stack: &mut [Value],
    base: usize,
    code: &Code,
    this: &Value,
    operand: PackedOperand,
) -> Value {
    match operand.source() {
        OperandSource::Copy(r) => stack[base + r as usize].clone(),
        OperandSource::Take(r) => std::mem::replace(&mut stack[base + r as usize], Value::Unit),
        OperandSource::Constant(k) => code.constants[k as usize].clone(),
        OperandSource::Captured(i) => captured(this)[i as usize].clone(),
        OperandSource::Itself => this.clone(),
    }
}

pub(super) fn closure(value: &Value) -> Option<(u32, &[Value])> {
    match value {
        Value::Function(f) => match &**f {
            FunctionValue::Closure { code, captured } => Some((*code, captured)),
            FunctionValue::Pullback(_) => None,
        },
        Value::Unit
        | Value::Real(_)
        | Value::Int(_)
        | Value::Bool(_)
        | Value::String(_)
        | Value::Tuple(_)
        | Value::Data(_)
        | Value::Array(_)
        | Value::Dual { .. }
        | Value::Active(_)
        | Value::Zero => None,
    }
}

pub(super) fn captured(this: &Value) -> &[Value] {
    closure(this).map_or(&[], |(_, captured)| captured)
}

/// What a function captured, moved out of it if nothing else refers to it.
pub(super) fn take_captured(this: &mut Value, index: usize) -> Value {
    let Value::Function(f) = this else { return Value::Unit };
    if let Some(FunctionValue::Closure { captured, .. }) = Rc::get_mut(f) {
        return std::mem::replace(&mut captured[index], Value::Unit);
    }
    captured(this)[index].clone()
}

#[inline(always)]
pub(super) fn holds<T: PartialOrd>(comparison: Comparison, a: T, b: T) -> bool {
    match comparison {
        Comparison::Eq => a == b,
        Comparison::Ne => a != b,
        Comparison::Lt => a < b,
        Comparison::Le => a <= b,
        Comparison::Gt => a > b,
        Comparison::Ge => a >= b,
    }
}

/// More elements than this fit no machine that runs the evaluator: 2^34 Reals are 128 GiB.
pub const MOST_ELEMENTS: i64 = 1 << 34;

#[cold]
pub(super) fn mistyped(what: &str) -> ErrorKind {
    ErrorKind::Internal { message: format!("{what} was expected") }
}

#[inline(always)]
pub(super) fn to_int(value: &Value) -> Result<i64, ErrorKind> {
    match value {
        Value::Int(n) => Ok(*n),
        _ => Err(mistyped("an Int")),
    }
}

#[inline(always)]
pub(super) fn to_bool(value: &Value) -> Result<bool, ErrorKind> {
    match value {
        Value::Bool(b) => Ok(*b),
        _ => Err(mistyped("a Bool")),
    }
}

pub(super) fn to_array(value: &Value) -> Result<&Rc<Array>, ErrorKind> {
    match value {
        Value::Array(array) => Ok(array),
        _ => Err(mistyped("an array")),
    }
}

// Note [Numbers are written in place]
//
// A Value made somewhere else and then moved into its register is stored in two pieces, tag and number, and
// loaded as one: the load waits until both stores are done. So where a register holds a number of the same
// kind already, as it nearly always does in a loop, only the number is written.

#[inline(always)]
pub(super) fn set_real(register: &mut Value, x: f64) {
    match register {
        Value::Real(old) => *old = x,
        other => *other = Value::Real(x),
    }
}

#[inline(always)]
pub(super) fn set_int(register: &mut Value, n: i64) {
    match register {
        Value::Int(old) => *old = n,
        other => *other = Value::Int(n),
    }
}

#[inline(always)]
pub(super) fn set_bool(register: &mut Value, b: bool) {
    match register {
        Value::Bool(old) => *old = b,
        other => *other = Value::Bool(b),
    }
}

/// An index that lies in the array.
#[inline(always)]
pub(super) fn within(index: i64, length: usize) -> Result<usize, ErrorKind> {
    match usize::try_from(index) {
        Ok(i) if i < length => Ok(i),
        Ok(_) | Err(_) => Err(ErrorKind::IndexOutOfBounds { index, length }),
    }
}

impl Machine {
    /// Pushes the arguments of a call.
    #[inline(always)]
    pub(super) fn push_args(&mut self, base: usize, code: &Code, this: &Value, args: List) {
        for operand in &code.operands[args.range()] {
            // See Note [Numbers are written in place].
            match fetch(&self.stack, base, code, this, *operand) {
                Value::Real(x) => {
                    let x = *x;
                    self.stack.push(Value::Real(x));
                }
                Value::Int(n) => {
                    let n = *n;
                    self.stack.push(Value::Int(n));
                }
                _ => {
                    let value = take(&mut self.stack, base, code, this, *operand);
                    self.stack.push(value);
                }
            }
        }
    }

    /// Pushes the arguments of a call in the shape that the function wants.
    #[inline(always)]
    pub(super) fn push_args_for(
        &mut self,
        callee: &Code,
        base: usize,
        code: &Code,
        this: &Value,
        args: List,
        spread: bool,
    ) {
        let top = self.stack.len();
        self.push_args(base, code, this, args);
        let wanted = match spread {
            true => callee.flat == Some(args.len as usize),
            false => matches!(callee.shape, ParamShape::One),
        };
        if !wanted {
            self.adapt(top, spread, &callee.shape);
        }
    }

    /// The argument of a call in one piece.
    pub(super) fn one_arg(
        &mut self,
        base: usize,
        code: &Code,
        this: &Value,
        args: List,
        spread: bool,
    ) -> Value {
        let operands = code.operands[args.range()].iter();
        let mut values = operands.map(|operand| take(&mut self.stack, base, code, this, *operand));
        match spread {
            true => Value::tuple(values),
            false => values.next().unwrap_or(Value::Unit),
        }
    }

    /// Moves the arguments that were pushed since `top` to `base`, in place of the registers there.
    #[inline(always)]
    pub(super) fn settle(&mut self, base: usize, top: usize) {
        let args = self.stack.len() - top;
        if base + args <= top {
            for i in 0..args {
                self.stack.swap(base + i, top + i);
            }
            self.stack.truncate(base + args);
        } else {
            self.stack.drain(base..top);
        }
    }
}
