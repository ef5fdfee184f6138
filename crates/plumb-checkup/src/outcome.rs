//! What came of one part.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::Middle;
use plumb_measure::{
    Account, Attribution, Calls, CpuQuota, Distribution, Estimate, FindingKind, ForeignProcess,
    HostUse, PairRecord, PartKind, RTO_MIN_NS, ResultRecord, RoundTripMeans, RunRecord, TcpTotals,
    Transport, Validity, is_whole_time, may_be_delayed, times_that_add_up,
};

/// The host of a socket file.
const THIS_MACHINE: &str = "unix";

/// What came of one measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CheckupOutcome {
    /// The run folder within that of the checkup; `None` when it left none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub folder: Option<String>,
    /// Why there is no record, in one line.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<String>,
    /// True when there is no record because this server does not offer what was asked for.
    pub not_offered: bool,
    /// The host at the other end: its number, or `unix`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub host: Option<String>,
    /// The verdict on the result.
    pub validity: Validity,
    /// Correct answers.
    pub operations: u64,
    /// Operations that failed, whatever the kind.
    pub failed: u64,
    /// Correct answers a second.
    pub throughput_per_s: f64,
    /// The median, and how well it is known; absent without times.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub median: Option<Middle>,
    /// The 99th percentile, nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p99_ns: Option<u64>,
    /// All times of the answers; absent without times, and in checkups of earlier versions.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub service_ns: Option<Distribution>,
    /// The mean, nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mean_ns: Option<u64>,
    /// The mean of the faster nine tenths, nanoseconds, where only their time is told apart:
    /// `told_ns` and `attributed` are then of those.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub faster_mean_ns: Option<u64>,
    /// Means of what the server says of its own time, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub told_ns: BTreeMap<String, u64>,
    /// Means of the parts of an operation, where the layer tells them apart.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub attributed: BTreeMap<PartKind, Estimate>,
    /// Where the time of an operation went, for its picture: as the layer tells it apart, or the server
    /// tells it of a page; absent where nobody does.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub attribution: Option<Attribution>,
    /// Where the time of a round trip went, where messages were taken apart.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub round_trip: Option<RoundTripMeans>,
    /// What was carried one way, bits a second; absent where messages were exchanged.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bits_per_s: Option<f64>,
    /// How much longer it takes than something that the same server has ready.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pair: Option<PairRecord>,
    /// How busy the machine that asked was meanwhile, percent of all its processors; absent when
    /// it was not watched.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub busy_pct: Option<f64>,
    /// The same of the far machine; absent when none was recorded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub far_busy_pct: Option<f64>,
    /// True when a process of the machine that asked is at the other end.
    #[serde(default)]
    pub server_is_here: bool,
    /// The processor time that control groups leave to the server's processes; absent where they leave
    /// all, or nobody knows.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub quota: Option<CpuQuota>,
    /// Taken by processes that are no part of the measurement, percent of all processors of the
    /// machine that asked; absent where nobody can say.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub foreign_pct: Option<f64>,
    /// The processes that took most of that.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub foreign: Vec<ForeignProcess>,
    /// What the TCP connections did; absent on other transports.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tcp: Option<TcpTotals>,
    /// TCP segments that both machines sent again, those of other programs among them; absent when
    /// nobody counted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retransmitted: Option<u64>,
    /// The operations that waited at least as long as TCP waits before it sends a segment again.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub waited: Option<Waited>,
    /// The operations that waited for an acknowledgement that the other side delayed; absent where
    /// no such stall was recognized.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delayed: Option<Waited>,
}

/// Operations that waited, and for how long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waited {
    /// How many they are.
    pub operations: u64,
    /// What they took longer than others, all together, nanoseconds.
    pub excess_ns: u64,
}

impl Waited {
    /// The shortest time after which Linux sends a segment again, nanoseconds.
    pub const MIN_NS: u64 = RTO_MIN_NS;

