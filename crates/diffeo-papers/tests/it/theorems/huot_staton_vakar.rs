//! Huot, Staton & Vákár: the (k,R)-Taylor macro D_(k,R) gives Taylor representations. That it respects
//! substitution, composition and the βη-laws is in `beta_eta.rs`.

use crate::support::{
    add, app, diff, global, int, lam, lam_of, mul, prim, program, proj, real, split, tuple,
    tuple_ty,
};
use crate::theorems::generator::{Choices, Features, TheoremCase};
use crate::theorems::harness::{
    derivative, jets, machine, machine_for, reals, theorem, CaseFailure, MOST_OPERATIONS,
};
use crate::theorems::translations::{
    at_reals, call, close_all, component, exactly, lints, machine_of, magnitude, main_term, mapped,
    tuples, with, Numbers,
};
use diffeo_calculus::eval::derivative::multi_indices;
use diffeo_calculus::eval::{Kinks, Machine};
use diffeo_calculus::prim::DiffOp;
use diffeo_calculus::term::{GlobalId, Term};
use diffeo_calculus::ty::DataId;
use diffeo_calculus::typing::declares_real;
use diffeo_calculus::value::Value;
use diffeo_calculus::{print_type, Prim, Ty};
use diffeo_papers::jet::canonical;
use diffeo_papers::{System, Workspace};
use std::collections::BTreeMap;

const ORDERS: [(u32, u32); 8] = [(1, 1), (2, 1), (3, 1), (1, 2), (2, 2), (1, 3), (1, 4), (2, 3)];

/// The paper's language with the types of its section 5 and arrays.
const fn section_5() -> Features {
    Features {
        arrays: true,
        records: true,
        leaves: true,
        conditionals: true,
        ..Features::paper_002()
    }
}

fn system((k, r): (u32, u32)) -> System {
    System::Taylor { k, r }
}

fn coefficients((k, r): (u32, u32)) -> usize {
    multi_indices(k, r).len()
}

// Lemma 1

/// `D(τ)` by the table of sections 3.2 and 5.1, real^c for real; none where a variant's declaration itself has
/// Reals, for then the declaration is translated.
fn translated_type(ty: &Ty, c: usize) -> Option<Ty> {
    let all =
        |types: &[Ty]| -> Option<Vec<Ty>> { types.iter().map(|t| translated_type(t, c)).collect() };
    /// The number of `Shape`.
    const SHAPE: DataId = DataId(2);
    Some(match ty {
        Ty::Real => Ty::tuple(vec![Ty::Real; c]),
        Ty::Int | Ty::Bool | Ty::String | Ty::Unit | Ty::Param(_) => ty.clone(),
        Ty::Tuple(types) => Ty::tuple(all(types)?),
        Ty::Record(fields) => {
            let fields: Option<Vec<_>> = fields
                .iter()
                .map(|(name, t)| Some((name.clone(), translated_type(t, c)?)))
                .collect();
            Ty::Record(fields?.into())
        }
        Ty::Array(element) => Ty::array(translated_type(element, c)?),
        Ty::Data(SHAPE, _) => return None,
        Ty::Data(data, args) => Ty::Data(*data, all(args)?.into()),
        Ty::Fun(f) => Ty::fun(translated_type(&f.0, c)?, translated_type(&f.1, c)?),
    })
}

theorem! {
    /// Γ ⊢ t : τ implies D(Γ) ⊢ D(t) : D(τ) (Lemma 1 a).
    lemma_1_a_typing, Features::no_derivatives(), |case| {
        let mut numbers = Numbers::of(case);
        let orders = numbers.pick(&[(0, 1), (1, 1), (2, 2), (1, 3), (3, 1), (2, 0), (2, 1)]);
        let (system, c) = match numbers.below(6) {
            0 => (System::Mixed, 4),
            1 => (System::Forward, 2),
            _ => (system(orders), coefficients(orders)),
        };
        let mut w = Workspace::new(&case.program);
        let all: Vec<GlobalId> = (0..=case.main.0).map(GlobalId).collect();
        let translated: Vec<GlobalId> = all.iter().map(|id| w.translated(&system, *id)).collect();
        let program = w.program();
        lints(&program)?;
        for (source, target) in all.iter().zip(translated) {
            let [a, b] = [*source, target].map(|id| &program.globals[id.0 as usize].ty);
            if translated_type(a, c).is_some_and(|expected| expected != *b) {
                let [a, b] = [a, b].map(|ty| print_type(ty, &program));
                return Err(format!("{} takes {a} to {b}", system.symbol()).into());
            }
        }
        Ok(())
    }
}

