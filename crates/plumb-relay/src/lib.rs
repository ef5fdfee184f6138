//! The loop that passes connections on, late: a line of known delay, jitter, rate and loss between
//! a client and a target, for whatever protocol they speak.

mod admission;
mod datagrams;
mod line;
mod overdue;
mod pair;
mod plan;
mod tally;
#[cfg(test)]
mod tests;

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

use plumb_measure::Tick;

use admission::{Admission, Admissions};
pub use datagrams::{
    DatagramPathPlan, DatagramPathTotals, DatagramRelayPlan, DatagramRelayTotals, relay_datagrams,
};
use line::{Line, Shaper};
use overdue::{Overdue, overdue};
use pair::{Common, FAR, NEAR, Pair, PairProgress, Side};
pub use plan::{Idle, Limit, LossPlan, PathPlan, RelayPlan};
use plumb_engine::clock::MonotonicClock;
use plumb_engine::{
    ACCEPTS_A_TURN, Arrival, Endpoint, EngineError, Listener, Nagle, Peer, Poll, READ_BYTES,
    Readiness, Reception, SocketOptions, Stop, ThreadContext, Time, Timers, Token, TurnedAway,
    Turns, Wake, start_connect,
};
pub use tally::{Parted, Passage, PathTotals, RelayEvent, RelayTotals};

/// Passes connections of `listeners` on to the first of `target` that takes them, until `stop` is
/// asked or the plan's time is over. `tell` hears who comes and goes.
///
/// # Errors
/// When the plan contradicts itself or the loop itself cannot go on. What clients and targets do
/// is no error.
pub fn relay(
    plan: &RelayPlan,
    listeners: &[Listener],
    target: &[Endpoint],
    tell: &mut dyn FnMut(RelayEvent<'_>),
    stop: &Stop,
) -> Result<RelayTotals, EngineError> {
    plan.check()?;
    ThreadContext::default().settle()?;
    Relay::new(plan, Ends { listeners, target }, tell, MonotonicClock, stop)?.run()
}

/// Where connections come from, and where they go.
#[derive(Clone, Copy, Debug)]
struct Ends<'a> {
    listeners: &'a [Listener],
    target: &'a [Endpoint],
}

struct Slot {
    generation: u32,
    pair: Option<Pair>,
}

/// The state of the loop.
struct Relay<'a, T> {
    plan: &'a RelayPlan,
    reception: Reception<'a>,
    target: &'a [Endpoint],
    tell: &'a mut dyn FnMut(RelayEvent<'_>),
    time: T,
    stop: &'a Stop,
    now: u64,
    until: Option<u64>,
    poll: Poll,
    slots: Vec<Slot>,
    free: Vec<usize>,
    /// For bytes that become due.
    dues: Timers,
    /// For the limits on a connection's life. Apart from the others: these are long, and one that
    /// is overtaken by every message would leave an entry behind each time.
    limits: Timers,
    again: Turns,
    shapers: [Shaper; 2],
    admissions: Admissions,
    totals: RelayTotals,
    buffer: Vec<u8>,
}