    /// Those of `times` that took longer than the median by [`MIN_NS`](Self::MIN_NS) or more; `None`
    /// where the histogram cannot be read.
    fn for_a_segment(times: &Distribution) -> Option<Self> {
        Self::among(times, times.p50, |ns| ns.saturating_sub(times.p50) >= Self::MIN_NS)
    }

    /// Those of `times` that took as long as an acknowledgement is delayed, and what they took longer
    /// than a round trip of `rtt_ns`.
    fn for_an_acknowledgement(times: &Distribution, rtt_ns: u64) -> Option<Self> {
        Self::among(times, rtt_ns, may_be_delayed)
    }

    fn among(times: &Distribution, usual_ns: u64, waited: impl Fn(u64) -> bool) -> Option<Self> {
        let histogram = times.decode().ok()?;
        let found = histogram.buckets().filter(|(ns, _)| waited(*ns));
        Some(found.fold(Self::default(), |all, (ns, count)| {
            let excess_ns = ns.saturating_sub(usual_ns).saturating_mul(count);
            Self {
                operations: all.operations.saturating_add(count),
                excess_ns: all.excess_ns.saturating_add(excess_ns),
            }
        }))
    }
}

impl CheckupOutcome {
    /// What `record` says, whose run lies in `folder`.
    #[must_use]
    pub fn of(record: &RunRecord, folder: String) -> Self {
        let host = record.target.transport.as_ref().map(host_of);
        match record.results.first() {
            Some(result) => {
                Self { folder: Some(folder), host, ..Self::of_result(result, &record.validity) }
            }
            None => Self {
                folder: Some(folder),
                host,
                error: Some("it ended before its first result".into()),
                ..Self::default()
            },
        }
    }

    /// No record came of it, because of `error`.
    #[must_use]
    pub fn none(error: String) -> Self {
        Self { error: Some(error), ..Self::default() }
    }

    /// True when its figures may be used, or it was not offered, which is no fault.
    #[must_use]
    pub fn stands(&self) -> bool {
        self.not_offered || (self.error.is_none() && self.validity.valid)
    }

    /// False when the only thing against its figures is that something could not be checked.
    #[must_use]
    pub fn is_checked(&self) -> bool {
        self.validity.is_checked()
    }

    /// What `told_ns` and `attributed` are parts of, nanoseconds, and which calls they are of.
    pub(super) fn accounted(&self) -> Option<(u64, Calls)> {
        Calls::mean_of(self.mean_ns, self.faster_mean_ns)
    }

    /// `validity` is that of the whole run: it also knows how the run ended.
    fn of_result(result: &ResultRecord, validity: &Validity) -> Self {
        // of a pair, the one that works for its answer comes first
        let part =
            result.parts.first().filter(|_| result.pair.is_some() || result.parts.len() == 1);
        let times = part.map_or(&result.service_ns, |part| &part.service_ns).as_ref();
        let stream = result.stream.as_ref();
        let way = stream.and_then(|it| it.to_server.as_ref().or(it.from_server.as_ref()));
        let host = result.host.as_ref();
        let own = result.attribution.as_ref();
        let account = own.and_then(|it| it.account().ok());
        Self {
            validity: validity.clone(),
            operations: part.map_or(result.operations, |part| part.operations),
            failed: result.failures.values().fold(0, |sum, n| sum.saturating_add(*n)),
            throughput_per_s: part.map_or(result.throughput_per_s, |part| part.throughput_per_s),
            // the intervals of a pair hold both pages: they say nothing of one
            median: times.map(|times| match result.pair {
                Some(_) => Middle::alone(times),
                None => Middle::of(times, result),
            }),
            p99_ns: times.map(|times| times.p99),
            service_ns: times.cloned(),
            mean_ns: mean_ns(result).or_else(|| times.map(|times| times.mean)),
            faster_mean_ns: account.as_ref().and_then(faster_mean_ns),
            told_ns: told(result, account.as_ref()),
            attributed: account.as_ref().map(attributed).unwrap_or_default(),
            attribution: own.or_else(|| part.and_then(|it| it.attribution.as_ref())).cloned(),
            round_trip: result.round_trip.as_ref().and_then(RoundTripMeans::of),
            bits_per_s: way.map(|way| way.bits_per_s),
            pair: result.pair.clone(),
            busy_pct: host.and_then(|host| host.busy_pct),
            far_busy_pct: result.far.as_ref().and_then(|far| far.busy_pct),
            server_is_here: host.is_some_and(|host| !host.tested.is_empty()),
            quota: host.and_then(|host| host.tested_quota),
            foreign_pct: host.and_then(|host| host.foreign_pct),
            foreign: host.map(|host| host.foreign.clone()).unwrap_or_default(),
            tcp: result.tcp,
            retransmitted: retransmitted([host, result.far.as_ref()]),
            waited: times.and_then(Waited::for_a_segment),
            delayed: times.and_then(|times| delayed(times, result, validity)),
            ..Self::default()
        }
    }
}

