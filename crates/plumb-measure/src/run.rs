//! The run record: one measurement written down, versioned, in nanoseconds and bytes.
//!
//! Times are integer nanoseconds, sizes bytes, rates per second. What was not measured is absent,
//! never zero. Unknown fields of a newer minor form are ignored when reading.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Distribution, FarHost, ResultRecord, Span, Transport, Validity};

/// Name and version of the form; a reader refuses another name or a higher number.
pub const SCHEMA: &str = "plumb.run/1";

/// Why a text is no record.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// Not JSON, or a field is missing or of another type; the line and column are named.
    #[error("not a record of plumb: {0}")]
    Json(#[from] serde_json::Error),
    /// Written by another program or a newer version.
    #[error(
        "this record is `{found}`; this program reads `{reads}`: {}",
        schema_remedy(found, reads)
    )]
    Schema {
        /// What the text says of itself.
        found: String,
        /// What is read here.
        reads: &'static str,
    },
}

impl RecordError {
    /// What to try.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Json(error) if error.is_eof() => {
                "the file ends too early: copy it again from where it was measured, or measure again"
            }
            Self::Json(_) => "the file was altered, or is not plumb's: take its folder out",
            Self::Schema { found, reads } => schema_remedy(found, reads),
        }
    }
}

/// What to try with a record that says of itself to be `found`, where `reads` are read: a newer program
/// reads a higher number of the same name, and no program reads another name or a lower number.
#[must_use]
pub fn schema_remedy(found: &str, reads: &str) -> &'static str {
    let parts = |schema: &str| {
        let (name, number) = schema.rsplit_once('/')?;
        Some((name.to_owned(), number.parse::<u64>().ok()?))
    };
    match (parts(found), parts(reads)) {
        (Some((found, higher)), Some((reads, number))) if found == reads && higher > number => {
            "use a newer plumb"
        }
        (Some((found, _)), Some((reads, _))) if found == reads => {
            "measure again, or show it with the plumb that wrote it"
        }
        (Some((found, _)), _) if found.starts_with("plumb.") => {
            "it is of another kind: name the folder of a run"
        }
        _ => "it is none of plumb's: name another file",
    }
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
        written(self)
    }

    /// Reads a record.
    ///
    /// # Errors
    /// [`RecordError::Json`] names line and column; [`RecordError::Schema`] names the version.
    pub fn from_json(text: &str) -> Result<Self, RecordError> {
        read_versioned(text, SCHEMA)
    }

    /// How long operations were to be begun, by the option `for`; `None` where the plan bounds something
    /// else, or has its length elsewhere.
    #[must_use]
    pub fn asked_for(&self) -> Option<Span> {
        self.plan.options.get("for")?.as_str()?.parse().ok()
    }
}

/// A record as indented JSON with a line end.
///
/// # Panics
///
/// When the record cannot be JSON: a map whose keys are no texts.
pub fn written(record: &impl Serialize) -> String {
    match serde_json::to_string_pretty(record) {
        Ok(text) => text + "\n",
        Err(error) => unreachable!("a record is made of plain values: {error}"),
    }
}

/// Reads a record that says of itself that it is of `schema`.
///
/// # Errors
///
/// When the text is no JSON, is of another schema, or lacks a field.
pub fn read_versioned<T: serde::de::DeserializeOwned>(
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
    /// It ended before its plan did: the target could not be reached any more, or a remote was lost; the
    /// results so far stand.
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
    /// What the first connection really used, read back from its socket; what all of them used is
    /// in each result.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub transport: Option<Transport>,
    /// What is known of the other side, in words.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server: Option<String>,
}

/// What the tool itself costs: the same loop and recording on a socket that answers to itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Floor {
    /// What was done, in words.
    pub method: String,
    /// From the send to the last byte, nanoseconds.
    pub service_ns: Distribution,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_schema_is_refused_by_name() {
        for (schema, remedy) in [
            ("plumb.run/2", "use a newer plumb"),
            ("plumb.run/0", "measure again, or show it with the plumb that wrote it"),
            ("plumb.ladder/1", "it is of another kind: name the folder of a run"),
            ("plumb.ladder/7", "it is of another kind: name the folder of a run"),
            // printed, and kept in no folder of its own
            ("plumb.size/1", "it is of another kind: name the folder of a run"),
            ("other", "it is none of plumb's: name another file"),
        ] {
            let error = RunRecord::from_json(&format!("{{\"schema\":\"{schema}\"}}")).unwrap_err();
            let said =
                format!("this record is `{schema}`; this program reads `plumb.run/1`: {remedy}");
            assert_eq!((error.to_string(), error.remedy()), (said, remedy));
        }
    }

    #[test]
    fn a_cut_record_is_refused_with_its_place() {
        let error = RunRecord::from_json("{\"schema\":\n").unwrap_err();
        assert!(error.to_string().contains("line 2"), "{error}");
    }
}
