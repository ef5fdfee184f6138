//! What can be tuned: one structure for the options file and for everything behind it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use plumb_engine::Cidr;
use plumb_measure::{ByteSize, Span};
use plumb_serve::database::holds_password;
use plumb_serve::settings::{check_counts, check_header_size, check_users, cidrs, kib};
use plumb_serve::{ConnectionLimits, TlsFiles};
use plumb_wire::document;
use serde::Deserialize;

use crate::FlowError;
use crate::executor::ExecutorSettings;
use plumb_transaction::{Accepts, Retry};

/// All settings, as a TOML file says them; what is not said has its default.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Config {
    /// Addresses to listen on; the command line goes before them.
    pub(crate) listen: Vec<String>,
    /// Who may connect; empty: everybody who can reach an address.
    #[serde(deserialize_with = "cidrs")]
    pub(crate) allow: Vec<Cidr>,
    /// Names by which it is asked beside its addresses, while nobody has to log on.
    pub(crate) names: Vec<String>,
    /// Certificate and key; absent: no TLS.
    pub(crate) tls: Option<TlsFiles>,
    pub(crate) front: FrontConfig,
    pub(crate) executions: ExecutionsConfig,
    pub(crate) workers: WorkersConfig,
    pub(crate) queue: QueueConfig,
    /// When a message that failed is tried again whose transaction says nothing of it.
    pub(crate) retry: Retry,
    /// Names and passwords of those who may log on; empty, and no tokens: everybody.
    pub(crate) users: BTreeMap<String, String>,
    /// Names and tokens of those who may log on with one.
    pub(crate) tokens: BTreeMap<String, String>,
    /// Where messages go that name no transaction; the first that fits.
    pub(crate) route: Vec<RouteConfig>,
}

/// The front: connections, and requests under way.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct FrontConfig {
    /// Threads of the front.
    pub(crate) threads: usize,
    /// Connections at once; one more is answered with 503 and closed.
    pub(crate) connections: usize,
    /// Bytes of a request line with its headers, at least 8 KiB.
    pub(crate) header_size: ByteSize,
    /// Bytes of a document.
    pub(crate) body_size: ByteSize,
    /// Bytes of all documents that are being read or waited for.
    pub(crate) memory: ByteSize,
    /// A connection without a complete request head for this long is closed.
    pub(crate) keep_alive: Span,
    /// A handshake must be complete, a document have arrived and an answer be taken within this.
    pub(crate) stall: Span,
    /// What is under way when the server is told to stop has this long to finish.
    pub(crate) farewell: Span,
}

impl Default for FrontConfig {
    fn default() -> Self {
        Self {
            threads: 2,
            connections: 1_000,
            header_size: kib(16),
            body_size: kib(16 << 10),
            memory: kib(256 << 10),
            keep_alive: Span::from_ms(60_000),
            stall: Span::from_ms(30_000),
            farewell: Span::from_ms(10_000),
        }
    }
}

/// Synchronous calls.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct ExecutionsConfig {
    /// Threads, each with one call at a time.
    pub(crate) threads: usize,
    /// Calls that may wait for one of them; one more is answered with 503.
    pub(crate) queue: usize,
    /// Bytes of a trace.
    pub(crate) trace_size: ByteSize,
}

impl Default for ExecutionsConfig {
    fn default() -> Self {
        Self { threads: 16, queue: 500, trace_size: kib(64) }
    }
}

/// Messages of the queue.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct WorkersConfig {
    /// Threads, each with one batch at a time.
    pub(crate) threads: usize,
    /// Messages that are done and committed together, at most.
    pub(crate) batch: usize,
}

impl Default for WorkersConfig {
    fn default() -> Self {
        Self { threads: 4, batch: 100 }
    }
}

/// The queue.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct QueueConfig {
    /// Its folder, made when it is not there.
    pub(crate) folder: PathBuf,
    /// `postgres://USER@HOST:PORT/NAME` or `nats://HOST:PORT`: the queue is there instead, shared
    /// with other servers.
    pub(crate) url: Option<String>,
    /// A file whose first line is the password of the user in `url`, or the token for a NATS server
    /// where `url` names no user.
    pub(crate) password_file: Option<PathBuf>,
    /// Messages that a server has under way are taken over when it has not been heard of for so
    /// long.
    pub(crate) lease: Span,
    /// Messages that may wait; one more is answered with 429.
    pub(crate) messages: u64,
    /// Bytes that may wait.
    pub(crate) size: ByteSize,
}

