//! What a layer calls its operations, and sentences that begin with a word of its own.

use plumb_measure::RunRecord;

use crate::figures::grouped;
use crate::streams;

/// What a layer calls one operation.
pub(crate) struct Noun {
    pub(crate) one: &'static str,
    pub(crate) many: &'static str,
    /// Column title of the throughput.
    pub(crate) rate: &'static str,
}

impl Noun {
    /// The words of the layer that a record names.
    pub(crate) fn of(record: &RunRecord) -> Self {
        if record.results.iter().any(streams::of_datagrams) {
            return Self { one: "datagram", many: "datagrams", rate: "datagrams/s" };
        }
        Self::of_words(&record.plan.layer, &record.plan.verb)
    }

    /// The words of a layer and one of its verbs.
    pub(crate) fn of_words(layer: &str, verb: &str) -> Self {
        let (one, many, rate) = match (layer, verb) {
            ("net", "ping") | ("checkup", _) => ("round trip", "round trips", "msgs/s"),
            ("net", "stream") => ("buffer", "buffers", "buffers/s"),
            ("net", _) => ("message", "messages", "msgs/s"),
            ("http", _) => ("request", "requests", "req/s"),
            ("flow", _) => ("message", "messages", "msgs/s"),
            ("db", _) => ("SQL round trip", "SQL round trips", "ops/s"),
            _ => ("operation", "operations", "ops/s"),
        };
        Self { one, many, rate }
    }

    /// A number of operations in words.
    pub(crate) fn count(&self, n: u64) -> String {
        format!("{} {}", grouped(n), if n == 1 { self.one } else { self.many })
    }
}

/// A text that begins a sentence.
pub(crate) fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
