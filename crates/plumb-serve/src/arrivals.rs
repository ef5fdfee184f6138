//! When bytes came over a connection, and what the kernel stamped of it.

use std::io::{self, IoSlice};
use std::num::NonZeroU32;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use plumb_engine::clock::MonotonicClock;
use plumb_measure::{Clock as _, MessageStamps, Moments};
use tokio::io::ReadBuf;
use tokio::net::TcpStream;

use crate::{ClientSocket, Socket, StampedSocket};

/// When bytes came over a connection, nanoseconds on the monotonic clock. What the driver does with them
/// is no time of the server or the way.
#[derive(Debug, Default)]
pub struct Arrivals {
    first_ns: AtomicU64,
    last_ns: AtomicU64,
    /// Whoever has the thread to itself is to wait for them now.
    waits: AtomicBool,
    /// Of a connection whose packets are stamped.
    stamped: Option<Mutex<StampedCalls>>,
}

/// The stamps of one connection, and of which calls they are.
#[derive(Debug)]
pub struct StampedCalls {
    socket: StampedSocket,
    /// The same socket, for whoever is not its stream.
    descriptor: OwnedFd,
    /// One call in so many.
    every: NonZeroU32,
    calls: u32,
    /// Just before the marked call was sent, on the monotonic clock.
    sent_ns: u64,
}

/// A call whose packets were stamped.
#[derive(Clone, Copy, Debug)]
pub struct StampedCall {
    /// From its first byte to the last of its answer.
    pub moments: Moments,
    /// What the kernel stamped of it.
    pub stamps: MessageStamps,
}

impl Arrivals {
    /// Those of a connection of `socket`, one in `every` call of which is stamped.
    ///
    /// # Errors
    /// When the kernel stamps nothing of it, or no descriptor is left.
    pub fn of(socket: &ClientSocket, every: Option<NonZeroU32>) -> io::Result<Self> {
        let (Some(every), ClientSocket::Tcp(Socket::Tcp(stream))) = (every, socket) else {
            return Ok(Self::default());
        };
        let descriptor = stream.as_fd().try_clone_to_owned()?;
        let socket = StampedSocket::ask(stream)?;
        let stamped = StampedCalls { socket, descriptor, every, calls: 0, sent_ns: 0 };
        Ok(Self { stamped: Some(Mutex::new(stamped)), ..Self::default() })
    }

    /// The stamps, where packets are stamped.
    #[must_use]
    pub fn stamped(&self) -> Option<MutexGuard<'_, StampedCalls>> {
        Some(self.stamped.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A call begins: its packets are stamped if it is its turn.
    pub fn begin(&self) {
        let Some(mut stamped) = self.stamped() else { return };
        stamped.calls = stamped.calls.wrapping_add(1);
        match stamped.calls.is_multiple_of(stamped.every.get()) {
            true => stamped.socket.stamps.mark(),
            false => stamped.socket.stamps.unmark(),
        }
    }

    /// The call has ended: what is known of it, if its packets were stamped.
    #[must_use]
    pub fn take(&self) -> Option<StampedCall> {
        let mut stamped = self.stamped()?;
        let StampedCalls { socket, descriptor, sent_ns, .. } = &mut *stamped;
        if !socket.stamps.has_begun() {
            return None;
        }
        let (sent, first, last) = (*sent_ns, self.first_ns(), self.last_ns());
        let stamps = socket.stamps.take(descriptor.as_fd());
        Some(StampedCall { moments: Moments { due: sent, sent, first, last }, stamps })
    }

    /// Something is asked: the next bytes are the first.
    pub fn expect(&self) {
        self.first_ns.store(0, Ordering::Relaxed);
    }

    /// An answer has begun. Where its first bytes came together with what was answered before it, the last
    /// that came are its first.
    pub fn begun(&self) {
        if self.first_ns() == 0 {
            self.first_ns.store(self.last_ns(), Ordering::Relaxed);
        }
    }

    /// Bytes came.
    pub fn came(&self, now_ns: u64) {
        if self.first_ns.load(Ordering::Relaxed) == 0 {
            self.first_ns.store(now_ns, Ordering::Relaxed);
        }
        self.last_ns.store(now_ns, Ordering::Relaxed);
    }

    /// They are to be waited for by whoever has the thread to itself.
    pub fn wait(&self) {
        self.waits.store(true, Ordering::Relaxed);
    }

    /// True when they are waited for so, and are not any more.
    #[must_use]
    pub fn stop_waiting(&self) -> bool {
        self.are_waited_for() && self.waits.swap(false, Ordering::Relaxed)
    }

    /// True while the next receive waits for them itself.
    #[must_use]
    pub fn are_waited_for(&self) -> bool {
        self.waits.load(Ordering::Relaxed)
    }

    /// When the first bytes came since something was [expected](Self::expect); 0 while none have.
    #[must_use]
    pub fn first_ns(&self) -> u64 {
        self.first_ns.load(Ordering::Relaxed)
    }

    /// When the last bytes came so far.
    #[must_use]
    pub fn last_ns(&self) -> u64 {
        self.last_ns.load(Ordering::Relaxed)
    }
}

impl StampedCalls {
    /// As `poll_read` of the stream.
    pub fn poll_read(
        &mut self,
        stream: &TcpStream,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.socket.poll_read(stream, context, into)
    }

    /// As `poll_write_vectored` of the stream.
    pub fn poll_write(
        &mut self,
        stream: &TcpStream,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.socket.stamps.is_marked() && !self.socket.stamps.has_begun() {
            self.sent_ns = MonotonicClock.now_ns();
        }
        self.socket.poll_write(stream, context, slices)
    }
}
