//! Controller and remotes in a NATS server: who is there, and streams of bytes between two of them.
//!
//! A stream has a subject for each direction. Its pieces are numbered, because a server that was
//! away has passed some of them by: whoever misses one takes the other side for gone.

mod presence;
mod stream;
mod waiting;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_nats::{Client, ConnectOptions, Subscriber};
use futures_util::StreamExt as _;
use plumb_engine::clock::MonotonicClock;
use plumb_engine::{EngineError, Stop};
use tokio::runtime::Runtime;
use tokio::time::timeout;

use crate::message::Hello;
use plumb_measure::{Clock as _, RemoteQuery};

use presence::{are_named, found, present, told};

pub use presence::Presence;
pub use stream::{NatsReader, NatsWriter};
pub use waiting::Waiting;

/// What all subjects begin with.
const SUBJECT: &str = "plumb.remote";
/// How long remotes have to say that they are there, nanoseconds.
const CALL_NS: u64 = 2_000_000_000;
/// How long it is waited for another remote of a name that has answered.
const SECOND_NAME: Duration = Duration::from_millis(200);
/// How long a remote has to say whether it comes.
const ANSWER: Duration = Duration::from_secs(5);

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

impl NatsTarget {
    /// The same, with a URL of which is known that it is one.
    ///
    /// # Errors
    /// [`NatsError::NoUrl`], and [`NatsError::UserInUrl`] for one that says who is there.
    pub fn checked(self) -> Result<Self, NatsError> {
        let host = self.url.strip_prefix("nats://").or_else(|| self.url.strip_prefix("tls://"));
        match host {
            Some(host) if host.contains('@') => Err(NatsError::UserInUrl),
            Some(host) if !host.is_empty() => Ok(self),
            _ => Err(NatsError::NoUrl(self.url)),
        }
    }
}

/// Why a NATS server is of no use.
#[derive(Debug, thiserror::Error)]
pub enum NatsError {
    /// The URL is none.
    #[error("`{0}` is no URL of a NATS server: nats://HOST:PORT or tls://HOST:PORT")]
    NoUrl(String),
    /// A secret may stand in the URL.
    #[error("a user does not belong into the URL of a NATS server: give a file of credentials")]
    UserInUrl,
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
    /// It was not waited for.
    #[error(transparent)]
    Unasked(#[from] EngineError),
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

/// A connection to a NATS server.
#[derive(Debug)]
pub struct Nats {
    client: Client,
    url: String,
    threads: Arc<Runtime>,
}

impl Nats {
    /// Connects, unless `stop` is asked before the server has answered.
    ///
    /// # Errors
    /// [`NatsError`] when the server cannot be reached, or takes nobody like us.
    pub fn connect(target: &NatsTarget, stop: &Stop) -> Result<Self, NatsError> {
        let target = target.clone();
        stop.unless_asked(move || Self::connected(&target))?
    }

    fn connected(target: &NatsTarget) -> Result<Self, NatsError> {
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

    fn streams(&self, from: &str, to: &str) -> Result<(NatsReader, NatsWriter), NatsError> {
        let incoming = self.subscribe(format!("{SUBJECT}.stream.{from}"))?;
        let reader = NatsReader::of(incoming, &self.threads);
        let to = format!("{SUBJECT}.stream.{to}");
        Ok((reader, NatsWriter::to(self.client.clone(), Arc::clone(&self.threads), to)))
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

/// The subject on which the remote `name` is taken. Its points would be those of a subject.
fn taking(name: &str) -> String {
    format!("{SUBJECT}.take.{}", name.replace('.', "%"))
}
