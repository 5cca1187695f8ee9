//! What value and gradient of compiled programs cost, by counting operations of Flat: at most so many times those of
//! the program and the sizes of what it takes and gives.
//!
//! | file | what is in it |
//! |---|---|
//! | `main.rs` | the corpus; every kind of programs |
//! | `costs.rs` | the counting |
//! | `kinds.deo` | programs of every kind in the corpus, with sizes |
//! | `forms.rs` | programs whose gradients a simple design makes too dear |

mod costs;
mod forms;
mod kinds;
#[path = "../support/mod.rs"]
mod support;

use costs::{costs, counted, Costs};
use diffeo::Limits;
use kinds::kinds;
use support::corpus;

/// The bar, at every size.
const MOST: f64 = 6.0;

/// The function of the corpus that has a bar of its own, by the name of its case and how it begins. Its rule solves an
/// equation by bisection, which the value does not need: the rule alone takes 1,724 operations, the value 179.
const OTHER: (&str, &str, f64) = (
    "a solution under a checkpoint, in a loop and in a rule",
    "fn (c: Real) -> with_derivative",
    10.0,
);

#[test]
fn gradients_of_the_corpus() {
    let mut all = Vec::new();
    let mut left = 0;
    for case in corpus() {
        for (f, x, _) in &case.derivatives {
            let (name, begin, most) = OTHER;
            let most = if case.name == name && f.starts_with(begin) { most } else { MOST };
            match costs([&case.text, f, x], &Limits::default()) {
                Some(costs) => all.push((costs, most, format!("{}: {f} at {x}", case.name))),
                None => left += 1,
            }
        }
    }
    all.sort_by(|a, b| b.0.ratio().total_cmp(&a.0.ratio()));
    for (costs, _, name) in &all {
        let (Costs { value, gradient, size }, ratio) = (costs, costs.ratio());
        println!("{ratio:6.2} = {gradient} / ({value} + {size}) {name:.100}");
    }
    let ratios = all.iter().filter(|(_, most, _)| *most == MOST).map(|(costs, ..)| costs.ratio());
    let largest = ratios.fold(0.0, f64::max);
    println!("{} functions, at most {largest:.2}, {left} on the evaluator", all.len());
    let wrong = all.iter().find(|(costs, most, _)| costs.ratio() > *most);
    assert!(wrong.is_none(), "{:?}", wrong.map(|(costs, _, name)| (costs.ratio(), name)));
    assert!(all.len() > 500, "{} functions", all.len());
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
