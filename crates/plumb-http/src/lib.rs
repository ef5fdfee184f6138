//! The HTTP layer: how long a page takes to its first and to its last byte.
//!
//! [`Probe`] is an HTTP/1.1 client as a [`plumb_engine::Protocol`]: requests are encoded once and
//! copied, answers are measured and counted without being kept. Before it measures, [`Ping`]
//! resolves each URL (`resolve.rs`): redirects are followed and a challenge is answered once, so
//! that what happens to a user once is not measured continuously. [`Http`] is the layer as the
//! program sees it.

mod credentials;
mod error;
mod expected;
mod grinder;
pub mod har;
mod import;
mod jmx;
pub mod jtl;
mod names;
mod options;
mod pair;
mod ping;
mod probe;
mod prompt;
mod proxy;
pub mod record;
mod request;
mod resolve;
pub mod scenario;
mod secret;
mod tunnel;
mod way;

use clap::{ArgMatches, Args as _, Command, FromArgMatches as _};
use plumb_engine::layer::{Job, JobError, Layer};

pub use error::HttpError;
pub use expected::{Expected, NoStatus};
pub use import::{Format, Import, ImportOptions};
pub use options::{ExportOptions, LengthRule, PingOptions};
pub use ping::Ping;
pub use probe::{Limits, Probe};
use record::{Record, RecordOptions};
pub use request::Request;
pub use scenario::{DryRun, ScenarioLoad, ScenarioOptions};

/// The HTTP layer.
#[derive(Clone, Copy, Debug)]
pub struct Http;

impl Layer for Http {
    fn command(&self) -> Command {
        // the words for people come last: the options bring words of their own
        let ping = PingOptions::augment_args(Command::new("ping"))
            .about("Measure how long pages take to their first and to their last byte")
            .long_about(
                "Measures how long pages take to their first and to their last byte.\n\nFirst each \
                 URL is resolved: redirects are followed, a Basic challenge is answered once, and \
                 what was found is measured. Several URLs are asked for in turn.",
            );
        let load = ScenarioOptions::augment_args(Command::new("load"))
            .about("Play a scenario: virtual users with steps, think times and data of their own")
            .long_about(
                "Plays a scenario: virtual users who follow scripts of requests, with think times, \
                 extracted values, loops, data files, checks and thresholds.\n\nThe scenario is a \
                 TOML file; docs/http-scenarios.md says what stands in it. All its scenarios run at \
                 the same time. A threshold that is missed ends the command with exit code 1.",
            );
        let import = ImportOptions::augment_args(Command::new("import"))
            .about("Make a scenario of a HAR, a JMeter plan or a grinder.properties")
            .long_about(
                "Makes a scenario of a HAR, of a test plan of JMeter, or of the properties of The \
                 Grinder, for plumb http load.\n\nPasswords and tokens are left out and become \
                 variables. What is not carried over is named with its place, on standard error \
                 and at the beginning of the scenario.",
            );
        let record = RecordOptions::augment_args(Command::new("record"))
            .about("Record what a browser asks for, as a proxy, into a HAR file")
            .long_about(
                "Records what a browser, or any client that is given it as its proxy, asks for, into \
                 a HAR file.\n\nPlain requests are forwarded and recorded. Connections of HTTPS pass \
                 through unopened, unless --intercept names their host: then an authority of this \
                 user signs for it, which the client must be told to trust. Secrets are masked in \
                 the file.",
            );
        Command::new("http")
            .about("HTTP: the time to the first and to the last byte of pages; recording")
            .subcommand_required(true)
            .arg_required_else_help(true)
            .subcommand(ping)
            .subcommand(load)
            .subcommand(import)
            .subcommand(record)
    }

    fn job(&self, matches: &ArgMatches) -> Result<Job, JobError> {
        match matches.subcommand() {
            Some(("ping", words)) => {
                Ok(Job::Measure(Box::new(Ping::new(PingOptions::from_arg_matches(words)?)?)))
            }
            Some(("load", words)) => {
                let options = ScenarioOptions::from_arg_matches(words)?;
                let dry_run = options.dry_run;
                let load = ScenarioLoad::new(options)?;
                Ok(match dry_run {
                    true => Job::Serve(Box::new(DryRun::new(load))),
                    false => Job::Measure(Box::new(load)),
                })
            }
            Some(("import", words)) => {
                Ok(Job::Serve(Box::new(Import::new(ImportOptions::from_arg_matches(words)?))))
            }
            Some(("record", words)) => {
                Ok(Job::Serve(Box::new(Record::new(RecordOptions::from_arg_matches(words)?)?)))
            }
            _ => Err(HttpError::NoVerb.into()),
        }
    }

    fn says_length(&self, matches: &ArgMatches) -> Result<bool, JobError> {
        match matches.subcommand() {
            Some(("load", words)) => {
                let options = ScenarioOptions::from_arg_matches(words)?;
                Ok(scenario::Book::read(&options.scenario)?.file().says_length())
            }
            _ => Ok(false),
        }
    }
}
