//! The interval extensions of the operations on Reals: they contain values of 60 digits (`tests/accuracy/intervals.txt`,
//! made by the script beside it), at points and over boxes, and are as narrow at points as is stated.

use diffeo_calculus::prim::interval::{enclose, power_int, Interval, Uncertain};
use diffeo_calculus::prim::real::{row, PLAIN};
use diffeo_calculus::prim::RealOp;
use diffeo_calculus::show::compare_decimal;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::path::Path;

struct Known {
    operands: Vec<f64>,
    value: String,
}

/// Another table may be read, such as a larger one.
fn table() -> BTreeMap<String, Vec<Known>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/accuracy/intervals.txt");
    let file = std::env::var_os("DIFFEO_INTERVALS").map_or(here, Into::into);
    let text = std::fs::read_to_string(file).expect("the table");
    let mut table: BTreeMap<String, Vec<Known>> = BTreeMap::new();
    let mut name = String::new();
    for line in text.lines() {
        if let Some(next) = line.strip_prefix("= ") {
            name = next.to_string();
            continue;
        }
        let (operands, value) = line.split_once('|').expect("operands | value");
        let operands = operands.split_whitespace().map(|x| x.parse().expect("a number")).collect();
        let known = Known { operands, value: value.trim().to_string() };
        table.entry(name.clone()).or_default().push(known);
    }
    table
}

fn operation(name: &str) -> RealOp {
    match name {
        "digamma" => RealOp::Polygamma(0),
        "trigamma" => RealOp::Polygamma(1),
        "tetragamma" => RealOp::Polygamma(2),
        _ => *PLAIN.iter().find(|op| row(**op).symbol == name).unwrap_or_else(|| panic!("{name}")),
    }
}

fn contains(x: Interval, value: &str) -> bool {
    // The number next to the value is one of the others.
    if value.parse().is_ok_and(|v: f64| x.lo() < v && v < x.hi()) {
        return true;
    }
    let below = compare_decimal(value, x.lo()) == Some(Ordering::Less);
    let above = compare_decimal(value, x.hi()) == Some(Ordering::Greater);
    !below && !above
}

fn point(x: f64) -> Interval {
    Interval::point(x).expect("a number")
}

/// The width of an interval, in numbers of 64 bits.
fn width(x: Interval) -> u64 {
    let place = |x: f64| {
        let bits = x.to_bits() as i64;
        if bits < 0 {
            i64::MIN - bits
        } else {
            bits
        }
    };
    place(x.hi()).wrapping_sub(place(x.lo())) as u64
}

/// So many numbers wide an operation is at a point; none if that is relative to other things.
fn widest(op: RealOp) -> Option<u64> {
    match op {
        RealOp::Neg | RealOp::Abs | RealOp::Sign | RealOp::Min | RealOp::Max | RealOp::Rem => {
            Some(0)
        }
        RealOp::Add | RealOp::Sub | RealOp::Mul | RealOp::Div | RealOp::Sqrt => Some(2),
        RealOp::Lgamma => Some(128),
        RealOp::Polygamma(_) | RealOp::Softplus | RealOp::OneMinusSquare => None,
        RealOp::Sigmoid | RealOp::Sech | RealOp::Unit => Some(24),
        _ => Some(8),
    }
}

#[test]
fn values_of_60_digits_lie_in_narrow_intervals_at_points() {
    let table = table();
    for op in PLAIN {
        assert!(table.contains_key(row(*op).symbol), "{op:?} has no values");
    }
    let mut tested = 0;
    for (name, known) in table {
        let op = operation(&name);
        for Known { operands, value } in known {
            let [a, b] = [operands[0], operands.get(1).copied().unwrap_or(0.0)];
            match enclose(op, point(a), point(b)) {
                Ok(found) => {
                    let (lo, hi) = (found.lo(), found.hi());
                    assert!(
                        contains(found, &value),
                        "{name}{operands:?} = {value} not in {lo:e}..{hi:e}"
                    );
                    let narrow = widest(op).is_none_or(|most| width(found) <= most);
                    assert!(narrow, "{name}{operands:?} = {lo:e}..{hi:e} is {} wide", width(found));
                    tested += 1;
                }
                // Values where the table has a limit, or a convention.
                Err(why) => {
                    let accepted = why == Uncertain::Outside && (a == 0.0 || b == 0.0)
                        || why == Uncertain::Unknown && op == RealOp::Lgamma
                        || matches!(op, RealOp::Polygamma(_));
                    assert!(accepted, "{name}{operands:?} = {value}: {why:?}");
                }
            }
        }
    }
    assert!(tested > 2000, "only {tested}");
}

