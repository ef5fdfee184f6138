//! Which database is meant, and how long it may take.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use plumb_measure::Span;
use serde::Deserialize;
use tokio_postgres::config::Host;

use super::kept_read::Changes;
use super::tls::{SslMode, Tls};
use super::transport::SessionTransport;
use crate::ServeError;

/// A connection on which nothing is said for this long is asked whether it still stands, and a
/// server that does not acknowledge what was sent for as long is gone.
const SILENCE: Duration = Duration::from_secs(10);
/// How often, and how many times, it is asked.
const ASKED_EVERY: Duration = Duration::from_secs(3);
const ASKED: u32 = 3;
/// After a server was silent, nobody else tries to log on for so long.
const REST_NS: u64 = 1_000_000_000;
/// The port of a server that names none.
pub(super) const PORT: u16 = 5432;
/// What a URL looks like.
const FORM: &str = "write postgres://USER@HOST:PORT/NAME, or the path of a file";
/// In the place of a file, the authorities of this machine.
const MACHINE: &str = "system";
/// Where a password belongs.
const NO_PASSWORD: &str = "write the URL without a password, and that as `password` into the section \
     [database] of the configuration, or into the environment as PGPASSWORD";

/// Where sessions log on.
#[derive(Clone, Debug)]
pub struct DatabaseTarget {
    pub(super) place: DatabaseKind,
    pub(super) limits: DatabaseLimits,
    heard: Arc<Heard>,
    pub(super) changes: Changes,
}

#[derive(Clone, Debug)]
pub(super) enum DatabaseKind {
    /// The file of an embedded `SQLite`.
    Sqlite(PathBuf),
    /// A `PostgreSQL` server.
    Postgres(Box<PostgresServer>),
}

/// A `PostgreSQL` server, and how it is spoken to.
#[derive(Clone)]
pub(super) struct PostgresServer {
    pub(super) config: tokio_postgres::Config,
    pub(super) tls: Tls,
    pub(super) transport: SessionTransport,
    /// Times that a session found a table changed under a statement that it had prepared: then the
    /// others prepare theirs anew, too.
    pub(super) plans_changed: Arc<AtomicU64>,
}

// derived, it would show the password
impl fmt::Debug for PostgresServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresServer")
            .field("hosts", &self.config.get_hosts())
            .finish_non_exhaustive()
    }
}

/// How long a database may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatabaseLimits {
    /// A log-on.
    pub connect: Span,
    /// A statement; for `SQLite` the wait for another writer.
    pub statement: Span,
    /// The settings that say so, where there are some.
    pub settings: Option<LimitSettings>,
}

/// What the settings of [`DatabaseLimits`] are called where somebody wrote them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitSettings {
    /// Of a log-on.
    pub connect: &'static str,
    /// Of a statement.
    pub statement: &'static str,
}

impl Default for DatabaseLimits {
    fn default() -> Self {
        Self { connect: Span::from_ms(5_000), statement: Span::from_ms(30_000), settings: None }
    }
}

/// A password. It shows itself nowhere.
#[derive(Clone, Deserialize, PartialEq, Eq)]
#[serde(transparent)]
pub struct Secret(String);

impl From<String> for Secret {
    fn from(password: String) -> Self {
        Self(password)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(a password)")
    }
}

/// What all sessions together have heard of a server. Times in nanoseconds on the monotonic clock.
#[derive(Debug, Default)]
struct Heard {
    /// Until when a server that was silent is left alone.
    rests_until_ns: AtomicU64,
    /// When the last call was answered; 0: none was.
    answered_ns: AtomicU64,
}

impl DatabaseTarget {
    /// The `SQLite` file at `path`, which is made if it is not there.
    #[must_use]
    pub fn file(path: PathBuf) -> Self {
        Self::new(DatabaseKind::Sqlite(path), DatabaseLimits::default())
    }

    fn new(place: DatabaseKind, limits: DatabaseLimits) -> Self {
        Self { place, limits, heard: Arc::default(), changes: Changes::default() }
    }

