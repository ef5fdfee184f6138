//! The calls of the kernel behind time stamps.
#![expect(unsafe_code, reason = "no safe crate sends or reads these control messages")]

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};

use rustix::net::{AddressFamily, SocketType, sockopt};

use super::control::{self, ROOM, Told};

pub(super) const SOL_SOCKET: i32 = libc::SOL_SOCKET;
/// `SO_TIMESTAMPING_NEW`, also the type of its control messages: times of 64 bits on every machine.
pub(super) const TIMESTAMPING: i32 = 65;
/// `SOF_TIMESTAMPING_TX_SOFTWARE`: stamp what is sent when it reaches the driver.
pub(super) const STAMPED: u32 = 1 << 1;
/// Stamp what comes in (`RX_SOFTWARE`), tell both by the kernel's clock (`SOFTWARE`), with the place of
/// the last byte (`OPT_ID`) and without the bytes themselves (`OPT_TSONLY`).
const WANTED: u32 = 1 << 3 | 1 << 4 | 1 << 7 | 1 << 11;

/// Asks for stamps; see [`Stamps::ask`](super::Stamps::ask).
pub(super) fn ask(socket: BorrowedFd<'_>) -> io::Result<()> {
    let over_ip =
        matches!(sockopt::socket_domain(socket)?, AddressFamily::INET | AddressFamily::INET6);
    let stream = sockopt::socket_type(socket)? == SocketType::STREAM;
    let of_tcp = sockopt::socket_protocol(socket)? == Some(rustix::net::ipproto::TCP);
    if !(over_ip && stream && of_tcp) {
        let why = "the kernel stamps packets of TCP, and this is another connection";
        return Err(io::Error::new(io::ErrorKind::Unsupported, why));
    }
    let wanted = WANTED;
    // SAFETY: the descriptor is open as long as it is borrowed, and the kernel reads the four bytes
    // of `wanted`
    let refused = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            SOL_SOCKET,
            TIMESTAMPING,
            (&raw const wanted).cast(),
            4,
        )
    };
    if refused == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::ENOPROTOOPT) => {
            Err(io::Error::new(io::ErrorKind::Unsupported, "this kernel has no such time stamps"))
        }
        _ => Err(error), // a connection that broke: its next read says so
    }
}

/// Room for control messages, as their headers demand it.
#[repr(C, align(8))]
struct Aligned<const N: usize>([u8; N]);

/// A `msghdr` over one piece of memory and room for control messages.
fn header(piece: &mut libc::iovec, control: &mut [u8]) -> libc::msghdr {
    // SAFETY: a header of zeros is a valid one: no address, no memory, no control messages
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = piece;
    header.msg_iovlen = 1;
    header.msg_control = control.as_mut_ptr().cast();
    header.msg_controllen = control.len() as _;
    header
}

/// Bytes that a call moved.
fn moved(result: libc::ssize_t) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// Appends to `into` at most what its spare capacity takes: how many bytes, and the stamp of the last
/// packet of them.
pub(super) fn recv(socket: BorrowedFd<'_>, into: &mut Vec<u8>) -> io::Result<(usize, Option<u64>)> {
    let spare = into.spare_capacity_mut();
    let mut piece = libc::iovec { iov_base: spare.as_mut_ptr().cast(), iov_len: spare.len() };
    let mut control = Aligned([0; ROOM]);
    let mut header = header(&mut piece, &mut control.0);
    // SAFETY: the kernel writes at most the spare capacity of `into` and the room for control
    // messages, both of which outlive the call
    let bytes = moved(unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut header, 0) })?;
    // SAFETY: the kernel has written that many bytes of the spare capacity
    unsafe { into.set_len(into.len() + bytes) };
    Ok((bytes, told(&header, &control.0).stamp))
}

/// Sends some of `bytes`, whose packets are stamped.
pub(super) fn send_marked(socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    let mut piece =
        libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let mut control = Aligned(control::mark());
    let header = header(&mut piece, &mut control.0);
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
    // SAFETY: the kernel reads the bytes and the control message, which outlive the call, and
    // writes to neither
    moved(unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const header, flags) })
}

/// Takes an entry out of the socket's queue of errors; `None` when it is empty, or cannot be read.
pub(super) fn read_queue(socket: BorrowedFd<'_>) -> Option<Told> {
    let mut piece = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
    let mut control = Aligned([0; ROOM]);
    let mut header = header(&mut piece, &mut control.0);
    let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
    // SAFETY: there is no memory for bytes, and the room for control messages outlives the call
    moved(unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut header, flags) }).ok()?;
    Some(told(&header, &control.0))
}

/// What the kernel wrote of control messages.
fn told(header: &libc::msghdr, control: &[u8]) -> Told {
    #[expect(clippy::unnecessary_cast, reason = "its type differs between C libraries")]
    let length = header.msg_controllen as usize;
    control::read(&control[..length.min(control.len())])
}
