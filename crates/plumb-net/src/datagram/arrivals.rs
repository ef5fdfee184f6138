//! The receiver's account of a stream of datagrams: what came, what did not, and in which order. Pure.

use plumb_wire::datagram::{Account, GAP_BINS, gap_bin};

use super::window::{Arrival, Window};

/// A datagram that is overtaken by more than 65,536 others counts as lost.
type Latest = Window<1_024>;

/// What has come of one stream.
///
/// A datagram is *reordered* when one with a higher number came before it (RFC 4737, section 3.3), a
/// *duplicate* when it had come before, *lost* when it was sent and has not come. The jitter is that
/// of RFC 3550, section 6.4.1, over first arrivals in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    latest: Latest,
    received: u64,
    bytes: u64,
    duplicates: u64,
    reordered: u64,
    too_late: u64,
    gaps: Gaps,
    jitter: Jitter,
    first_ns: u64,
    last_ns: u64,
}

/// Runs of numbers that did not come.
#[derive(Clone, Copy, Debug, Default)]
struct Gaps {
    /// The length of the run that is not closed.
    open: u64,
    longest: u64,
    classes: [u64; GAP_BINS],
}

impl Gaps {
    fn note(&mut self, came: bool, many: u64) {
        if !came {
            self.open += many;
        } else if self.open > 0 {
            self.longest = self.longest.max(self.open);
            self.classes[gap_bin(self.open)] += 1;
            self.open = 0;
        }
    }
}

/// The estimator of RFC 3550, appendix A.8, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Jitter {
    /// Arrival less stamp of the datagram before: the clocks of both sides, whatever lies between
    /// them.
    transit_ns: Option<i64>,
    /// Sixteen times the jitter.
    sixteenfold: u64,
    longest: u64,
}

impl Jitter {
    fn note(&mut self, stamp: u64, at_ns: u64) {
        let transit_ns = at_ns.wrapping_sub(stamp).cast_signed();
        if let Some(before) = self.transit_ns.replace(transit_ns) {
            // a stamp of somebody who lies must not go beyond what is added up
            let difference = transit_ns.wrapping_sub(before).unsigned_abs().min(u64::MAX >> 8);
            self.sixteenfold =
                (self.sixteenfold + difference).saturating_sub((self.sixteenfold + 8) / 16);
            self.longest = self.longest.max(self.now());
        }
    }

    fn now(&self) -> u64 {
        self.sixteenfold / 16
    }
}

impl Arrivals {
    /// A datagram of `bytes` came at `at_ns`, which was sent at `stamp` by the clock of its sender.
    pub(crate) fn note(&mut self, number: u64, stamp: u64, bytes: u64, at_ns: u64) {
        let gaps = &mut self.gaps;
        match self.latest.note(number, |came, many| gaps.note(came, many)) {
            Arrival::Next => {}
            Arrival::Overtaken => self.reordered += 1,
            Arrival::Again => {
                self.duplicates += 1;
                return;
            }
            Arrival::TooLate => {
                self.too_late += 1;
                return;
            }
        }
        if self.received == 0 {
            self.first_ns = at_ns;
        }
        self.last_ns = at_ns;
        self.received += 1;
        self.bytes += bytes;
        self.jitter.note(stamp, at_ns);
    }

    /// Different datagrams that came, and their bytes.
    pub(crate) fn received(&self) -> (u64, u64) {
        (self.received, self.bytes)
    }

    /// Datagrams that have not come and are known to have been sent.
    pub(crate) fn lost(&self) -> u64 {
        self.latest.end() - self.received
    }

