//! Reports of kinks, of operands outside the domain, and of derivatives that are nan: warnings or errors by [`Kinks`], the
//! first of a kind at a place alone.

use super::{primal, Kinks, Reals};
use crate::eval::derivative::jet::Culprit;
use crate::eval::derivative::level::{level_of, Level};
use crate::eval::error::{ErrorKind, WarningKind};
use crate::prim::real::row;
use crate::prim::RealOp;
use crate::value::Value;
use diffeo_base::Span;

impl Reals {
    /// Reports operands outside the domain and kinks, as the operation itself would.
    #[cold]
    pub fn check(&mut self, op: RealOp, a: &Value, b: &Value, site: Span) -> Result<(), ErrorKind> {
        let row = row(op);
        let b = if row.arity == 2 { b } else { &Value::Zero };
        let operands = [primal(a), primal(b)];
        let active = [level_of(a) > 0, level_of(b) > 0];
        if (row.outside)(operands[0], operands[1]) {
            self.report_domain(row.name, &operands[..row.arity], site)
        } else if active != [false; 2] && (row.kink)(operands[0], operands[1], active) {
            self.report_kink(row.name, &operands[..row.arity], site)
        } else {
            Ok(())
        }
    }

    pub(super) fn report_kink(
        &mut self,
        op: &'static str,
        operands: &[f64],
        site: Span,
    ) -> Result<(), ErrorKind> {
        let operands = || operands.to_vec();
        match self.kinks {
            Kinks::Ignore => {}
            Kinks::Warn => self.warn(WarningKind::Kink { op, operands: operands() }, site),
            Kinks::Error | Kinks::Exact | Kinks::Enclose => {
                return Err(ErrorKind::Kink { op, operands: operands() })
            }
        }
        Ok(())
    }

    pub(super) fn report_domain(
        &mut self,
        op: &'static str,
        operands: &[f64],
        site: Span,
    ) -> Result<(), ErrorKind> {
        let operands = || operands.to_vec();
        match self.kinks {
            Kinks::Ignore | Kinks::Exact | Kinks::Enclose => {}
            Kinks::Warn => self.warn(WarningKind::OutsideDomain { op, operands: operands() }, site),
            Kinks::Error => return Err(ErrorKind::OutsideDomain { op, operands: operands() }),
        }
        Ok(())
    }

    /// Adds a warning unless one of its kind was given for the place.
    pub fn warn(&mut self, kind: WarningKind, site: Span) {
        if self.reported.insert((kind.code(), site)) {
            self.warnings.push((kind, site));
        }
    }

    /// Another run begins, which may warn of the same again.
    pub fn begin(&mut self) {
        self.reported.clear();
    }

    /// Warns of a derivative that is nan where the value is finite.
    pub fn warn_nan(&mut self, culprit: Culprit) {
        let Culprit { op, operands, site } = culprit;
        self.warn(WarningKind::NanDerivative { op, operands }, site);
    }

    /// Remembers an operation that made finite derivatives into others, if it is the first at the level.
    pub(crate) fn blame(&mut self, level: u16, culprit: Culprit) {
        if let Some(Level::Jet(jet)) = self.levels.get_mut(usize::from(level) - 1) {
            jet.culprit.get_or_insert(culprit);
        }
    }

    /// Does something of which this operation is to be blamed, whatever it consists of.
    pub(crate) fn blaming<R>(
        &mut self,
        level: u16,
        culprit: Culprit,
        act: impl FnOnce(&mut Reals) -> R,
    ) -> R {
        let jet = |reals: &mut Reals| match reals.levels.get_mut(usize::from(level) - 1) {
            Some(Level::Jet(jet)) => jet.culprit.take(),
            Some(Level::Tape(_)) | None => None,
        };
        let before = jet(self);
        let result = act(self);
        let made = jet(self).map(|_| culprit);
        if let Some(culprit) = before.or(made) {
            self.blame(level, culprit);
        }
        result
    }
}
