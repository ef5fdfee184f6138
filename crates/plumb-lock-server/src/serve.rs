//! `plumb lock serve`: the lock server with its options and its log.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use plumb_engine::clock::{self, MonotonicClock};
use plumb_engine::layer::{JobError, Output, Verb, announce, note};
use plumb_engine::options::ServerLoopOptions;
use plumb_engine::tls::{ServerTlsOptions, TlsAcceptor, TlsConnector};
use plumb_engine::{
    Endpoint, EngineError, HELD_TICK, Listener, Plain, ServePlan, Stop, serve, serve_and_dial,
};
use plumb_lock_pair::election::identity_in;
use plumb_lock_table::journal::{Notes, Policy, Restored};
use plumb_lock_table::table::{ELEMENTS_MAX, Limits, Rules};
use plumb_measure::{ByteSize, Clock as _, Span};
use plumb_wire::resp;

use crate::audit::AuditLog;
use crate::pair::{PairOptions, drawn_id};
use crate::password::{self, Login};
use crate::server::{Event, LockServer, ServerPlan, Told};
use crate::users::Users;
use crate::{PORT, ServerError};

/// Words of one command besides its locks.
const WORDS_MORE: usize = 32;
/// What one command may take.
pub(crate) const LIMITS: resp::Limits = resp::Limits {
    words: 3 * ELEMENTS_MAX + WORDS_MORE,
    word_bytes: 4096,
    command_bytes: 256 << 10,
};

/// When locks are written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum JournalPolicy {
    /// Only what an update has inherited outlives a restart, as in the original
    None,
    /// Everything, made to last every --journal-interval
    Interval,
    /// Everything, made to last before it is acknowledged
    Always,
}

/// What the lock server allows, and where it listens.
#[derive(Args, Clone, Debug)]
pub struct ServeOptions {
    /// Where to listen: HOST:PORT, smc:HOST:PORT or unix:PATH, repeatable; port 0 picks a free one
    ///
    /// The default is loopback: name an address of this machine, or 0.0.0.0, to be reached from
    /// elsewhere.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:3200")]
    pub listen: Vec<String>,

    /// The size of the lock table: two owners, arguments and locks for each KiB
    ///
    /// Memory is taken as it is needed: a lock takes about 120 bytes.
    #[arg(long, value_name = "SIZE", default_value = "512MiB")]
    pub table_size: ByteSize,

    /// Arguments that one request with wildcards may look at; beyond that it is rejected
    ///
    /// All its locks together. Everybody waits meanwhile: 20000 take some milliseconds of the
    /// processor.
    #[arg(long, value_name = "N", default_value = "20000")]
    pub scan_max: u64,

    /// Keep a journal in this folder, so that locks outlive the server
    #[arg(long, value_name = "DIR")]
    pub journal: Option<PathBuf>,

    /// Which locks the journal keeps, and when they are made to last
    #[arg(long, value_enum, value_name = "POLICY", default_value = "always", requires = "journal")]
    pub journal_policy: JournalPolicy,

    /// How much an interval of the journal may lose when the machine crashes
    #[arg(long, value_name = "TIME", default_value = "100ms", requires = "journal")]
    pub journal_interval: Span,

    /// After a restart, how long an owner without a lease may take to come back
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub grace: Span,

    /// The longest time a request may WAIT
    #[arg(long, value_name = "TIME", default_value = "10m")]
    pub max_wait: Span,

    /// Ask clients for the password in the first line of this file
    ///
    /// The variable PLUMB_LOCK_PASSWORD does the same without a file.
    #[arg(long, value_name = "FILE")]
    pub password_file: Option<PathBuf>,

    /// Clients must log in as one of the users in this file, and may do what it says
    ///
    /// Lines as in an ACL file of Redis: user NAME on #SHA256 ~PATTERN +@lock +@list +@remove
    /// +@admin; see docs/lock.md.
    #[arg(long, value_name = "FILE", conflicts_with = "password_file")]
    pub users: Option<PathBuf>,

    /// Append a line of JSON to this file for each removal and promotion
    #[arg(long, value_name = "FILE")]
    pub audit_log: Option<PathBuf>,

    /// Close a client that is silent for this long; 0s: never
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub idle: Span,

    /// A client over TCP whose machine has not answered for this long is gone; 0s: never ask
    ///
    /// In whole seconds, 3 to 32767. The kernel asks, so that a client that is there and silent
    /// stays. With a client that is gone end the locks that live with its connection.
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub keepalive: Span,

