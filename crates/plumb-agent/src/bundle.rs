//! Bundling: changes gather until they are one message.

use std::time::Duration;

use crate::change::{Change, Position};
use crate::form::Form;

/// When a message is complete: as soon as one of these is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BundleLimits {
    /// Changes in it, at least 1.
    pub count: u32,
    /// Bytes of them.
    pub bytes: usize,
    /// Since its first change came; nanoseconds.
    pub time_ns: u64,
}

/// A message that is complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bundle {
    /// The number of its first change.
    pub(crate) first: u64,
    /// Its changes.
    pub(crate) changes: u32,
    /// Its document.
    pub(crate) body: Vec<u8>,
    /// Where the source goes on behind it.
    pub(crate) after: Position,
}

/// The message that grows.
#[derive(Debug)]
pub(crate) struct Bundler {
    agent: String,
    form: Form,
    limits: BundleLimits,
    /// Of the next change.
    sequence: u64,
    first: u64,
    changes: Vec<u8>,
    begun_ns: u64,
    after: Position,
}

impl Bundler {
    /// An empty one, whose first change will have the number `sequence`.
    pub(crate) fn new(agent: &str, form: Form, limits: BundleLimits, sequence: u64) -> Self {
        Self {
            agent: agent.into(),
            form,
            limits,
            sequence,
            first: sequence,
            changes: Vec::new(),
            begun_ns: 0,
            after: Position::default(),
        }
    }

    /// Takes changes that belong together, which are never parted, and the message that they
    /// complete.
    pub(crate) fn take(&mut self, changes: &[Change], now_ns: u64) -> Option<Bundle> {
        if self.is_empty() {
            self.begun_ns = now_ns;
        }
        for change in changes {
            self.form.append(&mut self.changes, self.sequence, change);
            self.sequence += 1;
            self.after = change.after;
        }
        let count = self.sequence - self.first;
        let full = count >= u64::from(self.limits.count) || self.changes.len() >= self.limits.bytes;
        if full { self.finish() } else { None }
    }

    /// Passes over what leads to nothing, up to `after`: the source goes on behind it, too.
    pub(crate) fn skip(&mut self, after: Position) {
        self.after = after;
    }

    /// The message as it is; `None` without a change.
    pub(crate) fn finish(&mut self) -> Option<Bundle> {
        if self.is_empty() {
            return None;
        }
        let (first, last) = (self.first, self.sequence - 1);
        let body = self.form.message(&self.agent, (first, last), &self.changes);
        self.changes.clear();
        self.first = self.sequence;
        let changes = u32::try_from(last - first + 1).unwrap_or(u32::MAX);
        Some(Bundle { first, changes, body, after: self.after })
    }

    /// How long the message may still grow; `None` without a change.
    pub(crate) fn time_left(&self, now_ns: u64) -> Option<Duration> {
        let left_ns = (self.begun_ns + self.limits.time_ns).saturating_sub(now_ns);
        (!self.is_empty()).then(|| Duration::from_nanos(left_ns))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sequence == self.first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::{Quality, TagValue};

    fn change(at: u64) -> Change {
        let after = Position { at, part: 0, within: 0 };
        Change {
            tag: "t".into(),
            value: TagValue::Number(1.0),
            time_ms: 0,
            quality: Quality::Good,
            after,
        }
    }

    #[test]
    fn a_message_is_complete_by_count_size_or_time() {
        let limits = BundleLimits { count: 3, bytes: 1 << 20, time_ns: 100 };
        let mut bundler = Bundler::new("a", Form::Json, limits, 10);
        assert!(bundler.take(&[change(1)], 0).is_none() && bundler.take(&[change(2)], 0).is_none());
        let full = bundler.take(&[change(3)], 0).unwrap();
        assert_eq!((full.first, full.changes, full.after.at), (10, 3, 3));
        assert!(bundler.is_empty() && bundler.time_left(0).is_none());

        bundler.take(&[change(4)], 50);
        assert_eq!(bundler.time_left(60), Some(Duration::from_nanos(90)));
        assert_eq!(bundler.time_left(200), Some(Duration::ZERO));
        let late = bundler.finish().unwrap();
        assert_eq!((late.first, late.changes), (13, 1));

        let limits = BundleLimits { bytes: 1, ..limits };
        let mut bundler = Bundler::new("a", Form::Xml, limits, 1);
        assert_eq!(bundler.take(&[change(1)], 0).unwrap().changes, 1);
    }
}
