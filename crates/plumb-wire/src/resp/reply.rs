//! Replies as a client reads them: those of version 2, which a server speaks unless it is asked
//! for another.

use super::Malformed;

/// What a client takes from a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyLimits {
    /// Bytes of one reply with everything in it.
    pub bytes: usize,
    /// Replies within one reply, those within these included.
    pub items: usize,
}

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
        Head::Bulk(length) => match bulk_end(bytes, start, length)? {
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
    if !matches!(kind, b'+' | b'-' | b':' | b'$' | b'*') {
        return Err(Malformed::Type);
    }
    let Some((text, end)) = text(bytes, at + 1, *kind)? else {
        return Ok(None);
    };
    let head = match kind {
        b'+' => Head::Simple(text),
        b'-' => Head::Error(text),
        b':' => Head::Integer(integer(text)?),
        _ => match (integer(text)?, kind) {
            (-1, _) => Head::Null,
            (length, kind) => {
                let length = usize::try_from(length).map_err(|_| Malformed::Length)?;
                if *kind == b'$' && length > limits.bytes {
                    return Err(Malformed::WordTooLong);
                }
                if *kind == b'*' && length > limits.items {
                    return Err(Malformed::TooManyWords);
                }
                if *kind == b'$' { Head::Bulk(length) } else { Head::Array(length) }
            }
        },
    };
    Ok(Some((head, end)))
}

/// The text of the line from `at` on, and the place behind its end.
#[inline]
fn text(bytes: &[u8], at: usize, kind: u8) -> Result<Option<(&[u8], usize)>, Malformed> {
    /// No number is longer.
    const NUMBER_BYTES_MAX: usize = 20;
    let rest = &bytes[at..];
    let number = !matches!(kind, b'+' | b'-');
    let looked = if number { rest.len().min(NUMBER_BYTES_MAX + 1) } else { rest.len() };
    let found = rest[..looked].iter().position(|byte| *byte == b'\r');
    let line = &rest[..found.unwrap_or(looked)];
    if number && !line.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-') {
        return Err(Malformed::Length); // what follows may be anything
    }
    match found {
        None if looked < rest.len() => Err(Malformed::Length),
        None => Ok(None),
        Some(length) => match rest.get(length + 1) {
            None => Ok(None),
            Some(b'\n') => Ok(Some((&rest[..length], at + length + 2))),
            Some(_) => Err(Malformed::End),
        },
    }
}

#[inline]
fn integer(text: &[u8]) -> Result<i64, Malformed> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.is_empty() {
        return Err(Malformed::Length);
    }
    let mut value = 0_i64;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return Err(Malformed::Length);
        }
        let next = value.checked_mul(10).and_then(|it| it.checked_sub((digit - b'0').into()));
        value = next.ok_or(Malformed::Length)?; // below zero there is room for one more
    }
    if negative { Ok(value) } else { value.checked_neg().ok_or(Malformed::Length) }
}

/// The place behind a bulk string of `length` bytes that begins at `start`.
#[inline]
fn bulk_end(bytes: &[u8], start: usize, length: usize) -> Result<Option<usize>, Malformed> {
    let end = start + length;
    let tail = bytes.get(end..).unwrap_or_default();
    let tail = &tail[..tail.len().min(2)];
    if !b"\r\n".starts_with(tail) {
        return Err(Malformed::End);
    }
    Ok((tail.len() == 2).then_some(end + 2))
}

/// The place behind `count` replies that begin at `start`, whatever is within them.
fn items_end(
    bytes: &[u8],
    start: usize,
    count: usize,
    limits: &ReplyLimits,
) -> Result<Option<usize>, Malformed> {
    let (mut at, mut left, mut seen) = (start, count, count);
    while left > 0 {
        let Some((head, end)) = head(bytes, at, limits)? else {
            return Ok(None);
        };
        left -= 1;
        at = match head {
            Head::Bulk(length) => match bulk_end(bytes, end, length)? {
                None => return Ok(None),
                Some(end) => end,
            },
            Head::Array(more) => {
                left += more;
                seen += more;
                if seen > limits.items {
                    return Err(Malformed::TooManyWords);
                }
                end
            }
            Head::Simple(_) | Head::Error(_) | Head::Integer(_) | Head::Null => end,
        };
    }
    Ok(Some(at))
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
}
