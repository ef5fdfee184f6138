//! Where a driving thread leaves its records, one interval at a time.

use std::sync::mpsc::{Receiver, Sender};

use plumb_measure::{Recorder, Transport};
use rustix::thread::sched_getcpu;

use crate::clock;
use crate::operations::{Ended, Tap, Telling};

/// What a driving thread tells the consumer.
#[derive(Debug)]
pub(crate) enum Message {
    /// Every connection of every thread stands; the load begins. Each thread says so, and what its
    /// first connection really uses.
    Began(Option<Box<Transport>>),
    /// An interval is past.
    Slice(Box<Slice>),
}

/// What one thread recorded in one interval.
#[derive(Debug)]
pub(crate) struct Slice {
    /// Number of the thread, from zero.
    pub(crate) thread: usize,
    /// Number of the interval, from zero.
    pub(crate) number: u64,
    /// Start of the recorded part, on the clock of the run.
    pub(crate) began_ns: u64,
    /// From that start to the end of the interval, nanoseconds.
    pub(crate) end_ns: u64,
    pub(crate) recorder: Recorder,
    /// The processor on which the thread was at its end.
    pub(crate) cpu: u32,
    /// Processor time of the thread since the slice before, nanoseconds.
    pub(crate) cpu_ns: u64,
    /// Users that took part at its end; of scripts.
    pub(crate) users: u64,
    /// The thread sends nothing more.
    pub(crate) last: bool,
}

/// Hands a full recorder over and takes an empty one, so that the loop neither copies nor waits:
/// writing the interval down is the consumer's work, on its own thread.
#[derive(Debug)]
pub struct Outlet {
    thread: usize,
    every_ns: u64,
    /// Users that take part now; of scripts.
    pub(crate) users: u64,
    full: Sender<Message>,
    empty: Receiver<Recorder>,
    from: u64,
    number: u64,
    /// Processor time of this thread when it handed over last, nanoseconds.
    cpu_so_far_ns: u64,
    /// Who wants to know of each operation.
    telling: Option<Telling>,
}

impl Outlet {
    pub(crate) fn new(
        thread: usize,
        every_ns: u64,
        full: Sender<Message>,
        empty: Receiver<Recorder>,
    ) -> Self {
        let (from, number, cpu_so_far_ns, users, telling) = (0, 0, 0, 0, None);
        Self { thread, every_ns, users, full, empty, from, number, cpu_so_far_ns, telling }
    }

    /// The same, which tells `tap`, if there is one, of each operation.
    pub(crate) fn telling(self, tap: Option<Tap>) -> Self {
        Self { telling: tap.map(Telling::new), ..self }
    }

    /// An operation of connection `number`, counted over all threads, has ended.
    #[inline]
    pub(crate) fn tell(&mut self, number: usize, op: impl FnOnce() -> Ended) {
        if let Some(telling) = &mut self.telling {
            telling.tell(number, op());
        }
    }

    /// Connection `number`, counted over all threads, stands anew, after `ns`.
    pub(crate) fn connected(&mut self, number: usize, ns: u64) {
        if let Some(telling) = &mut self.telling {
            telling.connected(number, ns);
        }
    }

    /// The handshake of connection `number` took `ns` more.
    pub(crate) fn shaken(&mut self, number: usize, ns: u64) {
        if let Some(telling) = &mut self.telling {
            telling.shaken(number, ns);
        }
    }

    /// The load begins, over `transport`.
    pub fn begin(&self, transport: Option<Transport>) {
        let _ = self.full.send(Message::Began(transport.map(Box::new))); // see `hand_over`
    }

    /// The first interval starts at `from`, on the clock of the run.
    pub fn start(&mut self, from: u64) {
        self.from = from;
        self.cpu_so_far_ns = clock::thread_cpu_ns();
    }

    /// When the current interval ends.
    #[must_use]
    pub fn next_ns(&self) -> u64 {
        self.from + (self.number + 1) * self.every_ns
    }

    /// Hands the records over when their interval is past; true when it was.
    #[inline]
    pub fn pass(&mut self, now: u64, recorder: &mut Recorder) -> bool {
        let past = now >= self.next_ns();
        if past {
            let end = self.next_ns();
            self.hand_over(end, recorder, false);
            // intervals that a stalled loop slept through were empty
            self.number += now.saturating_sub(self.next_ns()) / self.every_ns;
        }
        past
    }

    /// Hands the last records over; the recorded part ended at `end`.
    pub fn last(&mut self, end: u64, recorder: &mut Recorder) {
        self.hand_over(end, recorder, true);
    }

    fn hand_over(&mut self, end: u64, recorder: &mut Recorder, last: bool) {
        if let Some(telling) = &mut self.telling {
            telling.flush();
        }
        let fresh = self.empty.try_recv().unwrap_or_else(|_| Recorder::new(recorder.shape()));
        let recorder = std::mem::replace(recorder, fresh);
        let end_ns = end.saturating_sub(self.from);
        let (thread, number, began_ns) = (self.thread, self.number, self.from);
        let cpu = u32::try_from(sched_getcpu()).unwrap_or(u32::MAX);
        let so_far_ns = clock::thread_cpu_ns();
        let cpu_ns =
            so_far_ns.saturating_sub(std::mem::replace(&mut self.cpu_so_far_ns, so_far_ns));
        let users = self.users;
        let slice = Slice { thread, number, began_ns, end_ns, recorder, cpu, cpu_ns, users, last };
        let _ = self.full.send(Message::Slice(Box::new(slice))); // a consumer that is gone has no use for it
        self.number += 1;
    }
}
