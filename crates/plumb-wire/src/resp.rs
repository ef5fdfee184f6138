//! RESP, the protocol of Redis: commands as clients send them, and the replies they expect.
//!
//! A command is an array of bulk strings, or one line of words ("inline"). Replies are those of
//! version 2; a map is written as version 3 has it when the client asked for that.
//!
//! # Source
//! The Redis serialization protocol specification, versions 2 and 3.

mod reply;

use std::ops::Range;

pub use reply::{Items, Reply, ReplyLimits, reply};

/// What a server takes from its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Words of one command.
    pub words: usize,
    /// Bytes of one word.
    pub word_bytes: usize,
    /// Bytes of one command.
    pub command_bytes: usize,
}

/// Where the words of one command are, within the bytes it was read from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words {
    places: Vec<Range<usize>>,
}

impl Words {
    /// How many words.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// True for an empty line or an empty array, which asks for nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The word at `index`, from the bytes the command was read from; empty when there is none.
    #[must_use]
    #[inline]
    pub fn get<'a>(&self, bytes: &'a [u8], index: usize) -> &'a [u8] {
        self.places.get(index).and_then(|place| bytes.get(place.clone())).unwrap_or_default()
    }
}

/// What is not RESP, or beyond a limit. The connection cannot be used any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The number behind `*` or `$` is none.
    #[error("Protocol error: invalid length")]
    Length,
    /// A command holds something else than bulk strings.
    #[error("Protocol error: expected '$', got another type")]
    Type,
    /// A bulk string does not end where it should.
    #[error("Protocol error: a bulk string does not end with CR LF")]
    End,
    /// Arrays within arrays, more than a client takes.
    #[error("Protocol error: arrays are nested too deeply")]
    TooDeep,
    /// More words than the server takes.
    #[error("Protocol error: invalid multibulk length")]
    TooManyWords,
    /// A word longer than the server takes, or of less than nothing.
    #[error("Protocol error: invalid bulk length")]
    WordTooLong,
    /// A command, or a line, longer than the server takes.
    #[error("Protocol error: too big a request")]
    TooLong,
    /// Quotes of a line that do not match.
    #[error("Protocol error: unbalanced quotes in request")]
    Quotes,
    /// An escape within the quotes of a line: Redis would read another word than stands there.
    #[error("Protocol error: no \\ is read within quotes; send an array of bulk strings")]
    Escape,
}

/// Reads the command at the start of `bytes` into `words`; the bytes it takes, or `None` while it
/// is not complete.
///
/// # Errors
/// [`Malformed`] when no bytes to come could make a command of it.
#[inline]
pub fn command(
    bytes: &[u8],
    limits: &Limits,
    words: &mut Words,
) -> Result<Option<usize>, Malformed> {
    words.places.clear();
    let taken = match bytes.first() {
        None => return Ok(None),
        Some(b'*') => array(bytes, limits, words)?,
        Some(_) => inline(bytes, limits, words)?,
    };
    if taken.unwrap_or(bytes.len()) > limits.command_bytes {
        return Err(Malformed::TooLong);
    }
    Ok(taken)
}

fn array(bytes: &[u8], limits: &Limits, words: &mut Words) -> Result<Option<usize>, Malformed> {
    let Some((count, mut at)) = number(bytes, 1)? else {
        return Ok(None);
    };
    if count > limits.words {
        return Err(Malformed::TooManyWords);
    }
    words.places.reserve(count);
    for _ in 0..count {
        let Some((length, start)) = word_head(bytes, at, limits)? else {
            return Ok(None);
        };
        let end = start + length;
        let Some(next) = behind(bytes, end)? else {
            return Ok(None);
        };
        words.places.push(start..end);
        at = next;
    }
    Ok(Some(at))
}

/// The place behind a bulk string whose bytes end at `end`.
#[inline]
fn behind(bytes: &[u8], end: usize) -> Result<Option<usize>, Malformed> {
    match bytes.get(end..end + 2) {
        Some(b"\r\n") => Ok(Some(end + 2)),
        Some(_) => Err(Malformed::End),
        None if bytes.get(end).is_some_and(|byte| *byte != b'\r') => Err(Malformed::End),
        None => Ok(None),
    }
}

