//! The options that make a lock server one of two.

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum};
use plumb_engine::tls::{ServerTlsOptions, TlsConnector, TlsOptions, TrustOptions};
use plumb_engine::{Address, Endpoint, Family};
use plumb_lock_pair::replication::Without;
use plumb_measure::Span;

use crate::password::Login;
use crate::server::ReplicationPlan;
use crate::{PORT, PORT_OF_WITNESSES, ServerError};

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
#[command(
    next_help_heading = "Replication",
    group = ArgGroup::new("others").args(["replica_of", "witness"]).multiple(true)
)]
pub struct PairOptions {
    /// Follow the lock server at HOST or HOST:PORT: have every lock before a client is told of it
    ///
    /// `plumb lock promote` lets this server take its place. Both need the same --table-size, and
    /// the same password where there is one.
    #[arg(long, value_name = "HOST:PORT")]
    pub replica_of: Option<String>,

    /// Ask this witness (plumb lock witness) who gives locks out; repeatable, an odd number
    ///
    /// Name the same witnesses at both servers. While the primary is silent, its replica takes over
    /// by itself when more than half of them agree.
    #[arg(long, value_name = "HOST:PORT")]
    pub witness: Vec<String>,

    /// Log in at the primary and at witnesses as this user, where they have a file of users
    ///
    /// It needs +@admin there.
    #[arg(long, value_name = "NAME", requires = "others")]
    pub replica_user: Option<String>,

    /// The password for that, in the first line of this file [default: that of clients]
    #[arg(long, value_name = "FILE", requires = "others")]
    pub replica_password_file: Option<PathBuf>,

    /// What this server does while it has no replica that has everything
    #[arg(long, value_enum, value_name = "POLICY", default_value = "continue")]
    pub without_replica: WithoutReplica,

    /// The other server is away when it has been silent for this long
    #[arg(long, value_name = "TIME", default_value = "2s")]
    pub replica_timeout: Span,

    /// With --tls: believe the authorities in this file (PEM) when the primary or a witness shows
    /// its certificate [default: those this machine trusts]
    #[arg(long, value_name = "FILE", requires = "others")]
    pub replica_ca: Option<PathBuf>,
}

impl PairOptions {
    /// What the server is told.
    pub(crate) fn plan(
        &self,
        clients: Option<&[u8]>,
        identity: u64,
    ) -> Result<ReplicationPlan, ServerError> {
        const TIMEOUT_NS_MIN: u64 = 100_000_000;
        if self.replica_timeout.ns() < TIMEOUT_NS_MIN {
            let text = format!("--replica-timeout {}: give 100ms or more", self.replica_timeout);
            return Err(plumb_engine::EngineError::Plan(text).into());
        }
        let count = self.witness.len();
        if count > 0 && count.is_multiple_of(2) {
            let text = format!(
                "--witness was named {count} times: name an odd number of them, so that more than \
                 half of them can agree"
            );
            return Err(plumb_engine::EngineError::Plan(text).into());
        }
        let resolve =
            |host: &String, port| Endpoint::resolve(&Address::parse(host, port)?, Family::Any);
        let primary = self.replica_of.as_ref().map(|host| resolve(host, PORT)).transpose()?;
        let witnesses = self.witness.iter().map(|host| resolve(host, PORT_OF_WITNESSES));
        Ok(ReplicationPlan {
            primary: primary.unwrap_or_default(),
            without: match self.without_replica {
                WithoutReplica::Continue => Without::Continue,
                WithoutReplica::Stop => Without::Stop,
            },
            timeout_ns: self.replica_timeout.ns(),
            backlog_bytes: BACKLOG_BYTES,
            id: drawn_id()?,
            login: self.login(clients)?,
            witnesses: witnesses.collect::<Result<_, _>>()?,
            identity,
        })
    }

    /// How the server makes itself known to its primary: with the password of its own `clients`
    /// unless another is named.
    fn login(&self, clients: Option<&[u8]>) -> Result<Option<Login>, ServerError> {
        let user = self.replica_user.as_deref();
        match (&self.replica_password_file, clients) {
            (None, Some(password)) => {
                let user = user.map(str::to_owned);
                Ok(Some(Login { user, password: password.to_vec() }))
            }
            (file, _) => Login::read(user, file.as_deref(), Login::VARIABLE),
        }
    }

    /// Makes links to the primary and to witnesses, each by its addresses, where clients speak TLS,
    /// too.
    pub(crate) fn connectors(
        &self,
        server: &ServerTlsOptions,
        plan: &ReplicationPlan,
    ) -> Result<Vec<(Vec<Endpoint>, TlsConnector)>, ServerError> {
        if !server.tls {
            return Ok(Vec::new());
        }
        let trust = TrustOptions {
            ca: self.replica_ca.clone(),
            cert: server.cert.clone(),
            key: server.key.clone(),
            ..TrustOptions::default()
        };
        let options = TlsOptions { tls: true, trust };
        let primary = self.replica_of.iter().zip([&plan.primary]);
        let hosts = primary.chain(self.witness.iter().zip(&plan.witnesses));
        let mut connectors = Vec::new();
        for (host, endpoints) in hosts {
            connectors.extend(options.connector(host, &[])?.map(|it| (endpoints.clone(), it)));
        }
        Ok(connectors)
    }
}

/// A number that no other server and no other start has.
pub(crate) fn drawn_id() -> Result<u64, ServerError> {
    let mut bytes = [0; 8];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .map_err(|error| ServerError::NoId(error.into()))?;
    Ok(u64::from_le_bytes(bytes).max(1))
}
