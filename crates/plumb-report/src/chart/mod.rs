//! Charts as inline SVG: one size, one look, no script.
//!
//! Every chart is drawn on the same sheet of user units and scaled by its view box, so that two
//! stand side by side on a desk and one fills a phone. Colours and font sizes are the page's.

mod along;
mod axis;
mod drift;
mod forest;
mod history;
mod ladder;
mod machine;
mod pairs;
mod percentile;
mod spans;
mod sweep;
mod thin;
mod timeline;

pub(crate) use along::draw as effects_along;
pub(crate) use drift::{Course, Moment, draw as drift};
pub(crate) use forest::{Group, draw as forest};
pub(crate) use history::{View, chart as history, joined};
pub(crate) use ladder::{Rung, draw as ladder};
pub(crate) use machine::charts as machine;
pub(crate) use pairs::charts as pairs;
pub(crate) use percentile::{Curve, Panel, charts as percentiles, draw as curves};
pub(crate) use spans::{Mark, Quantity, Spans, Strand, draw as spans};
pub(crate) use sweep::charts as sweeps;
pub(crate) use timeline::{charts as timelines, end_ns, within as timelines_within};

use std::fmt::Write as _;

use maud::{Markup, html};

use axis::Axis;

use crate::verdict::Trust;

/// The sheet, in user units.
const WIDTH: f64 = 440.0;
const HEIGHT: f64 = 264.0;
/// The area of the marks on it: room for labels left and below, for the title of y above.
const LEFT: f64 = 58.0;
const RIGHT: f64 = WIDTH - 12.0;
const TOP: f64 = 28.0;
const BOTTOM: f64 = HEIGHT - 44.0;

/// Lines that can be told apart in one chart; as many colours has the page.
pub(crate) const LINES_MAX: usize = 6;

/// One entry of a legend.
struct Key {
    /// Class of its colour and stroke.
    class: String,
    name: String,
}

impl Key {
    fn new(class: impl Into<String>, name: impl Into<String>) -> Self {
        Self { class: class.into(), name: name.into() }
    }

    /// The entry of the tool's floor.
    fn floor(name: &str) -> Self {
        Self::new("floor", name)
    }
}

/// A chart before it is drawn.
struct Chart {
    title: String,
    keys: Vec<Key>,
    x: Axis,
    y: Axis,
    marks: Markup,
    /// What a reader must know of the drawing; shown below it.
    notes: Vec<String>,
}

impl Chart {
    fn draw(&self) -> Markup {
        let spoken = format!("{}: {} over {}", self.title, self.y.title, self.x.title);
        html! {
            figure class="chart" {
                figcaption { (self.title) }
                ul class="legend" {
                    @if self.keys.len() > 1 {
                        @for key in &self.keys {
                            li { span class={ "key " (key.class) } {} (key.name) }
                        }
                    }
                }
                svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(spoken) {
                    (horizontal(&self.y))
                    (vertical(&self.x))
                    (self.marks)
                }
                div { @for note in &self.notes { p class="note" { (note) } } }
            }
        }
    }
}

/// The y axis: a grid line and a label for every tick, the title above.
fn horizontal(axis: &Axis) -> Markup {
    html! {
        text class="title" x="2" y="13" { (axis.title) }
        @for tick in &axis.ticks {
            line class="grid" x1=(n(LEFT)) x2=(n(RIGHT)) y1=(n(tick.at)) y2=(n(tick.at)) {}
            text class="tick end" x=(n(LEFT - 6.0)) y=(n(tick.at + 4.0)) { (tick.label) }
        }
    }
}

/// The x axis: the base line, a stroke for every tick, the labels that have room, the title below.
fn vertical(axis: &Axis) -> Markup {
    html! {
        line class="base" x1=(n(LEFT)) x2=(n(RIGHT)) y1=(n(BOTTOM)) y2=(n(BOTTOM)) {}
        @for tick in &axis.ticks {
            line class="base" x1=(n(tick.at)) x2=(n(tick.at)) y1=(n(BOTTOM)) y2=(n(BOTTOM + 4.0)) {}
            text class="tick mid" x=(n(tick.at)) y=(n(BOTTOM + 18.0)) { (tick.label) }
        }
        text class="title end" x=(n(RIGHT)) y=(n(HEIGHT - 6.0)) { (axis.title) }
    }
}

/// A line through `points`; empty below two.
fn line(points: &[(f64, f64)]) -> String {
    let mut path = String::new();
    if points.len() < 2 {
        return path;
    }
    for (at, (x, y)) in points.iter().enumerate() {
        // writing to a String does not fail
        let _ = write!(path, "{}{} {}", if at == 0 { "M" } else { "L" }, n(*x), n(*y));
    }
    path
}

/// A coordinate to a tenth of a unit.
fn n(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or_else(|| text.clone(), str::to_owned)
}

/// A dot that tells its figures when it is pointed at; a cross where they are not valid.
fn dot(class: &str, trust: Trust, (x, y): (f64, f64), words: &str) -> Markup {
    html! {
        g class={ "dot " (class) } {
            @if trust == Trust::Full {
                circle cx=(n(x)) cy=(n(y)) r="2.6" {}
            } @else {
                path d=(format!("M{} {}l6 6m0-6l-6 6", n(x - 3.0), n(y - 3.0))) {}
            }
            circle class="touch" cx=(n(x)) cy=(n(y)) r="9" { title { (words) } }
        }
    }
}
