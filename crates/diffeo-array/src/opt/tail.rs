//! Tail-call elimination: calls at the end of functions that lead back to the function become loops, so that they take
//! no memory.
//!
//! A function that calls itself at its end becomes a loop. Several functions that call each other at their ends become
//! one function, a loop around a switch between their bodies; each of them is left as a call of it. The sites in such a
//! body say that it was inlined, so errors name the function that ran. A call at the end of a function appears in no
//! trace: it took the place of its caller.

use crate::ir::walk::{deep, Copier};
use crate::ir::{
    Atom, Block, Carried, FlatTy, Function, FunctionId, Inlined, Module, Op, Site, SiteId, Stmt,
    Var, VarInfo,
};
use diffeo_base::{Components, Name, Span};
use hashbrown::{HashMap, HashSet};

/// Tail-call elimination: see the head of the file.
pub fn tail(mut module: Module) -> Module {
    let callees: Vec<Vec<usize>> = module
        .functions
        .iter()
        .map(|function| {
            let mut found = Vec::new();
            // No branch gives accumulators and stacks on to the next step.
            let mutable = |p: &Var| function.vars[p.0 as usize].ty.is_mutable();
            if !function.params.iter().any(mutable) {
                last_calls(&function.body, &mut found);
            }
            found
        })
        .collect();
    let Components { members: components, recursive } =
        Components::new(callees.len(), |f, i| callees[f].get(i).copied());
    let mut names: HashSet<Name> = HashSet::new();
    if components.iter().any(|members| members.len() > 1) {
        names.extend(module.functions.iter().map(|function| function.name.clone()));
    }
    for members in components {
        match members.as_slice() {
            [f] if recursive[*f] => one(&mut module.functions[*f], FunctionId(*f as u32)),
            [_] => {}
            members => several(&mut module, members, &mut names),
        }
    }
    module
}

/// The last statement of a block, if its results are those of the block.
fn last(block: &Block) -> Option<&Stmt> {
    let last = block.stmts.last()?;
    let same = last.results.len() == block.results.len()
        && last.results.iter().zip(&block.results).all(|(var, atom)| *atom == Atom::Var(*var));
    same.then_some(last)
}

/// The functions that are called at the end of a block.
fn last_calls(block: &Block, found: &mut Vec<usize>) {
    let Some(stmt) = last(block) else { return };
    deep(|| match &stmt.op {
        Op::Call(callee, _) => found.push(callee.0 as usize),
        Op::If { then, otherwise, .. } => {
            last_calls(then, found);
            last_calls(otherwise, found);
        }
        Op::Switch { arms, default, .. } => {
            arms.iter().for_each(|(_, arm)| last_calls(arm, found));
            default.iter().for_each(|default| last_calls(default, found));
        }
        _ => {}
    });
}

/// A loop in the place of functions. It carries which function is next, if there are several, the values of
/// their parameters, whether to go on, and the results.
struct TailLoop {
    members: Vec<Member>,
    /// The types of what parameters lie in.
    slots: Vec<FlatTy>,
    results: Vec<FlatTy>,
}

struct Member {
    function: FunctionId,
    /// Where its parameters lie.
    places: Vec<usize>,
}

impl TailLoop {
    fn types(&self) -> Vec<FlatTy> {
        let state = (self.members.len() > 1).then_some(FlatTy::Int);
        let slots = self.slots.iter().cloned();
        state.into_iter().chain(slots).chain([FlatTy::Bool]).chain(self.results.clone()).collect()
    }

    /// What a function is called with: which one, and its arguments in their places.
    fn arguments(&self, member: usize, args: Vec<Atom>) -> Vec<Atom> {
        let mut slots: Vec<Atom> = self.slots.iter().cloned().map(Atom::Unused).collect();
        for (place, arg) in self.members[member].places.iter().zip(args) {
            slots[*place] = arg;
        }
        let state = (self.members.len() > 1).then_some(Atom::Int(member as i64));
        state.into_iter().chain(slots).collect()
    }