// Theorems 3 and 8

/// Derivatives up to some order of a curve or surface through the point.
fn curve(case: &TheoremCase, count: usize) -> Vec<Value> {
    let mut numbers = Numbers::of(case);
    let mut parts = vec![case.point.clone()];
    parts.extend((1..count).map(|_| numbers.like(&case.point)));
    parts
}

/// The value of D(main) at these derivatives.
fn taylor(case: &TheoremCase, system: &System, parts: &[Value]) -> Result<Value, CaseFailure> {
    let mut w = Workspace::new(&case.program);
    let translated = w.translated(system, case.main);
    let mut machine = machine_of(&mut w)?;
    let at = tuples(&parts.iter().collect::<Vec<_>>());
    Ok(call(&mut machine, translated, at)?)
}

/// The jet by the evaluator, and the largest number in it.
fn evaluated(
    case: &TheoremCase,
    (k, r): (u32, u32),
    parts: &[Value],
) -> Result<(Value, f64), CaseFailure> {
    let derivatives: Vec<&Value> = parts[1..].iter().collect();
    let at = jets(&case.point, &derivatives)?;
    let mut machine = machine(case, Kinks::Ignore, MOST_OPERATIONS);
    let jet = derivative(&mut machine, case, DiffOp::Jet { k, r }, [at])?;
    let largest = machine.take_largest().max(magnitude(&reals(&jet)));
    Ok((jet, largest))
}

/// D(main) gives the Taylor representation of what main gives, in its shape.
fn is_taylor_representation(case: &TheoremCase, orders: (u32, u32)) -> Result<(), CaseFailure> {
    let c = coefficients(orders);
    let parts = curve(case, c);
    let (expected, largest) = evaluated(case, orders, &parts)?;
    let got = taylor(case, &system(orders), &parts)?;
    if at_reals(&case.value, &got).is_none() {
        return Err(format!("{got:?} has another shape").into());
    }
    exactly(&component(&got, 0, c), &reals(&case.value))?;
    close_all(&reals(&got), &reals(&expected), largest)
}

theorem! {
    /// D_(k,R)(t) is the Taylor representation of t (Theorem 3).
    theorem_3, Features { functions: true, ..Features::CORE }, |case| {
        is_taylor_representation(case, Numbers::of(case).pick(&ORDERS))
    }
}

theorem! {
    /// The same at every first-order type (Theorem 8), with variants, lists and arrays.
    theorem_8, section_5(), |case| {
        is_taylor_representation(case, Numbers::of(case).pick(&ORDERS))
    }
}

theorem! {
    /// The same for all of Core.
    theorem_8_of_core, Features::no_derivatives(), |case| {
        is_taylor_representation(case, Numbers::of(case).pick(&ORDERS[..6]))
    }
}

/// `λ(x, v). jvp(f, x, v)` of a definition f : S → T, and its type.
fn forward(f: Term, s: &Ty, t: &Ty) -> (Ty, Term) {
    let types = [s.clone(), s.clone()];
    let both = tuple_ty(&[t.clone(), t.clone()]);
    let body = lam_of(&types, |v| {
        diff(DiffOp::Jvp, s.clone(), t.clone(), vec![f, v[0].clone(), v[1].clone()])
    });
    (Ty::fun(tuple_ty(&types), both), body)
}

theorem! {
    /// D_(1,2) gives first and second derivatives by nested forward derivatives (Theorem 8).
    taylor_is_nested_forward, section_5(), |case| {
        let (s, t) = (&case.s, &case.t);
        let next = case.program.globals.len() as u32;
        let (first_ty, first) = forward(main_term(case), s, t);
        let pairs = [s, t].map(|ty| tuple_ty(&[ty.clone(), ty.clone()]));
        let (second_ty, second) = forward(global(next), &pairs[0], &pairs[1]);
        let definitions = vec![("first", first_ty, first), ("second", second_ty, second)];
        let (program, ids) = with(case, definitions);
        // t ↦ x + t v
        let v = case.tangent.clone();
        let zero = mapped(&v, &mut |_| Value::Real(0.0));
        let mut machine = machine_for(program.into(), Kinks::Ignore, MOST_OPERATIONS);
        let point = Value::tuple([case.point.clone(), v.clone()]);
        let direction = Value::tuple([v.clone(), zero.clone()]);
        let nested = call(&mut machine, ids[1], Value::tuple([point, direction]))?;
        let largest = machine.take_largest().max(magnitude(&reals(&nested)));
        let got = taylor(case, &System::Taylor { k: 1, r: 2 }, &[case.point.clone(), v, zero])?;
        let [value, forward] = nested.fields() else { return Err("no pair".into()) };
        let expected = [&value.fields()[0], &value.fields()[1], &forward.fields()[1]];
        expected.iter().enumerate().try_for_each(|(i, part)| {
            close_all(&component(&got, i, 3), &reals(part), largest)
        })
    }
}

