//! Taylor coefficients: Huot, Staton & Vákár's (k,R)-jets, as numbers.
//!
//! What comes in: operands with normalised coefficients `x_α = ∂^α x / α!` over the multi-indices of k
//! variables up to order R. What goes out: those of the result. A [`Value::Zero`] coefficient is one that
//! does not vary at all; it takes part in no product, so that 0·inf makes no nan where nothing varies.
//!
//! The coefficients of a general operation y = f(x₁, x₂) are solved degree by degree from Euler's
//! `E y = Σᵢ ∂ᵢf · E xᵢ`, where E multiplies coefficient α by |α|. The partial derivatives are series too,
//! built from the table's terms as nodes of a small graph: nodes that are the same operation of the same
//! nodes are one (so sin and cos close on each other), and each is solved only as far as it is needed
//! (so a chain such as polygamma's ends with the order that remains).

use super::level::{below, coefficients, jet};
use crate::eval::error::ErrorKind;
use crate::eval::reals::{primal, Reals};
use crate::prim::real::{next_polygamma, row, Condition, DerivativeRule, Partial, POWERS};
use crate::prim::RealOp;
use crate::value::Value;
use diffeo_base::Span;
use std::collections::HashMap;
use std::rc::Rc;

/// An operation that made finite derivatives into others.
#[derive(Clone, Debug)]
pub struct Culprit {
    /// Its name.
    pub op: &'static str,
    /// Its operands.
    pub operands: Vec<f64>,
    /// Where it stands.
    pub site: Span,
}

/// The multi-indices of k variables up to order R, in lexicographic order.
#[derive(Debug)]
pub struct JetShape {
    /// The number of variables.
    pub k: u32,
    /// The order.
    pub r: u32,
    /// The multi-indices α.
    pub indices: Vec<Vec<u32>>,
    /// |α| for each α.
    pub degrees: Vec<u32>,
    /// α! for each α.
    pub factorials: Vec<f64>,
    /// The positions of the multi-indices of each degree.
    by_degree: Vec<Vec<usize>>,
    /// For each γ the pairs α + β = γ, by rising α; not kept for k = 1, where they are evident.
    pairs: Vec<Vec<(usize, usize)>>,
}

impl JetShape {
    /// The multi-indices of `k` variables up to order `r`.
    pub fn new(k: u32, r: u32) -> JetShape {
        let indices = multi_indices(k, r);
        let degrees: Vec<u32> = indices.iter().map(|alpha| alpha.iter().sum()).collect();
        let factorial = |n: u32| (1..=n).map(f64::from).product::<f64>();
        let factorials =
            indices.iter().map(|alpha| alpha.iter().map(|n| factorial(*n)).product()).collect();
        let mut by_degree = vec![Vec::new(); r as usize + 1];
        for (i, d) in degrees.iter().enumerate() {
            by_degree[*d as usize].push(i);
        }
        let mut pairs = Vec::new();
        if k != 1 {
            let position: HashMap<&[u32], usize> =
                indices.iter().enumerate().map(|(i, alpha)| (alpha.as_slice(), i)).collect();
            pairs = vec![Vec::new(); indices.len()];
            for (i, alpha) in indices.iter().enumerate() {
                for (j, beta) in indices.iter().enumerate() {
                    if degrees[i] + degrees[j] > r {
                        continue;
                    }
                    let sum: Vec<u32> = alpha.iter().zip(beta).map(|(a, b)| a + b).collect();
                    if let Some(gamma) = position.get(sum.as_slice()) {
                        pairs[*gamma].push((i, j));
                    }
                }
            }
        }
        JetShape { k, r, indices, degrees, factorials, by_degree, pairs }
    }

    /// First derivatives along so many directions: without the tables that higher orders need.
    pub(crate) fn directions(k: u32) -> JetShape {
        let degrees: Vec<u32> = (0..=k).map(|i| i.min(1)).collect();
        let factorials = vec![1.0; degrees.len()];
        JetShape {
            k,
            r: 1,
            indices: Vec::new(),
            degrees,
            factorials,
            by_degree: Vec::new(),
            pairs: Vec::new(),
        }
    }

