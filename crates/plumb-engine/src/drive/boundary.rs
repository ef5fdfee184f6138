//! Which operations the recorded part holds, and where it ends.
//!
//! An operation belongs to the part in which it was due. One that was due in the warm-up and hangs
//! would be in no figure then, however long its connection stood still for it: it is recorded when
//! it ends behind the warm-up without an answer, or has none until the recorded part is over. It
//! makes that part no longer.

use plumb_link::Link;
use plumb_measure::Outcome;
use plumb_socket::Time;

use super::due::Dues;
use super::{Drive, Window};
use crate::conn::Conn;
use crate::flight::Flight;
use crate::protocol::Protocol;

impl Window {
    /// The plan says when it ends, or after how many operations; else it ends with its users.
    fn has_an_end(&self) -> bool {
        self.until.is_some() || self.count.is_some()
    }

    /// The plan gave it a time, and that has passed at `now`.
    fn has_passed(&self, now: u64) -> bool {
        self.until.is_some_and(|until| now >= until)
    }
}

impl<P: Protocol, L: Link, T: Time> Drive<'_, P, L, T> {
    /// The answer to `flight` is complete: says whether it is recorded, and notes when it ended.
    #[inline]
    pub(super) fn ends_with_answer(&mut self, flight: &mut Flight) {
        self.note_end(flight);
        if !flight.counts {
            flight.counts = self.comes_too_late();
        }
    }

    /// The same of one that ends without an answer, or with what its connection made of one.
    pub(super) fn ends_with_connection(&mut self, flight: &mut Flight, outcome: Outcome) {
        self.note_end(flight);
        if !flight.counts {
            let failed = matches!(outcome, Outcome::Failed(_)) && self.counts(self.now);
            flight.counts = failed || self.comes_too_late();
        }
    }

    /// True when the recorded part is over.
    #[cold]
    fn comes_too_late(&mut self) -> bool {
        let now = self.now;
        self.window.is_some_and(|window| window.has_passed(now)) && self.counts(now)
    }

    #[inline]
    fn note_end(&mut self, flight: &Flight) {
        self.any_done = true;
        if flight.counts || !self.window.is_some_and(|window| window.has_an_end()) {
            self.last_done = self.now;
        }
    }

    /// True when the recorded part is over, and whatever is still under way was due in the warm-up.
    pub(super) fn is_past_recorded(&self) -> bool {
        let next = self.pacer.as_ref().map_or(self.now, Dues::next_due);
        let counts = |conn: &Conn<P, L>| {
            conn.flights.iter().chain(&conn.unprocessed).any(|flight| flight.counts)
        };
        self.window.is_some_and(|window| window.has_an_end())
            && self.backlog.is_empty()
            && !self.may_begin(next)
            && !self.conns.iter().any(counts)
    }
}
