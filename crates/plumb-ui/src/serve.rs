//! Listening, and the end.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use plumb_engine::layer::{JobError, Output, Verb, announce, note_all};
use plumb_engine::{Address, Listener, Stop};
use plumb_measure::Span;
use plumb_serve::settings::{is_open, kib};
use plumb_serve::{ConnectionLimits, Counters, Gauge, HttpServer, Log, TlsFiles, acceptor};
use plumb_wire::secret::first_line;
use tokio_rustls::TlsAcceptor;

use crate::access::{Access, Secret, random_text};
use crate::index::{Index, Keeper};
use crate::jobs::Jobs;
use crate::options::{PASSWORD, PORT, UiOptions};
use crate::site::{Shared, Site};
use crate::{Reports, UiError};

/// Threads that answer; what reads files has threads of its own.
const THREADS: usize = 2;
const CONNECTIONS: usize = 64;
/// Connections under way have this long to end.
const FAREWELL: Span = Span::from_ns(2_000_000_000);
/// So has a command that was started from the page.
const JOB_PATIENCE: Duration = Duration::from_secs(10);
/// A connection without a request for this long is closed.
const KEEP_ALIVE: Span = Span::from_ns(30_000_000_000);
/// A client that takes nothing, or does not finish its handshake, for this long is gone.
const STALL: Span = Span::from_ns(10_000_000_000);
/// Letters of a password: fewer are tried out.
const PASSWORD_MIN: usize = 12;
const PASSWORD_MAX: usize = 1_000;

/// The app as a job.
pub struct Ui {
    options: UiOptions,
    reports: Option<Box<dyn Reports>>,
    password: Option<String>,
    program: PathBuf,
}

impl std::fmt::Debug for Ui {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ui").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Ui {
    /// Checks the options; it listens once it runs. `reports` makes the pages of runs, `program` is
    /// what is started from the page.
    ///
    /// # Errors
    /// [`UiError`] when they ask for the impossible, or for an app that everybody may use.
    pub fn new(
        options: UiOptions,
        reports: Box<dyn Reports>,
        program: PathBuf,
    ) -> Result<Self, UiError> {
        if options.cert.is_some() != options.key.is_some() {
            return Err(UiError::HalfTls);
        }
        let password = password(&options)?;
        for address in &options.listen {
            if matches!(Address::parse(address, PORT)?, Address::Unix(_)) {
                return Err(UiError::SocketFile { address: address.clone() });
            }
            if !is_open(address, PORT) {
                continue;
            }
            let open = |remedy| UiError::Open { address: address.clone(), remedy };
            if options.cert.is_none() {
                return Err(open("add TLS with --cert and --key"));
            }
            if password.is_none() {
                return Err(open(
                    "set a password in the environment (PLUMB_UI_PASSWORD) or name a file with \
                     --password-file",
                ));
            }
        }
        Ok(Self { options, reports: Some(reports), password, program })
    }

    fn serve(&mut self, out: Output<'_>, log: Output<'_>, stop: &Stop) -> Result<(), UiError> {
        let Some(reports) = self.reports.take() else { return Ok(()) };
        let folder = folder(self.options.folder.as_deref())?;
        let tls = self.tls()?;
        let listeners = Listener::bind_all(&self.options.listen, PORT)?;
        let (hosts, port) = hosts(&listeners, &self.options)?;
        let secret = self.secret()?;
        let index = Arc::new(Index::open(&folder)?);
        let (events, told) = mpsc::channel();
        let log_events = Arc::new(Log::new(events));
        if let Some(cause) = &index.in_memory {
            log_events.tell(format!("the index is kept in memory only: {cause}"));
        }
        let experiments = self.options.experiments.as_deref().map(whole).transpose()?;
        let jobs = Jobs::new(self.program.clone(), folder, experiments, self.options.read_only);
        let (keeper, woken) = Keeper::new();
        let shared = Arc::new(Shared {
            index,
            keeper: keeper.clone(),
            jobs: Arc::new(jobs),
            reports,
            log: Arc::clone(&log_events),
            counters: Counters::default(),
            stopping: stop.flag(),
            streams: Gauge::default(),
            making: Gauge::default(),
        });
        let said = greeting(&listeners, &secret, tls.is_some());
        let access = Access::new(secret, &hosts, tls.is_some(), port);
        let site = Site { access, limits: limits(), shared: Arc::clone(&shared) };
        let server = HttpServer::new(site, tls, THREADS, FAREWELL)?;
        let written = announce(&listeners, out).and_then(|()| {
            said.iter().try_for_each(|line| writeln!(out, "{line}"))?;
            out.flush()
        });
        written.map_err(|cause| UiError::System { what: "write to standard output", cause })?;
        let mut nowhere = std::io::sink();
        let log: Output<'_> = if self.options.quiet { &mut nowhere } else { log };
        let stopping = stop.flag();
        std::thread::scope(|threads| {
            threads.spawn(move || note_all(&told, log));
            let (working, index) = (keeper.clone(), &shared.index);
            let stopped = move || stopping.load(Ordering::Relaxed);
            threads.spawn(move || working.work(index, &woken, stopped));
            keeper.wake(); // the first page finds the index made, or on its way
            let served = server.run(listeners, stop);
            shared.jobs.end(JOB_PATIENCE);
            keeper.wake();
            log_events.close();
            Ok(served.map(drop)?)
        })
    }