    /// The number of multi-indices.
    pub(crate) fn count(&self) -> usize {
        self.degrees.len()
    }

    /// The pairs α + β = γ, by rising α.
    fn pairs(&self, gamma: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let evident = if self.k == 1 { gamma + 1 } else { 0 };
        let kept = self.pairs.get(gamma).map_or(&[][..], Vec::as_slice);
        (0..evident).map(move |i| (i, gamma - i)).chain(kept.iter().copied())
    }
}

/// The most coefficients of a jet for each Real.
pub const MOST_COEFFICIENTS: u64 = 1_000_000;

/// How many multi-indices of `k` variables up to order `r` there are; the largest number where it is larger.
pub fn jet_coefficients(k: u64, r: u64) -> u64 {
    let (least, sum) = (k.min(r), k.saturating_add(r));
    let step = |acc: u64, i| acc.checked_mul(sum - i).map(|product| product / (i + 1));
    (0..least).try_fold(1, step).unwrap_or(u64::MAX)
}

/// The multi-indices of `k` variables up to order `r`, in lexicographic order.
pub fn multi_indices(k: u32, r: u32) -> Vec<Vec<u32>> {
    let mut out = Vec::new();
    enumerate(k, r, &mut Vec::new(), &mut out);
    out
}

fn enumerate(k: u32, left: u32, prefix: &mut Vec<u32>, out: &mut Vec<Vec<u32>>) {
    if k == 0 {
        out.push(prefix.clone());
        return;
    }
    for n in 0..=left {
        prefix.push(n);
        enumerate(k - 1, left - n, prefix, out);
        prefix.pop();
    }
}

/// The coefficients of a constant.
pub(crate) fn constant(shape: &JetShape, value: Value) -> Vec<Value> {
    let mut coefficients = vec![Value::Zero; shape.count()];
    coefficients[0] = value;
    coefficients
}

/// Where an operation happens.
#[derive(Clone, Copy)]
pub(crate) struct At<'a> {
    /// The level.
    pub level: u16,
    /// Its multi-indices.
    pub shape: &'a Rc<JetShape>,
    /// The place in the source.
    pub site: Span,
}

/// An operation of the table that has partial derivatives, at a level of Taylor coefficients.
pub(crate) fn apply(
    reals: &mut Reals,
    op: RealOp,
    a: &Value,
    b: &Value,
    at: At,
) -> Result<Value, ErrorKind> {
    let operands = [coefficients(a, at.level), coefficients(b, at.level)];
    let out = if at.shape.r <= 1 {
        first_order(reals, op, [a, b], operands, at)?
    } else if let Some(out) = bilinear(reals, op, [a, b], operands, at)? {
        out
    } else {
        let mut series = Series { reals, at, nodes: vec![SolvedSeries::given(Vec::new())] };
        let given = |x: Option<&[Value]>, v: &Value| match x {
            Some(coefficients) => SolvedSeries::given(coefficients.to_vec()),
            None => SolvedSeries::given(constant(at.shape, v.clone())),
        };
        series.nodes[Series::ZERO].coefficients = vec![Value::Zero; at.shape.count()];
        let a = series.add(given(operands[0], a));
        let b = if row(op).arity == 2 { series.add(given(operands[1], b)) } else { Series::ZERO };
        let y = series.operation(op, [a, b]);
        series.ensure(y, at.shape.r)?;
        std::mem::take(&mut series.nodes[y].coefficients)
    };
    let finite = |v: &Value| primal(v).is_finite();
    if !out[1..].iter().all(finite) && operands.iter().flatten().all(|x| x.iter().all(finite)) {
        let operands = [a, b][..row(op).arity].iter().map(|v| primal(v)).collect();
        reals.blame(at.level, Culprit { op: row(op).name, operands, site: at.site });
    }
    for (degree, coefficient) in at.shape.degrees.iter().zip(&out) {
        reals.met(*degree, primal(coefficient));
    }
    Ok(jet(at.level, out))
}

