//! What a server of PostgreSQL says, version 3 of its protocol, read where it lies. The reader of
//! `postgres-protocol` owns and copies every message and knows no longest one; a load that measures
//! can afford neither. What a client says, that library writes.
//!
//! # Source
//! PostgreSQL's documentation, chapter "Frontend/Backend Protocol": message formats.

/// One message of the server. Its parts lie in the bytes it was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// How the client is to prove who it is, or that it has.
    Authentication(Authentication<'a>),
    /// Everything asked for is answered.
    Ready,
    /// A row of a result.
    Row(Row<'a>),
    /// An order that failed; what follows up to [`Ready`](Self::Ready) is left out by the server.
    Error(Report<'a>),
    /// Something to know.
    Notice(Report<'a>),
    /// Anything else, by its kind: that a step is done, a setting, a notification.
    Other(u8),
}

/// A step of a login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authentication<'a> {
    /// The client is known.
    Ok,
    /// The password, as it is.
    Cleartext,
    /// The password, hashed twice with MD5, the second time with this salt.
    Md5([u8; 4]),
    /// One of these SASL mechanisms, each ended by a zero.
    Sasl(&'a [u8]),
    /// What the mechanism says next.
    SaslContinue(&'a [u8]),
    /// What the mechanism says last.
    SaslFinal(&'a [u8]),
    /// A way that is not known here, by its number.
    Unknown(u32),
}

impl Authentication<'_> {
    /// True when the server offers the SASL mechanism `name`.
    #[must_use]
    pub fn offers(&self, name: &str) -> bool {
        match self {
            Self::Sasl(names) => names.split(|byte| *byte == 0).any(|it| it == name.as_bytes()),
            _ => false,
        }
    }
}

/// The values of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row<'a>(&'a [u8]);

impl<'a> Row<'a> {
    /// The values in their order; `None` for each that is null.
    pub fn values(&self) -> impl Iterator<Item = Option<&'a [u8]>> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let (value, behind) = value(rest)?;
            rest = behind;
            Some(value)
        })
    }
}

/// An error or a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report<'a>(&'a [u8]);

impl<'a> Report<'a> {
    /// The part of this letter: `C` the code of five characters, `M` the message, `V` the severity
    /// in English; empty when there is none.
    #[must_use]
    pub fn part(&self, letter: u8) -> &'a [u8] {
        let mut parts = self.0.split(|byte| *byte == 0);
        let found = parts.find_map(|part| part.strip_prefix(&[letter]));
        found.unwrap_or_default()
    }

    /// True when the server ends the connection behind it.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        matches!(self.part(b'V'), b"FATAL" | b"PANIC")
    }
}

/// What is no message of PostgreSQL. The connection cannot be used any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// A letter that begins no message.
    #[error("a message of the unknown kind {0:#04x}")]
    Kind(u8),
    /// A length that cannot be one.
    #[error("a message of {0} bytes, which is too short or too long")]
    Length(u32),
    /// A message that does not hold what it announces.
    #[error("a message of kind `{}` with a body that contradicts itself", char::from(*.0))]
    Body(u8),
}

/// Kinds that say nothing more here than that they are there.
const OTHERS: &[u8] = b"123ACGHIKNSTVWcdnst";

/// The message at the start of `bytes`, and the bytes it takes; `None` while it is not complete.
/// Messages longer than `bytes_max` are refused.
///
/// # Errors
/// [`Malformed`] when no bytes to come could make a message of it.
#[inline]
pub fn message(bytes: &[u8], bytes_max: usize) -> Result<Option<(Message<'_>, usize)>, Malformed> {
    let Some((kind, rest)) = bytes.split_first() else {
        return Ok(None);
    };
    if !b"RZDE".contains(kind) && !OTHERS.contains(kind) {
        return Err(Malformed::Kind(*kind));
    }
    let Some((length, rest)) = rest.split_first_chunk() else {
        return Ok(None);
    };
    let length = u32::from_be_bytes(*length);
    let body = usize::try_from(length).ok().and_then(|length| length.checked_sub(4));
    let body = body.filter(|body| *body <= bytes_max).ok_or(Malformed::Length(length))?;
    let Some(body) = rest.get(..body) else {
        return Ok(None);
    };
    Ok(Some((read(*kind, body).ok_or(Malformed::Body(*kind))?, 5 + body.len())))
}

fn read(kind: u8, body: &[u8]) -> Option<Message<'_>> {
    Some(match kind {
        b'R' => Message::Authentication(authentication(body)?),
        b'Z' if body.len() == 1 => Message::Ready,
        b'Z' => return None,
        b'D' => Message::Row(row(body)?),
        b'E' => Message::Error(report(body)?),
        b'N' => Message::Notice(report(body)?),
        other => Message::Other(other),
    })
}

