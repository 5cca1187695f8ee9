//! `diffeo jupyter`, with stand-ins for Python; `python/tests/test_kernel.py` has the real one.

use crate::common::{Done, Folder};

#[test]
fn a_python_that_is_not_there_is_told() {
    let folder = Folder::new();
    let mut command = folder.command(&["jupyter", "install"]);
    let done = command.env("PATH", &folder.0).env_remove("VIRTUAL_ENV").output();
    Done::new(&done.expect("the program starts")).fails(
        1,
        &[
            "error[jupyter]: there is no `python3`, the Python that is to run the kernel",
            "3.11",
            "--python PATH",
        ],
    );
    let asked = ["jupyter", "remove", "--python", "./no/python"];
    folder.run(&asked).fails(1, &["there is no `./no/python`"]);
    let mut command = folder.command(&["jupyter", "install"]);
    let done = command.env("VIRTUAL_ENV", folder.0.join("lab")).output();
    Done::new(&done.expect("the program starts")).fails(1, &["lab", "is to run the kernel"]);
}

#[test]
fn one_place_is_asked_for() {
    let folder = Folder::new();
    for more in [
        &["--user", "--sys-prefix"][..],
        &["--prefix", "a", "--user"],
        &["--prefix", "a", "--sys-prefix"],
    ] {
        folder.run(&[&["jupyter", "install"], more].concat()).fails(2, &["cannot be used with"]);
    }
    folder.run(&["jupyter"]).fails(2, &["install", "remove"]);
}

#[cfg(unix)]
mod stand_ins {
    use super::{Done, Folder};
    use std::os::unix::fs::PermissionsExt;

    /// A folder with a `python` that answers the probe so, and runs this for the kernel.
    fn python(probe: &str, kernel: &str) -> Folder {
        let script =
            format!("#!/bin/sh\nif [ \"$1\" = -c ]; then\necho '{probe}'\nelse\n{kernel}\nfi\n");
        let folder = Folder::new().with("python", script);
        let path = folder.0.join("python");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&path, mode).expect("a script");
        // A child that another test starts may still hold the file open to be written, for a moment.
        while std::process::Command::new(&path).arg("-c").output().is_err() {}
        folder
    }

    /// What the probe answers.
    fn told(python: &str, diffeo: &str, missing: &str, error: &str) -> String {
        let path = "/lab/python";
        format!(
            r#"{{"python": {python}, "path": "{path}", "diffeo": {diffeo}, "missing": {missing}, "error": {error}}}"#
        )
    }

    fn run(folder: &Folder, args: &[&str]) -> Done {
        folder.run(&[&["jupyter"], args, &["--python", "./python"]].concat())
    }

    #[test]
    fn what_the_python_lacks_is_told() {
        let package = "/lab/python -m pip install './python[jupyter]'";
        for (probe, said) in [
            ("hello", &["`./python` does not answer as a Python does"][..]),
            ("[]", &["`./python` does not answer as a Python does"]),
            (
                &told("[3, 9]", "null", "[\"diffeo\"]", "null"),
                &["`/lab/python` is Python 3.9; the kernel needs 3.11", "--python PATH"],
            ),
            (
                &told("[3, 12]", "null", "[\"ipykernel\", \"diffeo\"]", "null"),
                &["`/lab/python` has no package `diffeo`", package],
            ),
            (
                &told("[3, 12]", "\"0.1.0\"", "[\"ipykernel\"]", "null"),
                &["has no package `ipykernel`", "/lab/python -m pip install ipykernel"],
            ),
            (
                &told("[3, 12]", "null", "[]", "\"ImportError: of the wrong kind\""),
                &["cannot be imported by `/lab/python`: ImportError: of the wrong kind", package],
            ),
            (
                &told("[3, 12]", "\"0.0.9\"", "[]", "null"),
                &[
                    concat!(
                        "the package `diffeo` of `/lab/python` has the version 0.0.9, this program ",
                        env!("CARGO_PKG_VERSION")
                    ),
                    package,
                ],
            ),
        ] {
            run(&python(probe, "exit 7"), &["install"]).fails(1, said);
        }
    }

    #[test]
    fn the_package_does_the_work() {
        let version = format!("\"{}\"", env!("CARGO_PKG_VERSION"));
        // A Python that does not know its path is called as it was asked for.
        let probe = told("[3, 12]", &version, "[]", "null").replace("/lab/python", "");
        let folder = python(&probe, "echo the kernel: \"$@\"");
        for (args, expected) in [
            (&["install"][..], "install --user"),
            (&["install", "--sys-prefix"], "install --sys-prefix"),
            (&["install", "--prefix", "a b"], "install --prefix a b"),
            (&["remove", "--user"], "remove --user"),
        ] {
            let done = run(&folder, args);
            let out = format!("the kernel: -m diffeo.kernel {expected}\n");
            assert_eq!((done.status, done.out, done.err), (0, out, String::new()), "{args:?}");
        }
    }
    #[test]
    fn why_the_package_cannot_is_told() {
        let version = format!("\"{}\"", env!("CARGO_PKG_VERSION"));
        let probe = told("[3, 12]", &version, "[]", "null").replace("/lab/python", "");
        let folder =
            python(&probe, "echo one >&2; echo /lab/kernels: Permission denied >&2; exit 1");
        let said = "error[jupyter]: the kernel is not installed: /lab/kernels: Permission denied";
        run(&folder, &["install"]).fails(1, &[said]);
        // An older package can be removed from Jupyter.
        let probe = told("[3, 12]", "\"0.0.1\"", "[]", "null").replace("/lab/python", "");
        let done = run(&python(&probe, "echo removed"), &["remove"]);
        assert_eq!((done.status, done.out.as_str()), (0, "removed\n"), "{done:?}");
    }
}
