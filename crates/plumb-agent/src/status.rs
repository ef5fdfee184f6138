//! How agents are doing: a line of progress, and figures for Prometheus.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use plumb_engine::clock::{MonotonicClock, process_cpu_ns};
use plumb_engine::{Listener, Stop};
use plumb_measure::{Clock as _, Span, counted, grouped};
use plumb_serve::accept::{Caller, FULL, Taker, take_all};
use plumb_wire::prometheus::{self, Exposition, HEAD_BYTES_MAX, MetricKind, Page, seconds};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{Semaphore, watch};

use crate::agent::Watched;
use crate::spool::{Ledger, Spool};

/// A request for figures has so long.
const PATIENCE: Duration = Duration::from_secs(5);
/// Requests at once.
const REQUESTS_MAX: usize = 16;
/// Between two looks at whether everything is over.
const LOOK_NS: u64 = 50_000_000;

/// What is to be known of all agents.
#[derive(Debug)]
pub(crate) struct Board {
    agents: Vec<Watched>,
    spool: Arc<Spool>,
    until_empty: bool,
}

impl Board {
    pub(crate) fn new(agents: Vec<Watched>, spool: Arc<Spool>, until_empty: bool) -> Self {
        Self { agents, spool, until_empty }
    }

    /// Tells how things are at each interval of `progress`, until `stop` is asked, all is over, or
    /// the spool cannot be written.
    pub(crate) fn watch(&self, progress: Span, stop: &Stop, tell: &dyn Fn(String)) {
        let interval_ns = progress.ns().max(LOOK_NS);
        let mut next_ns = MonotonicClock.now_ns() + interval_ns;
        let mut trouble = None;
        loop {
            let now_ns = MonotonicClock.now_ns();
            // a kernel that refuses to wait ends the process, as if asked
            if stop.wait_until(next_ns.min(now_ns + LOOK_NS)).unwrap_or(true) {
                return;
            }
            if self.until_empty && self.is_over() || self.spool.has_ended() {
                return;
            }
            let now = self.spool.trouble();
            if now != trouble {
                tell(now.clone().unwrap_or_else(|| "the disk has room again".into()));
                trouble = now;
            }
            if MonotonicClock.now_ns() >= next_ns {
                next_ns += interval_ns;
                tell(self.summary());
            }
        }
    }

    /// Where all changes are, in a line.
    pub(crate) fn summary(&self) -> String {
        let all = self.ledgers();
        let sum = |of: fn(&Ledger) -> u64| all.iter().map(of).sum::<u64>();
        let mut text = format!(
            "{} produced, {} delivered in {}, {} wait in {}",
            counted(sum(|it| it.produced), "change"),
            grouped(sum(|it| it.delivered)),
            counted(sum(|it| it.delivered_messages), "message"),
            grouped(sum(|it| it.main.changes)),
            counted(sum(|it| it.main.messages), "message"),
        );
        for (what, count) in [
            ("failed", sum(|it| it.failed.changes)),
            ("expired", sum(|it| it.expired.changes)),
            ("dropped", sum(|it| it.dropped)),
            ("deleted", sum(|it| it.deleted)),
            ("never seen", sum(|it| it.never_seen)),
        ] {
            if count > 0 {
                text.push_str(&format!(", {} {what}", grouped(count)));
            }
        }
        text
    }

    fn ledgers(&self) -> Vec<Ledger> {
        self.agents.iter().map(|agent| agent.spool.ledger()).collect()
    }

    fn is_over(&self) -> bool {
        self.agents.iter().all(|agent| {
            agent.collected.load(Ordering::SeqCst) && agent.spool.ledger().main.messages == 0
        })
    }

