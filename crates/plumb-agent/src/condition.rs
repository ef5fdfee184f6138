//! Conditions on the values of tags.

use std::collections::HashMap;
use std::sync::Arc;

use crate::change::TagValue;

/// A condition, compiled. Thresholds remember on which side they are.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// All of them hold.
    All(Vec<Condition>),
    /// One of them holds.
    Any(Vec<Condition>),
    /// It does not hold.
    Not(Box<Condition>),
    /// A number beyond a threshold.
    Threshold(Threshold),
    /// A tag has this value.
    Equals(Arc<str>, TagValue),
    /// The change at hand is of this tag, and its value is another than before.
    Changed(Arc<str>),
}

/// Beyond a limit, and until it is back behind another one.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    /// Whose value.
    pub tag: Arc<str>,
    /// Above the limit, or below it.
    pub side: Side,
    /// Where it begins to hold: beyond, not at.
    pub limit: f64,
    /// Where it ends to hold: at, or behind.
    pub until: f64,
    /// Whether it holds.
    pub holds: bool,
}

/// On which side of a limit a threshold holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Numbers above it.
    Above,
    /// Numbers below it.
    Below,
}

/// The last value of each tag.
#[derive(Clone, Debug, Default)]
pub(crate) struct Latest(HashMap<Arc<str>, TagValue>);

impl Latest {
    pub(crate) fn get(&self, tag: &str) -> Option<&TagValue> {
        self.0.get(tag)
    }

    /// Keeps `value`, and gives back the one before.
    pub(crate) fn put(&mut self, tag: &Arc<str>, value: TagValue) -> Option<TagValue> {
        match self.0.get_mut(tag) {
            Some(kept) => Some(std::mem::replace(kept, value)),
            None => self.0.insert(Arc::clone(tag), value),
        }
    }
}

/// The change at hand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AtHand<'a> {
    pub(crate) tag: &'a str,
    /// Another value than the tag had before; a first value is one.
    pub(crate) changed: bool,
}

impl Condition {
    /// Whether it holds now. Everything in it is looked at, so that thresholds learn of each value.
    pub(crate) fn holds(&mut self, latest: &Latest, at_hand: AtHand<'_>) -> bool {
        match self {
            Self::All(each) => {
                let all = each.iter_mut().map(|it| it.holds(latest, at_hand));
                all.fold(true, |all, it| all & it)
            }
            Self::Any(each) => {
                let any = each.iter_mut().map(|it| it.holds(latest, at_hand));
                any.fold(false, |any, it| any | it)
            }
            Self::Not(it) => !it.holds(latest, at_hand),
            Self::Threshold(threshold) => threshold.holds(latest),
            Self::Equals(tag, value) => latest.get(tag) == Some(value),
            Self::Changed(tag) => at_hand.changed && at_hand.tag == &**tag,
        }
    }
}

impl Threshold {
    /// What is no number changes nothing.
    fn holds(&mut self, latest: &Latest) -> bool {
        let Some(number) = latest.get(&self.tag).and_then(TagValue::number) else {
            return self.holds;
        };
        let (beyond, back) = match self.side {
            Side::Above => (number > self.limit, number <= self.until),
            Side::Below => (number < self.limit, number >= self.until),
        };
        self.holds = beyond || (self.holds && !back);
        self.holds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn above(tag: &str, limit: f64, until: f64) -> Condition {
        let (tag, side) = (tag.into(), Side::Above);
        Condition::Threshold(Threshold { tag, side, limit, until, holds: false })
    }

    fn seen(condition: &mut Condition, values: &[(&str, &str)]) -> Vec<bool> {
        let mut latest = Latest::default();
        let judge = |(tag, text): &(&str, &str)| {
            let value = TagValue::read(text);
            let before = latest.put(&(*tag).into(), value.clone());
            let changed = before.is_none_or(|before| before != value);
            condition.holds(&latest, AtHand { tag, changed })
        };
        values.iter().map(judge).collect()
    }

    #[test]
    fn a_threshold_holds_until_it_is_back() {
        let values = [("t", "80"), ("t", "81"), ("t", "76"), ("t", "x"), ("t", "75"), ("t", "80")];
        let held = seen(&mut above("t", 80.0, 75.0), &values);
        assert_eq!(held, [false, true, true, true, false, false]);
        let below =
            Threshold { tag: "t".into(), side: Side::Below, limit: 5.0, until: 6.0, holds: false };
        let values = [("t", "5"), ("t", "4.9"), ("t", "5.9"), ("t", "6")];
        assert_eq!(seen(&mut Condition::Threshold(below), &values), [false, true, true, false]);
    }

    #[test]
    fn conditions_are_put_together() {
        let manual = Condition::Equals("mode".into(), TagValue::read("manual"));
        let hot = above("t", 80.0, 80.0);
        let mut both = Condition::All(vec![Condition::Not(Box::new(manual.clone())), hot.clone()]);
        let values = [("t", "90"), ("mode", "manual"), ("mode", "auto"), ("t", "10")];
        assert_eq!(seen(&mut both, &values), [true, false, true, false]);
        let mut any = Condition::Any(vec![manual, hot, Condition::Changed("door".into())]);
        let values = [("door", "open"), ("door", "open"), ("door", "shut"), ("t", "81")];
        assert_eq!(seen(&mut any, &values), [true, false, true, true]);
    }

    #[test]
    fn a_threshold_learns_of_values_behind_a_condition_that_decides() {
        let flag = Condition::Equals("on".into(), TagValue::Flag(true));
        let mut both = Condition::All(vec![flag, above("t", 80.0, 10.0)]);
        let values = [("t", "90"), ("t", "50"), ("on", "true")];
        assert_eq!(seen(&mut both, &values), [false, false, true]);
    }
}
