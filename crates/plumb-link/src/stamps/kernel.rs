//! The calls of the kernel behind time stamps.
#![expect(unsafe_code, reason = "no safe crate sends or reads these control messages")]

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, BorrowedFd};

use rustix::net::{AddressFamily, SocketType, sockopt};

use super::control::{self, MARK_BYTES, ROOM, SOL_SOCKET, TIMESTAMPING, Told};
use super::interface;

/// Stamp what comes in (`RX_SOFTWARE`), tell both by the kernel's clock (`SOFTWARE`), with the place of
/// the last byte (`OPT_ID`) and without the bytes themselves (`OPT_TSONLY`).
const WANTED: u32 = 1 << 3 | 1 << 4 | 1 << 7 | 1 << 11;
/// Of an interface with a clock, what comes in by that (`RX_HARDWARE`, `RAW_HARDWARE`), and what is sent by
/// both (`OPT_TX_SWHW`).
const WANTED_OF_THE_INTERFACE: u32 = 1 << 2 | 1 << 6 | 1 << 14;

/// Asks for stamps; see [`Stamps::ask`](super::connection::Stamps::ask).
/// True when the interface stamps, too.
pub(super) fn ask(socket: BorrowedFd<'_>) -> io::Result<bool> {
    let over_ip =
        matches!(sockopt::socket_domain(socket)?, AddressFamily::INET | AddressFamily::INET6);
    let stream = sockopt::socket_type(socket)? == SocketType::STREAM;
    let of_tcp = sockopt::socket_protocol(socket)? == Some(rustix::net::ipproto::TCP);
    if !(over_ip && stream && of_tcp) {
        let why = "the kernel stamps packets of TCP, and this is another connection";
        return Err(io::Error::new(io::ErrorKind::Unsupported, why));
    }
    let by_interface = interface::stamps(socket);
    let wanted = WANTED | if by_interface { WANTED_OF_THE_INTERFACE } else { 0 };
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
        return Ok(by_interface);
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

/// A `msghdr` over pieces of memory and room for control messages.
fn header(pieces: &mut [libc::iovec], control: &mut [u8]) -> libc::msghdr {
    // SAFETY: a header of zeros is a valid one: no address, no memory, no control messages
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = pieces.as_mut_ptr();
    header.msg_iovlen = pieces.len() as _;
    header.msg_control = control.as_mut_ptr().cast();
    header.msg_controllen = control.len() as _;
    header
}

/// Bytes that a call moved.
fn moved(result: libc::ssize_t) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

/// Appends to `into` at most what its spare capacity takes: how many bytes, and the stamps of the last
/// packet of them.
pub(super) fn recv(socket: BorrowedFd<'_>, into: &mut Vec<u8>) -> io::Result<(usize, Told)> {
    let (bytes, told) = receive(socket, into.spare_capacity_mut())?;
    // SAFETY: the kernel has written that many bytes of the spare capacity
    unsafe { into.set_len(into.len() + bytes) };
    Ok((bytes, told))
}

/// Reads into the front of `into`: how many bytes, and the stamps of the last packet of them.
pub(super) fn read(socket: BorrowedFd<'_>, into: &mut [u8]) -> io::Result<(usize, Told)> {
    let length = into.len();
    // SAFETY: bytes that are initialised may be taken for ones that need not be, as what is written
    // over them is initialised
    let into = unsafe { std::slice::from_raw_parts_mut(into.as_mut_ptr().cast(), length) };
    receive(socket, into)
}

fn receive(socket: BorrowedFd<'_>, into: &mut [MaybeUninit<u8>]) -> io::Result<(usize, Told)> {
    let mut piece = [libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() }];
    let mut control = Aligned([0; ROOM]);
    let mut header = header(&mut piece, &mut control.0);
    // SAFETY: the kernel writes at most the memory of `into` and the room for control messages, both
    // of which outlive the call
    let bytes = moved(unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut header, 0) })?;
    Ok((bytes, told(&header, &control.0)))
}

/// Pieces of one call at most; those behind them wait for the next.
const PIECES_MAX: usize = 64;

/// Sends some of `pieces`, one behind the other; their packets are stamped where there is a `mark`.
pub(super) fn send(
    socket: BorrowedFd<'_>,
    pieces: &[IoSlice<'_>],
    mark: Option<[u8; MARK_BYTES]>,
) -> io::Result<usize> {
    let none = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
    let mut memory = [none; PIECES_MAX];
    let count = pieces.len().min(PIECES_MAX);
    for (piece, bytes) in memory.iter_mut().zip(pieces) {
        *piece = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    }
    let length = mark.map_or(0, |mark| mark.len());
    let mut control = Aligned(mark.unwrap_or_default());
    let header = header(&mut memory[..count], &mut control.0[..length]);
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
    // SAFETY: the kernel reads the bytes and the control message, which outlive the call, and
    // writes to neither
    moved(unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const header, flags) })
}

/// Takes an entry out of the socket's queue of errors; `None` when it is empty, or cannot be read.
pub(super) fn read_queue(socket: BorrowedFd<'_>) -> Option<Told> {
    let mut control = Aligned([0; ROOM]);
    let mut header = header(&mut [], &mut control.0);
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
