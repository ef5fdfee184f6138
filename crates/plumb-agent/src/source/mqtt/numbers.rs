//! Numbers of messages: which of them came twice, and how many never came.

use std::collections::{BTreeSet, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::UNACKNOWLEDGED;
use super::connection::Arrival;

/// Messages that are known again when they come a second time: more than a broker sends again.
const RECENT: usize = 4 * UNACKNOWLEDGED as usize;

/// Where the numbers of messages stand.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    /// The last one; 0 when there is none.
    last: u64,
    /// The last of the messages: their numbers, and a digest of what they say.
    recent: VecDeque<(u64, u64)>,
    /// Numbers above the last one of messages that the broker had retained: no others are missing
    /// before them, since the broker retains one message of each topic.
    ahead: BTreeSet<u64>,
}

/// What the number of a message says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Numbered {
    /// The message is new, and so many before it never came.
    New { missing: u64 },
    /// It is the first of a counter that begins anew behind this number.
    Anew { behind: u64 },
    /// The message was there, and so many before it never came.
    Again { missing: u64 },
}

impl Numbers {
    /// Those that go on behind `last`.
    pub(super) fn behind(last: u64) -> Self {
        Self { last, ..Self::default() }
    }

    /// The last number; 0 when there is none.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Takes the number of a message. One comes a second time when the broker says so, or one of the
    /// last had the same number and said the same: another message with a number that was there is a
    /// new one. Of messages that the broker retained those up to the last number came before, or
    /// are counted as missing.
    pub(super) fn take(&mut self, number: u64, arrival: &Arrival) -> Numbered {
        let mut said = DefaultHasher::new();
        (&arrival.topic, &arrival.payload).hash(&mut said);
        let this = (number, said.finish());
        let is_known = self.recent.contains(&this);
        let is_above = number > self.last;
        if !is_above && (arrival.again || arrival.retained || is_known) {
            return Numbered::Again { missing: 0 };
        }
        let was_ahead = is_known && self.ahead.contains(&number);
        if !was_ahead {
            self.remember(this);
        }
        if arrival.retained {
            self.ahead.insert(number);
            return if was_ahead {
                Numbered::Again { missing: 0 }
            } else {
                Numbered::New { missing: 0 }
            };
        }
        let behind = std::mem::replace(&mut self.last, number);
        if !is_above {
            self.ahead.clear();
            return Numbered::Anew { behind };
        }
        let later = self.ahead.split_off(&(number.saturating_add(1)));
        let mut before = std::mem::replace(&mut self.ahead, later);
        before.remove(&number);
        // before the first one nothing is missing that we should have had
        let missing = if behind == 0 { 0 } else { number - behind - 1 - before.len() as u64 };
        if was_ahead { Numbered::Again { missing } } else { Numbered::New { missing } }
    }

    fn remember(&mut self, this: (u64, u64)) {
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(this);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrival(topic: &str, retained: bool) -> Arrival {
        Arrival { topic: topic.into(), payload: "1".into(), again: false, retained }
    }

    #[test]
    fn retained_messages_are_new_once_and_tell_no_gap() {
        let new = |missing| Numbered::New { missing };
        let again = |missing| Numbered::Again { missing };
        let mut numbers = Numbers::default();
        let mut take =
            |number, topic: &str, retained| numbers.take(number, &arrival(topic, retained));
        // what stood there before anything was heard of comes in any order
        assert_eq!([take(50_000, "press", true), take(12, "config", true)], [new(0); 2]);
        assert_eq!(take(50_001, "press", false), new(0));
        // subscribed again, behind whatever was heard
        assert_eq!([take(50_001, "press", true), take(12, "config", true)], [again(0); 2]);
        assert_eq!(take(50_004, "press", false), new(2));
        // the session is gone: what is retained is no loss, what lies between is
        assert_eq!([take(50_010, "press", true), take(50_007, "oven", true)], [new(0); 2]);
        assert_eq!([take(50_010, "press", true), take(50_007, "oven", true)], [again(0); 2]);
        assert_eq!(take(50_011, "press", false), new(4));
        // one that comes once more as it was sent counts what is missing before it
        assert_eq!(take(50_015, "press", true), new(0));
        assert_eq!(take(50_013, "oven", false), new(1));
        assert_eq!(take(50_015, "press", false), again(1));
        assert_eq!(take(1, "press", false), Numbered::Anew { behind: 50_015 });
    }

    #[test]
    fn behind_a_restart_retained_messages_up_to_the_last_number_were_there() {
        let mut numbers = Numbers::behind(1_000);
        for (number, expected) in [
            (980, Numbered::Again { missing: 0 }),
            (1_000, Numbered::Again { missing: 0 }),
            (1_002, Numbered::New { missing: 0 }),
        ] {
            assert_eq!(numbers.take(number, &arrival("press", true)), expected, "{number}");
        }
        assert_eq!(numbers.take(1_003, &arrival("press", false)), Numbered::New { missing: 1 });
        assert_eq!(numbers.last(), 1_003);
    }
}
