//! The memory that value and gradient of compiled programs take grows at most as their operations do.

#[path = "it/gradient_costs/costs.rs"]
mod costs;
#[path = "it/gradient_costs/kinds.rs"]
mod kinds;
#[path = "it/support/mod.rs"]
mod support;

use costs::{counted, Costs};
use diffeo::{Limits, MemoryLimit};
use diffeo_memory::Counting;
use kinds::kinds;
use std::sync::atomic::{AtomicUsize, Ordering};

#[global_allocator]
static MEMORY: Counting = Counting;

/// The most memory that was in use when the evaluator of Flat asked.
static MOST: AtomicUsize = AtomicUsize::new(0);

/// More bytes than these, times what there is more to do, are too many.
const FEW: f64 = 100_000.0;

fn in_use() -> usize {
    let now = diffeo_memory::in_use();
    MOST.fetch_max(now, Ordering::Relaxed);
    now
}

/// What a program costs, and the bytes that its gradient takes with everything around it.
fn taken(text: &[String; 3]) -> (Costs, f64) {
    let memory = MemoryLimit { bytes: usize::MAX, in_use };
    let limits = Limits { memory: Some(memory), ..Limits::default() };
    let before = diffeo_memory::in_use();
    MOST.store(before, Ordering::Relaxed);
    let costs = counted(text, &limits);
    (costs, (MOST.load(Ordering::Relaxed) - before) as f64)
}

#[test]
fn the_memory_of_gradients_grows_as_operations_do() {
    let mut wrong = Vec::new();
    for kind in kinds() {
        let [small, middle, large] = kind.sizes.map(|size| taken(&kind.of(size)));
        // The program and its code take the same in all sizes.
        let more = |(costs, bytes): &(Costs, f64)| {
            let operations = |costs: &Costs| (costs.value + costs.size) as f64;
            (operations(costs) - operations(&small.0), bytes - small.1)
        };
        let ((some, from), (many, to)) = (more(&middle), more(&large));
        let (times, from) = (many / some, from.max(FEW));
        let ratio = large.0.ratio();
        println!("{to:9.0} bytes after {from:7.0}, {times:4.1}-fold, {ratio:5.2}: {}", kind.name);
        if to > 2.0 * times * from {
            wrong.push(kind.name);
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
