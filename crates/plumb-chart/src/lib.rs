//! Charts as inline SVG: one size, one look, whole without a script.
//!
//! What is drawn, and of which record, is the report's; here is what charts share, and those that know
//! no record.
//!
//! | what | where |
//! |---|---|
//! | [`Chart`], [`Key`], [`line()`], [`mark()`] | the sheet with its legend, and what is drawn on it |
//! | [`Axis`], [`Tick`] | from figures to coordinates, and the round figures that are named |
//! | [`Effect`], [`Effects`] | an axis on which better lies ahead |
//! | [`Slots`], [`ThinnedPoint`] | fewer places than figures, peaks and gaps kept |
//! | [`CurveChart`] | a model over users, with what was measured |
//! | [`densities()`], [`mound()`] | how often which time was measured, over each other and in a row |
//! | [`history()`], [`HistoryChart`] | lines over time, with their gaps and peaks |
//! | [`spans()`] | a figure along a label, with the range around it |
//! | [`trends()`] | a figure from run to run over calendar time |
//! | [`ladder()`] | one row a thing, its times on one axis |
//! | [`day`], [`time_of_day`] | moments by a calendar and a clock |

mod axis;
mod clock;
mod curve;
mod density;
mod effect;
mod history;
mod ladder;
mod scale;
mod sheet;
mod spans;
mod thin;
mod tick;
mod trend;

pub use axis::Axis;
pub use clock::{day, time_of_day};
pub use curve::{CurveChart, CurvePoint, MeasuredPoint, Quantity};
pub use density::{Density, densities, mound};
pub use effect::{Effect, Effects};
pub use history::{ChartTime, HistoryChart, Series, View, history, joined};
pub use ladder::{Rung, ladder};
pub use sheet::{BOTTOM, Chart, Key, LEFT, LINES_MAX, Mark, RIGHT, TOP, coordinate, line, mark};
pub use spans::{SpanFigure, SpanMark, Spans, Strand, spans};
pub use thin::{Slots, ThinnedPoint};
pub use tick::Tick;
pub use trend::{Trend, TrendFigure, TrendPoint, trends};