/// The operations that waited for an acknowledgement, where that stall was recognized.
fn delayed(times: &Distribution, result: &ResultRecord, validity: &Validity) -> Option<Waited> {
    let mut reasons = validity.reasons.iter();
    reasons.find(|finding| finding.kind == FindingKind::DelayedAcknowledgement)?;
    Waited::for_an_acknowledgement(times, result.tcp?.rtt_min_ns)
}

/// What `machines` sent again, where any of them counted.
fn retransmitted(machines: [Option<&HostUse>; 2]) -> Option<u64> {
    machines.into_iter().flatten().filter_map(|host| host.retransmitted).reduce(u64::saturating_add)
}

/// The mean that the parts of an attribution of all calls add up to.
fn mean_ns(result: &ResultRecord) -> Option<u64> {
    u64::try_from(result.attribution.as_ref()?.client.mean_ns).ok()
}

/// The mean that the parts of `account` add up to, where it is not of all calls.
fn faster_mean_ns(account: &Account) -> Option<u64> {
    (!account.of.are_all()).then(|| u64::try_from(account.split.whole.mean_ns).ok()).flatten()
}

/// The parts that the layer itself tells apart.
fn attributed(account: &Account) -> BTreeMap<PartKind, Estimate> {
    account.split.all().map(|part| (part.of, part.time)).collect()
}

/// Means of what the server says of its own time; `account` is that of its attribution.
fn told(result: &ResultRecord, account: Option<&Account>) -> BTreeMap<String, u64> {
    let tells = |part: &plumb_measure::PartRecord| !part.told_ns.is_empty();
    if result.attribution.is_some() && !result.parts.first().is_some_and(tells) {
        let server =
            account.and_then(|it| it.split.parts.iter().find(|it| it.of == PartKind::Server));
        let server = server.and_then(|part| u64::try_from(part.time.mean_ns).ok());
        return server.map(|mean_ns| ("server".to_owned(), mean_ns)).into_iter().collect();
    }
    let Some(part) = result.parts.first() else { return BTreeMap::new() };
    // a time that only some answers tell is no part of the mean of all
    let always = |times: &Distribution| times.count == part.operations;
    let told: BTreeMap<_, _> = part.told_ns.iter().filter(|(_, times)| always(times)).collect();
    let names: Vec<String> = told.keys().map(|name| (*name).clone()).collect();
    let adds = times_that_add_up(&names);
    let kept = |name: &str| is_whole_time(name) || adds.contains(&name);
    let kept = told.into_iter().filter(|(name, _)| kept(name));
    kept.map(|(name, times)| (name.clone(), times.mean)).collect()
}

