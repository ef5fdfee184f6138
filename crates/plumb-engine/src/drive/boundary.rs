//! Which operations the recorded part holds, and where it ends.
//!
//! An operation belongs to the part in which it was due. One that was due in the warm-up and hangs
//! would be in no figure then, however long its connection stood still for it: it is recorded when
//! it ends behind the warm-up without an answer. It makes that part no longer. An answer to it, right
//! or wrong and however late, is one of the warm-up: the part does not hold the time that it took, and
//! so cannot say how many of these there are in a second. Those that are longer than all of the part
//! are told.

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

impl<P: Protocol, L: Link, T: Time> Drive<'_, P, L, T> {
    /// `flight` ends so: notes when, and says whether it is recorded.
    #[inline]
    pub(super) fn ends(&mut self, flight: &mut Flight, outcome: Outcome) {
        self.any_done = true;
        if flight.counts || !self.window.is_some_and(|window| window.has_an_end()) {
            self.last_done = self.now;
        }
        if !flight.counts && self.is_hanging(outcome) {
            flight.counts = self.counts(self.now);
        }
    }

    /// True of an operation that kept somebody waiting and had no answer. A datagram that is lost keeps
    /// nobody waiting where others are sent at a rate.
    fn is_hanging(&self, outcome: Outcome) -> bool {
        match outcome {
            Outcome::Failed(FailureKind::Lost) => self.pacer.is_none(),
            Outcome::Failed(kind) => !kind.is_of_an_answer(),
            Outcome::Ok | Outcome::Refused => false,
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
