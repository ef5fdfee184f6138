//! What came of one part.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::middle::SAMPLES_MIN;
use super::{AcknowledgedAtOnce, Middle, Waited};
use plumb_measure::{
    Account, Attribution, Calls, CpuQuota, Distribution, Estimate, FailureKind, FindingKind,
    ForeignProcess, HostUse, Interval, PairRecord, PartKind, ResultRecord, RoundTripMeans,
    RunRecord, TcpTotals, TimePart, Transport, Validity, is_whole_time, real, times_that_add_up,
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
    /// Why no connection was made, where there is no record because of that.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unconnected: Option<FailureKind>,
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
    /// How often each status code came that was not expected; empty where the protocol has none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub unexpected_codes: BTreeMap<String, u64>,
    /// Length of the measurement, nanoseconds; 0 in checkups of earlier versions.
    #[serde(default)]
    pub duration_ns: u64,
    /// When the last correct answer came, nanoseconds after the measurement began and no later than that,
    /// to the end of an interval; absent where they came until the end, or nothing failed behind it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub answered_until_ns: Option<u64>,
    /// Correct answers a second of the time in which their operations began; in checkups of earlier
    /// versions of the time until the last answer.
    pub throughput_per_s: f64,
    /// The median, and how well it is known; absent without times.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub median: Option<Middle>,
    /// The median without the wait for a connection of a pool, where callers share one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub over_connection: Option<Middle>,
    /// The 99th percentile, nanoseconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p99_ns: Option<u64>,
    /// All times of the answers, from the send to the last byte; absent without times, and in checkups
    /// of earlier versions.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub service_ns: Option<Distribution>,
    /// The same with the wait for a connection of a pool, where callers share one: what the median and
    /// the 99th percentile are then of.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub response_ns: Option<Distribution>,
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
    /// Bytes of content of an answer, at the median; absent where answers have none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub answer_bytes: Option<u64>,
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
    /// The processor time that control groups leave to these processes, and how often they held them
    /// back; absent where that is no less than all, or nobody can say.
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
    /// TCP segments that both machines sent again, those of other programs among them, but for their
    /// requests to connect; absent when nobody counted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retransmitted: Option<u64>,
    /// The operations that waited at least as long as TCP waits before it sends a segment again.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub waited: Option<Waited>,
    /// The operations that waited for an acknowledgement that the other side delayed; absent where
    /// no such stall was recognized, or as many took as long without such a wait.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delayed: Option<Waited>,
    /// The same operation without such waits, measured where the stall was recognized.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub at_once: Option<AcknowledgedAtOnce>,
}

impl CheckupOutcome {
    /// What `record` says, whose run lies in `folder`.
    #[must_use]
    pub fn of(record: &RunRecord, folder: String) -> Self {
        let host = record.target.transport.as_ref().map(host_of);
        match record.results.first() {
            Some(result) => {
                let of = Self::of_result(result, &record.validity);
                let begun_ns = result.begun_within_ns(record.asked_for());
                let throughput_per_s =
                    of.throughput_per_s * real(result.duration_ns) / real(begun_ns);
                Self { folder: Some(folder), host, throughput_per_s, ..of }
            }
            None => Self {
                folder: Some(folder),
                host,
                error: Some("it ended before its first result".into()),
                ..Self::default()
            },
        }
    }

    /// True where its operations may have waited for acknowledgements, and nobody has tried yet what they
    /// take without.
    #[must_use]
    pub fn may_wait_for_acknowledgements(&self) -> bool {
        self.delayed.is_some() && self.at_once.is_none()
    }

    /// Takes in what came of the same with acknowledgements that this side sent at once: where the
    /// operations take as long, they waited for none of this side.
    pub fn compare_acknowledged(&mut self, at_once: &Self) {
        let (Some(delayed), Some(tried)) = (self.delayed, at_once.acknowledged_at_once()) else {
            return;
        };
        if tried.is_as_long(delayed, self.operations) {
            self.delayed = None;
        }
        // that it may be one of two things is no longer so
        let kind = FindingKind::DelayedAcknowledgement;
        self.validity.reasons.retain(|finding| finding.kind != kind);
        self.at_once = Some(tried);
    }

