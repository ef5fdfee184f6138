//! The lane of an agent: its messages on their way from the spool to the other side.

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use plumb_engine::clock::{MonotonicClock, wall_ns};
use plumb_measure::{Clock as _, Span};
use tokio::sync::watch;

use super::client::{Attempted, Client, Connection};
use super::verdict::Verdict;
use super::{RetryPlan, TargetPlan};
use crate::form::Form;
use crate::spool::{AgentSpool, Ending, Taken, Waiting, Wanted};

/// Messages that are read ahead for each that may be under way, and bytes of all of them, about.
const AHEAD: usize = 8;
const AHEAD_BYTES: usize = 256 << 10;
/// Between two looks for what was put off and is due.
const DUE_AGAIN_NS: u64 = 10_000_000;

/// A target that says to come again at once is left alone for so long.
const PAUSE_MIN: Span = Span::from_ms(10);

/// What a lane counted since its process began.
#[derive(Debug, Default)]
pub(crate) struct LaneCounts {
    pub(crate) attempts: AtomicU64,
    pub(crate) failures: AtomicU64,
    /// 1 while the other side takes nothing.
    pub(crate) away: AtomicU64,
}

/// A message and how often it was tried.
#[derive(Debug)]
struct Message {
    waiting: Waiting,
    /// Time that was waited for it without counting as an attempt, nanoseconds.
    waited_ns: u64,
}

/// What the lane itself settled while the spool is asked: its answer may be older than that.
#[derive(Debug, Default)]
struct Meanwhile {
    /// What was asked for is what stands behind the cursor.
    reads_on: bool,
    /// Ids of what was let go.
    gone: BTreeSet<i64>,
    /// When the first of those that were put off is due.
    next_due_ms: Option<u64>,
}

type Sending = Pin<Box<dyn Future<Output = (Message, Attempted)> + Send>>;
type Asking = Pin<Box<dyn Future<Output = Option<Taken>> + Send>>;

/// Sends what waits.
pub(crate) struct Lane {
    spool: AgentSpool,
    client: Arc<Client>,
    retry: RetryPlan,
    window: usize,
    ordered: bool,
    counts: Arc<LaneCounts>,
    log: Box<dyn Fn(String) + Send + Sync>,
    ready: VecDeque<Message>,
    /// Ids of all that is in memory.
    held: BTreeSet<i64>,
    idle: Vec<Connection>,
    sending: FuturesUnordered<Sending>,
    /// All up to this one were read.
    cursor: i64,
    /// There may be more behind the cursor.
    more: bool,
    next_due_ms: Option<u64>,
    /// There while the spool is asked.
    meanwhile: Option<Meanwhile>,
    /// What is due and in memory already is not looked for again and again.
    due_again_ns: u64,
    rewinds: u64,
    /// The other side takes nothing: only one message is tried.
    away: bool,
    /// That one was sent since the other side was found to be away: its answer tells whether it is
    /// back. One to a message that was under way before tells nothing, and would cut the wait short.
    probing: bool,
    pause_until_ns: u64,
}

impl Lane {
    pub(crate) fn new(
        spool: AgentSpool,
        target: &TargetPlan,
        form: Form,
        retry: RetryPlan,
        agent: &str,
        log: Box<dyn Fn(String) + Send + Sync>,
    ) -> Self {
        let key = format!("{}-{}", spool.instance, spool.number);
        let client = Arc::new(Client::new(target.clone(), form, key, agent));
        let window = if target.ordered { 1 } else { target.window };
        Self {
            spool,
            client,
            retry,
            window,
            ordered: target.ordered,
            counts: Arc::default(),
            log,
            ready: VecDeque::new(),
            held: BTreeSet::new(),
            idle: Vec::new(),
            sending: FuturesUnordered::new(),
            cursor: 0,
            more: true,
            next_due_ms: None,
            meanwhile: None,
            due_again_ns: 0,
            rewinds: 0,
            away: false,
            probing: false,
            pause_until_ns: 0,
        }
    }

    pub(crate) fn counts(&self) -> Arc<LaneCounts> {
        Arc::clone(&self.counts)
    }

    /// Sends until it is told to stop, and waits for what is under way then.
    pub(crate) async fn run(mut self, mut stop: watch::Receiver<bool>) {
        let mut asking: Option<Asking> = None;
        let news = Arc::clone(&self.spool.news);
        while !*stop.borrow() {
            // one reading: what is too early to send is what is waited for
            let now_ns = MonotonicClock.now_ns();
            if self.is_rewound() {
                asking = None; // its answer may be older
            }
            self.send_ready(now_ns);
            if asking.is_none() {
                asking = self.ask(now_ns);
            }
            let pause = self.pause(now_ns);
            tokio::select! {
                _ = stop.changed() => {}
                Some((message, attempted)) = self.sending.next() => self.settle(message, attempted),
                taken = answer(&mut asking) => {
                    asking = None;
                    let Some(taken) = taken else { break };
                    self.take_in(taken);
                }
                () = news.arrived.notified() => self.more = true,
                () = tokio::time::sleep(pause.unwrap_or(Duration::MAX)), if pause.is_some() => {}
            }
        }
        while let Some((message, attempted)) = self.sending.next().await {
            self.settle(message, attempted);
        }
    }

