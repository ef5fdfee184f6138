//! What waits for the writer, and the bounds of the queue.

use std::collections::VecDeque;
use std::sync::mpsc;

use tokio::sync::oneshot;

use super::note_room::{NoteRoom, noted_bytes};
use super::{Accepted, Ending, Filter, Kept, Message, QueueError, QueueLimits, Settled};

/// A group takes at most so many messages, or bytes; at least one message.
const GROUP_MESSAGES: usize = 256;
const GROUP_BYTES: u64 = 1 << 20;
/// And so many changes, with so many bytes of what they keep; at least one.
const GROUP_CHANGES: usize = 1_024;
/// Bytes of messages that may wait for the writer: a disk that stands still fills no memory.
const UNFLUSHED_MAX: u64 = 64 << 20;

/// A message to be accepted, and who waits for that.
#[derive(Debug)]
pub(super) struct Accept {
    pub(super) message: Message,
    pub(super) answer: oneshot::Sender<Result<Accepted, QueueError>>,
}

/// Who waits for how many executions something was about.
pub(super) type Counted = mpsc::Sender<Result<u64, QueueError>>;

/// What else is to be written down.
#[derive(Debug)]
pub(super) enum Change {
    /// How an attempt ended.
    Settle(Outcome),
    /// An execution that did not come through the queue.
    Note(Message, Settled),
    /// Failed executions are to be done again; how many.
    Retry(Filter, Counted),
    /// Executions are to be forgotten; how many.
    Forget(Filter, Counted),
    /// The clock was set back: retries are due from its new time on.
    Rebase,
}

/// How the attempt of a message that was given out ended.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) id: u64,
    /// The number of its transaction.
    pub(super) lane: i64,
    /// Before this attempt.
    pub(super) failures: u32,
    pub(super) bytes: u64,
    pub(super) ending: Ending,
    pub(super) kept: Option<Kept>,
}

impl Change {
    /// Bytes of documents and traces that it writes.
    pub(super) fn written_bytes(&self) -> u64 {
        match self {
            Self::Note(message, settled) => noted_bytes(message, settled),
            Self::Settle(outcome) => outcome.written_bytes(),
            Self::Retry(..) | Self::Forget(..) | Self::Rebase => 0,
        }
    }
}

impl Outcome {
    /// How an attempt of a message of this `lane` ended, which had so many `failures` before it.
    pub(super) fn of(settled: Settled, lane: i64, failures: u32, bytes: u64) -> Self {
        let Settled { id, ending, kept } = settled;
        Self { id: id.0, lane, failures, bytes, ending, kept }
    }

    /// Bytes of the document and the trace, where they are kept.
    fn written_bytes(&self) -> u64 {
        let trace = self.kept.as_ref().map_or(0, |kept| kept.trace.len() as u64);
        let is_kept = self.kept.is_some() || matches!(self.ending, Ending::Dead { .. });
        trace + if is_kept { self.bytes } else { 0 }
    }
}

/// What is written in one transaction.
#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) accepts: Vec<Accept>,
    pub(super) changes: Vec<Change>,
}

impl Group {
    /// Messages to be accepted, and their bytes.
    pub(super) fn size(&self) -> (u64, u64) {
        let bytes = self.accepts.iter().map(|accept| accept.message.body.len() as u64).sum();
        (self.accepts.len() as u64, bytes)
    }

    /// The second part of a group, which is written behind what is left in it: the changes behind the
    /// accepts, or half of either; `None` of one thing alone.
    pub(super) fn split(&mut self) -> Option<Self> {
        let (accepts, changes) = (self.accepts.len(), self.changes.len());
        match (accepts, changes) {
            (0 | 1, 0) | (0, 1) => None,
            (_, 0) => {
                Some(Self { accepts: self.accepts.split_off(accepts / 2), changes: Vec::new() })
            }
            (0, _) => {
                Some(Self { accepts: Vec::new(), changes: self.changes.split_off(changes / 2) })
            }
            _ => Some(Self { accepts: Vec::new(), changes: std::mem::take(&mut self.changes) }),
        }
    }
}

