//! What the end-to-end tests share: the built program as a child, a server among them, and the
//! records that a run leaves. Every wait is bounded and ends with the event it waits for.
#![allow(dead_code, unused_imports, reason = "each test file takes what it needs")]
#![allow(clippy::panic, reason = "a test that waits in vain should end")]

pub(crate) mod authority;
pub(crate) mod datagram_line;
pub(crate) mod foreign;
pub(crate) mod golden;
pub(crate) mod http;
pub(crate) mod http2;
pub(crate) mod identity;
#[cfg(feature = "kerberos")]
pub(crate) mod kerberos;
pub(crate) mod locks;
pub(crate) mod lossy_line;
pub(crate) mod mariadb;
pub(crate) mod message;
pub(crate) mod namespace;
pub(crate) mod nats;
pub(crate) mod ni;
pub(crate) mod operations;
pub(crate) mod peer;
pub(crate) mod pgbouncer;
pub(crate) mod postgres;
pub(crate) mod proxy;
pub(crate) mod recorder;
pub(crate) mod router;
pub(crate) mod scenario;
pub(crate) mod server;
pub(crate) mod sql_peer;
pub(crate) mod tun;
pub(crate) mod ui;
pub(crate) mod web;

use std::fmt::Display;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use plumb_engine::clock::MonotonicClock;
use plumb_measure::Clock as _;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

pub(crate) use server::Server;

/// Longer than anything here takes on a machine that is merely slow or busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
/// The built program.
pub(crate) const PLUMB: &str = env!("CARGO_BIN_EXE_plumb");

/// An address of this machine at which nobody listens, for a server that does not pick one itself:
/// below the ports that the kernel gives to whoever asks for any.
pub(crate) fn free_address() -> String {
    static ASKED: AtomicU32 = AtomicU32::new(0);
    const PORTS: std::ops::Range<u32> = 20_000..32_000;
    let first = std::process::id().wrapping_mul(97);
    let free = (0..PORTS.end - PORTS.start).find_map(|_| {
        let at = first.wrapping_add(ASKED.fetch_add(1, Ordering::Relaxed));
        let port = PORTS.start + at % (PORTS.end - PORTS.start);
        let address = format!("127.0.0.1:{port}");
        TcpListener::bind(&address).is_ok().then_some(address)
    });
    free.expect("one of twelve thousand ports is free")
}

/// Says that something is not tried, and why, where whoever runs the tests sees it: what is printed by a
/// test that passes is kept from them.
pub(crate) fn not_tried(reason: impl Display) {
    let thread = thread::current();
    let line = format!("not tried: {}: {reason}\n", thread.name().unwrap_or("a test"));
    std::io::stderr().write_all(line.as_bytes()).expect("standard error takes it");
}

