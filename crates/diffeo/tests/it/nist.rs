//! Least squares with certified answers: all nonlinear problems of the NIST in `tests/nist`, by `levenberg_marquardt`
//! with its usual options, from both starts. The table of what comes out is printed beside SciPy's (`cargo test … nist --
//! --nocapture`), which `tests/nist/fits.py` made.

use crate::support::{root, run_on};
use diffeo::{Engine, Kinks};

/// A model of `x` (of `x` and `z` in Nelson's data) with the parameters `b`, and how many there are.
struct Model {
    names: &'static [&'static str],
    text: &'static str,
    parameters: usize,
}

const fn model(names: &'static [&'static str], parameters: usize, text: &'static str) -> Model {
    Model { names, text, parameters }
}

const MODELS: &[Model] = &[
    model(&["Bennett5"], 3, "b[0] * pow(b[1] + x, -1.0 / b[2])"),
    model(&["BoxBOD", "Misra1a"], 2, "b[0] * (1.0 - exp(-b[1] * x))"),
    model(&["Chwirut1", "Chwirut2"], 3, "exp(-b[0] * x) / (b[1] + b[2] * x)"),
    model(&["DanWood"], 2, "b[0] * pow(x, b[1])"),
    model(
        &["ENSO"],
        9,
        "b[0] + b[1] * cos(2.0 * pi * x / 12.0) + b[2] * sin(2.0 * pi * x / 12.0) + b[4] * cos(2.0 * pi * x / b[3]) \
         + b[5] * sin(2.0 * pi * x / b[3]) + b[7] * cos(2.0 * pi * x / b[6]) + b[8] * sin(2.0 * pi * x / b[6])",
    ),
    model(&["Eckerle4"], 3, "b[0] / b[1] * exp(-0.5 * sq((x - b[2]) / b[1]))"),
    model(
        &["Gauss1", "Gauss2", "Gauss3"],
        8,
        "b[0] * exp(-b[1] * x) + b[2] * exp(-sq((x - b[3]) / b[4])) + b[5] * exp(-sq((x - b[6]) / b[7]))",
    ),
    model(
        &["Hahn1", "Thurber"],
        7,
        "(b[0] + b[1] * x + b[2] * x ^ 2 + b[3] * x ^ 3) / (1.0 + b[4] * x + b[5] * x ^ 2 + b[6] * x ^ 3)",
    ),
    model(&["Kirby2"], 5, "(b[0] + b[1] * x + b[2] * x ^ 2) / (1.0 + b[3] * x + b[4] * x ^ 2)"),
    model(
        &["Lanczos1", "Lanczos2", "Lanczos3"],
        6,
        "b[0] * exp(-b[1] * x) + b[2] * exp(-b[3] * x) + b[4] * exp(-b[5] * x)",
    ),
    model(&["MGH09"], 4, "b[0] * (x ^ 2 + x * b[1]) / (x ^ 2 + x * b[2] + b[3])"),
    model(&["MGH10"], 3, "b[0] * exp(b[1] / (x + b[2]))"),
    model(&["MGH17"], 5, "b[0] + b[1] * exp(-x * b[3]) + b[2] * exp(-x * b[4])"),
    model(&["Misra1b"], 2, "b[0] * (1.0 - (1.0 + b[1] * x / 2.0) ^ -2)"),
    model(&["Misra1c"], 2, "b[0] * (1.0 - 1.0 / sqrt(1.0 + 2.0 * b[1] * x))"),
    model(&["Misra1d"], 2, "b[0] * b[1] * x / (1.0 + b[1] * x)"),
    model(&["Nelson"], 3, "b[0] - b[1] * x * exp(-b[2] * z)"),
    model(&["Rat42"], 3, "b[0] / (1.0 + exp(b[1] - b[2] * x))"),
    model(&["Rat43"], 4, "b[0] / pow(1.0 + exp(b[1] - b[2] * x), 1.0 / b[3])"),
    model(&["Roszman1"], 4, "b[0] - b[1] * x - atan(b[2] / (x - b[3])) / pi"),
];

