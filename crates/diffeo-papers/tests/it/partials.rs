//! `∂_β op` of every operation, as terms, against the evaluator's jets of the identity.

use diffeo_calculus::array::Array;
use diffeo_calculus::build::*;
use diffeo_calculus::eval::derivative::multi_indices;
use diffeo_calculus::eval::{Machine, Options};
use diffeo_calculus::prim::real::{row, ALL};
use diffeo_calculus::prim::{DiffOp, RealOp};
use diffeo_calculus::term::{GlobalId, Program, Term, TermKind};
use diffeo_calculus::ty::Ty;
use diffeo_calculus::value::Value;
use diffeo_papers::jet::gauss_legendre;
use diffeo_papers::jet::partials::Graph;
use diffeo_papers::Workspace;

/// `f : (Real, Real) -> Real`, the operation, and `(Real, Real) -> []Real`, its derivatives up to this order.
fn definitions(op: RealOp, order: u32) -> (std::rc::Rc<Program>, GlobalId, GlobalId) {
    let mut w = Workspace::new(&Program::default());
    let arity = row(op).arity;
    let types = vec![Ty::Real, Ty::Real];
    let domain = Ty::tuple(types.clone());
    let operands = |p: Term| (0..arity).map(|i| proj(&domain, i, p.clone())).collect::<Vec<_>>();
    let f = w.made("f", Ty::fun(domain.clone(), Ty::Real), |w| {
        let p = w.binder("p", domain.clone());
        let body = diffeo_calculus::build::op(op, operands(var(&p)));
        lam(p, body)
    });
    let partials = w.made("partials", Ty::fun(domain.clone(), Ty::array(Ty::Real)), |w| {
        let p = w.binder("p", domain.clone());
        let mut graph = Graph::default();
        let xs: Vec<_> = operands(var(&p)).into_iter().map(|x| graph.given(x)).collect();
        let y = graph.differentiable(op, &xs);
        let mut roots = Vec::new();
        for beta in multi_indices(arity as u32, order) {
            roots.push(graph.derivative(y, [beta[0], beta.get(1).copied().unwrap_or(0)]));
        }
        let (bindings, values) = graph.terms(&mut || w.binder("y", Ty::Real), &roots);
        lam(p, bind_all(bindings, term(TermKind::Array(Ty::Real, values))))
    });
    let program = w.program();
    assert_eq!(diffeo_calculus::lint(&program), Vec::<String>::new(), "{op:?}");
    (program, f, partials)
}

fn numbers(v: &Value) -> Vec<f64> {
    let Value::Array(a) = v else { panic!("{v:?}") };
    a.reals().map(<[f64]>::to_vec).unwrap_or_default()
}

/// The derivatives by the terms and by the evaluator.
fn both(op: RealOp, order: u32, points: &[(f64, f64)]) -> Vec<(Vec<f64>, Vec<f64>)> {
    let (program, f, partials) = definitions(op, order);
    let mut machine = Machine::new(program, Options::default());
    let k = row(op).arity as u32;
    let indices = multi_indices(k, order);
    let f = machine.eval_global(f).expect("a function");
    let partials = machine.eval_global(partials).expect("a function");
    let mut out = Vec::new();
    for &(a, b) in points {
        let point = Value::tuple([Value::Real(a), Value::Real(b)]);
        let got = numbers(&machine.apply(&partials, point).expect("derivatives"));
        let jet = |i: usize, x: f64| {
            let component = |alpha: &Vec<u32>| match alpha.iter().sum::<u32>() {
                0 => x,
                1 => f64::from(alpha.get(i).copied().unwrap_or(0)),
                _ => 0.0,
            };
            Value::array(Array::from_reals(indices.iter().map(component).collect()))
        };
        let jets = Value::tuple([jet(0, a), jet(1, b)]);
        let op = DiffOp::Jet { k, r: order };
        out.push((got, numbers(&machine.derivative(op, vec![f.clone(), jets]).expect("a jet"))));
    }
    out
}

