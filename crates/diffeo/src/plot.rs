//! Plots in values: what has the type `Plot` of the module `plot` of the library, as data that is drawn.
//!
//! What comes in: a value with its type, or a [`Value`] of a host. What goes out: [`Plot`], which the functions here
//! draw or turn into Vega-Lite. A program's own type `Plot` is none.
//!
//! ```
//! use diffeo::{plot, Program, Value};
//!
//! let text = "import plot\ndef picture = plot.line([0.0, 1.0], [2.0, 3.0])";
//! let value: Value = Program::from_text("p.deo", text)?.value("picture")?;
//! let picture = plot::from_host(&value).expect("a plot");
//! assert_eq!(plot::summary(&picture), "<plot: line of 2 points>");
//! assert!(plot::svg(&picture).starts_with("<svg "));
//! # Ok::<(), diffeo::Error>(())
//! ```

pub use diffeo_plot::{
    boxes, check, notes, png, summary, svg, terminal, vega_lite, Plot, Problem, Style, TooLarge,
};
pub use diffeo_plot_values::{find, is_plot, may_hold, of, show};

use crate::host::Value;

/// The plot that a value of a host is.
pub fn from_host(value: &Value<'_>) -> Option<Plot> {
    diffeo_plot::read(&HostValue(value))
}

/// A value of a host, to be read.
struct HostValue<'v>(&'v Value<'v>);

impl diffeo_plot::PlotSource for HostValue<'_> {
    fn variant(&self) -> Option<(String, Vec<Self>)> {
        match self.0 {
            Value::Variant(name, fields) => {
                Some((name.to_string(), fields.iter().map(HostValue).collect()))
            }
            _ => None,
        }
    }

    fn field(&self, name: &str) -> Option<Self> {
        self.0.field(name).map(HostValue)
    }

    fn elements(&self) -> Option<Vec<Self>> {
        match self.0 {
            Value::Array(elements) => Some(elements.iter().map(HostValue).collect()),
            _ => None,
        }
    }

    fn reals(&self) -> Option<Vec<f64>> {
        match self.0 {
            Value::Reals(array) => Some(array.data.to_vec()),
            _ => None,
        }
    }

    fn real(&self) -> Option<f64> {
        match self.0 {
            Value::Real(x) => Some(*x),
            _ => None,
        }
    }

    fn int(&self) -> Option<i64> {
        match self.0 {
            Value::Int(n) => Some(*n),
            _ => None,
        }
    }

    fn bool(&self) -> Option<bool> {
        match self.0 {
            Value::Bool(b) => Some(*b),
            _ => None,
        }
    }

    fn text(&self) -> Option<String> {
        match self.0 {
            Value::String(text) => Some(text.to_string()),
            _ => None,
        }
    }
}
