//! `diffeo sample`: tables, JSON, files, and what is refused.

use crate::common::Folder;

const MODEL: &str = "\
import bayes
import random
import stats (normal_logpdf, normal_sample)

def parameters({y}: {y: [n]Real}) = {mean = bayes.Free, sd = bayes.Positive, effects = bayes.Array(length(y), bayes.Free)}
def log_density({mean, sd, effects}: {mean: Real, sd: Real, effects: [n]Real}, {y, sigma}: {y: [n]Real, sigma: [n]Real}) -> Real =
  normal_logpdf(mean, 0.0, 5.0) - sd + sum([normal_logpdf(e, 0.0, 1.0) for e in effects])
  + sum([normal_logpdf(y[i], mean + sd * effects[i], sigma[i]) for i < n])
def replicate({mean}: {mean: Real, sd: Real, effects: [n]Real}, {more}: {more: Int}, key: random.Key) =
  {fresh = [normal_sample(mean, 1.0, k) for k in random.split_many(more, key)]}
def one = {x = bayes.Free}
def nowhere({x}: {x: Real}) -> Real = sqrt(x - 10.0)
def slow({x}: {x: Real}) -> Real =
  let y = stop_gradient(x) in 0.0 * (loop s = 0.0 for i < 1000000000 do s + sin(s + y)) - x * x
def flat({x}: {x: Real}) -> Real = 1e-12 * sin(x)
def number(x: Real) -> Real = x
";

const Y: &str = "y=[1, 2, 3]";
const SIGMA: &str = "sigma=[1, 1, 2]";

fn folder() -> Folder {
    Folder::new().with("m.deo", MODEL)
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn a_table_of_all_parameters() {
    let folder = folder();
    let done = folder.run(&["sample", "m.deo", "--arg", Y, "--arg", SIGMA, "--draws", "300"]);
    assert_eq!(done.status, 0, "{}", done.err);
    let lines: Vec<&str> = done.out.lines().collect();
    let head: Vec<&str> = lines[0].split_whitespace().collect();
    assert_eq!(head, ["mean", "mcse", "sd", "5%", "50%", "95%", "ess_bulk", "ess_tail", "r_hat"]);
    let names: Vec<&str> =
        lines[1..6].iter().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, ["effects[0]", "effects[1]", "effects[2]", "mean", "sd"]);
    assert!(lines[7].starts_with("1200 draws of 4 chains, seed 0: "), "{}", lines[7]);
    // The same again, with other threads.
    let again = folder.run(&[
        "sample",
        "m.deo",
        "--arg",
        Y,
        "--arg",
        SIGMA,
        "--draws",
        "300",
        "--threads",
        "1",
    ]);
    assert_eq!(again.out, done.out);
}

#[test]
fn the_table_shows_what_is_asked_for() {
    let folder = folder();
    let shown = |names: &str| {
        let args = ["sample", "m.deo", "--arg", Y, "--arg", SIGMA, "--draws", "100"];
        let done = folder.run(&[&args[..], &["--show", names]].concat());
        let rows = done.out.lines().skip(1).take_while(|line| !line.is_empty());
        let name = |line: &str| line.split(' ').next().unwrap_or_default().to_string();
        (rows.map(name).collect::<Vec<_>>().join(" "), done.err)
    };
    assert_eq!(shown("effects").0, "effects[0] effects[1] effects[2]");
    assert_eq!(shown("sd,effects[1]").0, "effects[1] sd");
    let (rows, told) = shown("effect,mean");
    assert_eq!(rows, "mean");
    assert!(told.contains("`--show effect`: no parameter or prediction has this name"), "{told}");
    assert!(told.contains("did you mean `effects`?"), "{told}");
}

/// The draws, of the sampler and of approximations, have the same digits for every processor whose instructions this one
/// has.
#[test]
fn draws_do_not_depend_on_the_processor() {
    let folder = folder();
    let y = format!("y={:?}", (0..40).map(|i| f64::from(i * 7 % 11)).collect::<Vec<_>>());
    let sigma = format!("sigma={:?}", (0..40).map(|i| 1.0 + f64::from(i % 3)).collect::<Vec<_>>());
    for engine in ["jit", "llvm"] {
        if engine == "llvm" && diffeo_codegen::llvm::library().is_err() {
            continue;
        }
        for method in ["nuts", "laplace", "meanfield"] {
            let draws = |cpu: diffeo::Cpu| {
                let args = ["sample", "m.deo", "--arg", &y, "--arg", &sigma, "--draws", "100"];
                let out = format!("{}.csv", cpu.name());
                let more = ["--chains", "2", "--method", method, "--engine", engine, "--out", &out];
                let args = [&args[..], &more].concat();
                let mut command = folder.command(&args);
                let done = command.env("DIFFEO_CPU", cpu.name()).output().expect("it starts");
                assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
                [1, 2].map(|chain| {
                    let file = folder.0.join(format!("{}_{chain}.csv", cpu.name()));
                    let text = std::fs::read_to_string(file).expect("a file of draws");
                    // Comments have times.
                    let draws = text.lines().filter(|line| !line.starts_with('#'));
                    draws.map(str::to_string).collect::<Vec<String>>()
                })
            };
            // The code of the density is the same for all methods.
            let both = [diffeo::Cpu::Host, diffeo::Cpu::Baseline];
            let wanted = |cpu: &diffeo::Cpu| method == "nuts" || both.contains(cpu);
            let cpus: Vec<diffeo::Cpu> =
                diffeo::Cpu::all().filter(|cpu| cpu.lacking().is_none()).filter(wanted).collect();
            let found: Vec<_> = std::thread::scope(|scope| {
                let runs: Vec<_> = cpus.iter().map(|cpu| scope.spawn(|| draws(*cpu))).collect();
                runs.into_iter().map(|run| run.join().expect("it draws")).collect()
            });
            let expected = &found[0];
            assert!(expected.iter().all(|lines| lines.len() == 101));
            for (cpu, found) in cpus.iter().zip(&found) {
                assert!(found == expected, "{method} on {engine} for {cpu}");
            }
        }
    }
}

