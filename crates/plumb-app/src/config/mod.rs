//! What can be tuned: one structure for the file and for everything behind it.

mod file;

use std::collections::BTreeMap;

use plumb_engine::Cidr;
use plumb_measure::{ByteSize, Span};
use plumb_odata::key::date;
use plumb_serve::database::{DatabaseLimits, LimitSettings, Secret};
use plumb_serve::settings::{check_counts, check_header_size, check_users, cidrs, kib};
use plumb_serve::{ConnectionLimits, TlsFiles};
use serde::{Deserialize, Deserializer};

use crate::AppError;

/// Bytes that the answer to one request of a batch may have.
pub(crate) const PART_MAX: usize = 4 << 20;
/// The name and the password of the only user when the configuration names none.
pub(crate) const DEMO: &str = "demo";

/// The whole configuration, as a TOML file says it; what is not said has its default.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Config {
    /// Addresses to listen on; the command line goes before them.
    pub(crate) listen: Vec<String>,
    /// Who may connect; empty: everybody who can reach an address.
    #[serde(deserialize_with = "cidrs")]
    pub(crate) allow: Vec<Cidr>,
    /// Certificate and key; absent: no TLS.
    pub(crate) tls: Option<TlsFiles>,
    pub(crate) front: FrontConfig,
    pub(crate) dispatcher: DispatcherConfig,
    pub(crate) programs: ProgramsConfig,
    pub(crate) step: CostConfig,
    /// Of each log-on: of a user whom a request proves, and who has not logged on over its connection.
    pub(crate) log_on: CostConfig,
    pub(crate) flights: FlightsConfig,
    pub(crate) sessions: SessionsConfig,
    /// Name and password; empty: one user `demo`, password `demo`, on loopback only.
    pub(crate) users: BTreeMap<String, String>,
    pub(crate) database: DatabaseConfig,
    /// The machine that has the data of the flights; absent: this one.
    pub(crate) backend: Option<BackendConfig>,
    /// The lock server; absent: sales steps take no locks.
    pub(crate) locks: Option<LocksConfig>,
}

/// The front: connections, requests under way, and the cache.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct FrontConfig {
    /// Threads of the front.
    pub(crate) threads: usize,
    /// Connections at once; one more is answered with 503 and closed.
    pub(crate) connections: usize,
    /// Requests under way at once, cache hits aside.
    pub(crate) requests: usize,
    /// Requests that may wait for one of those; one more is answered with 503.
    pub(crate) queue: usize,
    /// Bytes of a request line with its headers, at least 8 KiB.
    pub(crate) header_size: ByteSize,
    /// Bytes of a request body.
    pub(crate) body_size: ByteSize,
    /// A connection without a complete request head for this long is closed.
    pub(crate) keep_alive: Span,
    /// A body must be complete, and an answer be taken, within this.
    pub(crate) stall: Span,
    /// Bytes of the response cache.
    pub(crate) cache_size: ByteSize,
    /// Bytes for the answers of batches, 4 MiB for each; one more waits, and after `stall` is answered
    /// with 503.
    pub(crate) batch_memory: ByteSize,
    /// Connections and steps under way when the server is told to stop have this long to finish.
    pub(crate) farewell: Span,
}

impl Default for FrontConfig {
    fn default() -> Self {
        Self {
            threads: 1,
            connections: 500,
            requests: 250,
            queue: 500,
            header_size: kib(16),
            body_size: kib(1024),
            keep_alive: Span::from_ms(60_000),
            stall: Span::from_ms(30_000),
            cache_size: kib(50 * 1024),
            batch_memory: kib(64 * 1024),
            farewell: Span::from_ms(10_000),
        }
    }
}

/// The dispatcher and its work processes.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct DispatcherConfig {
    /// Dialog work processes, each a thread with a database session.
    pub(crate) work_processes: usize,
    /// Steps of one kind, dialog or background, that may wait for one; one more is answered with 503.
    pub(crate) queue: usize,
    /// Beginnings of paths whose steps are background steps.
    pub(crate) background: Vec<String>,
    /// Of the steps that begin while both kinds wait, so many in a hundred are background steps.
    pub(crate) background_share: u32,
    /// Work processes that background steps leave to dialog steps.
    pub(crate) dialog_reserved: usize,
}

