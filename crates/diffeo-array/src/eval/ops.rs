//! Operations without blocks: their values and errors.

use super::Values;
use crate::ir::ops::{row, Group};
use crate::ir::{Check, FunctionId, Op, Scalar, Site, Stop};
use crate::places::{Told, ToldOnce};
use crate::report::{counts, ErrorOperand, Why};
use crate::value::{elements, locate, Acc, Collector, Data, FlatArray, FlatValue, Sizes, Stack};
use diffeo_calculus::eval::error::ErrorKind;
use diffeo_calculus::eval::{Event, Exceeded, Progress};
use diffeo_calculus::prim::text::{self, TextResult};
use diffeo_calculus::prim::{int, real, Comparison, IntOp, TextOp};
use diffeo_calculus::show;
use smallvec::smallvec;
use std::cell::RefCell;
use std::rc::Rc;

/// Why the program stops at the innermost statement.
#[derive(Debug)]
pub(super) struct Stopped {
    pub why: Why,
    pub operands: Vec<ErrorOperand>,
    /// Whether the statement is that around the innermost block.
    pub outer: bool,
    /// The function for which there is no stack left.
    pub function: Option<FunctionId>,
}

impl Stopped {
    pub fn new(why: Why, operands: impl IntoIterator<Item = ErrorOperand>) -> Stopped {
        Stopped { why, operands: operands.into_iter().collect(), outer: false, function: None }
    }

    fn ints(why: Why, operands: impl IntoIterator<Item = i64>) -> Stopped {
        Stopped::new(why, operands.into_iter().map(ErrorOperand::Int))
    }

    fn text(why: Why, text: &str) -> Stopped {
        Stopped::new(why, [ErrorOperand::Text(text.to_string())])
    }
}

/// What only a wrong module does.
#[cold]
pub(super) fn internal(message: impl AsRef<str>) -> Stopped {
    Stopped::text(Why::Internal, message.as_ref())
}

fn unchecked() -> Stopped {
    internal("an access out of bounds was not checked")
}

fn mistyped(op: &Op) -> Stopped {
    internal(format!("an operation on values of other types: {op:?}"))
}

/// The failure of work on arrays.
pub(super) fn rows(kind: ErrorKind) -> Stopped {
    match kind {
        ErrorKind::IrregularRows { expected, found } => {
            Stopped::ints(Why::Rows, [expected as i64, found as i64])
        }
        other => internal(other.message()),
    }
}

/// The same, of rows that were checked.
fn checked(kind: ErrorKind) -> Stopped {
    internal(kind.message())
}

/// What operations need.
pub(super) struct OpContext<'o> {
    pub operations: &'o mut u64,
    pub events: &'o mut dyn FnMut(Event<'_>),
    pub told: &'o mut ToldOnce,
    pub sites: &'o [Site],
}

impl OpContext<'_> {
    fn count(&mut self, elements: usize) {
        *self.operations += elements as u64;
    }
}

type OpResults = Result<Values, Stopped>;

fn one(value: FlatValue) -> OpResults {
    Ok(smallvec![value])
}

fn nothing() -> OpResults {
    Ok(Values::new())
}

/// The Ints among operands; `None` if there is something else.
fn ints(args: &[FlatValue]) -> Option<Sizes> {
    let int = |value: &FlatValue| match value {
        FlatValue::Int(n) => Some(*n),
        _ => None,
    };
    args.iter().map(int).collect()
}

