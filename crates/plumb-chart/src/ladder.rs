//! One row a thing, its times on one axis: for things that no number puts in order.
//!
//! As in the forest the plot is a column of a table, so that names wrap and a phone puts them above
//! their row.

use maud::{Markup, html};
use plumb_page::figures::typeset;
use plumb_page::trust::Trust;

use crate::axis::Axis;

/// A thing and its times, nanoseconds.
#[derive(Clone, Debug)]
pub struct Rung {
    /// Its name, as people read it.
    pub name: String,
    /// The 25th percentile.
    pub low: u64,
    /// The median.
    pub middle: u64,
    /// The 75th percentile.
    pub high: u64,
    /// A time far out, such as the 99th percentile.
    pub far: u64,
    /// How far they may be used.
    pub trust: Trust,
    /// The figures in words.
    pub said: String,
}

/// Width of the axis in user units: a phone's, so that its labels have room there.
const SPAN: f64 = 300.0;
/// Height of the axis in pixels.
const AXIS: u32 = 22;

/// The plot; nothing without a rung.
pub fn ladder(caption: &str, rungs: &[Rung]) -> Option<Markup> {
    let low = rungs.iter().map(|rung| rung.low).min()?;
    let high = rungs.iter().map(|rung| rung.far.max(rung.high)).max()?;
    let axis = Axis::times("response time", (low, high), 0.0, SPAN);
    Some(html! {
        figure class="forest ladder" {
            figcaption { (caption) }
            ul class="legend" {
                li { span class="key round s0" {} "median, with its 25th and 75th percentile" }
                li { span class="key round hollow" {} "99th percentile" }
            }
            table {
                thead {
                    tr {
                        th scope="col" class="name" { "what" }
                        th scope="col" class="plot" {
                            svg height=(AXIS) aria-hidden="true" {
                                @for tick in &axis.ticks {
                                    text class="mid" x=(percent(tick.at)) y="15" { (tick.label) }
                                }
                            }
                        }
                        th scope="col" class="said" { "median and 99th percentile" }
                    }
                }
                tbody { @for rung in rungs { (row(&axis, rung)) } }
            }
            p class="note" { (typeset(&axis.title)) }
        }
    })
}

fn row(axis: &Axis, rung: &Rung) -> Markup {
    let at = |ns: u64| percent(axis.at_int(ns));
    let valid = rung.trust == Trust::Full;
    html! {
        tr class=[(!valid).then_some("bad")] {
            th scope="row" class="name" { (rung.name) }
            td class="plot" {
                svg aria-hidden="true" {
                    @for tick in &axis.ticks {
                        line class="grid" x1=(percent(tick.at)) x2=(percent(tick.at)) y1="0" y2="100%" {}
                    }
                    line class="whisker" x1=(at(rung.low)) x2=(at(rung.high)) y1="50%" y2="50%" {}
                    circle class="far" cx=(at(rung.far)) cy="50%" r="3.4" {}
                    circle cx=(at(rung.middle)) cy="50%" r="4.6" {}
                }
            }
            td class="said" {
                strong { (typeset(&rung.said)) }
                @if !valid { " " span class="verdict" { (rung.trust.short()) } }
            }
        }
    }
}

/// A coordinate of the axis in percent of the width.
fn percent(at: f64) -> String {
    format!("{:.2}%", at / SPAN * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thing_has_its_row_and_what_is_not_valid_says_so() {
        let rung = |name: &str, trust| Rung {
            name: name.into(),
            low: 1_000,
            middle: 2_000,
            high: 3_000,
            far: 90_000,
            trust,
            said: "2.00 us, 90.0 us".into(),
        };
        let rungs = [rung("db1", Trust::Full), rung("db2", Trust::Nothing)];
        let page = ladder("Every target", &rungs).unwrap().into_string();
        assert_eq!(page.matches("<th scope=\"row\"").count(), 2);
        assert_eq!(page.matches("class=\"bad\"").count(), 1);
        assert!(page.contains(">invalid<"), "{page}");
        assert!(ladder("nothing", &[]).is_none());
    }
}
