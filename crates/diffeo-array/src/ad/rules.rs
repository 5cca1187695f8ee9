//! Calls of functions with rules of their own in forward mode: tangents, and Taylor coefficients.
//!
//! What comes in: the call of a function with a [`Rule`], `(y, w) = rule(c, x, v)`, where w is linear in v and c is what
//! the rule captured. What goes out: that of the rule, and the tangents of y. With Taylor coefficients of order R,
//! `∂ᵢy = D_c y [∂ᵢc] + w(c, x, ∂ᵢx)` for each variable i, with coefficients of order R - 1: so a rule may use the
//! function that it belongs to, the order falls until nothing varies.

use super::forward::{declare, forward, Derive, Wanted};
use super::orders::{Indices, Orders};
use super::reverse::sum;
use super::shadow::{from_tangent, to_tangent, zero};
use super::{differentiable, Rule, Unsupported};
use crate::build::Builder;
use crate::ir::{Atom, Elem, FunctionId, Module, Op, Stmt, Ty, Var};
use diffeo_calculus::prim::RealOp;

/// What is called for the derivative by a variable: of the rule's parameters, then of tangents of what it captured.
struct Slope {
    function: FunctionId,
    /// By result of the rule, whether it has a tangent behind all results.
    varies: Box<[bool]>,
}

