//! How a definition uses its variables, found before it is compiled.
//!
//! A definition comes in; out come [`Nodes`]: for every variable a tree of the components that are used. A variable of
//! tuple type that is only taken apart is *split*: its components live in registers of their own, and the tuple is
//! never made. `let x = y` and `let x = y.0` bind no new value: `x` is another name for the node. (Where `y` turns out
//! not to be split, [`super::scope`] gives `x` a tree of its own.)

use crate::prim::{Prim, SizeShape};
use crate::term::{Binder, Control, Term, TermKind};
use crate::ty::Ty;
use crate::typing::component;
use diffeo_base::deep;
use std::collections::HashMap;

/// No node.
pub(crate) const NONE: u32 = u32::MAX;

/// A variable, or a component of one that is used.
#[derive(Debug)]
pub(crate) struct UsageNode {
    /// Its type.
    pub ty: Ty,
    /// What it is a component of.
    pub parent: u32,
    /// Its position in that.
    pub index: u32,
    /// Whether it is used other than through its components.
    pub whole: bool,
    /// The nodes of its components, [`NONE`] for those not used; empty if none is.
    pub children: Vec<u32>,
    /// For a variable, the region that binds it; see [`super::scope`].
    pub region: u32,
}

/// All variables of a definition with their components.
#[derive(Debug, Default)]
pub(crate) struct Nodes(pub Vec<UsageNode>);

/// How many components a tuple or record type has.
pub(crate) fn width(ty: &Ty) -> Option<usize> {
    match ty {
        Ty::Tuple(types) => Some(types.len()),
        Ty::Record(fields) => Some(fields.len()),
        Ty::Real
        | Ty::Int
        | Ty::Bool
        | Ty::String
        | Ty::Unit
        | Ty::Array(_)
        | Ty::Data(..)
        | Ty::Fun(_)
        | Ty::Param(_) => None,
    }
}

impl Nodes {
    /// A new variable.
    pub fn root(&mut self, ty: &Ty) -> u32 {
        let (ty, children) = (ty.clone(), Vec::new());
        self.0.push(UsageNode { ty, parent: NONE, index: 0, whole: false, children, region: 0 });
        self.0.len() as u32 - 1
    }

    /// A component, from now on used; None for a type that has no such component.
    pub fn child(&mut self, node: u32, index: usize) -> Option<u32> {
        let new = self.0.len() as u32;
        let parent = &mut self.0[node as usize];
        if parent.children.is_empty() {
            parent.children = vec![NONE; width(&parent.ty)?];
        }
        let known = *parent.children.get(index)?;
        if known != NONE {
            return Some(known);
        }
        parent.children[index] = new;
        let ty = component(&parent.ty, index)?.clone();
        let index = index as u32;
        let children = Vec::new();
        self.0.push(UsageNode { ty, parent: node, index, whole: false, children, region: 0 });
        Some(new)
    }

    /// A component that is used.
    pub fn find(&self, node: u32, index: usize) -> Option<u32> {
        self.0[node as usize].children.get(index).copied().filter(|n| *n != NONE)
    }

    /// Whether it lives as its components.
    pub fn is_split(&self, node: u32) -> bool {
        let node = &self.0[node as usize];
        !node.whole && !node.children.is_empty()
    }

    /// The outermost node around it that is not split, and the way from there.
    pub fn leaf(&self, node: u32) -> (u32, Vec<u32>) {
        let mut path = Vec::new();
        let (mut leaf, mut at_leaf) = (node, 0);
        let mut at = node;
        loop {
            if !self.is_split(at) {
                (leaf, at_leaf) = (at, path.len());
            }
            let n = &self.0[at as usize];
            if n.parent == NONE {
                break;
            }
            path.push(n.index);
            at = n.parent;
        }
        path.truncate(at_leaf);
        path.reverse();
        (leaf, path)
    }

    /// The variable that it is part of.
    pub fn variable(&self, mut node: u32) -> u32 {
        while self.0[node as usize].parent != NONE {
            node = self.0[node as usize].parent;
        }
        node
    }

    /// A new variable that is used as this node is.
    pub fn copy(&mut self, node: u32) -> u32 {
        let new = self.0.len() as u32;
        let mut pending = vec![(node, NONE, 0)];
        while let Some((old, parent, index)) = pending.pop() {
            let id = self.0.len() as u32;
            let UsageNode { ty, whole, children, .. } = &self.0[old as usize];
            let (ty, whole, children) = (ty.clone(), *whole, children.clone());
            if parent != NONE {
                self.0[parent as usize].children[index as usize] = id;
            }
            for (i, child) in children.iter().enumerate().filter(|(_, c)| **c != NONE) {
                pending.push((*child, id, i as u32));
            }
            let children = vec![NONE; children.len()];
            self.0.push(UsageNode { ty, parent, index, whole, children, region: 0 });
        }
        new
    }
}

/// A variable or a component of one: the variable's id and the way to the component.
pub(crate) fn path_of(term: &Term) -> Option<(u32, Vec<usize>)> {
    let mut path = Vec::new();
    let mut term = term;
    while let TermKind::Proj(_, index, tuple) = &term.kind {
        path.push(*index);
        term = tuple;
    }
    path.reverse();
    match &term.kind {
        TermKind::Var(var) => Some((var.id, path)),
        TermKind::Global(_)
        | TermKind::Lit(_)
        | TermKind::Lam(..)
        | TermKind::App(..)
        | TermKind::Let(..)
        | TermKind::LetRec(..)
        | TermKind::Tuple(..)
        | TermKind::Proj(..)
        | TermKind::Con(..)
        | TermKind::Case(_)
        | TermKind::If(..)
        | TermKind::Array(..)
        | TermKind::Build(_)
        | TermKind::Loop(_)
        | TermKind::Prim(..)
        | TermKind::Diff(..) => None,
    }
}

