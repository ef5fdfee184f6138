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

    /// The same without a first due time that comes within half a step of `monotonic_ns`, for what
    /// is read then has next to nothing to compare with; unless the next one comes after `end_ns`.
    #[must_use]
    pub(crate) fn past_a_short_first(mut self, monotonic_ns: u64, end_ns: u64) -> Self {
        let step_ns = self.every_ns.min(1_000_000_000);
        let later_ns = self.next_ns.saturating_add(step_ns);
        if self.next_ns.saturating_sub(monotonic_ns) < step_ns / 2 && later_ns <= end_ns {
            self.next_ns = later_ns;
        }
        self
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
    fn a_first_step_is_half_a_step_at_least() {
        let first = |wall_ns, end_ns| {
            Ticker::aligned(S, 5, wall_ns).past_a_short_first(5, end_ns).next_ns()
        };
        assert_eq!(first(9 * S / 10, 5 * S), 5 + S / 10 + S);
        assert_eq!(first(S / 10, 5 * S), 5 + 9 * S / 10);
        assert_eq!(first(9 * S / 10, S), 5 + S / 10, "there is no time for a later one");
    }

    #[test]
    fn a_long_pace_does_not_wait_for_its_first_sample() {
        assert_eq!(Ticker::aligned(60 * S, 5, S / 2).next_ns(), 5 + S / 2);
        assert_eq!(Ticker::aligned(S, 5, 3 * S).next_ns(), 5);
    }
}
