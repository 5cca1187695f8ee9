//! Calls of functions with rules in forward mode: tangents, and Taylor coefficients.
//!
//! What comes in: the call of a function with a [`Rule`], `(y, w) = rule(c, x, v)`, where w is linear in v and c is
//! what the rule captured. What goes out: the call of the rule, and the tangents of y. With Taylor coefficients of
//! order R, `∂ᵢy = D_c y [∂ᵢc] + w(c, x, ∂ᵢx)` for each variable i, with coefficients of order R - 1. So a rule may use
//! the function that it belongs to: the order falls until nothing varies.

use super::forward::{declare, forward, Derive, ForwardKey};
use super::operators::put_body;
use super::orders::{Indices, Orders};
use super::series::{from_tangent, make, to_tangent, Recipe, ScaledCoefficient, TangentForm};
use super::shadow::zero;
use super::sum::sum;
use super::{differentiable, helpers, Rule, Unsupported};
use crate::build::Builder;
use crate::ir::{Atom, FunctionId, Op, SiteId, Stmt};
use crate::typing::param_types;
use diffeo_base::Name;

impl Derive<'_> {
    /// A call of a function with a rule: its tangents come from the rule, and vary with what that captured.
    pub(super) fn rule(
        &mut self,
        stmt: &Stmt,
        rule: Rule,
        args: &[Atom],
    ) -> Result<(), Unsupported> {
        if self.sets {
            self.rule_of_sets(stmt, &rule, args);
            return Ok(());
        }
        if self.indices.orders != Orders::FIRST {
            return self.rule_of_orders(stmt, rule, args);
        }
        let mut all = args.to_vec();
        for arg in &args[rule.point..] {
            let ty = self.b.ty(arg);
            if differentiable(self.module, &ty) {
                // The rule takes tangents of the type itself.
                let dot = self.dots(arg).pop().unwrap_or(Atom::Real(0.0));
                all.push(from_tangent((&mut self.b, self.module, self.cache), arg, &dot));
            }
        }
        let captured: Vec<bool> = args[..rule.point].iter().map(|arg| self.varies(arg)).collect();
        let mut varying = captured.clone();
        varying.resize(all.len(), false);
        let (function, varied) = if captured.contains(&true) {
            let wanted = ForwardKey::new((rule.function, varying.into()), Orders::FIRST);
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
            let linear = to_tangent((&mut self.b, self.module, self.cache), &Atom::Var(*linear));
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
        let slope = self.slope(&rule, &varying, stmt.results.len())?;
        let indices = self.indices.clone();
        let Orders { k, r } = indices.orders;
        let lower = self.cache.indices(Orders { k, r: r - 1 });
        let mut given = vec![Vec::new(); stmt.results.len()];
        for i in 0..k as usize {
            let found = self.slopes_by((stmt, args), (slope, rule.point), &varying, (i, &lower))?;
            for (given, found) in given.iter_mut().zip(found) {
                given.extend(found);
            }
        }
        let recipe = joined(&indices, &lower);
        for (var, given) in stmt.results.iter().zip(given) {
            let value = Atom::Var(*var);
            let ty = self.b.ty(&value);
            if differentiable(self.module, &ty) {
                let dots = make((&mut self.b, self.module, self.cache), &value, &given, &recipe);
                self.set(*var, dots);
            }
        }
        Ok(())
    }

    /// The function that gives the derivatives of what a rule is for, with so many results, along directions: it takes
    /// the rule's parameters, then directions for those that it captured and that vary. It gives the results, then the
    /// derivatives of the differentiable ones. Directions and derivatives are values of the types of what they belong
    /// to.
    fn slope(
        &mut self,
        rule: &Rule,
        varying: &[bool],
        count: usize,
    ) -> Result<FunctionId, Unsupported> {
        let captured = &varying[..rule.point];
        if !captured.contains(&true) {
            return Ok(rule.function);
        }
        let mut active = captured.to_vec();
        let source = &self.module.functions[rule.function.0 as usize];
        let (name, params) = (source.name.clone(), param_types(source));
        let results = source.results.clone();
        active.resize(params.len(), false);
        let key = (rule.function, active.clone().into());
        if let Some(known) = self.cache.slopes.get(&key) {
            return Ok(*known);
        }
        let made = forward(self.module, self.cache, rule.function, &active, Orders::FIRST)?;
        let mut b = Builder::new(SiteId(0));
        let mut args: Vec<Atom> = params.iter().map(|ty| b.param(ty.clone(), None)).collect();
        for (ty, _) in params.iter().zip(&active).filter(|(_, varies)| **varies) {
            let direction = b.param(ty.clone(), None);
            args.extend(to_tangent((&mut b, self.module, self.cache), &direction));
        }
        let function =
            helpers::declare(self.module, &b, Name::from(format!("{name}.slope")), results);
        let values = b.emit(self.module, Op::Call(made.function, args));
        let (values, dots) = values.split_at(made.results.len().min(values.len()));
        let (own, linear) = values.split_at(count.min(values.len()));
        let (mut dots, mut linear) = (dots.iter(), linear.iter());
        let mut all = own.to_vec();
        for (value, varies) in own.iter().zip(&made.results) {
            let ty = b.ty(value);
            if !differentiable(self.module, &ty) {
                continue;
            }
            let Some(along) = linear.next() else { continue };
            let dot = if *varies { dots.next() } else { None };
            all.push(match dot {
                None => along.clone(),
                Some(dot) => {
                    let along = to_tangent((&mut b, self.module, self.cache), along);
                    let along = along.unwrap_or(Atom::Real(0.0));
                    let sum = sum(&mut b, self.module, self.cache, [along, dot.clone()]);
                    from_tangent((&mut b, self.module, self.cache), value, &sum)
                }
            });
        }
        put_body(self.module, function, b, all)?;
        self.cache.slopes.insert(key, function);
        Ok(function)
    }

    /// By result, its derivative by a variable, with the coefficients of that of lower order; nothing for those that
    /// have no Reals.
    fn slopes_by(
        &mut self,
        (stmt, args): (&Stmt, &[Atom]),
        (slope, point): (FunctionId, usize),
        varying: &[bool],
        (i, lower): (usize, &Indices),
    ) -> Result<Vec<Vec<Vec<Atom>>>, Unsupported> {
        let recipes = Recipes::new(&self.indices, lower, i);
        let width = lower.width();
        let mut all = args.to_vec();
        let mut active = varying.to_vec();
        let mut tangents = Vec::new();
        for (arg, _) in args.iter().zip(varying).filter(|(_, varies)| **varies && width > 0) {
            tangents.extend(self.made(arg, &recipes.truncated));
        }
        let own = args.iter().zip(varying);
        let (captured, point) = (own.clone().take(point), own.skip(point));
        for (arg, varies) in point.chain(captured.filter(|(_, varies)| **varies)) {
            let ty = self.b.ty(arg);
            if differentiable(self.module, &ty) {
                all.extend(self.made(arg, &recipes.slope));
                active.push(*varies);
                if *varies && width > 0 {
                    tangents.extend(self.made(arg, &recipes.shifted));
                }
            }
        }
        let (function, varies) = if width == 0 {
            let count = self.module.functions[slope.0 as usize].results.len();
            (slope, vec![false; count].into())
        } else {
            let key = (slope, active.clone().into());
            let derived = declare(self.module, self.cache, &ForwardKey::new(key, lower.orders));
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
            let value = Atom::Var(*value);
            let ty = self.b.ty(&value);
            let dots = match *varies {
                true => {
                    let count = super::tangents(self.module, self.cache, &ty, width).len();
                    coefficients.by_ref().take(count).map(|v| Atom::Var(*v)).collect()
                }
                false if width > 0 && differentiable(self.module, &ty) => {
                    zero(&mut self.b, self.module, self.cache, &value, width)
                }
                false => Vec::new(),
            };
            series.push([vec![value], dots]);
        }
        let mut linear = series.into_iter().skip(stmt.results.len());
        let mut found = Vec::new();
        for var in &stmt.results {
            let ty = self.b.ty(&Atom::Var(*var));
            let of = if differentiable(self.module, &ty) { linear.next() } else { None };
            let parts = of.into_iter().flatten().filter(|part| !part.is_empty());
            found.push(parts.collect());
        }
        Ok(found)
    }

    /// What a recipe makes of the tangents of an argument.
    fn made(&mut self, arg: &Atom, recipe: &Recipe) -> Vec<Atom> {
        let dots = self.dots(arg);
        make((&mut self.b, self.module, self.cache), arg, &[dots], recipe)
    }
}

