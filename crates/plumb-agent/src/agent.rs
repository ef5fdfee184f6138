//! One agent at work: source, trigger, bundles, spool, lane.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesOrdered;
use plumb_engine::clock::MonotonicClock;
use plumb_measure::Clock as _;
use tokio::sync::{mpsc, oneshot, watch};

use crate::bundle::{Bundle, Bundler};
use crate::change::Position;
use crate::deliver::{Lane, LaneCounts};
use crate::file::AgentPlan;
use crate::source::{Feed, Mark, Outlet};
use crate::spool::{AgentSpool, Put};
use crate::trigger::Judge;

/// Feeds between a source and its agent.
const FEEDS: usize = 1;
/// Puts that are not on disk yet, and bytes of them, about; behind them the source waits.
const PUTS_MAX: usize = 256;
const PUT_BYTES_MAX: usize = 128 << 10;
/// A source that waits for its marks gets them when nothing more came for so long.
const MARKS_WAIT: Duration = Duration::from_millis(5);
/// What a source counts without a message is written down so often.
const NOTE_NS: u64 = 1_000_000_000;

/// What everybody in the process may know of an agent.
#[derive(Clone, Debug)]
pub(crate) struct Watched {
    pub(crate) name: String,
    pub(crate) spool: AgentSpool,
    pub(crate) lane: Arc<LaneCounts>,
    /// The source has ended, and what it brought is in the spool.
    pub(crate) collected: Arc<AtomicBool>,
}

/// An agent with its part of the spool.
pub(crate) struct Agent {
    plan: AgentPlan,
    spool: AgentSpool,
    lane: Lane,
    collected: Arc<AtomicBool>,
    log: Arc<dyn Fn(String) + Send + Sync>,
}

impl Agent {
    pub(crate) fn new(
        plan: AgentPlan,
        spool: AgentSpool,
        log: Arc<dyn Fn(String) + Send + Sync>,
    ) -> Self {
        let tell = Arc::clone(&log);
        let lane = Lane::new(
            spool.clone(),
            &plan.target,
            plan.form,
            plan.retry,
            &plan.name,
            Box::new(move |event| tell(event)),
        );
        Self { plan, spool, lane, collected: Arc::default(), log }
    }

    pub(crate) fn watched(&self) -> Watched {
        let (name, spool) = (self.plan.name.clone(), self.spool.clone());
        let collected = Arc::clone(&self.collected);
        Watched { name, spool, lane: self.lane.counts(), collected }
    }

    /// Works until it is told to stop: the source first, then what it has brought goes to disk.
    pub(crate) async fn run(self, stop: watch::Receiver<bool>) {
        let Self { plan, spool, lane, collected, log } = self;
        let (feeds, taken) = mpsc::channel(FEEDS);
        let (marks_back, marks) = mpsc::unbounded_channel();
        let ledger = spool.ledger();
        let outlet = Outlet { from: ledger.position, feeds, marks, log: Arc::clone(&log) };
        let mut stopped = stop.clone();
        let source = async {
            tokio::select! {
                ended = plan.source.run(outlet) => match ended {
                    Ok(()) => log("the source has ended".into()),
                    Err(error) => log(format!("the source cannot go on: {error}")),
                },
                _ = stopped.wait_for(|asked| *asked) => {}
            }
        };
        let judge = Judge::new(plan.wanted.clone(), plan.trigger.clone());
        let bundler = Bundler::new(&plan.name, plan.form, plan.bundle, ledger.produced + 1);
        let collector = Collector::new(judge, bundler, spool, marks_back);
        let collecting = async {
            collector.run(taken).await;
            collected.store(true, Ordering::SeqCst);
        };
        tokio::join!(source, collecting, lane.run(stop));
    }
}

/// Makes messages of changes, and puts them into the spool.
struct Collector {
    judge: Judge,
    bundler: Bundler,
    spool: AgentSpool,
    puts: FuturesOrdered<oneshot::Receiver<bool>>,
    /// Bytes of each put, in their order, and of all of them.
    sizes: VecDeque<usize>,
    bytes: usize,
    /// Marks, and how many puts have to be on disk before each goes back.
    marks: VecDeque<(Mark, u64)>,
    marks_back: mpsc::UnboundedSender<Mark>,
    /// Puts that were handed over, and those of them that are on disk.
    put: u64,
    done: u64,
    /// What the next put says beside its message.
    note: Put,
    noted_ns: u64,
}

