//! What the steps of all work processes share.

use plumb_measure::ByteSize;
use plumb_serve::accounts::Accounts;

use crate::AppError;
use crate::backend::Backend;
use crate::config::{Config, CostConfig, FlightsConfig, ProgramsConfig};
use crate::locks::LockPlan;
use crate::log_ons::LogOns;
use crate::program::Buffer;
use crate::records::Records;
use crate::runs::Runs;
use crate::session::Sessions;

/// Users and their sessions, programs, and the ways to other servers.
#[derive(Debug)]
pub(crate) struct Services {
    pub(crate) accounts: Accounts,
    pub(crate) records: Records,
    pub(crate) log_ons: LogOns,
    pub(crate) sessions: Sessions,
    pub(crate) buffer: Buffer,
    pub(crate) backend: Option<Backend>,
    pub(crate) locks: Option<LockPlan>,
    pub(crate) runs: Runs,
    /// What getting a program costs in addition.
    pub(crate) program_costs: ProgramsConfig,
    /// What a step costs in addition.
    pub(crate) step_costs: CostConfig,
    /// What a log-on costs in addition.
    pub(crate) log_on_costs: CostConfig,
    /// Flights that cannot be read.
    pub(crate) flights: FlightsConfig,
}

impl Services {
    /// The services that `config` describes; nothing is connected yet.
    ///
    /// # Errors
    /// [`AppError::Plan`] when an address in the configuration is none.
    pub(crate) fn new(config: &Config) -> Result<Self, AppError> {
        Ok(Self {
            accounts: Accounts::new(config.accounts()),
            records: Records::default(),
            log_ons: LogOns::new(config.front.connections),
            sessions: Sessions::new(config.sessions.clone()),
            buffer: Buffer::new(bytes(config.programs.buffer_size)),
            backend: config.backend.as_ref().map(Backend::new).transpose()?,
            locks: config.locks.as_ref().map(LockPlan::new).transpose()?,
            runs: Runs::default(),
            program_costs: config.programs.clone(),
            step_costs: config.step.clone(),
            log_on_costs: config.log_on.clone(),
            flights: config.flights.clone(),
        })
    }
}

/// A size as memory counts it.
pub(crate) fn bytes(size: ByteSize) -> usize {
    usize::try_from(size.bytes()).unwrap_or(usize::MAX)
}
