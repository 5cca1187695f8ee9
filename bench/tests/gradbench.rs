//! The tool for GradBench as an eval runs it: on each engine, every module's derivatives against differences of its values.

use diffeo::Cpu;
use serde_json::{json, Value as Json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A session with the tool.
struct ToolSession {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    id: u64,
}

impl ToolSession {
    fn new(engine: &str) -> ToolSession {
        ToolSession::on(engine, Cpu::default())
    }

    /// With code for a processor.
    fn on(engine: &str, cpu: Cpu) -> ToolSession {
        let mut command = Command::new(env!("CARGO_BIN_EXE_diffeo-gradbench"));
        command.args(["--engine", engine]).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.env("DIFFEO_CPU", cpu.name());
        let mut child = command.spawn().expect("the tool starts");
        let to = child.stdin.take().expect("its input");
        let from = BufReader::new(child.stdout.take().expect("its output"));
        let mut session = ToolSession { child, to, from, id: 0 };
        assert_eq!(session.send(json!({ "kind": "start" }))["tool"], "diffeo");
        session
    }

    fn send(&mut self, mut message: Json) -> Json {
        message["id"] = json!(self.id);
        writeln!(self.to, "{message}").expect("the tool reads");
        let mut line = String::new();
        self.from.read_line(&mut line).expect("the tool answers");
        let answer: Json = serde_json::from_str(&line).expect("JSON");
        assert_eq!(answer["id"], self.id, "{answer}");
        self.id += 1;
        answer
    }

    fn define(&mut self, module: &str) {
        let answer = self.send(json!({ "kind": "define", "module": module }));
        assert_eq!(answer["success"], true, "{module}: {answer}");
    }

    /// The output of a function.
    fn evaluate(&mut self, module: &str, function: &str, input: &Json) -> Json {
        let message =
            json!({ "kind": "evaluate", "module": module, "function": function, "input": input });
        let mut answer = self.send(message);
        assert_eq!(answer["success"], true, "{module} {function}: {answer}");
        answer["output"].take()
    }

    /// All numbers of an output.
    fn numbers(&mut self, module: &str, function: &str, input: &Json) -> Vec<f64> {
        let mut found = Vec::new();
        numbers(&self.evaluate(module, function, input), &mut found);
        found
    }
}

impl Drop for ToolSession {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn numbers(json: &Json, out: &mut Vec<f64>) {
    match json {
        Json::Number(x) => out.push(x.as_f64().expect("a number")),
        Json::Array(items) => items.iter().for_each(|x| numbers(x, out)),
        Json::Object(fields) => fields.values().for_each(|x| numbers(x, out)),
        other => panic!("{other} is no number"),
    }
}

/// The ways to the numbers in a part of an input.
fn ways(json: &Json, way: &str, out: &mut Vec<String>) {
    match json {
        Json::Array(items) => {
            items.iter().enumerate().for_each(|(i, x)| ways(x, &format!("{way}/{i}"), out));
        }
        _ => out.push(way.into()),
    }
}

fn changed(input: &Json, way: &str, by: f64) -> Json {
    let mut input = input.clone();
    let number = input.pointer_mut(way).expect("a way");
    *number = json!(number.as_f64().expect("a number") + by);
    input
}

/// The Jacobian of a module's function by these fields, by differences: a column for each number.
fn differences(
    session: &mut ToolSession,
    (module, function): (&str, &str),
    input: &Json,
    fields: &[&str],
) -> Vec<Vec<f64>> {
    let mut all = Vec::new();
    fields.iter().for_each(|field| ways(&input[*field], &format!("/{field}"), &mut all));
    let h = 1e-5;
    all.iter()
        .map(|way| {
            let up = session.numbers(module, function, &changed(input, way, h));
            let down = session.numbers(module, function, &changed(input, way, -h));
            up.iter().zip(&down).map(|(u, d)| (u - d) / (2.0 * h)).collect()
        })
        .collect()
}

/// Two lists of numbers are the same up to what differences leave.
fn agree(what: &str, found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let size = expected.iter().fold(1.0, |m: f64, x| m.max(x.abs()));
    for (i, (x, y)) in found.iter().zip(expected).enumerate() {
        assert!((x - y).abs() < 1e-6 * size, "{what}: number {i} is {x}, by differences {y}");
    }
}

/// The gradient of a function to a number, against differences.
fn gradient(
    session: &mut ToolSession,
    module: &str,
    names: [&str; 2],
    input: &Json,
    fields: &[&str],
) {
    session.define(module);
    let [value, derivative] = names;
    let found = session.evaluate(module, derivative, input);
    let mut list = Vec::new();
    match &found {
        // A record of gradients, in the order of the fields.
        Json::Object(by) => fields.iter().for_each(|field| numbers(&by[*field], &mut list)),
        other => numbers(other, &mut list),
    }
    let expected = differences(session, (module, value), input, fields);
    let expected: Vec<f64> =
        expected.iter().map(|column| *column.last().expect("a value")).collect();
    agree(module, &list, &expected);
}

/// Numbers between -1 and 1, of a linear congruential generator.
fn some(n: usize, seed: u64) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1u32 << 31) * 2.0 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

fn rows(n: usize, width: usize, seed: u64) -> Json {
    let data = some(n * width, seed);
    json!(data.chunks(width).collect::<Vec<_>>())
}

#[test]
fn hello() {
    each_engine(|session| {
        session.define("hello");
        assert_eq!(session.evaluate("hello", "square", &json!(3.0)), 9.0);
        assert_eq!(session.evaluate("hello", "double", &json!(9)), 18.0);
    });
}

/// Runs a test on both engines, or the one that is there.
fn each_engine(test: impl Fn(&mut ToolSession)) {
    test(&mut ToolSession::new("jit"));
    if diffeo_codegen::llvm::library().is_ok() {
        test(&mut ToolSession::new("llvm"));
    }
}

#[test]
fn gradients() {
    each_engine(|session| {
        let scalar = ["primal", "gradient"];
        gradient(session, "llsq", scalar, &json!({ "x": some(5, 1), "n": 9 }), &["x"]);
        gradient(session, "lse", scalar, &json!({ "x": some(7, 2) }), &["x"]);
        gradient(session, "det", scalar, &json!({ "A": some(49, 3), "ell": 7 }), &["A"]);
        gradient(session, "ode", scalar, &json!({ "x": some(6, 4), "s": 5 }), &["x"]);
        let (n, d, k) = (7, 3, 2);
        let gmm = json!({
            "d": d, "k": k, "n": n, "x": rows(n, d, 5), "m": 1, "gamma": 0.7, "alpha": some(k, 6),
            "mu": rows(k, d, 7), "q": rows(k, d, 8), "l": rows(k, 3, 9)
        });
        let fitted = ["alpha", "mu", "q", "l"];
        gradient(session, "gmm", ["objective", "jacobian"], &gmm, &fitted);
        let (l, b) = (2, 3);
        let lstm = json!({
            "main_params": rows(2 * l, 4 * b, 10), "extra_params": rows(3, b, 11),
            "state": rows(2 * l, b, 12), "sequence": rows(6, b, 13)
        });
        let params = ["main_params", "extra_params"];
        gradient(session, "lstm", ["objective", "jacobian"], &lstm, &params);
    });
}

/// A model of a hand, with so many bones that their sums fill vectors.
fn hand(vertices: usize) -> Json {
    let bones = 22;
    let matrix = |i: usize, j: usize| {
        json!([
            [0.8, -0.6, 0.0, i as f64 * 0.1],
            [0.6, 0.8, 0.0, j as f64 * 0.2],
            [0, 0, 1, 0.3],
            [0, 0, 0, 1]
        ])
    };
    let names: Vec<String> = (0..bones).map(|i| format!("bone{i}")).collect();
    let parents: Vec<i64> = (0..bones as i64).map(|i| if i % 4 == 1 { 0 } else { i - 1 }).collect();
    let model = json!({
        "bone_count": bones, "bone_names": names, "parents": parents,
        "base_relatives": (0..bones).map(|i| matrix(i, 1)).collect::<Vec<_>>(),
        "inverse_base_absolutes": (0..bones).map(|i| matrix(1, i)).collect::<Vec<_>>(),
        "base_positions": rows(vertices, 4, 31), "weights": rows(vertices, bones, 32),
        "triangles": [[0, 1, 2], [1, 3, 5]], "is_mirrored": false
    });
    let correspondences: Vec<usize> = (0..vertices).collect();
    json!({
        "theta": some(26, 33), "us": [],
        "data": { "model": model, "correspondences": correspondences, "points": rows(vertices, 3, 34) }
    })
}

/// Values and derivatives have the same bits for every processor whose instructions this one has, with sizes that fill
/// blocks of lanes and leave some steps.
#[test]
fn digits_do_not_depend_on_the_processor() {
    let (n, d, k) = (75, 5, 19);
    let gmm = json!({
        "d": d, "k": k, "n": n, "x": rows(n, d, 5), "m": 1, "gamma": 0.7, "alpha": some(k, 6),
        "mu": rows(k, d, 7), "q": rows(k, d, 8), "l": rows(k, d * (d - 1) / 2, 9)
    });
    let (l, b) = (2, 21);
    let lstm = json!({
        "main_params": rows(2 * l, 4 * b, 10), "extra_params": rows(3, b, 11),
        "state": rows(2 * l, b, 12), "sequence": rows(6, b, 13)
    });
    let mut cam = some(11, 16);
    cam[6] = 300.0;
    let ba = json!({
        "n": 3, "m": 5, "p": 50, "cam": cam, "x": [0.3, -0.2, 4.0], "w": 0.8, "feat": [1.5, -2.0]
    });
    let calls = [
        ("llsq", "primal", json!({ "x": some(37, 1), "n": 1001 })),
        ("llsq", "gradient", json!({ "x": some(37, 1), "n": 1001 })),
        ("lse", "primal", json!({ "x": some(1003, 2) })),
        ("lse", "gradient", json!({ "x": some(1003, 2) })),
        ("det", "gradient", json!({ "A": some(25, 3), "ell": 5 })),
        ("ode", "gradient", json!({ "x": some(45, 4), "s": 5 })),
        ("gmm", "objective", gmm.clone()),
        ("gmm", "jacobian", gmm),
        ("lstm", "objective", lstm.clone()),
        ("lstm", "jacobian", lstm),
        ("kmeans", "cost", json!({ "points": rows(201, 17, 14), "centroids": rows(7, 17, 15) })),
        ("kmeans", "dir", json!({ "points": rows(201, 17, 14), "centroids": rows(7, 17, 15) })),
        ("ba", "jacobian", ba),
        ("ht", "objective", hand(40)),
        ("ht", "jacobian", hand(40)),
        ("particle", "rf", json!({ "w": 0.0 })),
        ("saddle", "fr", json!({ "start": [1.0, 1.0] })),
    ];
    let given = |engine: &str, cpu: Cpu| {
        let mut session = ToolSession::on(engine, cpu);
        let call = |(module, function, input): &(&str, &str, Json)| {
            session.define(module);
            session.evaluate(module, function, input)
        };
        calls.iter().map(call).collect::<Vec<Json>>()
    };
    for engine in ["jit", "llvm"] {
        if engine == "llvm" && diffeo_codegen::llvm::library().is_err() {
            continue;
        }
        // A process for each, side by side.
        let cpus: Vec<Cpu> = Cpu::all().filter(|cpu| cpu.lacking().is_none()).collect();
        let results: Vec<Vec<Json>> = std::thread::scope(|scope| {
            let runs: Vec<_> = cpus.iter().map(|cpu| scope.spawn(|| given(engine, *cpu))).collect();
            runs.into_iter().map(|run| run.join().expect("the tool runs")).collect()
        });
        for (cpu, found) in cpus.iter().zip(&results) {
            for ((call, a), b) in calls.iter().zip(&results[0]).zip(found) {
                let (module, function, _) = call;
                let what = format!("{module} {function} on {engine} for {cpu}");
                assert!(a == b, "{what}: {b:.1000}, for {} {a:.1000}", cpus[0]);
            }
        }
    }
}

#[test]
fn kmeans() {
    each_engine(|session| {
        let input = json!({ "points": rows(12, 2, 14), "centroids": rows(3, 2, 15) });
        session.define("kmeans");
        let found = session.numbers("kmeans", "dir", &input);
        let mut all = Vec::new();
        ways(&input["centroids"], "/centroids", &mut all);
        let h = 1e-4;
        let mut cost =
            |by: f64, way: &str| session.numbers("kmeans", "cost", &changed(&input, way, by))[0];
        let step = |way: &String| {
            let (up, here, down) = (cost(h, way), cost(0.0, way), cost(-h, way));
            let (slope, second) = ((up - down) / (2.0 * h), (up - 2.0 * here + down) / (h * h));
            slope / second
        };
        let expected: Vec<f64> = all.iter().map(step).collect();
        agree("kmeans", &found, &expected);
    });
}

#[test]
fn bundle_adjustment() {
    each_engine(|session| {
        session.define("ba");
        let mut cam = some(11, 16);
        cam[6] = 300.0;
        let input = json!({
            "n": 1, "m": 1, "p": 1, "cam": cam, "x": [0.3, -0.2, 4.0], "w": 0.8, "feat": [1.5, -2.0]
        });
        let found = session.evaluate("ba", "jacobian", &input);
        // One observation has 31 entries, of which the protocol shows the first 30 and the last.
        let columns: Vec<usize> = (0..15).chain(0..15).chain([14]).collect();
        assert_eq!(found["cols"], json!(columns));
        let (mut vals, mut expected) = (Vec::new(), vec![Vec::new(); 2]);
        numbers(&found["vals"], &mut vals);
        for column in differences(session, ("ba", "objective"), &input, &["cam", "x", "w"]) {
            // In the order of names: the errors, how many there are, the error of the weight.
            expected[0].push(column[0]);
            expected[1].push(column[1]);
        }
        agree("ba", &vals[..30], &expected.concat());
        agree("ba", &vals[30..], &[-1.6]);
        // Of several, the structure: 15 for each row of observations, one for each of weights.
        let many = json!({
            "n": 2, "m": 3, "p": 20, "cam": cam, "x": [0.3, -0.2, 4.0], "w": 0.8, "feat": [1.5, -2.0]
        });
        let many = session.evaluate("ba", "jacobian", &many);
        let starts: Vec<usize> = (0..30).map(|i| 15 * i).chain([31 * 20]).collect();
        assert_eq!(many["rows"], json!(starts));
        assert_eq!(many["cols"][29], 22 + 9);
        assert_eq!(many["cols"][30], 22 + 9 + 19);
    });
}

/// The pages that the tool has asked the system for since it began.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn pages(session: &ToolSession) -> u64 {
    let stat =
        std::fs::read_to_string(format!("/proc/{}/stat", session.child.id())).expect("a process");
    // Behind the name, which may have spaces: the eighth number.
    let behind = stat.rsplit(')').next().expect("a name");
    behind.split_whitespace().nth(7).and_then(|x| x.parse().ok()).expect("a number of faults")
}

