//! Figures of loads of locks beside their times.

use plumb_engine::LoadPlan;
use plumb_measure::{Figure, ResultRecord, real};

use crate::load::facts::Facts;
use crate::load::history::{History, WINDOWS};
use crate::load::script::{SALES_ENQUEUES, SALES_REQUESTS};

/// Enqueues a minute over the whole run.
pub(super) fn enqueues_a_minute(per_s: f64) -> Figure {
    let formula = "enqueues granted / s x 60, over the whole run";
    figure("enqueues a minute", 60.0 * per_s, "1/min", formula)
}

/// Enqueues a minute over several windows, and what the way to the server allows.
pub(super) fn sales_figures(
    history: &History,
    enqueues_per_s: f64,
    round_trip_ns: Option<u64>,
    plan: &LoadPlan,
) -> Vec<Figure> {
    let mut figures = vec![enqueues_a_minute(enqueues_per_s)];
    for (name, window_ns) in WINDOWS {
        if let Some(rate) = history.per_minute(window_ns) {
            let seconds = window_ns / 1_000_000_000;
            let formula = format!(
                "enqueues granted in as many of the last intervals as reach {seconds} s / their length"
            );
            figures.push(figure(&format!("enqueues a minute, {name}"), rate, "1/min", &formula));
        }
    }
    if let Some(ns) = round_trip_ns.filter(|ns| *ns > 0) {
        let each = real(SALES_ENQUEUES) / real(SALES_REQUESTS);
        let under_way = real((plan.connections.get() * plan.depth.get()) as u64);
        let bound = 60e9 / real(ns) * under_way * each;
        let formula = "connections x depth x 60 s / median round trip of PING x 21 / 29";
        figures.push(figure("bound set by the round trip", bound, "1/min", formula));
        let formula = "enqueues a minute / bound set by the round trip";
        figures.push(figure("share of the bound", 60.0 * enqueues_per_s / bound, "", formula));
    }
    figures
}

/// Pairs a second: its last row is the release.
pub(super) fn add_pairs(result: &mut ResultRecord) {
    if let Some(released) = result.parts.last().map(|part| part.throughput_per_s) {
        result.figures.push(figure("pairs", released, "1/s", "locks released / s"));
    }
}

/// What a lock takes on the server, if its totals `before` and after tell it.
pub(super) fn add_bytes_a_lock(result: &mut ResultRecord, totals: Option<(Facts, Facts)>) {
    let each = totals.and_then(|(before, after)| after.bytes_a_lock(before, result.operations));
    if let Some(each) = each {
        let formula = "growth of the server's table, or of Redis's memory / locks that are new";
        result.figures.push(figure("bytes a lock", each, "B", formula));
    }
}

/// Locks that were released, and those that `create` takes.
pub(super) fn add_released(result: &mut ResultRecord, released: u64, expected: u64) {
    let formula = "as the server counts them; also those of owners who lacked some";
    result.figures.push(figure("locks released", real(released), "locks", formula));
    result.figures.push(figure("locks expected", real(expected), "locks", "owners x locks"));
}

/// A figure with its unit and formula.
pub(super) fn figure(name: &str, value: f64, unit: &str, formula: &str) -> Figure {
    Figure { name: name.into(), value, unit: unit.into(), formula: formula.into() }
}
