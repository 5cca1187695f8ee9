//! How long a call of a compiled function takes, beside one that does nothing: `cargo run --release --example call_time`.

use diffeo::{Error, Function, Program, Value};
use std::hint::black_box;
use std::time::Instant;

const TEXT: &str = "
def nothing(x: Real) -> Real = x
def scalar(x: Real, y: Real) -> Real = sin(x * y) + x ^ 3
def dotted(xs: [n]Real, ys: [n]Real) -> Real = sum([xs[i] * ys[i] for i < n])
";

/// The fastest of some rounds, in nanoseconds for a call.
fn time(mut call: impl FnMut()) -> f64 {
    let mut round = || {
        let start = Instant::now();
        (0..100_000).for_each(|_| call());
        start.elapsed().as_nanos() as f64 / 1e5
    };
    (0..10).map(|_| round()).fold(f64::INFINITY, f64::min)
}

fn main() -> Result<(), Error> {
    let program = Program::from_text("call_time.deo", TEXT)?;
    let show = |name: &str, time: f64| println!("{name:<44} {time:>8.0} ns");
    let value = |f: &Function, argument: &Value<'_>| {
        let _ = black_box(f.evaluate(black_box(argument)));
    };
    let (nothing, scalar) = (program.function("nothing")?, program.function("scalar")?);
    show(
        "a Rust function that does nothing",
        time(|| {
            let _ = black_box(black_box(0.5));
        }),
    );
    show("nothing, by call", time(|| drop(black_box(nothing.call::<f64>(0.5)))));
    show("nothing, by evaluate", time(|| value(&nothing, &Value::Real(0.5))));
    show("scalar, by call", time(|| drop(black_box(scalar.call::<f64>((0.5, 1.5))))));
    let pair = Value::Tuple(vec![0.5.into(), 1.5.into()]);
    show("scalar, by evaluate", time(|| value(&scalar, &pair)));
    let gradient = scalar.value_and_grad(&[0, 1])?;
    show("value and gradient of it, by evaluate", time(|| value(&gradient, &pair)));
    let (dotted, xs) = (program.function("dotted")?, vec![1.0; 100]);
    show(
        "a sum over 100 products, by call",
        time(|| drop(black_box(dotted.call::<f64>((&xs, &xs))))),
    );
    Ok(())
}
