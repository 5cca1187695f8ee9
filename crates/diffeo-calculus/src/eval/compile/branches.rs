//! Conditionals and case distinctions.

use super::{CodeItem, Dest, Dst, FunctionCompiler, Item};
use crate::eval::code::{Instr, List, PackedOperand};
use crate::eval::liveness::ArmChanges;
use crate::prim::Prim;
use crate::term::{Case, Term, TermKind};
use crate::ty::Ty;
use diffeo_base::Span;

/// The arms of a branch that are generated so far, last arm first.
pub(super) struct Branch {
    fork: u32,
    mark: usize,
    arms: Vec<ArmChanges>,
    drops: Vec<u32>,
}

impl FunctionCompiler<'_, '_> {
    fn branch(&mut self) -> Branch {
        let fork = self.slot_list(Vec::new());
        Branch { fork, mark: self.live.mark(), arms: Vec::new(), drops: Vec::new() }
    }

    /// Ends an arm, which was just generated: here it begins.
    fn end_arm(&mut self, branch: &mut Branch, span: Span) {
        let drops = self.slot_list(Vec::new());
        self.step(CodeItem::Drops(drops), span);
        branch.drops.push(drops);
        branch.arms.push(self.live.rollback(branch.mark));
    }

    /// Ends the branch: here its first arm begins.
    fn end_branch(&mut self, branch: Branch, span: Span) {
        self.step(CodeItem::Fork(branch.fork), span);
        let join = self.live.join(&branch.arms);
        for (list, drops) in branch.drops.into_iter().zip(join.drops) {
            self.lists[list as usize] = drops;
        }
        self.lists[branch.fork as usize] = join.written;
    }

    pub(super) fn if_(
        &mut self,
        condition: &Term,
        yes: &Term,
        no: &Term,
        dest: Dest<'_>,
        span: Span,
    ) {
        let (end, otherwise) = (self.label(), self.label());
        self.step(CodeItem::Label(end), span);
        let mut branch = self.branch();
        self.term(no, dest);
        self.end_arm(&mut branch, no.span);
        self.step(CodeItem::Label(otherwise), span);
        self.step(CodeItem::Arm(branch.fork), span);
        if !matches!(dest, Dest::Return) {
            self.emit(Instr::Jump { target: end }, span);
        }
        self.term(yes, dest);
        self.end_arm(&mut branch, yes.span);
        self.end_branch(branch, span);
        self.unless(condition, otherwise);
    }

    /// Goes to a label unless a condition holds.
    pub(super) fn unless(&mut self, condition: &Term, target: u32) {
        let span = condition.span;
        match &condition.kind {
            TermKind::Prim(Prim::Compare(comparison, ty @ (Ty::Real | Ty::Int)), args)
                if args.len() == 2 =>
            {
                let (comparison, real) = (*comparison, *ty == Ty::Real);
                self.with_operands(super::terms::items(args), span, |_, operands| {
                    let (a, b) = (operands[0], operands[1]);
                    if real {
                        Instr::JumpUnlessReal { comparison, a, b, target }
                    } else {
                        Instr::JumpUnlessInt { comparison, a, b, target }
                    }
                });
            }
            TermKind::Prim(Prim::Not, args) if args.len() == 1 => {
                self.with_operands(super::terms::items(args), span, |_, operands| Instr::JumpIf {
                    condition: operands[0],
                    target,
                });
            }
            _ => self.with_operands(vec![Item::Term(condition)], span, |_, operands| {
                Instr::JumpUnless { condition: operands[0], target }
            }),
        }
    }

    pub(super) fn case(&mut self, case: &Case, dest: Dest<'_>, span: Span) {
        let constructors = {
            let program = &self.unit.compiler.program;
            program.datas[case.data.0 .0 as usize].constructors.len()
        };
        // What is looked at: a variable, or a result that is kept until an arm takes it apart.
        let node = self.resolve(&case.scrutinee).filter(|node| {
            let nodes = &self.unit.analysis.nodes;
            nodes.leaf(*node).1.is_empty()
        });
        let slot = if node.is_none() { Some(self.temporary()) } else { None };
        let read = |f: &mut Self| match (node, slot) {
            (Some(node), _) => f.read(node),
            (None, Some(slot)) => f.read_slot(slot),
            (None, None) => PackedOperand::ITSELF,
        };
        let evaluate = |f: &mut Self| {
            if let Some(slot) = slot {
                let dst = if f.live.is_live(slot) { Dst::Slot(slot) } else { Dst::Ignore };
                f.term(&case.scrutinee, Dest::Into(&dst));
            }
        };
        let single = match (case.arms.as_slice(), &case.default) {
            ([], Some(default)) => {
                self.term(default, dest);
                true
            }
            ([arm], _) if constructors == 1 => {
                self.term(&arm.body, dest);
                self.fields(&arm.binders, read, span);
                true
            }
            _ => false,
        };
        if single {
            return evaluate(self);
        }
        let end = self.label();
        self.step(CodeItem::Label(end), span);
        let mut table = vec![u32::MAX; constructors];
        let mut branch = self.branch();
        let count = case.arms.len() + usize::from(case.default.is_some());
        for i in (0..count).rev() {
            if i + 1 < count && !matches!(dest, Dest::Return) {
                self.emit(Instr::Jump { target: end }, span);
            }
            let label = self.label();
            match case.arms.get(i) {
                Some(arm) => {
                    self.term(&arm.body, dest);
                    self.fields(&arm.binders, read, arm.body.span);
                    table[arm.tag as usize] = label;
                    self.end_arm(&mut branch, arm.body.span);
                }
                None => {
                    if let Some(default) = &case.default {
                        self.term(default, dest);
                        self.end_arm(&mut branch, default.span);
                    }
                    for (tag, target) in table.iter_mut().enumerate() {
                        if !case.arms.iter().any(|arm| arm.tag as usize == tag) {
                            *target = label;
                        }
                    }
                }
            }
            self.step(CodeItem::Label(label), span);
            if i > 0 {
                self.step(CodeItem::Arm(branch.fork), span);
            }
        }
        self.end_branch(branch, span);
        let start = self.jumps.len() as u32;
        self.jumps.extend_from_slice(&table);
        let table = List { start, len: constructors as u32 };
        let on = read(self);
        self.emit(Instr::Switch { on, table }, span);
        evaluate(self);
    }

    /// Binds the fields of a constructor.
    fn fields(
        &mut self,
        binders: &[crate::term::Binder],
        read: impl FnOnce(&mut Self) -> PackedOperand,
        span: Span,
    ) {
        let parts: Vec<Dst> = binders
            .iter()
            .map(|binder| self.used_slots(self.unit.analysis.places[&binder.var.id]))
            .collect();
        self.unpack(&parts, read, span);
    }
}
