//! `∂_β op`, for every operation of the table and every β, as terms of the language (Huot, Staton & Vákár,
//! section 3.2: "some chosen terms", which an operation supplies).
//!
//! The terms are nodes of a graph in which equal nodes are one: so the derivatives of sin and cos close on
//! each other, and those of tanh are polynomials in tanh and sech. Derivatives of higher order come from
//! Leibniz' rule for the table's first partial derivatives, which keeps the graph of an operation at order n
//! quadratic in n. A node that is used several times becomes a `let`.

use super::super::partial::{chosen, truncated_quotient, vanished, vanishes};
use diffeo_base::deep;
use diffeo_calculus::build::*;
use diffeo_calculus::prim::real::{next_polygamma, row, Condition, DerivativeRule, Partial};
use diffeo_calculus::prim::{Comparison, RealOp};
use diffeo_calculus::term::{Binder, Term};
use diffeo_calculus::ty::Ty;
use std::collections::{HashMap, HashSet};

/// A node of a [`Graph`].
pub type Id = usize;

/// By which of two operands, and how often.
pub type Beta = [u32; 2];

/// A number that is computed.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Node {
    /// A constant, by its bits.
    Number(u64),
    /// A term from outside.
    Given(usize),
    /// An operation.
    Operation(RealOp, Vec<Id>),
    /// 1 if `min` or `max` of these operands is the operand with this number, else 0.
    Chosen(RealOp, usize, [Id; 2]),
    /// The quotient, truncated towards zero.
    TruncatedQuotient([Id; 2]),
    /// 0 where the condition holds of the operands, else the node.
    ZeroWhere(Condition, [Id; 2], Id),
}

/// Numbers that are computed, each one once.
#[derive(Debug, Default)]
pub struct Graph {
    nodes: Vec<Node>,
    known: HashMap<Node, Id>,
    given: Vec<Term>,
    /// The operands by which is differentiated.
    operands: [Id; 2],
    derivatives: HashMap<(Id, Beta), Id>,
    /// The derivative of what does not vary, if that is not 0.
    zero: Option<Term>,
}

impl Graph {
    /// One where this is the derivative of what does not vary.
    pub fn with_zero(zero: Term) -> Graph {
        Graph { zero: Some(zero), ..Graph::default() }
    }

    fn node(&mut self, node: Node) -> Id {
        if let Some(id) = self.known.get(&node) {
            return *id;
        }
        self.nodes.push(node.clone());
        let id = self.nodes.len() - 1;
        self.known.insert(node, id);
        id
    }

    /// A constant.
    pub fn number(&mut self, x: f64) -> Id {
        self.node(Node::Number(x.to_bits()))
    }

    /// A term from outside.
    pub fn given(&mut self, term: Term) -> Id {
        self.given.push(term);
        self.node(Node::Given(self.given.len() - 1))
    }

    /// `op` of these operands, by which [`Graph::derivative`] differentiates.
    pub fn differentiable(&mut self, op: RealOp, operands: &[Id]) -> Id {
        self.operands = [operands[0], operands.get(1).copied().unwrap_or(usize::MAX)];
        self.node(Node::Operation(op, operands.to_vec()))
    }

    fn literal(&self, id: Id) -> Option<f64> {
        match self.nodes[id] {
            Node::Number(bits) => Some(f64::from_bits(bits)),
            _ => None,
        }
    }

    /// Whether the node is constantly 0.
    pub fn is_zero(&self, id: Id) -> bool {
        self.literal(id) == Some(0.0)
    }

    /// The operands of this operation, if the node is one.
    fn parts(&self, op: RealOp, id: Id) -> Option<&[Id]> {
        match &self.nodes[id] {
            Node::Operation(other, args) if *other == op => Some(args),
            _ => None,
        }
    }

    fn negated(&self, id: Id) -> Option<Id> {
        self.parts(RealOp::Neg, id).map(|args| args[0])
    }

    // Operations, without adding 0 and multiplying by 0 and ±1

    /// `a + b`.
    pub fn add(&mut self, a: Id, b: Id) -> Id {
        match (self.literal(a), self.literal(b)) {
            (Some(x), Some(y)) => self.number(x + y),
            (Some(0.0), _) => b,
            (_, Some(0.0)) => a,
            _ => {
                if let Some(b) = self.negated(b) {
                    return self.node(Node::Operation(RealOp::Sub, vec![a, b]));
                }
                self.node(Node::Operation(RealOp::Add, self.in_order(a, b).to_vec()))
            }
        }
    }

