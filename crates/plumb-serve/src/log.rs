//! The log of a server, which its threads write to as long as it is open.

use std::sync::mpsc::Sender;
use std::sync::{Mutex, PoisonError};

/// Where events go.
#[derive(Debug)]
pub struct Log {
    events: Mutex<Option<Sender<String>>>,
    /// Before each event: which node tells it.
    of: String,
}

impl Log {
    /// A log whose events are sent to `events`.
    #[must_use]
    pub fn new(events: Sender<String>) -> Self {
        Self { events: Mutex::new(Some(events)), of: String::new() }
    }

    /// The log of node `number`, which names it.
    #[must_use]
    pub fn of_node(self, number: u16) -> Self {
        Self { of: format!("node {number}: "), ..self }
    }

    /// Writes `event` down.
    pub fn tell(&self, event: impl Into<String>) {
        if let Some(events) = &*self.events.lock().unwrap_or_else(PoisonError::into_inner) {
            // a server that stops has no log any more
            let _ = events.send(format!("{}{}", self.of, event.into()));
        }
    }

    /// Nothing is written down any more: whoever reads the events comes to their end.
    pub fn close(&self) {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}
