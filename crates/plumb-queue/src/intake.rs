//! How callers reach the one thread that writes.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use tokio::sync::oneshot;

use super::inbox::{Accept, Change, Counted, Group, Inbox};
use super::{Accepted, Filter, Message, QueueError, Settled};

/// What waits for the writer, and how the writer learns of it.
#[derive(Debug)]
pub(super) struct Intake {
    pub(super) inbox: Mutex<Inbox>,
    /// There is something to be written.
    work: Condvar,
    /// What is said to whoever waits for an answer when the writer is gone.
    lost: &'static str,
}

impl Intake {
    /// Begins with `inbox`. Whoever waits for a writer that is gone is told that it is `lost`.
    pub(super) fn new(inbox: Inbox, lost: &'static str) -> Self {
        Self { inbox: Mutex::new(inbox), work: Condvar::new(), lost }
    }

    /// Hands a message in; the receiver learns what became of it.
    pub(super) fn accept(
        &self,
        message: Message,
    ) -> oneshot::Receiver<Result<Accepted, QueueError>> {
        let (answer, receiver) = oneshot::channel();
        lock(&self.inbox).accept(Accept { message, answer });
        self.work.notify_one();
        receiver
    }

    /// Hands changes in.
    pub(super) fn change(
        &self,
        changes: impl IntoIterator<Item = Change>,
    ) -> Result<(), QueueError> {
        lock(&self.inbox).change(changes)?;
        self.work.notify_one();
        Ok(())
    }

    /// Hands in an execution that did not come through the queue, if it is to be kept.
    pub(super) fn note(&self, message: Message, settled: Settled) -> Result<(), QueueError> {
        if settled.kept.is_some() {
            lock(&self.inbox).note(message, settled)?;
            self.work.notify_one();
        }
        Ok(())
    }

    /// Has failed executions done again; how many.
    pub(super) fn retry(&self, filter: &Filter) -> Result<u64, QueueError> {
        self.ask(|reply| Change::Retry(filter.clone(), reply))
    }

    /// Has executions forgotten; how many.
    pub(super) fn forget(&self, filter: &Filter) -> Result<u64, QueueError> {
        self.ask(|reply| Change::Forget(filter.clone(), reply))
    }

    /// Has the writer do something, and waits for how many it was about.
    fn ask(&self, question: impl FnOnce(Counted) -> Change) -> Result<u64, QueueError> {
        let (reply, answer) = mpsc::channel();
        self.change([question(reply)])?;
        answer.recv().unwrap_or_else(|_| Err(QueueError::Store(self.lost.into())))
    }

    /// What is to be written next, waited for as long as `patience`; and whether more may come.
    pub(super) fn next_group(&self, patience: Duration) -> (Group, bool) {
        let inbox = lock(&self.inbox);
        let waits = |inbox: &mut Inbox| inbox.is_empty() && !inbox.has_ended();
        let waited = self.work.wait_timeout_while(inbox, patience, waits);
        let (mut inbox, _) = waited.unwrap_or_else(PoisonError::into_inner);
        (inbox.take(), !inbox.has_ended())
    }

    /// Takes nothing any more. Where the `writer_is_gone`, those that wait for it are told.
    pub(super) fn end(&self, why: QueueError, writer_is_gone: bool) {
        let mut inbox = lock(&self.inbox);
        inbox.end(why);
        while writer_is_gone && !inbox.is_empty() {
            for accept in inbox.take().accepts {
                let _ = accept.answer.send(Err(QueueError::Store(self.lost.into())));
            }
        }
        drop(inbox);
        self.work.notify_all();
    }
}

/// A lock is never held where something may panic but for a bug, after which what it holds is as
/// good as before.
pub(super) fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
