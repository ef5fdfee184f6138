//! Figures as people read them.

/// Nanoseconds for people: three significant digits and the unit that suits (`14.3 us`).
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
pub fn show_ns(ns: u64) -> String {
    let value = ns as f64;
    // the unit is chosen after rounding, so that 999,999 ns are 1.00 ms
    match value {
        _ if ns == 0 => "0 s".into(),
        v if v < 999.5 => format!("{ns} ns"),
        v if v < 999.5e3 => format!("{} us", three_digits(v / 1e3)),
        v if v < 999.5e6 => format!("{} ms", three_digits(v / 1e6)),
        v => format!("{} s", three_digits(v / 1e9)),
    }
}

/// An exact count with separators: `1,234,567`.
#[must_use]
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// An exact count and its noun: `1 failure`, `2,000 failures`.
#[must_use]
pub fn counted(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(n), if n == 1 { "" } else { "s" })
}

/// A count or rate for people: three significant digits above a thousand (`237 k`, `1.20 M`), and below
/// a hundredth (`3.33e-3`).
#[must_use]
pub fn show_count(value: f64) -> String {
    match value {
        v if v.fract().abs() < f64::EPSILON && v < 1e4 => format!("{v:.0}"),
        v if v > 0.0 && v < HUNDREDTH => format!("{v:.2e}"),
        v if v < 9_999.5 => three_digits(v),
        v if v < 999.5e3 => format!("{} k", three_digits(v / 1e3)),
        v if v < 999.5e6 => format!("{} M", three_digits(v / 1e6)),
        v if v < EXPONENT_FROM => format!("{} G", three_digits(v / 1e9)),
        v => format!("{v:.2e}"),
    }
}

/// A figure of a unit that takes no prefix: three significant digits, and every digit before the
/// point (`2,583,124`, as kB/s). From 1e15 on and below a hundredth with an exponent (`4.20e-3`).
#[must_use]
pub fn show_plain(value: f64) -> String {
    let size = value.abs();
    if size >= EXPONENT_FROM || (NOTHING..HUNDREDTH).contains(&size) {
        return format!("{value:.2e}");
    }
    let decimals = match size {
        s if s < NOTHING => 0,
        s if s < 9.995 => 2,
        s if s < 99.95 => 1,
        _ => 0,
    };
    let text = format!("{size:.decimals$}");
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), grouped);
    let sign = if value < 0.0 && size >= NOTHING { "-" } else { "" };
    if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

/// A number a second with three digits, or one decimal where there are more: users who think for long ask
/// for less than one.
#[must_use]
pub fn show_rate(per_s: f64) -> String {
    match per_s {
        it if it > 0.0 && it < 0.000_995 => format!("{it:.2e}"),
        it if it > 0.0 && it < 0.009_95 => format!("{it:.5}"),
        it if it > 0.0 && it < 0.0995 => format!("{it:.4}"),
        it if it < 0.995 => format!("{it:.3}"),
        it if it < 9.995 => format!("{it:.2}"),
        it => format!("{it:.1}"),
    }
}

/// A figure that lies above `limit`, with one decimal or as many as it takes to see that.
#[must_use]
pub fn show_above(value: f64, limit: f64) -> String {
    let shown = (1..=DECIMALS_MAX).map(|decimals| format!("{value:.decimals$}"));
    let mut told = shown.filter(|text| text.parse().is_ok_and(|shown: f64| shown > limit));
    told.next().unwrap_or_else(|| value.to_string())
}

/// Decimals of a figure that is told from its limit.
const DECIMALS_MAX: usize = 6;
/// Figures from here on are shown with an exponent: nobody counts their digits.
const EXPONENT_FROM: f64 = 1e15;
/// Below this two decimals would hide most of a figure, or all of it.
const HUNDREDTH: f64 = 0.009_995;
/// What is smaller is left by rounding, where there is nothing.
const NOTHING: f64 = 1e-9;

/// At least three digits; more in front of the point where there are more.
fn three_digits(value: f64) -> String {
    match value {
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped_by_three() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_000), "1,000");
        assert_eq!(grouped(12_345_678), "12,345,678");
        assert_eq!(counted(1, "failure"), "1 failure");
        assert_eq!(counted(4_400, "failure"), "4,400 failures");
    }

    #[test]
    fn a_figure_above_its_limit_is_seen_to_be() {
        assert_eq!((show_above(38.04, 5.0), show_above(5.04, 5.0)), ("38.0".into(), "5.04".into()));
        assert_eq!(show_above(5.000_04, 5.0), "5.00004");
        assert_eq!(show_above(5.000_000_000_1, 5.0), "5.0000000001");
    }

    #[test]
    fn people_see_three_digits() {
        assert_eq!(show_ns(14_312), "14.3 us");
        assert_eq!(show_ns(999), "999 ns");
        assert_eq!(show_ns(1_904_083), "1.90 ms");
        assert_eq!(show_ns(999_999), "1.00 ms");
        assert_eq!(show_ns(5_000_000), "5.00 ms");
        assert_eq!(show_count(999_999.0), "1.00 M");
        assert_eq!(show_count(237_123.0), "237 k");
        assert_eq!(show_count(4_200.0), "4200");
        assert_eq!(show_count(1e300), "1.00e300");
        assert_eq!(show_ns(0), "0 s");
        assert_eq!((show_plain(2_583_123.7), show_plain(0.0)), ("2,583,124".into(), "0".into()));
        assert_eq!((show_count(0.003_333), show_count(0.01)), ("3.33e-3".into(), "0.01".into()));
        assert_eq!(
            (show_plain(0.002), show_plain(-0.004_2)),
            ("2.00e-3".into(), "-4.20e-3".into())
        );
        assert_eq!((show_plain(0.009_999), show_plain(1e-12)), ("0.01".into(), "0".into()));
        assert_eq!((show_plain(-12.34), show_plain(1e300)), ("-12.3".into(), "1.00e300".into()));
    }
}
