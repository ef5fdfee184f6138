//! How full links were, each direction for itself.

use plumb_measure::LinkUse;
use serde::Serialize;

use super::{Range, Usage};
use crate::sample::{InterfaceSample, RdmaSample, link_used_pct};

/// What each direction of a link carried as a share of its speed, with the RDMA traffic that goes over
/// the same link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LinkUsage {
    /// Its speed in one direction, Mbit/s, as it was told last.
    pub speed_mbit: u64,
    /// Received, percent.
    pub received_pct: Range,
    /// Sent, percent.
    pub sent_pct: Range,
    #[serde(skip)]
    long_max: LongMax,
}

/// The most of samples that are long enough to tell a maximum, percent; absent without such.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct LongMax {
    received: Option<f64>,
    sent: Option<f64>,
}

/// Counters of some adapters move once a second only: shorter samples show all of that second, or nothing.
const MAXIMUM_NS: u64 = 1_000_000_000;

/// Above this share, percent, what went over the interface is more than its link can carry: the speed that
/// is told is not its limit.
const POSSIBLE_PCT: f64 = 101.0;

impl LinkUsage {
    /// Takes what `sample` carried for `interval_ns`; nothing where it tells no speed.
    pub(super) fn take(
        link: &mut Option<Self>,
        sample: &InterfaceSample,
        rdma: &[RdmaSample],
        interval_ns: u64,
    ) {
        // samples of another machine may hold anything
        let Some(speed_mbit) = sample.speed_mbit.filter(|mbit| *mbit > 0) else { return };
        let used = link_used_pct(speed_mbit, sample, rdma);
        let (mut received, mut sent) = (link.map(|it| it.received_pct), link.map(|it| it.sent_pct));
        Range::take(&mut received, used.received, interval_ns);
        Range::take(&mut sent, used.sent, interval_ns);
        let mut long_max = link.map(|it| it.long_max).unwrap_or_default();
        if interval_ns >= MAXIMUM_NS {
            let most = |of: Option<f64>, used: f64| Some(of.map_or(used, |it| it.max(used)));
            long_max.received = most(long_max.received, used.received);
            long_max.sent = most(long_max.sent, used.sent);
        }
        let both = received.zip(sent);
        *link = both.map(|(received_pct, sent_pct)| Self {
            speed_mbit,
            received_pct,
            sent_pct,
            long_max,
        });
    }

    /// True where it carried no more than it can, on average.
    fn is_possible(&self) -> bool {
        let possible = 0.0..=POSSIBLE_PCT;
        possible.contains(&self.received_pct.mean) && possible.contains(&self.sent_pct.mean)
    }
}

