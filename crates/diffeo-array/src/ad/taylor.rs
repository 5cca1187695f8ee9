//! Taylor coefficients of operations on Reals, as operations of Flat.
//!
//! What comes in: an operation and, by operand, the normalised coefficients `x_α = ∂^α x / α!` without that of the
//! value; one that is 0 whatever the program does is left out. What goes out: those of the result. They are solved one
//! after the other from `E y = Σ ∂f·E x`, where E multiplies coefficient α by |α|: `|γ| y_γ = Σ_{β≠0} |β| ∂f_{γ-β} x_β`
//! (in one variable Griewank & Walther, *Evaluating Derivatives*, 2008, chapter 13), where the partial derivatives of
//! the table are series themselves: nodes of a small graph, the same operation of the same nodes being one, so that
//! sine and cosine, say, close on each other. A coefficient is solved when it is needed, so chains of derivatives end.

use super::orders::Indices;
use super::partials::{along, exponent_less, slopes, vanishes};
use crate::build::Builder;
use crate::ir::walk::{same, var};
use crate::ir::{Atom, Module, Op, Scalar, Var};
use diffeo_calculus::prim::real::{
    eval, next_polygamma, row, Condition, DerivativeRule, Partial, POWERS,
};
use diffeo_calculus::prim::{Comparison, RealOp};
use hashbrown::HashMap;

/// A coefficient; none is 0.
pub(super) type Coefficient = Option<Atom>;

/// The coefficients without the value of the result of an operation with these of its operands, if they vary.
pub(super) fn coefficients(
    b: &mut Builder,
    module: &Module,
    op: &Op,
    result: &Atom,
    operands: &[Option<Vec<Coefficient>>],
    indices: &Indices,
) -> Vec<Coefficient> {
    let width = indices.width();
    let mut series = Series { b, module, indices, nodes: Vec::new(), negated: HashMap::new() };
    let value = match op {
        Op::Real(op, args) => {
            if row(*op).derivative == DerivativeRule::Select {
                return select(series, (*op, args), result, operands);
            }
            let exponent = args.get(1).and_then(Atom::whole).filter(|n| n.abs() <= MULTIPLIED);
            if let (RealOp::Pow, Some(n)) = (op, exponent) {
                let base = series.given(&args[0], operands[0].as_deref());
                let value = series.power(base, n as i64);
                return (1..=width).map(|i| series.coefficient(value, i)).collect();
            }
            let mut nodes = [0; 2];
            for (node, (arg, known)) in nodes.iter_mut().zip(args.iter().zip(operands)) {
                *node = series.given(arg, known.as_deref());
            }
            if args.len() < 2 || same(&args[0], &args[1]) {
                nodes[1] = nodes[0];
            }
            let value = series.find(SeriesKind::Operation(*op, nodes));
            series.nodes[value].coefficients[0] = Some(Some(result.clone()));
            value
        }
        Op::PowInt(x, n) => {
            let base = series.given(x, operands.first().and_then(|o| o.as_deref()));
            match n {
                Atom::Int(n) => series.power(base, *n),
                n => return series.power_by_slopes(base, x, n, result),
            }
        }
        // No other operation gives Reals by arithmetic.
        _ => return vec![None; width],
    };
    (1..=width).map(|i| series.coefficient(value, i)).collect()
}

/// Of an operation that is one of its operands.
fn select(
    series: Series<'_>,
    (op, args): (RealOp, &[Atom]),
    result: &Atom,
    operands: &[Option<Vec<Coefficient>>],
) -> Vec<Coefficient> {
    let Series { b, module, indices, .. } = series;
    let wanted: Vec<bool> = operands.iter().map(Option::is_some).collect();
    let slopes = slopes(b, module, &Op::Real(op, args.to_vec()), result, &wanted);
    let mut all = Vec::with_capacity(indices.width());
    for i in 0..indices.width() {
        let dots: Vec<Coefficient> =
            operands.iter().map(|known| known.as_ref()?[i].clone()).collect();
        all.push(along(b, module, &slopes, &dots));
    }
    all
}

/// Powers below this have lost digits, or may be about to.
const TINY: f64 = 1e-280;

/// Powers with a constant Real for an exponent are products for whole exponents up to this.
const MULTIPLIED: f64 = 64.0;

