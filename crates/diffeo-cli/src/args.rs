//! The command line: what may be written after `diffeo`, and the texts of `--help`.

mod build;
mod form;
mod jupyter;
mod kinks;
mod values;

pub use build::{BuildArgs, InterfaceArg};
pub use form::Form;
pub use jupyter::{JupyterAction, JupyterArgs, KernelArgs};
pub use kinks::Kinks;

use crate::plot::Format;
use clap::{Args, Parser, Subcommand, ValueEnum};
use diffeo::data::Target;
use diffeo::xla::Precision;
use diffeo::{Cpu, Engine};
use form::FormParser;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;
use values::{name_and_value, seconds, shape, size, CpuParser, EngineParser};

/// Runs and inspects programs in Diffeo, a differentiable programming language.
#[derive(Parser, Debug)]
#[command(name = "diffeo", version, max_term_width = 100, after_help = EXAMPLES)]
pub struct Cli {
    /// Whether to colour messages; auto colours them on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub color: Color,

    /// How messages are written to standard error: for people, or as one JSON object a line
    #[arg(long, global = true, value_enum, default_value_t = MessageFormat::Human, value_name = "FORMAT")]
    pub message_format: MessageFormat,

    /// Stop with an error after this many seconds
    #[arg(long, global = true, value_name = "SECONDS", value_parser = seconds)]
    pub timeout: Option<Duration>,

    /// Stop with an error when more memory than this is needed: bytes, or with K, M or G, such as
    /// 500M [default: nine tenths of the machine's]
    #[arg(long, global = true, value_name = "SIZE", value_parser = size)]
    pub max_memory: Option<usize>,

    /// Let at most so many threads work for a run; results do not depend on it [default: as many as there
    /// are processors]
    #[arg(long, global = true, value_name = "N")]
    pub threads: Option<NonZeroUsize>,

    /// Tell on standard error what was done: time, memory, operations, kinks met
    #[arg(long, short, global = true)]
    pub verbose: bool,

    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  diffeo run train.deo --arg rate=0.1 --arg table=points.csv
  diffeo eval 'grad(fn x -> x ^ 2)(3.0)'
  diffeo grad train.deo loss --at '[0.5, 1.0]' --check
  diffeo check train.deo

Exit status: 0 if all went well, 1 if the program was refused or stopped or an input could
not be read, 2 if the command line is wrong.";

/// The commands.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Evaluate `main` of a program and print the result
    Run(RunArgs),
    /// Evaluate an expression and print the result
    Eval(EvalArgs),
    /// Try expressions and definitions, one after the other
    Repl(ReplArgs),
    /// Differentiate a function of a program at a point, or check its derivatives
    Grad(GradArgs),
    /// Draw from the posterior distribution of a model, by Hamiltonian Monte Carlo
    Sample(SampleArgs),
    /// Check programs without running them
    Check(CheckArgs),
    /// Run the tests of programs and the examples in their doc comments
    Test(TestArgs),
    /// Say what a function of the library does
    Doc(DocArgs),
    /// Make a folder with a small project
    New(NewArgs),
    /// Lay programs out in the one format
    Fmt(FmtArgs),
    /// Show what a program is turned into
    Show(ShowArgs),
    /// Make a library for C of functions of a program
    Build(BuildArgs),
    /// Serve editors: the Language Server Protocol on standard input and output
    Lsp,
    /// Install the kernel for notebooks in Jupyter, or remove it
    Jupyter(JupyterArgs),
    /// Print the completions of the command line for a shell
    Completions(CompletionsArgs),
    /// Print the man page, or write the pages of all commands to a folder
    Man(ManArgs),
}

const RUN_EXAMPLES: &str = "\
Examples:
  diffeo run hello.deo
  diffeo run train.deo --arg rate=0.1 --arg 'start=[1, 2.5]' --arg table=points.csv
  diffeo run train.deo --arg table=points.csv:skip=1 --arg weights=model.npz:w --json
  diffeo run fit.deo --arg table=doses.csv:sep=semicolon:decimal=comma --arg plan=lab.xlsx
  diffeo run fit.deo --arg table=doses.csv --out curve=curve.csv --out fit=fit.json
  diffeo run train.deo --arg x=data.npy --out result.npy
  make-points | diffeo run train.deo --arg table=-:csv --out -:csv
  diffeo run model.deo --entry loss --arg w=0.5 --kinks warn
  diffeo run fit.deo --plot fit.svg --plot residuals=residuals.png
  diffeo run fit.deo --plot

