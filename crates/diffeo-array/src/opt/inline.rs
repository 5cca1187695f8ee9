//! Inlining: replaces calls by the bodies of the functions called, of small functions and of those that are called
//! seldom; replaces constants that are plain numbers by the numbers.
//!
//! Small recursive functions are inlined into themselves once, so that half as many calls are left. A larger recursive
//! function that begins by testing for a small case gets the test before its own calls of itself: the small case then
//! needs no call.
//!
//! What it needs: nothing; `dce` drops the functions that are not called any more. What stays: other recursive
//! functions, large ones, and what would make the caller too large, so the module grows at most by a constant factor;
//! every statement that comes out is copied once. Why it is right: a call evaluates nothing but the body, with the
//! arguments as they are. Errors stay the same, because the sites of the body remember the call that stood there
//! ([`Site::inlined`]).

use super::effects::speculative_cost;
use super::graph::{call_graph, CallGraph};
use crate::ir::walk::{deep, has_regions, regions_mut, replace, size, statements, Copier};
use crate::ir::{
    Atom, Block, Function, FunctionId, Inlined, Module, Op, Site, SiteId, Stmt, Var, VarInfo,
};
use hashbrown::{HashMap, HashSet};

/// Maximum number of statements of a function that is inlined at every call.
const SMALL: usize = 30;

/// Maximum number of statements of a function that calls nothing then that is inlined because it is called at most [`SEVERAL`]
/// times: a call within a comprehension keeps its steps from being done at once.
const MEDIUM: usize = 120;

/// Maximum number of calls of such a function.
const SEVERAL: u64 = 3;

/// Maximum number of statements of a function that is inlined because it is called once.
const ONCE: usize = 600;

/// Maximum cost of all copies of a function together, in additions, for it to be inlined up to [`ONCE`] as well.
const FEW: u64 = 120;

/// Maximum number of statements of a function that is inlined into itself.
const TINY: usize = 16;

/// Maximum number of statements before the test for a small case, and of the small case; maximum number of calls of
/// itself that get such a test.
const BASE: usize = 8;

/// Inlining adds at most this many statements to a function, or as many as it has, if that is more.
const LARGE: usize = 6_000;

/// Inlining: see the head of the file.
pub fn inline(module: Module) -> Module {
    expand(module, Which::All)
}

/// Inlines functions that have become small since; no function into itself.
pub fn inline_small(module: Module) -> Module {
    expand(module, Which::Small)
}

#[derive(Clone, Copy)]
enum Which<'a> {
    All,
    Small,
    Early(&'a Early<'a>),
}

/// What [`inline_early`] is told of functions that are to be differentiated.
pub(super) struct Early<'a> {
    /// Functions that are called from outside the module, too.
    pub roots: &'a [FunctionId],
    /// Functions whose calls stay calls.
    pub stay: &'a HashSet<FunctionId>,
}

/// As [`inline`], before derivatives are taken; no function is inlined into itself.
pub(super) fn inline_early(module: Module, early: &Early<'_>) -> Module {
    expand(module, Which::Early(early))
}

fn expand(mut module: Module, which: Which<'_>) -> Module {
    let graph = call_graph(&module);
    let mut functions = std::mem::take(&mut module.functions);
    let once = if matches!(which, Which::Small) { SMALL } else { ONCE };
    let mut inlined = choose(&functions, &graph, once);
    let early = if let Which::Early(early) = which { Some(early) } else { None };
    for id in early.iter().flat_map(|early| early.stay) {
        inlined[id.0 as usize] = None;
    }
    let constants =
        module.constants.iter().map(|c| number(&functions[c.init.0 as usize])).collect();
    let sites = std::mem::take(&mut module.sites);
    let mut inliner = Inliner { inlined: &inlined, constants, own: None, base: None, sites };
    // Each function is expanded from what was written, so that nothing is copied from caller to caller; those that
    // are put into all their callers are not expanded at all.
    let mut expanded: Vec<Option<(Vec<VarInfo>, Block)>> = vec![None; functions.len()];
    let mut wanted: Vec<usize> = module.constants.iter().map(|c| c.init.0 as usize).collect();
    wanted.push(module.entry.0 as usize);
    wanted.extend(early.iter().flat_map(|early| early.roots).map(|id| id.0 as usize));
    while let Some(f) = wanted.pop() {
        let Some(None) = expanded.get(f) else { continue };
        let into_itself = graph.recursive[f] && matches!(which, Which::All);
        let tiny = into_itself && size(&functions[f].body, TINY) <= TINY;
        inliner.own = tiny.then_some(f);
        inliner.base = None;
        if into_itself && !tiny {
            inliner.base = base(&functions[f], f).map(|then| (f, then));
        }
        let body = if inlined[f].is_some() || tiny || inliner.base.is_some() {
            functions[f].body.clone()
        } else {
            std::mem::take(&mut functions[f].body)
        };
        let mut vars = functions[f].vars.clone();
        let mut replaced = HashMap::new();
        let mut budget = LARGE.max(size(&body, usize::MAX));
        let mut body = inliner.block(body, &mut vars, &functions, &mut budget, &mut replaced);
        if !replaced.is_empty() {
            replace(&mut body, &replaced);
        }
        statements(&body, &mut |stmt| {
            if let Op::Call(callee, _) = &stmt.op {
                wanted.push(callee.0 as usize);
            }
        });
        expanded[f] = Some((vars, body));
    }
    for (function, expanded) in functions.iter_mut().zip(expanded) {
        if let Some((vars, body)) = expanded {
            (function.vars, function.body) = (vars, body);
        }
    }
    module.functions = functions;
    module.sites = inliner.sites;
    module
}

