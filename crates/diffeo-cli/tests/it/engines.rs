//! Which engine runs a program, what is said of it, and what is said where it is not there.

use crate::common::{c_compiler, Done, Folder};

const SUM: &str = "def main = sum([sin(real(i)) for i < 1000])\n";

const DATA: &str = "type Shape = Round(Real) | Flat
def total(xs: List[Real]) = fold_left_list(fn (s, x) -> s + x * x, 0.0, xs)
def shape(s: Shape) = case s of { Round(r) -> r * r | Flat -> 0.0 }
";

/// A run in an environment with these variables.
fn run(folder: &Folder, args: &[&str], variables: &[(&str, &str)]) -> Done {
    let mut command = folder.command(args);
    command.envs(variables.iter().copied());
    Done::new(&command.output().expect("the program starts"))
}

/// The value that a run printed.
#[track_caller]
fn value(done: &Done) -> f64 {
    assert_eq!((done.status, &*done.err), (0, ""), "{done:?}");
    done.out.trim().parse().expect("a number")
}

#[test]
fn without_an_llvm_auto_is_silent() {
    let folder = Folder::new()
        .with("sum.deo", SUM)
        .with("notes.so", "nothing")
        // Longer than it takes to look for an LLVM.
        .with("long.deo", "def main = loop x = 1.0 for i < 30000000 do sin(x) + 1.0\n");
    let expected = value(&folder.run(&["run", "long.deo", "--engine", "jit"]));
    for llvm in ["none", "notes.so", "nowhere"] {
        for path in ["", "/nowhere"] {
            let variables = [("DIFFEO_LLVM", llvm), ("PATH", path)];
            value(&run(&folder, &["run", "sum.deo"], &variables));
            value(&run(&folder, &["eval", "1 + 1"], &variables));
        }
        assert_eq!(value(&run(&folder, &["run", "long.deo"], &[("DIFFEO_LLVM", llvm)])), expected);
    }
    let done = run(&folder, &["run", "long.deo", "-v"], &[("DIFFEO_LLVM", "none")]);
    assert!(done.err.contains("engine: jit\nnote: no LLVM is used"), "{}", done.err);
}

#[test]
fn an_engine_that_is_not_there_is_named() {
    let folder = Folder::new()
        .with("a.deo", "def main = 1 + 1\n")
        .with("notes", "nothing\n")
        .with("script.so", "INPUT(libLLVM.so.22.1)\n");
    std::fs::create_dir(folder.0.join("empty")).expect("a folder");
    let mut messages = String::new();
    for llvm in ["none", "nowhere.so", "notes", "script.so", "empty"] {
        let done = run(&folder, &["run", "a.deo", "--engine", "llvm"], &[("DIFFEO_LLVM", llvm)]);
        assert_eq!((done.status, &*done.out), (1, ""), "{done:?}");
        messages.push_str(&format!("DIFFEO_LLVM={llvm}\n{}\n", done.err));
    }
    let nothing = [("PATH", ""), ("CC", ""), ("DIFFEO_CACHE", "")];
    let done = run(&folder, &["run", "a.deo", "--engine", "c"], &nothing);
    assert_eq!((done.status, &*done.out), (1, ""), "{done:?}");
    messages.push_str(&format!("PATH=\n{}", done.err));
    insta::assert_snapshot!("engines_that_are_not_there", messages);
}

#[test]
fn libraries_that_are_no_llvm_are_refused() {
    if !c_compiler() {
        return;
    }
    let old =
        "void LLVMGetVersion(unsigned *a, unsigned *b, unsigned *c) { *a = 15; *b = *c = 0; }";
    let folder = Folder::new()
        .with("a.deo", "def main = 1 + 1\n")
        .with("old.c", old)
        .with("other.c", "int nothing;");
    for (name, reason) in [
        ("old", "it is version 15, not one of 17 to 22"),
        ("other", "it is no LLVM, or one before version 17"),
    ] {
        let (source, library) = (format!("{name}.c"), format!("./{name}.so"));
        let mut cc = std::process::Command::new("cc");
        cc.args(["-shared", "-fPIC", &source, "-o", &library]).current_dir(&folder.0);
        assert!(cc.status().expect("a C compiler").success());
        let variables = [("DIFFEO_LLVM", &*library)];
        let done = run(&folder, &["run", "a.deo", "--engine", "llvm"], &variables);
        done.fails(1, &["error[engine]: the LLVM library that DIFFEO_LLVM names", reason]);
        assert_eq!(value(&run(&folder, &["run", "a.deo"], &variables)), 2.0);
    }
}

