//! One connection through the relay: two sockets, and a line for each direction between them.

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::time::Duration;

use plumb_measure::Clock;
use rustix::net::{RecvFlags, Shutdown, recv, shutdown, sockopt};

use crate::line::{End, Line, Shaper};
use crate::plan::Limit;
use crate::tally::{Parted, Passage, PathTotals};
use plumb_engine::{Link as _, Plain, READS_A_TURN, Readiness, Wake};

/// The side of the client, and the direction that begins there.
pub(crate) const NEAR: usize = 0;
/// The side of the target, and the direction that begins there.
pub(crate) const FAR: usize = 1;

/// One end of a connection.
#[derive(Debug)]
pub(crate) struct Side {
    pub(crate) socket: OwnedFd,
    /// When it was connected; `None` while it is not.
    pub(crate) connected_at: Option<u64>,
    readable: bool,
    writable: bool,
    /// It will send nothing more, so that a short read does not mean that nothing is left.
    hung_up: bool,
    /// Its last byte has been read, or it is broken.
    heard: bool,
    /// It has been told that nothing more comes.
    told: bool,
    /// It was reset after its last byte had been read.
    failed: bool,
}

impl Side {
    pub(crate) fn new(socket: OwnedFd, connected_at: Option<u64>) -> Self {
        Self {
            socket,
            connected_at,
            readable: false,
            writable: connected_at.is_some(),
            hung_up: false,
            heard: false,
            told: false,
            failed: false,
        }
    }

    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Ends it so that the other end learns of a reset, not of an end.
    pub(crate) fn reset(&self) {
        reset(self.socket());
    }
}

/// Lets the close of `socket` be a reset. A unix socket knows no such thing and is just closed.
pub(crate) fn reset(socket: BorrowedFd<'_>) {
    let _ = sockopt::set_socket_linger(socket, Some(Duration::ZERO));
}

/// What all connections share while one is attended to.
pub(crate) struct Common<'a, T> {
    pub(crate) time: &'a T,
    pub(crate) shapers: &'a mut [Shaper; 2],
    pub(crate) totals: [&'a mut PathTotals; 2],
    pub(crate) buffer: &'a mut [u8],
}

impl Passage {
    /// Bytes that came from a side.
    fn bytes_from(&mut self, side: usize) -> &mut u64 {
        if side == NEAR { &mut self.there_bytes } else { &mut self.back_bytes }
    }
}

/// Whether there is more to do at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PairProgress {
    /// Nothing, until something happens.
    Done,
    /// One side has more to read than its turn allows.
    Again,
    /// The connection is over.
    Over(Parted),
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) sides: [Side; 2],
    pub(crate) lines: [Line; 2],
    pub(crate) passage: Passage,
    pub(crate) since: u64,
    pub(crate) last_heard: u64,
    pub(crate) cut: Option<Limit>,
    /// Nothing passes any more.
    pub(crate) forgotten: bool,
    /// The address of the target that is tried, and since when.
    pub(crate) attempt: usize,
    pub(crate) attempt_since: u64,
    /// For bytes that become due.
    pub(crate) wake: Wake,
    /// For the limits on its life.
    pub(crate) limit_wake: Wake,
}

impl Pair {
    /// Notes what an event said of side `at`.
    pub(crate) fn note(&mut self, at: usize, ready: Readiness) {
        let side = &mut self.sides[at];
        side.readable |= ready.readable;
        side.writable |= ready.writable && side.connected_at.is_some();
        side.hung_up |= ready.hangup;
        if ready.hangup && side.heard {
            // nothing more is read there, so that no read can tell
            side.failed |= matches!(sockopt::socket_error(&side.socket), Ok(Err(_)));
        }
    }

    /// True when one side has sent its last byte.
    pub(crate) fn half_over(&self) -> bool {
        self.sides.iter().any(|side| side.heard)
    }

    /// Reads, lets go what is due, and passes ends on.
    pub(crate) fn turn<T: Clock>(&mut self, common: &mut Common<'_, T>) -> PairProgress {
        if self.forgotten {
            return self.ignore(common.buffer);
        }
        let mut again = false;
        for from in [NEAR, FAR] {
            again |= self.receive(from, common);
            if self.cut_by_size() {
                return PairProgress::Over(Parted::Cut);
            }
            if let Some(parted) = self.deliver(from, common) {
                return PairProgress::Over(parted);
            }
        }
        if again { PairProgress::Again } else { PairProgress::Done }
    }

