//! `diffeo build`: libraries that programs in C use.

use crate::common::Folder;
use std::process::Command;

const DEMO: &str = include_str!("build/demo.deo");
const MAIN: &str = include_str!("build/main.c");

/// Whether a command can be run; says so if not.
fn has(command: &str) -> bool {
    let found = Command::new(command).arg("--version").output().is_ok();
    if !found {
        eprintln!("skipped: there is no `{command}`");
    }
    found
}

/// Runs a command in the folder: its output, if it ends well.
fn run(folder: &Folder, command: &[&str]) -> String {
    let done = Command::new(command[0]).args(&command[1..]).current_dir(&folder.0).output();
    let done = done.unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{command:?}\n{out}{err}");
    out.into_owned()
}

#[test]
fn a_program_in_c_calls_it() {
    if !has("cc") || !has("ar") {
        return;
    }
    let folder = Folder::new().with("demo.deo", DEMO).with("main.c", MAIN);
    let mut build = vec!["build", "demo.deo", "-o", "lib"];
    for entry in ["scale", "stats", "pick", "deep", "pairs", "table", "cells", "tell"] {
        build.extend(["--entry", entry]);
    }
    folder.run(&build).prints("");
    let expected = "\
demo.deo:7:32: index 4 is out of bounds: the array has length 4, its indices are 0 to 3
the sizes 2 and 4 differ: ps_1
said=3
0 failures
";
    // Without a warning, against either library.
    let strict = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic"];
    let compile = |libraries: &[&str], to: &str| {
        let command = [&["cc", "main.c", "-Ilib", "-o", to][..], &strict, libraries];
        run(&folder, &[&command.concat()[..], &["-lm", "-lpthread"]].concat());
    };
    compile(&["lib/libdemo.a"], "static");
    assert_eq!(run(&folder, &["./static"]), expected);
    compile(&["lib/libdemo.so", "-Wl,-rpath,lib"], "shared");
    assert_eq!(run(&folder, &["./shared"]), expected);
    if has("valgrind") {
        let check = ["valgrind", "-q", "--leak-check=full", "--error-exitcode=9", "./static"];
        assert_eq!(run(&folder, &check), expected);
    }
    // What was made compiles without a warning, too.
    for level in ["-O0", "-O2"] {
        let strict = ["cc", level, "-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic"];
        run(&folder, &[&strict[..], &["-c", "lib/demo.c", "-o", "demo.o"]].concat());
    }
    // Nothing else is visible.
    if has("nm") {
        for line in run(&folder, &["nm", "-D", "--defined-only", "lib/libdemo.so"]).lines() {
            let name = line.split_whitespace().last().unwrap_or("");
            assert!(name.starts_with("demo_"), "{line}");
        }
    }
}

#[test]
fn a_program_in_c_takes_derivatives() {
    if !has("cc") || !has("ar") {
        return;
    }
    let (slopes, main) = (include_str!("build/slopes.deo"), include_str!("build/slopes.c"));
    let folder = Folder::new().with("slopes.deo", slopes).with("main.c", main);
    let build = |entries: &[&str], derivatives: &[&str], name: &str| {
        let mut build = vec!["build", "slopes.deo", "-o", "lib", "--name", name];
        entries.iter().for_each(|entry| build.extend(["--entry", entry]));
        derivatives.iter().for_each(|kind| build.extend(["--derivative", kind]));
        folder.run(&build)
    };
    build(
        &["loss", "root", "guarded", "inner", "at"],
        &["gradient", "vjp", "jvp", "jet:1,2"],
        "slopes",
    )
    .prints("");
    build(&["pair"], &["vjp"], "pairs").prints("");
    let strict = "cc -O2 -std=c11 -Wall -Wextra -Werror -pedantic -c lib/slopes.c -o slopes.o";
    run(&folder, &strict.split(' ').collect::<Vec<_>>());
    let compile = "cc main.c -Ilib -o main -std=c11 -Wall -Wextra -Werror -pedantic lib/libslopes.a lib/libpairs.a -lm";
    run(&folder, &compile.split(' ').collect::<Vec<_>>());
    let expected = "\
slopes.deo:11:30: index 2 is out of bounds: the array has length 2, its indices are 0 to 1
the tangent: arrays of length 2 and 1
0 failures
";
    assert_eq!(run(&folder, &["./main"]), expected);
    if has("valgrind") {
        let check = ["valgrind", "-q", "--leak-check=full", "--error-exitcode=9", "./main"];
        assert_eq!(run(&folder, &check), expected);
    }
    let done = build(&["pair"], &["gradient"], "none");
    done.fails(1, &["`pair` has no gradient", "gradients are of functions to Real"]);
    for kind in ["grad", "jet", "jet:0,1", "jet:1"] {
        assert_eq!(build(&["loss"], &[kind], "none").status, 2, "{kind}");
    }
    assert!(!folder.0.join("lib/none.h").exists());
}