/// The value of an operation that has no blocks and calls nothing.
pub(super) fn apply(cx: &mut OpContext<'_>, op: &Op, args: Values) -> OpResults {
    match op {
        Op::TextOp(of, _) => text_operation(cx, op, *of, &args),
        Op::Check(check) => {
            let operands = ints(&args).ok_or_else(|| mistyped(op))?;
            self::check(check, &operands)
        }
        Op::Stop(stop) => match (stop, args.as_slice()) {
            (Stop::Fail(_), [FlatValue::Text(message)]) => Err(Stopped::text(Why::Fail, message)),
            (Stop::Shape { what, .. }, [FlatValue::Text(difference)]) => {
                Err(Stopped::text(Why::Shape(what.clone()), difference))
            }
            (Stop::Nan, []) => Err(Stopped::new(Why::Nan, [])),
            (Stop::Order, []) => Err(Stopped::new(Why::Order, [])),
            (Stop::Room, []) => Err(Stopped::new(Why::Exceeded(Exceeded::Memory(usize::MAX)), [])),
            (Stop::Fail(_) | Stop::Shape { .. } | Stop::Nan | Stop::Order | Stop::Room, _) => {
                Err(mistyped(op))
            }
        },
        Op::Trace(..) => match args.as_slice() {
            [FlatValue::Text(label), FlatValue::Text(value)] => {
                (cx.events)(Event::Line(&format!("{label}: {value}")));
                nothing()
            }
            _ => Err(mistyped(op)),
        },
        Op::Progress(..) => match args.as_slice() {
            [FlatValue::Text(label), FlatValue::Int(step), FlatValue::Real(value)] => {
                (cx.events)(Event::Progress(Progress { label, step: *step, value: *value }));
                nothing()
            }
            _ => Err(mistyped(op)),
        },
        Op::Warn(..) => match args.as_slice() {
            [FlatValue::Text(code), FlatValue::Text(message), FlatValue::Text(help), FlatValue::Int(place)] =>
            {
                let texts = [code, message, help].map(|text| text.to_string());
                let told = Told { texts, place: *place };
                if cx.told.is_new(&told) {
                    (cx.events)(Event::Warning(told.warning(cx.sites)));
                }
                nothing()
            }
            _ => Err(mistyped(op)),
        },
        Op::New(_, tag, _) => one(FlatValue::object(*tag, args)),
        Op::Tag(_) => match args.as_slice() {
            [FlatValue::Box(object)] => one(FlatValue::Int(i64::from(object.tag))),
            _ => Err(mistyped(op)),
        },
        Op::Field { tag, index, .. } => match args.as_slice() {
            [FlatValue::Box(object)] if object.tag == *tag => {
                let field = object.fields.get(*index as usize);
                one(field.ok_or_else(|| mistyped(op))?.clone())
            }
            _ => Err(internal("a field of another alternative")),
        },
        op => match row(op).group {
            Group::Scalar => scalar(cx, op, &args),
            Group::Text => text(cx, op, &args),
            Group::Array => array(cx, op, args),
            Group::Accumulator => accumulator(cx, op, &args),
            Group::Stack => stack(cx, op, args),
            Group::Effect | Group::Box | Group::Control | Group::Call => Err(mistyped(op)),
        },
    }
}

fn holds<T: PartialOrd + ?Sized>(comparison: Comparison, a: &T, b: &T) -> bool {
    match comparison {
        Comparison::Eq => a == b,
        Comparison::Ne => a != b,
        Comparison::Lt => a < b,
        Comparison::Le => a <= b,
        Comparison::Gt => a > b,
        Comparison::Ge => a >= b,
    }
}

/// An operation on Ints of which it was proved that it has a value, if anything looks at it.
fn fitting(op: IntOp, a: i64, b: i64) -> Result<i64, Stopped> {
    match (int::apply(op, a, b), op) {
        (Ok(n), _) => Ok(n),
        (Err(_), IntOp::Add) => Ok(a.wrapping_add(b)),
        (Err(_), IntOp::Sub) => Ok(a.wrapping_sub(b)),
        (Err(_), IntOp::Mul) => Ok(a.wrapping_mul(b)),
        (Err(_), IntOp::Neg) => Ok(a.wrapping_neg()),
        (Err(kind), _) => Err(internal(kind.message())),
    }
}

