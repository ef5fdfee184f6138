//! Users that follow scripts: when each takes part, and what it does between two requests.

use plumb_measure::{Answer, FailureKind, Moments, Recorder, real};

use super::{Drive, Window};
use crate::conn::{Conn, Flight, Moment, Phase};
use crate::link::Link;
use crate::pacer::Pacer;
use crate::plan::Share;
use crate::poll::Time;
use crate::protocol::{After, Next, OpEnd, Protocol};
use crate::user_schedule::{Calendar, UserSchedule};

/// Rest of a user whose script asked for nothing, or whose request could not be made: a script
/// that never sends anything must not keep the loop from everything else.
const NOTHING_SENT_NS: u64 = 10_000_000;

/// When work is due that does not wait for answers.
#[derive(Debug)]
pub(super) enum Dues {
    /// Operations of a constant rate.
    Pacer(Pacer),
    /// Scripts.
    Calendar(Calendar),
}

impl Dues {
    pub(super) fn next_due(&self) -> u64 {
        match self {
            Self::Pacer(pacer) => pacer.next_due(),
            Self::Calendar(calendar) => calendar.next_due(),
        }
    }

    pub(super) fn take(&mut self, now: u64) -> Option<u64> {
        match self {
            Self::Pacer(pacer) => pacer.take(now),
            Self::Calendar(calendar) => calendar.take(now),
        }
    }

    pub(super) fn skip(&mut self, now: u64) -> u64 {
        match self {
            Self::Pacer(pacer) => pacer.skip(now),
            Self::Calendar(calendar) => calendar.skip(now),
        }
    }
}

/// The number of user `index` of a thread among the users of all threads.
pub(super) fn number<P: Protocol>(share: Share, index: usize) -> usize {
    if P::SCRIPTED {
        usize::try_from(share.dealt(index)).unwrap_or(usize::MAX)
    } else {
        share.first_user + index
    }
}

/// Records what is complete.
pub(super) fn record_groups<P: Protocol>(protocol: &mut P, recorder: &mut Recorder) {
    while let Some(stretch) = protocol.complete() {
        let took = stretch.took_ns;
        let moments = Moments { due: 0, sent: 0, first: took, last: took };
        let answer = Answer { outcome: stretch.outcome, ..Answer::ok(0) };
        recorder.record_stretch(stretch.row, moments, answer);
    }
}

