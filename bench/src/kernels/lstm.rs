//! The recurrent network.

use crate::case::OwnedValue;
use crate::case::{CaseArray, Kernel, KernelCase};
use crate::kernels::small::derivative;
use crate::random::Random;

/// The loss on a text.
pub const LSTM: Kernel = Kernel {
    name: "lstm",
    program: "examples/gradbench/lstm.deo",
    entry: "objective",
    argument,
    parameters: &["main_params", "extra_params"],
    rust: None,
    cases,
};

derivative! {
    /// Its gradient.
    GRADIENT "lstm_gradient" LSTM "jacobian", |case: &KernelCase| {
        ["weights", "biases", "extra"].iter().map(|name| case.reals(name).len()).sum()
    }
}

fn cases(quick: bool) -> Vec<KernelCase> {
    if quick {
        return vec![case("l=2 c=10 b=14", 2, 10, 14), case("l=1 c=5 b=8", 1, 5, 8)];
    }
    vec![case("l=2 c=1024 b=14", 2, 1_024, 14), case("l=4 c=4096 b=14", 4, 4_096, 14)]
}

/// l layers read a text of c characters of b bits.
fn case(label: &str, l: usize, c: usize, b: usize) -> KernelCase {
    let mut random = Random::new(4);
    let arrays = vec![
        CaseArray::reals("weights", &[l, 4, b], random.between(0.0, 1.0, 4 * l * b)),
        CaseArray::reals("biases", &[l, 4, b], random.between(0.0, 1.0, 4 * l * b)),
        CaseArray::reals("extra", &[3, b], random.between(0.0, 1.0, 3 * b)),
        CaseArray::reals("hidden", &[l, b], random.between(0.0, 1.0, l * b)),
        CaseArray::reals("cell", &[l, b], random.between(0.0, 1.0, l * b)),
        CaseArray::reals("sequence", &[c, b], (0..c * b).map(|_| random.below(2) as f64).collect()),
    ];
    let sizes = vec![l as i64, c as i64, b as i64];
    KernelCase { label: label.into(), sizes, arrays, results: 1 }
}

/// Weights and biases, and hidden states and cells, in turn: a row of each for each layer.
fn argument(case: &KernelCase) -> OwnedValue {
    let (l, b) = (case.sizes[0] as usize, case.sizes[2] as usize);
    let in_turn = |first: &str, second: &str, width: usize| {
        let rows = case.reals(first).chunks(width).zip(case.reals(second).chunks(width));
        let data: Vec<f64> = rows.flat_map(|(a, b)| [a, b].concat()).collect();
        CaseArray::reals("", &[2 * l, width], data).value()
    };
    OwnedValue::record([
        ("main_params", in_turn("weights", "biases", 4 * b)),
        ("extra_params", case.array("extra").value()),
        ("state", in_turn("hidden", "cell", b)),
        ("sequence", case.array("sequence").value()),
    ])
}
