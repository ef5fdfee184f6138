//! Operations told one by one, for whoever writes each of them down.
//!
//! Nobody is told unless a [`Sampler`](crate::Sampler) wants to know. Then a driving thread keeps
//! what it has recorded until there is a batch, and hands that over without waiting: what the other
//! side does not take is counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

use plumb_measure::{Answer, Moments, Outcome};

/// Operations of one batch.
const BATCH: usize = 1_024;
/// Batches that may wait: 5 MB.
const BATCHES_MAX: usize = 64;

/// One operation, recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The row that it is recorded in.
    pub row: u16,
    /// The number of its connection, from zero over all threads.
    pub connection: u32,
    /// When it was due, began and ended, nanoseconds on the monotonic clock.
    pub moments: Moments,
    /// How it ended.
    pub outcome: Outcome,
    /// The status code of the answer; `None` where there is none.
    pub code: Option<u16>,
    /// Bytes of content of the answer.
    pub body_bytes: u64,
    /// The first operation of its connection: how long that took to stand, handshake included,
    /// nanoseconds. Else zero.
    pub connect_ns: u64,
}

/// Where operations are told; each thread has a copy.
#[derive(Clone, Debug)]
pub struct Tap {
    batches: SyncSender<Vec<Operation>>,
    left_out: Arc<AtomicU64>,
}

impl Tap {
    /// A tap, and where its batches come out.
    #[must_use]
    pub fn new() -> (Self, Receiver<Vec<Operation>>) {
        let (batches, out) = sync_channel(BATCHES_MAX);
        (Self { batches, left_out: Arc::default() }, out)
    }

    /// Operations so far that nobody was told of, because the other side was too slow.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.left_out.load(Ordering::Relaxed)
    }
}

/// One thread's end of a tap.
#[derive(Debug)]
pub(crate) struct Telling {
    tap: Tap,
    batch: Vec<Operation>,
    /// By connection: what its first operation is to be told of connecting.
    connects: Vec<u64>,
}

impl Telling {
    pub(crate) fn new(tap: Tap) -> Self {
        Self { tap, batch: Vec::new(), connects: Vec::new() }
    }

    /// A connection stands anew, after `ns`.
    pub(crate) fn connected(&mut self, connection: usize, ns: u64) {
        if self.connects.len() <= connection {
            self.connects.resize(connection + 1, 0);
        }
        self.connects[connection] = ns;
    }

    /// The handshake of a connection that stands took `ns` more.
    pub(crate) fn shaken(&mut self, connection: usize, ns: u64) {
        if let Some(sum) = self.connects.get_mut(connection) {
            *sum += ns;
        }
    }

    /// An operation has ended. One of the warm-up is not told, and takes the time of connecting
    /// with it.
    pub(crate) fn tell(&mut self, connection: usize, op: Ended) {
        let connect_ns = self.connects.get_mut(connection).map_or(0, std::mem::take);
        if !op.counts {
            return;
        }
        if self.batch.capacity() == 0 {
            self.batch.reserve_exact(BATCH);
        }
        let Answer { outcome, code, body_bytes, told: _ } = op.answer;
        let connection = u32::try_from(connection).unwrap_or(u32::MAX);
        let (row, moments) = (op.row, op.moments);
        self.batch.push(Operation {
            row,
            connection,
            moments,
            outcome,
            code,
            body_bytes,
            connect_ns,
        });
        if self.batch.len() == BATCH {
            self.flush();
        }
    }

    /// Hands over what there is.
    pub(crate) fn flush(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        let batch = std::mem::take(&mut self.batch);
        if let Err(TrySendError::Full(batch) | TrySendError::Disconnected(batch)) =
            self.tap.batches.try_send(batch)
        {
            self.tap.left_out.fetch_add(batch.len() as u64, Ordering::Relaxed);
        }
    }
}

/// How an operation ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub(crate) row: u16,
    /// It belongs to the recorded part of the run.
    pub(crate) counts: bool,
    pub(crate) moments: Moments,
    pub(crate) answer: Answer,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(number: u64) -> Ended {
        let moments = Moments { due: number, sent: number, first: number, last: number };
        Ended { row: 0, counts: true, moments, answer: Answer::ok(1) }
    }

    #[test]
    fn every_operation_is_told_in_order_or_counted() {
        let (tap, out) = Tap::new();
        let mut telling = Telling::new(tap.clone());
        let all = (BATCHES_MAX * BATCH) as u64;
        (0..all + 7).for_each(|number| telling.tell(0, ended(number)));
        assert_eq!(tap.left_out(), 0);
        telling.flush(); // nobody has taken anything yet
        assert_eq!(tap.left_out(), 7);
        let told: Vec<u64> = out.try_iter().flatten().map(|op| op.moments.due).collect();
        assert_eq!(told, (0..all).collect::<Vec<_>>());
        telling.tell(0, ended(1));
        telling.flush();
        assert_eq!(out.try_iter().flatten().count(), 1);
    }

    #[test]
    fn the_first_operation_of_a_connection_tells_how_long_connecting_took() {
        let (tap, out) = Tap::new();
        let mut telling = Telling::new(tap);
        telling.connected(3, 99); // and lost again
        telling.connected(3, 20);
        telling.shaken(3, 5);
        telling.connected(1, 9);
        telling.tell(1, Ended { counts: false, ..ended(0) });
        (0..2).for_each(|number| telling.tell(3, ended(number)));
        telling.tell(1, ended(2));
        telling.flush();
        let told: Vec<_> =
            out.try_iter().flatten().map(|op| (op.connection, op.connect_ns)).collect();
        assert_eq!(told, [(3, 25), (3, 0), (1, 0)]);
    }
}
