//! When figures are sent, on a thread of its own: whoever measures never waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver as Queue, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use plumb_engine::clock::{self, MonotonicClock};
use plumb_measure::{Clock as _, counted};

use crate::{Family, Identity, Receiver, TelemetryError};

/// Figures that wait for a receiver that is slow; those beyond are left out.
const WAITING_MAX: usize = 60;
/// Figures are sent no more often than this, and once more at the end.
const EVERY_NS: u64 = 1_000_000_000;

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

/// Sends the figures of a run to a receiver.
#[derive(Debug)]
pub struct Sender {
    receiver: Receiver,
    queue: Option<SyncSender<Batch>>,
    ending: Arc<AtomicBool>,
    thread: Option<JoinHandle<Delivered>>,
    left_out: u64,
    next_ns: u64,
}

impl Sender {
    /// Begins to send to `receiver` as `identity`, from now on.
    ///
    /// # Errors
    /// [`TelemetryError::Thread`] when no thread can be started.
    pub fn start(receiver: &Receiver, identity: &Identity) -> Result<Self, TelemetryError> {
        let (queue, waiting) = sync_channel(WAITING_MAX);
        let ending = Arc::new(AtomicBool::new(false));
        let (to, by, ends) = (receiver.clone(), identity.clone(), Arc::clone(&ending));
        let start_ns = clock::wall_ns();
        let thread = std::thread::Builder::new()
            .name("telemetry".into())
            .spawn(move || send_all(&to, &by, start_ns, &waiting, &ends))
            .map_err(|cause| TelemetryError::Thread { option: receiver.kind().option(), cause })?;
        Ok(Self {
            receiver: receiver.clone(),
            queue: Some(queue),
            ending,
            thread: Some(thread),
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
        let batch = Batch { at_ns: clock::wall_ns(), families: Arc::clone(families) };
        let Some(queue) = &self.queue else { return };
        match queue.try_send(batch) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => self.left_out += 1,
        }
    }

    /// Sends `families`, which are the last, and says what became of all. What still waits before
    /// them is left out: the sums of the last hold everything.
    pub fn end(mut self, families: &Arc<Vec<Family>>) -> Delivered {
        self.ending.store(true, Ordering::Release);
        let batch = Batch { at_ns: clock::wall_ns(), families: Arc::clone(families) };
        if let Some(queue) = self.queue.take() {
            // the thread takes everything that waits at once now, so there is room soon
            let _ = queue.send(batch);
        }
        let sent = self.thread.take().and_then(|thread| thread.join().ok());
        let mut delivered = sent.unwrap_or_default();
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
    ending: &AtomicBool,
) -> Delivered {
    let links = receiver.links();
    let mut delivered = Delivered::default();
    while let Ok(mut batch) = waiting.recv() {
        if ending.load(Ordering::Acquire) {
            while let Ok(later) = waiting.recv() {
                batch = later;
                delivered.left_out += 1;
            }
        }
        let told = receiver.tell(&links, &batch.families, identity, (start_ns, batch.at_ns));
        delivered.whole = told.is_ok();
        match told {
            Ok(()) => delivered.taken += 1,
            Err(error) => {
                delivered.refused += 1;
                delivered.trouble = Some(error.to_string());
            }
        }
    }
    delivered
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};

    use plumb_measure::Span;

    use super::*;
    use crate::ReceiverKind;

    fn sender(listener: &TcpListener) -> Sender {
        let address = listener.local_addr().expect("an address");
        let receiver = Receiver::new(ReceiverKind::RemoteWrite, &format!("http://{address}"));
        let receiver = receiver.expect("a receiver").impatient(Span::from_ms(300));
        Sender::start(&receiver, &Identity::default()).expect("a thread")
    }

    fn answer(mut stream: TcpStream, status: &str) {
        let mut bytes = [0; 4096];
        let _ = stream.read(&mut bytes).expect("a request");
        let text = format!("HTTP/1.1 {status}\r\nContent-Length: 2\r\n\r\nno");
        stream.write_all(text.as_bytes()).expect("somebody reads it");
    }

    #[test]
    fn a_receiver_that_never_answers_holds_nobody_up_and_what_it_missed_is_counted() {
        let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
        let mut sender = sender(&silent);
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
    fn what_a_receiver_refused_is_told_and_what_it_took_is_not() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let mut sender = sender(&listener);
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
