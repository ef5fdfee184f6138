//! The store of the queue.

use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;

use plumb_serve::database::{DatabaseLimits, DatabaseTarget, Secret};

use plumb_serve::nodes::NodeNumber;
use plumb_wire::secret;

use crate::config::QueueConfig;
use crate::{FlowError, siblings};
use plumb_queue::{
    NatsQueue, PostgresQueue, Queue, QueueError, QueueLimits, SqliteQueue, SystemClock,
};

/// The queue, and what the log says of it.
pub(super) struct Opened {
    pub(super) queue: Arc<dyn Queue>,
    /// The settings in force of a store that has some of its own.
    pub(super) in_force: Option<String>,
}

impl Opened {
    fn plain(queue: impl Queue + 'static) -> Self {
        Self { queue: Arc::new(queue), in_force: None }
    }
}

/// Opens the queue that `config` describes.
///
/// # Errors
/// [`FlowError`] when it cannot be used.
pub(super) fn open(config: &QueueConfig, node: Option<NodeNumber>) -> Result<Opened, FlowError> {
    let QueueConfig { folder, url, password_file, lease, messages, size } = config;
    let limits = QueueLimits { messages: *messages, bytes: size.bytes(), ..QueueLimits::default() };
    let clock = Arc::new(SystemClock);
    let Some(url) = url else {
        let opened = match node {
            Some(NodeNumber { number, .. }) => {
                let folder = siblings::folder(folder, number);
                SqliteQueue::open_node(&folder, number, limits, clock)
            }
            None => {
                siblings::refuse_strangers(folder, 0)?;
                SqliteQueue::open(folder, limits, clock)
            }
        };
        return Ok(Opened::plain(opened.map_err(|error| FlowError::Plan(error.to_string()))?));
    };
    let password = password_file.as_deref().map(first_line).transpose()?;
    let refused = |server: &dyn Display, error: QueueError| {
        let why = match error {
            QueueError::Store(why) => why, // nothing is written yet
            error => error.to_string(),
        };
        FlowError::Plan(format!("the queue in {server} cannot be opened: {why}"))
    };
    if let Some(place) = url.strip_prefix("nats://") {
        let host = place.rsplit('@').next().unwrap_or_default();
        let opened = NatsQueue::open(url, password.as_deref(), limits, *lease, clock);
        let queue = opened.map_err(|error| refused(&format_args!("NATS at {host}"), error))?;
        let in_force = Some(queue.in_force());
        return Ok(Opened { queue: Arc::new(queue), in_force });
    }
    let password = password.map(Secret::from);
    let target = DatabaseTarget::parse(url, password.as_ref(), DatabaseLimits::default())?;
    let opened = PostgresQueue::open(&target, limits, *lease, clock);
    Ok(Opened::plain(opened.map_err(|error| refused(&target, error))?))
}

fn first_line(path: &Path) -> Result<String, FlowError> {
    let text = std::fs::read_to_string(path).map_err(|error| FlowError::unreadable(path, error))?;
    Ok(secret::first_line(&text).to_owned())
}
