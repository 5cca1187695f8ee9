//! op_r: the reverse-mode derivative of every operation, as trace terms, from the table of real operations.
//!
//! `W.op_r(⟨D, E⟩) = ⟨W · ∂₁op, W · ∂₂op⟩`. The partial derivatives are terms over the operands, the result
//! and further operations; where the table distinguishes cases, the values at hand decide.

use super::syntax::{internal, C};
use diffeo_calculus::eval::error::ErrorKind;
use diffeo_calculus::prim::real::{
    chooses_first, next_polygamma, row, truncated_quotient, Condition, DerivativeRule, Partial,
};
use diffeo_calculus::prim::RealOp;
use diffeo_calculus::value::Value;

fn number(c: &C) -> Result<f64, ErrorKind> {
    match c.value()? {
        Value::Real(x) => Ok(x),
        _ => Err(internal("an operand that is no Real")),
    }
}

/// ∂ᵢop at these operands, where the operation has the result y; nothing if it is zero.
pub(super) fn partial(op: RealOp, i: usize, operands: &[C], y: &C) -> Result<Option<C>, ErrorKind> {
    match row(op).derivative {
        DerivativeRule::Partials(partials) => term(&partials[i], op, operands, y),
        DerivativeRule::Select => {
            let a = number(&operands[0])?;
            let factor = match op {
                RealOp::Abs if a < 0.0 => -1.0,
                // Also of nan.
                RealOp::Abs if a != 0.0 => 1.0,
                RealOp::Min | RealOp::Max => {
                    let first = chooses_first(op, a, number(&operands[1])?);
                    f64::from(u8::from(first == (i == 0)))
                }
                _ => 0.0,
            };
            Ok((factor != 0.0).then(|| C::real(factor)))
        }
    }
}

fn term(partial: &Partial, op: RealOp, operands: &[C], y: &C) -> Result<Option<C>, ErrorKind> {
    let all = |terms: &[&Partial]| -> Result<Vec<C>, ErrorKind> {
        let zero = || C::real(0.0);
        terms.iter().map(|t| Ok(term(t, op, operands, y)?.unwrap_or_else(zero))).collect()
    };
    Ok(Some(match partial {
        Partial::A => operands[0].clone(),
        Partial::B => operands[1].clone(),
        Partial::Y => y.clone(),
        Partial::Num(x) => C::real(*x),
        Partial::Un(f, s) => C::Op(*f, all(&[s])?),
        Partial::Bin(f, s, t) => C::Op(*f, all(&[s, t])?),
        Partial::NextPolygamma => C::Op(next_polygamma(op), vec![operands[0].clone()]),
        Partial::TruncatedQuotient => {
            C::real(truncated_quotient(number(&operands[0])?, number(&operands[1])?))
        }
        Partial::ZeroWhere(condition, s) => {
            let a = number(&operands[0])?;
            let b = operands.get(1).map_or(Ok(0.0), number)?;
            let zero = match condition {
                // A constant exponent 0; one that an outer trace varies is not constant.
                Condition::ZeroExponent => {
                    b == 0.0 && (a == 0.0 || operands[1].influence().mask() == 0)
                }
                Condition::ZeroBase | Condition::Vanishes => condition.holds(a, b),
            };
            if zero {
                return Ok(condition.is_number(a).then(|| C::real(0.0)));
            }
            return term(s, op, operands, y);
        }
    }))
}
