//! How many processors really do the work of receiving.

use std::fmt;

use plumb_measure::counted;
use plumb_procfs::counter::float;
use serde::Serialize;

/// A processor that spends this share of its time in soft interrupts has no room for more.
const HOT_PCT: f64 = 50.0;

/// How the work of receiving is spread over the processors.
///
/// `effective_cpus = (sum x)^2 / sum x^2`, where `x` is the number of soft interrupts of receiving
/// (`NET_RX`) that one processor handled: 1 when one of them does it all, as many as there are when
/// they share it evenly.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ReceiveSpread {
    /// As many processors of equal share would do the work in the same way.
    pub effective_cpus: f64,
    /// Processors that could take part.
    pub cpus: u64,
    /// The processor that did most of it.
    pub hottest_cpu: u32,
    /// Its share of the work, percent.
    pub hottest_pct: f64,
    /// Time that the processor with most of them spent in soft interrupts, percent; absent when
    /// not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub softirq_pct_max: Option<f64>,
    /// Packets thrown away because the queue of a processor was full.
    pub dropped: u64,
    /// Times that the budget of a processor ran out before its queue was empty.
    pub squeezed: u64,
}

/// What is wrong with the way in which packets are received.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ReceiveFinding {
    /// Few processors do the work, one of them has no room left, and there are queues for more.
    OneSided {
        /// How it is spread.
        spread: ReceiveSpread,
        /// Processors that could do it: no more than there are queues.
        possible: u64,
    },
    /// Packets were thrown away.
    Dropped(u64),
    /// The budget ran out.
    Squeezed(u64),
}

impl ReceiveSpread {
    /// The spread of `work`: processors and the soft interrupts that each handled. `None` when
    /// nothing was received.
    #[must_use]
    pub fn of(work: &[(u32, u64)]) -> Option<Self> {
        let (hottest_cpu, most) = work.iter().copied().max_by_key(|(_, count)| *count)?;
        let sum: f64 = work.iter().map(|(_, count)| float(*count)).sum();
        let squares: f64 = work.iter().map(|(_, count)| float(*count).powi(2)).sum();
        (most > 0).then(|| Self {
            effective_cpus: sum * sum / squares,
            cpus: work.len() as u64,
            hottest_cpu,
            hottest_pct: float(most) / sum * 100.0,
            softirq_pct_max: None,
            dropped: 0,
            squeezed: 0,
        })
    }

    /// What is wrong, if anything. `queues` are the receive queues of the interface that carries
    /// the load; `None` when not known, as if there were enough.
    #[must_use]
    pub fn findings(&self, queues: Option<u64>) -> Vec<ReceiveFinding> {
        let possible = self.cpus.min(queues.unwrap_or(self.cpus)).max(1);
        let hot = self.softirq_pct_max.is_some_and(|pct| pct >= HOT_PCT);
        let mut findings = Vec::new();
        if hot && self.effective_cpus < float(possible) / 2.0 {
            findings.push(ReceiveFinding::OneSided { spread: *self, possible });
        }
        if self.dropped > 0 {
            findings.push(ReceiveFinding::Dropped(self.dropped));
        }
        if self.squeezed > 0 {
            findings.push(ReceiveFinding::Squeezed(self.squeezed));
        }
        findings
    }
}

impl fmt::Display for ReceiveSpread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "receive work is handled by {:.1} of {} CPUs", self.effective_cpus, self.cpus)
    }
}

impl fmt::Display for ReceiveFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OneSided { spread, possible } => write!(
                f,
                "{spread} where {possible} could share it, and one of them spends {:.0} % of its \
                 time on it: turn on receive side scaling (ethtool -L, -X) or packet steering \
                 (rps_cpus)",
                spread.softirq_pct_max.unwrap_or(0.0)
            ),
            Self::Dropped(packets) => write!(
                f,
                "{packets} packets were thrown away because the queue of a CPU was full: raise \
                 net.core.netdev_max_backlog, or spread the receive work"
            ),
            Self::Squeezed(times) => write!(
                f,
                "a CPU ran out of its receive budget {}: raise net.core.netdev_budget, or spread the \
                 receive work",
                counted(*times, "time")
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_processor_counts_as_one_and_an_even_share_as_all() {
        let one = ReceiveSpread::of(&[(0, 5000), (1, 0)]).unwrap();
        assert_eq!(one.to_string(), "receive work is handled by 1.0 of 2 CPUs");
        let all = ReceiveSpread::of(&[(0, 10), (1, 10), (2, 10), (3, 10)]).unwrap();
        assert_eq!(all.to_string(), "receive work is handled by 4.0 of 4 CPUs");
        assert_eq!(ReceiveSpread::of(&[(0, 0)]), None);
        assert_eq!(ReceiveSpread::of(&[]), None);
    }

    #[test]
    fn a_finding_needs_a_hot_processor_and_queues_for_others() {
        let work: Vec<(u32, u64)> = (0..16).map(|cpu| (cpu, u64::from(cpu == 3) * 1000)).collect();
        let spread =
            ReceiveSpread { softirq_pct_max: Some(80.0), ..ReceiveSpread::of(&work).unwrap() };
        assert_eq!((spread.hottest_cpu, spread.findings(Some(16)).len()), (3, 1));
        assert!(spread.findings(Some(2)).is_empty(), "1.0 is not below 2 / 2");
        assert!(spread.findings(Some(1)).is_empty(), "one queue has one processor");
        let cool = ReceiveSpread { softirq_pct_max: Some(20.0), ..spread };
        assert!(cool.findings(None).is_empty());
        let text = spread.findings(None)[0].to_string();
        assert!(text.starts_with("receive work is handled by 1.0 of 16 CPUs"), "{text}");
    }

    #[test]
    fn lost_packets_are_a_finding_by_themselves() {
        let spread =
            ReceiveSpread { dropped: 3, squeezed: 1, ..ReceiveSpread::of(&[(0, 1)]).unwrap() };
        assert_eq!(
            spread.findings(None),
            [ReceiveFinding::Dropped(3), ReceiveFinding::Squeezed(1)]
        );
    }
}