impl Default for DispatcherConfig {
    fn default() -> Self {
        Self {
            work_processes: 10,
            queue: 2_000,
            background: Vec::new(),
            background_share: 10,
            dialog_reserved: 0,
        }
    }
}

impl DispatcherConfig {
    fn check(&self) -> Result<(), AppError> {
        if let Some(path) = self.background.iter().find(|path| !path.starts_with('/')) {
            let problem = format!("dispatcher.background: `{path}` is no path: it begins with /");
            return Err(AppError::Plan(problem));
        }
        if self.background_share > 50 {
            let problem = "dispatcher.background-share is 0 to 50: dialog steps come first";
            return Err(AppError::Plan(problem.into()));
        }
        if self.dialog_reserved >= self.work_processes {
            let problem = "dispatcher.dialog-reserved must be below dispatcher.work-processes: a \
                           background step needs one, too";
            return Err(AppError::Plan(problem.into()));
        }
        Ok(())
    }
}

/// The program buffer, and what compiling costs.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct ProgramsConfig {
    /// Bytes of compiled programs kept.
    pub(crate) buffer_size: ByteSize,
    /// The database takes so much longer to hand out a source.
    pub(crate) load_wait: Span,
    /// Processor time that each compilation takes in addition.
    pub(crate) compile_cpu: Span,
}

impl Default for ProgramsConfig {
    fn default() -> Self {
        Self {
            buffer_size: kib(32 * 1024),
            load_wait: Span::from_ns(0),
            compile_cpu: Span::from_ns(0),
        }
    }
}

/// What each dialog step, or each log-on, costs in addition to its own work.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct CostConfig {
    /// Time that a database call takes in addition.
    #[serde(deserialize_with = "span")]
    pub(crate) database_wait: Option<Span>,
    /// Processor time that is taken in addition.
    #[serde(deserialize_with = "span")]
    pub(crate) cpu: Option<Span>,
}

/// Flights whose details are not to be had.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct FlightsConfig {
    /// Keys as `/rest/flights` has them, `AA/0017/2011-06-01`: reading one ends with 500.
    pub(crate) failing: Vec<String>,
    /// The database call takes so much longer before it fails.
    #[serde(deserialize_with = "span")]
    pub(crate) failing_wait: Option<Span>,
}

impl FlightsConfig {
    fn check(&self) -> Result<(), AppError> {
        let is_key = |key: &str| {
            let parts: Vec<&str> = key.split('/').collect();
            matches!(parts[..], [carrier, connection, day]
                if !carrier.is_empty() && !connection.is_empty() && date(day).as_deref() == Some(day))
        };
        let wrong = self.failing.iter().find(|key| !is_key(key));
        wrong.map_or(Ok(()), |key| {
            Err(AppError::Plan(format!(
                "flights.failing: `{key}` is no flight: write one as AA/0017/2011-06-01"
            )))
        })
    }
}

/// Sessions of users.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct SessionsConfig {
    /// Sessions at once; one more is answered with 503.
    pub(crate) max: usize,
    /// A session that is not used for this long ends.
    pub(crate) idle: Span,
    /// Bytes that are rolled into the work process and out again with each step.
    pub(crate) roll_area: ByteSize,
    /// Bytes that a session holds from its log-on to its end, each page of them written; absent: none.
    pub(crate) memory: Option<ByteSize>,
}

impl Default for SessionsConfig {
    fn default() -> Self {
        Self { max: 500, idle: Span::from_ms(600_000), roll_area: kib(8), memory: None }
    }
}

/// Where the data lies, and how long that may take.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct DatabaseConfig {
    /// `postgres://...` without a password, or the path of an `SQLite` file; absent: a file that goes
    /// with the server.
    pub(crate) url: Option<String>,
    /// The password of a server; absent: that of the environment.
    pub(crate) password: Option<Secret>,
    /// A log-on that takes longer is given up.
    pub(crate) connect_timeout: Span,
    /// A statement that takes longer is given up, and its session with it.
    pub(crate) statement_timeout: Span,
}

