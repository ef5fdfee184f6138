//! The lock layer: a lock server with the semantics of SAP's enqueue server, for clients that
//! speak RESP.
//!
//! [`plumb_lock_server`] is the server with its verbs; what asks one, looks at it and drives it stands here.
//! [`Locks`] is the layer as the program sees it.

mod ask;
mod dialogue;
mod error;
mod foreign;
mod journal_verbs;
mod load;
mod promote;
pub mod room;
mod said;
mod show;
mod status;
mod target;
mod watch;

use clap::{ArgMatches, Args as _, Command, FromArgMatches as _, Subcommand as _};
use plumb_engine::layer::{Job, JobError, Layer};
use plumb_lock_server::{Serve, ServeOptions, Witness, WitnessOptions};

pub use error::LockError;
pub use journal_verbs::{Folder, JournalJob, JournalVerb};
pub use load::{
    FillOptions, Keeper, Live, LiveOptions, LoadJob, LoadVerb, PairsOptions, SalesOptions,
    TargetKind, TimedOptions, Unlock,
};
pub use promote::{Promote, PromoteOptions};
pub use show::{Show, ShowOptions};
pub use status::{Status, StatusOptions};
pub use target::TargetOptions;
pub use watch::{Watch, WatchOptions};

/// The lock layer.
#[derive(Clone, Copy, Debug)]
pub struct Locks;

impl Layer for Locks {
    fn command(&self) -> Command {
        // the words for people come last: the options bring words of their own
        let serve = ServeOptions::augment_args(Command::new("serve"))
            .about("Run a lock server, for clients that speak RESP")
            .after_help(
                "docs/lock.md lists the commands. Prometheus reads http://HOST:PORT/metrics.",
            );
        let load = LoadVerb::augment_subcommands(Command::new("load"))
            .about("Take and release locks, and measure how fast that goes")
            .subcommand_required(true)
            .arg_required_else_help(true);
        let witness = WitnessOptions::augment_args(Command::new("witness"))
            .about("Run a witness: two lock servers ask it which of them gives locks out")
            .after_help(
                "It keeps no lock. Run an odd number of them, each on a machine of its own, and name \
                 all of them to both servers with --witness.",
            );
        let status = StatusOptions::augment_args(Command::new("status"))
            .about("Ask a lock server how it is")
            .after_help(
                "Exit codes: 0 it serves; 1 it serves, and something wants attention (a full \
                 table, another epoch); 2 it does not answer.",
            );
        let show = ShowOptions::augment_args(Command::new("show"))
            .about("Show who holds what, oldest first; remove locks that nobody will release");
        let watch = WatchOptions::augment_args(Command::new("watch"))
            .about("Tell which locks are lost, and which could be had, as it happens");
        let promote = PromoteOptions::augment_args(Command::new("promote"))
            .about("Let a replica take the place of its primary, under a new epoch")
            .after_help(
                "A replica that may lack a lock is not promoted without --force. The server whose \
                 place is taken gives nothing out once it hears of it: stop it where you cannot \
                 be sure that it does, unless it runs with --without-replica stop. What starts it \
                 again by itself, such as systemd, starts it as the primary that it was: until it \
                 is told, both give locks out. Disable that, or change its options to --replica-of \
                 this server, and leave --replica-of out of those of this server.",
            );
        let journal = JournalVerb::augment_subcommands(Command::new("journal"))
            .about("Look at the journal of a lock server, and mend it")
            .subcommand_required(true)
            .arg_required_else_help(true);
        Command::new("lock")
            .about("Locks: a server with the semantics of SAP's enqueue server")
            .subcommand_required(true)
            .arg_required_else_help(true)
            .subcommand(serve)
            .subcommand(witness)
            .subcommand(load)
            .subcommand(status)
            .subcommand(show)
            .subcommand(promote)
            .subcommand(watch)
            .subcommand(journal)
    }

    fn job(&self, matches: &ArgMatches) -> Result<Job, JobError> {
        match matches.subcommand() {
            Some(("serve", words)) => {
                Ok(Job::Verb(Box::new(Serve::new(ServeOptions::from_arg_matches(words)?))))
            }
            Some(("witness", words)) => {
                Ok(Job::Verb(Box::new(Witness::new(WitnessOptions::from_arg_matches(words)?))))
            }
            Some(("load", words)) => job_of(LoadVerb::from_arg_matches(words)?),
            Some(("status", words)) => {
                Ok(Job::Verb(Box::new(Status::new(StatusOptions::from_arg_matches(words)?))))
            }
            Some(("show", words)) => {
                Ok(Job::Verb(Box::new(Show::new(ShowOptions::from_arg_matches(words)?))))
            }
            Some(("watch", words)) => {
                Ok(Job::Verb(Box::new(Watch::new(WatchOptions::from_arg_matches(words)?))))
            }
            Some(("promote", words)) => {
                Ok(Job::Verb(Box::new(Promote::new(PromoteOptions::from_arg_matches(words)?))))
            }
            Some(("journal", words)) => {
                Ok(Job::Verb(Box::new(JournalJob::new(JournalVerb::from_arg_matches(words)?))))
            }
            _ => Err(LockError::NoVerb.into()),
        }
    }
}

fn job_of(verb: LoadVerb) -> Result<Job, JobError> {
    let job = match verb {
        LoadVerb::Pairs(options) => LoadJob::pairs(options)?,
        LoadVerb::Sd(options) => LoadJob::sales(options)?,
        LoadVerb::Create(options) => LoadJob::create(options)?,
        LoadVerb::Destroy(options) => LoadJob::destroy(options)?,
        LoadVerb::Verify(options) => LoadJob::verify(options)?,
        LoadVerb::Live(options) => return Ok(Job::Verb(Box::new(Live::new(options)?))),
    };
    Ok(Job::Measure(Box::new(job)))
}
