//! Draws as files that Stan's tools read: one CSV file for each chain, with the comments of CmdStan.

use super::{indices, Chain, Method, Samples, Variable};
use std::io::{self, Write};

/// The columns of variables, as Stan names them (`theta.1`, `l.2.1`, counted from 1, the first index fastest), each with its
/// place by rows.
fn columns(variables: &[Variable]) -> Vec<(String, usize)> {
    let (mut out, mut begin) = (Vec::new(), 0);
    for variable in variables {
        let mut all: Vec<(Vec<usize>, usize)> =
            indices(&variable.sizes).into_iter().enumerate().map(|(at, i)| (i, at)).collect();
        all.sort_by_key(|(index, _)| index.iter().rev().copied().collect::<Vec<_>>());
        // A dot separates indices.
        let name = variable.name.replace([',', '.', ' ', '"', '\n'], "_");
        for (index, at) in all {
            let index: String = index.iter().map(|i| format!(".{}", i + 1)).collect();
            out.push((format!("{name}{index}"), begin + at));
        }
        begin += variable.width();
    }
    out
}

impl Samples {
    /// Writes the draws of a chain as CmdStan does.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_csv(&self, chain: &Chain, out: &mut dyn Write) -> io::Result<()> {
        let parameters = columns(&self.parameters);
        let predictions = columns(&self.predictions);
        let draws = chain.log_density.len();
        let by = match self.method {
            Method::Nuts => "nuts-rs",
            Method::Laplace => "Laplace's approximation",
            Method::MeanField => "mean-field approximation",
        };
        for line in [
            // Readers look for the version of Stan whose form this is.
            "stan_version_major = 2".to_string(),
            "stan_version_minor = 36".to_string(),
            "stan_version_patch = 0".to_string(),
            format!("model = {}", self.entry),
            "method = sample (Default)".to_string(),
            "  sample".to_string(),
            format!("    num_samples = {draws}"),
            format!("    num_warmup = {}", self.warmup),
            "    save_warmup = false (Default)".to_string(),
            "    thin = 1 (Default)".to_string(),
            "    adapt".to_string(),
            "      engaged = true (Default)".to_string(),
            format!("      delta = {}", self.target_accept),
            "    algorithm = hmc (Default)".to_string(),
            "      hmc".to_string(),
            "        engine = nuts (Default)".to_string(),
            "          nuts".to_string(),
            format!("            max_depth = {}", self.max_depth),
            "        metric = diag_e (Default)".to_string(),
            format!("id = {}", chain.number + 1),
            "random".to_string(),
            format!("  seed = {}", self.seed),
            format!("sampler = Diffeo {} ({by})", env!("CARGO_PKG_VERSION")),
        ] {
            writeln!(out, "# {line}")?;
        }
        let mut header = [
            "lp__",
            "accept_stat__",
            "stepsize__",
            "treedepth__",
            "n_leapfrog__",
            "divergent__",
            "energy__",
        ]
        .map(str::to_string)
        .to_vec();
        if !chain.log_approximation.is_empty() {
            header.push("log_q__".to_string());
        }
        header.extend(parameters.iter().chain(&predictions).map(|(name, _)| name.clone()));
        writeln!(out, "{}", header.join(","))?;
        writeln!(out, "# Adaptation terminated")?;
        writeln!(out, "# Step size = {}", chain.step_size)?;
        writeln!(out, "# Diagonal elements of inverse mass matrix:")?;
        let metric: Vec<String> = chain.metric.iter().map(ToString::to_string).collect();
        writeln!(out, "# {}", metric.join(", "))?;
        let width: usize = self.parameters.iter().map(Variable::width).sum();
        let predicted: usize = self.predictions.iter().map(Variable::width).sum();
        for i in 0..draws {
            write!(
                out,
                "{},{},{},{},{},{},{}",
                chain.log_density[i],
                chain.accept[i],
                chain.step_size,
                chain.depth[i],
                chain.steps[i],
                u8::from(chain.divergent[i]),
                chain.energy[i]
            )?;
            if let Some(q) = chain.log_approximation.get(i) {
                write!(out, ",{q}")?;
            }
            let row = &chain.values[i * width..(i + 1) * width];
            let further = chain.predictions.get(i * predicted..(i + 1) * predicted).unwrap_or(&[]);
            for x in parameters.iter().map(|(_, at)| row[*at]) {
                write!(out, ",{x}")?;
            }
            for x in predictions.iter().map(|(_, at)| further[*at]) {
                write!(out, ",{x}")?;
            }
            writeln!(out)?;
        }
        let (warmup, sampling) = (chain.warmup_seconds, chain.sampling_seconds);
        writeln!(out, "# ")?;
        writeln!(out, "#  Elapsed Time: {warmup:.3} seconds (Warm-up)")?;
        writeln!(out, "#                {sampling:.3} seconds (Sampling)")?;
        writeln!(out, "#                {:.3} seconds (Total)", warmup + sampling)?;
        writeln!(out, "# ")
    }
}
