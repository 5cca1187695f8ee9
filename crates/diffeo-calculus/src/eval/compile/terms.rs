//! The forms that make, move and take apart values.

use super::{function, Dest, Dst, FunctionCompiler, FunctionSource, Head, Item, VarPlace};
use crate::array::Array;
use crate::eval::code::Instr;
use crate::eval::liveness::WHOLE;
use crate::term::{Binder, Lit, Term, TermKind};
use crate::value::{FunctionValue, Value};
use diffeo_base::deep;
use diffeo_base::{Name, Span};
use std::collections::HashMap;
use std::rc::Rc;

/// How deep in one another the tuples and arrays of a constant may be.
const CONSTANT_DEPTH: usize = 8;

fn literal(literal: &Lit) -> Value {
    match literal {
        Lit::Real(x) => Value::Real(*x),
        Lit::Int(n) => Value::Int(*n),
        Lit::Bool(b) => Value::Bool(*b),
        Lit::String(text) => Value::string(text),
        Lit::Unit => Value::Unit,
    }
}

/// The value of a term that is made of literals.
pub(super) fn constant(term: &Term) -> Option<Value> {
    constant_within(term, CONSTANT_DEPTH)
}

fn constant_within(term: &Term, depth: usize) -> Option<Value> {
    match &term.kind {
        TermKind::Lit(lit) => Some(literal(lit)),
        TermKind::Con(_, _, tag, fields) if fields.is_empty() => Some(Value::data(*tag, [])),
        TermKind::Array(_, items) if depth > 0 && !items.is_empty() => {
            let items: Option<Vec<Value>> =
                items.iter().map(|item| constant_within(item, depth - 1)).collect();
            Array::from_values(items?).ok().map(Value::array)
        }
        TermKind::Tuple(_, items) if depth > 0 => {
            let items: Option<Vec<Value>> =
                items.iter().map(|item| constant_within(item, depth - 1)).collect();
            Some(Value::tuple(items?))
        }
        TermKind::Con(..)
        | TermKind::Array(..)
        | TermKind::Tuple(..)
        | TermKind::Var(_)
        | TermKind::Global(_)
        | TermKind::Lam(..)
        | TermKind::App(..)
        | TermKind::Let(..)
        | TermKind::LetRec(..)
        | TermKind::Proj(..)
        | TermKind::Case(_)
        | TermKind::If(..)
        | TermKind::Build(_)
        | TermKind::Loop(_)
        | TermKind::Prim(..)
        | TermKind::Diff(..) => None,
    }
}

impl FunctionCompiler<'_, '_> {
    /// Compiles a term whose value goes to `dest`.
    pub(super) fn term(&mut self, term: &Term, dest: Dest<'_>) {
        deep(|| self.kind(term, dest));
    }

    fn kind(&mut self, term: &Term, dest: Dest<'_>) {
        let span = term.span;
        if let Some(node) = self.resolve(term) {
            return self.load(node, dest, span);
        }
        match &term.kind {
            TermKind::Var(var) => {
                unreachable!("the variable {}.{} is bound nowhere", var.name, var.id)
            }
            TermKind::Lit(lit) => self.load_constant(literal(lit), dest, span),
            TermKind::Global(id) => {
                if !self.is_dead_dest(dest) || !self.unit.compiler.is_function(*id) {
                    let to = self.result(dest, span);
                    self.emit(Instr::Global { to, global: id.0 }, span);
                }
            }
            TermKind::Lam(binder, body) => {
                self.closure(Name::new("fn"), binder, body, None, dest, span);
            }
            TermKind::App(f, arg) => self.application(f, arg, dest, span),
            TermKind::Let(bindings, body) => {
                self.term(body, dest);
                for (binder, value) in bindings.iter().rev() {
                    self.bind(binder, value);
                }
            }
            TermKind::LetRec(binder, f, body) => {
                self.term(body, dest);
                if let TermKind::Lam(parameter, inner) = &f.kind {
                    let id = binder.var.id;
                    let dst = self.used_slots(self.unit.analysis.places[&id]);
                    self.unit.inside.insert(id);
                    let (name, into) = (binder.var.name.clone(), Dest::Into(&dst));
                    self.closure(name, parameter, inner, Some(id), into, f.span);
                    self.unit.inside.remove(&id);
                }
            }
            TermKind::Tuple(_, components) => self.tuple(term, components, dest, span),
            TermKind::Proj(_, index, tuple) => {
                let to = self.result(dest, span);
                let index = *index as u32;
                self.with_operands(vec![Item::Term(tuple)], span, |_, operands| Instr::Project {
                    to,
                    from: operands[0],
                    index,
                    steal: false,
                });
            }
            TermKind::Con(_, _, tag, fields) => match constant(term) {
                Some(value) => self.load_constant(value, dest, span),
                None => {
                    let (to, tag) = (self.result(dest, span), *tag);
                    self.with_operands(items(fields), span, |f, operands| Instr::Construct {
                        to,
                        tag,
                        args: f.list(operands),
                    });
                }
            },
            TermKind::Array(_, elements) => match constant(term) {
                Some(value) => self.load_constant(value, dest, span),
                None => {
                    let to = self.result(dest, span);
                    self.with_operands(items(elements), span, |f, operands| Instr::Array {
                        to,
                        args: f.list(operands),
                    });
                }
            },
            TermKind::Case(case) => self.case(case, dest, span),
            TermKind::If(condition, yes, no) => self.if_(condition, yes, no, dest, span),
            TermKind::Build(build) => self.comprehension(build, dest, span),
            TermKind::Loop(l) => self.loop_(l, dest, span),
            TermKind::Prim(prim, args) => self.prim(prim, args, dest, span),
            TermKind::Diff(diff, args) => {
                let to = self.result(dest, span);
                self.diffs.push(diff.op);
                let diff = self.diffs.len() as u32 - 1;
                self.with_operands(items(args), span, |f, operands| Instr::Diff {
                    diff,
                    to,
                    args: f.list(operands),
                });
            }
        }
    }