/// The blocks of the book's page with this mark.
fn blocks<'p>(page: &'p str, mark: &str) -> Vec<&'p str> {
    let start = format!("```{mark}\n");
    let blocks = page.split(&*start).skip(1);
    blocks.filter_map(|rest| rest.split("```").next()).collect()
}

#[test]
fn the_example_of_the_book_works() {
    if !has("cc") || !has("ar") {
        return;
    }
    let page = include_str!("../../../../docs/book/engines.md");
    let program = blocks(page, "diffeo")[0];
    let name = program.lines().next().and_then(|line| line.strip_prefix("# ")).expect("its name");
    let folder = Folder::new().with(name, program).with("main.c", blocks(page, "c")[0]);
    let session = blocks(page, "console").into_iter().find(|text| text.contains("diffeo build"));
    let mut expected = String::new();
    let mut printed = String::new();
    for line in session.expect("the commands").lines() {
        match line.strip_prefix("$ ") {
            Some(command) => {
                let words: Vec<&str> = command.split_whitespace().collect();
                match words.as_slice() {
                    ["diffeo", args @ ..] => folder.run(args).prints(""),
                    command => printed.push_str(&run(&folder, command)),
                }
            }
            None => expected.push_str(&format!("{line}\n")),
        }
    }
    assert_eq!(printed, expected);
}

#[test]
fn the_text_alone_takes_no_compiler() {
    let folder = Folder::new().with("demo.deo", DEMO);
    let build = ["build", "demo.deo", "--entry", "scale", "-o", "a", "--name", "other"];
    let done = folder.command(&build).arg("--no-compile").env("PATH", "").output().unwrap();
    assert!(done.status.success(), "{done:?}");
    let mut files: Vec<String> = std::fs::read_dir(folder.0.join("a"))
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(files, ["other.c", "other.h"]);
    let header = std::fs::read_to_string(folder.0.join("a/other.h")).unwrap();
    assert!(header.contains("int32_t other_scale("), "{header}");
    // With one, it has to be there.
    let done = folder.command(&build).env("PATH", "").env_remove("CC").output().unwrap();
    let err = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.code() == Some(1) && err.contains("there is no command `cc`"), "{err}");
    // What it says if it fails is shown.
    let done = folder.command(&build).env("CC", "false --flag").output().unwrap();
    let err = String::from_utf8_lossy(&done.stderr);
    let told = err.contains("`false --flag") && err.contains("has failed");
    assert!(done.status.code() == Some(1) && told, "{err}");
}

#[test]
fn fields_of_any_name_have_names_in_c() {
    let text = r#"type Given = {"Dose (µM)": Real, "Dose (-M)": Real, int: Real}
def f({"Dose (µM)" = d, "Dose (-M)" = e, int}: Given) = {"a b" = d, int = e * int}
"#;
    let folder = Folder::new().with("a.deo", text);
    let build = ["build", "a.deo", "--entry", "f", "-o", "lib", "--no-compile", "--name", "any"];
    assert_eq!(folder.run(&build).status, 0);
    let header = std::fs::read_to_string(folder.0.join("lib/any.h")).unwrap();
    let head = header.split("any_f(").nth(1).and_then(|rest| rest.split(')').next()).unwrap();
    let names: Vec<&str> = head
        .split(',')
        .map(|parameter| parameter.split([' ', '*']).next_back().unwrap_or_default())
        .collect();
    let plain = |name: &&str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    assert!(names.len() == 6 && names.iter().all(plain), "{head}");
    assert_eq!(names.iter().collect::<std::collections::BTreeSet<_>>().len(), 6, "{head}");
}

