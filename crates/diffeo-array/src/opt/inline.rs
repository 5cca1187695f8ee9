//! Puts the bodies of functions in the place of their calls: of small functions, and of those that are called
//! once.
//!
//! What it needs: nothing; `dce` drops the functions that are then not called any more. What stays: recursive
//! functions, large ones, and what would make the caller too large, so the module grows at most by a constant
//! factor, and time is linear in what comes out. Why it is right: a call evaluates nothing but the body, with
//! the arguments as they are. What an error says stays the same, because the places of the body remember the
//! call that stood there ([`Site::inlined`]).

use super::graph::{call_graph, CallGraph};
use super::walk::{deep, has_regions, operands_mut, regions_mut, size, Copier};
use crate::ir::{Atom, Block, Function, Inlined, Module, Op, Site, SiteId, Stmt, Var, VarInfo};
use std::collections::HashMap;

/// Functions of at most so many statements are put into their callers.
const SMALL: usize = 30;

/// So are those of at most so many statements that are called once.
const ONCE: usize = 600;

/// A function grows at most to so many statements, or this often its size.
const LARGE: usize = 6_000;

/// See the head of the file.
pub fn inline(mut module: Module) -> Module {
    let graph = call_graph(&module);
    let mut inliner = Inliner {
        calls: count_calls(&graph, module.functions.len()),
        small: vec![None; module.functions.len()],
        sites: std::mem::take(&mut module.sites),
    };
    for f in graph.components.iter().flatten() {
        let mut function = std::mem::replace(&mut module.functions[*f], nothing());
        let mut budget = LARGE.max(2 * size(&function.body, usize::MAX));
        let body = std::mem::take(&mut function.body);
        budget = budget.saturating_sub(size(&body, budget));
        let mut replaced = HashMap::new();
        function.body =
            inliner.block(body, &mut function.vars, &module.functions, &mut budget, &mut replaced);
        if !replaced.is_empty() {
            replace(&mut function.body, &replaced);
        }
        let limit = if inliner.calls[*f] == 1 { ONCE } else { SMALL };
        let length = size(&function.body, limit);
        if !graph.recursive[*f] && length <= limit {
            inliner.small[*f] = Some(length);
        }
        module.functions[*f] = function;
    }
    Module { sites: inliner.sites, ..module }
}

/// How often each function is called, as far as the text says.
fn count_calls(graph: &CallGraph, functions: usize) -> Vec<usize> {
    let mut calls = vec![0; functions];
    for callee in graph.callees.iter().flatten() {
        calls[*callee] += 1;
    }
    calls
}

/// Stands where a function was taken out; it is recursive then, so nobody looks.
fn nothing() -> Function {
    Function {
        name: "".into(),
        shown: "".into(),
        library: false,
        span: diffeo_base::Span::NONE,
        vars: Vec::new(),
        params: Vec::new(),
        results: Vec::new(),
        body: Block::default(),
    }
}

struct Inliner {
    calls: Vec<usize>,
    /// The sizes of the functions that go into their callers.
    small: Vec<Option<usize>>,
    sites: Vec<Site>,
}

impl Inliner {
    /// Notes in `replaced` what stands for the results of calls.
    fn block(
        &mut self,
        block: Block,
        vars: &mut Vec<VarInfo>,
        functions: &[Function],
        budget: &mut usize,
        replaced: &mut HashMap<Var, Atom>,
    ) -> Block {
        let mut stmts = Vec::with_capacity(block.stmts.len());
        for mut stmt in block.stmts {
            if let Op::Call(f, args) = &stmt.op {
                let callee = &functions[f.0 as usize];
                if let Some(length) = self.small[f.0 as usize].filter(|n| *n <= *budget) {
                    *budget -= length;
                    let results = self.copy(callee, args, vars, stmt.site, &mut stmts);
                    replaced.extend(stmt.results.iter().copied().zip(results));
                    continue;
                }
            }
            if has_regions(&stmt.op) {
                deep(|| {
                    regions_mut(&mut stmt.op, |r| {
                        *r = self.block(std::mem::take(r), vars, functions, budget, replaced);
                    });
                });
            }
            stmts.push(stmt);
        }
        Block { stmts, ..block }
    }

    /// Adds the body of a function with these arguments; gives its results.
    fn copy(
        &mut self,
        callee: &Function,
        args: &[Atom],
        vars: &mut Vec<VarInfo>,
        call: SiteId,
        out: &mut Vec<Stmt>,
    ) -> Vec<Atom> {
        let map = callee.params.iter().copied().zip(args.iter().cloned()).collect();
        let mut sites = Sites { all: &mut self.sites, new: HashMap::new(), callee, call };
        let site = |site| sites.within(site);
        let mut copier = Copier { source: Some(&callee.vars), vars, map, site };
        let mut body = copier.block(&callee.body);
        out.append(&mut body.stmts);
        body.results
    }
}

/// Puts atoms in the place of variables.
fn replace(block: &mut Block, replaced: &HashMap<Var, Atom>) {
    let resolve = |a: &mut Atom| {
        while let Some(new) = super::walk::var(a).and_then(|v| replaced.get(&v)) {
            *a = new.clone();
        }
    };
    for stmt in &mut block.stmts {
        operands_mut(&mut stmt.op, resolve);
        if has_regions(&stmt.op) {
            deep(|| regions_mut(&mut stmt.op, |r| replace(r, replaced)));
        }
    }
    block.results.iter_mut().for_each(resolve);
}

/// The places of a copied body.
struct Sites<'a> {
    all: &'a mut Vec<Site>,
    new: HashMap<SiteId, SiteId>,
    callee: &'a Function,
    call: SiteId,
}

impl Sites<'_> {
    /// The place of the body within the call that it stands for. What was inlined into the body before stays
    /// within its own call, which is now within this one.
    fn within(&mut self, site: SiteId) -> SiteId {
        // From the inside out, the places that have no copy yet.
        let mut chain = Vec::new();
        let mut next = Some(site);
        let mut outer = self.call;
        while let Some(site) = next {
            if let Some(copy) = self.new.get(&site) {
                outer = *copy;
                break;
            }
            chain.push(site);
            next = self.all[site.0 as usize].inlined.as_ref().map(|i| i.at);
        }
        for site in chain.iter().rev() {
            let Site { span, inlined } = &self.all[site.0 as usize];
            let inlined = match inlined {
                Some(inlined) => Inlined { at: outer, ..inlined.clone() },
                None => Inlined {
                    function: self.callee.shown.clone(),
                    library: self.callee.library,
                    at: self.call,
                },
            };
            let copy = Site { span: *span, inlined: Some(inlined) };
            outer = SiteId(self.all.len() as u32);
            self.all.push(copy);
            self.new.insert(*site, outer);
        }
        outer
    }
}
