//! When samples are due.

/// Due times at a steady pace, which a late sample does not shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticker {
    every_ns: u64,
    next_ns: u64,
    missed: u64,
}

impl Ticker {
    /// Due times every `every_ns`, the first one at the next whole second (or the next whole
    /// `every_ns`, if that is shorter) of the wall clock: times in files then read as people expect.
    pub(crate) fn aligned(every_ns: u64, monotonic_ns: u64, wall_ns: u64) -> Self {
        let step_ns = every_ns.clamp(1, 1_000_000_000);
        let wait_ns = (step_ns - wall_ns % step_ns) % step_ns;
        Self { every_ns: every_ns.max(1), next_ns: monotonic_ns + wait_ns, missed: 0 }
    }

    /// The next due time, on the monotonic clock.
    pub(crate) fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// The sample of the last due time was taken at `now_ns`; due times that have passed meanwhile
    /// are left out.
    pub(crate) fn taken(&mut self, now_ns: u64) {
        let passed = now_ns.saturating_sub(self.next_ns) / self.every_ns;
        self.missed += passed;
        self.next_ns += (passed + 1) * self.every_ns;
    }

    /// Due times that were left out.
    pub(crate) fn missed(&self) -> u64 {
        self.missed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn a_late_sample_shifts_nothing() {
        let mut ticker = Ticker::aligned(S, 7 * S, 100 * S + 250_000_000);
        assert_eq!(ticker.next_ns(), 7 * S + 750_000_000);
        ticker.taken(7 * S + 900_000_000);
        assert_eq!(ticker.next_ns(), 8 * S + 750_000_000);
        ticker.taken(11 * S);
        assert_eq!((ticker.next_ns(), ticker.missed()), (11 * S + 750_000_000, 2));
    }

    #[test]
    fn a_long_pace_does_not_wait_for_its_first_sample() {
        assert_eq!(Ticker::aligned(60 * S, 5, S / 2).next_ns(), 5 + S / 2);
        assert_eq!(Ticker::aligned(S, 5, 3 * S).next_ns(), 5);
    }
}