/// What waits for the writer.
#[derive(Debug)]
pub(super) struct Inbox {
    accepts: VecDeque<Accept>,
    changes: VecDeque<Change>,
    unflushed_bytes: u64,
    notes: NoteRoom,
    limits: QueueLimits,
    /// Messages that wait or run, those that are not flushed yet among them.
    waiting: u64,
    waiting_bytes: u64,
    /// Why nothing is taken any more.
    ended: Option<QueueError>,
}

impl Inbox {
    pub(super) fn new(limits: QueueLimits, waiting: u64, waiting_bytes: u64) -> Self {
        Self {
            accepts: VecDeque::new(),
            changes: VecDeque::new(),
            unflushed_bytes: 0,
            notes: NoteRoom::default(),
            limits,
            waiting,
            waiting_bytes,
            ended: None,
        }
    }

    /// Takes `accept`, or answers it with the reason why not.
    pub(super) fn accept(&mut self, accept: Accept) {
        let bytes = accept.message.body.len() as u64;
        if let Err(error) = self.admit(bytes) {
            let _ = accept.answer.send(Err(error)); // whoever asked may be gone
            return;
        }
        self.entered(1, bytes);
        self.unflushed_bytes += bytes;
        self.accepts.push_back(accept);
    }

    fn admit(&self, bytes: u64) -> Result<(), QueueError> {
        if let Some(ended) = &self.ended {
            return Err(ended.clone());
        }
        let full = self.waiting >= self.limits.messages
            || self.waiting_bytes.saturating_add(bytes) > self.limits.bytes
            || (self.unflushed_bytes > 0 && self.unflushed_bytes + bytes > UNFLUSHED_MAX);
        if full {
            return Err(self.full(0));
        }
        Ok(())
    }

    /// Takes `changes`.
    pub(super) fn change(
        &mut self,
        changes: impl IntoIterator<Item = Change>,
    ) -> Result<(), QueueError> {
        match &self.ended {
            Some(ended) => Err(ended.clone()),
            None => {
                self.changes.extend(changes);
                Ok(())
            }
        }
    }

    /// Takes an execution that is to be noted, where there is room for it.
    pub(super) fn note(&mut self, message: Message, settled: Settled) -> Result<(), QueueError> {
        if self.ended.is_none() && !self.notes.enter(noted_bytes(&message, &settled)) {
            return Ok(());
        }
        self.change([Change::Note(message, settled)])
    }

    /// Executions that were not noted for want of room.
    pub(super) fn notes_left_out(&self) -> u64 {
        self.notes.left_out()
    }

    /// What is written next, of what waits; empty when nothing does.
    pub(super) fn take(&mut self) -> Group {
        let mut group = Group::default();
        let mut bytes = 0;
        while let Some(accept) = self.accepts.front() {
            let more = accept.message.body.len() as u64;
            let first = group.accepts.is_empty();
            if !first && (group.accepts.len() == GROUP_MESSAGES || bytes + more > GROUP_BYTES) {
                break;
            }
            bytes += more;
            group.accepts.extend(self.accepts.pop_front());
        }
        self.unflushed_bytes -= bytes;
        self.take_changes(&mut group.changes);
        group
    }

    fn take_changes(&mut self, into: &mut Vec<Change>) {
        let mut written = 0;
        while into.len() < GROUP_CHANGES
            && written < GROUP_BYTES
            && let Some(change) = self.changes.pop_front()
        {
            let bytes = change.written_bytes();
            if matches!(change, Change::Note(..)) {
                self.notes.leave(bytes);
            }
            written += bytes;
            into.push(change);
        }
    }

    /// So many messages are there now that did not come through [`accept`](Self::accept).
    pub(super) fn entered(&mut self, messages: u64, bytes: u64) {
        self.waiting += messages;
        self.waiting_bytes += bytes;
    }

    /// So many messages are gone: done, dead, forgotten, refused or known already.
    pub(super) fn left(&mut self, messages: u64, bytes: u64) {
        // a store that several runtimes share may have been counted anew in between
        self.waiting = self.waiting.saturating_sub(messages);
        self.waiting_bytes = self.waiting_bytes.saturating_sub(bytes);
    }

    /// So many are in the store, by whoever had them accepted.
    pub(super) fn recounted(&mut self, messages: u64, bytes: u64) {
        self.waiting = messages + self.accepts.len() as u64;
        self.waiting_bytes = bytes + self.unflushed_bytes;
    }