/// Thirty calls whose results have 5.2 MB each: fresh memory for every one would be 38,000 pages.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn results_reuse_memory() {
    let mut session = ToolSession::new("jit");
    session.define("ba");
    let mut call = |runs: usize| {
        let input = json!({
            "n": 1, "m": 1, "p": 10_000, "cam": some(11, 16), "x": [0.3, -0.2, 4.0], "w": 0.8, "feat": [1.5, -2.0],
            "min_runs": runs
        });
        let before = pages(&session);
        session.evaluate("ba", "jacobian", &input);
        pages(&session) - before
    };
    call(3);
    let found = call(30);
    assert!(found < 10_000, "{found} pages");
}

#[test]
fn hand_tracking() {
    let matrix = |shift: f64, angle: f64| {
        let (s, c) = angle.sin_cos();
        json!([
            [c, -s, 0.0, shift],
            [s, c, 0.0, 1.0],
            [0.0, 0.0, 1.0, -shift],
            [0.0, 0.0, 0.0, 1.0]
        ])
    };
    let mut positions = rows(6, 4, 17);
    for row in positions.as_array_mut().into_iter().flatten() {
        row[3] = json!(1.0);
    }
    let bones = 6;
    let all =
        |f: &dyn Fn(f64) -> Json| json!((0..bones).map(|i| f(f64::from(i))).collect::<Vec<_>>());
    let model = json!({
        "bone_count": bones, "bone_names": ["a", "b", "c", "d", "e", "f"], "parents": [-1, 0, 1, 2, 3, 0],
        "base_relatives": all(&|i| matrix(0.3 * i, 0.2)), "inverse_base_absolutes": all(&|i| matrix(-0.1, 0.1 * i)),
        "base_positions": positions, "weights": rows(6, 6, 18),
        "triangles": [[0, 1, 2], [1, 3, 5], [2, 4, 5]], "is_mirrored": true
    });
    let input = |us: Json| {
        json!({
            "theta": some(26, 19), "us": us,
            "data": { "model": model, "correspondences": [2, 0, 1, 2], "points": rows(4, 3, 20) }
        })
    };
    each_engine(|session| {
        session.define("ht");
        let simple = input(json!([]));
        let found = session.numbers("ht", "jacobian", &simple);
        let by_theta = differences(session, ("ht", "objective"), &simple, &["theta"]);
        let expected: Vec<f64> =
            (0..12).flat_map(|row| by_theta.iter().map(move |column| column[row])).collect();
        agree("ht", &found, &expected);
        let complicated = input(rows(4, 2, 21));
        let found = session.numbers("ht", "jacobian", &complicated);
        let by_us = differences(session, ("ht", "objective"), &complicated, &["us"]);
        let by_theta = differences(session, ("ht", "objective"), &complicated, &["theta"]);
        let expected: Vec<f64> = (0..12)
            .flat_map(|row| {
                let own = &by_us[row / 3 * 2..][..2];
                own.iter().chain(&by_theta).map(move |column| column[row])
            })
            .collect();
        agree("ht", &found, &expected);
    });
}