theorem! {
    /// J(τ) and D(τ) are canonically isomorphic at first-order types τ: both compositions are the identity.
    canonical_isomorphism, section_5(), |case| {
        if declares_real(&case.s, &case.program) {
            return Err(CaseFailure::Skip("there is no type of jets"));
        }
        let orders = Numbers::of(case).pick(&ORDERS);
        let s = &case.s;
        let identity = lam(s.clone(), |x| x);
        let (program, ids) = with(case, vec![("id", Ty::fun(s.clone(), s.clone()), identity)]);
        let mut w = Workspace::new(&program);
        // S → J(S) → D(S) → D(S) → J(S)
        let wrapper = canonical::wrapper(&mut w, ids[0], orders.0, orders.1);
        let mut machine = machine_of(&mut w)?;
        let parts = curve(case, coefficients(orders));
        let jet = jets(&case.point, &parts[1..].iter().collect::<Vec<_>>())?;
        let same = call(&mut machine, wrapper, jet.clone())?;
        equal(&same, &jet)?;
        // D(S) → J(S) → D(S)
        let program = w.program();
        let symbol = system(orders).symbol();
        let [to_arrays, to_tuples] = ["arrays", "tuples"].map(|name| {
            let name = format!("{name}[{}; {symbol}]", print_type(s, &program));
            let found = program.globals.iter().position(|g| *g.name == *name);
            found.map(|i| GlobalId(i as u32))
        });
        let (Some(to_arrays), Some(to_tuples)) = (to_arrays, to_tuples) else {
            return Err("there is no isomorphism".into());
        };
        let at = tuples(&parts.iter().collect::<Vec<_>>());
        let there = call(&mut machine, to_arrays, at.clone())?;
        equal(&there, &jet)?;
        let back = call(&mut machine, to_tuples, there)?;
        equal(&back, &at)
    }
}

fn equal(a: &Value, b: &Value) -> Result<(), CaseFailure> {
    crate::theorems::harness::close_values(a, b, 0.0)?;
    exactly(&reals(a), &reals(b))
}

// The special cases

theorem! {
    /// D_(1,1) is dual numbers, to the last bit (section 2.1).
    taylor_1_1_is_dual_numbers, Features::no_derivatives(), |case| {
        let parts = curve(case, 2);
        let dual = taylor(case, &System::Forward, &parts)?;
        let jet = taylor(case, &System::Taylor { k: 1, r: 1 }, &parts)?;
        exactly(&reals(&dual), &reals(&jet))
    }
}

theorem! {
    /// D_(2,2)′ has the components of D_(2,2) without the non-mixed second derivatives, to the last bit
    /// (section 2.3).
    restricted_2_2_is_part_of_2_2, Features::no_derivatives(), |case| {
        // (0,0), (0,1), (0,2), (1,0), (1,1), (2,0)
        let parts = curve(case, 6);
        let full = taylor(case, &System::Taylor { k: 2, r: 2 }, &parts)?;
        let kept = [0, 1, 3, 4];
        let restricted = kept.map(|i: usize| parts[i].clone());
        let restricted = taylor(case, &System::Mixed, &restricted)?;
        kept.iter().enumerate().try_for_each(|(i, j)| {
            exactly(&component(&restricted, i, 4), &component(&full, *j, 6))
        })
    }
}

/// A value with 1 for its Real number `i` and 0 for the others.
fn one_hot(value: &Value, i: usize) -> Value {
    let mut count = 0;
    mapped(value, &mut |_| {
        count += 1;
        Value::Real(f64::from(u8::from(count == i + 1)))
    })
}

