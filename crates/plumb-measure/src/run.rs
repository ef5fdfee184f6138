//! The run record: one measurement written down, versioned, in nanoseconds and bytes.
//!
//! Times are integer nanoseconds, sizes bytes, rates per second. What was not measured is absent,
//! never zero. Unknown fields of a newer minor form are ignored when reading.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Attribution, BatchMeans, FarHost, Histogram, HostUse, NipingFigures, Validity, hdr};

/// Name and version of the form; a reader refuses another name or a higher number.
pub const SCHEMA: &str = "plumb.run/1";

/// Why a text is no record.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// Not JSON, or a field is missing or of another type; the line and column are named.
    #[error("not a record of plumb: {0}")]
    Json(#[from] serde_json::Error),
    /// Written by another program or a newer version.
    #[error("this record is `{found}`; this program reads `{reads}`: use a newer plumb")]
    Schema {
        /// What the text says of itself.
        found: String,
        /// What is read here.
        reads: &'static str,
    },
}

/// One run: what was asked, of whom, from where, and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The program that measured.
    pub plumb: Program,
    /// Start, RFC 3339 in UTC.
    pub started: String,
    /// Whether the run came to its end.
    pub status: Status,
    /// What was asked.
    pub plan: Plan,
    /// The machine that drove the load.
    pub host: HostFacts,
    /// The far machine that was recorded too; absent without one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub far: Option<FarHost>,
    /// What was measured.
    pub target: Target,
    /// The verdict over all results.
    pub validity: Validity,
    /// What the tool itself costs; absent when it was not measured.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub floor: Option<Floor>,
    /// One result a point of the plan, in the order in which they were measured.
    pub results: Vec<ResultRecord>,
}

impl RunRecord {
    /// The record as indented JSON with a line end.
    #[must_use]
    pub fn to_json(&self) -> String {
        match serde_json::to_string_pretty(self) {
            Ok(text) => text + "\n",
            Err(error) => unreachable!("a run record is made of plain values: {error}"),
        }
    }

    /// Reads a record.
    ///
    /// # Errors
    /// [`RecordError::Json`] names line and column; [`RecordError::Schema`] names the version.
    pub fn from_json(text: &str) -> Result<Self, RecordError> {
        read_versioned(text, SCHEMA)
    }
}

/// Reads a record that says of itself that it is of `schema`.
pub(crate) fn read_versioned<T: serde::de::DeserializeOwned>(
    text: &str,
    schema: &'static str,
) -> Result<T, RecordError> {
    #[derive(Deserialize)]
    struct Head {
        schema: String,
    }
    let head: Head = serde_json::from_str(text)?;
    if head.schema != schema {
        return Err(RecordError::Schema { found: head.schema, reads: schema });
    }
    Ok(serde_json::from_str(text)?)
}

/// The program that wrote a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Version of plumb.
    pub version: String,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// The plan is not finished yet, or its process died.
    Running,
    /// The plan came to its end.
    Complete,
    /// The user or a signal ended it; the results so far stand.
    Interrupted,
    /// The target could not be reached any more; the results so far stand.
    Broken,
}

/// What was asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Layer, for example `net`.
    pub layer: String,
    /// Verb, for example `ping`.
    pub verb: String,
    /// The words of the command line.
    pub command: Vec<String>,
    /// Every option with its value in force, defaults included.
    pub options: BTreeMap<String, Value>,
    /// `closed` (the next operation waits for the answer) or `open` (work is due at a rate).
    pub load: String,
    /// Seed of the random order of the points.
    pub seed: u64,
}

/// The machine that drove the load, as far as it tells without being watched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFacts {
    /// Host name.
    pub name: String,
    /// Kernel name, release and architecture.
    pub kernel: String,
    /// Processors this process may use.
    pub cpus: u64,
    /// Where the load ran: pinned processors, or that it was free to move.
    pub placement: String,
    /// Name of the clock.
    pub clock: String,
    /// Cost of one reading of the clock, nanoseconds.
    pub clock_read_ns: u64,
    /// What else is known of it, by name: model of the processors, interfaces, huge pages, ...
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub facts: BTreeMap<String, String>,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// As the user named it.
    pub address: String,
    /// What the connections really used, read back from the sockets.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub transport: Option<Transport>,
    /// What is known of the other side, in words.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server: Option<String>,
}

/// What a connection really used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transport {
    /// `tcp` or `unix`.
    pub kind: String,
    /// Address of this side.
    pub local: String,
    /// Address of the other side.
    pub peer: String,
}

/// What the tool itself costs: the same loop and recording on a socket that answers to itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Floor {
    /// What was done, in words.
    pub method: String,
    /// From the send to the last byte, nanoseconds.
    pub service_ns: Distribution,
}

