//! Which figures are compared, and how each is got from a block.

use plumb_comparison::{Better, FigureUnit};
use plumb_measure::PartKind;

use crate::block::Point;

/// A figure that is compared.
#[derive(Clone, Copy)]
pub(crate) struct Figure {
    pub(crate) key: &'static str,
    pub(crate) name: &'static str,
    pub(crate) unit: FigureUnit,
    pub(crate) better: Better,
    /// A response time: it says nothing about a load whose driver was the limit.
    pub(crate) latency: bool,
    pub(crate) of: fn(&Point) -> Option<f64>,
}

/// A response time in nanoseconds.
const TIME: Figure = Figure {
    key: "",
    name: "",
    unit: FigureUnit::Ns,
    better: Better::Lower,
    latency: true,
    of: |_| None,
};

/// Processor time in nanoseconds.
const CPU: Figure = Figure { latency: false, ..TIME };

/// The key of the figure whose interval is a bootstrap's.
pub(crate) const TAIL: &str = "p99";
/// The key of the figure whose load the plan sets when work is due at a rate.
pub(crate) const THROUGHPUT: &str = "throughput";

/// The key of the mean response time.
pub(crate) const MEAN: &str = "mean";

/// The key of the figure that a command of the user printed.
pub(crate) const PRINTED: &str = "figure";

/// The keys of what a command of the user took, in the order of [`crate::COST`].
pub const COST_KEYS: [&str; 4] = ["wall", "user", "system", "memory"];

/// True for the key of a figure that only commands of the user have.
#[must_use]
pub fn is_of_command(key: &str) -> bool {
    key == PRINTED || COST_KEYS.contains(&key)
}

/// The keys of the figures that can decide a comparison: those with an exact test.
pub fn deciding() -> impl Iterator<Item = &'static str> {
    FIGURES.iter().map(|figure| figure.key).filter(|key| *key != TAIL)
}

/// The figures in the order in which they are shown. The first that a run has decides: the one with
/// the key `wanted` stands before all others.
pub(crate) fn in_order(wanted: Option<&str>) -> Vec<Figure> {
    let mut figures = FIGURES.to_vec();
    if let Some(at) = figures.iter().position(|figure| Some(figure.key) == wanted) {
        figures[..=at].rotate_right(1);
    }
    figures
}

/// What a command took, nanoseconds of the seconds in its record.
fn cost_ns(point: &Point, at: usize) -> Option<f64> {
    Some(point.cost[at]? * 1e9)
}

/// The mean of a part of round trips that were taken apart, nanoseconds.
#[expect(clippy::cast_precision_loss, reason = "nanoseconds of seconds")]
fn part_ns(point: &Point, kind: PartKind) -> Option<f64> {
    Some(point.round_trip?.ns(kind)? as f64)
}

/// Every figure; the first of those that a run has is the primary one.
pub(crate) const FIGURES: &[Figure] = &[
    Figure {
        key: "p50",
        name: "median response time",
        of: |point| Some(point.response.as_ref()?.p50),
        ..TIME
    },
    Figure {
        key: PRINTED,
        name: "printed figure",
        unit: FigureUnit::Plain,
        latency: false,
        of: |point| point.figure,
        ..TIME
    },
    Figure { key: COST_KEYS[0], name: crate::COST[0], of: |point| cost_ns(point, 0), ..CPU },
    Figure { key: COST_KEYS[1], name: crate::COST[1], of: |point| cost_ns(point, 1), ..CPU },
    Figure { key: COST_KEYS[2], name: crate::COST[2], of: |point| cost_ns(point, 2), ..CPU },
    Figure {
        key: COST_KEYS[3],
        name: crate::COST[3],
        unit: FigureUnit::Bytes,
        of: |point| point.cost[3],
        ..CPU
    },
    Figure {
        key: "bits",
        name: "bits carried",
        unit: FigureUnit::PerSecond,
        better: Better::Higher,
        latency: false,
        of: |point| point.bits_per_s,
    },
    Figure {
        key: THROUGHPUT,
        name: "throughput",
        unit: FigureUnit::PerSecond,
        better: Better::Higher,
        latency: false,
        of: |point| Some(point.throughput_per_s),
    },
    Figure {
        key: "rows",
        name: "rows in the table",
        unit: FigureUnit::PerSecond,
        better: Better::Higher,
        latency: false,
        of: |point| point.rows_per_s,
    },
    Figure {
        key: "p95",
        name: "95th percentile",
        of: |point| Some(point.response.as_ref()?.p95),
        ..TIME
    },
    Figure {
        key: "client-cpu",
        name: "CPU per operation, client",
        of: |point| point.client_cpu_ns,
        ..CPU
    },
    Figure {
        key: "server-cpu",
        name: "CPU per operation, server",
        of: |point| point.server_cpu_ns,
        ..CPU
    },
    Figure {
        key: TAIL,
        name: "99th percentile",
        of: |point| Some(point.response.as_ref()?.p99),
        ..TIME
    },
    Figure { key: MEAN, name: "mean", of: |point| Some(point.response.as_ref()?.mean), ..TIME },
    Figure {
        key: "av2",
        name: "av2 of niping",
        of: |point| Some(point.response.as_ref()?.niping?.av2_ms? * 1e6),
        ..TIME
    },
    Figure {
        key: "tr2",
        name: "tr2 of niping",
        unit: FigureUnit::KbPerSecond,
        better: Better::Higher,
        of: |point| point.response.as_ref()?.niping?.tr2_kb_s,
        ..TIME
    },
    Figure {
        key: "client-sending",
        name: "client sending",
        of: |point| part_ns(point, PartKind::Sending),
        ..TIME
    },
    Figure {
        key: "wire",
        name: "wire, there and back",
        of: |point| part_ns(point, PartKind::Wire),
        ..TIME
    },
    Figure {
        key: "away",
        name: "away: wire and server",
        of: |point| part_ns(point, PartKind::Away),
        ..TIME
    },
    Figure {
        key: "server-waking",
        name: "server waking",
        of: |point| part_ns(point, PartKind::ServerWaking),
        ..TIME
    },
    Figure {
        key: "server-work",
        name: "server work",
        of: |point| part_ns(point, PartKind::Server),
        ..TIME
    },
    Figure {
        key: "server-sending",
        name: "server sending",
        of: |point| part_ns(point, PartKind::ServerSending),
        ..TIME
    },
    Figure {
        key: "client-waking",
        name: "client waking",
        of: |point| part_ns(point, PartKind::Waking),
        ..TIME
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figure_that_is_wanted_stands_first_and_the_others_keep_their_order() {
        let figures = in_order(Some("mean"));
        assert_eq!((figures[0].key, figures[1].key), ("mean", "p50"));
        assert_eq!(figures.len(), FIGURES.len());
        let own = in_order(None);
        assert!(own.iter().zip(FIGURES).all(|(one, other)| one.key == other.key));
    }

    #[test]
    fn a_figure_without_an_exact_test_decides_nothing() {
        let keys: Vec<&str> = deciding().collect();
        assert!(keys.contains(&"p95") && keys.contains(&"av2") && !keys.contains(&TAIL));
    }
}