theorem! {
    /// Mixed second derivatives from D_(1,2) are those of D_(2,2) (section 2.4):
    /// ½ (h(x₁, 1, 0; x₂, 1, 0) − h(x₁, 1, 0; x₂, 0, 0) − h(x₁, 0, 0; x₂, 1, 0)).
    mixed_derivatives_by_1_2, section_5(), |case| {
        let count = reals(&case.point).len();
        if count == 0 {
            return Err(CaseFailure::Skip("there is no variable"));
        }
        let mut numbers = Numbers::of(case);
        let (i, j) = (numbers.below(count), numbers.below(count));
        let (u, v) = (one_hot(&case.point, i), one_hot(&case.point, j));
        let both = crate::theorems::harness::moved(&u, 1.0, &v);
        let zero = mapped(&u, &mut |_| Value::Real(0.0));
        let h = |direction: &Value| -> Result<Vec<f64>, CaseFailure> {
            let parts = [case.point.clone(), direction.clone(), zero.clone()];
            let y = taylor(case, &System::Taylor { k: 1, r: 2 }, &parts)?;
            Ok(component(&y, 2, 3))
        };
        let (h_both, h_u, h_v) = (h(&both)?, h(&u)?, h(&v)?);
        let mixed: Vec<f64> =
            h_both.iter().zip(&h_u).zip(&h_v).map(|((a, b), c)| 0.5 * (a - b - c)).collect();
        let parts = [case.point.clone(), v, zero.clone(), u, zero.clone(), zero];
        let (expected, largest) = evaluated(case, (2, 2), &parts)?;
        let largest = [h_both, h_u, h_v].iter().map(|h| magnitude(h)).fold(largest, f64::max);
        close_all(&mixed, &component(&expected, 4, 6), largest)
    }
}

// Faà di Bruno

/// A polynomial in k variables: coefficients by multi-index.
type Polynomial = BTreeMap<Vec<u32>, f64>;

fn sum(p: &Polynomial, q: &Polynomial, factor: f64) -> Polynomial {
    let mut sum = p.clone();
    for (alpha, c) in q {
        *sum.entry(alpha.clone()).or_insert(0.0) += factor * c;
    }
    sum
}

/// The product without what is of a higher order than r.
fn product(p: &Polynomial, q: &Polynomial, r: u32) -> Polynomial {
    let mut product = Polynomial::new();
    for (alpha, c) in p {
        for (beta, d) in q {
            let gamma: Vec<u32> = alpha.iter().zip(beta).map(|(a, b)| a + b).collect();
            if gamma.iter().sum::<u32>() <= r {
                *product.entry(gamma).or_insert(0.0) += c * d;
            }
        }
    }
    product
}

fn factorial(alpha: &[u32]) -> f64 {
    alpha.iter().map(|a| (1..=*a).map(f64::from).product::<f64>()).product()
}

theorem! {
    /// Faà di Bruno's formula gives the coefficients of a composition of polynomials, as they are by multiplying
    /// out (section 2.2). The outer one is in two variables, by powers, products and operations of higher
    /// derivatives of their own; the inner ones are in k variables.
    faa_di_bruno, Features::CORE, |case| {
        let mut choices = Choices::new(&case.trace.list);
        let (k, r) = choices.pick(&[(1, 2), (2, 2), (1, 4), (2, 3), (3, 2), (1, 6), (2, 4)]);
        let indices = multi_indices(k, r);
        let mut number = || choices.below(17) as f64 / 8.0 - 1.0;
        let mut inner = || -> Polynomial {
            indices.iter().map(|alpha| (alpha.clone(), number())).collect()
        };
        let inner = [inner(), inner()];
        let types = [Ty::Real, Ty::Real];
        let one: Polynomial = [(vec![0; k as usize], 1.0)].into();
        let mut expected = Polynomial::new();
        let mut terms = Vec::new();
        for _ in 0..1 + choices.below(3) {
            let coefficient = choices.below(9) as f64 / 2.0 - 2.0;
            let powers = [choices.below(6), choices.below(4)];
            let mut value = one.clone();
            for (x, n) in inner.iter().zip(powers) {
                value = (0..n).fold(value, |value, _| product(&value, x, r));
            }
            expected = sum(&expected, &value, coefficient);
            terms.push((coefficient, powers, choices.below(3)));
        }
        let polynomial = lam_of(&types, |xs| {
            terms.iter().fold(real(0.0), |total, (coefficient, powers, form)| {
                let power = |i: usize| {
                    let n = powers[i];
                    match form {
                        0 => prim(Prim::PowInt, vec![xs[i].clone(), int(n as i64)]),
                        1 => (0..n).fold(real(1.0), |p, _| mul(p, xs[i].clone())),
                        // xⁿ = sqrt(x²ⁿ) would have kinks; e^(n log(…)) a domain: xⁿ = ((x + 1) − 1)ⁿ
                        _ => {
                            let x = add(add(xs[i].clone(), real(1.0)), real(-1.0));
                            prim(Prim::PowInt, vec![x, int(n as i64)])
                        }
                    }
                };
                add(total, mul(real(*coefficient), mul(power(0), power(1))))
            })
        });
        let ty = Ty::fun(tuple_ty(&types), Ty::Real);
        let program = program(vec![("p", ty, polynomial)]);
        let mut w = Workspace::new(&program);
        let translated = w.translated(&system((k, r)), GlobalId(0));
        let mut machine = machine_of(&mut w)?;
        let jet = |p: &Polynomial| {
            let derivative = |alpha: &Vec<u32>| Value::Real(p[alpha] * factorial(alpha));
            Value::tuple(indices.iter().map(derivative))
        };
        let got = call(&mut machine, translated, Value::tuple([jet(&inner[0]), jet(&inner[1])]))?;
        let expected: Vec<f64> = indices
            .iter()
            .map(|alpha| expected.get(alpha).copied().unwrap_or(0.0) * factorial(alpha))
            .collect();
        let got = reals(&got);
        close_all(&got, &expected, magnitude(&expected).max(magnitude(&got)))
    }
}