    /// The database that `url` names: `postgres://...`, or a path. The password of a server is
    /// `password`, or else that of the environment (`PGPASSWORD`).
    ///
    /// Of the parameters behind a question mark `sslmode` (`disable`, `prefer`, `require`,
    /// `verify-full`) and `sslrootcert` mean what they mean for `libpq`; `transport` is `tcp` or
    /// `smc`.
    ///
    /// # Errors
    /// [`ServeError::Database`] when a URL cannot be understood or holds a password,
    /// [`ServeError::Trust`] when there is nobody to trust.
    pub fn parse(
        url: &str,
        password: Option<&Secret>,
        limits: DatabaseLimits,
    ) -> Result<Self, ServeError> {
        if !url.contains("://") {
            return Ok(Self { limits, ..Self::file(url.into()) });
        }
        let refused = |cause: String, remedy| ServeError::Database {
            url: without_password(url),
            cause,
            remedy,
        };
        if !is_postgres(url) {
            return Err(refused("this kind of database is not known".into(), FORM));
        }
        if holds_password(url) {
            return Err(refused("a password stands in its URL".into(), NO_PASSWORD));
        }
        let (rest, ssl) = Ssl::take(url).map_err(|cause| refused(cause, FORM))?;
        let (rest, transport) =
            SessionTransport::take(&rest).map_err(|cause| refused(cause, FORM))?;
        let mut config = tokio_postgres::Config::from_str(&rest)
            .map_err(|cause| refused(cause.to_string(), FORM))?;
        if transport == SessionTransport::Smc
            && !config.get_hosts().iter().all(|host| matches!(host, Host::Tcp(_)))
        {
            return Err(refused(
                "transport=smc: the server is named by a socket file".into(),
                FORM,
            ));
        }
        if config.get_hosts().is_empty() {
            // TLS needs a name, if it is but the address
            for address in config.get_hostaddrs().to_vec() {
                config.host(address.to_string());
            }
        }
        let environment = || std::env::var("PGPASSWORD").ok().filter(|text| !text.is_empty());
        if let Some(password) = password.map(|it| it.0.clone()).or_else(environment) {
            config.password(password);
        }
        config.connect_timeout(Duration::from_nanos(limits.connect.ns()));
        config.tcp_user_timeout(SILENCE).keepalives(true).keepalives_idle(SILENCE);
        config.keepalives_interval(ASKED_EVERY).keepalives_retries(ASKED);
        let by_files = |host: &Host| matches!(host, Host::Unix(_));
        // over a socket file nothing is encrypted, whatever is asked for, as it is for libpq
        let by_files = !config.get_hosts().is_empty() && config.get_hosts().iter().all(by_files);
        let mode = if by_files { SslMode::Disable } else { ssl.mode };
        config.ssl_mode(mode.of_driver());
        let tls = Tls::new(mode, ssl.authorities.as_deref())?;
        let place = DatabaseKind::Postgres(Box::new(PostgresServer {
            config,
            tls,
            transport,
            plans_changed: Arc::default(),
        }));
        Ok(Self::new(place, limits))
    }

    /// How long its calls may take.
    #[must_use]
    pub fn limits(&self) -> &DatabaseLimits {
        &self.limits
    }

    /// Nobody tries to log on for a moment: the server was silent at `now_ns`.
    pub(super) fn was_silent(&self, now_ns: u64) {
        self.heard.rests_until_ns.store(now_ns + REST_NS, Ordering::Relaxed);
    }

    /// True while nobody should try to log on.
    pub(super) fn rests(&self, now_ns: u64) -> bool {
        now_ns < self.heard.rests_until_ns.load(Ordering::Relaxed)
    }

    /// A call of some session was answered at `now_ns`.
    pub(super) fn was_answered(&self, now_ns: u64) {
        self.heard.answered_ns.fetch_max(now_ns, Ordering::Relaxed);
    }

    /// When the last call of any session with it was answered, be it by a refusal: nanoseconds on the
    /// monotonic clock, 0 before the first.
    #[must_use]
    pub fn answered_ns(&self) -> u64 {
        self.heard.answered_ns.load(Ordering::Relaxed)
    }
}

/// What a URL says of TLS.
#[derive(Debug, PartialEq, Eq)]
struct Ssl {
    mode: SslMode,
    authorities: Option<PathBuf>,
}

