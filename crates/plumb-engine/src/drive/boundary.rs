//! Which operations the recorded part holds, and where it ends.
//!
//! An operation belongs to the part in which it was due. One that was due in the warm-up and hangs
//! would be in no figure then, however long its connection stood still for it: it is recorded when
//! it ends behind the warm-up without an answer. It makes that part no longer. An answer to it,
//! however late, is one of the warm-up: the part does not hold the time that it took, and so cannot
//! say how many of these there are in a second. Those that are longer than all of the part are told.

use plumb_link::Link;
use plumb_measure::{FailureKind, Outcome};
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
}

/// True of an operation that kept its connection waiting and came to nothing. A datagram that is
/// lost does not: losses are counted as answers are, by when they were due.
fn is_hanging(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Failed(kind) if kind != FailureKind::Lost)
}

impl<P: Protocol, L: Link, T: Time> Drive<'_, P, L, T> {
    /// `flight` ends without an answer, or with what its connection made of one: says whether it is
    /// recorded, and notes when it ended.
    pub(super) fn ends_with_connection(&mut self, flight: &mut Flight, outcome: Outcome) {
        self.note_end(flight);
        if !flight.counts {
            flight.counts = is_hanging(outcome) && self.counts(self.now);
        }
    }

    /// `flight` ends now.
    #[inline]
    pub(super) fn note_end(&mut self, flight: &Flight) {
        self.any_done = true;
        if flight.counts || !self.window.is_some_and(|window| window.has_an_end()) {
            self.last_done = self.now;
        }
    }

    /// An operation of the warm-up was answered now.
    pub(super) fn answered_of_warm_up(&mut self) {
        self.warm_up_operations += 1;
        if self.counts(self.now) && self.is_past_recorded() {
            self.recorder.outlasting += 1;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_that_is_lost_hangs_nowhere() {
        assert!(is_hanging(Outcome::Failed(FailureKind::TimedOut)));
        assert!(is_hanging(Outcome::Failed(FailureKind::Closed)));
        assert!(!is_hanging(Outcome::Failed(FailureKind::Lost)));
        assert!(!is_hanging(Outcome::Ok));
    }
}
