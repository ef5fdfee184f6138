//! The head of a response: its status, and how its body ends.

use std::borrow::Cow;

use httparse::{EMPTY_HEADER, Header, ParserConfig, Status};

use crate::percent::utf8_or_encoded;

/// Bytes of a head that are read at most; a longer one is refused.
pub const HEAD_BYTES_MAX: usize = 64 << 10;
/// Bytes of a body or a chunk at most. A server holds a chunk before it says how long it is; none
/// holds more, and whoever waited for one that long would wait for ever.
pub(super) const PIECE_BYTES_MAX: u64 = 1 << 40;
/// Header lines of a head that are read at most.
const LINES_MAX: usize = 128;

/// What was asked, as far as it decides whether a body comes back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ask {
    /// Any method whose answer may have a body.
    #[default]
    Content,
    /// `HEAD`: the answer has the header lines of a body, and none.
    Head,
    /// `CONNECT`: behind a head of success the bytes are the tunnel's.
    Connect,
}

/// How a body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// After so many bytes; 0 when there is none.
    Length(u64),
    /// With the chunk of length zero and its trailer.
    Chunked,
    /// With the connection.
    UntilClose,
}

/// What a head says of the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Status code, 100 to 999.
    pub status: u16,
    /// How the body ends.
    pub framing: Framing,
    /// The connection serves the next request, as far as the head says.
    pub keep_alive: bool,
    /// A header line tells how long the server took; see [`told`](super::told).
    pub tells_times: bool,
}

impl Head {
    /// True for a response that only announces another one.
    #[must_use]
    pub fn interim(&self) -> bool {
        self.status < 200 && self.status != 101
    }
}

/// True of `bytes` that a server sends before it ends a connection on which nothing is asked (408,
/// Request Timeout): no answer to anything. `None` as long as they are too few to tell.
///
/// # Source
/// RFC 9110, section 15.5.9.
#[must_use]
pub fn ends_idle_connection(bytes: &[u8]) -> Option<bool> {
    let starts = [b"HTTP/1.1 408", b"HTTP/1.0 408"];
    let may = starts.iter().any(|start| start.starts_with(bytes));
    let does = starts.iter().any(|start| bytes.starts_with(*start));
    (does || !may).then_some(does)
}

/// Why bytes are no head of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeadError {
    /// No end within [`HEAD_BYTES_MAX`].
    #[error("its head has no end within {} KiB", HEAD_BYTES_MAX >> 10)]
    TooLong,
    /// More header lines than are read.
    #[error("its head has more than {LINES_MAX} header lines")]
    TooManyLines,
    /// Something else than HTTP/1.
    #[error("that is no head of an HTTP/1.1 response: {0}")]
    NoHttp(httparse::Error),
    /// The lines that frame the body contradict each other, or one cannot be understood.
    #[error("its head does not say where the body ends: {0}")]
    Framing(&'static str),
}

/// The header lines of a head.
#[derive(Clone, Copy, Debug)]
pub struct RawHead<'a> {
    bytes: &'a [u8],
}

impl<'a> RawHead<'a> {
    /// The lines of a complete head.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// The values of every line called `name`, whatever the case, in order. A value that goes on in
    /// the next line has the end of its line within, as white space. A value that is not UTF-8 is left
    /// out.
    pub fn values(&self, name: &'a str) -> impl Iterator<Item = &'a str> + use<'a> {
        self.octets(name).filter_map(|value| std::str::from_utf8(value).ok())
    }

    /// The values of every line `Location`, in order. What is not UTF-8 in an address, as letters of ISO
    /// 8859-1 are not, is asked for byte by byte, as browsers do it.
    pub fn locations(&self) -> impl Iterator<Item = Cow<'a, str>> + use<'a> {
        self.octets("location").map(utf8_or_encoded)
    }

    /// The values of every line called `name`: a value is bytes (RFC 9110, section 5.5).
    fn octets(&self, name: &'a str) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let mut rest = self.bytes;
        let lines = std::iter::from_fn(move || {
            let end = (0..rest.len()).find(|at| ends_line(rest, *at))?;
            let (line, after) = rest.split_at(end + 1);
            rest = after;
            Some(line)
        });
        lines.skip(1).filter_map(move |line| {
            let (found, value) = line.split_at(line.iter().position(|byte| *byte == b':')?);
            found.eq_ignore_ascii_case(name.as_bytes()).then(|| value[1..].trim_ascii())
        })
    }
}

/// Whether a header line ends with the byte `at`: a line that begins with white space belongs to the
/// one before it (RFC 9112, section 5.2).
fn ends_line(bytes: &[u8], at: usize) -> bool {
    bytes[at] == b'\n' && !matches!(bytes.get(at + 1), Some(b' ' | b'\t'))
}

