//! The store of the queue.

use std::sync::Arc;

use super::QueueConfig;
use crate::FlowError;
use crate::memory_queue::MemoryQueue;
use crate::queue::Queue;

/// Opens the queue that `config` describes.
///
/// # Errors
/// [`FlowError::Plan`] when it cannot be used.
pub(super) fn open(config: &QueueConfig) -> Result<Arc<dyn Queue>, FlowError> {
    Ok(Arc::new(MemoryQueue::of(config.messages)))
}
