//! What is drawn of a record, one file a chart; the sheet and its axes are those of `plumb-chart`.

mod along;
mod forest;
mod machine;
mod pairs;
mod percentile;
mod streams;
mod sweep;
mod timeline;

pub(crate) use along::draw as effects_along;
pub(crate) use forest::{Group, draw as forest};
pub(crate) use machine::charts as machine;
pub(crate) use pairs::charts as pairs;
pub(crate) use percentile::{Curve, Panel, charts as percentiles, draw as curves};
pub(crate) use streams::chart as streams;
pub(crate) use sweep::charts as sweeps;
pub(crate) use timeline::{charts as timelines, end_ns, within as timelines_within};

use maud::Markup;
use plumb_chart::{Mark as Shape, mark};

use crate::trust::Trust;

/// A dot that tells its figures when it is pointed at; a cross where they are not valid.
fn dot(class: &str, trust: Trust, at: (f64, f64), words: &str) -> Markup {
    mark(class, if trust.is_full() { Shape::Dot } else { Shape::Cross }, at, words)
}