/// Reads a head from the start of `bytes`: what it says, and its length in bytes. `None` while it
/// is incomplete.
pub(super) fn parse(bytes: &[u8], ask: Ask) -> Result<Option<(Head, usize)>, HeadError> {
    let mut lines = [EMPTY_HEADER; LINES_MAX];
    let mut response = httparse::Response::new(&mut lines);
    let window = &bytes[..bytes.len().min(HEAD_BYTES_MAX)];
    let mut parser = ParserConfig::default();
    parser.allow_obsolete_multiline_headers_in_responses(true);
    let length = match parser.parse_response(&mut response, window) {
        Ok(Status::Complete(length)) => length,
        Ok(Status::Partial) if bytes.len() >= HEAD_BYTES_MAX => return Err(HeadError::TooLong),
        Ok(Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(HeadError::TooManyLines),
        Err(error) => return Err(HeadError::NoHttp(error)),
    };
    let (status, minor) = (response.code.unwrap_or(0), response.version.unwrap_or(0));
    if status < 100 {
        return Err(HeadError::NoHttp(httparse::Error::Status));
    }
    let told = Lines::of(response.headers)?;
    let framing = told.framing(status, ask)?;
    let stays = if minor >= 1 { !told.close } else { told.keep_alive && !told.close };
    let head = Head {
        status,
        framing,
        keep_alive: stays && framing != Framing::UntilClose && status != 101,
        tells_times: told.times,
    };
    Ok(Some((head, length)))
}

/// The header lines that matter here.
#[derive(Default)]
struct Lines {
    length: Option<u64>,
    /// The last transfer coding is `chunked`.
    chunked: Option<bool>,
    close: bool,
    keep_alive: bool,
    times: bool,
}

impl Lines {
    fn of(lines: &[Header<'_>]) -> Result<Self, HeadError> {
        let mut found = Self::default();
        for line in lines {
            found.take(line)?;
        }
        Ok(found)
    }

    fn take(&mut self, line: &Header<'_>) -> Result<(), HeadError> {
        // most lines are told apart by their length alone
        match line.name.len() {
            10 if line.name.eq_ignore_ascii_case("connection") => {
                for word in line.value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
                    self.close |= word.eq_ignore_ascii_case(b"close");
                    self.keep_alive |= word.eq_ignore_ascii_case(b"keep-alive");
                }
            }
            13 if line.name.eq_ignore_ascii_case("server-timing") => self.times = true,
            14 if line.name.eq_ignore_ascii_case("content-length") => {
                for word in line.value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
                    let length = decimal(word)
                        .ok_or(HeadError::Framing("Content-Length is not a number of bytes"))?;
                    if length > PIECE_BYTES_MAX {
                        return Err(HeadError::Framing("Content-Length is more than 1 TiB"));
                    }
                    if self.length.is_some_and(|known| known != length) {
                        return Err(HeadError::Framing("it has two different Content-Lengths"));
                    }
                    self.length = Some(length);
                }
            }
            14 if line.name.eq_ignore_ascii_case("sap-statistics") => self.times = true,
            17 if line.name.eq_ignore_ascii_case("transfer-encoding") => {
                let last = line.value.rsplit(|byte| *byte == b',').next().unwrap_or_default();
                self.chunked = Some(last.trim_ascii().eq_ignore_ascii_case(b"chunked"));
            }
            _ => {}
        }
        Ok(())
    }

    /// RFC 9112, section 6.3.
    fn framing(&self, status: u16, ask: Ask) -> Result<Framing, HeadError> {
        let success = (200..300).contains(&status);
        if ask == Ask::Head
            || matches!(status, 100..200 | 204 | 304)
            || (ask == Ask::Connect && success)
        {
            return Ok(Framing::Length(0));
        }
        match (self.chunked, self.length) {
            (Some(_), Some(_)) => {
                Err(HeadError::Framing("it has both a Content-Length and a Transfer-Encoding"))
            }
            (Some(true), None) => Ok(Framing::Chunked),
            (None, Some(length)) => Ok(Framing::Length(length)),
            (Some(false) | None, None) => Ok(Framing::UntilClose),
        }
    }
}

