//! Every example of the repository runs and gives what it promises.

use std::path::Path;
use std::process::Command;

/// What an example gives, which is the same on the evaluator.
fn run(args: &[&str]) -> serde_json::Value {
    let result = run_on("auto", args);
    agree(&result, &run_on("interp", args), 1e-9 * largest(&result).max(1.0));
    result
}

/// The largest number of a value.
fn largest(value: &serde_json::Value) -> f64 {
    match value {
        serde_json::Value::Array(values) => values.iter().map(largest).fold(0.0, f64::max),
        serde_json::Value::Object(fields) => fields.values().map(largest).fold(0.0, f64::max),
        value => value.as_f64().map_or(0.0, f64::abs),
    }
}

/// Two values are the same but for so much in each number.
fn agree(found: &serde_json::Value, expected: &serde_json::Value, tolerance: f64) {
    match (found, expected) {
        (serde_json::Value::Array(found), serde_json::Value::Array(expected)) => {
            assert_eq!(found.len(), expected.len());
            found.iter().zip(expected).for_each(|(x, y)| agree(x, y, tolerance));
        }
        (serde_json::Value::Object(found), serde_json::Value::Object(expected)) => {
            assert!(found.keys().eq(expected.keys()));
            for ((name, x), y) in found.iter().zip(expected.values()) {
                // When an iteration ends, the last digits say.
                if name != "iterations" {
                    agree(x, y, tolerance);
                }
            }
        }
        (found, expected) if found.is_f64() && expected.is_f64() => {
            near(found, number(expected), tolerance);
        }
        (found, expected) => assert_eq!(found, expected),
    }
}