    /// What came of it with acknowledgements at once; `None` where its figures may not be used.
    fn acknowledged_at_once(&self) -> Option<AcknowledgedAtOnce> {
        let usable = self.stands() && self.validity.latency_valid && self.is_checked();
        let times = self.service_ns.as_ref().filter(|it| usable && it.count >= SAMPLES_MIN)?;
        let as_long = Waited::for_an_acknowledgement(times, 0)?.operations;
        let (folder, operations) = (self.folder.clone(), times.count);
        Some(AcknowledgedAtOnce { folder, operations, as_long })
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

    /// All times that a caller waited; `None` without times, and in checkups of earlier versions.
    #[must_use]
    pub fn times(&self) -> Option<&Distribution> {
        self.response_ns.as_ref().or(self.service_ns.as_ref())
    }

    /// Operations that were timed: those that were looked into are not.
    pub(super) fn timed(&self) -> u64 {
        self.times().map_or(self.operations, |times| times.count)
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
        let own = result.attribution.as_ref();
        let is_pooled = own.is_some_and(|it| it.parts.iter().any(|of| of.kind == PartKind::Queue));
        let waited = result.response_ns.as_ref().filter(|_| part.is_none() && is_pooled);
        let stream = result.stream.as_ref();
        let way = stream.and_then(|it| it.to_server.as_ref().or(it.from_server.as_ref()));
        let host = result.host.as_ref();
        let length = part.map_or(&result.length, |part| &part.length).as_ref();
        let account = own.and_then(|it| it.account().ok());
        let told_ns = told(result, account.as_ref());
        let of_part = part.and_then(|it| it.attribution.as_ref());
        let is_whole = told_ns.keys().any(|name| is_whole_time(name));
        Self {
            validity: validity.clone(),
            operations: part.map_or(result.operations, |part| part.operations),
            failed: result.failures.values().fold(0, |sum, n| sum.saturating_add(*n)),
            unexpected_codes: result.unexpected_codes.clone(),
            duration_ns: result.duration_ns,
            answered_until_ns: answered_until_ns(&result.intervals),
            throughput_per_s: part.map_or(result.throughput_per_s, |part| part.throughput_per_s),
            // the intervals of a pair hold both pages: they say nothing of one
            median: waited.or(times).map(|times| match result.pair {
                Some(_) => Middle::alone(times),
                None => Middle::of(times, result),
            }),
            over_connection: waited.and(times).map(|times| Middle::over_connection(times, result)),
            p99_ns: waited.or(times).map(|times| times.p99),
            service_ns: times.cloned(),
            response_ns: waited.cloned(),
            mean_ns: mean_ns(result).or_else(|| waited.or(times).map(|times| times.mean)),
            faster_mean_ns: account.as_ref().and_then(faster_mean_ns),
            told_ns,
            attributed: account.as_ref().map(attributed).unwrap_or_default(),
            attribution: own
                .or(of_part)
                .cloned()
                .map(|it| if is_whole { with_wire(it) } else { it }),
            round_trip: result.round_trip.as_ref().and_then(RoundTripMeans::of),
            answer_bytes: length.map(|length| length.p50),
            bits_per_s: way.map(|way| way.bits_per_s),
            pair: result.pair.clone(),
            busy_pct: host.and_then(|host| host.busy_pct),
            far_busy_pct: result.far.as_ref().and_then(|far| far.busy_pct),
            server_is_here: host.is_some_and(|host| !host.tested.is_empty()),
            quota: host.and_then(|host| host.tested_quota),
            foreign_pct: host.and_then(|host| host.foreign_pct),
            foreign: host.map(|host| host.foreign.clone()).unwrap_or_default(),
            tcp: result.tcp,
            retransmitted: retransmitted([host, result.far.as_ref()], result.tcp),
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

/// What `machines` sent again, where any of them counted. Of requests to connect only those of the
/// connections of `tcp`: whom other programs call in vain says nothing of this way.
fn retransmitted(machines: [Option<&HostUse>; 2], tcp: Option<TcpTotals>) -> Option<u64> {
    let established = |host: &HostUse| {
        let connects = host.retransmitted_connects.unwrap_or(0);
        Some(host.retransmitted?.saturating_sub(connects))
    };
    let all = machines.into_iter().flatten().filter_map(established).reduce(u64::saturating_add);
    all.map(|all| all.saturating_add(tcp.unwrap_or_default().connect_retransmits))
}

/// When the last of `intervals` with a correct answer ended, nanoseconds after the first began, where
/// there were only failures behind it.
fn answered_until_ns(intervals: &[Interval]) -> Option<u64> {
    let at = intervals.iter().rposition(|it| it.operations > 0)?;
    let failed = intervals[at + 1..].iter().any(|it| it.failures > 0);
    let last = intervals[at];
    let end_ns = last.start_ns.saturating_add(last.duration_ns);
    failed.then(|| end_ns.saturating_sub(intervals[0].start_ns))
}

/// What a server that tells the whole of its time leaves of an operation is the way to it.
const BEYOND: &str = "what the server's whole time leaves: the way there and back, and what stands before \
                      its port";

/// An account of which a server tells its whole time: what nobody measured is then the wire.
fn with_wire(mut account: Attribution) -> Attribution {
    let name = |parts: &mut [TimePart]| {
        if parts.iter().any(|part| part.kind == PartKind::Wire) {
            return;
        }
        for rest in parts.iter_mut().filter(|part| part.kind == PartKind::Rest) {
            (rest.kind, rest.how) = (PartKind::Wire, BEYOND.into());
        }
    };
    name(&mut account.parts);
    account.percentiles.iter_mut().for_each(|it| name(&mut it.parts));
    account
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
pub(crate) mod tests;
