//! Every derivative term of Core, defined by the operators that a system has (ours).
//!
//! The papers give a forward derivative F, a reverse derivative R and a Taylor macro D_(k,R). The engine `delta` has F
//! and R of the same paper, the others have one operator. The other terms are defined by these:
//!
//! ```text
//! F from D_(1,1), which is dual numbers
//! R from F:       the numbers of rd(f, x, w) are w ⊙ F(x, eᵢ) for each unit vector eᵢ of S
//! vjp from R:     (f(x), λw. rd(f, x, w))
//! jets from F:    ∂^α at 0 of t ↦ f(Σ_β x_β t^β / β!), one variable after the other
//! ```
//!
//! A program that is to run warns of a derivative that is nan ([`Lifting::Watch`]), and has a 0 of its own for numbers
//! that do not vary ([`numbers::nothing`]); a program that is shown has neither.
//!
//! A program comes in; out comes one whose only derivative terms are `stop_gradient`, `checkpoint` and
//! `with_derivative`. Function values are translated when it runs ([`diffeo_calculus::Prim::Lift`]), functions that are
//! written where they are differentiated, at once.

use super::engine::TranslatingEngine;
use super::expansion::has_one_shape;
use super::homomorphism;
use super::workspace::Refusal;
use super::{delta, dual, jet, numbers, polytypic, System, Workspace};
use diffeo_base::{deep, Span};
use diffeo_calculus::build::*;
use diffeo_calculus::names::Named;
use diffeo_calculus::prim::{Comparison, Diff, DiffOp, Lifting, Prim};
use diffeo_calculus::term::{Binder, Global, GlobalId, Term, TermKind};
use diffeo_calculus::ty::Ty;
use diffeo_calculus::typing::jet_type;

/// Rewrites the derivative terms of all definitions of the program.
pub(crate) fn prepare(w: &mut Workspace, engine: TranslatingEngine) {
    for i in 0..w.globals.len() {
        let id = GlobalId(i as u32);
        let global: Global = (**w.global(id)).clone();
        let body = rewrite(w, engine, &global.body);
        w.define(id, body);
    }
}

/// The term without derivative terms of functions.
fn rewrite(w: &mut Workspace, engine: TranslatingEngine, e: &Term) -> Term {
    deep(|| {
        let mut e = map_children(e, &mut |child| rewrite(w, engine, child));
        let TermKind::Diff(diff, args) = &mut e.kind else { return e };
        match diff.op {
            DiffOp::StopGradient
            | DiffOp::Checkpoint
            | DiffOp::WithDerivative
            | DiffOp::WithExactDerivative
            | DiffOp::Decisions
            | DiffOp::Deciding => e,
            DiffOp::RdAlong => {
                let reason = "the systems know no directions that decide at kinks";
                for_the_evaluator(w, diff, ("`grad_along`", reason), e.span)
            }
            DiffOp::Dependence | DiffOp::AllPaths => {
                let reason = "the systems find no patterns";
                for_the_evaluator(w, diff, ("a pattern of `sparse`", reason), e.span)
            }
            DiffOp::Enclose => {
                let reason = "the systems have no intervals";
                for_the_evaluator(w, diff, ("`interval.enclose`", reason), e.span)
            }
            DiffOp::Rd | DiffOp::Vjp | DiffOp::Jvp | DiffOp::Jet { .. } => {
                let args = std::mem::take(args);
                if !w.dynamic {
                    return written(w, engine, diff, args);
                }
                let f = operator(w, engine, diff);
                let types = diff.signature().0;
                let mut value = call(f, types, args);
                value.span = e.span;
                value
            }
        }
    })
}

