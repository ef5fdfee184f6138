//! `plumb flow serve`: threads, listeners, and the way they end.

mod options;
mod store;

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};

use plumb_engine::layer::{JobError, Output, Verb, announce, note_all};
use plumb_engine::{Listener, Stop};
use plumb_measure::Span;
use plumb_serve::nodes::{Member, NodeNumber, NodePlan, enter_memory_group};
use plumb_serve::settings::is_open;
use plumb_serve::{HttpServer, Log, acceptor};

use crate::FlowError;
use crate::config::Config;
use crate::doors::Site;
use crate::executor::{Described, Executor, wait_for};
use crate::live::{Live, fill, watch};
use crate::siblings::{self, Queues, Siblings, refuse_strangers};
use plumb_transaction::xslt::{Stylesheets, XsltLimits};

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
    process: Process,
}

/// What this process is.
#[derive(Clone, Copy, Debug)]
enum Process {
    /// The only one.
    Alone,
    /// The one that starts the nodes.
    Parent(NodePlan),
    /// One of them.
    Node(NodeNumber),
}

impl Process {
    fn of(options: &ServeOptions, farewell: Span) -> Self {
        match (options.node, options.nodes) {
            (Some(node), _) => Self::Node(node),
            (None, Some(count)) => {
                Self::Parent(NodePlan { count, memory: options.memory, farewell })
            }
            (None, None) => Self::Alone,
        }
    }

    fn node(self) -> Option<NodeNumber> {
        match self {
            Self::Node(node) => Some(node),
            Self::Alone | Self::Parent(_) => None,
        }
    }
}

impl Serve {
    /// Checks the options and the settings; it listens once it runs.
    ///
    /// # Errors
    /// [`FlowError`] when they ask for the impossible.
    pub fn new(options: &ServeOptions) -> Result<Self, FlowError> {
        let config = options.config()?;
        if !config.has_accounts()
            && let Some(listen) = config.listen.iter().find(|listen| is_open(listen, PORT))
        {
            return Err(FlowError::Plan(format!(
                "{listen} can be reached from elsewhere, and nobody has to log on: name users \
                 under [users], or tokens under [tokens], in the file of --settings"
            )));
        }
        let process = Process::of(options, config.front.farewell);
        Ok(Self {
            transactions: options.transactions.clone(),
            config,
            quiet: options.quiet,
            process,
        })
    }

    /// Starts the nodes, which serve, and keeps them running.
    fn lead(
        &self,
        nodes: &NodePlan,
        out: Output<'_>,
        log: Output<'_>,
        stop: &Stop,
    ) -> Result<(), FlowError> {
        if self.config.queue.url.is_none() {
            refuse_strangers(&self.config.queue.folder, nodes.count)?;
        }
        // what is wrong is said once, and not by each node
        Live::open(&self.transactions, self.needed(), self.stylesheets())?;
        let listeners = Listener::bind_all(&self.config.listen, PORT)?;
        let (events, told) = mpsc::channel();
        let log_of = Log::new(events);
        let mut nowhere = io::sink();
        let log: Output<'_> = if self.quiet { &mut nowhere } else { log };
        std::thread::scope(|threads| {
            threads.spawn(move || note_all(&told, log));
            let tell = |event: String| log_of.tell(event);
            let led = nodes.run(&listeners, stop, &tell, || announce(&listeners, out));
            log_of.close();
            Ok(led?)
        })
    }

    fn needed(&self) -> Vec<String> {
        self.config.route.iter().map(|route| route.transaction.clone()).collect()
    }

    /// The listeners of this process; a node has those of its parent, and one for the other nodes.
    fn listeners(&self) -> Result<(Vec<Listener>, Option<Member>), FlowError> {
        let Some(node) = self.process.node() else {
            return Ok((Listener::bind_all(&self.config.listen, PORT)?, None));
        };
        let joined = Member::join().map_err(|cause| {
            FlowError::Plan(format!("--node is for the processes that --nodes starts: {cause}"))
        })?;
        let (member, mut listeners) = joined;
        let door = siblings::door(&self.config.queue.folder, node.number);
        if let Some(folder) = door.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|error| FlowError::unreadable(folder, error))?;
        }
        listeners.extend(Listener::bind_all(&[format!("unix:{}", door.display())], PORT)?);
        Ok((listeners, Some(member)))
    }

    /// The other nodes.
    fn siblings(&self) -> Option<Siblings> {
        let queues = match self.config.queue.url {
            Some(_) => Queues::Shared,
            None => Queues::Own,
        };
        let own = self.process.node()?;
        Some(Siblings::new(own, &self.config.queue.folder, queues))
    }

    fn serve(&self, out: Output<'_>, log: Output<'_>, stop: &Stop) -> Result<(), FlowError> {
        let config = &self.config;
        let live = Live::open(&self.transactions, self.needed(), self.stylesheets())?;
        let live = Arc::new(live);
        let tls = config.tls.as_ref().map(acceptor).transpose()?;
        let store::Opened { queue, in_force } = store::open(&config.queue, self.process.node())?;
        let (listeners, member) = self.listeners()?;
        let (events, told) = mpsc::channel();
        let log_of = Log::new(events);
        let log_of = Arc::new(match self.process.node() {
            Some(node) => log_of.of_node(node.number),
            None => log_of,
        });
        in_force.into_iter().for_each(|line| log_of.tell(line));
        live.current().servers.tell(&log_of);
        let executor = Arc::new(Executor::new(
            config.executor(),
            Arc::clone(&live),
            queue,
            Arc::new(Described),
            Arc::clone(&log_of),
        ));
        let log_of_site = Arc::clone(&log_of);
        let site = Site::new(config, Arc::clone(&executor), log_of_site, self.siblings());
        let server = HttpServer::new(site, tls, config.front.threads, config.front.farewell)?;
        match &member {
            Some(member) => member.ready()?,
            None => announce(&listeners, out)?,
        }
        let mut nowhere = io::sink();
        let log: Output<'_> = if self.quiet { &mut nowhere } else { log };
        std::thread::scope(|threads| {
            threads.spawn(move || note_all(&told, log));
            threads.spawn(|| watch(&live, &log_of, stop));
            threads.spawn(|| member.as_ref().map(|member| member.watch(stop)));
            fill(&live, &log_of);
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
    /// The processes that apply stylesheets.
    fn stylesheets(&self) -> Arc<Stylesheets> {
        let document_bytes = u32::try_from(self.config.front.body_size.bytes());
        let limits = XsltLimits {
            document_bytes: document_bytes.unwrap_or(u32::MAX),
            ..XsltLimits::default()
        };
        Arc::new(Stylesheets::new(limits))
    }
}

impl Verb for Serve {
    fn run(&mut self, out: Output<'_>, log: Output<'_>, stop: &Stop) -> Result<(), JobError> {
        enter_memory_group()?;
        match &self.process {
            Process::Parent(nodes) => Ok(self.lead(nodes, out, log, stop)?),
            Process::Alone | Process::Node(_) => Ok(self.serve(out, log, stop)?),
        }
    }
}