/// The length of the word whose line is at `at`, and where its bytes begin.
#[inline]
fn word_head(
    bytes: &[u8],
    at: usize,
    limits: &Limits,
) -> Result<Option<(usize, usize)>, Malformed> {
    // most words have fewer than a hundred bytes
    let (length, start) = match bytes.get(at..at + 5) {
        Some([b'$', digit @ b'0'..=b'9', b'\r', b'\n', _]) => (usize::from(digit - b'0'), at + 4),
        Some([b'$', tens @ b'0'..=b'9', digit @ b'0'..=b'9', b'\r', b'\n']) => {
            (10 * usize::from(tens - b'0') + usize::from(digit - b'0'), at + 5)
        }
        _ => match bytes.get(at) {
            None => return Ok(None),
            Some(b'$') => match number(bytes, at + 1)? {
                None => return Ok(None),
                Some(_) if bytes.get(at + 1) == Some(&b'-') => return Err(Malformed::WordTooLong),
                Some(found) => found,
            },
            Some(_) => return Err(Malformed::Type),
        },
    };
    if length > limits.word_bytes {
        return Err(Malformed::WordTooLong);
    }
    Ok(Some((length, start)))
}

/// The number at `at` and the place behind its line; a negative one counts as zero, as the number
/// of words does for Redis.
#[inline]
fn number(bytes: &[u8], at: usize) -> Result<Option<(usize, usize)>, Malformed> {
    /// No length has more digits.
    const DIGITS_MAX: usize = 10;
    let mut value = 0;
    let negative = bytes.get(at) == Some(&b'-');
    let first = at + usize::from(negative);
    for place in first..=first + DIGITS_MAX {
        match bytes.get(place) {
            None => return Ok(None),
            Some(digit @ b'0'..=b'9') => value = value * 10 + usize::from(digit - b'0'),
            Some(b'\r') if place > first => {
                return match bytes.get(place + 1) {
                    None => Ok(None),
                    Some(b'\n') => Ok(Some((if negative { 0 } else { value }, place + 2))),
                    Some(_) => Err(Malformed::Length),
                };
            }
            Some(_) => return Err(Malformed::Length),
        }
    }
    Err(Malformed::Length)
}

/// The longest line.
const LINE_BYTES_MAX: usize = 64 << 10;

fn inline(bytes: &[u8], limits: &Limits, words: &mut Words) -> Result<Option<usize>, Malformed> {
    let Some(end) = bytes.iter().take(LINE_BYTES_MAX).position(|byte| *byte == b'\n') else {
        return if bytes.len() >= LINE_BYTES_MAX { Err(Malformed::TooLong) } else { Ok(None) };
    };
    let line = bytes[..end].strip_suffix(b"\r").unwrap_or(&bytes[..end]);
    let mut at = 0;
    while let Some(skipped) = line[at..].iter().position(|byte| !byte.is_ascii_whitespace()) {
        at += skipped;
        let place = match line[at] {
            quote @ (b'"' | b'\'') => quoted(line, at, quote)?,
            _ => {
                let rest = &line[at..];
                let length = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
                at..at + length
            }
        };
        if words.len() == limits.words {
            return Err(Malformed::TooManyWords);
        }
        if place.len() > limits.word_bytes {
            return Err(Malformed::WordTooLong);
        }
        let closing = usize::from(matches!(line[at], b'"' | b'\''));
        at = place.end + closing;
        words.places.push(place);
    }
    Ok(Some(end + 1))
}

/// A word in quotes, without escapes; behind it comes a space or the end.
fn quoted(line: &[u8], at: usize, quote: u8) -> Result<Range<usize>, Malformed> {
    let start = at + 1;
    let length = line[start..].iter().position(|byte| *byte == quote).ok_or(Malformed::Quotes)?;
    let word = &line[start..start + length];
    if quote == b'"' && word.contains(&b'\\') || word.ends_with(b"\\") {
        return Err(Malformed::Escape); // between single quotes only those have any
    }
    match line.get(start + length + 1) {
        Some(next) if !next.is_ascii_whitespace() => Err(Malformed::Quotes),
        _ => Ok(start..start + length),
    }
}

