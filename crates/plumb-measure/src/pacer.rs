//! When work is due. A pacer knows no protocol and never waits; it only says when.

/// The moments at which operations of a constant rate are due.
///
/// The `k`-th operation is due at `start + k / rate`, whatever the target does: a rate that was
/// not kept up is seen as late work, never as less work.
#[derive(Clone, Copy, Debug)]
pub struct Pacer {
    start_ns: u64,
    interval_ns: f64, // above zero
    taken: u64,
}

impl Pacer {
    /// `per_s` operations a second, the first at `start_ns`.
    #[must_use]
    pub fn new(start_ns: u64, per_s: f64) -> Self {
        Self { start_ns, interval_ns: 1e9 / per_s, taken: 0 }
    }

    /// When the next operation is due, nanoseconds on the clock of `start_ns`.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "2^53 ns are 104 days; the product is not negative"
    )]
    pub fn next_due(&self) -> u64 {
        // of a rate next to nothing never
        self.start_ns.saturating_add((self.taken as f64 * self.interval_ns) as u64)
    }

    /// Skips everything that is due at `now_ns`, and says how much that was.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "2^53 ns are 104 days; the quotient is not negative"
    )]
    pub fn skip(&mut self, now_ns: u64) -> u64 {
        if self.next_due() > now_ns {
            return 0;
        }
        let due = ((now_ns - self.start_ns) as f64 / self.interval_ns) as u64 + 1;
        let skipped = due.saturating_sub(self.taken).max(1);
        self.taken += skipped;
        skipped
    }

    /// Takes the next operation if it is due at `now_ns`, and says since when.
    pub fn take(&mut self, now_ns: u64) -> Option<u64> {
        let due = self.next_due();
        (due <= now_ns).then(|| {
            self.taken += 1;
            due
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn work_is_due_at_even_distances() {
        let mut pacer = Pacer::new(1_000, 2_000.0);
        assert_eq!(pacer.take(999), None);
        assert_eq!(pacer.take(1_000), Some(1_000));
        assert_eq!(pacer.next_due(), 501_000);
    }

    #[test]
    fn a_late_pacer_gives_every_due_time_it_missed() {
        let mut pacer = Pacer::new(0, 1_000.0);
        let dues: Vec<_> = std::iter::from_fn(|| pacer.take(3_000_000)).collect();
        assert_eq!(dues, [0, 1_000_000, 2_000_000, 3_000_000]);
    }

    #[test]
    fn a_rate_next_to_nothing_has_one_operation_and_then_none() {
        let mut pacer = Pacer::new(1_000, 5e-11);
        assert_eq!(pacer.take(1_000), Some(1_000));
        assert_eq!((pacer.take(1 << 60), pacer.skip(1 << 60)), (None, 0));
    }

    #[test]
    fn what_is_skipped_is_counted_and_the_next_is_due_later() {
        let mut pacer = Pacer::new(1_000_000, 1e9);
        assert_eq!(pacer.skip(999_999), 0);
        assert_eq!(pacer.skip(3_000_000), 2_000_001);
        assert_eq!(pacer.next_due(), 3_000_001);
        assert_eq!(pacer.skip(3_000_000), 0);
    }

    proptest! {
        #[test]
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        fn a_pacer_never_runs_ahead_and_never_behind(
            per_s in 0.1f64..1e6,
            now in 0u64..10_000_000_000,
        ) {
            let mut pacer = Pacer::new(0, per_s);
            let mut taken = 0u64;
            while taken < 20_000 && pacer.take(now).is_some() {
                taken += 1;
            }
            let expected = (now as f64 / 1e9 * per_s).floor() + 1.0;
            if taken < 20_000 {
                prop_assert!((taken as f64 - expected).abs() <= 1.0, "{taken} {expected}");
            }
        }
    }
}