#[test]
fn values_over_boxes_lie_in_their_intervals() {
    let mut tested = 0;
    for (name, mut known) in table() {
        let op = operation(&name);
        known.sort_by(|a, b| a.operands[0].total_cmp(&b.operands[0]));
        for (i, first) in known.iter().enumerate() {
            for last in known.iter().skip(i).step_by(3).take(6) {
                let ends = |k: usize| {
                    let [x, y] = [first, last].map(|p| p.operands.get(k).copied().unwrap_or(0.0));
                    Interval::new(x.min(y), x.max(y)).expect("numbers")
                };
                let [a, b] = [ends(0), ends(1)];
                let Ok(found) = enclose(op, a, b) else { continue };
                for Known { operands, value } in &known {
                    let second = operands.get(1).copied().unwrap_or(0.0);
                    if a.contains(operands[0]) && b.contains(second) {
                        let (lo, hi) = (found.lo(), found.hi());
                        assert!(
                            contains(found, value),
                            "{name}{operands:?} = {value} not in {lo:e}..{hi:e}, of {a:?}, {b:?}"
                        );
                        tested += 1;
                    }
                }
            }
        }
    }
    assert!(tested > 10_000, "only {tested}");
}

#[test]
fn extrema_within_an_interval_are_found() {
    let of = |op, lo, hi| {
        let y = enclose(op, Interval::new(lo, hi).expect("numbers"), point(0.0)).expect("a value");
        (y.lo(), y.hi())
    };
    assert_eq!(of(RealOp::Sin, 1.0, 2.0).1, 1.0);
    assert_eq!(of(RealOp::Sin, 4.0, 5.0).0, -1.0);
    assert_eq!(of(RealOp::Cos, -1.0, 0.5).1, 1.0);
    assert_eq!(of(RealOp::Cos, 0.0, 100.0), (-1.0, 1.0));
    assert_eq!(of(RealOp::Abs, -2.0, 1.0), (0.0, 2.0));
    assert_eq!(of(RealOp::Cosh, -1.0, 1.0).0, 1.0);
    assert_eq!(of(RealOp::OneMinusSquare, -2.0, 1.0), (-3.0, 1.0));
    assert!(of(RealOp::Lgamma, 1.0, 2.0).0 < -0.1214);
    assert!(of(RealOp::Sech, -1.0, 1.0).1 >= 1.0);
    assert_eq!(of(RealOp::Sin, 1e22, 1e22 + 1e10), (-1.0, 1.0));
    let square = power_int(Interval::new(-3.0, 2.0).expect("numbers"), 2).expect("a value");
    assert_eq!((square.lo(), square.hi()), (0.0, 9.0));
}

#[test]
fn operands_outside_a_domain_have_no_values() {
    let interval = |lo, hi| Interval::new(lo, hi).expect("numbers");
    for (op, a, b) in [
        (RealOp::Div, interval(1.0, 2.0), interval(-1.0, 1.0)),
        (RealOp::Log, interval(0.0, 1.0), point(0.0)),
        (RealOp::Sqrt, interval(-1e-300, 1.0), point(0.0)),
        (RealOp::Tan, interval(1.0, 2.0), point(0.0)),
        (RealOp::Asin, interval(0.5, 1.5), point(0.0)),
        (RealOp::Atanh, interval(0.5, 1.0), point(0.0)),
        (RealOp::Pow, interval(-1.0, 1.0), point(0.5)),
        (RealOp::Pow, interval(-1.0, 1.0), point(-2.0)),
        (RealOp::Rem, interval(1.0, 2.0), interval(0.0, 1.0)),
        (RealOp::Lgamma, interval(-0.5, 1.0), point(0.0)),
        (RealOp::Sub, point(f64::INFINITY), point(f64::INFINITY)),
        (RealOp::Mul, point(f64::INFINITY), interval(0.0, 1.0)),
        (RealOp::Unit, interval(-1.0, 1.0), interval(0.0, 1.0)),
    ] {
        assert!(enclose(op, a, b).is_err(), "{op:?} of {a:?}, {b:?}");
    }
}
