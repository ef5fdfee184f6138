//! What the kernel says of a TCP connection.

use std::os::fd::{AsRawFd as _, BorrowedFd};

use plumb_measure::TcpReading;
use rustix::net::sockopt;

use plumb_netlink::smc;

/// As much of `struct tcp_info` as any kernel fills in that is known here.
const INFO_BYTES: usize = 256;
/// Up to `tcpi_total_retrans`: what every kernel since 2.6 fills in.
const INFO_BYTES_MIN: usize = 104;

/// Reads the state of a connection; `None` when it is none of TCP. A socket of SMC would tell of the
/// connection that its handshake was made over.
#[must_use]
pub fn read(socket: BorrowedFd<'_>) -> Option<TcpReading> {
    if sockopt::socket_domain(socket) == Ok(smc::FAMILY) {
        return None;
    }
    let mut bytes = [0; INFO_BYTES];
    let filled = getsockopt_tcp_info(socket, &mut bytes)?;
    decode(bytes.get(..filled)?)
}

#[expect(unsafe_code, reason = "no safe crate reads this option")]
fn getsockopt_tcp_info(socket: BorrowedFd<'_>, bytes: &mut [u8; INFO_BYTES]) -> Option<usize> {
    let mut length = libc::socklen_t::try_from(bytes.len()).ok()?;
    // SAFETY: the descriptor is open as long as it is borrowed; the kernel writes at most `length`
    // bytes to `bytes`, which is as long, and the number it wrote to `length`
    let refused = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            bytes.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    (refused == 0).then_some(usize::try_from(length).ok()?)
}

/// Decodes `struct tcp_info` of `linux/tcp.h`, which grows at its end; what an older kernel does
/// not fill in is zero. `None` when it is too short.
fn decode(info: &[u8]) -> Option<TcpReading> {
    if info.len() < INFO_BYTES_MIN {
        return None;
    }
    let word = |at: usize| match info.get(at..at + 4).map(<[u8; 4]>::try_from) {
        Some(Ok(bytes)) => u64::from(u32::from_ne_bytes(bytes)),
        _ => 0,
    };
    let long = |at: usize| match info.get(at..at + 8).map(<[u8; 8]>::try_from) {
        Some(Ok(bytes)) => u64::from_ne_bytes(bytes),
        _ => 0,
    };
    let us = |at: usize| word(at) * 1_000;
    /// The smallest round trip while there is none.
    const NO_RTT: u64 = u32::MAX as u64 * 1_000;
    Some(TcpReading {
        rto_ns: us(8),
        mss: word(16),
        unacked: word(24),
        lost: word(32),
        rtt_ns: us(68),
        rttvar_ns: us(72),
        cwnd: word(80),
        retransmits: word(100),
        rtt_min_ns: if us(148) == NO_RTT { 0 } else { us(148) },
        segments_received: word(152),
        segments_sent: word(156),
        delivery_rate: long(160),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Linux 6.18 said of a connection over loopback: seven times 1,000 bytes there and 10
    /// back, then 50 bytes there that are not acknowledged yet.
    const RECORDED: &str = "
        010000000007aa01e01c0300409c0000008a00001802000001000000000000000000000000000000
        0000000000000000000000000000000000000000ffff0000d7ff00000e0000000f000000ffffff7f
        11000000cbff00000400000000000000d7ff000000000000d04de8c00b000000ffffffffffffffff
        591b00000000000046000000000000000b0000000900000000000000020000000700000008000000
        0040db1c040000000000000000000000000000000000000000000000000000000800000000000000
        8a1b0000000000000000000000000000000000000000000000000000001401000000010000000000
        00000000000000000000000000000000";

    fn recorded() -> Vec<u8> {
        let digits: String = RECORDED.split_whitespace().collect();
        let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
        (0..digits.len()).step_by(2).map(byte).collect()
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn every_field_is_found_at_its_place() {
        let expected = TcpReading {
            rtt_ns: 14_000,
            rttvar_ns: 15_000,
            rtt_min_ns: 2000,
            rto_ns: 204_000_000,
            retransmits: 0,
            cwnd: 17,
            unacked: 1,
            lost: 0,
            mss: 35_328,
            segments_sent: 8,
            segments_received: 7,
            delivery_rate: 17_664_000_000,
        };
        assert_eq!(decode(&recorded()), Some(expected));
    }

    #[test]
    fn what_an_older_kernel_does_not_say_is_zero_and_too_little_is_nothing() {
        let bytes = recorded();
        let whole = decode(&bytes).unwrap();
        let old = decode(&bytes[..INFO_BYTES_MIN]).unwrap();
        let cut = TcpReading {
            rtt_min_ns: 0,
            segments_sent: 0,
            segments_received: 0,
            delivery_rate: 0,
            ..whole
        };
        assert_eq!(old, cut);
        for length in 0..INFO_BYTES_MIN {
            assert_eq!(decode(&bytes[..length]), None);
        }
    }

    #[test]
    fn a_connection_of_another_kind_has_none() {
        let (one, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        assert_eq!(read(std::os::fd::AsFd::as_fd(&one)), None);
    }
}
