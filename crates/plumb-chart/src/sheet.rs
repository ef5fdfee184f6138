//! The sheet of user units on which a chart is drawn, scaled by its view box, so that two stand side
//! by side on a desk and one fills a phone. Colours and font sizes are the page's, and so is the
//! script that draws a part of a chart, or the same on another axis: `chart.js` of `plumb-page`.

use std::fmt::Write as _;

use maud::{Markup, html};

use crate::axis::Axis;

/// The sheet, in user units.
const WIDTH: f64 = 440.0;
const HEIGHT: f64 = 264.0;
/// Left end of the area of the marks, behind the labels of y; user units, as all of it.
pub const LEFT: f64 = 58.0;
/// Its right end.
pub const RIGHT: f64 = WIDTH - 12.0;
/// Its upper end, below the title of y.
pub const TOP: f64 = 28.0;
/// Its lower end, above the labels of x.
pub const BOTTOM: f64 = HEIGHT - 44.0;

/// Lines that can be told apart in one chart; as many colours has the page.
pub const LINES_MAX: usize = 6;

/// One entry of a legend.
#[derive(Clone, Debug)]
pub struct Key {
    /// Class of its colour and stroke.
    pub class: String,
    /// What it stands for.
    pub name: String,
}

impl Key {
    /// An entry of a colour.
    pub fn new(class: impl Into<String>, name: impl Into<String>) -> Self {
        Self { class: class.into(), name: name.into() }
    }

    /// The entry of the tool's floor.
    #[must_use]
    pub fn floor(name: &str) -> Self {
        Self::new("floor", name)
    }
}

/// A chart before it is drawn.
#[derive(Clone, Debug)]
pub struct Chart {
    /// What it shows.
    pub title: String,
    /// The legend, shown from two entries on.
    pub keys: Vec<Key>,
    /// The axis from [`LEFT`] to [`RIGHT`].
    pub x: Axis,
    /// The axis from [`BOTTOM`] to [`TOP`].
    pub y: Axis,
    /// What is drawn between them.
    pub marks: Markup,
    /// What a reader must know of the drawing; shown below it.
    pub notes: Vec<String>,
}

impl Chart {
    /// The figure with its legend, its axes and its notes.
    #[must_use]
    pub fn draw(&self) -> Markup {
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
                svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" aria-label=(spoken)
                    data-x=(self.x.words()) data-y=(self.y.words()) {
                    g class="axis y" { (horizontal(&self.y)) }
                    g class="axis x" { (vertical(&self.x)) }
                    g class="marks" { (self.marks) }
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
            line class="grid" x1=(coordinate(LEFT)) x2=(coordinate(RIGHT)) y1=(coordinate(tick.at)) y2=(coordinate(tick.at)) {}
            text class="tick end" x=(coordinate(LEFT - 6.0)) y=(coordinate(tick.at + 4.0)) { (tick.label) }
        }
    }
}

/// The x axis: the base line, a stroke for every tick, the labels that have room, the title below.
fn vertical(axis: &Axis) -> Markup {
    html! {
        line class="base" x1=(coordinate(LEFT)) x2=(coordinate(RIGHT)) y1=(coordinate(BOTTOM)) y2=(coordinate(BOTTOM)) {}
        @for tick in &axis.ticks {
            line class="base" x1=(coordinate(tick.at)) x2=(coordinate(tick.at)) y1=(coordinate(BOTTOM)) y2=(coordinate(BOTTOM + 4.0)) {}
            text class="tick mid" x=(coordinate(tick.at)) y=(coordinate(BOTTOM + 18.0)) { (tick.label) }
        }
        text class="title end" x=(coordinate(RIGHT)) y=(coordinate(HEIGHT - 6.0)) { (axis.title) }
    }
}

/// The path of a line through `points`; empty below two.
#[must_use]
pub fn line(points: &[(f64, f64)]) -> String {
    let mut path = String::new();
    if points.len() < 2 {
        return path;
    }
    for (at, (x, y)) in points.iter().enumerate() {
        // writing to a String does not fail
        let _ = write!(path, "{}{} {}", if at == 0 { "M" } else { "L" }, fine(*x), fine(*y));
    }
    path
}

/// A coordinate to a tenth of a unit.
#[must_use]
pub fn coordinate(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or_else(|| text.clone(), str::to_owned)
}

/// A coordinate to a hundredth of a unit, for what may be drawn again on another axis.
fn fine(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// How a figure is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// It is valid.
    Dot,
    /// It is not.
    Cross,
}

/// A mark that tells its figures when it is pointed at.
#[must_use]
pub fn mark(class: &str, mark: Mark, (x, y): (f64, f64), words: &str) -> Markup {
    html! {
        g class={ "dot " (class) } {
            @if mark == Mark::Dot {
                circle cx=(coordinate(x)) cy=(coordinate(y)) r="2.6" {}
            } @else {
                path d=(format!("M{} {}l6 6m0-6l-6 6", coordinate(x - 3.0), coordinate(y - 3.0))) {}
            }
            circle class="touch" cx=(coordinate(x)) cy=(coordinate(y)) r="9" { title { (words) } }
        }
    }
}
