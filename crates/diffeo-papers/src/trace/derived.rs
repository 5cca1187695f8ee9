//! The derivative terms that are defined by others (ours): `vjp`, `jvp` and `jet` as terms over `rd`.
//!
//! What comes in: a derivative term and variables that stand for its operands. What goes out: its
//! definition.

use diffeo_base::{Name, Span};
use diffeo_calculus::eval::derivative::multi_indices;
use diffeo_calculus::prim::{Diff, DiffOp, IntOp, Prim, RealOp};
use diffeo_calculus::term::{Binder, Build, Lit, Term, TermKind, Var};
use diffeo_calculus::ty::Ty;

/// A new variable.
pub(super) fn binder(next: &mut u32, name: &str, ty: Ty) -> Binder {
    *next -= 1;
    Binder { var: Var { name: Name::new(name), id: *next }, ty }
}

/// The operands of the definition of a derivative term: its own, and for `vjp` and `jvp` the value of f(x).
/// For `jet` the function, the value of S that the coefficients belong to, all coefficients one after the other, and which
/// of them are 0 and do not vary.
pub(super) fn operands(diff: &Diff) -> Vec<Ty> {
    let (mut types, _) = diff.signature();
    match diff.op {
        DiffOp::Vjp | DiffOp::Jvp => types.push(diff.to.clone()),
        DiffOp::Jet { .. } => {
            types.truncate(1);
            types.extend([diff.from.clone(), Ty::array(Ty::Real), Ty::array(Ty::Bool)]);
        }
        DiffOp::Rd
        | DiffOp::RdAlong
        | DiffOp::StopGradient
        | DiffOp::Checkpoint
        | DiffOp::WithDerivative
        | DiffOp::WithExactDerivative
        | DiffOp::Decisions
        | DiffOp::Deciding
        | DiffOp::Enclose
        | DiffOp::Dependence
        | DiffOp::AllPaths => {}
    }
    types
}

/// The definition of a derivative term that has one.
pub(super) fn definition(
    diff: &Diff,
    operands: &[Binder],
    next: &mut u32,
    span: Span,
) -> Option<Term> {
    let mut make = Make { span, next, s: &diff.from, t: &diff.to };
    match (diff.op, operands) {
        (DiffOp::Vjp, [f, x, y]) => Some(make.vjp(f, x, y)),
        (DiffOp::Jvp, [f, x, v, y]) => Some(make.jvp(f, x, v, y)),
        (DiffOp::Jet { k, r }, [f, like, xs, absent]) => {
            Some(make.jet((k, r), f, like, (xs, absent)))
        }
        _ => None,
    }
}

/// Makes terms.
struct Make<'a> {
    span: Span,
    next: &'a mut u32,
    s: &'a Ty,
    t: &'a Ty,
}