/// One point of the plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ResultRecord {
    /// What distinguishes this result from the others: `size`, `connections`, ...
    pub labels: BTreeMap<String, String>,
    /// Correct answers.
    pub operations: u64,
    /// Failures by kind; empty when there were none.
    pub failures: BTreeMap<String, u64>,
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
    /// How often each status code came; empty where the protocol has none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub codes: BTreeMap<String, u64>,
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
    /// Further figures of the layer, each with its unit and formula.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub figures: Vec<Figure>,
    /// Where the time of an operation went; absent where nobody can tell.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub attribution: Option<Attribution>,
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
    /// What happened when.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub intervals: Vec<Interval>,
    /// The response times in the order in which they happened; absent below five operations.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub batches: Option<BatchMeans>,
}

impl ResultRecord {
    /// The labels as one line, for example `connections 1, size 500B`.
    #[must_use]
    pub fn name(&self) -> String {
        let words: Vec<String> = self.labels.iter().map(|(k, v)| format!("{k} {v}")).collect();
        words.join(", ")
    }
}

/// A distribution of nanoseconds. Quantiles are the smallest value that at least that share of
/// the samples does not exceed, to 1/1,024; minimum, maximum and mean are exact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Distribution {
    /// Number of samples.
    pub count: u64,
    /// Smallest sample.
    pub min: u64,
    /// 25 % of the samples are at most this.
    pub p25: u64,
    /// The median.
    pub p50: u64,
    /// 75 %.
    pub p75: u64,
    /// 90 %.
    pub p90: u64,
    /// 95 %.
    pub p95: u64,
    /// 99 %.
    pub p99: u64,
    /// 99.9 %.
    pub p999: u64,
    /// Largest sample.
    pub max: u64,
    /// Arithmetic mean.
    pub mean: u64,
    /// The whole histogram in HdrHistogram's V2 compressed form, base64.
    pub histogram: String,
}

impl Distribution {
    /// The distribution of `histogram`; `None` when it is empty.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a mean of u64 values lies within u64"
    )]
    pub fn of(histogram: &Histogram) -> Option<Self> {
        (!histogram.is_empty()).then(|| Self {
            count: histogram.count(),
            min: histogram.min(),
            p25: histogram.quantile(0.25),
            p50: histogram.quantile(0.5),
            p75: histogram.quantile(0.75),
            p90: histogram.quantile(0.9),
            p95: histogram.quantile(0.95),
            p99: histogram.quantile(0.99),
            p999: histogram.quantile(0.999),
            max: histogram.max(),
            mean: histogram.mean().round() as u64,
            histogram: hdr::encode(histogram),
        })
    }

    /// The whole histogram, to bucket precision.
    ///
    /// # Errors
    /// When the text is not what [`hdr::encode`] writes.
    pub fn decode(&self) -> Result<Histogram, hdr::DecodeError> {
        hdr::decode(&self.histogram)
    }
}

/// Content lengths in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LengthFigures {
    /// Shortest content.
    pub min: u64,
    /// Median length.
    pub p50: u64,
    /// Longest content.
    pub max: u64,
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

/// A figure of one layer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// What it is.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// Its unit.
    pub unit: String,
    /// How it was computed, every symbol with its unit.
    pub formula: String,
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
    /// Threads that drove the load.
    pub threads: u64,
    /// Passes of the loops that were looked at: all, or a regular sample of them.
    pub passes: u64,
    /// Of these, passes with an idle moment.
    pub idle_passes: u64,
    /// How late due work began although a connection was free; absent when nothing had a due time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lag_ns: Option<Distribution>,
    /// Connections the other side ended while nothing was due on them.
    pub quiet_closes: u64,
    /// Operations of the warm-up, which are not recorded.
    #[serde(default)]
    pub warm_up_operations: u64,
}

/// What happened in one interval of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// Start, nanoseconds after the start of the run, of which this result may be one of many.
    pub start_ns: u64,
    /// Length, nanoseconds.
    pub duration_ns: u64,
    /// Correct answers.
    pub operations: u64,
    /// Failures of any kind.
    pub failures: u64,
    /// Median response time, nanoseconds; 0 without operations.
    pub p50: u64,
    /// 99th percentile of the response time, nanoseconds; 0 without operations.
    pub p99: u64,
    /// Longest response time, nanoseconds; 0 without operations.
    pub max: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_schema_is_refused_by_name() {
        let error = RunRecord::from_json(r#"{"schema":"plumb.run/2"}"#).unwrap_err();
        assert!(error.to_string().contains("plumb.run/2"), "{error}");
    }

    #[test]
    fn a_cut_record_is_refused_with_its_place() {
        let error = RunRecord::from_json("{\"schema\":\n").unwrap_err();
        assert!(error.to_string().contains("line 2"), "{error}");
    }

    #[test]
    fn a_distribution_gives_back_its_histogram() {
        let mut histogram = Histogram::new();
        (1..=5000).for_each(|value| histogram.record(value * 7));
        let distribution = Distribution::of(&histogram).unwrap();
        assert_eq!(distribution.count, 5000);
        assert_eq!(distribution.decode().unwrap().quantile(0.5), distribution.p50);
        assert_eq!(Distribution::of(&Histogram::new()), None);
    }
}
