//! The memory that value and gradient of compiled programs take grows at most as their operations do.

#[path = "it/gradient_costs/costs.rs"]
mod costs;
#[path = "it/gradient_costs/kinds.rs"]
mod kinds;
#[path = "it/support/mod.rs"]
mod support;

use costs::{counted, Costs};
use diffeo::{Engine, HostOptions, Limits, MemoryLimit, Program, Value};
use diffeo_memory::Counting;
use kinds::kinds;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

#[global_allocator]
static MEMORY: Counting = Counting;

/// The most memory that was in use when the evaluator of Flat asked.
static MOST: AtomicUsize = AtomicUsize::new(0);

/// Held by the test that measures.
static ALONE: Mutex<()> = Mutex::new(());

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
    let _alone = ALONE.lock().expect("the other test passes");
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

/// Calls from Rust begin again with checkpoints where a loop would keep more than an eighth of the memory, and print once.
#[test]
fn gradients_called_from_rust_keep_to_the_bound() {
    let _alone = ALONE.lock().expect("the other test passes");
    let text = "
def f(x: Real, n: Int) -> Real =
  let x = trace(\"from\", x) in
  loop x = x for i < n do x + 1e-6 * sin(x) * exp(-x)
";
    let program = Program::from_text("p.deo", text).expect("a program");
    let steps = 4_000_000;
    let argument = Value::Tuple(vec![0.5.into(), Value::Int(steps)]);
    let gradient = program.function("f").and_then(|f| f.grad(&[0])).expect("a gradient");
    for engine in [Engine::JIT, Engine::Auto] {
        let taken = |bytes: usize| {
            let lines = Arc::new(AtomicUsize::new(0));
            let counter = lines.clone();
            let before = diffeo_memory::in_use();
            let options = HostOptions {
                engine,
                memory: Some(MemoryLimit { bytes: before + bytes, in_use: diffeo_memory::in_use }),
                trace: Some(Arc::new(move |_| _ = counter.fetch_add(1, Ordering::Relaxed))),
                ..HostOptions::default()
            };
            let gradient = gradient.with(options).expect("the engine");
            // What compilers take is not of the run.
            gradient.prepare();
            diffeo_memory::reset_peak();
            let before = diffeo_memory::in_use();
            let slope: f64 = gradient.call(&argument).expect("a gradient");
            assert_eq!(lines.load(Ordering::Relaxed), 1);
            (slope, diffeo_memory::peak().saturating_sub(before))
        };
        let ((whole, most), (cut, least)) = (taken(2 << 30), taken(64 << 20));
        assert_eq!(whole.to_bits(), cut.to_bits());
        assert!(most > 8 * steps as usize && least < 20 << 20, "{most} and {least} bytes");
    }
}
