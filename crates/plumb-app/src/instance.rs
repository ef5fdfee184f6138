//! One server: its front, its dispatcher, and what their threads share.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use plumb_engine::clock::{self, MonotonicClock};
use plumb_measure::Clock as _;
use plumb_serve::Counters;

use crate::AppError;
use crate::cache::Cache;
use crate::config::Config;
use crate::database::DatabaseTarget;
use crate::dispatcher::Dispatcher;
use crate::services::{Services, bytes};
use plumb_serve::Log;

/// One server.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) config: Config,
    pub(crate) services: Arc<Services>,
    pub(crate) dispatcher: Arc<Dispatcher>,
    pub(crate) cache: Cache,
    pub(crate) counters: Counters,
    pub(crate) log: Arc<Log>,
    /// When it began, on the monotonic clock.
    pub(crate) began_ns: u64,
    /// The same on the wall.
    pub(crate) began: String,
}

impl Instance {
    /// A server that does nothing yet.
    ///
    /// # Errors
    /// [`AppError::Plan`] when an address in the configuration is none.
    pub(crate) fn new(
        config: Config,
        target: DatabaseTarget,
        events: Sender<String>,
    ) -> Result<Self, AppError> {
        let (services, log) = (Arc::new(Services::new(&config)?), Arc::new(Log::new(events)));
        let began_ns = MonotonicClock.now_ns();
        Ok(Self {
            dispatcher: Arc::new(Dispatcher::new(&config.dispatcher, target)),
            cache: Cache::new(bytes(config.front.cache_size)),
            counters: Counters::default(),
            began_ns,
            began: clock::utc(clock::wall_ns()),
            services,
            config,
            log,
        })
    }
}
