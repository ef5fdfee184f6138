//! Everything that becomes known while the proxy serves: exchanges go into the file, events into
//! the log.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use plumb_engine::clock::MonotonicClock;
use plumb_measure::Clock as _;

use super::archive::Archive;
use super::entry::Writer;
use super::exchange::Exchange;

/// Exchanges that wait to be written at most; further ones are left out, and that is said.
pub(crate) const WAITING_MAX: usize = 4_096;
/// Bytes of entries that wait for the next save at most.
const UNSAVED_MAX: usize = 32 << 20;
/// Saving takes at most one part in so many of the time.
const SAVING_SHARE: u64 = 10;
/// Hosts that are named in the log as passing through; more are only counted.
const HOSTS_MAX: usize = 1_000;

/// Where everybody leaves what they saw. Nobody waits for the file or the log.
#[derive(Clone, Debug)]
pub(crate) struct Ledger {
    exchanges: SyncSender<Box<Exchange>>,
    events: Sender<String>,
    tallies: Arc<Tallies>,
}

/// What is counted.
#[derive(Debug, Default)]
struct Tallies {
    left_out: AtomicU64,
    tunnels: AtomicU64,
    /// Hosts whose connections passed through unopened.
    unopened: Mutex<BTreeSet<String>>,
}

impl Ledger {
    /// Leaves exchanges with one receiver, and events with the other.
    pub(crate) fn new(exchanges: SyncSender<Box<Exchange>>, events: Sender<String>) -> Self {
        Self { exchanges, events, tallies: Arc::default() }
    }

    /// Writes `exchange` down.
    pub(crate) fn keep(&self, exchange: Box<Exchange>) {
        if let Err(TrySendError::Full(_)) = self.exchanges.try_send(exchange) {
            self.tallies.left_out.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Tells of something that no exchange tells.
    pub(crate) fn tell(&self, event: impl Display) {
        let _ = self.events.send(event.to_string()); // a log that is gone is told nothing
    }

    /// A connection to `host` passes through unopened; said once a host.
    pub(crate) fn tunnel(&self, host: &str) {
        self.tallies.tunnels.fetch_add(1, Ordering::Relaxed);
        let mut unopened = self.tallies.unopened.lock().unwrap_or_else(PoisonError::into_inner);
        if unopened.len() < HOSTS_MAX && unopened.insert(host.to_owned()) {
            self.tell(format!(
                "{host} passes through and is not recorded; --intercept {host} opens it"
            ));
        }
    }

    /// What is in no file, in words; empty when everything is.
    pub(crate) fn missing(&self) -> String {
        let mut text = String::new();
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let tunnels = count(&self.tallies.tunnels);
        if tunnels > 0 {
            let unopened = self.tallies.unopened.lock().unwrap_or_else(PoisonError::into_inner);
            let hosts: Vec<&str> = unopened.iter().map(String::as_str).collect();
            text += &format!("; not recorded: connections through to {}", listed(&hosts));
        }
        let left_out = count(&self.tallies.left_out);
        if left_out > 0 {
            text += &format!("; {left_out} left out because writing was too slow");
        }
        text
    }
}

/// The first few names, and how many more.
fn listed(names: &[&str]) -> String {
    const SHOWN: usize = 5;
    match names.len().checked_sub(SHOWN) {
        Some(more) if more > 0 => format!("{} and {more} more", names[..SHOWN].join(", ")),
        _ => names.join(", "),
    }
}

/// Saves exchanges as they come, until nobody is left who could bring one.
#[derive(Debug)]
pub(crate) struct Scribe {
    pub(crate) archive: Archive,
    pub(crate) writer: Writer,
    pub(crate) events: Sender<String>,
}

/// What a scribe leaves behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Written {
    /// Entries in the file.
    pub(crate) entries: u64,
    /// Exchanges that are in no file.
    pub(crate) lost: u64,
}

/// Entries for the next save.
#[derive(Debug, Default)]
struct Unsaved {
    entries: Vec<Vec<u8>>,
    names: Vec<String>,
    bytes: usize,
}

impl Scribe {
    /// Saves what `exchanges` bring, at once when there is time and with others when there is not.
    pub(crate) fn work(mut self, exchanges: &Receiver<Box<Exchange>>) -> Written {
        let mut lost = 0;
        let mut unsaved = Unsaved::default();
        let mut not_before = 0_u64;
        loop {
            let left_ns = not_before.saturating_sub(MonotonicClock.now_ns());
            let wait = if unsaved.entries.is_empty() {
                exchanges.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                exchanges.recv_timeout(Duration::from_nanos(left_ns))
            };
            let over = match wait {
                Ok(exchange) => {
                    self.write(&exchange, &mut unsaved, &mut lost);
                    if left_ns > 0 && unsaved.bytes < UNSAVED_MAX {
                        continue;
                    }
                    false
                }
                Err(RecvTimeoutError::Timeout) => false,
                Err(RecvTimeoutError::Disconnected) => true,
            };
            let began = MonotonicClock.now_ns();
            lost += self.save(&mut unsaved);
            let now = MonotonicClock.now_ns();
            not_before = now + (now - began) * SAVING_SHARE;
            if over {
                return Written { entries: self.archive.entries(), lost };
            }
        }
    }

