//! Core terms to register code.
//!
//! A definition comes in, with its [`Analysis`]; out comes the [`Code`] of it and of the functions in it.
//! The time is linear in the size of the term (but for what has to be written down for each branch).
//!
//! Code is generated from the end of a function to its beginning, over *slots*: one for each variable or
//! component that lives in a register, and one for each intermediate result. Where an instruction is emitted,
//! everything behind it is there already, so that [`Live`] tells whether a use is the last one; and where a
//! term is compiled, its [`Dest`] says what becomes of its value. Then [`registers`] puts the slots into
//! registers.
//!
//! Variables never change, but for the state of a loop and the parameter of a function that calls itself in
//! tail position: their slots are written at the end of each step; see [`FunctionCompiler::assign`].

mod branches;
mod calls;
mod loops;
mod prims;
mod registers;
mod terms;

use super::code::{Code, ComponentTarget, Instr, List, PackedOperand, ParamShape, SizesCall};
use super::liveness::{Live, WHOLE};
use super::scope::{analyse, Analysis};
use super::usage::{path_of, NONE};
use crate::prim::{DiffOp, Prim};
use crate::term::{Binder, GlobalId, Program, Term, TermKind};
use crate::ty::Ty;
use crate::value::Value;
use diffeo_base::{Name, Span};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Compiles the definitions of a program, each when it is asked for.
#[derive(Debug)]
pub(crate) struct Compiler {
    program: Rc<Program>,
    /// All functions compiled so far, by the number that function values hold.
    pub codes: Vec<Rc<Code>>,
    /// Of the definitions whose shape was needed: the analysis until they are compiled, and the shape.
    analyses: HashMap<GlobalId, Analysis>,
    shapes: HashMap<GlobalId, Rc<ParamShape>>,
    /// Where the functions were compiled from, if that is to be known.
    pub sources: Option<Sources>,
}

/// By the number of its code, what each function was compiled from.
pub(crate) type Sources = HashMap<u32, FunctionSource>;

/// What a function was compiled from.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum FunctionSource {
    /// A definition.
    Definition(GlobalId),
    /// A function within a definition.
    Local {
        /// The variable of its parameter.
        parameter: u32,
        /// The variables from around it, with the places of their values among what it captured.
        captured: Vec<(u32, u32)>,
    },
}

impl Compiler {
    /// Nothing is compiled yet.
    pub fn new(program: Rc<Program>) -> Compiler {
        let (analyses, shapes) = (HashMap::new(), HashMap::new());
        Compiler { program, codes: Vec::new(), analyses, shapes, sources: None }
    }

    /// The program has grown.
    pub fn grow(&mut self, program: Rc<Program>) {
        self.program = program;
    }

    /// Compiles a definition: the number of the function that it is, or that computes the constant.
    pub fn global(&mut self, id: GlobalId) -> u32 {
        let program = self.program.clone();
        let global = &program.globals[id.0 as usize];
        let analysis = self.analyses.remove(&id);
        let whole = self.sources.is_some();
        let analysis = analysis.unwrap_or_else(|| analyse(&global.body, whole));
        let mut unit =
            Unit { compiler: self, analysis: &analysis, definition: id, inside: HashSet::new() };
        let (parameter, body, is_function) = match &global.body.kind {
            TermKind::Lam(binder, body) => (Some(binder), &**body, true),
            _ => (None, &global.body, false),
        };
        let me = is_function.then_some(id);
        let head = Head { name: global.name.clone(), parameter, me, itself: None };
        let code = function(&mut unit, head, body);
        if let Some(sources) = &mut self.sources {
            sources.insert(code, FunctionSource::Definition(id));
        }
        code
    }

    /// The shape of the parameter of a definition that is a function.
    fn shape(&mut self, id: GlobalId) -> Rc<ParamShape> {
        if let Some(shape) = self.shapes.get(&id) {
            return shape.clone();
        }
        let program = self.program.clone();
        let body = &program.globals[id.0 as usize].body;
        let analysis = analyse(body, self.sources.is_some());
        let shape = match &body.kind {
            TermKind::Lam(binder, _) => analysis.shape(analysis.places[&binder.var.id]),
            _ => ParamShape::One,
        };
        let shape = Rc::new(shape);
        self.shapes.insert(id, shape.clone());
        self.analyses.insert(id, analysis);
        shape
    }

