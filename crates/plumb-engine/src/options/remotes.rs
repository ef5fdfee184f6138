//! Which processes or machines drive a load together.

use clap::Args;
use plumb_measure::{LoadPart, RemoteSelector};

use crate::EngineError;

/// Who drives a load.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Load")]
pub struct SpreadOptions {
    /// Remotes that drive the load, all of them together: local:N for N processes on this machine,
    /// or all, NAME,... or KEY=VALUE,... of those that wait in a NATS server
    ///
    /// The server is that of PLUMB_NATS_URL, or stands before them: nats://HOST:PORT/all.
    /// Connections, users, operations, rates and lines of data are divided among them; they begin at
    /// the same moment, and each has a row in the report.
    #[arg(long, value_name = "SELECTOR")]
    pub remotes: Option<RemoteSelector>,

    /// Drive only this part of the load: a controller says so to its remotes
    #[arg(long, value_name = "I/N", hide = true)]
    pub part: Option<LoadPart>,
}

impl SpreadOptions {
    /// The part of the load that is this process's own.
    #[must_use]
    pub fn part(&self) -> LoadPart {
        self.part.unwrap_or_default()
    }

    /// Refuses a load of so many `things` of which a part would have none.
    ///
    /// # Errors
    /// [`EngineError::Plan`] says how many there must be.
    pub fn check(&self, count: u64, things: &str) -> Result<(), EngineError> {
        let Some(part) = self.part else { return Ok(()) };
        let of = part.of();
        if part.holds(count) {
            return Ok(());
        }
        Err(EngineError::Plan(format!(
            "{count} {things} cannot be divided among {of} remotes: give {of} or more"
        )))
    }
}