impl Ssl {
    /// Takes the parameters of TLS out of `url`, which the driver knows only in part.
    fn take(url: &str) -> Result<(String, Self), String> {
        let (place, query) = url.split_once('?').unwrap_or((url, ""));
        let (mut mode, mut authorities, mut others) = (None, None, Vec::new());
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", name)) => {
                    let known = "disable, prefer, require or verify-full";
                    let found = SslMode::of(name).ok_or(format!("sslmode is none of {known}"))?;
                    mode = Some(found);
                }
                Some(("sslrootcert", file)) => authorities = Some(Path::new(file).to_owned()),
                _ => others.push(pair),
            }
        }
        if authorities.as_deref() == Some(Path::new(MACHINE)) {
            // they certify anybody: as for libpq, the name is verified as well
            if mode.is_some_and(|mode| mode != SslMode::VerifyFull) {
                return Err(format!("sslrootcert={MACHINE} needs sslmode=verify-full"));
            }
            (mode, authorities) = (Some(SslMode::VerifyFull), None);
        }
        let mode = match (mode, &authorities) {
            // a file of authorities is there to be looked into, as it is for libpq
            (Some(SslMode::Require), Some(_)) => SslMode::VerifyFull,
            (mode, _) => mode.unwrap_or(SslMode::Prefer),
        };
        let separator = if others.is_empty() { "" } else { "?" };
        Ok((format!("{place}{separator}{}", others.join("&")), Self { mode, authorities }))
    }
}

/// The file of authorities that `url` names (`sslrootcert`).
#[must_use]
pub fn authorities_of(url: &str) -> Option<&str> {
    let (_, query) = url.split_once('?').filter(|_| is_postgres(url))?;
    let named = query.split('&').find_map(|pair| pair.strip_prefix("sslrootcert="));
    named.filter(|file| *file != MACHINE)
}

fn is_postgres(url: &str) -> bool {
    url.starts_with("postgres://") || url.starts_with("postgresql://")
}

/// True when a password stands in `url`, a place where others see it.
#[must_use]
pub fn holds_password(url: &str) -> bool {
    let Some((_, rest)) = url.split_once("://") else { return false };
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    // the last @: a password may hold one, or a slash
    let before = rest.rsplit_once('@').is_some_and(|(account, _)| account.contains(':'));
    before || query.split('&').any(|pair| pair.starts_with("password="))
}

/// A URL that can be shown to people.
fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.into() };
    let rest = rest.split_once('?').map_or(rest, |(rest, _)| rest);
    let Some((account, place)) = rest.rsplit_once('@') else { return format!("{scheme}://{rest}") };
    let user = account.split_once(':').map_or(account, |(user, _)| user);
    format!("{scheme}://{user}@{place}")
}