#[test]
fn what_c_does_not_have_is_refused() {
    let text = "type Tree = Leaf | Node(Tree, Tree)
def leaves(t: Tree) -> Int = case t of { Leaf -> 1 | Node(l, r) -> leaves(l) + leaves(r) }
def twice(f: Real -> Real) = fn x -> f(f(x))
def words(n: Int) = [show(i) for i < n]
def same(x) = x
";
    let folder = Folder::new().with("a.deo", text);
    for (entry, why) in [
        ("leaves", "`t` is a variant"),
        ("twice", "is a function"),
        ("words", "is an array of texts"),
        ("same", "nothing determines all of the type"),
        ("none", "none"),
    ] {
        let done = folder.run(&["build", "a.deo", "--entry", entry, "-o", "lib", "--no-compile"]);
        assert!(done.status == 1 && done.err.contains(why), "{entry}: {}", done.err);
    }
    let build = ["build", "a.deo", "--entry", "leaves", "-o", "lib", "--name", "a b"];
    assert_eq!(folder.run(&build).status, 1);
    assert!(!folder.0.join("lib").exists());
}

#[test]
fn names_of_the_system_are_no_names_of_libraries() {
    let folder = Folder::new().with("m.deo", DEMO).with("demo.deo", DEMO);
    let build = ["build", "demo.deo", "--entry", "scale", "-o", "a", "--no-compile"];
    for name in ["m", "c", "pthread", "dl", "rt", "math", "string", "M", "df"] {
        let done = folder.run(&[&build[..], &["--name", name]].concat());
        done.fails(1, &["error[not-for-c]", &format!("`{name}`"), "`--name`"]);
    }
    let done = folder.run(&["build", "m.deo", "--entry", "scale", "-o", "a", "--no-compile"]);
    done.fails(1, &["`m` cannot be the name of a library in C", "`--name`"]);
    assert!(!folder.0.join("a").exists());
}

#[test]
fn default_traces_of_libraries_have_no_escape_sequences() {
    if !has("cc") || !has("ar") {
        return;
    }
    let main = "#include \"demo.h\"\nint main(void) {\n  demo_context *cx = demo_new();\n  int64_t n;\n  return \
                demo_tell(cx, \"a\\x1b[2J\", &n) || n != 3;\n}\n";
    let program = "def tell(t: String) = trace(\"l\\u{1b}[31m\", trace(t, 3))\n";
    let folder = Folder::new().with("demo.deo", program).with("main.c", main);
    folder.run(&["build", "demo.deo", "--entry", "tell", "-o", "lib"]).prints("");
    run(&folder, &["cc", "main.c", "-Ilib", "lib/libdemo.a", "-lm", "-o", "main"]);
    let done = Command::new("./main").current_dir(&folder.0).output().expect("it runs");
    let expected = "a\\u{1b}[2J: 3\nl\\u{1b}[31m: 3\n";
    assert_eq!((done.status.code(), &*String::from_utf8_lossy(&done.stderr)), (Some(0), expected));
}

#[test]
fn what_is_made_compiles_without_a_warning() {
    if !has("cc") {
        return;
    }
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let programs: [(&str, &[&str]); 4] = [
        ("pendulum", &["linearised", "gauss_newton", "passage", "covariance"]),
        ("missing_data", &["loss"]),
        ("quaternion", &["cross", "q_to_vec"]),
        ("gaussian_process", &["log_likelihood", "predict"]),
    ];
    for (program, entries) in programs {
        let folder = Folder::new();
        let file = format!("{examples}/{program}.deo");
        let mut build = vec!["build", &*file, "-o", "lib", "--no-compile"];
        entries.iter().for_each(|entry| build.extend(["--entry", entry]));
        folder.run(&build).prints("");
        let source = format!("lib/{program}.c");
        for level in ["-O0", "-O2"] {
            let strict = ["cc", level, "-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic"];
            run(&folder, &[&strict[..], &["-c", &source, "-o", "a.o"]].concat());
        }
    }
}
