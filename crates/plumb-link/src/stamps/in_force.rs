//! The kernel stamps what comes in for the whole machine, from a moment after the first socket asked for it
//! until the last that did is closed. A load whose first messages are to be taken apart waits for that.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd as _, OwnedFd};

use plumb_measure::Clock;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    AddressFamily, SendFlags, SocketFlags, SocketType, accept_with, bind, connect, getsockname,
    listen, send, socket_with,
};

use super::connection::Stamps;
use super::kernel;
use plumb_socket::clock::MonotonicClock;

/// How long is waited for the first stamp at most.
const PATIENCE_NS: u64 = 10_000_000_000;
/// Between two tries.
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 500_000 };

/// A pair of connected sockets for which the kernel stamps what comes in, and so for all others.
#[derive(Debug)]
pub struct StampsInForce {
    one: OwnedFd,
    other: OwnedFd,
}

impl StampsInForce {
    /// Waits until the kernel has stamped something that came in, for ten seconds at most. `None` where
    /// it has not by then, or there is no loopback: the first messages of a load may then be without
    /// stamps, which is counted.
    #[must_use]
    pub fn begin() -> Option<Self> {
        let pair = Self::pair().ok()?;
        let until_ns = MonotonicClock.now_ns().saturating_add(PATIENCE_NS);
        while MonotonicClock.now_ns() < until_ns {
            if pair.is_stamped().ok()? {
                return Some(pair);
            }
            // nothing more comes over it, so that this is a pause
            poll(&mut [PollFd::new(&pair.other, PollFlags::IN)], Some(&PAUSE)).ok()?;
        }
        None
    }

    fn pair() -> io::Result<Self> {
        let socket =
            || socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None);
        let (listener, one) = (socket()?, socket()?);
        bind(&listener, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        listen(&listener, 1)?;
        connect(&one, &getsockname(&listener)?)?;
        let other = accept_with(&listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)?;
        Stamps::ask(other.as_fd())?;
        Ok(Self { one, other })
    }

    /// Sends a byte, and looks whether it comes with a stamp.
    fn is_stamped(&self) -> io::Result<bool> {
        send(&self.one, b"?", SendFlags::NOSIGNAL)?;
        match kernel::read(self.other.as_fd(), &mut [0; 1]) {
            Err(nothing) if nothing.kind() == io::ErrorKind::WouldBlock => Ok(false),
            read => Ok(read?.1.stamp.is_some()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn once_it_is_in_force_the_first_packet_has_a_stamp() {
        let held = StampsInForce::begin().expect("the kernel stamps what comes in");
        let another = StampsInForce::pair().unwrap();
        assert!(another.is_stamped().unwrap());
        assert!(held.is_stamped().unwrap());
    }
}
