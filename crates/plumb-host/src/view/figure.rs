//! Figures in few characters.

use plumb_procfs::counter;

/// Bytes with their unit, up to seven characters: `1.23 MB`, of powers of 1,000.
pub(super) fn bytes(value: f64) -> String {
    const UNITS: [&str; 6] = ["B", "kB", "MB", "GB", "TB", "PB"];
    let mut value = value.max(0.0);
    let mut unit = 0;
    // the unit is chosen after rounding, so that 999,999 bytes are 1.00 MB
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    match unit {
        0 => format!("{value:.0} B"),
        _ => format!("{} {}", three_digits(value), UNITS[unit]),
    }
}

/// A number in up to five characters: `1234`, `12.3k`, `4.56M`.
pub(super) fn number(value: f64) -> String {
    match value.max(0.0) {
        value if value < 0.05 => "0".into(),
        value if value < 9.95 => format!("{value:.1}"),
        value if value < 9_999.5 => format!("{value:.0}"),
        value if value < 999.5e3 => format!("{}k", three_digits(value / 1e3)),
        value if value < 999.5e6 => format!("{}M", three_digits(value / 1e6)),
        value => format!("{}G", three_digits(value / 1e9)),
    }
}

/// A count in up to five characters.
pub(super) fn count(value: u64) -> String {
    if value < 10_000 { value.to_string() } else { number(counter::float(value)) }
}

/// Percent, without the sign.
pub(super) fn percent(value: f64) -> String {
    match value.max(0.0) {
        value if value < 99.95 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

/// A value that may be absent, which a dash then stands for.
pub(super) fn or_dash<T>(value: Option<T>, show: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| "-".into(), show)
}

fn three_digits(value: f64) -> String {
    match value {
        value if value < 9.995 => format!("{value:.2}"),
        value if value < 99.95 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        assert_eq!(bytes(0.0), "0 B");
        assert_eq!(bytes(999_999.0), "1.00 MB");
        assert_eq!(bytes(123_456_789.0), "123 MB");
        assert_eq!(number(0.01), "0");
        assert_eq!(number(4.25), "4.2");
        assert_eq!(number(9_999.4), "9999");
        assert_eq!(number(339_625_059.0), "340M");
        assert_eq!(percent(99.96), "100");
        assert_eq!(or_dash(None::<f64>, number), "-");
    }
}
