//! Control messages of a socket that carry time stamps: written for a send, read behind a receive.

pub(super) const SOL_SOCKET: i32 = libc::SOL_SOCKET;
/// `SO_TIMESTAMPING_NEW`, also the type of its control messages: times of 64 bits on every machine.
pub(super) const TIMESTAMPING: i32 = 65;
/// `SOF_TIMESTAMPING_TX_SOFTWARE`: stamp what is sent when it reaches the driver.
const STAMPED: u32 = 1 << 1;
/// A header (`struct cmsghdr`) up to its content: a length, a level, a type.
const HEADER: usize = size_of::<usize>() + 8;
/// The kernel aligns messages to this.
const ALIGN: usize = size_of::<usize>();
/// Bytes of the message that marks a send.
pub(super) const MARK_BYTES: usize = (HEADER + 4).next_multiple_of(ALIGN);
/// Room for the stamp of a packet beside what else the queue of errors tells.
pub(super) const ROOM: usize = 256;

const SOL_IP: i32 = 0;
const IP_RECVERR: i32 = 11;
const SOL_IPV6: i32 = 41;
const IPV6_RECVERR: i32 = 25;
/// `SO_EE_ORIGIN_TIMESTAMPING`.
const ORIGIN_TIMESTAMPING: u8 = 4;
/// `SCM_TSTAMP_SND`: the packet was handed to the driver.
const AT_THE_DRIVER: u32 = 0;

/// `SOF_TIMESTAMPING_TX_HARDWARE`: stamp it by the clock of the interface, too.
const STAMPED_BY_THE_INTERFACE: u32 = 1;

/// What control messages say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    /// A time stamp of the kernel, nanoseconds of the wall clock.
    pub(super) stamp: Option<u64>,
    /// One of the interface, nanoseconds of its own clock.
    pub(super) by_interface: Option<u64>,
    /// The place of the last byte of the packet that was stamped at the driver.
    pub(super) last_byte: Option<u32>,
}

/// The control message that has the packets of a send stamped at the driver, and `by_interface`.
pub(super) fn mark(by_interface: bool) -> [u8; MARK_BYTES] {
    let stamped = STAMPED | if by_interface { STAMPED_BY_THE_INTERFACE } else { 0 };
    let mut bytes = [0; MARK_BYTES];
    let mut at = 0;
    let mut put = |field: &[u8]| {
        bytes[at..at + field.len()].copy_from_slice(field);
        at += field.len();
    };
    put(&(HEADER + 4).to_ne_bytes());
    put(&SOL_SOCKET.to_ne_bytes());
    put(&TIMESTAMPING.to_ne_bytes());
    put(&stamped.to_ne_bytes());
    bytes
}

/// Reads control messages; what is cut short or unknown says nothing.
pub(super) fn read(mut bytes: &[u8]) -> Told {
    let mut told = Told::default();
    while let Some(header) = bytes.get(..HEADER) {
        let Some(length) = header.first_chunk().map(|length| usize::from_ne_bytes(*length)) else {
            break;
        };
        let Some(content) = bytes.get(HEADER..length) else { break };
        match (word(header, ALIGN), word(header, ALIGN + 4)) {
            (Some(SOL_SOCKET), Some(TIMESTAMPING)) => {
                told.stamp = stamp(content, 0).or(told.stamp);
                told.by_interface = stamp(content, 2).or(told.by_interface);
            }
            (Some(SOL_IP), Some(IP_RECVERR)) | (Some(SOL_IPV6), Some(IPV6_RECVERR)) => {
                told.last_byte = last_byte(content).or(told.last_byte);
            }
            _ => {}
        }
        bytes = bytes.get(length.next_multiple_of(ALIGN)..).unwrap_or_default();
    }
    told
}

fn word(bytes: &[u8], at: usize) -> Option<i32> {
    let field = bytes.get(at..at.checked_add(4)?)?;
    field.try_into().ok().map(i32::from_ne_bytes)
}

/// One of the three times of `struct scm_timestamping64`, seconds and nanoseconds: the first is the
/// kernel's, the last that of the interface. Zero where there is none.
fn stamp(content: &[u8], number: usize) -> Option<u64> {
    let field = |at: usize| -> Option<u64> {
        let at = 16 * number + at;
        let field = content.get(at..at + 8)?.try_into().ok()?;
        u64::try_from(i64::from_ne_bytes(field)).ok()
    };
    let ns = field(0)?.checked_mul(1_000_000_000)?.checked_add(field(8)?)?;
    (ns > 0).then_some(ns)
}

