//! Everything that the threads of one server share.

use std::sync::mpsc::Sender;

use plumb_engine::clock::{self, MonotonicClock};
use plumb_measure::Clock as _;
use plumb_serve::Counters;
use plumb_serve::accounts::Accounts;

use crate::AppError;
use crate::backend::Backend;
use crate::config::Config;
use crate::database::DatabaseTarget;
use crate::dispatcher::{Board, Queue};
use crate::front::Cache;
use crate::program::Buffer;
use crate::records::Records;
use crate::sales::LockPlan;
use crate::session::Sessions;

/// One server.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) config: Config,
    pub(crate) target: DatabaseTarget,
    pub(crate) accounts: Accounts,
    pub(crate) records: Records,
    pub(crate) sessions: Sessions,
    pub(crate) buffer: Buffer,
    pub(crate) queue: Queue,
    pub(crate) board: Board,
    pub(crate) cache: Cache,
    pub(crate) counters: Counters,
    pub(crate) backend: Option<Backend>,
    pub(crate) locks: Option<LockPlan>,
    /// When it began, on the monotonic clock.
    pub(crate) began_ns: u64,
    /// The same on the wall.
    pub(crate) began: String,
    log: Sender<String>,
}

impl Instance {
    /// A server that does nothing yet.
    ///
    /// # Errors
    /// [`AppError::Plan`] when an address in the configuration is none.
    pub(crate) fn new(
        config: Config,
        target: DatabaseTarget,
        log: Sender<String>,
    ) -> Result<Self, AppError> {
        let bytes =
            |size: plumb_measure::ByteSize| usize::try_from(size.bytes()).unwrap_or(usize::MAX);
        Ok(Self {
            accounts: Accounts::new(config.accounts()),
            records: Records::default(),
            sessions: Sessions::new(config.sessions.clone()),
            buffer: Buffer::new(bytes(config.programs.buffer_size)),
            queue: Queue::new(config.dispatcher.queue),
            board: Board::new(config.dispatcher.work_processes),
            cache: Cache::new(bytes(config.front.cache_size)),
            counters: Counters::default(),
            backend: config.backend.as_ref().map(Backend::new).transpose()?,
            locks: config.locks.as_ref().map(LockPlan::new).transpose()?,
            began_ns: MonotonicClock.now_ns(),
            began: clock::utc(clock::wall_ns()),
            target,
            config,
            log,
        })
    }

    /// Writes `event` to the log.
    pub(crate) fn tell(&self, event: String) {
        // a server that stops has no log any more
        let _ = self.log.send(event);
    }
}
