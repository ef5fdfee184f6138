//! Controller and remotes in a NATS server: who is there, and streams of bytes between two of them.
//!
//! A stream has a subject for each direction. Its pieces are numbered, because a server that was
//! away has passed some of them by: whoever misses one takes the other side for gone.

mod stream;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use async_nats::{Client, ConnectOptions, Subscriber};
use futures_util::StreamExt as _;
use plumb_engine::clock::MonotonicClock;
use serde::{Deserialize, Serialize};
use tokio::runtime::Runtime;
use tokio::time::timeout;

use crate::message::{Hello, read, written};
use plumb_measure::{Clock as _, RemoteQuery, remote_name};

pub use stream::{NatsReader, NatsWriter};

/// What all subjects begin with.
const SUBJECT: &str = "plumb.remote";
/// How long remotes have to say that they are there, nanoseconds.
const CALL_NS: u64 = 2_000_000_000;
/// How long it is waited for another remote of a name that has answered.
const SECOND_NAME: Duration = Duration::from_millis(200);
/// How long a remote has to say whether it comes.
const ANSWER: Duration = Duration::from_secs(5);
/// The longest name of a conversation, bytes.
const SESSION_MAX: usize = 64;

/// The variables of the environment that make a [`NatsTarget`], in the order of its fields.
pub const NATS_VARIABLES: [&str; 4] =
    ["PLUMB_NATS_URL", "PLUMB_NATS_CREDENTIALS", "PLUMB_NATS_NKEY", "PLUMB_NATS_CA"];

/// Where the NATS server is, and who we are there.
#[derive(Clone, Debug, Default)]
pub struct NatsTarget {
    /// `nats://host:4222`, or `tls://host:4222`.
    pub url: String,
    /// A file of credentials: the token of a user, and its key.
    pub credentials: Option<PathBuf>,
    /// A file with the seed of an NKey.
    pub nkey: Option<PathBuf>,
    /// A file with the certificate of whoever signed the server's.
    pub ca: Option<PathBuf>,
}

/// Why a NATS server is of no use.
#[derive(Debug, thiserror::Error)]
pub enum NatsError {
    /// A file cannot be read.
    #[error("{}: {cause}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// It cannot be reached, or refuses.
    #[error("the NATS server at {url}: {cause}")]
    Refused {
        /// Where.
        url: String,
        /// In the client's words.
        cause: String,
    },
    /// There are no threads.
    #[error("{0}")]
    Threads(std::io::Error),
    /// Nobody is there who was asked for.
    #[error("no remote for `{asked}`; {there}")]
    Nobody {
        /// Which were asked for.
        asked: String,
        /// Who is there.
        there: String,
    },
    /// A remote does not come.
    #[error("{name}: {why}")]
    Refuses {
        /// The remote.
        name: String,
        /// In its own words.
        why: String,
    },
}

/// Who is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Presence {
    /// Who it is.
    pub hello: Hello,
    /// True while it works for a controller.
    pub busy: bool,
}

/// A connection to a NATS server.
#[derive(Debug)]
pub struct Nats {
    client: Client,
    url: String,
    threads: Arc<Runtime>,
}

impl Nats {
    /// Connects.
    ///
    /// # Errors
    /// [`NatsError`] when the server cannot be reached, or takes nobody like us.
    pub fn connect(target: &NatsTarget) -> Result<Self, NatsError> {
        let threads = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("nats")
            .enable_all()
            .build()
            .map_err(NatsError::Threads)?;
        let refused = |cause: String| NatsError::Refused { url: target.url.clone(), cause };
        let client = threads.block_on(options(target)?.connect(&target.url));
        let client = client.map_err(|error| refused(error.to_string()))?;
        Ok(Self { client, url: target.url.clone(), threads: Arc::new(threads) })
    }

    fn refused(&self, cause: impl std::fmt::Display) -> NatsError {
        NatsError::Refused { url: self.url.clone(), cause: cause.to_string() }
    }

    fn subscribe(&self, subject: String) -> Result<Subscriber, NatsError> {
        let subscribed = self.threads.block_on(self.client.subscribe(subject));
        let subscribed = subscribed.map_err(|error| self.refused(error))?;
        // the server knows of it before anybody is told where to speak
        self.threads.block_on(self.client.flush()).map_err(|error| self.refused(error))?;
        Ok(subscribed)
    }

