//! What was found under a threshold, as people read it.

use plumb_measure::{Span, ThresholdRecord, show_count, show_ns};

use crate::figures::{ABSENT, grouped, real, with_unit};

/// Decimals of a figure that is told from the bound that it missed.
const DECIMALS_MAX: usize = 9;

/// What was found: usually three significant digits, and as many as it takes to tell it from a bound
/// that it missed by less. [`ABSENT`] where there was nothing to judge.
pub fn found(threshold: &ThresholdRecord) -> String {
    let Some(found) = threshold.found else { return ABSENT.into() };
    let unit = threshold.unit.as_str();
    let shown = usual(found, unit);
    let bound = bound(threshold).filter(|bound| !threshold.met && bound.total_cmp(&found).is_ne());
    match bound.filter(|bound| usual(*bound, unit) == shown) {
        Some(bound) => told_apart(found, bound, unit),
        None => shown,
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a time in nanoseconds or a count; a cast to an integer saturates"
)]
fn usual(value: f64, unit: &str) -> String {
    match unit {
        "ns" => show_ns(value.round() as u64),
        "1/s" => format!("{}/s", show_count(value)),
        "1" => grouped(value.round() as u64),
        _ => with_unit(value, unit),
    }
}

/// The bound, in the unit of the threshold; `None` where the text does not end with one.
fn bound(threshold: &ThresholdRecord) -> Option<f64> {
    let value = threshold.text.rsplit(['<', '>']).next()?.trim_start_matches('=').trim();
    if threshold.unit == "ns" {
        return value.parse().ok().map(|span: Span| real(span.ns()));
    }
    let number = value.strip_suffix('%').or_else(|| value.strip_suffix("/s")).unwrap_or(value);
    number.trim().parse().ok()
}

/// `found` with the fewest decimals that differ from those of `bound`.
fn told_apart(found: f64, bound: f64, unit: &str) -> String {
    let (scale, unit) = match unit {
        "ns" if found < 1e3 => (1.0, " ns".to_owned()),
        "ns" if found < 1e6 => (1e3, " us".to_owned()),
        "ns" if found < 1e9 => (1e6, " ms".to_owned()),
        "ns" => (1e9, " s".to_owned()),
        "1/s" => (1.0, "/s".to_owned()),
        "1" => (1.0, String::new()),
        unit => (1.0, format!(" {unit}")),
    };
    let (found, bound) = (found / scale, bound / scale);
    let both = |decimals| (format!("{found:.decimals$}"), format!("{bound:.decimals$}"));
    let apart = (0..=DECIMALS_MAX).map(both).find(|(found, bound)| found != bound);
    format!("{}{unit}", apart.map_or_else(|| found.to_string(), |(found, _)| found))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missed(text: &str, found: Option<f64>, unit: &str) -> ThresholdRecord {
        ThresholdRecord { text: text.into(), found, unit: unit.into(), met: false }
    }

    fn words(text: &str, value: f64, unit: &str) -> String {
        found(&missed(text, Some(value), unit))
    }

    #[test]
    fn counts_and_rates_have_the_unit_of_a_reader() {
        assert_eq!(words("failures < 5", 7.0, "1"), "7");
        assert_eq!(words("requests > 2000", 1_234.0, "1"), "1,234");
        assert_eq!(words("throughput > 300000/s", 237_123.0, "1/s"), "237 k/s");
        assert_eq!(words("failures < 0.001%", 0.002, "%"), "2.00e-3 %");
        assert_eq!(words("list p95 < 1s", 2e9, "ns"), "2.00 s");
        assert_eq!(found(&missed("p95 < 1s", None, "ns")), ABSENT);
    }

    #[test]
    fn what_was_missed_by_little_is_told_from_its_bound() {
        assert_eq!(words("throughput > 100/s", 99.96, "1/s"), "99.96/s");
        assert_eq!(words("throughput >= 237200/s", 237_123.0, "1/s"), "237123/s");
        assert_eq!(words("p95 < 200ms", 200.3e6, "ns"), "200.3 ms");
        assert_eq!(words("p95 <= 1s", 1_004e6, "ns"), "1.004 s");
        assert_eq!(words("p95 < 200ms", 200e6, "ns"), "200 ms");
        assert_eq!(words("\"a < b\" failures < 12.3%", 12.34, "%"), "12.34 %");
        let met = ThresholdRecord { met: true, ..missed("p95 < 200ms", Some(199.9e6), "ns") };
        assert_eq!(found(&met), "200 ms");
    }
}
