//! Differences of counters that wrap, or begin again.

/// How far a counter of 64 bits moved from `before` to `now`; `None` when it began again.
///
/// A counter that stands lower than before has either wrapped or begun again. It has wrapped if the
/// way forward over its end is the shorter one.
#[must_use]
pub fn moved(now: u64, before: u64) -> Option<u64> {
    let forward = now.wrapping_sub(before);
    (forward < 1 << 63).then_some(forward)
}

/// The same for a counter of 32 bits, or of more than promised: one that rose has not wrapped.
#[must_use]
pub fn moved_32(now: u64, before: u64) -> Option<u64> {
    if now >= before || before > u64::from(u32::MAX) {
        return moved(now, before);
    }
    let forward = now.wrapping_sub(before) & u64::from(u32::MAX);
    (forward < 1 << 31).then_some(forward)
}

/// How far a sum of counters of 32 bits each moved: it falls when one of them wraps.
#[must_use]
pub fn sum_moved_32(now: u64, before: u64) -> Option<u64> {
    moved(now, before).or_else(|| {
        let forward = now.wrapping_sub(before) & u64::from(u32::MAX);
        (forward < 1 << 31).then_some(forward)
    })
}

/// How far a figure that ought to rise rose; zero where it fell (the kernel's idle and iowait
/// times are known to).
#[must_use]
pub fn rise(now: u64, before: u64) -> u64 {
    moved(now, before).unwrap_or(0)
}

/// A rate a second.
#[must_use]
pub fn per_s(count: u64, interval_ns: u64) -> f64 {
    ratio(count, interval_ns) * 1e9
}

/// `part` of `whole` in percent; zero of nothing.
#[must_use]
pub fn percent(part: u64, whole: u64) -> f64 {
    ratio(part, whole) * 100.0
}

/// `part / whole`; zero of nothing.
#[must_use]
pub fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { float(part) / float(whole) }
}

/// A count as a float.
#[expect(clippy::cast_precision_loss, reason = "figures for people keep fifteen digits")]
pub fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_counter_wraps_or_begins_again() {
        assert_eq!(moved(15, 10), Some(5));
        assert_eq!(moved(4, u64::MAX - 5), Some(10));
        assert_eq!(moved(5, 1_000_000), None);
        assert_eq!(moved_32(4, u64::from(u32::MAX) - 5), Some(10));
        assert_eq!(moved_32(5, 1_000_000), None);
        assert_eq!(
            moved_32(4_100_000_000, 100_000_000),
            Some(4_000_000_000),
            "a second at 32 Gbit/s"
        );
        assert_eq!(moved_32(1 << 40, 1 << 39), Some(1 << 39), "it has more bits than promised");
        assert_eq!(sum_moved_32(7_000, (1 << 32) + 5_000), Some(2_000), "one of them wrapped");
        assert_eq!(rise(90, 100), 0);
    }

    proptest! {
        #[test]
        fn a_step_over_the_end_is_found_again(before: u64, step in 0u64..1 << 40) {
            prop_assert_eq!(moved(before.wrapping_add(step), before), Some(step));
        }

        #[test]
        fn so_it_is_with_32_bits(before: u32, step in 0u32..1 << 30) {
            let now = before.wrapping_add(step);
            prop_assert_eq!(moved_32(now.into(), before.into()), Some(step.into()));
        }
    }
}
