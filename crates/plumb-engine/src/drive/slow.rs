//! The slowest operations of a thread, and what TCP did on its connections meanwhile.
//!
//! An operation costs one comparison. The kernel is asked when a connection comes or goes, when
//! recording begins, after an operation that is among the slowest so far, and for some connections
//! in turn at the end of each interval.

use std::os::fd::BorrowedFd;

use plumb_link::Link;
use plumb_measure::{Moments, SlowSample, Slowest, TcpAround, TcpReading, TcpTotals};
use plumb_socket::Time;

use super::Drive;
use crate::protocol::Protocol;
use crate::tcp_info;

/// Connections that are read at the end of one interval, which takes below a tenth of a
/// millisecond.
const READ_AN_INTERVAL: usize = 64;

/// A reading, and when it was taken.
#[derive(Clone, Copy, Debug)]
struct Read {
    at: u64,
    tcp: TcpReading,
}

/// What is known of one connection of TCP while it stands.
#[derive(Clone, Copy, Debug, Default)]
struct Life {
    /// At its start, or when recording began.
    first: Option<Read>,
    last: Option<Read>,
}

/// Watches the connections of one thread.
#[derive(Debug)]
pub(super) struct Watch {
    slowest: Slowest,
    /// [`Slowest::bar_ns`], at hand; every operation exceeds it while there are few.
    bar_ns: u64,
    full: bool,
    lives: Vec<Life>,
    totals: TcpTotals,
    /// The next connection to be read at the end of an interval.
    turn: usize,
    /// Start of the recorded part, on the clock of the run.
    from: u64,
}

impl Watch {
    pub(super) fn new(connections: usize) -> Self {
        Self {
            slowest: Slowest::default(),
            bar_ns: 0,
            full: false,
            lives: vec![Life::default(); connections],
            totals: TcpTotals::default(),
            turn: 0,
            from: 0,
        }
    }

    /// There is one connection more.
    pub(super) fn add(&mut self) {
        self.lives.push(Life::default());
    }

    /// A connection stands.
    pub(super) fn connected(&mut self, index: usize, socket: BorrowedFd<'_>, now: u64) {
        let read = tcp_info::read(socket).map(|tcp| Read { at: now, tcp });
        self.totals.connect_retransmits += read.map_or(0, |read| read.tcp.retransmits);
        self.lives[index] = Life { first: read, last: read };
    }

    /// Recording begins at `from`: what connections did before no longer counts.
    pub(super) fn begin(&mut self, from: u64) {
        self.from = from;
        self.slowest = Slowest::default();
        self.full = false;
        self.totals = TcpTotals {
            connect_retransmits: self.totals.connect_retransmits,
            ..TcpTotals::default()
        };
    }

    /// A connection that stands when recording begins.
    pub(super) fn begin_connection(&mut self, index: usize, socket: BorrowedFd<'_>, now: u64) {
        if self.lives[index].first.is_some() {
            let read = tcp_info::read(socket).map(|tcp| Read { at: now, tcp });
            self.lives[index] = Life { first: read, last: read };
        }
    }

    /// Connections whose turn it is to be read, now that an interval is over.
    pub(super) fn due(&mut self) -> impl Iterator<Item = usize> + use<> {
        let all = self.lives.len();
        let (first, count) = (self.turn, all.min(READ_AN_INTERVAL));
        self.turn = if all == 0 { 0 } else { (first + count) % all };
        (first..first + count).map(move |index| index % all)
    }

    /// Reads a connection again.
    pub(super) fn refresh(&mut self, index: usize, socket: BorrowedFd<'_>, now: u64) {
        if self.lives[index].first.is_some() {
            self.lives[index].last = tcp_info::read(socket).map(|tcp| Read { at: now, tcp });
        }
    }

    /// True when an operation belongs to the slowest so far.
    #[inline]
    pub(super) fn among_the_slowest(&self, response_ns: u64) -> bool {
        response_ns > self.bar_ns || !self.full
    }

    /// Keeps an operation that [belongs](Self::among_the_slowest) to the slowest.
    #[cold]
    pub(super) fn keep(&mut self, op: SlowOp, socket: BorrowedFd<'_>, moments: Moments) {
        let tcp = self.around(op.index, socket, moments.last);
        self.slowest.offer(SlowSample {
            at_ns: moments.last.saturating_sub(self.from),
            response_ns: moments.last.saturating_sub(moments.due),
            service_ns: moments.last.saturating_sub(moments.sent),
            row: op.row,
            connection: op.user,
            tcp,
            waking_ns: op.waking_ns.map(|ns| ns.min(moments.last.saturating_sub(moments.sent))),
        });
        if let Some(bar_ns) = self.slowest.bar_ns() {
            self.bar_ns = bar_ns;
            self.full = true;
        }
    }

