//! Which folder, where to listen, and what protects it.

use std::path::PathBuf;

use clap::{Args, Command};

/// The port on which the app listens unless told otherwise: one that is free.
pub(crate) const PORT: u16 = 0;
/// The environment variable with the password.
pub(crate) const PASSWORD: &str = "PLUMB_UI_PASSWORD";

/// Which folder is shown, and to whom.
#[derive(Args, Clone, Debug)]
pub struct UiOptions {
    /// The folder of runs [default: plumb-runs, which is made if it is not there]
    #[arg(value_name = "FOLDER")]
    pub folder: Option<PathBuf>,

    /// Where to listen: HOST:PORT, repeatable; port 0 picks a free one
    ///
    /// The default is loopback. An address that others reach needs --cert, --key and a password.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub listen: Vec<String>,

    /// A name or address under which browsers ask, beside those it listens on; repeatable
    ///
    /// Requests for any other host are refused.
    #[arg(long, value_name = "HOST")]
    pub name: Vec<String>,

    /// PEM file of the certificate, followed by those that vouch for it
    #[arg(long, value_name = "FILE")]
    pub cert: Option<PathBuf>,

    /// PEM file of its key
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,

    /// A file whose first line is the password, in place of the environment's PLUMB_UI_PASSWORD
    #[arg(long, value_name = "FILE")]
    pub password_file: Option<PathBuf>,

    /// A folder of experiment and landscape files that may be started from the page [default: none]
    #[arg(long, value_name = "DIR")]
    pub experiments: Option<PathBuf>,

    /// Start and change nothing from the page, baselines neither: look only
    #[arg(long, conflicts_with = "experiments")]
    pub read_only: bool,

    /// Do not log what happens
    #[arg(long)]
    pub quiet: bool,
}

/// The command line of `plumb ui`.
#[must_use]
pub fn command() -> Command {
    UiOptions::augment_args(Command::new("ui"))
        .about("Look at runs over time in a browser: list, compare, trends, what is under way")
        .long_about(
            "Serves pages over the folders of runs, on this machine: a list to search and filter, each \
             run's report, two runs beside each other, the trend of every figure with its change \
             points, baselines with names, runs under way, and checkups and experiments started from \
             the page.\n\nIt prints an address with a secret behind the `#`; whoever has it may look, \
             and start measurements. An index of the folders is kept in FOLDER/.plumb-ui.sqlite; it \
             is made again when it is removed.",
        )
        .after_help(
            "Examples:\n  \
             plumb ui\n  \
             plumb ui /srv/runs --experiments examples\n  \
             PLUMB_UI_PASSWORD=... plumb ui --listen 10.1.2.3:8443 --cert c.pem --key k.pem\n\n\
             Exit codes: 0 it was stopped; 2 it did not run.",
        )
}
