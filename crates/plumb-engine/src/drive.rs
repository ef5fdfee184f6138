//! The loop that drives one thread's share of a load: when work begins, and when the run is over.
//!
//! `drive/connect.rs` makes connections, `drive/traffic.rs` moves requests and answers over them,
//! `drive/streams.rs` finds those of answers that come in any order, `drive/lost.rs` says what becomes of a request when its connection breaks,
//! `drive/asking.rs` says who asks once all answers that are there have been read, and when,
//! `drive/due.rs` begins what is due at times of its own, `drive/script.rs` says who takes part in a
//! load of scripts, `drive/settle.rs` what they do after an answer, `drive/datagrams.rs` what becomes of a datagram that nobody
//! answers, `drive/boundary.rs` says which operations the recorded part holds, and `drive/driven.rs` when the
//! load is over.

mod aside;
#[cfg(test)]
mod aside_tests;
mod asking;
mod boundary;
mod connect;
mod datagrams;
mod driven;
mod due;
mod lost;
mod script;
#[cfg(test)]
mod script_tests;
mod settle;
mod slow;
mod stamped;
mod streams;
#[cfg(test)]
mod tests;
mod traffic;

use std::collections::VecDeque;

use plumb_link::Link;
use plumb_measure::user_schedule::UserSchedule;
use plumb_measure::{Recorder, Shape};

use crate::channel::READ_BYTES;
use crate::clock;
use crate::conn::{Conn, Phase};
use crate::gate::StartLine;
use crate::outlet::Outlet;
use crate::plan::{Extent, LoadPlan, Pace, Share, Waiting};
use crate::protocol::Protocol;
use crate::{Destination, Endpoint, EngineError};
use asking::Asking;
pub use driven::{Driven, Ending};
use due::Dues;
use plumb_measure::Pacer;
use plumb_socket::{Poll, Proofs, Stop, Time, Timers, Turns};
use slow::Watch;
use stamped::StampedMessages;

/// The longest receive that blocks, so that a signal to stop is seen soon.
const RECEIVE_MAX_NS: u64 = 100_000_000;
/// One wait in so many looks first. A look costs a system call, so the share of idle moments is
/// taken from a sample.
const WAITS_A_LOOK: u32 = 8;
const WAITING: &str = "wait for sockets";
/// Wake-ups in one pass; then the sockets are looked at, so that thousands of users who begin at
/// once do not hold up each other's answers.
const WAKES_A_PASS: usize = 64;
/// The longest wait while other threads are not ready yet.
const GATHER_WAIT_NS: u64 = 1_000_000;

/// What a drive is given.
pub(crate) struct Job<'a, L> {
    pub(crate) plan: &'a LoadPlan,
    /// Of scripts; `None`: every user, from the start.
    pub(crate) user_schedule: Option<&'a UserSchedule>,
    pub(crate) share: Share,
    pub(crate) endpoint: &'a Endpoint,
    /// Where the routes lead; beyond them to `endpoint`.
    pub(crate) routes: &'a [Destination],
    /// Makes the link of a new connection over a route, for an identity, to an endpoint.
    pub(crate) link: &'a (dyn Fn(u16, u32, &Endpoint) -> L + Sync),
    pub(crate) line: &'a StartLine<'a>,
    pub(crate) stop: &'a Stop,
    pub(crate) shape: Shape,
}

/// The recorded part of a run, on the clock of the run.
#[derive(Clone, Copy, Debug)]
struct Window {
    from: u64,
    until: Option<u64>,
    count: Option<u64>,
}

/// One thread's loop.
pub(crate) struct Drive<'a, P: Protocol, L, T> {
    job: Job<'a, L>,
    protocol: P,
    time: T,
    now: u64,
    poll: Poll,
    users: Vec<P::User>,
    /// One of each user, in the same order; behind them further ones of users that have several.
    conns: Vec<Conn<P, L>>,
    timers: Timers,
    /// Connections whose turn ended before their bytes did.
    again: Turns,
    /// Closed load: connections that ask once everybody who was ready has been read.
    asking: Asking,
    /// Open load: connections that can take an operation.
    free: VecDeque<usize>,
    /// Open load: due times that have not begun.
    backlog: VecDeque<u64>,
    /// How many of the backlog have met a moment without a free connection.
    starved: usize,
    pacer: Option<Dues>,
    buffer: Vec<u8>,
    /// What is about to be sent on one connection; empty between two.
    requests: Vec<u8>,
    recorder: Recorder,
    outlet: Outlet,
    watch: Watch,
    /// None where no packet is stamped.
    stamps: Option<Box<StampedMessages>>,
    /// The start line was told that every connection of this thread stands.
    arrived: bool,
    /// `None` until every connection of every thread stands.
    window: Option<Window>,
    recording: bool,
    warm_up_operations: u64,
    cpu_before_ns: u64,
    waits: u32,
    /// Reads that brought something.
    reads: u64,
    opened: usize,
    /// A connection was open at some time.
    stood: bool,
    /// Users that are done.
    finished: usize,
    in_flight: usize,
    begun: u64,
    /// An operation has ended, the warm-up included.
    any_done: bool,
    /// When the last operation of the recorded part ended.
    last_done: u64,
    down_since: Option<u64>,
    /// Who failed the first handshake of the recorded part, and why.
    handshake_complaint: Option<String>,
    proofs: Proofs,
    /// The common start, on the clock of the run; of scripts.
    start: u64,
}