/// By function, its size with what goes into it, if it goes into its callers; `once` is the most for a function that is
/// called once. Where such a function would become too large by what goes into it, it goes into its caller
/// nevertheless, and larger ones than itself that it calls stay calls: what is left in a loop is then seen there.
fn choose(functions: &[Function], graph: &CallGraph, once: usize) -> Vec<Option<usize>> {
    let mut calls = vec![0u64; functions.len()];
    for callee in graph.callees.iter().flatten() {
        calls[*callee] += 1;
    }
    let mut inlined: Vec<Option<usize>> = vec![None; functions.len()];
    let mut costs: Vec<u64> = vec![0; functions.len()];
    for f in graph.components.iter().flatten() {
        let own = size(&functions[*f].body, once);
        let mut within: usize =
            graph.callees[*f].iter().filter_map(|callee| inlined[*callee]).sum();
        if calls[*f] == 1 && !graph.recursive[*f] && own + within > once {
            let larger = |callee: &usize| {
                let size = inlined[*callee].filter(|n| calls[*callee] == 1 && *n > own.max(SMALL));
                size.map(|size| (size, *callee))
            };
            let mut larger: Vec<_> = graph.callees[*f].iter().filter_map(larger).collect();
            larger.sort_unstable_by(|a, b| b.cmp(a));
            let (mut left, mut stay) = (own + within, Vec::new());
            for (size, callee) in larger {
                if left > once {
                    left -= size;
                    stay.push(callee);
                }
            }
            if left <= once {
                stay.iter().for_each(|callee| inlined[*callee] = None);
                within = left - own;
            }
        }
        let callees = graph.callees[*f].iter().filter(|callee| inlined[**callee].is_some());
        let mut cost = callees.fold(0u64, |sum, callee| sum.saturating_add(costs[*callee]));
        statements(&functions[*f].body, &mut |stmt| {
            cost = cost.saturating_add(speculative_cost(&stmt.op).unwrap_or(1).into());
        });
        costs[*f] = cost;
        let few = cost.saturating_mul(calls[*f]) <= FEW;
        let calls_nothing = graph.callees[*f].iter().all(|callee| inlined[*callee].is_some());
        let limit = if calls[*f] == 1 || few {
            once
        } else if calls[*f] <= SEVERAL && calls_nothing {
            once.min(MEDIUM)
        } else {
            SMALL
        };
        inlined[*f] = Some(own + within).filter(|size| !graph.recursive[*f] && *size <= limit);
    }
    inlined
}

/// Whether a function begins by testing for a small case, which calls nothing: whether that is what follows if the test
/// holds, or if it does not.
fn base(function: &Function, own: usize) -> Option<bool> {
    let (last, first) = function.body.stmts.split_last()?;
    let Op::If { then, otherwise, .. } = &last.op else { return None };
    let cheap = |stmt: &Stmt| {
        matches!(stmt.op, Op::Check(_) | Op::Int(..)) || speculative_cost(&stmt.op).is_some()
    };
    let small = |stmts: &[Stmt]| stmts.len() <= BASE && stmts.iter().all(cheap);
    let whole = function.body.results.len() == last.results.len()
        && function.body.results.iter().zip(&last.results).all(|(a, v)| *a == Atom::Var(*v));
    let mut calls = 0;
    statements(&function.body, &mut |stmt| {
        calls += usize::from(matches!(&stmt.op, Op::Call(f, _) if f.0 as usize == own));
    });
    let found = [(then, true), (otherwise, false)].into_iter().find(|(arm, _)| small(&arm.stmts));
    found.filter(|_| whole && small(first) && (1..=BASE).contains(&calls)).map(|(_, then)| then)
}

