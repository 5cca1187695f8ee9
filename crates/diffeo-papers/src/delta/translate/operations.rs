//! What D makes of operations (Krawiec et al., Figure 14), and of the derivative terms that are translated.

use super::*;
use crate::expansion::{expansion, has_one_shape};
use crate::{empty, numbers, partial};
use diffeo_calculus::prim::real::{row, DerivativeRule};
use diffeo_calculus::prim::{Comparison, Diff, DiffOp, RealOp};

impl DeltaTranslator<'_> {
    pub(super) fn prim(
        &mut self,
        p: &Prim,
        xs: Vec<TypedAtom>,
        e: &Term,
        block: &mut DoBlock,
    ) -> TypedAtom {
        match p {
            Prim::Real(op) => self.operation(*op, &xs, block, e.span),
            // D{x ↦ xⁿ}, n an integer, by Figure 14 (ours)
            Prim::PowInt => {
                let ty = real_type(self.w, self.system);
                let (x, n) = (proj(&ty, 0, xs[0].term.clone()), xs[1].term.clone());
                let y = Term::new(prim(Prim::PowInt, vec![x.clone(), n.clone()]).kind, e.span);
                let y = self.let_(block, "y", Ty::Real, y).term;
                let zero = numbers::nothing(self.w);
                let df = placed(partial::power(&x, &n, 1, &zero), e.span);
                let mut dfs = vec![df];
                let us = vec![proj(&ty, 1, xs[0].term.clone())];
                if self.w.dynamic {
                    let operands = vec![x, prim(Prim::ToReal, vec![n])];
                    self.blame("^", &mut dfs, &us, operands, block, e.span);
                }
                let u = self.scale(dfs.swap_remove(0), us[0].clone());
                self.delta_let(y, u, block)
            }
            Prim::Add(_)
            | Prim::Sub(_)
            | Prim::MulElements(_)
            | Prim::DivElements(_)
            | Prim::Neg(_)
            | Prim::ZeroOf(_)
            | Prim::Ravel(_)
            | Prim::Scale(_)
            | Prim::Unscale(_)
            | Prim::Inner(_)
            | Prim::Unravel(_)
            | Prim::Sum(_) => self.polytypic(p, &xs, e, block),
            // D{+_ℤ} = pure λ(x, y). pure (x +_ℤ y)
            // D{index_A} = pure λ(xs, i). pure (index_{D{A}} (xs, i)) (section 10.2)
            Prim::Int(_)
            | Prim::Not
            | Prim::AppendStrings
            | Prim::Compare(..)
            | Prim::ArgSort(_)
            | Prim::Text(_)
            | Prim::Show(_)
            | Prim::Labels(_)
            | Prim::Round(_)
            | Prim::IsNan
            | Prim::ToReal
            | Prim::Trace(_)
            | Prim::Progress(_)
            | Prim::Warn
            | Prim::Fail(_)
            | Prim::Length(_)
            | Prim::Index(_)
            | Prim::Slice(_)
            | Prim::Update(_)
            | Prim::Append(_)
            | Prim::Flatten(_)
            | Prim::Sizes(..)
            | Prim::Lift(_) => {
                let args = xs.into_iter().map(|x| x.term).collect::<Vec<Term>>();
                let result = p.signature(args.len()).1;
                let ty = self.ty(&result);
                let special = match self.system.splits(&Ty::Real) {
                    true => split::moving(self.w, self.system, p, &args),
                    false => None,
                };
                if let Some(moved) = special {
                    return self.let_(block, "x", ty, Term::new(moved.kind, e.span));
                }
                let moved = homomorphism::moving(self.w, self.system, p, args, e);
                self.let_(block, "x", ty, moved)
            }
        }
    }

    /// D{f} for f : ℝⁿ → ℝ with partial derivatives df_i (Figure 14):
    ///
    /// ```text
    /// pure λ((x₁, u₁), …, (xₙ, uₙ)). do { u ← deltaLet (Add (Scale (df_i x⃗) u_i) …); pure (f x⃗, Var u) }
    /// ```
    fn operation(
        &mut self,
        op: RealOp,
        args: &[TypedAtom],
        block: &mut DoBlock,
        span: Span,
    ) -> TypedAtom {
        let ty = real_type(self.w, self.system);
        let xs: Vec<Term> = args.iter().map(|x| proj(&ty, 0, x.term.clone())).collect();
        let us: Vec<Term> = args.iter().map(|x| proj(&ty, 1, x.term.clone())).collect();
        let y = Term::new(diffeo_calculus::build::op(op, xs.clone()).kind, span);
        let y = self.let_(block, "y", Ty::Real, y).term;
        let u = match (row(op).derivative, &us[..]) {
            // D{+} = pure λ((x, u₁), (y, u₂)). do { u₃ ← deltaLet (Add u₁ u₂); pure (x + y, Var u₃) }
            // D{×} = pure λ((x, u₁), (y, u₂)).
            //          do { u₃ ← deltaLet (Add (Scale y u₁) (Scale x u₂)); pure (x × y, Var u₃) }
            (DerivativeRule::Partials(_), _) => {
                let zero = numbers::nothing(self.w);
                let df = |i| placed(partial::derivative(op, i, &xs, &y, &zero), span);
                let mut dfs: Vec<Term> = (0..us.len()).map(df).collect();
                if numbers::may_be_to_blame(self.w, op) {
                    self.blame(row(op).name, &mut dfs, &us, xs, block, span);
                }
                let parts = dfs.into_iter().zip(us);
                let scaled: Vec<Term> = parts.map(|(df, u)| self.scale(df, u)).collect();
                self.sum(scaled)
            }
            // min and max are one of their operands (ours).
            (DerivativeRule::Select, [first, second]) => {
                let chosen = partial::derivative(op, 0, &xs, &y, &real(0.0));
                let chosen = compare(Comparison::Eq, Ty::Real, chosen, real(1.0));
                if_(chosen, first.clone(), second.clone())
            }
            // abs is ±x.
            (DerivativeRule::Select, _) if op == RealOp::Abs => {
                let df = partial::derivative(op, 0, &xs, &y, &real(0.0));
                let scaled = self.scale(df, us[0].clone());
                match self.w.dynamic {
                    // At 0 it does not vary.
                    true => {
                        let zero = compare(Comparison::Eq, Ty::Real, xs[0].clone(), real(0.0));
                        let delta = runtime::delta(self.w, self.system);
                        if_(zero, con(&delta, runtime::ZERO, vec![]), scaled)
                    }
                    false => scaled,
                }
            }
            // sign is constant.
            (DerivativeRule::Select, _) => {
                let y = constant(self.w, self.system, y);
                return self.let_(block, "z", ty, y);
            }
        };
        self.delta_let(y, u, block)
    }

    /// Names the partial derivatives, and blames the operation for those by operands that vary.
    fn blame(
        &mut self,
        op: &'static str,
        dfs: &mut [Term],
        us: &[Term],
        operands: Vec<Term>,
        block: &mut DoBlock,
        span: Span,
    ) {
        let Ty::Data(id, args) = runtime::delta(self.w, self.system) else { return };
        let mut derivatives = Vec::new();
        for (df, u) in dfs.iter_mut().zip(us) {
            *df = self.let_(block, "df", Ty::Real, df.clone()).term;
            let constant = Arm { tag: runtime::ZERO, binders: Vec::new(), body: real(0.0) };
            derivatives.push(term(TermKind::Case(Box::new(Case {
                scrutinee: u.clone(),
                data: (id, args.clone()),
                arms: vec![constant],
                default: Some(df.clone()),
            }))));
        }
        let (_, noted) = numbers::blame(self.w, op, derivatives, operands, Vec::new());
        self.let_(block, "seen", Ty::Unit, placed(noted, span));
    }

    /// `Scale df u`
    fn scale(&mut self, df: Term, u: Term) -> Term {
        if literal(&df) == Some(1.0) {
            return u;
        }
        let delta = runtime::delta(self.w, self.system);
        con(&delta, runtime::SCALE, vec![df, u])
    }

    /// `Add u₁ (Add u₂ …)`
    fn sum(&mut self, us: Vec<Term>) -> Term {
        let delta = runtime::delta(self.w, self.system);
        let sum = us.into_iter().rev().reduce(|sum, u| con(&delta, runtime::ADD, vec![u, sum]));
        sum.unwrap_or_else(|| con(&delta, runtime::ZERO, vec![]))
    }

    /// `do { id ← deltaLet u; pure (y, Var id) }`
    fn delta_let(&mut self, y: Term, u: Term, block: &mut DoBlock) -> TypedAtom {
        let delta_let = runtime::function(self.w, self.system, "deltaLet");
        let m = app(app(global(delta_let), u), block.state.clone());
        let id = self.run(block, "u", &Ty::Int, m).term;
        let ty = real_type(self.w, self.system);
        let z = dual(self.w, self.system, y, runtime::VAR, vec![id]);
        self.let_(block, "z", ty, z)
    }

    /// D{P} of a polytypic operation: `P` on the primals finds shapes that do not fit, then comes the
    /// translation of its definition by induction on the type.
    fn polytypic(
        &mut self,
        p: &Prim,
        xs: &[TypedAtom],
        e: &Term,
        block: &mut DoBlock,
    ) -> TypedAtom {
        let (types, result) = p.signature(xs.len());
        let f = expansion(self.w, p);
        let f = global(self.w.translated(self.system, f));
        let params = xs.iter().map(|x| x.ty.clone()).collect();
        let arguments = tuple(params, xs.iter().map(|x| x.term.clone()).collect());
        let m = Term::new(app(app(f, arguments), block.state.clone()).kind, e.span);
        let ty = self.ty(&result);
        if types.iter().all(has_one_shape) {
            return self.run(block, "r", &ty, m);
        }
        match p {
            // The sum of nothing is a zero of the right shape.
            Prim::Sum(a) => {
                let count = match self.system.splits(a) {
                    true => split::length(self.w, self.system, &xs[0].term),
                    false => length(&self.ty(a), xs[0].term.clone()),
                };
                let empty = compare(Comparison::Eq, Ty::Int, count, int(0));
                let zero = self.w.binder("zero", result.clone());
                let lifted = homomorphism::lift(self.w, self.system, &result, None, var(&zero));
                let types = vec![ty.clone(), self.state.clone()];
                let plain = empty::zero(self.w, Some(self.system), a, xs[0].term.clone());
                let of_nothing = bind(zero, plain, tuple(types, vec![lifted, block.state.clone()]));
                self.run(block, "r", &ty, if_(empty, of_nothing, m))
            }
            _ => {
                let primal = |t: &mut Self, (x, a): (&TypedAtom, &Ty)| {
                    homomorphism::primal(t.w, t.system, a, x.term.clone())
                };
                let primals = xs.iter().zip(&types).map(|x| primal(self, x)).collect();
                let plain = Term::new(prim(p.clone(), primals).kind, e.span);
                self.let_(block, "checked", result, plain);
                self.run(block, "r", &ty, m)
            }
        }
    }

    pub(super) fn diff(
        &mut self,
        d: &Diff,
        es: &[Term],
        e: &Term,
        block: &mut DoBlock,
    ) -> TypedAtom {
        let (s, t) = (&d.from, &d.to);
        match d.op {
            // The identity whose derivative is zero.
            DiffOp::StopGradient => {
                let x = self.term(&es[0], block);
                let x = homomorphism::primal(self.w, self.system, s, x.term);
                let x = homomorphism::stopped(d, x);
                let x = self.let_(block, "x", s.clone(), x).term;
                let lifted = homomorphism::lift(self.w, self.system, s, None, x);
                let ty = self.ty(s);
                self.let_(block, "x", ty, lifted)
            }
            DiffOp::Checkpoint => {
                let f = self.term(&es[0], block);
                let x = self.term(&es[1], block);
                self.call(block, &f, x.term, e.span)
            }
            // At a point x with displacement dx, rule(x, dx) = (t, dt), and the value is t ⊕ dt where dt,
            // linear in dx, is 0 with the displacement that the rule gives.
            DiffOp::WithDerivative | DiffOp::WithExactDerivative => {
                let args = self.values(es, block);
                if !self.w.dynamic {
                    return self.by_rule((s, t), &args, block, e.span);
                }
                let varies = self.varies(s, &args[2], &args[1], &args[0]);
                let mut general = DoBlock::new(block.state.clone());
                let by_rule = self.by_rule((s, t), &args, &mut general, e.span);
                let plain = self.without_rule((s, t), &args);
                let branches = vec![(general, by_rule), (DoBlock::new(block.state.clone()), plain)];
                self.join(block, branches, |mut terms| {
                    let no = terms.pop().unwrap_or_else(unit);
                    let yes = terms.pop().unwrap_or_else(unit);
                    if_(varies, yes, no)
                })
            }
            DiffOp::Deciding => {
                let f = self.term(&es[0], block);
                let x = self.term(&es[2], block);
                self.call(block, &f, x.term, e.span)
            }
            DiffOp::Decisions => {
                let args = self.values(es, block).into_iter().map(|arg| arg.term).collect();
                let term = homomorphism::decisions(self.w, self.system, (s, t), args, None);
                let ty = self.ty(&d.signature().1);
                self.let_(block, "x", ty, term)
            }
            DiffOp::Rd
            | DiffOp::RdAlong
            | DiffOp::Enclose
            | DiffOp::Dependence
            | DiffOp::AllPaths
            | DiffOp::Vjp
            | DiffOp::Jvp
            | DiffOp::Jet { .. } => {
                let ty = self.ty(&d.signature().1);
                let fail = homomorphism::refused(self.w, self.system, d, e);
                self.let_(block, "x", ty, fail)
            }
        }
    }

    /// Whether the rule of `with_derivative` may matter: a number of the point, or one that the rule captured, varies.
    fn varies(&mut self, s: &Ty, x: &TypedAtom, rule: &TypedAtom, f: &TypedAtom) -> Term {
        let (rule_ty, rule, f) = (rule.ty.clone(), rule.term.clone(), f.term.clone());
        let captures = homomorphism::captures(self.system, rule_ty, rule, f);
        if inert(self.w, s) {
            return captures;
        }
        homomorphism::varies(self.w, self.system, s, captures, x.term.clone())
    }

    /// `with_derivative` where nothing varies: as it was before translation.
    fn without_rule(&mut self, (s, t): (&Ty, &Ty), args: &[TypedAtom]) -> TypedAtom {
        let f = Ty::fun(s.clone(), t.clone());
        let f = homomorphism::lower_function(self.w, self.system, &f, args[0].term.clone());
        let rule =
            Ty::fun(Ty::tuple(vec![s.clone(), s.clone()]), Ty::tuple(vec![t.clone(), t.clone()]));
        let rule = homomorphism::lower_function(self.w, self.system, &rule, args[1].term.clone());
        let x = homomorphism::primal(self.w, self.system, s, args[2].term.clone());
        // The rule stays for the systems that the term goes through later.
        let diff = Diff { op: DiffOp::WithDerivative, from: s.clone(), to: t.clone() };
        let value = term(TermKind::Diff(diff, vec![f, rule, x]));
        let y = self.w.binder("y", t.clone());
        let lifted = homomorphism::lift(self.w, self.system, t, None, var(&y));
        let ty = self.ty(t);
        TypedAtom { term: bind(y, value, lifted), ty }
    }

    /// `with_derivative` by its rule; see [`homomorphism`].
    fn by_rule(
        &mut self,
        (s, t): (&Ty, &Ty),
        args: &[TypedAtom],
        block: &mut DoBlock,
        span: Span,
    ) -> TypedAtom {
        let (rule, x) = (&args[1], &args[2]);
        let point = homomorphism::primal(self.w, self.system, s, x.term.clone());
        let point = self.let_(block, "point", s.clone(), point).term;
        let point = homomorphism::lift(self.w, self.system, s, None, point);
        let dx = homomorphism::tangent(self.w, self.system, s, x.term.clone());
        let both = tuple(vec![x.ty.clone(), x.ty.clone()], vec![point, dx]);
        let both = self.call(block, rule, both, span);
        let ty = self.ty(t);
        let types = vec![ty.clone(), ty.clone()];
        let [y, dt] = [0, 1].map(|i| part(&types, i, both.term.clone()));
        if first_order(t, &self.w.declarations()) {
            // The shapes of numbers' own derivatives differ.
            let parts = [&y, &dt].map(|x| homomorphism::primal(self.w, self.system, t, x.clone()));
            let check = homomorphism::same_shapes_of_rule(self.w, t, t, parts);
            if let Some((checked, check)) = check {
                self.let_(block, "checked", checked.ty, check);
            }
        }
        // dt is 0, but may have been computed as nan.
        let dt = homomorphism::tangent(self.w, self.system, t, dt);
        let sum = expansion(self.w, &Prim::Add(t.clone()));
        let sum = global(self.w.translated(self.system, sum));
        let m = app(app(sum, tuple(types, vec![y, dt])), block.state.clone());
        self.run(block, "r", &ty, m)
    }
}