    fn tls(&self) -> Result<Option<TlsAcceptor>, UiError> {
        let (Some(cert), Some(key)) = (&self.options.cert, &self.options.key) else {
            return Ok(None);
        };
        Ok(Some(acceptor(&TlsFiles { cert: cert.clone(), key: key.clone() })?))
    }

    fn secret(&self) -> Result<Secret, UiError> {
        if let Some(password) = &self.password {
            return Ok(Secret::Password(password.clone()));
        }
        let none = || std::io::Error::other("the system gives none");
        let token = random_text()
            .ok_or_else(|| UiError::System { what: "make random numbers", cause: none() })?;
        Ok(Secret::Token(token))
    }
}

impl Verb for Ui {
    fn run(&mut self, out: Output<'_>, log: Output<'_>, stop: &Stop) -> Result<(), JobError> {
        Ok(self.serve(out, log, stop)?)
    }
}

fn limits() -> ConnectionLimits {
    ConnectionLimits {
        allow: Vec::new(),
        connections: CONNECTIONS,
        header_size: kib(16),
        keep_alive: KEEP_ALIVE,
        stall: STALL,
    }
}

/// The folder of the runs, by its whole name: commands that are started have another working folder.
fn folder(named: Option<&Path>) -> Result<PathBuf, UiError> {
    let path = named.unwrap_or(Path::new("plumb-runs"));
    if named.is_none() {
        let failed = |cause| UiError::Create { path: path.into(), cause };
        fs::create_dir_all(path).map_err(failed)?;
    }
    whole(path)
}

fn whole(path: &Path) -> Result<PathBuf, UiError> {
    let found = path.canonicalize().ok().filter(|path| path.is_dir());
    found.ok_or_else(|| UiError::NoFolder { path: path.into() })
}

/// Every `Host` under which browsers may ask, and the first port.
fn hosts(listeners: &[Listener], options: &UiOptions) -> Result<(Vec<String>, u16), UiError> {
    let (mut hosts, mut ports) = (Vec::new(), Vec::new());
    let usual = if options.cert.is_some() { 443 } else { 80 };
    for listener in listeners {
        let address = listener.local();
        let Ok(bound) = address.parse::<SocketAddr>() else { continue };
        ports.push(bound.port());
        if bound.ip().is_unspecified() && options.name.is_empty() {
            return Err(UiError::NoName { address });
        }
        hosts.extend(hosts_of(bound, &options.name, usual));
    }
    Ok((hosts, ports.first().copied().unwrap_or(0)))
}

/// Those at the address `bound` of a server that has `names`.
fn hosts_of(bound: SocketAddr, names: &[String], usual: u16) -> Vec<String> {
    let behind = format!(":{}", bound.port());
    let mut hosts = names.to_vec();
    if !bound.ip().is_unspecified() {
        let whole = bound.to_string();
        hosts.push(whole.strip_suffix(&behind).unwrap_or(&whole).to_owned());
    }
    if bound.ip().is_loopback() {
        hosts.push("localhost".into());
    }
    let mut all: Vec<String> = hosts.iter().map(|host| format!("{host}{behind}")).collect();
    if bound.port() == usual {
        all.append(&mut hosts); // a browser leaves the usual one out
    }
    all
}

/// What is printed for whoever opens the app.
fn greeting(listeners: &[Listener], secret: &Secret, tls: bool) -> Vec<String> {
    let scheme = if tls { "https" } else { "http" };
    let fragment = match secret {
        Secret::Token(token) => format!("#{token}"),
        Secret::Password(_) => String::new(),
    };
    let address = |listener: &Listener| format!("open {scheme}://{}/{fragment}", listener.local());
    listeners.iter().map(address).collect()
}

/// The password that is asked for; none where none is set.
fn password(options: &UiOptions) -> Result<Option<String>, UiError> {
    let (place, text) = match &options.password_file {
        Some(file) => {
            let place = file.display().to_string();
            let text = fs::read_to_string(file).map_err(|cause| UiError::Password {
                place: place.clone(),
                cause: format!("{cause}: name a file with the password in its first line"),
            })?;
            (place, first_line(&text).to_owned())
        }
        None => match std::env::var(PASSWORD) {
            Ok(text) => (PASSWORD.to_owned(), text),
            Err(_) => return Ok(None),
        },
    };
    let length = text.chars().count();
    if !(PASSWORD_MIN..=PASSWORD_MAX).contains(&length) {
        let cause = format!("a password has {PASSWORD_MIN} to {PASSWORD_MAX} letters here");
        return Err(UiError::Password { place, cause });
    }
    Ok(Some(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_leaves_the_usual_port_out_of_any_name() {
        let names = ["runs.example".to_owned()];
        let hosts = |bound: &str, usual| {
            let mut hosts = hosts_of(bound.parse().unwrap(), &names, usual);
            hosts.sort();
            hosts.join(" ")
        };
        assert_eq!(
            hosts("10.1.2.3:443", 443),
            "10.1.2.3 10.1.2.3:443 runs.example runs.example:443"
        );
        assert_eq!(
            hosts("[::1]:80", 80),
            "[::1] [::1]:80 localhost localhost:80 runs.example runs.example:80"
        );
        assert_eq!(hosts("0.0.0.0:443", 443), "runs.example runs.example:443");
        assert_eq!(hosts("10.1.2.3:443", 80), "10.1.2.3:443 runs.example:443");
    }
}
