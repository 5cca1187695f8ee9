//! The cases of `tests/lang` on every engine: the same values, messages with places and open calls, and lines, and
//! no memory is left.
//!
//! `DIFFEO_CASE=name` runs the cases with this in their names, `DIFFEO_TARGET=jit` one engine, and
//! `DIFFEO_TELL=1` tells which case is next.

use crate::compiled::agree::{agree, SourceProgram, UNBOUNDED};
use crate::support::{all, corpus, part_of, Case};

/// How many programs a C compiler gets at a time.
const FILE: usize = 32;

/// At least so many cases have a `main` that takes no derivatives.
const LEAST: usize = 700;

/// At least so many have a form in XLA.
const LEAST_IN_XLA: usize = 900;

/// Derivatives that are long: of integrals within integrals, and of those whose jumps are followed.
pub const LONG: &[&str] = &[
    "a kink at a place that f captured, where it is cut",
    "integrate: derivatives by an exponent at a limit",
    "jumps at places that stay are no matter, whatever else varies and decides",
    "jumps by other decisions: roundings, signs, remainders, the cut of atan2, order, the library's comparisons",
    "kinks that move, for derivatives of higher orders; places where an integrand is infinitely steep",
    "over two and three coordinates, with limits that depend on the outer ones (SciPy's dblquad and tplquad)",
];

/// Cases that are left to the evaluator, by why.
const LEFT: &[(&str, &[&str])] = &[
    // Derivatives that are not made: along directions that decide at kinks. Bounds by intervals.
    // Rules of `with_derivative` that are differentiated again.
    (
        "derivative",
        &[
            "a constant that is first needed inside is a number outside",
            "a direction of another shape",
            "a rule that is wrong on purpose is differentiated as it stands",
            "a rule without derivative",
            "a straight-through estimator in every operator",
            "bounds have no derivative",
            "bounds of derivatives of every order, of closures and recursion",
            "constants of the program are computed anew, and stay numbers outside",
            "derivatives of one's own are no proof",
            "derivatives that lead up are told, and no place where steps became tiny",
            "directions of one's own",
            "jets of data",
            "jets of several variables",
            "no number between the ends",
            "one number less itself is 0, also where it is wide",
            "the bounds of a function are a value",
            "the level of a rule is that at which its argument varies in this run",
            "the mean value theorem, where it is narrower",
            "the rule's value, not the function's",
            "the shapes of a rule that captured what varies",
            "third derivatives of a rule with a slope of its own",
            "what has no end, or decides about sizes, depends on everything",
            "what is not certain has no bounds, and the program goes on",
            "with_derivative of second order",
        ],
    ),
    // Types that grow without end.
    (
        "type",
        &[
            "a type that grows by its elements",
            "a type that grows in turns, in a derivative",
            "non-regular recursion of a declared type",
        ],
    ),
    ("long", LONG),
    // Towers of derivatives, of an order that only the run knows.
    (
        "derivative-order",
        &[
            "a derivative within a recursive function of the function itself",
            "a pullback within the function that it is taken of, in one of two branches",
            "a recursive tower of derivatives",
            "constants that are functions, and refer to themselves within derivatives, are none that need themselves",
            "derivatives by the delay up to the third, where y'', y''' jump at times that move with it",
            "derivatives by the first time of an equation that depends on the time, and by time and parameter",
            "derivatives of every order by the time, between steps and at the end",
            "derivatives of the time of an event, of every order",
            "jets of several variables, of parameters and of what f captured, and of the time of an event",
            "pullbacks among the functions that they are taken of",
            "pullbacks of functions that grow as they recur",
            "second derivatives of a loss whose gradient is that of the adjoint equation",
            "the first one there",
            "the fundamental theorem",
        ],
    ),
    // What is 0 times infinity for compiled code does not matter for the evaluator, or is nan where the program looks.
    (
        "nan on an engine only",
        &[
            "a jump at a limit that is differentiated, too",
            "a jump that moves adds its height times its velocity, in reverse and forward mode, to every order",
            "a slope that vanishes",
            "a sum of equal eigenvalues has its first derivative, and no second one",
            "and its slope, where what is integrated varies, too: the integral of exp(c x) from 0 to t / c is (exp(t) - 1) / c",
            "heavy tails, far out",
            "jets at the ends of domains",
            "jumps in infinite ranges",
            "jumps where intervals meet, beside it, backwards, beside a slope, and to a coarse tolerance",
            "nor if they are equal up to rounding",
            "reasons: no lower bound, and a kink",
            "searches come back from where the function is not finite",
            "several decisions at one place that move alike",
            "symmetric functions of equal eigenvalues",
            "tangents and cotangents that are zero",
            "the quotient that a remainder leaves out is constant, also where the divisor is 0",
            "what ends where a function is not finite is told, within derivatives, too",
            "what is chosen has the derivative, not what is not",
            "where f has no finite derivative, a solution that does not need one goes on",
        ],
    ),
];

