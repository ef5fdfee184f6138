//! JSON as it stands in a document: one pass that checks it, and the parts of a value that is
//! known to be right. Nothing is built.
//!
//! # Source
//! RFC 8259.

use std::borrow::Cow;

use crate::expression::{DEPTH_MAX, FindError};

/// The value of a whole document, without the blanks around it.
///
/// # Errors
/// [`FindError`] when it is not exactly one value, or nested too deep.
pub(super) fn document(text: &str) -> Result<&str, FindError> {
    let mut check = Check { text, at: 0 };
    check.blanks();
    let start = check.at;
    check.value(0)?;
    let end = check.at;
    check.blanks();
    if check.at < text.len() { Err(check.wrong("one value only")) } else { Ok(&text[start..end]) }
}

/// True for a number as JSON writes it.
pub(super) fn is_number(text: &str) -> bool {
    let mut check = Check { text, at: 0 };
    check.number().is_ok() && check.at == text.len()
}

/// The pass that checks.
struct Check<'a> {
    text: &'a str,
    at: usize,
}

impl Check<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn wrong(&self, expected: &str) -> FindError {
        FindError::malformed(self.at, format!("this is no JSON, expected {expected}"))
    }

    fn eat(&mut self, byte: u8) -> bool {
        let here = self.peek() == Some(byte);
        self.at += usize::from(here);
        here
    }

    fn blanks(&mut self) {
        self.at += blanks(&self.text[self.at..]);
    }

    fn value(&mut self, depth: usize) -> Result<(), FindError> {
        if depth > DEPTH_MAX {
            return Err(FindError::TooDeep);
        }
        match self.peek() {
            Some(b'{') => self.list(depth, b'}', |check| {
                check.string()?;
                check.blanks();
                if check.eat(b':') { Ok(()) } else { Err(check.wrong("`:`")) }
            }),
            Some(b'[') => self.list(depth, b']', |_| Ok(())),
            Some(b'"') => self.string(),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.word(),
        }
    }

    /// Values between commas, each behind what `key` reads.
    fn list(
        &mut self,
        depth: usize,
        close: u8,
        key: impl Fn(&mut Self) -> Result<(), FindError>,
    ) -> Result<(), FindError> {
        self.at += 1;
        self.blanks();
        if self.eat(close) {
            return Ok(());
        }
        loop {
            self.blanks();
            key(self)?;
            self.blanks();
            self.value(depth + 1)?;
            self.blanks();
            if self.eat(close) {
                return Ok(());
            }
            if !self.eat(b',') {
                return Err(self.wrong("`,` or a closing bracket"));
            }
        }
    }

    fn string(&mut self) -> Result<(), FindError> {
        if !self.eat(b'"') {
            return Err(self.wrong("a text in quotes"));
        }
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.escape()?,
                Some(0x20..) => self.at += 1,
                _ => return Err(self.wrong("the closing quote")),
            }
        }
    }

    fn escape(&mut self) -> Result<(), FindError> {
        self.at += 1;
        let bytes = self.text.as_bytes();
        let length = match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 1,
            Some(b'u') => {
                let digits = bytes.get(self.at + 1..self.at + 5).unwrap_or_default();
                if digits.len() < 4 || !digits.iter().all(u8::is_ascii_hexdigit) {
                    return Err(self.wrong("four hexadecimal digits"));
                }
                5
            }
            _ => return Err(self.wrong("an escape")),
        };
        self.at += length;
        Ok(())
    }

    fn number(&mut self) -> Result<(), FindError> {
        self.eat(b'-');
        if !self.eat(b'0') {
            self.digits()?;
        }
        if self.eat(b'.') {
            self.digits()?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            let _ = self.eat(b'+') || self.eat(b'-');
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), FindError> {
        let from = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if from == self.at { Err(self.wrong("a digit")) } else { Ok(()) }
    }

    fn word(&mut self) -> Result<(), FindError> {
        let rest = &self.text[self.at..];
        match ["true", "false", "null"].into_iter().find(|word| rest.starts_with(word)) {
            Some(word) => {
                self.at += word.len();
                Ok(())
            }
            None => Err(self.wrong("a value")),
        }
    }
}