    fn subtract(&mut self, a: Id, b: Id) -> Id {
        match (self.literal(a), self.literal(b)) {
            (Some(x), Some(y)) => return self.number(x - y),
            (Some(0.0), _) => return self.negate(b),
            (_, Some(0.0)) => return a,
            // (a - c) - d = a - (c + d)
            (None, Some(d)) => {
                if let Some([a, c]) = self.parts(RealOp::Sub, a) {
                    if let (a, Some(c)) = (*a, self.literal(*c)) {
                        let sum = self.number(c + d);
                        return self.subtract(a, sum);
                    }
                }
            }
            (_, None) => {
                if let Some(b) = self.negated(b) {
                    return self.add(a, b);
                }
            }
        }
        self.node(Node::Operation(RealOp::Sub, vec![a, b]))
    }

    fn negate(&mut self, a: Id) -> Id {
        if let Some(x) = self.literal(a) {
            return self.number(-x);
        }
        match self.negated(a) {
            Some(a) => a,
            None => self.node(Node::Operation(RealOp::Neg, vec![a])),
        }
    }

    /// `a · b`.
    pub fn multiply(&mut self, a: Id, b: Id) -> Id {
        match (self.literal(a), self.literal(b)) {
            (Some(x), Some(y)) => self.number(x * y),
            (Some(x), None) => self.scale(x, b),
            (None, Some(x)) => self.scale(x, a),
            (None, None) => match (self.negated(a), self.negated(b)) {
                (Some(a), Some(b)) => self.multiply(a, b),
                (Some(a), None) => {
                    let product = self.multiply(a, b);
                    self.negate(product)
                }
                (None, Some(b)) => {
                    let product = self.multiply(a, b);
                    self.negate(product)
                }
                (None, None) => {
                    self.node(Node::Operation(RealOp::Mul, self.in_order(a, b).to_vec()))
                }
            },
        }
    }

    fn scale(&mut self, x: f64, a: Id) -> Id {
        if let Some(a) = self.literal(a) {
            return self.number(x * a);
        }
        if x == 0.0 {
            return self.number(0.0);
        }
        if x == 1.0 {
            return a;
        }
        if x == -1.0 {
            return self.negate(a);
        }
        if let Some(a) = self.negated(a) {
            return self.scale(-x, a);
        }
        if let Some([c, a]) = self.parts(RealOp::Mul, a) {
            if let (Some(c), a) = (self.literal(*c), *a) {
                return self.scale(x * c, a);
            }
        }
        let x = self.number(x);
        self.node(Node::Operation(RealOp::Mul, vec![x, a]))
    }

    fn divide(&mut self, a: Id, b: Id) -> Id {
        if self.is_zero(a) || self.literal(b) == Some(1.0) {
            return a;
        }
        if let Some(a) = self.negated(a) {
            let quotient = self.divide(a, b);
            return self.negate(quotient);
        }
        self.node(Node::Operation(RealOp::Div, vec![a, b]))
    }

    /// What is given, in the order in which it is given: the products of D(*) then read as in the paper.
    fn in_order(&self, a: Id, b: Id) -> [Id; 2] {
        match (&self.nodes[a], &self.nodes[b]) {
            (Node::Given(i), Node::Given(j)) if j < i => [b, a],
            _ => [a, b],
        }
    }

    fn operation(&mut self, op: RealOp, args: &[Id]) -> Id {
        match (op, args) {
            (RealOp::Add, [a, b]) => self.add(*a, *b),
            (RealOp::Sub, [a, b]) => self.subtract(*a, *b),
            (RealOp::Mul, [a, b]) => self.multiply(*a, *b),
            (RealOp::Div, [a, b]) => self.divide(*a, *b),
            (RealOp::Neg, [a]) => self.negate(*a),
            _ => self.node(Node::Operation(op, args.to_vec())),
        }
    }

    // Derivatives

    /// `∂_β` of the node by the operands given to [`Graph::differentiable`].
    pub fn derivative(&mut self, id: Id, beta: Beta) -> Id {
        if beta == [0, 0] {
            return id;
        }
        if let Some(known) = self.derivatives.get(&(id, beta)) {
            return *known;
        }
        let made = deep(|| self.differentiate(id, beta));
        self.derivatives.insert((id, beta), made);
        made
    }

