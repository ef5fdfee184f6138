//! Operations that end without an answer, because their connection does.

use std::io;

use plumb_link::{Link, tls};
use plumb_measure::{Answer, FailureKind, Outcome};
use plumb_socket::{Time, connect_failure};

use super::Drive;
use crate::EngineError;
use crate::flight::Flight;
use crate::operations::Ended;
use crate::protocol::Protocol;

impl<P: Protocol, L: Link, T: Time> Drive<'_, P, L, T> {
    /// The other side will send nothing more.
    pub(super) fn ended(&mut self, index: usize) -> Result<(), EngineError> {
        let conn = &mut self.conns[index];
        if !conn.open() {
            return self.fail(index, FailureKind::Closed);
        }
        let Some(flight) = conn.flights.pop_front() else {
            self.recorder.quiet_closes += 1;
            self.drop_connection(index);
            return Ok(());
        };
        self.in_flight -= 1;
        conn.attempts = 0;
        let user = &mut self.users[conn.owner];
        let answer = self.protocol.eof(user, &mut conn.wire, flight.op);
        self.book(index, flight, answer);
        self.restart(index);
        Ok(())
    }

    pub(super) fn broken(&mut self, index: usize, error: &io::Error) -> Result<(), EngineError> {
        if tls::speaks(error) {
            let kind = FailureKind::HandshakeFailed;
            let complaint = error.to_string();
            if !self.conns[index].open() {
                return self.greeting_failed(index, kind, complaint);
            }
            if !self.any_done {
                // a server may refuse a client only after the handshake, from the client's side
                let address = self.endpoint(index).to_string();
                return Err(EngineError::Greeting { address, complaint, kind });
            }
            if self.conns[index].answered {
                return self.fail(index, FailureKind::Garbled);
            }
            self.keep_complaint(index, &complaint);
            return self.fail(index, kind);
        }
        if P::DATAGRAMS && !self.conns[index].open() {
            return self.connect_failed(index, error);
        }
        let kind = match error.kind() {
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => FailureKind::Reset,
            io::ErrorKind::TimedOut => FailureKind::TimedOut,
            _ if P::DATAGRAMS => connect_failure(error),
            _ => FailureKind::Closed,
        };
        self.fail(index, kind)
    }

    pub(super) fn fail(&mut self, index: usize, kind: FailureKind) -> Result<(), EngineError> {
        if self.conns[index].open() {
            self.lose(index, kind);
            return Ok(());
        }
        let said = || match kind {
            FailureKind::Closed | FailureKind::Reset => self
                .protocol
                .ungreeted()
                .unwrap_or_else(|| "closed the connection before it answered".into()),
            _ => "did not answer as the protocol demands".into(),
        };
        let complaint = self.protocol.complaint().unwrap_or_else(said);
        self.greeting_failed(index, kind, complaint)
    }

    /// Books what was under way on an open connection as failed, the oldest as `kind`. Where nothing was,
    /// bytes that are wrong are an answer that nobody asked for; anything else is how the other side ends a
    /// connection that is not needed.
    pub(super) fn lose(&mut self, index: usize, kind: FailureKind) {
        match self.conns[index].flights.pop_front() {
            None if kind == FailureKind::Garbled => self.recorder.unasked += 1,
            None => self.recorder.quiet_closes += 1,
            Some(flight) => {
                self.in_flight -= 1;
                self.conns[index].attempts = 0;
                self.book(index, flight, Answer::failed(kind));
            }
        }
        self.restart(index);
    }

    /// Ends a connection; what is still under way on it was closed.
    pub(super) fn restart(&mut self, index: usize) {
        while let Some(flight) = self.conns[index].flights.pop_front() {
            self.in_flight -= 1;
            self.book(index, flight, Answer::failed(FailureKind::Closed));
        }
        if self.conns[index].phase.channel().is_some() {
            self.drop_connection(index); // its user may have left already
        }
        if self.is_aside(index) {
            self.go_on(self.conns[index].owner);
        }
    }

    /// Records an operation that ended with its connection, or with no answer.
    pub(super) fn book(&mut self, index: usize, mut flight: Flight, answer: Answer) {
        self.ends(&mut flight, answer.outcome);
        self.delay_next(index);
        let moments = flight.moments(self.now);
        let answer = self.settle(index, &mut flight, answer);
        let (row, counts) = (flight.op.label, flight.counts);
        let number = self.number(index);
        self.outlet.tell(number, || Ended { row, counts, moments, answer });
        if !counts {
            match answer.outcome {
                Outcome::Failed(kind) if !kind.is_of_an_answer() => self.warm_up_operations += 1,
                Outcome::Failed(_) | Outcome::Refused | Outcome::Ok => self.answered_of_warm_up(),
            }
            return;
        }
        self.recorder.record(row, moments, answer);
    }
}
