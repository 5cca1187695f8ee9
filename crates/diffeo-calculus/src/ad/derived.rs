//! Every derivative term of Core, by what a system has of its own (ours).
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
//! A program comes in; out comes one whose only derivative terms are `stop_gradient`, `checkpoint` and
//! `with_derivative`. Function values are translated when it runs ([`crate::Prim::Lift`]), functions that are
//! written where they are differentiated, at once.

use super::build::*;
use super::engine::Engine;
use super::expansion::has_one_shape;
use super::homomorphism;
use super::{delta, dual, jet, polytypic, System, Workspace};
use crate::deep::deep;
use crate::names::Named;
use crate::prim::{Comparison, Diff, DiffOp, Prim};
use crate::term::{Binder, Global, GlobalId, Kind, Term};
use crate::ty::Ty;

/// Rewrites the derivative terms of all definitions of the program.
pub(crate) fn prepare(w: &mut Workspace, engine: Engine) {
    for i in 0..w.globals.len() {
        let id = GlobalId(i as u32);
        let global: Global = (**w.global(id)).clone();
        let body = rewrite(w, engine, &global.body);
        w.define(id, body);
    }
}

/// The term without derivative terms of functions.
fn rewrite(w: &mut Workspace, engine: Engine, e: &Term) -> Term {
    deep(|| {
        let mut e = map_children(e, &mut |child| rewrite(w, engine, child));
        let Kind::Diff(diff, args) = &mut e.kind else { return e };
        match diff.op {
            DiffOp::StopGradient
            | DiffOp::Checkpoint
            | DiffOp::WithDerivative
            | DiffOp::WithExactDerivative => e,
            DiffOp::Rd | DiffOp::Vjp | DiffOp::Jvp | DiffOp::Jet { .. } => {
                let args = std::mem::take(args);
                let f = operator(w, engine, diff);
                let types = diff.signature().0;
                let mut value = call(f, types, args);
                value.span = e.span;
                value
            }
        }
    })
}

/// The derivative operator as a function of the tuple of its arguments.
fn operator(w: &mut Workspace, engine: Engine, diff: &Diff) -> GlobalId {
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
        let mut cx = Operator { w, engine, s, t };
        let body = match diff.op {
            DiffOp::Jvp => cx.jvp(&args),
            DiffOp::Rd => cx.rd(&args),
            DiffOp::Vjp => cx.vjp(&args),
            DiffOp::Jet { k, r } => cx.jet(k, r, &args),
            DiffOp::StopGradient
            | DiffOp::Checkpoint
            | DiffOp::WithDerivative
            | DiffOp::WithExactDerivative => unit(),
        };
        lam(p, body)
    })
}

struct Operator<'w> {
    w: &'w mut Workspace,
    engine: Engine,
    s: &'w Ty,
    t: &'w Ty,
}