impl fmt::Display for DatabaseTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            DatabaseKind::Sqlite(path) => write!(f, "SQLite, {}", path.display()),
            DatabaseKind::Postgres(server) => {
                let port = server.config.get_ports().first().copied().unwrap_or(PORT);
                let place = match server.config.get_hosts().first() {
                    Some(Host::Tcp(name)) if name.contains(':') => format!("[{name}]:{port}"),
                    Some(Host::Tcp(name)) => format!("{name}:{port}"),
                    Some(Host::Unix(path)) => path.display().to_string(),
                    None => format!("localhost:{port}"),
                };
                let database = server.config.get_dbname().unwrap_or("default");
                write!(f, "PostgreSQL at {place}, {database}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio_postgres::config::SslMode as DriverMode;

    use super::*;

    fn parse(url: &str) -> Result<DatabaseTarget, ServeError> {
        DatabaseTarget::parse(url, None, DatabaseLimits::default())
    }

    #[test]
    fn a_password_in_a_url_is_refused_and_never_shown() {
        for url in [
            "postgres://sap:secret@db:5432/app",
            "postgres://sap:sec/secret@db/app",
            "postgres://sap@db/app?password=secret",
            "mysql://sap:secret@db/app",
        ] {
            let error = parse(url).unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
            assert!(error.contains("password") || error.contains("postgres://USER@"), "{error}");
            assert!(holds_password(url), "{url}");
        }
        assert!(!holds_password("postgres://sap@db:5432/app") && !holds_password("a:b@c"));
        let secret: Secret = serde_json::from_str("\"secret\"").unwrap();
        let url = "postgres://sap@db:5432/app";
        let target = DatabaseTarget::parse(url, Some(&secret), DatabaseLimits::default()).unwrap();
        assert_eq!(target.to_string(), "PostgreSQL at db:5432, app");
        assert!(!format!("{target:?}{secret:?}").contains("secret"), "{target:?}");
    }

    #[test]
    fn what_is_said_of_tls_is_taken_out_of_the_url() {
        let take = |url: &str| Ssl::take(url).unwrap();
        let (url, ssl) = take("postgres://db/a?sslmode=verify-full&application_name=x");
        assert_eq!(
            (url.as_str(), ssl.mode),
            ("postgres://db/a?application_name=x", SslMode::VerifyFull)
        );
        let (url, ssl) = take("postgres://db/a?sslmode=require&sslrootcert=/etc/root.pem");
        assert_eq!((url.as_str(), ssl.mode), ("postgres://db/a", SslMode::VerifyFull));
        assert_eq!(ssl.authorities.as_deref(), Some(Path::new("/etc/root.pem")));
        assert_eq!(take("postgres://db/a").1.mode, SslMode::Prefer);
        for url in [
            "postgres://db/a?sslrootcert=system",
            "postgres://db/a?sslmode=verify-full&sslrootcert=system",
        ] {
            let ssl = take(url).1;
            assert_eq!((ssl.mode, ssl.authorities), (SslMode::VerifyFull, None), "{url}");
            assert_eq!(authorities_of(url), None);
        }
        for mode in ["disable", "prefer", "require"] {
            let error = parse(&format!("postgres://db/a?sslmode={mode}&sslrootcert=system"));
            assert!(error.unwrap_err().to_string().contains("verify-full"), "{mode}");
        }
        let error = parse("postgres://db/a?sslmode=allow").unwrap_err().to_string();
        assert!(error.contains("verify-full"), "{error}");
        let error = parse("postgres://db/a?sslmode=verify-full&sslrootcert=/none").unwrap_err();
        assert!(error.to_string().contains("/none"), "{error}");
    }

    #[test]
    fn a_server_at_an_address_alone_has_it_for_a_name_and_one_at_a_file_needs_no_tls() {
        let server = |url: &str| match parse(url).unwrap().place {
            DatabaseKind::Postgres(server) => server.config,
            DatabaseKind::Sqlite(_) => panic!("{url}"),
        };
        let at_address = "postgres://u@/a?hostaddr=10.0.0.5";
        assert_eq!(server(at_address).get_hosts(), [Host::Tcp("10.0.0.5".into())]);
        assert_eq!(parse(at_address).unwrap().to_string(), "PostgreSQL at 10.0.0.5:5432, a");
        let shown = |url| parse(url).unwrap().to_string();
        assert_eq!(shown("postgres://u@[::1]:6432/a"), "PostgreSQL at [::1]:6432, a");
        assert_eq!(shown("postgres://u@/a?host=/run"), "PostgreSQL at /run, a");
        let mode = |url| server(url).get_ssl_mode();
        assert_eq!(mode("postgres://u@/a?host=/run&sslmode=verify-full"), DriverMode::Disable);
        let untrusted = "postgres://u@%2Frun/a?sslmode=verify-full&sslrootcert=/none";
        assert_eq!(mode(untrusted), DriverMode::Disable);
        assert_eq!(mode("postgres://u@%2Frun,db/a?sslmode=require"), DriverMode::Require);
        assert_eq!(mode(at_address), DriverMode::Prefer);
    }

    #[test]
    fn over_smc_there_is_no_socket_file() {
        assert!(parse("postgres://u@db/a?transport=smc&sslmode=disable").is_ok());
        let error = parse("postgres://u@%2Frun/a?transport=smc").unwrap_err().to_string();
        assert!(error.contains("a socket file"), "{error}");
        let error = parse("postgres://u@db/a?transport=udp").unwrap_err().to_string();
        assert!(error.contains("tcp or smc"), "{error}");
    }

    #[test]
    fn a_silent_server_is_left_alone_for_a_moment_by_everybody() {
        let target = parse("postgres://db/a").unwrap();
        let other = target.clone();
        assert!(!other.rests(0));
        target.was_silent(5);
        assert!(other.rests(REST_NS + 4) && !other.rests(REST_NS + 5));
    }
}