fn numbers(line: &str) -> Vec<f64> {
    line.split_whitespace().map(|word| word.parse().expect("a number")).collect()
}

/// The fits of a problem from both starts: for each the digits of the parameters and of their standard errors, at
/// least, and the steps.
fn fits(name: &str, model: &Model) -> Vec<Vec<f64>> {
    let file = root().join("tests/nist").join(name).with_extension("dat");
    let text = std::fs::read_to_string(file).expect("the data");
    let lines: Vec<&str> = text.lines().collect();
    let given: Vec<Vec<f64>> = lines[40..40 + model.parameters]
        .iter()
        .map(|line| numbers(line.split_once('=').expect("b = numbers").1))
        .collect();
    let column = |k: usize| given.iter().map(|row| row[k]).collect::<Vec<f64>>();
    let two = name == "Nelson";
    let data: Vec<String> = lines[60..]
        .iter()
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            let row = numbers(line);
            let z = if two { row[2] } else { 0.0 };
            format!("({:?}, {:?}, {z:?})", row[0], row[1])
        })
        .collect();
    let y = if two { "log(y)" } else { "y" };
    let program = format!(
        "import optim
def data = [{}]
def residuals(b: [{}]Real) -> []Real = [{} - {y} for (y, x, z) in data]
def digits(x: Real, right: Real) -> Real = -log10(abs(x - right) / abs(right) + 1e-11)
def fit(b: [{}]Real) =
  let r = optim.levenberg_marquardt(residuals, b) in
  [minimum(map2(digits, r.point, {:?})), minimum(map2(digits, r.standard_errors, {:?})), real(r.iterations),
   if optim.found(r.reason) then 1.0 else 0.0]
def main = [fit({:?}), fit({:?})]
",
        data.join(", "),
        model.parameters,
        model.text,
        model.parameters,
        column(2),
        column(3),
        column(0),
        column(1),
    );
    let (_, _, outcome) = run_on(&program, Kinks::Ignore, Engine::JIT);
    let value = outcome.value.unwrap_or_else(|| panic!("{name}: {:?}", outcome.diagnostics));
    let rows = value.trim_matches(['[', ']']).split("], [");
    rows.map(|row| row.split(", ").map(|x| x.parse().expect("a number")).collect()).collect()
}

/// What SciPy makes of the start of a problem, as `fits.py` wrote it.
fn of_scipy(table: &str, name: &str, start: usize) -> String {
    let row = table.lines().find_map(|line| line.strip_prefix(&format!("{name} {start} ")));
    let cells: Vec<&str> =
        row.unwrap_or_else(|| panic!("{name} {start}: no row of SciPy")).split(' ').collect();
    assert_eq!(cells.len(), 6, "{name}");
    cells.iter().map(|cell| format!("{cell:>7}")).collect()
}

#[test]
fn every_problem_of_the_nist_is_fitted_from_both_starts() {
    let mut problems: Vec<(&str, &Model)> =
        MODELS.iter().flat_map(|m| m.names.iter().map(move |name| (*name, m))).collect();
    problems.sort_unstable_by_key(|(name, _)| *name);
    assert_eq!(problems.len(), 27);
    let scipy = root().join("tests/nist/scipy.txt");
    let scipy = std::fs::read_to_string(scipy).expect("the table of SciPy");
    println!("Digits of the parameters, and of their standard errors");
    println!("problem    start  Diffeo         steps  curve_fit     least_squares exact");
    let mut wrong = Vec::new();
    for (name, model) in problems {
        for (start, row) in fits(name, model).iter().enumerate() {
            let [digits, of_errors, steps, converged] = row[..] else { panic!("{name}: {row:?}") };
            let line =
                format!("{name:<10} {:>5}  {digits:>6.1}  {of_errors:>9.1}  {steps:>5}", start + 1);
            println!("{line}{}", of_scipy(&scipy, name, start + 1));
            // The residuals of Lanczos1 are rounding of its data, and so are the standard errors.
            let least = if name == "Lanczos1" { 2.0 } else { 9.0 };
            if !(digits >= 9.0 && of_errors >= least && converged == 1.0) {
                wrong.push(line);
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
