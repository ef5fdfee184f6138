//! What is done with the streams beside giving out: accepting, ending, looking, cleaning up.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::mpsc as channel;

use super::super::cost::Cost;
use super::super::ids::Ids;
use super::super::intake::lock;
use super::super::note_room::{NoteRoom, noted_bytes};
use super::super::{
    Accepted, Ending, Execution, ExecutionId, Filter, Kept, Message, QueueClock, QueueError,
    QueueFigures, Runtime, Settled, State,
};
use super::record::Record;
use super::runtimes::Sign;
use super::streams::{Found, Streams, store};
use super::work::Work;

/// Between two attempts to hand over settlements to a server that is away.
const AGAIN: Duration = Duration::from_millis(200);
/// How the server says that the stream is full.
const FULL: [&str; 2] = ["maximum messages exceeded", "maximum bytes exceeded"];
/// A settlement that a server which answers refuses so often is given up.
const REFUSALS_MAX: u32 = 3;
/// In place of a sequence: only noted, nothing that can be done again.
const NOTED: u64 = 0;
/// Ids from here on are of executions that are only noted: a clock is beyond it, a sequence never.
const NOTED_FROM: u64 = 1 << 53;
/// Executions that are looked through for one list, at most.
const LOOKED_THROUGH: usize = 100_000;
/// Settlements, or executions that are noted, that are written side by side.
const GROUP: usize = 256;
/// Executions that wait to be noted, at most: settlements wait behind them, and a server that
/// flushes each takes some hundred a second.
pub(super) const NOTES_MAX: u64 = 1_024;

/// What everybody shares.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) work: Work,
    pub(super) sign: Sign,
    pub(super) lease: Duration,
    pub(super) clock: Arc<dyn QueueClock>,
    pub(super) ended: AtomicBool,
    pub(super) unconfirmed_bytes: AtomicU64,
    pub(super) notes: NoteRoom,
    pub(super) cost: Mutex<Cost>,
    pub(super) ids: Mutex<Ids>,
    pub(super) seen: Mutex<QueueFigures>,
    /// Counts what may have brought a message.
    pub(super) wakes: Mutex<u64>,
    pub(super) ready: Condvar,
}

/// What is done one after the other.
#[derive(Debug)]
pub(super) enum Job {
    Settle(Settled),
    Note(Box<Noted>),
    Retry(Filter, mpsc::Sender<Result<u64, QueueError>>),
    Forget(Filter, mpsc::Sender<Result<u64, QueueError>>),
    Close(mpsc::Sender<Result<u64, QueueError>>),
}

/// An execution that did not come through the queue.
#[derive(Debug)]
pub(super) struct Noted {
    pub(super) message: Message,
    pub(super) settled: Settled,
    /// For which there is room until it is written.
    pub(super) bytes: u64,
}

/// Tells the server in time that this runtime is there and what it has under way.
pub(super) async fn keep_leases(shared: Arc<Shared>) {
    loop {
        tokio::time::sleep(shared.lease / 3).await;
        if shared.ended.load(Ordering::SeqCst) {
            break;
        }
        // all are tried again in time
        let _ = shared.work.renew().await;
        let running = shared.work.running().await.len();
        let _ = shared.sign.put(&shared.work.streams, shared.clock.wall_ms(), running).await;
    }
}

/// Throws away what is kept no longer: leases do not wait for that.
pub(super) async fn keep_clean(shared: Arc<Shared>) {
    let mut from = 1;
    loop {
        tokio::time::sleep(shared.lease / 3).await;
        if shared.ended.load(Ordering::SeqCst) {
            break;
        }
        // a server that is away is cleaned later
        let _ = shared.clean(&mut from).await;
    }
}

