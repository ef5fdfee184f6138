//! What was done in the last minute.

use std::ops::AddAssign;

use super::queue::Found;

/// The length of a slot, nanoseconds.
const SLOT_NS: u64 = 5_000_000_000;
/// Slots that are kept, the present one included.
const SLOTS: usize = 12;

/// Sums over steps. Times in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(crate) steps: u64,
    /// Steps that found every work process taken.
    pub(crate) crowded: u64,
    /// Background steps that waited for others of their kind.
    pub(crate) limited: u64,
    pub(crate) queue_ns: u64,
    /// That of those steps.
    pub(crate) limited_ns: u64,
    pub(crate) load_ns: u64,
    pub(crate) database_ns: u64,
    /// Of steps that have ended; of one that runs it is not known yet.
    pub(crate) lock_ns: u64,
    pub(crate) backend_ns: u64,
    /// In work processes, all but the queue included.
    pub(crate) busy_ns: u64,
}

impl Sums {
    /// A step that found that when it came, and waited so long for its work process.
    pub(crate) fn of(found: Found, queue_ns: u64) -> Self {
        let (crowded, limited) = (found == Found::Taken, found == Found::Limit);
        Self {
            steps: 1,
            crowded: u64::from(crowded),
            limited: u64::from(limited),
            queue_ns,
            limited_ns: if limited { queue_ns } else { 0 },
            ..Self::default()
        }
    }
}

impl AddAssign for Sums {
    fn add_assign(&mut self, more: Self) {
        self.steps += more.steps;
        self.crowded += more.crowded;
        self.limited += more.limited;
        self.queue_ns += more.queue_ns;
        self.limited_ns += more.limited_ns;
        self.load_ns += more.load_ns;
        self.database_ns += more.database_ns;
        self.lock_ns += more.lock_ns;
        self.backend_ns += more.backend_ns;
        self.busy_ns += more.busy_ns;
    }
}

/// The steps that ended lately, in slots by the time at which they ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recent {
    slots: [(u64, Sums); SLOTS],
}

impl Recent {
    /// Adds steps that ended at `now_ns`.
    pub(crate) fn add(&mut self, now_ns: u64, sums: Sums) {
        let number = now_ns / SLOT_NS;
        let slot = &mut self.slots[place(number)];
        if slot.0 != number {
            *slot = (number, Sums::default());
        }
        slot.1 += sums;
    }

    /// The steps that ended between [`began_ns`](Self::began_ns) and `now_ns`.
    pub(crate) fn until(&self, now_ns: u64) -> Sums {
        let first = Self::began_ns(now_ns) / SLOT_NS;
        let mut all = Sums::default();
        for (number, sums) in &self.slots {
            if (first..=now_ns / SLOT_NS).contains(number) {
                all += *sums;
            }
        }
        all
    }

    /// When the window that ends at `now_ns` began: with the oldest slot that is kept.
    pub(crate) fn began_ns(now_ns: u64) -> u64 {
        (now_ns / SLOT_NS).saturating_sub(SLOTS as u64 - 1) * SLOT_NS
    }
}

fn place(number: u64) -> usize {
    usize::try_from(number % SLOTS as u64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(busy_ns: u64) -> Sums {
        Sums { steps: 1, busy_ns, ..Sums::default() }
    }

    #[test]
    fn what_is_older_than_the_window_is_left_out() {
        let mut recent = Recent::default();
        recent.add(SLOT_NS, one(1));
        recent.add(7 * SLOT_NS, one(10));
        recent.add(12 * SLOT_NS + 5, one(100));
        let at = |now_ns: u64| (recent.until(now_ns).steps, recent.until(now_ns).busy_ns);
        assert_eq!(at(12 * SLOT_NS + 6), (3, 111));
        assert_eq!(at(13 * SLOT_NS), (2, 110));
        assert_eq!(at(23 * SLOT_NS), (1, 100));
        assert_eq!(at(24 * SLOT_NS), (0, 0));
        assert_eq!(Recent::began_ns(13 * SLOT_NS + 3), 2 * SLOT_NS);
        assert_eq!(Recent::began_ns(3), 0);
    }

    #[test]
    fn a_slot_that_comes_round_begins_anew() {
        let mut recent = Recent::default();
        recent.add(3 * SLOT_NS, one(1));
        recent.add(15 * SLOT_NS, one(10));
        assert_eq!(recent.until(15 * SLOT_NS).busy_ns, 10);
    }
}