    /// True when somebody sent messages again or deleted some since the last look: what was read
    /// ahead is read again, so that none is sent that is not there any more.
    fn is_rewound(&mut self) -> bool {
        let rewinds = self.spool.news.rewinds.load(Ordering::SeqCst);
        if rewinds == self.rewinds {
            return false;
        }
        (self.rewinds, self.cursor, self.more) = (rewinds, 0, true);
        for message in self.ready.drain(..) {
            self.held.remove(&message.waiting.id);
        }
        self.meanwhile = None;
        true
    }

    /// Asks the spool for more, where there may be and there is room for it.
    fn ask(&mut self, now_ns: u64) -> Option<Asking> {
        let ahead = AHEAD * self.window;
        if self.ready.len() * 2 > ahead {
            return None;
        }
        let due_by = self.due_by(now_ms()).filter(|_| now_ns >= self.due_again_ns);
        let (wanted, most) = if let Some(due_by) = due_by {
            self.due_again_ns = now_ns + DUE_AGAIN_NS;
            // those that are in memory already may be among them
            (Wanted::Due(due_by), ahead + self.held.len())
        } else if self.more {
            self.more = false; // until there is news, or something came
            (Wanted::After(self.cursor), ahead)
        } else {
            return None;
        };
        let taken = self.spool.take(wanted, most, AHEAD_BYTES);
        let reads_on = matches!(wanted, Wanted::After(_));
        self.meanwhile = Some(Meanwhile { reads_on, ..Meanwhile::default() });
        Some(Box::pin(async move {
            let taken = taken.await.ok()?;
            Some(Asked { wanted, taken }.sorted())
        }))
    }

    fn take_in(&mut self, taken: Taken) {
        let meanwhile = self.meanwhile.take().unwrap_or_default();
        self.next_due_ms = first(taken.next_due_ms, meanwhile.next_due_ms);
        for waiting in taken.messages {
            // what was put off and is due stands anywhere
            if meanwhile.reads_on && waiting.id > self.cursor {
                self.cursor = waiting.id;
                self.more = true;
            }
            if !meanwhile.gone.contains(&waiting.id) && self.held.insert(waiting.id) {
                self.ready.push_back(Message { waiting, waited_ns: 0 });
            }
        }
    }

    /// Begins to send as many messages as may be under way.
    fn send_ready(&mut self, now_ns: u64) {
        let window = if self.away { 1 } else { self.window };
        while self.sending.len() < window && now_ns >= self.pause_until_ns {
            let Some(message) = self.ready.pop_front() else { break };
            if self.is_expired(&message.waiting) {
                self.let_go(message.waiting.id, Ending::Expired);
                continue;
            }
            self.counts.attempts.fetch_add(1, Ordering::Relaxed);
            self.probing = self.away;
            let (client, kept) = (Arc::clone(&self.client), self.idle.pop());
            let (first, body) = (message.waiting.first, message.waiting.body.clone());
            self.sending.push(Box::pin(async move {
                let attempted = client.send(kept, first, body).await;
                (message, attempted)
            }));
        }
    }

    fn settle(&mut self, message: Message, (verdict, connection): Attempted) {
        self.idle.extend(connection);
        let id = message.waiting.id;
        if verdict != Verdict::Delivered {
            self.counts.failures.fetch_add(1, Ordering::Relaxed);
        }
        match verdict {
            Verdict::Delivered => {
                self.is_back();
                self.let_go(id, Ending::Delivered);
            }
            Verdict::Refused(error) => {
                self.is_back();
                let attempts = message.waiting.attempts + 1;
                self.let_go(id, Ending::Failed { attempts, error });
            }
            Verdict::Failed(error) => {
                self.is_back();
                self.try_again(message, error);
            }
            Verdict::Away(error, after) => self.wait_for(message, error, after),
        }
    }

    /// The message alone waits for its next attempt; where the order counts, all behind it, too.
    fn try_again(&mut self, mut message: Message, error: String) {
        message.waiting.attempts += 1;
        let (id, attempts) = (message.waiting.id, message.waiting.attempts);
        if attempts > self.retry.times {
            self.let_go(id, Ending::Failed { attempts, error });
        } else if self.ordered {
            self.spool.settle(id, Ending::Again { attempts, due_ms: 0 });
            self.rest(self.retry.interval);
            self.put_back(message);
        } else {
            let due_ms = now_ms() + self.retry.interval.ns() / 1_000_000;
            self.let_go(id, Ending::Again { attempts, due_ms });
            self.next_due_ms = first(self.next_due_ms, Some(due_ms));
            if let Some(meanwhile) = &mut self.meanwhile {
                meanwhile.next_due_ms = first(meanwhile.next_due_ms, Some(due_ms));
            }
        }
    }