impl Collector {
    fn new(
        judge: Judge,
        bundler: Bundler,
        spool: AgentSpool,
        marks_back: mpsc::UnboundedSender<Mark>,
    ) -> Self {
        Self {
            judge,
            bundler,
            spool,
            puts: FuturesOrdered::new(),
            sizes: VecDeque::new(),
            bytes: 0,
            marks: VecDeque::new(),
            marks_back,
            put: 0,
            done: 0,
            note: Put::default(),
            noted_ns: 0,
        }
    }

    async fn run(mut self, mut feeds: mpsc::Receiver<Feed>) {
        let mut out = Vec::new();
        loop {
            let patience = self.patience();
            tokio::select! {
                feed = feeds.recv(), if self.has_room() => match feed {
                    Some(feed) => self.take(feed, &mut out),
                    None => break,
                },
                Some(kept) = self.puts.next() => {
                    if kept.is_err() {
                        return; // the spool is gone, and with it all that it has not confirmed
                    }
                    self.is_on_disk();
                }
                () = tokio::time::sleep(patience.unwrap_or(Duration::MAX)), if patience.is_some() => {
                    self.finish();
                }
            }
        }
        self.finish();
        while let Some(Ok(_)) = self.puts.next().await {
            self.is_on_disk();
        }
    }

    fn has_room(&self) -> bool {
        self.puts.len() < PUTS_MAX && self.bytes < PUT_BYTES_MAX
    }

    /// The first put that was handed over is.
    fn is_on_disk(&mut self) {
        self.done += 1;
        self.bytes -= self.sizes.pop_front().unwrap_or(0);
        self.give_marks();
    }

    fn take(&mut self, feed: Feed, out: &mut Vec<crate::change::Change>) {
        self.note.never_seen += feed.never_seen;
        let now_ns = MonotonicClock.now_ns();
        for change in feed.changes {
            self.note.seen += 1;
            let after = change.after;
            out.clear();
            self.judge.judge(change, out);
            if out.is_empty() {
                self.pass_over(after);
            } else if let Some(bundle) = self.bundler.take(out, now_ns) {
                self.hand_over(Some(bundle));
            }
        }
        if let Some(after) = feed.after {
            self.pass_over(after);
        }
        if let Some(mark) = feed.mark {
            // what is in the message that grows is on disk with the put that comes next
            let next = self.has_note() || !self.bundler.is_empty();
            self.marks.push_back((mark, self.put + u64::from(next)));
            self.give_marks();
        }
        // what leads to no message is written down all the same, now and then
        if self.bundler.is_empty()
            && now_ns.saturating_sub(self.noted_ns) >= NOTE_NS
            && self.has_note()
        {
            self.hand_over(None);
        }
    }

    /// What stands up to there leads to nothing: the source does not bring it again. Where a message
    /// grows, that is on disk with it.
    fn pass_over(&mut self, after: Position) {
        if self.bundler.is_empty() {
            self.note.position = Some(after);
        } else {
            self.bundler.skip(after);
        }
    }

    /// The message that grows is complete, as far as it is.
    fn finish(&mut self) {
        let bundle = self.bundler.finish();
        if bundle.is_some() || self.has_note() {
            self.hand_over(bundle);
        }
    }

    fn has_note(&self) -> bool {
        self.note.seen > 0 || self.note.never_seen > 0 || self.note.position.is_some()
    }

    fn hand_over(&mut self, bundle: Option<Bundle>) {
        self.noted_ns = MonotonicClock.now_ns();
        let mut put = std::mem::take(&mut self.note);
        if let Some(bundle) = &bundle {
            put.position = Some(bundle.after);
        }
        let size = bundle.as_ref().map_or(0, |bundle| bundle.body.len());
        self.sizes.push_back(size);
        self.bytes += size;
        put.bundle = bundle;
        self.puts.push_back(self.spool.put(put));
        self.put += 1;
    }