    /// Binds a variable to the value of a term.
    pub(super) fn bind(&mut self, binder: &Binder, value: &Term) {
        let id = binder.var.id;
        if self.unit.analysis.aliases.contains(&id) {
            return;
        }
        let mut dst = self.used_slots(self.unit.analysis.places[&id]);
        if self.is_dead(&dst) {
            dst = Dst::Ignore;
        }
        match &value.kind {
            TermKind::Lam(parameter, body) => {
                let (name, into) = (binder.var.name.clone(), Dest::Into(&dst));
                self.closure(name, parameter, body, None, into, value.span);
            }
            _ => self.term(value, Dest::Into(&dst)),
        }
    }

    pub(super) fn is_dead_dest(&self, dest: Dest<'_>) -> bool {
        match dest {
            Dest::Return | Dest::State(..) => false,
            Dest::Into(dst) => self.is_dead(dst),
        }
    }

    /// The value of a variable or of a component of one.
    pub(super) fn load(&mut self, node: u32, dest: Dest<'_>, span: Span) {
        if let Dest::State(_, state) = dest {
            if state == node {
                // The state stays as it is.
                return;
            }
        }
        if self.is_dead_dest(dest) {
            return;
        }
        let (leaf, path) = self.unit.analysis.nodes.leaf(node);
        if self.unit.analysis.nodes.is_split(leaf) {
            let from = self.all_slots(leaf);
            return self.pack(&from, dest, span);
        }
        let Some((first, rest)) = path.split_first() else {
            match dest {
                // It stays where it is.
                Dest::Into(Dst::Slot(slot)) if matches!(self.place(leaf), VarPlace::Slot(s) if s == *slot) =>
                    {}
                Dest::Return => {
                    let value = self.read(leaf);
                    self.emit(Instr::Return { value }, span);
                }
                Dest::Into(Dst::Split(parts)) | Dest::State(Dst::Split(parts), _) => {
                    self.unpack(parts, |f| f.read(leaf), span);
                }
                Dest::Into(_) | Dest::State(..) => {
                    let to = self.result(dest, span);
                    let from = self.read(leaf);
                    self.emit(Instr::Move { to, from }, span);
                }
            }
            return;
        };
        let mut to = self.result(dest, span);
        for index in rest.iter().rev() {
            let tuple = self.temporary();
            let from = self.read_slot(tuple);
            self.emit(Instr::Project { to, from, index: *index, steal: false }, span);
            to = self.define(tuple, span);
        }
        let (from, steal) = self.read_for(leaf, *first);
        self.emit(Instr::Project { to, from, index: *first, steal }, span);
    }

    pub(super) fn load_constant(&mut self, value: Value, dest: Dest<'_>, span: Span) {
        if self.is_dead_dest(dest) {
            return;
        }
        let operand = self.constant(value);
        match dest {
            Dest::Return => self.emit(Instr::Return { value: operand }, span),
            Dest::Into(_) | Dest::State(..) => {
                let to = self.result(dest, span);
                self.emit(Instr::Move { to, from: operand }, span);
            }
        }
    }

