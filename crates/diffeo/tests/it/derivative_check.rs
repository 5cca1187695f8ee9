//! The checker of derivatives: what is right passes, what is wrong is found, in its place.

use diffeo::derivative_check::{check, CheckExtent, DerivativeReport, OrderReport};
use diffeo::differentiate::{numbers, Differentiator};
use diffeo::{Diagnostic, Differentiable, Options, Session};
use diffeo_calculus::show::show;
use diffeo_calculus::value::Value;

/// A function `f` with the point `f_at`.
fn function(session: &mut Session, text: &str) -> Differentiable {
    let module = session.load_text("case.deo", text);
    session.check();
    let function = session.differentiable(module, "f", Some((module, "f_at")));
    function.unwrap_or_else(|| panic!("{:?}", session.diagnostics()))
}

fn report(text: &str) -> DerivativeReport {
    let mut session = Session::new();
    let function = function(&mut session, text);
    let result = Differentiator::new(&session, &function, Options::default())
        .and_then(|mut differentiator| differentiator.point())
        .and_then(|point| {
            check(&session, &function, &point.expect("a point"), &CheckExtent::default())
        });
    result.unwrap_or_else(|d| panic!("{:?}", d.kind))
}

fn refused(text: &str) -> Vec<Diagnostic> {
    let mut session = Session::new();
    let module = session.load_text("case.deo", text);
    session.check();
    assert!(session.differentiable(module, "f", Some((module, "f_at"))).is_none());
    session.diagnostics()
}

