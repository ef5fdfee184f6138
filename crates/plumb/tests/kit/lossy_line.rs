//! A line between two network namespaces that loses packets or is late. The kernel's own device for
//! that (netem) is missing on many machines, so threads of the test pass the packets on.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use plumb_engine::clock::MonotonicClock;
use plumb_measure::Clock as _;
use plumb_measure::statistics::SplitMix64;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;
use rustix::time::Timespec;

use super::namespace::{ENDS, Namespace};
use super::tun;

/// Packets under way in one direction; what comes on top of them is lost, as in any router.
const UNDER_WAY_MAX: usize = 4_096;
/// Bytes of a packet; those of the devices have at most 1,500.
const PACKET_BYTES: usize = 2_048;

/// Two network namespaces, and the line between them.
#[derive(Debug)]
pub(crate) struct LossyLine {
    // the line goes before its ends
    directions: Vec<Direction>,
    ends: [Namespace; 2],
}

/// What a line does to every packet, in both directions.
#[derive(Clone, Copy, Debug)]
struct Manner {
    /// The share that is lost, 0 to 1.
    loss: f64,
    delay: Duration,
    /// Where the generator begins that says which packets are lost.
    seed: u64,
}

impl LossyLine {
    /// A line that loses `loss` (0 to 1) of the packets of each direction, drawn from `seed`; the
    /// ends have the addresses of [`ENDS`]. `Err` says why this machine does not allow that.
    pub(crate) fn start(loss: f64, seed: u64) -> Result<Self, String> {
        Self::of(Manner { loss, delay: Duration::ZERO, seed })
    }

    /// A line that loses nothing, on which every packet takes `delay`.
    pub(crate) fn late(delay: Duration) -> Result<Self, String> {
        Self::of(Manner { loss: 0.0, delay, seed: 0 })
    }

    fn of(manner: Manner) -> Result<Self, String> {
        assert!((0.0..=1.0).contains(&manner.loss), "{manner:?} has no share");
        let ends = [Namespace::new()?, Namespace::new()?];
        let device = |end: &Namespace| tun::device("end", Path::new(&end.path()));
        let devices = [Arc::new(device(&ends[0])?), Arc::new(device(&ends[1])?)];
        for (end, address) in ends.iter().zip(ENDS) {
            // without addresses of IPv6 nothing is sent but what the test sends
            end.ip(&["link", "set", "end", "addrgenmode", "none"])?;
            end.join(address)?;
        }
        let directions = [(0, 1), (1, 0)].map(|(from, to)| {
            let manner = Manner { seed: manner.seed ^ from, ..manner };
            let side = |end: u64| Arc::clone(&devices[usize::from(end == 1)]);
            Direction::start(side(from), side(to), manner)
        });
        let directions = directions.into_iter().collect::<Result<_, _>>();
        Ok(Self { ends, directions: directions.map_err(|error| format!("no event: {error}"))? })
    }

    /// Its two ends, with the addresses of [`ENDS`]: programs are started in either of them.
    pub(crate) fn ends(&self) -> &[Namespace; 2] {
        &self.ends
    }

    /// Packets that were lost, of those that the first end sent and of those that the second sent.
    pub(crate) fn dropped(&self) -> [u64; 2] {
        self.counted(|counts| &counts.dropped)
    }

    /// Packets that arrived, of those that the first end sent and of those that the second sent.
    pub(crate) fn passed(&self) -> [u64; 2] {
        self.counted(|counts| &counts.passed)
    }

    fn counted(&self, of: fn(&Counts) -> &AtomicU64) -> [u64; 2] {
        let count = |at: usize| of(&self.directions[at].counts).load(Ordering::Relaxed);
        [count(0), count(1)]
    }
}

/// What became of the packets of one direction.
#[derive(Debug, Default)]
struct Counts {
    passed: AtomicU64,
    dropped: AtomicU64,
}

/// One direction: a thread that passes on what is sent, until it is dropped.
#[derive(Debug)]
struct Direction {
    counts: Arc<Counts>,
    stop: Arc<OwnedFd>,
    passing: Option<JoinHandle<()>>,
}

impl Direction {
    fn start(from: Arc<OwnedFd>, to: Arc<OwnedFd>, manner: Manner) -> Result<Self, Errno> {
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC)?);
        let counts = Arc::new(Counts::default());
        let mut line = Line {
            from,
            to,
            stop: Arc::clone(&stop),
            counts: Arc::clone(&counts),
            delay_ns: u64::try_from(manner.delay.as_nanos()).expect("a delay of a test"),
            loss: manner.loss,
            random: SplitMix64::new(manner.seed),
            under_way: VecDeque::new(),
        };
        let passing = Some(thread::spawn(move || while line.pass_on() {}));
        Ok(Self { counts, stop, passing })
    }
}

impl Drop for Direction {
    fn drop(&mut self) {
        let told = rustix::io::write(&*self.stop, &1_u64.to_ne_bytes());
        // a thread that was not told would be waited for in vain
        if let (Ok(_), Some(passing)) = (told, self.passing.take()) {
            let _ = passing.join();
        }
    }
}

/// What the thread of a direction works with.
struct Line {
    from: Arc<OwnedFd>,
    to: Arc<OwnedFd>,
    stop: Arc<OwnedFd>,
    counts: Arc<Counts>,
    loss: f64,
    delay_ns: u64,
    random: SplitMix64,
    /// When each packet arrives, in order: all are as late.
    under_way: VecDeque<(u64, Vec<u8>)>, // at most UNDER_WAY_MAX
}

impl Line {
    /// Waits for the next event; false when it was the end.
    fn pass_on(&mut self) -> bool {
        let next_ns = self.under_way.front().map(|(due_ns, _)| *due_ns);
        let left = next_ns.map(|due_ns| due_ns.saturating_sub(MonotonicClock.now_ns()));
        let left = left.map(|ns| Timespec::try_from(Duration::from_nanos(ns)).expect("short"));
        let mut sources =
            [PollFd::new(&*self.stop, PollFlags::IN), PollFd::new(&*self.from, PollFlags::IN)];
        match poll(&mut sources, left.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return false,
        }
        if !sources[0].revents().is_empty() {
            return false;
        }
        let there = self.take();
        self.deliver();
        there
    }

    /// Takes all that was sent; false when the device is gone.
    fn take(&mut self) -> bool {
        let mut packet = [0; PACKET_BYTES];
        loop {
            let length = match rustix::io::read(&*self.from, &mut packet) {
                Ok(length) => length,
                Err(Errno::AGAIN | Errno::INTR) => return true,
                Err(_) => return false,
            };
            let lost = self.random.uniform() < self.loss;
            if lost || self.under_way.len() == UNDER_WAY_MAX {
                self.counts.dropped.fetch_add(1, Ordering::Relaxed);
            } else {
                let due_ns = MonotonicClock.now_ns() + self.delay_ns;
                self.under_way.push_back((due_ns, packet[..length].to_vec()));
            }
        }
    }

    /// Lets everything arrive that is due; what the other end does not take is lost.
    fn deliver(&mut self) {
        let now_ns = MonotonicClock.now_ns();
        while self.under_way.front().is_some_and(|(due_ns, _)| *due_ns <= now_ns) {
            let Some((_, packet)) = self.under_way.pop_front() else { return };
            let count = match rustix::io::write(&*self.to, &packet) {
                Ok(_) => &self.counts.passed,
                Err(_) => &self.counts.dropped,
            };
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}