/// Looks at a definition. If variables are to be kept `whole`, none is split.
pub(crate) fn usage(body: &Term, whole: bool) -> (Nodes, HashMap<u32, u32>) {
    let mut usage = Usage { nodes: Nodes::default(), places: HashMap::new() };
    usage.walk(body, None);
    if whole {
        usage.nodes.0.iter_mut().for_each(|node| node.whole = true);
    }
    (usage.nodes, usage.places)
}

struct Usage {
    nodes: Nodes,
    /// The node of each variable.
    places: HashMap<u32, u32>,
}

impl Usage {
    fn bind(&mut self, binder: &Binder) -> u32 {
        let node = self.nodes.root(&binder.ty);
        self.places.insert(binder.var.id, node);
        node
    }

    fn resolve(&mut self, term: &Term) -> Option<u32> {
        let (var, path) = path_of(term)?;
        let mut node = *self.places.get(&var)?;
        for index in path {
            node = self.nodes.child(node, index)?;
        }
        Some(node)
    }

    fn whole(&mut self, node: u32) {
        self.nodes.0[node as usize].whole = true;
    }

    fn bind_to(&mut self, binder: &Binder, value: &Term) {
        match self.resolve(value) {
            Some(node) => {
                self.places.insert(binder.var.id, node);
            }
            None => {
                self.walk(value, None);
                self.bind(binder);
            }
        }
    }

    fn all(&mut self, terms: &[Term]) {
        terms.iter().for_each(|t| self.walk(t, None));
    }

    /// `state`: the state of the loop whose next state this term is. Handing on the state as it is does
    /// not need it in one piece.
    fn walk(&mut self, term: &Term, state: Option<u32>) {
        deep(|| self.walk_kind(term, state));
    }

    fn walk_kind(&mut self, term: &Term, state: Option<u32>) {
        if let Some(node) = self.resolve(term) {
            if state != Some(node) {
                self.whole(node);
            }
            return;
        }
        match &term.kind {
            TermKind::Var(_) | TermKind::Global(_) | TermKind::Lit(_) => {}
            TermKind::Lam(binder, body) => {
                self.bind(binder);
                self.walk(body, None);
            }
            TermKind::App(function, arg) => {
                if let TermKind::Lam(binder, body) = &function.kind {
                    self.bind_to(binder, arg);
                    self.walk(body, state);
                } else {
                    self.walk(function, None);
                    self.walk(arg, None);
                }
            }
            TermKind::Let(bindings, body) => {
                for (binder, value) in bindings {
                    self.bind_to(binder, value);
                }
                self.walk(body, state);
            }
            TermKind::LetRec(binder, function, body) => {
                self.bind(binder);
                self.walk(function, None);
                self.walk(body, state);
            }
            TermKind::Proj(_, _, tuple) => self.walk(tuple, None),
            TermKind::Case(case) => {
                self.walk(&case.scrutinee, None);
                for arm in &case.arms {
                    for binder in &arm.binders {
                        self.bind(binder);
                    }
                    self.walk(&arm.body, state);
                }
                if let Some(default) = &case.default {
                    self.walk(default, state);
                }
            }
            TermKind::If(condition, yes, no) => {
                self.walk(condition, None);
                self.walk(yes, state);
                self.walk(no, state);
            }
            TermKind::Build(build) => {
                self.walk(&build.count, None);
                self.bind(&build.index);
                self.walk(&build.body, None);
            }
            TermKind::Loop(l) => {
                self.walk(&l.init, None);
                let state = self.nodes.root(&l.state.ty);
                match &l.control {
                    Control::Count { index, count } => {
                        self.walk(count, None);
                        self.bind(index);
                        self.places.insert(l.state.var.id, state);
                    }
                    Control::While(condition) => {
                        self.places.insert(l.state.var.id, state);
                        self.walk(condition, None);
                    }
                }
                self.walk(&l.body, Some(state));
            }
            TermKind::Prim(Prim::Sizes(pattern, _), args) => {
                if let Some((value, given)) = args.split_first() {
                    self.sizes(&pattern.shape, value);
                    self.all(given);
                }
            }
            TermKind::Tuple(_, terms)
            | TermKind::Con(_, _, _, terms)
            | TermKind::Array(_, terms)
            | TermKind::Prim(_, terms)
            | TermKind::Diff(_, terms) => self.all(terms),
        }
    }

    /// Looking up sizes needs the arrays in a tuple, not the tuple.
    fn sizes(&mut self, shape: &SizeShape, value: &Term) {
        if let Some(node) = self.resolve(value) {
            self.sizes_of(shape, node);
            return;
        }
        match (&value.kind, shape) {
            (TermKind::Tuple(_, terms), SizeShape::Tuple(shapes))
                if terms.len() == shapes.len() =>
            {
                terms.iter().zip(shapes).for_each(|(t, s)| self.sizes(s, t));
            }
            _ => self.walk(value, None),
        }
    }

    fn sizes_of(&mut self, shape: &SizeShape, node: u32) {
        match shape {
            SizeShape::Any => {}
            SizeShape::Tuple(shapes) => {
                for (i, shape) in shapes.iter().enumerate() {
                    match (shape, self.nodes.child(node, i)) {
                        (SizeShape::Any, _) => {}
                        (_, Some(child)) => self.sizes_of(shape, child),
                        (_, None) => self.whole(node),
                    }
                }
            }
            SizeShape::Array(..) | SizeShape::Data(_) => self.whole(node),
        }
    }
}
