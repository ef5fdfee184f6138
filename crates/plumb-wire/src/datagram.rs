//! What a datagram over UDP holds that our own programs exchange: a head, and what its kind adds.
//!
//! A client says hello from each of its sockets and is given a token, which is of that socket's
//! address only: whoever holds it has shown that answers reach it there. Everything else carries the
//! token. No answer is longer than what it answers, so that nobody can have more sent to an address
//! that is not his than he sends himself.
//!
//! | kind | from | what it is | behind the head |
//! |---|---|---|---|
//! | 1, 0x81 | client, server | hello, and the token | filling |
//! | 2, 0x82 | client, server | a message, and the same message back | content |
//! | 3 | both | one datagram of a stream | content |
//! | 4, 0x84 | client, server | a stream is to begin, and has begun | [`Begin`] |
//! | 5, 0x85 | client, server | what has become of a stream? | [`Ask`], [`Account`] |
//! | 0xff | server | refused | text |
//!
//! Numbers are big-endian.

mod account;

pub use account::{Account, Ask, GAP_BINS, gap_bin};

/// How every datagram starts: two letters and the version.
const MARK: [u8; 3] = *b"PU\x01";
/// Mark, kind, token, number, stamp: no datagram is shorter.
pub const HEAD_BYTES: usize = 28;
/// The longest content of a datagram over IPv4: 65,535 bytes of an IP packet less the heads of IP (20)
/// and UDP (8). IPv6 would take 20 more; one limit is for both.
pub const DATAGRAM_BYTES_MAX: usize = 65_507;

/// What a datagram is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A client asks for a token.
    Hello,
    /// Its token.
    Welcome,
    /// A message that is to come back.
    Ping,
    /// The message that came back; the stamp is how many different messages of that client had come
    /// until then, 0 when that is not counted.
    Pong,
    /// One of a stream.
    Data,
    /// A stream is to begin.
    Begin,
    /// It has begun.
    Begun,
    /// What has become of a stream?
    Ask,
    /// That has become of it.
    Account,
    /// The server will not do it; behind the head is why.
    Refused,
}

impl Kind {
    const ALL: [(Self, u8); 10] = [
        (Self::Hello, 1),
        (Self::Welcome, 0x81),
        (Self::Ping, 2),
        (Self::Pong, 0x82),
        (Self::Data, 3),
        (Self::Begin, 4),
        (Self::Begun, 0x84),
        (Self::Ask, 5),
        (Self::Account, 0x85),
        (Self::Refused, 0xff),
    ];

    fn of(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, its)| *its == code).map(|(kind, _)| kind)
    }

    fn code(self) -> u8 {
        Self::ALL.into_iter().find(|(kind, _)| *kind == self).map_or(0, |(_, code)| code)
    }
}

/// How a datagram starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// What it is.
    pub kind: Kind,
    /// The token of the client; 0 in a hello.
    pub token: u64,
    /// The number among those of its kind on this socket, from 0 on; an answer has that of what it
    /// answers.
    pub number: u64,
    /// When it was sent, nanoseconds on the monotonic clock of the sender; see [`Kind::Pong`].
    pub stamp: u64,
}

/// Why bytes are no datagram of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotOurs {
    /// Shorter than a head, or it starts otherwise.
    #[error("it does not start as a datagram of plumb does")]
    Start,
    /// A kind that this version does not have.
    #[error("there is no kind {0} of datagrams")]
    Kind(u8),
    /// What stands behind the head does not fit the kind.
    #[error("{0} bytes behind the head do not hold what that kind of datagram demands")]
    Body(usize),
}

impl Head {
    /// Reads the head of a datagram; what stands behind it is given back.
    ///
    /// # Errors
    /// [`NotOurs`] when it has none.
    #[inline]
    pub fn parse(datagram: &[u8]) -> Result<(Self, &[u8]), NotOurs> {
        let (head, body) = datagram.split_at_checked(HEAD_BYTES).ok_or(NotOurs::Start)?;
        let (mark, fields) = head.split_at(MARK.len());
        if mark != MARK {
            return Err(NotOurs::Start);
        }
        let kind = Kind::of(fields[0]).ok_or(NotOurs::Kind(fields[0]))?;
        let mut fields = Fields(&fields[1..]);
        let mut next = || fields.u64().ok_or(NotOurs::Start);
        Ok((Self { kind, token: next()?, number: next()?, stamp: next()? }, body))
    }

    /// Writes the head over the first bytes of a datagram.
    ///
    /// # Panics
    /// When `datagram` is shorter than a head.
    #[inline]
    pub fn write(&self, datagram: &mut [u8]) {
        datagram[..3].copy_from_slice(&MARK);
        datagram[3] = self.kind.code();
        datagram[4..12].copy_from_slice(&self.token.to_be_bytes());
        datagram[12..20].copy_from_slice(&self.number.to_be_bytes());
        datagram[20..HEAD_BYTES].copy_from_slice(&self.stamp.to_be_bytes());
    }