/// What a function without parameters gives, if that is a number that stands there.
fn number(function: &Function) -> Option<Atom> {
    match (&function.body.stmts[..], &function.body.results[..]) {
        ([], [atom @ (Atom::Real(_) | Atom::Int(_) | Atom::Bool(_))]) => Some(atom.clone()),
        _ => None,
    }
}

struct Inliner<'a> {
    inlined: &'a [Option<usize>],
    /// By constant, what it is, if it is a plain number.
    constants: Vec<Option<Atom>>,
    /// The function that is expanded, if it is put into itself.
    own: Option<usize>,
    /// The function that is expanded, if calls of itself are tested, and whether the small case is that where the test
    /// holds.
    base: Option<(usize, bool)>,
    sites: Vec<Site>,
}

impl Inliner<'_> {
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
            if let Op::Constant(c) = &stmt.op {
                if let Some(number) = &self.constants[c.0 as usize] {
                    replaced.extend(stmt.results.iter().map(|v| (*v, number.clone())));
                    continue;
                }
            }
            if let Op::Call(f, args) = &stmt.op {
                let callee = &functions[f.0 as usize];
                let own = self.own.filter(|own| *own == f.0 as usize);
                let length = own.map_or(self.inlined[f.0 as usize], |_| Some(TINY));
                if let Some(length) = length.filter(|n| *n <= *budget) {
                    *budget -= length;
                    let body = self.copy(callee, &callee.body, args, vars, stmt.site);
                    let outer = std::mem::take(&mut self.own);
                    // What is called there was counted already.
                    let mut within = usize::MAX;
                    let body = deep(|| self.block(body, vars, functions, &mut within, replaced));
                    self.own = outer;
                    stmts.extend(body.stmts);
                    replaced.extend(stmt.results.iter().copied().zip(body.results));
                    continue;
                }
                if let Some((_, then)) = self.base.filter(|(own, _)| *own == f.0 as usize) {
                    let args = args.clone();
                    stmts.extend(self.tested(callee, &args, vars, stmt, then));
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

    /// A call after a test for the small case of the function.
    fn tested(
        &mut self,
        callee: &Function,
        args: &[Atom],
        vars: &mut Vec<VarInfo>,
        call: Stmt,
        then: bool,
    ) -> Vec<Stmt> {
        let mut stmts = callee.body.stmts.clone();
        if let Some(Stmt { op: Op::If { then: yes, otherwise: no, .. }, .. }) = stmts.last_mut() {
            *(if then { no } else { yes }) = Block::default();
        }
        let body = Block { stmts, results: Vec::new() };
        let mut stmts = self.copy(callee, &body, args, vars, call.site).stmts;
        if let Some(Stmt { op: Op::If { then: yes, otherwise: no, .. }, results, .. }) =
            stmts.last_mut()
        {
            // The results of the copy are those of the call now, and the other way round.
            let results = std::mem::replace(results, call.results);
            let atoms = results.iter().map(|v| Atom::Var(*v)).collect();
            let call = Stmt { results, op: call.op, site: call.site };
            *(if then { no } else { yes }) = Block { stmts: vec![call], results: atoms };
        }
        stmts
    }

    /// A body of a function with these arguments.
    fn copy(
        &mut self,
        callee: &Function,
        body: &Block,
        args: &[Atom],
        vars: &mut Vec<VarInfo>,
        call: SiteId,
    ) -> Block {
        let map = callee.params.iter().copied().zip(args.iter().cloned()).collect();
        let mut sites = Sites { all: &mut self.sites, new: HashMap::new(), callee, call };
        let site = |site| sites.within(site);
        Copier { source: Some(&callee.vars), vars, map, site }.block(body)
    }
}

/// The sites of a copied body.
pub(super) struct Sites<'a> {
    /// All sites of the module.
    pub all: &'a mut Vec<Site>,
    /// The new site of each old one, so far.
    pub new: HashMap<SiteId, SiteId>,
    /// The function called.
    pub callee: &'a Function,
    /// The site of its call.
    pub call: SiteId,
}

impl Sites<'_> {
    /// The site of a statement of the body, within the call that the body replaces. What was inlined into the body
    /// earlier stays within its own call, which is now within this one.
    pub fn within(&mut self, site: SiteId) -> SiteId {
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
