//! The pages, as markup. They read what the index says and know no connection.

mod baselines;
pub(crate) mod door;
pub(crate) mod frame;
mod list;
mod live;
mod trend;
mod work;

pub(crate) use baselines::{actions, baselines};
pub(crate) use list::{ListPage, list};
pub(crate) use live::live;
pub(crate) use trend::{trend, trends};
pub(crate) use work::{job, work};

use plumb_chart::{day, time_of_day};

/// A moment of the index for people, in UTC.
fn moment(ns: i64) -> String {
    if ns == 0 {
        return "-".into();
    }
    let second = ns.div_euclid(1_000_000_000);
    format!("{} {}", day(second), &time_of_day(second)[..5])
}

/// The class of a row of this verdict: what may not be used is struck through.
fn tone(verdict: &str) -> &'static str {
    match verdict {
        "invalid" | "cannot be read" => "refused",
        "no latency" => "no-latency",
        "not checked" => "unchecked",
        "under way" => "live",
        _ => "",
    }
}
