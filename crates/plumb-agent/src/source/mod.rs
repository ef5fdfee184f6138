//! Where changes of tags come from.

#[cfg(any(feature = "opcua", test))]
mod counting;
mod feed;
mod mqtt;
#[cfg(feature = "opcua")]
mod opcua;
mod opcua_plan;
mod replay;
mod rows;
mod shape;
mod sim;

use std::path::PathBuf;
use std::sync::Arc;

pub use mqtt::{MqttPlan, MqttTls, MqttVersion, Payload};
pub use opcua_plan::OpcUaPlan;
pub use replay::{Pace, ReplayPlan};
pub use rows::Columns;
pub use shape::Shape;
pub use sim::{SimPlan, SimTag};

pub(crate) use feed::{Feed, Mark, Outlet};

/// A source, as an agent's file describes it.
#[derive(Clone, Debug)]
pub enum SourcePlan {
    /// Made here.
    Sim(SimPlan),
    /// Lines of a file.
    Replay(ReplayPlan),
    /// Topics of an MQTT broker.
    Mqtt(Box<MqttPlan>),
    /// Nodes of an OPC UA server.
    OpcUa(OpcUaPlan),
}

/// Why a source ends for good. A server that is away is no such reason.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// A file that cannot be read.
    #[error("cannot read {path}: {error}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A line that is none of what was expected.
    #[error("{path}, line {line}: {problem}")]
    Line {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: u64,
        /// What is wrong, and what was expected.
        problem: String,
    },
    /// A server that refuses us.
    #[error("{0}")]
    Refused(String),
}

impl SourcePlan {
    /// Brings changes until they end, or until nobody takes them any more.
    ///
    /// # Errors
    /// [`SourceError`] when it cannot go on.
    pub(crate) async fn run(&self, outlet: Outlet) -> Result<(), SourceError> {
        match self {
            Self::Sim(plan) => {
                sim::run(plan, outlet).await;
                Ok(())
            }
            Self::Replay(plan) => replay::run(plan, outlet).await,
            Self::Mqtt(plan) => mqtt::run(plan, outlet).await,
            #[cfg(feature = "opcua")]
            Self::OpcUa(plan) => opcua::run(plan, outlet).await,
            // a file that names it is refused before
            #[cfg(not(feature = "opcua"))]
            Self::OpcUa(_) => Err(SourceError::Refused(NO_OPCUA.into())),
        }
    }

    /// In words, for the log.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Sim(plan) => format!("{} simulated tags", plan.tags.len()),
            Self::Replay(plan) => plan.file.display().to_string(),
            Self::Mqtt(plan) => format!("topics of {}:{}", plan.host, plan.port),
            Self::OpcUa(plan) => format!("nodes of {}", plan.url),
        }
    }
}

/// What is said where OPC UA is not built in.
pub(crate) const NO_OPCUA: &str = "this program was built without OPC UA: build it with \
     `cargo build --release -p plumb --features opcua`";

/// A name that is shared by all changes of its tag.
pub(crate) type TagName = Arc<str>;