/// Digits, and nothing else.
fn decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |value, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str, ask: Ask) -> Result<Head, HeadError> {
        parse(text.as_bytes(), ask).map(|found| {
            let (head, length) = found.unwrap();
            assert_eq!(length, text.len());
            head
        })
    }

    fn framing(lines: &str) -> Result<Framing, HeadError> {
        head(&format!("HTTP/1.1 200 OK\r\n{lines}\r\n"), Ask::Content).map(|head| head.framing)
    }

    #[test]
    fn the_lines_of_a_head_say_how_its_body_ends() {
        assert_eq!(framing("Content-Length: 12\r\n"), Ok(Framing::Length(12)));
        assert_eq!(
            framing("content-length: 7, 7\r\nContent-Length: 7\r\n"),
            Ok(Framing::Length(7))
        );
        assert_eq!(framing("Transfer-Encoding: gzip, Chunked\r\n"), Ok(Framing::Chunked));
        assert_eq!(framing("Transfer-Encoding: gzip\r\n"), Ok(Framing::UntilClose));
        assert_eq!(framing(""), Ok(Framing::UntilClose));
    }

    #[test]
    fn contradictions_are_refused_by_name() {
        let refused = |lines| framing(lines).unwrap_err().to_string();
        assert!(refused("Content-Length: 1\r\nContent-Length: 2\r\n").contains("two different"));
        assert!(refused("Content-Length: -1\r\n").contains("not a number"));
        assert!(refused("Content-Length: 99999999999999999999\r\n").contains("not a number"));
        assert!(refused("Content-Length: 1099511627777\r\n").contains("more than 1 TiB"));
        let both = "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n";
        assert!(refused(both).contains("both"));
    }

    #[test]
    fn some_answers_have_no_body_whatever_their_lines_say() {
        let with = "Content-Length: 12\r\n\r\n";
        for status in [204, 304] {
            let head = head(&format!("HTTP/1.1 {status} x\r\n{with}"), Ask::Content).unwrap();
            assert_eq!(head.framing, Framing::Length(0));
        }
        let asked = head(&format!("HTTP/1.1 200 OK\r\n{with}"), Ask::Head).unwrap();
        assert_eq!(asked.framing, Framing::Length(0));
        assert!(head("HTTP/1.1 100 Continue\r\n\r\n", Ask::Content).unwrap().interim());
        let tunnel = head("HTTP/1.1 200 OK\r\n\r\n", Ask::Connect).unwrap();
        assert_eq!((tunnel.framing, tunnel.keep_alive), (Framing::Length(0), true));
    }

    #[test]
    fn only_a_request_time_out_ends_an_idle_connection() {
        let whole = b"HTTP/1.1 408 Request Timeout\r\n\r\n";
        for end in 1..=whole.len() {
            assert_eq!(ends_idle_connection(&whole[..end]), (end >= 12).then_some(true), "{end}");
        }
        assert_eq!(ends_idle_connection(b"HTTP/1.1 2"), Some(false));
        assert_eq!(ends_idle_connection(b"HTTP/1.1 200 OK\r\n\r\n"), Some(false));
    }

    #[test]
    fn the_version_and_the_connection_line_decide_whether_it_stays() {
        let stays = |version: &str, line: &str| {
            let text = format!("HTTP/{version} 200 OK\r\nContent-Length: 0\r\n{line}\r\n");
            head(&text, Ask::Content).unwrap().keep_alive
        };
        assert!(stays("1.1", ""));
        assert!(!stays("1.1", "Connection: Upgrade, close\r\n"));
        assert!(!stays("1.0", ""));
        assert!(stays("1.0", "connection: keep-alive\r\n"));
    }

    #[test]
    fn a_head_without_an_end_is_refused_at_the_limit() {
        let mut text = b"HTTP/1.1 200 OK\r\nX: ".to_vec();
        text.resize(HEAD_BYTES_MAX - 1, b'a');
        assert_eq!(parse(&text, Ask::Content), Ok(None));
        text.resize(1 << 20, b'a');
        assert_eq!(parse(&text, Ask::Content), Err(HeadError::TooLong));
        let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "a: b\r\n".repeat(LINES_MAX + 1));
        assert_eq!(parse(many.as_bytes(), Ask::Content), Err(HeadError::TooManyLines));
        assert!(matches!(parse(b"SSH-2.0-x\r\n", Ask::Content), Err(HeadError::NoHttp(_))));
    }

    #[test]
    fn a_line_that_goes_on_in_the_next_is_one() {
        let length = Ok(Framing::Length(5));
        assert_eq!(framing("X: a\r\n b\r\nContent-Length: 5\r\n"), length);
        assert_eq!(framing("Content-Length:\r\n\t5\r\nX: c\r\n"), length);
        assert!(framing("Content-Length: 1\r\n 2\r\n").is_err(), "one in two pieces is no number");
        let head =
            RawHead::new(b"HTTP/1.1 200 OK\r\nSet-Cookie: a=1;\r\n\tPath=/x\r\nX: b\r\n\r\n");
        assert_eq!(head.values("set-cookie").collect::<Vec<_>>(), ["a=1;\r\n\tPath=/x"]);
        assert_eq!(head.values("x").collect::<Vec<_>>(), ["b"]);
        assert!(matches!(framing("X\r\n"), Err(HeadError::NoHttp(_))));
    }

    #[test]
    fn lines_are_found_whatever_their_case() {
        let head =
            RawHead::new(b"HTTP/1.1 302 Found\r\nSet-Cookie: a=1\r\nset-cookie:b=2 \r\n\r\n");
        assert_eq!(head.values("SET-COOKIE").collect::<Vec<_>>(), ["a=1", "b=2"]);
        assert_eq!(head.values("Location").next(), None);
        assert_eq!(head.locations().next(), None);
    }

    #[test]
    fn letters_of_an_address_that_are_no_utf_8_are_encoded() {
        for (location, expected) in [
            (&b"/suche?q=M\xfcller"[..], "/suche?q=M%FCller"),
            ("/suche?q=Müller".as_bytes(), "/suche?q=Müller"),
            (b"/\xe4\xc3\xa4?%e4", "/%E4ä?%e4"),
        ] {
            let head = [b"HTTP/1.1 302 Found\r\nLocation: ", location, b"\r\n\r\n"].concat();
            assert_eq!(RawHead::new(&head).locations().collect::<Vec<_>>(), [expected]);
        }
    }
}
