//! The options of the command line.

use std::path::PathBuf;

use clap::Args;
use plumb_engine::Cidr;
use plumb_measure::ByteSize;
use plumb_serve::TlsFiles;
use plumb_serve::nodes::NodeNumber;

use crate::FlowError;
use crate::config::Config;

/// Where to serve, and what.
#[derive(Args, Clone, Debug)]
pub struct ServeOptions {
    /// The folder of the transactions; changed files come into force by themselves
    #[arg(value_name = "FOLDER")]
    pub transactions: PathBuf,

    /// The settings, a TOML file; options go before what stands in it
    #[arg(long, value_name = "FILE")]
    pub settings: Option<PathBuf>,

    /// Where to listen: HOST:PORT, smc:HOST:PORT or unix:PATH, repeatable; port 0 picks a free one
    /// [default: 127.0.0.1:50000]
    ///
    /// The default is loopback: name an address of this machine, or 0.0.0.0, to be reached from
    /// elsewhere; the settings must then name users or tokens.
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Vec<String>,

    /// Addresses that may connect, for example 10.1.0.0/16; repeatable [default: all]
    #[arg(long, value_name = "CIDR")]
    pub allow: Vec<Cidr>,

    /// The folder of the queue [default: plumb-flow-queue]
    #[arg(long, value_name = "FOLDER")]
    pub queue: Option<PathBuf>,

    /// Threads for synchronous calls [default: 16]
    #[arg(long, value_name = "N")]
    pub executions: Option<usize>,

    /// Threads for messages of the queue [default: 4]
    #[arg(long, value_name = "N")]
    pub workers: Option<usize>,

    /// Encrypt with this certificate, a PEM file
    #[arg(long, value_name = "FILE", requires = "key")]
    pub cert: Option<PathBuf>,

    /// The key of the certificate, a PEM file
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub key: Option<PathBuf>,

    /// Processes that serve together, each with a queue of its own [default: this one alone]
    ///
    /// One that ends is replaced, and what waits in its queue is done.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=63))]
    pub nodes: Option<u16>,

    /// Memory of each node, swap included, for example 512MiB; the kernel bounds it (cgroups)
    #[arg(long, value_name = "SIZE", requires = "nodes")]
    pub memory: Option<ByteSize>,

    /// Which node this process is
    #[arg(long, value_name = "I/N", hide = true)]
    pub node: Option<NodeNumber>,

    /// Do not log what happens
    #[arg(long)]
    pub quiet: bool,
}

impl ServeOptions {
    /// The settings that these options describe.
    pub(super) fn config(&self) -> Result<Config, FlowError> {
        let mut config = match &self.settings {
            Some(path) => Config::read(path)?,
            None => Config::default(),
        };
        if !self.listen.is_empty() {
            config.listen.clone_from(&self.listen);
        }
        if config.listen.is_empty() {
            config.listen = vec![format!("127.0.0.1:{}", super::PORT)];
        }
        if !self.allow.is_empty() {
            config.allow.clone_from(&self.allow);
        }
        if let Some(folder) = &self.queue {
            config.queue.folder.clone_from(folder);
        }
        config.executions.threads = self.executions.unwrap_or(config.executions.threads);
        config.workers.threads = self.workers.unwrap_or(config.workers.threads);
        if let (Some(cert), Some(key)) = (&self.cert, &self.key) {
            config.tls = Some(TlsFiles { cert: cert.clone(), key: key.clone() });
        }
        config.check()?;
        Ok(config)
    }
}