    /// A whole datagram of `bytes` with this head and filling behind it.
    #[must_use]
    pub fn filled(&self, bytes: usize) -> Vec<u8> {
        let mut datagram = vec![0; HEAD_BYTES];
        self.write(&mut datagram);
        datagram.extend(crate::extension::noise().take(bytes.saturating_sub(HEAD_BYTES)));
        datagram
    }
}

/// A stream that is to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begin {
    /// Under which its account is asked for: chosen by the client, and known to nobody else.
    pub key: u64,
    /// What the server is to send; `None` when the client sends.
    pub from_server: Option<Sending>,
}

/// What a sender sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sending {
    /// Of one datagram, bytes; at least a head.
    pub bytes: u32,
    /// From one datagram to the next, nanoseconds, above zero.
    pub every_ns: u64,
    /// For so long, nanoseconds.
    pub length_ns: u64,
}

impl Begin {
    /// Bytes behind the head: those of the fields, and filling, so that a refusal has room for words.
    pub const BYTES: usize = 100;

    /// Reads what stands behind the head; what follows the fields is filling.
    ///
    /// # Errors
    /// [`NotOurs::Body`].
    pub fn parse(body: &[u8]) -> Result<Self, NotOurs> {
        let mut fields = Fields(body);
        let mut read = || {
            let key = fields.u64()?;
            let bytes = fields.u32()?;
            let sending = Sending { bytes, every_ns: fields.u64()?, length_ns: fields.u64()? };
            let length = usize::try_from(bytes).ok()?;
            let of_server =
                (HEAD_BYTES..=DATAGRAM_BYTES_MAX).contains(&length) && sending.every_ns > 0;
            match bytes {
                0 => Some(Self { key, from_server: None }),
                _ => of_server.then_some(Self { key, from_server: Some(sending) }),
            }
        };
        read().ok_or(NotOurs::Body(body.len()))
    }

    /// Appends it.
    pub fn push(&self, out: &mut Vec<u8>) {
        let nothing = Sending { bytes: 0, every_ns: 0, length_ns: 0 };
        let sending = self.from_server.unwrap_or(nothing);
        let end = out.len() + Self::BYTES;
        out.extend_from_slice(&self.key.to_be_bytes());
        out.extend_from_slice(&sending.bytes.to_be_bytes());
        out.extend_from_slice(&sending.every_ns.to_be_bytes());
        out.extend_from_slice(&sending.length_ns.to_be_bytes());
        out.resize(end, 0);
    }
}

/// The fields that are left.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_at_checked(N)?;
        self.0 = rest;
        taken.try_into().ok()
    }

    fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    fn at_end(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_as_it_was_written() {
        for (kind, code) in Kind::ALL {
            let head = Head { kind, token: 1 << 40, number: 7, stamp: u64::MAX };
            let datagram = head.filled(40);
            assert_eq!((datagram.len(), datagram[3]), (40, code));
            assert_eq!(Head::parse(&datagram), Ok((head, &datagram[HEAD_BYTES..])));
        }
    }

    #[test]
    fn what_is_no_datagram_of_ours_is_told() {
        let head = Head { kind: Kind::Ping, token: 1, number: 2, stamp: 3 }.filled(HEAD_BYTES);
        for cut in 0..HEAD_BYTES {
            assert_eq!(Head::parse(&head[..cut]), Err(NotOurs::Start), "{cut}");
        }
        let mut other = head.clone();
        other[2] = 2;
        assert_eq!(Head::parse(&other), Err(NotOurs::Start));
        other = head;
        other[3] = 0x7f;
        assert_eq!(Head::parse(&other), Err(NotOurs::Kind(0x7f)));
    }

    #[test]
    fn a_server_sends_datagrams_of_a_length_that_there_is() {
        let begin = |bytes| {
            let sending = Sending { bytes, every_ns: 5, length_ns: 6 };
            let mut body = Vec::new();
            Begin { key: 9, from_server: Some(sending) }.push(&mut body);
            assert_eq!(body.len(), Begin::BYTES);
            Begin::parse(&body).map(|begin| begin.from_server == Some(sending))
        };
        assert_eq!(begin(28), Ok(true));
        assert_eq!(begin(65_507), Ok(true));
        assert_eq!(begin(27), Err(NotOurs::Body(Begin::BYTES)));
        assert_eq!(begin(65_508), Err(NotOurs::Body(Begin::BYTES)));
        let mut body = Vec::new();
        Begin { key: 9, from_server: None }.push(&mut body);
        assert_eq!(Begin::parse(&body), Ok(Begin { key: 9, from_server: None }));
        assert_eq!(Begin::parse(&body[..27]), Err(NotOurs::Body(27)));
    }
}
