//! The figures of a measurement while it runs: shown to whoever asks (`--metrics`), and sent (`--otlp`,
//! `--remote-write`).

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::{Arg, ArgMatches, Command};
use plumb_command::exit;
use plumb_engine::layer::Outline;
use plumb_engine::{IntervalRecords, Listener, Stop};
use plumb_measure::Span;
use plumb_telemetry::{Board, Family, Identity, Receiver, ReceiverKind, Sender, exposition};
use plumb_wire::prometheus::{self, Page};

use crate::pipeline::is_measurement;

/// The port that exporters of Prometheus begin at.
const PORT: u16 = 9464;
/// One client is served at a time; its request comes in so many parts at most, each within this
/// time, and it takes the answer within this time.
const PARTS_MAX: usize = 8;
const PATIENCE: Duration = Duration::from_millis(500);
/// How long nothing may happen before the thread looks around.
const QUIET: Span = Span::from_ms(3_600_000);

/// Commands that measure once, or in parts, may send their figures.
const RECEIVERS: [(ReceiverKind, &str, &str); 2] = [
    (
        ReceiverKind::Otlp,
        "otlp",
        "Send the figures to this OTLP/HTTP receiver while they are measured",
    ),
    (
        ReceiverKind::RemoteWrite,
        "remote_write",
        "Send the figures to this receiver of Prometheus remote write while they are measured",
    ),
];
/// Experiments: their commands name receivers of their own.
const WITHOUT: [&str; 3] = ["ab", "calibrate", "run"];

/// The command with the options that name receivers for each command below it that measures.
pub(crate) fn offer(command: Command) -> Command {
    if command.has_subcommands() {
        return command.mut_subcommands(offer);
    }
    if !is_measurement(&command) || WITHOUT.contains(&command.get_name()) {
        return command;
    }
    command.args(RECEIVERS.map(|(kind, id, help)| {
        let arg = Arg::new(id).long(kind.option()).value_name("URL");
        arg.help(help).help_heading("Output")
    }))
}

/// Who is told the figures while they are measured.
#[derive(Clone, Debug, Default)]
pub(crate) struct Receivers(Vec<Receiver>);

impl Receivers {
    /// Those that `words`, of a command or one around it, name.
    ///
    /// # Errors
    /// When one of them cannot be used.
    pub(crate) fn of(words: &ArgMatches) -> anyhow::Result<Self> {
        if let Some((_, inner)) = words.subcommand() {
            return Self::of(inner);
        }
        let named = RECEIVERS.iter().filter_map(|(kind, id, _)| {
            let url = words.try_get_one::<String>(id).ok().flatten()?;
            Some(Receiver::new(*kind, url))
        });
        Ok(Self(named.collect::<Result<_, _>>()?))
    }

    /// True when nobody is told.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Threads that show and send what has been measured so far; they end with [`end`](Self::end), or when
/// it is dropped.
pub(crate) struct Metrics {
    board: Arc<Mutex<Board>>,
    stop: Arc<Stop>,
    threads: Vec<JoinHandle<()>>,
    senders: Vec<Sender>,
}

impl Metrics {
    /// Shows the figures of what `outline` says at `address`, HOST:PORT, says on standard error where,
    /// and sends them to `receivers`, as those of the run in `folder`; `None` when nobody is to see
    /// them.
    ///
    /// # Errors
    /// When it cannot listen there, or start threads.
    pub(crate) fn start(
        address: Option<&str>,
        receivers: &Receivers,
        outline: &Outline,
        (folder, host): (&Path, &str),
    ) -> anyhow::Result<Option<Self>> {
        if address.is_none() && receivers.0.is_empty() {
            return Ok(None);
        }
        let board = Arc::new(Mutex::new(Board::new(outline)));
        let stop = Arc::new(Stop::new().context("cannot serve --metrics")?);
        let identity = Identity {
            run: run_name(folder),
            host: host.to_owned(),
            version: env!("CARGO_PKG_VERSION").into(),
        };
        let senders = receivers.0.iter().map(|receiver| Sender::start(receiver, &identity));
        let senders = senders.collect::<Result<_, _>>()?;
        let mut metrics = Self { board, stop, threads: Vec::new(), senders };
        if let Some(address) = address {
            metrics.serve(address)?;
        }
        Ok(Some(metrics))
    }