    /// Whether a definition is a function.
    fn is_function(&self, id: GlobalId) -> bool {
        matches!(self.program.globals[id.0 as usize].body.kind, TermKind::Lam(..))
    }
}

/// A definition that is being compiled.
struct Unit<'a> {
    compiler: &'a mut Compiler,
    analysis: &'a Analysis,
    definition: GlobalId,
    /// The recursive functions around the present place.
    inside: HashSet<u32>,
}

/// What a function is called and how it is referred to.
struct Head<'t> {
    name: Name,
    /// None for the code of a constant.
    parameter: Option<&'t Binder>,
    /// The definition that it is.
    me: Option<GlobalId>,
    /// The node under which it refers to itself.
    itself: Option<u32>,
}

/// Where a value goes.
#[derive(Clone, PartialEq, Debug)]
enum Dst {
    /// Into a slot.
    Slot(u32),
    /// The components of a tuple, each on its own.
    Split(Vec<Dst>),
    /// Nobody wants it.
    Ignore,
}

impl Dst {
    /// Its slots in order.
    fn slots(&self) -> Vec<u32> {
        let mut slots = Vec::new();
        let mut pending = vec![self];
        while let Some(dst) = pending.pop() {
            match dst {
                Dst::Slot(slot) => slots.push(*slot),
                Dst::Split(parts) => pending.extend(parts.iter().rev()),
                Dst::Ignore => {}
            }
        }
        slots
    }
}

