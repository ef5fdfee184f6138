//! Whether the network interface of a connection stamps packets by a clock of its own. That is asked, and
//! never switched on: it changes the machine, and takes an administrator.
#![expect(unsafe_code, reason = "no safe crate asks an interface for its time stamps")]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd as _, BorrowedFd};

/// `SIOCGHWTSTAMP`: what an interface stamps now.
const GET_CONFIGURATION: u64 = 0x89b1;
/// Bytes of `struct hwtstamp_config`: flags, what is stamped of what is sent, and of what comes in.
const CONFIGURATION_BYTES: usize = 12;
/// `HWTSTAMP_TX_ON` and `HWTSTAMP_FILTER_ALL`: whatever asks for it, and everything.
const EVERYTHING: (i32, i32) = (1, 1);

/// True when the interface that the packets of `socket` go over stamps all of them.
pub(super) fn stamps(socket: BorrowedFd<'_>) -> bool {
    let own = rustix::net::getsockname(socket).ok().map(SocketAddr::try_from);
    let Some(Ok(own)) = own else { return false };
    name_of(own.ip()).and_then(|name| configuration(socket, &name)).is_some_and(|it| all(&it))
}

/// Whether such a configuration stamps everything.
fn all(configuration: &[u8; CONFIGURATION_BYTES]) -> bool {
    let word = |at: usize| {
        let field = configuration.get(at..at + 4).and_then(|field| field.first_chunk());
        field.map(|field| i32::from_ne_bytes(*field))
    };
    (word(4), word(8)) == (Some(EVERYTHING.0), Some(EVERYTHING.1))
}

type Name = [libc::c_char; libc::IFNAMSIZ];

/// The interface that has this address.
fn name_of(address: IpAddr) -> Option<Name> {
    let mut first = std::ptr::null_mut();
    // SAFETY: the call writes the head of a list that it allocates, or nothing where it fails
    if unsafe { libc::getifaddrs(&raw mut first) } != 0 {
        return None;
    }
    let (mut at, mut found) = (first, None);
    while !at.is_null() && found.is_none() {
        // SAFETY: an element of the list, which is freed only below
        let one = unsafe { &*at };
        // SAFETY: the address of an element is null or a whole address of its family
        if unsafe { address_of(one.ifa_addr) } == Some(address) {
            // SAFETY: the name of an element is a string that ends with a zero
            let bytes = unsafe { std::ffi::CStr::from_ptr(one.ifa_name) }.to_bytes_with_nul();
            found = name(bytes);
        }
        at = one.ifa_next;
    }
    // SAFETY: the head of the list, to which nothing points any more
    unsafe { libc::freeifaddrs(first) };
    found
}

fn name(bytes: &[u8]) -> Option<Name> {
    let mut name: Name = [0; libc::IFNAMSIZ];
    for (place, byte) in name.iter_mut().zip(bytes) {
        *place = libc::c_char::from_ne_bytes([*byte]);
    }
    (bytes.len() <= name.len()).then_some(name)
}

/// The address of IP in `address`; `None` of another family.
///
/// # Safety
/// It is null, or a whole address of its family.
unsafe fn address_of(address: *const libc::sockaddr) -> Option<IpAddr> {
    if address.is_null() {
        return None;
    }
    // SAFETY: every address begins with its family
    match i32::from(unsafe { (*address).sa_family }) {
        libc::AF_INET => {
            // SAFETY: an address of this family is a `sockaddr_in`, perhaps not aligned for one
            let four = unsafe { address.cast::<libc::sockaddr_in>().read_unaligned() };
            Some(Ipv4Addr::from(u32::from_be(four.sin_addr.s_addr)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: likewise a `sockaddr_in6`
            let six = unsafe { address.cast::<libc::sockaddr_in6>().read_unaligned() };
            Some(Ipv6Addr::from(six.sin6_addr.s6_addr).into())
        }
        _ => None,
    }
}

/// What the interface `name` stamps now; `None` where it has no clock.
fn configuration(socket: BorrowedFd<'_>, name: &Name) -> Option<[u8; CONFIGURATION_BYTES]> {
    let mut configuration = [0; CONFIGURATION_BYTES];
    // SAFETY: a request of zeros is a valid one
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name = *name;
    request.ifr_ifru.ifru_data = configuration.as_mut_ptr().cast();
    // SAFETY: the kernel reads the request and writes at most a `hwtstamp_config`, into memory of that
    // length that outlives the call
    let refused =
        unsafe { libc::ioctl(socket.as_raw_fd(), GET_CONFIGURATION as _, &raw mut request) };
    (refused == 0).then_some(configuration)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd as _;

    use proptest::prelude::*;

    use super::*;

    fn written(words: [i32; 3]) -> [u8; CONFIGURATION_BYTES] {
        let mut bytes = [0; CONFIGURATION_BYTES];
        for (place, word) in bytes.chunks_mut(4).zip(words) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    #[test]
    fn only_an_interface_that_stamps_everything_is_asked_to_tell() {
        assert!(all(&written([0, 1, 1])));
        for other in [[0, 0, 1], [0, 1, 0], [0, 1, 12], [1, 0, 0], [0, 2, 1]] {
            assert!(!all(&written(other)), "{other:?}");
        }
    }

    #[test]
    fn loopback_is_found_by_its_address_and_has_no_clock() {
        for address in [IpAddr::from(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()] {
            let listener = TcpListener::bind((address, 0)).unwrap();
            let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let found = name_of(address).unwrap();
            assert_eq!(Some(found), name(b"lo\0"), "{address}");
            assert_eq!(configuration(socket.as_fd(), &found), None);
            assert!(!stamps(socket.as_fd()));
        }
        assert_eq!(name_of(Ipv4Addr::new(203, 0, 113, 1).into()), None);
        assert_eq!(name(&[b'a'; 17]), None);
    }

    proptest! {
        #[test]
        fn any_configuration_is_read_to_some_end(bytes: [u8; CONFIGURATION_BYTES]) {
            let _ = all(&bytes);
        }
    }
}
