//! Agents: changes of tags become messages, which wait on disk until the integration runtime has
//! confirmed them.
//!
//! A [`source`] brings changes; a trigger says which of them count; they gather to messages, go into
//! the [`spool`], and from there to their target. All agents of a process are tasks, and share one
//! spool. [`command`] and [`job`] are what the program sees.

mod agent;
mod bundle;
pub mod change;
mod condition;
mod deliver;
mod error;
mod file;
mod form;
mod run;
pub mod source;
pub mod spool;
mod status;
mod trigger;
mod verbs;

use clap::{ArgMatches, Args as _, Command, FromArgMatches as _};
use plumb_engine::layer::{Job, JobError};

pub use bundle::BundleLimits;
pub use condition::{Condition, Side, Threshold};
pub use deliver::{Keys, RetryPlan, TargetPlan};
pub use error::AgentError;
pub use file::{AgentPlan, parse, read_all};
pub use form::Form;
pub use run::{Run, RunOptions};
pub use trigger::{Fires, Sent, Trigger, Wanted};
pub use verbs::{Ask, AskOptions, ListOptions, ListQueue};

/// The command, with its verbs.
#[must_use]
pub fn command() -> Command {
    // the words for people come last: the options bring words of their own
    let verb = |name: &'static str, about: &'static str| {
        ListOptions::augment_args(Command::new(name)).about(about)
    };
    RunOptions::augment_args(Command::new("agent"))
        .about("Send changes of tags as messages to an integration runtime, from a spool on disk")
        .args_conflicts_with_subcommands(true)
        .subcommand_negates_reqs(true)
        .arg_required_else_help(true)
        .subcommand(verb("list", "List messages of a spool, and where all changes are"))
        .subcommand(
            AskOptions::augment_args(Command::new("send"))
                .about("Send failed or expired messages of a spool again"),
        )
        .subcommand(
            AskOptions::augment_args(Command::new("delete"))
                .about("Delete messages of a spool; they are counted"),
        )
}

/// What the words of the command line ask for.
///
/// # Errors
/// When they contradict each other, or files that they name are not right.
pub fn job(matches: &ArgMatches) -> Result<Job, JobError> {
    match matches.subcommand() {
        Some(("list", words)) => {
            Ok(Job::Verb(Box::new(ListQueue::new(ListOptions::from_arg_matches(words)?))))
        }
        Some(("send", words)) => {
            Ok(Job::Verb(Box::new(Ask::send(AskOptions::from_arg_matches(words)?)?)))
        }
        Some(("delete", words)) => {
            Ok(Job::Verb(Box::new(Ask::delete(AskOptions::from_arg_matches(words)?))))
        }
        _ => Ok(Job::Verb(Box::new(Run::new(RunOptions::from_arg_matches(matches)?)?))),
    }
}
