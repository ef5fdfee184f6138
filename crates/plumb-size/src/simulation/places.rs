//! Stations and pools while they are simulated.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::draw::Draw;

/// Something that holds over time, added up.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OverTime {
    since_s: f64,
    busy: f64,
    waiting: f64,
}

impl OverTime {
    /// Until `now_s` so many were busy and waiting.
    fn add(&mut self, now_s: f64, busy: f64, waiting: f64) {
        let passed = now_s - self.since_s;
        self.since_s = now_s;
        self.busy += passed * busy;
        self.waiting += passed * waiting;
    }
}

/// Servers with one queue, or the places of a pool.
#[derive(Debug)]
pub(super) struct Queue {
    pub(super) name: String,
    pub(super) servers: u32,
    pub(super) draw: Draw,
    most: Option<u32>,
    busy: u32,
    waiting: VecDeque<u32>,
    over_time: OverTime,
}

/// What becomes of one who comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    Served,
    Waits,
    TurnedAway,
}

impl Queue {
    pub(super) fn new(name: String, servers: u32, most: Option<u32>, draw: Draw) -> Self {
        let waiting = VecDeque::new();
        Self { name, servers, draw, most, busy: 0, waiting, over_time: OverTime::default() }
    }

    pub(super) fn enter(&mut self, now_s: f64, who: u32) -> Entry {
        self.account(now_s);
        if self.busy < self.servers {
            self.busy += 1;
            return Entry::Served;
        }
        if self.most.is_some_and(|most| self.waiting.len() >= most as usize) {
            return Entry::TurnedAway;
        }
        self.waiting.push_back(who);
        Entry::Waits
    }

    /// One is done; the next, if any, is served in its place.
    pub(super) fn leave(&mut self, now_s: f64) -> Option<u32> {
        self.account(now_s);
        let next = self.waiting.pop_front();
        if next.is_none() {
            self.busy -= 1;
        }
        next
    }

    fn account(&mut self, now_s: f64) {
        self.over_time.add(now_s, f64::from(self.busy), count(self.waiting.len()));
    }

    /// Begins anew to add up.
    pub(super) fn forget(&mut self, now_s: f64) {
        self.over_time = OverTime { since_s: now_s, ..OverTime::default() };
    }

    /// Share that was busy and operations that waited, over `for_s` up to `now_s`.
    pub(super) fn used(&mut self, now_s: f64, for_s: f64) -> (f64, f64) {
        self.account(now_s);
        (self.over_time.busy / for_s / f64::from(self.servers), self.over_time.waiting / for_s)
    }
}

/// Processors that are shared evenly by all work.
///
/// Time is counted in work that each has received (virtual time): whoever comes is done when that has
/// grown by its own work, so that nobody else has to be looked at.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) name: String,
    pub(super) draw: Draw,
    processors: u32,
    background: f64, // of these, busy with other work all the time
    received_s: f64,
    since_s: f64,
    work: BinaryHeap<Reverse<(u64, u32)>>, // the bits of `received_s` at the end
    /// Number of the last appointment: an earlier one is void.
    pub(super) appointment: u32,
    over_time: OverTime,
}

impl Shared {
    pub(super) fn new(name: String, processors: u32, background: f64, draw: Draw) -> Self {
        Self {
            name,
            draw,
            processors,
            background,
            received_s: 0.0,
            since_s: 0.0,
            work: BinaryHeap::new(),
            appointment: 0,
            over_time: OverTime::default(),
        }
    }

    /// Someone comes with so much work. Says when the first is done, if that has changed.
    pub(super) fn enter(&mut self, now_s: f64, who: u32, work_s: f64) -> Option<f64> {
        self.advance(now_s);
        let end = (self.received_s + work_s).to_bits();
        let first = self.work.peek().is_none_or(|Reverse((bits, _))| end < *bits);
        self.work.push(Reverse((end, who)));
        let crowded = count(self.work.len()) > self.free();
        if first || crowded { self.appoint() } else { None }
    }

    /// The first is done. Says who, and when the next one is.
    pub(super) fn leave(&mut self, now_s: f64) -> Option<(u32, Option<f64>)> {
        self.advance(now_s);
        let Reverse((bits, who)) = self.work.pop()?;
        self.received_s = self.received_s.max(f64::from_bits(bits));
        if self.work.is_empty() {
            self.received_s = 0.0; // so that no digits are lost over a long time
        }
        Some((who, self.appoint()))
    }

    fn appoint(&mut self) -> Option<f64> {
        let Reverse((bits, _)) = self.work.peek()?;
        self.appointment = self.appointment.wrapping_add(1) & 0x0fff_ffff;
        let left = (f64::from_bits(*bits) - self.received_s).max(0.0);
        Some(self.since_s + left / self.speed())
    }

    /// Work that each receives in a second.
    fn speed(&self) -> f64 {
        (self.free() / count(self.work.len())).min(1.0)
    }

    /// Processors that other work leaves.
    fn free(&self) -> f64 {
        f64::from(self.processors) - self.background
    }

    fn advance(&mut self, now_s: f64) {
        self.account(now_s);
        if !self.work.is_empty() {
            self.received_s += (now_s - self.since_s) * self.speed();
        }
        self.since_s = now_s;
    }

    fn account(&mut self, now_s: f64) {
        let (all, most) = (count(self.work.len()), self.free());
        self.over_time.add(now_s, self.background + all.min(most), (all - most).max(0.0));
    }

    pub(super) fn forget(&mut self, now_s: f64) {
        self.over_time = OverTime { since_s: now_s, ..OverTime::default() };
    }

    pub(super) fn used(&mut self, now_s: f64, for_s: f64) -> (f64, f64) {
        self.account(now_s);
        let busy = self.over_time.busy / for_s / f64::from(self.processors);
        (busy, self.over_time.waiting / for_s)
    }
}

#[expect(clippy::cast_precision_loss, reason = "at most five million operations at once")]
fn count(length: usize) -> f64 {
    length as f64
}
