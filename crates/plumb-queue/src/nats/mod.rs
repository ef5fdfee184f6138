//! The queue in NATS JetStream, which several runtimes share.
//!
//! Messages wait in a work queue stream ([`streams`]), one pull consumer a transaction; what is
//! pulled is leased by the consumer's time for acknowledgements ([`work`]). When a message that
//! failed is due is a record of its own, so that the schedule survives every restart.

mod record;
mod runtimes;
mod shared;
mod streams;
#[cfg(test)]
mod tests;
mod work;

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvError};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use plumb_measure::Span;
use tokio::runtime::Runtime as Threads;
use tokio::sync::{mpsc as channel, oneshot};

use self::runtimes::Sign;
use self::shared::{Job, NOTES_MAX, Shared, keep_clean, keep_leases, work_off};
use self::streams::{Streams, store};
use self::work::Work;
use super::ids::Ids;
use super::intake::lock;
use super::note_room::NoteRoom;
use super::{
    Accepted, Claimed, Execution, ExecutionId, Filter, Message, Queue, QueueClock, QueueError,
    QueueFigures, QueueId, QueueLimits, Runtime, Settled,
};

/// How long a waiting claim leaves the server alone, where no message of this runtime's own comes.
const POLL_NS: u64 = 100_000_000;
/// How long the server has for an answer.
const ANSWER: Duration = Duration::from_secs(5);
/// Bytes of messages that the server has not confirmed yet, at most.
const UNCONFIRMED_MAX: u64 = 64 << 20;

/// What the names of the streams begin with.
const NAME: &str = "plumb";

/// Where a queue is in NATS.
#[derive(Clone, Debug)]
struct Target {
    /// `nats://host:4222`.
    url: String,
    /// What the names of its streams begin with.
    name: String,
    log_on: LogOn,
}

/// How a runtime logs on.
#[derive(Clone)]
enum LogOn {
    Nobody,
    Token(String),
    User(String, String),
}

impl std::fmt::Debug for LogOn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Nobody => "nobody",
            Self::Token(_) => "a token",
            Self::User(..) => "a user",
        })
    }
}

impl Target {
    /// `nats://HOST:PORT` or `nats://USER@HOST:PORT`, the secret apart.
    fn parse(url: &str, secret: Option<&str>) -> Result<Self, QueueError> {
        // the URL may hold a password, so it is not repeated
        let wrong = |why: &str| QueueError::Store(format!("the URL of the queue {why}"));
        let place = url.strip_prefix("nats://").ok_or_else(|| wrong("is none of nats://"))?;
        let (user, host) = match place.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, place),
        };
        if host.is_empty() || host.contains(['/', '?', '#']) {
            return Err(wrong("is not nats://HOST:PORT or nats://USER@HOST:PORT"));
        }
        if user.is_some_and(|user| user.contains(':')) {
            return Err(wrong("holds a password: put it into a file, and name that"));
        }
        let log_on = match (user, secret) {
            (None, None) => LogOn::Nobody,
            (None, Some(token)) => LogOn::Token(token.to_owned()),
            (Some(user), Some(password)) => LogOn::User(user.to_owned(), password.to_owned()),
            (Some(_), None) => return Err(wrong("names a user: name a file with the password")),
        };
        Ok(Self { url: format!("nats://{host}"), name: NAME.to_owned(), log_on })
    }
}

/// A queue in NATS JetStream.
#[derive(Debug)]
pub struct NatsQueue {
    shared: Arc<Shared>,
    settlements: channel::UnboundedSender<Job>,
    in_force: String,
    /// Taken when it is closed.
    threads: Mutex<Option<Threads>>,
}

impl NatsQueue {
    /// Opens the queue in the server at `url`, `nats://HOST:PORT` or `nats://USER@HOST:PORT`, and
    /// makes its streams where they are not there. `secret` is the password of the user, or a token
    /// where `url` names none. Messages that this runtime has under way are its own for `lease`,
    /// which is renewed meanwhile and must be the same for all runtimes.
    ///
    /// # Errors
    /// [`QueueError::Store`] when `url` is none, the server cannot be reached, is too old, or has
    /// no JetStream or not the room for as many bytes as `limits` has.
    pub fn open(
        url: &str,
        secret: Option<&str>,
        limits: QueueLimits,
        lease: Span,
        clock: Arc<dyn QueueClock>,
    ) -> Result<Self, QueueError> {
        Self::open_at(&Target::parse(url, secret)?, limits, lease, clock)
    }

