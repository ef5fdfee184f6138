//! When figures are sent, on a thread of its own: whoever measures never waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver as Queue, Sender as QueueEnd, channel};
use std::time::Duration;

use plumb_engine::clock::{self, MonotonicClock};
use plumb_measure::{Clock as _, counted};

use crate::{Family, Identity, Receiver, TelemetryError};

/// Figures that wait for a receiver that is slow; those beyond are left out.
const WAITING_MAX: usize = 60;
/// Figures are sent no more often than this, and once more at the end.
const EVERY_NS: u64 = 1_000_000_000;

/// How long the end is waited for, over what two requests may take: a name may be looked up for long.
const END_PATIENCE: Duration = Duration::from_secs(2);

/// Figures at a moment.
#[derive(Debug)]
struct Batch {
    /// Nanoseconds since 1970.
    at_ns: u64,
    families: Arc<Vec<Family>>,
}

/// What became of the figures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delivered {
    /// Times that the receiver took them.
    pub taken: u64,
    /// Times that it did not, or did not answer.
    pub refused: u64,
    /// Times that they were left out, because those before still waited.
    pub left_out: u64,
    /// What went wrong last; `None` when nothing did.
    pub trouble: Option<String>,
    /// True when the receiver took what was measured last, so that its sums are those of the run.
    pub whole: bool,
}

impl Delivered {
    /// What is to be said of it; `None` when all of it arrived.
    #[must_use]
    pub fn complaint(&self, receiver: &Receiver) -> Option<String> {
        if self.refused + self.left_out == 0 {
            return None;
        }
        let tried = self.taken + self.refused + self.left_out;
        let mut text = format!(
            "--{} {}: {} of {} of the figures not delivered ({} refused, {} left out)",
            receiver.kind().option(),
            receiver.shown(),
            self.refused + self.left_out,
            counted(tried, "sending"),
            self.refused,
            self.left_out,
        );
        if let Some(trouble) = &self.trouble {
            text += &format!(": {trouble}");
        }
        text += if self.whole {
            "; the last arrived, and its sums hold all"
        } else {
            "; the run and its record are not touched by that"
        };
        Some(text)
    }
}

/// What the thread and those who hand over know of each other.
#[derive(Debug, Default)]
struct Around {
    /// Batches in the queue.
    waiting: AtomicUsize,
    /// The last batch is in the queue, or comes at once.
    ending: AtomicBool,
    /// Batches that the receiver took, and that it did not take.
    taken: AtomicU64,
    refused: AtomicU64,
}

impl Around {
    /// What became of the batches where one is under way that is not waited for any longer.
    fn given_up(&self) -> Delivered {
        Delivered {
            taken: self.taken.load(Ordering::Acquire),
            refused: self.refused.load(Ordering::Acquire) + 1,
            left_out: self.waiting.load(Ordering::Acquire) as u64,
            trouble: Some("it keeps us waiting".into()),
            whole: false,
        }
    }
}

/// Sends the figures of a run to a receiver.
#[derive(Debug)]
pub struct Sender {
    receiver: Receiver,
    queue: Option<QueueEnd<Batch>>,
    around: Arc<Around>,
    /// What became of them, once the thread has ended.
    outcome: Queue<Delivered>,
    left_out: u64,
    next_ns: u64,
}

impl Sender {
    /// Begins to send to `receiver` as `identity`, from now on.
    ///
    /// # Errors
    /// [`TelemetryError::Thread`] when no thread can be started.
    pub fn start(receiver: &Receiver, identity: &Identity) -> Result<Self, TelemetryError> {
        let (queue, waiting) = channel();
        let around = Arc::new(Around::default());
        let (told, outcome) = channel();
        let (to, by, known) = (receiver.clone(), identity.clone(), Arc::clone(&around));
        let start_ns = clock::wall_ns();
        std::thread::Builder::new()
            .name("telemetry".into())
            .spawn(move || {
                // nobody may wait for it any more
                let _ = told.send(send_all(&to, &by, start_ns, &waiting, &known));
            })
            .map_err(|cause| TelemetryError::Thread { option: receiver.kind().option(), cause })?;
        Ok(Self {
            receiver: receiver.clone(),
            queue: Some(queue),
            around,
            outcome,
            left_out: 0,
            next_ns: 0,
        })
    }

    /// Whom it tells.
    #[must_use]
    pub fn receiver(&self) -> &Receiver {
        &self.receiver
    }

    /// True when it is time to [`offer`](Self::offer) figures again.
    #[must_use]
    pub fn is_due(&self) -> bool {
        MonotonicClock.now_ns() >= self.next_ns
    }

    /// Hands figures over without waiting; what finds no room is left out and counted.
    pub fn offer(&mut self, families: &Arc<Vec<Family>>) {
        self.next_ns = MonotonicClock.now_ns().saturating_add(EVERY_NS);
        if self.around.waiting.load(Ordering::Acquire) < WAITING_MAX {
            self.put(families);
        } else {
            self.left_out += 1;
        }
    }

    /// Puts a batch into the queue, which takes any number.
    fn put(&mut self, families: &Arc<Vec<Family>>) {
        let batch = Batch { at_ns: clock::wall_ns(), families: Arc::clone(families) };
        self.around.waiting.fetch_add(1, Ordering::AcqRel);
        if self.queue.as_ref().is_none_or(|queue| queue.send(batch).is_err()) {
            self.left_out += 1; // the thread has ended
        }
    }