    /// The remotes that are there, by name: everybody who answers in time, or those that `query` names
    /// and whoever else answers until then.
    ///
    /// # Errors
    /// [`NatsError::Refused`].
    fn who_is_there(&self, query: &RemoteQuery) -> Result<Vec<Presence>, NatsError> {
        let inbox = self.client.new_inbox();
        let mut answers = self.subscribe(inbox.clone())?;
        let call =
            self.client.publish_with_reply(format!("{SUBJECT}.who"), inbox, Vec::new().into());
        self.threads.block_on(call).map_err(|error| self.refused(error))?;
        let mut there: Vec<Presence> = Vec::new();
        self.threads.block_on(async {
            // nobody knows how many there are
            let until_ns = MonotonicClock.now_ns() + CALL_NS;
            loop {
                let left_ns = until_ns.saturating_sub(MonotonicClock.now_ns());
                let left = Duration::from_nanos(left_ns);
                // another one may be called the same
                let patience = if are_named(query, &there) { left.min(SECOND_NAME) } else { left };
                let Ok(Some(answer)) = timeout(patience, answers.next()).await else { break };
                there.extend(present(&answer.payload));
            }
        });
        there.sort_by(|one, two| one.hello.name.cmp(&two.hello.name));
        Ok(there)
    }

    /// Those that `query` asks for.
    ///
    /// # Errors
    /// [`NatsError::Nobody`] when one that is named is not there or busy, or nobody is free.
    pub fn there(&self, query: &RemoteQuery) -> Result<Vec<Hello>, NatsError> {
        let until_ns = MonotonicClock.now_ns() + CALL_NS;
        let (there, found) = loop {
            let there = self.who_is_there(query)?;
            let found = found(query, &there);
            // one that has just ended a run is busy for a moment
            let may_come = found.is_empty() && are_named(query, &there);
            if !may_come || MonotonicClock.now_ns() > until_ns {
                break (there, found);
            }
        };
        let twice =
            found.iter().find(|name| there.iter().filter(|it| it.hello.name == **name).count() > 1);
        match twice {
            Some(name) => Err(NatsError::Refuses {
                name: name.clone(),
                why: "several remotes are called so: give each a --name of its own".into(),
            }),
            None if found.is_empty() => {
                Err(NatsError::Nobody { asked: query.to_string(), there: told(&there) })
            }
            None => {
                let hello = |name: &String| there.iter().find(|it| it.hello.name == *name);
                Ok(found.iter().filter_map(hello).map(|it| it.hello.clone()).collect())
            }
        }
    }

    /// Takes the remote `name`: what it says, and what is said to it.
    ///
    /// # Errors
    /// [`NatsError::Refuses`] when it does not come.
    pub fn take(&self, name: &str) -> Result<(NatsReader, NatsWriter), NatsError> {
        let inbox = self.client.new_inbox();
        let session = inbox.rsplit('.').next().unwrap_or(&inbox);
        let streams = self.streams(&format!("{session}.back"), &format!("{session}.to"))?;
        let refuses = |why: String| NatsError::Refuses { name: name.to_owned(), why };
        let asked = self.client.request(taking(name), session.to_owned().into());
        match self.threads.block_on(async { timeout(ANSWER, asked).await }) {
            Ok(Ok(answer)) if answer.payload.is_empty() => Ok(streams),
            Ok(Ok(answer)) => Err(refuses(String::from_utf8_lossy(&answer.payload).into_owned())),
            Ok(Err(error)) => Err(refuses(error.to_string())),
            Err(_) => Err(refuses("it does not answer".into())),
        }
    }

    /// Waits for controllers as the remote `hello`.
    ///
    /// # Errors
    /// [`NatsError::Refused`].
    pub fn wait(self, hello: Hello) -> Result<Waiting, NatsError> {
        let who = self.subscribe(format!("{SUBJECT}.who"))?;
        let take = self.subscribe(taking(&hello.name))?;
        let (sender, sessions) = mpsc::channel();
        let sessions = Sessions { busy: Arc::default(), accepted: sessions, at_work: false };
        let busy = Arc::clone(&sessions.busy);
        self.threads.spawn(answer(self.client.clone(), hello, (who, take), busy, sender));
        Ok(Waiting { nats: self, sessions })
    }