/// `x ^ n` with n not 0.
pub(crate) fn power(reals: &mut Reals, x: &Value, n: i64, at: At) -> Result<Value, ErrorKind> {
    let Some(coefficients) = coefficients(x, at.level) else {
        return reals.raise(x, n, at.site);
    };
    if at.shape.r <= 1 {
        let base = &coefficients[0];
        let mut out = vec![reals.raise(base, n, at.site)?];
        if coefficients[1..].iter().all(|c| matches!(c, Value::Zero)) {
            out.resize(at.shape.count(), Value::Zero);
        } else {
            let slope = reals.power_slope(base, n, at.site)?;
            for c in &coefficients[1..] {
                let term = reals.mul(&slope, c, at.site)?;
                reals.met(1, primal(&term));
                out.push(term);
            }
        }
        let finite = |v: &Value| primal(v).is_finite();
        if !out[1..].iter().all(finite) && coefficients.iter().all(finite) {
            let operands = vec![primal(x), n as f64];
            reals.blame(at.level, Culprit { op: "^", operands, site: at.site });
        }
        return Ok(jet(at.level, out));
    }
    let operands = vec![primal(x), n as f64];
    reals.blaming(at.level, Culprit { op: "^", operands, site: at.site }, |reals| {
        by_multiplication(reals, x, coefficients, n, at)
    })
}

/// `x ^ n` by the same multiplications as for plain numbers, so derivatives that vanish are exactly 0. With a negative
/// n, of `1 / x`: where `x ^ |n|` overflows or vanishes, the derivatives of `1 / x ^ |n|` would be nan.
fn by_multiplication(
    reals: &mut Reals,
    x: &Value,
    coefficients: &[Value],
    n: i64,
    at: At,
) -> Result<Value, ErrorKind> {
    let site = at.site;
    let mut exponent = n.unsigned_abs();
    let mut base = match n {
        1.. => x.clone(),
        ..=0 => reals.op(RealOp::Div, &Value::Real(1.0), x, site)?,
    };
    let mut result: Option<Value> = None;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = Some(match result {
                Some(r) => reals.op(RealOp::Mul, &r, &base, site)?,
                None => base.clone(),
            });
        }
        exponent >>= 1;
        if exponent > 0 {
            base = reals.op(RealOp::Mul, &base, &base, site)?;
        }
    }
    let result = result.unwrap_or(Value::Real(1.0));
    let Some(derivatives) = self::coefficients(&result, at.level).filter(|_| n < 0) else {
        return Ok(result);
    };
    let mut out = derivatives.to_vec();
    out[0] = reals.raise(&coefficients[0], n, site)?;
    Ok(jet(at.level, out))
}

/// Order at most 1: the chain rule as it stands.
fn first_order(
    reals: &mut Reals,
    op: RealOp,
    values: [&Value; 2],
    operands: [Option<&[Value]>; 2],
    at: At,
) -> Result<Vec<Value>, ErrorKind> {
    let a = below(values[0], at.level);
    let b = below(values[1], at.level);
    let y = reals.op(op, &a, &b, at.site)?;
    let mut out = Vec::with_capacity(at.shape.count());
    out.push(y);
    out.resize(at.shape.count(), Value::Zero);
    let mut result = Some(out[0].clone());
    for (i, x) in operands.iter().enumerate() {
        let Some(x) = x else { continue };
        if x[1..].iter().all(|c| matches!(c, Value::Zero)) {
            continue;
        }
        let slope = reals.partial(i, op, &a, &b, &mut result, at.site)?;
        for (out, c) in out[1..].iter_mut().zip(&x[1..]) {
            let term = reals.mul(&slope, c, at.site)?;
            reals.met(1, primal(&term));
            *out = reals.add(out, &term, at.site)?;
        }
    }
    Ok(out)
}