// Proposition 10

/// `γ(env)(r)(s) = ⟨w, f(x + r u + s v)⟩` with env = (x, u, v, w): a curve of functions.
fn curve_of_functions(case: &TheoremCase) -> (Ty, Term) {
    let (s, t) = (case.s.clone(), case.t.clone());
    let types = [s.clone(), s.clone(), s.clone(), t.clone()];
    let env = tuple_ty(&types);
    let ty = Ty::fun(env.clone(), Ty::fun(Ty::Real, Ty::fun(Ty::Real, Ty::Real)));
    let f = main_term(case);
    let body = lam(env.clone(), |e| {
        lam(Ty::Real, |r| {
            lam(Ty::Real, |y| {
                let step = |x: Term, r: Term, u: Term| {
                    let scaled = prim(Prim::Scale(s.clone()), vec![r, u]);
                    prim(Prim::Add(s.clone()), vec![x, scaled])
                };
                split(&env, e, |parts| {
                    let [x, u, v, w] = [0, 1, 2, 3].map(|i: usize| parts[i].clone());
                    let point = step(step(x, r, u), y, v);
                    prim(Prim::Inner(t), vec![app(f, point), w])
                })
            })
        })
    });
    (ty, body)
}

/// `sort f = λ(r, _). (π₁ f(r, 0), the derivative of r ↦ π₁ f(r, 0))` with its type.
fn sort() -> (Ty, Term) {
    let dual = tuple_ty(&[Ty::Real, Ty::Real]);
    let function = Ty::fun(dual.clone(), dual.clone());
    let body = lam(function.clone(), |f| {
        lam(dual.clone(), |p| {
            let first = lam(Ty::Real, |r| {
                proj(&dual, 0, app(f, tuple(&[Ty::Real, Ty::Real], vec![r, real(0.0)])))
            });
            let at = proj(&dual, 0, p);
            diff(DiffOp::Jvp, Ty::Real, Ty::Real, vec![first, at, real(1.0)])
        })
    });
    (Ty::fun(function.clone(), function), body)
}

/// ev₁′(a)(f) = f(a, 1) and ev₂′(a)(f) = (sort f)(a, 1) for f = γ′(r), and (x, ∇x) of r ↦ γ(r)(r) at r, with the
/// largest number met.
struct Evaluations {
    first: Vec<f64>,
    second: Vec<f64>,
    expected: Vec<f64>,
    largest: f64,
}

