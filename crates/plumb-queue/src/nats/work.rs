//! What is under way: pulled from the consumers, put by until it is due, given out, ended
//! ([`ending`]).

mod ending;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::AckKind;
use async_nats::jetstream::consumer::PullConsumer;
use async_nats::jetstream::message::Acker;
use futures_util::StreamExt as _;
use futures_util::future::try_join_all;
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::super::{Claimed, Execution, ExecutionId, Message, QueueClock, QueueError, QueueLimits};
use super::ANSWER;
use super::record::{Record, untoken};
use super::streams::{Found, Streams, store};

/// Messages of one transaction that a runtime has pulled and puts by, at most; beyond, the server is
/// given back those that have their turn last. Tests fill it.
const PUT_BY_MAX: usize = if cfg!(test) { 64 } else { 10_000 };
/// When it gives those out again, unless they are due later.
const GIVEN_BACK: Duration = Duration::from_secs(1);
/// Messages pulled at a time.
const PULL: usize = 256;

/// What this runtime has of the queue.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) streams: Streams,
    pub(super) clock: Arc<dyn QueueClock>,
    limits: QueueLimits,
    /// Locked while messages are pulled or end; it is asynchronous, and never held by a sender.
    inner: Mutex<Inner>,
    /// Transactions that have a consumer, for senders.
    known: std::sync::Mutex<HashSet<Arc<str>>>,
}

#[derive(Debug, Default)]
struct Inner {
    /// By transaction.
    consumers: BTreeMap<Arc<str>, PullConsumer>,
    /// Pulled, and not given out: by transaction and id.
    put_by: BTreeMap<Arc<str>, BTreeMap<u64, Pulled>>,
    /// Nothing is pulled until then, nanoseconds, of a transaction of which too much is put by.
    full_until_ns: HashMap<Arc<str>, u64>,
    /// Given out to workers.
    running: HashMap<u64, Pulled>,
    rests_until_ns: HashMap<String, u64>,
    wall_ms: u64,
    /// Connections to the server so far, when `known_to` was asked for.
    connects: u64,
    /// Up to this sequence a message may have been given out before, although the server says that
    /// it was not: one that was killed may have forgotten it.
    known_to: u64,
}

/// A message that is leased to this runtime.
#[derive(Clone)]
struct Pulled {
    acker: Arc<Acker>,
    sequence: u64,
    transaction: Arc<str>,
    /// Of those of its order key.
    subject: Option<String>,
    /// Of its idempotency key.
    key: Option<String>,
    failures: u32,
    accepted_ms: u64,
    due_ms: u64,
    after_ms: u64,
    /// Dropped when it is put by for longer: the server has it.
    message: Option<Message>,
}

impl std::fmt::Debug for Pulled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { sequence, transaction, failures, due_ms, .. } = self;
        write!(f, "{transaction} {sequence}, failed {failures}, due {due_ms}")
    }
}

impl Work {
    pub(super) fn new(streams: Streams, limits: QueueLimits, clock: Arc<dyn QueueClock>) -> Self {
        Self { streams, clock, limits, inner: Mutex::default(), known: Default::default() }
    }