    fn streams(&self, from: &str, to: &str) -> Result<(NatsReader, NatsWriter), NatsError> {
        let incoming = self.subscribe(format!("{SUBJECT}.stream.{from}"))?;
        let reader = NatsReader::of(incoming, &self.threads);
        let to = format!("{SUBJECT}.stream.{to}");
        Ok((reader, NatsWriter::to(self.client.clone(), Arc::clone(&self.threads), to)))
    }
}

/// A remote that waits for controllers.
#[derive(Debug)]
pub struct Waiting {
    nats: Nats,
    sessions: Sessions,
}

impl Waiting {
    /// The next controller that takes this remote, within `patience`: what it says, and what is said
    /// to it. The one before is over.
    ///
    /// # Errors
    /// [`NatsError::Refused`].
    pub fn next(
        &mut self,
        patience: Duration,
    ) -> Result<Option<(NatsReader, NatsWriter)>, NatsError> {
        match self.sessions.next(patience) {
            Ok(session) => {
                self.nats.streams(&format!("{session}.to"), &format!("{session}.back")).map(Some)
            }
            Err(mpsc::RecvTimeoutError::Timeout) => Ok(None),
            Err(mpsc::RecvTimeoutError::Disconnected) => Err(self.nats.refused("it has gone")),
        }
    }
}

/// The conversations of a remote, one after the other.
#[derive(Debug)]
struct Sessions {
    /// From when a controller was told that the remote comes until the remote has done with it.
    busy: Arc<AtomicBool>,
    /// Conversations to which the remote said that it comes.
    accepted: Receiver<String>,
    /// One of them has been given out.
    at_work: bool,
}

impl Sessions {
    /// The next, within `patience`; the one before is over.
    fn next(&mut self, patience: Duration) -> Result<String, mpsc::RecvTimeoutError> {
        // one that was accepted meanwhile keeps the remote busy
        if std::mem::take(&mut self.at_work) {
            self.busy.store(false, Ordering::SeqCst);
        }
        let session = self.accepted.recv_timeout(patience)?;
        self.at_work = true;
        Ok(session)
    }
}

/// Says who is there, and comes when it is free.
async fn answer(
    client: Client,
    hello: Hello,
    (mut who, mut take): (Subscriber, Subscriber),
    busy: Arc<AtomicBool>,
    sessions: Sender<String>,
) {
    loop {
        let (inbox, answer) = tokio::select! {
            Some(call) = who.next() => {
                let presence = Presence { hello: hello.clone(), busy: busy.load(Ordering::SeqCst) };
                (call.reply, written(&presence).unwrap_or_default())
            }
            Some(call) = take.next() => {
                let session = String::from_utf8_lossy(&call.payload).into_owned();
                let plain = (1..=SESSION_MAX).contains(&session.len())
                    && session.bytes().all(|byte| byte.is_ascii_alphanumeric());
                let answer = if !plain {
                    "that names no conversation"
                } else if busy.swap(true, Ordering::SeqCst) {
                    "it works for another controller"
                } else if sessions.send(session).is_err() {
                    break;
                } else {
                    ""
                };
                (call.reply, answer.to_owned())
            }
            else => break,
        };
        if let Some(inbox) = inbox {
            let _ = client.publish(inbox, answer.into()).await; // who asked may be gone
        }
    }
}

fn options(target: &NatsTarget) -> Result<ConnectOptions, NatsError> {
    let error = |path: &PathBuf, cause| NatsError::File { path: path.clone(), cause };
    let text = |path: &PathBuf| std::fs::read_to_string(path).map_err(|cause| error(path, cause));
    let mut options = ConnectOptions::new().name("plumb").request_timeout(Some(ANSWER));
    if let Some(file) = &target.credentials {
        options = options.credentials(&text(file)?).map_err(|cause| error(file, cause))?;
    }
    if let Some(file) = &target.nkey {
        options = options.nkey(text(file)?.trim_start_matches('\u{feff}').trim().to_owned());
    }
    if let Some(file) = &target.ca {
        text(file)?;
        options = options.add_root_certificates(file.clone());
    }
    Ok(options)
}

/// Who says in `payload` that he is there. Subjects and files are called by his name, so whoever has
/// none that can be one is not.
fn present(payload: &[u8]) -> Option<Presence> {
    let presence: Presence = read(std::str::from_utf8(payload).ok()?).ok()?;
    remote_name(&presence.hello.name).is_ok().then_some(presence)
}

