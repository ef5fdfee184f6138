//! What the script of a user says of an operation that has ended.

use plumb_link::Link;
use plumb_measure::{Answer, Moments, Recorder};
use plumb_socket::Time;

use super::Drive;
use crate::flight::Flight;
use crate::protocol::{After, OpEnd, Protocol};

/// Records what is complete.
pub(super) fn record_groups<P: Protocol>(protocol: &mut P, recorder: &mut Recorder) {
    while let Some(group) = protocol.complete() {
        let took = group.took_ns;
        let moments = Moments { due: 0, sent: 0, first: took, last: took };
        let answer = Answer { outcome: group.outcome, ..Answer::ok(0) };
        recorder.record_group(group.row, moments, answer);
    }
}

/// Tells the protocol of a script that an operation has ended with an answer, which it may change
/// with its row: what its user does next.
pub(super) fn settled<P: Protocol>(
    (protocol, recorder): (&mut P, &mut Recorder),
    user: &mut P::User,
    flight: &mut Flight,
    moments: Moments,
    answer: &mut Answer,
) -> Option<After> {
    if !P::SCRIPTED {
        return None;
    }
    let mut end = OpEnd::of(flight, moments, *answer);
    protocol.moment(moments.last);
    let after = protocol.settle(user, &mut end);
    record_groups(protocol, recorder);
    *answer = end.answer;
    flight.op = end.op;
    Some(after)
}

impl OpEnd {
    /// The end of `flight` with `answer`.
    fn of(flight: &Flight, moments: Moments, answer: Answer) -> Self {
        Self {
            op: flight.op,
            answer,
            took_ns: moments.last.saturating_sub(moments.sent),
            response_ns: moments.last.saturating_sub(moments.due),
            counts: flight.counts,
        }
    }
}

impl<P: Protocol, L: Link, T: Time> Drive<'_, P, L, T> {
    /// Tells the protocol that an operation has ended without an answer.
    pub(super) fn settle(&mut self, index: usize, flight: &mut Flight, answer: Answer) -> Answer {
        if !P::SCRIPTED {
            return answer;
        }
        let mut end = OpEnd::of(flight, flight.moments(self.now), answer);
        let owner = self.conns[index].owner;
        self.protocol.moment(self.now);
        let after = self.protocol.settle(&mut self.users[owner], &mut end);
        record_groups(&mut self.protocol, &mut self.recorder);
        self.follow(owner, after);
        flight.op = end.op;
        end.answer
    }
}