impl OpEnd {
    /// The end of `flight` with `answer`.
    pub(super) fn of(flight: &Flight, moments: Moments, answer: Answer) -> Self {
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
    /// Everybody is ready at `start`: says who begins when.
    pub(super) fn muster(&mut self, start: u64) {
        self.start = start;
        if let Some(UserSchedule::Arrivals(rate, spread)) = self.job.user_schedule {
            let part = (self.job.share.index, self.job.share.of);
            self.pacer = Some(Dues::Calendar(Calendar::new(rate, *spread, start, part)));
            for (index, conn) in self.conns.iter_mut().enumerate() {
                (conn.resting, conn.queued) = (true, true);
                conn.phase = Phase::Down { retry_at: u64::MAX };
                self.free.push_back(index);
            }
            return;
        }
        for index in 0..self.conns.len() {
            let begins = self.next_turn(index, start);
            self.plan_beginning(index, begins);
        }
    }

    /// When user `index` takes part next, at `from` or later.
    fn next_turn(&self, index: usize, from: u64) -> Option<u64> {
        match self.job.user_schedule {
            Some(UserSchedule::Users(users)) => {
                let bound = real(number::<P>(self.job.share, index) as u64);
                let after = users.first_above(bound, from - self.start)?;
                Some(self.start.saturating_add(after))
            }
            Some(UserSchedule::Arrivals(..)) | None => Some(from),
        }
    }

    fn plan_beginning(&mut self, index: usize, begins: Option<u64>) {
        let conn = &mut self.conns[index];
        match begins.filter(|at| self.window.is_some_and(|w| w.until.is_none_or(|end| *at < end))) {
            Some(at) => {
                conn.begins = Moment::at(at);
                conn.phase = Phase::Down { retry_at: at };
                self.ask_wake(index);
            }
            None => {
                conn.phase = Phase::Finished;
                self.finished += 1;
            }
        }
    }

    /// Whether user `index`, who has no connection, wants one now; notes that it begins.
    pub(super) fn may_come(&mut self, index: usize) -> bool {
        let conn = &self.conns[index];
        let due = conn.begins.get().or(conn.resume_at.get());
        if !self.may_begin(due.unwrap_or(self.now)) {
            self.conns[index].phase = Phase::Down { retry_at: u64::MAX }; // the time is over
            return false;
        }
        if let Some(begins) = self.conns[index].begins.get()
            && !std::mem::replace(&mut self.conns[index].here, true)
            && self.counts(begins)
        {
            self.recorder.lag.record(self.now.saturating_sub(begins));
        }
        self.conns[index].begins != Moment::NONE || self.resumes(index)
    }

    /// Whether user `index`, who has begun and has no connection, has something to ask.
    fn resumes(&mut self, index: usize) -> bool {
        for _ in 0..2 {
            let after = self.protocol.resume(&mut self.conns[index].user);
            record_groups(&mut self.protocol, &mut self.recorder);
            match after {
                After::Go => return true,
                After::Pause(ns) => {
                    self.sleep(index, ns);
                    return false;
                }
                After::Turn | After::Finish => self.follow(index, after),
            }
            let conn = &mut self.conns[index];
            if conn.resting {
                conn.phase = Phase::Down { retry_at: u64::MAX };
            }
            if !conn.here {
                return false; // it has left, or waits for the next beginning
            }
        }
        self.sleep(index, NOTHING_SENT_NS);
        false
    }

    /// A pause of a user that has no connection.
    fn sleep(&mut self, index: usize, ns: u64) {
        let until = self.now.saturating_add(ns);
        self.conns[index].phase = Phase::Down { retry_at: until };
        self.pause(index, ns);
    }

    /// The connection of user `index` stands.
    pub(super) fn stands(&mut self, index: usize) {
        let conn = &mut self.conns[index];
        conn.waited = true;
        if let Some(begins) = std::mem::replace(&mut conn.begins, Moment::NONE).get() {
            self.recorder.start_up.record(self.now.saturating_sub(begins));
        }
    }

    /// Open load: user `index`, who is free, begins the script that is due at `due`.
    pub(super) fn begin_script(&mut self, index: usize, due: u64) {
        let late = self.starved > 0;
        let conn = &mut self.conns[index];
        conn.resting = false;
        conn.resume_at = Moment::at(due);
        conn.here = true;
        conn.waited = late;
        if conn.open() {
            self.ready_for_work(index);
        } else {
            conn.begins = Moment::at(due);
            conn.phase = Phase::Down { retry_at: self.now };
            self.ask_wake(index);
        }
    }

    /// Encodes what user `index` does next; false when that is no request.
    pub(super) fn play(&mut self, index: usize, due: Option<u64>, counts: bool) -> bool {
        for _ in 0..2 {
            let conn = &mut self.conns[index];
            if !conn.open() || conn.resting {
                return false;
            }
            let next = self.protocol.encode(&mut conn.user, &mut conn.wire, &mut self.requests);
            record_groups(&mut self.protocol, &mut self.recorder);
            match next {
                Next::Send(op) => {
                    conn.flights.push_back(Flight::new(op, counts, due));
                    self.in_flight += 1;
                    return true;
                }
                Next::Pause(ns) => {
                    self.pause(index, ns);
                    return false;
                }
                Next::Turn => self.follow(index, After::Turn), // and the next script, if it is due
                Next::Fail(op, kind) => {
                    self.requests.clear();
                    self.fail_unsent(index, Flight::new(op, counts, due), kind);
                    return false;
                }
                Next::Finish => {
                    self.follow(index, After::Finish);
                    return false;
                }
            }
        }
        self.pause(index, NOTHING_SENT_NS);
        false
    }

    fn pause(&mut self, index: usize, ns: u64) {
        self.conns[index].resume_at = Moment::at(self.now.saturating_add(ns));
        self.ask_wake(index);
    }

    /// An operation that could not even be asked for.
    fn fail_unsent(&mut self, index: usize, flight: Flight, kind: FailureKind) {
        self.book(index, flight, Answer::failed(kind));
        let conn = &self.conns[index];
        if conn.open() && !conn.resting {
            let resumes = conn.resume_at.get().unwrap_or(0);
            self.pause(index, resumes.saturating_sub(self.now).max(NOTHING_SENT_NS));
        }
    }

    /// Tells the protocol that an operation has ended without an answer.
    pub(super) fn settle(&mut self, index: usize, flight: &Flight, answer: Answer) -> Answer {
        let mut end = OpEnd::of(flight, flight.moments(self.now), answer);
        let user = &mut self.conns[index].user;
        let after = self.protocol.settle(user, &mut end);
        record_groups(&mut self.protocol, &mut self.recorder);
        self.follow(index, after);
        end.answer
    }

    /// Does what a user does after an operation.
    pub(super) fn follow(&mut self, index: usize, after: After) {
        match after {
            After::Go => {}
            After::Pause(ns) => {
                self.conns[index].resume_at = Moment::at(self.now.saturating_add(ns));
            }
            After::Turn => self.turn_over(index),
            After::Finish => {
                self.leave(index);
                self.plan_beginning(index, None);
            }
        }
    }

    /// The script of user `index` is at its end.
    fn turn_over(&mut self, index: usize) {
        if self.pacer.is_some() {
            let conn = &mut self.conns[index];
            (conn.resting, conn.queued, conn.here) = (true, true, false);
            self.free.push_front(index); // whoever has a connection is asked first
            return;
        }
        let next = self.next_turn(index, self.now);
        if next != Some(self.now) {
            self.leave(index);
            self.plan_beginning(index, next);
        }
    }

    /// User `index` takes part no longer.
    fn leave(&mut self, index: usize) {
        self.close(index);
        let conn = &mut self.conns[index];
        conn.here = false;
        conn.resume_at = Moment::NONE;
    }

    /// Users that take part now.
    pub(super) fn present(&self) -> u64 {
        self.conns.iter().filter(|conn| conn.here).count() as u64
    }

    /// True when the time of the plan is over and nothing is under way any more.
    pub(super) fn played_out(&self, window: Window) -> bool {
        let over = window.until.is_some_and(|until| self.now >= until);
        over && self.in_flight == 0
            && !(self.backlog.front().is_some() && self.conns.iter().any(|conn| conn.resting))
            && !(self.pacer.is_some() && self.conns.iter().any(|conn| self.begins_now(conn)))
    }

    /// Whether a script that was due in time waits for nothing but its connection.
    fn begins_now(&self, conn: &Conn<P, L>) -> bool {
        conn.begins != Moment::NONE
            && match conn.phase {
                Phase::Down { retry_at } => retry_at <= self.now,
                Phase::Connecting { .. } | Phase::Handshaking { .. } | Phase::Greeting { .. } => {
                    true
                }
                Phase::Open { .. } | Phase::Finished => false,
            }
    }

    /// Scripts of an open load that were due and have not begun, at the end.
    pub(super) fn left_behind(&self, window: Window) -> u64 {
        if self.pacer.is_none() {
            return 0;
        }
        let counts = |due: u64| due >= window.from;
        let waiting = self.backlog.iter().filter(|due| counts(**due)).count();
        let connecting =
            self.conns.iter().filter(|conn| conn.begins.get().is_some_and(counts)).count();
        (waiting + connecting) as u64
    }
}