    /// The value that lies in these slots.
    pub(super) fn pack(&mut self, from: &Dst, dest: Dest<'_>, span: Span) {
        match (from, dest) {
            (Dst::Split(parts), Dest::Into(Dst::Split(into))) if parts.len() == into.len() => {
                for (part, into) in parts.iter().zip(into).rev() {
                    self.pack(part, Dest::Into(into), span);
                }
            }
            (_, Dest::Into(dst)) if self.is_dead(dst) => {
                for slot in from.slots() {
                    if !self.live.is_live(slot) {
                        self.emit(Instr::Drop { register: slot }, span);
                        self.live.set(slot, WHOLE);
                    }
                }
            }
            (Dst::Slot(slot), Dest::Return) => {
                let value = self.read_slot(*slot);
                self.emit(Instr::Return { value }, span);
            }
            (Dst::Slot(slot), Dest::Into(Dst::Split(parts)))
            | (Dst::Slot(slot), Dest::State(Dst::Split(parts), _)) => {
                self.unpack(parts, |f| f.read_slot(*slot), span);
            }
            (Dst::Slot(slot), _) => {
                let to = self.result(dest, span);
                let from = self.read_slot(*slot);
                self.emit(Instr::Move { to, from }, span);
            }
            (Dst::Split(parts), _) => {
                let to = self.result(dest, span);
                let mut operands = Vec::with_capacity(parts.len());
                let mut inner = Vec::new();
                for part in parts.iter().rev() {
                    match part {
                        Dst::Slot(slot) => operands.push(self.read_slot(*slot)),
                        Dst::Split(_) | Dst::Ignore => {
                            let slot = self.temporary();
                            operands.push(self.read_slot(slot));
                            inner.push((part, Dst::Slot(slot)));
                        }
                    }
                }
                operands.reverse();
                let args = self.list(&operands);
                self.emit(Instr::Tuple { to, args }, span);
                for (part, dst) in inner {
                    self.pack(part, Dest::Into(&dst), span);
                }
            }
            (Dst::Ignore, _) => self.load_constant(Value::Unit, dest, span),
        }
    }

    fn tuple(&mut self, term: &Term, components: &[Term], dest: Dest<'_>, span: Span) {
        match dest {
            Dest::Into(Dst::Split(parts)) if parts.len() == components.len() => {
                for (component, part) in components.iter().zip(parts).rev() {
                    self.term(component, Dest::Into(part));
                }
            }
            Dest::Into(dst) if self.is_dead(dst) => {
                for component in components.iter().rev() {
                    self.term(component, Dest::Into(&Dst::Ignore));
                }
            }
            Dest::State(state, _) if matches!(state, Dst::Split(_)) => self.assign(state, term),
            Dest::Return | Dest::Into(_) | Dest::State(..) => match constant(term) {
                Some(value) => self.load_constant(value, dest, span),
                None => {
                    let to = self.result(dest, span);
                    self.with_operands(items(components), span, |f, operands| Instr::Tuple {
                        to,
                        args: f.list(operands),
                    });
                }
            },
        }
    }

    /// A function value. `id` is the variable under which a recursive function knows itself.
    fn closure(
        &mut self,
        name: Name,
        parameter: &Binder,
        body: &Term,
        id: Option<u32>,
        dest: Dest<'_>,
        span: Span,
    ) {
        if self.is_dead_dest(dest) {
            return;
        }
        let analysis = self.unit.analysis;
        let itself = id.map(|id| analysis.itself[&id]);
        let head = Head { name, parameter: Some(parameter), me: None, itself };
        let code = function(self.unit, head, body);
        let free = &analysis.free[&parameter.var.id];
        if self.unit.compiler.sources.is_some() {
            self.note_source(code, parameter, id);
        }
        if free.is_empty() {
            let captured = Box::new([]);
            let closure = FunctionValue::Closure { code, captured };
            return self.load_constant(Value::Function(Rc::new(closure)), dest, span);
        }
        let to = self.result(dest, span);
        let captured = free.iter().map(|node| Item::Node(*node)).collect();
        self.with_operands(captured, span, |f, operands| Instr::Closure {
            to,
            code,
            captured: f.list(operands),
        });
    }
}

impl FunctionCompiler<'_, '_> {
    /// Notes what a function value was compiled from.
    fn note_source(&mut self, code: u32, parameter: &Binder, itself: Option<u32>) {
        let parameter = parameter.var.id;
        let analysis = self.unit.analysis;
        let places: HashMap<u32, u32> =
            analysis.free[&parameter].iter().zip(0..).map(|(node, i)| (*node, i)).collect();
        let mut captured = Vec::new();
        for var in &analysis.mentioned[&parameter] {
            let node = self.node_of(*var).filter(|_| itself != Some(*var));
            if let Some(place) = node.and_then(|node| places.get(&node)) {
                captured.push((*var, *place));
            }
        }
        if let Some(sources) = &mut self.unit.compiler.sources {
            sources.insert(code, FunctionSource::Local { parameter, captured });
        }
    }
}

/// Operands for some terms.
pub(super) fn items(terms: &[Term]) -> Vec<Item<'_>> {
    terms.iter().map(Item::Term).collect()
}
