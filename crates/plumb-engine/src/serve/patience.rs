//! Looking for a while before sleeping, where another server's answer is due.
//!
//! A processor that sleeps takes longer to wake than a near server takes to answer, and longer to be
//! woken than to be told. So what withheld replies wait for is looked for first, as a lock that is
//! taken spins before it sleeps; where the answer takes longer than that, the loop sleeps at once.

use std::io;

use plumb_link::Link;
use plumb_socket::Time;

use super::Serve;
use crate::service::Service;

/// How long an answer is looked for before the loop sleeps, nanoseconds.
const LOOK_NS: u64 = 50_000;
/// After so many looks in vain the waits between two of them double no more.
const DOUBLED_MOST: u32 = 10;

/// Whether looking has been of use.
#[derive(Debug)]
pub(super) struct Patience {
    /// How long the next answer is still looked for, nanoseconds.
    left_ns: u64,
    /// Answers in a row that were looked for in vain.
    vain: u32,
    /// So many waits sleep at once before the next look.
    rests: u32,
}

impl Default for Patience {
    fn default() -> Self {
        Self { left_ns: LOOK_NS, vain: 0, rests: 0 }
    }
}

impl Patience {
    /// How long the wait that begins now may look, nanoseconds; `None`: it sleeps at once.
    fn next(&mut self) -> Option<u64> {
        let looks = self.rests == 0;
        self.rests = self.rests.saturating_sub(1);
        looks.then_some(self.left_ns)
    }

    /// A look has found the answer.
    fn found(&mut self) {
        *self = Self::default();
    }

    /// A look of `spent_ns` has not found it.
    fn missed(&mut self, spent_ns: u64) {
        self.left_ns = self.left_ns.saturating_sub(spent_ns);
        if self.left_ns == 0 {
            self.vain = (self.vain + 1).min(DOUBLED_MOST);
            self.rests = (1 << self.vain) - 1;
            self.left_ns = LOOK_NS;
        }
    }

    /// The answer was there while others were served.
    pub(super) fn heard(&mut self) {
        self.left_ns = LOOK_NS;
    }
}

impl<S: Service, L: Link, T: Time> Serve<'_, S, L, T> {
    /// Waits until a socket is ready, or something must be done.
    pub(super) fn wait(&mut self) -> io::Result<()> {
        let deadline = self.deadline();
        if deadline != Some(0) && self.look_for_awaited()? {
            return Ok(());
        }
        self.time.wait(&mut self.poll, self.now, deadline)
    }

    /// Looks for what withheld replies wait for; true when something came, from whomever.
    fn look_for_awaited(&mut self) -> io::Result<bool> {
        if self.unsettled.is_empty() {
            return Ok(false);
        }
        let Some(id) = self.service.waited_for() else {
            return Ok(false);
        };
        let Some(most_ns) = self.patience.next() else {
            return Ok(false);
        };
        let began = self.time.now_ns();
        self.time.look_until(&mut self.poll, began + most_ns)?;
        // read again: an alarm that went off meanwhile has been heard
        self.now = self.time.now_ns();
        match self.announced(id) {
            Some(_) => self.patience.found(),
            None => self.patience.missed(self.now - began),
        }
        Ok(self.poll.found() > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many waits in a row sleep at once.
    fn rests(patience: &mut Patience) -> u32 {
        (0..).find(|_| patience.next().is_some()).unwrap()
    }

    #[test]
    fn looks_in_vain_become_rare_and_one_that_finds_it_brings_them_back() {
        let mut patience = Patience::default();
        let mut between = Vec::new();
        for _ in 0..13 {
            between.push(rests(&mut patience));
            patience.missed(LOOK_NS);
        }
        assert_eq!(between[..6], [0, 1, 3, 7, 15, 31]);
        assert_eq!(between[10..], [1023; 3]);
        assert_eq!(rests(&mut patience), 1023);
        patience.found();
        assert_eq!([rests(&mut patience), rests(&mut patience)], [0, 0]);
    }

    #[test]
    fn an_answer_is_looked_for_so_long_however_many_others_come_before_it() {
        let mut patience = Patience::default();
        for left in [50_000, 40_000, 30_000, 20_000] {
            assert_eq!(patience.next(), Some(left));
            patience.missed(10_000);
        }
        patience.heard();
        assert_eq!(patience.next(), Some(LOOK_NS));
        patience.missed(LOOK_NS + 1);
        assert_eq!([patience.next(), patience.next()], [None, Some(LOOK_NS)]);
    }
}