/// Points inside the domain and off the kinks.
fn points(op: RealOp) -> Vec<(f64, f64)> {
    let first: &[f64] = match op {
        RealOp::Acosh => &[1.3, 2.5, 40.0],
        RealOp::Log | RealOp::Sqrt | RealOp::Pow => &[0.3, 1.0, 7.0],
        RealOp::Lgamma | RealOp::Polygamma(_) => &[0.4, 1.5, 6.0, -0.4, -2.3],
        RealOp::Asin | RealOp::Acos | RealOp::Atanh | RealOp::Log1p => &[-0.6, 0.0, 0.1, 0.8],
        RealOp::Rem => &[-1.7, 0.4, 2.3],
        _ => &[-1.7, -0.4, 0.25, 1.2, 30.0],
    };
    let second = [-1.45, 0.55, 2.0, 3.7];
    let all = first.iter().flat_map(|a| second.map(|b| (*a, b)));
    if row(op).arity == 1 {
        first.iter().map(|a| (*a, 0.0)).collect()
    } else {
        all.collect()
    }
}

#[test]
fn the_derivatives_of_every_operation_are_those_of_the_evaluator() {
    for &op in ALL {
        for (order, point) in
            [1, 3, 6].iter().flat_map(|n| points(op).into_iter().map(move |p| (*n, p)))
        {
            let (got, expected) = &both(op, order, &[point])[0];
            let largest = expected.iter().fold(1.0, |m: f64, x| m.max(x.abs()));
            for (n, (x, y)) in got.iter().zip(expected).enumerate() {
                let beta = &multi_indices(row(op).arity as u32, order)[n];
                let finite = (x - y).is_finite();
                let close = x == y || finite && (x - y).abs() <= 1e-11 * largest.max(y.abs());
                assert!(close, "∂_{beta:?} of {op:?} at {point:?}: {x}, not {y}");
            }
        }
    }
}

#[test]
fn at_special_points_they_are_what_the_evaluator_gives() {
    let same = |op, order, points: &[(f64, f64)]| {
        for ((got, expected), point) in both(op, order, points).iter().zip(points) {
            let same = |(x, y): (&f64, &f64)| x == y || (x.is_nan() && y.is_nan());
            let equal = got.iter().zip(expected).all(same);
            assert!(equal, "{op:?} at {point:?}: {got:?}, not {expected:?}");
        }
    };
    same(RealOp::Sqrt, 1, &[(0.0, 0.0)]);
    same(RealOp::Abs, 3, &[(0.0, 0.0), (-2.0, 0.0)]);
    for op in [RealOp::Sign, RealOp::Min, RealOp::Max] {
        let nan = f64::NAN;
        same(op, 3, &[(0.0, 0.0), (1.0, 1.0), (-2.0, 1.0), (nan, 1.0), (1.0, nan), (nan, nan)]);
    }
    same(RealOp::Rem, 2, &[(0.0, 2.0), (-3.5, 2.0), (6.25, -1.5)]);
    same(RealOp::Log, 3, &[(f64::INFINITY, 0.0)]);
}

/// How many operations a term has.
fn size(t: &Term) -> usize {
    let (mut count, mut pending) = (0, vec![t]);
    while let Some(t) = pending.pop() {
        count += usize::from(matches!(t.kind, TermKind::Prim(..)));
        t.each_child(|child| pending.push(child));
    }
    count
}

#[test]
fn their_size_is_moderate() {
    for &op in ALL {
        let sizes = [5, 10].map(|order| {
            let (program, _, partials) = definitions(op, order);
            size(&program.globals[partials.0 as usize].body)
        });
        // All β up to the order: as many as its square, for two operands. Those by x / hypot(x, y) keep digits that
        // shorter forms lose.
        let most = match op {
            RealOp::Atan => [100, 600],
            RealOp::Atan2 | RealOp::Hypot | RealOp::Unit => [550, 6500],
            op if row(op).arity == 1 => [100, 500],
            _ => [450, 5500],
        };
        assert!(sizes[0] <= most[0] && sizes[1] <= most[1], "{op:?}: {sizes:?}");
    }
}

#[test]
fn polynomials_of_degree_below_2n_are_integrated() {
    for n in 1..=8 {
        let rule = gauss_legendre(n);
        for degree in 0..2 * n {
            let sum: f64 = rule.iter().map(|(z, w)| w * z.powi(degree as i32)).sum();
            let exact = 1.0 / (f64::from(degree) + 1.0);
            assert!((sum - exact).abs() < 1e-14, "{n} nodes, degree {degree}: {sum}");
        }
    }
}
