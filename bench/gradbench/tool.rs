//! What the tool answers.
//!
//! What always holds: each message has one answer, with its number; what goes wrong in a program is told in the answer.
//! The times are those of calls alone: arguments are converted before, results after.

use diffeo::{Engine, Function, HostOptions, Program, Value};
use diffeo_bench::json;
use serde_json::{json, Value as Json};
use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Makes the argument of a module's functions from what the eval sends, where a program has it.
const PREPARE: &str = "prepare";
/// Makes what the eval wants from the result of a function: the function's name with this behind it.
const RESULT: &str = "_result";

/// The state of a session.
pub struct Tool {
    programs: PathBuf,
    options: HostOptions,
    modules: HashMap<String, LoadedProgram>,
}

/// A program, and those of its functions that were asked for.
struct LoadedProgram {
    program: Program,
    functions: HashMap<String, Function>,
}

impl Tool {
    /// A tool with the programs of a folder.
    pub fn new(programs: PathBuf, engine: Engine, threads: NonZeroUsize) -> Tool {
        let options = HostOptions { engine, threads: Some(threads), ..HostOptions::default() };
        Tool { programs, options, modules: HashMap::new() }
    }

    /// The answer to a message.
    pub fn answer(&mut self, message: &Json) -> Json {
        let text = |field: &str| message[field].as_str().unwrap_or_default();
        let outcome = match text("kind") {
            "start" => Ok(json!({ "tool": "diffeo" })),
            "define" => self.define(text("module")),
            "evaluate" => self.evaluate(text("module"), text("function"), &message["input"]),
            _ => Ok(json!({})),
        };
        let mut answer = outcome.unwrap_or_else(|e| json!({ "success": false, "error": e }));
        answer["id"] = message["id"].clone();
        answer
    }

    fn define(&mut self, name: &str) -> Result<Json, String> {
        let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let path = self.programs.join(format!("{name}.deo"));
        if !plain || !path.is_file() {
            return Err(format!("there is no program {}", path.display()));
        }
        let start = Instant::now();
        let program = Program::from_file(&path).map_err(|e| e.to_string())?;
        let check = start.elapsed();
        self.modules.insert(name.into(), LoadedProgram { program, functions: HashMap::new() });
        Ok(json!({ "success": true, "timings": [timing("check", check)] }))
    }

    fn evaluate(&mut self, module: &str, name: &str, input: &Json) -> Result<Json, String> {
        let options = &self.options;
        let module = self.modules.get_mut(module);
        let module = module.ok_or_else(|| "the module was not defined".to_string())?;
        let known = module.program.definitions();
        let has = |name: &str| known.iter().any(|n| n == name);
        if !has(name) || name == PREPARE || name.ends_with(RESULT) {
            return Err(format!("there is no function `{name}`"));
        }
        let mut timings = Vec::new();
        let function = match module.functions.get(name) {
            Some(function) => function.clone(),
            None => {
                let start = Instant::now();
                let function = module.program.function_with(name, options.clone());
                let function = function.map_err(|e| e.to_string())?;
                if !function.prepare() {
                    return Err(format!("`{name}` is not compiled"));
                }
                timings.push(timing("compile", start.elapsed()));
                module.functions.insert(name.into(), function.clone());
                function
            }
        };
        let helper = |name: &str| {
            let found = has(name).then(|| module.program.function_with(name, options.clone()));
            found.transpose().map_err(|e| e.to_string())
        };
        let start = Instant::now();
        let argument = match helper(PREPARE)? {
            Some(prepare) => {
                let given = json::read(input, prepare.sides().0)?;
                prepare.evaluate(&given).map_err(|e| e.to_string())?
            }
            None => json::read(input, function.sides().0)?,
        };
        timings.push(timing("prepare", start.elapsed()));
        let value = repeat(&function, &argument, input, &mut timings)?;
        for warning in function.take_warnings() {
            eprintln!("{warning}");
        }
        let value = match helper(&format!("{name}{RESULT}"))? {
            Some(result) => result.evaluate(&value).map_err(|e| e.to_string())?,
            None => value,
        };
        let output = json::write(&value)?;
        Ok(json!({ "success": true, "output": output, "timings": timings }))
    }
}

/// Calls a function as often as the input asks for, at least once.
fn repeat(
    function: &Function,
    argument: &Value<'_>,
    input: &Json,
    timings: &mut Vec<Json>,
) -> Result<Value<'static>, String> {
    let runs = input.get("min_runs").and_then(Json::as_u64).unwrap_or(1).max(1);
    let seconds = input.get("min_seconds").and_then(Json::as_f64).unwrap_or(0.0);
    let (mut done, mut spent) = (0, Duration::ZERO);
    loop {
        let start = Instant::now();
        let value = function.evaluate(argument).map_err(|e| e.to_string())?;
        let time = start.elapsed();
        timings.push(timing("evaluate", time));
        (done, spent) = (done + 1, spent + time);
        if done >= runs && spent.as_secs_f64() >= seconds {
            return Ok(value);
        }
    }
}

fn timing(name: &str, time: Duration) -> Json {
    json!({ "name": name, "nanoseconds": time.as_nanos() as u64 })
}
