//! What one point of a plan came to, as a run record holds it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    Attribution, BatchMeans, ClientFigures, Delivery, Distribution, Figure, HostUse, Http2Figures,
    Interval, LengthFigures, NipingFigures, Overlap, PairRecord, PartRecord, RoundTrip,
    ScenarioFigures, SlowSample, Span, StreamFigures, TcpTotals, ThresholdRecord, Tick, Ticks,
    TransportUse, Validity,
};

/// One point of the plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ResultRecord {
    /// What distinguishes this result from the others: `size`, `connections`, ...
    pub labels: BTreeMap<String, String>,
    /// Correct answers.
    pub operations: u64,
    /// Failures by kind; empty when there were none.
    pub failures: BTreeMap<String, u64>,
    /// Of the failures, attempts to connect: those of operations are the others.
    #[serde(skip_serializing_if = "is_none", default)]
    pub connect_failures: u64,
    /// Operations that were turned away for the moment (429, 503), where the plan allows that:
    /// neither correct answers nor failures.
    #[serde(skip_serializing_if = "is_none", default)]
    pub refused: u64,
    /// Of the correct answers, those of operations that were looked into: they are in no distribution of
    /// the result. A record may have them in its attribution alone; see
    /// [`looked_into`](Self::looked_into).
    #[serde(skip_serializing_if = "is_none", default)]
    pub observed: u64,
    /// Operations that were due but could not begin in time.
    pub dropped: u64,
    /// From the first due time to the last answer, nanoseconds.
    pub duration_ns: u64,
    /// Correct answers a second.
    pub throughput_per_s: f64,
    /// From the due time to the last byte; absent when nothing succeeded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub response_ns: Option<Distribution>,
    /// From the send to the last byte; absent when nothing succeeded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub service_ns: Option<Distribution>,
    /// From the send to the first byte; absent when nothing succeeded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub first_byte_ns: Option<Distribution>,
    /// Time to connect; absent when no connection was made for this result.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub connect_ns: Option<Distribution>,
    /// Time of the TLS handshake; absent without TLS.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tls_ns: Option<Distribution>,
    /// Of these, handshakes that took up an earlier session; absent without TLS.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tls_resumed: Option<u64>,
    /// From the due time to the failure, of operations that failed; absent when none did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub failed_ns: Option<Distribution>,
    /// How often each status code came; empty where the protocol has none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub codes: BTreeMap<String, u64>,
    /// Of these, the codes that were not expected.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub unexpected_codes: BTreeMap<String, u64>,
    /// Content length of the correct answers.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub length: Option<LengthFigures>,
    /// Bytes handed to the kernel.
    pub bytes_sent: u64,
    /// Bytes read from the kernel.
    pub bytes_received: u64,
    /// Processor time an operation.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cpu: Option<CpuUse>,
    /// The figures of niping.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub niping: Option<NipingFigures>,
    /// The parts of the load, where its operations are of several kinds: one a URL.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub parts: Vec<PartRecord>,
    /// Several operations of one user timed as one; what is in them is in `parts` already.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub groups: Vec<PartRecord>,
    /// What was asked for when the load was over, such as log-offs: in no other figure.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub finish: Vec<PartRecord>,
    /// What became of the users of each scenario.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub scenarios: Vec<ScenarioFigures>,
    /// What was demanded, and what was found.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub thresholds: Vec<ThresholdRecord>,
    /// What one part takes longer than another; absent when that was not asked.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pair: Option<PairRecord>,
    /// Each client, where several ran at the same time.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub clients: Vec<ClientFigures>,
    /// What they did while all of them ran; absent where they did not run at the same time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub overlap: Option<Overlap>,
    /// What connections that spoke HTTP/2 did; absent where none did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub http2: Option<Http2Figures>,
    /// What streams have carried; absent where messages were exchanged.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stream: Option<StreamFigures>,
    /// What became of messages that were accepted; absent where nobody looked.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delivery: Option<Delivery>,
    /// Further figures of the layer, each with its unit and formula.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub figures: Vec<Figure>,
    /// Where the time of an operation went; absent where nobody can tell.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub attribution: Option<Attribution>,
    /// Round trips taken apart by time stamps of the kernel; absent where none were stamped.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub round_trip: Option<RoundTrip>,
    /// The verdict on this result.
    pub validity: Validity,
    /// How busy the load generator was.
    pub driver: DriverFacts,
    /// What the machine that drove the load did meanwhile; absent when it was not watched.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub host: Option<HostUse>,
    /// What the far machine did meanwhile; absent when there was no sample of it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub far: Option<HostUse>,
    /// What each connection really used, read back from its socket, those alike together.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub transports: Vec<TransportUse>,
    /// What the TCP connections did; absent on other transports.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tcp: Option<TcpTotals>,
    /// The slowest correct answers, longest first, at most ten.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub slowest: Vec<SlowSample>,
    /// What happened when.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub intervals: Vec<Interval>,
    /// The response times in the order in which they happened; absent below five operations.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub batches: Option<BatchMeans>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde asks")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