/// How far from the origin the particle of GradBench's `particle` crosses the axis, squared.
fn miss(w: f64) -> f64 {
    let (mut p, mut v) = ([0.0, 8.0], [0.75, 0.0]);
    loop {
        let mut force = [0.0; 2];
        for charge in [[10.0, 10.0 - w], [10.0, 0.0]] {
            let r = [p[0] - charge[0], p[1] - charge[1]];
            let cube = r[0].hypot(r[1]).powi(3);
            force = [force[0] - r[0] / cube, force[1] - r[1] / cube];
        }
        p = [p[0] + 0.1 * v[0], p[1] + 0.1 * v[1]];
        if p[1] <= 0.0 {
            return (p[0] - p[1] / v[1] * v[0]).powi(2);
        }
        v = [v[0] - 0.1 * force[0], v[1] - 0.1 * force[1]];
    }
}

#[test]
fn nested() {
    each_engine(|session| {
        session.define("particle");
        session.define("saddle");
        for modes in ["rr", "rf", "fr", "ff"] {
            let w = session.numbers("particle", modes, &json!({ "w": 0.0 }))[0];
            let h = 1e-3;
            assert!(miss(w) < miss(w - h) && miss(w) < miss(w + h), "{modes}: {w} is no minimum");
            let point = session.numbers("saddle", modes, &json!({ "start": [1.0, 1.0] }));
            assert_eq!(point.len(), 4, "{modes}");
            assert!(point.iter().all(|x| x.abs() < 1e-4), "{modes}: {point:?} is no saddle point");
        }
    });
}