impl Usage {
    /// The direction of a link that was used most over the window, of those whose speed is known. A link that
    /// carried more than its speed is none of them: that speed is not its limit.
    #[must_use]
    pub fn busiest_link(&self) -> Option<LinkUse> {
        let links = self.interfaces.iter().filter_map(|(name, usage)| Some((name, usage.link?)));
        let links = links.filter(|(_, link)| link.is_possible());
        let directions = links.flat_map(|(name, link)| {
            let of = |(sent, used, most)| (name, link.speed_mbit, sent, used, most);
            let received = (false, link.received_pct, link.long_max.received);
            [received, (true, link.sent_pct, link.long_max.sent)].map(of)
        });
        let busiest = directions.max_by(|one, other| one.3.mean.total_cmp(&other.3.mean));
        busiest.map(|(interface, speed_mbit, sent, used, most)| LinkUse {
            interface: interface.clone(),
            sent,
            speed_mbit,
            used_pct: used.mean,
            used_max_pct: most.filter(|it| it.is_finite()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Sample;
    use plumb_procfs::Label;

    const SECOND: u64 = 1_000_000_000;

    fn interface(name: &str, speed_mbit: Option<u64>, received: f64, sent: f64) -> InterfaceSample {
        InterfaceSample {
            name: Label::new(name.as_bytes()),
            speed_mbit,
            received_bytes_per_s: received,
            sent_bytes_per_s: sent,
            ..InterfaceSample::default()
        }
    }

    fn sample(interval_ns: u64, interfaces: Vec<InterfaceSample>) -> Sample {
        Sample { interval_ns, interfaces, ..Sample::default() }
    }

    fn eth0(interval_ns: u64, received: f64, sent: f64) -> Sample {
        sample(interval_ns, vec![interface("eth0", Some(1_000), received, sent)])
    }

    #[test]
    fn the_busiest_link_is_of_one_direction_over_all_samples() {
        // first the one direction is full, then the other: neither is over all of it
        let mut first = eth0(SECOND, 125e6, 0.0);
        first.interfaces.push(interface("eth1", None, 9e9, 9e9));
        let turns = Usage::of(&[first, eth0(3 * SECOND, 0.0, 125e6)]);
        let link = turns.busiest_link().unwrap();
        assert_eq!((link.interface.as_str(), link.sent, link.speed_mbit), ("eth0", true, 1_000));
        assert!((link.used_pct - 75.0).abs() < 1e-9, "{link:?}");
        assert!((link.used_max_pct.unwrap() - 100.0).abs() < 1e-9, "{link:?}");
        let port = RdmaSample {
            interface: Label::new(b"eth0"),
            received_bytes_per_s: Some(100e6),
            ..RdmaSample::default()
        };
        let shared = Usage::of(&[Sample { rdma: vec![port], ..eth0(1_000, 12.5e6, 0.0) }]);
        let link = shared.busiest_link().unwrap();
        assert!(!link.sent && (link.used_pct - 90.0).abs() < 1e-9, "{link:?}");
        let unknown = sample(1, vec![interface("eth1", None, 1e9, 1e9)]);
        assert_eq!(Usage::of(&[unknown]).busiest_link(), None);
    }

    #[test]
    fn a_link_that_carries_more_than_its_speed_is_bound_by_another() {
        let over = interface("eth1", Some(1_000), 1e9, 1e6);
        let both = sample(SECOND, vec![interface("eth0", Some(1_000), 0.0, 25e6), over]);
        let link = Usage::of(&[both]).busiest_link().unwrap();
        assert_eq!((link.interface.as_str(), link.sent), ("eth0", true));
        assert_eq!(Usage::of(&[sample(SECOND, vec![over])]).busiest_link(), None);
        // a moment above it is one of counters that move by the second
        let steps = Usage::of(&[eth0(SECOND, 0.0, 150e6), eth0(SECOND, 0.0, 0.0)]);
        assert!((steps.busiest_link().unwrap().used_pct - 60.0).abs() < 1e-9);
    }

    #[test]
    fn short_samples_tell_no_maximum() {
        let short = [0.0, 0.0, 0.0, 125e6].map(|sent| eth0(SECOND / 4, 0.0, sent));
        let link = Usage::of(&short).busiest_link().unwrap();
        assert_eq!((link.sent, link.used_max_pct), (true, None));
        let one = [eth0(SECOND, 0.0, 50e6)];
        let link = Usage::of(short.iter().chain(&one)).busiest_link().unwrap();
        assert!((link.used_max_pct.unwrap() - 40.0).abs() < 1e-9, "{link:?}");
    }

    #[test]
    fn no_speed_of_another_machine_makes_a_share_that_is_no_number() {
        for speed_mbit in [Some(0), Some(1), None] {
            for bytes in [0.0, -1.0, f64::MAX, f64::NAN] {
                let odd = interface("odd", speed_mbit, bytes, bytes);
                let found = Usage::of(&[sample(SECOND, vec![odd])]).busiest_link();
                let possible = speed_mbit == Some(1) && bytes.to_bits() == 0;
                assert_eq!(found.is_some(), possible, "{speed_mbit:?} {bytes} {found:?}");
            }
        }
    }
}
