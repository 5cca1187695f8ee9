//! The problems of Moré, Garbow and Hillstrom for `levenberg_marquardt`, from 1, 10 and 100 times their starts. MINPACK and
//! SciPy's `trf` miss 10 each.

use crate::support::root;
use diffeo::Program;

#[test]
fn problems_of_more_garbow_and_hillstrom_end_at_their_minima() {
    let file = root().join("tests/accuracy/least_squares.deo");
    let text = std::fs::read_to_string(file).expect("least_squares.deo");
    let program = Program::from_text("least_squares.deo", &text).unwrap_or_else(|e| panic!("{e}"));
    let solved = program.function("solved").expect("a function");
    // How many are missed, and the evaluations of all, at most. Beale's function approaches its second minimum far away:
    // where the method then ends, rounding decides.
    for (times, missed, evaluations) in [(1.0, 0, 3000), (10.0, 2, 9000), (100.0, 7, 14000)] {
        let (names, looks): (Vec<String>, i64) =
            solved.call(times).unwrap_or_else(|e| panic!("{e}"));
        assert!(names.len() <= missed, "{times}: {names:?}");
        assert!(looks <= evaluations, "{times}: {looks} evaluations");
    }
}
