//! When one thread's share of a load is over, and what it came to.

use plumb_link::Link;
use plumb_measure::{Slowest, TcpTotals, Transports};
use plumb_socket::Time;
use serde::{Deserialize, Serialize};

use super::due::Dues;
use super::{Drive, Window};
use crate::clock;
use crate::protocol::Protocol;

/// How a load ended; of several, the last in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// The plan came to its end.
    Complete,
    /// It was told to stop; operations under way are left out.
    Interrupted,
    /// No connection stood for as long as the connect time-out.
    GaveUp,
}

/// What one thread reports beside its records.
#[derive(Debug)]
pub struct Driven<P> {
    /// The protocol as the thread leaves it.
    pub protocol: P,
    /// How it ended.
    pub ending: Ending,
    /// Start of the recorded part, on the clock of the run.
    pub began_ns: u64,
    /// From the start of the recorded part to its end, nanoseconds.
    pub duration_ns: u64,
    /// Operations of the warm-up.
    pub warm_up_operations: u64,
    /// Processor time of the recorded part, nanoseconds.
    pub cpu_ns: u64,
    /// Its slowest correct answers.
    pub slowest: Slowest,
    /// What its connections did; `None` without connections of TCP.
    pub tcp: Option<TcpTotals>,
    /// What its connections really used.
    pub transports: Transports,
    /// Who failed the first handshake behind the beginning, and why.
    pub handshake_complaint: Option<String>,
}

impl<P: Protocol, L: Link, T: Time> Drive<'_, P, L, T> {
    /// Whether, and how, the run is over.
    pub(super) fn ending(&self) -> Option<Ending> {
        if self.job.stop.asked() || self.job.line.given_up() {
            return Some(Ending::Interrupted);
        }
        let window = self.window?;
        let patience_ns = self.job.plan.connect_timeout.ns();
        if self.down_since.is_some_and(|since| self.now >= since + patience_ns) {
            return Some(Ending::GaveUp);
        }
        if let Some(over) = self.scripts_are_over(window) {
            return over.then_some(Ending::Complete);
        }
        let finished = self.finished == self.users.len();
        let next = self.pacer.as_ref().map_or(self.now, Dues::next_due);
        let done = self.in_flight == 0 && self.backlog.is_empty() && !self.may_begin(next);
        (self.recording && done || finished).then_some(Ending::Complete)
    }

    /// Whether all users were done before the time was over: such a load has not used it. Users
    /// whom the end of the plan sends away have.
    fn done_early(&self, window: Window) -> bool {
        self.finished == self.users.len() && window.until.is_none_or(|until| self.now < until)
    }

    pub(super) fn finish(mut self, ending: Ending) -> Driven<P> {
        let window = self.window.unwrap_or(Window { from: self.now, until: None, count: None });
        if let Some(scripts) = self.left_behind(window) {
            self.recorder.dropped += scripts;
        } else if ending != Ending::Complete {
            let dropped = self.backlog.iter().filter(|due| **due >= window.from).count();
            self.recorder.dropped += dropped as u64;
        }
        let planned = match ending {
            Ending::Complete if self.done_early(window) => None,
            Ending::Interrupted | Ending::GaveUp if !self.is_past_recorded() => Some(self.now),
            _ => window.until.or(self.pacer.as_ref().map(Dues::next_due)),
        };
        let end = self.last_done.max(planned.unwrap_or(0));
        let cpu_ns = if self.recording { clock::thread_cpu_ns() - self.cpu_before_ns } else { 0 };
        if self.recording {
            self.count_users(true);
            self.outlet.last(end, &mut self.recorder);
        }
        for (index, conn) in self.conns.iter_mut().enumerate() {
            if let Some(channel) = conn.phase.channel() {
                self.watch.gone(index, channel.socket());
            }
        }
        let sockets = self.conns.iter_mut().filter_map(|conn| conn.phase.channel());
        self.proofs.confirm(&mut sockets.map(|channel| channel.socket()));
        self.users.drain(..).for_each(|user| self.protocol.leave(user));
        let (slowest, tcp) = self.watch.finish();
        Driven {
            slowest,
            tcp,
            protocol: self.protocol,
            ending,
            began_ns: window.from,
            duration_ns: end.saturating_sub(window.from),
            warm_up_operations: self.warm_up_operations,
            cpu_ns,
            transports: self.proofs.into_transports(),
            handshake_complaint: self.handshake_complaint,
        }
    }
}
