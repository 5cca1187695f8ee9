//! `--kinks` and `--enclose`: where there is no derivative or no certain value.

use super::Evaluation;
use clap::ValueEnum;

/// What to do at kinks.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kinks {
    /// Go on.
    Ignore,
    /// Report them and go on.
    Warn,
    /// Stop.
    Error,
    /// Decide them by the directions of the derivative; stop at jumps.
    Exact,
    /// Stop at them and wherever intervals leave something open: `--enclose`.
    #[value(skip)]
    Enclose,
}

impl From<Kinks> for diffeo::Kinks {
    fn from(kinks: Kinks) -> diffeo::Kinks {
        match kinks {
            Kinks::Ignore => diffeo::Kinks::Ignore,
            Kinks::Warn => diffeo::Kinks::Warn,
            Kinks::Error => diffeo::Kinks::Error,
            Kinks::Exact => diffeo::Kinks::Exact,
            Kinks::Enclose => diffeo::Kinks::Enclose,
        }
    }
}

impl Evaluation {
    /// The mode at places without a derivative or a certain value.
    pub fn kinks(&self) -> Kinks {
        match self.enclose {
            true => Kinks::Enclose,
            false => self.kinks,
        }
    }
}
