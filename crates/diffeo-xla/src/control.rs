//! Branches, loops and reductions.

use crate::emit::union;
use crate::lift::{unknown_text, Lift, Outcome};
use crate::value::{Dim, Tensor, Val};
use crate::Reason;
use diffeo_array::ir::walk::{size, statements};
use diffeo_array::ir::{self, Block, Elem, Op, Reduction, Var};
use diffeo_calculus::prim::Comparison;
use std::rc::Rc;

/// The most steps of any loop that is unrolled, and the most statements that a loop of straight code is unrolled to.
pub(crate) const UNROLLED: i64 = 4;
const UNROLLED_STATEMENTS: i64 = 256;

/// A counted loop of Flat.
#[derive(Clone, Copy)]
pub(crate) struct CountedLoop<'b> {
    pub index: Var,
    pub carried: &'b [ir::Carried],
    pub body: &'b Block,
}

/// One of two ways.
pub(crate) type Way<'w, 'm> = dyn FnMut(&mut Lift<'m>) -> Outcome<Vec<Val>> + 'w;

impl<'m> Lift<'m> {
    pub fn reduction(
        &mut self,
        how: &[Reduction],
        count: &Val,
        index: Var,
        body: &Block,
    ) -> Outcome<Vec<Val>> {
        let (dim, values) = self.steps(count, index, |lift| {
            let values = lift.block(body)?;
            let mut all = Vec::new();
            for (value, how) in values.iter().zip(how) {
                let mut value = lift.tensor(value, Elem::Real);
                // Rows may have different numbers of steps.
                if let Some(mask) = lift.mask.clone().filter(|_| count.known().is_none()) {
                    let mask = lift.tensor(&mask, Elem::Bool);
                    value = match how {
                        Reduction::Add => lift.masked(&mask, &value),
                        Reduction::Max | Reduction::Min => {
                            let unit = lift.unit(*how);
                            lift.select(&mask, &value, &unit)
                        }
                    };
                }
                all.push(value);
            }
            Ok(all)
        })?;
        let mut all = Vec::new();
        for (value, how) in values.iter().zip(how) {
            let found = match how {
                Reduction::Add => self.sum_over(value, &[dim]),
                Reduction::Max | Reduction::Min => {
                    let word = if *how == Reduction::Max { "maximum" } else { "minimum" };
                    let unit = self.unit(*how);
                    let value = self.broadcast_to_end(value, dim);
                    self.reduce_dims(&value, &[dim], word, &unit)
                }
            };
            all.push(Val::Tensor(found));
        }
        Ok(all)
    }

    pub fn unit(&mut self, how: Reduction) -> Tensor {
        self.real(match how {
            Reduction::Add => 0.0,
            Reduction::Max => f64::NEG_INFINITY,
            Reduction::Min => f64::INFINITY,
        })
    }

    // Branches

    pub fn switch(
        &mut self,
        on: &Val,
        arms: &[(i64, Block)],
        default: Option<&Block>,
        results: &[Var],
    ) -> Outcome<Vec<Val>> {
        match (arms, default) {
            ([], Some(block)) | ([(_, block)], None) => self.block(block),
            ([], None) => Ok(vec![Val::Unused; results.len()]),
            ([(value, block), rest @ ..], _) => {
                let cond =
                    self.comparison(Comparison::Eq, ir::Scalar::Int, on, &Val::int(*value))?;
                self.branch(&cond, results, &mut |lift| lift.block(block), &mut |lift| {
                    lift.switch(on, rest, default, results)
                })
            }
        }
    }

    /// One of two ways.
    pub fn branch(
        &mut self,
        cond: &Val,
        results: &[Var],
        then: &mut Way<'_, 'm>,
        otherwise: &mut Way<'_, 'm>,
    ) -> Outcome<Vec<Val>> {
        match cond.known() {
            Some(0) => return otherwise(self),
            Some(_) => return then(self),
            None => {}
        }
        if let Val::Tensor(t) = cond {
            if t.dims.is_empty() {
                return self.regions(&t.clone(), results, then, otherwise);
            }
        }
        let outer = self.mask.clone();
        self.narrow(cond);
        let first = then(self);
        self.mask = outer.clone();
        let first = first?;
        let not = self.not(cond);
        self.narrow(&not);
        let second = otherwise(self);
        self.mask = outer;
        let second = second?;
        let mut all = Vec::new();
        for ((a, b), var) in first.iter().zip(&second).zip(results) {
            all.push(self.choose(cond, a, b, self.elem_of(*var))?);
        }
        Ok(all)
    }

    /// A branch that all steps take, as regions of which one runs.
    pub fn regions(
        &mut self,
        cond: &Tensor,
        results: &[Var],
        then: &mut Way<'_, 'm>,
        otherwise: &mut Way<'_, 'm>,
    ) -> Outcome<Vec<Val>> {
        let before = self.state.clone();
        let mut ways = Vec::new();
        let blocks: [&mut Way<'_, 'm>; 2] = [then, otherwise];
        for block in blocks {
            let region = self.open_region(String::new());
            let values = block(self);
            let text = self.close_region(region);
            self.state.truncate(before.len());
            self.scopes.truncate(before.len());
            let state = std::mem::replace(&mut self.state, before.clone());
            ways.push((text, values?, state));
        }
        let changed: Vec<usize> = (0..before.len())
            .filter(|i| ways.iter().any(|(_, _, state)| state[*i] != before[*i]))
            .collect();
        // A value that is equal on both ways and known outside needs no result of `stablehlo.if`.
        let mut values: Vec<Option<Val>> = Vec::new();
        for (a, b) in ways[0].1.iter().zip(&ways[1].1) {
            let same = match (a, b) {
                (Val::Unused, _) | (_, Val::Acc(_)) => Some(b.clone()).filter(outside),
                (_, Val::Unused) => Some(a.clone()).filter(outside),
                (Val::Real(x), Val::Real(y)) if x.to_bits() == y.to_bits() => Some(a.clone()),
                (Val::Int(x), Val::Int(y)) if x == y => Some(a.clone()),
                (Val::Text(_), _) | (_, Val::Text(_)) => Some(unknown_text()),
                _ => None,
            };
            values.push(same);
        }
        let elems: Vec<Elem> = results.iter().map(|var| self.elem_of(*var)).collect();
        // The sizes of a result that one way leaves open are those of the other way.
        let shape = |value: &Val| match value {
            Val::Tensor(t) => Some(t.shape.clone()),
            Val::Table(table) => Some(table.shape.clone()),
            _ => None,
        };
        let both = ways[0].1.iter().zip(&ways[1].1);
        let shapes: Vec<Option<Vec<i64>>> = both.map(|(a, b)| shape(a).or(shape(b))).collect();
        // The tensors of each way, with equal dimensions.
        let mut yields: Vec<Vec<Tensor>> = Vec::new();
        for (text, given, state) in &mut ways {
            let region = self.open_region(std::mem::take(text));
            let mut all = Vec::new();
            for (i, value) in given.iter().enumerate() {
                if values[i].is_some() {
                    continue;
                }
                all.push(match (value, &shapes[i]) {
                    (Val::Unused, Some(shape)) => self.zeros(elems[i], shape),
                    _ => self.tensor(value, elems[i]),
                });
            }
            all.extend(changed.iter().map(|i| state[*i].clone()));
            *text = self.close_region(region);
            yields.push(all);
        }
        if yields[0].iter().zip(&yields[1]).any(|(a, b)| a.shape != b.shape) {
            return Err(self.refuse(Reason::Size));
        }
        let dims: Vec<Vec<Dim>> = (0..yields[0].len())
            .map(|i| union(yields.iter().map(|all| &all[i].dims[..])))
            .collect();
        let mut types = Vec::new();
        for (way, all) in yields.iter().enumerate() {
            let region = self.open_region(std::mem::take(&mut ways[way].0));
            let mut names = Vec::new();
            types.clear();
            for (t, dims) in all.iter().zip(&dims) {
                let wide = self.broadcast(t, dims);
                types.push(self.ty(&wide));
                names.push(wide.id.to_string());
            }
            self.line(&format!("stablehlo.return {} : {}", names.join(", "), types.join(", ")));
            ways[way].0 = self.close_region(region);
        }
        if yields[0].is_empty() {
            // Neither way has a result that is not known.
            return Ok(values.into_iter().flatten().collect());
        }
        let id = self.name("if");
        let count = yields[0].len();
        let bound = if count == 1 { id.clone() } else { format!("{id}:{count}") };
        self.line(&format!("{bound} = \"stablehlo.if\"({}) ({{", cond.id));
        self.out += &ways[0].0;
        self.line("}, {");
        self.out += &ways[1].0;
        self.line(&format!("}}) : (tensor<i1>) -> ({})", types.join(", ")));
        let ids = self.results(&id, count);
        let mut found = ids.into_iter().enumerate().map(|(i, id)| Tensor {
            id,
            dims: dims[i].clone(),
            ..yields[0][i].clone()
        });
        let mut all = Vec::new();
        for value in values {
            all.push(match value {
                Some(value) => value,
                None => found.next().map_or(Val::Unused, Val::Tensor),
            });
        }
        for i in changed {
            if let Some(t) = found.next() {
                self.state[i] = t;
            }
        }
        Ok(all)
    }

    /// The names of the results of an operation with regions.
    pub fn results(&mut self, id: &str, count: usize) -> Vec<Rc<str>> {
        let name = |i: usize| if count == 1 { id.into() } else { format!("{id}#{i}").into() };
        let ids: Vec<Rc<str>> = (0..count).map(name).collect();
        if self.mask.is_none() {
            self.taken.extend(ids.iter().cloned());
        }
        ids
    }

    // Loops

    /// The first values of the variables of a loop.
    pub fn inits(&self, carried: &[ir::Carried]) -> Vec<Val> {
        carried.iter().map(|c| self.value(&c.init)).collect()
    }

    pub fn for_loop(&mut self, count: &Val, of: &CountedLoop<'_>) -> Outcome<Vec<Val>> {
        let CountedLoop { index, carried, body } = *of;
        let inits = self.inits(carried);
        let few = |n: i64| {
            let each = size(body, UNROLLED_STATEMENTS as usize) as i64;
            let short = n.saturating_mul(each) <= UNROLLED_STATEMENTS;
            n <= UNROLLED || short && is_straight(body)
        };
        if let Some(n) = count.known().filter(|n| few(*n)) {
            let mut values = inits;
            for i in 0..n {
                self.env[index.0 as usize] = Some(Val::int(i));
                for (c, value) in carried.iter().zip(values) {
                    self.env[c.param.0 as usize] = Some(value);
                }
                self.context.push(i as usize);
                let found = self.block(body);
                self.context.pop();
                values = found?;
            }
            return Ok(values);
        }
        match count.known() {
            Some(count) => self.split_loop(count, of),
            None => self.sequential(count, of),
        }
    }

    /// A loop whose steps are computed one after the other.
    pub fn sequential(&mut self, count: &Val, of: &CountedLoop<'_>) -> Outcome<Vec<Val>> {
        let CountedLoop { index, carried, body } = *of;
        let inits = self.inits(carried);
        let known = count.known();
        let mut count = self.ints(count);
        if let Some(n) = known {
            self.bounds.insert(count.id.clone(), (n, n));
        }
        let known = known.is_some();
        if let Some(mask) = self.mask.clone().filter(|_| !known) {
            // Masked steps may have any count, and must not keep the loop going.
            let (mask, none) = (self.tensor(&mask, Elem::Bool), self.int(0));
            count = self.select(&mask, &count, &none);
        }
        let most = match count.dims.is_empty() {
            true => count.clone(),
            false => {
                let least = self.int(i64::MIN);
                let dims = count.dims.clone();
                self.reduce_dims(&count, &dims, "maximum", &least)
            }
        };
        let zero = self.int(0);
        let params: Vec<Var> = carried.iter().map(|c| c.param).collect();
        let lifted = !count.dims.is_empty();
        let last = self.range(&Val::Tensor(count.clone())).map(|(_, most)| most - 1);
        self.repeat(
            inits,
            &params,
            vec![zero],
            &mut |lift, own| Ok(lift.compare("LT", &own[0], &most)),
            &mut |lift, own, params| {
                if let Some(last) = last {
                    lift.bounds.insert(own[0].id.clone(), (0, last.max(0)));
                }
                lift.env[index.0 as usize] = Some(Val::Tensor(own[0].clone()));
                let outer = lift.mask.clone();
                let active = lifted.then(|| Val::Tensor(lift.compare("LT", &own[0], &count)));
                if let Some(active) = &active {
                    lift.narrow(active);
                }
                let old: Vec<Val> = lift.params(params);
                let values = lift.block(body);
                lift.mask = outer;
                let mut values = values?;
                if let Some(active) = &active {
                    for (i, value) in values.iter_mut().enumerate() {
                        *value = lift.choose(active, value, &old[i], lift.elem_of(params[i]))?;
                    }
                }
                let one = lift.int(1);
                let next = lift.each("add", &[own[0].clone(), one]);
                Ok((vec![next], values))
            },
        )
    }

    pub fn params(&self, params: &[Var]) -> Vec<Val> {
        params.iter().map(|p| self.env[p.0 as usize].clone().unwrap_or(Val::Unused)).collect()
    }

    pub fn while_loop(
        &mut self,
        carried: &[ir::Carried],
        cond: &Block,
        body: &Block,
    ) -> Outcome<Vec<Val>> {
        let inits = self.inits(carried);
        let params: Vec<Var> = carried.iter().map(|c| c.param).collect();
        for (param, value) in params.iter().zip(&inits) {
            self.env[param.0 as usize] = Some(value.clone());
        }
        let first = self.condition(cond)?;
        self.repeat(
            inits,
            &params,
            vec![first],
            &mut |lift, own| {
                let none = lift.boolean(false);
                let dims = own[0].dims.clone();
                Ok(lift.reduce_dims(&own[0], &dims, "or", &none))
            },
            &mut |lift, own, params| {
                let outer = lift.mask.clone();
                let active = Val::Tensor(own[0].clone());
                let lifted = !own[0].dims.is_empty();
                if lifted {
                    lift.narrow(&active);
                }
                let old: Vec<Val> = lift.params(params);
                let values = lift.block(body);
                let mut values = match values {
                    Ok(values) => values,
                    Err(refusal) => {
                        lift.mask = outer;
                        return Err(refusal);
                    }
                };
                if lifted {
                    for (i, value) in values.iter_mut().enumerate() {
                        *value = lift.choose(&active, value, &old[i], lift.elem_of(params[i]))?;
                    }
                }
                for (param, value) in params.iter().zip(&values) {
                    lift.env[param.0 as usize] = Some(value.clone());
                }
                let next = lift.condition(cond);
                lift.mask = outer;
                let mut next = next?;
                if lifted {
                    next = lift.each("and", &[next, own[0].clone()]);
                }
                Ok((vec![next], values))
            },
        )
    }

    /// The steps, of those that are not masked, in which the loop goes on.
    pub fn condition(&mut self, cond: &Block) -> Outcome<Tensor> {
        let values = self.block(cond)?;
        let cond = match (self.mask.clone(), values.first()) {
            (Some(mask), Some(value)) => self.and(&mask, value),
            (_, value) => value.cloned().unwrap_or(Val::Unused),
        };
        Ok(self.tensor(&cond, Elem::Bool))
    }

    /// A loop of StableHLO. `own` variables are the loop's; what its body needs of dimensions and state is found by writing
    /// it until nothing changes.
    #[allow(clippy::type_complexity)]
    pub fn repeat(
        &mut self,
        inits: Vec<Val>,
        params: &[Var],
        own: Vec<Tensor>,
        cond: &mut dyn FnMut(&mut Self, &[Tensor]) -> Outcome<Tensor>,
        body: &mut dyn FnMut(&mut Self, &[Tensor], &[Var]) -> Outcome<(Vec<Tensor>, Vec<Val>)>,
    ) -> Outcome<Vec<Val>> {
        let (kept, site) = (self.mask.clone(), self.site);
        // Accumulators are state, not variables of the loop, and texts are parts of messages.
        let is_text = |value: &Val| matches!(value, Val::Text(_));
        let inits: Vec<Val> =
            inits.into_iter().map(|v| if is_text(&v) { unknown_text() } else { v }).collect();
        let is_passed = |value: &Val| matches!(value, Val::Acc(_) | Val::Text(_));
        let passed: Vec<bool> = inits.iter().map(is_passed).collect();
        let mut vars = own.clone();
        for ((value, param), passed) in inits.iter().zip(params).zip(&passed) {
            if !passed {
                let t = self.tensor(value, self.elem_of(*param));
                vars.push(t);
            }
        }
        let tensors = vars.len();
        let keeps = self.keeps_steps(self.depth + 1);
        let mut touched: Vec<usize> = Vec::new();
        loop {
            let before = self.state.clone();
            let checks = self.checks.len();
            let params_of: Vec<Tensor> =
                vars.iter().map(|t| Tensor { id: self.name("p").into(), ..t.clone() }).collect();
            if self.mask.is_none() {
                self.taken.extend(params_of.iter().map(|t| t.id.clone()));
            }
            for (i, root) in touched.iter().enumerate() {
                self.state[*root] = params_of[tensors + i].clone();
            }
            let entered = self.state.clone();
            if keeps {
                let carried = (0..inits.len()).filter(|i| !passed[*i]);
                let params = params_of[own.len()..tensors].iter().cloned();
                self.begin_step(carried.zip(params).collect());
            }
            let region = self.open_region(String::new());
            let goes_on = cond(self, &params_of[..own.len()]);
            let cond_text = self.close_region(region);
            let region = self.open_region(String::new());
            let mut at = own.len();
            for ((value, param), passed) in inits.iter().zip(params).zip(&passed) {
                let value = match passed {
                    true => value.clone(),
                    false => {
                        at += 1;
                        Val::Tensor(params_of[at - 1].clone())
                    }
                };
                self.env[param.0 as usize] = Some(value);
            }
            let given = body(self, &params_of[..own.len()], params);
            let mut results = Vec::new();
            let mut failed = None;
            match given {
                Ok((next, values)) => {
                    results.extend(next);
                    for ((value, param), passed) in values.iter().zip(params).zip(&passed) {
                        if !passed {
                            let t = self.tensor(value, self.elem_of(*param));
                            results.push(t);
                        }
                    }
                }
                Err(refusal) => failed = Some(refusal),
            }
            self.mask = kept.clone();
            self.state.truncate(before.len());
            self.scopes.truncate(before.len());
            let new: Vec<usize> = (0..before.len())
                .filter(|i| self.state[*i] != entered[*i] && !touched.contains(i))
                .collect();
            results.extend(touched.iter().map(|root| self.state[*root].clone()));
            let body_text = self.close_region(region);
            if let Some(refusal) = failed {
                return Err(refusal);
            }
            let goes_on = goes_on?;
            if vars.iter().zip(&results).any(|(a, b)| a.shape != b.shape) {
                self.site = site;
                return Err(self.refuse(Reason::Grows));
            }
            let dims: Vec<Vec<Dim>> = vars
                .iter()
                .zip(&results)
                .map(|(a, b)| union([&a.dims[..], &b.dims].into_iter()))
                .collect();
            if !new.is_empty() || vars.iter().zip(&dims).any(|(t, dims)| t.dims != *dims) {
                self.state = before.clone();
                self.checks.truncate(checks);
                vars = vars.iter().zip(&dims).map(|(t, dims)| self.broadcast(t, dims)).collect();
                for root in new {
                    touched.push(root);
                    let scope = self.scopes[root].clone();
                    let wide = self.broadcast(&before[root], &scope);
                    vars.push(wide);
                }
                continue;
            }
            let room = if keeps { self.room_for_steps()? } else { Vec::new() };
            let places: Vec<Tensor> =
                room.iter().map(|t| Tensor { id: self.name("p").into(), ..t.clone() }).collect();
            // Results get the dimensions of their variables.
            let region = self.open_region(body_text);
            let mut results: Vec<Tensor> =
                results.iter().zip(&vars).map(|(t, var)| self.broadcast(t, &var.dims)).collect();
            if keeps {
                results.extend(self.keep_step(&params_of[0], &places));
            }
            let (before_room, mut params_of) = (vars.len(), params_of);
            vars.extend(room);
            params_of.extend(places);
            let types: Vec<String> = vars.iter().map(|t| self.ty(t)).collect();
            let types = types.join(", ");
            let ids: Vec<&str> = results.iter().map(|t| &*t.id).collect();
            self.line(&format!("stablehlo.return {} : {types}", ids.join(", ")));
            let body_text = self.close_region(region);
            let id = self.name("w");
            let bound = if vars.len() == 1 { id.clone() } else { format!("{id}:{}", vars.len()) };
            let binds: Vec<String> =
                params_of.iter().zip(&vars).map(|(p, t)| format!("{} = {}", p.id, t.id)).collect();
            self.line(&format!("{bound} = stablehlo.while({}) : {types}", binds.join(", ")));
            self.line("cond {");
            self.out += &cond_text;
            self.depth += 1;
            self.line(&format!("stablehlo.return {} : tensor<i1>", goes_on.id));
            self.depth -= 1;
            self.line("} do {");
            self.out += &body_text;
            self.line("}");
            let ids = self.results(&id, vars.len());
            let result = |i: usize| Tensor { id: ids[i].clone(), ..vars[i].clone() };
            self.state = before;
            for (i, root) in touched.iter().enumerate() {
                self.state[*root] = result(tensors + i);
            }
            if keeps {
                let kept: Vec<Tensor> = (before_room..vars.len()).map(result).collect();
                self.kept_steps(kept);
            }
            let mut at = own.len();
            let mut all = Vec::new();
            for (value, passed) in inits.iter().zip(&passed) {
                all.push(match passed {
                    true => value.clone(),
                    false => {
                        at += 1;
                        Val::Tensor(result(at - 1))
                    }
                });
            }
            return Ok(all);
        }
    }
}

/// The block has neither loops nor calls, each of which may be as long again.
fn is_straight(block: &Block) -> bool {
    let mut straight = true;
    statements(block, &mut |stmt| {
        straight &= !matches!(stmt.op, Op::For { .. } | Op::While { .. } | Op::Call(..));
    });
    straight
}

/// The value can be used outside of the region that computed it: a tensor is local to that.
fn outside(value: &Val) -> bool {
    !matches!(value, Val::Tensor(_))
}
