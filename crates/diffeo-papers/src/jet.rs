//! The (k,R)-Taylor macro (Huot, Staton & Vákár, sections 2.2–2.4, 3.2 and 5.1).
//!
//! ```text
//! D(real) = real^c      c = binom(R+k, k)
//! ```
//!
//! Component α of the c stands for ∂^|α| f / ∂x₁^α₁ … ∂x_k^α_k, α in lexicographic order from (0,…,0) to
//! (R,0,…,0). The homomorphic cases are in [`super::homomorphism`]; here is what becomes of Reals, constants
//! and operations, and of the restricted D_(2,2)′ (section 3.2). The room's other files are the formula,
//! the derivatives of the operations, the isomorphism with J, and rules of the program's own.

pub mod canonical;
pub mod faa_di_bruno;
pub mod partials;
mod rule;

pub use rule::gauss_legendre;
pub(crate) use rule::with_derivative;

use super::{homomorphism, numbers, partial, System, Workspace};
use diffeo_calculus::build::*;
use diffeo_calculus::eval::derivative::multi_indices;
use diffeo_calculus::names::prim_name;
use diffeo_calculus::prim::real::{row, DerivativeRule};
use diffeo_calculus::prim::{Comparison, Prim, RealOp};
use diffeo_calculus::term::Term;
use diffeo_calculus::ty::Ty;
use partials::{Graph, Id};

/// The multi-indices of the components of `D(real)`.
fn indices(system: &System) -> Vec<Vec<u32>> {
    match system {
        System::Taylor { k, r } => multi_indices(*k, *r),
        // D_(2,2)′(real) = real⁴: without the non-mixed second derivatives.
        System::Mixed => [[0, 0], [0, 1], [1, 0], [1, 1]].map(Vec::from).to_vec(),
        System::Forward | System::Vector(_) | System::Naive | System::Delta(_) => Vec::new(),
    }
}

/// `D_(k,R)(real) = real^c`
pub(crate) fn real_type(k: u32, r: u32) -> Ty {
    Ty::tuple(vec![Ty::Real; multi_indices(k, r).len()])
}

/// `D(c̲) = ⟨c̲, 0, …, 0⟩`
pub(crate) fn constant(k: u32, order: u32, r: Term, zero: &Term) -> Term {
    padded(multi_indices(k, order).len(), r, zero)
}

/// `D_(2,2)′(real) = real⁴`
pub(crate) fn mixed_type() -> Ty {
    Ty::tuple(vec![Ty::Real; 4])
}

/// `D_(2,2)′(c̲) = ⟨c̲, 0, 0, 0⟩`
pub(crate) fn mixed_constant(r: Term) -> Term {
    padded(4, r, &real(0.0))
}

fn padded(count: usize, r: Term, zero: &Term) -> Term {
    let mut components = vec![zero.clone(); count];
    components[0] = r;
    tuple(vec![Ty::Real; count], components)
}

/// Whether operations stand in their place: as in the paper's examples for (1,1), where they are no longer
/// than a call.
pub(crate) fn in_place(k: u32, r: u32) -> bool {
    (k, r) == (1, 1)
}

/// `D_(k,R)(op(t₁, …, tₙ)) = case D(t₁) of ⟨x¹_α⟩_α → … → ⟨D^α op⟩_α`
pub(crate) fn operation(w: &mut Workspace, (k, r): (u32, u32), op: RealOp, xs: &[Term]) -> Term {
    expanded(w, &System::Taylor { k, r }, op, xs, in_place(k, r))
}

/// `D_(2,2)′(op(t₁, …, tₙ))`: the same, without the components that it does not have.
pub(crate) fn mixed_operation(w: &mut Workspace, op: RealOp, xs: &[Term]) -> Term {
    let short = matches!(op, RealOp::Add | RealOp::Sub | RealOp::Mul | RealOp::Neg);
    expanded(w, &System::Mixed, op, xs, short)
}

