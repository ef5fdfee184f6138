//! The distributions of a record that curves are drawn from, without the rest of it.

use std::collections::BTreeMap;

use plumb_measure::{Distribution, RecordError};
use serde::Deserialize;

/// The response times of a run.
#[derive(Debug, Deserialize)]
pub struct Responses {
    /// What the tool itself costs.
    #[serde(default)]
    pub floor: Option<FloorTimes>,
    /// In the order of the record.
    pub results: Vec<ResponseTimes>,
}

/// The tool's own cost.
#[derive(Debug, Deserialize)]
pub struct FloorTimes {
    /// Its service times.
    pub service_ns: Distribution,
}

/// The response times of one result.
#[derive(Debug, Deserialize)]
pub struct ResponseTimes {
    /// What distinguishes the result from the others.
    pub labels: BTreeMap<String, String>,
    /// Response times, nanoseconds; absent where nothing was answered.
    #[serde(default)]
    pub response_ns: Option<Distribution>,
}

impl Responses {
    /// Reads them from the text of a record whose form is known to be ours.
    pub(crate) fn from_json(text: &str) -> Result<Self, RecordError> {
        Ok(serde_json::from_str(text)?)
    }
}