    /// Nothing is sent for a while, and then one message alone. An answer that says when to come
    /// again uses up one attempt an interval; so does a connection that fails. Whoever has an
    /// attempt left waits as long as is asked for, however many intervals that are.
    fn wait_for(&mut self, mut message: Message, error: String, after: Option<Span>) {
        let interval_ns = self.retry.interval.ns().max(1);
        let pause = after.map_or(self.retry.interval, |after| after.max(PAUSE_MIN));
        if !self.away {
            self.away = true;
            self.counts.away.store(1, Ordering::Relaxed);
            (self.log)(format!("the target takes nothing: {error}"));
        }
        self.probing = false;
        self.idle.clear();
        self.rest(pause);
        message.waited_ns += pause.ns().max(1);
        let used = u32::try_from(message.waited_ns / interval_ns).unwrap_or(u32::MAX);
        message.waited_ns %= interval_ns;
        let (id, before) = (message.waiting.id, message.waiting.attempts);
        if used > 0 && before >= self.retry.times {
            self.let_go(id, Ending::Failed { attempts: before.saturating_add(1), error });
            return;
        }
        let attempts = before.saturating_add(used);
        message.waiting.attempts = attempts;
        if used > 0 {
            self.spool.settle(id, Ending::Again { attempts, due_ms: 0 });
        }
        self.put_back(message);
    }

    fn is_back(&mut self) {
        if self.away && self.probing {
            (self.away, self.probing) = (false, false);
            self.pause_until_ns = 0;
            self.counts.away.store(0, Ordering::Relaxed);
            (self.log)("the target takes messages again".into());
        }
    }

    /// It is none of ours any more.
    fn let_go(&mut self, id: i64, ending: Ending) {
        self.spool.settle(id, ending);
        self.held.remove(&id);
        if let Some(meanwhile) = &mut self.meanwhile {
            meanwhile.gone.insert(id);
        }
    }

    /// It is the next one again, before those behind it.
    fn put_back(&mut self, message: Message) {
        let id = message.waiting.id;
        let place = self.ready.iter().take_while(|it| it.waiting.id < id).count();
        self.ready.insert(place, message);
    }

    fn rest(&mut self, time: Span) {
        let until_ns = MonotonicClock.now_ns().saturating_add(time.ns());
        self.pause_until_ns = self.pause_until_ns.max(until_ns);
    }

    fn is_expired(&self, waiting: &Waiting) -> bool {
        let age_ms = now_ms().saturating_sub(waiting.at_ms);
        self.retry.lifetime.is_some_and(|lifetime| age_ms > lifetime.ns() / 1_000_000)
    }

    /// How long nothing will happen unless there is news; `None`: for ever.
    fn pause(&self, now_ns: u64) -> Option<Duration> {
        let rests = (self.pause_until_ns > now_ns && !self.ready.is_empty())
            .then(|| Duration::from_nanos(self.pause_until_ns - now_ns));
        let now_ms = now_ms();
        let due = self.next_due_ms.map(|due_ms| {
            let wait = self.due_by(now_ms).map_or(due_ms.saturating_sub(now_ms), |_| 0);
            // not again and again while what is due has no room
            Duration::from_millis(wait.max(10))
        });
        [rests, due].into_iter().flatten().min()
    }

    /// What was put off until this time is due now, if anything is. Nothing is put off for longer
    /// than the interval: what seems to be was put off by a clock that was set back since.
    fn due_by(&self, now_ms: u64) -> Option<u64> {
        let first_ms = self.next_due_ms?;
        let longest_ms = self.retry.interval.ns() / 1_000_000;
        if first_ms > now_ms.saturating_add(longest_ms) {
            Some(first_ms)
        } else {
            (first_ms <= now_ms).then_some(now_ms)
        }
    }
}

/// What came, once something was asked for.
async fn answer(asking: &mut Option<Asking>) -> Option<Taken> {
    match asking {
        Some(asking) => asking.await,
        None => std::future::pending().await,
    }
}

/// What was asked for, and what came.
struct Asked {
    wanted: Wanted,
    taken: Taken,
}

impl Asked {
    /// Those that were put off in the order of their numbers, as all others.
    fn sorted(mut self) -> Taken {
        if let Wanted::Due(_) = self.wanted {
            self.taken.messages.sort_by_key(|message| message.id);
        }
        self.taken
    }
}

/// The earlier of two times, where there are any.
fn first(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    [one, other].into_iter().flatten().min()
}

fn now_ms() -> u64 {
    wall_ns() / 1_000_000
}