fn authentication(body: &[u8]) -> Option<Authentication<'_>> {
    let (number, rest) = body.split_first_chunk()?;
    Some(match u32::from_be_bytes(*number) {
        0 => Authentication::Ok,
        3 => Authentication::Cleartext,
        5 => Authentication::Md5(rest.try_into().ok()?),
        10 => Authentication::Sasl(rest),
        11 => Authentication::SaslContinue(rest),
        12 => Authentication::SaslFinal(rest),
        other => Authentication::Unknown(other),
    })
}

/// A row whose values fill it.
fn row(body: &[u8]) -> Option<Row<'_>> {
    let (count, values) = body.split_first_chunk()?;
    let mut rest = values;
    for _ in 0..u16::from_be_bytes(*count) {
        (_, rest) = value(rest)?;
    }
    rest.is_empty().then_some(Row(values))
}

/// The first of several values, and what is behind it.
fn value(bytes: &[u8]) -> Option<(Option<&[u8]>, &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    match i32::from_be_bytes(*length) {
        -1 => Some((None, rest)),
        length => {
            let (value, behind) = rest.split_at_checked(usize::try_from(length).ok()?)?;
            Some((Some(value), behind))
        }
    }
}

/// Parts, each ended by a zero, and a zero behind them.
fn report(body: &[u8]) -> Option<Report<'_>> {
    match body {
        [0] => Some(Report(b"")),
        [parts @ .., 0, 0] => Some(Report(parts)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<Option<(Message<'_>, usize)>, Malformed> {
        message(bytes, 100)
    }

    #[test]
    fn golden_messages_of_a_server() {
        let authentication = |it| Ok(Some((Message::Authentication(it), 9)));
        assert_eq!(read(b"R\0\0\0\x08\0\0\0\0rest"), authentication(Authentication::Ok));
        assert_eq!(read(b"R\0\0\0\x08\0\0\0\x03"), authentication(Authentication::Cleartext));
        assert_eq!(read(b"R\0\0\0\x08\0\0\0\x07"), authentication(Authentication::Unknown(7)));
        let md5 = Message::Authentication(Authentication::Md5(*b"salt"));
        assert_eq!(read(b"R\0\0\0\x0c\0\0\0\x05salt"), Ok(Some((md5, 13))));
        let sasl = read(b"R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0");
        let Ok(Some((Message::Authentication(sasl), 24))) = sasl else { panic!("{sasl:?}") };
        assert!(sasl.offers("SCRAM-SHA-256") && !sasl.offers("SCRAM-SHA-256-PLUS"));
        assert_eq!(read(b"Z\0\0\0\x05I"), Ok(Some((Message::Ready, 6))));
        assert_eq!(read(b"2\0\0\0\x04"), Ok(Some((Message::Other(b'2'), 5))));
    }

    #[test]
    fn rows_and_reports_are_taken_apart() {
        let row = read(b"D\0\0\0\x0f\0\x02\0\0\0\x01\x01\xff\xff\xff\xff");
        let Ok(Some((Message::Row(row), 16))) = row else { panic!("{row:?}") };
        assert_eq!(row.values().collect::<Vec<_>>(), [Some(&b"\x01"[..]), None]);
        let error = read(b"E\0\0\0\x1cVFATAL\0C57P01\0Mbye now\0\0");
        let Ok(Some((Message::Error(report), 29))) = error else { panic!("{error:?}") };
        assert_eq!((report.part(b'C'), report.part(b'M')), (&b"57P01"[..], &b"bye now"[..]));
        assert!(report.is_fatal() && report.part(b'X').is_empty());
    }

    #[test]
    fn a_message_cut_anywhere_is_waited_for() {
        for whole in [&b"Z\0\0\0\x05I"[..], b"D\0\0\0\x0b\0\x01\0\0\0\x01\x01"] {
            for cut in 0..whole.len() {
                assert_eq!(read(&whole[..cut]), Ok(None), "cut at {cut}");
            }
        }
    }

    #[test]
    fn what_is_no_message_is_refused() {
        assert_eq!(read(b"H"), Ok(None));
        assert_eq!(read(b"HTTP/1.1 400 Bad Request"), Err(Malformed::Length(0x5454_502f)));
        assert_eq!(read(b"+PONG"), Err(Malformed::Kind(b'+')));
        assert_eq!(read(b"Z\0\0\0\x03"), Err(Malformed::Length(3)));
        assert_eq!(read(b"S\0\0\0\x69"), Err(Malformed::Length(105)));
        assert_eq!(read(b"Z\0\0\0\x04"), Err(Malformed::Body(b'Z')));
        assert_eq!(read(b"D\0\0\0\x08\0\0\0\0"), Err(Malformed::Body(b'D'))); // more than its values
        assert_eq!(read(b"D\0\0\0\x0a\0\x01\0\0\0\x09"), Err(Malformed::Body(b'D')));
        assert_eq!(read(b"E\0\0\0\x06Mx"), Err(Malformed::Body(b'E')));
        assert_eq!(read(b"R\0\0\0\x06\0\0"), Err(Malformed::Body(b'R')));
        assert_eq!(read(b"R\0\0\0\x09\0\0\0\x05x"), Err(Malformed::Body(b'R')));
    }
}