#[test]
fn a_summary_as_json_and_files_of_stan() {
    let folder = folder();
    let done = folder.run(&[
        "sample",
        "m.deo",
        "log_density",
        "--arg",
        Y,
        "--arg",
        SIGMA,
        "--arg",
        "more=2",
        "--predict",
        "replicate",
        "--chains",
        "2",
        "--draws",
        "100",
        "--warmup",
        "200",
        "--seed",
        "7",
        "--json",
        "--out",
        "draws.csv",
    ]);
    assert_eq!(done.status, 0, "{}", done.err);
    let found = json(&done.out);
    assert_eq!(
        (&found["chains"], &found["draws"], &found["seed"]),
        (&2.into(), &100.into(), &7.into())
    );
    assert!(found["parameters"]["effects[2]"]["r_hat"].is_number(), "{found}");
    assert!(found["predictions"]["fresh[1]"]["sd"].is_number(), "{found}");
    assert_eq!(found["files"], serde_json::json!(["draws_1.csv", "draws_2.csv"]));
    let text = std::fs::read_to_string(folder.0.join("draws_2.csv")).expect("a file");
    assert!(text.contains("\n# Adaptation terminated\n# Step size = "), "{text}");
    let header = text.lines().find(|line| line.starts_with("lp__")).expect("a header");
    assert!(header.ends_with(",effects.1,effects.2,effects.3,mean,sd,fresh.1,fresh.2"), "{header}");
    assert_eq!(text.lines().filter(|line| !line.starts_with('#')).count(), 101);
}

#[test]
fn what_is_wrong_with_the_command_line() {
    let folder = folder();
    folder
        .run(&["sample", "m.deo", "--arg", Y])
        .fails(2, &["the parameter `sigma: [n]Real` of `log_density` is missing", "--arg sigma=…"]);
    folder
        .run(&["sample", "m.deo", "--arg", Y, "--arg", SIGMA, "--arg", "z=1"])
        .fails(2, &["`log_density` has no parameter `z`"]);
    folder.run(&["sample", "m.deo", "--arg", Y, "--arg", "sigma=[true]"]).fails(1, &["sigma"]);
    folder
        .run(&["sample", "m.deo", "--arg", Y, "--arg", SIGMA, "--out", "draws.npy"])
        .fails(2, &["`--out draws.npy` does not end in .csv"]);
    folder
        .run(&["sample", "m.deo", "number"])
        .fails(1, &["no log density: `number` is Real -> Real", "takes a record of parameters"]);
    folder.run(&["sample", "m.deo", "log_densty"]).fails(1, &["did you mean `log_density`?"]);
    folder
        .run(&["sample", "m.deo", "flat", "--parameters", "one", "--target-accept", "2"])
        .fails(1, &["between 0 and 1"]);
}

#[test]
fn a_density_that_is_nowhere_is_shown_in_its_place() {
    let done = folder().run(&["sample", "m.deo", "nowhere", "--parameters", "one"]);
    assert_eq!(done.status, 1);
    for part in ["no chain can start", "m.deo:12:", "sqrt(x - 10.0)", "--init"] {
        assert!(done.err.contains(part), "no {part:?} in {}", done.err);
    }
}

#[test]
fn bad_posteriors_are_warned_of() {
    let done = folder().run(&[
        "sample",
        "m.deo",
        "flat",
        "--parameters",
        "one",
        "--draws",
        "100",
        "--warmup",
        "100",
    ]);
    assert_eq!(done.status, 0, "{}", done.err);
    assert!(done.err.contains("warning[r-hat]: chains do not agree"), "{}", done.err);
    assert!(done.err.contains("is the posterior proper?"), "{}", done.err);
}