    fn around(&mut self, index: usize, socket: BorrowedFd<'_>, now: u64) -> Option<TcpAround> {
        let before = self.lives[index].last?;
        let after = tcp_info::read(socket)?;
        self.lives[index].last = Some(Read { at: now, tcp: after });
        Some(TcpAround {
            since_ns: now.saturating_sub(before.at),
            retransmits: after.retransmits.saturating_sub(before.tcp.retransmits),
            before: before.tcp,
            after,
        })
    }

    /// A connection goes, or the run ends.
    pub(super) fn gone(&mut self, index: usize, socket: BorrowedFd<'_>) {
        let life = std::mem::take(&mut self.lives[index]);
        if let (Some(first), Some(last)) = (life.first, tcp_info::read(socket)) {
            self.totals.add(&first.tcp, &last);
        }
    }

    /// What was seen: the slowest operations, and what all connections did; the latter is `None`
    /// when there were none of TCP.
    pub(super) fn finish(self) -> (Slowest, Option<TcpTotals>) {
        (self.slowest, (self.totals.connections > 0).then_some(self.totals))
    }
}

impl<P: Protocol, L: Link, T: Time> Drive<'_, P, L, T> {
    /// Asks the kernel about some connections, now that an interval is over.
    pub(super) fn refresh(&mut self) {
        for index in self.watch.due() {
            if let Some(channel) = self.conns[index].phase.channel() {
                self.watch.refresh(index, channel.socket(), self.now);
            }
        }
    }
}

/// Which operation was slow.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlowOp {
    /// The connection, among those of this thread.
    pub(super) index: usize,
    /// The connection, among all.
    pub(super) user: u64,
    pub(super) row: u16,
    /// Since the last packet of the answer was in the kernel, where packets are stamped.
    pub(super) waking_ns: Option<u64>,
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd as _;

    use super::*;

    /// Both ends of a connection over loopback.
    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (one, listener.accept().unwrap().0)
    }

    /// A message there, and read.
    fn say(one: &mut TcpStream, other: &mut TcpStream) {
        one.write_all(b"x").unwrap();
        other.read_exact(&mut [0]).unwrap();
    }

    fn took(response_ns: u64, last: u64) -> Moments {
        Moments { due: last - response_ns, sent: last - response_ns, first: last, last }
    }

    const OP: SlowOp = SlowOp { index: 0, user: 7, row: 2, waking_ns: Some(15) };

    #[test]
    fn before_is_the_last_reading_and_what_came_before_recording_does_not_count() {
        let (mut one, mut other) = pair();
        let mut watch = Watch::new(1);
        watch.connected(0, one.as_fd(), 10);
        say(&mut one, &mut other);
        watch.begin(100);
        watch.begin_connection(0, one.as_fd(), 100);
        say(&mut one, &mut other);
        watch.keep(OP, one.as_fd(), took(30, 150));
        say(&mut one, &mut other);
        watch.keep(OP, one.as_fd(), took(20, 400));
        for index in watch.due() {
            watch.refresh(index, one.as_fd(), 500);
        }
        watch.keep(OP, one.as_fd(), took(10, 600));
        watch.gone(0, one.as_fd());
        let (slowest, totals) = watch.finish();
        let samples = slowest.into_samples();
        let around: Vec<_> = samples
            .iter()
            .map(|slow| {
                let tcp = slow.tcp.unwrap();
                let sent = tcp.after.segments_sent - tcp.before.segments_sent;
                (slow.at_ns, slow.response_ns, tcp.since_ns, sent)
            })
            .collect();
        assert_eq!(around, [(50, 30, 50, 1), (300, 20, 250, 1), (500, 10, 100, 0)]);
        assert_eq!((samples[0].connection, samples[0].row), (7, 2));
        let waking: Vec<_> = samples.iter().map(|slow| slow.waking_ns).collect();
        assert_eq!(waking, [Some(15), Some(15), Some(10)], "never more than the whole");
        assert_eq!(totals.map(|tcp| (tcp.connections, tcp.segments_sent)), Some((1, 2)));
    }

    #[test]
    fn once_there_are_enough_only_slower_ones_ask_the_kernel() {
        let (one, _other) = pair();
        let mut watch = Watch::new(1);
        watch.begin(0);
        for response_ns in 1..=10 {
            assert!(watch.among_the_slowest(response_ns));
            watch.keep(OP, one.as_fd(), took(response_ns, 1_000));
        }
        assert!(!watch.among_the_slowest(1), "as slow as the least of those kept");
        assert!(watch.among_the_slowest(2));
        watch.begin(0);
        assert!(watch.among_the_slowest(0), "the warm-up is forgotten");
    }

    #[test]
    fn many_connections_are_read_in_turn() {
        let mut watch = Watch::new(READ_AN_INTERVAL + 10);
        let first: Vec<usize> = watch.due().collect();
        assert_eq!(first, (0..READ_AN_INTERVAL).collect::<Vec<_>>());
        let second: Vec<usize> = watch.due().collect();
        assert_eq!(second[..11], [64, 65, 66, 67, 68, 69, 70, 71, 72, 73, 0]);
        assert_eq!(Watch::new(0).due().count(), 0);
    }
}
