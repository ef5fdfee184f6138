//! The processes of one stylesheet.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use plumb_wire::stylesheet::FrameKind;

use super::deadline::Deadline;
use super::process::{NoAnswer, Process};
use super::{Stylesheet, XsltError, XsltLimits};

/// How many processes there are and were, of all stylesheets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct XsltFigures {
    /// Processes that are there, at work or not.
    pub running: u64,
    /// Started since the runtime began.
    pub started: u64,
    /// Ended after an error, so that another takes their place.
    pub replaced: u64,
    /// Of those, killed because they were not done in time.
    pub killed: u64,
}

/// The same, as they are counted.
#[derive(Debug, Default)]
pub(super) struct Counts {
    running: AtomicU64,
    started: AtomicU64,
    replaced: AtomicU64,
    killed: AtomicU64,
}

impl Counts {
    pub(super) fn figures(&self) -> XsltFigures {
        XsltFigures {
            running: self.running.load(Relaxed),
            started: self.started.load(Relaxed),
            replaced: self.replaced.load(Relaxed),
            killed: self.killed.load(Relaxed),
        }
    }
}

/// The processes of one stylesheet; those that wait have compiled it.
#[derive(Debug)]
pub(super) struct Pool {
    program: PathBuf,
    limits: XsltLimits,
    counts: Arc<Counts>,
    places: Mutex<Places>,
    /// A place has become free, or a process.
    freed: Condvar,
}

#[derive(Debug, Default)]
struct Places {
    idle: Vec<Running>,
    /// Processes, at work or idle, and those about to be started.
    taken: usize,
    /// A process has compiled the stylesheet, so that each can.
    is_compiled: bool,
}

/// A process that is counted.
#[derive(Debug)]
struct Running {
    process: Process,
    counts: Arc<Counts>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.counts.running.fetch_sub(1, Relaxed);
    }
}

/// A place in the pool, with a process unless one is to be started.
struct Lease<'a> {
    pool: &'a Pool,
    running: Option<Running>,
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        let mut places = self.pool.places();
        match self.running.take() {
            Some(running) => places.idle.push(running),
            None => places.taken -= 1,
        }
        drop(places);
        self.pool.freed.notify_one();
    }
}

impl Pool {
    pub(super) fn new(program: PathBuf, limits: XsltLimits, counts: Arc<Counts>) -> Self {
        Self { program, limits, counts, places: Mutex::default(), freed: Condvar::new() }
    }

    /// Has a process compile the stylesheet, and keeps it; not again where one has, so that
    /// whoever looks takes no process from those that have documents.
    pub(super) fn check(
        &self,
        stylesheet: &Stylesheet,
        deadline: &Deadline,
    ) -> Result<(), XsltError> {
        if self.places().is_compiled {
            return Ok(());
        }
        let mut lease = self.lease(stylesheet, deadline)?;
        lease.running = Some(self.compiled(&mut lease, stylesheet, deadline)?);
        Ok(())
    }

    pub(super) fn transform(
        &self,
        stylesheet: &Stylesheet,
        document: &[u8],
        deadline: &Deadline,
    ) -> Result<Vec<u8>, XsltError> {
        let mut lease = self.lease(stylesheet, deadline)?;
        let mut running = self.compiled(&mut lease, stylesheet, deadline)?;
        let most = self.limits.result_bytes();
        let answer = running.process.exchange(FrameKind::Document, document, most, deadline);
        match answer {
            Ok(result) => {
                lease.running = Some(running);
                Ok(result)
            }
            Err(why) => Err(self.given_up(running, why, stylesheet)),
        }
    }

    /// Waits for a process, or for a place to start one at.
    fn lease(&self, stylesheet: &Stylesheet, deadline: &Deadline) -> Result<Lease<'_>, XsltError> {
        let mut places = self.places();
        loop {
            while let Some(mut running) = places.idle.pop() {
                if running.process.is_alive() {
                    return Ok(Lease { pool: self, running: Some(running) });
                }
                self.counts.replaced.fetch_add(1, Relaxed);
                places.taken -= 1;
            }
            if places.taken < self.limits.processes.max(1) {
                places.taken += 1;
                return Ok(Lease { pool: self, running: None });
            }
            let Some(left) = deadline.left() else {
                let stylesheet = stylesheet.path().into();
                return Err(XsltError::Busy { stylesheet, processes: places.taken });
            };
            let waited = self.freed.wait_timeout(places, left);
            places = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The process of the lease, or a new one that has compiled the stylesheet.
    fn compiled(
        &self,
        lease: &mut Lease<'_>,
        stylesheet: &Stylesheet,
        deadline: &Deadline,
    ) -> Result<Running, XsltError> {
        if let Some(running) = lease.running.take() {
            return Ok(running);
        }
        let program = self.program.clone();
        let process = Process::start(&self.program, self.limits)
            .map_err(|error| XsltError::NotStarted { program, error })?;
        self.counts.started.fetch_add(1, Relaxed);
        self.counts.running.fetch_add(1, Relaxed);
        let mut running = Running { process, counts: Arc::clone(&self.counts) };
        let text = stylesheet.text();
        let most = self.limits.result_bytes();
        match running.process.exchange(FrameKind::Stylesheet, text, most, deadline) {
            Ok(_) => {
                self.places().is_compiled = true;
                Ok(running)
            }
            Err(why) => Err(self.given_up(running, why, stylesheet)),
        }
    }

    /// Ends a process that has not answered, or with an error.
    fn given_up(&self, running: Running, why: NoAnswer, stylesheet: &Stylesheet) -> XsltError {
        drop(running);
        self.counts.replaced.fetch_add(1, Relaxed);
        let stylesheet = stylesheet.path().to_path_buf();
        match why {
            NoAnswer::Failed { line, problem } => XsltError::Failed { stylesheet, line, problem },
            NoAnswer::TooLarge { found } => {
                XsltError::ResultTooLarge { stylesheet, found, most: self.limits.result_bytes() }
            }
            NoAnswer::Ended { how, by_others } => XsltError::Ended { stylesheet, how, by_others },
            NoAnswer::Late => {
                self.counts.killed.fetch_add(1, Relaxed);
                XsltError::Late { stylesheet }
            }
            NoAnswer::Broken(error) => {
                let how = format!("no answer of plumb-xslt can be had: {error}");
                XsltError::Ended { stylesheet, how, by_others: true }
            }
        }
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
