//! Puts slots into registers, and steps into their final form.
//!
//! Goes over the steps once, from first to last. A slot gets the lowest free register when it is written and
//! gives it back when it is read for the last time. Every arm of a branch starts with the registers as they
//! were at the fork; what all arms write gets its register there, and since all arms end with the same
//! slots, they end with the same registers.

use super::{CodeItem, Dst, FunctionCompiler};
use crate::eval::code::{Code, Instr, OperandSource, PackedOperand};
use crate::eval::usage::NONE;
use diffeo_base::{Name, Span};
use std::collections::BTreeSet;

struct Registers {
    /// The register of each slot.
    of: Vec<u32>,
    /// Whether a slot has its register at present.
    held: Vec<bool>,
    pinned: Vec<bool>,
    free: BTreeSet<u32>,
    count: u32,
    /// Slots that got or gave back their register.
    trail: Vec<u32>,
    /// The length of the trail at the forks around the present place.
    forks: Vec<(u32, usize)>,
}

impl Registers {
    fn hold(&mut self, slot: u32) {
        let s = slot as usize;
        if !self.held[s] {
            if self.of[s] == NONE || !self.free.remove(&self.of[s]) {
                self.of[s] = self.free.pop_first().unwrap_or_else(|| {
                    self.count += 1;
                    self.count - 1
                });
            }
            self.held[s] = true;
            self.trail.push(slot);
        }
    }

    fn release(&mut self, slot: u32) {
        let s = slot as usize;
        debug_assert!(self.held[s] || self.pinned[s], "a slot is given back twice");
        if self.held[s] && !self.pinned[s] {
            self.held[s] = false;
            self.free.insert(self.of[s]);
            self.trail.push(slot);
        }
    }

    fn back_to(&mut self, mark: usize) {
        while self.trail.len() > mark {
            let Some(slot) = self.trail.pop() else { return };
            let s = slot as usize;
            self.held[s] = !self.held[s];
            if self.held[s] {
                self.free.remove(&self.of[s]);
            } else {
                self.free.insert(self.of[s]);
            }
        }
    }
}

/// Makes code of a function whose steps are in order.
pub(super) fn assign(mut f: FunctionCompiler<'_, '_>, name: Name, parameters: &[u32]) -> Code {
    let slots = f.scalar.len();
    let mut registers = Registers {
        of: vec![NONE; slots],
        held: vec![false; slots],
        pinned: vec![false; slots],
        free: BTreeSet::new(),
        count: 0,
        trail: Vec::new(),
        forks: Vec::new(),
    };
    parameters.iter().for_each(|slot| registers.hold(*slot));
    let mut instrs = Vec::new();
    let mut spans = Vec::new();
    let mut labels = vec![0; f.labels as usize];
    for (step, span) in std::mem::take(&mut f.steps) {
        match step {
            CodeItem::Do(Instr::Drop { register: slot }) => {
                if !f.scalar[slot as usize] {
                    let register = registers.of[slot as usize];
                    instrs.push(Instr::Drop { register });
                    spans.push(span);
                }
                registers.release(slot);
            }
            CodeItem::Do(mut instr) => {
                place(&mut instr, &mut f, &mut registers);
                instrs.push(instr);
                spans.push(span);
            }
            CodeItem::Label(label) => labels[label as usize] = instrs.len() as u32,
            CodeItem::Drops(list) => {
                for slot in &f.lists[list as usize] {
                    if !f.scalar[*slot as usize] {
                        let register = registers.of[*slot as usize];
                        instrs.push(Instr::Drop { register });
                        spans.push(span);
                    }
                    registers.release(*slot);
                }
            }
            CodeItem::Fork(list) => {
                f.lists[list as usize].iter().for_each(|slot| registers.hold(*slot));
                registers.forks.push((list, registers.trail.len()));
            }
            CodeItem::Arm(list) => {
                while registers.forks.last().is_some_and(|(fork, _)| *fork != list) {
                    registers.forks.pop();
                }
                if let Some((_, mark)) = registers.forks.last().copied() {
                    registers.back_to(mark);
                }
            }
            CodeItem::Pin(list) => {
                for slot in &f.lists[list as usize] {
                    registers.pinned[*slot as usize] = true;
                }
            }
            CodeItem::Unpin(list) => {
                for slot in &f.lists[list as usize] {
                    registers.pinned[*slot as usize] = false;
                }
            }
            CodeItem::Nothing => {}
        }
    }
    for instr in &mut instrs {
        if let Some(target) = instr.jump() {
            *target = labels[*target as usize];
        }
    }
    for target in f.jumps.iter_mut().filter(|target| **target != u32::MAX) {
        *target = labels[*target as usize];
    }
    debug_assert_eq!(f.parameter.slots().len(), f.shape.registers());
    debug_assert!(!matches!(f.parameter, Dst::Ignore));
    let program = &f.unit.compiler.program;
    let mut library = spans.first().is_some_and(|span| program.library.contains(&span.file));
    if f.unit.compiler.sources.is_some() {
        // Code that has no text of its own counts as library code.
        let at = program.globals[f.unit.definition.0 as usize].span;
        library = at == Span::NONE || program.library.contains(&at.file);
        fill_places(&mut spans);
    }
    Code {
        name,
        number: 0,
        library,
        flat: f.shape.flat(),
        shape_registers: f.shape.registers(),
        shape: f.shape,
        registers: registers.count as usize,
        instrs,
        spans,
        constants: f.constants,
        operands: f.operands,
        targets: f.targets,
        jumps: f.jumps,
        prims: f.prims,
        diffs: f.diffs,
        sizes: f.sizes,
    }
}

/// Instructions that translations added are where the next one of the text is, or the last one.
fn fill_places(spans: &mut [Span]) {
    let mut known = spans.iter().rev().copied().find(|span| *span != Span::NONE);
    for span in spans.iter_mut().rev() {
        match known {
            Some(place) if *span == Span::NONE => *span = place,
            _ => known = Some(*span),
        }
    }
}

fn place(instr: &mut Instr, f: &mut FunctionCompiler<'_, '_>, registers: &mut Registers) {
    let mut taken = Vec::new();
    instr.each_operand(&mut f.operands, &mut |operand| match operand.source() {
        OperandSource::Copy(slot) => *operand = PackedOperand::copy(registers.of[slot as usize]),
        OperandSource::Take(slot) => {
            *operand = PackedOperand::take(registers.of[slot as usize]);
            taken.push(slot);
        }
        OperandSource::Constant(_) | OperandSource::Captured(_) | OperandSource::Itself => {}
    });
    taken.into_iter().for_each(|slot| registers.release(slot));
    instr.each_target(&mut f.targets, &mut |slot| {
        registers.hold(*slot);
        *slot = registers.of[*slot as usize];
    });
    if let Instr::CountNext { index, limit, .. } = instr {
        *index = registers.of[*index as usize];
        *limit = registers.of[*limit as usize];
    }
}
