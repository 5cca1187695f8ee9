//! `diffeo fmt`: files in place, standard input, `--check`, and what cannot be formatted.

use crate::common;
use crate::common::{Done, Folder};
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

const UNFORMATTED: &str = "def  main=1+ 2*x # why\n";
const FORMATTED: &str = "def main = 1 + 2 * x  # why\n";

fn read(folder: &Folder, name: &str) -> String {
    String::from_utf8(std::fs::read(folder.0.join(name)).expect("a file")).expect("UTF-8")
}

fn names(folder: &Folder) -> Vec<String> {
    let entries = std::fs::read_dir(&folder.0).expect("a folder").flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Runs the program with this text as its standard input.
fn piped(args: &[&str], text: &[u8]) -> Done {
    let folder = Folder::new();
    let mut command = folder.command(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    child.stdin.take().expect("a pipe").write_all(text).expect("the program reads");
    Done::new(&child.wait_with_output().expect("the program ends"))
}

#[test]
fn files_are_formatted_in_place() {
    let folder = Folder::new().with("a.deo", UNFORMATTED).with("b.deo", FORMATTED);
    folder.run(&["fmt", "a.deo", "b.deo"]).prints("");
    assert_eq!(read(&folder, "a.deo"), FORMATTED);
    assert_eq!(read(&folder, "b.deo"), FORMATTED);
    assert_eq!(names(&folder), ["a.deo", "b.deo"]);
}

#[test]
fn a_file_in_its_layout_is_not_written() {
    let folder = Folder::new().with("a.deo", FORMATTED);
    let modified = || std::fs::metadata(folder.0.join("a.deo")).and_then(|m| m.modified());
    let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    let file = std::fs::File::options().write(true).open(folder.0.join("a.deo")).expect("a file");
    file.set_modified(old).expect("a time");
    folder.run(&["fmt", "a.deo"]).prints("");
    assert_eq!(modified().expect("a time"), old);
}

#[cfg(unix)]
#[test]
fn permissions_and_links_stay() {
    use std::os::unix::fs::{symlink, PermissionsExt};
    let folder = Folder::new().with("a.deo", UNFORMATTED);
    let path = folder.0.join("a.deo");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o751)).expect("a file");
    symlink("a.deo", folder.0.join("link.deo")).expect("a link");
    folder.run(&["fmt", "link.deo"]).prints("");
    assert_eq!(read(&folder, "a.deo"), FORMATTED);
    let mode = std::fs::metadata(&path).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o751);
    let link = std::fs::symlink_metadata(folder.0.join("link.deo")).expect("a link");
    assert!(link.file_type().is_symlink());
}

#[test]
fn check_names_the_files_that_would_change() {
    let folder = Folder::new()
        .with("a.deo", UNFORMATTED)
        .with("b.deo", FORMATTED)
        .with("c.deo", "\n\ndef f = 1");
    let done = folder.run(&["fmt", "--check", "a.deo", "b.deo", "c.deo"]);
    assert_eq!((done.status, &*done.out, &*done.err), (1, "a.deo\nc.deo\n", ""));
    assert_eq!(read(&folder, "a.deo"), UNFORMATTED);
    folder.run(&["fmt", "--check", "b.deo"]).prints("");
}

#[test]
fn standard_input_goes_to_standard_output() {
    let done = piped(&["fmt", "-"], UNFORMATTED.as_bytes());
    assert_eq!((done.status, &*done.out, &*done.err), (0, FORMATTED, ""));
    let done = piped(&["fmt", "-"], b"");
    assert_eq!((done.status, &*done.out, &*done.err), (0, "", ""));
    let done = piped(&["fmt", "-", "--check"], UNFORMATTED.as_bytes());
    assert_eq!((done.status, &*done.out, &*done.err), (1, "<stdin>\n", ""));
    piped(&["fmt", "-", "--check"], FORMATTED.as_bytes()).prints("");
    piped(&["fmt", "-"], b"def f = (1").fails(1, &["<stdin>:1:11: error[syntax]", "def f = (1"]);
    piped(&["fmt", "-"], b"def f = \"\xe4\"").fails(1, &["<stdin>", "UTF-8"]);
}

#[test]
fn an_error_in_one_file_does_not_keep_the_others_from_it() {
    let wrong = "def f = (1 +\n\ndef  g = 2\n";
    let folder = Folder::new()
        .with("wrong.deo", wrong)
        .with("latin.deo", b"def main = \"\xe4\"\n")
        .with("a.deo", UNFORMATTED);
    std::fs::create_dir(folder.0.join("folder.deo")).expect("a folder");
    let done = folder.run(&["fmt", "wrong.deo", "none.deo", "folder.deo", "latin.deo", "a.deo"]);
    done.fails(
        1,
        &[
            "wrong.deo:1:",
            "error[syntax]",
            "error[unreadable-file]: cannot read none.deo",
            "cannot read folder.deo",
            "error[not-utf8]: latin.deo",
        ],
    );
    assert_eq!(read(&folder, "wrong.deo"), wrong);
    assert_eq!(read(&folder, "a.deo"), FORMATTED);
}

#[test]
fn line_ends_become_those_of_unix() {
    let folder = Folder::new()
        .with("dos.deo", "def f = 1 # one\r\n\r\n# two\r\n")
        .with("end.deo", "def f = 1")
        .with("empty.deo", "");
    let check = folder.run(&["fmt", "--check", "dos.deo", "end.deo", "empty.deo"]);
    assert_eq!((check.status, &*check.out), (1, "dos.deo\nend.deo\n"));
    folder.run(&["fmt", "dos.deo", "end.deo", "empty.deo"]).prints("");
    assert_eq!(read(&folder, "dos.deo"), "def f = 1  # one\n\n# two\n");
    assert_eq!(read(&folder, "end.deo"), "def f = 1\n");
    assert_eq!(read(&folder, "empty.deo"), "");
}

/// The `.deo` files below a folder.
fn programs(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder of the repository").flatten() {
        let path = entry.path();
        if path.is_dir() {
            programs(&path, found);
        } else if path.extension().is_some_and(|e| e == "deo") {
            found.push(path.to_string_lossy().into_owned());
        }
    }
}

#[test]
fn the_library_and_the_examples_are_formatted() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for folder in ["std", "examples", "bench/programs"] {
        programs(&root.join(folder), &mut files);
    }
    assert!(files.len() >= 15, "{files:?}");
    files.sort();
    let mut args = vec!["fmt", "--check"];
    args.extend(files.iter().map(String::as_str));
    let done = Folder::new().run(&args);
    assert_eq!((&*done.out, &*done.err), ("", ""), "format them with `diffeo fmt`");
    assert_eq!(done.status, 0);
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_no_file_is_not_replaced() {
    use std::io::Write;
    use std::process::Stdio;
    let folder = Folder::new();
    let mut child = folder
        .command(&["fmt", "/dev/stdin"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(b"def  a=1").expect("it is read");
    drop(input);
    common::Done::new(&child.wait_with_output().expect("the program ends")).fails(
        1,
        &[
            "error[unwritable-file]: cannot write /dev/stdin: this is no regular file",
            "`diffeo fmt -`",
        ],
    );
}
