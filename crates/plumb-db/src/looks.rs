//! Which calls are looked into.

use std::time::Duration;

use plumb_engine::Extent;
use plumb_measure::Span;

/// A message that asks for no work and is not answered by then has a long way, or a server that is busy:
/// the statement follows it. Timers of the runtime go off by the millisecond.
pub(crate) const MOMENT: Duration = Duration::from_millis(1);

/// How a call is looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// A message that asks for no work goes there and back in the place of the call; the statement
    /// follows it.
    Wire,
    /// The statement goes out between readings of the server's clock.
    Server,
}

/// What a look tells.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Seen {
    /// How long a message takes there and back that asks for no work, nanoseconds.
    Wire(u64),
    /// What the server's clock says, nanoseconds.
    Server {
        /// Between two readings around the statement.
        statement_ns: u64,
        /// Between two readings around a message that asks for no work.
        empty_ns: u64,
    },
}

/// One call in so many is looked into at most ...
const CALLS: u64 = 8;
/// ... or in so few, while there are fewer looks than the time that has passed should have brought ...
const CALLS_BEHIND: u64 = 3;
/// ... of this many, half of them of either kind, over the recorded part of the load ...
const ENOUGH: u64 = 32;
/// ... and between two looks passes so many times as much as a look takes longer than a call ...
const PAUSES: u64 = 32;
/// ... or less at the beginning, this part of the time that the load has run.
const PART: u64 = 16;

/// The looks of one load, those of all its callers.
///
/// They take the place of calls, the two kinds in turns. So that they change little of what is
/// measured, they cost no more than a thirty-third of the time of one caller, once the load has run
/// for a while: that is by how much they may lower the rate of a closed load.
#[derive(Debug)]
pub(crate) struct Looks {
    calls: u64,
    began_ns: Option<u64>,
    /// No look before.
    not_before_ns: u64,
    /// Calls that were there when the last one was looked into.
    at: u64,
    next: Look,
    recorded: Recorded,
}

/// The recorded part of a load, and how much of it is over.
#[derive(Debug)]
struct Recorded {
    warm_up_ns: u64,
    extent: Extent,
    calls: u64,
    looks: u64,
}

impl Recorded {
    /// True when fewer calls were looked into than the part of the load that is over, which has run
    /// for `ran_ns` with its warm-up, should have brought.
    fn is_behind(&self, ran_ns: u64) -> bool {
        let (done, all) = match self.extent {
            Extent::For(time) => (ran_ns.saturating_sub(self.warm_up_ns), time.ns()),
            Extent::Count(count) => (self.calls, count),
            Extent::Users => return false, // only scripts end so
        };
        self.looks < ENOUGH
            && u128::from(self.looks) * u128::from(all) < u128::from(ENOUGH) * u128::from(done)
    }
}

impl Looks {
    /// Those of a load that ends like `extent`, behind a warm-up.
    pub(crate) fn of(warm_up: Span, extent: Extent) -> Self {
        let recorded = Recorded { warm_up_ns: warm_up.ns(), extent, calls: 0, looks: 0 };
        Self { calls: 0, began_ns: None, not_before_ns: 0, at: 0, next: Look::Wire, recorded }
    }

    /// How the next call is looked into, which begins at `now`; `None` when it is not.
    pub(crate) fn wanted(&mut self, now: u64) -> Option<Look> {
        self.calls += 1;
        let ran_ns = now - *self.began_ns.get_or_insert(now);
        let is_recorded = ran_ns >= self.recorded.warm_up_ns;
        self.recorded.calls += u64::from(is_recorded);
        // the second call is looked into: the first may find everything cold
        let far = match self.at {
            0 => self.calls == 2,
            at => self.calls >= at + self.every(ran_ns),
        };
        if !far || now < self.not_before_ns {
            return None;
        }
        self.at = self.calls;
        self.recorded.looks += u64::from(is_recorded);
        let other = match self.next {
            Look::Wire => Look::Server,
            Look::Server => Look::Wire,
        };
        Some(std::mem::replace(&mut self.next, other))
    }

    /// One call in so many is looked into now, where looks are not too long for that.
    fn every(&self, ran_ns: u64) -> u64 {
        if self.recorded.is_behind(ran_ns) { CALLS_BEHIND } else { CALLS }
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

    const MS: u64 = 1_000_000;

    /// Of a load so long that the looks at its beginning are enough.
    fn long() -> Looks {
        Looks::of(Span::from_ns(0), Extent::For(Span::from_ms(1_000_000)))
    }

    /// How many of each kind there are in the recorded part when a call takes `call_ns`, and a look
    /// `extra_ns` more, in a load of a second behind a warm-up of half of one.
    fn in_a_second(call_ns: u64, extra_ns: u64) -> (u64, [u64; 2]) {
        let mut looks = Looks::of(Span::from_ms(500), Extent::For(Span::from_ms(1_000)));
        let (mut now, mut calls, mut kinds) = (0, 0, [0, 0]);
        while now < 1_500 * MS {
            let is_recorded = u64::from(now >= 500 * MS);
            let look = looks.wanted(now);
            now += call_ns;
            match look {
                None => calls += is_recorded,
                Some(look) => {
                    kinds[usize::from(look == Look::Server)] += is_recorded;
                    now += extra_ns;
                    looks.looked(now, extra_ns);
                }
            }
        }
        (calls, kinds)
    }

    #[test]
    fn every_eighth_call_is_looked_into_each_kind_in_turns() {
        let mut looks = long();
        let wanted: Vec<(u64, Look)> =
            (1..=30).filter_map(|call| Some((call, looks.wanted(call)?))).collect();
        let (wire, server) = (Look::Wire, Look::Server);
        assert_eq!(wanted, [(2, wire), (10, server), (18, wire), (26, server)]);
    }

    #[test]
    fn where_calls_are_few_more_of_them_are_looked_into() {
        let (calls, [wire, server]) = in_a_second(40 * MS, MS / 2);
        assert!(wire >= 4 && server >= 4 && calls >= 16, "{calls}, {wire}, {server}");
        let (calls, [wire, server]) = in_a_second(7 * MS, MS / 10);
        assert!((14..=18).contains(&wire) && (14..=18).contains(&server), "{wire}, {server}");
        assert!(calls > 3 * (wire + server), "{calls}");
    }

    #[test]
    fn where_calls_are_counted_their_number_says_how_many_are_behind() {
        let looked = |count| {
            let mut looks = Looks::of(Span::from_ns(0), Extent::Count(count));
            (1..=count).filter(|call| looks.wanted(*call).is_some()).count()
        };
        assert_eq!(looked(10), 3);
        assert_eq!(looked(80), 27);
        assert_eq!(looked(800), 100);
    }

    #[test]
    fn looks_take_a_small_part_of_the_time() {
        const CALL_NS: u64 = 50_000;
        const EXTRA_NS: u64 = 100_000;
        let (mut looks, mut now, mut extra) = (long(), 0, 0);
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
        let (mut looks, mut now, mut count) = (long(), 1, 0);
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