/// The program stops for the evaluator.
fn for_the_evaluator(
    w: &mut Workspace,
    diff: &Diff,
    (what, reason): (&'static str, &'static str),
    span: Span,
) -> Term {
    if !w.dynamic {
        w.refuse(Refusal { what, reason, span });
    }
    let stop = numbers::lifting(Lifting::Stop, Ty::Unit, Ty::Unit, Vec::new());
    let stopped = w.binder("stopped", Ty::Unit);
    bind(stopped, stop, prim(Prim::Fail(diff.signature().1), vec![text("not translated")]))
}

/// The derivative of a function that is written in its place, in the place of the derivative term.
fn written(w: &mut Workspace, engine: TranslatingEngine, diff: &Diff, args: Vec<Term>) -> Term {
    let mut bindings = Vec::new();
    let mut named = Vec::new();
    for (i, (x, ty)) in args.into_iter().zip(diff.signature().0).enumerate() {
        if is_atom(&x) || (i == 0 && matches!(x.kind, TermKind::Lam(..) | TermKind::LetRec(..))) {
            named.push(x);
        } else {
            let binder = w.binder("x", ty);
            named.push(var(&binder));
            bindings.push((binder, x));
        }
    }
    let body = Operator { w, engine, s: &diff.from, t: &diff.to }.body(diff.op, &named);
    bind_all(bindings, body)
}

/// The derivative operator as a function of the tuple of its arguments.
fn operator(w: &mut Workspace, engine: TranslatingEngine, diff: &Diff) -> GlobalId {
    let (s, t) = (&diff.from, &diff.to);
    let (params, result) = diff.signature();
    let name = match diff.op {
        DiffOp::Jet { k, r } => format!("jet({k},{r})"),
        op => op.name().to_string(),
    };
    let key = format!("{name}[{}, {}]", w.type_text(s), w.type_text(t));
    let ty = Ty::fun(Ty::tuple(params.clone()), result);
    w.made(&key, ty, |w| {
        let p = w.binder("p", Ty::tuple(params.clone()));
        let args: Vec<Term> = (0..params.len()).map(|i| part(&params, i, var(&p))).collect();
        let body = Operator { w, engine, s, t }.body(diff.op, &args);
        lam(p, body)
    })
}

struct Operator<'w> {
    w: &'w mut Workspace,
    engine: TranslatingEngine,
    s: &'w Ty,
    t: &'w Ty,
}

