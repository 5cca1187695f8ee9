//! The arguments of `diffeo jupyter`, and their texts.

use clap::{Args, Subcommand};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  diffeo jupyter install
  diffeo jupyter install --python ~/lab/bin/python --sys-prefix
  diffeo jupyter remove

The kernel is part of the package `diffeo` for Python; from the root of Diffeo's repository:
  pip install './python[jupyter]'";

/// `diffeo jupyter`
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct JupyterArgs {
    /// What to do.
    #[command(subcommand)]
    pub action: JupyterAction,
}

/// What to do with the kernel.
#[derive(Subcommand, Debug)]
pub enum JupyterAction {
    /// Make the kernel known to Jupyter
    #[command(after_help = EXAMPLES)]
    Install(KernelArgs),
    /// Take the kernel away from Jupyter; the package for Python stays
    #[command(after_help = EXAMPLES)]
    Remove(KernelArgs),
}

/// Which Python, and where Jupyter looks for kernels.
#[derive(Args, Debug)]
pub struct KernelArgs {
    /// The Python that runs the kernel [default: that of $VIRTUAL_ENV, or python3 on the PATH]
    #[arg(long, value_name = "PATH")]
    pub python: Option<PathBuf>,

    /// For this user (the default)
    #[arg(long, conflicts_with_all = ["prefix", "sys_prefix"])]
    pub user: bool,

    /// Below this folder, in share/jupyter/kernels
    #[arg(long, value_name = "DIR", conflicts_with = "sys_prefix")]
    pub prefix: Option<PathBuf>,

    /// For the environment of the Python
    #[arg(long)]
    pub sys_prefix: bool,
}