/// Does what changes the queue, but for accepts, in its order.
pub(super) async fn work_off(shared: Arc<Shared>, mut jobs: channel::UnboundedReceiver<Job>) {
    let mut group = Vec::new();
    while jobs.recv_many(&mut group, GROUP).await > 0 {
        let (mut settling, mut noting) = (Vec::new(), Vec::new());
        for job in group.drain(..) {
            match job {
                Job::Settle(settled) => settling.push(settled),
                Job::Note(noted) => noting.push(*noted),
                job => {
                    // what was settled before it was asked is
                    shared.write_all(&mut settling, &mut noting).await;
                    if !shared.work_on(job).await {
                        return;
                    }
                }
            }
        }
        shared.write_all(&mut settling, &mut noting).await;
    }
}

impl Shared {
    /// Settles these side by side, then notes those.
    async fn write_all(&self, settling: &mut Vec<Settled>, noting: &mut Vec<Noted>) {
        if !settling.is_empty() {
            join_all(settling.iter().map(|settled| self.settle(settled))).await;
            settling.clear();
            self.wake();
        }
        join_all(noting.drain(..).map(|noted| self.note(noted))).await;
    }

    /// Cleans slices away as long as something in them has expired: of the oldest, which are as a
    /// rule the first, and, since those may be kept longer than others, one from the sequence `from`
    /// on.
    pub(super) async fn clean(&self, from: &mut u64) -> Result<(), QueueError> {
        let mut first = 1;
        let mut more = true;
        while more {
            more = self.work.clean(&mut first).await? && !self.ended.load(Ordering::SeqCst);
        }
        self.work.clean(from).await.map(drop)
    }

    /// Does one thing; false when it was the last.
    async fn work_on(&self, job: Job) -> bool {
        match job {
            Job::Settle(settled) => self.settle(&settled).await,
            Job::Note(noted) => self.note(*noted).await,
            Job::Retry(filter, reply) => {
                let _ = reply.send(self.retry(&filter).await); // it may be gone
                self.wake();
            }
            Job::Forget(filter, reply) => {
                let _ = reply.send(self.forget(&filter).await); // it may be gone
            }
            Job::Close(reply) => {
                self.work.leave().await;
                // without it the others take it for lost
                let _ = self.sign.leave(&self.work.streams).await;
                let _ = reply.send(Ok(0)); // it may be gone
                return false;
            }
        }
        true
    }

    pub(super) fn wake(&self) {
        *lock(&self.wakes) += 1;
        self.ready.notify_all();
    }

