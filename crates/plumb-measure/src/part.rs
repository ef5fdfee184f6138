//! A part of a load: the operations of one label, written down.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Attribution, Distribution, LengthFigures};

/// The figures of one part of a load whose operations are not all alike: of one URL among several.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PartRecord {
    /// What it is, as the user named it.
    pub name: String,
    /// What tells it apart beside its name: `scenario`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub labels: BTreeMap<String, String>,
    /// Correct answers.
    pub operations: u64,
    /// Failures by kind, those of connections not among them; empty when there were none.
    pub failures: BTreeMap<String, u64>,
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
    /// From the due time to the failure; absent when nothing failed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub failed_ns: Option<Distribution>,
    /// How often each status code came.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub codes: BTreeMap<String, u64>,
    /// Content length of the correct answers.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub length: Option<LengthFigures>,
    /// What the other side said of its own time, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub told_ns: BTreeMap<String, Distribution>,
    /// Where the time of an operation went; absent where nobody can tell.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub attribution: Option<Attribution>,
    /// The same by the spans of servers; absent where no traces were sent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub spans: Option<SpanAccount>,
    /// What happened before the measurement, in order: redirects followed, a challenge answered.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub steps: Vec<StepRecord>,
    /// The first answer of all, before the warm-up; absent when it was not asked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub first_hit: Option<FirstHit>,
}

/// Where the time of traced operations went, by the spans that servers wrote of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpanAccount {
    /// The account of the sample; of an operation without spans all is unknown but what the client
    /// measured.
    pub attribution: Attribution,
    /// Operations that were sent with a trace and answered correctly.
    pub traced: u64,
    /// Of these, a random sample whose spans were looked for.
    pub sample: u64,
    /// Of the sample, operations of which a span came.
    pub with_spans: u64,
    /// Spans of the sample that are in no part: their parent did not come, or they lie too deep.
    pub loose: u64,
}

/// One answer on the way to what is measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRecord {
    /// Status code.
    pub status: u16,
    /// What it led to, in words: `-> /page`, `Basic realm="..."`.
    pub text: String,
}

/// The very first answer, on a fresh connection: what a first user of the day waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstHit {
    /// Time to connect, nanoseconds.
    pub connect_ns: u64,
    /// Time of the TLS handshake, nanoseconds; absent without TLS.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tls_ns: Option<u64>,
    /// From the send to the first byte, nanoseconds.
    pub first_byte_ns: u64,
    /// From the send to the last byte, nanoseconds.
    pub last_byte_ns: u64,
    /// Bytes of content.
    pub length: u64,
}

/// How much longer one part takes than another, from blocks in which both took turns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairRecord {
    /// The part that works for its answer.
    pub dynamic: String,
    /// The part that only fetches one.
    pub fixed: String,
    /// How the figures were made, in words.
    pub method: String,
    /// Blocks in which both were answered.
    pub blocks: u64,
    /// Difference of the first bytes; absent without a block.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub first_byte: Option<PairDifference>,
    /// Difference of the last bytes; absent without a block.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub last_byte: Option<PairDifference>,
}

/// A difference of two times, nanoseconds, with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairDifference {
    /// Estimate, nanoseconds; below zero when the first part was faster.
    pub ns: f64,
    /// Lower end of the interval; absent with too few blocks.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub low_ns: Option<f64>,
    /// Upper end of the interval; absent with too few blocks.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub high_ns: Option<f64>,
    /// The exact confidence level of the interval, from 0 to 1; absent with too few blocks.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub level: Option<f64>,
}