    /// Close a client whose command was begun and does not go on for this long
    #[arg(long, value_name = "TIME", default_value = "30s")]
    pub stall: Span,

    /// Whom the loop serves, and how it waits.
    #[command(flatten)]
    pub server_loop: ServerLoopOptions,

    /// Log nothing
    #[arg(long)]
    pub quiet: bool,

    /// Whether it is one of two.
    #[command(flatten)]
    pub pair: PairOptions,

    /// Whether clients speak TLS.
    #[command(flatten)]
    pub tls: ServerTlsOptions,
}

impl ServeOptions {
    /// What the engine's loop allows.
    #[must_use]
    pub fn plan(&self) -> ServePlan {
        ServePlan {
            idle: (self.idle.ns() > 0).then_some(self.idle),
            ..self.server_loop.plan(self.stall)
        }
    }

    fn limits(&self) -> Limits {
        Limits { scan: self.scan_max, ..Limits::of_kib(self.table_size.bytes() / 1024) }
    }

    fn policy(&self) -> Policy {
        match self.journal_policy {
            JournalPolicy::None => Policy::Inherited,
            JournalPolicy::Interval => Policy::Interval(self.journal_interval.ns()),
            JournalPolicy::Always => Policy::Always,
        }
    }

    /// The table as it was, or a new one.
    fn restore(&self, wall_us: u64) -> Result<(Restored, Notes), ServerError> {
        let Some(folder) = &self.journal else {
            let mut restored = Restored::empty(self.limits());
            // without a journal only the wall clock keeps numbers from coming again
            restored.epoch = wall_us;
            restored.table.raise_fence(wall_us);
            return Ok((restored, Notes::none()));
        };
        let (notes, restored) = Notes::open(folder, self.policy(), self.limits(), wall_us)?;
        Ok((restored, notes))
    }

    /// What the server is told, as of this moment.
    fn server_plan(
        &self,
        epoch: u64,
        (users, password): (Option<Users>, Option<Vec<u8>>),
    ) -> Result<ServerPlan, ServerError> {
        // whoever keeps no lock over a restart is another server then
        let keeps = self.journal_policy != JournalPolicy::None && !self.pair.witness.is_empty();
        let identity = match self.journal.as_deref().filter(|_| keeps) {
            Some(folder) => identity_in(folder, drawn_id()?)?,
            None => 0,
        };
        Ok(ServerPlan {
            limits: LIMITS,
            wait_ns_max: self.max_wait.ns(),
            users,
            epoch,
            grace_ns: self.grace.ns(),
            wall_offset,
            tick: self.server_loop.tick(),
            replication: self.pair.plan(password.as_deref(), identity)?,
            password,
        })
    }

    /// What the log begins with.
    fn tell_of_start(
        &self,
        wall_ns: u64,
        restored: &Restored,
        log: Output<'_>,
    ) -> std::io::Result<()> {
        let time = clock::utc(wall_ns);
        if let Some(host) = &self.pair.replica_of {
            writeln!(log, "{time} a replica of {host}")?;
        }
        if self.journal.is_some() {
            let locks = restored.table.usage().locks.actual;
            let (epoch, torn) = (restored.epoch, restored.torn_bytes);
            let locks = plumb_measure::counted(u64::from(locks), "lock");
            let origin = restored.origin;
            match (&self.pair.replica_of, origin.epoch) {
                (None, _) => writeln!(log, "{time} {locks} restored, epoch {epoch}")?,
                (Some(_), 0) if origin.is_part() => {
                    writeln!(log, "{time} {locks} restored, of no whole epoch")?;
                }
                (Some(_), 0) => {
                    writeln!(log, "{time} {locks} restored, of an epoch nobody decided for")?;
                }
                (Some(_), of) => writeln!(log, "{time} {locks} restored, of epoch {of}")?,
            }
            let part = origin.is_part().then_some(0);
            let alone = self.pair.witness.is_empty();
            let replaced = Some(restored.replaced_by).filter(|by| *by > 0 && alone);
            if let (Some(by), None) = (replaced.or(part), &self.pair.replica_of) {
                writeln!(log, "{time} {}", Told::Fenced { by })?;
            }
            if torn > 0 {
                writeln!(log, "{time} {torn} torn bytes at the end of the journal left out")?;
            }
            if let Some(lost) = restored.lost {
                let fence = restored.table.next_fence();
                writeln!(log, "{time} {lost}; a new epoch begins, fence numbers at {fence}")?;
            }
        }
        if self.server_loop.hold_tick {
            writeln!(log, "{time} {HELD_TICK}")?;
        }
        Ok(())
    }
}

