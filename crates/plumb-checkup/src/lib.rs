//! Checkups of a landscape, of a path through a network and of idle processors: what was measured,
//! what is wrong, and what that costs.
//!
//! [`Checkup`] has the layers of a landscape and what a user waits for in each, [`PathCheck`] the six
//! tests of a path, [`IdleCost`] what a round trip takes longer because processors sleep meanwhile.

mod accepted;
mod finding;
mod idle;
mod judge;
mod middle;
mod outcome;
mod path_check;
mod sentence;
mod verdict;
mod waited;

use serde::{Deserialize, Serialize};

use plumb_measure::{HostFacts, Program, RecordError, Status, read_versioned, written};

pub use accepted::accepted_load;
pub use finding::{CheckupFinding, CheckupRemark, FaultCost, FaultKind};
pub use idle::{
    IDLE_ROUNDS_MAX, IDLE_ROUNDS_MIN, IDLE_SCHEMA, IdleCompany, IdleCost, IdleEffect, IdleFinding,
    IdleRound, IdleSample, IdleSetting,
};
pub use middle::Middle;
pub use outcome::CheckupOutcome;
pub use path_check::{
    Judgement, PATH_CHECK_SCHEMA, PartOutcome, PathCheck, PathPart, PathTest, PathVerdict,
};
pub use verdict::{CheckupVerdict, LayerState, LayerVerdict, OwnTime};
pub use waited::{AcknowledgedAtOnce, Waited};

/// Version of the form of [`Checkup`].
pub const CHECKUP_SCHEMA: &str = "plumb.checkup/2";
/// The version before it, which is read, too: it has no findings, and its parts do not say how many
/// users asked.
const CHECKUP_SCHEMA_BEFORE: &str = "plumb.checkup/1";

/// A layer of a landscape, in the order in which they are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckupLayer {
    /// The way to a host and back.
    Network,
    /// A server of locks.
    Locks,
    /// A server of pages.
    Pages,
    /// An integration runtime.
    Messages,
    /// A server of SQL.
    Database,
}

impl CheckupLayer {
    /// All of them, in order.
    pub const ALL: [Self; 5] =
        [Self::Network, Self::Locks, Self::Pages, Self::Messages, Self::Database];

    /// The name for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Network => "network",
            Self::Locks => "locks",
            Self::Pages => "pages",
            Self::Messages => "messages",
            Self::Database => "database",
        }
    }
}

/// A whole checkup: what is asked for, what came of it so far, and what that says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checkup {
    /// [`CHECKUP_SCHEMA`].
    pub schema: String,
    /// Who checked.
    pub plumb: Program,
    /// When it began, RFC 3339 in UTC.
    pub started: String,
    /// How it ended.
    pub status: Status,
    /// The words of the command line.
    pub command: Vec<String>,
    /// What was measured: `this machine`, or the file that names the landscape.
    pub target: String,
    /// The remote that measured; absent where that was the machine on which the checkup was started.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub remote: Option<String>,
    /// The machine that asked; absent where that was not written down, and of a remote until it has
    /// measured something.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub host: Option<HostFacts>,
    /// The measurements, in order.
    pub parts: Vec<CheckupPart>,
    /// The layers of which nothing is asked.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub left_out: Vec<LeftOutLayer>,
    /// What went wrong beside the measurements, a sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub troubles: Vec<String>,
    /// What idle processors of the machine that asked cost a round trip; absent until it is measured.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub idle: Option<IdleCost>,
    /// What the parts say so far.
    #[serde(default)]
    pub verdict: CheckupVerdict,
}

/// A layer of which nothing is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOutLayer {
    /// Which.
    pub layer: CheckupLayer,
    /// Why, in a sentence.
    pub why: String,
}

/// What a part is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PartRole {
    /// The layer may be judged by its median: one user, one operation after the other.
    Yardstick,
    /// It shows more of the layer, and judges nothing.
    Beside,
    /// The same, of something that not every server offers.
    WhereOffered,
}

/// One measurement of a checkup: one run with one result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckupPart {
    /// The layer it belongs to.
    pub layer: CheckupLayer,
    /// The server that is asked, as a sentence names it: `application server`.
    pub server: String,
    /// One operation, as a sentence names it: `a flight list`.
    pub operation: String,
    /// How it is asked for: `one user`.
    pub how: String,
    /// What it is there for.
    pub role: PartRole,
    /// Users, connections or callers that ask at the same time.
    #[serde(default = "one")]
    pub users: u64,
    /// Connections that these share, of a pool of this tool's; absent where each has its own.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub connections: Option<u64>,
    /// How long it takes if all goes well, nanoseconds.
    pub expected_ns: u64,
    /// The words behind `plumb` that measure it.
    pub words: Vec<String>,
    /// What came of it; `None` until it is over.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub outcome: Option<CheckupOutcome>,
}

