//! The integration runtime as a server, its load and its verbs.
//!
//! Messages come in by the doors, wait in a queue, and go through a transaction
//! ([`plumb_transaction`]), which reaches data servers and back ends by [`plumb_data`]. [`Flow`] is
//! the layer as the program sees it.

mod answer;
mod config;
mod doors;
mod error;
mod executor;
mod live;
mod load;
mod manager;
#[cfg(test)]
mod memory_queue;
mod route;
mod serve;
mod siblings;
mod transactions;
mod verbs;

use clap::{ArgMatches, Args as _, Command, FromArgMatches as _};
use plumb_engine::layer::{Job, JobError, Layer};

pub use error::FlowError;
pub use load::{MessageLoad, MessageLoadOptions, ModeName, SinkOptions};
pub use serve::{Serve, ServeOptions};
pub use transactions::{Problem, ProblemKind, Transactions};
pub use verbs::{
    AskManager, Check, CheckOptions, ChoiceOptions, DropOptions, ListOptions, RetryOptions,
    ServerOptions, ShowOptions, StateName, TryOptions, TryOut,
};

/// The integration layer.
#[derive(Clone, Copy, Debug)]
pub struct Flow;

impl Layer for Flow {
    fn command(&self) -> Command {
        // the words for people come last: the options bring words of their own
        let check = CheckOptions::augment_args(Command::new("check"))
            .about("Say what is wrong with transactions, before anything runs");
        let try_out = TryOptions::augment_args(Command::new("try"))
            .about("Take one message through a transaction, action by action");
        let serve = ServeOptions::augment_args(Command::new("serve"))
            .about("Serve transactions over HTTP, with a durable queue and its manager");
        Command::new("flow")
            .about("The integration runtime: transactions of messages, documents that become rows")
            .subcommand_required(true)
            .arg_required_else_help(true)
            .subcommand(check)
            .subcommand(try_out)
            .subcommand(serve)
            .subcommand(
                MessageLoadOptions::augment_args(Command::new("load"))
                    .about("Send messages to a server, and see what becomes of them")
                    .long_about(
                        "Sends messages to a runtime, as fast as it answers (closed) or at a rate \
                         (open), and measures the answers.\n\nA message is accepted (202, or \
                         2xx when its transaction answers), turned away (429, 503: neither a \
                         success nor a failure), or failed. With --sink it is counted afterwards \
                         what became of the accepted ones: in the table, dead, or waiting. A run \
                         whose count does not close is not valid.",
                    ),
            )
            .subcommand(
                ListOptions::augment_args(Command::new("list"))
                    .about("List executions of a server: waiting, running, failed, done"),
            )
            .subcommand(
                ShowOptions::augment_args(Command::new("show"))
                    .about("Show an execution of a server: its message, its trace, its error"),
            )
            .subcommand(
                RetryOptions::augment_args(Command::new("retry"))
                    .about("Have failed executions of a server done again"),
            )
            .subcommand(
                DropOptions::augment_args(Command::new("drop"))
                    .about("Have a server forget executions"),
            )
    }

    fn job(&self, matches: &ArgMatches) -> Result<Job, JobError> {
        match matches.subcommand() {
            Some(("check", words)) => {
                Ok(Job::Verb(Box::new(Check::new(CheckOptions::from_arg_matches(words)?))))
            }
            Some(("try", words)) => {
                Ok(Job::Verb(Box::new(TryOut::new(TryOptions::from_arg_matches(words)?)?)))
            }
            Some(("serve", words)) => {
                Ok(Job::Verb(Box::new(Serve::new(&ServeOptions::from_arg_matches(words)?)?)))
            }
            Some(("load", words)) => {
                let options = MessageLoadOptions::from_arg_matches(words)?;
                Ok(Job::Measure(Box::new(MessageLoad::new(options)?)))
            }
            Some(("list", words)) => {
                verb(AskManager::list(&ListOptions::from_arg_matches(words)?)?)
            }
            Some(("show", words)) => {
                verb(AskManager::show(&ShowOptions::from_arg_matches(words)?)?)
            }
            Some(("retry", words)) => {
                verb(AskManager::retry(&RetryOptions::from_arg_matches(words)?)?)
            }
            Some(("drop", words)) => {
                verb(AskManager::drop(&DropOptions::from_arg_matches(words)?)?)
            }
            _ => Err(FlowError::NoVerb.into()),
        }
    }
}

#[expect(clippy::unnecessary_wraps, reason = "as every verb is handed over")]
fn verb(ask: AskManager) -> Result<Job, JobError> {
    Ok(Job::Verb(Box::new(ask)))
}
