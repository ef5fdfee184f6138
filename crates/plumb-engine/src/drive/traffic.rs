//! Requests out, answers in.

use plumb_link::Link;
use plumb_measure::{Answer, FailureKind, Outcome};
use plumb_socket::{Time, acknowledge_at_once};

use super::script::NOTHING_SENT_NS;
use super::slow::SlowOp;
use super::{Drive, script, settle};
use crate::EngineError;
use crate::channel::{Filled, READS_A_TURN};
use crate::conn::Phase;
use crate::flight::{Flight, Moment};
use crate::operations::Ended;
use crate::plan::Waiting;
use crate::protocol::{After, Next, Protocol, Step, Then};

/// Bytes that a protocol may leave unconsumed before it is taken for lost.
const KEPT_MAX: usize = 16 << 20;

/// What became of an operation that was to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begun {
    /// Its request is about to be sent.
    Sent,
    /// Its request could not be made: it has failed, and its user rests.
    Failed,
    /// There is none now.
    Nothing,
}

/// What the bytes of one read led to.
#[derive(Clone, Copy, Debug, Default)]
struct Digest {
    answered: bool,
    greeting: Option<Outcome>,
    trouble: Option<FailureKind>,
    close: bool,
    /// What the user of a script does next.
    after: Option<After>,
}

impl Digest {
    /// True as long as the next bytes may be an answer, too.
    fn goes_on(&self) -> bool {
        !self.close && self.trouble.is_none() && self.greeting.is_none()
    }
}

