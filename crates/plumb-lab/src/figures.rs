//! Which figures are compared, and how each is got from a block.

use plumb_measure::{Better, FigureUnit, Role};

use crate::block::Point;

/// A figure that is compared.
#[derive(Clone, Copy)]
pub(crate) struct Figure {
    pub(crate) key: &'static str,
    pub(crate) name: &'static str,
    pub(crate) unit: FigureUnit,
    pub(crate) better: Better,
    pub(crate) role: Role,
    /// A response time: it says nothing about a load whose driver was the limit.
    pub(crate) latency: bool,
    pub(crate) of: fn(&Point) -> Option<f64>,
}

/// A response time in nanoseconds, shown but not tested.
const TIME: Figure = Figure {
    key: "",
    name: "",
    unit: FigureUnit::Ns,
    better: Better::Lower,
    role: Role::Described,
    latency: true,
    of: |_| None,
};

/// Processor time in nanoseconds.
const CPU: Figure = Figure { role: Role::Tested, latency: false, ..TIME };

/// The key of the figure whose interval is a bootstrap's.
pub(crate) const TAIL: &str = "p99";
/// The key of the figure whose load the plan sets when work is due at a rate.
pub(crate) const THROUGHPUT: &str = "throughput";

/// The key of the figure that a command of the user printed.
pub(crate) const PRINTED: &str = "figure";

/// Every figure; the first of those that a run has is the primary one.
pub(crate) const FIGURES: &[Figure] = &[
    Figure {
        key: "p50",
        name: "median response time",
        role: Role::Primary,
        of: |point| Some(point.response.as_ref()?.p50),
        ..TIME
    },
    Figure {
        key: PRINTED,
        name: "printed figure",
        unit: FigureUnit::Plain,
        role: Role::Primary,
        of: |point| point.figure,
        ..TIME
    },
    Figure {
        key: THROUGHPUT,
        name: "throughput",
        unit: FigureUnit::PerSecond,
        better: Better::Higher,
        role: Role::Tested,
        latency: false,
        of: |point| (point.throughput_per_s > 0.0).then_some(point.throughput_per_s),
    },
    Figure {
        key: "p95",
        name: "95th percentile",
        role: Role::Tested,
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
        role: Role::Approximate,
        of: |point| Some(point.response.as_ref()?.p99),
        ..TIME
    },
    Figure { key: "mean", name: "mean", of: |point| Some(point.response.as_ref()?.mean), ..TIME },
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
];
