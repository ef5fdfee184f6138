//! Messages and attributes of netlink.

/// Bytes of a message's header.
const HEADER: usize = 16;
/// Bytes of the generic header in front of the attributes.
pub const GENERIC: usize = 4;
/// `NLMSG_ERROR` and `NLMSG_DONE`.
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// `NLA_F_NESTED` and `NLA_F_NET_BYTEORDER`, which are no part of an attribute's kind.
const KIND: u16 = 0x3fff;

/// One message of a dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// A payload.
    Data(&'a [u8]),
    /// The last one.
    Done,
    /// The kernel refused, with this error number.
    Refused(i32),
}

/// What a piece of a dump says of the dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dump {
    /// There is more to come.
    Open,
    /// It is complete.
    Complete,
    /// The kernel refused, with this error number.
    Refused(i32),
}

/// Hands over the attributes of every message of what one receive brought of a dump.
pub fn each_payload(bytes: &[u8], mut take: impl FnMut(&[u8])) -> Dump {
    for message in messages(bytes) {
        match message {
            Message::Done => return Dump::Complete,
            Message::Refused(error) => return Dump::Refused(error),
            Message::Data(payload) => take(payload.get(GENERIC..).unwrap_or_default()),
        }
    }
    Dump::Open
}

/// The messages in what one receive brought. A message that is cut ends them.
pub fn messages(mut bytes: &[u8]) -> impl Iterator<Item = Message<'_>> {
    std::iter::from_fn(move || {
        let length = usize::try_from(u32_at(bytes, 0)?).ok()?;
        let kind = u16_at(bytes, 4)?;
        let payload = bytes.get(HEADER..length)?;
        bytes = bytes.get(aligned(length)..).unwrap_or_default();
        Some(match kind {
            ERROR => match i32_at(payload, 0)? {
                0 => Message::Done, // an acknowledgement
                error => Message::Refused(error.saturating_neg()),
            },
            DONE => Message::Done,
            _ => Message::Data(payload),
        })
    })
}

/// The attributes in a payload: kind and value. One that is cut ends them.
pub fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16_at(bytes, 0)?);
        let kind = u16_at(bytes, 2)? & KIND;
        let value = bytes.get(4..length)?;
        bytes = bytes.get(aligned(length)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// A request to a generic family: header, generic header, attributes.
#[must_use]
pub fn request(family: u16, flags: u16, command: u8, attributes: &[(u16, &[u8])]) -> Vec<u8> {
    request_of(family, flags, [command, 1, 0, 0], attributes) // and the version of the family
}

/// A request: header, the four bytes that stand in front of the attributes, attributes.
#[must_use]
pub fn request_of(
    kind: u16,
    flags: u16,
    front: [u8; GENERIC],
    attributes: &[(u16, &[u8])],
) -> Vec<u8> {
    request_with(kind, flags, &front, attributes)
}

/// A request: header, what stands in front of the attributes, attributes.
#[must_use]
pub fn request_with(kind: u16, flags: u16, front: &[u8], attributes: &[(u16, &[u8])]) -> Vec<u8> {
    const REQUEST: u16 = 1;
    let mut bytes = vec![0; HEADER];
    bytes.extend(front);
    for (kind, value) in attributes {
        let length = u16::try_from(4 + value.len()).unwrap_or(u16::MAX);
        bytes.extend(length.to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(*value);
        bytes.resize(aligned(bytes.len()), 0);
    }
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    bytes[..4].copy_from_slice(&length.to_ne_bytes());
    bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
    bytes[6..8].copy_from_slice(&(REQUEST | flags).to_ne_bytes());
    bytes
}

/// The next multiple of four.
fn aligned(length: usize) -> usize {
    length.next_multiple_of(4)
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// The number of 16 bits at `at`; `None` beyond the end.
#[must_use]
pub fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_ne_bytes)
}

/// The number of 32 bits at `at`; `None` beyond the end.
#[must_use]
pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_ne_bytes)
}

/// The number of 64 bits at `at`; `None` beyond the end.
#[must_use]
pub fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    array(bytes, at).map(u64::from_ne_bytes)
}

fn i32_at(bytes: &[u8], at: usize) -> Option<i32> {
    array(bytes, at).map(i32::from_ne_bytes)
}

/// Datagrams that were recorded, for tests of whoever reads such: lines of a command and its answer
/// in hexadecimal digits, comments behind `#`. A line of another form ends them.
#[must_use]
pub fn recorded(text: &str) -> Vec<(u8, Vec<u8>)> {
    let line = |line: &str| {
        let (command, digits) = line.split_once(' ')?;
        let byte = |pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        let bytes = digits.as_bytes().chunks(2).map(byte);
        Some((command.parse().ok()?, bytes.collect::<Option<_>>()?))
    };
    text.lines().filter(|text| !text.starts_with('#')).map_while(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_request_is_read_back() {
        let bytes = request(16, 0x300, 3, &[(2, b"NAME\0"), (7, &[1, 2])]);
        let Some(Message::Data(payload)) = messages(&bytes).next() else { panic!("{bytes:?}") };
        assert_eq!(payload[..2], [3, 1]);
        let all: Vec<_> = attributes(&payload[4..]).collect();
        assert_eq!(all, [(2, b"NAME\0".as_slice()), (7, &[1, 2])]);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic_or_go_on_for_ever(bytes: Vec<u8>) {
            prop_assert!(messages(&bytes).count() <= bytes.len());
            prop_assert!(attributes(&bytes).count() <= bytes.len());
        }
    }
}