/// The place of a component, and what the modes give there.
fn worst(part: &OrderReport, differences: bool) -> (String, String, Vec<(&'static str, f64)>) {
    let comparison = if differences { &part.differences } else { &part.agreement };
    let worst = comparison.worst.as_ref().expect("components");
    (worst.place.inputs.join(" "), worst.place.output.clone(), worst.values.clone())
}

#[test]
fn every_mode_and_every_component_is_compared() {
    let report = report(
        "def f(w: {slope: Real, table: [n](Real, Int)}) = (w.slope * w.table[1].0, sum([x for (x, _) in w.table]))
         def f_at = {slope = 2.0, table = [(1.0, 3), (5.0, 4)]}",
    );
    assert!(report.agrees(), "{report:#?}");
    assert_eq!((report.inputs, report.outputs), ((3, 3), (2, 2)));
    // Three numbers and two random directions, of two numbers and two weightings.
    assert_eq!(report.first.components, 5 * 4);
    let modes = |part: &OrderReport| {
        let mut modes = part.modes.clone();
        modes.sort_unstable();
        modes.join(", ")
    };
    assert_eq!(
        modes(&report.first),
        "Taylor, Taylor of order 3 along a line, forward, forward along a line, gradient of an inner \
         product, pullback, reverse, reverse along a line"
    );
    assert_eq!(
        modes(report.second.as_ref().expect("second derivatives")),
        "Taylor of order 2, Taylor of order 3 along a line, Taylor over Taylor, Taylor over forward, \
         Taylor over reverse, forward over Taylor, forward over forward, forward over reverse, \
         reverse over Taylor, reverse over forward, reverse over reverse"
    );
}

#[test]
fn structures_with_all_kinds_of_leaves() {
    for text in [
        "type Shape = Dot | Circle(Real) | Box({w: Real, h: Real}, Int)
         def area(s: Shape) = case s of { Dot -> 0.0 | Circle(r) -> pi * r * r | Box(b, n) -> b.w * b.h ^ 2 * real(n) }
         def f(shapes: List[Shape], name: String, n: Int, flag: Bool) =
           (fold_left_list(fn (s, x) -> s * area(x), 1.0, shapes), name, Just(if flag then real(n) else 0.0))
         def f_at = (list[Circle(1.5), Box({w = 1.0, h = 2.0}, 3)], \"name\", 3, true)",
        "type Tree = Leaf(Real) | Node([]Tree)
         def f(t: Tree) -> Real = case t of { Leaf(x) -> sin(x) | Node(ts) -> product([f(u) for u in ts]) }
         def f_at = Node([Leaf(1.0), Node([Leaf(2.0), Leaf(0.5)])])",
        "def f(rows: [n][m]Real, empty: [k]Real) = (matmul(rows, transpose(rows)), empty)
         def f_at = ([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [1.0][0..0])",
        // Zero by cancellation, of numbers of size 1: no mode agrees with another to 1e-9 of that.
        "def f(xs: [n]Real) = sum(xs - [mean(xs) for _ < n])
         def f_at = [0.1, 0.2, 0.3, 0.4, 0.7]",
        // A least squares fit that is perfect.
        "def f(a: Real, b: Real) = sum([sq(a * x + b - (0.3 * x + 0.1)) for x in [0.1, 0.2, 0.7]])
         def f_at = (0.3, 0.1)",
        // Parameters of very different size.
        "def f(a: Real, b: Real) = [a * (1.0 - exp(-b * x)) for x in [77.6, 239.9, 760.0]]
         def f_at = (238.94, 5.5e-4)",
        "def f(c: Real) = 1.0 / (1.0 + sq(c * 1e9))
         def f_at = 2e-9",
        // A kink nearby.
        "def f(x: Real) = relu(x - 1.0) + x
         def f_at = 1.0001",
    ] {
        let report = report(text);
        assert!(report.agrees(), "{text}\n{report:#?}");
    }
}

#[test]
fn where_derivatives_vanish_or_steps_must_be_small_there_is_no_false_alarm() {
    for (function, at) in [
        ("(x - 1)^2", "1.0"),
        ("sq(x - 0.3)", "0.3"),
        ("sq(x - 1e5)", "1e5"),
        ("sq(x - 0.123) + 3.0 * sq(x - 0.123)", "0.123"),
        ("(x - 0.5)^3", "0.5"),
        ("x^9", "0.0"),
        ("sq(sin(x))", "pi"),
        ("x - sin(x)", "0.0"),
        ("x - sin(x)", "1e-6"),
        ("log(x)", "1e-10"),
        ("1.0 / x", "1e-100"),
        ("sin(1e4 * x)", "7.0"),
        ("tan(x)", "1.5707"),
        ("atanh(x)", "0.99999"),
        ("x * x", "1e-30"),
        ("1e308 * x", "0.5"),
        ("if x > 0.5 then x * x else 0.0", "0.50001"),
    ] {
        let report = report(&format!("def f(x: Real) = {function}\ndef f_at = {at}"));
        assert!(report.agrees(), "{function} at {at}\n{report:#?}");
        assert_eq!(report.first.differences.rough, 0, "{function} at {at}\n{report:#?}");
    }
    // Close to where the slope is infinite, no step is small enough.
    assert!(report("def f(x: Real) = asin(x)\ndef f_at = 0.9999999").agrees());
}

#[test]
fn differences_that_say_nothing_are_counted() {
    let report = report("def f(x: Real) = x * sqrt(x + 1e-20)\ndef f_at = 0.0");
    assert!(report.first.agrees() && report.first.differences.rough > 0, "{report:#?}");
}

#[test]
fn wrong_rules_next_to_large_values_are_found() {
    for (value, rule) in [("1e6", "x * dx"), ("1e4", "x * dx"), ("0.0", "2.00001 * x * dx")] {
        let report = report(&format!(
            "def f(x: Real) = {value} + with_derivative(sq, fn (x, dx) -> (x * x, {rule}))(x)
             def f_at = 0.7"
        ));
        assert!(report.first.differences.disagreements > 0, "{value} {rule}\n{report:#?}");
    }
}

#[test]
fn what_rounding_leaves_of_larger_derivatives_is_no_disagreement() {
    for f in [
        "(x - 1.0) * (x + 1.0) - x * x",
        "x * x * x - x ^ 3",
        "sq(sin(x)) + sq(cos(x))",
        "exp(x) - exp(0.5 * x) * exp(0.5 * x)",
        "log(x * x) - 2.0 * log(x)",
        "1e6 * x - 1e6 * (x + 1e-9 * sin(x))",
        "(1.0 - cos(1e-4 * x)) / sq(1e-4 * x)",
        "sin(1e-8 * x) / x",
        "(1e8 + 0.3 * x) * (1e8 - 0.3 * x)",
        "log(exp(x - 30.0))",
        "pow(1e-9 * x * x, 0.5)",
    ] {
        let report = report(&format!("def f(x: Real) = {f}\ndef f_at = 1.7"));
        let second = report.second.as_ref().expect("second derivatives");
        assert!(report.first.modes_agree() && second.modes_agree(), "{f}: {report:#?}");
    }
}

#[test]
fn values_without_reals_have_derivatives_of_their_shape() {
    let report = report(
        "def f(u: Real) = if u > 100.0 then (Just(u), list[u]) else (Nothing, Nil)\ndef f_at = 1.5",
    );
    assert!(report.agrees(), "{report:#?}");
    assert_eq!((report.inputs, report.outputs), ((1, 1), (0, 0)));
    assert_eq!(report.first.modes.len(), 8);
    assert!(report.first.components > 0 && report.second.is_some_and(|s| s.components > 0));
    assert!(report.first.agreement.worst.is_some_and(|w| w.values.iter().all(|(_, x)| *x == 0.0)));
}

#[test]
fn a_rule_of_other_constructors_is_found() {
    let report = report(
        "def f(u: Real) = with_derivative(fn u -> Nothing, fn (u, du) -> (Just(u), Just(du)))(u)
         def f_at = 1.5",
    );
    assert_eq!(report.shapes_apart, ["forward", "pullback"]);
    assert!(!report.agrees());
}

#[test]
fn nothing_of_the_program_is_taken_for_the_prelude() {
    let report = report(
        "def grad(f) = 1.0\ndef fd = 2\ndef inner(x) = x\ndef add = 3.0\ndef scale = 4.0\ndef vjp() = ()
         def derivatives = 1\ndef jet = 2\ndef snd = 3\ndef line = 4\ndef reverse = 5\ndef forward = 6
         def f(x: Real) = sin(x) * real(line)
         def f_at = 0.5",
    );
    assert!(report.agrees(), "{report:#?}");
}

#[test]
fn the_point_decides_what_a_polymorphic_function_leaves_open() {
    let text = "type Tree[a] = Leaf(a) | Node(Tree[a], Tree[a])
         def f(t: Tree[a]) -> List[a] = case t of { Leaf(x) -> list[x] | Node(l, r) -> f(l) ++ f(r) }
         def f_at = Node(Leaf((1.0, 2)), Leaf((3.0, 4)))";
    let report = report(text);
    assert!(report.agrees(), "{report:#?}");
    assert_eq!(report.inputs, (2, 2));
}

#[test]
fn a_wrong_rule_is_found_by_differences() {
    let report = report(
        "def product(x: Real, y: Real) =
           with_derivative(fn (a, b) -> a * b, fn ((a, b), (da, db)) -> (a * b, 2.0 * a * db + b * da))(x, y)
         def f(p: {w: [n]{slope: Real, offset: Real}}) = 
           [p.w[0].slope * p.w[0].offset, product(p.w[1].slope, p.w[1].offset)]
         def f_at = {w = [{slope = 1.0, offset = 2.0}, {slope = 3.0, offset = 4.0}]}",
    );
    assert!(!report.agrees());
    assert_eq!(report.first.agreement.disagreements, 0, "{report:#?}");
    let (by, of, values) = worst(&report.first, true);
    assert_eq!((&*by, &*of), ("w[1].offset", "[1]"));
    assert!(values.iter().all(|(_, x)| *x == 6.0), "{values:?}");
    let estimate = report.first.differences.worst.and_then(|w| w.estimate).expect("an estimate");
    assert!(estimate.distance(3.0) < 1e-9, "{estimate:?}");
}

#[test]
fn a_rule_that_is_not_linear_is_refused_before() {
    let refused = refused(
        "def f(x: Real) = with_derivative(sq, fn (a, da) -> (a * a, 2.0 * a * da * da))(x)
         def f_at = 2.0",
    );
    assert_eq!(refused.iter().map(|d| d.code).collect::<Vec<_>>(), ["nonlinear-rule"]);
}

#[test]
fn a_wrong_second_derivative_is_found_by_differences_of_the_gradient() {
    let report = report(
        "def f(x: Real) = with_derivative(sin, fn (a, da) -> (sin(a), stop_gradient(cos(a)) * da))(x)
         def f_at = 0.5",
    );
    assert!(report.first.agrees(), "{report:#?}");
    let second = report.second.expect("second derivatives");
    assert!(!second.agrees(), "{second:#?}");
    let estimate = second.differences.worst.and_then(|w| w.estimate).expect("an estimate");
    assert!(estimate.distance(-0.5f64.sin()) < 1e-9, "{estimate:?}");
}

#[test]
fn a_value_that_differs_where_it_is_differentiated_is_found() {
    let report = report(
        "def f(x: Real) = with_derivative(fn a -> a, fn (a, da) -> (a + 0.001, da))(x)
         def f_at = 2.0",
    );
    assert!(!report.agrees() && report.values_apart > 1e-4, "{}", report.values_apart);
}

#[test]
fn kinks_at_the_point_are_named() {
    for (function, at, kink) in [
        ("abs(x)", "0.0", "abs(0.0)"),
        ("max(x, 2.0 * x)", "0.0", "max(0.0, 0.0)"),
        ("relu(x - 1.0)", "1.0", "0.0 > 0.0"),
        ("if x < 2.0 then 1.0 else 2.0", "2.0", "2.0 < 2.0"),
    ] {
        let report = report(&format!("def f(x: Real) = {function}\ndef f_at = {at}"));
        assert!(report.first.modes_agree(), "{function}: {report:#?}");
        assert!(report.first.differences.disagreements > 0, "{function}: {report:#?}");
        let named = report.warnings.iter().any(|d| d.code == "kink" && d.message.contains(kink));
        assert!(named, "{function}: {:#?}", report.warnings);
    }
}

#[test]
fn derivatives_that_are_not_finite_agree_with_nothing() {
    for (function, nan) in [("sqrt(x)", false), ("sqrt(x * x)", true), ("1.0 / x * 0.0", true)] {
        let report = report(&format!("def f(x: Real) = {function}\ndef f_at = 0.0"));
        assert!(!report.agrees(), "{function}: {report:#?}");
        let bad = &report.first.not_finite[0];
        assert!(bad.values.iter().all(|(_, x)| !x.is_finite() && x.is_nan() == nan), "{bad:?}");
    }
}

#[test]
fn of_large_functions_a_sample_is_compared_and_what_is_wrong_is_found_all_the_same() {
    let sample = "def f(xs: [n]Real) = [sum([sq(x) * real(j + 1) for x in xs]) for j < 100]
         def f_at = [real(i) / 100.0 for i < 2000]";
    let report = report(sample);
    assert!(report.agrees(), "{report:#?}");
    assert!(report.inputs.0 < 100 && report.inputs.1 == 2000, "{:?}", report.inputs);
    assert!(report.outputs.0 < 100 && report.outputs.1 == 100, "{:?}", report.outputs);
    let report = self::report(
        "def bad(x: Real) = with_derivative(sq, fn (a, da) -> (a * a, 3.0 * a * da))(x)
         def f(xs: [n]Real) = sum([if i == 777 then bad(x) else sin(x) for (i, x) in enumerate(xs)])
         def f_at = [2.0 + sin(real(i)) for i < 3000]",
    );
    assert_eq!(worst(&report.first, true).0, "[777]", "{report:#?}");
}

#[test]
fn gradients_and_taylor_coefficients_have_the_names_of_the_program() {
    let mut session = Session::new();
    let function = function(
        &mut session,
        "def f(p: {a: Real, b: [n]Real}) = (p.a * p.b[0], {y = [p.a ^ 3]})
         def f_at = {a = 2.0, b = [5.0, 7.0]}",
    );
    let mut differentiator =
        Differentiator::new(&session, &function, Options::default()).expect("no error");
    let point = differentiator.point().expect("no error").expect("a point");
    let gradient = differentiator.gradient(&point).expect("no error");
    let datas = &function.entry.program.datas;
    let rows: Vec<(String, String)> = gradient
        .rows
        .iter()
        .map(|(of, row)| (of.clone(), show(row, &function.from, datas)))
        .collect();
    assert_eq!(
        rows,
        [
            (".0".to_string(), "{a = 5.0, b = [2.0, 0.0]}".to_string()),
            (".1.y[0]".to_string(), "{a = 12.0, b = [0.0, 0.0]}".to_string()),
        ]
    );
    let taylor = differentiator.taylor(&point, gradient.value.clone(), 2, 2).expect("no error");
    assert_eq!(taylor.variables, ["a", "b[0]"]);
    assert_eq!(numbers(&taylor.value), [10.0, 8.0]);
    assert_eq!(taylor.indices, [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [2, 0]]);
    let rows = |(of, row): &(String, Vec<Value>)| {
        (of.clone(), row.iter().flat_map(numbers).collect::<Vec<_>>())
    };
    let results: Vec<_> = taylor.results.iter().map(rows).collect();
    assert_eq!(results[0], (".0".to_string(), vec![10.0, 2.0, 0.0, 5.0, 1.0, 0.0]));
    assert_eq!(results[1], (".1.y[0]".to_string(), vec![8.0, 0.0, 0.0, 12.0, 0.0, 12.0]));
}

#[test]
fn functions_and_points_that_do_not_fit_are_refused() {
    for (text, parts) in [
        ("def f(g: Real -> Real) = g(1.0)\ndef f_at = sin", &["`f`", "takes a function"][..]),
        ("def f(x: Real) = fn y -> x + y\ndef f_at = 1.0", &["`f`", "gives a function"]),
        ("def f = 1.0\ndef f_at = 1.0", &["`f`", "no function", "Real"]),
        ("def f(x: Real) = x\ndef f_at = (1.0, 2.0)", &["`f_at`", "(Real, Real)"]),
        ("def f(x: [3]Real) = sum(x)\ndef f_at = [1.0, 2.0]", &["`f_at`", "[2]Real"]),
        ("def f(x: List[a]) = x\ndef f_at = Nil", &["`f`", "nothing determines", "List["]),
        ("def f(x: Real) = x\ndef f_st = 1.0", &["`f_at`"]),
    ] {
        let messages = refused(text);
        let all: Vec<&str> = messages.iter().map(|d| &*d.message).collect();
        assert_eq!(messages.len(), 1, "{text}: {all:?}");
        for part in parts {
            assert!(all[0].contains(part), "{text}: no {part:?} in {all:?}");
        }
    }
    let mut session = Session::new();
    let module = session.load_text("case.deo", "def f(x: Int) = real(x)\ndef g(x: Real) = true\n");
    session.check();
    for name in ["f", "g"] {
        let function = session.differentiable(module, name, None).expect("a function");
        assert!(function.without_reals().is_some_and(|d| d.message.contains("no Real")), "{name}");
    }
}
