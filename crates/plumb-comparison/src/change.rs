//! How a change is written, in sentences and tables alike: as an improvement of the candidate in
//! percent of the baseline, with its sign.

use plumb_measure::grouped;

use super::Endpoint;

/// What the sign of a change means, whichever way its figure is good.
pub const CONVENTION: &str = "+ is better";

/// Percents from here on are shown by their power of ten.
const MANY_PERCENT: f64 = 1e7;

/// A percentage with its sign and without its unit: `+14.8`. What is not the whole never reads as
/// the whole. `None` when it is not finite.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "below ten million a float is an integer in range"
)]
pub fn signed(percent: f64) -> Option<String> {
    let sign = if percent < 0.0 { '-' } else { '+' };
    match percent.abs() {
        s if !s.is_finite() => None,
        s if s < 0.005 => Some("0.00".into()),
        s if s < 0.995 => Some(format!("{sign}{s:.2}")),
        s if s < 99.95 => Some(format!("{sign}{s:.1}")),
        s if s < 100.0 => Some(format!("{sign}99.9")),
        s if s < MANY_PERCENT => Some(format!("{sign}{}", grouped(s.round() as u64))),
        s => Some(format!("{sign}{s:.1e}")),
    }
}

impl Endpoint {
    /// The estimate as an improvement: `+14.8 %`. `None` without one.
    #[must_use]
    pub fn change_words(&self) -> Option<String> {
        Some(format!("{} %", signed(self.improvement(self.ratio?))?))
    }

    /// The interval as improvements, the worse end first: `+14.1 to +15.5 %`. `None` without one.
    #[must_use]
    pub fn interval_words(&self) -> Option<String> {
        let (low, high) = self.improvement_interval()?;
        Some(format!("{} to {} %", signed(low)?, signed(high)?))
    }

    /// The level that the interval truly has: `97.85 %`. `None` without one.
    #[must_use]
    pub fn level_words(&self) -> Option<String> {
        let level = self.interval?.level;
        let text = (0.0..=1.0).contains(&level).then(|| format!("{:.2}", 100.0 * level))?;
        Some(format!("{} %", text.trim_end_matches('0').trim_end_matches('.')))
    }
}

#[cfg(test)]
mod tests {
    use plumb_measure::statistics::Interval;

    use super::*;
    use crate::{Better, FigureUnit, Role};

    fn endpoint(better: Better) -> Endpoint {
        Endpoint {
            role: Role::Primary,
            ratio: Some(1.2),
            interval: Some(Interval { low: 1.1, high: 1.3, level: 0.978_515_625 }),
            ..Endpoint::described(("x", "x", FigureUnit::Plain, better), 10.0, 12.0)
        }
    }

    #[test]
    fn a_change_has_its_sign_and_as_many_digits_as_it_can_bear() {
        let shown = |value| signed(value).unwrap_or_else(|| "none".into());
        for (value, text) in [
            (14.83, "+14.8"),
            (-0.31, "-0.31"),
            (-0.001, "0.00"),
            (99.999_9, "+99.9"),
            (100.0, "+100"),
            (-999_900.0, "-999,900"),
            (99_999_900.0, "+1.0e8"),
            (f64::NAN, "none"),
            (f64::NEG_INFINITY, "none"),
        ] {
            assert_eq!(shown(value), text);
        }
    }

    #[test]
    fn plus_is_better_whichever_way_a_figure_is_good_and_the_worse_end_comes_first() {
        let words = |better| {
            let endpoint = endpoint(better);
            (endpoint.change_words().unwrap(), endpoint.interval_words().unwrap())
        };
        assert_eq!(words(Better::Higher), ("+20.0 %".into(), "+10.0 to +30.0 %".into()));
        assert_eq!(words(Better::Lower), ("-20.0 %".into(), "-30.0 to -10.0 %".into()));
        assert_eq!(endpoint(Better::Lower).level_words().unwrap(), "97.85 %");
    }
}
