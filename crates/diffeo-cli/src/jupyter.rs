//! `diffeo jupyter`: makes the kernel known to Jupyter, or takes it away.
//!
//! The kernel is part of the package for Python, and so is what writes its specification, `python -m diffeo.kernel`.
//! Here a Python is found, asked whether it has the package in this version, and what is missing is told.

use crate::args::{JupyterAction, JupyterArgs, KernelArgs};
use crate::print;
use crate::render::Messages;
use crate::Stop;
use diffeo_base::{Diagnostic, SourceMap, Span};
use serde_json::Value as Json;
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// What this program is: the package has the same version.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Where a user gets the package; the file is in the repository.
const PACKAGE: &str = "'./python[jupyter]'";

/// The least version of Python that the package needs.
const LEAST: (u64, u64) = (3, 11);

/// Has any Python say its version, that of the package, and which packages are missing, in a line of JSON.
const PROBE: &str = r#"
import json, sys
told = {"python": sys.version_info[:2], "path": sys.executable, "diffeo": None, "error": None, "missing": []}
for name in ("ipykernel", "jupyter_client", "diffeo"):
    try:
        module = __import__(name)
        if name == "diffeo":
            told["diffeo"] = getattr(module, "__version__", None)
    except Exception as error:
        if getattr(error, "name", None) == name:
            told["missing"].append(name)
        else:
            told["error"] = "%s: %s" % (type(error).__name__, error)
print("\n" + json.dumps(told))
"#;

/// The reason why the kernel cannot be installed or removed, and what the user can do.
struct KernelProblem {
    message: String,
    help: String,
}

/// `diffeo jupyter`
pub fn jupyter(args: &JupyterArgs, messages: Messages) -> Result<(), Stop> {
    let (action, args) = match &args.action {
        JupyterAction::Install(args) => ("install", args),
        JupyterAction::Remove(args) => ("remove", args),
    };
    let done = python(args).and_then(|python| {
        let path = ready(&python, action == "install")?;
        call(&path, action, args)
    });
    match done {
        Ok(told) => print::text(&told),
        Err(KernelProblem { message, help }) => {
            let mut d = Diagnostic::error("jupyter", Span::NONE, message);
            if !help.is_empty() {
                d = d.help(help);
            }
            messages.report(&SourceMap::default(), &[d]);
            Err(Stop::Refused)
        }
    }
}

/// The Python that is asked for, that of the active environment, or the one on the PATH.
fn python(args: &KernelArgs) -> Result<PathBuf, KernelProblem> {
    if let Some(path) = &args.python {
        return Ok(path.clone());
    }
    let (folder, name) = match cfg!(windows) {
        true => ("Scripts", "python.exe"),
        false => ("bin", "python"),
    };
    match std::env::var_os("VIRTUAL_ENV").filter(|path| !path.is_empty()) {
        Some(environment) => Ok(PathBuf::from(environment).join(folder).join(name)),
        None => Ok(PathBuf::from(if cfg!(windows) { "python" } else { "python3" })),
    }
}

/// The path of a Python that can have the kernel.
fn ready(python: &PathBuf, to_install: bool) -> Result<PathBuf, KernelProblem> {
    let shown = python.display();
    let another = "name another one by `--python PATH`";
    let asked = Command::new(python).args(["-c", PROBE]).stdin(Stdio::null()).output();
    let output = asked.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => KernelProblem {
            message: format!("there is no `{shown}`, the Python that is to run the kernel"),
            help: format!("install Python {}.{} or later, or {another}", LEAST.0, LEAST.1),
        },
        _ => KernelProblem {
            message: format!("`{shown}` cannot be started: {}", diffeo::data::reason(&error)),
            help: another.to_string(),
        },
    })?;
    let text = String::from_utf8_lossy(&output.stdout);
    let told = text.lines().next_back().and_then(|line| serde_json::from_str::<Json>(line).ok());
    let Some(told) = told.filter(|told| told["python"].is_array()) else {
        let message = format!("`{shown}` does not answer as a Python does");
        return Err(KernelProblem { message, help: another.to_string() });
    };
    let path = told["path"].as_str().filter(|path| !path.is_empty()).map(PathBuf::from);
    let path = path.unwrap_or_else(|| python.clone());
    let shown = path.display();
    let number = |i: usize| told["python"][i].as_u64().unwrap_or(0);
    let version = (number(0), number(1));
    if version < LEAST {
        return Err(KernelProblem {
            message: format!(
                "`{shown}` is Python {}.{}; the kernel needs {}.{}",
                version.0, version.1, LEAST.0, LEAST.1
            ),
            help: another.to_string(),
        });
    }
    let install = |what: &str| match what {
        PACKAGE => format!(
            "in the root of Diffeo's repository: `{shown} -m pip install {PACKAGE}`; or {another}"
        ),
        what => format!("`{shown} -m pip install {what}`; or {another}"),
    };
    let missing = |name: &str| {
        told["missing"].as_array().is_some_and(|all| all.iter().any(|missing| missing == name))
    };
    if missing("diffeo") {
        let message = format!("`{shown}` has no package `diffeo`, which the kernel is part of");
        return Err(KernelProblem { message, help: install(PACKAGE) });
    }
    if let Some(name) = ["ipykernel", "jupyter_client"].into_iter().find(|name| missing(name)) {
        let message = format!("`{shown}` has no package `{name}`, which the kernel needs");
        return Err(KernelProblem { message, help: install(name) });
    }
    if let Some(error) = told["error"].as_str() {
        let message = format!("the kernel's packages cannot be imported by `{shown}`: {error}");
        return Err(KernelProblem { message, help: install(PACKAGE) });
    }
    let found = told["diffeo"].as_str().unwrap_or("unknown");
    if to_install && found != VERSION {
        return Err(KernelProblem {
            message: format!(
                "the package `diffeo` of `{shown}` has the version {found}, this program {VERSION}"
            ),
            help: install(PACKAGE),
        });
    }
    Ok(path)
}

/// Has the package do it; what it tells.
fn call(python: &PathBuf, action: &str, args: &KernelArgs) -> Result<String, KernelProblem> {
    let mut command = Command::new(python);
    command.args(["-m", "diffeo.kernel", action]).stdin(Stdio::null());
    if let Some(prefix) = &args.prefix {
        command.arg("--prefix").arg(prefix);
    } else {
        command.arg(if args.sys_prefix { "--sys-prefix" } else { "--user" });
    }
    let output = command.output().map_err(|error| KernelProblem {
        message: format!(
            "`{}` cannot be started: {}",
            python.display(),
            diffeo::data::reason(&error)
        ),
        help: String::new(),
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.trim_end().lines().next_back().unwrap_or("Python tells no reason");
    let verb = if action == "install" { "installed" } else { "removed" };
    Err(KernelProblem { message: format!("the kernel is not {verb}: {last}"), help: String::new() })
}
