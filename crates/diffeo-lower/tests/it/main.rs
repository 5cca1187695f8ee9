//! Compiled code leaves to the evaluator whatever the table of operations reports.

#[path = "../../src/kinks/table.rs"]
mod table;

use diffeo_calculus::prim::real::{row, ALL};
use diffeo_calculus::prim::Comparison;
use table::{tests, Test};

fn compares(c: Comparison, x: f64, y: f64) -> bool {
    match c {
        Comparison::Eq => x == y,
        Comparison::Ne => x != y,
        Comparison::Lt => x < y,
        Comparison::Le => x <= y,
        Comparison::Gt => x > y,
        Comparison::Ge => x >= y,
    }
}

fn holds(test: Test, a: f64, b: f64) -> bool {
    match test {
        Test::First(c, x) => compares(c, a, x),
        Test::Second(c, x) => compares(c, b, x),
        Test::Size(c, x) => compares(c, a.abs(), x),
        Test::Zeros => a == 0.0 && b == 0.0,
        Test::Equal => a == b,
        Test::Divides => a % b == 0.0,
    }
}

#[test]
fn nothing_that_the_table_reports_is_missed() {
    let numbers = [
        0.0,
        -0.0,
        0.5,
        -0.5,
        1.0,
        -1.0,
        1.5,
        -1.5,
        2.0,
        -2.0,
        3.0,
        -3.0,
        1e300,
        -1e300,
        5e-324,
        -5e-324,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    let (mut met, mut free) = (0, 0);
    for op in ALL.iter().copied() {
        for (a, b) in numbers.iter().flat_map(|a| numbers.map(|b| (*a, b))) {
            let (outside, kink) = tests(op);
            let found = |test: Option<Test>| test.is_some_and(|test| holds(test, a, b));
            assert!(!(row(op).outside)(a, b) || found(outside), "{op:?} {a} {b}");
            for active in [[true, false], [false, true], [true, true]] {
                let reported = !(row(op).outside)(a, b) && (row(op).kink)(a, b, active);
                assert!(!reported || found(outside) || found(kink), "{op:?} {a} {b}");
                met += u32::from(reported);
            }
            free += u32::from(!found(outside) && !found(kink));
        }
    }
    assert!(met > 500 && free > 5000, "{met} {free}");
}
