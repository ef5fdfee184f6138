//! `plumb flow agent`: all agents of a process, and the way they end.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use clap::Args;
use plumb_engine::layer::{JobError, Output, Verb, announce, note_all};
use plumb_engine::{Listener, Stop};
use plumb_measure::{Span, counted};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::AgentError;
use crate::agent::Agent;
use crate::file::{AgentPlan, read_all};
use crate::spool::{Spool, SpoolError};
use crate::status::{Board, serve};

/// The folder of the spool unless told otherwise.
pub(crate) const SPOOL: &str = "plumb-agent-spool";
/// Messages under way when the process is told to stop have so long.
const FAREWELL: Duration = Duration::from_secs(5);
const THREADS_MAX: usize = 64;

/// Which agents to run, and how.
#[derive(Args, Clone, Debug)]
pub struct RunOptions {
    /// Files of agents, or folders of them; each is a task of this process
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// Say what is wrong with the files, and run nothing
    #[arg(long)]
    pub check: bool,

    /// The folder of the spool, for all agents of this process
    #[arg(long, value_name = "FOLDER", default_value = SPOOL)]
    pub spool: PathBuf,

    /// Serve figures for Prometheus at http://HOST:PORT/metrics, for example 127.0.0.1:9100
    #[arg(long, value_name = "ADDRESS")]
    pub metrics: Option<String>,

    /// Log where all changes are at this interval
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub progress: Span,

    /// Threads of the agents, beside the one that writes the spool
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub threads: usize,

    /// End once every source has ended and nothing waits to be sent
    #[arg(long)]
    pub until_empty: bool,

    /// Do not log what happens
    #[arg(long)]
    pub quiet: bool,
}

/// Running agents as a job.
#[derive(Debug)]
pub struct Run {
    options: RunOptions,
    plans: Vec<AgentPlan>,
}

impl Run {
    /// Reads and checks the files; nothing is connected to yet.
    ///
    /// # Errors
    /// [`AgentError`] with the places of what is wrong.
    pub fn new(options: RunOptions) -> Result<Self, AgentError> {
        if !(1..=THREADS_MAX).contains(&options.threads) {
            let problem = format!("--threads {}: write 1 to {THREADS_MAX}", options.threads);
            return Err(AgentError::Wrong(problem));
        }
        let plans = read_all(&options.files)?;
        Ok(Self { options, plans })
    }

    fn check(&self, out: Output<'_>) -> Result<(), AgentError> {
        for plan in &self.plans {
            let AgentPlan { name, source, target, .. } = plan;
            writeln!(out, "{name}: {} to {}", source.describe(), target.address)?;
        }
        Ok(())
    }

    fn work(&self, out: Output<'_>, log: Output<'_>, stop: &Stop) -> Result<(), AgentError> {
        let listeners = match &self.options.metrics {
            Some(address) => Listener::bind_all(std::slice::from_ref(address), 0)?,
            None => Vec::new(),
        };
        let spool = Arc::new(Spool::open(&self.options.spool)?);
        let (events, told) = mpsc::channel();
        let agents = self.agents(&spool, &events)?;
        let watched = agents.iter().map(Agent::watched).collect();
        let board = Arc::new(Board::new(watched, Arc::clone(&spool), self.options.until_empty));
        announce(&listeners, out)?;
        let tell = teller(events);
        tell(format!("{} at work", counted(agents.len() as u64, "agent")));
        self.absent(&spool).into_iter().for_each(&*tell);
        let runtime = self.runtime()?;
        let mut nowhere = io::sink();
        let log: Output<'_> = if self.options.quiet { &mut nowhere } else { log };
        let progress = self.options.progress;
        let (tell_stop, stopped) = watch::channel(false);
        let (broken, lost) = std::thread::scope(|threads| {
            threads.spawn(move || note_all(&told, log));
            threads.spawn({
                let (board, tell) = (Arc::clone(&board), Arc::clone(&tell));
                move || {
                    board.watch(progress, stop, &*tell);
                    let _ = tell_stop.send(true); // all agents may have ended before
                }
            });
            let served = serve(listeners, Arc::clone(&board), stopped.clone(), Arc::clone(&tell));
            let broken = runtime.block_on(async {
                tokio::spawn(served);
                conduct(agents, stopped, &*tell).await
            });
            stop.ask();
            drop(runtime); // with it all that is under way, and their ways to the log
            let lost = spool.has_ended();
            spool.close();
            tell(board.summary());
            drop(tell);
            (broken, lost)
        });
        if broken > 0 {
            return Err(AgentError::Wrong("not all agents worked to the end: see the log".into()));
        }
        // a disk that is full for the moment is none of that
        match spool.trouble() {
            Some(trouble) if lost => Err(SpoolError::Ended(trouble).into()),
            _ => Ok(()),
        }
    }

    /// Messages that nobody here sends, in words.
    fn absent(&self, spool: &Spool) -> Vec<String> {
        let ledgers = spool.ledgers().into_iter().filter(|ledger| {
            ledger.main.messages > 0 && self.plans.iter().all(|plan| plan.name != ledger.name)
        });
        let told = ledgers.map(|ledger| {
            let count = counted(ledger.main.messages, "message");
            let name = ledger.name;
            format!("{count} of `{name}` stay in the spool: no agent of this name is at work")
        });
        told.collect()
    }

    fn agents(
        &self,
        spool: &Spool,
        events: &mpsc::Sender<String>,
    ) -> Result<Vec<Agent>, AgentError> {
        let agent = |plan: &AgentPlan| {
            let part = spool.agent(&plan.name, plan.spool)?;
            let (name, events) = (plan.name.clone(), events.clone());
            let log = Arc::new(move |event: String| {
                let _ = events.send(format!("{name}: {event}")); // nobody listens to the log
            });
            Ok(Agent::new(plan.clone(), part, log))
        };
        self.plans.iter().map(agent).collect()
    }

    fn runtime(&self) -> io::Result<Runtime> {
        let mut builder = match self.options.threads {
            1 => Builder::new_current_thread(),
            _ => Builder::new_multi_thread(),
        };
        if self.options.threads > 1 {
            builder.worker_threads(self.options.threads);
        }
        builder.enable_all().build()
    }
}

/// Has all agents work until they end; how many ended by a fault.
async fn conduct(
    agents: Vec<Agent>,
    mut stopped: watch::Receiver<bool>,
    tell: &(dyn Fn(String) + Send + Sync),
) -> usize {
    let mut working = JoinSet::new();
    for agent in agents {
        working.spawn(agent.run(stopped.clone()));
    }
    let mut broken = 0;
    let ended = async {
        while let Some(ended) = working.join_next().await {
            // the others go on; what the agent had confirmed is on disk
            if ended.is_err() {
                broken += 1;
                tell("an agent has ended by a fault of the program".into());
            }
        }
    };
    let cut = async {
        let _ = stopped.wait_for(|asked| *asked).await; // or whoever asks is gone
        tokio::time::sleep(FAREWELL).await;
    };
    tokio::select! {
        () = ended => {}
        () = cut => tell("messages under way were cut; they are sent again".into()),
    }
    broken
}

/// Writes to the log, as long as somebody listens to it.
fn teller(events: mpsc::Sender<String>) -> Arc<dyn Fn(String) + Send + Sync> {
    Arc::new(move |event| {
        let _ = events.send(event);
    })
}

impl Verb for Run {
    fn run(&mut self, out: Output<'_>, log: Output<'_>, stop: &Stop) -> Result<(), JobError> {
        if self.options.check {
            return Ok(self.check(out)?);
        }
        Ok(self.work(out, log, stop)?)
    }
}