    fn differentiate(&mut self, id: Id, beta: Beta) -> Id {
        if let Some(i) = self.operands.iter().position(|x| *x == id) {
            return self.number(if beta == unit_index(i) { 1.0 } else { 0.0 });
        }
        match self.nodes[id].clone() {
            Node::Number(_) | Node::Given(_) | Node::Chosen(..) | Node::TruncatedQuotient(_) => {
                self.number(0.0)
            }
            Node::ZeroWhere(condition, operands, x) => {
                let x = self.derivative(x, beta);
                self.zero_where(condition, operands, x)
            }
            Node::Operation(op, args) => match (op, &args[..]) {
                (RealOp::Add, [a, b]) => {
                    let (a, b) = (self.derivative(*a, beta), self.derivative(*b, beta));
                    self.add(a, b)
                }
                (RealOp::Sub, [a, b]) => {
                    let (a, b) = (self.derivative(*a, beta), self.derivative(*b, beta));
                    self.subtract(a, b)
                }
                (RealOp::Neg, [a]) => {
                    let a = self.derivative(*a, beta);
                    self.negate(a)
                }
                // ∂^β(a b) = Σ_γ C(β, γ) ∂^γ a ∂^(β-γ) b
                (RealOp::Mul, [a, b]) => self.leibniz(beta, *a, *b, [0, 0]),
                // From a = y b: ∂^β y = (∂^β a - Σ_{γ<β} C(β, γ) ∂^γ y ∂^(β-γ) b) / b
                (RealOp::Div, [a, b]) => {
                    let mut rest = self.derivative(*a, beta);
                    for gamma in below(beta).filter(|gamma| *gamma != beta) {
                        let slope = self.derivative(*b, minus(beta, gamma));
                        if self.is_zero(slope) {
                            continue;
                        }
                        let y = self.derivative(id, gamma);
                        let product = self.multiply(y, slope);
                        let product = self.scale(binomial(beta, gamma), product);
                        rest = self.subtract(rest, product);
                    }
                    self.divide(rest, *b)
                }
                // ∂^(δ+i) f(x…) = ∂^δ Σ_j ∂_j f(x…) ∂^i x_j
                _ => {
                    let i = usize::from(beta[0] == 0);
                    let step = unit_index(i);
                    let delta = minus(beta, step);
                    let mut sum = self.number(0.0);
                    for (j, x) in args.iter().enumerate() {
                        // An operand that does not vary has no part in it.
                        let mut varying = below(delta)
                            .map(|g| [g[0] + step[0], g[1] + step[1]])
                            .map(|g| self.derivative(*x, g))
                            .collect::<Vec<Id>>();
                        varying.retain(|d| !self.is_zero(*d));
                        if varying.is_empty() {
                            continue;
                        }
                        let slope = self.partial(op, &args, id, j);
                        let term = self.leibniz(delta, slope, *x, step);
                        sum = self.add(sum, term);
                    }
                    sum
                }
            },
        }
    }

    /// `∂^β (a · ∂^step b)`
    fn leibniz(&mut self, beta: Beta, a: Id, b: Id, step: Beta) -> Id {
        let mut sum = self.number(0.0);
        for gamma in below(beta) {
            let rest = minus(beta, gamma);
            let factor = self.derivative(b, [rest[0] + step[0], rest[1] + step[1]]);
            if self.is_zero(factor) {
                continue;
            }
            let slope = self.derivative(a, gamma);
            let product = self.multiply(slope, factor);
            let product = self.scale(binomial(beta, gamma), product);
            sum = self.add(sum, product);
        }
        sum
    }

    /// `∂_i op` at these operands, the operation being the node `y`.
    fn partial(&mut self, op: RealOp, args: &[Id], y: Id, i: usize) -> Id {
        match row(op).derivative {
            DerivativeRule::Partials(partials) => self.row(op, &partials[i], args, y),
            DerivativeRule::Select => match (op, args) {
                (RealOp::Abs, [a]) => self.operation(RealOp::Sign, &[*a]),
                (RealOp::Min | RealOp::Max, [a, b]) => self.node(Node::Chosen(op, i, [*a, *b])),
                _ => self.number(0.0),
            },
        }
    }

    /// A term of the table.
    fn row(&mut self, op: RealOp, p: &Partial, args: &[Id], y: Id) -> Id {
        let both = [args[0], args.get(1).copied().unwrap_or(args[0])];
        match p {
            Partial::A => both[0],
            Partial::B => both[1],
            Partial::Y => y,
            Partial::Num(x) => self.number(*x),
            Partial::Un(f, a) => {
                let a = self.row(op, a, args, y);
                self.operation(*f, &[a])
            }
            Partial::Bin(f, a, b) => {
                let a = self.row(op, a, args, y);
                let b = self.row(op, b, args, y);
                self.operation(*f, &[a, b])
            }
            Partial::NextPolygamma => self.operation(next_polygamma(op), &[args[0]]),
            Partial::TruncatedQuotient => self.node(Node::TruncatedQuotient(both)),
            Partial::ZeroWhere(condition, p) => {
                let x = self.row(op, p, args, y);
                self.zero_where(*condition, both, x)
            }
        }
    }