/// `⟨D^α op⟩_α`, in its place or as the call of a definition.
fn expanded(w: &mut Workspace, system: &System, op: RealOp, xs: &[Term], inline: bool) -> Term {
    let indices = indices(system);
    if indices.len() == 1 {
        return diffeo_calculus::build::op(op, xs.to_vec());
    }
    let number = Ty::tuple(vec![Ty::Real; indices.len()]);
    let params = vec![number; xs.len()];
    let name = prim_name(&Prim::Real(op)).0;
    let key = match op {
        RealOp::Polygamma(order) => format!("{name}[{order}]"),
        _ => name,
    };
    definition(w, (system, &key, inline), params, xs, &|w, xs| composition(w, system, op, xs))
}

/// `D(x ↦ xⁿ)`, n an integer.
pub(crate) fn power(w: &mut Workspace, (k, r): (u32, u32), x: &Term, n: &Term) -> Term {
    raised(w, &System::Taylor { k, r }, x, n)
}

/// `D_(2,2)′(x ↦ xⁿ)`, n an integer.
pub(crate) fn mixed_power(w: &mut Workspace, x: &Term, n: &Term) -> Term {
    raised(w, &System::Mixed, x, n)
}

fn raised(w: &mut Workspace, system: &System, x: &Term, n: &Term) -> Term {
    let indices = indices(system);
    if indices.len() == 1 {
        return prim(Prim::PowInt, vec![x.clone(), n.clone()]);
    }
    let number = homomorphism::ty(w, system, &Ty::Real);
    let params = vec![number, Ty::Int];
    let key = prim_name(&Prim::PowInt).0;
    definition(w, (system, &key, false), params, &[x.clone(), n.clone()], &|w, xs| {
        let mut graph = Graph::default();
        let components = components(&mut graph, &indices, &xs[..1]);
        let x = proj(&Ty::tuple(vec![Ty::Real; indices.len()]), 0, xs[0].clone());
        let zero = numbers::nothing(w);
        let order = indices.iter().map(|alpha| alpha.iter().sum()).max().unwrap_or(0);
        // ∂_β for each β, being terms for any n.
        let powers: Vec<Id> =
            (0..=order).map(|j| graph.given(partial::power(&x, &xs[1], j, &zero))).collect();
        let roots = all(&mut graph, &indices, 1, powers[0], &components, &mut |_, beta| {
            powers[beta[0] as usize]
        });
        written(w, &graph, &roots)
    })
}

/// The term that `make` makes of arguments that may be mentioned several times: with these arguments, or
/// the call of a definition of it.
fn definition(
    w: &mut Workspace,
    (system, name, inline): (&System, &str, bool),
    params: Vec<Ty>,
    xs: &[Term],
    make: &dyn Fn(&mut Workspace, &[Term]) -> Term,
) -> Term {
    if inline {
        return make(w, xs);
    }
    let domain = Ty::tuple(params.clone());
    let result = homomorphism::ty(w, system, &Ty::Real);
    let key = format!("{name}{}", system.suffix());
    let f = w.made(&key, Ty::fun(domain.clone(), result), |w| {
        let p = w.binder("p", domain);
        let xs: Vec<Term> = (0..params.len()).map(|i| part(&params, i, var(&p))).collect();
        let body = make(w, &xs);
        lam(p, body)
    });
    call(f, params, xs.to_vec())
}

/// The components x^j_α, by j and α.
fn components(graph: &mut Graph, indices: &[Vec<u32>], xs: &[Term]) -> Vec<Vec<Id>> {
    let number = Ty::tuple(vec![Ty::Real; indices.len()]);
    let mut all = Vec::new();
    for x in xs {
        all.push((0..indices.len()).map(|i| graph.given(proj(&number, i, x.clone()))).collect());
    }
    all
}

