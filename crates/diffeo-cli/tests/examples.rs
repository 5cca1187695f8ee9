//! Every example of the repository runs and gives what it promises.

use std::path::Path;
use std::process::Command;

/// What an example prints as JSON.
fn run(args: &[&str]) -> serde_json::Value {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(env!("CARGO_BIN_EXE_diffeo"))
        .current_dir(root)
        .arg("run")
        .args(args)
        .arg("--json")
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
    assert!(number(&result["accuracy"]) > 0.95, "{result}");
    assert!(number(&result["loss"]) < 0.2, "{result}");
}

#[test]
fn network() {
    let result = run(&["examples/network.deo"]);
    assert!(number(&result["loss"]) < 0.01, "{result}");
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