/// What becomes of the value of a term.
#[derive(Clone, Copy, Debug)]
enum Dest<'d> {
    /// It is the value of the function.
    Return,
    /// It goes there.
    Into(&'d Dst),
    /// It is the next state of the loop with these slots and this node.
    State(&'d Dst, u32),
}

/// Code under construction.
#[derive(Clone, Copy, Debug)]
enum CodeItem {
    /// An instruction; its jumps hold labels.
    Do(Instr),
    /// The place that jumps refer to.
    Label(u32),
    /// The slots of this entry of [`FunctionCompiler::lists`] are given back.
    Drops(u32),
    /// Here the first arm of a branch begins. Its arms all write the slots of the entry of
    /// [`FunctionCompiler::lists`].
    Fork(u32),
    /// Here another arm of that branch begins.
    Arm(u32),
    /// From here on these slots keep their registers even when they are read for the last time.
    Pin(u32),
    /// Until here.
    Unpin(u32),
    /// A place to be filled.
    Nothing,
}

/// Where a variable is.
#[derive(Clone, Copy)]
enum VarPlace {
    Slot(u32),
    Captured(u32),
    Itself,
}

/// What an operand is made from.
enum Item<'t> {
    Term(&'t Term),
    /// A variable or component that is not split.
    Node(u32),
    /// Several operands: the slots of the destination.
    Spread(&'t Term, Dst),
}

/// A function that is being compiled.
struct FunctionCompiler<'u, 'a> {
    unit: &'u mut Unit<'a>,
    me: Option<GlobalId>,
    itself: Option<u32>,
    shape: ParamShape,
    parameter: Dst,
    /// The label behind the entry, if there are tail calls of the function itself.
    entry: Option<u32>,
    /// What is generated, last step first.
    steps: Vec<(CodeItem, Span)>,
    /// For each slot, whether its values own no memory worth giving back.
    scalar: Vec<bool>,
    slots: HashMap<u32, u32>,
    captured: HashMap<u32, u32>,
    live: Live,
    labels: u32,
    lists: Vec<Vec<u32>>,
    operands: Vec<PackedOperand>,
    targets: Vec<ComponentTarget>,
    constants: Vec<Value>,
    jumps: Vec<u32>,
    prims: Vec<Prim>,
    diffs: Vec<DiffOp>,
    sizes: Vec<SizesCall>,
}

// Note [What a function captured moves out]
//
// Translated code is curried: D{λx. e} is λx. λs. …, so that an array that D{e} changes has been captured. It is
// changed in place if it moves into a register of the call, which it can where nothing else refers to the function.
// One that calls itself needs what it captured again.

/// Compiles a function and gives its number.
fn function(unit: &mut Unit<'_>, head: Head<'_>, body: &Term) -> u32 {
    let analysis = unit.analysis;
    let mut captured = HashMap::new();
    let mut opened: &[u32] = &[];
    if let (Some(binder), None) = (head.parameter, head.me) {
        let free = &analysis.free[&binder.var.id];
        // See Note [What a function captured moves out].
        if unit.compiler.sources.is_some() && head.itself.is_none() {
            opened = free;
        } else {
            captured = free.iter().zip(0..).map(|(node, i)| (*node, i)).collect();
        }
    }
    let mut f = FunctionCompiler {
        unit,
        me: head.me,
        itself: head.itself,
        shape: ParamShape::Split(Vec::new()),
        parameter: Dst::Split(Vec::new()),
        entry: None,
        steps: Vec::new(),
        scalar: Vec::new(),
        slots: HashMap::new(),
        captured,
        live: Live::default(),
        labels: 0,
        lists: Vec::new(),
        operands: Vec::new(),
        targets: Vec::new(),
        constants: Vec::new(),
        jumps: Vec::new(),
        prims: Vec::new(),
        diffs: Vec::new(),
        sizes: Vec::new(),
    };
    if let Some(binder) = head.parameter {
        let node = analysis.places[&binder.var.id];
        f.shape = analysis.shape(node);
        f.parameter = f.all_slots(node);
    }
    f.term(body, Dest::Return);
    let parameters = f.parameter.slots();
    for slot in &parameters {
        if !f.live.is_live(*slot) {
            f.step(CodeItem::Do(Instr::Drop { register: *slot }), body.span);
        }
    }
    if let Some(entry) = f.entry {
        f.step(CodeItem::Label(entry), body.span);
        let list = f.slot_list(parameters.clone());
        f.step(CodeItem::Pin(list), body.span);
    }
    let mut targets = Vec::new();
    for (node, index) in opened.iter().zip(0..) {
        let register = f.slot(*node);
        if f.live.is_live(register) {
            targets.push(ComponentTarget { index, register });
        }
    }
    if !targets.is_empty() {
        let targets = f.target_list(&targets);
        f.emit(Instr::Open { targets }, body.span);
    }
    f.steps.reverse();
    let mut code = registers::assign(f, head.name, &parameters);
    let codes = &mut unit.compiler.codes;
    code.number = codes.len() as u32;
    codes.push(Rc::new(code));
    codes.len() as u32 - 1
}

impl<'u, 'a> FunctionCompiler<'u, 'a> {
    // Steps

    fn step(&mut self, step: CodeItem, span: Span) {
        self.steps.push((step, span));
    }

    fn emit(&mut self, instr: Instr, span: Span) {
        self.step(CodeItem::Do(instr), span);
    }

    fn label(&mut self) -> u32 {
        self.labels += 1;
        self.labels - 1
    }

    fn slot_list(&mut self, slots: Vec<u32>) -> u32 {
        self.lists.push(slots);
        self.lists.len() as u32 - 1
    }

    fn list(&mut self, operands: &[PackedOperand]) -> List {
        let start = self.operands.len() as u32;
        self.operands.extend_from_slice(operands);
        List { start, len: operands.len() as u32 }
    }

    fn target_list(&mut self, targets: &[ComponentTarget]) -> List {
        let start = self.targets.len() as u32;
        self.targets.extend_from_slice(targets);
        List { start, len: targets.len() as u32 }
    }

    fn constant(&mut self, value: Value) -> PackedOperand {
        self.constants.push(value);
        PackedOperand::constant(self.constants.len() as u32 - 1)
    }

    // Slots

    fn new_slot(&mut self, scalar: bool) -> u32 {
        self.scalar.push(scalar);
        self.scalar.len() as u32 - 1
    }

    /// A slot for an intermediate result.
    fn temporary(&mut self) -> u32 {
        self.new_slot(false)
    }

    /// The slot of a node that this function binds.
    fn slot(&mut self, node: u32) -> u32 {
        if let Some(slot) = self.slots.get(&node) {
            return *slot;
        }
        let scalar = match &self.unit.analysis.nodes.0[node as usize].ty {
            Ty::Real | Ty::Int | Ty::Bool | Ty::Unit => true,
            Ty::String
            | Ty::Tuple(_)
            | Ty::Record(_)
            | Ty::Array(_)
            | Ty::Data(..)
            | Ty::Fun(_)
            | Ty::Param(_) => false,
        };
        let slot = self.new_slot(scalar);
        self.slots.insert(node, slot);
        slot
    }

    /// Where a variable goes that is bound here; the components that are not used are ignored.
    fn used_slots(&mut self, node: u32) -> Dst {
        if !self.unit.analysis.nodes.is_split(node) {
            return Dst::Slot(self.slot(node));
        }
        let children = &self.unit.analysis.nodes.0[node as usize].children;
        let parts = children
            .iter()
            .map(|c| if *c == NONE { Dst::Ignore } else { self.used_slots(*c) })
            .collect();
        Dst::Split(parts)
    }

    /// Where a variable goes of which every component is kept.
    fn all_slots(&mut self, node: u32) -> Dst {
        if !self.unit.analysis.nodes.is_split(node) {
            return Dst::Slot(self.slot(node));
        }
        let children = &self.unit.analysis.nodes.0[node as usize].children;
        let parts = children
            .iter()
            .map(|c| match *c {
                NONE => Dst::Slot(self.new_slot(false)),
                child => self.all_slots(child),
            })
            .collect();
        Dst::Split(parts)
    }

    /// A slot that is written here: it is not needed before. If it is not needed behind either, it is
    /// given back at once.
    fn define(&mut self, slot: u32, span: Span) -> u32 {
        if self.live.is_live(slot) {
            self.live.set(slot, 0);
        } else {
            self.emit(Instr::Drop { register: slot }, span);
        }
        slot
    }

    fn is_dead(&self, dst: &Dst) -> bool {
        match dst {
            Dst::Slot(slot) => !self.live.is_live(*slot),
            Dst::Split(parts) => parts.iter().all(|part| self.is_dead(part)),
            Dst::Ignore => true,
        }
    }

    // Reading

    /// The node of a variable or a component of one.
    fn resolve(&self, term: &Term) -> Option<u32> {
        let (var, path) = path_of(term)?;
        let mut node = self.node_of(var)?;
        for index in path {
            node = self.unit.analysis.nodes.find(node, index)?;
        }
        Some(node)
    }

    /// The node of a variable.
    fn node_of(&self, var: u32) -> Option<u32> {
        let Analysis { places, itself, .. } = self.unit.analysis;
        let places = if self.unit.inside.contains(&var) { itself } else { places };
        places.get(&var).copied()
    }

    fn place(&mut self, leaf: u32) -> VarPlace {
        if self.itself == Some(leaf) {
            VarPlace::Itself
        } else if let Some(i) = self.captured.get(&leaf) {
            VarPlace::Captured(*i)
        } else {
            VarPlace::Slot(self.slot(leaf))
        }
    }

    fn read_slot(&mut self, slot: u32) -> PackedOperand {
        let last = !self.live.is_live(slot);
        self.live.set(slot, WHOLE);
        if last {
            PackedOperand::take(slot)
        } else {
            PackedOperand::copy(slot)
        }
    }

    /// Reads a node that is not split.
    fn read(&mut self, leaf: u32) -> PackedOperand {
        match self.place(leaf) {
            VarPlace::Slot(slot) => self.read_slot(slot),
            VarPlace::Captured(i) => PackedOperand::captured(i),
            VarPlace::Itself => PackedOperand::ITSELF,
        }
    }

    /// Reads a node for one of its components; whether the component may be moved out.
    fn read_for(&mut self, leaf: u32, index: u32) -> (PackedOperand, bool) {
        let VarPlace::Slot(slot) = self.place(leaf) else {
            return (self.read(leaf), false);
        };
        let mask = self.live.get(slot);
        let bit = 1u64.checked_shl(index).unwrap_or(0);
        if mask == 0 {
            self.live.set(slot, if bit == 0 { WHOLE } else { bit });
            (PackedOperand::take(slot), false)
        } else if mask == WHOLE || bit == 0 {
            self.live.set(slot, WHOLE);
            (PackedOperand::copy(slot), false)
        } else {
            self.live.set(slot, mask | bit);
            (PackedOperand::copy(slot), mask & bit == 0)
        }
    }

    // Writing

    /// The slot that an instruction writes a value to that goes to `dest`.
    fn result(&mut self, dest: Dest<'_>, span: Span) -> u32 {
        match dest {
            Dest::Return => {
                let slot = self.temporary();
                self.emit(Instr::Return { value: PackedOperand::take(slot) }, span);
                slot
            }
            Dest::Into(dst) | Dest::State(dst, _) => self.result_into(dst, span),
        }
    }

    fn result_into(&mut self, dst: &Dst, span: Span) -> u32 {
        match dst {
            Dst::Slot(slot) => self.define(*slot, span),
            Dst::Split(parts) if !self.is_dead(dst) => {
                let slot = self.temporary();
                self.unpack(parts, |_| PackedOperand::take(slot), span);
                slot
            }
            Dst::Split(_) | Dst::Ignore => {
                let slot = self.temporary();
                self.define(slot, span)
            }
        }
    }

    /// Takes a tuple, or the fields of a constructor, apart.
    fn unpack(&mut self, parts: &[Dst], from: impl FnOnce(&mut Self) -> PackedOperand, span: Span) {
        let mut targets = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            if !self.is_dead(part) {
                let register = self.result_into(part, span);
                targets.push(ComponentTarget { index: index as u32, register });
            }
        }
        if targets.is_empty() {
            return;
        }
        let targets = self.target_list(&targets);
        let from = from(self);
        self.emit(Instr::Unpack { from, targets }, span);
    }

    /// Emits an instruction with operands, and before it what computes them, from left to right.
    fn with_operands(
        &mut self,
        items: Vec<Item<'_>>,
        span: Span,
        make: impl FnOnce(&mut Self, &[PackedOperand]) -> Instr,
    ) {
        let mut operands = Vec::with_capacity(items.len());
        let mut pending = Vec::new();
        for item in items.into_iter().rev() {
            match item {
                Item::Term(term) => match self.simple(term) {
                    Some(operand) => operands.push(operand),
                    None => {
                        let slot = self.temporary();
                        operands.push(self.read_slot(slot));
                        pending.push((Item::Term(term), Dst::Slot(slot)));
                    }
                },
                Item::Node(node) => {
                    let (leaf, path) = self.unit.analysis.nodes.leaf(node);
                    if path.is_empty() {
                        operands.push(self.read(leaf));
                    } else {
                        let slot = self.temporary();
                        operands.push(self.read_slot(slot));
                        pending.push((Item::Node(node), Dst::Slot(slot)));
                    }
                }
                Item::Spread(term, dst) => {
                    for slot in dst.slots().into_iter().rev() {
                        operands.push(self.read_slot(slot));
                    }
                    pending.push((Item::Term(term), dst));
                }
            }
        }
        operands.reverse();
        let instr = make(self, &operands);
        self.emit(instr, span);
        for (item, dst) in pending {
            match item {
                Item::Term(term) | Item::Spread(term, _) => self.term(term, Dest::Into(&dst)),
                Item::Node(node) => self.load(node, Dest::Into(&dst), span),
            }
        }
    }

    /// The operand for a term that needs no instruction.
    fn simple(&mut self, term: &Term) -> Option<PackedOperand> {
        if let Some(node) = self.resolve(term) {
            let nodes = &self.unit.analysis.nodes;
            let (leaf, path) = nodes.leaf(node);
            return (path.is_empty() && !nodes.is_split(leaf)).then(|| self.read(leaf));
        }
        let value = terms::constant(term)?;
        Some(self.constant(value))
    }
}
