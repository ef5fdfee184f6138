//! Several clients at one server: what each measured, and what the server counted.

use serde::{Deserialize, Serialize};

use crate::{Finding, FindingKind, Interval, NipingFigures, Scope, grouped};

/// One client of several that ran at the same time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientFigures {
    /// Its number, from one.
    pub client: u64,
    /// Address of its first connection; absent when none stood.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub address: Option<String>,
    /// Correct answers.
    pub operations: u64,
    /// Failures of any kind.
    pub failures: u64,
    /// Correct answers a second.
    pub throughput_per_s: f64,
    /// Payload that its correct answers carried there and back, kB/s of 1,024 bytes; absent where
    /// the two ways differ.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub carried_kb_s: Option<f64>,
    /// Median response time, nanoseconds; absent when nothing succeeded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p50: Option<u64>,
    /// 99th percentile of the response time, nanoseconds; absent when nothing succeeded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p99: Option<u64>,
    /// The figures of niping.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub niping: Option<NipingFigures>,
    /// Messages that this client sent, those that are not recorded included.
    pub messages_sent: u64,
    /// Messages that the server counted of it; absent where it has several connections or the
    /// server does not tell.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub messages_at_server: Option<u64>,
}

/// When one of several clients recorded, and what.
#[derive(Clone, Copy, Debug)]
pub struct Recorded<'a> {
    /// Start of its recorded part, nanoseconds on the clock that all of them read.
    pub began_ns: u64,
    /// Its intervals from then on, in order.
    pub intervals: &'a [Interval],
}

impl Recorded<'_> {
    /// When the last interval ended that began at most `start_ns` after the start, on the clock of
    /// all; `None` when there was none yet.
    fn end_ns(&self, start_ns: u64) -> Option<u64> {
        let last = self.intervals.iter().rfind(|interval| interval.start_ns <= start_ns)?;
        Some(self.began_ns + last.start_ns + last.duration_ns)
    }

    fn operations(&self, start_ns: u64) -> u64 {
        let counted = self.intervals.iter().filter(|interval| interval.start_ns <= start_ns);
        counted.map(|interval| interval.operations).sum()
    }
}

/// What several clients did while all of them ran.
///
/// It is over the intervals from the first to the last at whose end all still ran: `T` is the time
/// from the first beginning of any client to the last end of such an interval, `N` the correct
/// answers of all in them, and the rate is `N / T`. All `N` came within `T`, so no rate here is more
/// than what was carried. Beginnings and ends may lie apart by a tenth of an interval: clients begin
/// when their connections stand, and end with an answer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Overlap {
    /// `T`, nanoseconds.
    pub span_ns: u64,
    /// `N`.
    pub operations: u64,
    /// Correct answers a second, `N / T`.
    pub throughput_per_s: f64,
    /// Payload that these answers carried there and back, kB/s of 1,024 bytes; absent where the two
    /// ways differ.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub carried_kb_s: Option<f64>,
}

