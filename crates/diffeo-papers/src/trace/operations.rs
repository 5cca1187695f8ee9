//! The redexes op(V) and pred(V), for every primitive operation, in both modes.
//!
//! What comes in: an operation and its operands. What goes out: its value. What always holds: `ev` and `bev` are
//! the evaluator's ([`diffeo_calculus::eval`]), so values, errors and kinks are the same. In a trace an operation
//! that moves or combines Reals becomes the operations on single Reals that it consists of, since the
//! shapes are known; an operation that gives no Reals becomes a leaf constant k, and so does one whose
//! operands are closed (ours).

use super::record::TraceWriter;
use super::syntax::{internal, parts, Influence, V};
use super::TraceEvaluator;
use diffeo_base::deep;
use diffeo_calculus::array::Array;
use diffeo_calculus::eval::error::ErrorKind;
use diffeo_calculus::eval::{ops, Kinks, SizesCall, SizesTree};
use diffeo_calculus::leaves::map_leaves;
use diffeo_calculus::prim::{real, Prim, RealOp};
use diffeo_calculus::ty::Ty;
use diffeo_calculus::value::Value;

/// What an operation gives, or its error.
pub(super) type Result<T> = std::result::Result<T, ErrorKind>;

impl TraceEvaluator {
    /// op(V) or pred(V)
    ///
    /// ```text
    /// φ | ρ ⊢ V ⇒ V′                                       φ | ρ ⊢ V ⇒ V′
    /// ────────────────────  (ev(op, V′) ≃ W)               ──────────────────────────  (bev(pred, V′) ≃ W_bool)
    /// φ | ρ ⊢ op(V) ⇒ W                                    φ | ρ ⊢ pred(V) ⇒ W_bool
    ///
    /// φ | ρ ⊢ V + W ⇝ V + W        φ | ρ ⊢ op(V) ⇝ op(V)
    /// ```
    pub(super) fn prim(&mut self, prim: &Prim, operands: Vec<V>) -> Result<V> {
        if self.open.is_empty() {
            let operands = operands.into_iter().map(|v| match v {
                V::Closed(value) => value,
                open => open.close(),
            });
            return self.evaluate(prim, operands.collect()).map(V::Closed);
        }
        match (prim, operands.as_slice()) {
            (Prim::Real(op), [_]) | (Prim::Real(op), [_, _]) => {
                self.check(*op, &operands)?;
                self.writer().op(*op, &operands.iter().collect::<Vec<_>>())
            }
            (Prim::Trace(_) | Prim::Progress(_), [.., v]) => {
                let v = v.clone();
                self.evaluate(prim, operands.iter().map(V::close).collect())?;
                Ok(v)
            }
            _ if operands.iter().all(V::is_closed) => {
                self.evaluate(prim, operands.iter().map(V::close).collect()).map(V::Closed)
            }
            _ => self.symbolic_prim(prim, &operands),
        }
    }

    /// ev and bev.
    fn evaluate(&mut self, prim: &Prim, operands: ops::Values<Value>) -> Result<Value> {
        let result = self.evaluator(prim, operands);
        self.collect_warnings();
        result
    }

    fn evaluator(&mut self, prim: &Prim, operands: ops::Values<Value>) -> Result<Value> {
        if let (Prim::Sizes(pattern, _), Some(_)) = (prim, operands.first()) {
            let call = SizesCall { pattern: pattern.clone(), tree: SizesTree::Operand(0) };
            let operands: Vec<&Value> = operands.iter().collect();
            let sizes = ops::sizes(&call, &operands, &mut self.counted)?;
            let mut sizes = sizes.into_iter().map(Value::Int);
            return Ok(match sizes.len() {
                0 => Value::Unit,
                1 => sizes.next().unwrap_or(Value::Unit),
                _ => Value::tuple(sizes),
            });
        }
        let mut cx = ops::PrimContext {
            reals: &mut self.reals,
            operations: &mut self.counted,
            smooth: self.kinks == Kinks::Ignore,
            program: &self.cx.program,
            events: &mut *self.events,
            site: self.at.place(self.code.spans[self.site as usize]),
        };
        ops::apply(&mut cx, prim, operands)
    }

    /// Where ev is not defined: outside the domain, and at kinks of what is traced.
    fn check(&mut self, op: RealOp, operands: &[V]) -> Result<()> {
        if self.kinks == Kinks::Ignore {
            return Ok(());
        }
        let site = self.at.place(self.code.spans[self.site as usize]);
        let a = mark(&operands[0]);
        let b = operands.get(1).map_or(Value::Zero, mark);
        let result = self.reals.check(op, &a, &b, site);
        self.collect_warnings();
        result
    }

