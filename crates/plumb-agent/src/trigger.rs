//! What a change leads to: nothing, itself, or the values of several tags.

use std::sync::Arc;

use serde::Deserialize;

use crate::change::Change;
use crate::condition::{AtHand, Condition, Latest};

/// When a trigger fires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fires {
    /// When its condition begins to hold.
    #[default]
    BecomesTrue,
    /// When it ends to hold.
    BecomesFalse,
    /// In both cases.
    Flips,
    /// With each change while it holds.
    WhileTrue,
}

/// What is sent when it fires.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Sent {
    /// The change that made it fire.
    #[default]
    Change,
    /// The last values of these tags, as far as they have one.
    Tags(Vec<Arc<str>>),
}

/// A condition and what comes of it.
#[derive(Clone, Debug)]
pub struct Trigger {
    /// What has to hold.
    pub when: Condition,
    /// When it fires.
    pub fires: Fires,
    /// Only changes of these tags make it fire; empty: of all.
    pub tags: Vec<Arc<str>>,
    /// What is sent.
    pub sent: Sent,
}

/// Which changes count at all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wanted {
    /// A value like the one before is left out.
    pub only_changed: bool,
    /// Numbers that differ by so much or less are alike.
    pub deadband: f64,
}

/// Judges changes, one after the other.
#[derive(Debug)]
pub(crate) struct Judge {
    wanted: Wanted,
    trigger: Option<Trigger>,
    latest: Latest,
    held: bool,
}

impl Judge {
    pub(crate) fn new(wanted: Wanted, trigger: Option<Trigger>) -> Self {
        Self { wanted, trigger, latest: Latest::default(), held: false }
    }

    /// Puts what is to be sent because of `change` into `out`.
    pub(crate) fn judge(&mut self, change: Change, out: &mut Vec<Change>) {
        // without either nothing is remembered
        if !self.wanted.only_changed && self.trigger.is_none() {
            out.push(change);
            return;
        }
        let before = self.latest.get(&change.tag);
        let changed =
            before.is_none_or(|before| change.value.differs(before, self.wanted.deadband));
        if self.wanted.only_changed && !changed {
            return; // a slow drift is seen once it has left the deadband of the value that was sent
        }
        self.latest.put(&change.tag, change.value.clone());
        let Some(trigger) = &mut self.trigger else {
            out.push(change);
            return;
        };
        let holds = trigger.when.holds(&self.latest, AtHand { tag: &change.tag, changed });
        let before = std::mem::replace(&mut self.held, holds);
        let fires = match trigger.fires {
            Fires::BecomesTrue => holds && !before,
            Fires::BecomesFalse => before && !holds,
            Fires::Flips => before != holds,
            Fires::WhileTrue => holds,
        };
        let is_trigger = trigger.tags.is_empty() || trigger.tags.contains(&change.tag);
        if !(fires && is_trigger) {
            return;
        }
        match &trigger.sent {
            Sent::Change => out.push(change),
            Sent::Tags(tags) => {
                for tag in tags {
                    if let Some(value) = self.latest.get(tag) {
                        let (tag, value) = (Arc::clone(tag), value.clone());
                        out.push(Change { tag, value, ..change.clone() });
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::{Position, Quality, TagValue};
    use crate::condition::{Side, Threshold};

    fn sent(judge: &mut Judge, values: &[(&str, &str)]) -> Vec<String> {
        let mut all = Vec::new();
        for (tag, text) in values {
            let change = Change {
                tag: (*tag).into(),
                value: TagValue::read(text),
                time_ms: 0,
                quality: Quality::Good,
                after: Position::default(),
            };
            judge.judge(change, &mut all);
        }
        all.iter().map(|change| format!("{}={}", change.tag, change.value)).collect()
    }

    fn hot(fires: Fires, tags: &[&str], sent: Sent) -> Judge {
        let threshold = Threshold {
            tag: "t".into(),
            side: Side::Above,
            limit: 80.0,
            until: 70.0,
            holds: false,
        };
        let tags = tags.iter().map(|tag| (*tag).into()).collect();
        let trigger = Trigger { when: Condition::Threshold(threshold), fires, tags, sent };
        Judge::new(Wanted::default(), Some(trigger))
    }

    #[test]
    fn values_within_the_deadband_of_the_one_that_was_sent_are_left_out() {
        let mut judge = Judge::new(Wanted { only_changed: true, deadband: 1.0 }, None);
        let values = [("a", "1"), ("a", "1.6"), ("b", "1"), ("a", "2.1"), ("a", "x"), ("a", "x")];
        assert_eq!(sent(&mut judge, &values), ["a=1", "b=1", "a=2.1", "a=x"]);
    }

    #[test]
    fn a_trigger_fires_at_its_edges_or_all_the_while() {
        let values = [("t", "81"), ("t", "82"), ("t", "69"), ("t", "85")];
        for (fires, expected) in [
            (Fires::BecomesTrue, &["t=81", "t=85"][..]),
            (Fires::BecomesFalse, &["t=69"]),
            (Fires::Flips, &["t=81", "t=69", "t=85"]),
            (Fires::WhileTrue, &["t=81", "t=82", "t=85"]),
        ] {
            assert_eq!(sent(&mut hot(fires, &[], Sent::Change), &values), expected, "{fires:?}");
        }
    }

    #[test]
    fn trigger_tags_send_the_last_values_of_others() {
        let tags = Sent::Tags(vec!["t".into(), "order".into(), "unknown".into()]);
        let mut judge = hot(Fires::WhileTrue, &["batch"], tags);
        let values = [("order", "4711"), ("t", "90"), ("batch", "1"), ("t", "10"), ("batch", "2")];
        assert_eq!(sent(&mut judge, &values), ["t=90", "order=4711"]);
    }
}
