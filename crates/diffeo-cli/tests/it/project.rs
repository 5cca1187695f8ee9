//! A new project, the tests of programs, and what the library's names mean.

use crate::common::Folder;

#[test]
fn a_new_project_runs_and_tests() {
    let folder = Folder::new();
    let done = folder.run(&["new", "decay"]);
    assert_eq!(done.status, 0, "{done:?}");
    let project = Folder(folder.0.join("decay"));
    let done = project.run(&["run", "main.deo", "--arg", "table=data.csv", "--json"]);
    assert_eq!((done.status, done.err.as_str()), (0, ""), "{done:?}");
    assert!(done.out.contains("half_life"), "{done:?}");
    let done = project.run(&["test"]);
    assert_eq!((done.status, done.err.as_str()), (0, ""), "{done:?}");
    assert!(done.out.contains("4 passed, 0 failed in "), "{done:?}");
    let done = project.run(&["fmt", "--check", "main.deo"]);
    assert_eq!(done.status, 0, "{done:?}");
    // Existing files are not overwritten.
    folder.run(&["new", "decay"]).fails(1, &["decay is not empty"]);
}

#[test]
fn tests_that_fail_are_named() {
    let program = "\
## Twice a number.
##   > twice(2.0)
##   4.0
##   > twice(0.5)
##   2.0
def twice(x: Real) = 2.0 * x
def test_right = twice(1.0) == 2.0
def test_wrong = twice(1.0) == 3.0
def test_asserts() = assert(twice(1.0) > 0.0, \"positive\")
def test_stops: () = fail(\"too bad\")
def test_of_no_test = 1.5
def test_of(x: Real) = x > 1.0
";
    let folder = Folder::new().with("a.deo", program).with("b.deo", "def x = y\n");
    let folder = folder.with("c.deo", "def test_alone = true\n");
    let done = folder.run(&["test", "a.deo"]);
    assert_eq!(done.status, 1);
    let (all, summary) = done.out.trim_end().rsplit_once('\n').expect("several lines");
    assert_eq!(
        all,
        "\
ok      a.deo: twice, example
FAILED  a.deo:4: twice, example 2
        > twice(0.5)
        is       1.0
        not      2.0
ok      a.deo: test_right
FAILED  a.deo:8: test_wrong
        it is false
ok      a.deo: test_asserts
FAILED  a.deo:10: test_stops
FAILED  a.deo:11: test_of_no_test
        a test is a Bool or (), or a function of () that gives one, but this is Real
FAILED  a.deo:12: test_of
        a test is a Bool or (), or a function of () that gives one, but this is Real -> Bool"
    );
    assert!(summary.starts_with("3 passed, 5 failed in "), "{summary}");
    assert!(done.err.contains("a.deo:10:") && done.err.contains("too bad"), "{}", done.err);
    // All of a folder; what is refused counts.
    let done = folder.run(&["test", "--only", "alone"]);
    assert_eq!(done.status, 1);
    assert!(done.out.contains("1 passed, 0 failed, 8 left out, 1 file refused in "), "{done:?}");
    assert!(done.err.contains("b.deo:1:9: error[unknown-name]"), "{done:?}");
    let done = folder.run(&["test", "c.deo"]);
    assert_eq!(done.status, 0, "{done:?}");
    Folder::new().run(&["test"]).fails(2, &["there are no .deo files here or below"]);
}

#[test]
fn messages_about_examples_name_their_lines() {
    let program = "\
def one = 1.0

## Twice a number.
# A remark.
##   > twice(true)
##   2.0
##
##   > [1.0, twice(
##   2.0
##   > twice(1.0) + [2.0][3]
##   2.0
def twice(x: Real) = 2.0 * x
";
    let done = Folder::new().with("a.deo", program).run(&["test", "a.deo"]);
    assert_eq!(done.status, 1);
    for line in ["5: twice, example", "8: twice, example 2", "10: twice, example 3"] {
        assert!(done.out.contains(&format!("FAILED  a.deo:{line}\n")), "{done:?}");
    }
    for place in [
        "a.deo:5:14: error[type-mismatch]",
        "a.deo:8:20: error[syntax]",
        "a.deo:10:21: error[index",
    ] {
        assert!(done.err.contains(place), "{place}: {}", done.err);
    }
    assert!(done.err.contains("5 │ ##   > twice(true)\n"), "{}", done.err);
}

#[test]
fn tests_that_the_end_of_the_time_stops_are_counted() {
    let program = "\
def test_right = 1 < 2
def test_forever = (loop x = 1.0 while x > 0.0 do x + 1.0) == 2.0
def test_not_reached = true
";
    let folder = Folder::new().with("a.deo", program);
    let done = folder.run(&["test", "a.deo", "--timeout", "1"]);
    assert_eq!(done.status, 1);
    let last = done.out.lines().last().unwrap_or_default();
    assert!(last.starts_with("1 passed, 1 failed, the rest not run, in "), "{done:?}");
    assert!(!done.out.contains("test_not_reached"), "{done:?}");
    // Where nothing is left.
    let done = folder.run(&["test", "a.deo", "--timeout", "1", "--only", "forever"]);
    assert!(done.out.contains("0 passed, 1 failed, 1 left out"), "{done:?}");
}

#[test]
fn words_and_signs_of_the_language_are_explained() {
    let folder = Folder::new();
    let starts = [
        ("derivatives", "derivatives(R, f)\n"),
        ("jet", "jet(k, R, f)\n"),
        ("let", "let p = e in e"),
        ("rec", "let p = e in e"),
        ("for", "[e for i < n]"),
        ("loop", "loop p = e"),
        ("|>", "x |> f\n"),
        ("Real", "Real\n"),
        ("grad", "grad(f: s -> Real) -> (s -> s)\n"),
        ("hessian", "hessian("),
    ];
    for (name, start) in starts {
        let done = folder.run(&["doc", name]);
        assert!(done.out.starts_with(start) && done.status == 0, "{name}: {done:?}");
        // `sparse` has a `hessian`, too.
        assert!(name == "hessian" || !done.out.contains("import"), "{done:?}");
    }
    assert!(folder.run(&["doc", "language"]).out.contains("\nlet p = e in e"));
    assert!(folder.run(&["doc", "jet", "--json"]).out.contains("\"kind\":\"form\""));
    let done = folder.run(&["doc", "match"]);
    assert!(done.out.contains("write `case e of { P -> e | P -> e }`"), "{done:?}");
    assert!(done.out.contains("\ncase e of { P -> e | P -> e }\n"), "{done:?}");
    let done = folder.run(&["doc", "least", "squares"]);
    assert!(done.out.starts_with("optim.levenberg_marquardt(") && done.status == 0, "{done:?}");
    folder.run(&["doc", "derivativs"]).fails(1, &["did you mean", "`derivatives`"]);
    folder.run(&["doc", "jett"]).fails(1, &["did you mean `jet`"]);
}

#[test]
fn names_of_the_library_are_explained() {
    let folder = Folder::new();
    let done = folder.run(&["doc"]);
    assert!(done.out.lines().any(|line| line.starts_with("linalg ")), "{done:?}");
    let done = folder.run(&["doc", "text"]);
    assert!(
        done.out.contains("  split  join")
            && done.out.contains("\nsplit(sep: String, s: String) -> []String\n  The parts"),
        "{done:?}"
    );
    let done = folder.run(&["doc", "text.split"]);
    assert!(done.out.starts_with("text.split(sep: String, s: String) -> []String\n"), "{done:?}");
    assert!(
        done.out.contains("  > split(\",\", \"a,b,,c\")\n  [\"a\", \"b\", \"\", \"c\"]\n"),
        "{done:?}"
    );
    // Both modules have one.
    let done = folder.run(&["doc", "split"]);
    assert!(
        done.out.contains("\nrandom.split(") || done.out.starts_with("random.split("),
        "{done:?}"
    );
    let done = folder.run(&["doc", "Maybe", "--json"]);
    assert!(done.out.contains("\"signature\":\"type Maybe[a] = Nothing | Just(a)\""), "{done:?}");
    // Without the comment before the body.
    let det = folder.run(&["doc", "linalg.det"]).out;
    assert!(det.starts_with("linalg.det(a: [n][n]Real) -> Real\n"), "{det}");
    folder.run(&["doc", "chloesky"]).fails(1, &["did you mean `linalg.cholesky`"]);
    folder.run(&["doc", "zzzzzz"]).fails(1, &["`diffeo doc` lists the modules"]);
}

#[test]
fn an_expression_may_be_a_function_or_name_a_module() {
    let folder = Folder::new();
    folder.run(&["eval", "fn x -> x * 2.0"]).prints("a function: Real -> Real");
    folder.run(&["eval", "linalg.solve"]).prints("a function: ([n][n]Real, [n]Real) -> [n]Real");
    folder.run(&["eval", "linalg.det([[3.0]])"]).prints("3.0");
    folder.run(&["eval", "fn x -> x * 2.0", "--json"]).fails(1, &["the value is a function"]);
}