fn scalar(cx: &mut OpContext<'_>, op: &Op, args: &[FlatValue]) -> OpResults {
    let value = match (op, args) {
        (Op::Real(op, _), [FlatValue::Real(a)]) => FlatValue::Real(real::eval(*op, *a, 0.0)),
        (Op::Real(op, _), [FlatValue::Real(a), FlatValue::Real(b)]) => {
            FlatValue::Real(real::eval(*op, *a, *b))
        }
        (Op::PowInt(..), [FlatValue::Real(x), FlatValue::Int(n)]) => {
            FlatValue::Real(real::power(*x, *n))
        }
        (Op::Int(op, _), [FlatValue::Int(a)]) => {
            FlatValue::Int(int::apply(*op, *a, 0).map_err(|_| Stopped::ints(Why::Int(*op), [*a]))?)
        }
        (Op::Int(op, _), [FlatValue::Int(a), FlatValue::Int(b)]) => FlatValue::Int(
            int::apply(*op, *a, *b).map_err(|_| Stopped::ints(Why::Int(*op), [*a, *b]))?,
        ),
        (Op::IntFits(op, _), [FlatValue::Int(a)]) => FlatValue::Int(fitting(*op, *a, 0)?),
        (Op::IntFits(op, _), [FlatValue::Int(a), FlatValue::Int(b)]) => {
            FlatValue::Int(fitting(*op, *a, *b)?)
        }
        (Op::Compare(comparison, scalar, ..), [a, b]) => FlatValue::Bool(match (scalar, a, b) {
            (Scalar::Real, FlatValue::Real(a), FlatValue::Real(b)) => holds(*comparison, a, b),
            (Scalar::Int, FlatValue::Int(a), FlatValue::Int(b)) => holds(*comparison, a, b),
            (Scalar::Bool, FlatValue::Bool(a), FlatValue::Bool(b)) => holds(*comparison, a, b),
            (Scalar::Text, FlatValue::Text(a), FlatValue::Text(b)) => {
                cx.count(a.len().min(b.len()));
                holds::<str>(*comparison, a, b)
            }
            (Scalar::Real | Scalar::Int | Scalar::Bool | Scalar::Text, _, _) => {
                return Err(mistyped(op));
            }
        }),
        (Op::Not(_), [FlatValue::Bool(a)]) => FlatValue::Bool(!a),
        (Op::And(..), [FlatValue::Bool(a), FlatValue::Bool(b)]) => FlatValue::Bool(*a && *b),
        (Op::Or(..), [FlatValue::Bool(a), FlatValue::Bool(b)]) => FlatValue::Bool(*a || *b),
        (Op::Select(..), [FlatValue::Bool(c), a, b]) => if *c { a } else { b }.clone(),
        (Op::ToReal(_), [FlatValue::Int(n)]) => FlatValue::Real(*n as f64),
        (Op::Round(rounding, _), [FlatValue::Real(x)]) => FlatValue::Int(
            int::round(*rounding, *x)
                .map_err(|_| Stopped::new(Why::Round(*rounding), [ErrorOperand::Real(*x)]))?,
        ),
        (Op::RoundFits(rounding, _), [FlatValue::Real(x)]) => {
            FlatValue::Int(int::round(*rounding, *x).unwrap_or_default())
        }
        (Op::IsNan(_), [FlatValue::Real(x)]) => FlatValue::Bool(x.is_nan()),
        (op, _) => return Err(mistyped(op)),
    };
    one(value)
}

fn text(cx: &mut OpContext<'_>, op: &Op, args: &[FlatValue]) -> OpResults {
    let text = match (op, args) {
        (Op::Text(text), []) => text.to_string(),
        (Op::AppendText(..), [FlatValue::Text(a), FlatValue::Text(b)]) => {
            cx.count(a.len() + b.len());
            format!("{a}{b}")
        }
        (Op::Show(..), [FlatValue::Real(x)]) => show::real(*x),
        (Op::Show(..), [FlatValue::Int(n)]) => n.to_string(),
        (Op::Show(..), [FlatValue::Bool(b)]) => b.to_string(),
        (Op::Show(..), [FlatValue::Text(text)]) => show::string(text),
        (op, _) => return Err(mistyped(op)),
    };
    one(FlatValue::text(&text))
}

