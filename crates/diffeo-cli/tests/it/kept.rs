//! Programs whose code is kept on disk do what they did when they were compiled.

use crate::common;
use crate::common::{Done, Folder};
use std::fs;
use std::path::PathBuf;

/// It takes long enough to compile that its code is kept; the last line is to be given.
fn fit(last: &str) -> String {
    format!(
        "import optim

def model({{a, b, c}}: {{a: Real, b: Real, c: Real}}, x: Real) = a * exp(-b * x) + c * sin(x)

def loss(p: {{a: Real, b: Real, c: Real}}) -> Real =
  sum([(model(p, real(i) * 0.1) - 2.0 * exp(-0.3 * real(i)))^2 for i < 50])

def fitted = optim.lbfgs(loss, {{a = 1.0, b = 0.1, c = 0.5}}).point
{last}
"
    )
}

/// What a command does in an environment with this folder for code, and no processor but that of `--cpu`.
fn run(folder: &Folder, args: &[&str]) -> Done {
    let mut command = folder.command(args);
    command.env_remove("DIFFEO_CPU");
    Done::new(&command.env("DIFFEO_CACHE", folder.0.join("code")).output().expect("it starts"))
}

/// The files with code.
fn kept(folder: &Folder) -> Vec<PathBuf> {
    let files = fs::read_dir(folder.0.join("code")).expect("a folder with code");
    let mut files: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    files.sort();
    files
}

const KEPT: &str = "the code was kept from an earlier run";

#[test]
fn what_is_kept_gives_the_same_until_the_program_changes() {
    let folder = Folder::new().with("a.deo", fit("def main = trace(\"a\", fitted)"));
    for engine in ["auto", "jit"] {
        let args = ["run", "a.deo", "--engine", engine, "-v"];
        let before = if folder.0.join("code").exists() { kept(&folder).len() } else { 0 };
        let first = run(&folder, &args);
        assert!(first.status == 0 && !first.err.contains(KEPT), "{first:?}");
        let files = kept(&folder);
        assert_eq!(files.len(), before + 1, "{engine}");
        let second = run(&folder, &args);
        assert!(second.err.contains(KEPT), "{second:?}");
        assert!(second.err.contains("a: {a = "), "{second:?}");
        assert_eq!((second.status, second.out), (first.status, first.out.clone()));
        assert_eq!(kept(&folder), files);
    }
    // Another program, processor or way to look at kinks has code of its own.
    let others = [["--cpu", "baseline"], ["--kinks", "warn"], ["--cpu", "native"]];
    for (i, other) in others.iter().enumerate() {
        let done = run(&folder, &[&["run", "a.deo", "-v"], other.as_slice()].concat());
        assert_eq!((done.status, done.err.contains(KEPT)), (0, i == 2), "{done:?}");
    }
    let folder = folder.with("a.deo", fit("def main = trace(\"a\", fitted).b"));
    let changed = run(&folder, &["run", "a.deo", "-v"]);
    assert!(changed.status == 0 && !changed.err.contains(KEPT), "{changed:?}");
    assert!(!changed.out.contains('{'), "{changed:?}");
}

#[test]
fn errors_have_the_same_places() {
    let folder =
        Folder::new().with("a.deo", fit("def main({i}: {i: Int}) = [fitted.a, fitted.b][i]"));
    let args = ["run", "a.deo", "--arg", "i=5"];
    let (first, second) = (run(&folder, &args), run(&folder, &args));
    assert_eq!((first.status, first.err.contains("out of bounds")), (1, true), "{first:?}");
    assert_eq!(first, second);
    assert_eq!(kept(&folder).len(), 1);
    // The same code, for another argument.
    let other = run(&folder, &["run", "a.deo", "--arg", "i=1", "-v"]);
    assert!(other.status == 0 && other.err.contains(KEPT), "{other:?}");
}

#[test]
fn damaged_files_are_as_good_as_none() {
    let folder = Folder::new().with("a.deo", fit("def main = fitted"));
    let first = run(&folder, &["run", "a.deo"]);
    let files = kept(&folder);
    let [file] = files.as_slice() else { panic!("{files:?}") };
    let whole = fs::read(file).expect("the file");
    let mut flipped = whole.clone();
    flipped[whole.len() - 100] ^= 4;
    for bytes in [&whole[..whole.len() / 2], &flipped, &[]] {
        fs::write(file, bytes).expect("the file");
        assert_eq!(run(&folder, &["run", "a.deo"]), first);
        let again = run(&folder, &["run", "a.deo", "-v"]);
        assert!(again.err.contains(KEPT) && again.out == first.out, "{again:?}");
    }
    let without = folder.run(&["run", "a.deo", "-v"]);
    assert!(!without.err.contains(KEPT) && without.out == first.out, "{without:?}");
}

#[cfg(unix)]
#[test]
fn damaged_files_of_c_compilers_are_as_good_as_none() {
    use std::os::unix::fs::PermissionsExt;
    if !common::c_compiler() {
        return;
    }
    // It notes each run.
    let compiler = "#!/bin/sh\necho run >> runs\nexec cc \"$@\"\n";
    let folder = Folder::new().with("a.deo", "def main = 1.5 + 1\n").with("cc", compiler);
    let cc = folder.0.join("cc");
    fs::set_permissions(&cc, fs::Permissions::from_mode(0o755)).expect("its mode");
    let run = || {
        let mut command = folder.command(&["run", "a.deo", "--engine", "c"]);
        command.env("DIFFEO_CACHE", folder.0.join("code")).env("CC", &cc);
        Done::new(&command.output().expect("it starts")).prints("2.5");
        fs::read_to_string(folder.0.join("runs")).expect("the runs").lines().count()
    };
    assert_eq!((run(), run()), (1, 1));
    let files = kept(&folder);
    let [file] = files.as_slice() else { panic!("{files:?}") };
    let whole = fs::read(file).expect("the file");
    let mut runs = 1;
    let n = whole.len();
    // The head, the key, and all parts of the code.
    let places = [0, 8, 20, n / 4, n / 2, 3 * n / 4, n - 1000, n - 1];
    let flipped = places.map(|at| {
        let mut flipped = whole.clone();
        flipped[at] ^= 4;
        flipped
    });
    let cut = [n - 1, n / 2, 100, 0].map(|at| whole[..at].to_vec());
    for bytes in flipped.into_iter().chain(cut).chain([[&whole[..], b"more"].concat()]) {
        fs::write(file, &bytes).expect("the file");
        runs += 1;
        assert_eq!((run(), run()), (runs, runs), "{} bytes", bytes.len());
        assert_eq!(kept(&folder), files);
    }
}

#[test]
fn what_compiles_at_once_is_not_kept() {
    let folder = Folder::new();
    assert_eq!(run(&folder, &["eval", "1 + 1"]).out, "2\n");
    assert_eq!(kept(&folder), Vec::<PathBuf>::new());
}