/// Up to this degree, what a sum is made of is divided, rather than the sum.
const DIVIDED: f64 = 3.0;

/// A series.
struct SeriesNode {
    what: SeriesKind,
    /// Those that are solved.
    coefficients: Vec<Option<Coefficient>>,
    /// The partial derivatives that are known.
    partials: [Option<usize>; 2],
}

#[derive(Clone, PartialEq)]
enum SeriesKind {
    Given,
    /// A number.
    Number(u64),
    Operation(RealOp, [usize; 2]),
    /// A number, given by its bits, in the place of each coefficient where this holds, else a series.
    Where(Atom, u64, usize),
}

struct Series<'a> {
    b: &'a mut Builder,
    module: &'a Module,
    indices: &'a Indices,
    nodes: Vec<SeriesNode>,
    /// Negated numbers, each with what it is the opposite of.
    negated: HashMap<Var, Atom>,
}

impl Series<'_> {
    fn add(&mut self, what: SeriesKind, known: Vec<Coefficient>) -> usize {
        let mut coefficients: Vec<Option<Coefficient>> = known.into_iter().map(Some).collect();
        coefficients.resize(self.indices.all.len(), None);
        self.nodes.push(SeriesNode { what, coefficients, partials: [None; 2] });
        self.nodes.len() - 1
    }

    fn find(&mut self, what: SeriesKind) -> usize {
        match self.nodes.iter().position(|node| node.what == what) {
            Some(known) => known,
            None => self.add(what, Vec::new()),
        }
    }

    fn given(&mut self, primal: &Atom, known: Option<&[Coefficient]>) -> usize {
        if let (Atom::Real(x), None) = (primal, known) {
            return self.number(*x);
        }
        let mut coefficients = vec![Some(primal.clone())];
        coefficients.extend(known.unwrap_or_default().iter().cloned());
        coefficients.resize(self.indices.all.len(), None);
        self.add(SeriesKind::Given, coefficients)
    }

    fn number(&mut self, x: f64) -> usize {
        let made = self.find(SeriesKind::Number(x.to_bits()));
        self.nodes[made].coefficients[0] = Some(Some(Atom::Real(x)));
        made
    }

    fn is_number(&self, n: usize, x: f64) -> bool {
        self.nodes[n].what == SeriesKind::Number(x.to_bits())
    }

    fn operation(&mut self, op: RealOp, args: [usize; 2]) -> usize {
        if op == RealOp::Mul && self.is_number(args[0], 1.0) {
            return args[1];
        }
        if op == RealOp::Mul && self.is_number(args[1], 1.0) {
            return args[0];
        }
        self.find(SeriesKind::Operation(op, args))
    }

    // Arithmetic on coefficients

    fn real(&mut self, op: RealOp, args: Vec<Atom>) -> Atom {
        let number = |atom: Option<&Atom>| match atom {
            Some(Atom::Real(x)) => Some(*x),
            None => Some(0.0),
            Some(_) => None,
        };
        match (number(args.first()), number(args.get(1))) {
            // A coefficient that is the number 0 stands for one that is left out.
            (Some(x), Some(y)) if eval(op, x, y) != 0.0 => Atom::Real(eval(op, x, y)),
            (Some(1.0), None) if op == RealOp::Mul => args[1].clone(),
            (None, Some(1.0)) if matches!(op, RealOp::Mul | RealOp::Div) => args[0].clone(),
            (_, _) => self.b.one(self.module, Op::Real(op, args)),
        }
    }

    /// Whether a number was negated here, and of what.
    fn sign(&self, x: Atom) -> (bool, Atom) {
        match var(&x).and_then(|v| self.negated.get(&v)) {
            Some(of) => (true, of.clone()),
            None => (false, x),
        }
    }

    /// The opposite of a number, or itself. Signs go to the end, where sums take them up.
    fn signed(&mut self, negative: bool, x: Atom) -> Atom {
        if !negative {
            return x;
        }
        let (double, x) = self.sign(x);
        if double {
            return x;
        }
        let made = self.real(RealOp::Neg, vec![x.clone()]);
        self.negated.extend(var(&made).map(|v| (v, x)));
        made
    }

    fn plus(&mut self, x: Coefficient, y: Coefficient) -> Coefficient {
        let (x, y) = match (x, y) {
            (None, other) | (other, None) => return other,
            (Some(x), Some(y)) => (self.sign(x), self.sign(y)),
        };
        let sum = match (x, y) {
            ((false, x), (true, y)) | ((true, y), (false, x)) => {
                return Some(self.real(RealOp::Sub, vec![x, y]));
            }
            ((negative, x), (_, y)) => (negative, self.real(RealOp::Add, vec![x, y])),
        };
        Some(self.signed(sum.0, sum.1))
    }

    fn minus(&mut self, x: Coefficient, y: Coefficient) -> Coefficient {
        let y = y.map(|y| self.signed(true, y));
        self.plus(x, y)
    }

    fn times(&mut self, x: Coefficient, y: Coefficient) -> Coefficient {
        let ((first, x), (second, y)) = (self.sign(x?), self.sign(y?));
        let product = self.real(RealOp::Mul, vec![x, y]);
        Some(self.signed(first != second, product))
    }

    fn weighted(&mut self, weight: f64, x: Coefficient) -> Coefficient {
        self.times(Some(Atom::Real(weight)), x)
    }

    /// A sum over the degree of its index.
    fn over(&mut self, x: Coefficient, degree: f64) -> Coefficient {
        let (negative, x) = self.sign(x?);
        let quotient = self.real(RealOp::Div, vec![x, Atom::Real(degree)]);
        Some(self.signed(negative, quotient))
    }

    /// Its value, which is never left out.
    fn primal(&mut self, n: usize) -> Atom {
        self.coefficient(n, 0).unwrap_or(Atom::Real(0.0))
    }

    // Solving

    fn coefficient(&mut self, n: usize, i: usize) -> Coefficient {
        if let Some(known) = &self.nodes[n].coefficients[i] {
            return known.clone();
        }
        let solved = self.solve(n, i);
        self.nodes[n].coefficients[i] = Some(solved.clone());
        solved
    }

    fn solve(&mut self, n: usize, i: usize) -> Coefficient {
        let (op, [a, b]) = match self.nodes[n].what.clone() {
            SeriesKind::Given | SeriesKind::Number(_) => return None,
            SeriesKind::Where(holds, number, term) => {
                let x = self.coefficient(term, i)?;
                let op = Op::Select(holds, Atom::Real(f64::from_bits(number)), x);
                return Some(self.b.one(self.module, op));
            }
            SeriesKind::Operation(op, args) => (op, args),
        };
        let pairs = &self.indices.pairs[i];
        if op == RealOp::Add {
            let (x, y) = (self.coefficient(a, i), self.coefficient(b, i));
            self.plus(x, y)
        } else if op == RealOp::Sub {
            let (x, y) = (self.coefficient(a, i), self.coefficient(b, i));
            self.minus(x, y)
        } else if op == RealOp::Neg {
            let x = self.coefficient(a, i);
            self.minus(None, x)
        } else if op == RealOp::Mul && a == b {
            // Each pair twice, but for the one in the middle.
            let (mut sum, mut middle) = (None, None);
            for (j, k) in pairs.iter().filter(|(j, k)| j <= k) {
                let (x, y) = (self.coefficient(a, *j), self.coefficient(a, *k));
                let term = self.times(x, y);
                let of = if j == k { &mut middle } else { &mut sum };
                *of = self.plus(of.take(), term);
            }
            let sum = self.weighted(2.0, sum);
            self.plus(sum, middle)
        } else if op == RealOp::Mul {
            pairs.iter().fold(None, |sum, (j, k)| {
                let (x, y) = (self.coefficient(a, *j), self.coefficient(b, *k));
                let term = self.times(x, y);
                self.plus(sum, term)
            })
        } else if op == RealOp::Div {
            // y_γ = (a_γ - Σ_{α<γ} y_α b_{γ-α}) / b_0
            let rest = pairs.iter().filter(|(j, _)| *j != i).fold(None, |sum, (j, k)| {
                let (x, y) = (self.coefficient(n, *j), self.coefficient(b, *k));
                let term = self.times(x, y);
                self.plus(sum, term)
            });
            let x = self.coefficient(a, i);
            let x = self.minus(x, rest)?;
            Some(self.divided(x, b, i))
        } else if i == 0 {
            let mut args = vec![self.primal(a)];
            if row(op).arity == 2 {
                args.push(self.primal(b));
            }
            Some(self.real(op, args))
        } else {
            self.chain(n, (op, [a, b]), i)
        }
    }

    /// `y_γ = 1/|γ| Σ_{0≠β≠γ} |β| ∂f_{γ-β} x_β + ∂f_0 x_γ`
    ///
    /// In the first orders, each `x_β` is divided rather than the sum: it is known earlier, and others divide it, too.
    /// In the others, `|β| x_β` is there from the order before.
    fn chain(&mut self, n: usize, (op, args): (RealOp, [usize; 2]), i: usize) -> Coefficient {
        let (mut sum, mut last) = (None, None);
        let indices = self.indices;
        let degree = indices.degrees[i] as f64;
        let (each, whole) = if degree <= DIVIDED { (degree, 1.0) } else { (1.0, degree) };
        for (which, x) in args.into_iter().enumerate().take(row(op).arity) {
            let (mut of_x, mut slope) = (None, None);
            for (j, k) in indices.pairs[i].iter().rev().filter(|(_, k)| *k != 0) {
                let Some(coefficient) = self.coefficient(x, *k) else { continue };
                let partial = self.partial(n, op, args, which);
                let known = self.coefficient(partial, *j);
                if *k == i {
                    slope = self.times(known, Some(coefficient));
                } else {
                    let weight = indices.degrees[*k] as f64 / each;
                    let x = self.weighted(weight, Some(coefficient));
                    let term = self.times(known, x);
                    of_x = self.plus(of_x, term);
                }
            }
            (sum, last) = (self.plus(sum, of_x), self.plus(last, slope));
        }
        let sum = self.over(sum, whole);
        self.plus(sum, last)
    }

    /// A coefficient over a divisor: but for the value, times its reciprocal, which all of them take.
    fn divided(&mut self, x: Atom, divisor: usize, i: usize) -> Atom {
        let by = self.primal(divisor);
        let alone = i == 0 || self.indices.width() == 1 && !matches!(by, Atom::Real(_));
        let exact = !matches!(by, Atom::Real(by) if !(1.0 / by).is_normal());
        if alone || !exact {
            return self.real(RealOp::Div, vec![x, by]);
        }
        let one = self.number(1.0);
        let reciprocal = self.operation(RealOp::Div, [one, divisor]);
        let reciprocal = self.primal(reciprocal);
        self.real(RealOp::Mul, vec![x, reciprocal])
    }

    fn partial(&mut self, y: usize, op: RealOp, args: [usize; 2], which: usize) -> usize {
        if let Some(known) = self.nodes[y].partials[which] {
            return known;
        }
        let made = if op == RealOp::Pow && which == 0 && self.powers() >= POWERS {
            // At 0, and where y is too small to tell from 0, this is nan.
            let size = self.primal(y);
            let size = self.real(RealOp::Abs, vec![size]);
            let tiny = Op::Compare(Comparison::Lt, Scalar::Real, size, Atom::Real(TINY));
            let tiny = self.b.one(self.module, tiny);
            let y = self.find(SeriesKind::Where(tiny, f64::NAN.to_bits(), y));
            let product = self.operation(RealOp::Mul, [args[1], y]);
            self.operation(RealOp::Div, [product, args[0]])
        } else {
            match row(op).derivative {
                DerivativeRule::Partials(partials) => self.term(&partials[which], y, op, args),
                DerivativeRule::Select => self.number(0.0),
            }
        };
        self.nodes[y].partials[which] = Some(made);
        made
    }

    fn term(&mut self, term: &Partial, y: usize, op: RealOp, args: [usize; 2]) -> usize {
        match term {
            Partial::A => args[0],
            Partial::B => args[1],
            Partial::Y => y,
            Partial::Num(x) => self.number(*x),
            Partial::Un(f, t) => {
                let t = self.term(t, y, op, args);
                self.operation(*f, [t, t])
            }
            Partial::Bin(f, s, t) => {
                let terms = [self.term(s, y, op, args), self.term(t, y, op, args)];
                self.operation(*f, terms)
            }
            Partial::NextPolygamma => self.operation(next_polygamma(op), [args[0]; 2]),
            // (a - a % b) / b, whose derivative is 0.
            Partial::TruncatedQuotient => {
                let (a, b, y) = (self.primal(args[0]), self.primal(args[1]), self.primal(y));
                let multiple = self.real(RealOp::Sub, vec![a, y]);
                let quotient = self.real(RealOp::Div, vec![multiple, b]);
                self.given(&quotient, None)
            }
            Partial::ZeroWhere(condition, t) => {
                let (a, b) = (self.primal(args[0]), self.primal(args[1]));
                let holds = match condition {
                    Condition::ZeroExponent => self.zeros(a, Comparison::Eq, b),
                    Condition::ZeroBase => self.zeros(a, Comparison::Gt, b),
                    Condition::Vanishes => vanishes(self.b, self.module, a),
                };
                let t = self.term(t, y, op, args);
                self.find(SeriesKind::Where(holds, 0.0_f64.to_bits(), t))
            }
        }
    }

    /// Whether a is 0, and b compares to 0 like this.
    fn zeros(&mut self, a: Atom, comparison: Comparison, b: Atom) -> Atom {
        let zero = |c: Comparison, x: Atom| Op::Compare(c, Scalar::Real, x, Atom::Real(0.0));
        let base = self.b.one(self.module, zero(Comparison::Eq, a));
        let exponent = self.b.one(self.module, zero(comparison, b));
        self.b.one(self.module, Op::And(base, exponent))
    }

    /// How many powers there are.
    fn powers(&self) -> usize {
        let power = |node: &&SeriesNode| matches!(node.what, SeriesKind::Operation(RealOp::Pow, _));
        self.nodes.iter().filter(power).count()
    }

    // Powers with an Int

    /// `x ^ n` by repeated multiplication; with a negative n, of `1 / x`, so that derivatives are right where `x ^ |n|`
    /// overflows or vanishes.
    fn power(&mut self, base: usize, n: i64) -> usize {
        let one = self.number(1.0);
        let mut exponent = n.unsigned_abs();
        let mut base = if n < 0 { self.operation(RealOp::Div, [one, base]) } else { base };
        let mut result = None;
        while exponent > 0 {
            if exponent & 1 == 1 {
                result = Some(match result {
                    Some(result) => self.operation(RealOp::Mul, [result, base]),
                    None => base,
                });
            }
            exponent >>= 1;
            if exponent > 0 {
                base = self.operation(RealOp::Mul, [base, base]);
            }
        }
        result.unwrap_or(one)
    }

    /// `x ^ n` from `x ^ (n-1)` up to one order less, and so on.
    fn power_by_slopes(
        &mut self,
        base: usize,
        x: &Atom,
        n: &Atom,
        result: &Atom,
    ) -> Vec<Coefficient> {
        let indices = self.indices;
        let mut exponents = vec![n.clone()];
        for j in 0..indices.orders.r as usize {
            exponents.push(exponent_less(self.b, self.module, &exponents[j]));
        }
        let mut slope: Vec<Coefficient> = Vec::new();
        for (j, m) in exponents.into_iter().enumerate().rev() {
            let mut power = vec![Some(match j {
                0 => result.clone(),
                _ => self.b.one(self.module, Op::PowInt(x.clone(), m.clone())),
            })];
            let factor = self.b.one(self.module, Op::ToReal(m));
            for i in 1..=indices.width() {
                // The slope has one order less.
                if indices.degrees[i] > indices.orders.r as usize - j {
                    power.push(None);
                    continue;
                }
                let mut sum = None;
                for (alpha, beta) in indices.pairs[i].iter().rev().filter(|(_, beta)| *beta != 0) {
                    let x = self.coefficient(base, *beta);
                    let x = self.weighted(indices.degrees[*beta] as f64, x);
                    let term = self.times(slope[*alpha].clone(), x);
                    sum = self.plus(sum, term);
                }
                let sum = self.times(Some(factor.clone()), sum);
                power.push(self.over(sum, indices.degrees[i] as f64));
            }
            slope = power;
        }
        slope[1..].to_vec()
    }
}
