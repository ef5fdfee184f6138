//! The HTTP layer: how long a page takes to its first and to its last byte.
//!
//! [`Probe`] is an HTTP/1.1 client as a [`plumb_engine::Protocol`]: requests are encoded once and
//! copied, answers are measured and counted without being kept. Before it measures, [`Ping`]
//! resolves each URL (`resolve.rs`): redirects are followed and a challenge is answered once, so
//! that what happens to a user once is not measured continuously. [`Http`] is the layer as the
//! program sees it.

mod credentials;
mod digest;
mod error;
mod heard;
pub mod jtl;
mod options;
mod pages;
mod pair;
mod ping;
mod probe;
mod prompt;
mod proof;
mod proxy;
mod request;
mod resolve;
mod route;
pub mod scenario;
mod tunnel;
mod version;

use clap::{ArgMatches, Args as _, Command, FromArgMatches as _};
use plumb_engine::layer::{Job, JobError, Layer};

pub use error::HttpError;
pub use options::{AuthenticationScheme, ExportOptions, LengthRule, PingOptions};
pub use ping::Ping;
pub use probe::{Limits, Probe};
pub use request::Request;
pub use scenario::{DryRun, ScenarioLoad, ScenarioOptions};
pub use version::HttpVersion;

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
        Command::new("http")
            .about("HTTP: the time to the first and to the last byte of pages; recording")
            .subcommand_required(true)
            .arg_required_else_help(true)
            .subcommand(ping)
            .subcommand(load)
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
                    true => Job::Verb(Box::new(DryRun::new(load))),
                    false => Job::Measure(Box::new(load)),
                })
            }
            _ => Err(HttpError::NoVerb.into()),
        }
    }

    fn says_length(&self, matches: &ArgMatches) -> Result<bool, JobError> {
        match matches.subcommand() {
            Some(("load", words)) => {
                let options = ScenarioOptions::from_arg_matches(words)?;
                Ok(plumb_scenario::ScenarioSource::read(&options.scenario)?.file().says_length())
            }
            _ => Ok(false),
        }
    }
}
