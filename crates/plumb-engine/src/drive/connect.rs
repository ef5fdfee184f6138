//! Making connections, and making them again.

use std::borrow::Cow;
use std::io;

use plumb_link::Link;
use plumb_measure::{FailureKind, Outcome};
use plumb_socket::{
    Readiness, SocketOptions, Time, Token, connect_failure, finish_connect, make_blocking,
    start_connect,
};

use super::Drive;
use crate::channel::Channel;
use crate::conn::Phase;
use crate::flight::{Flight, Moment};
use crate::plan::Waiting;
use crate::protocol::Protocol;
use crate::{Endpoint, EngineError};

impl<P: Protocol, L: Link, T: Time> Drive<'_, P, L, T> {
    pub(super) fn connect(&mut self, index: usize) -> Result<(), EngineError> {
        let since = self.time.now_ns();
        self.now = since;
        let options = SocketOptions { nagle: self.job.plan.nagle, ..SocketOptions::default() };
        let route = self.conns[index].route;
        let identity = match P::SCRIPTED {
            true => self.protocol.identity(&self.users[self.owner(index)]),
            false => 0,
        };
        let endpoint = match self.standby(index) {
            Some(standby) => Cow::Borrowed(standby),
            None => self.endpoint(index),
        };
        let started = start_connect(&endpoint, &options).and_then(|socket| {
            let channel = Channel::new(socket, (self.job.link)(route, identity, &endpoint));
            let generation = self.conns[index].generation;
            self.poll.add_connection(channel.socket(), Token { index, generation })?;
            Ok(channel)
        });
        match started {
            Ok(channel) => {
                self.conns[index].phase = Phase::Connecting { channel, since };
                self.ask_wake(index);
                Ok(())
            }
            Err(error) => self.connect_failed(index, &error),
        }
    }

    /// Who stands in for the target in this life of a connection, if anybody does.
    fn standby(&self, index: usize) -> Option<&Endpoint> {
        let standbys = &self.job.plan.standbys;
        let at = self.conns[index].lives % (1 + standbys.len());
        at.checked_sub(1).and_then(|at| standbys.get(at))
    }

    pub(super) fn on_ready(&mut self, ready: Readiness) -> Result<(), EngineError> {
        let index = ready.token.index;
        let conn = &mut self.conns[index];
        if conn.generation != ready.token.generation {
            return Ok(());
        }
        match &mut conn.phase {
            Phase::Connecting { .. } if ready.writable => self.connected(index)?,
            Phase::Handshaking { .. } => self.shake_hands(index)?,
            _ => {}
        }
        if let Phase::Greeting { channel, .. } | Phase::Open { channel } =
            &mut self.conns[index].phase
        {
            channel.heard(ready);
            if ready.writable && channel.sending() {
                self.send(index);
            }
            if ready.readable {
                self.read(index)?;
            }
        }
        Ok(())
    }

    /// The kernel has decided about a connect.
    fn connected(&mut self, index: usize) -> Result<(), EngineError> {
        let Phase::Connecting { channel, since } = self.take_phase(index) else {
            return Ok(());
        };
        if let Err(error) = finish_connect(channel.socket()) {
            return self.connect_failed(index, &error);
        }
        self.now = self.time.now_ns();
        if !P::DATAGRAMS {
            self.recorder.connect.record(self.now - since); // else nobody was asked
            self.outlet.connected(self.number(index), self.now - since);
        }
        self.watch.connected(index, channel.socket(), self.now);
        self.conns[index].phase = Phase::Handshaking { channel, since: self.now };
        self.shake_hands(index)
    }

    fn shake_hands(&mut self, index: usize) -> Result<(), EngineError> {
        let Phase::Handshaking { mut channel, since } = self.take_phase(index) else {
            return Ok(());
        };
        match channel.handshake() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.conns[index].phase = Phase::Handshaking { channel, since };
                self.ask_wake(index);
                Ok(())
            }
            Err(error) => {
                self.greeting_failed(index, FailureKind::HandshakeFailed, error.to_string())
            }
            Ok(()) => {
                self.now = self.time.now_ns();
                if self.stamps.is_some()
                    && let Err(error) = channel.stamp_all()
                    && error.kind() == io::ErrorKind::Unsupported
                {
                    return Err(EngineError::system("take messages apart (--timestamps)")(error));
                }
                if channel.encrypted() {
                    self.recorder.handshake.record(self.now - since);
                    self.outlet.shaken(self.number(index), self.now - since);
                    self.recorder.resumed += u64::from(channel.link().resumed());
                }
                let first = self.proofs.transports().first().is_none();
                self.proofs.note(channel.socket(), channel.link().proof());
                self.first_stands(first);
                self.conns[index].phase = Phase::Greeting { channel, since: self.now };
                self.greet(index)
            }
        }
    }

    /// Says the next unrecorded message, or opens the connection when there is none.
    pub(super) fn greet(&mut self, index: usize) -> Result<(), EngineError> {
        let conn = &mut self.conns[index];
        if !matches!(conn.phase, Phase::Greeting { .. }) {
            return Ok(());
        }
        let user = &mut self.users[conn.owner];
        match self.protocol.hello(user, &mut conn.wire, &mut self.requests) {
            Some(op) => {
                conn.flights.push_front(Flight::new(op, false, None)); // what waits comes after
                self.in_flight += 1;
                self.ask_wake(index);
                self.send(index);
                Ok(())
            }
            None => self.opened(index),
        }
    }

    /// The answer to an unrecorded message.
    pub(super) fn greeted(&mut self, index: usize, outcome: Outcome) -> Result<(), EngineError> {
        let kind = match outcome {
            Outcome::Ok => return self.greet(index),
            Outcome::Failed(kind) => kind,
            Outcome::Refused => FailureKind::Refused,
        };
        let complaint = self.protocol.complaint();
        let text = complaint.unwrap_or_else(|| "did not answer as the protocol demands".into());
        self.greeting_failed(index, kind, text)
    }

    fn opened(&mut self, index: usize) -> Result<(), EngineError> {
        let Phase::Greeting { channel, .. } = self.take_phase(index) else {
            return Ok(());
        };
        if self.job.plan.waiting == Waiting::Receive {
            make_blocking(channel.socket(), self.receive_limit())
                .map_err(EngineError::system("set a receive time-out"))?;
        }
        self.conns[index].phase = Phase::Open { channel };
        self.opened += 1;
        self.stood = true;
        self.down_since = None;
        self.was_due_meanwhile(index);
        self.stands(index);
        if self.is_aside(index) {
            self.send_what_waited(index);
            return Ok(());
        }
        if self.window.is_some() {
            self.ready_for_work(index);
        }
        Ok(())
    }

    /// Something that was due in time is not there.
    pub(super) fn on_time(&mut self, index: usize) -> Result<(), EngineError> {
        let plan = self.job.plan;
        let (connect_ns, operation_ns) = (plan.connect_timeout.ns(), plan.operation_timeout.ns());
        let conn = &mut self.conns[index];
        let overdue = conn.deadline(connect_ns, operation_ns).is_some_and(|at| at <= self.now);
        if !overdue {
            self.ask_wake(index);
            return Ok(());
        }
        if matches!(conn.phase, Phase::Down { .. }) && !self.may_come(index) {
            return Ok(());
        }
        match &self.conns[index].phase {
            Phase::Down { .. } => self.connect(index),
            Phase::Connecting { .. } => self.connect_failed(index, &io::ErrorKind::TimedOut.into()),
            Phase::Handshaking { .. } => {
                let text = format!(
                    "accepted the connection but the TLS handshake was not complete within {}: is \
                     that a TLS port?",
                    plan.connect_timeout
                );
                self.greeting_failed(index, FailureKind::TimedOut, text)
            }
            Phase::Greeting { since, .. } if P::DATAGRAMS => self.greet_again(index, *since),
            Phase::Greeting { .. } => {
                let limit = plan.connect_timeout;
                let flight = self.conns[index].flights.front();
                let text = match flight.is_some_and(|flight| flight.first != Moment::NONE) {
                    true => format!(
                        "began to answer, but the answer was not complete within {limit}: take a longer \
                         time-out where the line is slow"
                    ),
                    false => format!("accepted the connection but did not answer within {limit}"),
                };
                self.greeting_failed(index, FailureKind::TimedOut, text)
            }
            Phase::Open { .. } => {
                if self.conns[index].resume_at.get().is_some_and(|at| at <= self.now) {
                    self.ready_for_work(index);
                } else if P::DATAGRAMS {
                    self.give_up(index);
                } else if P::MULTIPLEXED {
                    self.give_up_one(index);
                } else {
                    self.lose(index, FailureKind::TimedOut);
                }
                self.ask_wake(index);
                Ok(())
            }
            Phase::Finished => Ok(()),
        }
    }

    pub(super) fn connect_failed(
        &mut self,
        index: usize,
        error: &io::Error,
    ) -> Result<(), EngineError> {
        if self.never_stood() {
            let limit = self.job.plan.connect_timeout;
            return Err(EngineError::connect_within(
                self.endpoint(index).to_string(),
                error,
                limit,
            ));
        }
        self.not_connected(index, connect_failure(error));
        Ok(())
    }

    pub(super) fn greeting_failed(
        &mut self,
        index: usize,
        kind: FailureKind,
        complaint: String,
    ) -> Result<(), EngineError> {
        if self.never_stood() {
            let address = self.endpoint(index).to_string();
            return Err(EngineError::Greeting { address, complaint, kind });
        }
        if kind == FailureKind::HandshakeFailed {
            self.keep_complaint(index, &complaint);
        }
        self.not_connected(index, kind);
        Ok(())
    }

    /// Keeps what was wrong with a handshake: its failure is counted without words.
    pub(super) fn keep_complaint(&mut self, index: usize, complaint: &str) {
        if self.handshake_complaint.is_none() {
            self.handshake_complaint = Some(format!("{} {complaint}", self.endpoint(index)));
        }
    }

    /// A connection could not be made. What waits for one beside a user's own fails with it; a
    /// user's own is tried again, and the failure is that of the connection.
    fn not_connected(&mut self, index: usize, kind: FailureKind) {
        if self.is_aside(index) {
            return self.fail_waiting(index, kind);
        }
        self.recorder.connect_failures.count(kind);
        let unprocessed = match P::SCRIPTED {
            true => std::mem::take(&mut self.conns[index].unprocessed),
            false => Vec::new(),
        };
        self.drop_connection(index);
        for flight in unprocessed {
            self.in_flight -= 1;
            self.fail_unsent(index, flight, kind);
        }
        self.give_up_unprocessed(index);
    }

    /// True as long as nothing was measured: what fails then leaves no record.
    fn never_stood(&self) -> bool {
        self.window.is_none() || self.nobody_came()
    }

    /// Ends this life of a connection, and plans the next.
    pub(super) fn drop_connection(&mut self, index: usize) {
        let stood = self.conns[index].open();
        self.close(index);
        let conn = &mut self.conns[index];
        let again = self.now + conn.backoff_ns();
        conn.attempts = conn.attempts.saturating_add(1);
        conn.answered = false;
        conn.lives = conn.lives.wrapping_add(1);
        let retry_at = again.max(self.needs_none_before(index));
        self.conns[index].phase = Phase::Down { retry_at };
        // without one beside their own users go on
        let lost = !self.may_be_lost(stood) && !self.is_aside(index);
        if lost && self.opened == 0 && self.down_since.is_none() {
            self.down_since = Some(self.now);
        }
        self.ask_wake(index);
    }

    /// Ends this life of a connection.
    pub(super) fn close(&mut self, index: usize) {
        let conn = &mut self.conns[index];
        if let Some(channel) = conn.phase.channel() {
            self.watch.gone(index, channel.socket());
        }
        self.opened -= usize::from(conn.open());
        if let Some(stamps) = &mut self.stamps {
            stamps.closed(index, &mut self.recorder);
        }
        self.in_flight -= conn.flights.len();
        conn.flights.clear();
        conn.wire = P::Wire::default();
        conn.generation = conn.generation.wrapping_add(1);
    }

    pub(super) fn ask_wake(&mut self, index: usize) {
        let plan = self.job.plan;
        let conn = &mut self.conns[index];
        let at = conn.deadline(plan.connect_timeout.ns(), plan.operation_timeout.ns());
        if let Some(at) = at {
            self.timers.ask(&mut conn.wake, index, at);
        }
    }

    fn take_phase(&mut self, index: usize) -> Phase<L> {
        std::mem::replace(&mut self.conns[index].phase, Phase::Down { retry_at: u64::MAX })
    }
}
