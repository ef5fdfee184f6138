//! The spool from outside: list, send again, delete.

use std::path::PathBuf;

use clap::Args;
use plumb_engine::Stop;
use plumb_engine::clock::utc;
use plumb_engine::layer::{JobError, Output, Verb};
use plumb_measure::{counted, grouped};

use crate::AgentError;
use crate::run::SPOOL;
use crate::spool::{Asked, Chosen, Ledger, QueueName, Shown, SpoolView};

/// Which messages to list.
#[derive(Args, Clone, Debug)]
pub struct ListOptions {
    /// The queue; without one, how many messages wait, failed and expired, agent by agent
    #[arg(value_name = "QUEUE")]
    pub queue: Option<QueueName>,

    /// The folder of the spool
    #[arg(long, value_name = "FOLDER", default_value = SPOOL)]
    pub spool: PathBuf,

    /// Only of this agent
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,

    /// List so many messages at most
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub most: u64,

    /// Print JSON, a line each
    #[arg(long)]
    pub json: bool,
}

/// Which messages to send again or delete.
#[derive(Args, Clone, Debug)]
pub struct AskOptions {
    /// The queue
    #[arg(value_name = "QUEUE")]
    pub queue: QueueName,

    /// The folder of the spool
    #[arg(long, value_name = "FOLDER", default_value = SPOOL)]
    pub spool: PathBuf,

    /// Only of this agent
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,

    /// Only this message, by its number in the list
    #[arg(long, value_name = "NUMBER")]
    pub message: Option<i64>,
}

/// Listing as a job.
#[derive(Debug)]
pub struct ListQueue(ListOptions);

impl ListQueue {
    /// Takes the options.
    #[must_use]
    pub fn new(options: ListOptions) -> Self {
        Self(options)
    }

    fn list(&self, out: Output<'_>) -> Result<(), AgentError> {
        let ListOptions { queue, spool, agent, most, json } = &self.0;
        let view = SpoolView::open(spool)?;
        let Some(queue) = queue else {
            let ledgers = view.ledgers()?;
            let wanted = |ledger: &&Ledger| agent.as_ref().is_none_or(|name| *name == ledger.name);
            for ledger in ledgers.iter().filter(wanted) {
                if *json {
                    writeln!(out, "{}", in_json(ledger))?;
                } else {
                    write!(out, "{}", in_words(ledger))?;
                }
            }
            return Ok(());
        };
        let chosen = Chosen { queue: *queue, agent: agent.clone(), message: None };
        for shown in view.list(&chosen, *most)? {
            if *json {
                writeln!(out, "{}", serde_json::to_string(&shown).unwrap_or_default())?;
            } else {
                writeln!(out, "{}", line(&shown))?;
            }
        }
        Ok(())
    }
}

impl Verb for ListQueue {
    fn run(&mut self, out: Output<'_>, _: Output<'_>, _: &Stop) -> Result<(), JobError> {
        Ok(self.list(out)?)
    }
}

/// Sending again or deleting as a job.
#[derive(Debug)]
pub struct Ask {
    asked: Asked,
    options: AskOptions,
    interrupted: bool,
}

impl Ask {
    /// Has messages sent again.
    ///
    /// # Errors
    /// [`AgentError::Wrong`] for the main queue, which is sent anyway.
    pub fn send(options: AskOptions) -> Result<Self, AgentError> {
        if options.queue == QueueName::Main {
            let problem = "what is in `main` is sent anyway: name `failed` or `expired`";
            return Err(AgentError::Wrong(problem.into()));
        }
        Ok(Self { asked: Asked::Send, options, interrupted: false })
    }

    /// Has messages deleted.
    #[must_use]
    pub fn delete(options: AskOptions) -> Self {
        Self { asked: Asked::Delete, options, interrupted: false }
    }
}

impl Verb for Ask {
    fn run(&mut self, out: Output<'_>, _: Output<'_>, stop: &Stop) -> Result<(), JobError> {
        let AskOptions { queue, spool, agent, message } = self.options.clone();
        let view = SpoolView::open(&spool)?;
        let chosen = Chosen { queue, agent, message };
        let Some(count) = view.ask(self.asked, &chosen, stop)? else {
            self.interrupted = true;
            return Ok(());
        };
        let count = counted(count, "message");
        match self.asked {
            Asked::Send => writeln!(out, "{count} back in the main queue")?,
            Asked::Delete => writeln!(out, "{count} deleted")?,
        }
        Ok(())
    }

    fn was_interrupted(&self) -> bool {
        self.interrupted
    }
}

fn line(shown: &Shown) -> String {
    let Shown { message, agent, changes, bytes, at_ms, attempts, error } = shown;
    let at = utc(at_ms.saturating_mul(1_000_000));
    let attempts = counted(u64::from(*attempts), "attempt");
    let why = error.as_ref().map_or(String::new(), |error| format!(": {error}"));
    let changes = counted(*changes, "change");
    format!("{message} {agent} {at} {changes}, {} bytes, {attempts}{why}", grouped(*bytes))
}

fn in_words(ledger: &Ledger) -> String {
    let mut text = format!("{}\n", ledger.name);
    let mut row = |what: &str, changes: u64, messages: Option<u64>| {
        let messages =
            messages.map_or(String::new(), |it| format!(" in {}", counted(it, "message")));
        text.push_str(&format!("  {what:<12}{:>15}{messages}\n", grouped(changes)));
    };
    row("produced", ledger.produced, None);
    row("delivered", ledger.delivered, Some(ledger.delivered_messages));
    row("main", ledger.main.changes, Some(ledger.main.messages));
    row("failed", ledger.failed.changes, Some(ledger.failed.messages));
    row("expired", ledger.expired.changes, Some(ledger.expired.messages));
    row("dropped", ledger.dropped, None);
    row("deleted", ledger.deleted, None);
    row("never seen", ledger.never_seen, None);
    if !ledger.closes() {
        text.push_str("  these do not add up to what was produced: the spool is damaged\n");
    }
    text
}

fn in_json(ledger: &Ledger) -> serde_json::Value {
    let stock = |stock: crate::spool::Stock| {
        serde_json::json!({
            "messages": stock.messages, "changes": stock.changes, "bytes": stock.bytes
        })
    };
    serde_json::json!({
        "agent": ledger.name,
        "seen": ledger.seen,
        "never_seen": ledger.never_seen,
        "produced": ledger.produced,
        "delivered": ledger.delivered,
        "delivered_messages": ledger.delivered_messages,
        "main": stock(ledger.main),
        "failed": stock(ledger.failed),
        "expired": stock(ledger.expired),
        "dropped": ledger.dropped,
        "deleted": ledger.deleted,
        "closes": ledger.closes(),
    })
}
