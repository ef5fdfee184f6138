//! The NATS server in which remotes wait, and who is known there.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use plumb_remote::{NATS_VARIABLES, NatsTarget};

/// The variables of the options below, for controllers.
const URL: &str = NATS_VARIABLES[0];
const CREDENTIALS: &str = NATS_VARIABLES[1];
const NKEY: &str = NATS_VARIABLES[2];
const CA: &str = NATS_VARIABLES[3];

#[derive(Args, Clone, Debug)]
pub(super) struct NatsOptions {
    /// Wait for controllers in this NATS server: nats://HOST:PORT, or tls://HOST:PORT
    #[arg(long, value_name = "URL", env = URL, conflicts_with = "pipe")]
    nats: Option<String>,

    /// Log on with this file of credentials
    #[arg(long, value_name = "FILE", env = CREDENTIALS)]
    nats_credentials: Option<PathBuf>,

    /// Log on with the seed of an NKey in this file
    #[arg(long, value_name = "FILE", env = NKEY, conflicts_with = "nats_credentials")]
    nats_nkey: Option<PathBuf>,

    /// Believe the authorities in this file (PEM), and no others, when the server is tls://
    #[arg(long, value_name = "FILE", env = CA)]
    nats_ca: Option<PathBuf>,
}

impl NatsOptions {
    pub(super) fn target(&self) -> anyhow::Result<NatsTarget> {
        let Some(url) = self.nats.clone() else {
            bail!("say with --nats where controllers are waited for, or set {URL}");
        };
        let target = NatsTarget {
            url,
            credentials: self.nats_credentials.clone(),
            nkey: self.nats_nkey.clone(),
            ca: self.nats_ca.clone(),
        };
        Ok(target.checked()?)
    }
}

/// The server that a controller looks for remotes in: `url`, or that of the environment.
pub(super) fn of_controller(url: Option<&str>) -> anyhow::Result<NatsTarget> {
    let of = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let url = url.map(str::to_owned).or_else(|| of(URL)?.into_string().ok());
    let Some(url) = url else {
        bail!(
            "no NATS server is named in which remotes wait: write --remotes nats://HOST:PORT/all, \
             set {URL}, or use --remotes local:N for processes on this machine"
        );
    };
    let file = |name: &str| of(name).map(PathBuf::from);
    let target = NatsTarget { url, credentials: file(CREDENTIALS), nkey: file(NKEY), ca: file(CA) };
    Ok(target.checked()?)
}
