//! `--metrics`: the figures of a measurement while it runs, for Prometheus.

mod board;

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context as _, bail};
use plumb_engine::layer::Outline;
use plumb_engine::{IntervalRecords, Listener, Stop};
use plumb_measure::Span;
use plumb_wire::prometheus::{self, Page};

use board::Board;

/// The port that exporters of Prometheus begin at.
const PORT: u16 = 9464;
/// One client is served at a time; its request comes in so many parts at most, each within this
/// time, and it takes the answer within this time.
const PARTS_MAX: usize = 8;
const PATIENCE: Duration = Duration::from_millis(500);
/// How long nothing may happen before the thread looks around.
const QUIET: Span = Span::from_ms(3_600_000);

/// Threads that show what has been measured so far to whoever asks; they end when it is dropped.
pub(crate) struct Metrics {
    board: Arc<Mutex<Board>>,
    stop: Arc<Stop>,
    threads: Vec<JoinHandle<()>>,
}

impl Metrics {
    /// Listens on `address`, HOST:PORT, and says on standard error where.
    ///
    /// # Errors
    /// When it cannot listen there.
    pub(crate) fn serve(address: &str, outline: &Outline) -> anyhow::Result<Self> {
        if address.starts_with("unix:") {
            bail!("--metrics {address}: Prometheus asks HOST:PORT");
        }
        let listeners = Listener::bind_all(&[address.to_owned()], PORT)
            .with_context(|| format!("--metrics {address}"))?;
        for listener in &listeners {
            writeln!(io::stderr(), "metrics on http://{}/metrics", listener.local())?;
        }
        let board = Arc::new(Mutex::new(Board::new(outline)));
        let stop = Arc::new(Stop::new().context("cannot serve --metrics")?);
        let mut threads = Vec::new();
        for listener in &listeners {
            let door = listener.as_fd().try_clone_to_owned().context("cannot serve --metrics")?;
            let (shown, ends) = (Arc::clone(&board), Arc::clone(&stop));
            threads.push(std::thread::spawn(move || answer_all(&door.into(), &shown, &ends)));
        }
        Ok(Self { board, stop, threads })
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
    pub(crate) fn add(&self, records: &IntervalRecords) {
        self.with(|board| board.add(records));
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
        while let Ok((stream, _)) = door.accept() {
            let text = board.lock().unwrap_or_else(PoisonError::into_inner).render();
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
