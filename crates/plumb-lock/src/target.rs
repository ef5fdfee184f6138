//! Where a lock server is, and how it is talked to.

use std::path::PathBuf;

use clap::Args;
use plumb_engine::options::TransportOptions;
use plumb_engine::tls::{TlsConnector, TlsOptions};
use plumb_engine::{Endpoint, LoadPlan, LoadResult, Plain, Protocol, Stage, Stop, load, reachable};
use plumb_measure::Span;
use serde_json::{Map, Value};

use crate::{LockError, PORT, password};

/// The port of PostgreSQL when none is named.
const PORT_OF_POSTGRES: u16 = 5432;

/// The server that a client talks to.
#[derive(Args, Clone, Debug)]
pub struct TargetOptions {
    /// The lock server: HOST, HOST:PORT, smc:HOST:PORT or unix:PATH (port 3200 unless named)
    #[arg(value_name = "HOST")]
    pub host: String,

    /// Name the password in the first line of this file to the server
    ///
    /// The variable PLUMB_LOCK_PASSWORD does the same without a file.
    #[arg(long, value_name = "FILE")]
    pub password_file: Option<PathBuf>,

    /// How the target is reached.
    #[command(flatten)]
    pub transport: TransportOptions,

    /// Whether the connections are encrypted.
    #[command(flatten)]
    pub tls: TlsOptions,
}

impl TargetOptions {
    /// Every option with the value in force, for the run record.
    pub(crate) fn in_force(&self) -> Map<String, Value> {
        let mut options = self.transport.in_force();
        options.extend(self.tls.in_force());
        options
    }

    /// Resolves the server's name.
    pub(crate) fn resolve(&self) -> Result<Target, LockError> {
        Ok(Target {
            name: self.transport.target(&self.host),
            endpoints: self.transport.endpoints(&self.host, PORT)?,
            password: password::read(self.password_file.as_deref(), password::VARIABLE)?,
            tls: self.tls.connector(&self.host, &[])?,
        })
    }

    /// The same for a server of PostgreSQL. Its password belongs to a login.
    pub(crate) fn resolve_postgres(&self) -> Result<Target, LockError> {
        let variable = password::VARIABLE_OF_POSTGRES;
        let password = password::read(self.password_file.as_deref(), variable)?;
        if self.tls.connector(&self.host, &[])?.is_some() {
            return Err(LockError::NoTls);
        }
        Ok(Target {
            name: self.transport.target(&self.host),
            endpoints: self.transport.endpoints(&self.host, PORT_OF_POSTGRES)?,
            password,
            tls: None,
        })
    }
}

/// A server that is known by its addresses.
#[derive(Debug)]
pub(crate) struct Target {
    /// As the user named it.
    pub(crate) name: String,
    endpoints: Vec<Endpoint>,
    pub(crate) password: Option<Vec<u8>>,
    tls: Option<TlsConnector>,
}

impl Target {
    /// The first of its addresses that answers.
    pub(crate) fn reach(&self, patience: Span, stop: &Stop) -> Result<Endpoint, LockError> {
        Ok(reachable(&self.endpoints, patience, stop)?)
    }

    /// Drives `plan` over the link that was asked for.
    pub(crate) fn drive<P: Protocol + Send>(
        &self,
        plan: &LoadPlan,
        stage: &mut Stage<'_>,
        rows: usize,
        protocol: impl Fn() -> P,
    ) -> Result<LoadResult<P>, LockError> {
        Ok(match &self.tls {
            None => load::run(plan, stage, rows, protocol, Plain::default)?,
            Some(tls) => load::run(plan, stage, rows, protocol, || tls.link())?,
        })
    }
}