impl Derive<'_> {
    /// A call of a function with a rule: its tangents come from the rule, and vary with what that captured.
    pub(super) fn rule(
        &mut self,
        stmt: &Stmt,
        rule: Rule,
        args: &[Atom],
    ) -> Result<(), Unsupported> {
        if self.indices.orders != Orders::FIRST {
            return self.rule_of_orders(stmt, rule, args);
        }
        let mut all = args.to_vec();
        for arg in &args[rule.point..] {
            let ty = self.b.ty(arg);
            if differentiable(self.module, &ty) {
                // The rule takes tangents of the type itself.
                let dot = self.dots(arg).pop().unwrap_or(Atom::Real(0.0));
                all.push(from_tangent(&mut self.b, self.module, self.cache, arg, &dot));
            }
        }
        let captured: Vec<bool> = args[..rule.point].iter().map(|arg| self.varies(arg)).collect();
        let mut varying = captured.clone();
        varying.resize(all.len(), false);
        let (function, varied) = if captured.contains(&true) {
            let wanted = Wanted::new((rule.function, varying.into()), Orders::FIRST);
            let derived = declare(self.module, self.cache, &wanted);
            for arg in &args[..rule.point] {
                if self.varies(arg) {
                    all.extend(self.dots(arg));
                }
            }
            (derived.function, derived.results)
        } else {
            let count = self.module.functions[rule.function.0 as usize].results.len();
            (rule.function, vec![false; count].into())
        };
        let plain = varied.len();
        let types = self.module.functions[function.0 as usize].results.clone();
        let mut results = stmt.results.clone();
        for ty in types.into_iter().skip(results.len()) {
            results.push(self.b.var(ty, None));
        }
        let op = Op::Call(function, all);
        self.b.push_stmt(Stmt { results: results.clone(), op, site: stmt.site });
        let mut linear = results[stmt.results.len()..plain.min(results.len())].iter();
        let mut captured = results[plain.min(results.len())..].iter();
        for (var, varies) in stmt.results.iter().zip(&varied) {
            let ty = self.b.ty(&Atom::Var(*var));
            if !differentiable(self.module, &ty) {
                continue;
            }
            let Some(linear) = linear.next() else { continue };
            let linear = to_tangent(&mut self.b, self.module, self.cache, &Atom::Var(*linear));
            let linear = linear.unwrap_or(Atom::Real(0.0));
            let more = if *varies { captured.next() } else { None };
            let dot = match more {
                Some(more) => sum(&mut self.b, self.module, self.cache, [linear, Atom::Var(*more)]),
                None => linear,
            };
            self.set(*var, vec![dot]);
        }
        Ok(())
    }

    fn rule_of_orders(
        &mut self,
        stmt: &Stmt,
        rule: Rule,
        args: &[Atom],
    ) -> Result<(), Unsupported> {
        let varying: Vec<bool> = args.iter().map(|arg| self.varies(arg)).collect();
        let mut taken: Vec<Ty> = Vec::new();
        for (i, arg) in args.iter().enumerate() {
            let ty = self.b.ty(arg);
            if varying[i] || i >= rule.point && differentiable(self.module, &ty) {
                taken.push(ty);
            }
        }
        let results = stmt.results.iter().map(|v| self.b.ty(&Atom::Var(*v)));
        taken.extend(results.filter(|ty| differentiable(self.module, ty)));
        // Data have one shadow for all coefficients.
        if !taken.iter().all(|ty| matches!(ty, Ty::Real | Ty::Array(Elem::Real, _))) {
            return Err(Unsupported("Taylor coefficients of data by a rule".to_string()));
        }
        let slope = if varying[..rule.point].contains(&true) {
            let mut active = varying[..rule.point].to_vec();
            active.resize(self.params(rule.function), false);
            let made = forward(self.module, self.cache, rule.function, &active, Orders::FIRST)?;
            Slope { function: made.function, varies: made.results }
        } else {
            let count = self.module.functions[rule.function.0 as usize].results.len();
            Slope { function: rule.function, varies: vec![false; count].into() }
        };
        let indices = self.indices.clone();
        let Orders { k, r } = indices.orders;
        let lower = self.cache.indices(Orders { k, r: r - 1 });
        let mut all: Vec<Vec<Atom>> = Vec::new();
        for var in &stmt.results {
            let ty = self.b.ty(&Atom::Var(*var));
            // All of them are set below.
            let width = if differentiable(self.module, &ty) { self.width } else { 0 };
            all.push(vec![Atom::Real(0.0); width]);
        }
        for i in 0..k as usize {
            let found = self.slope((stmt, args), (&rule, &slope), &varying, (i, &lower))?;
            for (dots, found) in all.iter_mut().zip(found) {
                for (beta, x) in lower.all.iter().zip(found) {
                    // Each α is taken from the first variable that it has.
                    if beta[..i].iter().any(|n| *n > 0) {
                        continue;
                    }
                    if let Some(place) = indices.after(beta, i) {
                        let by = (RealOp::Div, f64::from(beta[i] + 1));
                        dots[place - 1] = scaled(&mut self.b, self.module, &x, by);
                    }
                }
            }
        }
        for (var, dots) in stmt.results.iter().zip(all) {
            if !dots.is_empty() {
                self.set(*var, dots);
            }
        }
        Ok(())
    }

    fn params(&self, function: FunctionId) -> usize {
        self.module.functions[function.0 as usize].params.len()
    }

    /// The coefficients of lower order of the derivative by a variable, by result; none of those that have no Reals.
    fn slope(
        &mut self,
        (stmt, args): (&Stmt, &[Atom]),
        (rule, slope): (&Rule, &Slope),
        varying: &[bool],
        (i, lower): (usize, &Indices),
    ) -> Result<Vec<Vec<Atom>>, Unsupported> {
        let mut all = args.to_vec();
        let mut active = varying.to_vec();
        let mut tangents = Vec::new();
        for (arg, _) in args.iter().zip(varying).filter(|(_, varies)| **varies) {
            tangents.extend(self.truncated(arg, lower));
        }
        let mut add = |cx: &mut Self, arg: &Atom, varies: bool| {
            let shifted = cx.shifted(arg, i, lower);
            all.extend(shifted.first().cloned());
            active.push(varies);
            if varies {
                tangents.extend(shifted.into_iter().skip(1));
            }
        };
        for (arg, varies) in args.iter().zip(varying).skip(rule.point) {
            let ty = self.b.ty(arg);
            if differentiable(self.module, &ty) {
                add(self, arg, *varies);
            }
        }
        for (arg, varies) in args.iter().zip(varying).take(rule.point) {
            if *varies {
                add(self, arg, true);
            }
        }
        let (function, varies) = if lower.width() == 0 {
            let count = self.module.functions[slope.function.0 as usize].results.len();
            (slope.function, vec![false; count].into())
        } else {
            let key = (slope.function, active.clone().into());
            let derived = declare(self.module, self.cache, &Wanted::new(key, lower.orders));
            if derived.params[..] != active[..] {
                return Err(Unsupported("a bug of Diffeo: what varies in a rule".to_string()));
            }
            all.extend(tangents);
            (derived.function, derived.results)
        };
        let types = self.module.functions[function.0 as usize].results.clone();
        let mut results = if i == 0 { stmt.results.clone() } else { Vec::new() };
        for ty in types.into_iter().skip(results.len()) {
            results.push(self.b.var(ty, None));
        }
        let op = Op::Call(function, all);
        self.b.push_stmt(Stmt { results: results.clone(), op, site: stmt.site });
        // The coefficients of each result of what was derived.
        let (values, coefficients) = results.split_at(varies.len().min(results.len()));
        let mut coefficients = coefficients.iter();
        let mut series = Vec::new();
        for (value, varies) in values.iter().zip(&varies) {
            let mut own = vec![Atom::Var(*value)];
            if *varies {
                own.extend(coefficients.by_ref().take(lower.width()).map(|v| Atom::Var(*v)));
            } else {
                let like = Atom::Var(*value);
                own.extend(self.nothing(&like, lower.width()));
            }
            series.push(own);
        }
        let captured = series.split_off(slope.varies.len().min(series.len()));
        let mut captured = captured.into_iter();
        let mut linear = series.into_iter().skip(stmt.results.len());
        let mut found = Vec::new();
        for (var, varies) in stmt.results.iter().zip(&slope.varies) {
            let more = if *varies { captured.next() } else { None };
            let ty = self.b.ty(&Atom::Var(*var));
            if !differentiable(self.module, &ty) {
                found.push(Vec::new());
                continue;
            }
            let mut own = linear.next().unwrap_or_default();
            for (x, y) in own.iter_mut().zip(more.unwrap_or_default()) {
                *x = sum(&mut self.b, self.module, self.cache, [x.clone(), y]);
            }
            found.push(own);
        }
        Ok(found)
    }

    /// Coefficients that are 0 of what may have none.
    fn nothing(&mut self, like: &Atom, width: usize) -> Vec<Atom> {
        let ty = self.b.ty(like);
        match differentiable(self.module, &ty) {
            true => zero(&mut self.b, self.module, self.cache, like, width),
            false => Vec::new(),
        }
    }

    /// The coefficients of lower order, without the value.
    fn truncated(&mut self, arg: &Atom, lower: &Indices) -> Vec<Atom> {
        let dots = self.dots(arg);
        let places = lower.all.iter().skip(1).filter_map(|beta| self.indices.place(beta));
        places.filter_map(|place| dots.get(place - 1).cloned()).collect()
    }

    /// The coefficients of lower order of the derivative by a variable, with its value.
    fn shifted(&mut self, arg: &Atom, i: usize, lower: &Indices) -> Vec<Atom> {
        let dots = self.dots(arg);
        let indices = self.indices.clone();
        let mut shifted = Vec::new();
        for beta in &lower.all {
            let Some(place) = indices.after(beta, i) else { continue };
            let by = (RealOp::Mul, f64::from(beta[i] + 1));
            shifted.push(scaled(&mut self.b, self.module, &dots[place - 1], by));
        }
        shifted
    }
}

/// A Real or an array of them times a number, or over it.
fn scaled(b: &mut Builder, module: &Module, x: &Atom, (op, by): (RealOp, f64)) -> Atom {
    if by == 1.0 || matches!(x, Atom::Real(0.0)) {
        return x.clone();
    }
    if let Ty::Array(..) = b.ty(x) {
        let count = b.one(module, Op::Dim(x.clone(), 0));
        let index: Var = b.var(Ty::Int, None);
        b.open();
        let element = b.one(module, Op::Get(x.clone(), vec![Atom::Var(index)]));
        let element = scaled(b, module, &element, (op, by));
        let body = b.close(vec![element]);
        return b.one(module, Op::Build { count, index, body });
    }
    b.one(module, Op::Real(op, vec![x.clone(), Atom::Real(by)]))
}