Arguments are JSON, or the name of a file: .json, .csv, .tsv, .txt, .dat, .xlsx, .parquet, .arrow,
.feather, .npy or .npz, which may be a gzip file (.csv.gz). `file.npz:a` takes the array a of an NPZ
file. `data.log:csv` names the format that a name does not tell; `-:csv` is standard input, and
standard output after --out.

Options of tables follow the name, each once, in any order:
  sep=comma        between cells: comma, semicolon, tab, space (any run of blanks) or a character
                   [default: comma in .csv, tab in .tsv, by the first line in .txt and .dat]
  decimal=point    the decimal sign: point or comma
  thousands=none   between groups of digits: none, comma, point, space or apostrophe
  na=TEXT|TEXT     further texts that stand for a missing cell
  comment=C        the character that begins a comment to the end of the line
  skip=N           lines left out at the top
  rows=N           rows that are read, without the header; what is below is not looked at
  header=yes       whether the first line names the columns: yes or no
                   [default: yes for records, no for tuples and rows]
  encoding=utf-8   utf-8, latin-1 or utf-16
  sheet=NAME       the sheet of an .xlsx file [default: the first]";

/// `diffeo run`
#[derive(Args, Debug)]
#[command(after_help = RUN_EXAMPLES)]
pub struct RunArgs {
    /// The program, a .deo file
    pub file: PathBuf,

    /// Give the parameter NAME (a field of the record that the entry takes) this value;
    /// one of a Maybe type that is not given is Nothing
    #[arg(long = "arg", value_name = "NAME=VALUE", value_parser = name_and_value)]
    pub args: Vec<(String, String)>,

    /// The definition to evaluate
    #[arg(long, value_name = "NAME", default_value = "main")]
    pub entry: String,

    /// Write the result to this .json, .csv, .tsv, .txt, .npy or .npz file instead of printing it; with
    /// NAME=FILE, write that field of the result, and several times several fields
    #[arg(long, value_name = "[NAME=]FILE", allow_hyphen_values = true)]
    pub out: Vec<String>,

    /// Draw the plot in the result to this .svg or .png file, or write it as Vega-Lite to a .json file; that of
    /// a FIELD where the result has several; without a file, draw it as characters on standard output
    #[arg(
        long = "plot",
        value_name = "[FIELD=]FILE",
        num_args = 0..=1,
        default_missing_value = "",
        value_parser = plot_to
    )]
    pub plots: Vec<PlotTo>,

    /// How to evaluate it.
    #[command(flatten)]
    pub evaluation: Evaluation,

    /// For which processor.
    #[command(flatten)]
    pub processor: Processor,

    /// Tell on standard error how long each step took, and how many operations the program has after
    /// it; with --json as data
    #[arg(long)]
    pub time_passes: bool,
}

/// Where a plot is drawn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlotTo {
    /// Which plot: the way to it in the result.
    pub field: Option<String>,
    /// The file; none for characters on standard output.
    pub file: Option<(Target, Format)>,
}

/// Reads where a plot is drawn.
fn plot_to(text: &str) -> Result<PlotTo, String> {
    let (field, name) = match text.split_once('=') {
        Some((field, name)) => (Some(field.to_string()), name),
        None => (None, text),
    };
    if name.is_empty() {
        return Ok(PlotTo { field, file: None });
    }
    let (stem, ending) = match (name.rsplit_once(':'), name.rsplit_once('.')) {
        (Some((stem, ending)), _) if !stem.is_empty() && !ending.contains(['/', '.']) => {
            (stem, ending)
        }
        (_, Some((_, ending))) => (name, ending),
        _ => (name, ""),
    };
    let format = match ending.to_ascii_lowercase().as_str() {
        "svg" => Format::Svg,
        "png" => Format::Png,
        "json" => Format::Json,
        "deo" => {
            return Err("this is the program: write it before `--plot`, or `--plot=` and a file"
                .to_string())
        }
        _ => return Err("a picture is a .svg, .png or .json file".to_string()),
    };
    let target = match stem {
        "-" => Target::Standard,
        _ => Target::File(PathBuf::from(stem)),
    };
    Ok(PlotTo { field, file: Some((target, format)) })
}