/// How a program ended, and all it said that was not taken before.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    /// Itself, if it ended with `code`.
    pub(crate) fn with(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// Standard output as one JSON document.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

/// A child that is ended with the test.
#[derive(Debug)]
pub(crate) struct Program {
    child: Child,
    out: Receiver<String>,
    err: Receiver<String>,
}

impl Program {
    /// Starts `plumb` in `folder`.
    pub(crate) fn start(words: &[&str], folder: &Path) -> Self {
        Self::start_as(Path::new(PLUMB), words, folder)
    }

    /// Starts the program at `path` in `folder`, where it finds neither a terminal nor colours.
    pub(crate) fn start_as(path: &Path, words: &[&str], folder: &Path) -> Self {
        Self::start_told(path, words, folder, &[])
    }

    /// Starts the program at `path` in `folder` with something in its environment.
    pub(crate) fn start_told(
        path: &Path,
        words: &[&str],
        folder: &Path,
        told: &[(&str, &str)],
    ) -> Self {
        let mut child = command(path, words, folder)
            .envs(told.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {}: {error}", path.display()));
        let out = lines(child.stdout.take().expect("it is piped"));
        let err = lines(child.stderr.take().expect("it is piped"));
        Self { child, out, err }
    }

    /// Starts `plumb` in `folder` under a limit of the shell's `ulimit`.
    pub(crate) fn limited(limit: &str, words: &[&str], folder: &Path) -> Self {
        let line = format!("ulimit {limit} && exec \"$0\" \"$@\"");
        Self::start_as(Path::new("/bin/sh"), &[&["-c", &line, PLUMB], words].concat(), folder)
    }

    /// Starts `plumb` in `folder` so that it hears SIGHUP, also where these tests run under `nohup`.
    pub(crate) fn in_terminal(words: &[&str], folder: &Path) -> Self {
        let words = [&["--default-signal=HUP", PLUMB], words].concat();
        Self::start_as(Path::new("/usr/bin/env"), &words, folder)
    }

    /// The number of its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it still runs");
    }

    /// The next line of standard output, without its end.
    pub(crate) fn line(&self) -> String {
        next(&self.out, "a line on standard output").unwrap_or_else(|| {
            panic!(
                "it ended instead of saying something: {}",
                rest(&self.err, PATIENCE, "its complaint")
            )
        })
    }

    /// The next line of standard error, without its end.
    pub(crate) fn log_line(&self) -> String {
        next(&self.err, "a line on standard error").expect("it still runs")
    }

    /// The next line of standard error, if one is there.
    pub(crate) fn log_now(&self) -> Option<String> {
        self.err.try_recv().ok()
    }

    /// Waits until it has ended.
    pub(crate) fn wait(self) -> Ended {
        self.wait_within(PATIENCE)
    }

    /// Waits until it has ended, however long it is silent up to `patience`.
    pub(crate) fn wait_within(mut self, patience: Duration) -> Ended {
        let stdout = rest(&self.out, patience, "the end of standard output");
        let stderr = rest(&self.err, patience, "the end of standard error");
        let status = self.child.wait().expect("it was started");
        Ended { code: status.code(), stdout, stderr }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // it has ended already, unless the test failed
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs `plumb` in `folder` to its end.
pub(crate) fn plumb(words: &[&str], folder: &Path) -> Ended {
    Program::start(words, folder).wait()
}

/// How `plumb` ends in `folder` when nobody reads a word of it.
pub(crate) fn unread(words: &[&str], folder: &Path) -> Option<i32> {
    unread_as(Path::new(PLUMB), words, folder)
}

/// The same of the program at `path`.
pub(crate) fn unread_as(path: &Path, words: &[&str], folder: &Path) -> Option<i32> {
    let (reader, out) = std::io::pipe().expect("a pipe");
    drop(reader);
    let log = out.try_clone().expect("a descriptor");
    let mut program = command(path, words, folder);
    program.stdout(out).stderr(log).status().expect("it can be started").code()
}

/// The program at `path` in `folder`, where it finds neither a terminal nor colours.
fn command(path: &Path, words: &[&str], folder: &Path) -> Command {
    let mut command = Command::new(path);
    command
        .args(words)
        .current_dir(folder)
        .env("COLUMNS", "100")
        .env("TZ", "UTC")
        .env("PLUMB_FOREIGN_LIMIT", "100%") // tests run side by side
        .env("PLUMB_FLOOR", "500") // what it takes is not what they judge
        .env_remove("CLICOLOR_FORCE")
        .stdin(Stdio::null());
    command
}

/// Runs `plumb net ping` in `folder` to its end.
pub(crate) fn ping(address: &str, words: &[&str], folder: &Path) -> Ended {
    plumb(&[&["net", "ping", address], words].concat(), folder)
}

/// What `look` finds, asked again after a millisecond for as long as a test has patience.
pub(crate) fn until<T>(look: impl FnMut() -> Option<T>) -> T {
    until_said(&|| "what is looked for".into(), look)
}

/// The same; `what` is waited for.
pub(crate) fn until_said<T>(what: &dyn Fn() -> String, mut look: impl FnMut() -> Option<T>) -> T {
    let pause = Duration::from_millis(1);
    let until_ns = MonotonicClock.now_ns() + u64::try_from(PATIENCE.as_nanos()).expect("minutes");
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(MonotonicClock.now_ns() < until_ns, "waited {PATIENCE:?} in vain for {}", what());
        thread::park_timeout(pause);
    }
}

/// The one run below `folder`/plumb-runs.
pub(crate) fn only_run(folder: &Path) -> PathBuf {
    let runs = runs(folder);
    let [run] = runs.as_slice() else { panic!("not one run, but {runs:?}") };
    run.clone()
}

/// Every run below `folder`/plumb-runs, by name.
pub(crate) fn runs(folder: &Path) -> Vec<PathBuf> {
    names_in(&folder.join("plumb-runs"))
        .into_iter()
        .map(|name| folder.join("plumb-runs").join(name))
        .collect()
}

/// The names in a folder, sorted; none if it is not there.
pub(crate) fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// What [`files_of`] finds in the folder of a run.
pub(crate) const FILES_OF_A_RUN: [&str; 6] =
    ["HOST.csv", "HOST.nmon", "SHA256SUMS", "intervals.hlog", "report.html", "run.json"];

/// The names in the folder of a run, that of this machine as `HOST`, sorted.
pub(crate) fn files_of(run: &Path) -> Vec<String> {
    let machine = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let mut names: Vec<String> =
        names_in(run).iter().map(|name| name.replacen(&machine, "HOST", 1)).collect();
    names.sort();
    names
}

/// The record in a run folder.
pub(crate) fn record(run: &Path) -> Value {
    let text = read(&run.join("run.json"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

pub(crate) fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Each line of a stream, with its end.
fn lines(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut stream = BufReader::new(stream);
        let mut line = Vec::new();
        while stream.read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
            if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                return;
            }
            line.clear();
        }
    });
    receiver
}

fn next(lines: &Receiver<String>, awaited: &str) -> Option<String> {
    match lines.recv_timeout(PATIENCE) {
        Ok(line) => Some(line.trim_end_matches('\n').to_owned()),
        Err(RecvTimeoutError::Disconnected) => None,
        Err(RecvTimeoutError::Timeout) => panic!("waited {PATIENCE:?} in vain for {awaited}"),
    }
}

fn rest(lines: &Receiver<String>, patience: Duration, awaited: &str) -> String {
    let mut text = String::new();
    loop {
        match lines.recv_timeout(patience) {
            Ok(line) => text += &line,
            Err(RecvTimeoutError::Disconnected) => return text,
            Err(RecvTimeoutError::Timeout) => {
                panic!("waited {patience:?} in vain for {awaited} after: {text}")
            }
        }
    }
}
