//! One line: its section, its separator and its cells.

use std::borrow::Cow;

/// Longest name of a section that is taken for one, bytes.
const SECTION_BYTES_MAX: usize = 32;

/// A line cut behind its section.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    pub(crate) section: &'a [u8],
    /// `,`, or `;` where the decimal point is a comma.
    pub(crate) separator: u8,
    /// Everything behind the first separator.
    pub(crate) rest: &'a [u8],
}

impl<'a> Line<'a> {
    /// `None` when the line does not start with the name of a section and a separator.
    pub(crate) fn split(text: &'a [u8]) -> Option<Self> {
        let head = &text[..text.len().min(SECTION_BYTES_MAX + 1)];
        let at = head.iter().position(|byte| matches!(byte, b',' | b';'))?;
        let (section, rest) = (&text[..at], &text[at + 1..]);
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let named = section.first()?.is_ascii_uppercase() && section.iter().all(is_name);
        named.then_some(Self { section, separator: text[at], rest })
    }

    /// The cells behind the section.
    pub(crate) fn cells(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let separator = self.separator;
        self.rest.split(move |byte| *byte == separator)
    }

    /// The first cell and what follows it, if anything does.
    pub(crate) fn first(&self) -> (&'a [u8], Option<&'a [u8]>) {
        cut(self.rest, self.separator)
    }

    /// The decimal sign that goes with the separator.
    pub(crate) fn decimal(&self) -> u8 {
        if self.separator == b';' { b',' } else { b'.' }
    }
}

/// `text` up to the first separator, and what follows it.
pub(crate) fn cut(text: &[u8], separator: u8) -> (&[u8], Option<&[u8]>) {
    match text.iter().position(|byte| *byte == separator) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    }
}

/// The number of a snapshot from `T` and 4 to 16 digits.
pub(crate) fn snapshot_id(cell: &[u8]) -> Option<u64> {
    let digits = cell.strip_prefix(b"T")?;
    if !(4..=16).contains(&digits.len()) {
        return None;
    }
    digits
        .iter()
        .try_fold(0u64, |id, byte| byte.is_ascii_digit().then(|| id * 10 + u64::from(byte - b'0')))
}

/// What stands in a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cell {
    /// A figure, zero or above.
    Value(f64),
    /// Empty, `-1`, `-0.0` or not a number: what nmon writes for what it does not know.
    Missing,
    /// Another figure below zero, which no counter of nmon can have.
    Negative,
    /// Not a figure.
    Words,
}

/// Reads a cell with the decimal sign `decimal`.
pub(crate) fn number(cell: &[u8], decimal: u8) -> Cell {
    match plain(cell, decimal) {
        Some(value) => Cell::Value(value),
        None => unusual(cell.trim_ascii(), decimal),
    }
}

/// Powers of ten that are exact, as many as fifteen digits can need.
const POWERS: [f64; 16] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// At most fifteen digits around at most one decimal sign: exact, and almost every cell.
fn plain(cell: &[u8], decimal: u8) -> Option<f64> {
    if cell.is_empty() || cell.len() > 16 {
        return None;
    }
    let (mut digits, mut count, mut behind) = (0u64, 0usize, None);
    for byte in cell {
        match byte {
            b'0'..=b'9' => {
                digits = digits * 10 + u64::from(byte - b'0');
                count += 1;
            }
            byte if *byte == decimal && behind.is_none() => behind = Some(count),
            _ => return None,
        }
    }
    let fraction = count - behind.unwrap_or(count);
    (1..=15).contains(&count).then(|| exact(digits) / POWERS[fraction])
}

#[expect(clippy::cast_precision_loss, reason = "fifteen digits are below 2^53")]
fn exact(digits: u64) -> f64 {
    digits as f64
}