    fn serve(&mut self, address: &str) -> anyhow::Result<()> {
        if address.starts_with("unix:") {
            bail!("--metrics {address}: Prometheus asks HOST:PORT");
        }
        let listeners = Listener::bind_all(&[address.to_owned()], PORT)
            .with_context(|| format!("--metrics {address}"))?;
        for listener in &listeners {
            // nobody may be there to read it
            let _ = writeln!(io::stderr(), "metrics on http://{}/metrics", listener.local());
        }
        for listener in &listeners {
            let door = listener.as_fd().try_clone_to_owned().context("cannot serve --metrics")?;
            let (shown, ends) = (Arc::clone(&self.board), Arc::clone(&self.stop));
            self.threads.push(std::thread::spawn(move || answer_all(&door.into(), &shown, &ends)));
        }
        Ok(())
    }

    /// The run is over, and its figures may be used or not: sends the last of them, and says what was
    /// not delivered.
    pub(crate) fn end(mut self, valid: bool) {
        self.with(|board| board.ended(valid));
        let families = self.families();
        for sender in self.senders.drain(..) {
            let receiver = sender.receiver().clone();
            if let Some(complaint) = sender.end(&families).complaint(&receiver) {
                exit::note(&complaint); // the run stands without it
            }
        }
    }

    fn families(&self) -> Arc<Vec<Family>> {
        Arc::new(self.board.lock().unwrap_or_else(PoisonError::into_inner).families())
    }

    /// What the rows of the points to come are called.
    pub(crate) fn rows(&self, names: &[String]) {
        self.with(|board| board.rows(names));
    }

    /// A point begins.
    pub(crate) fn point(&self, labels: &BTreeMap<String, String>) {
        self.with(|board| board.point(labels));
    }

    /// An interval of the last point is over.
    pub(crate) fn add(&mut self, records: &IntervalRecords) {
        self.with(|board| board.add(records));
        if self.senders.iter().any(Sender::is_due) {
            let families = self.families();
            self.senders.iter_mut().for_each(|sender| sender.offer(&families));
        }
    }

    fn with(&self, change: impl FnOnce(&mut Board)) {
        change(&mut self.board.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Drop for Metrics {
    fn drop(&mut self) {
        self.stop.ask();
        for thread in self.threads.drain(..) {
            let _ = thread.join(); // the run stands without its metrics
        }
    }
}

/// Answers until it is told to stop, or the kernel lets it wait no longer.
fn answer_all(door: &TcpListener, board: &Mutex<Board>, stop: &Stop) {
    while !stop.asked() && stop.wait_for(door.as_fd(), QUIET).is_ok() {
        // the door does not block; who goes away before the answer was not there
        while !stop.asked()
            && let Ok((stream, _)) = door.accept()
        {
            let text = exposition(&board.lock().unwrap_or_else(PoisonError::into_inner).families());
            let _ = answer(stream, &text);
        }
    }
}

/// Answers one request with `text`, or says where that is.
fn answer(mut stream: TcpStream, text: &str) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let (mut bytes, mut part) = (Vec::new(), [0; 1024]);
    for _ in 0..PARTS_MAX {
        if prometheus::head(&bytes).is_some() {
            break;
        }
        let length = stream.read(&mut part)?;
        bytes.extend_from_slice(&part[..length]);
    }
    // whoever asks for too much, or too slowly, is told nothing
    let Some(head) = prometheus::head(&bytes) else { return Ok(()) };
    let page = Page::of(&String::from_utf8_lossy(head), || text.to_owned());
    stream.write_all(page.text.as_bytes())
}

/// How a run in `folder` is called among others: as its folder is, and that of the check or experiment
/// around it.
fn run_name(folder: &Path) -> String {
    let names: Vec<String> =
        folder.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    let inner = names.iter().rposition(|name| name == "parts" || name == "blocks");
    let from = inner.map_or(names.len().saturating_sub(1), |at| at.saturating_sub(1));
    names[from..].join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_called_as_its_folder() {
        for (folder, name) in [
            ("plumb-runs/2026-net-ping", "2026-net-ping"),
            ("/tmp/x/run", "run"),
            ("plumb-runs/2026-checkup/parts/01-ping", "2026-checkup/parts/01-ping"),
            ("x/blocks/001-a", "x/blocks/001-a"),
        ] {
            assert_eq!(run_name(Path::new(folder)), name);
        }
    }
}