fn one() -> u64 {
    1
}

impl CheckupPart {
    /// How many ask the server at the same time: users, or the connections that they share.
    pub(crate) fn at_once(&self) -> u64 {
        self.connections.unwrap_or(self.users)
    }
}

impl Checkup {
    /// A checkup by `plumb` that began at `started`, RFC 3339 in UTC, and is to measure `parts`.
    #[must_use]
    pub fn begun(plumb: Program, started: String, parts: Vec<CheckupPart>) -> Self {
        Self {
            schema: CHECKUP_SCHEMA.into(),
            plumb,
            started,
            status: Status::Running,
            command: Vec::new(),
            target: String::new(),
            remote: None,
            host: None,
            parts,
            left_out: Vec::new(),
            troubles: Vec::new(),
            idle: None,
            verdict: CheckupVerdict::default(),
        }
    }

    /// The machine that asks, as a sentence names it: `this machine`, `the remote app-1`.
    #[must_use]
    pub fn who_asks(&self) -> String {
        self.remote
            .as_ref()
            .map_or_else(|| "this machine".into(), |name| format!("the remote {name}"))
    }

    /// Judges the layers by what is measured so far.
    pub fn judge(&mut self) {
        let mut verdict = judge::judge(self);
        verdict.accepted_load = accepted_load(&self.parts);
        if let Some(accepted) = verdict.accepted_load {
            verdict.sentence = accepted.beside(&verdict.sentence);
        }
        self.verdict = verdict;
    }

    /// The parts of each server, in order: its layer, its name, its parts.
    #[must_use]
    pub fn servers(&self) -> Vec<(CheckupLayer, &str, Vec<&CheckupPart>)> {
        let mut servers: Vec<(CheckupLayer, &str, Vec<&CheckupPart>)> = Vec::new();
        for part in &self.parts {
            let known = servers
                .iter_mut()
                .find(|(layer, server, _)| *layer == part.layer && *server == part.server);
            match known {
                Some((.., parts)) => parts.push(part),
                None => servers.push((part.layer, &part.server, vec![part])),
            }
        }
        servers
    }

    /// True when something wants attention: a fault, a server that could not be measured, figures
    /// that may not be used, a trouble beside the measurements.
    #[must_use]
    pub fn has_findings(&self) -> bool {
        let unsound = |layer: &LayerVerdict| {
            matches!(layer.state, LayerState::NotValid | LayerState::NotMeasured)
        };
        let refused = |outcome: &CheckupOutcome| !outcome.stands() && outcome.is_checked();
        !self.troubles.is_empty()
            || !self.verdict.findings.is_empty()
            || self.verdict.layers.iter().any(unsound)
            || self.outcomes().any(refused)
    }

    /// True when something that can take figures away could not be checked, or something that may be a
    /// fault could not be told.
    #[must_use]
    pub fn is_unanswered(&self) -> bool {
        let untold = self.verdict.remarks.iter().any(|remark| remark.untold.is_some());
        untold || self.outcomes().any(|outcome| !outcome.is_checked())
    }

    fn outcomes(&self) -> impl Iterator<Item = &CheckupOutcome> {
        self.parts.iter().filter_map(|part| part.outcome.as_ref())
    }

    /// How long the parts that are still to come take if all goes well, nanoseconds.
    #[must_use]
    pub fn left_ns(&self) -> u64 {
        let open = self.parts.iter().filter(|part| part.outcome.is_none());
        open.map(|part| part.expected_ns).fold(0, u64::saturating_add)
    }

    /// The checkup as JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        written(self)
    }

    /// Reads a checkup back.
    ///
    /// # Errors
    /// [`RecordError`] when `text` is none, or one of another version.
    pub fn from_json(text: &str) -> Result<Self, RecordError> {
        match read_versioned(text, CHECKUP_SCHEMA) {
            Err(RecordError::Schema { found, .. }) if found == CHECKUP_SCHEMA_BEFORE => {
                read_versioned(text, CHECKUP_SCHEMA_BEFORE)
            }
            read => read,
        }
    }
}
