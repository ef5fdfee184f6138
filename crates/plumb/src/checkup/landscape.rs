//! The landscape of our own: each server a process of its own on loopback, started as a user would
//! start it, and ended with the checkup.

use std::fs::{self, File, Permissions};
use std::io::Read as _;
use std::os::fd::AsFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context as _, bail};
use plumb_checkup::{CheckupLayer, CheckupPart, LeftOutLayer};
use plumb_command::signals::PARENT;
use plumb_engine::clock::MonotonicClock;
use plumb_engine::{Stop, wait_for};
use plumb_measure::{Clock as _, Span};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use tempfile::TempDir;

use super::ask::{self, LOCKERS, MESSENGERS, Page, PageRequests, SENDERS, Sent, USERS};
use super::scale::Scale;

/// Time to say where it listens; the application server fills its database first.
const START: Span = Span::from_ms(30_000);
/// Time to end after being asked to.
const FAREWELL: Span = Span::from_ms(12_000);
/// Bytes that a server may say before its address is complete.
const SAID_MAX: usize = 4 << 10;

/// The user of the application server that everybody knows; it listens on loopback only.
const DEMO: &str = "demo:demo\n";
/// Pages of the application server: a page and an image of the same length, and flights.
const PAGE: &str = "/sap/bc/bsp/it03/text4kb.htm";
const IMAGE: &str = "/sap/bc/bsp/it03/image4kb.gif";
const FLIGHT: &str = "/sap/opu/odata/iwfnd/RMTSAMPLEFLIGHT/\
                      FlightCollection(carrid='AA',connid='0017',fldate='20110601')?$format=json";
const FLIGHTS: &str = "/sap/opu/odata/iwfnd/RMTSAMPLEFLIGHT/FlightCollection?$format=json";

/// The transactions of the integration runtime: an order becomes rows of a table, and one is only
/// read. Both wait for the last action.
const TO_A_TABLE: &str = include_str!("transactions/order.toml");
const READ_ONLY: &str = include_str!("transactions/count.toml");
const TABLE_NAME: &str = "order";
const READ_NAME: &str = "count";
/// Where their rows go.
const DATA_SERVERS: &str = include_str!("transactions/data-servers.toml");

/// Servers that run as long as this lives.
#[derive(Debug)]
pub(super) struct Landscape {
    echo: Served,
    locks: Served,
    pages: Served,
    runtime: Served,
    /// Who asks for pages.
    credentials: PathBuf,
    /// What the servers write; it goes last.
    _folder: TempDir,
}

impl Landscape {
    /// Starts the servers, on free ports of loopback.
    ///
    /// # Errors
    /// When one does not start; those that did are ended.
    pub(super) fn start(stop: &Stop) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("plumb-checkup-").tempdir();
        let folder = folder.context("cannot make a folder for the servers of the checkup")?;
        let credentials = folder.path().join("demo");
        fs::write(&credentials, DEMO).context("cannot write into the temporary folder")?;
        fs::set_permissions(&credentials, Permissions::from_mode(0o600))?;
        let flow =
            write_runtime(folder.path()).context("cannot write into the temporary folder")?;
        let serve = |name: &str, words: &[&str]| {
            Served::start(name, words, folder.path(), stop)
                .with_context(|| format!("cannot start the {name} of the checkup"))
        };
        Ok(Self {
            echo: serve("echo server", &["net", "serve"])?,
            locks: serve("lock server", &["lock", "serve"])?,
            pages: serve("application server", &["app", "serve"])?,
            runtime: serve(
                "integration runtime",
                &["flow", "serve", &flow.transactions, "--settings", &flow.settings],
            )?,
            credentials,
            _folder: folder,
        })
    }

    /// The layers of which none has a server.
    pub(super) fn left_out() -> Vec<LeftOutLayer> {
        let why = "the database by itself: that of the application server is part of it, and no \
                   other is started here; name one in a landscape file ([database] url)";
        vec![LeftOutLayer { layer: CheckupLayer::Database, why: why.into() }]
    }

    /// What is measured of them.
    ///
    /// # Errors
    /// When there is too little time for that.
    pub(super) fn parts(&self, scale: &Scale) -> anyhow::Result<Vec<CheckupPart>> {
        let url = |path: &str| format!("http://{}{path}", self.pages.address);
        let page = |name: &str, path: &str| Page { name: name.into(), url: url(path) };
        let pages = [page("a flight", FLIGHT), page("a flight list", FLIGHTS)];
        let (dynamic, ready) = (page("a page", PAGE), url(IMAGE));
        let site = PageRequests {
            pages: &pages,
            pair: Some((&dynamic, &ready)),
            users: USERS,
            words: ask::naming("credentials", Some(&self.credentials)).into_iter().collect(),
        };
        let messages = ask::network(&self.echo.address, "a round trip", MESSENGERS);
        let locks = ask::locks(&self.locks.address, &[], LOCKERS);
        let sent = |operation: &str, transaction: &str| Sent {
            operation: operation.into(),
            words: vec![format!("--transaction={transaction}")],
        };
        let orders =
            [sent("an order into a table", TABLE_NAME), sent("an order that is read", READ_NAME)];
        let orders = ask::messages(&format!("http://{}", self.runtime.address), &orders, SENDERS);
        Ok([
            scale.parts(CheckupLayer::Network, "network", messages)?,
            scale.parts(CheckupLayer::Locks, "lock server", locks)?,
            scale.parts(CheckupLayer::Pages, "application server", site.asks())?,
            scale.parts(CheckupLayer::Messages, "integration runtime", orders)?,
        ]
        .concat())
    }
}

