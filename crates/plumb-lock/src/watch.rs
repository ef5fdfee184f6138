//! `plumb lock watch`: which locks are lost, and which could be had, as it happens.

use std::sync::mpsc::{self, Sender};

use clap::Args;
use plumb_engine::clock;
use plumb_engine::layer::{JobError, Output, Verb};
use plumb_engine::options::Apart;
use plumb_engine::{LoadPlan, Protocol, Stage, Stop};
use plumb_measure::{FailureKind, Span};
use plumb_wire::resp::{self, Reply};

use crate::LockError;
use crate::ask::{PATIENCE, plain};
use crate::dialogue::{Dialogue, Greeted, Heard};
use crate::load::shown;
use crate::target::TargetOptions;

/// Nothing may happen for as long as that.
const SILENCE_MAX: Span = Span::from_ms(366 * 24 * 3_600_000);

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

/// Listens to channels, and hands on what is said there.
struct Listener {
    channels: Vec<Vec<u8>>,
    left: u64,
    told: Sender<String>,
}

impl Dialogue for Listener {
    fn ask(&mut self, out: &mut Vec<u8>) -> bool {
        let mut words: Vec<&[u8]> = vec![b"SUBSCRIBE"];
        words.extend(self.channels.iter().map(Vec::as_slice));
        resp::push_command(out, &words);
        true
    }

    fn hear(&mut self, reply: Reply<'_>) -> Result<Heard, (FailureKind, String)> {
        let mut words = match reply {
            Reply::Array(words) => words,
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
            // whoever printed it is gone when the program ends
            let _ = self.told.send(line(&channel, &message));
            self.left = self.left.wrapping_sub(1);
            if self.left == 0 {
                return Ok(Heard::Answer);
            }
        }
        Ok(Heard::Aside)
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
        let plan = LoadPlan { connect_timeout: PATIENCE, ..LoadPlan::lone(1, SILENCE_MAX) };
        let (told, messages) = mpsc::channel::<String>();
        let left = if self.options.count == 0 { u64::MAX } else { self.options.count };
        let (channels, login) = (self.channels(), target.login.clone());
        let load = std::thread::scope(|scope| {
            let printed = scope.spawn(move || -> std::io::Result<()> {
                for message in messages {
                    writeln!(out, "{} {message}", clock::utc(clock::wall_ns()))?;
                    out.flush()?;
                }
                Ok(())
            });
            let mut stage = Stage { endpoint: &endpoint, stop, samplers: &mut [], gate: None };
            let listener = || {
                let listener = Listener { channels: channels.clone(), left, told: told.clone() };
                Greeted::new(login.clone(), listener)
            };
            let load = target.drive(&plan, &mut stage, 1, listener);
            let load = load.map(|load| {
                (
                    load.protocols.iter().find_map(Protocol::complaint),
                    load.recorder.failures().total(),
                )
            });
            drop(told);
            let printed =
                printed.join().unwrap_or_else(|_| Err(std::io::Error::other("printing ended")));
            load.and_then(|load| Ok(printed.map(|()| load)?))
        })?;
        match load {
            (Some(how), _) => Err(LockError::NoAnswer { address: endpoint.to_string(), how }),
            (None, 1..) if !stop.asked() => {
                let how = "ended the connection".into();
                Err(LockError::NoAnswer { address: endpoint.to_string(), how })
            }
            _ => Ok(()),
        }
    }
}

impl Verb for Watch {
    fn run(&mut self, out: Output<'_>, _: Output<'_>, stop: &Stop) -> Result<(), JobError> {
        Ok(self.watch(out, stop)?)
    }
}
