//! `plumb flow serve`: threads, listeners, and the way they end.

mod config;
mod options;
mod store;

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};

use plumb_engine::layer::{JobError, Output, Verb, announce, note_all};
use plumb_engine::{Address, Endpoint, Family, Listener, Stop};
use plumb_measure::Span;
use plumb_serve::{HttpServer, acceptor};

use crate::FlowError;
use crate::data::DataServers;
use crate::doors::Site;
use crate::executor::{Executor, wait_for};
use crate::live::{Live, watch};
use crate::log::Log;
use crate::xslt::{Stylesheets, XsltLimits};

pub(crate) use config::{Config, QueueConfig, RouteConfig};
pub use options::ServeOptions;

/// The port on which the server listens unless told otherwise.
const PORT: u16 = 50_000;
/// Threads without work have this long to end when nothing is left of the farewell.
const LAST_MOMENT: Span = Span::from_ms(1_000);

/// Serving as a job.
#[derive(Debug)]
pub struct Serve {
    transactions: PathBuf,
    config: Config,
    quiet: bool,
}

impl Serve {
    /// Checks the options and the settings; it listens once it runs.
    ///
    /// # Errors
    /// [`FlowError`] when they ask for the impossible.
    pub fn new(options: &ServeOptions) -> Result<Self, FlowError> {
        let config = options.config()?;
        if !config.has_accounts()
            && let Some(listen) = config.listen.iter().find(|listen| is_open(listen))
        {
            return Err(FlowError::Plan(format!(
                "{listen} can be reached from elsewhere, and nobody has to log on: name users \
                 under [users], or tokens under [tokens], in the file of --settings"
            )));
        }
        Ok(Self { transactions: options.transactions.clone(), config, quiet: options.quiet })
    }

    fn serve(&self, out: Output<'_>, log: Output<'_>, stop: &Stop) -> Result<(), FlowError> {
        let config = &self.config;
        let needed = config.route.iter().map(|route| route.transaction.clone()).collect();
        let servers = self.reach()?;
        let stylesheets = Arc::clone(servers.stylesheets());
        let live = Arc::new(Live::open(&self.transactions, needed, stylesheets)?);
        let tls = config.tls.as_ref().map(acceptor).transpose()?;
        let listeners = Listener::bind_all(&config.listen, PORT)?;
        let queue = store::open(&config.queue)?;
        let (events, told) = mpsc::channel();
        let log_of = Arc::new(Log::new(events));
        let executor = Arc::new(Executor::new(
            config.executor(),
            Arc::clone(&live),
            queue,
            Arc::new(Arc::clone(&servers)),
            Arc::clone(&log_of),
        ));
        let site =
            Site::new(config, Arc::clone(&executor), Arc::clone(&servers), Arc::clone(&log_of));
        let server = HttpServer::new(site, tls, config.front.threads, config.front.farewell)?;
        announce(&listeners, out)?;
        let mut nowhere = io::sink();
        let log: Output<'_> = if self.quiet { &mut nowhere } else { log };
        std::thread::scope(|threads| {
            threads.spawn(move || note_all(&told, log));
            threads.spawn(|| watch(&live, &log_of, stop));
            // a server that is not there yet is one for its first statement, too
            servers.fill().into_iter().for_each(|problem| log_of.tell(problem));
            let working = executor.start();
            let served = server.run(listeners, stop);
            stop.ask();
            executor.close();
            let left = served.as_ref().copied().unwrap_or(LAST_MOMENT).max(LAST_MOMENT);
            if !wait_for(&working, left) {
                log_of.tell("executions under way were cut after front.farewell");
            }
            // what is settled is on disk when it returns
            executor.queue.close();
            log_of.close();
            Ok(served.map(|_| ())?)
        })
    }
}

impl Serve {
    /// What the transactions reach outside.
    fn reach(&self) -> Result<Arc<DataServers>, FlowError> {
        let servers = DataServers::read(&self.transactions).map_err(FlowError::Wrong)?;
        let document_bytes = u32::try_from(self.config.front.body_size.bytes());
        let limits = XsltLimits {
            document_bytes: document_bytes.unwrap_or(u32::MAX),
            ..XsltLimits::default()
        };
        Ok(Arc::new(servers.with_stylesheets(Arc::new(Stylesheets::new(limits)))))
    }
}

impl Verb for Serve {
    fn run(&mut self, out: Output<'_>, log: Output<'_>, stop: &Stop) -> Result<(), JobError> {
        Ok(self.serve(out, log, stop)?)
    }
}

/// True for an address that others reach; one that is none is refused later.
fn is_open(listen: &str) -> bool {
    let found = Address::parse(listen, PORT).and_then(|it| Endpoint::resolve(&it, Family::Any));
    found.is_ok_and(|endpoints| !endpoints.iter().all(Endpoint::is_local))
}
