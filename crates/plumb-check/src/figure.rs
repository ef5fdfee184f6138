//! A figure as it is printed, and what it may stand for.

use crate::interval::Interval;

/// How the figures of a table were cut to the decimals they are printed with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// To the nearest: 1.234 is printed as 1.23.
    #[default]
    Nearest,
    /// Cut off: 1.239 is printed as 1.23.
    Cut,
}

/// How the figures of a table are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Style {
    /// The decimal sign, `.` or `,`; the other one stands between thousands.
    pub(crate) decimal: char,
    /// How figures were rounded.
    pub(crate) rounding: Rounding,
}

impl Default for Style {
    fn default() -> Self {
        Self { decimal: '.', rounding: Rounding::Nearest }
    }
}

/// A printed figure.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figure {
    /// As it is printed.
    pub(crate) text: String,
    /// What it says.
    pub(crate) value: f64,
    /// All values that are printed like this.
    pub(crate) interval: Interval,
    /// What it says when its last separator is read the other way: as a decimal sign instead of a
    /// sign between thousands, or the reverse.
    pub(crate) otherwise: Option<f64>,
    /// A separator stands where only the other one can stand.
    pub(crate) odd: bool,
}

/// Longest text that is taken for a figure, bytes.
const TEXT_BYTES_MAX: usize = 64;

impl Figure {
    /// Reads a cell. A unit behind the figure is passed over; an empty cell, `-`, `n/a`, `nan` and
    /// the like are no figure: `Ok(None)`.
    ///
    /// # Errors
    /// The cell holds something else.
    pub(crate) fn parse(text: &str, style: Style) -> Result<Option<Self>, NotAFigure> {
        let text = text.trim();
        if ["", "-", "--", "–", "—", "n/a", "na", "nan", "null", "?"]
            .iter()
            .any(|nothing| text.eq_ignore_ascii_case(nothing))
        {
            return Ok(None);
        }
        if text.len() > TEXT_BYTES_MAX {
            return Err(NotAFigure);
        }
        let (negative, body) = sign(text);
        let end = body.find(|c: char| !is_part(c)).unwrap_or(body.len());
        let (number, unit) = (body[..end].trim_end(), body[end..].trim_start());
        let (number, power) = match exponent(unit) {
            Some(power) => (number, power),
            None if unit.contains(|c: char| c.is_ascii_digit()) => return Err(NotAFigure),
            None => (number, 0),
        };
        let read = Digits::read(number, style.decimal).ok_or(NotAFigure)?;
        Ok(Some(read.figure(text, negative, power, style.rounding)))
    }
}

/// A cell that holds something else than a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotAFigure;

fn sign(text: &str) -> (bool, &str) {
    let signs: &[_] = &['-', '−', '+'];
    let body = text.trim_start_matches(signs);
    (text.starts_with(['-', '−']), body.trim_start())
}

fn is_part(c: char) -> bool {
    c.is_ascii_digit() || is_separator(c)
}

fn is_separator(c: char) -> bool {
    matches!(c, '.' | ',' | '\'' | '’' | ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}')
}

/// The power of ten of `e-3` behind a figure.
fn exponent(unit: &str) -> Option<i32> {
    let digits = unit.strip_prefix(['e', 'E'])?;
    digits.parse().ok().filter(|power: &i32| power.abs() <= 300)
}

/// The digits of a figure and what its separators mean.
struct Digits {
    digits: String,
    /// Digits behind the decimal sign.
    decimals: usize,
    /// The same when the last separator is read the other way.
    otherwise: Option<usize>,
    odd: bool,
}

impl Digits {
    fn read(number: &str, decimal: char) -> Option<Self> {
        let groups: Vec<&str> = number.split(is_separator).collect();
        let signs: Vec<char> = number.chars().filter(|c| is_separator(*c)).collect();
        let digits: String = groups.concat();
        if digits.is_empty() || digits.len() > 30 {
            return None;
        }
        let last = groups.last().map_or(0, |group| group.len());
        let grouped = |groups: &[&str]| {
            groups.first().is_some_and(|first| (1..=3).contains(&first.len()))
                && groups[1..].iter().all(|group| group.len() == 3)
        };
        let plain = |decimals, otherwise, odd| {
            Some(Self { digits: digits.clone(), decimals, otherwise, odd })
        };
        match signs[..] {
            [] => plain(0, None, false),
            // a decimal sign at the end, and thousands before it if there are any
            [.., sign] if sign == decimal => {
                let before = &groups[..groups.len() - 1];
                let once = signs.iter().filter(|other| **other == decimal).count() == 1;
                if once && (signs.len() == 1 || grouped(before)) {
                    let could_be_thousands = signs.len() == 1 && grouped(&groups);
                    plain(last, could_be_thousands.then_some(0), false)
                } else if signs.len() > 1 && grouped(&groups) {
                    plain(0, Some(last), true) // 1.234.567 where the point is the decimal sign
                } else {
                    None
                }
            }
            [.., sign] if grouped(&groups) => {
                plain(0, matches!(sign, '.' | ',').then_some(last), signs.contains(&decimal))
            }
            // 7,93 where the comma stands between thousands
            ['.' | ','] => plain(last, None, true),
            _ => None,
        }
    }