    fn write(&self, exchange: &Exchange, unsaved: &mut Unsaved, lost: &mut u64) {
        let entry = self.writer.entry(exchange);
        let Ok(bytes) = serde_json::to_vec(&entry) else {
            *lost += 1; // cannot happen: an entry is made of texts and finite numbers
            return;
        };
        if self.archive.is_full((unsaved.bytes + bytes.len()) as u64) {
            if *lost == 0 {
                self.tell("the recording has reached 1 GiB; further requests are left out");
            }
            *lost += 1;
            return;
        }
        let outcome = match &exchange.answered {
            Some(answered) => answered.status.as_u16().to_string(),
            None => "no answer".into(),
        };
        let problem = exchange.problem.as_ref().map_or(String::new(), |text| format!(": {text}"));
        unsaved.names.push(format!("{} {outcome}{problem}", exchange.name()));
        unsaved.bytes += bytes.len();
        unsaved.entries.push(bytes);
    }

    /// How many could not be saved.
    fn save(&mut self, unsaved: &mut Unsaved) -> u64 {
        if unsaved.entries.is_empty() {
            return 0;
        }
        let saved = self.archive.add(&unsaved.entries);
        let Unsaved { entries, names, .. } = std::mem::take(unsaved);
        match saved {
            Ok(()) => {
                names.into_iter().for_each(|name| self.tell(&format!("recorded {name}")));
                0
            }
            Err(error) => {
                self.tell(&format!("cannot save {} requests: {error}", entries.len()));
                entries.len() as u64
            }
        }
    }

    fn tell(&self, event: &str) {
        let _ = self.events.send(event.to_owned()); // a log that is gone is told nothing
    }
}

/// An exchange under way, which is written down however it ends. Dropped before it has
/// [ended](Self::end), it was given up by the client.
#[derive(Debug)]
pub(crate) struct Underway {
    /// `None` once it is written down.
    exchange: Option<Box<Exchange>>,
    ledger: Ledger,
}

impl Underway {
    /// `exchange`, which goes to `ledger` when it is over.
    pub(crate) fn new(exchange: Exchange, ledger: &Ledger) -> Self {
        Self { exchange: Some(Box::new(exchange)), ledger: ledger.clone() }
    }

    /// Adds what becomes known, as long as it is under way.
    pub(crate) fn note(&mut self, note: impl FnOnce(&mut Exchange)) {
        self.exchange.as_deref_mut().map(note);
    }

    /// It is over, with `problem` or without.
    pub(crate) fn end(&mut self, problem: Option<String>) {
        if let Some(mut exchange) = self.exchange.take() {
            exchange.moments.ended = MonotonicClock.now_ns();
            exchange.problem = exchange.problem.or(problem);
            self.ledger.keep(exchange);
        }
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        self.end(Some("the client did not wait for the end of the answer".into()));
    }
}
