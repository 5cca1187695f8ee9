//! Calls.

use super::terms::items;
use super::{Dest, Dst, FunctionCompiler, Item};
use crate::eval::code::{Instr, ParamShape};
use crate::eval::liveness::WHOLE;
use crate::term::{GlobalId, Term, TermKind};
use diffeo_base::Span;

/// A function that is known where it is called.
enum Callee {
    Global(GlobalId),
    Itself,
    Value,
}

impl FunctionCompiler<'_, '_> {
    fn callee(&mut self, f: &Term) -> Callee {
        match &f.kind {
            TermKind::Global(id) if self.me == Some(*id) => Callee::Itself,
            TermKind::Global(id) if self.unit.compiler.is_function(*id) => Callee::Global(*id),
            TermKind::Var(_) if self.itself.is_some() && self.resolve(f) == self.itself => {
                Callee::Itself
            }
            _ => Callee::Value,
        }
    }

    pub(super) fn application(&mut self, f: &Term, arg: &Term, dest: Dest<'_>, span: Span) {
        if let TermKind::Lam(binder, body) = &f.kind {
            self.term(body, dest);
            return self.bind(binder, arg);
        }
        let tail = matches!(dest, Dest::Return);
        match self.callee(f) {
            Callee::Itself if tail => self.again(arg, span),
            Callee::Itself => {
                let to = self.result(dest, span);
                let mut items = Vec::new();
                self.arguments(&self.shape.clone(), arg, &mut items);
                self.with_operands(items, span, |f, operands| Instr::CallItself {
                    to,
                    args: f.list(operands),
                });
            }
            Callee::Global(id) => {
                let shape = self.unit.compiler.shape(id);
                let mut items = Vec::new();
                self.arguments(&shape, arg, &mut items);
                let global = id.0;
                let to = if tail { 0 } else { self.result(dest, span) };
                self.with_operands(items, span, |f, operands| {
                    let args = f.list(operands);
                    if tail {
                        Instr::TailGlobal { global, args }
                    } else {
                        Instr::CallGlobal { to, global, args }
                    }
                });
            }
            Callee::Value => {
                let to = if tail { 0 } else { self.result(dest, span) };
                let mut all = vec![Item::Term(f)];
                let spread = match &arg.kind {
                    TermKind::Tuple(_, components) => {
                        all.extend(items(components));
                        true
                    }
                    _ => {
                        all.push(Item::Term(arg));
                        false
                    }
                };
                self.with_operands(all, span, |f, operands| {
                    let function = operands[0];
                    let args = f.list(&operands[1..]);
                    if tail {
                        Instr::Tail { function, args, spread }
                    } else {
                        Instr::Call { to, function, args, spread }
                    }
                });
            }
        }
    }

    /// A tail call of the function itself: a loop.
    fn again(&mut self, arg: &Term, span: Span) {
        let entry = match self.entry {
            Some(entry) => entry,
            None => {
                let entry = self.label();
                self.entry = Some(entry);
                entry
            }
        };
        self.emit(Instr::Jump { target: entry }, span);
        let parameter = self.parameter.clone();
        for slot in parameter.slots() {
            self.live.set(slot, WHOLE);
        }
        self.assign(&parameter, arg);
    }

    /// The operands for an argument that is passed in this shape.
    fn arguments<'t>(&mut self, shape: &ParamShape, arg: &'t Term, items: &mut Vec<Item<'t>>) {
        match (shape, &arg.kind) {
            (ParamShape::One, _) => items.push(Item::Term(arg)),
            (ParamShape::Split(shapes), TermKind::Tuple(_, components))
                if shapes.len() == components.len() =>
            {
                for (shape, component) in shapes.iter().zip(components) {
                    self.arguments(shape, component, items);
                }
            }
            (ParamShape::Split(_), _) => {
                let dst = self.temporaries(shape);
                items.push(Item::Spread(arg, dst));
            }
        }
    }

    fn temporaries(&mut self, shape: &ParamShape) -> Dst {
        match shape {
            ParamShape::One => Dst::Slot(self.temporary()),
            ParamShape::Split(shapes) => {
                Dst::Split(shapes.iter().map(|shape| self.temporaries(shape)).collect())
            }
        }
    }
}