/// Sums and products, which need no graph; nothing for other operations.
fn bilinear(
    reals: &mut Reals,
    op: RealOp,
    values: [&Value; 2],
    operands: [Option<&[Value]>; 2],
    at: At,
) -> Result<Option<Vec<Value>>, ErrorKind> {
    let (shape, site) = (at.shape, at.site);
    let mut out = Vec::with_capacity(shape.count());
    match operands {
        [Some(a), _] if op == RealOp::Neg => {
            for x in a {
                out.push(reals.negate(x, site)?);
            }
        }
        [Some(a), Some(b)] if op == RealOp::Mul => {
            for gamma in 0..shape.count() {
                out.push(convolved(reals, a, b, gamma, at)?);
            }
        }
        [Some(a), None] if op == RealOp::Mul => {
            for x in a {
                out.push(reals.mul(x, values[1], site)?);
            }
        }
        [None, Some(b)] if op == RealOp::Mul => {
            for x in b {
                out.push(reals.mul(values[0], x, site)?);
            }
        }
        [a, b] if matches!(op, RealOp::Add | RealOp::Sub) => {
            for i in 0..shape.count() {
                let coefficient = |x: Option<&[Value]>, v: &Value| match x {
                    Some(x) => x[i].clone(),
                    None if i == 0 => v.clone(),
                    None => Value::Zero,
                };
                let [x, y] = [coefficient(a, values[0]), coefficient(b, values[1])];
                let y = if op == RealOp::Sub { reals.negate(&y, site)? } else { y };
                out.push(reals.add(&x, &y, site)?);
            }
        }
        [_, _] => return Ok(None),
    }
    Ok(Some(out))
}

/// `Σ_{α+β=γ} x_α y_β`
fn convolved(
    reals: &mut Reals,
    x: &[Value],
    y: &[Value],
    gamma: usize,
    at: At,
) -> Result<Value, ErrorKind> {
    let mut sum = Value::Zero;
    for (alpha, beta) in at.shape.pairs(gamma) {
        let term = reals.mul(&x[alpha], &y[beta], at.site)?;
        reals.met(at.shape.degrees[gamma], primal(&term));
        sum = reals.add(&sum, &term, at.site)?;
    }
    Ok(sum)
}

/// A series that is being solved.
struct SolvedSeries {
    /// What it is the result of; given from outside if none.
    op: Option<RealOp>,
    /// Of which nodes.
    args: [usize; 2],
    /// The nodes of its partial derivatives, once they are needed.
    partials: [Option<usize>; 2],
    /// The coefficients, right up to the degrees solved.
    coefficients: Vec<Value>,
    /// How many degrees are solved.
    solved: u32,
}

impl SolvedSeries {
    fn given(coefficients: Vec<Value>) -> SolvedSeries {
        SolvedSeries {
            op: None,
            args: [0, 0],
            partials: [None, None],
            coefficients,
            solved: u32::MAX,
        }
    }
}

/// The graph of series that belong to one operation.
struct Series<'a> {
    reals: &'a mut Reals,
    at: At<'a>,
    nodes: Vec<SolvedSeries>,
}

