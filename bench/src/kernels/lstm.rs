//! The recurrent network.

use crate::case::Value;
use crate::case::{Array, Case, Kernel};
use crate::random::Random;

/// The loss on a text.
pub const LSTM: Kernel =
    Kernel { name: "lstm", argument, parameters: &["layers", "extra"], rust: None, cases };

fn cases(quick: bool) -> Vec<Case> {
    if quick {
        return vec![case("l=2 c=10 b=14", 2, 10, 14), case("l=1 c=5 b=8", 1, 5, 8)];
    }
    vec![case("l=2 c=1024 b=14", 2, 1_024, 14), case("l=4 c=4096 b=14", 4, 4_096, 14)]
}

/// l layers read a text of c characters of b bits.
fn case(label: &str, l: usize, c: usize, b: usize) -> Case {
    let mut random = Random::new(4);
    let arrays = vec![
        Array::reals("weights", &[l, 4, b], random.between(0.0, 1.0, 4 * l * b)),
        Array::reals("biases", &[l, 4, b], random.between(0.0, 1.0, 4 * l * b)),
        Array::reals("extra", &[3, b], random.between(0.0, 1.0, 3 * b)),
        Array::reals("hidden", &[l, b], random.between(0.0, 1.0, l * b)),
        Array::reals("cell", &[l, b], random.between(0.0, 1.0, l * b)),
        Array::reals("sequence", &[c, b], (0..c * b).map(|_| random.below(2) as f64).collect()),
    ];
    let sizes = vec![l as i64, c as i64, b as i64];
    Case { label: label.into(), sizes, arrays, results: 1 }
}

fn argument(case: &Case) -> Value {
    let b = case.sizes[2] as usize;
    let rows = |names: &[&'static str], data: &[f64]| {
        Value::record(names.iter().copied().zip(data.chunks(b).map(|row| row.to_vec().into())))
    };
    let gates = |data: &[f64]| rows(&["forget", "ingate", "outgate", "change"], data);
    let layers = case.reals("weights").chunks(4 * b).zip(case.reals("biases").chunks(4 * b));
    let layers = layers
        .map(|(weight, bias)| Value::record([("weight", gates(weight)), ("bias", gates(bias))]));
    let states = case.reals("hidden").chunks(b).zip(case.reals("cell").chunks(b));
    let states = states.map(|(hidden, cell)| {
        Value::record([("hidden", hidden.to_vec().into()), ("cell", cell.to_vec().into())])
    });
    Value::record([
        ("layers", Value::Array(layers.collect())),
        ("extra", rows(&["in_weight", "out_weight", "out_bias"], case.reals("extra"))),
        ("states", Value::Array(states.collect())),
        ("sequence", case.array("sequence").value()),
    ])
}