#[test]
fn a_c_compiler_that_fails_is_quoted() {
    let folder = Folder::new().with("a.deo", "def main = 1 + 1\n");
    if !c_compiler() {
        return;
    }
    let variables = [("CC", "cc --no-such-option"), ("DIFFEO_CACHE", ""), ("LC_ALL", "C")];
    let done = run(&folder, &["run", "a.deo", "--engine", "c"], &variables);
    done.fails(1, &["error[engine]: `cc --no-such-option ", "has failed", "no-such-option"]);
}

#[test]
fn the_account_says_which_engine_ran() {
    let folder = Folder::new()
        .with("a.deo", "def f(x: Real) = x * x\ndef f_at = 2.0\ndef main = grad(f)(2.0)\n")
        .with("jet.deo", "def main = derivatives(100, fn x -> x * x)(3.0)[2]\n")
        .with("data.deo", DATA)
        .with("nan.deo", "def main = grad(fn x -> sqrt(x * x))(0.0)\n")
        .with("sum.deo", SUM);
    for engine in ["auto", "flat", "jit"] {
        let done = folder.run(&["run", "a.deo", "-v", "--engine", engine]);
        assert_eq!((done.status, &*done.out), (0, "4.0\n"), "{done:?}");
        let ran = if engine == "auto" { "jit" } else { engine };
        assert!(done.err.contains(&format!("engine: {ran}\n")), "{}", done.err);
    }
    for engine in ["auto", "flat", "jit", "llvm", "c"] {
        let done = folder.run(&["run", "jet.deo", "-v", "--engine", engine]);
        assert_eq!((done.status, &*done.out), (0, "2.0\n"), "{done:?}");
        assert!(done.err.contains("engine: interp\nreason: `derivatives(100, "), "{}", done.err);
        assert!(done.err.contains("takes a derivative, which is not compiled yet"), "{}", done.err);
        let done = folder.run(&["eval", "grad(f)(2.0)", "--in", "a.deo", "--engine", engine]);
        done.prints("4.0");
    }
    for engine in ["auto", "flat", "jit", "interp"] {
        let ran = if engine == "auto" { "jit" } else { engine };
        for more in [&[][..], &["--jet", "1,3"], &["--jet", "1,0"], &["--at", "1.5"]] {
            let done =
                folder.run(&[&["grad", "a.deo", "f", "-v", "--engine", engine], more].concat());
            assert!(done.err.starts_with(&format!("engine: {ran}\ntime: ")), "{}", done.err);
        }
    }
    for (more, reason) in [
        (&["--check"][..], "the check compares what the evaluator's modes give"),
        (&["--kinks", "error"], ""),
        (&["--jet", "1,64", "--at", "1e-5"], ""),
    ] {
        let done = folder.run(&[&["grad", "a.deo", "f", "-v"], more].concat());
        let expected = match reason {
            "" => "engine: jit\n".to_string(),
            reason => format!("engine: interp\nreason: {reason}\n"),
        };
        assert!(done.err.starts_with(&expected), "{}", done.err);
    }
    for (engine, ran) in [("auto", "jit"), ("jit", "jit"), ("flat", "flat"), ("interp", "interp")] {
        for args in [&["run", "sum.deo"][..], &["eval", "1.0 + 1"]] {
            let done = folder.run(&[args, &["-v", "--engine", engine]].concat());
            assert!(done.err.starts_with(&format!("engine: {ran}\ntime: ")), "{}", done.err);
        }
    }
    let done = folder.run(&["run", "nan.deo", "-v"]);
    assert_eq!((done.status, &*done.out), (0, "nan\n"), "{done:?}");
    assert!(done.err.contains("the derivative is nan because of sqrt(0.0)"), "{}", done.err);
    assert!(done.err.contains("engine: interp\nreason: a derivative is nan"), "{}", done.err);
    let done = folder.run(&["run", "sum.deo", "-v", "--kinks", "warn"]);
    assert!(done.err.contains("engine: jit\n") && done.err.contains("kinks: none met"), "{done:?}");
    let done = folder.run(&["eval", "log(-1.0)", "-v", "--kinks", "warn"]);
    assert!(done.err.contains("log(-1.0) is outside the domain of the operation"), "{done:?}");
    assert!(done.err.contains("engine: interp\nreason: a kink, an operand outside"), "{done:?}");
    let says_real = "Taylor coefficients in data whose declaration says Real";
    for (entry, at, orders, reason) in [
        ("total", "[1.0, 2.0]", "1,2", None),
        ("total", "[1.0, 2.0]", "2,16", Some("too many Taylor coefficients")),
        ("shape", "{\"Round\": 2.0}", "1,2", Some(says_real)),
    ] {
        let done = folder.run(&["grad", "data.deo", entry, "--at", at, "--jet", orders, "-v"]);
        let expected = match reason {
            None => "engine: jit\n".to_string(),
            Some(why) => {
                format!("engine: interp\nreason: the derivative is not compiled yet: {why}\n")
            }
        };
        assert!(done.err.starts_with(&expected), "{done:?}");
        let done = folder.run(&["grad", "data.deo", entry, "--at", at, "-v"]);
        assert!(done.err.starts_with("engine: jit\n"), "{done:?}");
    }
    // The papers' systems are for programs that take the derivative themselves.
    let done = folder.run(&["grad", "a.deo", "f", "--engine", "delta"]);
    done.fails(
        2,
        &[
            "differentiates on the evaluator and in machine code",
            "diffeo eval 'grad(f)(…)' --in a.deo",
        ],
    );
}

