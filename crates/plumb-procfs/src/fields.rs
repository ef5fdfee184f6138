//! Bytes of /proc as lines, words and numbers. Nothing here allocates, and no byte makes it panic.
//!
//! A sample goes through some ten thousand of these bytes, most of them of no interest: ends of
//! lines are looked for many bytes at a time, and a number is read in one pass.

use memchr::memchr_iter;

/// As many decimal digits always fit.
const DIGITS_SAFE: usize = 19;

/// The lines of a text, without their ends.
pub fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut ends = memchr_iter(b'\n', text);
    let mut start = Some(0);
    std::iter::from_fn(move || {
        let from = start?;
        let end = ends.next();
        start = end.map(|end| end + 1);
        text.get(from..end.unwrap_or(text.len()))
    })
}

/// Ends of lines in a text.
pub(crate) fn ends_of_lines(text: &[u8]) -> usize {
    memchr_iter(b'\n', text).count()
}

/// The words of a line, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Words<'a> {
    rest: &'a [u8],
}

impl<'a> Words<'a> {
    /// The words of `line`, from its start.
    #[must_use]
    pub fn of(line: &'a [u8]) -> Self {
        Self { rest: line }
    }

    /// The next word as a decimal number; `None` at the end, or when it is none.
    pub fn number(&mut self) -> Option<u64> {
        self.skip_blanks();
        let mut value: u64 = 0;
        let mut length = 0;
        while let Some(digit) = self.rest.get(length).and_then(|byte| digit(*byte)) {
            value = value.wrapping_mul(10).wrapping_add(digit);
            length += 1;
        }
        let ends = self.rest.get(length).is_none_or(|byte| is_blank(*byte));
        if ends && (1..=DIGITS_SAFE).contains(&length) {
            self.rest = &self.rest[length..];
            return Some(value);
        }
        number(self.next()?)
    }

    fn skip_blanks(&mut self) {
        while let [first, rest @ ..] = self.rest
            && is_blank(*first)
        {
            self.rest = rest;
        }
    }

    /// What has not been taken yet.
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        self.rest.trim_ascii()
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        self.skip_blanks();
        let length = self.rest.iter().take_while(|byte| !is_blank(**byte)).count();
        let (word, rest) = self.rest.split_at(length);
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// A decimal number that is nothing else.
#[must_use]
pub fn number(word: &[u8]) -> Option<u64> {
    let (front, back) = word.split_at(word.len().min(DIGITS_SAFE));
    let mut value: u64 = 0;
    for byte in front {
        value = value * 10 + digit(*byte)?;
    }
    for byte in back {
        value = value.checked_mul(10)?.checked_add(digit(*byte)?)?;
    }
    (!word.is_empty()).then_some(value)
}

fn digit(byte: u8) -> Option<u64> {
    let digit = byte.wrapping_sub(b'0');
    (digit <= 9).then_some(u64::from(digit))
}

/// A decimal number that may be negative.
pub(crate) fn signed(word: &[u8]) -> Option<i64> {
    match word.strip_prefix(b"-") {
        Some(digits) => i64::try_from(number(digits)?).ok().map(|value| -value),
        None => i64::try_from(number(word)?).ok(),
    }
}

/// A hexadecimal number without a prefix.
pub(crate) fn hexadecimal(word: &[u8]) -> Option<u64> {
    if word.is_empty() || word.len() > 16 {
        return None;
    }
    word.iter().try_fold(0, |value: u64, byte| {
        char::from(*byte).to_digit(16).map(|digit| value << 4 | u64::from(digit))
    })
}

/// The number behind a word such as `cpu`: 3 of `cpu3`.
pub(crate) fn numbered(word: &[u8], prefix: &[u8]) -> Option<u32> {
    u32::try_from(number(word.strip_prefix(prefix)?)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_read_to_the_last_bit() {
        assert_eq!(number(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(number(b"18446744073709551616"), None);
        assert_eq!(number(b"12a"), None);
        assert_eq!(number(b""), None);
        assert_eq!(signed(b"-1"), Some(-1));
        assert_eq!(hexadecimal(b"14f2793d"), Some(351_435_069));
        assert_eq!(numbered(b"cpu12", b"cpu"), Some(12));
        assert_eq!(numbered(b"cpu", b"cpu"), None);
    }

    #[test]
    fn what_follows_the_last_end_is_a_line_too() {
        assert_eq!(lines(b"a\n\nb").collect::<Vec<_>>(), [b"a".as_slice(), b"", b"b"]);
        assert_eq!(lines(b"a\n").collect::<Vec<_>>(), [b"a".as_slice(), b""]);
        assert_eq!((lines(b"").count(), ends_of_lines(b"a\nb\nc")), (1, 2));
    }

    #[test]
    fn words_are_separated_by_any_blanks() {
        let words: Vec<&[u8]> = Words::of(b"  a \t bc  ").collect();
        assert_eq!(words, [b"a".as_slice(), b"bc"]);
        let mut words = Words::of(b"x: 7 the rest ");
        assert_eq!((words.next(), words.number()), (Some(b"x:".as_slice()), Some(7)));
        let mut odd = Words::of(b"7a 18446744073709551615 18446744073709551616 9");
        let numbers = [odd.number(), odd.number(), odd.number(), odd.number(), odd.number()];
        assert_eq!(numbers, [None, Some(u64::MAX), None, Some(9), None]);
        assert_eq!(words.rest(), b"the rest");
    }

    proptest! {
        #[test]
        fn a_number_that_is_written_is_read(value: u64) {
            prop_assert_eq!(number(value.to_string().as_bytes()), Some(value));
            prop_assert_eq!(hexadecimal(format!("{value:x}").as_bytes()), Some(value));
        }

        #[test]
        fn any_bytes_are_words(bytes: Vec<u8>) {
            for line in lines(&bytes) {
                Words::of(line).for_each(|word| {
                    let _ = (number(word), signed(word), hexadecimal(word));
                });
            }
        }
    }
}