const EVAL_EXAMPLES: &str = "\
Examples:
  diffeo eval '1 + 1'
  diffeo eval 'derivatives(3, sin)(0.0)' --json
  diffeo eval 'grad(loss)([0.5, 1.0])' --in model.deo";

/// `diffeo eval`
#[derive(Args, Debug)]
#[command(after_help = EVAL_EXAMPLES)]
pub struct EvalArgs {
    /// The expression
    #[arg(value_name = "EXPR", allow_hyphen_values = true)]
    pub expression: String,

    /// Evaluate it in the scope of this .deo file
    #[arg(long = "in", value_name = "FILE")]
    pub context: Option<PathBuf>,

    /// How to evaluate it.
    #[command(flatten)]
    pub evaluation: Evaluation,

    /// For which processor.
    #[command(flatten)]
    pub processor: Processor,
}

const REPL_EXAMPLES: &str = "\
Examples:
  diffeo repl
  diffeo repl model.deo             with the definitions of a program
  diffeo repl --arg table=points.csv:sep=semicolon
  diffeo repl < session.txt         reads a file or a pipe, without prompts

What is typed is an expression, whose value is printed, or definitions: `def`, `let`, `type` and
`import` as in a program. A later definition hides an earlier one of its name; what was defined in
between keeps the earlier one. `it` is the last expression. A line that is not complete goes on with
the next one; an empty line ends it. Commands begin with a colon: `:help` lists them. Ctrl-C ends a
run, Ctrl-D the session.";

/// `diffeo repl`
#[derive(Args, Debug)]
#[command(after_help = REPL_EXAMPLES)]
pub struct ReplArgs {
    /// A program whose definitions are known
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// Name this value, as `run` reads it: of the type that a parameter of `main` has, or that the file says
    #[arg(long = "arg", value_name = "NAME=VALUE", value_parser = name_and_value)]
    pub args: Vec<(String, String)>,

    /// How to evaluate what is typed.
    #[command(flatten)]
    pub evaluation: Evaluation,

    /// For which processor.
    #[command(flatten)]
    pub processor: Processor,
}

const DOC_EXAMPLES: &str = "\
Examples:
  diffeo doc                   the modules of the library
  diffeo doc linalg            what is in a module
  diffeo doc linalg.solve      type, meaning and examples of a function
  diffeo doc standard error    what these words lead to
  diffeo doc scan --json";

/// `diffeo doc`
#[derive(Args, Debug)]
#[command(after_help = DOC_EXAMPLES)]
pub struct DocArgs {
    /// A module, a function, a constant or a type, or words to search for; without it, the modules are listed
    #[arg(value_name = "WORDS")]
    pub words: Vec<String>,

    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

const NEW_EXAMPLES: &str = "\
Example:
  diffeo new decay
  cd decay
  diffeo run main.deo --arg table=data.csv
  diffeo test";

/// `diffeo new`
#[derive(Args, Debug)]
#[command(after_help = NEW_EXAMPLES)]
pub struct NewArgs {
    /// The folder to make
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

const TEST_EXAMPLES: &str = "\
Examples:
  diffeo test                  every .deo file here and in the folders below
  diffeo test model.deo
  diffeo test --only decay     what has this in its name

A test is a definition whose name begins with `test_`: a Bool, which must be true, or `()`, as of
`assert`, which must not fail. An example is a line `> e` in a doc comment (`##`), with the value of e,
as it is printed, on the next line. The exit status is 1 if one fails.";

/// `diffeo test`
#[derive(Args, Debug)]
#[command(after_help = TEST_EXAMPLES)]
pub struct TestArgs {
    /// The programs, .deo files
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Run only tests and examples that have this in their name
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,

