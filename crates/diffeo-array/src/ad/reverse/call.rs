//! Calls: of functions, of functions with rules, of functions that are computed again (checkpoints).

use super::prepare::added;
use super::{derive, ParamUse, Reverse, ReverseRequest, Reverser};
use crate::ad::shadow::zero_value;
use crate::ad::{activity, differentiable, forward, zero, Rule, Unsupported};
use crate::ir::walk::var;
use crate::ir::{Atom, Elem, FlatTy, FunctionId, Op, Stmt, Var};
use crate::typing::param_types;

/// Statements before a call of a rule, its operands, and of which arguments they are tangents.
type Ruled = (Vec<Stmt>, Vec<Atom>, Vec<usize>);

impl<'s> Reverser<'_, 's> {
    /// Adds the backward part of a call; gives what it is in the forward part.
    pub fn call(
        &mut self,
        stmt: &Stmt,
        callee: FunctionId,
        args: &[Atom],
    ) -> Result<Vec<Stmt>, Unsupported> {
        let active: Box<[bool]> = args.iter().map(|arg| self.varies(arg)).collect();
        if let Some(rule) = self.cache.rule(self.module, callee, &active) {
            return self.call_rule(stmt, args, &active, &rule);
        }
        let given = self.given(stmt, args.len());
        let bags = stmt.results.iter().map(|v| self.plan.is_bag(*v)).collect();
        let made = self.derived(callee, [args, args], [&active, &given], bags)?;
        if self.cache.checkpoints.contains(&callee) {
            let operands = self.primals(args);
            let kept = self.back.emit(self.module, Op::Call(made.forward, operands));
            let kept = kept[stmt.results.len()..].to_vec();
            let bars = self.result_bars(&stmt.results, &made.active);
            self.call_back(&made, kept, bars, args, &active);
            return Ok(vec![stmt.clone()]);
        }
        let (forward, kept, atoms) = match self.on_tape(&made, args) {
            Some((forward, position, atoms)) => (forward, vec![position], atoms),
            None => {
                let (kept, atoms) = self.residuals(&made, args);
                (made.forward, kept, atoms)
            }
        };
        let bars = self.result_bars(&stmt.results, &made.active);
        let mut passed = active.to_vec();
        for ((arg, given), passed) in args.iter().zip(&given).zip(&mut passed) {
            if let (Atom::Var(v), true) = (arg, *given) {
                if !self.has_bar(*v) {
                    self.touch(*v);
                    *passed = false;
                }
            }
        }
        self.call_back(&made, atoms, bars, args, &passed);
        let results = stmt.results.iter().copied().chain(kept).collect();
        let op = Op::Call(forward, args.to_vec());
        Ok(vec![Stmt { results, op, site: stmt.site }])
    }

    /// A call within a recursion: the forward part that goes on with the tape, the variable of its position there, and
    /// the residuals in the backward part.
    fn on_tape(&mut self, made: &Reverse, args: &[Atom]) -> Option<(FunctionId, Var, Vec<Atom>)> {
        let (tape, forward) = made.taped.filter(|_| self.top().tape)?;
        if self.tape != Some(tape) {
            return None;
        }
        let position = self.forward_var(FlatTy::Int, None, self.scopes.len() - 1);
        let mut atoms: Vec<Atom> =
            made.same.iter().flatten().map(|param| self.primal(&args[*param])).collect();
        atoms.push(self.primal(&Atom::Var(position)));
        atoms.extend(self.tape_arrays().map(Atom::Var));
        Some((forward, position, atoms))
    }

    /// The parts of a function that is called with these arguments, with adjoints for these variables.
    fn derived(
        &mut self,
        callee: FunctionId,
        [args, targets]: [&[Atom]; 2],
        [active, given]: [&[bool]; 2],
        result_bags: Box<[bool]>,
    ) -> Result<Reverse, Unsupported> {
        let param = |i| ParamUse {
            varies: active[i],
            kept: var(&args[i]).is_none_or(|v| self.plan.keeps(v)),
            given: given[i],
            bag: var(&targets[i]).is_some_and(|v| self.plan.is_bag(v)),
        };
        let params = (0..args.len()).map(param).collect();
        let request = ReverseRequest { function: callee, params, result_bags };
        derive(self.module, self.cache, &request)
    }

    /// The arguments of a call that share their accumulators with results.
    fn given(&self, stmt: &Stmt, count: usize) -> Box<[bool]> {
        let shared = stmt.results.first().map(|v| self.plan.call(*v)).unwrap_or_default();
        (0..count).map(|i| shared.iter().any(|shared| shared.param() == Some(i))).collect()
    }

    /// The residuals of a call, as variables of the forward part, and in the backward part. Those that are arguments
    /// may be computed again.
    fn residuals(&mut self, made: &Reverse, args: &[Atom]) -> (Vec<Var>, Vec<Atom>) {
        let home = self.scopes.len() - 1;
        let kept: Vec<Var> =
            made.residuals.iter().map(|ty| self.forward_var(ty.clone(), None, home)).collect();
        let atoms = kept.iter().zip(&made.same).map(|(v, same)| match same {
            Some(param) => self.primal(&args[*param]),
            None => self.primal(&Atom::Var(*v)),
        });
        let atoms = atoms.collect();
        (kept, atoms)
    }

    /// The adjoints of those results that vary.
    fn result_bars(&mut self, results: &[Var], active: &[bool]) -> Vec<Atom> {
        let active = results.iter().zip(active).filter(|(_, active)| **active);
        let active: Vec<Var> = active.map(|(result, _)| *result).collect();
        let bar = |v: Var| match self.has_bar(v) {
            true => self.take_bar(v).unwrap_or_else(|| self.zero_bar(v)),
            false => self.acc(v),
        };
        active.into_iter().map(bar).collect()
    }

    /// Calls the backward part with these residuals and adjoints of results, for those arguments that vary.
    fn call_back(
        &mut self,
        made: &Reverse,
        kept: Vec<Atom>,
        bars: Vec<Atom>,
        args: &[Atom],
        active: &[bool],
    ) {
        let mut operands = kept;
        operands.extend(bars);
        let mut reals = Vec::new();
        for (arg, _) in args.iter().zip(active).filter(|(_, active)| **active) {
            match arg {
                Atom::Var(v)
                    if !self.has_bar(*v)
                        && matches!(
                            self.vars[v.0 as usize].ty,
                            FlatTy::Array(Elem::Real, _) | FlatTy::Acc(_)
                        ) =>
                {
                    operands.push(self.acc(*v));
                    self.touch(*v);
                }
                arg => reals.push(arg),
            }
        }
        self.top().effects = true;
        let given = self.back.emit(self.module, Op::Call(made.back, operands));
        for (arg, bar) in reals.into_iter().zip(given) {
            self.add_bar(arg, bar);
        }
    }

    /// A call of a function with a derivative of its own, which is linear in the tangents: so it is transposed, at
    /// tangents zero. Its value varies with what the rule has captured.
    fn call_rule(
        &mut self,
        stmt: &Stmt,
        args: &[Atom],
        active: &[bool],
        rule: &Rule,
    ) -> Result<Vec<Stmt>, Unsupported> {
        let (mut made, operands, tangents) = self.ruled(stmt, args, rule);
        let mut wanted: Vec<bool> =
            active.iter().enumerate().map(|(i, active)| *active && i < rule.point).collect();
        wanted.extend(tangents.iter().map(|i| active[*i]));
        let given = vec![false; operands.len()];
        let arguments: Vec<Atom> =
            args.iter().chain(tangents.iter().map(|i| &args[*i])).cloned().collect();
        let all = [&operands[..], &arguments[..]];
        let bags = vec![false; self.module.functions[rule.function.0 as usize].results.len()];
        let derived = self.derived(rule.function, all, [&wanted, &given], bags.into())?;
        let (kept, atoms) = self.residuals(&derived, &operands);
        let varying: Vec<Var> = (stmt.results.iter().copied())
            .filter(|v| differentiable(self.module, &self.vars[v.0 as usize].ty))
            .collect();
        let bars = self.all_bars(&stmt.results);
        let (own, linear) = derived.active.split_at(stmt.results.len());
        let mut all = wanted_bars(&bars, &stmt.results, own);
        if linear.contains(&true) {
            // Adjoints are used up.
            all = all.into_iter().map(|bar| self.copied_bar(bar)).collect();
        }
        all.extend(wanted_bars(&bars, &varying, linear));
        self.call_back(&derived, atoms, all, &arguments, &wanted);
        let mut results = stmt.results.clone();
        results.extend(self.like(&varying));
        results.extend(kept);
        let op = Op::Call(derived.forward, operands);
        made.push(Stmt { results, op, site: stmt.site });
        Ok(made)
    }

    /// The statements before a call of a rule, its operands with tangents zero, and the arguments that have tangents.
    fn ruled(&mut self, stmt: &Stmt, args: &[Atom], rule: &Rule) -> Ruled {
        let types = param_types(&self.module.functions[rule.function.0 as usize]);
        let (mut before, mut operands, mut tangents) = (Vec::new(), args.to_vec(), Vec::new());
        for i in rule.point..args.len() {
            if differentiable(self.module, &types[i]) {
                operands.push(self.zero(&args[i], true, stmt, &mut before));
                tangents.push(i);
            }
        }
        (before, operands, tangents)
    }

    /// A call of which only the values are wanted, in a function that is differentiated: what rules say counts.
    /// None if no rule says anything.
    pub fn call_value(
        &mut self,
        stmt: &Stmt,
        callee: FunctionId,
        args: &[Atom],
    ) -> Result<Option<Vec<Stmt>>, Unsupported> {
        let active: Vec<bool> = args.iter().map(|arg| self.varies(arg)).collect();
        if !active.contains(&true) || self.cache.detached.contains(&callee) {
            return Ok(None);
        }
        let (mut made, function, operands) = match self.cache.rule(self.module, callee, &active) {
            Some(rule) => {
                let (before, operands, _) = self.ruled(stmt, args, &rule);
                (before, rule.function, operands)
            }
            None if activity(self.module, self.cache, callee, &active).ruled => {
                let derived = forward(self.module, self.cache, callee, &active, 1)?;
                let (mut before, mut operands) = (Vec::new(), args.to_vec());
                for (arg, _) in args.iter().zip(&active).filter(|(_, active)| **active) {
                    operands.push(self.zero(arg, false, stmt, &mut before));
                }
                (before, derived.function, operands)
            }
            None => return Ok(None),
        };
        let types = self.module.functions[function.0 as usize].results.clone();
        let home = self.scopes.len() - 1;
        let mut results = stmt.results.clone();
        for ty in types.into_iter().skip(results.len()) {
            results.push(self.forward_var(ty, None, home));
        }
        made.push(Stmt { results, op: Op::Call(function, operands), site: stmt.site });
        Ok(Some(made))
    }

    /// New variables of the forward part, of the types of others.
    fn like(&mut self, vars: &[Var]) -> Vec<Var> {
        let home = self.scopes.len() - 1;
        let ty = |r: &Self, v: &Var| r.vars[v.0 as usize].ty.clone();
        let types: Vec<FlatTy> = vars.iter().map(|v| ty(self, v)).collect();
        types.into_iter().map(|ty| self.forward_var(ty, None, home)).collect()
    }

    /// The adjoints of those results of a statement that vary.
    fn all_bars(&mut self, results: &[Var]) -> Vec<(Var, Atom)> {
        let active: Vec<bool> = results.iter().map(|v| self.varies(&Atom::Var(*v))).collect();
        let bars = self.result_bars(results, &active);
        let varying = results.iter().zip(&active).filter(|(_, active)| **active);
        varying.map(|(v, _)| *v).zip(bars).collect()
    }

    /// An adjoint, of an array as another accumulator.
    fn copied_bar(&mut self, bar: Atom) -> Atom {
        let FlatTy::Acc(rank) = self.back.ty(&bar) else { return bar };
        let sum = self.read(Op::AccGet(bar));
        let sizes = (0..rank).map(|k| self.one(Op::Dim(sum.clone(), k))).collect();
        let copy = self.one(Op::AccNew(sizes));
        self.effect(Op::AccAddArray(copy.clone(), sum));
        copy
    }

    /// A tangent that is zero, for an argument of the forward part: for a rule, as a value of the type of the argument.
    fn zero(&mut self, arg: &Atom, rule: bool, stmt: &Stmt, before: &mut Vec<Stmt>) -> Atom {
        let (module, cache) = (&mut *self.module, &mut *self.cache);
        let (stmts, dot) = added(&mut self.vars, stmt.site, |b| match rule {
            true => zero_value((b, module, cache), arg.clone()),
            false => zero(b, module, cache, arg, 1).pop().unwrap_or(Atom::Real(0.0)),
        });
        before.extend(stmts);
        self.homes.resize(self.vars.len(), self.scopes.len() - 1);
        dot
    }
}

/// Of the adjoints of variables, those of the ones that vary.
fn wanted_bars(bars: &[(Var, Atom)], vars: &[Var], active: &[bool]) -> Vec<Atom> {
    let bar = |v: &Var| {
        let found = bars.iter().find(|(known, _)| known == v);
        found.map_or(Atom::Real(0.0), |(_, bar)| bar.clone())
    };
    vars.iter().zip(active).filter(|(_, active)| **active).map(|(v, _)| bar(v)).collect()
}
