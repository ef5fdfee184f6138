//! Figures of a sizing as people read them.

use plumb_measure::{real, show_ns};
use plumb_size::Bounded;
use plumb_size::analysis::Figure;
use plumb_size::sizing::Target;

/// Bytes of a gibibyte.
pub(crate) const GIB: f64 = 1_073_741_824.0;

/// Bytes with their interval, in gibibytes.
pub(crate) fn gibibytes(it: Bounded) -> String {
    format!("{:.2} GiB ({:.2} to {:.2})", it.value / GIB, it.low / GIB, it.high / GIB)
}

/// Bytes with their interval, in mebibytes.
pub(crate) fn mebibytes(it: Bounded) -> String {
    let mib = GIB / 1024.0;
    format!("{:.2} MiB ({:.2} to {:.2})", it.value / mib, it.low / mib, it.high / mib)
}

/// A time, with the unit that suits.
#[expect(clippy::cast_possible_truncation, reason = "times far below 584 years")]
#[expect(clippy::cast_sign_loss, reason = "a time that was taken or predicted")]
pub(crate) fn time(seconds: f64) -> String {
    show_ns((seconds.max(0.0) * 1e9).round() as u64)
}

/// A time with its interval.
pub(crate) fn times(it: Bounded) -> String {
    format!("{} ({} to {})", time(it.value), time(it.low), time(it.high))
}

/// A number a second.
pub(crate) fn rate(per_s: f64) -> String {
    if per_s < 10.0 { format!("{per_s:.2}") } else { format!("{per_s:.1}") }
}

/// A number a second with its interval.
pub(crate) fn between(it: Bounded) -> String {
    format!("{} ({} to {})", rate(it.value), rate(it.low), rate(it.high))
}

/// A whole number with its interval.
pub(crate) fn whole(it: Bounded) -> String {
    format!("{:.0} ({:.0} to {:.0})", it.value, it.low, it.high)
}

/// A coefficient with its interval.
pub(crate) fn plain(it: Bounded) -> String {
    format!("{:.5} ({:.5} to {:.5})", it.value, it.low.max(0.0), it.high)
}

/// What is to be kept.
pub(crate) fn target_words(target: Target) -> String {
    let figure = match target.figure {
        Figure::Mean => "mean",
        Figure::P95 => "p95",
    };
    format!("{figure} at most {}", time(target.most_s))
}

/// Nanoseconds as seconds.
pub(crate) fn seconds(ns: u64) -> f64 {
    real(ns) / 1e9
}