impl Default for QueueConfig {
    fn default() -> Self {
        Self {
            folder: "plumb-flow-queue".into(),
            url: None,
            password_file: None,
            lease: Span::from_ms(10_000),
            messages: 1_000_000,
            size: kib(4 << 20),
        }
    }
}

impl QueueConfig {
    /// What is wrong with `url`, which may hold a password and so is not repeated.
    fn problem_of_url(&self) -> Option<&'static str> {
        let url = self.url.as_deref()?;
        if !["postgres://", "postgresql://", "nats://"].iter().any(|kind| url.starts_with(kind)) {
            return Some(
                "queue.url is neither postgres://USER@HOST:PORT/NAME nor nats://HOST:PORT; the \
                 folder of a queue on this machine is queue.folder",
            );
        }
        holds_password(url).then_some(
            "a password stands in queue.url: write the URL without it, and the password into a \
             file that queue.password-file names",
        )
    }
}

/// Where messages go that name no transaction: all that is said has to hold.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RouteConfig {
    /// To this transaction.
    pub(crate) transaction: String,
    element: Option<String>,
    idoc: Option<String>,
    message: Option<String>,
    header: Option<String>,
}

impl RouteConfig {
    /// Those that are meant.
    pub(crate) fn accepts(&self) -> Accepts {
        let Self { element, idoc, message, header, .. } = self.clone();
        Accepts { element, idoc, message, header }
    }
}

impl Config {
    /// The settings in the file at `path`.
    ///
    /// # Errors
    /// [`FlowError`] with line, column and what to write instead.
    pub(crate) fn read(path: &Path) -> Result<Self, FlowError> {
        let text =
            std::fs::read_to_string(path).map_err(|error| FlowError::unreadable(path, error))?;
        Self::parse(&text, path)
    }

    /// The settings that `text`, the file at `path`, says.
    fn parse(text: &str, path: &Path) -> Result<Self, FlowError> {
        document::read(text)
            .map_err(|wrong| FlowError::Wrong(format!("{}, {wrong}", path.display())))
    }

    /// Refuses what cannot work, with the name of the setting.
    pub(crate) fn check(&self) -> Result<(), FlowError> {
        let counts = [
            ("front.threads", self.front.threads, 64),
            ("front.connections", self.front.connections, 1_000_000),
            ("executions.threads", self.executions.threads, 1_000),
            ("executions.queue", self.executions.queue, 1_000_000),
            ("workers.threads", self.workers.threads, 1_000),
            ("workers.batch", self.workers.batch, 10_000),
        ];
        check_counts(counts)?;
        check_header_size(self.front.header_size)?;
        let plan = |problem: &str| Err(FlowError::Plan(problem.into()));
        if self.front.memory < self.front.body_size {
            return plan("front.memory must hold a document at least: raise it to front.body-size");
        }
        if self.queue.lease < Span::from_ms(3_000) {
            return plan("queue.lease must be at least 3s: it is renewed each second");
        }
        if self.queue.messages == 0 {
            return plan("queue.messages is 0: write how many may wait");
        }
        if let Some(problem) = self.queue.problem_of_url() {
            return plan(problem);
        }
        if let Some(problem) = self.retry.problem() {
            return Err(FlowError::Plan(format!("retry: {problem}")));
        }
        for route in &self.route {
            if let Some(problem) = route.accepts().problem() {
                let name = &route.transaction;
                return Err(FlowError::Plan(format!("the route to `{name}`: {problem}")));
            }
        }
        self.check_accounts()
    }

    fn check_accounts(&self) -> Result<(), FlowError> {
        check_users(&self.users)?;
        let short = self.tokens.iter().find(|(_, token)| token.len() < 16);
        if let Some((name, _)) = short {
            let problem =
                format!("the token of `{name}` has less than 16 characters and can be guessed");
            return Err(FlowError::Plan(problem));
        }
        Ok(())
    }

    /// Who may come in, how many, and how long they may take.
    pub(crate) fn connection_limits(&self) -> ConnectionLimits {
        ConnectionLimits {
            allow: self.allow.clone(),
            connections: self.front.connections,
            header_size: self.front.header_size,
            keep_alive: self.front.keep_alive,
            stall: self.front.stall,
        }
    }