/// What an example prints as JSON on an engine.
fn run_on(engine: &str, args: &[&str]) -> serde_json::Value {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(env!("CARGO_BIN_EXE_diffeo"))
        .current_dir(root)
        .args(["run", "--json", "--engine", engine])
        .args(args)
        .output()
        .expect("the program starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {errors}");
    assert!(errors.is_empty(), "{args:?}: {errors}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn number(value: &serde_json::Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

fn near(value: &serde_json::Value, expected: f64, tolerance: f64) {
    let found = number(value);
    assert!((found - expected).abs() <= tolerance, "{found} is not {expected}");
}

#[test]
fn iris() {
    let result = run(&["examples/iris.deo", "--arg", "table=examples/data/iris.csv:skip=1"]);
    assert!(number(&result["accuracy"]) > 0.97, "{result}");
    assert!(number(&result["loss"]) < 0.07, "{result}");
}

#[test]
fn network() {
    let result = run(&["examples/network.deo"]);
    assert!(number(&result["loss"]) < 1e-4, "{result}");
}

#[test]
fn missing_data() {
    let result = run(&["examples/missing_data.deo"]);
    assert!(number(&result["loss"]) < 1e-3, "{result}");
}

#[test]
fn descend() {
    let result = run(&["examples/descend.deo"]);
    // 2 w = 6, so the model's answer at 10 is 30, and it moves by 10 / 2 with b.
    near(&result["answer"], 30.0, 1e-3);
    near(&result["sensitivity"], 5.0, 1e-2);
}

#[test]
fn quaternion() {
    let result = run(&["examples/quaternion.deo"]);
    // x component of s² v - |u|² v + 2 (u·v) u + 2 s (u × v), by hand.
    let (u, s, v) = ([1.1, 2.2, 3.3], 4.4, [5.5, 6.6, 7.7]);
    let uv: f64 = (0..3).map(|i| u[i] * v[i]).sum();
    let uu: f64 = (0..3).map(|i| u[i] * u[i]).sum();
    let value = 2.0 * uv * u[0] + (s * s - uu) * v[0] + 2.0 * s * (u[1] * v[2] - u[2] * v[1]);
    near(&result[0], value, 1e-9);
    let (dq, dv) = (&result[1][0], &result[1][1]);
    near(&dq["x"], 2.0 * v[0] * u[0] + 2.0 * uv - 2.0 * u[0] * v[0], 1e-9);
    near(&dq["y"], 2.0 * v[1] * u[0] - 2.0 * u[1] * v[0] + 2.0 * s * v[2], 1e-9);
    near(&dq["z"], 2.0 * v[2] * u[0] - 2.0 * u[2] * v[0] - 2.0 * s * v[1], 1e-9);
    near(&dq["w"], 2.0 * s * v[0] + 2.0 * (u[1] * v[2] - u[2] * v[1]), 1e-9);
    near(&dv["x"], 2.0 * u[0] * u[0] + s * s - uu, 1e-9);
    near(&dv["y"], 2.0 * u[1] * u[0] - 2.0 * s * u[2], 1e-9);
    near(&dv["z"], 2.0 * u[2] * u[0] + 2.0 * s * u[1], 1e-9);
}

#[test]
fn papers() {
    for engine in ["interp", "trace", "dual", "delta", "taylor"] {
        let result = run_on(engine, &["examples/papers.deo"]);
        near(&result["nested_sum"], 1.0, 0.0);
        near(&result["nested_call"], 1.0, 0.0);
        near(&result["doubled"], 16.0, 0.0);
        near(&result["relu"], 1.0, 0.0);
        near(&result["filled"][1], 2.0, 0.0);
        near(&result["inner_product"][1][0], 1.0, 0.0);
        near(&result["product"][1], 2.0 * 0.5f64.cos(), 1e-15);
        // Three steps of w ↦ w + 0.4 (a - 2 w), at each of which its derivative by w is 0.2.
        near(&result["descend"][1], 0.008, 1e-15);
    }
}

#[test]
fn tree() {
    let result = run(&["examples/tree.deo"]);
    near(&result["imbalance"], 0.0, 1e-6);
}

#[test]
fn lotka_volterra() {
    let result = run(&["examples/lotka_volterra.deo"]);
    near(&result["fitted"]["a"], 1.1, 1e-9);
    near(&result["fitted"]["d"], 0.4, 1e-9);
    near(&result["error"], 0.0, 1e-9);
}

/// The value is the expected one to so many relative digits.
fn same(value: &serde_json::Value, expected: f64, relative: f64) {
    near(value, expected, relative * expected.abs());
}

/// Both starts lead to the certified parameters and standard deviations of a NIST problem.
fn certified(file: &str, parameters: &[(&str, f64, f64)], sum_of_squares: f64) {
    let result = run(&[file]);
    for start in ["from_start_1", "from_start_2"] {
        let fit = &result[start];
        for (name, value, deviation) in parameters {
            same(&fit[name], *value, 1e-9);
            same(&fit["standard_deviations"][name], *deviation, 1e-6);
        }
        same(&fit["residual_sum"], sum_of_squares, 1e-9);
    }
}

#[test]
fn misra1a() {
    let parameters =
        [("b1", 2.3894212918E+02, 2.7070075241E+00), ("b2", 5.5015643181E-04, 7.2668688436E-06)];
    certified("examples/misra1a.deo", &parameters, 1.2455138894E-01);
}

#[test]
fn mgh17() {
    let parameters = [
        ("b1", 3.7541005211E-01, 2.0723153551E-03),
        ("b2", 1.9358469127E+00, 2.2031669222E-01),
        ("b3", -1.4646871366E+00, 2.2175707739E-01),
        ("b4", 1.2867534640E-02, 4.4861358114E-04),
        ("b5", 2.2122699662E-02, 8.9471996575E-04),
    ];
    certified("examples/mgh17.deo", &parameters, 5.4648946975E-05);
}

#[test]
fn digits() {
    let result = run(&["examples/digits.deo", "--arg", "table=examples/data/digits.csv.gz"]);
    assert!(number(&result["held_out_accuracy"]) > 0.93, "{result}");
    assert_eq!(result["pictures"], 599);
}

#[test]
fn pendulum() {
    let result = run(&["examples/pendulum.deo"]);
    let (length, damping) =
        (number(&result["fitted"]["length"]), number(&result["fitted"]["damping"]));
    // The measurements are a solution with 1.2 and 0.3, and noise.
    near(&result["fitted"]["length"], 1.2, 3.0 * number(&result["errors"]["length"]));
    near(&result["fitted"]["damping"], 0.3, 3.0 * number(&result["errors"]["damping"]));
    near(&result["errors"]["length"], 0.0, 0.01);
    // The noise of 21 measurements has the deviation 0.01.
    near(&result["loss"], 0.5 * 19.0 * 1e-4, 5e-4);
    near(&result["gradient"]["length"], 0.0, 1e-9);
    near(&result["gradient"]["damping"], 0.0, 1e-9);
    // The passage and its derivatives, by small steps and differences.
    let passage = |length: f64, damping: f64| {
        let f = |[x, v]: [f64; 2]| [v, -9.81 / length * x.sin() - damping * v];
        let (h, mut t, mut y) = (1e-4, 0.0, [1.0, 0.0]);
        loop {
            let k1 = f(y);
            let k2 = f([y[0] + 0.5 * h * k1[0], y[1] + 0.5 * h * k1[1]]);
            let next = [y[0] + h * k2[0], y[1] + h * k2[1]];
            if next[0] < 0.0 {
                return t + h * y[0] / (y[0] - next[0]);
            }
            (t, y) = (t + h, next);
        }
    };
    near(&result["passage"][0], passage(length, damping), 1e-6);
    let by_length = (passage(length + 0.01, damping) - passage(length - 0.01, damping)) / 0.02;
    let by_damping = (passage(length, damping + 0.01) - passage(length, damping - 0.01)) / 0.02;
    near(&result["passage"][1]["length"], by_length, 1e-4);
    near(&result["passage"][1]["damping"], by_damping, 1e-4);
}

#[test]
fn option() {
    let result = run(&["examples/option.deo"]);
    let (price, spot, strike, rate, years) = (9.5f64, 100.0f64, 105.0f64, 0.03f64, 1.0f64);
    let volatility = number(&result["volatility"]);
    let density = |x: f64| (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
    // Simpson's rule from -12.
    let normal = |x: f64| {
        let h = (x + 12.0) / 2000.0;
        let weight = |i: i32| if i == 0 || i == 2000 { 1.0 } else { f64::from(2 + 2 * (i % 2)) };
        (0..=2000).map(|i| weight(i) * density(f64::from(i) * h - 12.0)).sum::<f64>() * h / 3.0
    };
    let d1 = ((spot / strike).ln() + rate * years) / volatility + 0.5 * volatility;
    let d2 = d1 - volatility;
    let delta = normal(d1);
    let discounted = strike * (-rate * years).exp() * normal(d2);
    assert!((spot * delta - discounted - price).abs() < 1e-9, "{result}");
    let vega = spot * density(d1) * years.sqrt();
    near(&result["vega"], vega, 1e-9);
    let slopes = &result["slopes"];
    near(&slopes["price"], 1.0 / vega, 1e-12);
    near(&slopes["spot"], -delta / vega, 1e-9);
    near(&slopes["rate"], -years * discounted / vega, 1e-7);
    // The volatility does not depend on the currency, and on the unit of time by its own unit.
    let homogeneous = price * number(&slopes["price"])
        + spot * number(&slopes["spot"])
        + strike * number(&slopes["strike"]);
    assert!(homogeneous.abs() < 1e-12, "{homogeneous}");
    near(&slopes["years"], (rate * number(&slopes["rate"]) - 0.5 * volatility) / years, 1e-9);
    // The second derivative by the price, from that of the price by the volatility.
    let vomma = vega * d1 * d2 / volatility;
    near(&result["by_price"][2], -vomma / vega.powi(3), 1e-12);
    let by_spot = -(density(d1) / (spot * volatility)) / vega;
    let vanna = -density(d1) * d2 / volatility;
    let slope = number(&slopes["spot"]);
    near(
        &result["by_spot_and_rate"][0][0],
        by_spot - (2.0 * vanna * slope + vomma * slope * slope) / vega,
        1e-9,
    );
    let smile = result["smile"].as_array().expect("an array");
    assert_eq!(smile.len(), 6);
    assert!(smile.iter().all(|quote| (0.2..0.3).contains(&number(&quote[1]))), "{result}");
}

#[test]
fn gaussian_process() {
    let result = run(&["examples/gaussian_process.deo"]);
    // The maximum, and the curve there, by SciPy's Nelder-Mead method.
    near(&result["log_likelihood"], 0.5527556719253, 1e-9);
    near(&result["gradient"], 0.0, 1e-9);
    near(&result["length_scale"], 1.652881, 1e-5);
    near(&result["amplitude"], 0.820640, 1e-5);
    near(&result["noise"], 0.085418, 1e-5);
    let curve = |i: usize| &result["predictions"][i]["curve"];
    for (i, mean, sd) in
        [(0, 0.999437, 0.053296), (1, -0.378530, 0.057498), (2, 0.347568, 0.633962)]
    {
        near(&curve(i)["mean"], mean, 1e-5);
        near(&curve(i)["sd"], sd, 1e-5);
    }
}
