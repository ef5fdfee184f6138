//! `plumb lock watch`: which locks are lost, and which could be had, as it happens.

use std::num::NonZeroUsize;
use std::sync::mpsc::{self, Receiver, Sender};

use clap::Args;
use plumb_engine::clock;
use plumb_engine::layer::{JobError, Output, Verb};
use plumb_engine::options::Apart;
use plumb_engine::{Extent, IntervalRecords, LoadPlan, Protocol, Sampler, Stage, Stop, Waiting};
use plumb_measure::{FailureKind, Span};
use plumb_wire::resp::{self, Reply};

use crate::LockError;
use crate::ask::{PATIENCE, plain};
use crate::dialogue::{Dialogue, Greeted, Heard};
use crate::load::shown;
use crate::target::TargetOptions;

/// It ends then at the latest.
const WATCH_MAX: Span = Span::from_ms(366 * 24 * 3_600_000);
/// The server is asked so often whether it is there: one whose machine is gone says nothing more, and
/// ends no connection.
const LOOK_EVERY: Span = Span::from_ms(3_000);

/// What is watched.
#[derive(Args, Clone, Debug)]
pub struct WatchOptions {
    /// The server.
    #[command(flatten)]
    pub target: Apart<TargetOptions>,

    /// Tell when this owner loses locks; repeatable [default: every owner]
    #[arg(long, value_name = "OWNER")]
    pub owner: Vec<String>,

    /// Tell when nobody holds a lock on this argument; repeatable
    ///
    /// Without a name it is a key of clients of Redis: `:KEY`.
    #[arg(long, value_name = "NAME:ARGUMENT")]
    pub free: Vec<String>,

    /// End after so many messages; 0: never
    #[arg(long, value_name = "N", default_value = "0")]
    pub count: u64,
}

/// Watches a server.
#[derive(Debug)]
pub struct Watch {
    options: WatchOptions,
}

/// Listens to channels, and hands on what is said there. Meanwhile it asks for a sign of life: the
/// answer to each question ends the one before it, so that one is under way at any time and a
/// connection that ends has failed.
struct Listener {
    channels: Vec<Vec<u8>>,
    subscribed: bool,
    /// It asks now, and behind that again after a while.
    asks: bool,
    told: Sender<String>,
}

impl Listener {
    fn new(channels: Vec<Vec<u8>>, told: Sender<String>) -> Self {
        Self { channels, subscribed: false, asks: true, told }
    }
}

impl Dialogue for Listener {
    fn pause(&mut self) -> Option<u64> {
        let asks = std::mem::replace(&mut self.asks, true);
        (!asks).then_some(LOOK_EVERY.ns())
    }

    fn ask(&mut self, out: &mut Vec<u8>) -> bool {
        let mut words: Vec<&[u8]> = vec![b"SUBSCRIBE"];
        if std::mem::replace(&mut self.subscribed, true) {
            words = vec![b"PING"];
        } else {
            words.extend(self.channels.iter().map(Vec::as_slice));
        }
        resp::push_command(out, &words);
        self.asks = false;
        true
    }

    fn hear(&mut self, reply: Reply<'_>) -> Result<Heard, (FailureKind, String)> {
        let mut words = match reply {
            Reply::Array(words) => words,
            // of a new connection, which listens to nothing: the load is about to end
            Reply::Simple(b"PONG") => return Ok(Heard::Answer),
            Reply::Error(text) => {
                return Err((FailureKind::Refused, format!("refused: {}", shown(text))));
            }
            _ => {
                let text = "does not speak RESP as a lock server does";
                return Err((FailureKind::Garbled, text.into()));
            }
        };
        let mut word = || match words.next() {
            Some(Reply::Bulk(text)) => plain(&String::from_utf8_lossy(text)),
            _ => String::new(),
        };
        let (kind, channel, message) = (word(), word(), word());
        if kind == "message" {
            // whoever printed it has ended the load when it is gone
            let _ = self.told.send(line(&channel, &message));
        }
        Ok(if kind == "pong" { Heard::Answer } else { Heard::Aside })
    }
}

