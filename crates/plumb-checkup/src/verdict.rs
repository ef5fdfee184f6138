//! What a checkup says, as it is written down.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{CheckupFinding, CheckupLayer, CheckupRemark, Middle};
use plumb_measure::{AcceptedLoad, Calls, is_whole_time, show_ns};

/// What a checkup says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CheckupVerdict {
    /// In a sentence or two, for people.
    pub sentence: String,
    /// What is wrong: what spoils the figures first, then what costs a user most.
    #[serde(default)]
    pub findings: Vec<CheckupFinding>,
    /// What is to be known beside that.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub remarks: Vec<CheckupRemark>,
    /// A verdict on each server: those that can be judged first, the slowest of them first.
    pub layers: Vec<LayerVerdict>,
    /// The limit of foreign load that was raised for figures that stand; absent where none was. It
    /// stands in the sentence, too.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub accepted_load: Option<AcceptedLoad>,
}

/// How far a layer can be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LayerState {
    /// Its yardsticks are valid, and it stands in the comparison.
    Judged,
    /// It was measured, but the times of a yardstick may not be used.
    NotValid,
    /// It was measured, and something that can take its figures away could not be checked.
    NotChecked,
    /// A yardstick left no record.
    NotMeasured,
    /// It is not measured to the end.
    Open,
}

/// What is known of one server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerVerdict {
    /// Its layer.
    pub layer: CheckupLayer,
    /// Its name, as in [`CheckupPart::server`](super::CheckupPart::server).
    pub server: String,
    /// How far it can be judged.
    pub state: LayerState,
    /// Why it cannot be; absent where it can.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub why: Option<String>,
    /// True when it is the slowest, or cannot be told apart from the slowest.
    pub slowest: bool,
    /// The yardstick that it is judged by.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub operation: Option<String>,
    /// The median of that.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub median: Option<Middle>,
    /// What the layer adds to the round trip.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub own: Option<OwnTime>,
    /// The mean of the yardstick, nanoseconds, where the server says something of its own time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mean_ns: Option<u64>,
    /// The same of the faster nine tenths, where `told_ns` is of those.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub faster_mean_ns: Option<u64>,
    /// Means of what the server says of its own time, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub told_ns: BTreeMap<String, u64>,
}

impl LayerVerdict {
    /// What `told_ns` are parts of, nanoseconds, and which calls they are of.
    #[must_use]
    pub fn accounted(&self) -> Option<(u64, Calls)> {
        Calls::mean_of(self.mean_ns, self.faster_mean_ns)
    }

    /// The parts among `told_ns`, nanoseconds: the whole of the others is none of them.
    pub fn told_parts(&self) -> impl Iterator<Item = (&str, u64)> {
        let several = self.told_ns.len() > 1;
        let is_part = move |name: &str| !(several && is_whole_time(name));
        let told = self.told_ns.iter().map(|(name, ns)| (name.as_str(), *ns));
        told.filter(move |(name, _)| is_part(name))
    }
}

/// The time that a layer adds to the round trip of one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnTime {
    /// The difference of the medians, nanoseconds.
    pub ns: i64,
    /// Lower end of its interval, nanoseconds.
    pub low_ns: i64,
    /// Upper end of its interval, nanoseconds.
    pub high_ns: i64,
    /// The median round trip that was taken off, nanoseconds; absent where none to that host is
    /// known, and of the network itself.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub floor_ns: Option<u64>,
}

impl OwnTime {
    /// The most that is added, in words, where it may be nothing at all; `None` where it is more than
    /// nothing, or less.
    #[must_use]
    pub fn at_most(&self) -> Option<String> {
        let high_ns = u64::try_from(self.high_ns).ok().filter(|_| self.low_ns < 0)?;
        Some(format!("no more than {}, if anything", show_ns(high_ns)))
    }
}