/// The files of the integration runtime.
struct RuntimeFiles {
    transactions: String,
    settings: String,
}

fn write_runtime(folder: &Path) -> std::io::Result<RuntimeFiles> {
    let (transactions, settings) = (folder.join("transactions"), folder.join("flow.toml"));
    fs::create_dir(&transactions)?;
    for (name, text) in [(TABLE_NAME, TO_A_TABLE), (READ_NAME, READ_ONLY)] {
        fs::write(transactions.join(format!("{name}.toml")), text)?;
    }
    fs::write(transactions.join("data-servers.toml"), DATA_SERVERS)?;
    let queue = folder.join("queue").display().to_string();
    fs::write(&settings, format!("[queue]\nfolder = {}\n", toml::Value::from(queue)))?;
    let shown = |path: &Path| path.display().to_string();
    Ok(RuntimeFiles { transactions: shown(&transactions), settings: shown(&settings) })
}

/// A server that runs as long as this lives.
#[derive(Debug)]
struct Served {
    child: Child,
    /// Kept open: a server whose reader is gone could not say anything more.
    _out: ChildStdout,
    /// Where it listens, as it says.
    address: String,
}

impl Served {
    fn start(name: &str, words: &[&str], folder: &Path, stop: &Stop) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("this program cannot be found")?;
        let log = folder.join(format!("{}.log", name.replace(' ', "-")));
        let mut child = Command::new(program)
            .args(words)
            .args(["--listen", "127.0.0.1:0"])
            .env("TMPDIR", folder)
            .env(PARENT, std::process::id().to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(&log)?)
            .process_group(0) // so that Ctrl-C ends the measurement first, and the servers after it
            .spawn()?;
        let out = child.stdout.take();
        let told = out.context("its output is lost").and_then(|mut out| {
            let address = address(&mut out, stop)?;
            Ok((out, address))
        });
        match told {
            Ok((out, address)) => Ok(Self { child, _out: out, address }),
            Err(error) => {
                end(&mut child);
                let last = fs::read_to_string(&log).unwrap_or_default();
                let last = last.trim_end().lines().next_back().unwrap_or("it said nothing more");
                Err(error.context(last.to_owned()))
            }
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// The address that a server says it listens on.
fn address(out: &mut ChildStdout, stop: &Stop) -> anyhow::Result<String> {
    let deadline_ns = MonotonicClock.now_ns() + START.ns();
    let mut said = Vec::new();
    loop {
        stop.wait_for(
            out.as_fd(),
            Span::from_ns(deadline_ns.saturating_sub(MonotonicClock.now_ns())),
        )?;
        if stop.asked() {
            bail!("interrupted");
        }
        if MonotonicClock.now_ns() >= deadline_ns {
            bail!("it did not say within {START} where it listens");
        }
        let mut some = [0; 256];
        let bytes = out.read(&mut some)?;
        said.extend_from_slice(&some[..bytes]);
        if let Some(end) = said.iter().position(|byte| *byte == b'\n') {
            let line = String::from_utf8_lossy(&said[..end]).into_owned();
            let address = line.strip_prefix("listening on ");
            return address.map(str::to_owned).with_context(|| format!("it said `{line}`"));
        }
        if bytes == 0 || said.len() > SAID_MAX {
            bail!("it ended before it said where it listens");
        }
    }
}

/// Ends a server, by its number.
fn end(child: &mut Child) {
    if !matches!(child.try_wait(), Ok(None)) {
        return; // it has ended, and its number may be another's by now
    }
    let server = Pid::from_child(child);
    // one that ends in between needs no signal
    let _ = kill_process(server, Signal::TERM);
    if let Ok(ended) = pidfd_open(server, PidfdFlags::empty()) {
        // whatever the wait says, it is ended now
        let _ = wait_for([ended.as_fd()], FAREWELL);
    }
    let _ = child.kill();
    let _ = child.wait();
}