    fn figure(self, text: &str, negative: bool, power: i32, rounding: Rounding) -> Figure {
        let sign = if negative { -1.0 } else { 1.0 };
        let shift = |decimals: usize| i32::try_from(decimals).unwrap_or(0);
        let with = |decimals| {
            let scaled = format!("{}e{}", self.digits, power - shift(decimals));
            scaled.parse::<f64>().unwrap_or(f64::NAN)
        };
        let value = with(self.decimals);
        let unit = 10f64.powi(power - shift(self.decimals));
        let interval = match rounding {
            Rounding::Nearest => Interval::between(value - unit / 2.0, value + unit / 2.0),
            Rounding::Cut => Interval::between(value, value + unit),
        };
        Figure {
            text: text.to_owned(),
            value: sign * value,
            interval: interval.times(sign),
            otherwise: self.otherwise.map(|decimals| sign * with(decimals)),
            odd: self.odd,
        }
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "these figures are exact")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Figure {
        Figure::parse(text, Style::default()).unwrap().unwrap()
    }

    #[test]
    fn a_figure_stands_for_all_values_printed_like_it() {
        let figure = read("12.30");
        assert_eq!(figure.value, 12.3);
        assert!((figure.interval.low - 12.295).abs() < 1e-9);
        assert!((figure.interval.high - 12.305).abs() < 1e-9);
        assert_eq!(read("43631").interval, Interval { low: 43_630.5, high: 43_631.5 });
        assert_eq!(read("-7").interval, Interval { low: -7.5, high: -6.5 });
        let cut = Style { rounding: Rounding::Cut, ..Style::default() };
        let cut = Figure::parse("1.5", cut).unwrap().unwrap();
        assert!((cut.interval.high - 1.6).abs() < 1e-9);
    }

    #[test]
    fn separators_are_read_and_their_other_reading_is_kept() {
        assert_eq!(read("12,828,407").value, 12_828_407.0);
        assert_eq!(read("12,828,407").otherwise, Some(12_828.407));
        assert_eq!(read("5,004.33").value, 5004.33);
        assert_eq!(read("5,004.33").otherwise, None);
        assert_eq!(read("1.234").otherwise, Some(1234.0));
        assert_eq!(read("1 234 567").value, 1_234_567.0);
        let comma = Style { decimal: ',', ..Style::default() };
        assert_eq!(Figure::parse("1.234,5", comma).unwrap().unwrap().value, 1234.5);
    }

    #[test]
    fn a_separator_at_the_wrong_place_is_odd() {
        let figure = read("7,93");
        assert!(figure.odd);
        assert_eq!(figure.value, 7.93);
        assert!(read("1.234.567").odd);
        assert!(!read("1,234").odd);
    }

    #[test]
    fn units_behind_a_figure_are_passed_over() {
        assert_eq!(read("17.3%").value, 17.3);
        assert_eq!(read("82 sec").value, 82.0);
        assert_eq!(read("1.5e3").value, 1500.0);
        assert_eq!(Figure::parse("n/a", Style::default()), Ok(None));
        for words in ["SMC-R", "1.2.3", "1,23,4", "2 of 3", "", "x"] {
            let figure = Figure::parse(words, Style::default());
            assert!(matches!(figure, Err(NotAFigure) | Ok(None)), "{words}: {figure:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn a_printed_figure_stands_for_what_was_printed(
            value in -1e9f64..1e9,
            decimals in 0usize..6,
        ) {
            let text = format!("{value:.decimals$}");
            let figure = Figure::parse(&text, Style::default()).unwrap().unwrap();
            let slack = value.abs() * 1e-12;
            prop_assert!(figure.interval.low - slack <= value && value <= figure.interval.high + slack);
        }
    }
}
