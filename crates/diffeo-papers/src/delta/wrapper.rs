//! The wrapper R around D (Krawiec et al., Figure 11, in its general form of Figure 15).
//!
//! ```text
//! R{e} = λ(s, dt). let (s₀, dv) = initVars_S (s, 0) in
//!                  let dt₀ = initZeros_T dt in
//!                  let u = runDelta (dv + 1) (D{λ(s, dt). e s ⊙_T dt} (s₀, dt₀)) in
//!                  let finalMap = eval 1 u emptyMap in
//!                  lookup_S (finalMap, s₀)
//! ```
//!
//! `D{λ(s, dt). e s ⊙_T dt} (s₀, dt₀) = do { t ← D{e} s₀; D{⊙_T} (t, dt₀) }`, so that the function may also come as
//! a translated function value (ours). `⊙_T` is [`Prim::Inner`], whose translation stops the program where dt has
//! another shape than the result.

use super::{runtime, translate};
use crate::expansion::has_one_shape;
use crate::polytypic::{Pointwise, Traversal};
use crate::{homomorphism, Delta, System, Workspace};
use diffeo_calculus::build::*;
use diffeo_calculus::prim::{IntOp, Prim};
use diffeo_calculus::term::{Arm, Binder, Case, GlobalId, Term, TermKind};
use diffeo_calculus::ty::Ty;

/// `R{e} : S × δT → δS` of a definition `e : S → T` between first-order types.
pub fn r(w: &mut Workspace, e: GlobalId, choices: Delta) -> GlobalId {
    let Ty::Fun(f) = w.global(e).ty.clone() else { return e };
    let (s, t) = (&f.0, &f.1);
    let system = System::Delta(choices);
    let translated = w.translated(&system, e);
    let from = Ty::tuple(vec![s.clone(), t.clone()]);
    let key = format!("R{{{}}}{}", w.label(e), system.suffix());
    w.made(&key, Ty::fun(from.clone(), s.clone()), |w| {
        let p = w.binder("p", from.clone());
        let (point, dt) = (proj(&from, 0, var(&p)), proj(&from, 1, var(&p)));
        lam(p, reverse(w, &system, (s, t), global(translated), point, dt))
    })
}

/// Value and pullback of a translated function value: `(D{S} → M D{T}) × S → T × (δT → δS)`. It runs once; each call of
/// the pullback goes on from the bindings that it made (ours).
pub fn vjp(w: &mut Workspace, choices: Delta, s: &Ty, t: &Ty) -> GlobalId {
    let system = System::Delta(choices);
    let f = homomorphism::ty(w, &system, &Ty::fun(s.clone(), t.clone()));
    let from = Ty::tuple(vec![f, s.clone()]);
    let pullback = Ty::fun(t.clone(), s.clone());
    let to = Ty::tuple(vec![t.clone(), pullback]);
    let key = format!("vjp[{}, {}; {}]", w.type_text(s), w.type_text(t), system.symbol());
    w.made(&key, Ty::fun(from.clone(), to.clone()), |w| {
        let p = w.binder("p", from.clone());
        let mut steps = Vec::new();
        let (s0, id) = init_vars(w, &system, s, proj(&from, 1, var(&p)), &mut steps);
        let start = runtime::function(w, &system, "start");
        let ran = app(app(proj(&from, 0, var(&p)), s0.clone()), app(global(start), id));
        let (value, state) = split(w, &system, t, ran, &mut steps);
        let primal = homomorphism::primal(w, &system, t, value.clone());
        let dt = w.binder("dt", t.clone());
        let mut inner = Vec::new();
        let m = dot(w, &system, t, value, var(&dt), &mut inner);
        let u = call2(w, &system, "resume", state, m);
        let gradient = look_up(w, &system, s, u, s0, &mut inner);
        let pullback = lam(dt, bind_all(inner, gradient));
        lam(p, bind_all(steps, term(TermKind::Tuple(to.clone(), vec![primal, pullback]))))
    })
}

/// A run of a definition `e : S → T` that keeps what it made: `S → D{T} × DeltaState`.
pub fn deltas(w: &mut Workspace, e: GlobalId, choices: Delta) -> GlobalId {
    let Ty::Fun(f) = w.global(e).ty.clone() else { return e };
    let (s, t) = (&f.0, &f.1);
    let system = System::Delta(choices);
    let translated = w.translated(&system, e);
    let result = homomorphism::ty(w, &system, t);
    let to = Ty::tuple(vec![result, runtime::state(w, &system)]);
    let key = format!("deltas{{{}}}{}", w.label(e), system.suffix());
    w.made(&key, Ty::fun(s.clone(), to), |w| {
        let x = w.binder("s", s.clone());
        let mut steps = Vec::new();
        let (s0, id) = init_vars(w, &system, s, var(&x), &mut steps);
        let start = runtime::function(w, &system, "start");
        let ran = app(app(global(translated), s0), app(global(start), id));
        lam(x, bind_all(steps, ran))
    })
}

type Bindings = Vec<(Binder, Term)>;

/// The body of R, for a translated function.
fn reverse(
    w: &mut Workspace,
    system: &System,
    (s, t): (&Ty, &Ty),
    f: Term,
    point: Term,
    dt: Term,
) -> Term {
    let mut steps = Vec::new();
    let (s0, id) = init_vars(w, system, s, point, &mut steps);
    // λstate. do { t ← f s₀; t ⊙ dt₀ } state
    let state = runtime::state(w, system);
    let state = w.binder("s", state);
    let mut inner = Vec::new();
    let ran = app(app(f, s0.clone()), var(&state));
    let (value, after) = split(w, system, t, ran, &mut inner);
    let dotted = dot(w, system, t, value, dt, &mut inner);
    let m = lam(state, bind_all(inner, app(dotted, after)));
    let u = call2(w, system, "runDelta", id, m);
    let gradient = look_up(w, system, s, u, s0, &mut steps);
    bind_all(steps, gradient)
}

