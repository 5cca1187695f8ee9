//! `--enclose`: values and derivatives of random functions of two numbers, against their digits to 60 places
//! (`tests/accuracy/enclosures.txt`, made by the script beside it), at points and in boxes around them.

use crate::support::root;
use diffeo::differentiate::Differentiator;
use diffeo::{Interval, Kinks, Options, Program, Session};
use diffeo_calculus::eval::reals::{enclosure, interval};
use diffeo_calculus::prim::interval::Interval as Bounds;
use diffeo_calculus::show::compare_decimal;
use diffeo_calculus::value::Value;
use std::cmp::Ordering;
use std::fmt::Write;

/// The functions that are called: a nested derivative, recursion, closures in a comprehension.
const PROLOGUE: &str = "
def wave(u: Real) -> Real = grad(fn v -> v * v * sin(v))(u)
def cube(u: Real) -> Real = u ^ 3
def power(n: Int, u: Real) -> Real = if n == 0 then 1.0 else u * power(n - 1, u)
def tenth(u: Real) -> Real = power(10, u)
def chords(u: Real) -> Real = let f = fn (k: Int) -> sin(real(k) * u) in sum([f(k) for k < 4])
";

struct Known {
    text: String,
    point: [f64; 2],
    derivatives: Vec<String>,
}

/// Another table may be read, such as a larger one.
fn table() -> Vec<Known> {
    let file = std::env::var_os("DIFFEO_ENCLOSURES");
    let file = file.map_or(root().join("tests/accuracy/enclosures.txt"), Into::into);
    let text = std::fs::read_to_string(file).expect("the table");
    let known = |line: &str| {
        let parts: Vec<&str> = line.split('|').collect();
        let point: Vec<f64> =
            parts[1].split_whitespace().map(|x| x.parse().expect("a number")).collect();
        let derivatives = parts[2].split_whitespace().map(str::to_string).collect();
        Known { text: parts[0].to_string(), point: [point[0], point[1]], derivatives }
    };
    text.lines().map(known).collect()
}

fn contains(x: &Value, value: &str) -> bool {
    let x = interval(x).expect("no nan");
    let below = compare_decimal(value, x.lo()) == Some(Ordering::Less);
    let above = compare_decimal(value, x.hi()) == Some(Ordering::Greater);
    !below && !above
}

/// The value, the gradient and all derivatives up to order 2, or why there are none.
fn found(
    session: &Session,
    function: &diffeo::Differentiable,
    point: &Value,
) -> Result<(Vec<Value>, Vec<Value>), String> {
    let options = Options { kinks: Kinks::Enclose, ..Options::default() };
    let mut differentiator =
        Differentiator::new(session, function, options).map_err(|e| format!("{e:?}"))?;
    let found = differentiator.gradient(point).map_err(|d| d.code.to_string())?;
    let gradient = found.rows[0].1.fields().to_vec();
    let taylor = differentiator.taylor(point, found.value, 2, 2).map_err(|d| d.code.to_string())?;
    Ok((gradient, taylor.results[0].1.clone()))
}

#[test]
fn derivatives_of_60_digits_lie_in_their_enclosures() {
    let table = table();
    let mut text = PROLOGUE.to_string();
    for (i, Known { text: body, .. }) in table.iter().enumerate() {
        writeln!(text, "def f{i}(x: Real, y: Real) -> Real = {body}").expect("memory");
    }
    let mut session = Session::new();
    let module = session.load_text("enclosures.deo", &text);
    session.check();
    let (mut points, mut boxes, mut narrow) = (0, 0, 0);
    for (i, Known { text, point, derivatives }) in table.iter().enumerate() {
        let function = session.differentiable(module, &format!("f{i}"), None);
        let function =
            function.unwrap_or_else(|| panic!("{text}: {:?}", session.take_diagnostics()));
        for radius in [0.0, 1e-9, 1e-3] {
            let around = |x: f64| enclosure(Bounds::new(x - radius, x + radius).expect("numbers"));
            let at = Value::tuple(point.map(around));
            let (gradient, all) = match found(&session, &function, &at) {
                Ok(found) => found,
                Err(code) => {
                    assert_eq!(code, "outside-domain", "{text} at {point:?} ± {radius}");
                    continue;
                }
            };
            for (x, value) in all.iter().zip(derivatives) {
                assert!(contains(x, value), "{text} at {point:?} ± {radius}: {value} not in {x:?}");
            }
            // The first derivatives by x and by y.
            for (x, value) in gradient.iter().zip([&derivatives[3], &derivatives[1]]) {
                assert!(contains(x, value), "{text} at {point:?} ± {radius}: {value} not in {x:?}");
            }
            match radius {
                0.0 => points += 1,
                _ => boxes += 1,
            }
            let wide = all.iter().any(|x| {
                let x = interval(x).expect("no nan");
                let size = x.lo().abs().max(x.hi().abs()).max(1e-3);
                x.hi() - x.lo() > 1e-9 * size
            });
            narrow += usize::from(radius == 0.0 && !wide);
        }
    }
    println!("{points} points, {narrow} of them to 9 digits, {boxes} boxes, of {}", table.len());
    assert!(
        points * 100 >= table.len() * 95 && boxes * 10 >= table.len() * 12,
        "{points}, {boxes}"
    );
    assert!(narrow * 10 >= points * 9, "only {narrow} of {points}");
}