    fn zero_where(&mut self, condition: Condition, operands: [Id; 2], x: Id) -> Id {
        if self.is_zero(x) {
            return x;
        }
        self.node(Node::ZeroWhere(condition, operands, x))
    }

    // Terms

    fn children(&self, id: Id) -> Vec<Id> {
        match &self.nodes[id] {
            Node::Number(_) | Node::Given(_) => Vec::new(),
            Node::Operation(_, args) => args.clone(),
            Node::Chosen(_, _, [a, b]) | Node::TruncatedQuotient([a, b]) => vec![*a, *b],
            Node::ZeroWhere(_, [a, b], x) => vec![*a, *b, *x],
        }
    }

    /// The nodes as terms, after the bindings that they share. `name` makes a variable.
    pub fn terms(
        &self,
        name: &mut dyn FnMut() -> Binder,
        roots: &[Id],
    ) -> (Vec<(Binder, Term)>, Vec<Term>) {
        let mut uses: HashMap<Id, usize> = HashMap::new();
        let mut seen = HashSet::new();
        let mut pending = roots.to_vec();
        for root in roots {
            *uses.entry(*root).or_default() += 1;
        }
        while let Some(id) = pending.pop() {
            if !seen.insert(id) {
                continue;
            }
            // Conditions and the choice of an operand mention their operands twice.
            let times = match self.nodes[id] {
                Node::Chosen(..) | Node::TruncatedQuotient(_) | Node::ZeroWhere(..) => 2,
                Node::Number(_) | Node::Given(_) | Node::Operation(..) => 1,
            };
            for child in self.children(id) {
                *uses.entry(child).or_default() += times;
                pending.push(child);
            }
        }
        let mut shared: Vec<Id> =
            uses.into_iter().filter(|(_, n)| *n > 1).map(|(id, _)| id).collect();
        // A node comes after those that it is made of.
        shared.sort_unstable();
        let mut names = HashMap::new();
        let mut bindings = Vec::new();
        for id in shared {
            let value = self.term(id, &names);
            if is_atom(&value) {
                continue;
            }
            let binder = name();
            names.insert(id, var(&binder));
            bindings.push((binder, value));
        }
        let values = roots.iter().map(|root| self.term(*root, &names)).collect();
        (bindings, values)
    }

    fn term(&self, id: Id, names: &HashMap<Id, Term>) -> Term {
        if let Some(known) = names.get(&id) {
            return known.clone();
        }
        let of = |id: &Id| deep(|| self.term(*id, names));
        match &self.nodes[id] {
            Node::Number(bits) => real(f64::from_bits(*bits)),
            Node::Given(i) => self.given[*i].clone(),
            Node::Operation(f, args) => op(*f, args.iter().map(of).collect()),
            Node::Chosen(f, i, [a, b]) => chosen(*f, *i, of(a), of(b)),
            Node::TruncatedQuotient([a, b]) => truncated_quotient(of(a), of(b)),
            Node::ZeroWhere(condition, [a, b], x) => {
                let compared = |comparison, x| compare(comparison, Ty::Real, x, real(0.0));
                let both = |of_b| {
                    if_(compared(Comparison::Eq, of(a)), compared(of_b, of(b)), truth(false))
                };
                let holds = match condition {
                    Condition::ZeroExponent => both(Comparison::Eq),
                    Condition::ZeroBase => both(Comparison::Gt),
                    Condition::Vanishes => vanishes(&of(a)),
                };
                let zero = self.zero.clone().unwrap_or_else(|| real(0.0));
                let zero = match condition {
                    Condition::Vanishes => vanished(&of(a), &zero),
                    Condition::ZeroExponent | Condition::ZeroBase => zero,
                };
                if_(holds, zero, of(x))
            }
        }
    }
}

fn unit_index(i: usize) -> Beta {
    [u32::from(i == 0), u32::from(i == 1)]
}

fn minus(a: Beta, b: Beta) -> Beta {
    [a[0] - b[0], a[1] - b[1]]
}

/// All γ ≤ β, in lexicographic order.
fn below(beta: Beta) -> impl Iterator<Item = Beta> {
    (0..=beta[0]).flat_map(move |i| (0..=beta[1]).map(move |j| [i, j]))
}

fn binomial(beta: Beta, gamma: Beta) -> f64 {
    let one =
        |n: u32, k: u32| (0..k).fold(1.0, |c, i| c * f64::from(n - i) / f64::from(i + 1)).round();
    one(beta[0], gamma[0]) * one(beta[1], gamma[1])
}