/// Appends a status, which must be one line.
pub fn push_simple(out: &mut Vec<u8>, text: &str) {
    line(out, b'+', text.as_bytes());
}

/// Appends an error: its kind in capitals, a space, and what happened. Line ends in it become
/// spaces.
pub fn push_error(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'-');
    let plain = |byte: &u8| if byte.is_ascii_control() { b' ' } else { *byte };
    out.extend(text.iter().map(plain));
    out.extend_from_slice(b"\r\n");
}

/// Appends a number.
#[inline]
pub fn push_integer(out: &mut Vec<u8>, value: u64) {
    head(out, b':', value);
}

/// Appends a number below zero, or another.
pub fn push_signed(out: &mut Vec<u8>, value: i64) {
    out.push(b':');
    if value < 0 {
        out.push(b'-');
    }
    push_digits(out, value.unsigned_abs());
    out.extend_from_slice(b"\r\n");
}

/// Appends bytes.
#[inline]
pub fn push_bulk(out: &mut Vec<u8>, bytes: &[u8]) {
    head(out, b'$', bytes.len() as u64);
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

/// Appends nothing, said as version 3 says it when `version` is 3.
pub fn push_null(out: &mut Vec<u8>, version: u8) {
    out.extend_from_slice(if version == 3 { b"_\r\n" } else { b"$-1\r\n" });
}

/// Announces a message of `count` parts that follow: nobody has asked for it. Version 3 has a sign
/// of its own for it.
pub fn push_message(out: &mut Vec<u8>, count: usize, version: u8) {
    head(out, if version == 3 { b'>' } else { b'*' }, count as u64);
}

/// Announces an array of `count` replies that follow.
pub fn push_array(out: &mut Vec<u8>, count: usize) {
    head(out, b'*', count as u64);
}

/// Announces a map of `count` pairs of replies that follow; an array where `version` has no map.
pub fn push_map(out: &mut Vec<u8>, count: usize, version: u8) {
    if version == 3 {
        head(out, b'%', count as u64);
    } else {
        head(out, b'*', 2 * count as u64);
    }
}

/// Appends the digits of a number.
#[inline]
pub fn push_digits(out: &mut Vec<u8>, value: u64) {
    let mut room = [0; DIGITS_MAX];
    let at = digits(&mut room, value);
    out.extend_from_slice(&room[at..]);
}

/// No number has more digits.
const DIGITS_MAX: usize = 20;

/// Writes the digits of a number to the end of `room`; where they begin.
#[inline]
fn digits(room: &mut [u8], mut value: u64) -> usize {
    let mut at = room.len();
    // two at a time: a division takes longer than all else
    let pair = |value: u64| PAIRS[usize::try_from(value).unwrap_or(0)];
    while value >= 100 {
        at -= 2;
        room[at..at + 2].copy_from_slice(&pair(value % 100));
        value /= 100;
    }
    if value >= 10 {
        at -= 2;
        room[at..at + 2].copy_from_slice(&pair(value));
    } else {
        at -= 1;
        [_, room[at]] = pair(value);
    }
    at
}

/// The digits of the numbers below a hundred.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut number = 0_u8;
    while number < 100 {
        pairs[number as usize] = [b'0' + number / 10, b'0' + number % 10];
        number += 1;
    }
    pairs
};

/// Appends a command as a client sends it.
pub fn push_command(out: &mut Vec<u8>, words: &[&[u8]]) {
    push_array(out, words.len());
    words.iter().for_each(|word| push_bulk(out, word));
}

#[inline]
fn head(out: &mut Vec<u8>, kind: u8, number: u64) {
    let mut room = [0; DIGITS_MAX + 3];
    let (before, end) = room.split_at_mut(DIGITS_MAX + 1);
    end.copy_from_slice(b"\r\n");
    let at = digits(before, number) - 1;
    room[at] = kind;
    out.extend_from_slice(&room[at..]);
}

fn line(out: &mut Vec<u8>, kind: u8, text: &[u8]) {
    out.push(kind);
    out.extend_from_slice(text);
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests;
