//! How long a server had a request, by time stamps of its kernel: asked for in one request, told in the
//! answer to a later one of the connection, since it is known only when the answer has left.

use std::fmt::Write as _;

/// The header line of a request that asks. Its value is a [`MessageName`]; the answer has the same line.
pub const ASK_HEADER: &str = "plumb-stamp";
/// The header line of an answer that tells of an earlier request.
pub const TOLD_HEADER: &str = "plumb-stamped";

/// What a client calls one of its requests. A request that only has the server begin with stamps is
/// called zero, and not told of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageName(pub u64);

impl MessageName {
    /// Reads the value of [`ASK_HEADER`]: hexadecimal digits, at most sixteen.
    #[must_use]
    pub fn read(value: &str) -> Option<Self> {
        let value = value.trim();
        let digits = value.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !digits || !(1..=16).contains(&value.len()) {
            return None;
        }
        u64::from_str_radix(value, 16).ok().map(Self)
    }

    /// Puts the line that asks into the request of `out` that begins at `begins`, behind its first line.
    pub fn insert_line(self, begins: usize, out: &mut Vec<u8>) {
        let end = out[begins..].windows(2).position(|pair| pair == b"\r\n");
        let at = begins + end.map_or(0, |end| end + 2);
        let line = format!("{ASK_HEADER}: {:x}\r\n", self.0);
        out.splice(at..at, line.into_bytes());
    }
}

/// How long the server had one request, nanoseconds by its own clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StampedRequest {
    /// The request.
    pub name: MessageName,
    /// From its last packet in the kernel to the program that read it.
    pub waking_ns: u64,
    /// From there to the call that sent the answer.
    pub work_ns: u64,
    /// From that call to the last packet of the answer at the driver.
    pub sending_ns: u64,
}

impl StampedRequest {
    /// Reads the value of [`TOLD_HEADER`]: a name and three decimal numbers.
    #[must_use]
    pub fn read(value: &str) -> Option<Self> {
        let mut words = value.split_ascii_whitespace();
        let name = MessageName::read(words.next()?)?;
        let mut ns = || -> Option<u64> {
            let word = words.next()?;
            word.bytes().all(|byte| byte.is_ascii_digit()).then(|| word.parse().ok()).flatten()
        };
        let told = Self { name, waking_ns: ns()?, work_ns: ns()?, sending_ns: ns()? };
        words.next().is_none().then_some(told)
    }

    /// The value of [`TOLD_HEADER`].
    #[must_use]
    pub fn value(&self) -> String {
        let Self { name, waking_ns, work_ns, sending_ns } = self;
        let mut text = String::with_capacity(48);
        // a String takes everything
        let _ = write!(text, "{:x} {waking_ns} {work_ns} {sending_ns}", name.0);
        text
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_hexadecimal() {
        let mut out = b"GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\na: b\r\n\r\n".to_vec();
        MessageName(0x1f3a).insert_line(19, &mut out);
        let expected =
            "GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\nplumb-stamp: 1f3a\r\na: b\r\n\r\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        assert_eq!(MessageName::read(" 1F3a "), Some(MessageName(0x1f3a)));
        assert_eq!(MessageName::read("ffffffffffffffff"), Some(MessageName(u64::MAX)));
        for other in ["", "+1", "0x1", "1 2", "10000000000000000", "g"] {
            assert_eq!(MessageName::read(other), None, "{other}");
        }
    }

    #[test]
    fn what_is_told_has_four_words() {
        let told = StampedRequest {
            name: MessageName(0xab),
            waking_ns: 12,
            work_ns: 34,
            sending_ns: u64::MAX,
        };
        assert_eq!(told.value(), "ab 12 34 18446744073709551615");
        assert_eq!(StampedRequest::read(&told.value()), Some(told));
        for other in ["ab 12 34", "ab 12 34 5 6", "ab 12 -3 4", "ab 1 2 18446744073709551616", ""] {
            assert_eq!(StampedRequest::read(other), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_to_some_end(text: String) {
            let _ = (MessageName::read(&text), StampedRequest::read(&text));
        }

        #[test]
        fn what_is_written_is_read(name: u64, waking_ns: u64, work_ns: u64, sending_ns: u64) {
            let told = StampedRequest { name: MessageName(name), waking_ns, work_ns, sending_ns };
            prop_assert_eq!(StampedRequest::read(&told.value()), Some(told));
        }
    }
}