    fn open_at(
        target: &Target,
        limits: QueueLimits,
        lease: Span,
        clock: Arc<dyn QueueClock>,
    ) -> Result<Self, QueueError> {
        let threads = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("queue")
            .enable_all()
            .build()
            .map_err(store)?;
        let lease = Duration::from_nanos(lease.ns());
        let (target, now_ms) = (target.clone(), clock.wall_ms());
        let opened = wait_on(threads.handle(), async move {
            let streams = connect(&target, limits, lease).await?;
            let said = streams.in_force().await?;
            let sign = Sign::enter(&streams, now_ms).await?;
            Ok((streams, said, sign))
        });
        let (streams, in_force, sign) = opened?;
        let shared = Arc::new(Shared {
            work: Work::new(streams, limits, Arc::clone(&clock)),
            sign,
            lease,
            clock,
            ended: AtomicBool::new(false),
            unconfirmed_bytes: AtomicU64::new(0),
            notes: NoteRoom::of(NOTES_MAX),
            cost: Mutex::default(),
            ids: Mutex::new(Ids::above(0, 0)),
            seen: Mutex::default(),
            wakes: Mutex::default(),
            ready: Condvar::new(),
        });
        let (settlements, jobs) = channel::unbounded_channel();
        threads.spawn(work_off(Arc::clone(&shared), jobs));
        threads.spawn(keep_leases(Arc::clone(&shared)));
        threads.spawn(keep_clean(Arc::clone(&shared)));
        let threads = Mutex::new(Some(threads));
        let queue = Self { shared, settlements, in_force, threads };
        let shared = Arc::clone(&queue.shared);
        queue.wait(async move { shared.work.look_around().await })?;
        Ok(queue)
    }

    /// What the server says is in force for the stream of waiting messages, and what it cannot say.
    #[must_use]
    pub fn in_force(&self) -> String {
        self.in_force.clone()
    }

    /// Waits for what is done on the threads of the queue: whoever calls may be on those of another
    /// runtime.
    fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, QueueError>> + Send + 'static,
    ) -> Result<T, QueueError> {
        let handle = lock(&self.threads).as_ref().map(|threads| threads.handle().clone());
        wait_on(&handle.ok_or(QueueError::Closed)?, work)
    }

    fn ask(
        &self,
        job: impl FnOnce(mpsc::Sender<Result<u64, QueueError>>) -> Job,
    ) -> Result<u64, QueueError> {
        let (reply, answer) = mpsc::channel();
        self.settlements.send(job(reply)).map_err(|_| QueueError::Closed)?;
        answer.recv().map_err(|_| QueueError::Closed)?
    }
}

fn wait_on<T: Send + 'static>(
    threads: &tokio::runtime::Handle,
    work: impl Future<Output = Result<T, QueueError>> + Send + 'static,
) -> Result<T, QueueError> {
    let done = Arc::new(Mutex::new(None));
    let told = Arc::clone(&done);
    let (ends, ended) = mpsc::sync_channel::<Infallible>(0);
    // to the runtime, and to the channel, all work is of one kind: both are compiled once
    let work: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(async move {
        let result = work.await;
        *lock(&told) = Some(result);
        drop(ends);
    });
    threads.spawn(work);
    let Err(RecvError) = ended.recv();
    let result = lock(&done).take();
    result.ok_or(QueueError::Closed)?
}

async fn connect(
    target: &Target,
    limits: QueueLimits,
    lease: Duration,
) -> Result<Streams, QueueError> {
    let options = async_nats::ConnectOptions::new().name("plumb").request_timeout(Some(ANSWER));
    let options = match target.log_on.clone() {
        LogOn::Nobody => options,
        LogOn::Token(token) => options.token(token),
        LogOn::User(user, password) => options.user_and_password(user, password),
    };
    let client = options.connect(&target.url).await.map_err(store)?;
    if !client.is_server_compatible(2, 10, 0) {
        return Err(QueueError::Store(format!(
            "the NATS server is {}: 2.10 or later is needed, because 2.9 forgot acknowledgements \
             when it was killed",
            client.server_info().version
        )));
    }
    let context = async_nats::jetstream::ContextBuilder::new()
        .timeout(ANSWER)
        .ack_timeout(ANSWER)
        .build(client);
    Streams::open(context, &target.name, limits, lease).await
}

impl Queue for NatsQueue {
    fn id(&self) -> QueueId {
        self.shared.work.streams.id()
    }

    fn accept(&self, message: Message) -> oneshot::Receiver<Result<Accepted, QueueError>> {
        let (answer, receiver) = oneshot::channel();
        let bytes = message.body.len() as u64;
        let shared = Arc::clone(&self.shared);
        let handle = lock(&self.threads).as_ref().map(|threads| threads.handle().clone());
        let Some(handle) = handle.filter(|_| !shared.ended.load(Ordering::SeqCst)) else {
            let _ = answer.send(Err(QueueError::Closed)); // it may be gone
            return receiver;
        };
        let before = shared.unconfirmed_bytes.fetch_add(bytes, Ordering::SeqCst);
        if before > 0 && before + bytes > UNCONFIRMED_MAX {
            shared.unconfirmed_bytes.fetch_sub(bytes, Ordering::SeqCst);
            let seen = *lock(&shared.seen);
            let full = QueueError::Full { waiting: seen.waiting, bytes: seen.waiting_bytes };
            let _ = answer.send(Err(full)); // it may be gone
            return receiver;
        }
        handle.spawn(async move {
            let accepted = shared.accept(message).await;
            shared.unconfirmed_bytes.fetch_sub(bytes, Ordering::SeqCst);
            let _ = answer.send(accepted); // it may be gone
        });
        receiver
    }