fn text_operation(cx: &mut OpContext<'_>, op: &Op, of: TextOp, args: &[FlatValue]) -> OpResults {
    let operands = args.iter().map(|value| match value {
        FlatValue::Int(n) => Ok(text::TextOperand::Int(*n)),
        FlatValue::Real(x) => Ok(text::TextOperand::Real(*x)),
        FlatValue::Text(text) => Ok(text::TextOperand::Text(text)),
        _ => Err(mistyped(op)),
    });
    let operands = operands.collect::<Result<Vec<_>, _>>()?;
    one(match text::apply(of, &operands).ok_or_else(|| mistyped(op))? {
        TextResult::Int(n) => FlatValue::Int(n),
        TextResult::Real(x) => FlatValue::Real(x),
        TextResult::Text(text) => {
            cx.count(text.len());
            FlatValue::text(&text)
        }
    })
}

fn check(check: &Check, operands: &[i64]) -> OpResults {
    let (holds, why) = match (check, operands) {
        (Check::Index { .. }, [index, length]) => ((0..*length).contains(index), Why::Index),
        (Check::Slice { .. }, [lo, hi, length]) => {
            (0 <= *lo && lo <= hi && hi <= length, Why::Slice)
        }
        (Check::Count(_), [count]) => (counts(*count), Why::Count),
        (Check::Size { what, .. }, [expected, found]) => {
            (expected == found, Why::Size(what.clone()))
        }
        (Check::Rows { .. }, [expected, found]) => {
            (expected == found || *expected < 0 || *found < 0, Why::Rows)
        }
        (
            Check::Index { .. }
            | Check::Slice { .. }
            | Check::Count(_)
            | Check::Size { .. }
            | Check::Rows { .. },
            _,
        ) => return Err(internal("a check of other operands")),
    };
    if holds {
        nothing()
    } else {
        Err(Stopped::ints(why, operands.iter().copied()))
    }
}

fn array(cx: &mut OpContext<'_>, op: &Op, mut args: Values) -> OpResults {
    // Nothing is done with the rest of an array that is to be changed in place.
    let first = args.first_mut().map(|first| std::mem::replace(first, FlatValue::Null));
    let rest = args.get(1..).unwrap_or_default();
    let value = match (op, first) {
        (Op::Dim(_, dim), Some(FlatValue::Array(array))) => {
            let size = array.sizes().get(usize::from(*dim));
            FlatValue::Int(*size.ok_or_else(|| mistyped(op))?)
        }
        (Op::Get(..), Some(FlatValue::Array(array))) => {
            let indices = ints(rest).ok_or_else(|| mistyped(op))?;
            array.get(&indices).ok_or_else(unchecked)?
        }
        (Op::Slice { .. }, Some(FlatValue::Array(array))) => match rest {
            [FlatValue::Int(lo), FlatValue::Int(hi)] => {
                FlatValue::array(array.slice(*lo, *hi).ok_or_else(unchecked)?)
            }
            _ => return Err(mistyped(op)),
        },
        (Op::Update { .. }, Some(FlatValue::Array(mut array))) => {
            let value = args.pop().unwrap_or(FlatValue::Null);
            let indices = ints(&args[1..]).ok_or_else(|| mistyped(op))?;
            cx.count(array.set(&indices, value).map_err(checked)?);
            FlatValue::Array(array)
        }
        (Op::Elements(elem, _), first) => {
            let mut collector = Collector::new(*elem, 0);
            cx.count(args.len());
            for value in first.into_iter().chain(args.drain(..).skip(1)) {
                collector.push(value).map_err(checked)?;
            }
            FlatValue::array(collector.finish())
        }
        (Op::Rows(_), Some(FlatValue::Array(row))) => {
            let mut collector = Collector::of_rows(&row);
            cx.count(row.count() * args.len());
            let first = FlatValue::Array(row);
            for value in std::iter::once(first).chain(args.drain(..).skip(1)) {
                collector.push(value).map_err(checked)?;
            }
            FlatValue::array(collector.finish())
        }
        (Op::Empty(elem, rank), _) => FlatValue::array(FlatArray::empty(*elem, *rank)),
        (Op::Append(..), Some(FlatValue::Array(mut array))) => match rest {
            [FlatValue::Array(other)] => {
                cx.count(array.append(other).map_err(checked)?);
                FlatValue::Array(array)
            }
            _ => return Err(mistyped(op)),
        },
        (Op::Reshape(..), Some(FlatValue::Array(array))) => {
            let sizes = ints(rest).ok_or_else(|| mistyped(op))?;
            let array = array.reshape(sizes);
            FlatValue::array(
                array.ok_or_else(|| internal("a reshape to another number of elements"))?,
            )
        }
        (Op::ArgSort(_), Some(FlatValue::Array(array))) => {
            cx.count(array.count());
            FlatValue::ints(sorted(&array))
        }
        (op, _) => return Err(mistyped(op)),
    };
    one(value)
}

