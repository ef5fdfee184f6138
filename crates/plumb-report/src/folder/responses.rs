//! The distributions of a record that curves are drawn from, without the rest of it.

use std::collections::BTreeMap;

use plumb_measure::{Distribution, RecordError};
use serde::Deserialize;

/// The response times of a run.
#[derive(Debug, Deserialize)]
pub(crate) struct Responses {
    /// What the tool itself costs.
    #[serde(default)]
    pub(crate) floor: Option<FloorTimes>,
    /// In the order of the record.
    pub(crate) results: Vec<ResponseTimes>,
}

/// The tool's own cost.
#[derive(Debug, Deserialize)]
pub(crate) struct FloorTimes {
    pub(crate) service_ns: Distribution,
}

/// The response times of one result.
#[derive(Debug, Deserialize)]
pub(crate) struct ResponseTimes {
    pub(crate) labels: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) response_ns: Option<Distribution>,
}

impl Responses {
    /// Reads them from the text of a record whose form is known to be ours.
    pub(super) fn from_json(text: &str) -> Result<Self, RecordError> {
        Ok(serde_json::from_str(text)?)
    }
}
