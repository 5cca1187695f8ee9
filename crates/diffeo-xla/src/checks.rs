//! Checks: conditions as results of the module, since XLA cannot stop.

use crate::emit::union;
use crate::lift::{Lift, Outcome, OPERANDS};
use crate::place::product;
use crate::value::{Check, Piece, TextPart, Val};
use crate::Reason;
use diffeo_array::ir::{self, Atom, Elem};
use diffeo_array::report::{OpenCall, OpenCalls, Why};
use diffeo_base::Name;

/// In [`Lift::state`]: the number of the first failed check, or -1; its operands.
const STATUS: usize = 0;
const FAILED: usize = 1;

impl Lift<'_> {
    pub fn message(&mut self, text: &Atom) -> Outcome<(Vec<Piece>, Vec<Val>)> {
        let Val::Text(parts) = self.value(text) else { return Err(self.refuse(Reason::Texts)) };
        let (mut pieces, mut operands) = (Vec::new(), Vec::new());
        for part in parts {
            match part {
                TextPart::Text(text) => pieces.push(Piece::Text(text)),
                // A module gives no more operands.
                TextPart::Shown(_) if operands.len() == OPERANDS => {
                    pieces.push(Piece::Text(Name::new("…")));
                }
                TextPart::Shown(value) => {
                    pieces.push(Piece::Operand(operands.len()));
                    operands.push(value);
                }
            }
        }
        Ok((pieces, operands))
    }

    pub fn checked(&mut self, check: &ir::Check) -> Outcome<()> {
        use diffeo_calculus::prim::Comparison::{Eq, Ge, Le, Lt};
        let int = ir::Scalar::Int;
        let zero = Val::int(0);
        match check {
            ir::Check::Index { index, length } => {
                let (index, length) = (self.value(index), self.value(length));
                let low = self.comparison(Ge, int, &index, &zero)?;
                let high = self.comparison(Lt, int, &index, &length)?;
                let ok = self.and(&low, &high);
                self.check(&ok, Why::Index, &[index, length])
            }
            ir::Check::Slice { lo, hi, length } => {
                let (lo, hi, length) = (self.value(lo), self.value(hi), self.value(length));
                let low = self.comparison(Ge, int, &lo, &zero)?;
                let order = self.comparison(Le, int, &lo, &hi)?;
                let high = self.comparison(Le, int, &hi, &length)?;
                let ok = self.and(&low, &order);
                let ok = self.and(&ok, &high);
                self.check(&ok, Why::Slice, &[lo, hi, length])
            }
            ir::Check::Count(count) => {
                let count = self.value(count);
                let ok = self.comparison(Ge, int, &count, &zero)?;
                self.check(&ok, Why::Count, &[count])
            }
            ir::Check::Size { what, expected, found } => {
                let (expected, found) = (self.value(expected), self.value(found));
                let ok = self.comparison(Eq, int, &expected, &found)?;
                self.check(&ok, Why::Size(what.clone()), &[expected, found])
            }
            ir::Check::Rows { expected, found } => {
                let (expected, found) = (self.value(expected), self.value(found));
                let ok = self.comparison(Eq, int, &expected, &found)?;
                self.check(&ok, Why::Rows, &[expected, found])
            }
        }
    }

    /// Notes a check that does not hold, if it is the first.
    pub fn check(&mut self, ok: &Val, why: Why, operands: &[Val]) -> Outcome<()> {
        self.check_with(ok, why, operands, Vec::new())
    }

    /// As [`Lift::check`], with the message of `fail`.
    pub fn check_with(
        &mut self,
        ok: &Val,
        why: Why,
        operands: &[Val],
        message: Vec<Piece>,
    ) -> Outcome<()> {
        if self.replays() || self.open.iter().any(|dim| self.sizes[*dim as usize] == 0) {
            // Steps that were checked already, or a loop without steps.
            return Ok(());
        }
        let mut bad = self.not(ok);
        if let Some(mask) = self.mask.clone() {
            bad = self.and(&bad, &mask);
        }
        if bad.known() == Some(0) {
            return Ok(());
        }
        let number = self.checks.len() as i64;
        let inner = self.calls[1..].iter().rev();
        let inner = inner.map(|(function, site)| OpenCall { function: *function, site: *site });
        let calls = OpenCalls { inner: inner.collect(), ..OpenCalls::default() };
        let types = operands.iter().take(OPERANDS).map(|operand| match operand {
            Val::Real(_) => Elem::Real,
            Val::Tensor(t) => t.elem,
            Val::Table(table) => table.elem,
            _ => Elem::Int,
        });
        let operands_of = types.collect();
        self.checks.push(Check { why, operands: operands_of, message, site: self.site, calls });
        let bad = self.tensor(&bad, Elem::Bool);
        let count = product(&self.sizes_of(&bad.dims, &[]));
        if count == 0 {
            return Ok(());
        }
        let (none, false_) = (self.int(-1), self.boolean(false));
        let status = self.state[STATUS].clone();
        let dims = bad.dims.clone();
        let any = self.reduce_dims(&bad, &dims, "or", &false_);
        let none_yet = self.compare("EQ", &status, &none);
        let is_first = self.each("and", &[any, none_yet]);
        let number = self.int(number);
        self.state[STATUS] = self.select(&is_first, &number, &status);
        // The operands of the first step.
        let lane = match dims.is_empty() {
            true => None,
            false => {
                let flat = self.new_dim(count);
                let steps = self.iota(flat);
                let bad = self.reshape(&bad, vec![flat], Vec::new());
                let last = self.int(count - 1);
                let of_bad = self.select(&bad, &steps, &last);
                Some(self.reduce_dims(&of_bad, &[flat], "minimum", &last))
            }
        };
        let mut parts = Vec::new();
        for operand in operands.iter().take(OPERANDS) {
            let elem = if matches!(operand, Val::Real(_)) { Elem::Real } else { Elem::Int };
            let mut t = self.tensor(operand, elem);
            t = match t.elem {
                Elem::Real => self.bits(&t),
                Elem::Bool => self.convert(&t, Elem::Int),
                _ => t,
            };
            if let (Some(lane), false) = (&lane, t.dims.is_empty()) {
                let all = union([&t.dims[..], &dims].into_iter());
                if all == dims {
                    let wide = self.broadcast(&t, &dims);
                    let flat = self.reshape(&wide, Vec::new(), vec![count]);
                    t = self.dynamic_slice(&flat, lane, 1);
                    t = self.reshape(&t, Vec::new(), Vec::new());
                } else {
                    t = self.int(0);
                }
            }
            let t = if t.dims.is_empty() { t } else { self.int(0) };
            parts.push(self.reshape(&t, Vec::new(), vec![1]));
        }
        if parts.len() < OPERANDS {
            let rest = self.splat(Elem::Int, "0", &[(OPERANDS - parts.len()) as i64]);
            parts.push(rest);
        }
        let found = match parts.len() {
            1 => parts.remove(0),
            _ => self.concatenate(&parts, 0, vec![OPERANDS as i64]),
        };
        let failed = self.state[FAILED].clone();
        self.state[FAILED] = self.select(&is_first, &found, &failed);
        Ok(())
    }
}