fn call2(w: &mut Workspace, system: &System, name: &str, x: Term, y: Term) -> Term {
    app(app(global(runtime::function(w, system, name)), x), y)
}

fn named(w: &mut Workspace, name: &str, ty: Ty, value: Term, steps: &mut Bindings) -> Term {
    let binder = w.binder(name, ty);
    let x = var(&binder);
    steps.push((binder, value));
    x
}

/// `let (s₀, dv) = initVars_S (s, 0)`: s₀ and dv + 1.
fn init_vars(
    w: &mut Workspace,
    system: &System,
    s: &Ty,
    point: Term,
    steps: &mut Bindings,
) -> (Term, Term) {
    let dual = translate::real_type(w, system);
    let one_more = |id: &Term| prim(Prim::Int(IntOp::Add), vec![id.clone(), int(1)]);
    // initVars_ℝ (x, id) = ((x, Var (id + 1)), id + 1)
    let family = Traversal {
        name: "initVars",
        shared: Ty::Unit,
        state: Ty::Int,
        inputs: vec![None],
        output: Some(Some(system.clone())),
        function: None,
        step: &|w, _, id, xs| {
            let next = w.binder("uid", Ty::Int);
            let x = translate::dual(w, system, xs[0].clone(), runtime::VAR, vec![var(&next)]);
            let both = tuple(vec![dual.clone(), Ty::Int], vec![x, var(&next)]);
            bind(next, one_more(id), both)
        },
    };
    let ty = family.result(w, s);
    let both = family.apply(w, s, None, int(0), vec![point]);
    let both = named(w, "init", ty.clone(), both, steps);
    (proj(&ty, 0, both.clone()), one_more(&proj(&ty, 1, both)))
}

/// Result and state of what a translated function gave.
fn split(
    w: &mut Workspace,
    system: &System,
    t: &Ty,
    ran: Term,
    steps: &mut Bindings,
) -> (Term, Term) {
    let result = homomorphism::ty(w, system, t);
    let both = Ty::tuple(vec![result, runtime::state(w, system)]);
    let r = named(w, "t", both.clone(), ran, steps);
    (proj(&both, 0, r.clone()), proj(&both, 1, r))
}

/// `D{⊙_T} (t, dt₀) : M D{ℝ}`, with dt₀ = initZeros_T dt.
fn dot(
    w: &mut Workspace,
    system: &System,
    t: &Ty,
    value: Term,
    dt: Term,
    steps: &mut Bindings,
) -> Term {
    let inner = inner_product(w, t);
    let inner = w.translated(system, inner);
    let ty = homomorphism::ty(w, system, t);
    if w.dynamic && !has_one_shape(t) {
        let primal = homomorphism::primal(w, system, t, value.clone());
        let primal = named(w, "y", t.clone(), primal, steps);
        steps.push(homomorphism::same_shape(w, "the cotangent", t, primal, dt.clone()));
    }
    let zeros = homomorphism::lift(w, system, t, None, dt);
    let dt0 = named(w, "dt", ty.clone(), zeros, steps);
    call(inner, vec![ty.clone(), ty], vec![value, dt0])
}

/// `λ(t, dt). t ⊙_T dt`
pub(super) fn inner_product(w: &mut Workspace, t: &Ty) -> GlobalId {
    let pair = Ty::tuple(vec![t.clone(), t.clone()]);
    let key = format!("⊙[{}]", w.type_text(t));
    w.made(&key, Ty::fun(pair.clone(), Ty::Real), |w| {
        let p = w.binder("p", pair.clone());
        let args = vec![proj(&pair, 0, var(&p)), proj(&pair, 1, var(&p))];
        lam(p, prim(Prim::Inner(t.clone()), args))
    })
}

/// `let finalMap = eval 1 u emptyMap in lookup_S (finalMap, s₀)`
fn look_up(
    w: &mut Workspace,
    system: &System,
    s: &Ty,
    u: Term,
    s0: Term,
    steps: &mut Bindings,
) -> Term {
    let run = runtime::run(w, system);
    let u = named(w, "u", run, u, steps);
    let map = runtime::map(w, system);
    let final_map = app(global(runtime::function(w, system, "finalMap")), u);
    let final_map = named(w, "finalMap", map.clone(), final_map, steps);
    if homomorphism::inert(w, s) {
        return s0;
    }
    let dual = translate::real_type(w, system);
    let delta = runtime::delta(w, system);
    // lookup_ℝ (finalMap, (x, Var uid)) = lookupOrZero uid finalMap
    let family = Pointwise {
        name: "lookup",
        shared: map,
        inputs: vec![Some(system.clone())],
        output: None,
        leaf: &|w, map, xs| {
            let uid = w.binder("uid", Ty::Int);
            let found = call2(w, system, "lookupOrZero", var(&uid), map.clone());
            let Ty::Data(id, args) = &delta else { return found };
            let arms = vec![Arm { tag: runtime::VAR, binders: vec![uid], body: found }];
            let scrutinee = proj(&dual, 1, xs[0].clone());
            let (data, default) = ((*id, args.clone()), Some(real(0.0)));
            term(TermKind::Case(Box::new(Case { scrutinee, data, arms, default })))
        },
    };
    family.apply(w, s, Some(final_map), vec![s0])
}
