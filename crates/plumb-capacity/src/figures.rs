//! Figures of a sizing as people read them.

use plumb_measure::statistics::Bounded;
use plumb_measure::{counted, real, show_ns, show_rate};
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

/// A time with its interval, which may have no end.
pub(crate) fn times(it: Bounded) -> String {
    let high = if it.high.is_finite() { time(it.high) } else { "no end".into() };
    format!("{} ({} to {high})", time(it.value), time(it.low))
}

/// A number a second with its interval.
pub(crate) fn between(it: Bounded) -> String {
    format!("{} ({} to {})", show_rate(it.value), show_rate(it.low), show_rate(it.high))
}

/// A whole number with its interval.
pub(crate) fn whole(it: Bounded) -> String {
    format!("{:.0} ({:.0} to {:.0})", it.value, it.low, it.high)
}

/// `20 users who think for 5.00 s`.
pub(crate) fn who_think(users: u32, think_s: f64) -> String {
    let thinks = if users == 1 { "thinks" } else { "think" };
    format!("{} who {thinks} for {}", counted(u64::from(users), "user"), time(think_s))
}

/// A coefficient with its interval: small ones matter, since users are squared beside them.
pub(crate) fn plain(it: Bounded) -> String {
    let shown = |value: f64| match value {
        v if v > 0.0 && v < 0.001 => format!("{v:.2e}"),
        v => format!("{v:.5}"),
    };
    format!("{} ({} to {})", shown(it.value), shown(it.low), shown(it.high))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_user_thinks_and_several_think() {
        assert_eq!(who_think(1, 5.0), "1 user who thinks for 5.00 s");
        assert_eq!(who_think(20, 0.25), "20 users who think for 250 ms");
    }

    #[test]
    fn coefficients_and_rates_are_not_rounded_to_nothing() {
        let peak_at_700 = Bounded { value: 2e-6, low: 0.0, high: 2.5e-6 };
        assert_eq!(plain(peak_at_700), "2.00e-6 (0.00000 to 2.50e-6)");
        assert_eq!(plain(Bounded::around(0.02, 0.01)), "0.02000 (0.01000 to 0.03000)");
        assert_eq!([0.0333, 0.25, 3.0, 90.91].map(show_rate), ["0.0333", "0.250", "3.00", "90.9"]);
        assert_eq!([1.0 / 300.0, 0.000_04].map(show_rate), ["0.00333", "4.00e-5"]);
    }
}