/// `env` has the values of γ's environment.
fn evaluations(case: &TheoremCase, env: &Value, r: f64) -> Result<Evaluations, CaseFailure> {
    let (gamma_ty, gamma) = curve_of_functions(case);
    let Ty::Fun(f) = &gamma_ty else { return Err("no function".into()) };
    let env_ty = f.0.clone();
    let next = case.program.globals.len() as u32;
    // λ(env, r). γ(env)(r)(r), of which the evaluator takes the derivative by r.
    let types = [env_ty.clone(), Ty::Real];
    let diagonal = lam_of(&[types[0].clone(), Ty::Real], |v| {
        let along = lam(Ty::Real, |r| app(app(app(global(next), v[0].clone()), r.clone()), r));
        diff(DiffOp::Jvp, Ty::Real, Ty::Real, vec![along, v[1].clone(), real(1.0)])
    });
    let pair = tuple_ty(&[Ty::Real, Ty::Real]);
    let (sort_ty, sort) = sort();
    let (program, ids) = with(
        case,
        vec![
            ("gamma", gamma_ty, gamma),
            ("diagonal", Ty::fun(tuple_ty(&types), pair), diagonal),
            ("sort", sort_ty, sort),
        ],
    );
    lints(&program)?;
    let mut w = Workspace::new(&program);
    let translated = w.translated(&System::Taylor { k: 1, r: 1 }, ids[0]);
    let mut machine = machine_of(&mut w)?;
    let expected = call(&mut machine, ids[1], Value::tuple([env.clone(), Value::Real(r)]))?;
    let zero = mapped(env, &mut |_| Value::Real(0.0));
    let curve = call(&mut machine, translated, tuples(&[env, &zero]))?;
    let one = Value::tuple([Value::Real(r), Value::Real(1.0)]);
    let f = machine.apply(&curve, one.clone())?;
    let first = machine.apply(&f, one.clone())?;
    let sorted = call(&mut machine, ids[2], f)?;
    let second = machine.apply(&sorted, one)?;
    let largest = machine.take_largest();
    let [first, second, expected] = [first, second, expected].map(|v| reals(&v));
    let largest = largest.max(magnitude(&first)).max(magnitude(&expected));
    Ok(Evaluations { first, second, expected, largest })
}

theorem! {
    /// ev₁′ acts as the derivative of evaluation (Proposition 10).
    proposition_10_first, section_5(), |case| {
        let mut numbers = Numbers::of(case);
        let u = numbers.like(&case.point);
        let env = [case.point.clone(), u, case.tangent.clone(), case.cotangent.clone()];
        let found = evaluations(case, &Value::tuple(env), numbers.real() / 8.0)
            .map_err(shapes_differ)?;
        close_all(&found.first, &found.expected, found.largest)
    }
}

theorem! {
    /// So does ev₂′ where the function does not depend on the point (of Proposition 10).
    proposition_10_second, section_5(), |case| {
        let mut numbers = Numbers::of(case);
        let zero = mapped(&case.point, &mut |_| Value::Real(0.0));
        let env = [case.point.clone(), zero, case.tangent.clone(), case.cotangent.clone()];
        let found = evaluations(case, &Value::tuple(env), numbers.real() / 8.0)
            .map_err(shapes_differ)?;
        close_all(&found.second, &found.expected, found.largest)
    }
}

/// Elsewhere than at the point, a case's function may give a value of another shape than the cotangent.
fn shapes_differ(failure: CaseFailure) -> CaseFailure {
    match failure {
        CaseFailure::Wrong(why) if why.starts_with("it stops") => {
            CaseFailure::Skip("the function has another shape there")
        }
        other => other,
    }
}

#[test]
fn proposition_10_is_false_as_printed() {
    // γ(x)(y) = x y, γ′(x)(y, y′) = (x y, y + x y′): ev₂′ gives (x², x), the derivative of x² is 2x.
    let gamma = lam(Ty::Real, |x| lam(Ty::Real, |y| mul(x, y)));
    let gamma_ty = Ty::fun(Ty::Real, Ty::fun(Ty::Real, Ty::Real));
    let (sort_ty, sort) = sort();
    let program = program(vec![("gamma", gamma_ty, gamma), ("sort", sort_ty, sort)]);
    let mut w = Workspace::new(&program);
    let translated = w.translated(&System::Taylor { k: 1, r: 1 }, GlobalId(0));
    let mut machine: Machine = crate::support::machine(&w.program());
    let one = Value::tuple([Value::Real(3.0), Value::Real(1.0)]);
    let f = call(&mut machine, translated, one.clone()).expect("a function");
    let first = machine.apply(&f, one.clone()).expect("a value");
    assert_eq!(reals(&first), [9.0, 6.0]);
    let sorted = call(&mut machine, GlobalId(1), f).expect("a function");
    let second = machine.apply(&sorted, one).expect("a value");
    assert_eq!(reals(&second), [9.0, 3.0]);
}
