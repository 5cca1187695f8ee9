//! A folder of files for a test, and the program run in it.

// Each test file uses a part of it.
#![allow(dead_code)]

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Whether there is a C compiler.
pub fn c_compiler() -> bool {
    Command::new("cc").arg("--version").output().is_ok_and(|output| output.status.success())
}

/// A folder that goes with its owner.
pub struct Folder(pub PathBuf);

impl Folder {
    /// An empty folder.
    pub fn new() -> Folder {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder =
            std::env::temp_dir().join(format!("diffeo-cli-{}-{count}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for the test");
        Folder(folder)
    }

    /// The folder with one more file.
    pub fn with(self, name: &str, bytes: impl AsRef<[u8]>) -> Folder {
        std::fs::write(self.0.join(name), bytes).expect("a file for the test");
        self
    }

    /// The program with these arguments, in this folder, without colours, and without code from earlier runs.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_diffeo"));
        command
            .args(args)
            .current_dir(&self.0)
            .env_remove("NO_COLOR")
            .env("DIFFEO_CACHE", "")
            .stdin(Stdio::null());
        command
    }

    /// Runs it to its end.
    pub fn run(&self, args: &[&str]) -> Done {
        Done::new(&self.command(args).output().expect("the program starts"))
    }

    /// Runs it to its end with this on standard input.
    pub fn run_with(&self, args: &[&str], input: &str) -> Done {
        let name = self.0.join("standard-input");
        std::fs::write(&name, input).expect("a file for the test");
        let input = std::fs::File::open(name).expect("the file");
        Done::new(&self.command(args).stdin(input).output().expect("the program starts"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What a run left.
#[derive(Debug, PartialEq)]
pub struct Done {
    /// The exit status.
    pub status: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Done {
    /// What this run left.
    pub fn new(output: &Output) -> Done {
        Done {
            status: output.status.code().expect("no signal"),
            out: String::from_utf8(output.stdout.clone()).expect("results are UTF-8"),
            err: String::from_utf8(output.stderr.clone()).expect("messages are UTF-8"),
        }
    }

    /// The run ended well and printed this.
    #[track_caller]
    pub fn prints(&self, out: &str) {
        assert_eq!((self.status, self.out.trim_end(), &*self.err), (0, out, ""), "{self:?}");
    }

    /// The run ended with this status, printed no result, and its messages contain all of these.
    #[track_caller]
    pub fn fails(&self, status: i32, parts: &[&str]) {
        assert_eq!((self.status, &*self.out), (status, ""), "{self:?}");
        for part in parts {
            assert!(self.err.contains(part), "no {part:?} in\n{}", self.err);
        }
    }
}
