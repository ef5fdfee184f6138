//! `plumb host serve`: the service with its options and its log.

use std::io::Write;

use clap::Args;
use plumb_engine::clock::MonotonicClock;
use plumb_engine::layer::{JobError, Output, Verb, announce, note};
use plumb_engine::{Cidr, Listener, Plain, ServePlan, Stop, serve};
use plumb_measure::{LinkSpeed, Span};
use plumb_procfs::process::Wanted;

use super::PORT;
use super::server::{Event, SampleServer};
use crate::HostError;
use crate::options::WatchedOptions;
use crate::subject::Subject;

/// A request that was begun must be finished, and an answer be taken, within this.
const STALL: Span = Span::from_ms(10_000);

/// What is served, to whom, and where.
#[derive(Args, Clone, Debug)]
pub struct FarServeOptions {
    /// Where to listen: HOST:PORT, smc:HOST:PORT or unix:PATH, repeatable; port 0 picks a free one
    ///
    /// The default is loopback: name an address of this machine, or 0.0.0.0, to be reached from
    /// elsewhere. Whoever may connect sees what this machine does.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:3299")]
    pub listen: Vec<String>,

    /// Answer one client no more often than this, at least 10ms
    #[arg(long, value_name = "TIME", default_value = "100ms")]
    pub every: Span,

    /// Follow a process, by its number or by its name; repeatable
    #[arg(long, value_name = "PID|NAME")]
    pub process: Vec<Wanted>,

    /// The speed of a link that its driver does not tell, or not truly, for example eth0=1Gbit; repeatable
    #[arg(long, value_name = "IFACE=RATE")]
    pub link: Vec<LinkSpeed>,

    /// Leave something out; a list
    #[arg(long, value_name = "SUBJECT,...", value_delimiter = ',')]
    pub without: Vec<Subject>,

    /// Clients served at once; more are turned away
    #[arg(long, value_name = "N", default_value = "16")]
    pub max_clients: usize,

    /// Addresses that may connect, for example 10.1.0.0/16; repeatable [default: all]
    #[arg(long, value_name = "CIDR")]
    pub allow: Vec<Cidr>,

    /// Close a client that is silent for this long; 0s: never
    #[arg(long, value_name = "TIME", default_value = "2h")]
    pub idle: Span,

    /// Do not log who comes and goes
    #[arg(long)]
    pub quiet: bool,
}

impl FarServeOptions {
    fn watched(&self) -> WatchedOptions {
        WatchedOptions {
            every: self.every,
            process: self.process.clone(),
            link: self.link.clone(),
            without: self.without.clone(),
            top_every: Span::from_ns(0), // each client would look at every process anew
            root: None,
        }
    }

    fn plan(&self) -> ServePlan {
        ServePlan {
            idle: (self.idle.ns() > 0).then_some(self.idle),
            allow: self.allow.clone(),
            ..ServePlan::new(self.max_clients, STALL)
        }
    }
}

/// Serving samples as a job.
#[derive(Debug)]
pub struct FarServe {
    options: FarServeOptions,
}

impl FarServe {
    /// Checks the options; it listens once it runs.
    ///
    /// # Errors
    /// [`HostError`] when they ask for the impossible.
    pub fn new(options: FarServeOptions) -> Result<Self, HostError> {
        options.watched().plan()?;
        Ok(Self { options })
    }

    fn serve(
        &self,
        out: &mut (dyn Write + Send),
        log: &mut (dyn Write + Send),
        stop: &Stop,
    ) -> Result<(), HostError> {
        let monitor = self.options.watched().plan()?;
        let listeners = Listener::bind_all(&self.options.listen, PORT)?;
        announce(&listeners, out)?;
        let quiet = self.options.quiet;
        let mut tell = |event: Event<'_>| {
            if !quiet {
                note(log, event);
            }
        };
        let every_ns = self.options.every.ns();
        let mut server = SampleServer::new(monitor, every_ns, MonotonicClock, &mut tell);
        Ok(serve(&self.options.plan(), &listeners, &mut server, Plain::default, stop)?)
    }
}

impl Verb for FarServe {
    fn run(&mut self, out: Output<'_>, log: Output<'_>, stop: &Stop) -> Result<(), JobError> {
        Ok(self.serve(out, log, stop)?)
    }
}
