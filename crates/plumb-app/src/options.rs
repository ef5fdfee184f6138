//! The options of the command line.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Arg, Args, Command};
use plumb_engine::Cidr;
use plumb_serve::TlsFiles;
use plumb_serve::database::holds_password;

use crate::AppError;
use crate::config::Config;

/// Which database, and over how many work processes.
#[derive(Args, Clone, Debug)]
pub struct PoolOptions {
    /// The configuration, a TOML file; options go before what stands in it
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// Dialog work processes, each a thread with a database session [default: 10]
    #[arg(long, value_name = "N")]
    pub work_processes: Option<usize>,

    /// postgres://USER@HOST:PORT/NAME, with its password in PGPASSWORD or the configuration, or the
    /// path of an SQLite file [default: a new SQLite file that is removed at the end]
    #[arg(long, value_name = "URL", value_parser = DatabaseUrl)]
    pub database: Option<String>,
}

/// Reads the URL of a database; one with a password is refused, and not repeated.
#[derive(Clone, Debug)]
struct DatabaseUrl;

impl TypedValueParser for DatabaseUrl {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        _argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        let refused = |text: &str| {
            clap::Error::raw(ErrorKind::ValueValidation, format!("{text}\n")).with_cmd(command)
        };
        let url = value.to_str().ok_or_else(|| refused("--database is no text"))?;
        if holds_password(url) {
            return Err(refused(
                "--database holds a password, which everybody on this machine can read: write it as \
                 `password` into the section [database] of the configuration, or into the \
                 environment as PGPASSWORD",
            ));
        }
        Ok(url.to_owned())
    }
}

impl PoolOptions {
    /// The configuration that these options describe.
    pub(crate) fn config(&self) -> Result<Config, AppError> {
        let mut config = match &self.file {
            Some(path) => Config::read(path)?,
            None => Config::default(),
        };
        if let Some(processes) = self.work_processes {
            config.dispatcher.work_processes = processes;
        }
        if let Some(url) = &self.database {
            config.database.url = Some(url.clone());
        }
        Ok(config)
    }
}

/// Where to serve, and with what.
#[derive(Args, Clone, Debug)]
pub struct ServeOptions {
    /// Database and work processes.
    #[command(flatten)]
    pub pool: PoolOptions,

    /// Where to listen: HOST:PORT, smc:HOST:PORT or unix:PATH, repeatable; port 0 picks a free one
    /// [default: 127.0.0.1:8000]
    ///
    /// The default is loopback: name an address of this machine, or 0.0.0.0, to be reached from
    /// elsewhere; the configuration must then name users.
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Vec<String>,

    /// Addresses that may connect, for example 10.1.0.0/16; repeatable [default: all]
    #[arg(long, value_name = "CIDR")]
    pub allow: Vec<Cidr>,

    /// Encrypt with this certificate, a PEM file
    #[arg(long, value_name = "FILE", requires = "key")]
    pub cert: Option<PathBuf>,

    /// The key of the certificate, a PEM file
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub key: Option<PathBuf>,

    /// Do not log what happens
    #[arg(long)]
    pub quiet: bool,
}

impl ServeOptions {
    /// The configuration that these options describe.
    pub(crate) fn config(&self) -> Result<Config, AppError> {
        let mut config = self.pool.config()?;
        if !self.listen.is_empty() {
            config.listen.clone_from(&self.listen);
        }
        if config.listen.is_empty() {
            config.listen = vec![format!("127.0.0.1:{}", crate::PORT)];
        }
        if !self.allow.is_empty() {
            config.allow.clone_from(&self.allow);
        }
        if let (Some(cert), Some(key)) = (&self.cert, &self.key) {
            config.tls = Some(TlsFiles { cert: cert.clone(), key: key.clone() });
        }
        config.check()?;
        Ok(config)
    }
}

/// What to compile, and how.
#[derive(Args, Clone, Debug)]
pub struct GenerateOptions {
    /// Database and work processes.
    #[command(flatten)]
    pub pool: PoolOptions,

    /// Compile everything so many times
    #[arg(long, value_name = "N", default_value = "1")]
    pub rounds: u32,
}

impl GenerateOptions {
    /// The configuration that these options describe.
    pub(crate) fn config(&self) -> Result<Config, AppError> {
        let config = self.pool.config()?;
        config.check()?;
        Ok(config)
    }
}