#[expect(clippy::float_cmp, reason = "-1 is written as such, not computed")]
fn unusual(cell: &[u8], decimal: u8) -> Cell {
    if cell.is_empty() {
        return Cell::Missing;
    }
    let Ok(text) = str::from_utf8(cell) else { return Cell::Words };
    let parsed = if decimal == b'.' { text.parse() } else { text.replacen(',', ".", 1).parse() };
    match parsed {
        Ok(value) => match value {
            f64::NEG_INFINITY..0.0 if value != -1.0 => {
                if value.is_finite() {
                    Cell::Negative
                } else {
                    Cell::Missing
                }
            }
            _ if !f64::is_finite(value) || value.is_sign_negative() => Cell::Missing,
            _ => Cell::Value(value),
        },
        // AIX writes NaNQ and NaNS, other C libraries -nan(ind)
        Err(_) => {
            let word = text.trim_start_matches('-').to_ascii_lowercase();
            if word.starts_with("nan") || word == "-" || word.is_empty() {
                Cell::Missing
            } else {
                Cell::Words
            }
        }
    }
}

/// A header as UTF-8. One that is not has a byte a letter, in the code page of its Windows or the locale of
/// its AIX, which it does not name: it is read as that of Western Europe, so that no two columns become one
/// by their names.
///
/// # Source
/// Microsoft, code page 1252; its letters are those of ISO 8859-1.
pub(crate) fn letters(line: &[u8]) -> Cow<'_, str> {
    match str::from_utf8(line) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(line.iter().copied().map(char::from).collect()),
    }
}

/// Text for people: without blanks around it, invalid bytes and control characters replaced, so
/// that no file can steer a terminal.
pub(crate) fn text(cell: &[u8]) -> String {
    let text = String::from_utf8_lossy(cell.trim_ascii());
    if text.contains(char::is_control) {
        return text.replace(char::is_control, " ");
    }
    text.into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_has_four_to_sixteen_digits() {
        assert_eq!(snapshot_id(b"T0001"), Some(1));
        assert_eq!(snapshot_id(b"T1234567890123456"), Some(1_234_567_890_123_456));
        for no in ["T001", "T12345678901234567", "T00a1", "Total", "/T1234", "", "T"] {
            assert_eq!(snapshot_id(no.as_bytes()), None, "{no}");
        }
    }

    #[test]
    fn what_nmon_does_not_know_is_missing_and_never_zero() {
        for missing in ["", " ", "-1", "-1.0", "-1.000", "-0.0", "-0", "nan", "-nan", "NaNQ", "inf"]
        {
            assert_eq!(number(missing.as_bytes(), b'.'), Cell::Missing, "{missing:?}");
        }
        assert_eq!(number(b"0.0", b'.'), Cell::Value(0.0));
        assert_eq!(number(b"-3.5", b'.'), Cell::Negative);
        assert_eq!(number(b"none", b'.'), Cell::Words);
    }

    #[test]
    fn figures_are_read_exactly_in_both_dialects() {
        assert_eq!(number(b"12.3", b'.'), Cell::Value(12.3));
        assert_eq!(number(b" 697848.1", b'.'), Cell::Value(697_848.1));
        assert_eq!(number(b"12,3", b','), Cell::Value(12.3));
        assert_eq!(number(b"1e3", b'.'), Cell::Value(1000.0));
        assert_eq!(number(b"123456789012345678", b'.'), Cell::Value(123_456_789_012_345_680.0));
        assert_eq!(number(b"1.2.3", b'.'), Cell::Words);
    }

    #[test]
    fn a_line_starts_with_its_section() {
        let line = Line::split(b"CPU_ALL;T0001;1,5;2").unwrap();
        assert_eq!((line.section, line.separator, line.decimal()), (&b"CPU_ALL"[..], b';', b','));
        assert_eq!(line.cells().collect::<Vec<_>>(), [&b"T0001"[..], b"1,5", b"2"]);
        for garbage in ["", "no", ",x", "cpu,1", "A B,1", "\u{1}A,1"] {
            assert!(Line::split(garbage.as_bytes()).is_none(), "{garbage:?}");
        }
    }
}
