//! What the fields of an answer say, and what they must not.

/// Bytes of the header lines of an answer that are kept; more is a [`Fault`].
pub const LINES_BYTES_MAX: usize = 64 << 10;
/// Fields of a head that are read at most.
const FIELDS_MAX: usize = 128;
/// Bytes of content at most: whoever waited for more would wait for ever.
const LENGTH_MAX: u64 = 1 << 40;

/// What the head of an answer says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Status, 100 to 999.
    pub status: u16,
    /// Bytes of content that it announces.
    pub length: Option<u64>,
    /// A field tells how long the server took.
    pub tells_times: bool,
    /// Counts the heads of a connection that had to be decoded: two of one number are the same.
    pub number: u64,
}

/// Why an answer is none. The stream is over, the connection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It breaks the rules of the standard; in words that follow the name of the other side.
    #[error("sent {0} (PROTOCOL_ERROR)")]
    Malformed(&'static str),
    /// Its head is longer than what is read.
    #[error("sent a head of more than {} KiB or {FIELDS_MAX} lines", LINES_BYTES_MAX >> 10)]
    HeadTooLarge,
}

/// Takes the fields of one block as they are decoded.
#[derive(Debug)]
pub(crate) struct FieldReader<'a> {
    /// Becomes the head as HTTP/1.1 writes it: a first line, header lines, an empty line.
    lines: &'a mut Vec<u8>,
    head: Head,
    /// They come behind the content.
    trailers: bool,
    fields: usize,
    /// A field was no pseudo-header.
    regular: bool,
    fault: Option<Fault>,
}

impl<'a> FieldReader<'a> {
    /// A reader that writes header lines into `lines`, emptied first.
    pub(crate) fn new(lines: &'a mut Vec<u8>, trailers: bool) -> Self {
        lines.clear();
        Self { lines, head: Head::default(), trailers, fields: 0, regular: false, fault: None }
    }

    /// Takes the next field. What comes behind a fault is passed over.
    pub(crate) fn take(&mut self, name: &[u8], value: &[u8]) {
        if self.fault.is_none()
            && let Err(fault) = self.field(name, value)
        {
            self.fault = Some(fault);
        }
    }

    /// What they say together.
    pub(crate) fn finish(self) -> Result<Head, Fault> {
        match self.fault {
            Some(fault) => Err(fault),
            None if self.head.status == 0 && !self.trailers => {
                Err(Fault::Malformed("an answer without a status"))
            }
            None => {
                self.lines.extend_from_slice(b"\r\n");
                Ok(self.head)
            }
        }
    }

    fn field(&mut self, name: &[u8], value: &[u8]) -> Result<(), Fault> {
        self.fields += 1;
        let bytes = self.lines.len() + name.len() + value.len() + 4;
        if bytes > LINES_BYTES_MAX || self.fields > FIELDS_MAX {
            return Err(Fault::HeadTooLarge);
        }
        if name.first() == Some(&b':') {
            return self.pseudo(name, value);
        }
        self.regular = true;
        if name.is_empty() || !name.iter().all(|byte| may_name(*byte)) {
            return Err(Fault::Malformed("a field whose name is none"));
        }
        if value.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)) {
            return Err(Fault::Malformed("a field with the end of a line within"));
        }
        if let b"connection" | b"proxy-connection" | b"keep-alive" | b"transfer-encoding"
        | b"upgrade" = name
        {
            return Err(Fault::Malformed("a field that only HTTP/1.1 has"));
        }
        if self.trailers {
            return Ok(());
        }
        match name {
            b"content-length" => self.length(value)?,
            b"server-timing" | b"sap-statistics" => self.head.tells_times = true,
            _ => {}
        }
        for part in [name, b": ", value, b"\r\n"] {
            self.lines.extend_from_slice(part);
        }
        Ok(())
    }

    fn pseudo(&mut self, name: &[u8], value: &[u8]) -> Result<(), Fault> {
        let sound = name == b":status" && !self.regular && !self.trailers && self.head.status == 0;
        let digits = <[u8; 3]>::try_from(value).ok().filter(|it| it.iter().all(u8::is_ascii_digit));
        let Some(digits) = digits.filter(|digits| sound && digits[0] != b'0') else {
            return Err(Fault::Malformed("a status that is none"));
        };
        self.head.status = digits.iter().fold(0, |n, digit| 10 * n + u16::from(digit - b'0'));
        self.lines.extend_from_slice(b"HTTP/2 ");
        self.lines.extend_from_slice(&digits);
        self.lines.extend_from_slice(b"\r\n");
        Ok(())
    }

    fn length(&mut self, value: &[u8]) -> Result<(), Fault> {
        let text = std::str::from_utf8(value).ok();
        let digits = text.filter(|it| !it.is_empty() && it.bytes().all(|b| b.is_ascii_digit()));
        let number = digits.and_then(|digits| digits.parse().ok()).filter(|n| *n <= LENGTH_MAX);
        let known = self.head.length;
        let Some(number) = number.filter(|number| known.is_none_or(|known| known == *number))
        else {
            return Err(Fault::Malformed("a content-length that is none"));
        };
        self.head.length = Some(number);
        Ok(())
    }
}

