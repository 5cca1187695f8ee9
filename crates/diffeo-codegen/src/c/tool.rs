//! Runs other programs for this one: the C compiler, `ar`.
//!
//! What always holds: a tool and all that it starts are a group of processes, which has ended when [`run`] returns and
//! when this process has, however it ends. Its temporary files are in a [`TempFolder`], which goes in the same way. It
//! keeps to the limits of the run that it works for.

use super::compiler::Error;
use diffeo_calculus::eval::leftovers::{self, Leftover};
use diffeo_calculus::eval::{Exceeded, Limits};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// A folder for temporary files that goes with its owner, or with the process. If the system ends the process, the next
/// one that needs such a folder removes it.
pub(super) struct TempFolder {
    path: PathBuf,
    /// A file in it that is locked as long as the process has the folder.
    _lock: File,
    _leftover: Leftover,
}

impl TempFolder {
    /// A new folder among the temporary files of the system.
    pub fn temporary() -> Result<TempFolder, Error> {
        TempFolder::within(&std::env::temp_dir())
    }

    /// A new folder in another one.
    pub fn within(folder: &Path) -> Result<TempFolder, Error> {
        sweep(folder);
        let made = leftovers::make(
            || make(folder),
            |(path, _)| {
                let path = path.clone();
                Box::new(move || remove(&path))
            },
        );
        let ((path, _lock), _leftover) =
            made.map_err(|error| Error::File(folder.to_path_buf(), error))?;
        Ok(TempFolder { path, _lock, _leftover })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// How the names of these folders begin.
const PREFIX: &str = ".diffeo-c-";

/// The name of the file that is locked.
const LOCK: &str = "lock";

/// Makes a folder. It has its name only when its file is locked.
fn make(folder: &Path) -> io::Result<(PathBuf, File)> {
    let made = tempfile::Builder::new().prefix(".diffeo-new-").tempdir_in(folder)?;
    let lock = File::create(made.path().join(LOCK))?;
    // Where files cannot be locked, nobody removes folders of others.
    let _ = lock.try_lock();
    let name = made.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
    let path = folder.join(name.replacen(".diffeo-new-", PREFIX, 1));
    std::fs::rename(made.path(), &path)?;
    // It is not there any more under its first name.
    let _ = made.keep();
    Ok((path, lock))
}

/// Removes the folders of processes that the system has ended.
fn sweep(folder: &Path) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_one = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX))
    };
    for path in entries.map(|entry| entry.path()).filter(is_one) {
        let lock = File::options().write(true).open(path.join(LOCK));
        if lock.is_ok_and(|lock| lock.try_lock().is_ok()) {
            remove(&path);
        }
    }
}

/// How often something is tried that others may hinder for a moment.
const TRIES: usize = 40;

/// The time between two tries, and the longest between two looks at a tool.
const PAUSE: Duration = Duration::from_millis(5);

/// Removes a folder, in which a process that is just ending may still make a file.
fn remove(folder: &Path) {
    for _ in 0..TRIES {
        match std::fs::remove_dir_all(folder) {
            Ok(()) => return,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(_) => thread::sleep(PAUSE),
        }
    }
}

/// What tools print when they get no more memory.
const NO_MEMORY: [&str; 4] =
    ["out of memory", "memory exhausted", "annot allocate memory", "bad_alloc"];

/// How much is shown of what a tool has printed.
const SHOWN: u64 = 1 << 14;

/// Runs a tool to its end; its temporary files go to this folder.
///
/// # Errors
/// It is not there, has failed, or has reached a limit.
pub(super) fn run(
    command: &mut Command,
    folder: &TempFolder,
    limits: &Limits,
) -> Result<(), Error> {
    limits.check().map_err(Error::Exceeded)?;
    // A file takes what is printed without anybody reading it meanwhile.
    let printed = tempfile::tempfile_in(folder.path())
        .and_then(|file| Ok((file.try_clone()?, file)))
        .map_err(|error| Error::File(folder.path().to_path_buf(), error));
    let (to, mut printed) = printed?;
    command.env("TMPDIR", folder.path());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(to);
    group::prepare(command, limits);
    let started = leftovers::make(
        || command.spawn(),
        |child| {
            let id = child.id();
            Box::new(move || group::kill(id))
        },
    );
    let (mut child, leftover) = started.map_err(|reason| match (reason.kind(), limits.memory) {
        (io::ErrorKind::OutOfMemory, Some(memory)) => {
            Error::Exceeded(Exceeded::Memory(memory.bytes))
        }
        _ => {
            Error::Missing { command: command.get_program().to_string_lossy().into_owned(), reason }
        }
    })?;
    let guard = group::Guard::new(child.id(), folder.path());
    let waited = wait(&mut child, limits);
    group::kill(child.id());
    if waited.is_err() {
        // Where there are no groups.
        let _ = child.kill();
    }
    let status = child.wait();
    group::gone(child.id());
    drop(guard);
    drop(leftover);
    waited.map_err(Error::Exceeded)?;
    let ended = match status {
        Ok(status) if status.success() => return Ok(()),
        Ok(status) => status.to_string(),
        Err(error) => error.to_string(),
    };
    let printed = beginning(&mut printed);
    if let (Some(memory), true) =
        (limits.memory, NO_MEMORY.iter().any(|words| printed.contains(words)))
    {
        return Err(Error::Exceeded(Exceeded::Memory(memory.bytes)));
    }
    let mut words = vec![command.get_program().to_string_lossy()];
    words.extend(command.get_args().map(|a| a.to_string_lossy()));
    let lines: String = printed.lines().take(8).map(|line| format!("\n{line}")).collect();
    Err(Error::Failed { command: words.join(" "), output: format!("{ended}{lines}") })
}