    fn give_marks(&mut self) {
        while let Some((mark, puts)) = self.marks.front()
            && *puts <= self.done
        {
            // a source that has ended wants none
            let _ = self.marks_back.send(*mark);
            self.marks.pop_front();
        }
    }

    /// How long to wait for more before the message is complete; `None`: for ever.
    fn patience(&self) -> Option<Duration> {
        let left = self.bundler.time_left(MonotonicClock.now_ns());
        // a broker holds back more until it hears of what it has sent
        let marked = self.marks.iter().any(|(_, puts)| *puts > self.put).then_some(MARKS_WAIT);
        let noted = self.has_note().then_some(Duration::from_nanos(NOTE_NS));
        [left, marked, noted].into_iter().flatten().min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::BundleLimits;
    use crate::change::{Change, Quality, TagValue};
    use crate::form::Form;
    use crate::spool::{Ledger, Spool, SpoolLimits, WhenFull};
    use crate::trigger::Wanted;

    /// What stands in the ledger behind feeds of an agent whose changes count where they are others,
    /// and whose messages grow for long.
    fn collected(all: Vec<Feed>) -> Ledger {
        let folder = tempfile::tempdir().unwrap();
        let file = Spool::open(folder.path()).unwrap();
        let (collector, _marks) = collector(&file);
        let spool = collector.spool.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let (feeds, taken) = mpsc::channel(all.len());
            for feed in all {
                feeds.send(feed).await.unwrap();
            }
            drop(feeds);
            collector.run(taken).await;
        });
        spool.ledger()
    }

    fn collector(file: &Spool) -> (Collector, mpsc::UnboundedReceiver<Mark>) {
        let limits = SpoolLimits { messages: 9, bytes: 1 << 20, when_full: WhenFull::Wait };
        let spool = file.agent("line-1", limits).unwrap();
        let judge = Judge::new(Wanted { only_changed: true, deadband: 0.0 }, None);
        let limits = BundleLimits { count: 100, bytes: 1 << 20, time_ns: u64::MAX >> 1 };
        let bundler = Bundler::new("line-1", Form::Json, limits, 1);
        let (marks_back, marks) = mpsc::unbounded_channel();
        (Collector::new(judge, bundler, spool, marks_back), marks)
    }

    fn at(at: u64) -> Position {
        Position { at, ..Position::default() }
    }

    fn feed(number: u64, value: f64) -> Feed {
        let (value, after) = (TagValue::Number(value), at(number));
        let change = Change { tag: "t".into(), value, time_ms: 0, quality: Quality::Good, after };
        Feed { changes: vec![change], mark: Some(Mark(number)), ..Feed::default() }
    }

    #[test]
    fn what_leads_to_nothing_is_not_brought_again_whether_a_message_grows_or_not() {
        let ledger = collected(vec![feed(5, 1.0), feed(6, 1.0)]);
        assert_eq!((ledger.seen, ledger.produced, ledger.position), (2, 1, at(6)));
        let unread = || Feed { never_seen: 3, after: Some(at(9)), ..Feed::default() };
        for before in [vec![], vec![feed(5, 1.0)]] {
            let ledger = collected(before.into_iter().chain([unread()]).collect());
            assert_eq!((ledger.never_seen, ledger.position), (3, at(9)));
        }
    }

    #[test]
    fn a_feed_without_a_change_is_acknowledged_once_it_is_on_disk() {
        let unread = Feed { never_seen: 1, ..Feed::default() };
        let empty = Feed { after: Some(at(6)), ..Feed::default() };
        for feed in [unread, empty] {
            let expected = (feed.never_seen, feed.after.unwrap_or_default());
            let folder = tempfile::tempdir().unwrap();
            let file = Spool::open(folder.path()).unwrap();
            let (mut collector, mut marks) = collector(&file);
            collector.take(Feed { mark: Some(Mark(1)), ..feed }, &mut Vec::new());
            assert!(marks.try_recv().is_err(), "nothing is on disk");
            let spool = collector.spool.clone();
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
            runtime.unwrap().block_on(async {
                let (_, taken) = mpsc::channel(1);
                collector.run(taken).await;
            });
            assert_eq!(marks.try_recv(), Ok(Mark(1)));
            let ledger = spool.ledger();
            assert_eq!((ledger.never_seen, ledger.position), expected);
        }
    }
}
