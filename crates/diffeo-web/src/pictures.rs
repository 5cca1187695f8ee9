//! The plots in a value as pictures, with the messages of `diffeo run --plot`.

use crate::run::result;
use diffeo_base::Diagnostic;
use diffeo_calculus::value::Value;
use diffeo_front::Entry;
use diffeo_plot::{check, notes, summary, svg_within};
use diffeo_plot_values::{find, may_hold};
use serde_json::{json, Value as Json};

/// How many plots of a value are drawn.
const MOST: usize = 100;

/// The pictures of the plots in a value, and what is to be said of them. A picture has its `name`, the way to the plot in
/// the value, empty for the value itself; `alt`, the plot in words; and `svg`.
pub(crate) fn pictures(entry: &Entry, value: &Value, room: f64) -> (Vec<Json>, Vec<Diagnostic>) {
    let (ty, datas) = (result(entry), &entry.program.datas);
    let (mut pictures, mut said) = (Vec::new(), Vec::new());
    if !may_hold(ty, datas) {
        return (pictures, said);
    }
    let plots = find(value, ty, datas);
    if plots.len() > MOST {
        let message =
            format!("`{}` has {} plots: the first {MOST} are drawn", entry.name, plots.len());
        said.push(Diagnostic::warning("plot", entry.span, message));
    }
    for (path, plot) in plots.iter().take(MOST) {
        // `main` is the whole result, as it is for the command line.
        let of = match (entry.name.as_str(), path.as_str()) {
            ("main", "") => String::new(),
            ("main", path) => format!(" `{path}`"),
            (name, "") => format!(" `{name}`"),
            (name, path) => format!(" `{name}.{path}`"),
        };
        if let Err(problem) = check(plot) {
            let message = format!("the plot{of} cannot be drawn: {problem}");
            said.push(Diagnostic::error("plot", entry.span, message));
            continue;
        }
        let warn =
            |note| Diagnostic::warning("plot", entry.span, format!("in the plot{of}, {note}"));
        said.extend(notes(plot).into_iter().map(warn));
        let alt = summary(plot);
        let alt = alt.trim_start_matches('<').trim_end_matches('>');
        pictures.push(json!({ "name": path, "alt": alt, "svg": svg_within(plot, room) }));
    }
    (pictures, said)
}
