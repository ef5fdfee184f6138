//! Operations that are one datagram there and one back: any of them may be lost.

use std::time::Duration;

use plumb_link::Link;
use plumb_measure::{Answer, FailureKind};
use plumb_socket::Time;

use super::{Drive, RECEIVE_MAX_NS};
use crate::EngineError;
use crate::protocol::Protocol;

impl<P: Protocol, L: Link, T: Time> Drive<'_, P, L, T> {
    /// The longest receive that blocks: of datagrams an even part of the time-out of an operation, so
    /// that one that is lost is given up in time.
    pub(super) fn receive_limit(&self) -> Duration {
        let timeout_ns = self.job.plan.operation_timeout.ns();
        let limit_ns = if P::DATAGRAMS {
            timeout_ns.div_ceil(timeout_ns.div_ceil(RECEIVE_MAX_NS).max(1))
        } else {
            RECEIVE_MAX_NS
        };
        Duration::from_nanos(limit_ns)
    }

    /// The datagram that was due has not come in time. The socket goes on, unless what it was to send
    /// still waits there.
    pub(super) fn give_up(&mut self, index: usize) {
        let conn = &mut self.conns[index];
        if conn.phase.channel().is_some_and(|channel| channel.sending()) {
            return self.lose(index, FailureKind::Lost);
        }
        if let Some(flight) = conn.flights.pop_front() {
            self.in_flight -= 1;
            self.book(index, flight, Answer::failed(FailureKind::Lost));
        }
        self.ready_for_work(index);
    }

    /// A hello has had no answer: it, or its answer, may be lost.
    pub(super) fn greet_again(&mut self, index: usize, since: u64) -> Result<(), EngineError> {
        let patience = self.job.plan.connect_timeout;
        if self.now >= since + patience.ns() {
            let text = format!(
                "did not answer within {patience}: is a `plumb net serve --listen udp:...` there, and \
                 does a firewall let UDP through?"
            );
            return self.greeting_failed(index, FailureKind::TimedOut, text);
        }
        self.in_flight -= self.conns[index].flights.len();
        self.conns[index].flights.clear();
        self.greet(index)
    }

    /// There was nothing to read. Of a socket that has reported an error, which a send has met since,
    /// nothing is to be hoped for.
    pub(super) fn silent(&mut self, index: usize) -> Result<(), EngineError> {
        let broken = self.conns[index].phase.channel().is_some_and(|channel| channel.hung_up());
        if broken { self.fail(index, FailureKind::ConnectFailed) } else { Ok(()) }
    }
}
