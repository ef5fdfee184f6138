//! Users that follow scripts: when each takes part, and what it does between two requests.
//!
//! Nothing else in the loop asks whether they do: it calls what is here, which does nothing, and
//! compiles to nothing, for a protocol whose users ask whenever they may.

use plumb_link::Link;
use plumb_measure::user_schedule::{Calendar, UserSchedule};
use plumb_measure::{Answer, FailureKind, real};
use plumb_socket::Time;

use super::due::Dues;
use super::settle::record_groups;
use super::{Drive, Window};
use crate::conn::{Conn, Phase};
use crate::flight::{Flight, Moment};
use crate::plan::Share;
use crate::protocol::{After, Next, Protocol};

/// Rest of a user whose script asked for nothing, or whose request could not be made: a script
/// that never sends anything must not keep the loop from everything else.
pub(super) const NOTHING_SENT_NS: u64 = 10_000_000;

/// The number of user `index` of a thread among the users of all threads.
pub(super) fn number<P: Protocol>(share: Share, index: usize) -> usize {
    let number = if P::SCRIPTED { share.dealt(index) } else { share.user(index) };
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl<P: Protocol, L: Link, T: Time> Drive<'_, P, L, T> {
    /// How many users connect before anything begins: those of scripts do when they begin.
    pub(super) fn connect_first(&self) -> usize {
        if P::SCRIPTED { 0 } else { self.conns.len() }
    }

    /// Everybody is ready at `start`: says who begins when. False when there are no scripts.
    pub(super) fn muster(&mut self, start: u64) -> bool {
        if !P::SCRIPTED {
            return false;
        }
        self.start = start;
        if let Some(UserSchedule::Arrivals(rate, spread)) = self.job.user_schedule {
            let part = (self.job.share.index, self.job.share.of);
            self.pacer = Some(Dues::Calendar(Calendar::new(rate, *spread, start, part)));
            for (index, conn) in self.conns.iter_mut().enumerate() {
                (conn.script.resting, conn.queued) = (true, true);
                conn.phase = Phase::Down { retry_at: u64::MAX };
                self.free.push_back(index);
            }
            return true;
        }
        for index in 0..self.conns.len() {
            let begins = self.next_turn(index, start);
            self.plan_beginning(index, begins);
        }
        true
    }

    /// A connection stands whose transport is known: a load of scripts begins with the first of
    /// them, any other when all stand.
    pub(super) fn first_stands(&mut self, first: bool) {
        if P::SCRIPTED && first {
            self.outlet.begin(self.proofs.transports().first().cloned());
        }
    }

    /// True as long as no connection of a load of scripts has stood.
    pub(super) fn nobody_came(&self) -> bool {
        P::SCRIPTED && !self.stood
    }

    /// True when losing a connection that `stood` is nothing: a server may end what is idle.
    pub(super) fn may_be_lost(&self, stood: bool) -> bool {
        P::SCRIPTED && stood
    }

    /// Before when connection `index` is not needed: its user pauses or rests, or has others.
    pub(super) fn needs_none_before(&self, index: usize) -> u64 {
        if !P::SCRIPTED {
            return 0;
        }
        let conn = &self.conns[index];
        if !conn.unprocessed.is_empty() {
            return 0;
        }
        match conn.script.resting || conn.owner != index {
            true => u64::MAX,
            false => conn.resume_at.get().max(conn.script.begins.get()).unwrap_or(0),
        }
    }

    /// True when users ask as soon as they may; else what is due finds one that is free.
    pub(super) fn asks_at_once(&self) -> bool {
        P::SCRIPTED || self.pacer.is_none()
    }

    /// True when user `index` waits for its next script.
    pub(super) fn rests(&self, index: usize) -> bool {
        P::SCRIPTED && self.conns[index].script.resting
    }

    /// Whether user `index` was kept from what it does now by a connection, or by its last script.
    pub(super) fn take_waited(&mut self, index: usize) -> bool {
        P::SCRIPTED && std::mem::take(&mut self.conns[index].script.waited)
    }

    /// True when an operation that is due at `due` and begins now was kept waiting by the loop.
    pub(super) fn lags(&self, due: u64) -> bool {
        !P::SCRIPTED || self.may_begin(due)
    }

    /// When an operation takes its place in the plan: what was due in time belongs to a script's
    /// load even if the loop is a little late.
    pub(super) fn place_of(&self, due: Option<u64>) -> u64 {
        due.filter(|_| P::SCRIPTED).unwrap_or(self.now)
    }

    /// Does what the user does after an answer; true when it has left.
    pub(super) fn left_after(&mut self, index: usize, after: Option<After>) -> bool {
        match after {
            Some(after) if P::SCRIPTED => {
                self.follow(self.conns[index].owner, after);
                self.conns[index].phase.channel().is_none()
            }
            _ => false,
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
                conn.script.begins = Moment::at(at);
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
        if !P::SCRIPTED || !self.conns[index].unprocessed.is_empty() {
            return true;
        }
        let conn = &self.conns[index];
        let due = conn.script.begins.get().or(conn.resume_at.get());
        if !self.may_begin(due.unwrap_or(self.now)) {
            self.conns[index].phase = Phase::Down { retry_at: u64::MAX }; // the time is over
            return false;
        }
        if let Some(begins) = self.conns[index].script.begins.get()
            && !std::mem::replace(&mut self.conns[index].script.here, true)
            && self.counts(begins)
        {
            self.recorder.lag.record(self.now.saturating_sub(begins));
        }
        self.conns[index].script.begins != Moment::NONE || self.resumes(index)
    }

    /// Whether user `index`, who has begun and has no connection, has something to ask.
    fn resumes(&mut self, index: usize) -> bool {
        for _ in 0..2 {
            self.protocol.moment(self.now);
            let after = self.protocol.resume(&mut self.users[index]);
            record_groups(&mut self.protocol, &mut self.recorder);
            match after {
                After::Go => return true,
                After::Wait => {
                    self.conns[index].phase = Phase::Down { retry_at: u64::MAX };
                    return false;
                }
                After::Pause(ns) => {
                    self.sleep(index, ns);
                    return false;
                }
                After::Turn | After::Finish => self.follow(index, after),
            }
            let conn = &mut self.conns[index];
            if conn.script.resting {
                conn.phase = Phase::Down { retry_at: u64::MAX };
            }
            if !conn.script.here {
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
        if !P::SCRIPTED {
            return;
        }
        let conn = &mut self.conns[index];
        if conn.owner != index {
            return;
        }
        conn.script.waited = true;
        if let Some(begins) = std::mem::replace(&mut conn.script.begins, Moment::NONE).get() {
            self.recorder.start_up.record(self.now.saturating_sub(begins));
        }
    }

    /// Open load: user `index`, who is free, begins the script that is due at `due`. False when
    /// there are no scripts.
    pub(super) fn begin_script(&mut self, index: usize, due: u64) -> bool {
        if !P::SCRIPTED {
            return false;
        }
        let late = self.starved > 0;
        let conn = &mut self.conns[index];
        conn.script.resting = false;
        conn.resume_at = Moment::at(due);
        conn.script.here = true;
        conn.script.waited = late;
        if conn.open() {
            self.ready_for_work(index);
        } else {
            conn.script.begins = Moment::at(due);
            conn.phase = Phase::Down { retry_at: self.now };
            self.ask_wake(index);
        }
        true
    }

    /// Encodes what user `index` does next; false when that is no request. `None` when there are no
    /// scripts.
    pub(super) fn play(&mut self, index: usize, due: Option<u64>, counts: bool) -> Option<bool> {
        P::SCRIPTED.then(|| {
            let begun = self.play_on(index, due, counts);
            if P::MULTIPLEXED && !begun {
                self.send_together(index);
            }
            begun
        })
    }

    fn play_on(&mut self, index: usize, due: Option<u64>, counts: bool) -> bool {
        let mut turns = 0;
        while turns < 2 {
            let conn = &mut self.conns[index];
            if !conn.open() || conn.script.resting {
                return false;
            }
            let user = &mut self.users[index];
            self.protocol.moment(self.now);
            let next = self.protocol.encode(user, &mut conn.wire, &mut self.requests);
            record_groups(&mut self.protocol, &mut self.recorder);
            match next {
                Next::Send(op) => {
                    conn.flights.push_back(Flight::new(op, counts, due));
                    self.in_flight += 1;
                    return true;
                }
                Next::SendOver { route, op, more } => {
                    self.send_over(index, route, Flight::new(op, counts, due));
                    if !more {
                        return false;
                    }
                }
                Next::Wait => return false,
                Next::Pause(ns) => {
                    self.pause(index, ns);
                    return false;
                }
                Next::Turn => {
                    turns += 1;
                    self.follow(index, After::Turn); // and the next script, if it is due
                }
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
    pub(super) fn fail_unsent(&mut self, index: usize, flight: Flight, kind: FailureKind) {
        self.book(index, flight, Answer::failed(kind));
        let conn = &self.conns[index];
        if conn.open() && !conn.script.resting {
            let resumes = conn.resume_at.get().unwrap_or(0);
            self.pause(index, resumes.saturating_sub(self.now).max(NOTHING_SENT_NS));
        }
    }

    /// Does what a user does after an operation.
    pub(super) fn follow(&mut self, index: usize, after: After) {
        match after {
            After::Go | After::Wait => {}
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
            (conn.script.resting, conn.queued, conn.script.here) = (true, true, false);
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
        self.close_others(index);
        let conn = &mut self.conns[index];
        conn.script.here = false;
        conn.resume_at = Moment::NONE;
    }

    /// Notes how many users take part now, when `due`.
    pub(super) fn count_users(&mut self, due: bool) {
        if P::SCRIPTED && due {
            let present = self.conns.iter().filter(|conn| conn.script.here).count();
            self.outlet.users = present as u64;
        }
    }

    /// Whether all scripts are over; `None` when there are none.
    pub(super) fn scripts_are_over(&self, window: Window) -> Option<bool> {
        P::SCRIPTED.then(|| self.finished == self.users.len() || self.played_out(window))
    }

    /// True when the time of the plan is over and nothing is under way any more.
    fn played_out(&self, window: Window) -> bool {
        let over = window.until.is_some_and(|until| self.now >= until);
        over && self.in_flight == 0
            && !(self.backlog.front().is_some()
                && self.conns.iter().any(|conn| conn.script.resting))
            && !(self.pacer.is_some() && self.conns.iter().any(|conn| self.begins_now(conn)))
    }

    /// Whether a script that was due in time waits for nothing but its connection.
    fn begins_now(&self, conn: &Conn<P, L>) -> bool {
        conn.script.begins != Moment::NONE
            && match conn.phase {
                Phase::Down { retry_at } => retry_at <= self.now,
                Phase::Connecting { .. } | Phase::Handshaking { .. } | Phase::Greeting { .. } => {
                    true
                }
                Phase::Open { .. } | Phase::Finished => false,
            }
    }

    /// Scripts of an open load that were due and have not begun, at the end; `None` when there are
    /// no scripts.
    pub(super) fn left_behind(&self, window: Window) -> Option<u64> {
        if !P::SCRIPTED || self.pacer.is_none() {
            return P::SCRIPTED.then_some(0);
        }
        let counts = |due: u64| due >= window.from;
        let waiting = self.backlog.iter().filter(|due| counts(**due)).count();
        let connecting =
            self.conns.iter().filter(|conn| conn.script.begins.get().is_some_and(counts)).count();
        Some((waiting + connecting) as u64)
    }
}
