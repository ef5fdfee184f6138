//! A tag that counts the changes of its source: what came twice is left out, and gaps are counted.

use crate::change::TagValue;

/// Whole numbers up to this are exact.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// Where the counting stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counting {
    last: Option<u64>,
}

/// What a value of the tag that counts says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    /// The next one, behind so many that never came.
    After(u64),
    /// The one that was there.
    Again,
    /// No whole number.
    None,
}

impl Counting {
    /// Goes on behind `last`; 0: nothing is known.
    pub(super) fn behind(last: u64) -> Self {
        Self { last: (last > 0).then_some(last) }
    }

    /// The last number; 0 when there is none.
    pub(super) fn last(self) -> u64 {
        self.last.unwrap_or_default()
    }

    /// Takes the next value. A number that is lower than the last one begins anew.
    pub(super) fn take(&mut self, value: &TagValue) -> Counted {
        let Some(number) = whole(value) else { return Counted::None };
        match self.last.replace(number) {
            Some(last) if last == number => Counted::Again,
            Some(last) if last < number => Counted::After(number - last - 1),
            Some(_) | None => Counted::After(0),
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number")]
fn whole(value: &TagValue) -> Option<u64> {
    match value {
        TagValue::Number(number) if number.fract() == 0.0 && (0.0..=EXACT_MAX).contains(number) => {
            Some(*number as u64)
        }
        TagValue::Number(_) | TagValue::Flag(_) | TagValue::Text(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_counted_and_the_same_number_is_left_out() {
        let mut counting = Counting::default();
        let mut take = |number| counting.take(&TagValue::Number(number));
        assert_eq!(
            (take(7.0), take(8.0), take(8.0)),
            (
                Counted::After(0), // before the first one nothing is missing that we should have had
                Counted::After(0),
                Counted::Again
            )
        );
        assert_eq!(
            (take(12.0), take(3.0), take(4.0)),
            (Counted::After(3), Counted::After(0), Counted::After(0))
        );
        for none in [0.5, -1.0, f64::INFINITY, 1e300] {
            assert_eq!(take(none), Counted::None, "{none}");
        }
        assert_eq!(counting.take(&TagValue::Text("5".into())), Counted::None);
        assert_eq!(counting.last(), 4);
    }

    #[test]
    fn it_goes_on_where_it_stood() {
        assert_eq!(Counting::behind(40).take(&TagValue::Number(43.0)), Counted::After(2));
        assert_eq!(Counting::behind(0).take(&TagValue::Number(43.0)), Counted::After(0));
    }
}
