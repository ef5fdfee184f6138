//! Where a lock server is, and how it is talked to.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::Args;
use plumb_engine::layer::NamedFile;
use plumb_engine::options::TransportOptions;
use plumb_engine::tls::{TlsConnector, TlsOptions};
use plumb_engine::{
    Either, Endpoint, LoadPlan, LoadResult, Protocol, Stage, Stop, load, reachable,
};
use plumb_lock_server::{Login, PORT};
use plumb_measure::Span;
use serde_json::{Map, Value};

use crate::LockError;
use crate::said::Said;

/// Holds the password of PostgreSQL where no file is named.
const VARIABLE_OF_POSTGRES: &str = "PGPASSWORD";

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
        let of = |host: &&str| -> Result<Server, LockError> {
            let tls = self.tls.connector(host, &[])?;
            Ok(Server { endpoints: self.transport.endpoints(host, PORT)?, tls })
        };
        Ok(Target {
            name: self.transport.target(&self.host),
            servers: hosts.iter().map(of).collect::<Result<_, _>>()?,
            asked_first: AtomicUsize::new(0),
            files: NamedFile::authorities(&self.tls.trust),
            login: Login::read(
                self.login.as_deref(),
                self.password_file.as_deref(),
                Login::VARIABLE,
            )?,
        })
    }

    /// The same for a server of PostgreSQL. Its password belongs to a login.
    pub(crate) fn resolve_postgres(&self) -> Result<Target, LockError> {
        let variable = VARIABLE_OF_POSTGRES;
        let login = Login::read(None, self.password_file.as_deref(), variable)?;
        if self.tls.connector(&self.host, &[])?.is_some() {
            return Err(LockError::NoTls);
        }
        let endpoints = self.transport.endpoints(&self.host, PORT_OF_POSTGRES)?;
        Ok(Target {
            name: self.transport.target(&self.host),
            servers: vec![Server { endpoints, tls: None }],
            asked_first: AtomicUsize::new(0),
            files: Vec::new(),
            login,
        })
    }
}

/// A server that is known by its addresses, or several of which one gives locks out.
#[derive(Debug)]
pub(crate) struct Target {
    /// As the user named it.
    pub(crate) name: String,
    servers: Vec<Server>,
    /// That which gave locks out when it was asked last: one that hangs is waited for once.
    asked_first: AtomicUsize,
    /// Those that its options name; see [`Measure::files`](plumb_engine::layer::Measure::files).
    pub(crate) files: Vec<NamedFile>,
    pub(crate) login: Option<Login>,
}

/// One server.
#[derive(Debug)]
struct Server {
    /// All its addresses.
    endpoints: Vec<Endpoint>,
    /// Its certificate is for its own host.
    tls: Option<TlsConnector>,
}

impl Target {
    /// The first of its addresses that answers; of several servers that which gives locks out.
    pub(crate) fn reach(&self, patience: Span, stop: &Stop) -> Result<Endpoint, LockError> {
        if let [only] = &*self.servers {
            return Ok(reachable(&only.endpoints, patience, stop)?);
        }
        let mut why = Vec::new();
        let first = self.asked_first.load(Ordering::Relaxed);
        let (before, from) = self.servers.split_at(first.min(self.servers.len()));
        for (at, server) in (first..).zip(from).chain((0..).zip(before)) {
            let reached = reachable(&server.endpoints, patience, stop).map_err(LockError::from);
            let asked = reached.and_then(|at| Ok((self.role_of(&at, patience, stop)?, at)));
            match asked {
                Ok((role, endpoint)) if role == b"master" => {
                    self.asked_first.store(at, Ordering::Relaxed);
                    return Ok(endpoint);
                }
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

    /// All addresses of the other servers, for when that at `endpoint` is gone.
    pub(crate) fn standbys(&self, endpoint: &Endpoint) -> Vec<Endpoint> {
        let all = self.servers.iter().map(|server| &server.endpoints);
        all.filter(|server| !server.contains(endpoint)).flatten().cloned().collect()
    }

    /// Drives `plan` over the link that was asked for.
    pub(crate) fn drive<P: Protocol + Send>(
        &self,
        plan: &LoadPlan,
        stage: &mut Stage<'_>,
        rows: usize,
        protocol: impl Fn() -> P,
    ) -> Result<LoadResult<P>, LockError> {
        let first = self.servers.iter().find_map(|it| it.tls.as_ref());
        let link = |endpoint: &Endpoint| {
            let server = self.servers.iter().find(|it| it.endpoints.contains(endpoint));
            Either::of(server.and_then(|it| it.tls.as_ref()).or(first))
        };
        Ok(load::run_to(plan, stage, rows, protocol, link)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_of_the_other_servers_stands_in_and_none_of_its_own() {
        let at = |text: &str| Endpoint::Tcp(text.parse().unwrap());
        let server =
            |of: &[&str]| Server { endpoints: of.iter().map(|it| at(it)).collect(), tls: None };
        let (one, two) = (["[::1]:1", "127.0.0.1:1"], ["[::1]:2", "127.0.0.1:2"]);
        let target = |servers| Target {
            name: "db1,db2".into(),
            servers,
            asked_first: AtomicUsize::new(0),
            files: Vec::new(),
            login: None,
        };
        let pair = target(vec![server(&one), server(&two)]);
        for of_one in one {
            assert_eq!(pair.standbys(&at(of_one)), two.map(at));
        }
        assert_eq!(pair.standbys(&at(two[1])), one.map(at));
        assert_eq!(target(vec![server(&one)]).standbys(&at(one[1])), []);
    }
}
