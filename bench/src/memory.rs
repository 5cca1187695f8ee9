//! The memory that a call needs at most, beyond what there was before: measured in a process of its own.
//!
//! Linux counts the peak of a process's resident memory and lets it start anew (`/proc/self/clear_refs`).
//! Elsewhere nothing is measured.

use std::process::Command;

/// A number of bytes from `/proc/self/status`.
fn status(name: &str) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find(|l| l.strip_prefix(name).is_some_and(|l| l.starts_with(':')))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}

/// How many bytes of this process were in use at most while `call` ran, beyond those before.
pub fn peak(call: impl FnOnce()) -> Option<u64> {
    std::fs::write("/proc/self/clear_refs", "5").ok()?;
    let before = status("VmRSS")?;
    call();
    Some(status("VmHWM")?.saturating_sub(before))
}

/// The peak of a runner of a case in a process of its own: this program, called with `--peak`.
pub fn in_child(kernel: &str, label: &str, runner: &str, quick: bool) -> Option<u64> {
    let mut command = Command::new(std::env::current_exe().ok()?);
    command.args(["--peak", kernel, label, runner]);
    if quick {
        command.arg("--quick");
    }
    let output = command.output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().parse().ok())?
}
