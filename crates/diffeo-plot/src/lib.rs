//! Plots as data, and what draws them.
//!
//! What comes in: a [`Plot`], the same data as the type `Plot` of `std/plot.deo`. What goes out: SVG ([`svg`]), a PNG
//! (`png`, behind the feature of that name), characters ([`terminal`]), or a specification of Vega-Lite
//! ([`vega_lite`]) for what draws by itself. Any plot is drawn: what is nan or infinite leaves a gap, and
//! [`notes`] says what was left out. [`check`] finds what the user should change.
//!
//! A figure is laid out once, in a unit square ([`layout`]), and drawn as [`scene::Scene`], shapes in pixels; the
//! terminal has a grid of characters instead. Nothing here knows files, terminals or clocks.

mod check;
mod color;
mod columns;
mod dates;
mod draw;
mod font;
mod layout;
mod model;
#[cfg(feature = "png")]
mod png;
mod read;
mod scene;
mod svg;
mod terminal;
mod ticks;
mod vega;

pub use check::{check, notes, summary, Problem};
pub use model::{Axis, Figure, Layer, Mark, Plot};
#[cfg(feature = "png")]
pub use png::{boxes, letters_without_form, png, TooLarge};
pub use read::{read, PlotSource};
pub use svg::{svg, svg_within};
pub use terminal::{terminal, Style};
pub use vega::vega_lite;
