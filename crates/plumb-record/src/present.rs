//! Connections that are being served: how many there are, and when the last one is gone.

use tokio::sync::{OwnedSemaphorePermit, mpsc};

/// A connection that is counted until the last of what serves it is dropped.
#[derive(Debug)]
pub(crate) struct Present {
    _place: OwnedSemaphorePermit,
    _present: mpsc::Sender<()>,
}

impl Present {
    /// A connection that has the place `place`; `present` is held as long as it is served.
    pub(crate) fn new(place: OwnedSemaphorePermit, present: mpsc::Sender<()>) -> Self {
        Self { _place: place, _present: present }
    }
}
