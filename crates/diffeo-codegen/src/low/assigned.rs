//! Definite assignment: which registers are set on every path to a place.

use super::Reg;

/// The registers that are set, and those that were set since some place, in order.
pub(crate) struct Assigned {
    set: Vec<bool>,
    log: Vec<Reg>,
}

impl Assigned {
    /// No register is set, in a function with so many of them.
    pub fn new(registers: usize) -> Assigned {
        Assigned { set: vec![false; registers], log: Vec::new() }
    }

    /// Whether it is set.
    pub fn contains(&self, reg: Reg) -> bool {
        self.set.get(reg.0 as usize).is_some_and(|set| *set)
    }

    /// All of them.
    pub fn all(&self) -> Vec<bool> {
        self.set.clone()
    }

    pub fn define(&mut self, reg: Reg) {
        if !std::mem::replace(&mut self.set[reg.0 as usize], true) {
            self.log.push(reg);
        }
    }

    /// The current place.
    pub fn here(&self) -> usize {
        self.log.len()
    }

    /// The registers that were set since a place.
    pub fn since(&self, place: usize) -> Vec<Reg> {
        self.log[place..].to_vec()
    }

    /// Forgets and gives the registers that were set since a place.
    pub fn undo(&mut self, place: usize) -> Vec<Reg> {
        let set = self.log.split_off(place);
        for reg in &set {
            self.set[reg.0 as usize] = false;
        }
        set
    }

    /// Sets the registers that all these paths have set.
    pub fn join(&mut self, ways: Vec<Vec<Reg>>) {
        let count = ways.len();
        let mut all: Vec<Reg> = ways.into_iter().flatten().collect();
        all.sort_unstable();
        for same in all.chunk_by(|a, b| a == b) {
            if same.len() == count {
                self.define(same[0]);
            }
        }
    }
}
