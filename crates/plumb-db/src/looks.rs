//! Which calls are looked into.

use crate::exchange::Look;

/// One call in so many is looked into at most ...
const CALLS: u64 = 8;
/// ... and between two looks passes so many times as much as a look takes longer than a call ...
const PAUSES: u64 = 32;
/// ... or less at the beginning, this part of the time that the load has run.
const PART: u64 = 16;

/// The looks of one load, those of all its callers.
///
/// They take the place of calls, the two kinds in turns. So that they change little of what is
/// measured, they cost no more than a thirty-third of the time of one caller, once the load has run
/// for a while.
#[derive(Debug)]
pub(crate) struct Looks {
    calls: u64,
    began_ns: Option<u64>,
    /// No look before.
    not_before_ns: u64,
    /// Calls that were there when the last one was looked into.
    at: u64,
    next: Look,
}

impl Default for Looks {
    fn default() -> Self {
        // the second call is looked into: the first may find everything cold
        Self { calls: 0, began_ns: None, not_before_ns: 0, at: 0, next: Look::Wire }
    }
}

impl Looks {
    /// How the next call is looked into, which begins at `now`; `None` when it is not.
    pub(crate) fn wanted(&mut self, now: u64) -> Option<Look> {
        self.calls += 1;
        self.began_ns.get_or_insert(now);
        let far = if self.at == 0 { self.calls == 2 } else { self.calls >= self.at + CALLS };
        if !far || now < self.not_before_ns {
            return None;
        }
        self.at = self.calls;
        let other = match self.next {
            Look::Wire => Look::Server,
            Look::Server => Look::Wire,
        };
        Some(std::mem::replace(&mut self.next, other))
    }

    /// A look has ended at `now`, and took `extra_ns` longer than a call.
    pub(crate) fn looked(&mut self, now: u64, extra_ns: u64) {
        let ran_ns = now.saturating_sub(self.began_ns.unwrap_or(now));
        self.not_before_ns = now + extra_ns.saturating_mul(PAUSES).min(ran_ns / PART);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_eighth_call_is_looked_into_each_kind_in_turns() {
        let mut looks = Looks::default();
        let wanted: Vec<(u64, Look)> =
            (1..=30).filter_map(|call| Some((call, looks.wanted(call)?))).collect();
        let (wire, server) = (Look::Wire, Look::Server);
        assert_eq!(wanted, [(2, wire), (10, server), (18, wire), (26, server)]);
    }

    #[test]
    fn looks_take_a_small_part_of_the_time() {
        const CALL_NS: u64 = 50_000;
        const EXTRA_NS: u64 = 100_000;
        let (mut looks, mut now, mut extra) = (Looks::default(), 0, 0);
        for _ in 0..100_000 {
            let look = looks.wanted(now);
            now += CALL_NS;
            if look.is_some() {
                now += EXTRA_NS;
                extra += EXTRA_NS;
                looks.looked(now, EXTRA_NS);
            }
        }
        assert!(extra * PAUSES < now, "{extra} of {now}");
        assert!(extra * (PAUSES + 5) > now, "as many as it may be: {extra} of {now}");
    }

    #[test]
    fn a_short_load_is_looked_into_as_well() {
        let (mut looks, mut now, mut count) = (Looks::default(), 1, 0);
        for _ in 0..80 {
            if looks.wanted(now).is_some() {
                count += 1;
                looks.looked(now, 100_000);
            }
            now += 50_000;
        }
        assert_eq!(count, 10);
    }
}
