//! Other programs at work for `diffeo`: however a command ends, they have ended, and nothing is left of them.

#![cfg(unix)]

use crate::common;
use crate::common::Folder;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// C compilers that do not end.
const STUBBORN: [(&str, &str); 4] = [
    ("sleeps", "exec sleep 60"),
    ("forks", "sleep 60 & echo x > $TMPDIR/x; sleep 60; wait"),
    ("ignores", "trap '' TERM INT HUP; while true; do sleep 1; done"),
    ("prints", "while true; do echo again >&2; done"),
];

/// What a command works with: `CC`, a folder of its own for temporary files, and for code.
fn folder(script: &str) -> Folder {
    let folder = Folder::new().with("a.deo", "def main = 1.5 + 1\ndef f(x: Real) = x * x\n");
    let folder = folder.with("cc", format!("#!/bin/sh\necho $$ > '{}'\n{script}\n", "pid"));
    let cc = folder.0.join("cc");
    std::fs::set_permissions(&cc, std::fs::Permissions::from_mode(0o755)).expect("its mode");
    std::fs::create_dir(folder.0.join("tmp")).expect("a folder");
    folder
}

/// The commands that use a C compiler.
const COMMANDS: [&[&str]; 2] =
    [&["run", "a.deo", "--engine", "c"], &["build", "a.deo", "--entry", "f", "--out", "new/lib"]];

