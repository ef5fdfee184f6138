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
}

impl LinkUsage {
    /// Takes what `sample` carried for `interval_ns`; nothing where it tells no speed.
    pub(super) fn take(
        link: &mut Option<Self>,
        sample: &InterfaceSample,
        rdma: &[RdmaSample],
        interval_ns: u64,
    ) {
        let Some(speed_mbit) = sample.speed_mbit else { return };
        let used = link_used_pct(speed_mbit, sample, rdma);
        let (mut received, mut sent) = (link.map(|it| it.received_pct), link.map(|it| it.sent_pct));
        Range::take(&mut received, used.received, interval_ns);
        Range::take(&mut sent, used.sent, interval_ns);
        let both = received.zip(sent);
        *link = both.map(|(received_pct, sent_pct)| Self { speed_mbit, received_pct, sent_pct });
    }
}

impl Usage {
    /// The direction of a link that was used most over the window, of those whose speed is known.
    #[must_use]
    pub fn busiest_link(&self) -> Option<LinkUse> {
        let links = self.interfaces.iter().filter_map(|(name, usage)| Some((name, usage.link?)));
        let directions = links.flat_map(|(name, link)| {
            let of = |(sent, used)| (name, link.speed_mbit, sent, used);
            [(false, link.received_pct), (true, link.sent_pct)].map(of)
        });
        let busiest = directions.max_by(|one, other| one.3.mean.total_cmp(&other.3.mean));
        busiest.map(|(interface, speed_mbit, sent, used)| LinkUse {
            interface: interface.clone(),
            sent,
            speed_mbit,
            used_pct: used.mean,
            used_max_pct: used.max,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Sample;
    use plumb_procfs::Label;

    #[test]
    fn the_busiest_link_is_of_one_direction_over_all_samples() {
        let interface = |name: &str, speed_mbit, received: f64, sent: f64| InterfaceSample {
            name: Label::new(name.as_bytes()),
            speed_mbit,
            received_bytes_per_s: received,
            sent_bytes_per_s: sent,
            ..InterfaceSample::default()
        };
        let sample = |interval_ns, received, sent| Sample {
            interval_ns,
            interfaces: vec![
                interface("eth0", Some(1_000), received, sent),
                interface("eth1", None, 9e9, 9e9),
            ],
            ..Sample::default()
        };
        // first the one direction is full, then the other: neither is over all of it
        let turns = Usage::of(&[sample(1_000, 125e6, 0.0), sample(3_000, 0.0, 125e6)]);
        let link = turns.busiest_link().unwrap();
        assert_eq!((link.interface.as_str(), link.sent, link.speed_mbit), ("eth0", true, 1_000));
        assert!((link.used_pct - 75.0).abs() < 1e-9, "{link:?}");
        assert!((link.used_max_pct - 100.0).abs() < 1e-9, "{link:?}");
        let port = RdmaSample {
            interface: Label::new(b"eth0"),
            received_bytes_per_s: Some(100e6),
            ..RdmaSample::default()
        };
        let shared = Usage::of(&[Sample { rdma: vec![port], ..sample(1_000, 12.5e6, 0.0) }]);
        let link = shared.busiest_link().unwrap();
        assert!(!link.sent && (link.used_pct - 90.0).abs() < 1e-9, "{link:?}");
        let unknown =
            Sample { interfaces: vec![interface("eth1", None, 1e9, 1e9)], ..sample(1, 0.0, 0.0) };
        assert_eq!(Usage::of(&[unknown]).busiest_link(), None);
    }
}