#[test]
fn hosts_have_functions_of_intervals() {
    let text = "def f(x: Real, ys: []Real) = x * sum(ys)
                def rows(x: Real) = [[x, 1.0], [2.0, 3.0]]
                def wrong(x: Real) = if x < 1.0 then x else 2.0";
    let program = Program::from_text("f.deo", text).expect("a program");
    let f = program.enclose("f").expect("a function");
    let x = Interval { lo: 1.0, hi: 2.0 };
    let y: Interval = f.call((x, vec![x, Interval { lo: 0.5, hi: 0.5 }])).expect("a value");
    assert_eq!(y, Interval { lo: 1.5, hi: 5.0 });
    let exact: f64 = f.call((2.0, [0.5, 0.25])).expect("a value");
    assert_eq!(exact, 1.5);
    let slope: Interval = f.grad(&[0]).expect("a gradient").call((2.0, [x])).expect("a value");
    assert_eq!(slope, x);
    let rows: Vec<Vec<Interval>> = program.enclose("rows").expect("rows").call(x).expect("rows");
    assert_eq!((rows[0][0], rows[1][1].lo), (x, 3.0));
    let wrong = program.enclose("wrong").expect("a function");
    let open = Interval { lo: 0.5, hi: 1.5 };
    let error = wrong.call::<Interval>(open).expect_err("not decided");
    assert!(error.messages.iter().any(|m| m.code == "undecided"), "{error}");
    for engine in [diffeo::Engine::Auto, diffeo::Engine::Reference] {
        let options = diffeo::HostOptions { engine, ..Default::default() };
        let f = program.function_with("wrong", options).expect("a function");
        let error = f.call::<f64>(x).expect_err("no intervals");
        assert!(error.to_string().contains("interval"), "{error}");
    }
}

/// The mean value theorem makes bounds narrower, also of gradients, and does not trust what may be no derivative.
#[test]
fn bounds_of_whole_functions_use_their_derivatives() {
    let text = "def parabola(x: Real) = x * (1.0 - x)
                def both(x: Real, y: Real) = (x * (1.0 - y) - y * x, [y * (x - y)])
                def still(x: Real) = stop_gradient(x * (1.0 - x))
                def ruled(x: Real) = with_derivative(fn x -> x * (1.0 - x), fn (x, dx) -> (x, 0.0 * dx))(x)";
    let program = Program::from_text("f.deo", text).expect("a program");
    let x = Interval { lo: 0.25, hi: 0.3125 };
    let of = |name: &str| program.enclose(name).expect(name).call::<Interval>(x).expect("bounds");
    assert_eq!(of("parabola"), Interval { lo: 0.1865234375, hi: 0.2177734375 });
    for name in ["still", "ruled"] {
        assert_eq!(of(name), Interval { lo: 0.171875, hi: 0.234375 }, "{name}");
    }
    let y = Interval { lo: 0.5, hi: 0.625 };
    let (first, second): (Interval, Vec<Interval>) =
        program.enclose("both").expect("both").call((x, y)).expect("bounds");
    // x (1 - 2 y) and y (x - y), at the corners.
    assert!(-0.15 < first.lo && first.lo <= -0.078125 && 0.0 <= first.hi && first.hi < 0.05);
    let second = second[0];
    assert!(second.lo <= -0.234375 && -0.28 < second.lo && -0.09375 <= second.hi);
    assert!(second.hi < -0.05);
    let slope = program.enclose("parabola").expect("parabola").grad(&[0]).expect("a gradient");
    assert_eq!(slope.call::<Interval>(x).expect("bounds"), Interval { lo: 0.375, hi: 0.5 });
}

#[test]
fn solutions_are_proved_and_minima_certified() {
    for file in ["roots.deo", "minima.deo"] {
        let text = std::fs::read_to_string(root().join("tests/accuracy").join(file)).expect(file);
        let program = Program::from_text(file, &text).unwrap_or_else(|e| panic!("{file}: {e}"));
        let failed = program.function("failed").expect("a function");
        let failed = failed.evaluate(&diffeo::Value::Unit);
        let failed = failed.unwrap_or_else(|e| panic!("{file}: {e}")).elements().expect("a list");
        assert!(failed.is_empty(), "{file}: {failed:?}");
    }
}