/// Which values vary, compiled code knows only of the ways that the program might go: the rule is not for where c is 2.
#[test]
fn derivatives_that_only_the_evaluator_has_are_had_by_every_command() {
    let program = "import root\n\
        def solved(x: Real) -> Real = let c = (if x > 0.0 then 2.0 else x) in root.newton(fn (c, z) -> sq(z - c), c, 2.0) * x\n\
        def solved_at = 0.5\n\
        def both(x: Real) -> (Real, Real) = (solved(x), x)\n\
        def main = grad(solved)(0.5)\n\
        def log_density(p: {x: Real}) -> Real = -0.5 * sq(solved(p.x) / 2.0 - 3.0) - 1.0e-3 * p.x\n\
        def parameters = bayes_parameters\n";
    let program = program.replace("bayes_parameters", "{x = bayes.Positive}");
    let folder = Folder::new().with("b.deo", format!("import bayes\n{program}"));
    let reason = "engine: interp\nreason: a rule for derivatives was taken where nothing varies, and stopped";
    for engine in ["auto", "jit", "flat", "interp"] {
        for args in [
            &["run", "b.deo"][..],
            &["eval", "grad(solved)(0.5)", "--in", "b.deo"],
            &["grad", "b.deo", "solved"],
            &["grad", "b.deo", "solved", "--at", "0.5"],
            &["grad", "b.deo", "both", "--at", "0.5", "--json"],
            &["grad", "b.deo", "solved", "--at", "0.5", "--jet", "1,2", "--json"],
        ] {
            let done = folder.run(&[args, &["--engine", engine, "-v"]].concat());
            assert!(done.status == 0 && done.out.contains("2.0"), "{args:?} {engine} {done:?}");
            assert!(engine == "interp" || done.err.contains(reason), "{args:?} {engine} {done:?}");
        }
        let done = folder.run(&["grad", "b.deo", "solved", "--at", "-0.5", "--engine", engine]);
        done.fails(1, &["has no derivative"]);
    }
    let draws =
        ["sample", "b.deo", "--draws", "50", "--warmup", "50", "--chains", "1", "--seed", "1"];
    let found = |engine: &str| folder.run(&[&draws[..], &["--engine", engine]].concat());
    let expected = found("interp");
    assert_eq!(expected.status, 0, "{expected:?}");
    assert_eq!(found("jit").out, expected.out);
}