/// True for what the name of a field is made of: a capital letter is no part of it.
fn may_name(byte: u8) -> bool {
    matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'z' | b'|' | b'~')
        || byte.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(fields: &[(&str, &str)], trailers: bool) -> Result<(Head, String), Fault> {
        let mut lines = Vec::new();
        let mut reader = FieldReader::new(&mut lines, trailers);
        for (name, value) in fields {
            reader.take(name.as_bytes(), value.as_bytes());
        }
        let head = reader.finish()?;
        Ok((head, String::from_utf8(lines).unwrap()))
    }

    #[test]
    fn a_head_is_what_its_fields_say_and_stands_there_as_lines() {
        let fields = [(":status", "404"), ("content-length", "12"), ("server-timing", "db;dur=1")];
        let (head, lines) = read(&fields, false).unwrap();
        assert_eq!((head.status, head.length, head.tells_times), (404, Some(12), true));
        assert_eq!(lines, "HTTP/2 404\r\ncontent-length: 12\r\nserver-timing: db;dur=1\r\n\r\n");
        assert!(read(&[("x-a", "1")], true).is_ok(), "trailers have no status");
    }

    #[test]
    fn what_the_standard_forbids_is_malformed() {
        let ok = (":status", "200");
        for fields in [
            &[("x-a", "1")][..],
            &[("x-a", "1"), ok],
            &[ok, ok],
            &[(":status", "20")],
            &[(":status", "+20")],
            &[(":status", "099")],
            &[(":path", "/"), ok],
            &[ok, ("X-A", "1")],
            &[ok, ("x a", "1")],
            &[ok, ("", "1")],
            &[ok, ("x-a", "1\r\nevil: 2")],
            &[ok, ("connection", "close")],
            &[ok, ("transfer-encoding", "chunked")],
            &[ok, ("content-length", "1"), ("content-length", "2")],
            &[ok, ("content-length", "+1")],
            &[ok, ("content-length", "99999999999999")],
        ] {
            let fault = read(fields, false).unwrap_err();
            assert!(matches!(fault, Fault::Malformed(_)), "{fields:?}");
        }
        assert!(read(&[ok], true).is_err(), "trailers with a status");
    }

    #[test]
    fn a_head_beyond_the_limits_is_told_apart() {
        let long = "x".repeat(40_000);
        let fields = [(":status", "200"), ("a", &long), ("b", &long)];
        assert_eq!(read(&fields, false).unwrap_err(), Fault::HeadTooLarge);
        let many: Vec<_> = std::iter::repeat_n(("a", ""), FIELDS_MAX + 1).collect();
        assert_eq!(read(&many, true).unwrap_err(), Fault::HeadTooLarge);
    }
}
