//! What probably happened to a figure that is not what it should be.

use crate::figure::Figure;
use crate::interval::Interval;

/// Mistakes that multiply a figure, the likelier first.
const FACTORS: [(f64, &str); 8] = [
    (1000.0, "a factor of 1,000: a unit prefix, or separators read the wrong way"),
    (1e6, "a factor of 1,000,000: separators read the wrong way"),
    (2.0, "a factor of 2: both directions against one"),
    (100.0, "a factor of 100: a share against percent"),
    (10.0, "a factor of 10: a digit too many or too few"),
    (60.0, "a factor of 60: minutes and seconds"),
    (3600.0, "a factor of 3,600: hours and seconds"),
    (60_000.0, "a factor of 60,000: minutes and milliseconds"),
];

/// Those of bits and bytes.
const FACTORS_OF_DATA: [(f64, &str); 7] = [
    (8.0, "a factor of 8: bits and bytes"),
    (1.024, "a factor of 1.024: thousands of 1,000 and of 1,024"),
    (1.048_576, "a factor of 1.0486: millions of 1,000 x 1,000 and of 1,024 x 1,024"),
    (1.073_741_824, "a factor of 1.0737: GB and GiB"),
    (1.099_511_627_776, "a factor of 1.0995: TB and TiB"),
    (8.192, "a factor of 8.192: bits and bytes, and 1,000 and 1,024"),
    (1_024.0, "a factor of 1,024: KiB and bytes, or MiB and KiB"),
];

/// The first mistake that explains why `figure`, of bits or bytes if `data`, is not within
/// `expected`.
pub(crate) fn cause(figure: &Figure, expected: Interval, data: bool) -> Option<String> {
    if let Some(otherwise) = figure.otherwise
        && around(figure, otherwise).meets(expected)
    {
        let shown = shown(otherwise);
        return Some(format!("the separator is read the wrong way: as {shown} it fits"));
    }
    if figure.interval.times(-1.0).meets(expected) && figure.value.abs() > 0.0 {
        return Some("the sign is the wrong way round".to_owned());
    }
    let fits = |factor: f64| figure.interval.times(factor).meets(expected);
    // a wide expectation fits any factor near one, and would say nothing
    let (low, high) = (expected.low.abs(), expected.high.abs());
    if low.max(high) > 1.5 * low.min(high) {
        return None;
    }
    let of_data = FACTORS_OF_DATA.iter().filter(|_| data);
    of_data
        .chain(&FACTORS)
        .find(|(factor, _)| fits(*factor) || fits(1.0 / factor))
        .map(|(_, words)| (*words).to_owned())
        .or_else(|| rounded(figure, expected))
        .or_else(|| swapped(figure, expected))
}

/// A figure that misses by no more than one of its last digit.
fn rounded(figure: &Figure, expected: Interval) -> Option<String> {
    let last_digit = figure.interval.high - figure.interval.low;
    let either = Interval::between(figure.value - last_digit, figure.value + last_digit);
    either
        .meets(expected)
        .then(|| "rounding: the last digit was cut off, or rounded a second time".to_owned())
}

/// Two digits beside each other that were swapped.
fn swapped(figure: &Figure, expected: Interval) -> Option<String> {
    let signs: Vec<char> = figure.text.chars().take(20).collect();
    let digits = |at: usize| signs[at].is_ascii_digit() && signs[at + 1].is_ascii_digit();
    (0..signs.len().saturating_sub(1)).filter(|at| digits(*at)).find_map(|at| {
        let mut signs = signs.clone();
        signs.swap(at, at + 1);
        let text: String = signs.into_iter().filter(|c| !matches!(c, ',' | '\'' | ' ')).collect();
        let value: f64 = text.trim_end_matches('%').parse().ok()?;
        let fits = around(figure, value).meets(expected);
        fits.then(|| format!("two digits are swapped: {text} fits"))
    })
}

/// The values that `value` stands for when it is printed as finely as `figure`.
fn around(figure: &Figure, value: f64) -> Interval {
    let scale = if figure.value.abs() > 0.0 { (value / figure.value).abs().min(1.0) } else { 1.0 };
    let half = (figure.interval.high - figure.interval.low) / 2.0 * scale;
    Interval::between(value - half, value + half)
}

/// A value for people: as many digits as it needs, at most six that count.
pub(crate) fn shown(value: f64) -> String {
    if !value.is_finite() {
        return "anything".to_owned();
    }
    let text = match value.abs() {
        size if size >= 1e15 => format!("{value:.2e}"),
        size if size >= 1e5 => format!("{value:.0}"),
        size if size >= 1e3 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.3}"),
        size if size >= 1e-3 => format!("{value:.5}"),
        size if size > 0.0 => format!("{value:.2e}"),
        _ => "0".to_owned(),
    };
    if text.contains('.') && !text.contains('e') {
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    text
}

/// An interval for people.
pub(crate) fn range(interval: Interval) -> String {
    let (low, high) = (shown(interval.low), shown(interval.high));
    if low == high { low } else { format!("{low} to {high}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Style;

    fn why(printed: &str, low: f64, high: f64) -> Option<String> {
        let figure = Figure::parse(printed, Style::default()).unwrap().unwrap();
        cause(&figure, Interval { low, high }, true)
    }

    #[test]
    fn common_mistakes_are_named() {
        for (printed, low, high, words) in [
            ("12,828,407", 12_828.0, 12_829.0, "separator"),
            ("1.234", 1233.5, 1234.5, "separator"),
            ("976.6", 999.9, 1000.1, "1.024"),
            ("80", 9.99, 10.01, "bits and bytes"),
            ("72.4", 27.35, 27.42, "swapped"),
            ("-5.0", 4.99, 5.02, "sign"),
            ("0.25", 24.9, 25.1, "percent"),
            ("12.3", 12.36, 12.40, "rounding"),
            ("1.21", 1.196, 1.204, "rounding"), // and not 1.12 with its digits swapped
            ("79.1", 97.05, 97.15, "swapped"),
        ] {
            let cause = why(printed, low, high).unwrap_or_default();
            assert!(cause.contains(words), "{printed}: {cause}");
        }
        assert_eq!(why("17", 3.1, 3.2), None);
        assert_eq!(why("17", -1e9, 1e9), Some("the sign is the wrong way round".into()));
    }

    #[test]
    fn values_are_shown_with_the_digits_that_count() {
        for (value, text) in
            [(0.0, "0"), (12.5, "12.5"), (1234.56, "1234.6"), (0.064, "0.064"), (1e-6, "1.00e-6")]
                .into_iter()
                .chain([(1e300, "1.00e300"), (-2.5e15, "-2.50e15"), (1e14, "100000000000000")])
        {
            assert_eq!(shown(value), text);
        }
        assert_eq!(range(Interval { low: 1.0, high: 2.5 }), "1 to 2.5");
    }
}
