//! Which variables the functions, loops and comprehensions of a definition use from around them.
//!
//! A definition comes in; out comes its [`Analysis`]: the node of each variable and, for each *region* (the
//! body of a function, of a loop, of a comprehension), the nodes that it uses and does not bind, each of them
//! a variable or component that is not split, in the order of their first use.

use super::code::ParamShape;
use super::usage::{path_of, usage, Nodes, NONE};
use crate::prim::{Prim, SizeShape};
use crate::term::{Binder, Control, Term, TermKind};
use diffeo_base::deep;
use std::collections::{HashMap, HashSet};

/// What compilation needs to know of a definition.
#[derive(Debug)]
pub(crate) struct Analysis {
    /// Its variables.
    pub nodes: Nodes,
    /// The node of each variable; of a recursive function, outside itself.
    pub places: HashMap<u32, u32>,
    /// The node of each recursive function, inside itself.
    pub itself: HashMap<u32, u32>,
    /// The binders that bind no new value.
    pub aliases: HashSet<u32>,
    /// What a region uses of what is around it, by the id of the parameter, the loop's state, or the
    /// comprehension's index.
    pub free: HashMap<u32, Vec<u32>>,
    /// The same as the variables that it mentions, for which these nodes stand, if all of them are kept whole.
    pub mentioned: HashMap<u32, Vec<u32>>,
}

impl Analysis {
    /// How a parameter lies in registers.
    pub fn shape(&self, node: u32) -> ParamShape {
        if !self.nodes.is_split(node) {
            return ParamShape::One;
        }
        let children = self.nodes.0[node as usize].children.iter();
        ParamShape::Split(
            children.map(|c| if *c == NONE { ParamShape::One } else { self.shape(*c) }).collect(),
        )
    }
}

/// Looks at a definition; see [`usage`].
pub(crate) fn analyse(body: &Term, whole: bool) -> Analysis {
    let (nodes, variables) = usage(body, whole);
    let mut scopes = Scopes {
        analysis: Analysis {
            nodes,
            places: HashMap::new(),
            itself: HashMap::new(),
            aliases: HashSet::new(),
            free: HashMap::new(),
            mentioned: HashMap::new(),
        },
        variables,
        homes: HashMap::new(),
        whole,
        inside: HashSet::new(),
        regions: vec![Region::within(NONE)],
        region: 0,
    };
    scopes.walk(body, None);
    scopes.analysis
}

struct Region {
    /// The region around it.
    parent: u32,
    used: Vec<u32>,
    seen: HashSet<u32>,
    mentioned: Vec<u32>,
    mentioned_set: HashSet<u32>,
}

impl Region {
    fn within(parent: u32) -> Region {
        Region {
            parent,
            used: Vec::new(),
            seen: HashSet::new(),
            mentioned: Vec::new(),
            mentioned_set: HashSet::new(),
        }
    }
}

struct Scopes {
    analysis: Analysis,
    /// The nodes that [`usage`] gave.
    variables: HashMap<u32, u32>,
    /// The region that binds each variable, also one that is another name for a node.
    homes: HashMap<u32, u32>,
    /// Whether functions capture every variable that they mention, even to no effect.
    whole: bool,
    /// The recursive functions around the present place.
    inside: HashSet<u32>,
    regions: Vec<Region>,
    region: u32,
}

impl Scopes {
    fn place(&mut self, var: u32, node: u32) {
        self.analysis.nodes.0[node as usize].region = self.region;
        self.analysis.places.insert(var, node);
        self.homes.insert(var, self.region);
    }

    fn bind(&mut self, binder: &Binder) {
        let node = self.variables[&binder.var.id];
        self.place(binder.var.id, node);
    }

    /// The node of a variable or a component of one, which is noted as mentioned.
    fn resolve(&mut self, term: &Term) -> Option<u32> {
        let (var, path) = path_of(term)?;
        if self.whole {
            self.mention_variable(var);
        }
        let itself = self.inside.contains(&var);
        let places = if itself { &self.analysis.itself } else { &self.analysis.places };
        let mut node = *places.get(&var)?;
        for index in path {
            node = self.analysis.nodes.find(node, index)?;
        }
        Some(node)
    }

    fn bind_to(&mut self, binder: &Binder, value: &Term) {
        let id = binder.var.id;
        match self.resolve(value) {
            Some(node) => {
                let (leaf, path) = self.analysis.nodes.leaf(node);
                if path.is_empty() {
                    if self.whole {
                        self.mention(leaf);
                    }
                    self.analysis.aliases.insert(id);
                    self.analysis.places.insert(id, node);
                    self.homes.insert(id, self.region);
                } else {
                    // A component of something that is needed in one piece: the component is taken
                    // out here, so that the rest can be given back.
                    self.mention(leaf);
                    let node = self.analysis.nodes.copy(node);
                    self.place(id, node);
                }
            }
            None => {
                self.walk(value, None);
                self.bind(binder);
            }
        }
    }