    /// What evaluates them
    #[arg(long, default_value = "auto", value_parser = EngineParser)]
    pub engine: Engine,
}

const GRAD_EXAMPLES: &str = "\
Examples:
  diffeo grad model.deo loss                           at the point that `def loss_at = …` gives
  diffeo grad model.deo f --at '[1.0, 2.0]'            the argument of f; of f(x, y) the pair
  diffeo grad model.deo loss --at w=0.5 --at table=points.csv:skip=1
  diffeo grad model.deo loss --at w=0.5 --check        all modes, and differences
  diffeo grad model.deo f --at 0.5 --jet 1,4 --json    derivatives 0 to 4

A function may take and give any data. One that gives a Real has a gradient, of the shape of the
point; any other has a gradient for each Real of its value, named by its place in it: `.0[3]` is
component 0, element 3. With --json: {\"value\": …, \"gradient\": …}, or
{\"value\": …, \"jacobian\": [{\"of\": \".0[3]\", \"gradient\": …}, …]}.

--jet K,R takes the first K Reals of the point as the variables, in the order in which the point is
printed, and gives for each Real of the value the derivatives by them up to order R, in the
lexicographic order of their multi-indices: (0, 2) is the second derivative by the second one.

--check compares the modes of differentiation, each with each: reverse mode, pullbacks, gradients of
inner products, forward mode, Taylor coefficients; for second derivatives every nesting of two of
reverse, forward and Taylor. It compares them with extrapolated differences, too. It goes through all
components of the derivative; of a function of more than 64 Reals, or one that takes long, through a
fixed sample, and through random directions in which all take part. Modes agree if they are within
1e-9 of each other, relative to the derivative; where that is what much larger derivatives have left of
each other, relative to the largest absolute value met in the computation: values, derivatives and all
that comes between. A value without Reals, such as `Nothing`, has a gradient, too: zeros. Differences
agree if they are within 1e-6 of the modes, relative to the derivative, or within ten times their own
estimated error where rounding does not let them be more exact; where they say next to nothing, the
report tells that they are too rough, and that is no error. What is not finite agrees with nothing. The
exit status is 1 if something disagrees.";

/// `diffeo grad`
#[derive(Args, Debug)]
#[command(after_help = GRAD_EXAMPLES)]
pub struct GradArgs {
    /// The program, a .deo file
    pub file: PathBuf,

    /// The function to differentiate
    #[arg(value_name = "ENTRY")]
    pub entry: String,

    /// The point: JSON or a data file as for `run --arg`, for the whole argument or, as NAME=VALUE,
    /// for a field of a record; without it the definition ENTRY_at of the program
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pub at: Vec<String>,

    /// Give all derivatives by K variables up to order R
    #[arg(long, value_name = "K,R", value_parser = jet, conflicts_with = "check")]
    pub jet: Option<(u32, u32)>,

    /// Compare the derivatives of all modes, and differences
    #[arg(long, conflicts_with = "enclose")]
    pub check: bool,

    /// How to evaluate it.
    #[command(flatten)]
    pub evaluation: Evaluation,

    /// For which processor.
    #[command(flatten)]
    pub processor: Processor,
}

/// The most variables, and the highest order, of `--jet`.
const LARGEST_JET: u32 = 64;

fn jet(text: &str) -> Result<(u32, u32), String> {
    let numbers = text
        .split_once(',')
        .and_then(|(k, r)| Some((k.trim().parse::<u32>().ok()?, r.trim().parse::<u32>().ok()?)));
    let fits = |n: u32| n <= LARGEST_JET;
    match numbers {
        Some((k, r)) if k > 0 && fits(k) && fits(r) => Ok((k, r)),
        _ => Err(format!(
            "it is written K,R: from 1 to {LARGEST_JET} variables, an order from 0 to {LARGEST_JET}"
        )),
    }
}

/// How to evaluate a program and print its result.
#[derive(Args, Debug)]
pub struct Evaluation {
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,

    /// What to do where a function that is being differentiated has no derivative, and outside
    /// domains
    #[arg(long, value_enum, default_value_t = Kinks::Ignore)]
    pub kinks: Kinks,

    /// Compute with intervals that certainly contain the exact values and derivatives; arguments may be intervals, such as
    /// 0.9..1.1 or 1.0+-0.1
    #[arg(long, conflicts_with = "kinks")]
    pub enclose: bool,

    /// What evaluates the program
    #[arg(long, default_value = "auto", value_parser = EngineParser)]
    pub engine: Engine,

    /// How often each recursive definition may unfold, with --engine trace (Abadi & Plotkin, Figure 8)
    #[arg(long, value_name = "N")]
    pub unfold: Option<u64>,
}

/// What draws of a posterior come from.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub enum Method {
    /// The posterior, by Hamiltonian Monte Carlo: the no-U-turn sampler
    Nuts,
    /// Laplace's approximation: the normal distribution at the mode
    Laplace,
    /// Variational inference: the nearest independent normal distributions
    Meanfield,
}

impl From<Method> for diffeo::Method {
    fn from(method: Method) -> diffeo::Method {
        match method {
            Method::Nuts => diffeo::Method::Nuts,
            Method::Laplace => diffeo::Method::Laplace,
            Method::Meanfield => diffeo::Method::MeanField,
        }
    }
}

const SAMPLE_EXAMPLES: &str = "\
Examples:
  diffeo sample schools.deo --arg y='[28, 8, -3]' --arg sigma='[15, 10, 16]'
  diffeo sample fit.deo log_density --arg table=points.csv --chains 8 --seed 1
  diffeo sample fit.deo --arg table=points.csv --predict replicate --out draws.csv
  diffeo sample fit.deo --arg table=points.csv --show mean,sd
  diffeo sample fit.deo --arg table=points.csv --target-accept 0.95 --json
  diffeo sample fit.deo --arg table=points.csv --method laplace

ENTRY is a function of a record of parameters, and perhaps one of data, to a Real: the logarithm of
the posterior density, up to a constant. The definition `parameters`, a record or a function of data,
says what values each parameter takes, by the module bayes:

  import bayes
  import stats (normal_logpdf)
  def parameters = {mean = bayes.Free, sd = bayes.Positive}
  def log_density({mean, sd}: {mean: Real, sd: Real}, {y}: {y: [n]Real}) -> Real =
    normal_logpdf(mean, 0.0, 10.0) - sd + sum([normal_logpdf(v, mean, sd) for v in y])

The table has mean, Monte Carlo standard error, standard deviation and quantiles of each number, bulk
and tail effective sample sizes, and R-hat. Warnings say what the draws do not tell, and what to do.
The same seed gives the same draws, however many threads there are. Ctrl-C and --timeout keep the draws
that there are, with those of the warm-up left out; a second Ctrl-C ends the program.

--method laplace and --method meanfield draw from a normal distribution of the parameters before their
transforms: with the mode and the curvature there, or the nearest one without correlations. They take much
less time; a warning says where they are not near.";

/// `diffeo sample`
#[derive(Args, Debug)]
#[command(after_help = SAMPLE_EXAMPLES)]
pub struct SampleArgs {
    /// The program, a .deo file
    pub file: PathBuf,

    /// The log density
    #[arg(value_name = "ENTRY", default_value = "log_density")]
    pub entry: String,

    /// Give the data NAME (a field of the record of data) this value, as for `run`
    #[arg(long = "arg", value_name = "NAME=VALUE", value_parser = name_and_value)]
    pub args: Vec<(String, String)>,

    /// What the draws come from
    #[arg(long, value_enum, default_value_t = Method::Nuts)]
    pub method: Method,

    /// The definition that says what values each parameter takes; where there is none of this name, they
    /// are Reals
    #[arg(long, value_name = "NAME", default_value = "parameters")]
    pub parameters: String,

    /// Make predictions with this function of the parameters, the data and a `random.Key`, the last two if
    /// it takes them: it gives a record, which has a value for each draw
    #[arg(long, value_name = "NAME")]
    pub predict: Option<String>,

    /// How many chains
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub chains: usize,

    /// How many draws each chain makes to adapt, which are thrown away
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub warmup: usize,

    /// How many draws each chain keeps
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub draws: usize,

    /// What the draws depend on
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,

    /// The mean acceptance to aim at: nearer to 1, steps are smaller, and fewer draws diverge
    #[arg(long, value_name = "RATE", default_value_t = 0.8)]
    pub target_accept: f64,

    /// How often a trajectory doubles at most
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub max_depth: u32,

    /// Begin within this distance from 0, before the transforms of the parameters
    #[arg(long, value_name = "RADIUS", default_value_t = 2.0)]
    pub init: f64,

    /// Write the draws to CSV files as Stan has them: FILE_1.csv, FILE_2.csv … for FILE.csv
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,

    /// Show these parameters and predictions alone in the table: an array or a record with all that it has
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub show: Vec<String>,

    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,

    /// What evaluates the density
    #[arg(long, default_value = "auto", value_parser = EngineParser)]
    pub engine: Engine,
}

/// The processor that code is made for.
#[derive(Args, Debug)]
pub struct Processor {
    /// The processor that machine code is made for: native is this one with all its instructions,
    /// baseline any of the architecture; x86-64-v2, x86-64-v3 and x86-64-v4 are levels of x86-64
    /// [default: what DIFFEO_CPU says, else native]
    #[arg(long, value_name = "CPU", hide_possible_values = true, value_parser = CpuParser)]
    pub cpu: Option<Cpu>,
}

/// `diffeo check`
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  diffeo check train.deo model.deo")]
pub struct CheckArgs {
    /// The programs, .deo files
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

const FMT_EXAMPLES: &str = "\
Examples:
  diffeo fmt train.deo model.deo      lays the files out anew, in place
  diffeo fmt --check train.deo        names the file if that would change it
  diffeo fmt - < train.deo            prints the text in its layout

Lines have at most 100 characters where that is possible, levels are indented by two spaces.
Comments are kept, names and literals stay as they are written. The line breaks of the text count
at `|>`, before `else`, after `in`, `do` and the `{` of a `case`, after the opening bracket of an
array, list, tuple or record, and before the `|` of a type: what is broken there stays broken.";

/// `diffeo fmt`
#[derive(Args, Debug)]
#[command(after_help = FMT_EXAMPLES)]
pub struct FmtArgs {
    /// The programs, .deo files; - is standard input, formatted to standard output
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Change nothing: name the files that are not formatted, and end with status 1 if there are any
    #[arg(long)]
    pub check: bool,
}

const SHOW_EXAMPLES: &str = "\
Examples:
  diffeo show model.deo                            the type of each definition
  diffeo show model.deo --as ast                   the syntax tree
  diffeo show model.deo loss --as core             the calculus that `loss` is translated to
  diffeo show model.deo loss --as flat             the array language, optimised
  diffeo show model.deo loss --as clif             the code that is compiled
  diffeo show model.deo loss --as trace --at 0.5   the trace of `loss` at a point
  diffeo show model.deo loss --as taylor:1,2       `loss` with first and second derivatives
  diffeo show model.deo loss --as delta            `loss` translated to reverse mode
  diffeo show model.deo loss --as delta --at 0.5   what that makes of a point: the Delta

Of what a program becomes on its way to machine code, without ENTRY that of `main`:
  flat, flat:PASS    the array language, in the end or after a pass
  low, low:PASS      registers and addresses, in the end or after a pass
  clif, llvm, c      the code for Cranelift, for LLVM, for the C compiler

The last forms are those of three papers, which the book (papers.md) goes through:
  trace              the trace that symbolic evaluation gives (Abadi & Plotkin, Figures 4 and 5)
  trace-reverse      W.R_V of that trace, as it is printed (Abadi & Plotkin, Figure 6)
  trace-linear       the same with one adjoint for each variable, as --engine trace takes it
  forward            dual numbers, with the wrapper F (Krawiec et al., Figures 3 and 4)
  taylor:K,R         partial derivatives by K variables up to order R (Huot et al., section 3.2)
  taylor:2,2-mixed   the same by 2 variables, with the mixed second one alone
  vector             reverse mode by whole vectors, with the wrapper R (Krawiec et al., Figures 5, 6)
  delta-naive        reverse mode without sharing, with the wrapper R (Krawiec et al., Figures 7, 8)
  delta              reverse mode, with the wrapper R (Krawiec et al., Figures 9 to 12)
  delta-array        the same with arrays of bindings and of sums (Krawiec et al., section 7.3)
  delta-split        the same with arrays of Reals as pairs of arrays (Krawiec et al., section 10.2)

They show a definition with all that it needs; what is printed is Core, which Core's parser reads
back. A trace is taken at a point, that of --at or, without it, the definition ENTRY_at. At a point,
delta and delta-naive show the Delta with its bindings instead of the program, and the gradients that
it evaluates to; with --json: {\"inputs\": [{\"name\", \"value\"}, …], \"bindings\": [{\"id\", \"name\",
\"delta\"}, …], \"result\": {\"value\", \"delta\"}, \"gradient\": {NAME: …}}, where a delta is {\"zero\": {}},
{\"var\": NAME}, {\"scale\": [FACTOR, DELTA]} or {\"add\": [DELTA, DELTA]}. Of a value that is no Real,
there is a list \"results\", each with \"of\", the place in the value, and its own \"gradient\".";

/// `diffeo show`
#[derive(Args, Debug)]
#[command(after_help = SHOW_EXAMPLES)]
pub struct ShowArgs {
    /// The program, a .deo file
    pub file: PathBuf,

    /// The definition to show: without one, types, ast and core show the whole program, flat, low, clif, llvm
    /// and c show `main`
    #[arg(value_name = "ENTRY")]
    pub entry: Option<String>,

    /// What to show: types, ast, core, flat, flat:PASS, low, low:PASS, clif, llvm, c, stablehlo, trace, trace-reverse,
    /// trace-linear, forward, taylor:K,R, taylor:2,2-mixed, vector, delta-naive, delta, delta-array or delta-split
    #[arg(
        long = "as",
        default_value = "types",
        value_name = "FORM",
        hide_possible_values = true,
        value_parser = FormParser
    )]
    pub form: Form,

    /// The point of a trace or a Delta, as for `diffeo grad`
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pub at: Vec<String>,

    /// For StableHLO.
    #[command(flatten)]
    pub xla: XlaArgs,

    /// Print a Delta as JSON
    #[arg(long)]
    pub json: bool,

    /// For which processor.
    #[command(flatten)]
    pub processor: Processor,

    /// Tell on standard error how long each step took, and how many operations the program has after
    /// it; with --message-format json as data
    #[arg(long)]
    pub time_passes: bool,
}

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  diffeo completions bash > ~/.local/share/bash-completion/completions/diffeo
  diffeo completions zsh > ~/.zfunc/_diffeo
  diffeo completions fish > ~/.config/fish/completions/diffeo.fish";

/// `diffeo completions`
#[derive(Args, Debug)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

const MAN_EXAMPLES: &str = "\
Examples:
  diffeo man | man -l -
  diffeo man --dir ~/.local/share/man/man1";

/// `diffeo man`
#[derive(Args, Debug)]
#[command(after_help = MAN_EXAMPLES)]
pub struct ManArgs {
    /// Write diffeo.1 and a page for each command to this folder
    #[arg(long, value_name = "FOLDER")]
    pub dir: Option<PathBuf>,
}

/// Sizes and numbers that a module of StableHLO is made for.
#[derive(Args, Debug)]
pub struct XlaArgs {
    /// For StableHLO, the sizes of an array, a parameter or a field: xs=1000x3, model.weights=8; an Int that the module is
    /// made for
    #[arg(long, value_name = "NAME=SIZES", value_parser = shape)]
    pub shape: Vec<(String, Vec<i64>)>,

    /// For StableHLO, the numbers that Reals are: f32 has 7 digits, for devices without f64
    #[arg(long, value_enum, default_value_t = PrecisionArg::F64, value_name = "TYPE")]
    pub precision: PrecisionArg,
}

impl XlaArgs {
    /// An option of StableHLO is given, which other forms refuse.
    pub fn is_given(&self) -> bool {
        !self.shape.is_empty() || self.precision != PrecisionArg::F64
    }
}

/// The numbers that Reals are.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum PrecisionArg {
    /// Of 64 bits.
    F64,
    /// Of 32 bits.
    F32,
}

impl From<PrecisionArg> for Precision {
    fn from(precision: PrecisionArg) -> Precision {
        match precision {
            PrecisionArg::F64 => Precision::F64,
            PrecisionArg::F32 => Precision::F32,
        }
    }
}

/// When to colour messages.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Color {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// How messages are written.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum MessageFormat {
    /// Text with the lines of the source.
    Human,
    /// One JSON object a line.
    Json,
}