    /// Has somebody give out the messages of `transaction`.
    pub(super) async fn know(&self, transaction: &Arc<str>) -> Result<(), QueueError> {
        if self.known().contains(transaction) {
            return Ok(());
        }
        let consumer = self.streams.consumer(transaction).await?;
        self.inner.lock().await.consumers.insert(Arc::clone(transaction), consumer);
        self.known().insert(Arc::clone(transaction));
        Ok(())
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashSet<Arc<str>>> {
        self.known.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Learns of the transactions of other runtimes.
    pub(super) async fn look_around(&self) -> Result<(), QueueError> {
        for name in self.streams.consumers().await? {
            if let Some(transaction) = untoken(&name) {
                self.know(&transaction.into()).await?;
            }
        }
        Ok(())
    }

    pub(super) async fn rest(&self, transaction: String, until_ns: u64) {
        self.inner.lock().await.rests_until_ns.insert(transaction, until_ns);
    }

    /// Ids of what is given out here.
    pub(super) async fn running(&self) -> Vec<u64> {
        self.inner.lock().await.running.keys().copied().collect()
    }

    /// What the next transaction in turn has to give out.
    pub(super) async fn take(&self, most: usize) -> Result<Vec<Claimed>, QueueError> {
        let mut inner = self.inner.lock().await;
        inner.rebase(self.clock.wall_ms());
        for (transaction, room) in inner.turns(self.clock.now_ns(), &self.limits) {
            let claimed = self.take_of(&mut inner, &transaction, most.min(room)).await?;
            if !claimed.is_empty() {
                return Ok(claimed);
            }
        }
        Ok(Vec::new())
    }

    async fn take_of(
        &self,
        inner: &mut Inner,
        transaction: &Arc<str>,
        most: usize,
    ) -> Result<Vec<Claimed>, QueueError> {
        let mut ready = self.ready(inner, transaction, most).await?;
        while ready.len() < most && self.pull(inner, transaction).await? {
            ready = self.ready(inner, transaction, most).await?;
        }
        let mut claimed = Vec::new();
        for id in ready {
            match self.give_out(inner, transaction, id).await {
                Ok(one) => claimed.extend(one),
                Err(error) if claimed.is_empty() => return Err(error),
                // those before it are given out, whatever became of this one
                Err(_) => break,
            }
        }
        let put_by = inner.put_by.get_mut(transaction).into_iter().flat_map(BTreeMap::values_mut);
        put_by.for_each(|pulled| pulled.message = None);
        Ok(claimed)
    }

    /// Ids of what is put by of `transaction`, and due, and the first of its order key.
    async fn ready(
        &self,
        inner: &Inner,
        transaction: &Arc<str>,
        most: usize,
    ) -> Result<Vec<u64>, QueueError> {
        let now_ms = self.clock.wall_ms();
        let (mut ready, mut firsts) = (Vec::new(), HashMap::new());
        for (id, pulled) in inner.put_by.get(transaction).into_iter().flatten() {
            if ready.len() == most {
                break;
            }
            if pulled.due_ms <= now_ms {
                if let Some(subject) = &pulled.subject
                    && !firsts.contains_key(subject)
                {
                    let first = Streams::first(&self.streams.waiting, subject).await?;
                    firsts.insert(subject, first.map_or(0, |first| first.sequence));
                }
                let first = pulled.subject.as_ref().and_then(|subject| firsts.get(subject));
                if first.is_none_or(|first| *first == pulled.sequence) {
                    ready.push(*id);
                }
            }
        }
        Ok(ready)
    }

    /// Pulls what the server has of `transaction`; false when that is nothing.
    async fn pull(&self, inner: &mut Inner, transaction: &Arc<str>) -> Result<bool, QueueError> {
        let connects = self.streams.connects();
        if inner.connects != connects {
            inner.known_to = self.streams.last_known().await?;
            inner.connects = connects;
        }
        let now_ns = self.clock.now_ns();
        if inner.full_until_ns.get(transaction).is_some_and(|until_ns| now_ns < *until_ns) {
            return Ok(false);
        }
        let Some(consumer) = inner.consumers.get(transaction) else { return Ok(false) };
        let mut batch = consumer.fetch().max_messages(PULL).messages().await.map_err(store)?;
        let mut any = false;
        // a server that was killed, or cut off, meanwhile has forgotten that it was asked
        while let Some(message) = timeout(ANSWER, batch.next()).await.map_err(store)? {
            let message = message.map_err(store)?;
            let info = message.info().map_err(store)?;
            let sequence = info.stream_sequence;
            let before = info.delivered > 1 || sequence <= inner.known_to;
            let (message, acker) = message.split();
            let Some(record) = Record::decode(&message.payload) else {
                acker.ack_with(AckKind::Term).await.map_err(store)?; // none of ours wrote it
                continue;
            };
            let found = Found { sequence, record };
            if let Some((id, pulled)) = self.pulled(found, before, acker).await? {
                any |= self.put_by(inner, id, pulled).await?;
            }
        }
        Ok(any)
    }

    /// A message as it came from the server, which may have given it out `before`; `None` when its
    /// end is known already.
    async fn pulled(
        &self,
        found: Found,
        before: bool,
        acker: Acker,
    ) -> Result<Option<(u64, Pulled)>, QueueError> {
        let Found { sequence, record } = found;
        let id = record.id.unwrap_or(sequence);
        let (mut failures, mut due_ms, mut after_ms) = (0, 0, 0);
        if before {
            // whoever had it may have written down how it ended, and not come further
            let dead = self.streams.subject_of("dead", id);
            let dead = Streams::first(&self.streams.dead, &dead).await?;
            if dead.is_some_and(|dead| dead.record.sequence == sequence) {
                let key = self.streams.subject_of_key(&record.message);
                self.acknowledge(&acker, sequence, id, key).await?;
                return Ok(None);
            }
            let retry = self.streams.subject_of("retry", id);
            let retry = Streams::first(&self.streams.retries, &retry).await?;
            if let Some(Found { record, .. }) = retry.filter(|it| it.record.sequence == sequence) {
                (failures, due_ms, after_ms) = (record.failures, record.at_ms, record.for_ms);
            }
        }
        let transaction = record.message.transaction.clone();
        let order = record.message.order_key.as_deref();
        let subject = order.map(|order| self.streams.subject(&transaction, Some(order)));
        let key = self.streams.subject_of_key(&record.message);
        let (acker, message) = (Arc::new(acker), Some(record.message));
        let pulled = Pulled {
            acker,
            sequence,
            transaction,
            subject,
            key,
            failures,
            accepted_ms: record.accepted_ms,
            due_ms,
            after_ms,
            message,
        };
        Ok(Some((id, pulled)))
    }

    /// Keeps it here, and gives another one back when there is too much; true when it is kept.
    async fn put_by(&self, inner: &mut Inner, id: u64, pulled: Pulled) -> Result<bool, QueueError> {
        if let Some(running) = inner.running.get_mut(&id) {
            running.acker = pulled.acker; // its lease had ended, and it came back here
            return Ok(false);
        }
        let now_ms = self.clock.wall_ms();
        let Some((last, back)) = inner.put_by(id, pulled, now_ms) else { return Ok(true) };
        let time = GIVEN_BACK.max(Duration::from_millis(back.due_ms.saturating_sub(now_ms)));
        back.acker.ack_with(AckKind::Nak(Some(time))).await.map_err(store)?;
        if last == id {
            // it would come and go again and again
            let until_ns = self.clock.deadline_ns(GIVEN_BACK);
            inner.full_until_ns.insert(back.transaction, until_ns);
        }
        Ok(last != id)
    }

    async fn give_out(
        &self,
        inner: &mut Inner,
        transaction: &Arc<str>,
        id: u64,
    ) -> Result<Option<Claimed>, QueueError> {
        let Some(mut pulled) = inner.take(transaction, id) else { return Ok(None) };
        let message = match pulled.message.take() {
            Some(message) => Some(message),
            None => match self.streams.waiting.get_raw_message(pulled.sequence).await {
                Ok(found) => Record::decode(&found.payload).map(|record| record.message),
                Err(error) if gone(&error) => None, // it was forgotten
                Err(error) => {
                    inner.put_by.entry(Arc::clone(transaction)).or_default().insert(id, pulled);
                    return Err(store(error));
                }
            },
        };
        let Some(message) = message else { return Ok(None) };
        let (failures, accepted_ms) = (pulled.failures, pulled.accepted_ms);
        inner.running.insert(id, pulled);
        Ok(Some(Claimed { id: ExecutionId(id), failures, accepted_ms, message }))
    }

    /// Forgets that it is given out: its lease ends, and it is given out again.
    pub(super) async fn give_up(&self, id: u64) {
        self.inner.lock().await.running.remove(&id);
    }

    /// Throws away some of what is kept no longer, from the sequence `from` on; true when there was
    /// any.
    pub(super) async fn clean(&self, from: &mut u64) -> Result<bool, QueueError> {
        let (done, every) = (&self.streams.done, self.streams.every("done"));
        let found = Streams::all_from(done, &every, *from, PULL).await?;
        *from = found.last().map_or(1, |last| last.sequence + 1);
        let now_ms = self.clock.wall_ms();
        let expired = found.into_iter().filter(|found| found.record.has_expired(now_ms));
        let purges = expired.filter_map(|found| Some(self.streams.purge("done", found.record.id?)));
        let purged = try_join_all(purges).await?;
        Ok(!purged.is_empty())
    }

    /// It was forgotten: it is not given out.
    pub(super) async fn forget(&self, one: &Execution, sequence: u64) -> Result<bool, QueueError> {
        let id = one.id.0;
        let mut inner = self.inner.lock().await;
        if inner.running.contains_key(&id) {
            return Ok(false);
        }
        self.know_key(id, self.streams.subject_of_key(&one.message)).await?;
        let gone = self.streams.waiting.delete_message(sequence).await.map_err(store)?;
        if let Some(pulled) = inner.take(&one.message.transaction, id) {
            pulled.acker.ack().await.map_err(store)?;
        }
        self.streams.purge("retry", id).await?;
        Ok(gone)
    }

    /// Tells the server that all this is still ours.
    pub(super) async fn renew(&self) -> Result<(), QueueError> {
        let inner = self.inner.lock().await;
        let put_by = inner.put_by.values().flat_map(BTreeMap::values);
        for pulled in inner.running.values().chain(put_by) {
            pulled.acker.ack_with(AckKind::Progress).await.map_err(store)?;
        }
        Ok(())
    }

    /// Leaves all this to the others at once.
    pub(super) async fn leave(&self) {
        let mut inner = self.inner.lock().await;
        let Inner { running, put_by, .. } = &mut *inner;
        let put_by = std::mem::take(put_by).into_values().flat_map(BTreeMap::into_values);
        for pulled in running.drain().map(|(_, it)| it).chain(put_by) {
            if pulled.acker.double_ack_with(AckKind::Nak(None)).await.is_err() {
                break; // the server is not there: the leases end by themselves
            }
        }
    }
}

fn gone(error: &async_nats::jetstream::stream::RawMessageError) -> bool {
    error.kind() == async_nats::jetstream::stream::RawMessageErrorKind::NoMessageFound
}

impl Inner {
    /// Transactions in the order in which they have their turn, and how many each may give out.
    fn turns(&self, now_ns: u64, limits: &QueueLimits) -> Vec<(Arc<str>, usize)> {
        let rests =
            |name: &str| self.rests_until_ns.get(name).is_some_and(|until_ns| *until_ns > now_ns);
        let under_way =
            |name: &str| self.running.values().filter(|one| *one.transaction == *name).count();
        let names = self.consumers.keys().filter(|name| !rests(name));
        let mut turns: Vec<(Arc<str>, usize)> =
            names.map(|name| (Arc::clone(name), under_way(name))).collect();
        turns.sort_by_key(|(_, running)| *running);
        let most = limits.given_out_per_transaction;
        let room = turns.into_iter().map(|(name, running)| (name, most.saturating_sub(running)));
        room.filter(|(_, room)| *room > 0).collect()
    }

    /// Puts a message by. Where that is one too many of its transaction, the one that has its turn
    /// last comes back, with its id: of those that are due the one that was accepted last, so that
    /// the first of an order key, for which the others wait, always stays.
    fn put_by(&mut self, id: u64, pulled: Pulled, now_ms: u64) -> Option<(u64, Pulled)> {
        let put_by = self.put_by.entry(Arc::clone(&pulled.transaction)).or_default();
        put_by.insert(id, pulled);
        if put_by.len() <= PUT_BY_MAX {
            return None;
        }
        let turn = |pulled: &Pulled| (pulled.due_ms.max(now_ms), pulled.sequence);
        let last = put_by.iter().max_by_key(|(_, pulled)| turn(pulled)).map(|(id, _)| *id)?;
        Some((last, put_by.remove(&last)?))
    }

    /// A message that was put by is not any more.
    fn take(&mut self, transaction: &str, id: u64) -> Option<Pulled> {
        self.put_by.get_mut(transaction)?.remove(&id)
    }

    /// Where the clock was set back, intervals that begin after its new time begin now.
    fn rebase(&mut self, now_ms: u64) {
        if now_ms < self.wall_ms {
            for pulled in self.put_by.values_mut().flat_map(BTreeMap::values_mut) {
                if pulled.due_ms.saturating_sub(pulled.after_ms) > now_ms {
                    pulled.due_ms = now_ms + pulled.after_ms;
                }
            }
        }
        self.wall_ms = now_ms;
    }
}
