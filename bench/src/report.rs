//! What was measured, as a table and as JSON.

use crate::derivatives::DerivativeCosts;
use crate::suite::{Measurement, RunnerRow};
use serde_json::{json, Value as Json};

/// A time in the unit that suits it.
pub fn time(seconds: f64) -> String {
    match seconds {
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 1e-3 => format!("{} ms", digits(s * 1e3)),
        s => format!("{} µs", digits(s * 1e6)),
    }
}

/// Three digits that count.
pub fn digits(x: f64) -> String {
    let after = if x >= 100.0 {
        0
    } else if x >= 10.0 {
        1
    } else {
        2
    };
    format!("{x:.after$}")
}

/// Memory in the unit that suits it.
pub fn bytes(n: u64) -> String {
    match n as f64 {
        b if b >= 1e6 => format!("{} MB", digits(b / 1e6)),
        b => format!("{:.0} kB", b / 1e3),
    }
}

/// How many times as long as another runner of the case.
fn ratio(rows: &[RunnerRow], of: &Measurement, to: &str) -> Option<f64> {
    let to = rows.iter().find(|r| r.runner == to)?.outcome.as_ref().ok()?;
    Some(of.times.median() / to.times.median())
}

/// The head of the table.
pub const HEAD: [&str; 8] =
    ["case", "run by", "time", "of plain C", "of good C", "compile", "memory", "allocations"];

/// The rows of one case as lines of the table.
pub fn lines(rows: &[RunnerRow]) -> Vec<[String; 8]> {
    let missing = || "–".to_string();
    let line = |row: &RunnerRow| {
        let name = format!("{} {}", row.kernel, row.case);
        match &row.outcome {
            Ok(m) => {
                let ratio = |to| ratio(rows, m, to).map_or_else(missing, digits);
                let compile = m.compile.as_secs_f64();
                [
                    name,
                    row.runner.clone(),
                    time(m.times.median()),
                    ratio("plain C"),
                    ratio("good C"),
                    if compile == 0.0 { missing() } else { time(compile) },
                    m.peak.map_or_else(missing, bytes),
                    m.allocations.map_or_else(missing, |n| n.to_string()),
                ]
            }
            Err(_) => {
                let [a, b, c, d, e] = std::array::from_fn(|_| missing());
                [name, row.runner.clone(), "failed".into(), a, b, c, d, e]
            }
        }
    };
    rows.iter().map(line).collect()
}

/// Lines as a table that is Markdown, too. `widths` are at least those of the columns.
pub fn table_line(cells: &[String; 8], widths: &[usize; 8]) -> String {
    let mut out = String::from("|");
    for (i, (cell, width)) in cells.iter().zip(widths).enumerate() {
        let pad = " ".repeat(width.saturating_sub(cell.chars().count()));
        let (before, after) = if i < 2 { ("", &pad[..]) } else { (&pad[..], "") };
        out.push_str(&format!(" {before}{cell}{after} |"));
    }
    out
}

/// The widths of the columns of reports.
pub const WIDTHS: [usize; 8] = [30, 8, 9, 10, 9, 9, 9, 11];

/// The two lines above the table.
pub fn head() -> String {
    let line = |i: usize| format!("{}{}", "-".repeat(WIDTHS[i] + 1), if i < 2 { "-" } else { ":" });
    let rule: Vec<String> = (0..8).map(line).collect();
    format!("{}\n|{}|", table_line(&HEAD.map(String::from), &WIDTHS), rule.join("|"))
}

/// The rows of one case for programs to read: times in seconds, memory in bytes.
pub fn json(rows: &[RunnerRow]) -> Vec<Json> {
    let one = |row: &RunnerRow| match &row.outcome {
        Ok(m) => json!({
            "kernel": row.kernel,
            "case": row.case,
            "runner": row.runner,
            "median": m.times.median(),
            "tenth": m.times.quantile(0.1),
            "nine_tenths": m.times.quantile(0.9),
            "samples": m.times.samples.len(),
            "of_plain_c": ratio(rows, m, "plain C"),
            "of_good_c": ratio(rows, m, "good C"),
            "compile": m.compile.as_secs_f64(),
            "peak": m.peak,
            "allocations": m.allocations,
        }),
        Err(error) => json!({
            "kernel": row.kernel,
            "case": row.case,
            "runner": row.runner,
            "error": error,
        }),
    };
    rows.iter().map(one).collect()
}

/// What derivatives of a function cost, as a line.
pub fn costs_line(costs: &DerivativeCosts) -> String {
    let one = |(what, ratio): &(String, f64)| format!("{what}: {}", digits(*ratio));
    let ratios: Vec<String> = costs.ratios.iter().map(one).collect();
    let compile = time(costs.compile.as_secs_f64());
    format!("{:<30} {:<6} {}; compile {compile}", costs.name, costs.engine, ratios.join("  "))
}

/// The same for programs to read.
pub fn costs_json(costs: &DerivativeCosts) -> Json {
    let ratios: serde_json::Map<String, Json> =
        costs.ratios.iter().map(|(what, ratio)| (what.clone(), json!(ratio))).collect();
    json!({
        "function": costs.name,
        "runner": costs.engine,
        "of_function": ratios,
        "compile": costs.compile.as_secs_f64(),
    })
}