    /// An operation on operands with trace variables in them, other than one on Reals.
    fn symbolic_prim(&mut self, prim: &Prim, operands: &[V]) -> Result<V> {
        let marked = self.kinks != Kinks::Ignore;
        let leaf = match prim {
            // Predicates, which are not defined on the diagonal where what is traced influences them.
            Prim::Compare(..) | Prim::Round(_) | Prim::ArgSort(_) if marked => {
                return self.evaluate(prim, operands.iter().map(mark).collect()).map(V::Closed);
            }
            Prim::Compare(..) | Prim::Round(_) | Prim::ArgSort(_) => true,
            Prim::Real(_)
            | Prim::PowInt
            | Prim::Index(_)
            | Prim::Slice(_)
            | Prim::Update(_)
            | Prim::Append(_)
            | Prim::Flatten(_) => false,
            Prim::Int(_)
            | Prim::Not
            | Prim::ToReal
            | Prim::IsNan
            | Prim::ZeroOf(_)
            | Prim::Length(_)
            | Prim::Sizes(..)
            | Prim::AppendStrings
            | Prim::Text(_)
            | Prim::Show(_)
            | Prim::Labels(_)
            | Prim::Fail(_)
            | Prim::Trace(_)
            | Prim::Progress(_)
            | Prim::Warn
            | Prim::Lift(_) => true,
            Prim::Add(ty)
            | Prim::Sub(ty)
            | Prim::Neg(ty)
            | Prim::Scale(ty)
            | Prim::Unscale(ty)
            | Prim::MulElements(ty)
            | Prim::DivElements(ty)
            | Prim::Inner(ty)
            | Prim::Ravel(ty)
            | Prim::Unravel(ty)
            | Prim::Sum(ty) => !self.cx.traced(ty) && !matches!(prim, Prim::Unravel(_)),
        };
        // Every error, and the value for the shape.
        let value = self.evaluate(prim, operands.iter().map(V::close).collect())?;
        if leaf {
            return Ok(V::Closed(value));
        }
        expand(&mut self.writer(), prim, operands, value)
    }
}

/// The operations on single Reals that an operation consists of; `value` is its value.
fn expand(w: &mut TraceWriter<'_>, prim: &Prim, operands: &[V], value: Value) -> Result<V> {
    let array = |ty: &Ty| Ty::array(ty.clone());
    let zip = |op: RealOp| move |w: &mut TraceWriter<'_>, a: V, b: V| w.op(op, &[&a, &b]);
    match (prim, operands) {
        (Prim::PowInt, [x, V::Closed(Value::Int(n))]) => power(w, x, *n),
        (Prim::Add(ty), [a, b]) => w.zip(a, b, ty, &mut zip(RealOp::Add)),
        (Prim::Sub(ty), [a, b]) => w.zip(a, b, ty, &mut zip(RealOp::Sub)),
        (Prim::MulElements(ty), [a, b]) => w.zip(a, b, ty, &mut zip(RealOp::Mul)),
        (Prim::DivElements(ty), [a, b]) => w.zip(a, b, ty, &mut zip(RealOp::Div)),
        (Prim::Neg(ty), [a]) => w.map(a, ty, &mut |w, a| w.op(RealOp::Neg, &[&a])),
        (Prim::Scale(ty), [r, a]) => w.map(a, ty, &mut |w, a| w.op(RealOp::Mul, &[r, &a])),
        (Prim::Unscale(ty), [a, r]) => w.map(a, ty, &mut |w, a| w.op(RealOp::Div, &[&a, r])),
        (Prim::Inner(ty), [a, b]) => {
            let mut sum: Option<V> = None;
            w.zip(a, b, ty, &mut |w, a, b| {
                let product = w.op(RealOp::Mul, &[&a, &b])?;
                sum = Some(match &sum {
                    Some(sum) => w.op(RealOp::Add, &[sum, &product])?,
                    None => product.clone(),
                });
                Ok(V::Closed(Value::Real(0.0)))
            })?;
            Ok(sum.unwrap_or(V::Closed(value)))
        }
        (Prim::Ravel(ty), [a]) => {
            let mut leaves = Vec::new();
            w.map(a, ty, &mut |_, a| {
                leaves.push(a);
                Ok(V::Closed(Value::Real(0.0)))
            })?;
            elements(w, &Ty::Real, leaves, value)
        }
        (Prim::Unravel(ty), [a, leaves]) => {
            let mut leaves = w.parts(leaves, &Ty::array(Ty::Real))?.into_iter();
            w.map(a, ty, &mut |_, _| leaves.next().ok_or_else(|| internal("a leaf")))
        }
        (Prim::Index(ty), [a, V::Closed(Value::Int(i))]) => w.part(a, &array(ty), *i as usize),
        (Prim::Slice(ty), [a, V::Closed(Value::Int(lo)), V::Closed(Value::Int(hi))]) => {
            let range = *lo as usize..*hi as usize;
            let all: Result<Vec<V>> = range.map(|i| w.part(a, &array(ty), i)).collect();
            elements(w, ty, all?, value)
        }
        (Prim::Update(ty), [a, indices @ .., element]) => update(w, ty, a, indices, element),
        (Prim::Append(ty), [a, b]) => {
            let mut all = w.parts(a, &array(ty))?;
            all.extend(w.parts(b, &array(ty))?);
            elements(w, ty, all, value)
        }
        (Prim::Flatten(ty), [rows]) => {
            let mut all = Vec::new();
            for row in w.parts(rows, &array(&array(ty)))? {
                all.extend(w.parts(&row, &array(ty))?);
            }
            elements(w, ty, all, value)
        }
        (Prim::Sum(ty), [a]) => {
            let mut all = w.parts(a, &array(ty))?.into_iter();
            let Some(mut sum) = all.next() else { return Ok(V::Closed(value)) };
            for element in all {
                sum = w.zip(&sum, &element, ty, &mut zip(RealOp::Add))?;
            }
            Ok(sum)
        }
        _ => Err(internal("an operation on values of other types")),
    }
}

