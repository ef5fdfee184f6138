//! Shared memory communications: sockets that move bytes through the memory of both sides, over
//! RDMA (SMC-R) or within a machine (SMC-D), and go on as TCP where the peer cannot.
//!
//! No option of a socket tells which of them it is. The kernel tells it of all sockets of SMC
//! together, and each is found by the number of its file.

mod counters;
mod reason;
mod sockets;

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{AddressFamily, Protocol, SocketFlags, SocketType, socket_with};

pub use counters::{Fallback, LinkGroups, SmcCounters, SmcTraffic};
pub use reason::reason_in_words;
pub use sockets::{Carriage, SmcSockets};

/// `AF_SMC`.
pub const FAMILY: AddressFamily = AddressFamily::from_raw(43);
/// `SMCPROTO_SMC6`; SMC over IPv4 is protocol 0.
const OVER_IPV6: u32 = 1;

/// What to try where a kernel has no SMC.
pub const REMEDY: &str =
    "load it (modprobe smc; Linux 6.12 has it); `plumb smc status` says what is missing";

/// This kernel has no SMC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this kernel has no SMC")]
pub struct NoSmc;

/// A stream socket of SMC over IPv4, or over IPv6.
///
/// # Errors
/// [`NoSmc`] within one of kind [`io::ErrorKind::Unsupported`]; else what the kernel says.
pub fn socket(over: AddressFamily, flags: SocketFlags) -> io::Result<OwnedFd> {
    let protocol = match over {
        AddressFamily::INET6 => std::num::NonZeroU32::new(OVER_IPV6).map(Protocol::from_raw),
        _ => None,
    };
    match socket_with(FAMILY, SocketType::STREAM, flags, protocol) {
        Err(Errno::AFNOSUPPORT | Errno::PROTONOSUPPORT) => {
            Err(io::Error::new(io::ErrorKind::Unsupported, NoSmc))
        }
        made => Ok(made?),
    }
}

/// True for the error of a kernel without SMC.
#[must_use]
pub fn is_missing(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|cause| cause.is::<NoSmc>())
}

/// Whether this kernel has SMC. Asking makes it load the module where it may.
///
/// # Errors
/// As of any socket; [`NoSmc`] within one of kind [`io::ErrorKind::Unsupported`].
pub fn available() -> io::Result<()> {
    socket(AddressFamily::INET, SocketFlags::CLOEXEC).map(|_| ())
}

/// What the kernel tells of the transport of each socket of SMC.
///
/// # Errors
/// A sentence why it tells nothing.
pub fn diagnosis() -> Result<(), String> {
    SmcSockets::ask().map(|_| ())
}

/// The number of the file that `socket` is.
///
/// # Errors
/// What the kernel says.
pub fn inode(socket: impl AsFd) -> io::Result<u64> {
    Ok(rustix::fs::fstat(socket)?.st_ino)
}