impl<P: Protocol, L: Link, T: Time> Drive<'_, P, L, T> {
    /// Reads what is there, up to one turn's worth; false when there was nothing.
    pub(super) fn read(&mut self, index: usize) -> Result<bool, EngineError> {
        let before = self.reads;
        self.read_turn(index)?;
        if self.job.plan.quick_ack
            && let Some(channel) = self.conns[index].phase.channel()
        {
            acknowledge_at_once(channel.socket());
        }
        Ok(self.reads > before)
    }

    fn read_turn(&mut self, index: usize) -> Result<(), EngineError> {
        for _ in 0..READS_A_TURN {
            let Some(channel) = self.conns[index].phase.channel() else {
                return Ok(());
            };
            let filled = channel.fill(&mut self.buffer);
            self.now = self.time.now_ns();
            match filled {
                Ok(Filled::Bytes { count, last }) => {
                    self.reads += 1;
                    self.recorder.bytes_received += count as u64;
                    self.digest(index)?;
                    // behind a datagram there may be another
                    let more = P::DATAGRAMS && self.job.plan.waiting != Waiting::Receive;
                    if last && !more {
                        return Ok(());
                    }
                }
                Ok(Filled::Nothing) if P::DATAGRAMS => return self.silent(index),
                Ok(Filled::Nothing) => return Ok(()),
                Ok(Filled::End) if P::DATAGRAMS => {} // an empty one
                Ok(Filled::End) => return self.ended(index),
                Err(error) => return self.broken(index, &error),
            }
        }
        self.again.push(index);
        Ok(())
    }

    /// Lets the protocol judge the bytes of one read; all answers in them share its moment.
    fn digest(&mut self, index: usize) -> Result<(), EngineError> {
        let digest = self.decode(index);
        if digest.close || digest.trouble.is_some() {
            self.requests.clear(); // nobody will read it
        } else if !self.requests.is_empty() {
            self.send(index); // the protocol answered by itself
        }
        if self.left_after(index, digest.after) {
            return Ok(());
        }
        if let Some(kind) = digest.trouble {
            return self.fail(index, kind);
        }
        if let Some(outcome) = digest.greeting {
            return self.greeted(index, outcome);
        }
        if digest.close {
            self.restart(index);
        } else if digest.answered {
            self.answered_and_ready(index);
        }
        Ok(())
    }

    #[inline]
    fn decode(&mut self, index: usize) -> Digest {
        let mut digest = Digest::default();
        let owner = self.owner(index);
        let mut at = 0;
        while digest.goes_on() {
            match self.step(index, owner, at) {
                None => break,
                Some(Step::Need { consumed }) => {
                    at += consumed;
                    if !P::MULTIPLEXED {
                        self.begins(index, 0);
                    }
                    break;
                }
                Some(Step::Aside { consumed: 0 }) => digest.trouble = Some(FailureKind::Garbled),
                Some(Step::Aside { consumed }) => {
                    at += consumed;
                    // there may be room now
                    digest.answered |= P::MULTIPLEXED && self.conns[index].open();
                }
                Some(Step::Done { consumed, answer, then }) => {
                    at += consumed;
                    let flight = self.conns[index].flights.pop_front();
                    self.answered((index, owner), flight, (answer, then), &mut digest);
                }
                Some(Step::DoneOf { consumed, tag, answer, then }) => {
                    at += consumed;
                    let flight = self.take_flight(index, tag);
                    self.answered((index, owner), flight, (answer, then), &mut digest);
                }
                Some(Step::Unprocessed { consumed, tag }) => {
                    at += consumed;
                    match self.take_flight(index, tag) {
                        Some(flight) => self.conns[index].unprocessed.push(flight),
                        None => digest.trouble = Some(FailureKind::Garbled),
                    }
                }
                Some(Step::Leave { consumed }) if self.conns[index].open() => {
                    at += consumed;
                    self.recorder.quiet_closes += 1;
                    digest.close = true;
                }
                Some(Step::Leave { .. }) => digest.trouble = Some(FailureKind::Closed),
            }
        }
        if P::MULTIPLEXED {
            self.note_begun(index);
        }
        let conn = &mut self.conns[index];
        if let Some(stamps) = &mut self.stamps {
            while let Some((number, residence)) = self.protocol.residence(&mut conn.wire) {
                stamps.told(index, number, residence, &mut self.recorder);
            }
        }
        if let Some(channel) = conn.phase.channel() {
            channel.keep_from(at, &mut self.buffer);
            if channel.kept() > KEPT_MAX {
                digest.trouble = Some(FailureKind::Garbled);
            }
        }
        digest
    }

    /// What the protocol makes of the bytes from `at` on; `None` when there are none.
    #[inline]
    fn step(&mut self, index: usize, owner: usize, at: usize) -> Option<Step> {
        let conn = &mut self.conns[index];
        let bytes = conn.phase.channel()?.bytes(&self.buffer).get(at..)?;
        if bytes.is_empty() {
            return None;
        }
        let op = conn.flights.front().map(|flight| flight.op);
        let user = &mut self.users[owner];
        Some(self.protocol.decode(user, &mut conn.wire, op, bytes, &mut self.requests))
    }

    /// The answer to `flight` is complete.
    #[inline]
    fn answered(
        &mut self,
        (index, owner): (usize, usize),
        flight: Option<Flight>,
        (mut answer, then): (Answer, Then),
        digest: &mut Digest,
    ) {
        let Some(mut flight) = flight else {
            digest.trouble = Some(match answer.outcome {
                Outcome::Failed(kind) => kind, // it may say why it ends the connection
                Outcome::Ok | Outcome::Refused => FailureKind::Garbled,
            });
            return;
        };
        let conn = &mut self.conns[index];
        self.in_flight -= 1;
        digest.answered = true;
        digest.close = then == Then::Close;
        if matches!(conn.phase, Phase::Greeting { .. }) {
            digest.greeting = Some(answer.outcome);
            return;
        }
        (conn.answered, conn.attempts) = (true, 0);
        self.ends(&mut flight, answer.outcome);
        self.delay_next(index);
        let moments = flight.moments(self.now);
        digest.after = settle::settled(
            (&mut self.protocol, &mut self.recorder),
            &mut self.users[owner],
            &mut flight,
            moments,
            &mut answer,
        );
        let number = script::number::<P>(self.job.share, owner);
        let (row, counts) = (flight.op.label, flight.counts);
        self.outlet.tell(number, || Ended { row, counts, moments, answer });
        let right = answer.outcome == Outcome::Ok;
        let conn = &mut self.conns[index];
        if let Some(stamps) = &mut self.stamps
            && let Some(channel) = conn.phase.channel()
        {
            let tells = self.protocol.tells_residence(&conn.wire);
            let counted = (counts && right).then(|| (moments, self.protocol.server_half(&answer)));
            stamps.answered((index, row), counted, tells, channel, &mut self.recorder);
        }
        if !counts {
            self.answered_of_warm_up();
            return;
        }
        self.recorder.record(row, moments, answer);
        let response_ns = moments.last.saturating_sub(moments.due);
        if right
            && self.watch.among_the_slowest(response_ns)
            && let Some(channel) = conn.phase.channel()
        {
            let waking_ns = channel.stamps().and_then(|(stamps, _)| stamps.since_received_ns());
            let op = SlowOp { index, user: number as u64, row, waking_ns };
            self.watch.keep(op, channel.socket(), moments);
        }
    }

    /// A connection that stands and has room looks for work. One that the other side has finished
    /// with takes none: its end is about to be read.
    pub(super) fn ready_for_work(&mut self, index: usize) {
        if self.is_aside(index) {
            return self.go_on(self.conns[index].owner);
        }
        if self.conns[index].phase.channel().is_some_and(|channel| channel.hung_up()) {
            return;
        }
        if P::MULTIPLEXED {
            self.ask_again(index);
        }
        if self.asks_at_once() {
            self.issue(index);
            return;
        }
        let conn = &mut self.conns[index];
        conn.resume_at = conn.resume_at.get().filter(|at| *at > self.now).into();
        self.offer(index);
        self.work_off_backlog();
    }

    /// Closed load: begins as many operations as the depth and the user allow.
    fn issue(&mut self, index: usize) {
        if self.rests(index) {
            return;
        }
        let depth = self.job.plan.depth.get();
        let due = self.conns[index].resume_at.get();
        if due.is_some_and(|due| due > self.now) {
            self.ask_wake(index);
            return;
        }
        self.conns[index].resume_at = Moment::NONE;
        let waited = self.take_waited(index);
        if let Some(due) = due
            && self.counts(due)
            && !waited
            && self.lags(due)
        {
            self.recorder.lag.record(self.now - due);
        }
        let at = self.place_of(due);
        while (self.conns[index].flights.len() < depth && self.takes_more(index)
            || self.has_others(index))
            && self.may_begin(at)
        {
            let counts = self.counts(due.unwrap_or(self.now));
            let begun = self.begin(index, due, counts);
            if begun != Begun::Nothing {
                self.begun += u64::from(counts);
            }
            if begun != Begun::Sent {
                break;
            }
        }
        self.send(index);
    }

    /// Open load: begins the operation that is due at `due`.
    pub(super) fn begin_due(&mut self, index: usize, due: u64) {
        if self.begin_script(index, due) {
            return;
        }
        let counts = self.counts(due);
        match self.begin(index, Some(due), counts) {
            Begun::Sent => {}
            Begun::Failed => return,
            Begun::Nothing => {
                self.recorder.dropped += u64::from(counts); // the user pauses or is done
                return;
            }
        }
        if self.starved == 0 && counts {
            self.recorder.lag.record(self.now.saturating_sub(due));
        }
        self.send(index);
        self.offer(index);
    }

    /// Open load: a connection that can take an operation now.
    pub(super) fn take_free(&mut self) -> Option<usize> {
        while let Some(index) = self.free.pop_front() {
            self.conns[index].queued = false;
            if self.rests(index) || self.has_room(index) {
                return Some(index);
            }
        }
        None
    }

    /// Open load: puts a connection into the queue of free ones if it has room.
    fn offer(&mut self, index: usize) {
        if !self.conns[index].queued && self.has_room(index) {
            self.conns[index].queued = true;
            self.free.push_back(index);
        }
    }

    fn has_room(&self, index: usize) -> bool {
        let conn = &self.conns[index];
        conn.open()
            && conn.resume_at == Moment::NONE
            && conn.flights.len() < self.job.plan.depth.get()
            && self.takes_more(index)
    }

    /// Encodes one request, if the user has one now.
    #[inline]
    fn begin(&mut self, index: usize, due: Option<u64>, counts: bool) -> Begun {
        if let Some(begun) = self.play(index, due, counts) {
            return if begun { Begun::Sent } else { Begun::Nothing };
        }
        let conn = &mut self.conns[index];
        if !conn.open() {
            return Begun::Nothing;
        }
        let before = self.requests.len();
        let user = &mut self.users[index];
        match self.protocol.encode(user, &mut conn.wire, &mut self.requests) {
            Next::Send(op) => {
                conn.flights.push_back(Flight::new(op, counts, due));
                self.in_flight += 1;
                Begun::Sent
            }
            Next::Pause(ns) => {
                conn.resume_at = Moment::at(self.now + ns);
                self.ask_wake(index);
                Begun::Nothing
            }
            Next::Fail(op, kind) => {
                self.requests.truncate(before);
                self.book(index, Flight::new(op, counts, due), Answer::failed(kind));
                let conn = &mut self.conns[index];
                let rested = Some(self.now + NOTHING_SENT_NS);
                conn.resume_at = rested.max(conn.resume_at.get()).into();
                self.ask_wake(index);
                Begun::Failed
            }
            Next::SendOver { .. } | Next::Wait | Next::Turn => Begun::Nothing, // of scripts
            Next::Finish => {
                if conn.flights.is_empty() {
                    conn.phase = Phase::Finished;
                    self.opened -= 1;
                    self.finished += 1;
                }
                Begun::Nothing
            }
        }
    }

    /// Hands over what waits to be sent, and notes when.
    pub(super) fn send(&mut self, index: usize) {
        let conn = &mut self.conns[index];
        let open = conn.open();
        let Some(channel) = conn.phase.channel() else {
            return;
        };
        if let Some(stamps) = &mut self.stamps
            && open
        {
            stamps.begin(index, &conn.flights, channel);
        }
        self.now = self.time.now_ns();
        for flight in conn.flights.latest_mut().take_while(|flight| flight.sent == Moment::NONE) {
            flight.sent = Moment::at(self.now);
        }
        // every connection encodes into the same few cache lines
        let sent =
            if self.requests.is_empty() { channel.flush() } else { channel.send(&self.requests) };
        self.requests.clear();
        match sent {
            Ok(taken) => {
                self.recorder.bytes_sent += taken;
                // whoever is woken before the answer is overdue asks again then
                let overdue = self.now.saturating_add(self.job.plan.operation_timeout.ns());
                if !(open && conn.resume_at == Moment::NONE && conn.wake.comes_by(overdue)) {
                    self.ask_wake(index);
                }
            }
            Err(_) => {
                // the read that follows reports what broke, after the answers that came before it
                channel.set_hangup();
                self.again.push(index);
            }
        }
    }
}