    /// Sends `families`, which are the last, and says what became of all; waits no longer than two
    /// requests may take. What still waits before them is left out: the sums of the last hold
    /// everything.
    pub fn end(mut self, families: &Arc<Vec<Family>>) -> Delivered {
        self.around.ending.store(true, Ordering::Release);
        self.put(families);
        self.queue = None;
        let patience = Duration::from_nanos(2 * self.receiver.patience().ns()) + END_PATIENCE;
        let outcome = self.outcome.recv_timeout(patience);
        let mut delivered = outcome.unwrap_or_else(|_| self.around.given_up());
        delivered.left_out += self.left_out;
        delivered
    }
}

/// Sends what comes until nobody can send more.
fn send_all(
    receiver: &Receiver,
    identity: &Identity,
    start_ns: u64,
    waiting: &Queue<Batch>,
    around: &Around,
) -> Delivered {
    let links = receiver.links();
    let mut delivered = Delivered::default();
    while let Ok(mut batch) = waiting.recv() {
        around.waiting.fetch_sub(1, Ordering::AcqRel);
        if around.ending.load(Ordering::Acquire) {
            while let Ok(later) = waiting.recv() {
                // up to the end of the queue, which is there or comes at once
                batch = later;
                delivered.left_out += 1;
            }
        }
        let told = receiver.tell(&links, &batch.families, identity, (start_ns, batch.at_ns));
        delivered.whole = told.is_ok();
        match told {
            Ok(()) => around.taken.fetch_add(1, Ordering::AcqRel),
            Err(error) => {
                delivered.trouble = Some(error.to_string());
                around.refused.fetch_add(1, Ordering::AcqRel)
            }
        };
    }
    delivered.taken = around.taken.load(Ordering::Acquire);
    delivered.refused = around.refused.load(Ordering::Acquire);
    delivered
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};

    use plumb_measure::Span;

    use super::*;
    use crate::ReceiverKind;

    fn sender(listener: &TcpListener, patience: Span) -> Sender {
        let address = listener.local_addr().expect("an address");
        let receiver = Receiver::new(ReceiverKind::RemoteWrite, &format!("http://{address}"));
        let receiver = receiver.expect("a receiver").impatient(patience);
        Sender::start(&receiver, &Identity::default()).expect("a thread")
    }

    /// Answers a request once all of it is read: what is unread when a socket closes resets the
    /// connection, and takes the answer along.
    fn answer(stream: TcpStream, status: &str) {
        let mut stream = BufReader::new(stream);
        let mut body = 0;
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).expect("a line of a request");
            let line = line.trim_end().to_ascii_lowercase();
            if let Some(length) = line.strip_prefix("content-length:") {
                body = length.trim().parse().expect("a length");
            }
            if line.is_empty() {
                break;
            }
        }
        stream.read_exact(&mut vec![0; body]).expect("a body");
        let text = format!("HTTP/1.1 {status}\r\nContent-Length: 2\r\n\r\nno");
        stream.get_mut().write_all(text.as_bytes()).expect("somebody reads it");
    }

    #[test]
    fn a_receiver_that_never_answers_holds_nobody_up_and_what_it_missed_is_counted() {
        let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
        let mut sender = sender(&silent, Span::from_ms(300));
        let nothing = Arc::new(Vec::new());
        let offered = 2 * WAITING_MAX as u64;
        (0..offered).for_each(|_| sender.offer(&nothing));
        let receiver = sender.receiver().clone();
        let delivered = sender.end(&nothing);
        assert_eq!(delivered.taken, 0);
        assert!(delivered.left_out >= WAITING_MAX as u64 - 1, "{delivered:?}");
        assert_eq!(delivered.refused + delivered.left_out, offered + 1, "{delivered:?}");
        let said = delivered.complaint(&receiver).expect("a complaint");
        assert!(said.contains("121 of 121 sendings of the figures not delivered"), "{said}");
    }

    #[test]
    fn what_was_taken_counts_where_the_last_is_waited_for_in_vain() {
        let around = Around {
            waiting: AtomicUsize::new(3),
            ending: AtomicBool::new(true),
            taken: AtomicU64::new(60),
            refused: AtomicU64::new(2),
        };
        let receiver = Receiver::new(ReceiverKind::RemoteWrite, "http://127.0.0.1:9");
        let said = around.given_up().complaint(&receiver.expect("a receiver"));
        let said = said.expect("a complaint");
        assert!(said.contains(": 6 of 66 sendings of the figures not delivered"), "{said}");
        assert!(said.contains("(3 refused, 3 left out): it keeps us waiting"), "{said}");
    }

    #[test]
    fn what_a_receiver_refused_is_told_and_what_it_took_is_not() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let mut sender = sender(&listener, Span::from_ms(60_000));
        let nothing = Arc::new(Vec::new());
        assert!(sender.is_due());
        sender.offer(&nothing);
        assert!(!sender.is_due());
        answer(listener.accept().expect("a connection").0, "400 Bad Request");
        let receiver = sender.receiver().clone();
        let asked = std::thread::spawn(move || {
            answer(listener.accept().expect("a connection").0, "204 No Content");
        });
        let delivered = sender.end(&nothing);
        asked.join().expect("it answered");
        assert_eq!((delivered.taken, delivered.refused, delivered.left_out), (1, 1, 0));
        let said = delivered.complaint(&receiver).expect("a complaint");
        assert!(said.contains("it answers 400: no; the last arrived"), "{said}");
        let whole = Delivered { taken: 3, whole: true, ..Delivered::default() };
        assert_eq!(whole.complaint(&receiver), None);
    }
}