    /// What is known by now; of a stream that has ended with so many datagrams, all of it.
    pub(crate) fn account(&self, ended: Option<u64>) -> Account {
        let mut gaps = self.gaps;
        self.latest.rest(|came, many| gaps.note(came, many));
        let end = self.latest.end();
        let sent = ended.unwrap_or(end).max(end);
        gaps.note(false, sent - end);
        gaps.note(true, 1);
        Account {
            received: self.received,
            bytes: self.bytes,
            duplicates: self.duplicates,
            reordered: self.reordered,
            too_late: self.too_late,
            lost: sent - self.received,
            first_ns: self.first_ns,
            last_ns: self.last_ns,
            jitter_ns: self.jitter.now(),
            jitter_max_ns: self.jitter.longest,
            gap_max: gaps.longest,
            gaps: gaps.classes,
            ..Account::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use plumb_measure::statistics::SplitMix64;

    use super::*;

    const EVERY_NS: u64 = 1_000;
    /// Between the clocks of both sides.
    const APART_NS: u64 = 77_000_000;

    /// The account of numbers that come one a microsecond, each sent that long before.
    fn account(numbers: &[u64], sent: u64) -> Account {
        let mut arrivals = Arrivals::default();
        for (number, at) in numbers.iter().zip(0..) {
            arrivals.note(*number, number * EVERY_NS, 100, APART_NS + at * EVERY_NS);
        }
        arrivals.account(Some(sent))
    }

    #[test]
    fn what_was_overtaken_came_twice_or_not_at_all_is_told_apart() {
        let all: Vec<u64> = (0..10).collect();
        let told = account(&all, 10);
        let whole = Account {
            received: 10,
            bytes: 1_000,
            first_ns: APART_NS,
            last_ns: APART_NS + 9 * EVERY_NS,
            ..Account::default()
        };
        assert_eq!(told, whole);
        // 2 and 3 do not come, 5 comes behind 6, 7 twice, 9 not
        let told = account(&[0, 1, 4, 6, 5, 7, 7, 8], 10);
        assert_eq!((told.received, told.lost), (7, 3));
        assert_eq!((told.reordered, told.duplicates, told.too_late), (1, 1, 0));
        assert_eq!((told.gap_max, told.gaps), (2, [1, 1, 0, 0, 0, 0, 0, 0]));
        let none = account(&[], 40);
        assert_eq!((none.received, none.lost, none.gap_max), (0, 40, 40));
        assert_eq!(none.gaps[gap_bin(40)], 1);
    }

    #[test]
    fn a_burst_longer_than_what_is_remembered_is_one_gap() {
        let far = 1_000_000;
        let told = account(&[0, far, far + 1, 5], far + 2);
        assert_eq!((told.lost, told.gap_max, told.too_late), (far - 1, far - 1, 1));
        assert_eq!(told.gaps.iter().sum::<u64>(), 1);
    }

    #[test]
    fn every_datagram_is_either_received_or_lost_whatever_comes() {
        let mut random = SplitMix64::new(3);
        for _ in 0..50 {
            let sent = 200;
            let numbers: Vec<u64> =
                (0..random.below(400)).map(|_| random.below(200) as u64).collect();
            let told = account(&numbers, sent);
            assert_eq!(told.received + told.lost, sent);
            assert_eq!(told.received + told.duplicates, numbers.len() as u64);
            let mut missing: Vec<bool> = vec![true; 200];
            numbers.iter().for_each(|number| missing[usize::try_from(*number).unwrap()] = false);
            let runs = missing.split(|missing| !missing).map(<[bool]>::len).filter(|run| *run > 0);
            assert_eq!(told.gap_max, runs.clone().max().unwrap_or(0) as u64);
            assert_eq!(told.gaps.iter().sum::<u64>(), runs.count() as u64);
        }
    }

    /// The example of the estimator by hand: a difference of 16 us, then none.
    #[test]
    fn the_jitter_is_that_of_rfc_3550() {
        let mut arrivals = Arrivals::default();
        let mut come = |number, at_ns| {
            arrivals.note(number, number * EVERY_NS, 1, at_ns);
            arrivals.account(None).jitter_ns
        };
        assert_eq!(come(0, 0), 0);
        assert_eq!(come(1, 17_000), 1_000, "a sixteenth of 16 us");
        // J falls by a sixteenth of itself
        assert_eq!(come(2, 18_000), 937);
        assert_eq!(come(2, 90_000), 937, "one that came before changes nothing");
        assert_eq!(arrivals.account(None).jitter_max_ns, 1_000);
    }
}