fn host_of(transport: &Transport) -> String {
    match transport.peer.parse::<SocketAddr>() {
        Ok(peer) => peer.ip().to_string(),
        Err(_) => THIS_MACHINE.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_measure::{Attribution, FasterCalls, Histogram, TimePart};

    fn times(values: impl IntoIterator<Item = u64>) -> Distribution {
        let mut histogram = Histogram::new();
        values.into_iter().for_each(|value| histogram.record(value));
        Distribution::of(&histogram).unwrap()
    }

    #[test]
    fn the_host_is_that_of_the_socket() {
        let transport = |kind: &str, peer: &str| Transport {
            kind: kind.into(),
            network: None,
            local: String::new(),
            peer: peer.into(),
            tls: None,
            smc: None,
        };
        assert_eq!(host_of(&transport("tcp", "10.1.2.3:80")), "10.1.2.3");
        assert_eq!(host_of(&transport("tcp", "[::1]:80")), "::1");
        assert_eq!(host_of(&transport("unix", "/run/echo")), "unix");
    }

    #[test]
    fn what_only_some_answers_tell_is_no_part_of_the_mean() {
        let part = plumb_measure::PartRecord {
            operations: 2,
            service_ns: Some(times([100, 300])),
            told_ns: [
                ("always".to_owned(), times([50, 70])),
                ("always.within".to_owned(), times([20, 20])),
                ("once".to_owned(), times([9])),
            ]
            .into(),
            ..plumb_measure::PartRecord::default()
        };
        let result = ResultRecord { parts: vec![part], ..ResultRecord::default() };
        assert_eq!(told(&result, None), [("always".to_owned(), 60)].into());
    }

    #[test]
    fn a_time_within_another_or_told_twice_is_taken_once() {
        let all = [
            ("backend", 100),
            ("backend-database", 90),
            ("database", 40),
            ("db", 40),
            ("gwtotal", 150),
            ("render", 5),
        ];
        let part = plumb_measure::PartRecord {
            operations: 1,
            told_ns: all.map(|(name, ns)| (name.to_owned(), times([ns]))).into(),
            ..plumb_measure::PartRecord::default()
        };
        let result = ResultRecord { parts: vec![part], ..ResultRecord::default() };
        let kept = told(&result, None).into_keys().collect::<Vec<_>>();
        assert_eq!(kept, ["backend", "database", "gwtotal", "render"]);
    }

    #[test]
    fn where_only_the_faster_nine_tenths_are_told_apart_it_says_so() {
        let time = |us: i64, half_us: u64| Estimate {
            mean_ns: us * 1_000,
            half_width_ns: Some(half_us * 1_000),
            count: 100,
        };
        let part = |kind, time| TimePart { kind, time, how: String::new() };
        let all = Attribution {
            client: time(486, 40),
            parts: vec![
                part(PartKind::Server, time(90, 300)),
                part(PartKind::Wire, time(250, 200)),
            ],
            ..Attribution::default()
        };
        let known = FasterCalls {
            client: time(180, 5),
            parts: vec![part(PartKind::Server, time(40, 3)), part(PartKind::Wire, time(120, 4))],
        };
        let outcome = |attribution: Attribution| {
            let result = ResultRecord { attribution: Some(attribution), ..ResultRecord::default() };
            CheckupOutcome::of_result(&result, &Validity::default())
        };
        let untold = outcome(all.clone().settled(""));
        assert_eq!((untold.mean_ns, untold.faster_mean_ns), (Some(486_000), None));
        assert!(untold.told_ns.is_empty() && untold.attributed.is_empty(), "{untold:?}");
        let told = outcome(all.settled("").or_of_the_faster(|| Ok(known)));
        assert_eq!((told.mean_ns, told.faster_mean_ns), (Some(486_000), Some(180_000)));
        assert_eq!(told.told_ns, [("server".to_owned(), 40_000)].into());
        assert_eq!(told.attributed[&PartKind::Rest].mean_ns, 20_000);
        assert_eq!(told.accounted(), Some((180_000, Calls::Faster)));
    }

    #[test]
    fn what_waited_for_a_lost_segment_is_counted_with_what_it_took_longer() {
        let quick = std::iter::repeat_n(100_000, 96);
        let waited =
            Waited::for_a_segment(&times(quick.chain([210_000_000, 420_000_000]))).unwrap();
        assert_eq!(waited.operations, 2);
        assert!(waited.excess_ns.abs_diff(629_800_000) < 1_000_000, "{waited:?}");
        assert_eq!(Waited::for_a_segment(&times([90, 100_000_000])), Some(Waited::default()));
    }
}
