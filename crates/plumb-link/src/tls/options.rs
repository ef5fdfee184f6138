//! The options of TLS, the same in every layer.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Map, Value, json};

use super::{TlsAcceptor, TlsConnector, TlsError};
use plumb_socket::{Address, Error};

/// Whether a client speaks TLS, and with whom.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "TLS")]
pub struct TlsOptions {
    /// Encrypt the connections
    #[arg(long)]
    pub tls: bool,

    /// Who is believed, and who we say we are.
    #[command(flatten)]
    pub trust: TrustOptions,
}

/// Who a client believes, and who it says it is.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "TLS")]
pub struct TrustOptions {
    /// Believe the authorities in this file (PEM), and no others [default: those this machine
    /// trusts]
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,

    /// Show the server this certificate (PEM), followed by those that lead to its authority
    #[arg(long, value_name = "FILE")]
    pub cert: Option<PathBuf>,

    /// The private key of --cert (PEM); one that everybody may read is refused
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,

    /// The name that the server's certificate must be for [default: the host]
    #[arg(long, value_name = "NAME")]
    pub server_name: Option<String>,

    /// Let connections resume the session of an earlier one
    ///
    /// Without it every handshake is a full one, so that its time does not depend on what was
    /// measured before.
    #[arg(long)]
    pub tls_resume: bool,
}

impl TlsOptions {
    /// Makes links to `target`, HOST or HOST:PORT; `None` without `--tls`. See
    /// [`TlsConnector::new`].
    ///
    /// # Errors
    /// [`Error::Tls`], or [`Error::Address`] for a target that is none.
    pub fn connector(&self, target: &str, alpn: &[&[u8]]) -> Result<Option<TlsConnector>, Error> {
        if !self.tls {
            self.trust.unused()?;
            return Ok(None);
        }
        let host = match Address::parse(target, 0)? {
            Address::Host { host, .. } | Address::Smc { host, .. } | Address::Udp { host, .. } => {
                host
            }
            Address::Unix(path) => path.display().to_string(),
        };
        Ok(Some(TlsConnector::new(&self.trust, &host, alpn)?))
    }

    /// Every option with the value in force, for the run record; empty without `--tls`.
    #[must_use]
    pub fn in_force(&self) -> Map<String, Value> {
        if !self.tls {
            return Map::new();
        }
        let mut options = self.trust.in_force();
        options.insert("tls".into(), json!(true));
        options
    }
}

impl TrustOptions {
    /// Every option with the value in force, for the run record. Without `ca` the authorities are
    /// those this machine trusts.
    #[must_use]
    pub fn in_force(&self) -> Map<String, Value> {
        let mut options = Map::new();
        for (name, file) in [("ca", &self.ca), ("cert", &self.cert), ("key", &self.key)] {
            if let Some(file) = file {
                options.insert(name.into(), json!(file));
            }
        }
        if let Some(name) = &self.server_name {
            options.insert("server-name".into(), json!(name));
        }
        options.insert("tls-resume".into(), json!(self.tls_resume));
        options
    }

    /// Refuses options that have no effect on connections without TLS.
    ///
    /// # Errors
    /// [`TlsError::Switch`] names the first of them.
    pub fn unused(&self) -> Result<(), TlsError> {
        let given = [
            (self.ca.is_some(), "--ca"),
            (self.cert.is_some(), "--cert"),
            (self.key.is_some(), "--key"),
            (self.server_name.is_some(), "--server-name"),
            (self.tls_resume, "--tls-resume"),
        ];
        refuse(&given)
    }
}

/// Whether a server speaks TLS, as whom, and with whom.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "TLS")]
pub struct ServerTlsOptions {
    /// Speak TLS with every client; needs --cert and --key
    #[arg(long)]
    pub tls: bool,

    /// The certificate of this server (PEM), followed by those that lead to its authority
    #[arg(long, value_name = "FILE")]
    pub cert: Option<PathBuf>,

    /// The private key of --cert (PEM); one that everybody may read is refused
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,

    /// Serve only clients whose certificate an authority in this file (PEM) has signed
    #[arg(long, value_name = "FILE")]
    pub client_ca: Option<PathBuf>,
}

impl ServerTlsOptions {
    /// Makes links to clients; `None` without `--tls`. See [`TlsAcceptor::new`].
    ///
    /// # Errors
    /// [`Error::Tls`].
    pub fn acceptor(&self, alpn: &[&[u8]]) -> Result<Option<TlsAcceptor>, Error> {
        if !self.tls {
            refuse(&[
                (self.cert.is_some(), "--cert"),
                (self.key.is_some(), "--key"),
                (self.client_ca.is_some(), "--client-ca"),
            ])?;
            return Ok(None);
        }
        Ok(Some(TlsAcceptor::new(self, alpn)?))
    }
}

fn refuse(given: &[(bool, &'static str)]) -> Result<(), TlsError> {
    match given.iter().find(|(given, _)| *given) {
        Some((_, option)) => Err(TlsError::Switch { option }),
        None => Ok(()),
    }
}
