//! `plumb http record`: a proxy that writes down what passes through it.
//!
//! | question | file |
//! |---|---|
//! | who may come in, how many? | `acceptor.rs` |
//! | where does a request go, what comes back? | `handler.rs`, `hops.rs`, `upstream/` |
//! | what only passes through, what is opened? | `handler/passage.rs`, `intercept.rs`, `authority.rs` |
//! | what is seen of bodies? | `tap.rs`, `kept.rs` |
//! | what is written down? | `exchange.rs`, `entry.rs`, `form.rs`, `secrets/` |
//! | when, and into which file? | `ledger.rs`, `archive.rs` |
//!
//! It is served on tokio and hyper, as the application server is: nothing is measured by it, and
//! what it must speak (TLS towards both sides, tunnels, changed protocols) they speak well. Its
//! times are those of a proxy in between.

mod acceptor;
mod archive;
mod authority;
mod entry;
mod error;
mod exchange;
mod form;
mod handler;
mod hops;
mod intercept;
mod kept;
mod ledger;
mod options;
mod present;
mod secrets;
mod tap;
mod upstream;

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use clap::{Args as _, Command};
use plumb_engine::clock::MonotonicClock;
use plumb_engine::layer::{JobError, Output, Verb, announce, note_all};
use plumb_engine::{Address, Endpoint, Family, Listener, Stop, tls};
use plumb_measure::{Clock as _, Span};
use plumb_serve::accept::take_all;
use rustls::ClientConfig;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Semaphore, watch};

use acceptor::Acceptor;
use archive::Archive;
use authority::Authority;
use entry::Writer;
use handler::ProxyState;
use kept::Room;
use ledger::{Ledger, Scribe, WAITING_MAX, Written};
use secrets::Secrets;
use upstream::{HTTP1, HTTP2, Reach};

pub use error::RecordError;
pub use intercept::{Intercept, NoHosts};
pub use options::{HttpsOptions, RecordOptions};

/// The port on which the proxy listens unless told otherwise.
const PORT: u16 = 8888;
/// Threads that pass requests on; who records is one user with a browser.
const THREADS: usize = 2;
/// How long connections may go on after the proxy was told to stop.
const FAREWELL: Duration = Duration::from_secs(2);

/// The verb, with its words for people.
#[must_use]
pub fn command() -> Command {
    RecordOptions::augment_args(Command::new("record"))
        .about("Record what a browser asks for, as a proxy, into a HAR file")
        .long_about(
            "Records what a browser, or any client that is given it as its proxy, asks for, into \
             a HAR file.\n\nPlain requests are forwarded and recorded. Connections of HTTPS pass \
             through unopened, unless --intercept names their host: then an authority of this \
             user signs for it, which the client must be told to trust. Secrets are masked in \
             the file.",
        )
}

/// Recording as a job.
#[derive(Debug)]
pub struct Record {
    options: RecordOptions,
    interrupted: bool,
}

/// What recording needs, and could have been refused.
struct Ready {
    tls: ClientConfig,
    authority: Option<Authority>,
    listeners: Vec<Listener>,
    runtime: Runtime,
    archive: Archive,
}

/// How a recording ended.
struct Recorded {
    served: io::Result<()>,
    /// It was told to stop.
    asked: bool,
    written: Written,
    /// What is in no file, in words.
    missing: String,
}

impl Recorded {
    /// The last line: what is in the file, and what is not.
    fn summary(&self, path: &Path) -> String {
        let lost = match self.written.lost {
            0 => String::new(),
            lost => format!("; {lost} could not be saved"),
        };
        let (entries, file) = (self.written.entries, path.display());
        let s = if entries == 1 { "" } else { "s" };
        format!("{entries} request{s} in {file}{lost}{}", self.missing)
    }
}

impl Record {
    /// Checks the options; it listens once it runs.
    ///
    /// # Errors
    /// [`RecordError`] when they ask for the impossible, or for a proxy that everybody may use.
    pub fn new(options: RecordOptions) -> Result<Self, RecordError> {
        for address in &options.listen {
            let parsed = Address::parse(address, PORT)?;
            if matches!(parsed, Address::Unix(_)) {
                return Err(RecordError::NoPort { address: address.clone() });
            }
            let open = || -> Result<bool, RecordError> {
                let endpoints = Endpoint::resolve(&parsed, Family::Any)?;
                Ok(!endpoints.iter().all(Endpoint::is_local))
            };
            if options.allow.is_empty() && open()? {
                return Err(RecordError::Open { address: address.clone() });
            }
        }
        Ok(Self { options, interrupted: false })
    }

    fn authority(&self) -> Result<Authority, RecordError> {
        match &self.options.https.ca_dir {
            Some(folder) => Authority::open(folder),
            None => Authority::open(&authority::default_folder()?),
        }
    }

    /// Everything that may be refused, before anybody is served.
    fn prepare(&self, path: &Path) -> Result<Ready, RecordError> {
        let https = &self.options.https;
        let tls = tls::client_config(https.ca.as_deref(), &[HTTP1])?;
        let opens = !https.intercept.is_empty();
        Ok(Ready {
            tls: ClientConfig::clone(&tls),
            authority: opens.then(|| self.authority()).transpose()?,
            listeners: Listener::bind_all(&self.options.listen, PORT)?,
            runtime: runtime()?,
            archive: Archive::create(path)?, // last: what is refused leaves no file behind
        })
    }

    fn announce(&self, ready: &Ready, out: Output<'_>, log: Output<'_>) -> io::Result<()> {
        if let Some(authority) = &ready.authority {
            write!(log, "{}", authority.introduction())?;
        }
        if self.options.keep_secrets {
            let file = ready.archive.path().display();
            writeln!(log, "plumb: {file} will hold passwords, cookies and tokens as they are")?;
        }
        announce(&ready.listeners, out)
    }