impl<'a, T: Time> Relay<'a, T> {
    fn new(
        plan: &'a RelayPlan,
        ends: Ends<'a>,
        tell: &'a mut dyn FnMut(RelayEvent<'_>),
        time: T,
        stop: &'a Stop,
    ) -> Result<Self, EngineError> {
        let now = time.now_ns();
        let poll =
            Poll::new(stop, Tick::Free).map_err(EngineError::system("create an epoll set"))?;
        let reception = Reception::new(ends.listeners, &poll)
            .map_err(EngineError::system("wait for connections"))?;
        Ok(Self {
            plan,
            reception,
            target: ends.target,
            tell,
            now,
            until: plan.for_time.map(|time| now + time.ns()),
            time,
            stop,
            poll,
            slots: Vec::new(),
            free: Vec::new(),
            dues: Timers::default(),
            limits: Timers::default(),
            again: Turns::default(),
            shapers: [Shaper::new(plan.there.rate), Shaper::new(plan.back.rate)],
            admissions: Admissions::new(plan.loss, plan.seed),
            totals: RelayTotals {
                connections: 0,
                refused: 0,
                turned_away: 0,
                cut: 0,
                idle: 0,
                unreachable: 0,
                there: PathTotals::new(plan.there),
                back: PathTotals::new(plan.back),
            },
            buffer: vec![0; READ_BYTES],
        })
    }

    fn run(mut self) -> Result<RelayTotals, EngineError> {
        while !self.stop.asked() && self.until.is_none_or(|until| self.now < until) {
            self.pass()?;
        }
        for index in 0..self.slots.len() {
            self.close(index, Parted::Stopped);
        }
        Ok(self.totals)
    }

    fn pass(&mut self) -> Result<(), EngineError> {
        let deadline = self.deadline();
        self.time
            .wait(&mut self.poll, self.now, deadline)
            .map_err(EngineError::system("wait for sockets"))?;
        self.now = self.time.now_ns();
        for at in 0..self.poll.found() {
            let ready = self.poll.ready(at);
            match Reception::listener(ready.token) {
                Some(listener) => self.accept(listener),
                None => self.on_ready(ready),
            }
        }
        for _ in 0..self.again.len() {
            if let Some(index) = self.again.pop() {
                self.turn(index);
            }
        }
        self.on_time();
        Ok(())
    }

    /// When something must be done even if the sockets stay silent.
    fn deadline(&self) -> Option<u64> {
        if !self.again.is_empty() {
            return Some(0);
        }
        [self.dues.next(), self.limits.next(), self.until, self.reception.again_at()]
            .into_iter()
            .flatten()
            .min()
    }

    fn accept(&mut self, listener: usize) {
        for _ in 0..ACCEPTS_A_TURN {
            match self.reception.accept(listener, Nagle::Off) {
                Arrival::Connection(socket, peer) => self.welcome(socket, peer),
                Arrival::GaveUp => {}
                Arrival::Nobody => return,
                Arrival::Failed(error) => return self.rest_listeners(&error),
            }
        }
    }

    /// No descriptors or memory are left: the listeners rest, so that the loop does not spin.
    fn rest_listeners(&mut self, error: &io::Error) {
        if self.reception.rest(&self.poll, self.now) {
            (self.tell)(RelayEvent::CannotAccept(error)); // once, until it goes on
        }
    }

    fn welcome(&mut self, socket: OwnedFd, peer: Peer) {
        if let Some(why) = self.turned_away(&peer) {
            self.totals.turned_away += 1;
            (self.tell)(RelayEvent::TurnedAway(&peer, why));
            return pair::reset(socket.as_fd());
        }
        let (admission, seed) = self.admissions.next();
        let Admission::Passes(cut) = admission else {
            self.totals.refused += 1;
            (self.tell)(RelayEvent::Refused(&peer));
            return pair::reset(socket.as_fd());
        };
        self.totals.connections += 1;
        let passage =
            Passage { handle: self.totals.connections, peer, there_bytes: 0, back_bytes: 0 };
        (self.tell)(RelayEvent::Opened(&passage));
        let now = self.time.now_ns();
        // the first address that can be tried at all; the others follow if it does not answer
        let mut attempt = 0;
        let mut failure = io::Error::from(io::ErrorKind::NotFound);
        while let Some(endpoint) = self.target.get(attempt) {
            match start_connect(endpoint, &SocketOptions::default()) {
                Ok(far) => {
                    let (there, back) = (self.plan.there, self.plan.back);
                    let window = self.plan.window_bytes();
                    let pair = Pair {
                        sides: [Side::new(socket, Some(now)), Side::new(far, None)],
                        lines: [
                            Line::new(there, back.delay_ns, window, seed),
                            Line::new(back, there.delay_ns, window, !seed),
                        ],
                        passage,
                        since: now,
                        last_heard: now,
                        cut,
                        forgotten: false,
                        attempt,
                        attempt_since: now,
                        wake: Wake::default(),
                        limit_wake: Wake::default(),
                    };
                    return self.occupy_slot(pair);
                }
                Err(error) => failure = error,
            }
            attempt += 1;
        }
        self.totals.unreachable += 1;
        (self.tell)(RelayEvent::CannotReach(&passage, &failure));
        (self.tell)(RelayEvent::Closed(&passage, 0, Parted::Unreachable));
        pair::reset(socket.as_fd());
    }

    fn turned_away(&self, peer: &Peer) -> Option<TurnedAway> {
        if !peer.is_among(&self.plan.allow) {
            Some(TurnedAway::NotAllowed)
        } else if self.slots.len() - self.free.len() >= self.plan.max_connections {
            Some(TurnedAway::Full)
        } else {
            None
        }
    }

    fn occupy_slot(&mut self, pair: Pair) {
        let index = match self.free.pop() {
            Some(index) => {
                self.slots[index].pair = Some(pair);
                index
            }
            None => {
                self.slots.push(Slot { generation: 0, pair: Some(pair) });
                self.slots.len() - 1
            }
        };
        if self.watch(index, NEAR).and_then(|()| self.watch(index, FAR)).is_err() {
            return self.close(index, Parted::Unreachable);
        }
        self.ask_limit(index);
    }

    fn watch(&self, index: usize, side: usize) -> io::Result<()> {
        let slot = &self.slots[index];
        let token = Token { index: 2 * index + side, generation: slot.generation };
        match &slot.pair {
            Some(pair) => self.poll.add_connection(pair.sides[side].socket(), token),
            None => Ok(()),
        }
    }

    fn on_ready(&mut self, ready: Readiness) {
        let (index, side) = (ready.token.index / 2, ready.token.index % 2);
        let generation = ready.token.generation;
        let Some(slot) = self.slots.get_mut(index).filter(|slot| slot.generation == generation)
        else {
            return;
        };
        let Some(pair) = &mut slot.pair else {
            return;
        };
        if pair.sides[side].connected_at.is_none() {
            if !ready.writable {
                return;
            }
            match pair.far_result() {
                Ok(()) => pair.reached(self.time.now_ns()),
                Err(error) => return self.try_next(index, &error),
            }
        }
        pair.note(side, ready);
        self.turn(index);
    }

    /// The address that was tried does not answer: the next one, if there is any.
    fn try_next(&mut self, index: usize, error: &io::Error) {
        let Some(pair) = &mut self.slots[index].pair else {
            return;
        };
        if pair.forgotten {
            return self.close(index, Parted::Forgotten);
        }
        while let Some(endpoint) = self.target.get(pair.attempt + 1) {
            match start_connect(endpoint, &SocketOptions::default()) {
                Ok(socket) => {
                    pair.try_far(socket, self.time.now_ns());
                    if self.watch(index, FAR).is_err() {
                        return self.close(index, Parted::Unreachable);
                    }
                    return self.ask_limit(index);
                }
                Err(_) => pair.attempt += 1,
            }
        }
        (self.tell)(RelayEvent::CannotReach(&pair.passage, error));
        self.close(index, Parted::Unreachable);
    }

    /// Does for a connection what can be done now, and asks to be woken for the rest.
    fn turn(&mut self, index: usize) {
        let Some(pair) = &mut self.slots[index].pair else {
            return;
        };
        let totals = &mut self.totals;
        let turn = pair.turn(&mut Common {
            time: &self.time,
            shapers: &mut self.shapers,
            totals: [&mut totals.there, &mut totals.back],
            buffer: &mut self.buffer,
        });
        match turn {
            PairProgress::Over(parted) => return self.close(index, parted),
            PairProgress::Again => self.again.push(index),
            PairProgress::Done => {}
        }
        if let Some(at) = pair.next_due() {
            self.dues.ask(&mut pair.wake, index, at);
        }
    }

    fn on_time(&mut self) {
        while let Some((at, index)) = self.dues.pop(self.now) {
            let pair = self.slots[index].pair.as_mut();
            if pair.is_some_and(|pair| pair.wake.fired(at)) {
                self.turn(index);
            }
        }
        while let Some((at, index)) = self.limits.pop(self.now) {
            let pair = self.slots[index].pair.as_mut();
            if pair.is_some_and(|pair| pair.limit_wake.fired(at)) {
                self.enforce(index);
            }
        }
        self.reception.resume(&self.poll, self.now);
    }

    /// Looks whether a limit on a connection's life is reached.
    fn enforce(&mut self, index: usize) {
        let Some(pair) = &mut self.slots[index].pair else {
            return;
        };
        let Some((at, why)) = overdue(self.plan, pair) else {
            return;
        };
        if at > self.now {
            return self.ask_limit(index);
        }
        match why {
            Overdue::Connect => self.try_next(index, &io::ErrorKind::TimedOut.into()),
            Overdue::Cut => self.close(index, Parted::Cut),
            Overdue::Idle(Idle::Reset) => self.close(index, Parted::IdleReset),
            Overdue::Idle(Idle::Forget) => {
                pair.forgotten = true;
                self.totals.idle += 1;
                (self.tell)(RelayEvent::Forgot(&pair.passage));
                if pair.half_over() {
                    return self.close(index, Parted::Forgotten); // the other half never ends
                }
                self.turn(index);
            }
        }
    }

    fn ask_limit(&mut self, index: usize) {
        if let Some(pair) = &mut self.slots[index].pair
            && let Some((at, _)) = overdue(self.plan, pair)
        {
            self.limits.ask(&mut pair.limit_wake, index, at);
        }
    }

    fn close(&mut self, index: usize, parted: Parted) {
        let slot = &mut self.slots[index];
        let Some(pair) = slot.pair.take() else {
            return;
        };
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(index);
        match parted {
            Parted::Cut => self.totals.cut += 1,
            Parted::IdleReset => self.totals.idle += 1,
            Parted::Unreachable => self.totals.unreachable += 1,
            Parted::Closed | Parted::Reset | Parted::Forgotten | Parted::Stopped => {}
        }
        if parted != Parted::Closed {
            pair.sides.iter().for_each(Side::reset);
        }
        let lasted_ns = self.time.now_ns().saturating_sub(pair.since);
        (self.tell)(RelayEvent::Closed(&pair.passage, lasted_ns, parted));
    }
}

impl<T> std::fmt::Debug for Relay<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Relay").field("totals", &self.totals).finish_non_exhaustive()
    }
}
