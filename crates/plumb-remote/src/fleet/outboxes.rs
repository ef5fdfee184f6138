//! Remotes that wait in a NATS server, and what is under way to them.

use std::io::BufReader;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use plumb_engine::clock::MonotonicClock;
use plumb_measure::Clock as _;
use plumb_measure::RemoteQuery;

use super::{Fleet, RemoteError};
use crate::link::{inbox, outbox};
use crate::nats::Nats;

/// How long it may take to tell remotes that the conversation is over, nanoseconds.
const GOODBYE_NS: u64 = 1_000_000_000;

/// The threads that send to remotes. A process that ended before them would not have told that the
/// conversation is over.
#[derive(Debug, Default)]
pub(super) struct Outboxes(Vec<JoinHandle<()>>);

impl Drop for Outboxes {
    fn drop(&mut self) {
        let deadline_ns = MonotonicClock.now_ns() + GOODBYE_NS;
        let under_way = |outbox: &JoinHandle<()>| !outbox.is_finished();
        while self.0.iter().any(under_way) && MonotonicClock.now_ns() < deadline_ns {
            thread::park_timeout(Duration::from_millis(1));
        }
    }
}

impl Fleet {
    /// The remotes that wait in a NATS server and that `query` asks for.
    ///
    /// # Errors
    /// [`RemoteError`] when one of them is not there, busy, or another version.
    pub fn nats(nats: &Nats, query: &RemoteQuery) -> Result<Self, RemoteError> {
        let (sender, heard) = mpsc::channel();
        let (mut orders, mut outboxes) = (Vec::new(), Outboxes::default());
        for (at, hello) in nats.there(query)?.into_iter().enumerate() {
            let name = hello.name;
            let (from, to) = nats.take(&name)?;
            inbox(BufReader::new(from), sender.clone(), move |said| (at, said));
            let (to, writing) = outbox(to);
            orders.push((name, to));
            outboxes.0.push(writing);
        }
        drop(sender);
        let mut fleet = Self::over(orders, heard)?;
        fleet.outboxes = outboxes;
        Ok(fleet)
    }
}