/// `⟨D^α op⟩_α`, D^0 op being the value.
fn all(
    graph: &mut Graph,
    indices: &[Vec<u32>],
    operands: usize,
    value: Id,
    components: &[Vec<Id>],
    partial: &mut dyn FnMut(&mut Graph, &[u32]) -> Id,
) -> Vec<Id> {
    let argument = |j: usize, alpha: &[u32]| {
        // All α^r ≤ α are there.
        let position = indices.iter().position(|a| a == alpha).unwrap_or(0);
        components[j][position]
    };
    let mut roots = vec![value];
    for alpha in &indices[1..] {
        roots.push(faa_di_bruno::derivative(graph, (alpha, operands), partial, &argument));
    }
    roots
}

/// The tuple of the numbers.
fn written(w: &mut Workspace, graph: &Graph, roots: &[Id]) -> Term {
    let (bindings, values) = graph.terms(&mut || w.binder("y", Ty::Real), roots);
    bind_all(bindings, tuple(vec![Ty::Real; roots.len()], values))
}

fn composition(w: &mut Workspace, system: &System, op: RealOp, xs: &[Term]) -> Term {
    let indices = &indices(system);
    let of = |w: &mut Workspace, operands: usize| {
        let mut graph = Graph::with_zero(numbers::nothing(w));
        let components = components(&mut graph, indices, xs);
        let first: Vec<Id> = components.iter().map(|x| x[0]).collect();
        let value = graph.differentiable(op, &first);
        let roots = all(&mut graph, indices, operands, value, &components, &mut |graph, beta| {
            graph.derivative(value, [beta[0], beta.get(1).copied().unwrap_or(0)])
        });
        written(w, &graph, &roots)
    };
    // A selection (min, max, abs) copies the components of the operand that it selects (ours).
    if w.dynamic && row(op).derivative == DerivativeRule::Select {
        return selected(w, system, op, xs);
    }
    let full = of(w, xs.len());
    match (op, xs) {
        (RealOp::Pow, [a, b]) => {
            let fixed = fixed_exponent(w, system, a, b);
            if_(fixed, of(w, 1), full)
        }
        _ => full,
    }
}

/// `abs` as ±x, `sign` as a constant, `min` and `max` as one of their operands.
fn selected(w: &mut Workspace, system: &System, op: RealOp, xs: &[Term]) -> Term {
    let types = vec![Ty::Real; indices(system).len()];
    let first: Vec<Term> = xs.iter().map(|x| part(&types, 0, x.clone())).collect();
    let value = diffeo_calculus::build::op(op, first.clone());
    match op {
        RealOp::Min | RealOp::Max => {
            let chosen = partial::derivative(op, 0, &first, &value, &real(0.0));
            if_(compare(Comparison::Eq, Ty::Real, chosen, real(1.0)), xs[0].clone(), xs[1].clone())
        }
        RealOp::Abs => {
            let is = |comparison| compare(comparison, Ty::Real, first[0].clone(), real(0.0));
            let components = (0..types.len()).map(|i| part(&types, i, xs[0].clone()));
            let negated =
                components.map(|x| diffeo_calculus::build::op(RealOp::Neg, vec![x])).collect();
            let negated = tuple(types.clone(), negated);
            let constant = numbers::constant(w, system, None, value);
            if_(is(Comparison::Lt), negated, if_(is(Comparison::Eq), constant, xs[0].clone()))
        }
        _ => numbers::constant(w, system, None, value),
    }
}

/// Whether a is not positive and b does not vary: then `a ^ b` is differentiated by a alone, for the
/// derivative by b is not defined there.
fn fixed_exponent(w: &mut Workspace, system: &System, a: &Term, b: &Term) -> Term {
    let a = numbers::primal(w, system, a.clone());
    let not_positive = compare(Comparison::Le, Ty::Real, a, real(0.0));
    let constant = numbers::is_constant(w, system, b).unwrap_or_else(|| truth(false));
    if_(not_positive, constant, truth(false))
}