impl Overlap {
    /// What `clients` did at the same time, with messages of `payload_bytes` that came back as they
    /// went; `None` when they did not run at the same time over any interval.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a rate is a float")]
    pub fn of(clients: &[Recorded<'_>], payload_bytes: Option<u64>) -> Option<Self> {
        let longest = clients.iter().max_by_key(|client| client.intervals.len())?;
        let ending = longest.intervals.iter().rev();
        let (last, span_ns) = ending
            .map(|interval| (interval, common_span(clients, interval)))
            .find_map(|(interval, span_ns)| Some((interval, span_ns?)))?;
        let operations = clients.iter().map(|client| client.operations(last.start_ns)).sum();
        let throughput_per_s = operations as f64 * 1e9 / span_ns as f64;
        let carried_kb_s = payload_bytes.map(|bytes| carried_kb_s(bytes, throughput_per_s));
        Some(Self { span_ns, operations, throughput_per_s, carried_kb_s })
    }
}

/// From the first beginning to the last end, up to the end of `interval` of each client; `None`
/// where these lie too far apart.
fn common_span(clients: &[Recorded<'_>], interval: &Interval) -> Option<u64> {
    let ends: Option<Vec<u64>> =
        clients.iter().map(|client| client.end_ns(interval.start_ns)).collect();
    let ends = ends?;
    let begins = clients.iter().map(|client| client.began_ns);
    let whole = ends.iter().max()?.checked_sub(begins.clone().min()?)?;
    let common = ends.iter().min()?.checked_sub(begins.max()?)?;
    let apart = whole - common;
    (common > 0 && apart * 10 <= interval.duration_ns).then_some(whole)
}

/// Payload there and back of `per_s` messages of `payload_bytes` a second, kB/s of 1,024 bytes.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "a rate is a float")]
pub fn carried_kb_s(payload_bytes: u64, per_s: f64) -> f64 {
    2.0 * payload_bytes as f64 * per_s / 1024.0
}

/// What the counts of both sides say: `sent` messages of ours, `counted` by the server meanwhile.
/// Only a run without failures knows what it sent.
#[must_use]
pub fn counts_differ(sent: u64, counted: u64) -> Option<Finding> {
    let (scope, meaning) = match counted {
        _ if counted == sent => return None,
        _ if counted > sent => (Scope::Nothing, "others used it at the same time"),
        _ => (Scope::Everything, "it is not the server that was measured, or it lost messages"),
    };
    let text = format!(
        "the two sides counted differently: {} messages sent, {} counted by the server: {meaning}",
        grouped(sent),
        grouped(counted),
    );
    Some(Finding { kind: FindingKind::CountsDiffer, scope, text })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::real;

    const S: u64 = 1_000_000_000;

    /// Intervals of a second with so many answers each, the last of them `last_ns` long.
    fn intervals(operations: &[u64], last_ns: u64) -> Vec<Interval> {
        let mut start_ns = 0;
        let of = |operations: &u64| {
            let interval = Interval {
                start_ns,
                duration_ns: S,
                operations: *operations,
                ..Interval::default()
            };
            start_ns += S;
            interval
        };
        let mut intervals: Vec<Interval> = operations.iter().map(of).collect();
        intervals.last_mut().unwrap().duration_ns = last_ns;
        intervals
    }

    /// What clients did together, each with its beginning, its answers and its last interval.
    fn overlap(clients: &[(u64, &[u64], u64)]) -> Option<Overlap> {
        let intervals: Vec<Vec<Interval>> =
            clients.iter().map(|(_, each, last_ns)| intervals(each, *last_ns)).collect();
        let recorded = |(client, intervals): (&(u64, &[u64], u64), _)| Recorded {
            began_ns: client.0,
            intervals: Vec::as_slice(intervals),
        };
        let clients: Vec<Recorded<'_>> = clients.iter().zip(&intervals).map(recorded).collect();
        Overlap::of(&clients, Some(50_000))
    }

    fn parts(overlap: Option<Overlap>) -> Option<(u64, u64)> {
        overlap.map(|overlap| (overlap.span_ns, overlap.operations))
    }

    #[test]
    fn clients_that_run_side_by_side_are_added_up_over_their_whole_time() {
        let both = overlap(&[(0, &[100, 110], S), (1_000, &[90, 95], S)]);
        assert_eq!(parts(both), Some((2 * S + 1_000, 395)));
        let both = both.unwrap();
        assert!((both.throughput_per_s - 197.5).abs() < 0.01);
        let carried = both.carried_kb_s.unwrap();
        assert!((carried - 197.5 * 100_000.0 / 1024.0).abs() < 1.0, "{carried}");
    }

    #[test]
    fn what_one_did_after_the_other_had_ended_is_left_out() {
        // alone the second is twice as fast
        let both = overlap(&[(0, &[100, 100], S), (0, &[100, 100, 200, 200], S / 2)]);
        assert_eq!(parts(both), Some((2 * S, 400)));
        // the first ended within the third second
        let both = overlap(&[(0, &[100, 100, 30], S / 3), (0, &[100, 100, 150, 200], S)]);
        assert_eq!(parts(both), Some((2 * S, 400)));
    }

    #[test]
    fn ends_that_lie_as_far_apart_as_an_answer_are_together() {
        let both = overlap(&[(0, &[100, 50], S / 2), (9, &[100, 52], S / 2 + 20_000)]);
        assert_eq!(parts(both), Some((S + S / 2 + 20_009, 302)));
    }

    #[test]
    fn an_interval_without_a_message_was_still_run_through() {
        let mut stalled = intervals(&[10, 0, 10], S);
        stalled.remove(1);
        let steady = intervals(&[10, 10, 10], S);
        let of = |intervals| Recorded { began_ns: 5, intervals };
        let both = Overlap::of(&[of(&stalled), of(&steady)], None);
        assert_eq!(parts(both), Some((3 * S, 50)));
        assert_eq!(both.unwrap().carried_kb_s, None);
    }

    #[test]
    fn clients_that_run_one_after_the_other_have_no_sum() {
        assert_eq!(overlap(&[(0, &[100], S), (S, &[100], S)]), None);
        assert_eq!(overlap(&[(0, &[100], S), (S / 2, &[100], S)]), None, "half of an interval");
        assert_eq!(overlap(&[(0, &[100], S / 20), (0, &[100], S)]), None, "a fraction of one");
        let none = Recorded { began_ns: 0, intervals: &[] };
        assert_eq!(Overlap::of(&[none, none], None), None);
        assert_eq!(Overlap::of(&[], None), None);
    }

    proptest::proptest! {
        #[test]
        fn no_sum_is_more_than_what_all_carried_in_its_span(
            clients in proptest::collection::vec(
                (0..2 * S, proptest::collection::vec(0_u64..1_000, 1..6), 1..=S),
                1..6,
            ),
        ) {
            let clients: Vec<(u64, &[u64], u64)> =
                clients.iter().map(|(began, each, last)| (*began, each.as_slice(), *last)).collect();
            if let Some(overlap) = overlap(&clients) {
                let all: u64 = clients.iter().flat_map(|(_, each, _)| each.iter()).sum();
                let end = |(began, each, last): &(u64, &[u64], u64)| began + (each.len() as u64 - 1) * S + last;
                let from = clients.iter().map(|client| client.0).min().unwrap();
                let until = clients.iter().map(end).max().unwrap();
                proptest::prop_assert!(overlap.operations <= all);
                proptest::prop_assert!(overlap.span_ns <= until - from);
                let carried = overlap.carried_kb_s.unwrap() * 1024.0 / 100_000.0
                    * real(overlap.span_ns) / 1e9;
                proptest::prop_assert!((carried - real(overlap.operations)).abs() < 1e-3);
            }
        }
    }

    #[test]
    fn more_at_the_server_is_a_remark_and_less_takes_everything_away() {
        assert_eq!(counts_differ(5, 5), None);
        assert_eq!(counts_differ(5, 6).map(|found| found.scope), Some(Scope::Nothing));
        assert_eq!(counts_differ(5, 4).map(|found| found.scope), Some(Scope::Everything));
    }
}
