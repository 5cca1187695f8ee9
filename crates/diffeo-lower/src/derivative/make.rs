//! Makes the bodies of the declared derivatives when all functions are complete: innermost first. The functions that
//! they are taken of are optimised before.

use super::{Derivative, DerivativeKind, DerivativeState};
use crate::passes::{left_out, PassRun};
use crate::{Lower, Refusal};
use diffeo_array::ad::{self, differentiable, Rule};
use diffeo_array::ir::walk::{size, statements};
use diffeo_array::ir::{Atom, FlatTy, FunctionId, Op, Site, SiteId, Stmt, Stop, Var, VarInfo};
use diffeo_array::opt::{Early, EARLY};
use diffeo_array::typing::param_types;
use diffeo_base::{deep, Name, Span};
use std::collections::{HashSet, VecDeque};
use std::time::Instant;

const RULE_AGAIN: &str = "a rule of `with_derivative` is differentiated again";

/// What there is where a function leads.
struct Within {
    /// The derivatives that are taken there.
    derivatives: Vec<usize>,
    functions: HashSet<FunctionId>,
    /// How deep those are that settled functions lead to.
    depth: usize,
}

impl Lower<'_> {
    /// Makes the derivatives.
    pub(crate) fn derive(&mut self) -> Result<(), Refusal> {
        if self.unsupported.is_none() && self.derivatives.is_empty() {
            return Ok(());
        }
        let callers = self.callers();
        if let Some((function, at, why)) = self.unsupported.take() {
            return Err(Refusal::Derivative(self.place(&callers, function, at), why));
        }
        for i in 0..self.derivatives.len() {
            let (function, at) = self.derivatives[i].taken;
            self.derivatives[i].place = self.place(&callers, function, at);
        }
        if let Some(i) = self.rule_of_higher_order() {
            return Err(Refusal::Derivative(self.derivatives[i].place, RULE_AGAIN.to_string()));
        }
        let order = self.order();
        let (mut statements, mut seen) = (0, self.module.functions.len());
        for depth in 0..=order.iter().copied().max().unwrap_or(0) {
            // What is derived again is made smaller, too, now that it is there.
            self.optimise_early();
            self.deriver.forget();
            for i in (0..order.len()).filter(|i| order[*i] == depth) {
                self.make(i)?;
                let made = self.module.functions[seen..].iter();
                statements += made.map(|f| size(&f.body, usize::MAX)).sum::<usize>();
                seen = self.module.functions.len();
                if let Some(most) = self.options.longest.filter(|most| statements > *most) {
                    return Err(Refusal::Long(most));
                }
            }
        }
        for (id, variants) in self.hidden.drain(..) {
            self.module.boxes[id.0 as usize].variants = variants;
        }
        Ok(())
    }

    /// A derivative of order 2 or more that leads to a rule of `with_derivative`. Whether the rule or the function counts
    /// at a level depends on what varies there, which only a run knows.
    fn rule_of_higher_order(&self) -> Option<usize> {
        if self.inexact.is_empty() {
            return None;
        }
        let reached: Vec<HashSet<FunctionId>> =
            self.derivatives.iter().map(|d| self.reached(d.of)).collect();
        let inexact: Vec<bool> = reached.iter().map(|r| !r.is_disjoint(&self.inexact)).collect();
        (0..reached.len()).find(|i| {
            let again = |f| self.declared.get(f).is_some_and(|inner| inexact[*inner]);
            let order = match self.derivatives[*i].what {
                DerivativeKind::Jet(orders, _) => orders.r,
                DerivativeKind::Rd | DerivativeKind::Vjp => 1,
                // The program runs as it is: what it differentiates counts by itself.
                DerivativeKind::Dependence | DerivativeKind::AllPaths => 0,
            };
            inexact[*i] && order > 1 || reached[*i].iter().any(again)
        })
    }

    /// The functions that a function leads to, but for those that derivatives are taken of there.
    fn reached(&self, function: FunctionId) -> HashSet<FunctionId> {
        let mut seen = HashSet::from([function]);
        let mut pending = vec![function];
        while let Some(next) = pending.pop() {
            let mut visit = |f: FunctionId| {
                if seen.insert(f) {
                    pending.push(f);
                }
            };
            if let Some(rule) = self.deriver.rules.get(&next) {
                visit(rule.function);
            }
            statements(&self.module.functions[next.0 as usize].body, &mut |stmt| match &stmt.op {
                Op::Call(callee, _) => visit(*callee),
                Op::Constant(c) => visit(self.module.constants[c.0 as usize].init),
                _ => {}
            });
        }
        seen
    }

    /// By derivative, how many are taken one within the other in what it is taken of. Where one is taken within itself,
    /// nobody knows, and none are counted.
    fn order(&mut self) -> Vec<usize> {
        let mut depths = vec![None; self.derivatives.len()];
        let known = (0..depths.len()).all(|i| self.depth(i, &mut depths).is_some());
        self.settled.clear();
        depths.into_iter().map(|depth| depth.flatten().filter(|_| known).unwrap_or(0)).collect()
    }

    /// How deep a derivative is itself; none if it is taken within itself. Those that are being looked at have none
    /// yet.
    fn depth(&mut self, i: usize, depths: &mut [Option<Option<usize>>]) -> Option<usize> {
        if let Some(known) = depths[i] {
            return known.map(|within| within + 1);
        }
        depths[i] = Some(None);
        let Within { derivatives, functions, mut depth } = self.within(self.derivatives[i].of);
        for inner in derivatives {
            depth = depth.max(deep(|| self.depth(inner, depths))?);
        }
        self.settled.extend(functions.into_iter().map(|f| (f, depth)));
        depths[i] = Some(Some(depth));
        Some(depth + 1)
    }

    /// Optimises what derivatives are taken of. The functions declared for derivatives may do anything.
    fn optimise_early(&mut self) {
        let made = |i: &usize| self.derivatives[*i].state == DerivativeState::Made;
        let declared = self.declared.iter().filter(|(_, i)| !made(i));
        let declared: Vec<FunctionId> = declared.map(|(id, _)| *id).collect();
        let rules = self.deriver.rules.values().map(|rule| rule.function);
        let open = || self.derivatives.iter().filter(|d| d.state != DerivativeState::Made);
        let mut roots: Vec<FunctionId> = open().map(|d| d.of).chain(rules).collect();
        roots.sort_unstable();
        let prints = self.prints();
        let special = self.deriver.detached.iter().chain(&self.deriver.checkpoints);
        let stay = special.chain(self.deriver.rules.keys()).chain(&declared).copied().collect();
        let forward = |what| !matches!(what, DerivativeKind::Rd | DerivativeKind::Vjp);
        let forward = open().all(|d| forward(d.what));
        // What they do not lead to is put aside, too.
        let mut led_to = vec![false; self.module.functions.len()];
        let mut pending = roots.clone();
        while let Some(id) = pending.pop() {
            if std::mem::replace(&mut led_to[id.0 as usize], true) {
                continue;
            }
            let body = &self.module.functions[id.0 as usize].body;
            statements(body, &mut |stmt| match &stmt.op {
                Op::Call(callee, _) => pending.push(*callee),
                Op::Constant(c) => pending.push(self.module.constants[c.0 as usize].init),
                _ => {}
            });
        }
        for id in declared {
            led_to[id.0 as usize] = false;
        }
        // Derivatives call these functions' rules, which may stop the program where the function does nothing.
        for (id, rule) in &self.deriver.rules {
            led_to[id.0 as usize] &= !prints[id.0 as usize] && rule.decisions.is_none();
        }
        let mut aside = Vec::new();
        for (f, function) in self.module.functions.iter_mut().enumerate() {
            if led_to[f] {
                continue;
            }
            let params = function.params.iter().map(|p| function.vars[p.0 as usize].clone());
            let params: Vec<VarInfo> = params.collect();
            let vars = std::mem::replace(&mut function.vars, params);
            let numbers = (0..).map(Var).take(function.params.len()).collect();
            let params = std::mem::replace(&mut function.params, numbers);
            aside.push((f, vars, params, std::mem::take(&mut function.body)));
            let mut stop = |ty: &FlatTy| {
                function.vars.push(VarInfo { ty: ty.clone(), name: None });
                Var(function.vars.len() as u32 - 1)
            };
            let text = prints[f].then(|| stop(&FlatTy::Text));
            let results: Vec<Var> = function.results.iter().map(&mut stop).collect();
            if let Some(text) = text {
                let mut push = |results, op| {
                    function.body.stmts.push(Stmt { results, op, site: SiteId(0) });
                };
                push(vec![text], Op::Text(Name::new("")));
                push(Vec::new(), Op::Trace(Atom::Var(text), Atom::Var(text)));
            }
            function.body.results = results.iter().map(|v| Atom::Var(*v)).collect();
            function.body.stmts.push(Stmt { results, op: Op::Stop(Stop::Nan), site: SiteId(0) });
        }
        let of = Early { roots: &roots, stay: &stay, forward };
        for pass in EARLY.iter().filter(|pass| !left_out().iter().any(|name| name == pass.name)) {
            let start = Instant::now();
            self.module = (pass.run)(std::mem::take(&mut self.module), &of);
            (self.see)(&PassRun { pass: pass.name, module: &self.module, time: start.elapsed() });
        }
        for (f, vars, params, body) in aside {
            let function = &mut self.module.functions[f];
            (function.vars, function.params, function.body) = (vars, params, body);
        }
    }

    /// By function, whether it prints, or a derivative does that is taken there, or that is taken of it by a rule.
    fn prints(&self) -> Vec<bool> {
        let mut leads: Vec<Vec<FunctionId>> = vec![Vec::new(); self.module.functions.len()];
        let mut pending = Vec::new();
        for (id, function) in (0..).map(FunctionId).zip(&self.module.functions) {
            statements(&function.body, &mut |stmt| match &stmt.op {
                Op::Call(callee, _) => leads[callee.0 as usize].push(id),
                Op::Trace(..) | Op::Progress(..) | Op::Warn(..) => pending.push(id),
                _ => {}
            });
        }
        for (id, i) in &self.declared {
            leads[self.derivatives[*i].of.0 as usize].push(*id);
        }
        for (id, rule) in &self.deriver.rules {
            leads[rule.function.0 as usize].push(*id);
        }
        let mut prints = vec![false; leads.len()];
        while let Some(id) = pending.pop() {
            if !std::mem::replace(&mut prints[id.0 as usize], true) {
                pending.extend(&leads[id.0 as usize]);
            }
        }
        prints
    }

    /// By function, what calls it and where.
    fn callers(&self) -> Vec<Vec<(FunctionId, SiteId)>> {
        let mut callers = vec![Vec::new(); self.module.functions.len()];
        for (id, caller) in (0..).map(FunctionId).zip(&self.module.functions) {
            statements(&caller.body, &mut |stmt| {
                if let Op::Call(callee, _) = &stmt.op {
                    callers[callee.0 as usize].push((id, stmt.site));
                }
            });
        }
        callers
    }

    /// The place for a function and a place in it. Within the library, it is that of the call that led there.
    fn place(
        &self,
        callers: &[Vec<(FunctionId, SiteId)>],
        function: FunctionId,
        at: SiteId,
    ) -> Span {
        let mut seen = HashSet::from([function]);
        let mut pending = VecDeque::from([(function, at)]);
        while let Some((function, mut at)) = pending.pop_front() {
            loop {
                let site = &self.module.sites[at.0 as usize];
                if !site.span.is_none() && !self.program.library.contains(&site.span.file) {
                    return site.span;
                }
                let Some(inlined) = &site.inlined else { break };
                at = inlined.at;
            }
            for (id, at) in &callers[function.0 as usize] {
                if seen.insert(*id) {
                    pending.push_back((*id, *at));
                }
            }
        }
        self.module.sites[at.0 as usize].span
    }

    /// What there is where a function leads, but for functions that are settled.
    fn within(&self, function: FunctionId) -> Within {
        let (mut found, mut depth) = (Vec::new(), 0);
        let mut seen = HashSet::from([function]);
        let mut pending = vec![function];
        while let Some(next) = pending.pop() {
            found.extend(self.declared.get(&next));
            let mut visit = |f: FunctionId| {
                if let Some(settled) = self.settled.get(&f) {
                    depth = depth.max(*settled);
                } else if seen.insert(f) {
                    pending.push(f);
                }
            };
            if let Some(rule) = self.deriver.rules.get(&next) {
                visit(rule.function);
            }
            statements(&self.module.functions[next.0 as usize].body, &mut |stmt| {
                if let Op::Call(callee, _) = &stmt.op {
                    visit(*callee);
                }
            });
        }
        Within { derivatives: found, functions: seen, depth }
    }

    /// Lets the program stop, for the evaluator to begin again, where a derivative is taken within itself and is to be
    /// derived once more. The place is that of the derivative.
    fn end_tower(&mut self, function: FunctionId, place: Span) {
        if self.deriver.rules.contains_key(&function) {
            return;
        }
        let ended = &self.module.functions[function.0 as usize];
        let (params, results) = (param_types(ended), &ended.results);
        let linear = results.iter().filter(|ty| differentiable(&self.module, ty));
        let all: Vec<FlatTy> = results.iter().chain(linear).cloned().collect();
        let point = params.len();
        let rule = self.glue("tower", &params, all.clone());
        let at = SiteId(self.module.sites.len() as u32);
        self.module.sites.push(Site { span: place, inlined: None });
        let saved = self.begin(rule, at);
        self.stop(Stop::Order, at);
        let results = all.into_iter().map(Atom::Unused).collect();
        self.end(rule, results, saved);
        self.deriver.rules.insert(function, Rule { function: rule, point, decisions: None });
    }

    fn make(&mut self, i: usize) -> Result<(), Refusal> {
        let Derivative { what, wrapper, pullback, of, captured, place, watched, state, .. } =
            self.derivatives[i];
        let cannot = |why: &str| Refusal::Derivative(place, why.to_string());
        match state {
            DerivativeState::Made => return Ok(()),
            DerivativeState::Open => {
                for function in pullback.map(|(pull, _)| pull).into_iter().chain([wrapper]) {
                    self.end_tower(function, place);
                }
                return Ok(());
            }
            DerivativeState::Declared => {}
        }
        self.derivatives[i].state = DerivativeState::Open;
        let Within { derivatives, functions, .. } = self.within(of);
        for inner in derivatives {
            deep(|| self.make(inner))?;
        }
        self.settled.extend(functions.into_iter().map(|f| (f, 0)));
        let body = match what {
            DerivativeKind::Rd => {
                ad::rd(&mut self.module, &mut self.deriver, of, captured, wrapper, watched)
            }
            DerivativeKind::Jet(orders, variable) => {
                let orders = (orders, variable);
                let (module, cache) = (&mut self.module, &mut self.deriver);
                ad::jet(module, cache, of, captured, wrapper, orders, watched)
            }
            DerivativeKind::Dependence => {
                ad::dependence(&mut self.module, &mut self.deriver, of, captured, wrapper)
            }
            DerivativeKind::AllPaths => {
                ad::all_paths(&mut self.module, &mut self.deriver, of, captured, wrapper)
            }
            DerivativeKind::Vjp => match pullback {
                Some((pull, id)) => {
                    let functions = (wrapper, pull);
                    let (module, cache) = (&mut self.module, &mut self.deriver);
                    ad::vjp(module, cache, of, captured, functions, id, watched)
                }
                None => Ok(()),
            },
        };
        body.map_err(|ad::Unsupported(why)| cannot(&why))?;
        self.derivatives[i].state = DerivativeState::Made;
        if let Some((_, id)) = pullback.filter(|(pull, _)| self.deriver.rules.contains_key(pull)) {
            // What has been made takes its residuals for boxes without fields.
            let slot = &mut self.module.boxes[id.0 as usize].variants;
            self.hidden.push((id, std::mem::take(slot)));
        }
        Ok(())
    }
}
