//! Primitive operations: the common ones have instructions of their own.

use super::terms::items;
use super::{Dest, Dst, FunctionCompiler, Item};
use crate::eval::code::{ComponentTarget, Instr, SizesCall, SizesTree};
use crate::prim::{IntOp, Prim, RealOp, SizePattern, SizeShape};
use crate::term::{Term, TermKind};
use crate::ty::Ty;
use crate::value::Value;
use diffeo_base::Span;
use std::rc::Rc;

/// The operation on Reals that a polytypic operation is at type Real.
fn at_real(prim: &Prim) -> Option<RealOp> {
    match (prim, prim.row()) {
        (Prim::Real(op), _) => Some(*op),
        (_, Some((row, Some(Ty::Real)))) => row.at_real,
        (_, _) => None,
    }
}

impl FunctionCompiler<'_, '_> {
    pub(super) fn prim(&mut self, prim: &Prim, args: &[Term], dest: Dest<'_>, span: Span) {
        if let Prim::Sizes(pattern, _) = prim {
            return self.sizes(pattern, args, dest, span);
        }
        let to = self.result(dest, span);
        self.with_operands(items(args), span, |f, operands| {
            if let Some(op) = at_real(prim) {
                return match (op, operands) {
                    (RealOp::Add, [a, b]) => Instr::AddReal { to, a: *a, b: *b },
                    (RealOp::Sub, [a, b]) => Instr::SubReal { to, a: *a, b: *b },
                    (RealOp::Mul, [a, b]) => Instr::MulReal { to, a: *a, b: *b },
                    (RealOp::Div, [a, b]) => Instr::DivReal { to, a: *a, b: *b },
                    (op, [a, b]) => Instr::Real2 { op, to, a: *a, b: *b },
                    (op, operands) => Instr::Real1 { op, to, a: operands[0] },
                };
            }
            match (prim, operands) {
                (Prim::Int(IntOp::Add), [a, b]) => Instr::AddInt { to, a: *a, b: *b },
                (Prim::Int(IntOp::Sub), [a, b]) => Instr::SubInt { to, a: *a, b: *b },
                (Prim::Int(op), [a, b]) => Instr::Int2 { op: *op, to, a: *a, b: *b },
                (Prim::Int(op), [a]) => Instr::Int1 { op: *op, to, a: *a },
                (Prim::Compare(comparison, Ty::Real), [a, b]) => {
                    Instr::CompareReal { comparison: *comparison, to, a: *a, b: *b }
                }
                (Prim::Compare(comparison, Ty::Int), [a, b]) => {
                    Instr::CompareInt { comparison: *comparison, to, a: *a, b: *b }
                }
                (Prim::Not, [a]) => Instr::Not { to, a: *a },
                (Prim::ToReal, [a]) => Instr::ToReal { to, a: *a },
                (Prim::Length(_), [array]) => Instr::Length { to, array: *array },
                (Prim::Index(_), [array, index]) => {
                    Instr::Index { to, array: *array, index: *index }
                }
                (Prim::Update(_), [array, index, value]) => {
                    Instr::Update { to, array: *array, index: *index, value: *value }
                }
                (prim, operands) => {
                    f.prims.push(prim.clone());
                    let prim = f.prims.len() as u32 - 1;
                    Instr::Prim { prim, to, args: f.list(operands) }
                }
            }
        });
    }

    fn sizes(&mut self, pattern: &Rc<SizePattern>, args: &[Term], dest: Dest<'_>, span: Span) {
        let Some((value, given)) = args.split_first() else { return };
        let bound = pattern.names.len() - pattern.given.min(pattern.names.len());
        let targets: Vec<ComponentTarget> = match (bound, dest) {
            (0, _) => {
                self.load_constant(Value::Unit, dest, span);
                Vec::new()
            }
            (1, _) => vec![ComponentTarget { index: 0, register: self.result(dest, span) }],
            (_, Dest::Into(Dst::Split(parts))) => {
                let mut targets = Vec::new();
                for (index, part) in (0..).zip(parts) {
                    if !self.is_dead(part) {
                        let register = self.result(Dest::Into(part), span);
                        targets.push(ComponentTarget { index, register });
                    }
                }
                targets
            }
            _ => {
                let to = self.result(dest, span);
                let slots: Vec<u32> = (0..bound).map(|_| self.new_slot(true)).collect();
                let operands: Vec<_> = slots.iter().map(|slot| self.read_slot(*slot)).collect();
                let args = self.list(&operands);
                self.emit(Instr::Tuple { to, args }, span);
                let slots = (0..).zip(slots);
                slots
                    .map(|(index, slot)| ComponentTarget {
                        index,
                        register: self.define(slot, span),
                    })
                    .collect()
            }
        };
        let targets = self.target_list(&targets);
        let mut operands = Vec::new();
        let tree = self.sizes_tree(&pattern.shape, value, &mut operands);
        operands.extend(items(given));
        self.sizes.push(SizesCall { pattern: pattern.clone(), tree });
        let call = self.sizes.len() as u32 - 1;
        self.with_operands(operands, span, |f, operands| Instr::Sizes {
            call,
            args: f.list(operands),
            targets,
        });
    }

    /// The parts of a value that the sizes are looked up in.
    fn sizes_tree<'t>(
        &mut self,
        shape: &SizeShape,
        value: &'t Term,
        operands: &mut Vec<Item<'t>>,
    ) -> SizesTree {
        if let Some(node) = self.resolve(value) {
            return self.sizes_tree_of(shape, node, operands);
        }
        match (&value.kind, shape) {
            (TermKind::Tuple(_, terms), SizeShape::Tuple(shapes))
                if terms.len() == shapes.len() =>
            {
                let pairs = terms.iter().zip(shapes);
                SizesTree::Tuple(pairs.map(|(t, s)| self.sizes_tree(s, t, operands)).collect())
            }
            _ => {
                operands.push(Item::Term(value));
                SizesTree::Operand(operands.len() as u32 - 1)
            }
        }
    }

    fn sizes_tree_of(
        &mut self,
        shape: &SizeShape,
        node: u32,
        operands: &mut Vec<Item<'_>>,
    ) -> SizesTree {
        match shape {
            SizeShape::Any => SizesTree::Nothing,
            SizeShape::Tuple(shapes) if self.unit.analysis.nodes.is_split(node) => {
                let parts = shapes.iter().enumerate().map(|(i, shape)| {
                    match self.unit.analysis.nodes.find(node, i) {
                        Some(child) => self.sizes_tree_of(shape, child, operands),
                        None => SizesTree::Nothing,
                    }
                });
                SizesTree::Tuple(parts.collect())
            }
            SizeShape::Tuple(_) | SizeShape::Array(..) | SizeShape::Data(_) => {
                operands.push(Item::Node(node));
                SizesTree::Operand(operands.len() as u32 - 1)
            }
        }
    }
}
