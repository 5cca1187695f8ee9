//! The Wengert list of a reverse-mode level.
//!
//! What comes in: the inputs, then each operation on numbers that depend on them, in the order of
//! evaluation. What always holds: entries are numbered from 1, inputs first, and the parents of an entry
//! come before it; operands are primals, of lower levels; no entry ever moves, for the list grows by chunks.
//! The partial derivatives are left to the sweep, which wants only some of them.

use super::level::level_of;
use crate::eval::error::ErrorKind;
use crate::prim::RealOp;
use crate::value::Value;
use diffeo_base::Span;

/// An operation that was recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operation {
    /// One of the table.
    Real(RealOp),
    /// `x ^ n`; the operands are x and the Int n.
    Power,
    /// The sum of two derivatives (the primal is that of one of them).
    Sum,
    /// The block at this position.
    Block(u32),
}

impl Operation {
    /// Whether the sweep needs its operands.
    pub(crate) fn keeps_operands(self) -> bool {
        match self {
            Operation::Real(RealOp::Add | RealOp::Sub | RealOp::Neg)
            | Operation::Sum
            | Operation::Block(_) => false,
            Operation::Real(_) | Operation::Power => true,
        }
    }
}

/// An entry of the tape (several in a row for a [`Operation::Block`]).
#[derive(Clone, Debug)]
pub(crate) struct TapeEntry {
    /// What was done.
    pub operation: Operation,
    /// Where.
    pub site: Span,
    /// The entries it was done to; 0 for what does not vary.
    pub parents: [u32; 2],
}

/// A call that the sweep runs again instead of keeping its entries.
#[derive(Clone, Debug)]
pub(crate) struct Checkpoint {
    /// The function; the tape's variables in it are detached.
    pub function: Value,
    /// Its argument, likewise.
    pub argument: Value,
    /// The number of Real leaves of the result; each is an entry.
    pub outputs: u32,
}

/// A list that grows without moving what it holds.
#[derive(Clone, Debug)]
pub(crate) struct Chunks<T> {
    chunks: Vec<Vec<T>>,
}

impl<T> Default for Chunks<T> {
    fn default() -> Self {
        Chunks { chunks: Vec::new() }
    }
}

impl<T> Chunks<T> {
    const FIRST: usize = 16;
    const LARGEST: usize = 1 << 14;

    #[inline]
    fn push(&mut self, item: T) {
        match self.chunks.last_mut() {
            Some(chunk) if chunk.len() < chunk.capacity() => chunk.push(item),
            last => {
                let size = last.map_or(Self::FIRST, |c| (2 * c.capacity()).min(Self::LARGEST));
                let mut chunk = Vec::with_capacity(size);
                chunk.push(item);
                self.chunks.push(chunk);
            }
        }
    }

    /// The items, the last first.
    pub(crate) fn backwards(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().rev().flat_map(|c| c.iter().rev())
    }

    /// The items, to be changed.
    fn each_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.chunks.iter_mut().flatten()
    }
}

/// The Wengert list of a level.
#[derive(Clone, Default, Debug)]
pub(crate) struct Tape {
    /// Its level.
    pub level: u16,
    /// The steps, in order.
    pub steps: Chunks<TapeEntry>,
    /// For each step that keeps them: the operand and the result of a unary operation, the operands of
    /// a binary one.
    pub operands: Chunks<[Value; 2]>,
    /// The blocks.
    pub blocks: Vec<Checkpoint>,
    /// The number of entries, inputs included.
    pub entries: u32,
    /// The number of steps.
    pub length: usize,
    /// The highest level among what it keeps, its own apart.
    pub outer: u16,
}

impl Tape {
    /// Gives the next input its entry. Only before the first step.
    pub(crate) fn input(&mut self) -> Result<u32, ErrorKind> {
        self.advance(1)
    }

    fn advance(&mut self, by: u32) -> Result<u32, ErrorKind> {
        self.entries = self.entries.checked_add(by).ok_or_else(|| ErrorKind::Internal {
            message: "a derivative needs more than 2^32 entries; `checkpoint` saves some".into(),
        })?;
        Ok(self.entries)
    }

    /// Records a step; the operands are asked for only if the sweep needs them.
    #[inline]
    pub(crate) fn push(
        &mut self,
        operation: Operation,
        site: Span,
        parents: [u32; 2],
        operands: impl FnOnce() -> [Value; 2],
    ) -> Result<u32, ErrorKind> {
        let id = self.advance(1)?;
        self.steps.push(TapeEntry { operation, site, parents });
        self.length += 1;
        if operation.keeps_operands() {
            let operands = operands();
            self.outer = self.outer.max(level_of(&operands[0])).max(level_of(&operands[1]));
            self.operands.push(operands);
        }
        Ok(id)
    }

    /// Records a block; the entries of its outputs follow the number returned.
    pub(crate) fn push_block(
        &mut self,
        block: Checkpoint,
        outer: u16,
        site: Span,
    ) -> Result<u32, ErrorKind> {
        let before = self.entries;
        self.advance(block.outputs)?;
        let operation = Operation::Block(self.blocks.len() as u32);
        self.steps.push(TapeEntry { operation, site, parents: [0, 0] });
        self.length += 1;
        self.blocks.push(block);
        self.outer = self.outer.max(outer);
        Ok(before)
    }

    /// The values it keeps, to be changed: operands, then functions and arguments of blocks.
    pub(crate) fn each_kept(
        &mut self,
        f: &mut dyn FnMut(&mut Value) -> Result<(), ErrorKind>,
    ) -> Result<(), ErrorKind> {
        for operands in self.operands.each_mut() {
            operands.iter_mut().try_for_each(&mut *f)?;
        }
        for block in &mut self.blocks {
            f(&mut block.function)?;
            f(&mut block.argument)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_entry_is_small() {
        assert_eq!(std::mem::size_of::<super::TapeEntry>(), 28);
    }
}
