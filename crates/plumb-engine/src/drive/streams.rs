//! Connections on which several operations are under way, and answers come in any order.

use plumb_link::Link;
use plumb_measure::{Answer, FailureKind};
use plumb_socket::Time;

use super::Drive;
use crate::flight::{Flight, Moment};
use crate::protocol::Protocol;

impl<P: Protocol, L: Link, T: Time> Drive<'_, P, L, T> {
    /// True when the other side takes another operation on connection `index`.
    #[inline]
    pub(super) fn takes_more(&self, index: usize) -> bool {
        !P::MULTIPLEXED || self.protocol.takes_more(&self.conns[index].wire)
    }

    /// The answer to the operation at this place, counted from the oldest, has begun.
    #[inline]
    pub(super) fn begins(&mut self, index: usize, place: usize) {
        let flight = self.conns[index].flights.get_mut(place);
        if let Some(flight) = flight.filter(|flight| flight.first == Moment::NONE) {
            flight.first = Moment::at(self.now);
        }
    }

    /// Notes which answers have begun and are not complete.
    pub(super) fn note_begun(&mut self, index: usize) {
        while let Some(tag) = self.protocol.begun(&mut self.conns[index].wire) {
            if let Some(place) = self.conns[index].flights.place_of(tag) {
                self.begins(index, place);
            }
        }
    }

    /// The operation under way with this tag: the oldest, as a rule.
    #[inline]
    pub(super) fn take_flight(&mut self, index: usize, tag: u16) -> Option<Flight> {
        let flights = &mut self.conns[index].flights;
        let place = flights.place_of(tag)?;
        flights.remove(place)
    }

    /// The oldest operation has had no answer in time. The others go on, unless the connection seems
    /// to be dead.
    pub(super) fn give_up_one(&mut self, index: usize) {
        let conn = &mut self.conns[index];
        let Some(op) = conn.flights.front().map(|flight| flight.op) else { return };
        if !self.protocol.cancel(&mut conn.wire, op, &mut self.requests) {
            self.requests.clear(); // nobody will read it
            return self.lose(index, FailureKind::TimedOut);
        }
        let flight = conn.flights.pop_front();
        self.send(index);
        if let Some(flight) = flight {
            self.in_flight -= 1;
            self.book(index, flight, Answer::failed(FailureKind::TimedOut));
        }
        self.ready_for_work(index);
    }

    /// Connection `index` cannot be made: what an earlier life of it did nothing for fails once its time is
    /// over.
    pub(super) fn give_up_unprocessed(&mut self, index: usize) {
        let (now, limit_ns) = (self.now, self.job.plan.operation_timeout.ns());
        let unprocessed = &mut self.conns[index].unprocessed;
        let over: Vec<Flight> =
            unprocessed.extract_if(.., |flight| flight.is_overdue(now, limit_ns)).collect();
        for flight in over {
            self.in_flight -= 1;
            self.book(index, flight, Answer::failed(FailureKind::TimedOut));
        }
    }

    /// Asks for what an earlier life of connection `index` did nothing for. Each operation stays due
    /// since it was; one whose time is over fails.
    pub(super) fn ask_again(&mut self, index: usize) {
        let limit_ns = self.job.plan.operation_timeout.ns();
        while !self.conns[index].unprocessed.is_empty() {
            let conn = &mut self.conns[index];
            if !conn.open() || !self.protocol.takes_more(&conn.wire) {
                break;
            }
            let mut flight = conn.unprocessed.remove(0);
            let since = flight.since().unwrap_or(self.now);
            if flight.is_overdue(self.now, limit_ns) {
                self.in_flight -= 1;
                self.book(index, flight, Answer::failed(FailureKind::TimedOut));
                continue;
            }
            let (user, out) = (&mut self.users[conn.owner], &mut self.requests);
            flight.op = self.protocol.encode_again(user, &mut conn.wire, flight.op, out);
            flight.due = Moment::at(since);
            (flight.sent, flight.first) = (Moment::NONE, Moment::NONE);
            conn.flights.push_back(flight);
        }
        if !self.requests.is_empty() {
            self.send(index);
        }
    }
}
