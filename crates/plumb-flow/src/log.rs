//! The log of the server, which its threads write to as long as it is open.

use std::sync::mpsc::Sender;
use std::sync::{Mutex, PoisonError};

/// Where events go.
#[derive(Debug)]
pub(crate) struct Log(Mutex<Option<Sender<String>>>);

impl Log {
    pub(crate) fn new(events: Sender<String>) -> Self {
        Self(Mutex::new(Some(events)))
    }

    /// Writes `event` down.
    pub(crate) fn tell(&self, event: impl Into<String>) {
        if let Some(events) = &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            // a server that stops has no log any more
            let _ = events.send(event.into());
        }
    }

    /// Nothing is written down any more: whoever reads the events comes to their end.
    pub(crate) fn close(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}
