//! Numbers as people read them.

use plumb_measure::{Distribution, ResultRecord, show_count, show_ns, show_plain};
pub use plumb_measure::{grouped, real};

/// Stands where nothing was measured.
pub const ABSENT: &str = "-";

/// A place in a list for arithmetic of coordinates.
pub fn place(index: usize) -> f64 {
    real(index as u64)
}

/// Operations a second: `237 k/s`.
pub fn per_second(rate: f64) -> String {
    format!("{}/s", show_count(rate))
}

/// A value with the unit that its layer names. Bits, bytes and nanoseconds take the prefix that
/// suits; another unit is left as it is.
pub fn with_unit(value: f64, unit: &str) -> String {
    if !value.is_finite() {
        return ABSENT.into();
    }
    match unit {
        "bit/s" | "B/s" | "bit" | "B" => {
            let count = show_count(value);
            let joint = if count.ends_with(|c: char| c.is_ascii_digit()) { " " } else { "" };
            format!("{count}{joint}{unit}")
        }
        "" => show_plain(value),
        "segments" | "locks" | "datagrams" if value.fract().abs() < f64::EPSILON => {
            format!("{value:.0} {unit}")
        }
        _ => format!("{} {unit}", show_plain(value)),
    }
}

/// A time in milliseconds, with the unit that suits.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float is cast to the nearest integer in range"
)]
pub fn milliseconds(ms: f64) -> String {
    show_ns((ms * 1e6).round() as u64)
}

/// A share in percent; [`ABSENT`] of nothing. What is neither none nor all never reads as such.
pub fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return ABSENT.into();
    }
    let percent = real(part) / real(whole) * 100.0;
    match percent {
        _ if part == 0 => "0 %".into(),
        p if p < 0.1 => "< 0.1 %".into(),
        p if p < 9.95 => format!("{p:.1} %"),
        p if p > 99.0 && part < whole => format!("{:.1} %", p.min(99.9)),
        p => format!("{p:.0} %"),
    }
}

/// Which time of a distribution, nanoseconds.
pub type Pick = fn(&Distribution) -> u64;

/// A time of a distribution; [`ABSENT`] where nothing was measured.
pub fn time_of(times: Option<&Distribution>, pick: Pick) -> String {
    times.map_or_else(|| ABSENT.into(), |measured| show_ns(pick(measured)))
}

/// The sum of counts; a record that was altered cannot overflow it.
pub fn total(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

/// Failures of any kind.
pub fn failures_of(result: &ResultRecord) -> u64 {
    total(result.failures.values().copied())
}

/// Units that stay on the line of their figure.
const UNITS: [&str; 12] = ["ns", "us", "ms", "s", "k", "M", "G", "%", "B", "kB/s", "bit/s", "MB"];

/// A text for a page, which is UTF-8 for certain: no line breaks between a figure and its unit, the
/// micro sign stands where a figure has `us`, and the sign of both sides for `+-`.
pub fn typeset(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let text = text.replace("+-", "\u{b1}");
    for word in text.split(' ') {
        let unit = word.trim_end_matches(|c: char| ",;.:)".contains(c));
        let after_figure = out.ends_with(|c: char| c.is_ascii_digit());
        if after_figure && UNITS.contains(&unit) {
            out.push('\u{a0}');
            out.push_str(&word.replacen("us", "\u{b5}s", 1));
        } else {
            if !out.is_empty() {
                out.push(' ');
            }
            out.push_str(word);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_take_a_prefix_and_other_units_keep_theirs() {
        assert_eq!(with_unit(4_208_000.0, "bit/s"), "4.21 Mbit/s");
        assert_eq!(with_unit(526.0, "bit/s"), "526 bit/s");
        assert_eq!(with_unit(51_500.092, "kB/s"), "51,500 kB/s");
        assert_eq!(with_unit(12.34, "%"), "12.3 %");
        assert_eq!(with_unit(0.0, "%"), "0 %");
        assert_eq!(with_unit(-0.5, "ms"), "-0.50 ms");
        assert_eq!(with_unit(f64::NAN, "ms"), ABSENT);
    }

    #[test]
    fn a_share_is_none_or_all_only_when_it_is() {
        assert_eq!(share(0, 10), "0 %");
        assert_eq!(share(1, 1_000_000), "< 0.1 %");
        assert_eq!(share(999_999, 1_000_000), "99.9 %");
        assert_eq!(share(10, 10), "100 %");
        assert_eq!(share(1, 0), ABSENT);
    }

    #[test]
    fn a_figure_keeps_its_unit_and_gets_the_micro_sign() {
        let text = typeset("14.3 us, tell us 9 users 3 us; 95 % of 12 results");
        assert_eq!(text, "14.3\u{a0}µs, tell us 9 users 3\u{a0}µs; 95\u{a0}% of 12 results");
        assert_eq!(typeset(""), "");
    }
}