impl Operator<'_> {
    fn body(&mut self, op: DiffOp, args: &[Term]) -> Term {
        match op {
            DiffOp::Jvp => self.jvp(args),
            DiffOp::Rd => self.rd(args),
            DiffOp::Vjp => self.vjp(args),
            DiffOp::Jet { k, r } => self.jet(k, r, args),
            DiffOp::RdAlong
            | DiffOp::StopGradient
            | DiffOp::Checkpoint
            | DiffOp::WithDerivative
            | DiffOp::WithExactDerivative
            | DiffOp::Decisions
            | DiffOp::Deciding
            | DiffOp::Enclose
            | DiffOp::Dependence
            | DiffOp::AllPaths => unit(),
        }
    }

    /// The system of forward derivatives.
    fn forward(&self) -> System {
        match self.engine {
            TranslatingEngine::Dual | TranslatingEngine::Delta(_) => System::Forward,
            TranslatingEngine::Taylor => System::Taylor { k: 1, r: 1 },
        }
    }

    fn lift(&mut self, system: &System, f: &Term) -> Term {
        let ty = Ty::fun(self.s.clone(), self.t.clone());
        homomorphism::function_in_place(self.w, system, &ty, f)
    }

    /// Stops the program if a tangent has another shape than its point.
    fn checked(
        &mut self,
        name: &'static str,
        a: &Ty,
        point: &Term,
        tangent: &Term,
    ) -> Vec<(Binder, Term)> {
        if has_one_shape(a) {
            return Vec::new();
        }
        vec![homomorphism::same_shape(self.w, name, a, point.clone(), tangent.clone())]
    }

    // Derivatives that are nan

    /// Begins to look for the operation that is to blame if a derivative is nan.
    fn watch(&mut self, bindings: &mut Vec<(Binder, Term)>) {
        if !self.w.dynamic {
            return;
        }
        let start = numbers::lifting(Lifting::Watch, Ty::Unit, Ty::Unit, Vec::new());
        bindings.push((self.w.binder("watched", Ty::Unit), start));
    }

    /// Ends that, and warns if a derivative is nan where the value, and what it is taken along, are finite.
    fn warn(
        &mut self,
        types: [&Ty; 3],
        [value, derivative, given]: [&Term; 3],
        bindings: &mut Vec<(Binder, Term)>,
    ) {
        if !self.w.dynamic {
            return;
        }
        let types = types.map(Ty::clone).to_vec();
        let all = vec![value.clone(), derivative.clone(), given.clone()];
        let all = tuple(types.clone(), all);
        let end = numbers::lifting(Lifting::Warn, Ty::tuple(types), Ty::Unit, vec![all]);
        bindings.push((self.w.binder("warned", Ty::Unit), end));
    }

    fn named(&mut self, name: &str, ty: &Ty, x: Term, bindings: &mut Vec<(Binder, Term)>) -> Term {
        let binder = self.w.binder(name, ty.clone());
        let x_named = var(&binder);
        bindings.push((binder, x));
        x_named
    }

    /// Cotangents that are 0 have no part in the derivative.
    fn sparse(&mut self, a: &Ty, x: Term) -> Term {
        let leaf = |w: &mut Workspace, _: &Term, xs: &[Term]| numbers::sparse(w, xs[0].clone());
        self.each("sparse", a, &leaf, x)
    }

    /// The numbers as programs know them.
    fn settled(&mut self, a: &Ty, x: Term) -> Term {
        let leaf = |w: &mut Workspace, _: &Term, xs: &[Term]| numbers::settled(w, xs[0].clone());
        self.each("settled", a, &leaf, x)
    }

    fn each(
        &mut self,
        name: &str,
        a: &Ty,
        leaf: &dyn Fn(&mut Workspace, &Term, &[Term]) -> Term,
        x: Term,
    ) -> Term {
        if !self.w.dynamic || homomorphism::inert(self.w, a) {
            return x;
        }
        let family =
            polytypic::Pointwise { name, shared: Ty::Unit, inputs: vec![None], output: None, leaf };
        family.apply(self.w, a, None, vec![x])
    }

    // Forward

    /// `jvp(f, x, dx)`
    fn jvp(&mut self, args: &[Term]) -> Term {
        let t = self.t;
        let both = Ty::tuple(vec![t.clone(), t.clone()]);
        let mut bindings = Vec::new();
        self.watch(&mut bindings);
        let pair = self.pushed(&args[0], &args[1], &args[2]);
        let pair = self.named("r", &both, pair, &mut bindings);
        let parts = [0, 1].map(|i| proj(&both, i, pair.clone()));
        let s = self.s;
        self.warn([t, t, s], [&parts[0], &parts[1], &args[2]], &mut bindings);
        bind_all(bindings, pair)
    }

    /// Value and tangent of a function of these types, by a definition of their own: F with the primal (Krawiec et
    /// al., Figure 15).
    fn pushforward(&mut self, s: &Ty, t: &Ty, args: Vec<Term>) -> Term {
        let engine = self.engine;
        let diff = Diff { op: DiffOp::Jvp, from: s.clone(), to: t.clone() };
        if !self.w.dynamic {
            let mut bindings = Vec::new();
            let types = [s, s].map(Ty::clone);
            let mut named = Vec::new();
            for (x, ty) in args[1..].iter().zip(&types) {
                named.push(match is_atom(x) {
                    true => x.clone(),
                    false => self.named("x", ty, x.clone(), &mut bindings),
                });
            }
            let value =
                Operator { w: &mut *self.w, engine, s, t }.dual(&args[0], &named[0], &named[1]);
            return bind_all(bindings, value);
        }
        let (params, result) = diff.signature();
        let key = format!("F[{}, {}]", self.w.type_text(s), self.w.type_text(t));
        let ty = Ty::fun(Ty::tuple(params.clone()), result);
        let f = self.w.made(&key, ty, |w| {
            let p = w.binder("p", Ty::tuple(params.clone()));
            let [f, x, dx] = [0, 1, 2].map(|i| part(&params, i, var(&p)));
            let mut cx = Operator { w, engine, s, t };
            let body = cx.dual(&f, &x, &dx);
            lam(p, body)
        });
        call(f, params, args)
    }

    fn pushed(&mut self, f: &Term, x: &Term, dx: &Term) -> Term {
        let (s, t) = (self.s, self.t);
        self.pushforward(s, t, vec![f.clone(), x.clone(), dx.clone()])
    }

    fn dual(&mut self, f: &Term, x: &Term, dx: &Term) -> Term {
        let mut bindings = self.checked("the tangent", self.s, x, dx);
        let system = self.forward();
        let translated = self.lift(&system, f);
        let arg = dual::zip(self.w, &system, self.s, x.clone(), dx.clone());
        let ty = homomorphism::ty(self.w, &system, self.t);
        let y = self.w.binder("y", ty);
        bindings.push((y.clone(), app(translated, arg)));
        let value = homomorphism::primal(self.w, &system, self.t, var(&y));
        let tangent = dual::delta(self.w, &system, self.t, var(&y));
        let (t, types) = (self.t, vec![self.t.clone(), self.t.clone()]);
        let tangent = self.settled(t, tangent);
        bind_all(bindings, tuple(types, vec![value, tangent]))
    }

    // Reverse

    /// `rd(f, x, w)`: of value and pullback, the pullback at w.
    fn rd(&mut self, args: &[Term]) -> Term {
        let (s, t) = (self.s, self.t);
        let both = Ty::tuple(vec![t.clone(), pulled_type(s, t)]);
        let mut bindings = Vec::new();
        self.watch(&mut bindings);
        let pair = self.pulled(&args[0], &args[1]);
        let pair = self.named("r", &both, pair, &mut bindings);
        let cotangent = self.sparse(t, args[2].clone());
        let gradient = app(proj(&both, 1, pair.clone()), cotangent);
        let gradient = self.settled(s, gradient);
        let gradient = self.named("gradient", s, gradient, &mut bindings);
        self.warn([t, s, t], [&proj(&both, 0, pair), &gradient, &args[2]], &mut bindings);
        bind_all(bindings, gradient)
    }

    /// `vjp(f, x)`
    fn vjp(&mut self, args: &[Term]) -> Term {
        let (s, t) = (self.s, self.t);
        let both = Ty::tuple(vec![t.clone(), pulled_type(s, t)]);
        let mut bindings = Vec::new();
        let pair = self.pulled(&args[0], &args[1]);
        let pair = self.named("r", &both, pair, &mut bindings);
        let value = self.named("y", t, proj(&both, 0, pair.clone()), &mut bindings);
        let pull = self.named("back", &pulled_type(s, t), proj(&both, 1, pair), &mut bindings);
        let cotangent = self.w.binder("w", t.clone());
        let mut inner = Vec::new();
        self.watch(&mut inner);
        let w = self.sparse(t, var(&cotangent));
        let gradient = self.settled(s, app(pull, w));
        let gradient = self.named("gradient", s, gradient, &mut inner);
        self.warn([t, s, t], [&value, &gradient, &var(&cotangent)], &mut inner);
        let pullback = lam(cotangent, bind_all(inner, gradient));
        bind_all(bindings, term(TermKind::Tuple(both, vec![value, pullback])))
    }

    /// Value and pullback.
    fn pulled(&mut self, f: &Term, x: &Term) -> Term {
        match self.engine {
            TranslatingEngine::Delta(choices) => {
                let translated = self.lift(&System::Delta(choices), f);
                let vjp = delta::wrapper::vjp(self.w, choices, self.s, self.t);
                let types = self.w.parameters_of(vjp);
                call(vjp, types, vec![translated, x.clone()])
            }
            TranslatingEngine::Dual | TranslatingEngine::Taylor => {
                let y = self.w.binder("y", self.t.clone());
                let cotangent = self.w.binder("w", self.t.clone());
                let checked = self.checked("the cotangent", self.t, &var(&y), &var(&cotangent));
                let gradient = self.one_hot(f, x, &var(&cotangent));
                let pullback = lam(cotangent, bind_all(checked, gradient));
                let types = vec![self.t.clone(), pulled_type(self.s, self.t)];
                let pair = tuple(types, vec![var(&y), pullback]);
                // A rule of its own may give another value than f.
                let zero = prim(Prim::ZeroOf(self.s.clone()), vec![x.clone()]);
                let both = Ty::tuple(vec![self.t.clone(), self.t.clone()]);
                let value = proj(&both, 0, self.pushed(f, x, &zero));
                bind(y, value, pair)
            }
        }
    }

    /// The Forward Plan of Krawiec et al., section 3.2: one pass for each number of x.
    fn one_hot(&mut self, f: &Term, x: &Term, cotangent: &Term) -> Term {
        let numbers = Ty::array(Ty::Real);
        let leaves = self.w.binder("leaves", numbers.clone());
        let count = length(&Ty::Real, var(&leaves));
        let (i, j) = (self.w.binder("i", Ty::Int), self.w.binder("j", Ty::Int));
        let same = compare(Comparison::Eq, Ty::Int, var(&i), var(&j));
        let unit_vector =
            build(count.clone(), j.clone(), Ty::Real, if_(same, real(1.0), real(0.0)));
        let dx = prim(Prim::Unravel(self.s.clone()), vec![x.clone(), unit_vector]);
        let both = Ty::tuple(vec![self.t.clone(), self.t.clone()]);
        let dy = proj(&both, 1, self.pushed(f, x, &dx));
        let partial = prim(Prim::Inner(self.t.clone()), vec![cotangent.clone(), dy]);
        let gradient = build(count, i, Ty::Real, partial);
        let value = prim(Prim::Unravel(self.s.clone()), vec![x.clone(), gradient]);
        let ravelled = prim(Prim::Ravel(self.s.clone()), vec![x.clone()]);
        bind(leaves, ravelled, value)
    }

    // Taylor coefficients

    /// `jet(k, r, f)(x)`
    fn jet(&mut self, k: u32, r: u32, args: &[Term]) -> Term {
        let (f, x) = (&args[0], &args[1]);
        let (t, system) = (self.t, System::Taylor { k, r });
        let mut bindings = Vec::new();
        self.watch(&mut bindings);
        let gathered = match self.engine {
            TranslatingEngine::Taylor if r <= 1 || !self.w.nests => {
                let translated = self.lift(&system, f);
                let arg = jet::canonical::tuples(self.w, (k, r), self.s, x.clone());
                app(translated, arg)
            }
            TranslatingEngine::Taylor | TranslatingEngine::Dual | TranslatingEngine::Delta(_) => {
                self.nested_jet((k, r), f, x)
            }
        };
        let ty = homomorphism::ty(self.w, &system, t);
        let gathered = self.named("r", &ty, gathered, &mut bindings);
        let value = homomorphism::primal(self.w, &system, t, gathered.clone());
        let result = jet_type(t);
        let derivatives = jet::canonical::arrays(self.w, (k, r), t, gathered);
        let derivatives = self.named("derivatives", &result, derivatives, &mut bindings);
        self.warn([t, &result, &Ty::Unit], [&value, &derivatives, &unit()], &mut bindings);
        bind_all(bindings, derivatives)
    }

    fn nested_jet(&mut self, (k, r): (u32, u32), f: &Term, x: &Term) -> Term {
        let system = System::Taylor { k, r };
        let indices = diffeo_calculus::eval::derivative::multi_indices(k, r);
        let from = homomorphism::ty(self.w, &system, self.s);
        let taylor = self.w.binder("x", from);
        let start = jet::canonical::tuples(self.w, (k, r), self.s, x.clone());
        let mut bindings = vec![(taylor.clone(), start)];
        // The variables t, and f at the polynomial in them.
        let variables = vec![Ty::Real; k as usize];
        let point = Ty::tuple(variables.clone());
        let polynomial = polytypic::Pointwise {
            name: "polynomial",
            shared: point.clone(),
            inputs: vec![Some(system.clone())],
            output: None,
            leaf: &|w, t, xs| polynomial(w, &system, &indices, &variables, t, &xs[0]),
        };
        let mut derivatives = Vec::new();
        for alpha in &indices {
            let t = self.w.binder("t", point.clone());
            let at = polynomial.apply(self.w, self.s, Some(var(&t)), vec![var(&taylor)]);
            let mut g = lam(t, app(f.clone(), at));
            for (i, times) in alpha.iter().enumerate() {
                for _ in 0..*times {
                    g = self.along(&point, &variables, i, g);
                }
            }
            let y = self.w.binder("y", self.t.clone());
            let zeros = tuple(variables.clone(), vec![real(0.0); variables.len()]);
            // A rule of its own may give another value than f.
            let value = match alpha.iter().all(|n| *n == 0) {
                true => {
                    let both = Ty::tuple(vec![self.t.clone(), self.t.clone()]);
                    let t = self.t;
                    proj(&both, 0, self.pushforward(&point, t, vec![g, zeros.clone(), zeros]))
                }
                false => app(g, zeros),
            };
            bindings.push((y.clone(), value));
            derivatives.push(var(&y));
        }
        let gather = polytypic::Pointwise {
            name: "gather",
            shared: Ty::Unit,
            inputs: vec![None; indices.len()],
            output: Some(system.clone()),
            leaf: &|_, _, xs| tuple(vec![Ty::Real; xs.len()], xs.to_vec()),
        };
        let gathered = gather.apply(self.w, self.t, None, derivatives);
        bind_all(bindings, gathered)
    }

    /// The partial derivative of a function of the variables.
    fn along(&mut self, point: &Ty, variables: &[Ty], i: usize, g: Term) -> Term {
        let t = self.w.binder("t", point.clone());
        let direction = (0..variables.len()).map(|j| real(if i == j { 1.0 } else { 0.0 }));
        let direction = tuple(variables.to_vec(), direction.collect());
        let to = self.t.clone();
        let both = Ty::tuple(vec![to.clone(), to.clone()]);
        let pair = self.pushforward(point, &to, vec![g, var(&t), direction]);
        lam(t, proj(&both, 1, pair))
    }
}

/// `δT → δS`
fn pulled_type(s: &Ty, t: &Ty) -> Ty {
    Ty::fun(t.clone(), s.clone())
}

/// `Σ_β x_β t^β / β!`
fn polynomial(
    w: &mut Workspace,
    system: &System,
    indices: &[Vec<u32>],
    variables: &[Ty],
    t: &Term,
    x: &Term,
) -> Term {
    let ty = homomorphism::ty(w, system, &Ty::Real);
    let mut sum = real(0.0);
    for (i, beta) in indices.iter().enumerate() {
        let mut factor = 1.0;
        let mut product = match &ty {
            Ty::Real => x.clone(),
            ty => proj(ty, i, x.clone()),
        };
        for (j, times) in beta.iter().enumerate() {
            for n in 1..=*times {
                factor /= f64::from(n);
                product = diffeo_calculus::build::times(product, part(variables, j, t.clone()));
            }
        }
        sum = plus(sum, diffeo_calculus::build::times(real(factor), product));
    }
    sum
}