    /// Records until it is told to stop, or its time is over.
    fn record(&self, ready: Ready, log: Output<'_>, stop: &Stop) -> Recorded {
        let Ready { tls, authority, listeners, runtime, archive } = ready;
        let (exchanges, written) = mpsc::sync_channel(WAITING_MAX);
        let (events, told) = mpsc::channel();
        let ledger = Ledger::new(exchanges, events.clone());
        let scribe = Scribe { archive, writer: self.writer(), events };
        let state = Arc::new(self.state(ledger.clone(), tls, authority, &listeners));
        let (tell_stop, stopped) = watch::channel(false);
        let length_ns = self.options.for_time.map_or(u64::MAX, Span::ns);
        let end_ns = MonotonicClock.now_ns().saturating_add(length_ns);
        let mut nowhere = io::sink();
        let log: Output<'_> = if self.options.quiet { &mut nowhere } else { log };
        std::thread::scope(|threads| {
            threads.spawn(move || note_all(&told, log));
            let scribe = threads.spawn(move || scribe.work(&written));
            let watcher = threads.spawn(move || {
                // a kernel that refuses to wait ends the recording, as if asked
                let asked = stop.wait_until(end_ns).unwrap_or(true);
                let _ = tell_stop.send(true);
                asked
            });
            let served = runtime.block_on(serve(&self.options, state, listeners, stopped));
            if served.is_err() {
                stop.ask();
            }
            // with it go the last connections, which hold the ledger
            runtime.shutdown_timeout(FAREWELL);
            let asked = watcher.join().unwrap_or(true);
            let missing = ledger.missing();
            drop(ledger);
            Recorded { served, asked, missing, written: scribe.join().unwrap_or_default() }
        })
    }

    fn writer(&self) -> Writer {
        let secrets = if self.options.keep_secrets { Secrets::Kept } else { Secrets::Masked };
        Writer { secrets, body_max: self.options.keep_body.bytes() }
    }

    fn state(
        &self,
        ledger: Ledger,
        tls: ClientConfig,
        authority: Option<Authority>,
        listeners: &[Listener],
    ) -> ProxyState {
        let own = listeners.iter().filter_map(|it| it.local().parse::<SocketAddr>().ok());
        let mut for_both = tls.clone();
        for_both.alpn_protocols = vec![HTTP2.to_vec(), HTTP1.to_vec()];
        ProxyState {
            ledger,
            reach: Reach {
                tls: Arc::new(tls),
                tls_for_both: Arc::new(for_both),
                patience: self.options.connect_timeout,
                own: own.collect(),
            },
            intercept: self.options.https.intercept.clone(),
            authority,
            room: Room::default(),
            keep_body: usize::try_from(self.options.keep_body.bytes()).unwrap_or(usize::MAX),
            timeout: self.options.timeout,
        }
    }
}

impl Verb for Record {
    fn run(&mut self, out: Output<'_>, log: Output<'_>, stop: &Stop) -> Result<(), JobError> {
        let Some(path) = self.options.out.clone() else {
            write!(out, "{}", self.authority()?.introduction())?;
            return Ok(());
        };
        let ready = self.prepare(&path)?;
        self.announce(&ready, out, log)?;
        let recorded = self.record(ready, log, stop);
        self.interrupted = recorded.asked && self.options.for_time.is_some();
        let summary = recorded.summary(&path);
        // how it ended counts, whether or not anybody reads the last line
        let told = writeln!(out, "{summary}");
        recorded.served.map_err(RecordError::system("wait for connections"))?;
        Ok(told?)
    }

    fn was_interrupted(&self) -> bool {
        self.interrupted
    }
}

/// Serves until it is told to stop, and the last connection is gone or was given its time.
async fn serve(
    options: &RecordOptions,
    state: Arc<ProxyState>,
    listeners: Vec<Listener>,
    stop: watch::Receiver<bool>,
) -> io::Result<()> {
    let (present, mut everybody) = tokio::sync::mpsc::channel(1);
    let acceptor = Acceptor {
        state,
        allow: options.allow.clone().into(),
        places: Arc::new(Semaphore::new(options.max_clients.min(Semaphore::MAX_PERMITS))),
        stop,
        present,
    };
    let served = take_all(listeners, &acceptor.stop, &acceptor).await;
    drop(acceptor);
    // nobody ever sends: it ends when the last connection is gone
    let _ = tokio::time::timeout(FAREWELL, everybody.recv()).await;
    served
}

fn runtime() -> Result<Runtime, RecordError> {
    Builder::new_multi_thread()
        .worker_threads(THREADS)
        .enable_all()
        .build()
        .map_err(RecordError::system("start the threads of the proxy"))
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches as _;

    use super::*;

    #[test]
    fn each_recording_says_how_to_trust_its_authority() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name).display().to_string();
        let authority = place("ca");
        for file in [place("a.har"), place("b.har")] {
            let words = ["record", "--listen", "127.0.0.1:0", "--out", &file];
            let words = [&words[..], &["--ca-dir", &authority, "--intercept", "*"]].concat();
            let matches = command().get_matches_from(words);
            let record = Record::new(RecordOptions::from_arg_matches(&matches).unwrap()).unwrap();
            let ready = record.prepare(Path::new(&file)).unwrap();
            let (mut out, mut log) = (Vec::new(), Vec::new());
            record.announce(&ready, &mut out, &mut log).unwrap();
            let log = String::from_utf8(log).unwrap();
            assert!(log.contains("--ignore-certificate-errors-spki-list="), "{file}: {log}");
        }
    }
}