    fn claim(&self, most: usize, patience: Duration) -> Result<Vec<Claimed>, QueueError> {
        let clock = &self.shared.clock;
        let deadline_ns = clock.deadline_ns(patience);
        loop {
            if self.shared.ended.load(Ordering::SeqCst) {
                return Err(QueueError::Closed);
            }
            let seen = *lock(&self.shared.wakes);
            let shared = Arc::clone(&self.shared);
            let claimed = self.wait(async move {
                let claimed = shared.work.take(most).await?;
                if claimed.is_empty() {
                    shared.work.look_around().await?;
                }
                Ok(claimed)
            })?;
            let now_ns = clock.now_ns();
            if !claimed.is_empty() || now_ns >= deadline_ns {
                return Ok(claimed);
            }
            let time = Duration::from_nanos((deadline_ns - now_ns).min(POLL_NS));
            let wakes = lock(&self.shared.wakes);
            let same = |wakes: &mut u64| *wakes == seen;
            // woken or not: the server is asked again
            drop(self.shared.ready.wait_timeout_while(wakes, time, same));
        }
    }

    fn settle(&self, settled: Vec<Settled>) -> Result<(), QueueError> {
        let mut sent =
            settled.into_iter().map(|settled| self.settlements.send(Job::Settle(settled)));
        sent.try_for_each(|sent| sent.map_err(|_| QueueError::Closed))
    }

    fn note(&self, message: Message, settled: Settled) -> Result<(), QueueError> {
        let Some(job) = self.shared.to_be_noted(message, settled) else { return Ok(()) };
        self.settlements.send(job).map_err(|_| QueueError::Closed)
    }

    fn find(&self, id: ExecutionId) -> Result<Option<Execution>, QueueError> {
        let shared = Arc::clone(&self.shared);
        let one = Filter { id: Some(id), most: 1, ..Filter::default() };
        let found = self.wait(async move { shared.list(&one).await })?;
        Ok(found.into_iter().next().map(|(one, _)| one))
    }

    fn list(&self, filter: &Filter) -> Result<Vec<Execution>, QueueError> {
        let (shared, filter) = (Arc::clone(&self.shared), filter.clone());
        let most = filter.most;
        let found = self.wait(async move { shared.list(&filter).await })?;
        let without_body = |(mut one, _): (Execution, u64)| {
            one.message.body = bytes::Bytes::new();
            one
        };
        Ok(found.into_iter().take(most).map(without_body).collect())
    }

    fn retry(&self, filter: &Filter) -> Result<u64, QueueError> {
        self.ask(|reply| Job::Retry(filter.clone(), reply))
    }

    fn forget(&self, filter: &Filter) -> Result<u64, QueueError> {
        self.ask(|reply| Job::Forget(filter.clone(), reply))
    }

    fn figures(&self) -> QueueFigures {
        let shared = Arc::clone(&self.shared);
        let counted = self.wait(async move {
            let streams = &shared.work.streams;
            let waiting = streams.waiting.get_info().await.map_err(store)?.state;
            let dead = streams.dead.get_info().await.map_err(store)?.state.messages;
            let running = shared.work.running().await.len() as u64;
            Ok((waiting.messages, waiting.bytes, running, dead))
        });
        let cost = lock(&self.shared.cost).figures();
        let mut seen = lock(&self.shared.seen);
        // a server that is away is shown as it was seen last
        let before = (seen.waiting, seen.waiting_bytes, seen.running, seen.failed);
        let (waiting, waiting_bytes, running, failed) = counted.unwrap_or(before);
        let notes_left_out = self.shared.notes.left_out();
        *seen = QueueFigures { waiting, waiting_bytes, running, failed, notes_left_out, ..cost };
        *seen
    }

    fn runtimes(&self) -> Result<Vec<Runtime>, QueueError> {
        let shared = Arc::clone(&self.shared);
        self.wait(async move { shared.runtimes().await })
    }

    fn next_id(&self) -> ExecutionId {
        // far above the sequences of a stream, which are the ids of what comes through the queue
        let now_ms = self.shared.clock.wall_ms();
        ExecutionId(lock(&self.shared.ids).next(now_ms) | 1 << 19)
    }

    fn rest(&self, transaction: &str, time: Span) {
        let until_ns = self.shared.clock.now_ns().saturating_add(time.ns());
        let (shared, transaction) = (Arc::clone(&self.shared), transaction.to_owned());
        let _ = self.wait(async move {
            shared.work.rest(transaction, until_ns).await;
            Ok(())
        });
        self.shared.wake();
    }

    fn close(&self) {
        if self.shared.ended.swap(true, Ordering::SeqCst) {
            return;
        }
        self.shared.wake();
        let _ = self.ask(Job::Close); // what is not handed over is given out again
        if let Some(threads) = lock(&self.threads).take() {
            threads.shutdown_background();
        }
    }
}

impl Drop for NatsQueue {
    fn drop(&mut self) {
        self.close();
    }
}
