//! Replies as a client reads them: those of version 2, which a server speaks unless it is asked
//! for another.

use super::{Malformed, behind};

/// What a client takes from a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyLimits {
    /// Bytes of one reply with everything in it.
    pub bytes: usize,
    /// Replies within one reply, those within these included.
    pub items: usize,
}

/// Arrays within each other, at most: whoever goes through a reply needs a stack of that depth, and
/// no server nests further.
const DEPTH_MAX: usize = 8;

/// One reply, within the bytes it was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply<'a> {
    /// A status, for example `OK`.
    Simple(&'a [u8]),
    /// An error: its kind in capitals, a space, what happened.
    Error(&'a [u8]),
    /// A number.
    Integer(i64),
    /// Bytes.
    Bulk(&'a [u8]),
    /// Nothing, in the place of bytes or of an array.
    Null,
    /// Replies in an order.
    Array(Items<'a>),
}

/// The replies in an array, read as they are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Items<'a> {
    bytes: &'a [u8],
    count: usize,
}

impl<'a> Iterator for Items<'a> {
    type Item = Reply<'a>;

    fn next(&mut self) -> Option<Reply<'a>> {
        self.count = self.count.checked_sub(1)?;
        let limits = ReplyLimits { bytes: self.bytes.len(), items: self.bytes.len() };
        let (reply, taken) = reply(self.bytes, &limits).ok()??; // it was looked through before
        self.bytes = &self.bytes[taken..];
        Some(reply)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.count, Some(self.count))
    }
}

impl ExactSizeIterator for Items<'_> {}

/// Reads the reply at the start of `bytes`, and how many of them it takes; `None` while it is not
/// complete. Nothing is copied.
///
/// # Errors
/// [`Malformed`] when no bytes to come could make a reply of it, or it is beyond `limits`.
#[inline]
pub fn reply<'a>(
    bytes: &'a [u8],
    limits: &ReplyLimits,
) -> Result<Option<(Reply<'a>, usize)>, Malformed> {
    let read = read(bytes, limits)?;
    if read.map_or(bytes.len(), |(_, taken)| taken) > limits.bytes {
        return Err(Malformed::TooLong);
    }
    Ok(read)
}

#[inline]
fn read<'a>(
    bytes: &'a [u8],
    limits: &ReplyLimits,
) -> Result<Option<(Reply<'a>, usize)>, Malformed> {
    let Some((head, start)) = head(bytes, 0, limits)? else {
        return Ok(None);
    };
    let (reply, end) = match head {
        Head::Simple(text) => (Reply::Simple(text), start),
        Head::Error(text) => (Reply::Error(text), start),
        Head::Integer(value) => (Reply::Integer(value), start),
        Head::Null => (Reply::Null, start),
        Head::Bulk(length) => match behind(bytes, start + length)? {
            None => return Ok(None),
            Some(end) => (Reply::Bulk(&bytes[start..start + length]), end),
        },
        Head::Array(count) => match items_end(bytes, start, count, limits)? {
            None => return Ok(None),
            Some(end) => (Reply::Array(Items { bytes: &bytes[start..end], count }), end),
        },
    };
    Ok(Some((reply, end)))
}

/// The first line of a reply.
enum Head<'a> {
    Simple(&'a [u8]),
    Error(&'a [u8]),
    Integer(i64),
    Null,
    Bulk(usize),
    Array(usize),
}

/// The line at `at`, and the place behind it.
#[inline]
fn head<'a>(
    bytes: &'a [u8],
    at: usize,
    limits: &ReplyLimits,
) -> Result<Option<(Head<'a>, usize)>, Malformed> {
    let Some(kind) = bytes.get(at) else {
        return Ok(None);
    };
    if matches!(kind, b'+' | b'-') {
        let Some((text, end)) = text(bytes, at + 1)? else {
            return Ok(None);
        };
        let head = if *kind == b'+' { Head::Simple(text) } else { Head::Error(text) };
        return Ok(Some((head, end)));
    }
    if !matches!(kind, b':' | b'$' | b'*') {
        return Err(Malformed::Type);
    }
    let Some((number, end)) = integer(bytes, at + 1)? else {
        return Ok(None);
    };
    let head = match (kind, number) {
        (b':', number) => Head::Integer(number),
        (_, -1) => Head::Null,
        (kind, length) => {
            let length = usize::try_from(length).map_err(|_| Malformed::Length)?;
            if *kind == b'$' && length > limits.bytes {
                return Err(Malformed::WordTooLong);
            }
            if *kind == b'*' && length > limits.items {
                return Err(Malformed::TooManyWords);
            }
            if *kind == b'$' { Head::Bulk(length) } else { Head::Array(length) }
        }
    };
    Ok(Some((head, end)))
}

