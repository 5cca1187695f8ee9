//! Modules: files beside each other, and what is wrong with imports.

use diffeo::{Kinks, Session};
use std::path::PathBuf;

/// Writes files into a folder of their own and loads `main.deo`.
fn load(name: &str, files: &[(&str, &str)]) -> (Session, diffeo::ModuleId) {
    let folder = std::env::temp_dir().join(format!("diffeo-modules-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    for (file, text) in files {
        std::fs::write(folder.join(file), text).expect("a temporary file");
    }
    let mut session = Session::new();
    let main: PathBuf = folder.join("main.deo");
    let module = session.load_file(&main).expect("main.deo is there");
    session.check();
    std::fs::remove_dir_all(&folder).expect("the folder was made here");
    (session, module)
}

fn value(name: &str, files: &[(&str, &str)]) -> String {
    let (mut session, module) = load(name, files);
    let Some(entry) = session.entry(module, "main") else { panic!("{:?}", session.diagnostics()) };
    let run = session.run(&entry, None, Kinks::Ignore);
    let value = run.result.unwrap_or_else(|e| panic!("{}", e.message));
    diffeo_calculus::show::show(&value, &entry.ty, &entry.program.datas)
}

fn codes(name: &str, files: &[(&str, &str)]) -> Vec<(&'static str, String)> {
    let (session, _) = load(name, files);
    session.diagnostics().into_iter().map(|d| (d.code, d.message)).collect()
}

const SHAPES: &str = "
type Shape = Circle(Real) | Square(Real)
def area(s: Shape) -> Real = case s of { Circle(r) -> 3.0 * r * r | Square(a) -> a * a }
def unit = Square(1.0)";

#[test]
fn qualified_and_unqualified_names() {
    let main = "
import shapes
import shapes (Circle, area)
def double(s: shapes.Shape) = case s of { shapes.Circle(r) -> Circle(2.0 * r) | shapes.Square(a) -> shapes.Square(2.0 * a) }
def main = (shapes.area(double(shapes.unit)), area(Circle(2.0)), grad(fn r -> area(Circle(r)))(1.0))";
    assert_eq!(value("names", &[("shapes.deo", SHAPES), ("main.deo", main)]), "(4.0, 12.0, 6.0)");
}

#[test]
fn a_module_is_shared_by_those_that_import_it() {
    let left = "import base\ndef l = base.x + 1";
    let right = "import base\ndef r = base.x + 2";
    let main = "import left\nimport right\ndef main = (left.l, right.r)";
    let files =
        [("base.deo", "def x = 10"), ("left.deo", left), ("right.deo", right), ("main.deo", main)];
    assert_eq!(value("shared", &files), "(11, 12)");
}

#[test]
fn a_definition_shadows_a_module_and_the_prelude() {
    let main =
        "import shapes\ndef shapes = {area = 5}\ndef length = 3\ndef main = (shapes.area, length)";
    assert_eq!(value("shadow", &[("shapes.deo", SHAPES), ("main.deo", main)]), "(5, 3)");
}

#[test]
fn wrong_imports_are_named() {
    let unknown = codes("unknown", &[("main.deo", "import nowhere\ndef main = 1")]);
    assert_eq!(unknown[0].0, "unknown-module");
    assert!(unknown[0].1.contains("`nowhere`"), "{unknown:?}");
    let member = codes("member", &[("shapes.deo", SHAPES), ("main.deo", "import shapes (aera)")]);
    assert_eq!(member[0].0, "unknown-member");
    let cycle = codes("cycle", &[("a.deo", "import main"), ("main.deo", "import a")]);
    assert_eq!(cycle[0].0, "import-cycle");
    let files = [("a.deo", "import b"), ("b.deo", "import c"), ("c.deo", "import a\nimport c")];
    let cycle = codes("long-cycle", &[&files[..], &[("main.deo", "import a")]].concat());
    let messages: Vec<&str> = cycle.iter().map(|(_, message)| message.as_str()).collect();
    let first = "the module `a` imports this one, directly or through others";
    assert_eq!(messages, [first, "the module `c` imports itself"]);
    let clash = codes(
        "clash",
        &[("shapes.deo", SHAPES), ("main.deo", "import shapes (area)\ndef area = 1")],
    );
    assert_eq!(clash[0].0, "duplicate-definition");
}

#[test]
fn modules_of_the_library_in_a_circle_are_named() {
    let texts = |name: &str| match name {
        "left" => Some("import right\ndef x = right.y"),
        "right" => Some("import left\ndef y = left.x"),
        name => diffeo::library::source(name),
    };
    let mut session = diffeo_front::Session::with_library(texts);
    session.load_text("main.deo", "import left\ndef main = left.x");
    session.check();
    let first = session.diagnostics().into_iter().next();
    let first = first.map(|d| (d.code, session.sources().name(d.primary.span.file).to_string()));
    assert_eq!(first, Some(("import-cycle", "std/right.deo".to_string())));
}

#[test]
fn imports_are_as_deep_as_memory_allows() {
    let last = 3000;
    let mut files: Vec<(String, String)> = (0..last)
        .map(|i| (format!("m{i}.deo"), format!("import m{}\ndef x = {i}", i + 1)))
        .collect();
    files.push((format!("m{last}.deo"), "def x = 0".to_string()));
    files.push(("main.deo".to_string(), "import m0\ndef main = m0.x".to_string()));
    let files: Vec<(&str, &str)> = files.iter().map(|(f, t)| (f.as_str(), t.as_str())).collect();
    assert_eq!(codes("deep", &files), []);
}

#[test]
fn a_program_is_not_the_module_of_its_name() {
    let folder = std::env::temp_dir().join(format!("diffeo-modules-{}-ending", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    for (file, text) in [
        ("c.txt", "import b\nimport c\ndef main = c.x"),
        ("b.deo", "import c"),
        ("c.deo", "def x = 1"),
    ] {
        std::fs::write(folder.join(file), text).expect("a temporary file");
    }
    let mut session = Session::new();
    session.load_file(&folder.join("c.txt")).expect("it is there");
    session.check();
    std::fs::remove_dir_all(&folder).expect("the folder was made here");
    assert!(session.diagnostics().is_empty(), "{:?}", session.diagnostics());
}

#[test]
fn a_file_that_hides_a_module_of_the_library_is_named() {
    let main = "import optim\nimport optim (adam)\ndef main = optim.lbfgs";
    let (session, _) = load("hidden", &[("optim.deo", "def x = 1"), ("main.deo", main)]);
    let diagnostics = session.diagnostics();
    assert_eq!(diagnostics.len(), 2, "{diagnostics:?}");
    for d in diagnostics {
        assert!(d.notes.iter().any(|n| n.contains("optim.deo, which hides that of the")), "{d:?}");
    }
}

#[cfg(unix)]
#[test]
fn links_do_not_lead_out_of_the_folder() {
    use std::os::unix::fs::symlink;
    let all = std::env::temp_dir().join(format!("diffeo-links-{}", std::process::id()));
    let folder = all.join("program");
    std::fs::create_dir_all(folder.join("inner")).expect("a temporary folder");
    std::fs::write(all.join("secret"), "my secret (\n").expect("a file");
    std::fs::write(folder.join("inner/shapes.deo"), SHAPES).expect("a file");
    symlink(all.join("secret"), folder.join("secret.deo")).expect("a link");
    symlink("inner/shapes.deo", folder.join("shapes.deo")).expect("a link");
    // The folder itself may be reached by a link.
    symlink("program", all.join("link")).expect("a link");
    let load = |file: PathBuf, text: &str| {
        std::fs::write(&file, text).expect("a file");
        let mut session = Session::new();
        session.load_file(&file).expect("it is there");
        session.check();
        session.diagnostics()
    };
    for folder in [folder.clone(), all.join("link")] {
        let found = load(folder.join("main.deo"), "import secret\ndef main = 1");
        assert_eq!(found.iter().map(|d| d.code).collect::<Vec<_>>(), ["import-outside"]);
        let found = load(folder.join("main.deo"), "import shapes\ndef main = shapes.unit");
        assert!(found.is_empty(), "{found:?}");
    }
    // A program that is reached by a link imports what is beside it, not what is beside the link.
    std::fs::write(folder.join("main.deo"), "import shapes\ndef main = shapes.unit")
        .expect("a file");
    symlink("program/main.deo", all.join("main.deo")).expect("a link");
    symlink("secret", all.join("shapes.deo")).expect("a link");
    let mut session = Session::new();
    session.load_file(&all.join("main.deo")).expect("it is there");
    session.check();
    assert!(session.diagnostics().is_empty(), "{:?}", session.diagnostics());
    std::fs::remove_dir_all(&all).expect("the folder was made here");
}