    /// Notes the use of a node that is not split.
    fn mention(&mut self, leaf: u32) {
        let variable = self.analysis.nodes.variable(leaf);
        let home = self.analysis.nodes.0[variable as usize].region;
        let mut region = self.region;
        while region != home && region != NONE {
            let r = &mut self.regions[region as usize];
            if !r.seen.insert(leaf) {
                break;
            }
            r.used.push(leaf);
            region = r.parent;
        }
    }

    fn mention_variable(&mut self, var: u32) {
        let Some(home) = self.homes.get(&var) else { return };
        let mut region = self.region;
        while region != *home && region != NONE {
            let r = &mut self.regions[region as usize];
            if !r.mentioned_set.insert(var) {
                break;
            }
            r.mentioned.push(var);
            region = r.parent;
        }
    }

    fn mention_all(&mut self, node: u32) {
        if self.analysis.nodes.is_split(node) {
            for child in self.analysis.nodes.0[node as usize].children.clone() {
                if child != NONE {
                    self.mention_all(child);
                }
            }
        } else {
            self.mention(self.analysis.nodes.leaf(node).0);
        }
    }

    fn within(&mut self, key: u32, walk: impl FnOnce(&mut Self)) {
        let outer = self.region;
        self.regions.push(Region::within(outer));
        self.region = self.regions.len() as u32 - 1;
        walk(self);
        let region = &mut self.regions[self.region as usize];
        let region = std::mem::replace(region, Region::within(outer));
        self.analysis.free.insert(key, region.used);
        self.analysis.mentioned.insert(key, region.mentioned);
        self.region = outer;
    }

    fn all(&mut self, terms: &[Term]) {
        terms.iter().for_each(|t| self.walk(t, None));
    }

    fn walk(&mut self, term: &Term, state: Option<u32>) {
        deep(|| self.walk_kind(term, state));
    }

    fn walk_kind(&mut self, term: &Term, state: Option<u32>) {
        if let Some(node) = self.resolve(term) {
            if state != Some(node) {
                self.mention_all(node);
            }
            return;
        }
        match &term.kind {
            TermKind::Var(_) | TermKind::Global(_) | TermKind::Lit(_) => {}
            TermKind::Lam(binder, body) => self.within(binder.var.id, |s| {
                s.bind(binder);
                s.walk(body, None);
            }),
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
                let id = binder.var.id;
                if let TermKind::Lam(parameter, inner) = &function.kind {
                    self.within(parameter.var.id, |s| {
                        let itself = s.analysis.nodes.root(&binder.ty);
                        s.analysis.nodes.0[itself as usize].region = s.region;
                        s.analysis.itself.insert(id, itself);
                        s.homes.insert(id, s.region);
                        s.inside.insert(id);
                        s.bind(parameter);
                        s.walk(inner, None);
                        s.inside.remove(&id);
                    });
                } else {
                    self.walk(function, None);
                }
                self.bind(binder);
                self.walk(body, state);
            }
            TermKind::Proj(_, _, tuple) => self.walk(tuple, None),
            TermKind::Case(case) => {
                self.walk(&case.scrutinee, None);
                for arm in &case.arms {
                    arm.binders.iter().for_each(|b| self.bind(b));
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
                self.within(build.index.var.id, |s| {
                    s.bind(&build.index);
                    s.walk(&build.body, None);
                });
            }
            TermKind::Loop(l) => {
                self.walk(&l.init, None);
                if let Control::Count { count, .. } = &l.control {
                    self.walk(count, None);
                }
                self.within(l.state.var.id, |s| {
                    s.bind(&l.state);
                    match &l.control {
                        Control::Count { index, .. } => s.bind(index),
                        Control::While(condition) => s.walk(condition, None),
                    }
                    let state = s.analysis.places[&l.state.var.id];
                    s.walk(&l.body, Some(state));
                });
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
            SizeShape::Any if !self.whole => {}
            SizeShape::Tuple(shapes) if self.analysis.nodes.is_split(node) => {
                for (i, shape) in shapes.iter().enumerate() {
                    if let Some(child) = self.analysis.nodes.find(node, i) {
                        self.sizes_of(shape, child);
                    }
                }
            }
            SizeShape::Any | SizeShape::Tuple(_) | SizeShape::Array(..) | SizeShape::Data(_) => {
                self.mention_all(node);
            }
        }
    }
}