/// The text of the line from `at` on, and the place behind its end.
#[inline]
fn text(bytes: &[u8], at: usize) -> Result<Option<(&[u8], usize)>, Malformed> {
    let rest = &bytes[at..];
    let Some(length) = rest.iter().position(|byte| *byte == b'\r') else {
        return Ok(None);
    };
    match rest.get(length + 1) {
        None => Ok(None),
        Some(b'\n') => Ok(Some((&rest[..length], at + length + 2))),
        Some(_) => Err(Malformed::End),
    }
}

/// The number of the line from `at` on, and the place behind its end.
#[inline]
fn integer(bytes: &[u8], at: usize) -> Result<Option<(i64, usize)>, Malformed> {
    /// No number is longer.
    const NUMBER_BYTES_MAX: usize = 20;
    /// Nothing of so many digits is too large.
    const DIGITS_SAFE: usize = 19;
    let negative = bytes.get(at) == Some(&b'-');
    let first = at + usize::from(negative);
    let mut value = 0_u64;
    for place in first..=at + NUMBER_BYTES_MAX {
        match bytes.get(place) {
            None => return Ok(None),
            Some(digit @ b'0'..=b'9') => {
                let digit = u64::from(digit - b'0');
                if place < first + DIGITS_SAFE {
                    value = value * 10 + digit;
                } else {
                    let next = value.checked_mul(10).and_then(|it| it.checked_add(digit));
                    value = next.ok_or(Malformed::Length)?;
                }
            }
            Some(b'\r') if place > first => {
                return match bytes.get(place + 1) {
                    None => Ok(None),
                    Some(b'\n') => Ok(Some((signed(negative, value)?, place + 2))),
                    Some(_) => Err(Malformed::End),
                };
            }
            Some(_) => return Err(Malformed::Length), // what follows may be anything
        }
    }
    Err(Malformed::Length)
}

#[inline]
fn signed(negative: bool, value: u64) -> Result<i64, Malformed> {
    let value =
        if negative { 0_i64.checked_sub_unsigned(value) } else { i64::try_from(value).ok() };
    value.ok_or(Malformed::Length)
}