/// The subject on which the remote `name` is taken. Its points would be those of a subject.
fn taking(name: &str) -> String {
    format!("{SUBJECT}.take.{}", name.replace('.', "%"))
}

/// True when `query` names its remotes, and all of them are there.
fn are_named(query: &RemoteQuery, there: &[Presence]) -> bool {
    match query {
        RemoteQuery::Names(names) => {
            names.iter().all(|name| there.iter().any(|it| it.hello.name == *name))
        }
        RemoteQuery::All | RemoteQuery::Labels(_) => false,
    }
}

fn found(query: &RemoteQuery, there: &[Presence]) -> Vec<String> {
    let free = || there.iter().filter(|it| !it.busy).map(|it| &it.hello);
    match query {
        RemoteQuery::All => free().map(|hello| hello.name.clone()).collect(),
        RemoteQuery::Labels(labels) => free()
            .filter(|hello| labels.iter().all(|(key, value)| hello.labels.get(key) == Some(value)))
            .map(|hello| hello.name.clone())
            .collect(),
        RemoteQuery::Names(names) => {
            let is_free = |name: &String| free().any(|hello| hello.name == *name);
            if names.iter().all(is_free) { names.clone() } else { Vec::new() }
        }
    }
}

/// Who is there, for whoever looked for somebody else.
fn told(there: &[Presence]) -> String {
    if there.is_empty() {
        return "none is there: start `plumb remote --nats` on each machine".into();
    }
    let each = there.iter().map(|Presence { hello, busy }| {
        let labels: String =
            hello.labels.iter().map(|(key, value)| format!(" {key}={value}")).collect();
        format!("{}{labels}{}", hello.name, if *busy { " (busy)" } else { "" })
    });
    format!("there: {}", each.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn presence(name: &str, labels: &[(&str, &str)], busy: bool) -> Presence {
        let labels = labels.iter().map(|(key, value)| (key.to_string(), value.to_string()));
        let hello = Hello { name: name.into(), labels: labels.collect(), ..Hello::default() };
        Presence { hello, busy }
    }

    #[test]
    fn remotes_are_found_by_name_and_label_when_they_are_free() {
        let there = [
            presence("a", &[("site", "x"), ("role", "user")], false),
            presence("b.c", &[("site", "x")], false),
            presence("d", &[("site", "x")], true),
        ];
        let found = |query: &str| found(&query.parse().unwrap(), &there);
        assert_eq!(found("all"), ["a", "b.c"]);
        assert_eq!(found("site=x"), ["a", "b.c"]);
        assert_eq!(found("role=user,site=x"), ["a"]);
        assert_eq!(found("b.c,a"), ["b.c", "a"], "in the order asked for");
        for nobody in ["d", "a,d", "a,nobody", "site=y"] {
            assert!(found(nobody).is_empty(), "{nobody}");
        }
        assert_eq!(told(&there), "there: a role=user site=x, b.c site=x, d site=x (busy)");
    }

    #[test]
    fn a_remote_that_was_taken_between_two_looks_stays_busy() {
        let (accept, accepted) = mpsc::channel();
        let mut sessions = Sessions { busy: Arc::default(), accepted, at_work: false };
        let busy = Arc::clone(&sessions.busy);
        let is_busy = || busy.load(Ordering::SeqCst);
        assert!(sessions.next(Duration::ZERO).is_err() && !is_busy());
        // as the answer to a controller that takes it
        busy.store(true, Ordering::SeqCst);
        accept.send("one".to_owned()).unwrap();
        assert_eq!(sessions.next(Duration::ZERO).as_deref(), Ok("one"));
        assert!(is_busy());
        assert!(sessions.next(Duration::ZERO).is_err() && !is_busy(), "that one is over");
    }

    #[test]
    fn whoever_has_no_name_is_not_there() {
        let said = |name: &str| written(&presence(name, &[], false)).unwrap().into_bytes();
        assert_eq!(present(&said("app-1")).map(|it| it.hello.name).as_deref(), Some("app-1"));
        for name in ["..", "/home/op", "a/b", "a b", "a\r\nPUB x 0", ""] {
            assert_eq!(present(&said(name)), None, "{name}");
        }
        assert_eq!(present(b"app-1"), None);
    }
}