/// Blanks at the beginning of `text`, in bytes.
fn blanks(text: &str) -> usize {
    let bytes = text.as_bytes();
    bytes.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count()
}

/// The members of an object, or the elements of an array (without names). Nothing for any other
/// value. The value has been checked.
pub(super) fn parts(value: &str) -> Entries<'_> {
    match value.as_bytes().first() {
        Some(b'{') => Entries { rest: &value[1..], named: true },
        Some(b'[') => Entries { rest: &value[1..], named: false },
        _ => Entries { rest: "", named: false },
    }
}

/// See [`parts`].
pub(super) struct Entries<'a> {
    rest: &'a str,
    named: bool,
}

/// A member or an element: its name as written (in quotes), and its value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'a> {
    pub(super) name: Option<&'a str>,
    pub(super) value: &'a str,
}

impl<'a> Iterator for Entries<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        let skipped = |rest: &'a str| rest.trim_start_matches([' ', '\t', '\n', '\r', ',', ':']);
        self.rest = skipped(self.rest);
        if self.rest.is_empty() || self.rest.starts_with(['}', ']']) {
            return None;
        }
        let mut name = None;
        if self.named {
            let (written, rest) = self.rest.split_at(length(self.rest));
            name = Some(written);
            self.rest = skipped(rest);
        }
        let (value, rest) = self.rest.split_at(length(self.rest));
        self.rest = rest;
        Some(Entry { name, value })
    }
}

/// The length of the value that begins `text`, in bytes.
fn length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut open) = (0, 0usize);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at = string_end(bytes, at),
            b'{' | b'[' => open += 1,
            b'}' | b']' if open == 0 => return at,
            b'}' | b']' => open -= 1,
            b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' if open == 0 => return at,
            _ => {}
        }
        at += 1;
        if open == 0 && matches!(byte, b'"' | b'}' | b']') {
            return at.min(bytes.len());
        }
    }
    bytes.len()
}

/// The place of the quote that closes the one at `at`.
fn string_end(bytes: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// True for a value that is a text.
pub(super) fn is_text(value: &str) -> bool {
    value.starts_with('"')
}

/// The characters of a text in quotes. Half a pair of surrogates becomes U+FFFD.
pub(super) fn unquoted(value: &str) -> Cow<'_, str> {
    let inner = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value);
    if !inner.contains('\\') {
        return Cow::Borrowed(inner);
    }
    let mut text = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        rest = unescape(&rest[at + 1..], &mut text);
    }
    text.push_str(rest);
    Cow::Owned(text)
}

/// Appends the character of the escape behind a backslash; what follows it.
fn unescape<'a>(escape: &'a str, text: &mut String) -> &'a str {
    let mut chars = escape.chars();
    match chars.next() {
        Some('b') => text.push('\u{8}'),
        Some('f') => text.push('\u{c}'),
        Some('n') => text.push('\n'),
        Some('r') => text.push('\r'),
        Some('t') => text.push('\t'),
        Some('u') => return unescape_unicode(escape, text),
        other => text.extend(other),
    }
    chars.as_str()
}

fn unescape_unicode<'a>(escape: &'a str, text: &mut String) -> &'a str {
    let unit =
        |at: usize| escape.get(at..at + 4).and_then(|digits| u32::from_str_radix(digits, 16).ok());
    let first = unit(1).unwrap_or(0xfffd);
    let second = escape.get(5..7).filter(|mark| *mark == "\\u").and_then(|_| unit(7));
    if let Some(low @ 0xdc00..=0xdfff) = second
        && let 0xd800..=0xdbff = first
    {
        text.extend(char::from_u32(0x10000 + ((first - 0xd800) << 10) + (low - 0xdc00)));
        return escape.get(11..).unwrap_or_default();
    }
    text.push(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER));
    escape.get(5..).unwrap_or_default()
}

/// A value as text: a text without quotes and escapes, everything else as written.
pub(super) fn as_text(value: &str) -> String {
    if is_text(value) { unquoted(value).into_owned() } else { value.to_owned() }
}