/// Of `struct sock_extended_err`: the place of the last byte, where it is about a stamp at the driver.
fn last_byte(content: &[u8]) -> Option<u32> {
    let field = |at: usize| -> Option<u32> {
        content.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes)
    };
    let about_the_driver =
        content.get(4) == Some(&ORIGIN_TIMESTAMPING) && field(8) == Some(AT_THE_DRIVER);
    if about_the_driver { field(12) } else { None }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(level: i32, kind: i32, content: &[u8]) -> Vec<u8> {
        let mut bytes = (HEADER + content.len()).to_ne_bytes().to_vec();
        bytes.extend_from_slice(&level.to_ne_bytes());
        bytes.extend_from_slice(&kind.to_ne_bytes());
        bytes.extend_from_slice(content);
        bytes.resize(bytes.len().next_multiple_of(ALIGN), 0);
        bytes
    }

    fn times(seconds: i64, nanoseconds: i64) -> Vec<u8> {
        let mut content = Vec::new();
        for field in [seconds, nanoseconds, 0, 0, 0, 0] {
            content.extend_from_slice(&field.to_ne_bytes());
        }
        content
    }

    fn error(origin: u8, info: u32, data: u32) -> Vec<u8> {
        let mut content = vec![42, 0, 0, 0, origin, 0, 0, 0];
        content.extend_from_slice(&info.to_ne_bytes());
        content.extend_from_slice(&data.to_ne_bytes());
        content
    }

    #[test]
    fn a_stamp_and_its_place_are_found_among_others() {
        let stamp = message(SOL_SOCKET, TIMESTAMPING, &times(1_700_000_000, 123));
        let place = message(SOL_IP, IP_RECVERR, &error(ORIGIN_TIMESTAMPING, AT_THE_DRIVER, 499));
        let other = message(SOL_IP, 8, &[1, 2, 3]);
        let told = read(&[other, stamp.clone(), place].concat());
        let at = Some(1_700_000_000_000_000_123);
        assert_eq!(told, Told { stamp: at, by_interface: None, last_byte: Some(499) });
        assert_eq!(read(&stamp), Told { stamp: at, ..Told::default() });
    }

    #[test]
    fn what_the_interface_stamps_is_told_from_what_the_kernel_does() {
        let mut content = vec![0; 32];
        content.extend_from_slice(&times(7, 8)[..16]);
        let told = read(&message(SOL_SOCKET, TIMESTAMPING, &content));
        assert_eq!(told, Told { by_interface: Some(7_000_000_008), ..Told::default() });
    }

    #[test]
    fn other_errors_and_other_stamps_have_no_place() {
        for content in [error(2, 0, 7), error(ORIGIN_TIMESTAMPING, 1, 7), vec![4; 6]] {
            for (level, kind) in [(SOL_IP, IP_RECVERR), (SOL_IPV6, IPV6_RECVERR)] {
                assert_eq!(read(&message(level, kind, &content)), Told::default());
            }
        }
        assert_eq!(read(&message(SOL_SOCKET, TIMESTAMPING, &times(0, 0))), Told::default());
        assert_eq!(read(&message(SOL_SOCKET, TIMESTAMPING, &times(-1, 5))), Told::default());
    }

    #[test]
    fn a_mark_is_a_whole_control_message() {
        let expected = message(SOL_SOCKET, TIMESTAMPING, &STAMPED.to_ne_bytes());
        assert_eq!(mark(false).to_vec(), expected);
        let both = message(SOL_SOCKET, TIMESTAMPING, &3_u32.to_ne_bytes());
        assert_eq!(mark(true).to_vec(), both);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_stumble(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes);
        }

        #[test]
        fn messages_changed_by_chance_or_cut_are_read_to_some_end(
            at in 0_usize..80,
            bit in 0_u8..8,
            cut in 0_usize..120,
        ) {
            let mut bytes = message(SOL_SOCKET, TIMESTAMPING, &times(5, 6));
            bytes.extend(message(SOL_IPV6, IPV6_RECVERR, &error(ORIGIN_TIMESTAMPING, 0, 9)));
            let whole = read(&bytes);
            let stamp = Some(5_000_000_006);
            prop_assert_eq!(whole, Told { stamp, by_interface: None, last_byte: Some(9) });
            let at = at % bytes.len();
            bytes[at] ^= 1 << bit;
            bytes.truncate(cut);
            let _ = read(&bytes);
        }
    }
}
