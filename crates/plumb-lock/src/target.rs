//! Where a lock server is, and how it is talked to.

use std::path::PathBuf;

use clap::Args;
use plumb_engine::options::TransportOptions;
use plumb_engine::tls::{TlsConnector, TlsOptions};
use plumb_engine::{Endpoint, LoadPlan, LoadResult, Plain, Protocol, Stage, Stop, load, reachable};
use plumb_measure::Span;
use serde_json::{Map, Value};

use crate::password::{self, Login};
use crate::said::Said;
use crate::{LockError, PORT};

/// The port of PostgreSQL when none is named.
const PORT_OF_POSTGRES: u16 = 5432;

/// The server that a client talks to.
#[derive(Args, Clone, Debug)]
pub struct TargetOptions {
    /// The lock server: HOST, HOST:PORT, smc:HOST:PORT or unix:PATH (port 3200 unless named); of
    /// two servers both, with a comma between them
    #[arg(value_name = "HOST")]
    pub host: String,

    /// Log in as this user, where the server has a file of users
    #[arg(long, value_name = "NAME")]
    pub login: Option<String>,

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
        let mut hosts = vec![self.host.as_str()];
        if !self.host.starts_with("unix:") {
            hosts = self.host.split(',').collect();
        }
        let of = |host: &&str| self.transport.endpoints(host, PORT);
        Ok(Target {
            name: self.transport.target(&self.host),
            servers: hosts.iter().map(of).collect::<Result<_, _>>()?,
            login: Login::read(
                self.login.as_deref(),
                self.password_file.as_deref(),
                password::VARIABLE,
            )?,
            tls: self.tls.connector(hosts.first().unwrap_or(&""), &[])?,
        })
    }

    /// The same for a server of PostgreSQL. Its password belongs to a login.
    pub(crate) fn resolve_postgres(&self) -> Result<Target, LockError> {
        let variable = password::VARIABLE_OF_POSTGRES;
        let login = Login::read(None, self.password_file.as_deref(), variable)?;
        if self.tls.connector(&self.host, &[])?.is_some() {
            return Err(LockError::NoTls);
        }
        Ok(Target {
            name: self.transport.target(&self.host),
            servers: vec![self.transport.endpoints(&self.host, PORT_OF_POSTGRES)?],
            login,
            tls: None,
        })
    }
}

/// A server that is known by its addresses.
#[derive(Debug)]
pub(crate) struct Target {
    /// As the user named it.
    pub(crate) name: String,
    /// The addresses of each of the servers of which one gives locks out.
    servers: Vec<Vec<Endpoint>>,
    pub(crate) login: Option<Login>,
    tls: Option<TlsConnector>,
}

impl Target {
    /// The first of its addresses that answers; of several servers that which gives locks out.
    pub(crate) fn reach(&self, patience: Span, stop: &Stop) -> Result<Endpoint, LockError> {
        if let [only] = &*self.servers {
            return Ok(reachable(only, patience, stop)?);
        }
        let mut why = Vec::new();
        for server in &self.servers {
            let reached = reachable(server, patience, stop).map_err(LockError::from);
            let asked = reached.and_then(|at| Ok((self.role_of(&at, patience, stop)?, at)));
            match asked {
                Ok((role, endpoint)) if role == b"master" => return Ok(endpoint),
                Ok((_, endpoint)) => why.push(format!("{endpoint} gives no locks out")),
                Err(error) => why.push(error.to_string()),
            }
        }
        Err(LockError::NoAnswer {
            address: self.name.clone(),
            how: format!("is not there: {}", why.join("; ")),
        })
    }

    fn role_of(
        &self,
        endpoint: &Endpoint,
        patience: Span,
        stop: &Stop,
    ) -> Result<Vec<u8>, LockError> {
        let said = self.ask_at(endpoint, &[&[b"ROLE"]], patience, stop)?.pop();
        match said {
            Some(Said::Many(words)) => {
                Ok(words.first().map(|it| it.bytes().to_vec()).unwrap_or_default())
            }
            _ => Ok(Vec::new()),
        }
    }

    /// True when there is more than one server.
    pub(crate) fn is_pair(&self) -> bool {
        self.servers.len() > 1
    }

    /// The other servers, for when that at `endpoint` is gone.
    pub(crate) fn standbys(&self, endpoint: &Endpoint) -> Vec<Endpoint> {
        if !self.is_pair() {
            return Vec::new(); // other addresses of the same server
        }
        let all = self.servers.iter().filter_map(|server| server.first());
        all.filter(|other| *other != endpoint).cloned().collect()
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
