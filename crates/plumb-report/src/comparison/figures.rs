//! The figures of a comparison as people read them.

use plumb_comparison::{Better, Endpoint, FigureUnit, Role, Verdict, signed};
use plumb_measure::{counted, show_ns};

use crate::figures::{ABSENT, per_second, with_unit};

/// Figures beyond this are shown by their power of ten.
const LONG: f64 = 1e15;

/// A figure in its unit.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float is cast to the nearest integer in range"
)]
pub(crate) fn value(unit: &FigureUnit, value: f64) -> String {
    if !value.is_finite() {
        return ABSENT.into();
    }
    match unit {
        FigureUnit::Ns if (0.0..LONG * 1e3).contains(&value) => show_ns(value.round() as u64),
        FigureUnit::Ns => format!("{value:.2e} ns"),
        _ if value.abs() >= LONG => format!("{value:.2e}"),
        FigureUnit::PerSecond => per_second(value),
        FigureUnit::KbPerSecond => with_unit(value, "kB/s"),
        FigureUnit::Bytes => with_unit(value, "B"),
        FigureUnit::Plain => with_unit(value, ""),
    }
}

/// A change in percent with its sign. What is not the whole never reads as the whole.
pub(crate) fn percent(value: f64) -> String {
    signed(value).map_or_else(|| ABSENT.into(), |number| format!("{number} %"))
}

/// The estimate as an improvement of the candidate.
pub(crate) fn change(endpoint: &Endpoint) -> String {
    endpoint.change_words().unwrap_or_else(|| ABSENT.into())
}

/// The interval as improvements, the worse end first: `+12.1 to +17.0 %`.
pub(crate) fn interval(endpoint: &Endpoint) -> String {
    endpoint.interval_words().unwrap_or_else(|| ABSENT.into())
}

/// The level that the interval truly has: `97.85 %`; a bootstrap has it only about.
pub(crate) fn level(endpoint: &Endpoint) -> String {
    let about = if endpoint.role == Role::Approximate { "~" } else { "" };
    endpoint.level_words().map_or_else(|| ABSENT.into(), |level| format!("{about}{level}"))
}

/// A probability to four decimals.
pub(crate) fn probability(p: Option<f64>) -> String {
    match p {
        Some(p) if p.is_nan() => ABSENT.into(),
        Some(p) if p < 0.000_1 => "<0.0001".into(),
        Some(p) if p < 0.1 => format!("{p:.4}"),
        Some(p) => format!("{p:.2}"),
        None => ABSENT.into(),
    }
}

/// A share from 0 to 1 in percent, without a sign.
pub(crate) fn share(share: f64) -> String {
    match share * 100.0 {
        p if !p.is_finite() => ABSENT.into(),
        p if p > 0.0 && p < 0.005 => "< 0.01 %".into(),
        p if p < 0.995 => format!("{} %", trimmed(format!("{p:.2}"))),
        p if p < 99.95 => format!("{} %", trimmed(format!("{p:.1}"))),
        p => format!("{p:.0} %"),
    }
}

fn trimmed(number: String) -> String {
    if number.contains('.') {
        number.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        number
    }
}

/// Which way a figure is good.
pub(crate) fn good(better: Better) -> &'static str {
    match better {
        Better::Lower => "low",
        Better::Higher => "high",
    }
}

/// How an approximate figure is labelled: by the pairs that it was resampled from.
fn approximate(endpoint: &Endpoint) -> String {
    let pairs = endpoint.blocks.iter().filter(|block| block.ratio().is_some()).count();
    format!("approximate, k = {}", counted(pairs as u64, "pair"))
}

/// What follows from a figure, or why nothing does.
pub(crate) fn verdict(endpoint: &Endpoint) -> String {
    match (endpoint.verdict, endpoint.role) {
        (_, Role::Approximate) => approximate(endpoint),
        (Some(verdict), _) => verdict.words().into(),
        (None, Role::Described) => "not tested".into(),
        (None, Role::Primary | Role::Tested) => Verdict::None.words().into(),
    }
}

/// The class that carries the colours of a verdict.
pub(crate) fn tone(verdict: Option<Verdict>) -> &'static str {
    match verdict {
        Some(Verdict::Better) => "good",
        Some(Verdict::Worse) => "bad",
        Some(Verdict::Equivalent) => "even",
        Some(Verdict::NoDifferenceShown) => "open",
        Some(Verdict::Untestable | Verdict::None) => "part",
        None => "said",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_of_any_size_stays_short() {
        for unit in
            [FigureUnit::Ns, FigureUnit::PerSecond, FigureUnit::KbPerSecond, FigureUnit::Plain]
        {
            for size in [0.0, 1e-300, 1e-6, 1.0, 1e6, 1e12, 1e18, 1e300, f64::MAX, -5.0] {
                assert!(value(&unit, size).len() <= 24, "{}", value(&unit, size));
            }
            assert_eq!(value(&unit, f64::INFINITY), ABSENT);
        }
        assert_eq!(value(&FigureUnit::Ns, 14_311.6), "14.3 us");
        assert_eq!(value(&FigureUnit::PerSecond, 69_900.0), "69.9 k/s");
    }

    #[test]
    fn a_probability_is_never_none() {
        assert_eq!(probability(Some(0.000_02)), "<0.0001");
        assert_eq!(probability(Some(0.000_488)), "0.0005");
        assert_eq!(probability(Some(1.0)), "1.00");
        assert_eq!(probability(None), ABSENT);
    }

    #[test]
    fn a_share_is_none_only_when_it_is() {
        assert_eq!(share(0.0), "0 %");
        assert_eq!(share(0.000_01), "< 0.01 %");
        assert_eq!(share(0.02), "2 %");
        assert_eq!(share(0.123), "12.3 %");
        assert_eq!(share(1.0), "100 %");
    }
}
