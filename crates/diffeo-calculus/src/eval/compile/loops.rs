//! Loops and comprehensions.

use super::{CodeItem, Dest, Dst, FunctionCompiler, Item};
use crate::eval::code::Instr;
use crate::eval::liveness::WHOLE;
use crate::term::{Build, Control, Loop, Term, TermKind};
use diffeo_base::Span;

impl FunctionCompiler<'_, '_> {
    /// The slots of this function that a region uses: they are needed as long as it is repeated.
    fn outer_slots(&mut self, region: u32) -> Vec<u32> {
        let analysis = self.unit.analysis;
        let free = &analysis.free[&region];
        let mut slots = Vec::new();
        for node in free {
            if let super::VarPlace::Slot(slot) = self.place(*node) {
                slots.push(slot);
            }
        }
        slots
    }

    /// The end of a region: what it uses is given back if nothing behind it needs it, and is needed before.
    fn keep(&mut self, slots: &[u32], span: Span) {
        for slot in slots {
            if !self.live.is_live(*slot) {
                self.emit(Instr::Drop { register: *slot }, span);
            }
            self.live.set(*slot, WHOLE);
        }
    }

    /// The beginning of a step: the parts of the state that it does not read are given back.
    fn begin_step(&mut self, state: &[u32], span: Span) {
        self.keep(state, span);
    }

    pub(super) fn loop_(&mut self, l: &Loop, dest: Dest<'_>, span: Span) {
        let node = self.unit.analysis.places[&l.state.var.id];
        let state = self.all_slots(node);
        let slots = state.slots();
        let outer = self.outer_slots(l.state.var.id);
        // Behind the loop.
        self.pack(&state, dest, span);
        self.keep(&slots, span);
        self.keep(&outer, span);
        let pinned = self.slot_list(slots.clone());
        let (exit, head) = (self.label(), self.label());
        match &l.control {
            Control::Count { index, count } => {
                let index = self.slot(self.unit.analysis.places[&index.var.id]);
                let limit = self.new_slot(true);
                self.keep(&[index, limit], span);
                self.step(CodeItem::Unpin(pinned), span);
                self.step(CodeItem::Label(exit), span);
                self.emit(Instr::CountNext { index, limit, body: head }, span);
                self.term(&l.body, Dest::State(&state, node));
                self.begin_step(&slots, span);
                self.step(CodeItem::Label(head), span);
                self.step(CodeItem::Pin(pinned), span);
                self.live.set(index, 0);
                self.live.set(limit, 0);
                self.with_operands(vec![Item::Term(count)], span, |_, operands| {
                    Instr::CountStart { index, limit, count: operands[0], exit }
                });
            }
            Control::While(condition) => {
                self.step(CodeItem::Unpin(pinned), span);
                self.step(CodeItem::Label(exit), span);
                self.emit(Instr::Jump { target: head }, span);
                self.term(&l.body, Dest::State(&state, node));
                self.begin_step(&slots, span);
                self.unless(condition, exit);
                self.step(CodeItem::Label(head), span);
                self.step(CodeItem::Pin(pinned), span);
            }
        }
        self.term(&l.init, Dest::Into(&state));
    }

    pub(super) fn comprehension(&mut self, build: &Build, dest: Dest<'_>, span: Span) {
        let outer = self.outer_slots(build.index.var.id);
        let to = self.result(dest, span);
        self.emit(Instr::BuildEnd { to }, span);
        self.keep(&outer, span);
        let index = self.slot(self.unit.analysis.places[&build.index.var.id]);
        let limit = self.new_slot(true);
        self.keep(&[index, limit], span);
        let (exit, head) = (self.label(), self.label());
        self.step(CodeItem::Label(exit), span);
        self.emit(Instr::CountNext { index, limit, body: head }, span);
        let element = build.body.span;
        self.with_operands(vec![Item::Term(&build.body)], element, |_, operands| {
            Instr::BuildPush { value: operands[0] }
        });
        self.step(CodeItem::Label(head), span);
        self.live.set(index, 0);
        self.live.set(limit, 0);
        self.with_operands(vec![Item::Term(&build.count)], span, |_, operands| Instr::BuildStart {
            index,
            limit,
            count: operands[0],
            exit,
        });
    }

    /// Gives some slots, which are needed from here on, new values that may depend on the old ones: the next
    /// state of a loop, or the arguments of a tail call of the function itself.
    ///
    /// A component whose old value nothing behind it reads is computed straight into its slot; thus
    /// `(acc with [i] = x, n + 1)` changes the array in place. The others wait in slots of their own.
    pub(super) fn assign(&mut self, state: &Dst, term: &Term) {
        let mut parts = Vec::new();
        self.assignments(state, term, &mut parts);
        // The moves at the end, to be filled.
        let mut moves = Vec::with_capacity(parts.len());
        for (part, term) in &parts {
            match part {
                Dst::Slot(slot) => {
                    moves.push((self.steps.len(), None));
                    self.step(CodeItem::Nothing, term.span);
                    self.live.set(*slot, 0);
                }
                Dst::Split(parts) => {
                    let whole = self.temporary();
                    moves.push((0, Some(whole)));
                    self.unpack(parts, |f| f.read_slot(whole), term.span);
                }
                Dst::Ignore => moves.push((0, None)),
            }
        }
        for ((part, term), (at, whole)) in parts.into_iter().zip(moves).rev() {
            let slot = match (part, whole) {
                (Dst::Slot(slot), _) if !self.live.is_live(*slot) => {
                    self.live.set(*slot, WHOLE);
                    *slot
                }
                (Dst::Slot(slot), _) => {
                    let new = self.temporary();
                    let from = self.read_slot(new);
                    self.steps[at].0 = CodeItem::Do(Instr::Move { to: *slot, from });
                    new
                }
                (Dst::Split(_), Some(whole)) => whole,
                (Dst::Split(_), None) | (Dst::Ignore, _) => {
                    self.term(term, Dest::Into(&Dst::Ignore));
                    continue;
                }
            };
            self.term(term, Dest::Into(&Dst::Slot(slot)));
        }
    }

    /// Which component goes where; none for a component that stays as it is.
    fn assignments<'s, 't>(
        &mut self,
        state: &'s Dst,
        term: &'t Term,
        parts: &mut Vec<(&'s Dst, &'t Term)>,
    ) {
        if let Some(node) = self.resolve(term) {
            let path = self.unit.analysis.nodes.leaf(node).1;
            if path.is_empty() && self.is_in(node, state) {
                return;
            }
        }
        match (state, &term.kind) {
            (Dst::Split(slots), TermKind::Tuple(_, terms)) if slots.len() == terms.len() => {
                for (slot, term) in slots.iter().zip(terms) {
                    self.assignments(slot, term, parts);
                }
            }
            _ => parts.push((state, term)),
        }
    }

    /// Whether a variable or component lies in these slots.
    fn is_in(&mut self, node: u32, dst: &Dst) -> bool {
        match dst {
            Dst::Slot(slot) => {
                !self.unit.analysis.nodes.is_split(node)
                    && matches!(self.place(node), super::VarPlace::Slot(s) if s == *slot)
            }
            Dst::Split(parts) => parts.iter().enumerate().all(|(i, part)| {
                let child = self.unit.analysis.nodes.find(node, i);
                child.is_some_and(|child| self.is_in(child, part))
            }),
            Dst::Ignore => false,
        }
    }
}
