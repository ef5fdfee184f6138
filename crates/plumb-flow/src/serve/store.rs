//! The store of the queue.

use std::path::Path;
use std::sync::Arc;

use plumb_serve::database::{DatabaseLimits, DatabaseTarget, Secret};

use super::QueueConfig;
use crate::FlowError;
use plumb_queue::{PostgresQueue, Queue, QueueLimits, SqliteQueue, SystemClock};

/// Opens the queue that `config` describes.
///
/// # Errors
/// [`FlowError`] when it cannot be used.
pub(super) fn open(config: &QueueConfig) -> Result<Arc<dyn Queue>, FlowError> {
    let QueueConfig { folder, url, password_file, lease, messages, size } = config;
    let limits = QueueLimits { messages: *messages, bytes: size.bytes(), ..QueueLimits::default() };
    let clock = Arc::new(SystemClock);
    let Some(url) = url else {
        let opened = SqliteQueue::open(folder, limits, clock);
        return Ok(Arc::new(opened.map_err(|error| FlowError::Plan(error.to_string()))?));
    };
    let password = password_file.as_deref().map(password).transpose()?;
    let target = DatabaseTarget::parse(url, password.as_ref(), DatabaseLimits::default())?;
    let opened = PostgresQueue::open(&target, limits, *lease, clock);
    Ok(Arc::new(opened.map_err(|error| FlowError::Plan(error.to_string()))?))
}

fn password(path: &Path) -> Result<Secret, FlowError> {
    let text = std::fs::read_to_string(path).map_err(|error| FlowError::unreadable(path, error))?;
    Ok(Secret::from(text.lines().next().unwrap_or_default().to_owned()))
}