    /// A block at the end of a function as one at the end of a step.
    fn block(&self, mut block: Block, vars: &mut Vec<VarInfo>) -> Block {
        let member = |callee| self.members.iter().position(|member| member.function == callee);
        let goes_on = last(&block).is_some_and(|last| match &last.op {
            Op::Call(callee, _) => member(*callee).is_some(),
            Op::If { .. } | Op::Switch { .. } => true,
            _ => false,
        });
        let stmt = if goes_on { block.stmts.pop() } else { None };
        let Some(Stmt { op, site, results }) = stmt else {
            let types = self.types();
            let carried = types.len() - self.results.len() - 1;
            let mut results: Vec<Atom> =
                types.into_iter().take(carried).map(Atom::Unused).collect();
            results.push(Atom::Bool(false));
            results.append(&mut block.results);
            return Block { results, ..block };
        };
        let op = deep(|| match op {
            Op::If { cond, then, otherwise } => Op::If {
                cond,
                then: self.block(then, vars),
                otherwise: self.block(otherwise, vars),
            },
            Op::Switch { on, arms, default } => Op::Switch {
                on,
                arms: arms.into_iter().map(|(on, arm)| (on, self.block(arm, vars))).collect(),
                default: default.map(|default| self.block(default, vars)),
            },
            op => op,
        });
        match op {
            Op::Call(callee, args) => {
                block.results = self.arguments(member(callee).unwrap_or(0), args);
                block.results.push(Atom::Bool(true));
                block.results.extend(self.results.iter().cloned().map(Atom::Unused));
                block
            }
            op => {
                drop(results);
                let (stmt, results) = self.statement(op, site, vars);
                block.stmts.push(stmt);
                Block { results, ..block }
            }
        }
    }

    /// A statement whose results are what is carried.
    fn statement(&self, op: Op, site: SiteId, vars: &mut Vec<VarInfo>) -> (Stmt, Vec<Atom>) {
        let results: Vec<Var> = self.types().into_iter().map(|ty| new(vars, ty)).collect();
        let atoms = results.iter().map(|var| Atom::Var(*var)).collect();
        (Stmt { results, op, site }, atoms)
    }

    /// The loop as the body of a function, with what it carries first.
    fn body(
        &self,
        params: Vec<Var>,
        first: Vec<Atom>,
        step: Block,
        site: SiteId,
        vars: &mut Vec<VarInfo>,
    ) -> Block {
        let going = new(vars, FlatTy::Bool);
        let mut carried: Vec<Carried> =
            params.into_iter().zip(first).map(|(param, init)| Carried { param, init }).collect();
        carried.push(Carried { param: going, init: Atom::Bool(true) });
        for ty in &self.results {
            let param = new(vars, ty.clone());
            carried.push(Carried { param, init: Atom::Unused(ty.clone()) });
        }
        let cond = Block { stmts: Vec::new(), results: vec![Atom::Var(going)] };
        let (stmt, mut results) =
            self.statement(Op::While { carried, cond, body: step }, site, vars);
        Block { stmts: vec![stmt], results: results.split_off(results.len() - self.results.len()) }
    }
}

fn new(vars: &mut Vec<VarInfo>, ty: FlatTy) -> Var {
    vars.push(VarInfo { ty, name: None });
    Var(vars.len() as u32 - 1)
}

fn first_site(block: &Block) -> SiteId {
    block.stmts.first().map_or(SiteId(0), |stmt| stmt.site)
}

/// A function that calls itself.
fn one(function: &mut Function, id: FunctionId) {
    let types = function.params.iter().map(|var| function.vars[var.0 as usize].ty.clone());
    let slots: Vec<FlatTy> = types.collect();
    let member = Member { function: id, places: (0..slots.len()).collect() };
    let whole = TailLoop { members: vec![member], slots, results: function.results.clone() };
    let body = std::mem::take(&mut function.body);
    let site = first_site(&body);
    let vars = &mut function.vars;
    // The body goes on with its variables for the parameters, which the loop now carries.
    let inside = function.params.clone();
    for param in &mut function.params {
        let info = vars[param.0 as usize].clone();
        vars.push(info);
        *param = Var(vars.len() as u32 - 1);
    }
    let first = function.params.iter().map(|var| Atom::Var(*var)).collect();
    let step = whole.block(body, vars);
    function.body = whole.body(inside, first, step, site, vars);
}

