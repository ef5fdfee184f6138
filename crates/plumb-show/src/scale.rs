//! Units of bytes that keep the figures of a chart short.

use crate::recording::Series;

/// Brings lines of `unit` to a larger one where that reads better, if it is one of bytes; the unit.
pub(crate) fn scaled(unit: &str, lines: &mut [Series]) -> String {
    let (bytes, rate) = unit.strip_suffix("/s").map_or((unit, ""), |bytes| (bytes, "/s"));
    match UNITS.contains(&bytes) {
        true => scale(bytes, lines).0 + rate,
        false => unit.to_owned(),
    }
}

/// Units of bytes, each 1,024 of the one before.
const UNITS: [&str; 6] = ["B", "KB", "MB", "GB", "TB", "PB"];

/// Brings lines to the unit that keeps their figures short; the unit, and how many of the first
/// one it holds.
pub(crate) fn scale(first: &str, lines: &mut [Series]) -> (String, f64) {
    const SHORT: f64 = 10_000.0;
    let figures = lines.iter().flat_map(|line| &line.values).copied();
    let mut largest = figures.filter(|value| value.is_finite()).fold(0.0, f64::max);
    let mut units = UNITS.iter().skip_while(|unit| **unit != first);
    let (mut unit, mut factor) = (units.next().copied().unwrap_or(first), 1.0);
    for larger in units {
        if largest < SHORT {
            break;
        }
        (unit, factor, largest) = (*larger, factor * 1024.0, largest / 1024.0);
    }
    for line in lines {
        line.values.iter_mut().for_each(|value| *value /= factor);
    }
    (unit.to_owned(), factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_kept_short_by_their_unit() {
        let line = |values: &[f64]| Series { name: String::new(), values: values.to_vec() };
        let mut lines = [line(&[20_480.0, f64::NAN])];
        assert_eq!(scale("KB", &mut lines), ("MB".to_owned(), 1024.0));
        assert_eq!(format!("{:?}", lines[0].values), "[20.0, NaN]");
        assert_eq!(scale("MB", &mut [line(&[9_000.0])]), ("MB".to_owned(), 1.0));
    }
}