    /// Writes down how an attempt ended, once the server takes it. One that it refuses although it
    /// is there is given up: the lease ends, and the message is given out again.
    async fn settle(&self, settled: &Settled) {
        let mut refusals = 0;
        while self.work.settle(settled).await.is_err() {
            let answers = self.work.streams.waiting.get_info().await.is_ok();
            refusals += u32::from(answers);
            if refusals == REFUSALS_MAX || self.ended.load(Ordering::SeqCst) {
                self.work.give_up(settled.id.0).await;
                break;
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    pub(super) async fn accept(&self, message: Message) -> Result<Accepted, QueueError> {
        let streams = &self.work.streams;
        self.work.know(&message.transaction).await?;
        let subject = streams.subject(&message.transaction, message.order_key.as_deref());
        let key = streams.subject_of_key(&message);
        if let Some(key) = &key
            && let Some(id) = streams.ended(key).await?
        {
            return Ok(Accepted { id: ExecutionId(id), repeated: true });
        }
        let payload = Record::of(message, self.clock.wall_ms()).encode();
        let began_ns = self.clock.now_ns();
        let taken = streams.publish(subject, payload, key.as_deref()).await;
        let (sequence, repeated) = match taken {
            Err(error) => return Err(self.refusal(error, 0).await),
            Ok(taken) => taken,
        };
        let mut cost = lock(&self.cost);
        cost.flushed(self.clock.now_ns().saturating_sub(began_ns));
        cost.counted(u64::from(!repeated), 0);
        drop(cost);
        self.wake();
        Ok(Accepted { id: ExecutionId(sequence), repeated })
    }

    /// Why the server has not taken a message behind so many that were `retried`: it says of a full
    /// stream not how full that is.
    async fn refusal(&self, error: QueueError, retried: u64) -> QueueError {
        let QueueError::Store(said) = &error else { return error };
        if !FULL.iter().any(|full| said.contains(full)) {
            return error;
        }
        match self.work.streams.waiting.get_info().await {
            Ok(info) => QueueError::full((info.state.messages, info.state.bytes), retried),
            Err(error) => store(error),
        }
    }

    /// Hands an execution over that is to be noted, where there is room for it.
    pub(super) fn to_be_noted(&self, message: Message, settled: Settled) -> Option<Job> {
        let bytes = noted_bytes(&message, &settled);
        let wanted = settled.kept.is_some() && self.notes.enter(bytes);
        wanted.then(|| Job::Note(Box::new(Noted { message, settled, bytes })))
    }

    async fn note(&self, noted: Noted) {
        let Noted { message, settled, bytes } = noted;
        let id = settled.id.0;
        let mut record = Record::of(message, settled.id.accepted_ms());
        record.id = Some(id);
        record.at_ms = self.clock.wall_ms();
        if let Some(Kept { trace, retention }) = settled.kept {
            record.for_ms = retention.ns() / 1_000_000;
            record.trace = Some(trace);
        }
        if let Ending::Again { error, .. } | Ending::Dead { error } = settled.ending {
            record.error = Some(error);
        }
        let streams = &self.work.streams;
        // a trace, and no message: one that is not taken is lost
        let _ = streams.publish(streams.subject_of("done", id), record.encode(), None).await;
        self.notes.leave(bytes);
    }

    pub(super) async fn runtimes(&self) -> Result<Vec<Runtime>, QueueError> {
        let lease_ms = u64::try_from(self.lease.as_millis()).unwrap_or(u64::MAX);
        self.sign.all(&self.work.streams, self.clock.wall_ms(), lease_ms).await
    }

    pub(super) async fn list(&self, filter: &Filter) -> Result<Vec<(Execution, u64)>, QueueError> {
        let streams = &self.work.streams;
        let running = self.work.running().await;
        let mut all = Vec::new();
        let wanted = |state| filter.state.is_none_or(|wanted| wanted == state);
        let dead = Streams::all(&streams.dead, &streams.every("dead"), LOOKED_THROUGH).await?;
        if wanted(State::Waiting) || wanted(State::Running) {
            // whoever wrote down that they are dead did not come further
            let ended: HashSet<u64> = dead.iter().map(|dead| dead.record.sequence).collect();
            let waiting = self.waiting().await?.into_iter();
            all.extend(waiting.filter(|found| !ended.contains(&found.sequence)).map(|found| {
                let id = found.record.id.unwrap_or(found.sequence);
                let given_out = running.contains(&id);
                shown(found, if given_out { State::Running } else { State::Waiting })
            }));
        }
        if wanted(State::Failed) {
            all.extend(dead.into_iter().map(|found| shown(found, State::Failed)));
        }
        if wanted(State::Failed) || wanted(State::Done) {
            let every = streams.every("done");
            let found = Streams::all(&streams.done, &every, LOOKED_THROUGH).await?;
            let now_ms = self.clock.wall_ms();
            let kept = found.into_iter().filter(|found| !found.record.has_expired(now_ms));
            all.extend(kept.map(|found| {
                let failed = found.record.error.is_some();
                let (one, _) = shown(found, if failed { State::Failed } else { State::Done });
                (one, NOTED)
            }));
        }
        let before = filter.before.map(|before| place_of(before, &all));
        let id = |wanted: ExecutionId| filter.id.is_none_or(|id| id == wanted);
        all.retain(|(one, _)| {
            let of = filter.transaction.as_ref();
            wanted(one.state)
                && id(one.id)
                && of.is_none_or(|name| **name == *one.message.transaction)
                && before.is_none_or(|before| place(one) < before)
        });
        all.sort_by_key(|(one, _)| std::cmp::Reverse(place(one)));
        Ok(all)
    }

    /// What waits, and how it failed so far.
    async fn waiting(&self) -> Result<Vec<Found>, QueueError> {
        let streams = &self.work.streams;
        let every = streams.every("retry");
        let retries = Streams::all(&streams.retries, &every, LOOKED_THROUGH).await?;
        let mut retries: HashMap<u64, Record> =
            retries.into_iter().map(|it| (it.record.sequence, it.record)).collect();
        let every = streams.every("waiting");
        let mut found = Streams::all(&streams.waiting, &every, LOOKED_THROUGH).await?;
        for one in &mut found {
            if let Some(retry) = retries.remove(&one.sequence) {
                let Record { failures, at_ms, error, .. } = retry;
                one.record = Record { failures, at_ms, error, ..one.record.clone() };
            }
        }
        Ok(found)
    }

    async fn retry(&self, filter: &Filter) -> Result<u64, QueueError> {
        let streams = &self.work.streams;
        let failed = Filter { state: Some(State::Failed), ..filter.clone() };
        let mut meant = if filter.state.is_none_or(|state| state == State::Failed) {
            self.list(&failed).await?
        } else {
            Vec::new()
        };
        meant.retain(|(_, sequence)| *sequence != NOTED);
        // the oldest first, as they came in, whatever the clocks of their runtimes said
        meant.sort_by_key(|(one, _)| one.id);
        let mut count = 0;
        for (one, sequence) in meant.into_iter().take(filter.most) {
            let id = one.id.0;
            let subject =
                streams.subject(&one.message.transaction, one.message.order_key.as_deref());
            self.work.know(&one.message.transaction).await?;
            let record = Record { id: Some(id), ..Record::of(one.message, one.accepted_ms) };
            let once = format!("retry.{id}.{sequence}");
            if let Err(error) = streams.publish(subject, record.encode(), Some(&once)).await {
                return Err(self.refusal(error, count).await);
            }
            streams.purge("dead", id).await?;
            count += 1;
        }
        Ok(count)
    }

    async fn forget(&self, filter: &Filter) -> Result<u64, QueueError> {
        if filter.most == 0 {
            return Ok(0);
        }
        let mut count = 0;
        for (one, sequence) in self.list(filter).await? {
            if count == filter.most as u64 {
                break;
            }
            count += match one.state {
                State::Running => 0,
                State::Waiting => u64::from(self.work.forget(&one, sequence).await?),
                State::Failed if sequence != NOTED => {
                    self.work.streams.purge("dead", one.id.0).await.map(|()| 1)?
                }
                State::Failed | State::Done => {
                    self.work.streams.purge("done", one.id.0).await.map(|()| 1)?
                }
            };
        }
        Ok(count)
    }
}

/// Where an execution stands in lists. Its id alone does not say: it is a sequence, or has the time in
/// front.
fn place(one: &Execution) -> (u64, ExecutionId) {
    (one.accepted_ms, one.id)
}

/// Where an execution stands that may be there no longer.
fn place_of(id: ExecutionId, all: &[(Execution, u64)]) -> (u64, ExecutionId) {
    let known = all.iter().find(|(one, _)| one.id == id).map(|(one, _)| one.accepted_ms);
    let accepted_ms = known.unwrap_or_else(|| match id.0 {
        NOTED_FROM.. => id.accepted_ms(),
        // behind what came next: rather too much is shown than too little
        _ => {
            let later = all.iter().filter(|(one, sequence)| *sequence != NOTED && one.id > id);
            later.map(|(one, _)| one.accepted_ms).min().unwrap_or(u64::MAX)
        }
    });
    (accepted_ms, id)
}

/// An execution as the manager shows it, and its sequence in its stream.
fn shown(found: Found, state: State) -> (Execution, u64) {
    let Found { sequence, record } = found;
    let execution = Execution {
        id: ExecutionId(record.id.unwrap_or(sequence)),
        state,
        accepted_ms: record.accepted_ms,
        bytes: record.message.body.len() as u64,
        failures: record.failures,
        error: record.error,
        trace: record.trace,
        at_ms: (record.at_ms > 0).then_some(record.at_ms),
        message: record.message,
    };
    (execution, sequence)
}