impl ResultRecord {
    /// How many of the operations were looked into, be it told by the result or by its attribution alone.
    #[must_use]
    pub fn looked_into(&self) -> u64 {
        match (self.observed, &self.attribution) {
            (0, Some(attribution)) => attribution.observed,
            (observed, _) => observed,
        }
    }

    /// The time within which its operations began, nanoseconds, 1 or more: a load that was `asked` to begin
    /// operations for so long begins nothing behind that, and waits for what is under way. Until the result
    /// is over less and less is asked, so that its operations over its whole time are fewer a second than
    /// they were.
    #[must_use]
    pub fn begun_within_ns(&self, asked: Option<Span>) -> u64 {
        let whole_ns = self.duration_ns.max(1);
        match asked.map(Span::ns) {
            Some(ns) if ns > 0 => ns.min(whole_ns),
            _ => whole_ns,
        }
    }

    /// Reads a result that stands alone.
    ///
    /// # Errors
    /// When it is no JSON, or lacks a field.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// The labels as one line, for example `connections 1, size 500B`.
    #[must_use]
    pub fn name(&self) -> String {
        let words: Vec<String> = self.labels.iter().map(|(k, v)| format!("{k} {v}")).collect();
        words.join(", ")
    }
}

/// Where processor time went, nanoseconds an operation, by the clock ticks of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuSplit {
    /// In programs.
    pub user_ns_per_op: u64,
    /// In the kernel, in the name of the programs.
    pub system_ns_per_op: u64,
    /// Clock ticks behind these figures, never fewer than 200.
    pub ticks: u64,
}

/// Processor time an operation, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuUse {
    /// Of the threads that drove the load.
    pub client_ns_per_op: u64,
    /// Of the server, where it could be read.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server_ns_per_op: Option<u64>,
    /// The client's, split; absent with too few clock ticks.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub client: Option<CpuSplit>,
    /// The server's, split; absent with too few clock ticks, or where it could not be read.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server: Option<CpuSplit>,
    /// Interrupts, hard and soft, of the machine that drove the load, in nobody's name; absent
    /// with too few clock ticks.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub interrupt_ns_per_op: Option<u64>,
}

/// How busy the load generator was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverFacts {
    /// The driver, where it is not this program's own event loop. Figures of two drivers differ by
    /// what the drivers cost.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub name: Option<String>,
    /// How the loop waited: `blocking receive`, `epoll` or `busy poll`.
    pub wait: String,
    /// What client and server did about the tick of processors that idled while they waited;
    /// absent in records that do not say, and where nobody waits for anybody.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tick: Option<Ticks>,
    /// Threads that drove the load.
    pub threads: u64,
    /// Passes of the loops that were looked at: all, or a regular sample of them.
    pub passes: u64,
    /// Of these, passes with an idle moment.
    pub idle_passes: u64,
    /// How late due work began although a connection was free; absent when nothing had a due time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lag_ns: Option<Distribution>,
    /// From the planned beginning of a user until its connection stood; absent when users did not
    /// begin at times of their own.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub start_up_ns: Option<Distribution>,
    /// Connections that the other side ended while it owed no answer on them.
    pub quiet_closes: u64,
    /// Operations of the warm-up, which are not recorded.
    #[serde(default)]
    pub warm_up_operations: u64,
}

impl DriverFacts {
    /// Writes down what the server has `told` of its tick; `None`: it does not tell.
    pub fn server_told(&mut self, told: Option<Tick>) {
        if let Some(ticks) = &mut self.tick {
            ticks.server = told;
        }
    }
}
