//! `plumb lock watch`: which locks are lost, and which could be had, as it happens.

use std::sync::mpsc::{self, Receiver, Sender};

use clap::Args;
use plumb_engine::clock;
use plumb_engine::layer::{JobError, Output, Verb};
use plumb_engine::options::Apart;
use plumb_engine::{Extent, IntervalRecords, LoadPlan, Protocol, Sampler, Stage, Stop, Waiting};
use plumb_lock_server::plain;
use plumb_measure::{FailureKind, Span};
use plumb_wire::resp::{self, Reply};

use crate::LockError;
use crate::ask::PATIENCE;
use crate::dialogue::{Dialogue, FOREIGN, Greeted, Heard};
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
    /// It is told once, and again when an ENQ was refused by a lock there, and that has ended.
    /// Without a name it is a key of clients of Redis, `:KEY`: that is told once.
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

/// Listens to channels, and hands on what is said there. Meanwhile it asks for a sign of life, each time
/// a question of its own: while none is under way none can be overdue, however long this process
/// was itself held up.
struct Listener {
    channels: Vec<Vec<u8>>,
    /// Channels whose confirmation is to come.
    unconfirmed: usize,
    subscribed: bool,
    /// The connection that listened is gone; what another one says is no part of it.
    lost: bool,
    /// It asks now, and behind that again after a while.
    asks: bool,
    told: Sender<String>,
}

impl Listener {
    fn new(channels: Vec<Vec<u8>>, told: Sender<String>) -> Self {
        let unconfirmed = channels.len();
        Self { channels, unconfirmed, subscribed: false, lost: false, asks: true, told }
    }
}

impl Dialogue for Listener {
    fn opened(&mut self) {
        self.lost = self.subscribed;
    }

    fn pause(&mut self) -> Option<u64> {
        if self.lost {
            return None;
        }
        let asks = std::mem::replace(&mut self.asks, true);
        (!asks).then_some(LOOK_EVERY.ns())
    }

    fn ask(&mut self, out: &mut Vec<u8>) -> bool {
        if self.lost {
            return false;
        }
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
            _ if self.lost => return Ok(Heard::Aside),
            Reply::Array(words) => words,
            Reply::Error(text) => {
                return Err((FailureKind::Refused, format!("refused: {}", shown(text))));
            }
            _ => return Err((FailureKind::Garbled, FOREIGN.into())),
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
        let answers = match &*kind {
            "subscribe" => {
                self.unconfirmed = self.unconfirmed.saturating_sub(1);
                self.unconfirmed == 0
            }
            kind => kind == "pong",
        };
        Ok(if answers { Heard::Answer } else { Heard::Aside })
    }

    fn overhear(&mut self, reply: Reply<'_>) -> Result<(), (FailureKind, String)> {
        match self.hear(reply)? {
            Heard::Aside => Ok(()),
            Heard::Answer => Err((FailureKind::Garbled, FOREIGN.into())),
        }
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
        // nothing fails with a connection that ends between two questions
        let closed = (records.recorder.quiet_closes > 0).then_some(FailureKind::Closed);
        let lost = failed.or(closed);
        if self.lost.is_none() && lost.is_some() && !self.stop.asked() {
            self.lost = lost;
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
        let plan = LoadPlan {
            extent: Extent::For(WATCH_MAX),
            waiting: Waiting::Epoll,
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
        let address = endpoint.to_string();
        match (complaint, until.lost.map(lost)) {
            (Some(how), _) => Err(LockError::NoAnswer { address, how }),
            (None, Some(how)) => Err(LockError::Lost { address, how }),
            (None, None) => Ok(()),
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

#[cfg(test)]
mod tests {
    use plumb_engine::{Next, Op, Step};

    use super::*;
    use plumb_lock_server::Login;

    const ASKED: Op = Op { label: 0, tag: 0 };
    const PONG: &[u8] = b"*2\r\n$4\r\npong\r\n$0\r\n\r\n";

    struct Watched {
        listener: Greeted<Listener>,
        told: Receiver<String>,
    }

    impl Watched {
        fn new(login: Option<Login>, channels: &[&str]) -> Self {
            let (tell, told) = mpsc::channel();
            let channels = channels.iter().map(|name| name.as_bytes().to_vec()).collect();
            Self { listener: Greeted::new(login, Listener::new(channels, tell)), told }
        }

        /// Greets on a new connection; true when it said something.
        fn greets(&mut self) -> bool {
            self.listener.hello(&mut (), &mut (), &mut Vec::new()).is_some()
        }

        fn next(&mut self) -> (Next, String) {
            let mut out = Vec::new();
            let next = self.listener.encode(&mut (), &mut (), &mut out);
            (next, String::from_utf8(out).unwrap().lines().nth(2).unwrap_or_default().to_owned())
        }

        fn hears(&mut self, op: Option<Op>, bytes: &[u8]) -> Step {
            self.listener.decode(&mut (), &mut (), op, bytes, &mut Vec::new())
        }
    }

    fn confirmation(channel: &str) -> Vec<u8> {
        format!("*3\r\n$9\r\nsubscribe\r\n${}\r\n{channel}\r\n:1\r\n", channel.len()).into()
    }

    fn message(channel: &str, text: &str) -> Vec<u8> {
        let (of, length) = (channel.len(), text.len());
        format!("*3\r\n$7\r\nmessage\r\n${of}\r\n{channel}\r\n${length}\r\n{text}\r\n").into()
    }

    #[test]
    fn each_question_ends_with_its_own_answer_and_nothing_is_under_way_behind_it() {
        let mut watched = Watched::new(None, &["lock:lost:a", "lock:free:T:1"]);
        assert!(!watched.greets());
        assert_eq!(watched.next(), (Next::Send(ASKED), "SUBSCRIBE".into()));
        let first = watched.hears(Some(ASKED), &confirmation("lock:lost:a"));
        assert!(matches!(first, Step::Aside { .. }), "one of two: {first:?}");
        let both = watched.hears(Some(ASKED), &confirmation("lock:free:T:1"));
        assert!(matches!(both, Step::Done { .. }), "{both:?}");
        for _ in 0..2 {
            assert_eq!(watched.next().0, Next::Pause(LOOK_EVERY.ns()));
            let told = watched.hears(None, &message("lock:free:T:1", "free"));
            assert!(matches!(told, Step::Aside { .. }), "{told:?}");
            assert_eq!(watched.told.try_recv().as_deref(), Ok("free T:1"));
            assert_eq!(watched.next(), (Next::Send(ASKED), "PING".into()));
            let answer = watched.hears(Some(ASKED), PONG);
            assert!(matches!(answer, Step::Done { .. }), "{answer:?}");
        }
        assert_eq!(watched.listener.complaint(), None);
        watched.hears(None, b"-ERR closing\r\n");
        assert_eq!(watched.listener.complaint().as_deref(), Some("refused: ERR closing"));
    }

    #[test]
    fn what_another_connection_says_is_not_why_the_first_one_was_lost() {
        let login = Login { user: None, password: "secret".into() };
        let mut watched = Watched::new(Some(login), &["lock:events"]);
        assert!(watched.greets() && !watched.greets());
        assert_eq!(watched.next().0, Next::Send(ASKED));
        watched.hears(Some(ASKED), &confirmation("lock:events"));
        assert!(!watched.greets(), "the connection was lost, and another one stands");
        assert_eq!(watched.next().0, Next::Finish);
        watched.hears(None, b"-NOAUTH Authentication required.\r\n");
        assert_eq!(watched.listener.complaint(), None);
    }
}
