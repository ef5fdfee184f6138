//! The options that make a lock server one of two.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use plumb_engine::tls::{ServerTlsOptions, TlsConnector, TlsOptions, TrustOptions};
use plumb_engine::{Address, Endpoint, Family};
use plumb_measure::Span;

use crate::password::{self, Login};
use crate::replication::Without;
use crate::server::ReplicationPlan;
use crate::{LockError, PORT};

/// Bytes of batches that are kept for a replica that comes back.
const BACKLOG_BYTES: u64 = 16 << 20;

/// What a primary does while no replica has everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WithoutReplica {
    /// Go on alone, and say so: what is locked meanwhile is lost with this server
    Continue,
    /// Give no lock out until a replica has everything
    Stop,
}

/// Whether a server is one of two.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Replication")]
pub struct PairOptions {
    /// Follow the lock server at HOST or HOST:PORT: have every lock before a client is told of it
    ///
    /// `plumb lock promote` lets this server take its place. Both need the same --table-size, and
    /// the same password where there is one.
    #[arg(long, value_name = "HOST:PORT")]
    pub replica_of: Option<String>,

    /// Log in at the primary as this user, where it has a file of users
    ///
    /// It needs +@admin there.
    #[arg(long, value_name = "NAME", requires = "replica_of")]
    pub replica_user: Option<String>,

    /// The password for that, in the first line of this file [default: that of clients]
    #[arg(long, value_name = "FILE", requires = "replica_of")]
    pub replica_password_file: Option<PathBuf>,

    /// What this server does while it has no replica that has everything
    #[arg(long, value_enum, value_name = "POLICY", default_value = "continue")]
    pub without_replica: WithoutReplica,

    /// The other server is away when it has been silent for this long
    #[arg(long, value_name = "TIME", default_value = "2s")]
    pub replica_timeout: Span,

    /// With --tls: believe the authorities in this file (PEM) when the primary shows its
    /// certificate [default: those this machine trusts]
    #[arg(long, value_name = "FILE", requires = "replica_of")]
    pub replica_ca: Option<PathBuf>,
}

impl PairOptions {
    /// What the server is told.
    pub(crate) fn plan(&self, clients: Option<&[u8]>) -> Result<ReplicationPlan, LockError> {
        const TIMEOUT_NS_MIN: u64 = 100_000_000;
        if self.replica_timeout.ns() < TIMEOUT_NS_MIN {
            let text = format!("--replica-timeout {}: give 100ms or more", self.replica_timeout);
            return Err(plumb_engine::EngineError::Plan(text).into());
        }
        let primary = match &self.replica_of {
            Some(host) => Endpoint::resolve(&Address::parse(host, PORT)?, Family::Any)?,
            None => Vec::new(),
        };
        Ok(ReplicationPlan {
            primary,
            without: match self.without_replica {
                WithoutReplica::Continue => Without::Continue,
                WithoutReplica::Stop => Without::Stop,
            },
            timeout_ns: self.replica_timeout.ns(),
            backlog_bytes: BACKLOG_BYTES,
            id: drawn_id()?,
            login: self.login(clients)?,
        })
    }

    /// How the server makes itself known to its primary: with the password of its own `clients`
    /// unless another is named.
    fn login(&self, clients: Option<&[u8]>) -> Result<Option<Login>, LockError> {
        let user = self.replica_user.as_deref();
        match (&self.replica_password_file, clients) {
            (None, Some(password)) => {
                let user = user.map(str::to_owned);
                Ok(Some(Login { user, password: password.to_vec() }))
            }
            (file, _) => Login::read(user, file.as_deref(), password::VARIABLE),
        }
    }

    /// Makes links to the primary, where clients speak TLS, too.
    pub(crate) fn connector(
        &self,
        server: &ServerTlsOptions,
    ) -> Result<Option<TlsConnector>, LockError> {
        let Some(host) = self.replica_of.as_deref().filter(|_| server.tls) else {
            return Ok(None);
        };
        let trust = TrustOptions {
            ca: self.replica_ca.clone(),
            cert: server.cert.clone(),
            key: server.key.clone(),
            ..TrustOptions::default()
        };
        Ok(TlsOptions { tls: true, trust }.connector(host, &[])?)
    }
}

/// A number that no other server and no other start has.
fn drawn_id() -> Result<u64, LockError> {
    let mut bytes = [0; 8];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .map_err(|error| LockError::NoId(error.into()))?;
    Ok(u64::from_le_bytes(bytes).max(1))
}