/// The lock server as a job.
#[derive(Debug)]
pub struct Serve {
    options: ServeOptions,
}

impl Serve {
    /// A server with these options; it listens once it runs.
    #[must_use]
    pub fn new(options: ServeOptions) -> Self {
        Self { options }
    }

    fn serve(&self, out: Output<'_>, log: Output<'_>, stop: &Stop) -> Result<(), ServerError> {
        let options = &self.options;
        if options.limits().rows == 0 {
            let text =
                format!("--table-size {} holds no lock; give 1KiB or more", options.table_size);
            return Err(EngineError::Plan(text).into());
        }
        let users = options.users.as_deref().map(Users::read).transpose()?;
        let password = match users {
            Some(_) => None,
            None => password::read(options.password_file.as_deref(), Login::VARIABLE)?,
        };
        let mut audit = options.audit_log.as_deref().map(AuditLog::open).transpose()?;
        let tls = options.tls.acceptor(&[])?;
        let listeners = Listener::bind_all(&options.listen, PORT)?;
        if options.keepalive.ns() > 0 {
            let ask = |listener: &Listener| listener.keep_alive(options.keepalive);
            listeners.iter().try_for_each(ask).map_err(ServerError::KeepAlive)?;
        }
        let wall_ns = clock::wall_ns();
        let (restored, notes) = options.restore(wall_ns / 1_000)?;
        if !options.quiet {
            options.tell_of_start(wall_ns, &restored, log)?;
        }
        let logs_on = users.is_some() || password.is_some();
        if let Some(open) = strangers(&listeners, logs_on, &options.tls).filter(|_| !options.quiet)
        {
            note(log, open);
        }
        let plan = options.server_plan(restored.epoch, (users, password))?;
        let connectors = options.pair.connectors(&options.tls, &plan.replication)?;
        announce(&listeners, out)?;
        let quiet = options.quiet;
        let mut tell = |event: Event<'_>| {
            if let (Event::Audited(audited), Some(audit)) = (&event, &mut audit) {
                audit.note(audited);
            }
            if !quiet {
                note(log, event);
            }
        };
        let mut server = LockServer::new(plan, (restored, notes), MonotonicClock, &mut tell);
        let plan = options.plan();
        run((&plan, &listeners), &mut server, (tls.as_ref(), &connectors), stop)?;
        server.into_notes().close().map_err(ServerError::Close)
    }
}

/// What is to be said of `listeners` that others reach, where neither `logs_on` nor a certificate that `tls`
/// demands says who they are.
pub(crate) fn strangers(
    listeners: &[Listener],
    logs_on: bool,
    tls: &ServerTlsOptions,
) -> Option<String> {
    let open = listeners.iter().find(|listener| !listener.is_local());
    let open = open.filter(|_| !logs_on && tls.client_ca.is_none())?.local();
    Some(format!(
        "{open} can be reached from elsewhere, and nobody has to log on: name --users or --password-file"
    ))
}

/// The wall clock less the monotonic clock at this moment, nanoseconds.
pub(crate) fn wall_offset() -> u64 {
    clock::wall_ns().wrapping_sub(MonotonicClock.now_ns())
}

/// Serves until it is to stop; `tls` are the links that are accepted, and those to other servers by
/// their addresses.
pub(crate) fn run<R: Rules>(
    (plan, listeners): (&ServePlan, &[Listener]),
    server: &mut LockServer<'_, MonotonicClock, R>,
    tls: (Option<&TlsAcceptor>, &[(Vec<Endpoint>, TlsConnector)]),
    stop: &Stop,
) -> Result<(), EngineError> {
    let (Some(acceptor), connectors) = tls else {
        return serve(plan, listeners, server, Plain::default, stop);
    };
    let accept = || acceptor.link();
    let dial = |to: &Endpoint| {
        let known = connectors.iter().find(|(endpoints, _)| endpoints.contains(to));
        known.map_or_else(accept, |(_, connector)| connector.link())
    };
    serve_and_dial(plan, listeners, server, (&accept, &dial), stop)
}

impl Verb for Serve {
    fn run(&mut self, out: Output<'_>, log: Output<'_>, stop: &Stop) -> Result<(), JobError> {
        Ok(self.serve(out, log, stop)?)
    }
}
