//! What a server keeps of a client that asked how long it has single messages.

use plumb_measure::Residence;
use plumb_wire::extension::{StampTerms, StampedMessage};

use crate::service::StampWish;

/// Which messages of a client are told of, and what is still to be said of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientStamps {
    terms: StampTerms,
    /// The number of the message that is being served, if it is one to tell of.
    serving: Option<u32>,
    /// The message behind those that are being served may be one to tell of.
    next: bool,
    /// The number of the message whose reply was marked last.
    marked: u32,
    due: Option<StampedMessage>,
}

impl ClientStamps {
    /// Of a client that asked for it under these terms.
    #[must_use]
    pub fn new(terms: StampTerms) -> Self {
        Self { terms, serving: None, next: true, marked: 0, due: None }
    }

    /// So many messages are being served at once, behind `earlier` ones. Those that share packets are
    /// not told of.
    pub fn serve(&mut self, earlier: u64, messages: u64) {
        #[expect(clippy::cast_possible_truncation, reason = "both sides count modulo 2^32")]
        let number = |earlier: u64| self.terms.number(earlier as u32);
        self.serving = number(earlier).filter(|_| messages == 1);
        self.next = number(earlier.wrapping_add(messages)).is_some();
        self.marked = self.serving.unwrap_or(self.marked);
    }

    /// What the kernel is to stamp.
    #[must_use]
    pub fn wish(&self) -> StampWish {
        match self.serving {
            Some(_) => StampWish::Mark,
            None if self.next => StampWish::Watch,
            None => StampWish::Ready,
        }
    }

    /// The marked reply has left.
    pub fn left(&mut self, residence: Residence) {
        let Residence { waking_ns, work_ns, sending_ns } = residence;
        let number = self.marked;
        self.due = Some(StampedMessage { number, waking_ns, work_ns, sending_ns });
    }

    /// True when something is to be told behind the next reply.
    #[must_use]
    pub fn has_due(&self) -> bool {
        self.due.is_some()
    }

    /// What is to be told, once.
    pub fn take_due(&mut self) -> Option<StampedMessage> {
        self.due.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_told_of_behind_a_later_reply_and_only_once() {
        use StampWish::{Mark, Ready, Watch};
        let mut stamps = ClientStamps::new(StampTerms { every: 2, skip: 1 });
        let wishes: Vec<StampWish> = (0..4)
            .map(|earlier| {
                stamps.serve(earlier, 1);
                stamps.wish()
            })
            .collect();
        assert_eq!(wishes, [Ready, Watch, Mark, Watch]);
        stamps.left(Residence { waking_ns: 12, work_ns: 3, sending_ns: 4 });
        let told = StampedMessage { number: 2, waking_ns: 12, work_ns: 3, sending_ns: 4 };
        assert_eq!(stamps.take_due(), Some(told));
        assert_eq!(stamps.take_due(), None);
    }

    #[test]
    fn messages_that_came_together_are_not_told_of() {
        let mut stamps = ClientStamps::new(StampTerms { every: 1, skip: 0 });
        stamps.serve(0, 2);
        assert_eq!(stamps.wish(), StampWish::Watch);
    }
}
