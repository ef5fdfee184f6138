//! `plumb lock witness`: keeps which of two lock servers gives locks out.

use std::path::PathBuf;

use clap::Args;
use plumb_engine::clock::MonotonicClock;
use plumb_engine::layer::{JobError, Output, Verb, announce, note};
use plumb_engine::options::ServerLoopOptions;
use plumb_engine::tls::ServerTlsOptions;
use plumb_engine::{HELD_TICK, Listener, Stop};
use plumb_lock_pair::election::FileStore;
use plumb_lock_table::table::Sound;
use plumb_measure::Span;

use crate::password::{self, Login};
use crate::server::{Event, LockServer, ReplicationPlan, ServerPlan};
use crate::users::Users;
use crate::{PORT_OF_WITNESSES, ServerError, serve};

/// A server whose command was begun goes on within this.
const STALL: Span = Span::from_ms(30_000);

/// What a witness allows, and what it keeps where.
#[derive(Args, Clone, Debug)]
pub struct WitnessOptions {
    /// Where to listen: HOST:PORT or unix:PATH, repeatable; port 0 picks a free one
    ///
    /// The default is loopback: name an address of this machine to be reached from elsewhere.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:3201")]
    pub listen: Vec<String>,

    /// Keep what was promised in this file, which is made if it is not there
    ///
    /// A witness that forgets it may let two servers give locks out.
    #[arg(long, value_name = "FILE")]
    pub state: PathBuf,

    /// Ask servers for the password in the first line of this file
    ///
    /// The variable PLUMB_LOCK_PASSWORD does the same without a file.
    #[arg(long, value_name = "FILE")]
    pub password_file: Option<PathBuf>,

    /// Servers must log in as one of the users in this file, who needs +@admin
    #[arg(long, value_name = "FILE", conflicts_with = "password_file")]
    pub users: Option<PathBuf>,

    /// Whom the loop serves, and how it waits.
    #[command(flatten)]
    pub server_loop: ServerLoopOptions,

    /// Log nothing
    #[arg(long)]
    pub quiet: bool,

    /// Whether servers speak TLS.
    #[command(flatten)]
    pub tls: ServerTlsOptions,
}

/// The witness as a job.
#[derive(Debug)]
pub struct Witness {
    options: WitnessOptions,
}

impl Witness {
    /// A witness with these options; it listens once it runs.
    #[must_use]
    pub fn new(options: WitnessOptions) -> Self {
        Self { options }
    }

    fn serve(&self, out: Output<'_>, log: Output<'_>, stop: &Stop) -> Result<(), ServerError> {
        let options = &self.options;
        let users = options.users.as_deref().map(Users::read).transpose()?;
        let password = match users {
            Some(_) => None,
            None => password::read(options.password_file.as_deref(), Login::VARIABLE)?,
        };
        let tls = options.tls.acceptor(&[])?;
        let (store, state) = FileStore::open(&options.state)?;
        let listeners = Listener::bind_all(&options.listen, PORT_OF_WITNESSES)?;
        let logs_on = users.is_some() || password.is_some();
        let open = serve::strangers(&listeners, logs_on, &options.tls);
        let plan = ServerPlan {
            limits: serve::LIMITS,
            wait_ns_max: 0,
            password,
            users,
            epoch: state.register().epoch,
            grace_ns: 0,
            wall_offset: serve::wall_offset,
            tick: options.server_loop.tick(),
            replication: ReplicationPlan::default(),
        };
        announce(&listeners, out)?;
        if let Some(open) = open.filter(|_| !options.quiet) {
            note(log, open);
        }
        if options.server_loop.hold_tick && !options.quiet {
            note(log, HELD_TICK);
        }
        let quiet = options.quiet;
        let mut tell = |event: Event<'_>| {
            if !quiet {
                note(log, event);
            }
        };
        let kept = (state, Box::new(store) as Box<_>);
        let mut server = LockServer::<_, Sound>::witness(plan, kept, MonotonicClock, &mut tell);
        let serving = options.server_loop.plan(STALL);
        Ok(serve::run((&serving, &listeners), &mut server, (tls.as_ref(), &[]), stop)?)
    }
}

impl Verb for Witness {
    fn run(&mut self, out: Output<'_>, log: Output<'_>, stop: &Stop) -> Result<(), JobError> {
        Ok(self.serve(out, log, stop)?)
    }
}