/// The place behind the `count` replies of an array that begin at `start`, whatever is within them.
fn items_end(
    bytes: &[u8],
    start: usize,
    count: usize,
    limits: &ReplyLimits,
) -> Result<Option<usize>, Malformed> {
    let (mut at, mut seen) = (start, count);
    // what is left of each array that is open, the outermost first
    let (mut left, mut depth) = ([0; DEPTH_MAX], 0);
    left[depth] = count;
    loop {
        while left[depth] == 0 {
            let Some(above) = depth.checked_sub(1) else {
                return Ok(Some(at));
            };
            depth = above;
        }
        let Some((head, end)) = head(bytes, at, limits)? else {
            return Ok(None);
        };
        left[depth] -= 1;
        at = match head {
            Head::Bulk(length) => match behind(bytes, end + length)? {
                None => return Ok(None),
                Some(end) => end,
            },
            Head::Array(more) => {
                seen += more;
                if seen > limits.items {
                    return Err(Malformed::TooManyWords);
                }
                depth += 1;
                *left.get_mut(depth).ok_or(Malformed::TooDeep)? = more;
                end
            }
            Head::Simple(_) | Head::Error(_) | Head::Integer(_) | Head::Null => end,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: ReplyLimits = ReplyLimits { bytes: 100, items: 6 };

    fn whole(bytes: &[u8]) -> Reply<'_> {
        for cut in 0..bytes.len() {
            assert_eq!(reply(&bytes[..cut], &LIMITS), Ok(None), "cut at {cut}");
        }
        let (found, taken) = reply(bytes, &LIMITS).unwrap().unwrap();
        assert_eq!(taken, bytes.len());
        found
    }

    #[test]
    fn every_kind_is_read_whole_and_waited_for_when_cut() {
        assert_eq!(whole(b"+OK\r\n"), Reply::Simple(b"OK"));
        assert_eq!(whole(b"-ERR no\r\n"), Reply::Error(b"ERR no"));
        assert_eq!(whole(b":-12\r\n"), Reply::Integer(-12));
        assert_eq!(whole(b":-9223372036854775808\r\n"), Reply::Integer(i64::MIN));
        assert_eq!(whole(b":9223372036854775807\r\n"), Reply::Integer(i64::MAX));
        assert_eq!(whole(b"$3\r\na\r\n\r\n"), Reply::Bulk(b"a\r\n"));
        assert_eq!(whole(b"$0\r\n\r\n"), Reply::Bulk(b""));
        assert_eq!(whole(b"$-1\r\n"), Reply::Null);
        assert_eq!(whole(b"*-1\r\n"), Reply::Null);
        let Reply::Array(items) = whole(b"*3\r\n:1\r\n*2\r\n$1\r\na\r\n+b\r\n$-1\r\n") else {
            panic!("an array");
        };
        let found: Vec<_> = items.collect();
        assert_eq!(items.len(), 3);
        assert_eq!((found[0], found[2]), (Reply::Integer(1), Reply::Null));
        let Reply::Array(inner) = found[1] else { panic!("an array") };
        assert_eq!(inner.collect::<Vec<_>>(), [Reply::Bulk(b"a"), Reply::Simple(b"b")]);
    }

    #[test]
    fn what_is_no_reply_is_refused_at_once() {
        let refused = |bytes: &[u8]| reply(bytes, &LIMITS).unwrap_err();
        assert_eq!(refused(b"HTTP/1.1 400"), Malformed::Type);
        assert_eq!(refused(b":1x\r\n"), Malformed::Length);
        assert_eq!(refused(b":x"), Malformed::Length);
        assert_eq!(refused(b":\r\n"), Malformed::Length);
        assert_eq!(refused(b":9223372036854775808\r\n"), Malformed::Length);
        assert_eq!(refused(b":123456789012345678901234"), Malformed::Length);
        assert_eq!(refused(b"$-2\r\n"), Malformed::Length);
        assert_eq!(refused(b"$101\r\n"), Malformed::WordTooLong);
        assert_eq!(refused(b"*7\r\n"), Malformed::TooManyWords);
        assert_eq!(refused(b"*2\r\n*5\r\n"), Malformed::TooManyWords);
        assert_eq!(refused(b"$1\r\nab"), Malformed::End);
        assert_eq!(refused(b"+OK\rx"), Malformed::End);
        assert_eq!(refused(&[b'+'; 101]), Malformed::TooLong);
    }

    #[test]
    fn arrays_stand_in_each_other_so_far_and_no_further() {
        let limits = ReplyLimits { bytes: 1_000, items: 100 };
        let nested = |depth: usize| format!("{}:1\r\n", "*1\r\n".repeat(depth)).into_bytes();
        let deepest = nested(DEPTH_MAX);
        let (mut found, taken) = reply(&deepest, &limits).unwrap().unwrap();
        assert_eq!(taken, deepest.len());
        for _ in 0..DEPTH_MAX {
            let Reply::Array(mut items) = found else { panic!("an array") };
            found = items.next().expect("one item");
        }
        assert_eq!(found, Reply::Integer(1));
        for depth in [DEPTH_MAX + 1, 50] {
            assert_eq!(reply(&nested(depth), &limits), Err(Malformed::TooDeep), "{depth}");
        }
        // it is known before the rest has come
        assert_eq!(reply(&b"*1\r\n".repeat(9), &limits), Err(Malformed::TooDeep));
        // arrays beside each other are not in each other
        let beside = [&b"*20\r\n"[..], &b"*1\r\n*0\r\n".repeat(20)].concat();
        assert!(matches!(reply(&beside, &limits), Ok(Some((_, taken))) if taken == beside.len()));
    }
}