impl Operator<'_> {
    /// The system of forward derivatives.
    fn forward(&self) -> System {
        match self.engine {
            Engine::Dual | Engine::Delta(_) => System::Forward,
            Engine::Taylor => System::Taylor { k: 1, r: 1 },
        }
    }

    fn lift(&mut self, system: &System, f: &Term) -> Term {
        let ty = Ty::fun(self.s.clone(), self.t.clone());
        homomorphism::lift_function(self.w, system, &ty, f.clone())
    }

    /// A derivative term of functions from `s` to `t`, rewritten.
    fn diff(&mut self, op: DiffOp, s: &Ty, t: &Ty, args: Vec<Term>) -> Term {
        let diff = Diff { op, from: s.clone(), to: t.clone() };
        let f = operator(self.w, self.engine, &diff);
        call(f, diff.signature().0, args)
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

    /// The value of f at x where it is differentiated: a rule of its own may give another one than f.
    fn value(&mut self, f: &Term, x: &Term) -> Term {
        let (s, t) = (self.s, self.t);
        let both = Ty::tuple(vec![t.clone(), t.clone()]);
        let zero = prim(Prim::ZeroOf(s.clone()), vec![x.clone()]);
        let pair = self.diff(DiffOp::Jvp, s, t, vec![f.clone(), x.clone(), zero]);
        proj(&both, 0, pair)
    }

    /// `jvp(f, x, dx)`: F with the primal (Krawiec et al., Figure 15).
    fn jvp(&mut self, args: &[Term]) -> Term {
        let (f, x, dx) = (&args[0], &args[1], &args[2]);
        let mut bindings = self.checked("the tangent", self.s, x, dx);
        let system = self.forward();
        let translated = self.lift(&system, f);
        let arg = dual::zip(self.w, &system, self.s, x.clone(), dx.clone());
        let ty = homomorphism::ty(self.w, &system, self.t);
        let y = self.w.binder("y", ty);
        bindings.push((y.clone(), app(translated, arg)));
        let value = homomorphism::primal(self.w, &system, self.t, var(&y));
        let tangent = dual::delta(self.w, &system, self.t, var(&y));
        let pair = tuple(vec![self.t.clone(), self.t.clone()], vec![value, tangent]);
        bind_all(bindings, pair)
    }

    /// `rd(f, x, w)`
    fn rd(&mut self, args: &[Term]) -> Term {
        let (f, x, cotangent) = (&args[0], &args[1], &args[2]);
        match self.engine {
            Engine::Delta(choices) => {
                let translated = self.lift(&System::Delta(choices), f);
                let rd = delta::wrapper::rd(self.w, choices, self.s, self.t);
                let types = self.w.parameters_of(rd);
                call(rd, types, vec![translated, x.clone(), cotangent.clone()])
            }
            Engine::Dual | Engine::Taylor => {
                let y = self.w.binder("y", self.t.clone());
                let mut bindings = vec![(y.clone(), self.value(f, x))];
                bindings.extend(self.checked("the cotangent", self.t, &var(&y), cotangent));
                let gradient = self.one_hot(f, x, cotangent);
                bind_all(bindings, gradient)
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
        let (s, t) = (self.s, self.t);
        let pair = self.diff(DiffOp::Jvp, s, t, vec![f.clone(), x.clone(), dx]);
        let dy = proj(&both, 1, pair);
        let partial = prim(Prim::Inner(self.t.clone()), vec![cotangent.clone(), dy]);
        let gradient = build(count, i, Ty::Real, partial);
        let value = prim(Prim::Unravel(self.s.clone()), vec![x.clone(), gradient]);
        let ravelled = prim(Prim::Ravel(self.s.clone()), vec![x.clone()]);
        bind(leaves, ravelled, value)
    }

    /// `vjp(f, x)`
    fn vjp(&mut self, args: &[Term]) -> Term {
        let (f, x) = (&args[0], &args[1]);
        match self.engine {
            Engine::Delta(choices) => {
                let translated = self.lift(&System::Delta(choices), f);
                let vjp = delta::wrapper::vjp(self.w, choices, self.s, self.t);
                let types = self.w.parameters_of(vjp);
                call(vjp, types, vec![translated, x.clone()])
            }
            Engine::Dual | Engine::Taylor => {
                let y = self.w.binder("y", self.t.clone());
                let cotangent = self.w.binder("w", self.t.clone());
                let checked = self.checked("the cotangent", self.t, &var(&y), &var(&cotangent));
                let gradient = self.one_hot(f, x, &var(&cotangent));
                let pullback = lam(cotangent, bind_all(checked, gradient));
                let pulled = Ty::fun(self.t.clone(), self.s.clone());
                let pair = tuple(vec![self.t.clone(), pulled], vec![var(&y), pullback]);
                bind(y, self.value(f, x), pair)
            }
        }
    }

    /// `jet(k, r, f)(x)`
    fn jet(&mut self, k: u32, r: u32, args: &[Term]) -> Term {
        let (f, x) = (&args[0], &args[1]);
        let system = System::Taylor { k, r };
        match self.engine {
            Engine::Taylor => {
                let translated = self.lift(&system, f);
                let arg = jet::canonical::tuples(self.w, (k, r), self.s, x.clone());
                jet::canonical::arrays(self.w, (k, r), self.t, app(translated, arg))
            }
            Engine::Dual | Engine::Delta(_) => self.nested_jet((k, r), f, x),
        }
    }

    fn nested_jet(&mut self, (k, r): (u32, u32), f: &Term, x: &Term) -> Term {
        let system = System::Taylor { k, r };
        let indices = crate::eval::derivative::multi_indices(k, r);
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
            bindings.push((y.clone(), app(g, zeros)));
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
        let value = jet::canonical::arrays(self.w, (k, r), self.t, gathered);
        bind_all(bindings, value)
    }

    /// The partial derivative of a function of the variables.
    fn along(&mut self, point: &Ty, variables: &[Ty], i: usize, g: Term) -> Term {
        let t = self.w.binder("t", point.clone());
        let direction = (0..variables.len()).map(|j| real(if i == j { 1.0 } else { 0.0 }));
        let direction = tuple(variables.to_vec(), direction.collect());
        let to = self.t.clone();
        let both = Ty::tuple(vec![to.clone(), to.clone()]);
        let pair = self.diff(DiffOp::Jvp, point, &to, vec![g, var(&t), direction]);
        lam(t, proj(&both, 1, pair))
    }
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
                product = super::build::times(product, part(variables, j, t.clone()));
            }
        }
        sum = plus(sum, super::build::times(real(factor), product));
    }
    sum
}