    /// Reads what side `from` has sent, as far as the window allows; true when its turn ended
    /// before its bytes did.
    fn receive<T: Clock>(&mut self, from: usize, common: &mut Common<'_, T>) -> bool {
        let (side, line) = (&mut self.sides[from], &mut self.lines[from]);
        for _ in 0..READS_A_TURN {
            if !side.readable || side.heard || side.connected_at.is_none() {
                return false;
            }
            let room = line.room(common.time.now_ns()).min(common.buffer.len());
            if room == 0 {
                return false;
            }
            let read = recv(&side.socket, &mut common.buffer[..room], RecvFlags::empty());
            // read after the bytes are here, so that none leaves earlier than a delay after it came
            let now = common.time.now_ns();
            match read {
                Ok((0, _)) => {
                    side.heard = true;
                    line.push_end(now, End::Finish);
                }
                Ok((count, _)) => {
                    side.readable = side.hung_up || count == room;
                    line.push(now, &common.buffer[..count], &mut common.shapers[from]);
                    self.last_heard = now;
                    common.totals[from].received += count as u64;
                    *self.passage.bytes_from(from) += count as u64;
                }
                Err(rustix::io::Errno::AGAIN) => side.readable = false,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => {
                    side.heard = true;
                    line.push_end(now, End::Reset);
                }
            }
        }
        side.readable && !side.heard && line.room(common.time.now_ns()) > 0
    }

    /// Sends what is due of the direction that begins at `from`; how the connection ended, if it
    /// did.
    fn deliver<T: Clock>(&mut self, from: usize, common: &mut Common<'_, T>) -> Option<Parted> {
        let (line, to) = (&mut self.lines[from], &mut self.sides[1 - from]);
        let receiver_since = to.connected_at?;
        if to.told {
            return None;
        }
        if to.failed {
            return self.broken(1 - from, common.time.now_ns());
        }
        while to.writable {
            let now = common.time.now_ns();
            line.release(now, receiver_since, &mut common.totals[from].late);
            let ready = line.ready();
            if ready.is_empty() {
                break;
            }
            match Plain::default().send(to.socket.as_fd(), ready) {
                Ok(count) => {
                    common.totals[from].sent += count as u64;
                    line.left(count, now);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => to.writable = false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return self.broken(1 - from, now),
            }
        }
        match line.ended(common.time.now_ns())? {
            End::Reset => Some(Parted::Reset),
            End::Finish => {
                to.told = true;
                // one that is gone already needs no farewell
                let _ = shutdown(&to.socket, Shutdown::Write);
                self.sides.iter().all(|side| side.told).then_some(Parted::Closed)
            }
        }
    }

    /// Side `at` takes nothing more: the other one learns of it as late as of everything else,
    /// unless it was told already that nothing more comes.
    fn broken(&mut self, at: usize, now: u64) -> Option<Parted> {
        if self.sides[1 - at].told {
            return Some(Parted::Reset);
        }
        let side = &mut self.sides[at];
        side.told = true;
        side.heard = true;
        self.lines[at].push_end(now, End::Reset);
        None
    }

    fn cut_by_size(&self) -> bool {
        let passed = self.passage.there_bytes + self.passage.back_bytes;
        matches!(self.cut, Some(Limit::Bytes(limit)) if passed >= limit.bytes())
    }

    /// Throws away what comes in, until one side has gone.
    fn ignore(&mut self, buffer: &mut [u8]) -> PairProgress {
        for side in self.sides.iter_mut().filter(|side| side.readable) {
            for _ in 0..READS_A_TURN {
                match recv(&side.socket, &mut buffer[..], RecvFlags::empty()) {
                    Ok((1.., _)) | Err(rustix::io::Errno::INTR) => {}
                    Err(rustix::io::Errno::AGAIN) => {
                        side.readable = false;
                        break;
                    }
                    Ok(_) | Err(_) => return PairProgress::Over(Parted::Forgotten),
                }
            }
        }
        if self.sides.iter().any(|side| side.readable) {
            PairProgress::Again
        } else {
            PairProgress::Done
        }
    }

    /// When bytes are due, or a full window opens.
    pub(crate) fn next_due(&self) -> Option<u64> {
        if self.forgotten {
            return None;
        }
        let due = |from: usize| {
            let (to, line) = (&self.sides[1 - from], &self.lines[from]);
            let takes = to.connected_at.is_some() && to.writable && !to.told;
            takes.then(|| line.next_due()).flatten()
        };
        let room = |from: usize| {
            let side = &self.sides[from];
            (side.readable && !side.heard).then(|| self.lines[from].room_at()).flatten()
        };
        [due(NEAR), due(FAR), room(NEAR), room(FAR)].into_iter().flatten().min()
    }

    /// The far side is replaced by an attempt at another address.
    pub(crate) fn try_far(&mut self, socket: OwnedFd, now: u64) {
        self.sides[FAR] = Side::new(socket, None);
        self.attempt += 1;
        self.attempt_since = now;
    }

    /// The far side stands.
    pub(crate) fn reached(&mut self, now: u64) {
        let far = &mut self.sides[FAR];
        far.connected_at = Some(now);
        far.writable = true;
        far.readable = true; // whatever came with the connection
    }

    /// How the far side's connect ended.
    pub(crate) fn far_result(&self) -> io::Result<()> {
        plumb_engine::finish_connect(self.sides[FAR].socket())
    }
}
