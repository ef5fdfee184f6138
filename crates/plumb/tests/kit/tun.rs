//! Network devices whose packets a program reads and writes (TUN).
#![allow(unsafe_code, reason = "no safe crate among the dependencies asks the kernel for a device")]

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::thread;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::ioctl::{Opcode, Updater, ioctl};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// `TUNSETIFF` of `linux/if_tun.h`: makes an open file the other end of a device.
const TUNSETIFF: Opcode = 0x4004_54ca;
/// `IFF_TUN | IFF_NO_PI`: packets of IP as they are, without a header of the device.
const PLAIN_PACKETS: u16 = 0x0001 | 0x1000;
/// Bytes of a name in a [`Request`], the zero at its end included.
const NAME_BYTES: usize = 16;

/// `struct ifreq` of `linux/if.h` on 64 bits, as far as `TUNSETIFF` uses it.
#[repr(C)]
struct Request {
    name: [u8; NAME_BYTES],
    flags: u16,
    rest: [u8; 22],
}

/// Makes a device called `name` in the network namespace that is found at `place`: what is sent to
/// it there is read from the file, what is written to the file arrives there. Reads and writes do
/// not wait. The device goes with the file. `Err` says why this machine does not allow that.
pub(crate) fn device(name: &str, place: &Path) -> Result<OwnedFd, String> {
    let failed = |what: &str, error: &dyn std::fmt::Display| format!("{what}: {error}");
    let space = File::open(place).map_err(|error| failed("no namespace", &error))?;
    let mut request = Request { name: [0; NAME_BYTES], flags: PLAIN_PACKETS, rest: [0; 22] };
    assert!(name.len() < NAME_BYTES, "`{name}` is too long for a device");
    request.name[..name.len()].copy_from_slice(name.as_bytes());
    // a device is made where the thread is that opens the file, so it is one of its own
    let made = thread::spawn(move || {
        move_into_link_name_space(space.as_fd(), Some(LinkNameSpaceType::Network))
            .map_err(|error| failed("a thread cannot change its namespace", &error))?;
        let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = rustix::fs::open("/dev/net/tun", flags, Mode::empty())
            .map_err(|error| failed("/dev/net/tun", &error))?;
        attach(&file, &mut request).map_err(|error| failed("TUNSETIFF", &error))?;
        Ok(file)
    });
    made.join().unwrap_or_else(|_| Err("a thread ended".into()))
}

fn attach(file: &OwnedFd, request: &mut Request) -> Result<(), Errno> {
    // SAFETY: the kernel reads one `ifreq` and writes it back, and `Request` is as long as one; the
    // reference to it outlives the call
    unsafe { ioctl(file, Updater::<TUNSETIFF, Request>::new(request)) }
}