fn command(folder: &Folder, args: &[&str]) -> Command {
    let mut command = folder.command(args);
    command.env("CC", folder.0.join("cc")).env("TMPDIR", folder.0.join("tmp"));
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// The processes whose group is that of the compiler.
fn group(folder: &Folder) -> Vec<String> {
    let Ok(leader) = std::fs::read_to_string(folder.0.join("pid")) else { return Vec::new() };
    let of_group = |process: &Path| {
        let stat = std::fs::read_to_string(process.join("stat")).ok()?;
        // Behind the name: the state, the parent, the group.
        let mut words = stat.rsplit_once(')')?.1.split_whitespace();
        let (state, group) = (words.next()?, words.nth(1)?);
        (group == leader.trim() && state != "Z").then(|| stat.clone())
    };
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    all.filter_map(|process| of_group(&process.path())).collect()
}

/// Nothing is left: no process, no file.
#[track_caller]
fn nothing_is_left(folder: &Folder, what: &str) {
    assert_eq!(group(folder), Vec::<String>::new(), "{what}");
    let left: Vec<_> = std::fs::read_dir(folder.0.join("tmp")).expect("the folder").collect();
    assert!(left.is_empty(), "{what}: {left:?}");
    assert!(!folder.0.join("new").exists(), "{what}");
}

/// Waits until the compiler is at work.
fn at_work(folder: &Folder) {
    let start = Instant::now();
    let pid = folder.0.join("pid");
    while std::fs::read_to_string(&pid).map_or(true, |text| !text.ends_with('\n')) {
        assert!(start.elapsed() < Duration::from_secs(20), "the compiler was not started");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits for the end of a command: its status and its messages, and how long that took.
fn ended(child: Child) -> (Option<i32>, String, Duration) {
    let start = Instant::now();
    let done = child.wait_with_output().expect("it ends");
    let messages = String::from_utf8_lossy(&done.stderr).into_owned();
    (done.status.code(), messages, start.elapsed())
}

#[test]
fn a_timeout_ends_compilers() {
    for (name, script) in STUBBORN {
        for args in COMMANDS {
            let folder = folder(script);
            let child = command(&folder, &[args, &["--timeout", "1"]].concat()).spawn();
            let (status, messages, time) = ended(child.expect("it starts"));
            let what = format!("{name} {args:?}: {messages}");
            assert_eq!(status, Some(1), "{what}");
            assert!(messages.contains("error[timeout]") && messages.contains("1 s"), "{what}");
            assert!(time < Duration::from_secs(2), "{what}{time:?}");
            nothing_is_left(&folder, &what);
        }
    }
}

#[test]
fn signals_end_compilers() {
    for signal in ["-INT", "-TERM", "-HUP"] {
        for (times, (name, script)) in [(1, STUBBORN[1]), (3, STUBBORN[2])] {
            for args in COMMANDS {
                let folder = folder(script);
                let child = command(&folder, args).spawn().expect("it starts");
                at_work(&folder);
                for _ in 0..times {
                    let sent =
                        Command::new("kill").args([signal, &child.id().to_string()]).status();
                    assert!(sent.is_ok());
                }
                let (status, messages, time) = ended(child);
                let what = format!("{name} {signal} {args:?}: {messages}");
                assert_eq!(status, Some(1), "{what}");
                assert!(messages.contains("error[interrupted]"), "{what}");
                assert!(time < Duration::from_secs(2), "{what}{time:?}");
                nothing_is_left(&folder, &what);
            }
        }
    }
}

#[test]
fn compilers_end_with_a_process_that_the_system_ends() {
    for (name, script) in STUBBORN {
        for args in COMMANDS {
            let folder = folder(script);
            let mut child = command(&folder, args).spawn().expect("it starts");
            at_work(&folder);
            // What ends them is started behind them.
            std::thread::sleep(Duration::from_millis(200));
            child.kill().expect("a signal");
            child.wait().expect("it ends");
            let start = Instant::now();
            let left = || std::fs::read_dir(folder.0.join("tmp")).expect("the folder").count();
            while !group(&folder).is_empty() || left() > 0 {
                assert!(
                    start.elapsed() < Duration::from_secs(10),
                    "{name} {args:?}: {} left",
                    left()
                );
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

#[test]
fn folders_that_nobody_has_are_swept() {
    let folder = folder("exit 1");
    let temporary = |name: &str| {
        let path = folder.0.join("tmp").join(name);
        std::fs::create_dir(&path).expect("a folder");
        (std::fs::File::create(path.join("lock")).expect("a file"), path)
    };
    let (left, of_nobody) = temporary(".diffeo-c-left");
    let (lock, of_others) = temporary(".diffeo-c-open");
    drop(left);
    lock.try_lock().expect("nobody else has it");
    ended(command(&folder, COMMANDS[0]).spawn().expect("it starts"));
    assert!(!of_nobody.exists() && of_others.exists());
}

#[test]
fn compilers_that_fail_leave_nothing() {
    for script in ["sleep 60 & exit 3", "echo x > $TMPDIR/x; kill -9 $$", "exit 0"] {
        for args in COMMANDS {
            let folder = folder(script);
            let (status, messages, _) = ended(command(&folder, args).spawn().expect("it starts"));
            assert_eq!(status, Some(1), "{script} {args:?}: {messages}");
            nothing_is_left(&folder, &format!("{script} {args:?}: {messages}"));
        }
    }
}

#[test]
fn the_memory_of_compilers_is_bounded() {
    if !common::c_compiler() {
        return;
    }
    // It takes 2 GB, if it gets them.
    let eater = "#include <stdlib.h>\n#include <string.h>\n#include <stdio.h>\nint main(void) {\n  for (int i = 0; \
                 i < 2000; i++) {\n    char *p = malloc(1000000);\n    if (!p) { fputs(\"out of memory\\n\", stderr); \
                 return 1; }\n    memset(p, 1, 1000000);\n  }\n  puts(\"all\");\n  return 2;\n}\n";
    for args in COMMANDS {
        let folder = folder("exec ./eater").with("eater.c", eater);
        let mut made = Command::new("cc");
        made.args(["-O0", "eater.c", "-o", "eater"]).current_dir(&folder.0);
        assert!(made.status().is_ok_and(|status| status.success()));
        let child = command(&folder, &[args, &["--max-memory", "200M"]].concat()).spawn();
        let (status, messages, _) = ended(child.expect("it starts"));
        assert_eq!(status, Some(1), "{messages}");
        assert!(messages.contains("error[out-of-memory]"), "{messages}");
        nothing_is_left(&folder, &messages);
    }
}

#[test]
fn a_library_is_there_as_a_whole_or_not_at_all() {
    let folder = folder("exit 1");
    std::fs::create_dir(folder.0.join("lib")).expect("a folder");
    let old = folder.0.join("lib/a.h");
    std::fs::write(&old, "old").expect("a file");
    let args = ["build", "a.deo", "--entry", "f", "--out", "lib"];
    let (status, ..) = ended(command(&folder, &args).spawn().expect("it starts"));
    assert_eq!(status, Some(1));
    let files = std::fs::read_dir(folder.0.join("lib")).expect("the folder").count();
    assert_eq!((files, std::fs::read_to_string(&old).expect("the file")), (1, "old".to_string()));
}
