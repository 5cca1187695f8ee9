//! The arguments of `diffeo build`, and their texts.

use super::{jet, CpuParser, XlaArgs};
use clap::Args;
use diffeo::export::{Asked, By, Client, Derivative};
use diffeo::Cpu;
use std::path::PathBuf;

const BUILD_EXAMPLES: &str = "\
Examples:
  diffeo build model.deo --entry loss -o lib         lib/model.h, model.c, libmodel.a, libmodel.so
  diffeo build model.deo --entry loss --entry 'loss:gradient(w)' --entry step:jet:1,3 -o lib
  diffeo build model.deo --entry loss --entry step -o lib --name training --no-compile
  diffeo build model.deo --entry log_density --interface bridgestan -o lib
  diffeo build model.deo --entry loss:gradient --interface stablehlo --shape xs=1000x3 -o lib
  cc main.c $(PKG_CONFIG_PATH=lib pkg-config --cflags --libs model)

The library needs no Diffeo; the header says how it is called. Its functions take and give numbers,
truth values, texts, arrays, and records and tuples of these. Compiling takes a C compiler (the
command in CC, or cc) and ar.";

/// Reads an entry with the derivative that is wanted of it.
fn wanted(text: &str) -> Result<ExportArg, String> {
    let Some((name, kind)) = text.split_once(':') else {
        return Ok(ExportArg { name: text.to_string(), derivative: None });
    };
    let derivative = match kind.trim_end().strip_suffix(')').and_then(|kind| kind.split_once('(')) {
        None => Derivative::All(derivative(kind)?),
        Some((kind, names)) => {
            let names: Vec<String> = names.split(',').map(|name| name.trim().to_string()).collect();
            if names.iter().any(String::is_empty) {
                return Err(format!("parameters are missing: it is written {kind}(w, b)"));
            }
            let by = match kind {
                "gradient" => By::ValueAndGradient,
                "vjp" => By::Vjp,
                "jvp" => By::Jvp,
                _ => return Err("by some parameters there are gradient, vjp and jvp".to_string()),
            };
            Derivative::By(by, names)
        }
    };
    Ok(ExportArg { name: name.to_string(), derivative: Some(derivative) })
}

/// A function of the program for a library.
#[derive(Clone, Debug)]
pub struct ExportArg {
    /// Its name.
    pub name: String,
    /// The derivative of it, if that is wanted.
    pub derivative: Option<Derivative>,
}

/// A form in which other programs load functions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InterfaceArg {
    /// A library for C that a program loads.
    Client(Client),
    /// Modules for XLA.
    StableHlo,
}

/// Reads the name of an interface.
fn interface(text: &str) -> Result<InterfaceArg, String> {
    if text == "stablehlo" {
        return Ok(InterfaceArg::StableHlo);
    }
    let found = Client::ALL.into_iter().find(|client| client.name() == text);
    found
        .map(InterfaceArg::Client)
        .ok_or_else(|| format!("it is {}, stablehlo", Client::ALL.map(Client::name).join(", ")))
}

/// Reads a size by its name.
fn size(text: &str) -> Result<(String, u64), String> {
    let size = text.split_once('=').and_then(|(name, size)| Some((name, size.parse().ok()?)));
    let size = size.filter(|(_, size)| u32::try_from(*size).is_ok());
    size.map(|(name, size)| (name.to_string(), size))
        .ok_or_else(|| "it is written n=3: the name of a size, and how large it is".to_string())
}

/// Reads a kind of derivative.
fn derivative(text: &str) -> Result<Asked, String> {
    match (text, text.strip_prefix("jet:")) {
        ("gradient", _) => Ok(Asked::Gradient),
        ("vjp", _) => Ok(Asked::Pullback),
        ("jvp", _) => Ok(Asked::Pushforward),
        (_, Some(orders)) => jet(orders).map(|(k, r)| Asked::Jet { k, r }),
        (_, None) => Err("it is gradient, vjp, jvp, or jet:K,R".to_string()),
    }
}

/// `diffeo build`
#[derive(Args, Debug)]
#[command(after_help = BUILD_EXAMPLES)]
pub struct BuildArgs {
    /// The program, a .deo file
    pub file: PathBuf,

    /// A function or constant of the program that C can call, or a derivative of one, perhaps by
    /// some of its parameters: loss, loss:gradient, 'loss:vjp(w, b)'
    #[arg(long = "entry", value_name = "NAME[:KIND]", required = true, value_parser = wanted)]
    pub entries: Vec<ExportArg>,

    /// A derivative of each entry that C can call, too: gradient (with the value), vjp (for a
    /// cotangent), jvp (along a tangent), or jet:K,R
    #[arg(long = "derivative", value_name = "KIND", value_parser = derivative)]
    pub derivatives: Vec<Asked>,

    /// Let another program load the library: xla-ffi (JAX), bridgestan (the clients of BridgeStan,
    /// nutpie) or casadi; the source of the interface lies beside that of the library. With
    /// stablehlo, write each function as a module for XLA, NAME.mlir
    #[arg(long = "interface", value_name = "CLIENT", value_parser = interface)]
    pub interfaces: Vec<InterfaceArg>,

    /// How large a size such as `n` of `[n]Real` is, for interfaces that have to know
    #[arg(long = "size", value_name = "NAME=N", value_parser = size)]
    pub sizes: Vec<(String, u64)>,

    /// For StableHLO.
    #[command(flatten)]
    pub xla: XlaArgs,

    /// The folder for the files
    #[arg(long, short, value_name = "DIR")]
    pub out: PathBuf,

    /// The name of the library, with which all its names begin [default: that of the file]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// Write the header and the source only
    #[arg(long)]
    pub no_compile: bool,

    /// The processor that the library is made for, as for `run`: one made for native may not run on
    /// others
    #[arg(long, value_name = "CPU", default_value_t = Cpu::Baseline, hide_possible_values = true, value_parser = CpuParser)]
    pub cpu: Cpu,

    /// Tell on standard error how long each step took, and how many operations the program has after
    /// it; with --message-format json as data
    #[arg(long)]
    pub time_passes: bool,
}