impl Default for DatabaseConfig {
    fn default() -> Self {
        let DatabaseLimits { connect, statement, .. } = DatabaseLimits::default();
        let (connect_timeout, statement_timeout) = (connect, statement);
        Self { url: None, password: None, connect_timeout, statement_timeout }
    }
}

impl DatabaseConfig {
    /// How long it may take.
    pub(crate) fn limits(&self) -> DatabaseLimits {
        DatabaseLimits {
            connect: self.connect_timeout,
            statement: self.statement_timeout,
            settings: Some(LimitSettings {
                connect: "database.connect-timeout",
                statement: "database.statement-timeout",
            }),
        }
    }
}

/// The other half of a split system.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct BackendConfig {
    /// `http://HOST:PORT` of another `plumb app serve`.
    pub(crate) url: String,
    /// User there.
    #[serde(default = "demo")]
    pub(crate) user: String,
    /// Password there.
    #[serde(default = "demo")]
    pub(crate) password: String,
    /// Connections to it at once; one more step is answered with 503.
    #[serde(default = "entries")]
    pub(crate) connections: usize,
    /// An answer must be complete within this.
    #[serde(default = "patience")]
    pub(crate) timeout: Span,
}

/// The lock server.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct LocksConfig {
    /// `HOST:PORT` of a server that speaks RESP.
    pub(crate) server: String,
    /// An answer must be complete within this.
    #[serde(default = "patience")]
    pub(crate) timeout: Span,
}

impl Config {
    /// Refuses what cannot work, with the name of the setting.
    pub(crate) fn check(&self) -> Result<(), AppError> {
        let counts = [
            ("front.threads", self.front.threads, 64),
            ("front.connections", self.front.connections, 1_000_000),
            ("front.requests", self.front.requests, 1_000_000),
            ("dispatcher.work-processes", self.dispatcher.work_processes, 1_000),
            ("dispatcher.queue", self.dispatcher.queue, 1_000_000),
            ("sessions.max", self.sessions.max, 1_000_000),
        ];
        check_counts(counts)?;
        self.dispatcher.check()?;
        check_header_size(self.front.header_size)?;
        if self.front.batch_memory < kib(PART_MAX as u64 >> 10) {
            let problem = "front.batch-memory must be at least 4MiB: each batch sets so many aside";
            return Err(AppError::Plan(problem.into()));
        }
        self.flights.check()?;
        self.check_times()?;
        Ok(check_users(&self.users)?)
    }

    fn check_times(&self) -> Result<(), AppError> {
        let limits = self.database.limits();
        for (name, limit) in [
            ("database.connect-timeout", limits.connect),
            ("database.statement-timeout", limits.statement),
        ] {
            if limit < Span::from_ms(1) {
                return Err(AppError::Plan(format!("{name} must be at least 1ms")));
            }
        }
        let waits = [
            ("step.database-wait", self.step.database_wait.unwrap_or(Span::from_ns(0))),
            ("log-on.database-wait", self.log_on.database_wait.unwrap_or(Span::from_ns(0))),
            ("programs.load-wait", self.programs.load_wait),
            ("flights.failing-wait", self.flights.failing_wait.unwrap_or(Span::from_ns(0))),
        ];
        for (name, wait) in waits {
            if wait >= limits.statement {
                return Err(AppError::Plan(format!(
                    "{name} waits inside a statement, and must be below database.statement-timeout"
                )));
            }
        }
        Ok(())
    }

    /// Who may come in, how many, and how long they may take.
    pub(crate) fn door_limits(&self) -> ConnectionLimits {
        ConnectionLimits {
            allow: self.allow.clone(),
            connections: self.front.connections,
            header_size: self.front.header_size,
            keep_alive: self.front.keep_alive,
            stall: self.front.stall,
        }
    }

    /// Name and password of everybody who may log on.
    pub(crate) fn accounts(&self) -> BTreeMap<String, String> {
        if self.users.is_empty() {
            return BTreeMap::from([(DEMO.into(), DEMO.into())]);
        }
        self.users.clone()
    }
}

fn demo() -> String {
    DEMO.into()
}

fn entries() -> usize {
    500
}

fn patience() -> Span {
    Span::from_ms(10_000)
}

fn span<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Span>, D::Error> {
    let span = Span::deserialize(from)?;
    Ok((span.ns() > 0).then_some(span))
}