    /// The figures for Prometheus.
    fn metrics(&self) -> String {
        let mut out = Exposition::new("plumb_agent_");
        let counter = MetricKind::Counter;
        let ledgers = self.ledgers();
        let mut each = |name: &str, kind, help: &str, value: &dyn Fn(&Ledger) -> u64| {
            out.about(name, kind, help);
            for ledger in &ledgers {
                out.sample(name, &[("agent", &ledger.name)], value(ledger));
            }
        };
        each("seen_total", counter, "Changes that the source brought.", &|it| it.seen);
        let help = "Changes that the source is known to have lost.";
        each("never_seen_total", counter, help, &|it| it.never_seen);
        each("produced_total", counter, "Changes made for delivery.", &|it| it.produced);
        each("delivered_total", counter, "Changes that were confirmed.", &|it| it.delivered);
        let help = "Messages that were confirmed.";
        each("delivered_messages_total", counter, help, &|it| it.delivered_messages);
        each("dropped_total", counter, "Changes for which there was no room.", &|it| it.dropped);
        each("deleted_total", counter, "Changes that somebody deleted.", &|it| it.deleted);
        self.queues(&mut out, &ledgers);
        self.lanes(&mut out);
        let (flushes, flush_ns) = self.spool.flushes();
        out.counter("spool_flushes_total", "Flushes to the disk.", flushes);
        let help = "Time of flushes.";
        out.counter("spool_flush_seconds_total", help, seconds(flush_ns.into()));
        let full = u8::from(self.spool.trouble().is_some());
        out.gauge("spool_full", "1: the disk takes nothing.", full);
        let cpu = seconds(process_cpu_ns().into());
        out.counter("cpu_seconds_total", "Processor time of this process.", cpu);
        out.finish()
    }

    fn queues(&self, out: &mut Exposition, ledgers: &[Ledger]) {
        let mut each = |name: &str, help: &str, value: &dyn Fn(crate::spool::Stock) -> u64| {
            out.about(name, MetricKind::Gauge, help);
            for it in ledgers {
                for (queue, stock) in
                    [("main", it.main), ("failed", it.failed), ("expired", it.expired)]
                {
                    let labels = [("agent", it.name.as_str()), ("queue", queue)];
                    out.sample(name, &labels, value(stock));
                }
            }
        };
        each("queue_messages", "Messages in a queue.", &|it| it.messages);
        each("queue_changes", "Changes in a queue.", &|it| it.changes);
        each("queue_bytes", "Bytes of the documents in a queue.", &|it| it.bytes);
    }

    fn lanes(&self, out: &mut Exposition) {
        let mut each = |name: &str, kind, help: &str, value: &dyn Fn(&Watched) -> u64| {
            out.about(name, kind, help);
            for agent in &self.agents {
                out.sample(name, &[("agent", &agent.name)], value(agent));
            }
        };
        let counter = MetricKind::Counter;
        let attempts = |it: &Watched| it.lane.attempts.load(Ordering::Relaxed);
        each("attempts_total", counter, "Messages that were sent.", &attempts);
        let failures = |it: &Watched| it.lane.failures.load(Ordering::Relaxed);
        each("failures_total", counter, "Those that were not taken.", &failures);
        let away = |it: &Watched| it.lane.away.load(Ordering::Relaxed);
        each("target_away", MetricKind::Gauge, "1: the target takes nothing.", &away);
    }
}

/// Whoever answers requests for figures.
#[derive(Clone)]
struct Door {
    board: Arc<Board>,
    places: Arc<Semaphore>,
    tell: Arc<dyn Fn(String) + Send + Sync>,
}

/// Serves the figures until `stop` is true.
pub(crate) async fn serve(
    listeners: Vec<Listener>,
    board: Arc<Board>,
    stop: watch::Receiver<bool>,
    tell: Arc<dyn Fn(String) + Send + Sync>,
) {
    let door = Door { board, places: Arc::new(Semaphore::new(REQUESTS_MAX)), tell };
    if let Err(error) = take_all(listeners, &stop, &door).await {
        (door.tell)(format!("figures are not served any more: {error}"));
    }
}

impl Taker for Door {
    fn take(&self, caller: Caller) {
        match caller {
            Caller::Tcp(stream, _) => self.answer(stream),
            Caller::Unix(stream) => self.answer(stream),
        }
    }

    fn tell(&self, event: String) {
        (self.tell)(event);
    }
}

impl Door {
    fn answer<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(&self, mut stream: S) {
        let place = Arc::clone(&self.places).try_acquire_owned();
        let board = Arc::clone(&self.board);
        tokio::spawn(async move {
            let answered = async {
                if place.is_err() {
                    return stream.write_all(FULL).await;
                }
                let mut bytes = Vec::new();
                while prometheus::head(&bytes).is_none() && bytes.len() < HEAD_BYTES_MAX {
                    if stream.read_buf(&mut bytes).await? == 0 {
                        return Ok(());
                    }
                }
                // whoever asks for too much is told nothing
                let Some(head) = prometheus::head(&bytes) else { return Ok(()) };
                let page = Page::of(&String::from_utf8_lossy(head), || board.metrics());
                stream.write_all(page.text.as_bytes()).await
            };
            // who goes away, or is too slow, was not there
            let _ = tokio::time::timeout(PATIENCE, answered).await;
        });
    }
}
