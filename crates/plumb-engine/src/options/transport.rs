//! How a target is reached, as words of the command line.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use serde_json::{Map, Value, json};

use crate::{Address, Endpoint, EngineError, Family};

/// How the target is reached.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Transport")]
pub struct TransportOptions {
    /// `tcp`, `smc` for shared memory communications, or `unix:PATH` for a socket file of this machine;
    /// net ping and net stream also `udp`
    ///
    /// What each connection really used is read back from the kernel. A run over SMC of which a
    /// connection fell back to TCP is not valid.
    #[arg(long, value_name = "KIND", default_value = "tcp")]
    pub transport: TransportKind,

    /// Use IPv4 only
    #[arg(short = '4', long = "ipv4", conflicts_with = "v6")]
    pub v4: bool,

    /// Use IPv6 only
    #[arg(short = '6', long = "ipv6", id = "v6")]
    pub v6: bool,
}

impl TransportOptions {
    /// Everything that `target` may stand for under these options, in the resolver's order.
    ///
    /// # Errors
    /// [`EngineError::Address`] or [`EngineError::Resolve`].
    pub fn endpoints(&self, target: &str, port: u16) -> Result<Vec<Endpoint>, EngineError> {
        match &self.transport {
            TransportKind::Unix(path) => Ok(vec![Endpoint::Unix(path.clone())]),
            TransportKind::Tcp => Endpoint::resolve(&Address::parse(target, port)?, self.family()),
            TransportKind::Udp => {
                let problem = "--transport udp: only `plumb net ping` and `plumb net stream` send \
                               datagrams; take tcp here";
                Err(EngineError::Plan(problem.into()))
            }
            TransportKind::Smc => {
                let Some(address) = Address::parse(target, port)?.over_smc() else {
                    let problem = format!("--transport smc: {target} is a socket file, or of UDP");
                    return Err(EngineError::Plan(problem));
                };
                Endpoint::resolve(&address, self.family())
            }
        }
    }

    /// Everything that `target` may stand for when it is sent datagrams; `None` unless these options
    /// or the address itself ask for UDP.
    ///
    /// # Errors
    /// [`EngineError::Address`], [`EngineError::Resolve`], or [`EngineError::Plan`] when they ask for
    /// something else, too.
    pub fn datagrams(&self, target: &str, port: u16) -> Result<Option<Vec<Endpoint>>, EngineError> {
        let address = Address::parse(target, port)?;
        let asked = self.transport == TransportKind::Udp;
        let named = matches!(address, Address::Udp { .. });
        if !asked && (!named || self.transport != TransportKind::Tcp) {
            return Ok(None);
        }
        let Some(address) = address.over_udp() else {
            let problem = format!("--transport udp: {target} is not reached over UDP");
            return Err(EngineError::Plan(problem));
        };
        Endpoint::resolve_any(&address, self.family()).map(Some)
    }

    /// What carries the bytes to `target`, whose address may say so itself.
    #[must_use]
    pub fn kind(&self, target: &str) -> TransportKind {
        match (&self.transport, Address::parse(target, 0)) {
            (TransportKind::Tcp, Ok(Address::Udp { .. })) => TransportKind::Udp,
            (TransportKind::Tcp, Ok(Address::Smc { .. })) => TransportKind::Smc,
            (TransportKind::Tcp, Ok(Address::Unix(path))) => TransportKind::Unix(path),
            (asked, _) => asked.clone(),
        }
    }

    /// The target as these options mean it: a socket file, or `host`.
    #[must_use]
    pub fn target(&self, host: &str) -> String {
        match &self.transport {
            TransportKind::Tcp => host.into(),
            TransportKind::Smc if host.starts_with("smc:") => host.into(),
            TransportKind::Smc => format!("smc:{host}"),
            TransportKind::Udp if host.starts_with("udp:") => host.into(),
            TransportKind::Udp => format!("udp:{host}"),
            TransportKind::Unix(path) => format!("unix:{}", path.display()),
        }
    }

    /// Every option with the value in force, for the run record.
    #[must_use]
    pub fn in_force(&self) -> Map<String, Value> {
        let transport = match &self.transport {
            TransportKind::Tcp => "tcp".into(),
            TransportKind::Smc => "smc".into(),
            TransportKind::Udp => "udp".into(),
            TransportKind::Unix(path) => format!("unix:{}", path.display()),
        };
        let mut options = Map::new();
        options.insert("transport".into(), json!(transport));
        options.insert("ipv4".into(), json!(self.v4));
        options.insert("ipv6".into(), json!(self.v6));
        options
    }

    /// The version of IP that may be used.
    #[must_use]
    pub fn family(&self) -> Family {
        match (self.v4, self.v6) {
            (true, _) => Family::V4,
            (_, true) => Family::V6,
            _ => Family::Any,
        }
    }
}

/// What carries the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransportKind {
    /// TCP over IPv4 or IPv6.
    Tcp,
    /// SMC over IPv4 or IPv6.
    Smc,
    /// Datagrams over UDP and IPv4 or IPv6.
    Udp,
    /// A unix socket.
    Unix(PathBuf),
}

impl FromStr for TransportKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.strip_prefix("unix:") {
            Some(path) if !path.is_empty() => Ok(Self::Unix(path.into())),
            _ if text == "tcp" => Ok(Self::Tcp),
            _ if text == "smc" => Ok(Self::Smc),
            _ if text == "udp" => Ok(Self::Udp),
            _ => Err("expected tcp, udp, smc or unix:PATH".into()),
        }
    }
}
