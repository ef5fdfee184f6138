//! Whole messages from a connection, in however many pieces they come. Nothing behind a message is
//! taken, and the time-out of the connection bounds every wait.

use std::io::{self, ErrorKind, Read};

/// A message of HTTP: its head with the empty line, and the body that its length or its chunks
/// name.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Message {
    /// The next message; `None` where the connection ends before it.
    pub(crate) fn read(stream: &mut impl Read) -> io::Result<Option<Self>> {
        let Some(head) = through(stream, b"\r\n\r\n")? else { return Ok(None) };
        let head = text(&head);
        if value(&head, "transfer-encoding").is_some_and(|it| it.eq_ignore_ascii_case("chunked")) {
            return Ok(Some(Self { head, body: chunks(stream)? }));
        }
        let length = value(&head, "content-length").and_then(|it| it.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        stream.read_exact(&mut body)?;
        Ok(Some(Self { head, body }))
    }
}

/// A body in chunks, up to the last one.
fn chunks(stream: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let size = line(stream)?.ok_or(ErrorKind::UnexpectedEof)?;
        let size = usize::from_str_radix(&size, 16).map_err(io::Error::other)?;
        let start = body.len();
        body.resize(start + size, 0);
        stream.read_exact(&mut body[start..])?;
        line(stream)?.ok_or(ErrorKind::UnexpectedEof)?; // the end of the chunk, or of all of them
        if size == 0 {
            return Ok(body);
        }
    }
}

/// The value of a header, in any case of letters.
fn value<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let headers = head.lines().skip(1).filter_map(|line| line.split_once(':'));
    headers.into_iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, it)| it.trim())
}

/// Everything up to the end of `pattern`; `None` where the connection ends before the first byte.
pub(crate) fn through(stream: &mut impl Read, pattern: &[u8]) -> io::Result<Option<Vec<u8>>> {
    let (mut bytes, mut byte) = (Vec::new(), [0]);
    while !bytes.ends_with(pattern) {
        match stream.read(&mut byte) {
            Ok(0) if bytes.is_empty() => return Ok(None),
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(_) => bytes.push(byte[0]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(told(&error, &bytes)),
        }
    }
    Ok(Some(bytes))
}

/// The next line without its end; `None` at the end of the connection.
pub(crate) fn line(stream: &mut impl Read) -> io::Result<Option<String>> {
    let line = through(stream, b"\r\n")?;
    Ok(line.map(|line| text(&line).trim_end_matches("\r\n").to_owned()))
}

/// The head of what comes next.
pub(crate) fn head(stream: &mut impl Read) -> String {
    let head = through(stream, b"\r\n\r\n").expect("a whole head");
    text(&head.expect("a head before the end"))
}

/// What comes until the end; a connection that was reset is at its end.
pub(crate) fn rest(stream: &mut impl Read) -> String {
    let mut bytes = Vec::new();
    if let Err(error) = stream.read_to_end(&mut bytes) {
        assert!(!is_timeout(&error), "no end came, only {}", String::from_utf8_lossy(&bytes));
    }
    text(&bytes)
}

/// True when the other side has ended the connection and sent nothing before.
pub(crate) fn at_end(stream: &mut impl Read) -> bool {
    match stream.read(&mut [0; 16]) {
        Ok(bytes) => bytes == 0,
        Err(error) => {
            assert!(!is_timeout(&error), "the other side keeps the connection");
            true
        }
    }
}

/// Whether nothing came for as long as the connection waits.
pub(crate) fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// `error` with what came before it.
fn told(error: &io::Error, bytes: &[u8]) -> io::Error {
    let before = String::from_utf8_lossy(bytes);
    io::Error::new(error.kind(), format!("{error} after `{before}`"))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
