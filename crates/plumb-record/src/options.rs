//! Where the proxy listens, what it opens, and what it writes down.

use std::path::PathBuf;

use clap::Args;
use plumb_engine::Cidr;
use plumb_measure::{ByteSize, Span};

use super::Intercept;

/// What is recorded, and how.
#[derive(Args, Clone, Debug)]
pub struct RecordOptions {
    /// The recording, a new file of HAR 1.2; complete after every request, readable by its owner
    #[arg(long, value_name = "FILE", required_unless_present = "make_ca")]
    pub out: Option<PathBuf>,

    /// Where to listen: HOST:PORT, repeatable; port 0 picks a free one
    ///
    /// The default is loopback. Whoever reaches another address reaches everything through this
    /// machine, so that --allow must then name who may.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8888")]
    pub listen: Vec<String>,

    /// Addresses that may connect, for example 10.1.0.0/16; repeatable [default: all]
    #[arg(long, value_name = "CIDR")]
    pub allow: Vec<Cidr>,

    /// Length of the recording [default: until it is stopped with Ctrl-C]
    ///
    /// Stopped before that, the recording is complete as far as it goes, and the exit code is 130.
    #[arg(long = "for", value_name = "TIME")]
    pub for_time: Option<Span>,

    /// Write passwords, cookies and tokens as they are, instead of MASKED
    #[arg(long)]
    pub keep_secrets: bool,

    /// Keep the text of bodies up to this size; longer ones are only measured
    #[arg(long, value_name = "SIZE", default_value = "1MiB")]
    pub keep_body: ByteSize,

    /// Clients served at once; more are turned away
    #[arg(long, value_name = "N", default_value = "256")]
    pub max_clients: usize,

    /// A connection to a server must stand within this
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub connect_timeout: Span,

    /// An answer must begin within this, and go on within this; an idle connection is closed then
    #[arg(long, value_name = "TIME", default_value = "2m")]
    pub timeout: Span,

    /// Do not log what happens
    #[arg(long)]
    pub quiet: bool,

    /// What happens to connections of HTTPS.
    #[command(flatten)]
    pub https: HttpsOptions,
}

/// Which encrypted connections are opened, with what, and whom the proxy believes.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "HTTPS")]
pub struct HttpsOptions {
    /// Open and record the encrypted connections to these hosts: NAME, *.DOMAIN or *
    ///
    /// The client must trust the authority of --ca-dir. Connections to all other hosts pass through
    /// unopened and are not recorded.
    #[arg(long, value_name = "HOST,...", value_delimiter = ',')]
    pub intercept: Vec<Intercept>,

    /// The folder of the authority that signs for opened hosts; made when it is needed first
    /// [default: $XDG_STATE_HOME/plumb/ca, or ~/.local/state/plumb/ca]
    #[arg(long, value_name = "DIR")]
    pub ca_dir: Option<PathBuf>,

    /// Make the authority if there is none, say how to trust it, and record nothing
    #[arg(long, conflicts_with_all = ["out", "intercept"])]
    pub make_ca: bool,

    /// Believe the authorities in this file (PEM), besides those that this machine trusts
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
}