/// An array with these elements and this value; without elements the value knows the shape.
fn elements(w: &mut TraceWriter<'_>, ty: &Ty, elements: Vec<V>, value: Value) -> Result<V> {
    if elements.is_empty() {
        return Ok(V::Closed(value));
    }
    w.structure(&Ty::array(ty.clone()), &Value::array(Array::empty()), elements)
}

/// `x ^ n` by the multiplications that [`diffeo_calculus::prim::real::power`] does; of `1 / x` where these overflow, because the
/// derivatives of the reciprocal of what is infinite are nan.
fn power(w: &mut TraceWriter<'_>, x: &V, n: i64) -> Result<V> {
    let one = V::Closed(Value::Real(1.0));
    let mut exponent = n.unsigned_abs();
    let overflows = matches!(x.close(), Value::Real(x) if x.is_finite() && (1.0 / real::power(x, n)).is_infinite());
    let inverted = n < 0 && overflows;
    let mut base = if inverted { w.op(RealOp::Div, &[&one, x])? } else { x.clone() };
    let mut result = None;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = Some(match result {
                Some(result) => w.op(RealOp::Mul, &[&result, &base])?,
                None => base.clone(),
            });
        }
        exponent >>= 1;
        if exponent > 0 {
            base = w.op(RealOp::Mul, &[&base, &base])?;
        }
    }
    match result {
        // It does not depend on x, but varies with it.
        None => w.influenced(one, x.influence().mask()),
        Some(result) if n < 0 && !inverted => w.op(RealOp::Div, &[&one, &result]),
        Some(result) => Ok(result),
    }
}

/// The array with the element at these indices replaced.
fn update(w: &mut TraceWriter<'_>, ty: &Ty, a: &V, indices: &[V], element: &V) -> Result<V> {
    let Some((V::Closed(Value::Int(i)), rest)) = indices.split_first() else {
        return Ok(element.clone());
    };
    let Ty::Array(row) = ty else { return Err(internal("an update of what is no array")) };
    let mut all = w.parts(a, ty)?;
    let old = all.get(*i as usize).cloned().ok_or_else(|| internal("an element"))?;
    all[*i as usize] = update(w, row, &old, rest, element)?;
    w.structure(ty, &Value::array(Array::empty()), all)
}

/// ρ(V), where the Reals that a trace influences are marked as such for [`diffeo_calculus::eval::reals`].
fn mark(v: &V) -> Value {
    marked(v.close(), &v.influence())
}

fn marked(value: Value, influence: &Influence) -> Value {
    if influence.mask() == 0 {
        return value;
    }
    if let Influence::All(_) = influence {
        let dual = map_leaves(&value, &mut |leaf| {
            let primal = diffeo_calculus::eval::reals::primal(leaf);
            Ok::<_, std::convert::Infallible>(Value::Dual { level: 1, id: 0, primal })
        });
        return dual.unwrap_or_else(|never| match never {});
    }
    let part = |i: usize, part: Value| deep(|| marked(part, &influence.part(i)));
    match &value {
        Value::Array(array) => {
            let all = array.iter().enumerate().map(|(i, v)| part(i, v));
            Array::from_values(all).map_or_else(|_| value.clone(), Value::array)
        }
        Value::Data(data) if parts(&value) > 0 => {
            let fields = data.fields.iter().enumerate().map(|(i, v)| part(i, v.clone()));
            Value::data(data.tag, fields)
        }
        Value::Tuple(_) => {
            let fields = value.fields().iter().enumerate();
            Value::tuple(fields.map(|(i, v)| part(i, v.clone())))
        }
        Value::Unit
        | Value::Real(_)
        | Value::Int(_)
        | Value::Bool(_)
        | Value::String(_)
        | Value::Data(_)
        | Value::Function(_)
        | Value::Dual { .. }
        | Value::Active(_)
        | Value::Zero => value,
    }
}