/// What was printed first.
fn beginning(printed: &mut File) -> String {
    let mut bytes = Vec::new();
    // What cannot be read is not shown.
    let _ = printed.rewind().and_then(|()| printed.take(SHOWN).read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Waits until a tool has ended, which is not yet noted by the system, so that its number stays its own.
fn wait(child: &mut Child, limits: &Limits) -> Result<(), Exceeded> {
    let mut pause = Duration::from_millis(1);
    while !group::ended(child) {
        limits.check()?;
        thread::sleep(pause);
        pause = (pause * 2).min(PAUSE);
    }
    Ok(())
}

/// Groups of processes.
#[cfg(unix)]
mod group {
    use super::{Limits, PAUSE, TRIES};
    use rustix::process::{
        getrlimit, kill_process_group, setrlimit, test_kill_process_group, waitid, Pid, Resource,
        Rlimit, Signal, WaitId, WaitIdOptions,
    };
    use std::os::unix::process::CommandExt;
    use std::path::Path;
    use std::process::{Child, Command, Stdio};

    /// What a guard does when its input is at its end.
    const GUARD: &str = "read _; kill -s KILL -- \"-$0\"; rm -rf -- \"$1\"";

    /// Another process that ends a group and removes a folder if this process is ended by the system meanwhile. A
    /// compiler has processes of its own, which do not hear that it was ended.
    pub struct Guard(Option<Child>);

    impl Guard {
        pub fn new(group: u32, folder: &Path) -> Guard {
            let mut command = Command::new("sh");
            command.args(["-c", GUARD, &group.to_string()]).arg(folder).process_group(0);
            command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
            // Without it, they go on to their end.
            Guard(command.spawn().ok())
        }
    }

    impl Drop for Guard {
        fn drop(&mut self) {
            if let Some(guard) = &mut self.0 {
                // Before its input ends. It may have ended.
                let _ = guard.kill();
                let _ = guard.wait();
            }
        }
    }

    fn id(id: u32) -> Option<Pid> {
        Pid::from_raw(i32::try_from(id).ok()?)
    }

    /// The command begins a group; each process of it has as much memory as the run has left.
    pub fn prepare(command: &mut Command, limits: &Limits) {
        command.process_group(0);
        let most = getrlimit(Resource::Data).maximum;
        let left =
            limits.memory.map(|memory| memory.bytes.saturating_sub((memory.in_use)()) as u64);
        let bound = left.map(|left| most.map_or(left, |most| most.min(left)));
        let begin = move || -> std::io::Result<()> {
            if bound.is_some() {
                setrlimit(Resource::Data, Rlimit { current: bound, maximum: bound })?;
            }
            // Whatever ends this process.
            #[cfg(target_os = "linux")]
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
            Ok(())
        };
        // SAFETY: between `fork` and `exec` it does nothing but two system calls.
        unsafe { command.pre_exec(begin) };
    }

    /// Whether the first process of a group has ended. It stays known until somebody waits for it.
    pub fn ended(child: &mut Child) -> bool {
        let Some(pid) = id(child.id()) else { return true };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match waitid(WaitId::Pid(pid), options) {
            Ok(status) => status.is_some(),
            Err(rustix::io::Errno::INTR) => false,
            Err(_) => true,
        }
    }

    /// Ends all processes of a group.
    pub fn kill(group: u32) {
        if let Some(group) = id(group) {
            // There may be none any more.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }

    /// Waits for the end of processes that are being ended.
    pub fn gone(group: u32) {
        let Some(group) = id(group) else { return };
        for _ in 0..TRIES {
            if test_kill_process_group(group).is_err() {
                return;
            }
            std::thread::sleep(PAUSE);
        }
    }
}

/// Where there are no groups, the tool alone is ended.
#[cfg(not(unix))]
mod group {
    use super::Limits;
    use std::path::Path;
    use std::process::{Child, Command};

    pub struct Guard;

    impl Guard {
        pub fn new(_group: u32, _folder: &Path) -> Guard {
            Guard
        }
    }

    pub fn prepare(_command: &mut Command, _limits: &Limits) {}

    pub fn ended(child: &mut Child) -> bool {
        !matches!(child.try_wait(), Ok(None))
    }

    pub fn kill(_group: u32) {}

    pub fn gone(_group: u32) {}
}