impl Make<'_> {
    fn term(&self, kind: TermKind) -> Term {
        Term::new(kind, self.span)
    }

    fn var(&self, binder: &Binder) -> Term {
        self.term(TermKind::Var(binder.var.clone()))
    }

    fn binder(&mut self, name: &str, ty: Ty) -> Binder {
        binder(self.next, name, ty)
    }

    fn app(&self, f: &Binder, x: Term) -> Term {
        self.term(TermKind::App(Box::new(self.var(f)), Box::new(x)))
    }

    fn lambda(&self, x: Binder, body: Term) -> Term {
        self.term(TermKind::Lam(x, Box::new(body)))
    }

    fn let_(&self, x: Binder, value: Term, body: Term) -> Term {
        self.term(TermKind::Let(vec![(x, value)], Box::new(body)))
    }

    fn pair(&self, types: [Ty; 2], components: [Term; 2]) -> Term {
        self.term(TermKind::Tuple(Ty::tuple(types.into()), components.into()))
    }

    fn prim(&self, prim: Prim, args: Vec<Term>) -> Term {
        self.term(TermKind::Prim(prim, args))
    }

    fn real(&self, x: f64) -> Term {
        self.term(TermKind::Lit(Lit::Real(x)))
    }

    fn int(&self, n: usize) -> Term {
        self.term(TermKind::Lit(Lit::Int(n as i64)))
    }

    /// W.rd_V(f)
    fn rd(&self, from: &Ty, to: &Ty, f: Term, v: Term, w: Term) -> Term {
        let diff = Diff { op: DiffOp::Rd, from: from.clone(), to: to.clone() };
        self.term(TermKind::Diff(diff, vec![f, v, w]))
    }

    /// `vjp(f, x) = let y:T = f(x) in ⟨y, λw:T. w.rd_x(f)⟩`
    fn vjp(&mut self, f: &Binder, x: &Binder, y: &Binder) -> Term {
        let w = self.binder("w", self.t.clone());
        // What is wrong with w is told of the call of the pullback.
        let span = std::mem::replace(&mut self.span, Span::NONE);
        let rd = self.rd(self.s, self.t, self.var(f), self.var(x), self.var(&w));
        let back = self.lambda(w, rd);
        self.span = span;
        let pullback = Ty::fun(self.t.clone(), self.s.clone());
        self.pair([self.t.clone(), pullback], [self.var(y), back])
    }

    /// `jvp(f, x, v) = let y:T = f(x) in ⟨y, v.fd_x(f)⟩`, where by equation (6) of the paper
    /// `v.fd_x(f) = v.rd_{0_T}(u:T. u.rd_x(f))`.
    fn jvp(&mut self, f: &Binder, x: &Binder, v: &Binder, y: &Binder) -> Term {
        let (s, t) = (self.s.clone(), self.t.clone());
        let u = self.binder("u", t.clone());
        let inner = self.rd(&s, &t, self.var(f), self.var(x), self.var(&u));
        let zero = self.prim(Prim::ZeroOf(t.clone()), vec![self.var(y)]);
        let fd = self.rd(&t, &s, self.lambda(u, inner), zero, self.var(v));
        self.pair([t.clone(), t], [self.var(y), fd])
    }

    /// `jet_(k,R)(f, x) = ∂^α at t = 0 of f(Σ_α x_α · t^α / α!)`, for every Real of the result and every α.
    ///
    /// The pair of f(x) and of these derivatives, in an array of rows over α:
    ///
    /// ```text
    /// let g = λt. f(the structure of `like` with the Reals [Σ_a xs[j·c + a] · (t^α / α!)[a] | j])
    ///     y = fst(vjp(g, 0))  in  ⟨y, [[∂^α (λt. ravel(g(t))[j])(0) | α] | j]⟩
    /// ```
    /// A coefficient that is 0 and does not vary has no term: 0 × ∞ would be nan.
    fn jet(
        &mut self,
        (k, r): (u32, u32),
        f: &Binder,
        like: &Binder,
        xs: (&Binder, &Binder),
    ) -> Term {
        let (k, indices) = (k as usize, multi_indices(k, r));
        let reals = Ty::array(Ty::Real);
        let t_ty = self.t.clone();

        let t = self.binder("t", reals.clone());
        let g_body = self.polynomial(&indices, f, like, xs, &t);
        let g = self.binder("g", Ty::fun(reals.clone(), t_ty.clone()));
        let g_value = self.lambda(t, g_body);

        let zeros = self.term(TermKind::Array(Ty::Real, vec![self.real(0.0); k]));
        let zero = self.binder("zero", reals.clone());
        let y = self.binder("y", t_ty.clone());
        let leaves = self.binder("leaves", reals.clone());
        let j = self.binder("j", Ty::Int);
        let first = self.prim(Prim::Index(Ty::Real), vec![self.var(&leaves), self.var(&j)]);
        let mut row = Vec::new();
        for alpha in &indices {
            let variables: Vec<usize> =
                (0..k).flat_map(|i| std::iter::repeat_n(i, alpha[i] as usize)).collect();
            row.push(match variables.is_empty() {
                true => first.clone(),
                false => self.partial(&g, &j, &variables, self.var(&zero)),
            });
        }
        let row = self.term(TermKind::Array(Ty::Real, row));
        let count = self.prim(Prim::Length(Ty::Real), vec![self.var(&leaves)]);
        let build = Build { count, index: j, body: row, element: reals.clone() };
        let rows = self.term(TermKind::Build(Box::new(build)));
        let result = self.pair([t_ty.clone(), Ty::array(reals.clone())], [self.var(&y), rows]);
        let bindings = vec![
            (g.clone(), g_value),
            (zero.clone(), zeros),
            (y.clone(), self.traced_value(&reals, &g, &zero)),
            (leaves, self.prim(Prim::Ravel(t_ty), vec![self.var(&y)])),
        ];
        self.term(TermKind::Let(bindings, Box::new(result)))
    }

    /// The value of a function to T, where it is traced.
    fn traced_value(&self, from: &Ty, g: &Binder, x: &Binder) -> Term {
        let diff = Diff { op: DiffOp::Vjp, from: from.clone(), to: self.t.clone() };
        let (_, pair) = diff.signature();
        let vjp = self.term(TermKind::Diff(diff, vec![self.var(g), self.var(x)]));
        self.term(TermKind::Proj(pair, 0, Box::new(vjp)))
    }

    /// f(Σ_α x_α · t^α / α!)
    fn polynomial(
        &mut self,
        indices: &[Vec<u32>],
        f: &Binder,
        like: &Binder,
        (xs, absent): (&Binder, &Binder),
        t: &Binder,
    ) -> Term {
        let reals = Ty::array(Ty::Real);
        let at = |this: &Self, xs: &Binder, i: Term| {
            this.prim(Prim::Index(Ty::Real), vec![this.var(xs), i])
        };
        let real2 = |this: &Self, op, a, b| this.prim(Prim::Real(op), vec![a, b]);
        let int2 = |this: &Self, op, a, b| this.prim(Prim::Int(op), vec![a, b]);
        let mut monomials = Vec::new();
        for alpha in indices {
            let factorial = |n: &u32| (1..=*n).map(f64::from).product::<f64>();
            let mut product = self.real(1.0 / alpha.iter().map(factorial).product::<f64>());
            for (i, n) in alpha.iter().enumerate() {
                for _ in 0..*n {
                    product = real2(self, RealOp::Mul, product, at(self, t, self.int(i)));
                }
            }
            monomials.push(product);
        }
        let c = self.int(indices.len());
        let powers = self.binder("powers", reals.clone());
        let j = self.binder("j", Ty::Int);
        let mut sums: Vec<(Binder, Term)> = Vec::new();
        for a in 0..indices.len() {
            let start = int2(self, IntOp::Mul, self.var(&j), c.clone());
            let place = int2(self, IntOp::Add, start, self.int(a));
            let coefficient = at(self, xs, place.clone());
            let sum = match sums.last() {
                // t^0 = 1
                None => coefficient,
                Some((before, _)) => {
                    let power = at(self, &powers, self.int(a));
                    let term = real2(self, RealOp::Mul, coefficient, power);
                    let sum = real2(self, RealOp::Add, self.var(before), term);
                    let absent = self.prim(Prim::Index(Ty::Bool), vec![self.var(absent), place]);
                    let [absent, before, sum] = [absent, self.var(before), sum].map(Box::new);
                    self.term(TermKind::If(absent, before, sum))
                }
            };
            sums.push((self.binder("sum", Ty::Real), sum));
        }
        let length = self.prim(Prim::Length(Ty::Real), vec![self.var(xs)]);
        let count = int2(self, IntOp::Div, length, c);
        let sum = sums.last().map_or_else(|| self.real(0.0), |(sum, _)| self.var(sum));
        let body = self.term(TermKind::Let(sums, Box::new(sum)));
        let build = Build { count, index: j, body, element: Ty::Real };
        let leaves = self.term(TermKind::Build(Box::new(build)));
        let point = self.prim(Prim::Unravel(self.s.clone()), vec![self.var(like), leaves]);
        let array = self.term(TermKind::Array(Ty::Real, monomials));
        self.let_(powers, array, self.app(f, point))
    }

    /// The derivative of `λt. ravel(g(t))[j]` by these variables, one after the other, at a point.
    fn partial(&mut self, g: &Binder, j: &Binder, variables: &[usize], at: Term) -> Term {
        let reals = Ty::array(Ty::Real);
        let Some((last, others)) = variables.split_last() else {
            let leaves = self.prim(Prim::Ravel(self.t.clone()), vec![self.app(g, at)]);
            return self.prim(Prim::Index(Ty::Real), vec![leaves, self.var(j)]);
        };
        let t = self.binder("t", reals.clone());
        let body = self.partial(g, j, others, self.var(&t));
        let gradient = self.rd(&reals, &Ty::Real, self.lambda(t, body), at, self.real(1.0));
        self.prim(Prim::Index(Ty::Real), vec![gradient, self.int(*last)])
    }
}
