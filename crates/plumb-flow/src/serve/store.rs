//! The store of the queue.

use std::sync::Arc;

use super::QueueConfig;
use crate::FlowError;
use crate::queue::{Queue, QueueLimits, SqliteQueue, SystemClock};

/// Opens the queue that `config` describes.
///
/// # Errors
/// [`FlowError::Plan`] when it cannot be used.
pub(super) fn open(config: &QueueConfig) -> Result<Arc<dyn Queue>, FlowError> {
    let QueueConfig { folder, messages, size } = config;
    let limits = QueueLimits { messages: *messages, bytes: size.bytes(), ..QueueLimits::default() };
    let opened = SqliteQueue::open(folder, limits, Arc::new(SystemClock));
    Ok(Arc::new(opened.map_err(|error| FlowError::Plan(error.to_string()))?))
}