impl Series<'_> {
    /// The node that is constantly 0.
    const ZERO: usize = 0;

    fn add(&mut self, node: SolvedSeries) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// The node of an operation of nodes.
    fn operation(&mut self, op: RealOp, args: [usize; 2]) -> usize {
        match self.nodes.iter().position(|n| n.op == Some(op) && n.args == args) {
            Some(known) => known,
            None => self.add(SolvedSeries {
                op: Some(op),
                args,
                partials: [None, None],
                coefficients: vec![Value::Zero; self.at.shape.count()],
                solved: 0,
            }),
        }
    }

    fn number(&mut self, x: f64) -> usize {
        self.constant(Value::Real(x))
    }

    fn constant(&mut self, x: Value) -> usize {
        let coefficients = constant(self.at.shape, x);
        self.add(SolvedSeries::given(coefficients))
    }

    /// The node of a term in the row of node `y`.
    fn term(&mut self, term: &Partial, y: usize) -> Result<usize, ErrorKind> {
        let [a, b] = self.nodes[y].args;
        Ok(match term {
            Partial::A => a,
            Partial::B => b,
            Partial::Y => y,
            Partial::Num(x) => {
                let x = self.reals.constant(*x);
                self.constant(x)
            }
            Partial::Un(op, t) => {
                let t = self.term(t, y)?;
                self.operation(*op, [t, Self::ZERO])
            }
            Partial::Bin(op, s, t) => {
                let args = [self.term(s, y)?, self.term(t, y)?];
                self.operation(*op, args)
            }
            Partial::NextPolygamma => match self.nodes[y].op {
                Some(op) => self.operation(next_polygamma(op), [a, Self::ZERO]),
                None => Self::ZERO,
            },
            Partial::TruncatedQuotient => {
                self.ensure(a, 0)?;
                self.ensure(b, 0)?;
                let [a, b] = [a, b].map(|n| self.coefficient(n, 0));
                let quotient = self.reals.truncated_quotient(&a, &b)?;
                self.constant(quotient)
            }
            Partial::ZeroWhere(condition, t) => {
                let [x, e] = [self.primal(a)?, self.primal(b)?];
                let zero = match condition {
                    _ if self.reals.encloses() => {
                        let fixed = self.is_number(b)?;
                        let [a, b] = [a, b].map(|n| self.coefficient(n, 0));
                        self.reals.certainly(*condition, &a, &b, fixed)
                    }
                    Condition::ZeroExponent => e == 0.0 && (x == 0.0 || self.is_number(b)?),
                    Condition::ZeroBase | Condition::Vanishes => condition.holds(x, e),
                };
                if !zero {
                    self.term(t, y)?
                } else if condition.is_number(x) {
                    self.number(0.0)
                } else {
                    Self::ZERO
                }
            }
        })
    }

    /// The partial derivative of node `y` by its operand `i`.
    fn partial(&mut self, y: usize, i: usize) -> Result<usize, ErrorKind> {
        if let Some(known) = self.nodes[y].partials[i] {
            return Ok(known);
        }
        let Some(op) = self.nodes[y].op else { return Ok(Self::ZERO) };
        let [a, b] = self.nodes[y].args;
        let made = if op == RealOp::Pow && i == 0 && self.divides(a, b)? {
            let product = self.operation(RealOp::Mul, [b, y]);
            self.operation(RealOp::Div, [product, a])
        } else {
            match row(op).derivative {
                DerivativeRule::Partials(partials) => self.term(&partials[i], y)?,
                DerivativeRule::Select => Self::ZERO,
            }
        };
        self.nodes[y].partials[i] = Some(made);
        Ok(made)
    }

    /// Whether the derivative of `a^b` is `b·y/a` ([`POWERS`]): where a is not 0, and the derivatives do not come to an
    /// end within the order.
    fn divides(&mut self, a: usize, b: usize) -> Result<bool, ErrorKind> {
        let powers = self.nodes.iter().filter(|n| n.op == Some(RealOp::Pow)).count();
        if powers < POWERS {
            return Ok(false);
        }
        let [x, e] = [self.primal(a)?, self.primal(b)?];
        let ends = e.fract() == 0.0 && (0.0..=f64::from(self.at.shape.r)).contains(&e);
        Ok(x != 0.0 && !(ends && self.is_number(b)?))
    }

    fn primal(&mut self, n: usize) -> Result<f64, ErrorKind> {
        self.ensure(n, 0)?;
        Ok(primal(&self.nodes[n].coefficients[0]))
    }

    /// Whether a node is a number that nothing influences.
    fn is_number(&mut self, n: usize) -> Result<bool, ErrorKind> {
        self.ensure(n, self.at.shape.r)?;
        let [first, rest @ ..] = self.nodes[n].coefficients.as_slice() else { return Ok(true) };
        Ok(matches!(first, Value::Real(_) | Value::Zero)
            && rest.iter().all(|c| matches!(c, Value::Zero)))
    }

    /// Solves a node up to this degree.
    fn ensure(&mut self, n: usize, degree: u32) -> Result<(), ErrorKind> {
        while self.nodes[n].solved <= degree {
            let next = self.nodes[n].solved;
            self.solve(n, next)?;
            self.nodes[n].solved = next + 1;
        }
        Ok(())
    }

    /// Solves the coefficients of one degree, those below being solved.
    fn solve(&mut self, n: usize, degree: u32) -> Result<(), ErrorKind> {
        let Some(op) = self.nodes[n].op else { return Ok(()) };
        let [a, b] = self.nodes[n].args;
        let (shape, site) = (self.at.shape.clone(), self.at.site);
        self.ensure(a, degree)?;
        self.ensure(b, degree)?;
        for &gamma in &shape.by_degree[degree as usize] {
            let out = if op == RealOp::Add {
                let [x, y] = [self.coefficient(a, gamma), self.coefficient(b, gamma)];
                self.reals.add(&x, &y, site)?
            } else if op == RealOp::Sub {
                let [x, y] = [self.coefficient(a, gamma), self.coefficient(b, gamma)];
                let y = self.reals.negate(&y, site)?;
                self.reals.add(&x, &y, site)?
            } else if op == RealOp::Neg {
                let x = self.coefficient(a, gamma);
                self.reals.negate(&x, site)?
            } else if op == RealOp::Mul {
                let [x, y] = [a, b].map(|n| self.nodes[n].coefficients.as_slice());
                convolved(self.reals, x, y, gamma, self.at)?
            } else if op == RealOp::Div {
                // y_γ = (a_γ - Σ_{α<γ} y_α b_{γ-α}) / b_0
                let divisor = self.coefficient(b, 0);
                let quotient = |term: &Value| primal(term) / primal(&divisor);
                let rest = self.sum(Some(gamma), gamma, &shape, |s, i, j| {
                    let [y, b] = [&s.nodes[n].coefficients[i], &s.nodes[b].coefficients[j]];
                    let term = s.reals.mul(y, b, site)?;
                    s.reals.met(degree, quotient(&term));
                    Ok(term)
                })?;
                let rest = self.reals.negate(&rest, site)?;
                let x = self.coefficient(a, gamma);
                self.reals.met(degree, quotient(&x));
                let x = self.reals.add(&x, &rest, site)?;
                self.reals.divide(&x, &divisor, site)?
            } else if degree == 0 {
                let [x, y] = [self.coefficient(a, 0), self.coefficient(b, 0)];
                self.reals.op(op, &x, &y, site)?
            } else {
                self.euler(n, [a, b], gamma, &shape)?
            };
            self.nodes[n].coefficients[gamma] = out;
        }
        Ok(())
    }

    /// `y_γ = 1/|γ| Σᵢ Σ_{α+β=γ, β≠0} (∂ᵢf)_α |β| (xᵢ)_β`
    fn euler(
        &mut self,
        n: usize,
        args: [usize; 2],
        gamma: usize,
        shape: &JetShape,
    ) -> Result<Value, ErrorKind> {
        let site = self.at.site;
        let mut sum = Value::Zero;
        for (i, x) in args.into_iter().enumerate() {
            let term = self.sum(None, gamma, shape, |s, alpha, beta| {
                if beta == 0 || matches!(s.nodes[x].coefficients[beta], Value::Zero) {
                    return Ok(Value::Zero);
                }
                let p = s.partial(n, i)?;
                s.ensure(p, shape.degrees[alpha])?;
                let weight = f64::from(shape.degrees[beta]);
                let x = s.reals.times(weight, &s.nodes[x].coefficients[beta], site)?;
                let term = s.reals.mul(&s.nodes[p].coefficients[alpha], &x, site)?;
                s.reals.met(shape.degrees[gamma], primal(&term));
                Ok(term)
            })?;
            sum = self.reals.add(&sum, &term, site)?;
        }
        self.reals.divide(&sum, &Value::Real(f64::from(shape.degrees[gamma])), site)
    }

    /// The sum of `f(α, β)` over α + β = γ with α not `but`.
    fn sum(
        &mut self,
        but: Option<usize>,
        gamma: usize,
        shape: &JetShape,
        mut f: impl FnMut(&mut Self, usize, usize) -> Result<Value, ErrorKind>,
    ) -> Result<Value, ErrorKind> {
        let mut sum = Value::Zero;
        for (alpha, beta) in shape.pairs(gamma) {
            if Some(alpha) != but {
                let term = f(self, alpha, beta)?;
                sum = self.reals.add(&sum, &term, self.at.site)?;
            }
        }
        Ok(sum)
    }

    fn coefficient(&self, n: usize, gamma: usize) -> Value {
        self.nodes[n].coefficients[gamma].clone()
    }
}