    pub(crate) fn executor(&self) -> ExecutorSettings {
        ExecutorSettings {
            executions: self.executions.threads,
            calls: self.executions.queue,
            workers: self.workers.threads,
            batch: self.workers.batch,
            retry: self.retry,
            trace_size: usize::try_from(self.executions.trace_size.bytes()).unwrap_or(usize::MAX),
        }
    }

    /// True when somebody has to log on.
    pub(crate) fn has_accounts(&self) -> bool {
        !self.users.is_empty() || !self.tokens.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use plumb_mutation::mutated;

    const ALL: &[&str] = &[
        "listen = [\"127.0.0.1:50000\"]\nallow = [\"10.1.0.0/16\"]\n\
         names = [\"erp\"]\n[tls]\ncert = \"c\"\nkey = \"k\"\n\
         [users]\nanna = \"secret\"\n[tokens]\nline-1 = \"0123456789abcdef\"\n[front]\nthreads = 2\n\
         connections = 1000\nheader-size = \"16KiB\"\nbody-size = \"16MiB\"\nmemory = \"256MiB\"\n\
         keep-alive = \"60s\"\nstall = \"30s\"\nfarewell = \"10s\"\n",
        "[executions]\nthreads = 16\nqueue = 500\ntrace-size = \"64KiB\"\n[workers]\nthreads = 4\n\
         batch = 100\n[queue]\nfolder = \"q\"\nlease = \"10s\"\nmessages = 1000000\nsize = \"4GiB\"\n\
         [retry]\ntimes = 3\ninterval = \"30s\"\nfactor = 1\n[[route]]\nidoc = \"LOIPRO01\"\n\
         transaction = \"components\"\n",
    ];

    proptest! {
        #[test]
        fn what_is_nearly_right_is_read_or_refused_with_its_place(text in mutated(ALL)) {
            match Config::parse(&text, Path::new("s.toml")) {
                // settings that are right one by one are judged together, without a place
                Ok(config) => if let Err(error) = config.check() {
                    prop_assert!(matches!(error, FlowError::Plan(_)), "{error}");
                },
                Err(error) => {
                    prop_assert!(error.to_string().starts_with("s.toml, line "), "{error}");
                }
            }
        }
    }

    fn complaint(text: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("flow.toml");
        std::fs::write(&path, text).unwrap();
        let read = Config::read(&path).and_then(|config| config.check());
        read.unwrap_err().to_string()
    }

    #[test]
    fn settings_are_read_and_judged_by_their_names() {
        let text = "[executions]\nthreads = 3\n[retry]\ntimes = 5\ninterval = \"1s\"\nfactor = 2\n\
            [[route]]\nelement = \"LOIPRO01\"\ntransaction = \"components\"\n";
        let config: Config = document::read(text).unwrap();
        config.check().unwrap();
        assert_eq!((config.executor().executions, config.executor().retry.times), (3, 5));
        assert_eq!(config.route[0].accepts().element.as_deref(), Some("LOIPRO01"));
        assert!(!config.has_accounts());
        for (text, expected) in [
            ("[executons]\n", "did you mean `executions`?"),
            ("[workers]\nthreads = 0\n", "workers.threads is 0"),
            ("[retry]\nfactor = 0\n", "retry: factor is 0"),
            ("[[route]]\ntransaction = \"a\"\n", "the route to `a`: it says nothing"),
            ("[tokens]\nline = \"short\"\n", "the token of `line`"),
            ("[users]\n\"a:b\" = \"x\"\n", "`a:b` cannot be a user"),
            ("[front]\nmemory = \"1KiB\"\n", "front.memory must hold"),
            ("[queue]\nurl = \"redis://db\"\n", "nor nats://HOST:PORT"),
            ("[queue]\nurl = \"q\"\n", "this machine is queue.folder"),
            ("[queue]\nurl = \"postgres://u:secret@db/q\"\n", "queue.password-file"),
            ("[queue]\nurl = \"nats://u:secret@db\"\n", "queue.password-file"),
        ] {
            let told = complaint(text);
            assert!(told.contains(expected) && !told.contains("secret"), "{text}: {told}");
        }
    }
}
