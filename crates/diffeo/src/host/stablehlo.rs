//! Functions as modules of StableHLO, for hosts that call XLA.

use super::{Error, Function};
use crate::xla::{lower_to_stablehlo, Input, Precision, StableHlo};
use diffeo_array::ir::{Elem, Module};
use diffeo_front::{Entry, Message};

/// A function for arguments of some sizes.
pub struct XlaModule {
    function: Function,
    module: Module,
    made: StableHlo,
}

impl Function {
    /// The function as a module of StableHLO. There is an input for each number or array that it takes, in the order of tuples
    /// and of fields sorted by name; with a `batch`, arguments and results have these sizes in front of their own.
    ///
    /// # Errors
    /// A form that XLA lacks, with its place.
    pub fn stablehlo(
        &self,
        inputs: &[Input],
        batch: &[i64],
        precision: Precision,
    ) -> Result<XlaModule, Error> {
        let made = self.defined(|session, entry| {
            let Entry { program, global, span, .. } = entry;
            let made = lower_to_stablehlo(program, *global, *span, inputs, batch, precision);
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

    /// The results of the function: the type of their elements, as NumPy calls it, and their sizes. The number of a failed
    /// check and its operands follow them.
    pub fn results(&self) -> impl Iterator<Item = (&'static str, Vec<i64>)> + '_ {
        let word = |elem: Elem| match (elem, self.made.precision) {
            (Elem::Real, Precision::F64) => "float64",
            (Elem::Real, Precision::F32) => "float32",
            (Elem::Bool, _) => "bool",
            (Elem::Int | Elem::Text | Elem::Box(_), _) => "int64",
        };
        self.made.results.iter().map(move |(elem, sizes)| (word(*elem), sizes.clone()))
    }

    /// The module has checks that may fail when it runs.
    pub fn can_fail(&self) -> bool {
        !self.made.checks.is_empty()
    }

    /// The error of a check that did not hold: its number and its operands are the last results of the module.
    pub fn error(&self, number: i64, operands: &[i64]) -> Option<Error> {
        let error = self.made.error(&self.module, number, operands)?;
        Some(self.function.stopped(&error))
    }
}