#[test]
fn long_derivatives_are_compiled_for_long_runs_only() {
    let f = "def f0(x: Real) = sin(x) * exp(x / (1.0 + x * x)) + tanh(x) * log(2.0 + cos(x))\n";
    let nested = |i| format!("def f{}(x: Real) = grad(f{i})(x)\n", i + 1);
    let program: String = std::iter::once(f.to_string()).chain((0..9).map(nested)).collect();
    let folder = Folder::new().with("nested.deo", &program);
    let value = |text: &str, engine: &str, reason: &str| {
        let done = folder.run(&["eval", text, "--in", "nested.deo", "-v"]);
        let begin = format!("engine: {engine}\n{reason}");
        assert!(done.status == 0 && done.err.starts_with(&begin), "{done:?}");
        done.out.trim().parse::<f64>().expect("a number")
    };
    let why =
        "reason: its derivatives have more than 50000 statements, which takes long to compile\n";
    let once = value("f9(0.3)", "interp", why);
    let often = value("sum([f9(0.3 + 0.0 * real(i)) for i < 64]) / 64.0", "jit", "");
    assert!((often - once).abs() <= 1e-12 * once.abs(), "{once} {often}");
}

#[test]
fn processors_have_names() {
    let folder = Folder::new().with("sum.deo", SUM).with("f.deo", "def f(x: Real) = x * x\n");
    let done = folder.run(&["run", "sum.deo", "--cpu", "pentium"]);
    done.fails(2, &["'pentium' for '--cpu <CPU>'", "the processors are native, baseline"]);
    let expected = value(&folder.run(&["run", "sum.deo", "--engine", "interp"]));
    for cpu in diffeo::Cpu::all() {
        let args = ["run", "sum.deo", "--engine", "jit", "--cpu", cpu.name()];
        match cpu.lacking() {
            None => {
                let found = value(&folder.run(&args));
                assert!((found - expected).abs() < 1e-12, "{cpu}: {found}");
            }
            Some(lacking) => folder.run(&args).fails(2, &["does not run here", lacking]),
        }
        for form in ["clif", "c"] {
            let done = folder.run(&["show", "f.deo", "f", "--as", form, "--cpu", cpu.name()]);
            assert!(done.status == 0 && !done.out.is_empty(), "{done:?}");
        }
        if c_compiler() {
            let build = ["build", "f.deo", "--entry", "f", "-o", "lib", "--cpu", cpu.name()];
            folder.run(&build).prints("");
        }
    }
}

#[test]
fn passes_are_timed() {
    let folder = Folder::new().with("sum.deo", SUM);
    let passes: Vec<&str> = ["prelude", "parse", "check", "elaborate", "lower", "memory"].into();
    let done = folder.run(&["run", "sum.deo", "--engine", "jit", "--time-passes"]);
    let rows: Vec<Vec<&str>> =
        done.err.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["pass", "ms", "operations"]);
    for pass in passes.iter().chain(&["simplify", "fuse", "jit", "run"]) {
        let row = rows.iter().find(|row| row[0] == *pass);
        let row = row.unwrap_or_else(|| panic!("no {pass} in {}", done.err));
        assert!(row[1].parse::<f64>().is_ok(), "{row:?}");
        let counted = ["lower", "memory", "simplify", "fuse"].contains(pass);
        assert_eq!(row.len(), if counted { 3 } else { 2 }, "{row:?}");
    }
    let data = |done: &Done| -> Vec<String> {
        let line: serde_json::Value = serde_json::from_str(done.err.trim()).expect("JSON");
        let passes = line["passes"].as_array().expect("an array");
        assert!(passes.iter().all(|pass| pass["ms"].is_number()));
        passes.iter().map(|pass| pass["pass"].as_str().expect("a name").to_string()).collect()
    };
    let interp = folder.run(&["run", "sum.deo", "--engine", "interp", "--time-passes", "--json"]);
    assert_eq!(data(&interp), ["prelude", "parse", "check", "elaborate", "run"]);
    let show = ["show", "sum.deo", "main", "--time-passes", "--message-format", "json"];
    assert_eq!(data(&folder.run(&show)), ["prelude", "parse", "check"]);
    let flat = data(&folder.run(&[&show[..], &["--as", "clif"]].concat()));
    assert!(passes.iter().all(|pass| flat.iter().any(|found| found == pass)), "{flat:?}");
    let build = ["build", "sum.deo", "--entry", "main", "-o", "lib", "--no-compile"];
    let build = folder.run(&[&build[..], &["--time-passes", "--message-format", "json"]].concat());
    assert!(data(&build).contains(&"c".to_string()));
}
