//! What value and gradient of compiled programs cost, by counting operations of Flat: at most so many times those of
//! the program and the sizes of what it takes and gives.
//!
//! | file | what is in it |
//! |---|---|
//! | `mod.rs` | the corpus; every kind of programs |
//! | `costs.rs` | the counting |
//! | `kinds.deo` | programs of every kind in the corpus, with sizes |
//! | `forms.rs` | programs whose gradients a simple design makes too dear |

mod costs;
mod forms;
mod kinds;

use crate::support::{all, corpus, part_of, Case};
use costs::{costs, counted, Costs};
use diffeo::Limits;
use kinds::kinds;

/// The bar, at every size.
const MOST: f64 = 6.0;

/// The function of the corpus whose rule does other things than its value, by the name of its case and how it begins.
/// What the rule does is the program's, too: it solves an equation by bisection, in 1,724 operations of 179 and these.
const RULED: (&str, &str, &str) = (
    "a solution under a checkpoint, in a loop and in a rule",
    "fn (c: Real) -> with_derivative",
    "fn (y: Real) -> root.bisect(fn x -> x - cos(y), -1.0, 1.0)",
);

#[test]
fn gradients_of_the_corpus() {
    let mut found = Vec::new();
    let (mut left, mut ruled) = (0, 0);
    let (name, begin, rule) = RULED;
    let is_ruled = |case: &Case, f: &str| case.name == name && f.starts_with(begin);
    // Half of the functions, and all with `DIFFEO_ALL`.
    let share = if all() { 1 } else { 2 };
    for case in corpus() {
        for (f, x, _) in &case.derivatives {
            if part_of(f, share) != 0 && !is_ruled(&case, f) {
                continue;
            }
            let Some(mut costs) = costs([&case.text, f, x], &Limits::default()) else {
                left += 1;
                continue;
            };
            if is_ruled(&case, f) {
                costs.value +=
                    counted(&[&case.text, rule, x].map(str::to_string), &Limits::default()).value;
                ruled += 1;
            }
            found.push((costs, format!("{}: {f} at {x}", case.name)));
        }
    }
    found.sort_by(|a, b| b.0.ratio().total_cmp(&a.0.ratio()));
    for (costs, name) in &found {
        let (Costs { value, gradient, size }, ratio) = (costs, costs.ratio());
        println!("{ratio:6.2} = {gradient} / ({value} + {size}) {name:.100}");
    }
    let largest = found[0].0.ratio();
    println!("{} functions, at most {largest:.2}, {left} on the evaluator", found.len());
    assert!(largest <= MOST, "{}", found[0].1);
    assert_eq!(ruled, 1);
    assert!(found.len() as u64 > 500 / share, "{} functions", found.len());
}

/// The program at three sizes.
fn linear(program: &str, function: &str, point: &str) {
    let mut ratios = Vec::new();
    for n in [100, 1_000, 10_000] {
        let text = [program, function, point].map(|text| text.replace("SIZE", &n.to_string()));
        let costs = counted(&text, &Limits::default());
        let Costs { value, gradient, size } = costs;
        println!("{n}: {:.2} = {gradient} / ({value} + {size})", costs.ratio());
        ratios.push(costs.ratio());
    }
    assert!(ratios.iter().all(|r| *r <= MOST), "{ratios:?}: {program}");
}

#[test]
fn gradients_of_every_kind_at_every_size() {
    let mut wrong = Vec::new();
    for kind in kinds() {
        let all = kind.sizes.map(|size| counted(&kind.of(size), &Limits::default()));
        let ratios = all.each_ref().map(Costs::ratio);
        println!("{:6.2} {:6.2} {:6.2}  {}", ratios[0], ratios[1], ratios[2], kind.name);
        if ratios.iter().any(|ratio| *ratio > MOST) {
            wrong.push(kind.name);
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
