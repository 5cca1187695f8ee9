//! Functions as modules of StableHLO, for hosts that call XLA.

use super::{Error, Function};
use crate::xla::{Input, StableHlo};
use diffeo_array::ir::Module;
use diffeo_calculus::Ty;
use diffeo_front::Message;

/// A function for arguments of some sizes.
pub struct XlaModule {
    function: Function,
    module: Module,
    made: StableHlo,
}

/// The inputs of a type, of which the arrays have these sizes in order.
fn inputs<'s>(ty: &Ty, sizes: &mut impl Iterator<Item = &'s Vec<i64>>, all: &mut Vec<Input>) {
    match ty {
        Ty::Unit => {}
        Ty::Tuple(parts) => parts.iter().for_each(|part| inputs(part, sizes, all)),
        Ty::Record(fields) => fields.iter().for_each(|(_, ty)| inputs(ty, sizes, all)),
        Ty::Array(_) => all.push(Input::Array(sizes.next().cloned().unwrap_or_default())),
        _ => {
            sizes.next();
            all.push(Input::Scalar);
        }
    }
}

impl Function {
    /// The function as a module of StableHLO. `sizes` has those of each number or array that it takes, in the order of tuples
    /// and of fields sorted by name; with a `batch`, arguments and results have these sizes in front of their own.
    ///
    /// # Errors
    /// A form that XLA lacks, with its place.
    pub fn stablehlo(&self, sizes: &[Vec<i64>], batch: &[i64]) -> Result<XlaModule, Error> {
        let made = self.defined(|session, entry| {
            let mut all = Vec::new();
            if let Ty::Fun(sides) = &entry.ty {
                inputs(&sides.0, &mut sizes.iter(), &mut all);
            }
            let made = session.lower_to_stablehlo(entry, &all, batch);
            made.map_err(|diagnostic| Error::one(Message::new(session.sources(), &diagnostic)))
        });
        let (module, made) = made?;
        Ok(XlaModule { function: self.clone(), module, made })
    }
}

impl XlaModule {
    /// The text of the module.
    pub fn text(&self) -> &str {
        &self.made.text
    }

    /// Whether there are checks that may fail when the module runs.
    pub fn can_fail(&self) -> bool {
        !self.made.checks.is_empty()
    }

    /// The error of a check that did not hold: its number and its operands are the last results of the module.
    pub fn error(&self, number: i64, operands: &[i64]) -> Option<Error> {
        let error = self.made.error(&self.module, number, operands)?;
        Some(self.function.stopped(&error))
    }
}
