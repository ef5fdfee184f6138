//! What became of the users of a load, and of what was demanded of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Distribution;

/// The users of one scenario, counted. Counts are of the whole load, its warm-up included, unless
/// they say otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScenarioFigures {
    /// As the file names it.
    pub name: String,
    /// `closed` (users at once) or `open` (scripts that begin at a rate).
    pub load: String,
    /// Users at most.
    pub users: u64,
    /// Users that began.
    pub begun: u64,
    /// Scripts that were done to their end.
    pub scripts: u64,
    /// Scripts that ended at a step that failed.
    pub broken: u64,
    /// Scripts in which no request was due: every step was left out by its share or its condition.
    pub empty: u64,
    /// Scripts of the recorded part that were due and could not begin in time; always zero of a
    /// closed load.
    #[serde(default)]
    pub dropped: u64,
    /// From the planned beginning of a user until its connection stood, nanoseconds; of an open load
    /// from the due time of a script whose user had no connection.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub start_up_ns: Option<Distribution>,
    /// Users that ended of themselves, by why: `users.csv ran dry`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub ended: BTreeMap<String, u64>,
    /// Resources that pages embed and that were not asked for, by why.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub left_out: BTreeMap<String, u64>,
}

impl ScenarioFigures {
    /// Adds the users of the same scenario that another process had; how long users took to begin
    /// stays as it is.
    pub fn add(&mut self, other: &Self) {
        self.users += other.users;
        self.begun += other.begun;
        self.scripts += other.scripts;
        self.broken += other.broken;
        self.empty += other.empty;
        self.dropped += other.dropped;
        for (cause, users) in &other.ended {
            *self.ended.entry(cause.clone()).or_default() += users;
        }
        for (why, resources) in &other.left_out {
            *self.left_out.entry(why.clone()).or_default() += resources;
        }
    }
}

/// One threshold, and what was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThresholdRecord {
    /// As the file has it: `list p95 < 200ms`.
    pub text: String,
    /// What was found, in the unit of the threshold; absent when there is nothing to judge.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub found: Option<f64>,
    /// `ns`, `%`, `1/s` or `1` (a number of operations).
    pub unit: String,
    /// It holds. What cannot be judged does not.
    pub met: bool,
}
