//! Replies that leave together.
//!
//! Where many clients are ready at once, some are read and served one behind the other, and then their
//! replies are sent one behind the other. Serving and sending are long ways through code: whoever takes
//! turns finds neither in the cache of the processor. Of those that are ready a quarter is answered
//! together at most: clients are to have something to do while the rest is served.

use plumb_link::Link;
use plumb_socket::Time;

use super::Serve;
use crate::service::{Ended, Service};

/// So many replies leave together at most: the first of them waits while the others are made.
const TOGETHER_MAX: usize = 32;
/// Fewer are not worth it.
const TOGETHER_MIN: usize = 4;
/// Bytes of a reply that waits for others. Copying a longer one costs more than is gained.
const REPLY_MAX: usize = 1 << 10;

/// Replies that are about to be sent.
#[derive(Debug, Default)]
pub(super) struct Replies {
    /// So many leave together; zero while each leaves by itself.
    together: usize,
    bytes: Vec<u8>,
    /// Whose each is, and where in the bytes it ends.
    ends: Vec<(usize, usize)>,
}

impl Replies {
    /// So many clients are ready.
    pub(super) fn gather(&mut self, ready: usize) {
        let part = (ready / 4).min(TOGETHER_MAX);
        self.together = if part < TOGETHER_MIN { 0 } else { part };
    }

    /// Whether so many bytes that go back as they came are copied into the reply, to leave together with
    /// others. Not where they would have to stand before what was just `appended`.
    #[inline]
    pub(super) fn may_take(&self, echo: usize, appended: usize) -> bool {
        self.together > 0 && echo <= REPLY_MAX && appended == 0
    }

    /// Keeps a reply; true when it is time to send all of them.
    pub(super) fn push(&mut self, index: usize, reply: &[u8]) -> bool {
        self.bytes.extend_from_slice(reply);
        self.ends.push((index, self.bytes.len()));
        self.ends.len() >= self.together
    }
}

impl<S: Service, L: Link, T: Time> Serve<'_, S, L, T> {
    /// Whether the reply that was just made waits for those of others: a short one, to a client that is
    /// owed nothing else.
    pub(super) fn leaves_together(&self, index: usize) -> bool {
        let client = self.slots[index].client.as_ref();
        self.replies.together > 0
            && (1..=REPLY_MAX).contains(&self.reply.len())
            && client.is_some_and(|client| client.owes_nothing::<S>() && !client.waiting)
    }

    /// Sends what waits to be sent together. Called before anything else is sent to a client, and before
    /// one is closed or handed over.
    pub(super) fn send_gathered(&mut self) {
        if self.replies.ends.is_empty() {
            return;
        }
        let mut replies = std::mem::take(&mut self.replies);
        let mut start = 0;
        for (index, end) in replies.ends.drain(..) {
            let reply = &replies.bytes[start..end];
            start = end;
            let Some(client) = self.slots[index].client.as_mut() else { continue };
            match client.channel.send(reply) {
                Err(_) => self.close(index, Ended::Broken),
                Ok(_) if client.channel.holds_nothing() => {}
                Ok(_) => {
                    self.owe(index);
                    self.weigh(index);
                }
            }
        }
        replies.bytes.clear();
        self.replies = replies;
    }
}