#[test]
fn what_goes_wrong_is_told() {
    let mut session = ToolSession::new("jit");
    for module in ["nothing", "../examples/gradbench/lse", ""] {
        let answer = session.send(json!({ "kind": "define", "module": module }));
        assert_eq!(answer["success"], false, "{answer}");
    }
    session.define("lse");
    let mut refused = |function: &str, input: Json, text: &str| {
        let message =
            json!({ "kind": "evaluate", "module": "lse", "function": function, "input": input });
        let answer = session.send(message);
        assert_eq!(answer["success"], false, "{answer}");
        assert!(answer["error"].as_str().is_some_and(|e| e.contains(text)), "{answer}");
    };
    refused("hessian", json!({ "x": [1.0] }), "there is no function `hessian`");
    refused("primal", json!({ "y": [1.0] }), "`x` is missing");
    refused("primal", json!({ "x": [1.0, [2.0]] }), "1: a number is wanted, not an array");
    refused("primal", json!({ "x": [] }), "empty");
}

#[test]
fn functions_run_as_often_as_is_asked() {
    let mut session = ToolSession::new("jit");
    session.define("llsq");
    let mut count = |runs: u64, seconds: f64| {
        let input = json!({ "x": [1.0, 2.0], "n": 1000, "min_runs": runs, "min_seconds": seconds });
        let message =
            json!({ "kind": "evaluate", "module": "llsq", "function": "primal", "input": input });
        let answer = session.send(message);
        let timings = answer["timings"].as_array().expect("timings");
        let runs = timings.iter().filter(|t| t["name"] == "evaluate");
        let spent: u64 = runs.clone().filter_map(|t| t["nanoseconds"].as_u64()).sum();
        (runs.count() as u64, spent)
    };
    assert_eq!(count(5, 0.0).0, 5);
    let (runs, spent) = count(1, 0.01);
    assert!(runs > 1 && spent >= 10_000_000, "{runs} runs took {spent} ns");
}