impl<'a, P: Protocol, L: Link, T: Time> Drive<'a, P, L, T> {
    pub(crate) fn new(
        job: Job<'a, L>,
        mut protocol: P,
        time: T,
        outlet: Outlet,
    ) -> Result<Self, EngineError> {
        let all = 0..job.share.connections;
        let numbers = all.clone().map(|index| script::number::<P>(job.share, index));
        let users: Vec<_> = numbers.map(|number| protocol.user(number)).collect();
        let conns: Vec<_> = all.map(|index| Conn::new(index, 0)).collect();
        Ok(Self {
            protocol,
            now: time.now_ns(),
            time,
            poll: Poll::new(job.stop, job.plan.tick)
                .map_err(EngineError::system("create an epoll set"))?,
            watch: Watch::new(conns.len()),
            users,
            stamps: StampedMessages::of(job.plan.stamps, conns.len()),
            conns,
            timers: Timers::default(),
            again: Turns::default(),
            asking: Asking::default(),
            free: VecDeque::new(),
            backlog: VecDeque::new(),
            starved: 0,
            pacer: None,
            buffer: Vec::with_capacity(READ_BYTES),
            requests: Vec::new(),
            recorder: Recorder::new(job.shape),
            outlet,
            arrived: false,
            window: None,
            recording: false,
            warm_up_operations: 0,
            cpu_before_ns: 0,
            waits: 0,
            reads: 0,
            opened: 0,
            stood: false,
            finished: 0,
            in_flight: 0,
            begun: 0,
            any_done: false,
            last_done: 0,
            down_since: None,
            handshake_complaint: None,
            proofs: Proofs::of(job.endpoint),
            start: 0,
            job,
        })
    }

    /// Connects, drives the load to its end, and hands over the last records.
    pub(crate) fn run(mut self) -> Result<Driven<P>, EngineError> {
        for index in 0..self.connect_first() {
            self.connect(index)?;
        }
        loop {
            if let Some(ending) = self.ending() {
                return Ok(self.finish(ending));
            }
            self.pass()?;
        }
    }

    fn pass(&mut self) -> Result<(), EngineError> {
        let idle;
        if self.receives() {
            let blocks = self.job.plan.waiting == Waiting::Receive;
            if blocks {
                self.poll.hold_tick(self.now);
            }
            let found = self.read(0)?;
            idle = Some(blocks || !found);
        } else {
            idle = self.wait()?;
            self.gather_asking();
            for at in 0..self.poll.found() {
                self.on_ready(self.poll.ready(at))?;
            }
            for _ in 0..self.again.len() {
                if let Some(index) = self.again.pop() {
                    self.read(index)?;
                }
            }
            self.ask_gathered();
        }
        for _ in 0..WAKES_A_PASS {
            let Some((at, index)) = self.timers.pop(self.now) else { break };
            if self.conns[index].wake.fired(at) {
                self.on_time(index)?;
            }
        }
        self.release_due();
        if let Some(idle) = idle {
            self.recorder.passes += 1;
            self.recorder.idle_passes += u64::from(idle);
        }
        self.turn();
        Ok(())
    }

    /// True when the only thing to wait for is the answer on the only connection.
    fn receives(&mut self) -> bool {
        if self.job.plan.waiting == Waiting::Epoll || self.window.is_none() || self.conns.len() != 1
        {
            return false;
        }
        let conn = &mut self.conns[0];
        conn.flights.len() == 1
            && matches!(&conn.phase, Phase::Open { channel } if !channel.sending())
            && self.job.plan.pace == Pace::AsFast
    }