/// Their steps, which they print or name in a message, depend on the last digits.
pub const ITERATES: &[&str] = &[
    "MGH17",
    "a stiff equation takes too many steps",
    "a stiff equation given to the explicit method",
    "a stiff equation given to the explicit method, by the adjoint equation",
    "an equation that is not stiff takes too many steps",
    "a stiff solution that goes to infinity",
    "a function without a lower bound",
    "constraints that contradict each other",
    "constraints that leave the function without a lower bound",
    "a minimum without a derivative, since the constraints depend on one another",
    "Rosenbrock's valley in twenty dimensions",
    "a badly conditioned quadratic",
    "Powell's singular function, whose Hessian vanishes at the minimum",
    "a minimum at zero whose Hessian vanishes",
    "least squares without residuals left, square and with too few",
    "HS 71: two bounds, an equality and an inequality",
    "HS 43, 7, 39 and 100",
    "conjugate gradients",
    "a density without a mode",
    "fits between bounds against SciPy's least_squares: no bound holds, one, another; a parameter at a bound has no error",
    "Misra1a",
    "a linear program by records, with what its limits are worth (SciPy's linprog)",
    "an assignment of 12 to 12, degenerate, whose last equality follows from the others (SciPy's linear_sum_assignment)",
    "no minimum, from a point that fulfils the constraint",
    "constraints that contradict each other, and a bound: the least sum of what is missed, with its multipliers",
    "what falls for ever and cannot be fulfilled is infeasible",
    "a quadratic program by a least squares fit under constraints (SciPy's SLSQP)",
];

#[test]
fn the_corpus_gives_what_the_evaluator_gives() {
    let only = std::env::var("DIFFEO_CASE").ok();
    let wanted = |case: &Case| {
        case.kinks.is_none() && only.as_ref().is_none_or(|name| case.name.contains(name))
    };
    // The evaluator and `auto` take others; `DIFFEO_ALL` is for all.
    let all = only.is_some() || all();
    let share = if all { 1 } else { 4 };
    let sampled = |case: &Case| part_of(&case.name, share as u64) == 0;
    let cases: Vec<Case> =
        corpus().into_iter().filter(|case| wanted(case) && sampled(case)).collect();
    let make = |batch: usize| {
        let source = |case: &Case| SourceProgram {
            place: format!("{}:{} {}", case.file.display(), case.line, case.name),
            text: case.text.clone(),
            tolerance: if case.near.is_some() { 1e-9 } else { 1e-12 },
            scaled: false,
            lines: !ITERATES.contains(&case.name.as_str()),
        };
        cases.iter().skip(batch * FILE).take(FILE).map(source).collect()
    };
    let report = agree(cases.len().div_ceil(FILE), &make, UNBOUNDED, &|_| {});
    println!("{} cases: {:?}; {} in XLA", cases.len(), report.labels, report.stablehlo);
    let failures = &report.failures;
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    let stopped: usize =
        ["refused", "parameters", "derivative", "type", "long"].map(|l| report.of(l)).iter().sum();
    let ran = report.labels.values().sum::<usize>() - stopped;
    let mut wrong = Vec::new();
    for (why, names) in LEFT {
        let found = report.left.get(why).into_iter().flatten();
        let found: Vec<&str> = found.filter_map(|place| Some(place.split_once(' ')?.1)).collect();
        let new = found.iter().filter(|name| !names.contains(name));
        wrong.extend(new.map(|name| format!("left to the evaluator, {why}: {name}")));
        let gone = names.iter().filter(|name| only.is_none() && all && !found.contains(name));
        wrong.extend(gone.map(|name| format!("not left to the evaluator, {why}: {name}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(only.is_some() || ran >= LEAST / share, "{ran} cases were run");
    let lowered = report.stablehlo;
    assert!(
        only.is_some() || lowered >= LEAST_IN_XLA / share,
        "{lowered} cases have a form in XLA"
    );
}