/// Functions that call each other.
fn several(module: &mut Module, members: &[usize], names: &mut HashSet<Name>) {
    let mut slots: Vec<FlatTy> = Vec::new();
    let mut places = Vec::new();
    for f in members {
        let function = &module.functions[*f];
        let mut taken = HashSet::new();
        let mut of_function = Vec::new();
        for param in &function.params {
            let ty = &function.vars[param.0 as usize].ty;
            let free = (0..slots.len()).find(|i| slots[*i] == *ty && !taken.contains(i));
            let place = free.unwrap_or_else(|| {
                slots.push(ty.clone());
                slots.len() - 1
            });
            taken.insert(place);
            of_function.push(place);
        }
        places.push(Member { function: FunctionId(*f as u32), places: of_function });
    }
    let results = module.functions[members[0]].results.clone();
    let whole = TailLoop { members: places, slots, results };
    let id = FunctionId(module.functions.len() as u32);
    module.sites.push(Site { span: Span::NONE, inlined: None });
    let nowhere = SiteId(module.sites.len() as u32 - 1);

    let mut vars = Vec::new();
    let types = || std::iter::once(FlatTy::Int).chain(whole.slots.iter().cloned());
    let params: Vec<Var> = types().map(|ty| new(&mut vars, ty)).collect();
    let inside: Vec<Var> = types().map(|ty| new(&mut vars, ty)).collect();
    let mut arms = Vec::new();
    for (i, member) in whole.members.iter().enumerate() {
        let function = &mut module.functions[member.function.0 as usize];
        let (function_vars, body) =
            (std::mem::take(&mut function.vars), std::mem::take(&mut function.body));
        let carried = member.places.iter().map(|place| Atom::Var(inside[place + 1]));
        let map: HashMap<Var, Atom> = function.params.iter().copied().zip(carried).collect();
        let (shown, library) = (function.shown.clone(), function.library);
        let mut places =
            Places { sites: &mut module.sites, shown, library, nowhere, moved: HashMap::new() };
        let body = Copier {
            source: Some(&function_vars),
            vars: &mut vars,
            map,
            site: |site| places.within(site),
        }
        .block(&body);
        arms.push((i as i64, whole.block(body, &mut vars)));
        shell(function, &function_vars, id, &whole, i, nowhere);
    }
    let (stmt, results) = whole.statement(
        Op::Switch { on: Atom::Var(inside[0]), arms, default: None },
        nowhere,
        &mut vars,
    );
    let step = Block { stmts: vec![stmt], results };
    let first = params.iter().map(|var| Atom::Var(*var)).collect();
    let body = whole.body(inside, first, step, nowhere, &mut vars);
    let base = module.functions[members[0]].name.clone();
    let mut name = Name::from(format!("{base}.loop"));
    while !names.insert(name.clone()) {
        name = Name::from(format!("{name}.loop"));
    }
    module.functions.push(Function {
        name,
        shown: Name::new(""),
        library: true,
        span: Span::NONE,
        vars,
        params,
        results: whole.results,
        body,
    });
}

/// What is left of a function: a call of the loop.
fn shell(
    function: &mut Function,
    vars: &[VarInfo],
    id: FunctionId,
    whole: &TailLoop,
    member: usize,
    site: SiteId,
) {
    function.vars = function.params.iter().map(|var| vars[var.0 as usize].clone()).collect();
    function.params = (0..function.params.len() as u32).map(Var).collect();
    let args = function.params.iter().map(|var| Atom::Var(*var)).collect();
    let op = Op::Call(id, whole.arguments(member, args));
    let results: Vec<Var> =
        whole.results.iter().map(|ty| new(&mut function.vars, ty.clone())).collect();
    let atoms = results.iter().map(|var| Atom::Var(*var)).collect();
    function.body = Block { stmts: vec![Stmt { results, op, site }], results: atoms };
    // The places in its body name it.
    function.shown = Name::new("");
    function.library = true;
}

/// The places of a body that is moved into the loop.
struct Places<'m> {
    sites: &'m mut Vec<Site>,
    shown: Name,
    library: bool,
    nowhere: SiteId,
    moved: HashMap<SiteId, SiteId>,
}

impl Places<'_> {
    fn within(&mut self, site: SiteId) -> SiteId {
        if let Some(moved) = self.moved.get(&site) {
            return *moved;
        }
        let Some(Site { span, inlined }) = self.sites.get(site.0 as usize).cloned() else {
            return site;
        };
        let inlined = match inlined {
            None => {
                Inlined { function: self.shown.clone(), library: self.library, at: self.nowhere }
            }
            Some(inlined) => Inlined { at: deep(|| self.within(inlined.at)), ..inlined },
        };
        self.sites.push(Site { span, inlined: Some(inlined) });
        let moved = SiteId(self.sites.len() as u32 - 1);
        self.moved.insert(site, moved);
        moved
    }
}