/// The stable sorting permutation; nan last.
fn sorted(array: &FlatArray) -> Vec<i64> {
    let mut order: Vec<usize> = (0..array.count()).collect();
    let range = array.range();
    match array.data() {
        Data::Reals(xs) => {
            let xs = &xs[range];
            order.sort_by(|&i, &j| {
                let (x, y) = (xs[i], xs[j]);
                x.partial_cmp(&y).unwrap_or_else(|| x.is_nan().cmp(&y.is_nan()))
            });
        }
        Data::Ints(xs) => order.sort_by_key(|&i| xs[range.start + i]),
        Data::Bools(xs) => order.sort_by_key(|&i| xs[range.start + i]),
        Data::Values(xs) => {
            let text = |i: usize| match &xs[range.start + i] {
                FlatValue::Text(text) => &***text,
                _ => "",
            };
            order.sort_by(|&i, &j| text(i).cmp(text(j)));
        }
    }
    order.into_iter().map(|i| i as i64).collect()
}

fn accumulator(cx: &mut OpContext<'_>, op: &Op, args: &[FlatValue]) -> OpResults {
    if let Op::AccNew(_) = op {
        let sizes = ints(args).ok_or_else(|| mistyped(op))?;
        let count = elements(&sizes);
        if !i64::try_from(count).is_ok_and(counts) {
            return Err(Stopped::ints(Why::Count, [i64::MAX]));
        }
        cx.count(count);
        let numbers = Rc::new(RefCell::new(vec![0.0; count]));
        return one(FlatValue::Acc(Box::new(Acc { sizes, offset: 0, numbers })));
    }
    let [FlatValue::Acc(acc), rest @ ..] = args else { return Err(mistyped(op)) };
    // The number at these indices.
    let at = |indices: &[FlatValue]| {
        let indices = ints(indices).ok_or_else(|| mistyped(op))?;
        match locate(&acc.sizes, &indices) {
            Some((at, [])) => Ok(acc.offset + at),
            Some(_) | None => Err(unchecked()),
        }
    };
    match (op, rest) {
        (Op::AccAdd(..), [indices @ .., FlatValue::Real(x)]) => {
            acc.numbers.borrow_mut()[at(indices)?] += x;
            nothing()
        }
        (Op::AccAddArray(..), [FlatValue::Real(x)]) => {
            acc.numbers.borrow_mut()[at(&[])?] += x;
            nothing()
        }
        (Op::AccAddArray(..), [FlatValue::Array(array)]) => {
            let xs = array.reals().ok_or_else(|| mistyped(op))?;
            cx.count(xs.len());
            if xs.len() != elements(&acc.sizes) {
                return Err(internal("an accumulator of other sizes"));
            }
            let mut numbers = acc.numbers.borrow_mut();
            for (sum, x) in numbers[acc.offset..].iter_mut().zip(xs) {
                *sum += x;
            }
            nothing()
        }
        (Op::AccRead(..), indices) => one(FlatValue::Real(acc.numbers.borrow()[at(indices)?])),
        (Op::AccTake(..), indices) => {
            let at = at(indices)?;
            one(FlatValue::Real(std::mem::take(&mut acc.numbers.borrow_mut()[at])))
        }
        (Op::AccView(..), indices) => {
            let indices = ints(indices).ok_or_else(|| mistyped(op))?;
            let (at, sizes) = locate(&acc.sizes, &indices).ok_or_else(unchecked)?;
            view(acc, acc.offset + at, sizes.into())
        }
        (Op::AccSlice { .. }, [FlatValue::Int(lo), FlatValue::Int(hi)]) => {
            let mut sizes = acc.sizes.clone();
            let length = sizes.first_mut().ok_or_else(|| mistyped(op))?;
            if *lo < 0 || lo > hi || hi > length {
                return Err(unchecked());
            }
            *length = hi - lo;
            let offset = acc.offset + *lo as usize * elements(&sizes[1..]);
            view(acc, offset, sizes)
        }
        (Op::AccReshape(..), sizes) => {
            let sizes = ints(sizes).ok_or_else(|| mistyped(op))?;
            if elements(&sizes) != elements(&acc.sizes) {
                return Err(internal("a reshape to another number of elements"));
            }
            view(acc, acc.offset, sizes)
        }
        (Op::AccGet(_), []) => {
            let numbers = acc.numbers.borrow();
            if acc.sizes.is_empty() {
                return one(FlatValue::Real(numbers[acc.offset]));
            }
            let count = elements(&acc.sizes);
            cx.count(count);
            let copy = numbers[acc.offset..acc.offset + count].to_vec();
            let array = FlatArray::new(&acc.sizes, Data::Reals(Rc::new(copy)));
            one(FlatValue::array(array.ok_or_else(|| mistyped(op))?))
        }
        (op, _) => Err(mistyped(op)),
    }
}