    /// Waits for sockets or time. Now and then it looks before it waits: finding nothing is the
    /// idle moment that tells a waiting loop from a busy one, and then the answer.
    fn wait(&mut self) -> Result<Option<bool>, EngineError> {
        let spins = self.job.plan.waiting == Waiting::Spin;
        self.waits = self.waits.wrapping_add(1);
        let mut idle = None;
        if spins || !self.again.is_empty() || self.waits.is_multiple_of(WAITS_A_LOOK) {
            self.time
                .wait(&mut self.poll, self.now, Some(0))
                .map_err(EngineError::system(WAITING))?;
            idle = Some(self.poll.found() == 0 && self.again.is_empty());
            self.now = self.time.now_ns();
        }
        if !spins && self.again.is_empty() && idle != Some(false) {
            let deadline = self.deadline();
            self.time
                .wait(&mut self.poll, self.now, deadline)
                .map_err(EngineError::system(WAITING))?;
            self.now = self.time.now_ns();
        }
        Ok(idle)
    }

    /// When something must be done even if the sockets stay silent.
    fn deadline(&self) -> Option<u64> {
        let due = self.pacer.as_ref().map(Dues::next_due);
        let edge = match self.window {
            None => {
                let opens = self.job.line.opens_at().filter(|opens| *opens > self.now);
                Some(opens.unwrap_or(u64::MAX).min(self.now + GATHER_WAIT_NS))
            }
            Some(window) if self.recording => window.until,
            Some(window) => Some(window.from),
        };
        let next = [
            self.timers.next(),
            due.filter(|due| self.may_begin(*due)),
            edge.filter(|edge| *edge > self.now),
            self.recording.then(|| self.outlet.next_ns()).filter(|at| *at > self.now),
        ];
        next.into_iter().flatten().min()
    }

    /// True when an operation due at `at` belongs to the plan and has its place in it.
    fn may_begin(&self, at: u64) -> bool {
        self.window.is_some_and(|window| {
            window.until.is_none_or(|until| at < until)
                && window.count.is_none_or(|count| self.begun < count)
        })
    }

    /// Opens the window once everybody is ready, and moves from warm-up to recording, from one
    /// interval to the next.
    fn turn(&mut self) {
        match self.window {
            None => self.gather(),
            Some(_) if self.recording => {
                let due = self.now >= self.outlet.next_ns() && !self.is_past_recorded();
                self.count_users(due);
                if due && self.outlet.pass(self.now, &mut self.recorder) {
                    self.refresh();
                }
            }
            Some(_) => {
                self.counts(self.now);
            }
        }
    }

    /// True when an operation due at `at` falls into the recorded part, which the first of them
    /// opens.
    #[inline]
    fn counts(&mut self, at: u64) -> bool {
        let Some(window) = self.window.filter(|window| at >= window.from) else {
            return false;
        };
        if !self.recording {
            self.begin_recording(window);
        }
        true
    }

    fn begin_recording(&mut self, window: Window) {
        self.recording = true;
        self.recorder.clear_load();
        self.handshake_complaint = None;
        self.backlog.clear(); // of the warm-up
        self.starved = 0;
        self.cpu_before_ns = clock::thread_cpu_ns();
        self.outlet.start(window.from);
        self.watch.begin(window.from);
        for (index, conn) in self.conns.iter_mut().enumerate() {
            if let Some(channel) = conn.phase.channel() {
                self.watch.begin_connection(index, channel.socket(), self.now);
            }
        }
    }

    fn gather(&mut self) {
        if self.opened < self.connect_first() {
            return;
        }
        if !self.arrived {
            self.arrived = true;
            // what is looked at in the beginning must not take the processor of whoever begins
            if self.job.line.is_gated() && !P::SCRIPTED {
                self.all_stand();
            }
            self.job.line.arrive();
        }
        let Some(start) = self.job.line.start(self.now) else {
            return;
        };
        // another thread may have looked later: what this one begins at once is within the load, too
        self.now = self.now.max(start);
        let plan = self.job.plan;
        let from = start + plan.warmup.ns();
        let (until, count) = match self.job.share.extent(plan.extent) {
            Extent::For(time) => (Some(from + time.ns()), None),
            Extent::Count(count) => (None, Some(count)),
            Extent::Users => (None, None),
        };
        self.window = Some(Window { from, until, count });
        if self.muster(start) {
            return;
        }
        if let Pace::Rate(rate) = plan.pace {
            let (per_s, offset_ns) = self.job.share.rate(rate);
            self.pacer = Some(Dues::Pacer(Pacer::new(start.saturating_add(offset_ns), per_s)));
        }
        if !self.job.line.is_gated() {
            self.all_stand();
        }
        for index in 0..self.conns.len() {
            self.ready_for_work(index);
        }
    }

    /// Says that every connection stands, and what the first of them uses.
    fn all_stand(&mut self) {
        self.outlet.begin(self.proofs.transports().first().cloned());
    }
}
