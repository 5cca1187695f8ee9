//! Large programs: they are compiled in time and on a stack that do not grow with them.

use crate::agree::on;

/// The engines that compile fast.
const FAST: [&str; 2] = ["flat", "jit"];

#[test]
fn large_programs_are_lowered() {
    let mut text = "def d0(x: Real) -> Real = x + 1.0\n".to_string();
    for i in 1..10_000 {
        text += &format!("def d{i}(x: Real) -> Real = d{}(x * 1.0001) + {i}.0\n", i - 1);
    }
    text += "def main = d9999(1.0)\n";
    on(&FAST, &text, None);
    let lets: Vec<String> =
        (1..20_000).map(|i| format!("let a{i} = a{} * 0.5 + x in ", i - 1)).collect();
    on(
        &FAST,
        &format!("def f(x: Real) = let a0 = x in {}a19999\ndef main = f(2.0)\n", lets.concat()),
        None,
    );
}
