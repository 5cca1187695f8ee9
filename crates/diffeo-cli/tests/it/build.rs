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

#[test]
fn texts_and_lists_are_arrays() {
    if !has("cc") || !has("ar") {
        return;
    }
    let (lists, main) = (include_str!("build/lists.deo"), include_str!("build/lists.c"));
    let folder = Folder::new().with("lists.deo", lists).with("main.c", main);
    let mut build = vec!["build", "lists.deo", "-o", "lib"];
    let entries =
        ["shout", "grid", "long", "kinds", "total", "turned", "pairs", "upto", "constant", "said"];
    entries.iter().chain(&["at", "total:gradient"]).for_each(|e| build.extend(["--entry", e]));
    folder.run(&build).prints("");
    let header = std::fs::read_to_string(folder.0.join("lib/lists.h")).expect("a header");
    for expected in [
        "int32_t lists_shout(lists_context *context, const char *const *words, const int64_t words_shape[1], \
         lists_texts_1 *result);",
        " * takes: words[n]\n * gives: result[n] */\nint32_t lists_shout(",
        // A size without a name is told where it stands.
        " * takes: words[n], least\n * gives: result[result->shape[0]] */\nint32_t lists_long(",
        " * takes: words[words_shape[0]][words_shape[1]], k\n",
        "const double *xs, const int64_t xs_shape[1], double *result, lists_reals_1 *xs_bar);",
    ] {
        assert!(header.contains(expected), "{expected}\n{header}");
    }
    let expected = "\
the sizes 3 and 2 differ: rows_x
the text at 1 is not UTF-8 from byte 1 on: words
lists.deo:25:46: index 2 is out of bounds: the array has length 2, its indices are 0 to 1
the memory is used up
0 failures
";
    let strict = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Ilib"];
    let compile = |more: &[&str], to: &str| {
        let command = [&["cc", "main.c", "-o", to][..], &strict, more, &["-lm"]];
        run(&folder, &command.concat());
    };
    compile(&["lib/liblists.a"], "static");
    assert_eq!(run(&folder, &["./static"]), expected);
    if has("valgrind") {
        let check = ["valgrind", "-q", "--leak-check=full", "--error-exitcode=9", "./static"];
        assert_eq!(run(&folder, &check), expected);
    }
    // The library itself with the sanitizers, where the compiler has them.
    let sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g"];
    let empty = Folder::new().with("a.c", "int main(void) { return 0; }\n");
    let probe = Command::new("cc").args(sanitizers).args(["a.c"]).current_dir(&empty.0).output();
    if probe.is_ok_and(|done| done.status.success()) {
        compile(&[&sanitizers[..], &["lib/lists.c"]].concat(), "sanitized");
        assert_eq!(run(&folder, &["./sanitized"]), expected);
    } else {
        eprintln!("skipped: the compiler has no sanitizers");
    }
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
    assert_eq!(files, ["other.c", "other.h", "other.pc"]);
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
def rows(xs: List[[]Real]) = length_list(xs)
def many(n: Int) = [list[i] for i < n]
def same(x) = x
";
    let folder = Folder::new().with("a.deo", text);
    for (entry, why) in [
        ("leaves", "`t` is a variant"),
        ("twice", "is a function"),
        ("rows", "`xs` is a list of arrays or of lists, which may differ in length"),
        ("many", "`result` is an array of lists, which may differ in length"),
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

const MODEL: &str = "import stats
## A line,
##   with an error of known size.
def line(p: {a: Real, b: Real}, {x, y}: {x: [n]Real, y: [n]Real}, sd: Real) -> Real =
  sum([stats.normal_logpdf(y[i], p.a + p.b * x[i], sd) for i < n])
def flat((a, b): (Real, Real), m: [2][k]Real, up: Bool, k3: Int) -> [k]Real =
  [a * m[0, i] + b * m[1, i] + real(k3) * (if up then 1.0 else 0.0) for i < k]
";

#[test]
fn entries_have_derivatives_of_their_own() {
    let ints = "def double(n: Int) -> Int = 2 * n\ndef half(n: Int, x: Real) -> Real = x / real(n)";
    let folder = Folder::new().with("model.deo", MODEL).with("ints.deo", ints);
    let mut build = vec!["build", "model.deo", "-o", "lib", "--no-compile"];
    for entry in ["line", "line:gradient(p)", "line:vjp(p, sd)", "flat:jvp", "line:jet:1,2"] {
        build.extend(["--entry", entry]);
    }
    folder.run(&build).prints("");
    let header = std::fs::read_to_string(folder.0.join("lib/model.h")).expect("a header");
    for expected in [
        "/* line : ({a: Real, b: Real}, {x: [n]Real, y: [n]Real}, Real) -> Real\n *\n * A line,\n * with an error of \
         known size.\n *\n * takes: p_a, p_b, x[n], y[n], sd\n * gives: result */\nint32_t model_line(",
        "int32_t model_line_gradient_p(model_context *context, double p_a, double p_b, const double *x,",
        " * gives: result, p_bar_a, p_bar_b */\nint32_t model_line_gradient_p(",
        " * takes: p_a, p_b, x[n], y[n], sd, result_bar\n * gives: result, p_bar_a, p_bar_b, sd_bar */",
        " * gives: result[k], result_dot[k] */\nint32_t model_flat_jvp(",
        "int32_t model_line_jet_1_2(",
        "A nan is a value",
    ] {
        assert!(header.contains(expected), "{expected}\n{header}");
    }
    assert!(!header.contains("int32_t model_flat("), "{header}");
    for (entry, code, why) in [
        ("line:gradient(q)", 1, "`line` has no parameter `q`"),
        ("line:gradient()", 2, "parameters are missing: it is written gradient(w, b)"),
        ("line:jet(p)", 2, "by some parameters there are gradient, vjp and jvp"),
        ("flat:gradient(m)", 1, "`flat` has no gradient: it is"),
        ("line:slope", 2, "it is gradient, vjp, jvp, or jet:K,R"),
    ] {
        let done = folder.run(&["build", "model.deo", "-o", "none", "--entry", entry]);
        assert!(done.status == code && done.err.contains(why), "{entry}: {}", done.err);
    }
    for (entry, why) in [
        ("double:vjp", "`double` has no derivative: there is no Real in what it gives"),
        ("half:jvp(n)", "`half` has no derivative: there is no Real in its parameter `n`"),
        ("half:gradient(x, n)", "there is no Real in its parameter `n`"),
    ] {
        let done = folder.run(&["build", "ints.deo", "-o", "none", "--entry", entry]);
        assert!(done.status == 1 && done.err.contains(why), "{entry}: {}", done.err);
    }
}

#[test]
fn interfaces_compile_without_a_warning() {
    if !has("cc") || !has("ar") {
        return;
    }
    let folder = Folder::new().with("model.deo", MODEL);
    let build =
        |args: &[&str]| folder.run(&[&["build", "model.deo", "-o", "lib"][..], args].concat());
    let all = ["--interface", "xla-ffi", "--interface", "casadi", "--size", "n=3", "--size", "k=4"];
    build(&[&["--entry", "line", "--entry", "flat"][..], &all].concat()).prints("");
    build(&["--entry", "line", "--interface", "bridgestan", "--name", "stan"]).prints("");
    let reported = ["--entry", "line", "--entry", "line", "--interface", "bridgestan"];
    build(&[&reported[..], &["--name", "twice"]].concat()).prints("");
    let sources = ["model_xla_ffi", "model_casadi", "stan_bridgestan", "twice_bridgestan"];
    for compiler in ["gcc", "clang"].into_iter().filter(|compiler| has(compiler)) {
        for (source, level) in sources.iter().flat_map(|s| [(s, "-O0"), (s, "-O2")]) {
            let source = format!("lib/{source}.c");
            let strict = "-std=c11 -Wall -Wextra -Werror -pedantic -c -o a.o".split(' ');
            let command = [compiler, level, &source].into_iter().chain(strict);
            run(&folder, &command.collect::<Vec<_>>());
        }
    }
    // The interfaces are in the libraries.
    for (library, symbols) in [
        ("model", &["model_line_xla", "fwd1_adj1_model_flat_casadi"][..]),
        ("stan", &["bs_log_density_gradient", "bs_param_names"]),
    ] {
        let library = format!("lib/lib{library}.so");
        if has("nm") {
            let names = run(&folder, &["nm", "-D", "--defined-only", &library]);
            for symbol in symbols {
                assert!(names.lines().any(|line| line.ends_with(symbol)), "{symbol}\n{names}");
            }
        }
    }
    for (args, why) in [
        (&["--entry", "flat", "--interface", "bridgestan"][..], "`flat` is no log density"),
        (&["--entry", "flat", "--interface", "casadi"], "say it by `--size k=8`"),
        (&["--entry", "line:jvp", "--interface", "bridgestan"], "0 functions are given"),
    ] {
        let done = build(args);
        assert!(done.status == 1 && done.err.contains(why), "{args:?}: {}", done.err);
    }
    // A size without a name in a result is told at the type of the result.
    let folder = Folder::new().with("sizes.deo", "def sum2(x: [2]Real) = sum(x)\ndef kept(x: [2]Real) -> {all: []Real} = {all = filter(fn v -> v > 0.0, x)}\n");
    let entries = ["--entry", "sum2", "--entry", "kept", "--interface", "casadi"];
    folder.run(&[&["build", "sizes.deo", "-o", "lib"][..], &entries].concat()).fails(
        1,
        &[
            "sizes.deo:2:25: error[not-for-c]",
            "`all` in the result of `kept` has one without a name: write its type there, as in `[m]Real`, and `--size m=8`",
        ],
    );
    let done = build(&["--entry", "line", "--interface", "stan"]);
    assert!(done.status == 2 && done.err.contains("xla-ffi, bridgestan, casadi"), "{}", done.err);
}

#[test]
fn pkg_config_finds_the_library() {
    if !has("cc") || !has("ar") || !has("pkg-config") {
        return;
    }
    let main = "#include \"demo.h\"\nint main(void) {\n  demo_context *cx = demo_new();\n  double y, x[2] = {1, 2};\n  \
                int64_t two[1] = {2};\n  return demo_pick(cx, x, two, 1, &y) || y != 2;\n}\n";
    let folder = Folder::new().with("demo.deo", DEMO).with("main.c", main);
    folder.run(&["build", "demo.deo", "--entry", "pick", "-o", "lib"]).prints("");
    // Wherever the folder is.
    std::fs::rename(folder.0.join("lib"), folder.0.join("moved")).expect("it is moved");
    let compile = "cc main.c $(PKG_CONFIG_PATH=moved pkg-config --cflags --libs demo) -o main";
    run(&folder, &["sh", "-c", compile]);
    // It starts anywhere, and without the library.
    std::fs::remove_dir_all(folder.0.join("moved")).expect("it is removed");
    run(&folder, &["sh", "-c", "main=$PWD/main; cd / && exec \"$main\""]);
}