    /// Takes nothing any more.
    pub(super) fn end(&mut self, why: QueueError) {
        self.ended.get_or_insert(why);
    }

    /// True when nothing more comes.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.accepts.is_empty() && self.changes.is_empty()
    }

    /// Messages that wait or run, and their bytes.
    pub(super) fn waiting(&self) -> (u64, u64) {
        (self.waiting, self.waiting_bytes)
    }

    /// Why no more may wait, behind so many that were `retried`.
    pub(super) fn full(&self, retried: u64) -> QueueError {
        QueueError::full(self.waiting(), retried)
    }

    /// Messages for which there is room.
    pub(super) fn room(&self) -> u64 {
        self.limits.messages.saturating_sub(self.waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::super::ExecutionId;
    use super::*;

    fn message(bytes: usize) -> Message {
        Message {
            transaction: "t".into(),
            parameters: Vec::new(),
            media_type: "application/xml".into(),
            body: vec![b'x'; bytes].into(),
            order_key: None,
            idempotency_key: None,
        }
    }

    fn accept(inbox: &mut Inbox, bytes: usize) -> Result<(), QueueError> {
        let (answer, mut answered) = oneshot::channel();
        inbox.accept(Accept { message: message(bytes), answer });
        answered
            .try_recv()
            .unwrap_or(Ok(Accepted { id: ExecutionId(0), repeated: false }))
            .map(|_| ())
    }

    #[test]
    fn it_is_full_at_its_messages_and_at_its_bytes() {
        let limits = QueueLimits { messages: 3, bytes: 100, ..QueueLimits::default() };
        let mut inbox = Inbox::new(limits, 0, 0);
        accept(&mut inbox, 60).unwrap();
        let full = QueueError::Full { waiting: 1, bytes: 60 };
        assert_eq!(accept(&mut inbox, 41), Err(full));
        accept(&mut inbox, 40).unwrap();
        accept(&mut inbox, 0).unwrap();
        assert_eq!(accept(&mut inbox, 0), Err(QueueError::Full { waiting: 3, bytes: 100 }));
        inbox.left(1, 60);
        accept(&mut inbox, 60).unwrap();
        inbox.end(QueueError::Closed);
        assert_eq!(accept(&mut inbox, 0), Err(QueueError::Closed));
    }

    #[test]
    fn executions_to_be_noted_have_room_of_their_own_and_groups_are_bounded_by_them() {
        let note = |inbox: &mut Inbox, bytes| {
            let kept =
                Some(Kept { trace: String::new(), retention: plumb_measure::Span::from_ms(1) });
            let settled = Settled { id: ExecutionId(1), ending: Ending::Done, kept };
            inbox.note(message(bytes), settled)
        };
        let mut inbox = Inbox::new(QueueLimits::default(), 0, 0);
        (0..100).for_each(|_| note(&mut inbox, 1 << 20).unwrap());
        assert_eq!(inbox.notes_left_out(), 36);
        inbox.change([Change::Rebase, Change::Rebase]).unwrap();
        accept(&mut inbox, 60).unwrap();
        let first = inbox.take();
        assert_eq!((first.accepts.len(), first.changes.len()), (1, 1));
        note(&mut inbox, 1 << 20).unwrap();
        assert_eq!(inbox.notes_left_out(), 36, "there is room again");
        for _ in 1..64 {
            inbox.take();
        }
        assert_eq!((inbox.take().changes.len(), inbox.is_empty()), (3, true));
        inbox.end(QueueError::Closed);
        assert_eq!(note(&mut inbox, 1), Err(QueueError::Closed));
    }

    #[test]
    fn a_group_is_bounded_in_messages_and_bytes_and_takes_one_at_least() {
        let mut inbox = Inbox::new(QueueLimits::default(), 0, 0);
        for bytes in [2 << 20, 1 << 19, 1 << 19, 1] {
            accept(&mut inbox, bytes).unwrap();
        }
        let groups: Vec<usize> = (0..4).map(|_| inbox.take().accepts.len()).collect();
        assert_eq!(groups, [1, 2, 1, 0]);
        (0..300).for_each(|_| accept(&mut inbox, 1).unwrap());
        assert_eq!(inbox.take().accepts.len(), 256);
        assert_eq!((inbox.take().accepts.len(), inbox.is_empty()), (44, true));
    }
}