/// Ends the load once its connection is lost: what is published meanwhile nobody would hear.
struct UntilLost<'a> {
    stop: &'a Stop,
    lost: Option<FailureKind>,
}

impl Sampler for UntilLost<'_> {
    fn interval(&mut self, records: &IntervalRecords) {
        let failed = records.recorder.failures().iter().next().map(|(kind, _)| kind);
        if self.lost.is_none() && failed.is_some() && !self.stop.asked() {
            self.lost = failed;
            self.stop.ask();
        }
    }
}

/// A message in words.
fn line(channel: &str, message: &str) -> String {
    let mut words = message.splitn(3, ' ');
    let (why, count) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    let owner = channel.strip_prefix("lock:lost:").or(words.next()).unwrap_or("");
    match channel.strip_prefix("lock:free:") {
        Some(lock) => format!("free {lock}"),
        None => format!("lost {why} {count} {owner}"),
    }
}

impl Watch {
    /// Watches as `options` say, once it runs.
    #[must_use]
    pub fn new(options: WatchOptions) -> Self {
        Self { options }
    }

    fn channels(&self) -> Vec<Vec<u8>> {
        let owners = self.options.owner.iter().map(|owner| format!("lock:lost:{owner}"));
        let free = self.options.free.iter().map(|lock| format!("lock:free:{lock}"));
        let mut channels: Vec<Vec<u8>> = owners.chain(free).map(String::into_bytes).collect();
        if channels.is_empty() {
            channels.push(b"lock:events".to_vec());
        }
        channels
    }

    fn watch(&self, out: Output<'_>, stop: &Stop) -> Result<(), LockError> {
        let target = self.options.target.resolve()?;
        let endpoint = target.reach(PATIENCE, stop)?;
        let two = NonZeroUsize::MIN.saturating_add(1);
        let plan = LoadPlan {
            depth: two,
            extent: Extent::For(WATCH_MAX),
            waiting: Waiting::Epoll,
            operation_timeout: Span::from_ns(LOOK_EVERY.ns() + PATIENCE.ns()),
            ..LoadPlan::lone(1, PATIENCE)
        };
        let (told, messages) = mpsc::channel::<String>();
        let count = if self.options.count == 0 { u64::MAX } else { self.options.count };
        let (channels, login) = (self.channels(), target.login.clone());
        let mut until = UntilLost { stop, lost: None };
        let complaint = std::thread::scope(|scope| {
            let printed = scope.spawn(move || {
                let printed = print(&messages, count, out);
                stop.ask(); // nobody hears more
                printed
            });
            let samplers: &mut [&mut dyn Sampler] = &mut [&mut until];
            let mut stage = Stage { endpoint: &endpoint, stop, samplers, gate: None };
            let listener =
                || Greeted::new(login.clone(), Listener::new(channels.clone(), told.clone()));
            let load = target.drive(&plan, &mut stage, 1, listener);
            let complaint = load.map(|load| load.protocols.iter().find_map(Protocol::complaint));
            drop(told);
            let printed =
                printed.join().unwrap_or_else(|_| Err(std::io::Error::other("printing ended")));
            complaint.and_then(|complaint| Ok(printed.map(|()| complaint)?))
        })?;
        let how = complaint.or_else(|| until.lost.map(lost).map(Into::into));
        match how {
            Some(how) => Err(LockError::NoAnswer { address: endpoint.to_string(), how }),
            None => Ok(()),
        }
    }
}

/// Prints messages as they come, `count` of them.
fn print(messages: &Receiver<String>, count: u64, out: Output<'_>) -> std::io::Result<()> {
    for _ in 0..count {
        let Ok(message) = messages.recv() else { break };
        writeln!(out, "{} {message}", clock::utc(clock::wall_ns()))?;
        out.flush()?;
    }
    Ok(())
}

/// How a connection was lost.
fn lost(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::TimedOut => "does not answer any more",
        _ => "ended the connection",
    }
}

impl Verb for Watch {
    fn run(&mut self, out: Output<'_>, _: Output<'_>, stop: &Stop) -> Result<(), JobError> {
        Ok(self.watch(out, stop)?)
    }
}
