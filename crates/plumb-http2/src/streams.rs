//! The streams under way on one connection.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::settings::Allowed;

/// Bytes that the server may send on a stream, or on the connection, before more are granted: as many
/// as other clients of this kind grant. What comes is not kept, so that nothing is gained by less.
pub(crate) const GRANTED: u32 = 1 << 30;
/// Streams that were given up, and on which something may still come: so many are remembered one by
/// one.
const CANCELLED_MAX: usize = 256;

/// One stream.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    /// Zero: none.
    pub(crate) id: u32,
    /// As [`Client::begin`](crate::Client::begin) was told.
    pub(crate) label: u16,
    pub(crate) without_content: bool,
    /// The head of the answer has come.
    pub(crate) headed: bool,
    /// Bytes of content that the head announced.
    pub(crate) length: Option<u64>,
    /// Bytes of content that came.
    pub(crate) content: u64,
    /// Bytes that the server may send.
    pub(crate) granted: u32,
    /// Bytes that we may send.
    pub(crate) window: i64,
    /// What is to be sent, from that byte on.
    pub(crate) body: Option<(Arc<[u8]>, usize)>,
    /// How often the connection had been read when it began.
    pub(crate) began_at: u64,
}

/// Those of a connection, each in a slot that another one takes when it is over.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    slots: Vec<Stream>,
    /// The numbers of the streams in the slots; close together, because each frame looks here.
    ids: Vec<u32>,
    /// The one that is free the longest is taken first, so that streams stand in the order of their
    /// numbers as long as answers come in it.
    free: VecDeque<u16>,
    /// Where the last frame belonged.
    last: usize,
    cancelled: VecDeque<u32>,
    /// The highest of those that were cancelled and are not remembered one by one; zero: none.
    forgotten: u32,
}

impl Streams {
    /// Puts a stream into a slot.
    pub(crate) fn open(&mut self, stream: Stream) -> u16 {
        let slot = match self.free.pop_front() {
            Some(slot) => slot,
            None => {
                self.slots.push(Stream::default());
                self.ids.push(0);
                u16::try_from(self.slots.len() - 1).unwrap_or(u16::MAX)
            }
        };
        self.ids[usize::from(slot)] = stream.id;
        self.slots[usize::from(slot)] = stream;
        slot
    }

    /// A slot is free, or may be added.
    pub(crate) fn have_room(&self) -> bool {
        self.under_way() < usize::from(u16::MAX)
    }

    /// As many as are under way.
    pub(crate) fn under_way(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Where the stream `id` is; the connection itself (0) is none.
    #[inline]
    pub(crate) fn find(&mut self, id: u32) -> Option<u16> {
        if id == 0 {
            return None;
        }
        let next = if self.last + 1 < self.ids.len() { self.last + 1 } else { 0 };
        if self.ids.get(self.last) != Some(&id) {
            // answers come in the order of their requests, as a rule
            self.last = match self.ids.get(next) == Some(&id) {
                true => next,
                false => self.ids.iter().position(|its| *its == id)?,
            };
        }
        u16::try_from(self.last).ok()
    }

    pub(crate) fn get(&mut self, slot: u16) -> Option<&mut Stream> {
        self.slots.get_mut(usize::from(slot)).filter(|stream| stream.id != 0)
    }

    /// Ends a stream.
    #[inline]
    pub(crate) fn close(&mut self, slot: u16) -> Option<Stream> {
        let stream = std::mem::take(self.get(slot)?);
        self.ids[usize::from(slot)] = 0;
        self.free.push_back(slot);
        Some(stream)
    }

    /// Ends a stream of which the server does not know yet.
    pub(crate) fn cancel(&mut self, slot: u16) -> Option<u32> {
        let id = self.close(slot)?.id;
        if self.cancelled.len() == CANCELLED_MAX
            && let Some(oldest) = self.cancelled.pop_front()
        {
            self.forgotten = self.forgotten.max(oldest);
        }
        self.cancelled.push_back(id);
        Some(id)
    }

    /// True when something may still come on `id`, which is over. Of those below one that is not
    /// remembered any more nobody knows: to blame the server for what it sent before it was told would
    /// end a sound connection.
    pub(crate) fn was_cancelled(&self, id: u32) -> bool {
        id <= self.forgotten || self.cancelled.contains(&id)
    }

    /// The first stream above `last`.
    pub(crate) fn above(&self, last: u32) -> Option<u16> {
        let found = self.ids.iter().position(|id| *id > last);
        found.and_then(|slot| u16::try_from(slot).ok())
    }

    /// Adds `by` to what may be sent on each; false when that is beyond all bounds.
    pub(crate) fn widen(&mut self, by: i64) -> bool {
        let under_way = self.slots.iter_mut().filter(|stream| stream.id != 0);
        let mut widened = under_way.map(|stream| {
            stream.window += by;
            stream.window <= crate::settings::WINDOW_MAX
        });
        widened.all(|sound| sound)
    }
}

impl Stream {
    /// A stream that nothing has been heard of.
    pub(crate) fn new(id: u32, label: u16, allowed: &Allowed) -> Self {
        let window = i64::from(allowed.window);
        Self { id, label, granted: GRANTED, window, ..Self::default() }
    }

    /// What the head announced has not come, or more.
    pub(crate) fn differs(&self) -> bool {
        let demanded = if self.without_content { Some(0) } else { self.length };
        demanded.is_some_and(|length| length != self.content)
    }

    /// More content has come than the head announced.
    pub(crate) fn overflows(&self) -> bool {
        let most = if self.without_content { Some(0) } else { self.length };
        most.is_some_and(|length| length < self.content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(id: u32) -> Stream {
        Stream::new(id, 0, &Allowed::default())
    }

    #[test]
    fn slots_are_taken_again_and_streams_found_by_their_number() {
        let mut streams = Streams::default();
        let slots: Vec<u16> = [1, 3, 5].map(|id| streams.open(stream(id))).into();
        assert_eq!(slots, [0, 1, 2]);
        assert_eq!(streams.find(5), Some(2));
        assert_eq!(streams.close(1).map(|stream| stream.id), Some(3));
        assert_eq!((streams.find(3), streams.under_way()), (None, 2));
        assert_eq!(streams.open(stream(7)), 1);
        assert_eq!((streams.find(1), streams.find(7)), (Some(0), Some(1)));
        assert_eq!(streams.above(5), Some(1));
        assert!(streams.close(1).is_some() && streams.close(1).is_none());
    }

    #[test]
    fn what_comes_on_a_stream_that_was_given_up_is_no_fault_however_many_were() {
        let mut streams = Streams::default();
        let answered = streams.open(stream(2_001));
        streams.close(answered);
        assert!(!streams.was_cancelled(2_001));
        for id in (1..).step_by(2).take(CANCELLED_MAX + 1) {
            let slot = streams.open(stream(id));
            assert_eq!(streams.cancel(slot), Some(id));
        }
        assert!(streams.was_cancelled(1) && streams.was_cancelled(3));
        assert!(!streams.was_cancelled(2_001), "it was answered");
    }
}