/// What is made of the coefficients of an argument for the derivative by a variable.
struct Recipes {
    /// Its coefficients of lower order.
    truncated: Recipe,
    /// Its derivative by the variable.
    slope: Recipe,
    /// The coefficients of that, of lower order.
    shifted: Recipe,
}

impl Recipes {
    fn new(indices: &Indices, lower: &Indices, i: usize) -> Recipes {
        let given = vec![TangentForm::Tangents(indices.width())];
        let all = lower.all.iter();
        let places = all.clone().skip(1).filter_map(|beta| indices.place(beta));
        let truncated = places.map(|place| ScaledCoefficient::at(place - 1)).collect();
        let after = |beta: &Vec<u32>| {
            let place = indices.after(beta, i)?;
            Some(ScaledCoefficient { times: beta[i] + 1, ..ScaledCoefficient::at(place - 1) })
        };
        let mut shifted: Vec<ScaledCoefficient> = all.filter_map(after).collect();
        let slope = shifted.drain(..1).collect();
        let made = TangentForm::Tangents(lower.width());
        Recipes {
            truncated: Recipe::new(given.clone(), made, truncated),
            slope: Recipe::new(given.clone(), TangentForm::Value, slope),
            shifted: Recipe::new(given, made, shifted),
        }
    }
}

/// What is made of the derivatives by each variable: for each, a value and the coefficients of lower order, if there
/// are any. Each α is taken from the first variable that it has.
fn joined(indices: &Indices, lower: &Indices) -> Recipe {
    let forms = match lower.width() {
        0 => vec![TangentForm::Value],
        width => vec![TangentForm::Value, TangentForm::Tangents(width)],
    };
    let mut from = Vec::new();
    for alpha in indices.all.iter().skip(1) {
        let Some(i) = alpha.iter().position(|n| *n > 0) else { continue };
        let mut beta = alpha.clone();
        beta[i] -= 1;
        let Some(place) = lower.place(&beta) else { continue };
        let (of, place) = match place {
            0 => (i * forms.len(), 0),
            place => (i * forms.len() + 1, place - 1),
        };
        from.push(ScaledCoefficient { of, place, times: 1, over: alpha[i] });
    }
    let given = forms.repeat(indices.orders.k as usize);
    Recipe::new(given, TangentForm::Tangents(indices.width()), from)
}