fn view(acc: &Acc, offset: usize, sizes: Sizes) -> OpResults {
    one(FlatValue::Acc(Box::new(Acc { sizes, offset, numbers: acc.numbers.clone() })))
}

fn stack(cx: &mut OpContext<'_>, op: &Op, mut args: Values) -> OpResults {
    if let Op::StackNew(_) = op {
        return one(FlatValue::Stack(Rc::new(RefCell::new(Stack { len: 0, values: Vec::new() }))));
    }
    let Some(FlatValue::Stack(stack)) =
        args.first_mut().map(|first| std::mem::replace(first, FlatValue::Null))
    else {
        return Err(mistyped(op));
    };
    let mut stack = stack.borrow_mut();
    match (op, &args[1..]) {
        (Op::Push(..), _) => {
            cx.count(args.len() - 1);
            stack.len += 1;
            stack.values.extend(args.drain(1..));
            nothing()
        }
        (Op::StackLen(_), []) => one(FlatValue::Int(stack.len as i64)),
        (Op::StackGet(..), [FlatValue::Int(at)]) => match usize::try_from(*at) {
            Ok(at) if at < stack.len => {
                let width = stack.values.len() / stack.len;
                cx.count(width);
                Ok(stack.values[at * width..(at + 1) * width].iter().cloned().collect())
            }
            Ok(_) | Err(_) => Err(unchecked()),
        },
        (op, _) => Err(mistyped(op)),
    }
}