#[test]
fn approximations_give_tables_and_files_too() {
    let folder = folder();
    let args = ["sample", "m.deo", "--arg", Y, "--arg", SIGMA, "--draws", "300"];
    let laplace = folder.run(&[&args[..], &["--method", "laplace", "--out", "draws.csv"]].concat());
    assert_eq!(laplace.status, 0, "{}", laplace.err);
    let last = laplace.out.lines().last().expect("a line");
    assert!(last.starts_with("1200 draws of Laplace's approximation, seed 0: "), "{last}");
    let text = std::fs::read_to_string(folder.0.join("draws_4.csv")).expect("a file");
    let header = text.lines().find(|line| line.starts_with("lp__")).expect("a header");
    assert!(
        header.ends_with(",energy__,log_q__,effects.1,effects.2,effects.3,mean,sd"),
        "{header}"
    );
    assert_eq!(text.lines().filter(|line| !line.starts_with('#')).count(), 301);
    let other = folder.run(&[&args[..], &["--method", "meanfield", "--json"]].concat());
    assert_eq!(other.status, 0, "{}", other.err);
    let found = json(&other.out);
    assert_eq!(found["method"], "meanfield");
    assert!(found["approximation"]["log_evidence"].is_number(), "{found}");
    folder
        .run(&["sample", "m.deo", "flat", "--parameters", "one", "--method", "advi"])
        .fails(2, &["nuts, laplace, meanfield"]);
}

#[cfg(unix)]
#[test]
fn an_interrupt_keeps_the_draws() {
    use std::io::{BufRead, BufReader, Read};
    use std::process::{Command, Stdio};
    let folder = Folder::new().with(
        "m.deo",
        "import bayes\ndef parameters = {x = bayes.Free}\n\
         def log_density({x}: {x: Real}) -> Real = -0.5 * x * x\n\
         def shown({x}: {x: Real}) = {y = trace(\"x\", x) + 0.0 * (loop s = 0.0 for i < 100000 do s + sin(s + x))}\n",
    );
    // The first chain shows its draws, slowly, when it has them all; the second one has not begun.
    let mut child = folder
        .command(&[
            "sample",
            "m.deo",
            "--predict",
            "shown",
            "--draws",
            "600",
            "--chains",
            "2",
            "--threads",
            "1",
            "--out",
            "draws.csv",
            "--json",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut err = BufReader::new(child.stderr.take().expect("its messages"));
    let mut line = String::new();
    err.read_line(&mut line).expect("a line of trace");
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().expect("kill").success());
    let mut rest = String::new();
    err.read_to_string(&mut rest).expect("the rest of the messages");
    let mut out = String::new();
    let _ = child.stdout.take().expect("its output").read_to_string(&mut out);
    assert_eq!(child.wait().expect("it ends").code(), Some(1), "{rest}");
    assert!(rest.contains("error[interrupted]: interrupted, while sampling"), "{rest}");
    assert!(rest.contains("draws are kept, of 1 of 2 chains"), "{rest}");
    let found = json(&out);
    assert_eq!((&found["interrupted"], &found["draws"]), (&true.into(), &600.into()));
    let file = found["files"][0].as_str().expect("a file");
    let text = std::fs::read_to_string(folder.0.join(file)).expect("the draws");
    assert_eq!(text.lines().filter(|line| !line.starts_with('#')).count(), 601);
}

#[test]
fn a_timeout_keeps_the_draws() {
    let model = "import bayes\ndef parameters = {x = bayes.Free}\n\
                 def log_density({x}: {x: Real}) -> Real = -0.5 * x * x\n";
    let folder = Folder::new().with("m.deo", model);
    let of = |more: &[&str]| {
        folder.run(&[&["sample", "m.deo", "--chains", "2", "--threads", "2"], more].concat())
    };
    let done = of(&["--draws", "9000000", "--timeout", "2.5", "--json", "--out", "draws.csv"]);
    assert_eq!(done.status, 1, "{}", done.err);
    let told = "the time is up: the run was allowed 2.5 s, while sampling `log_density`: ";
    assert!(done.err.contains(told), "{}", done.err);
    assert!(done.err.contains(" of 9000000 draws are kept, of 2 of 2 chains"), "{}", done.err);
    let found = json(&done.out);
    assert_eq!(found["interrupted"], true);
    let draws = found["draws"].as_u64().expect("a number") as usize;
    let text = std::fs::read_to_string(folder.0.join("draws_2.csv")).expect("the draws");
    assert_eq!(text.lines().filter(|line| !line.starts_with('#')).count(), draws + 1);
    let told = "no chain has a draw behind its warm-up: there are none to keep";
    of(&["--warmup", "9000000", "--timeout", "1"]).fails(1, &["the time is up", told]);
}

#[test]
fn a_timeout_ends_it() {
    folder()
        .run(&["sample", "m.deo", "slow", "--parameters", "one", "--timeout", "0.5"])
        .fails(1, &["the time is up", "while sampling `slow`"]);
}
