//! NI written by hand, so that the program is not judged by its own codec.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use rustix::net::sockopt::set_socket_linger;

use super::PATIENCE;
use super::message::at_end;

pub(crate) const PING: &[u8] = b"NI_PING\0";
pub(crate) const PONG: &[u8] = b"NI_PONG\0";
pub(crate) const REFUSED: i32 = -10;
pub(crate) const INVALID: i32 = -8;
pub(crate) const TOO_BIG: i32 = -20;

/// A length of four bytes, big-endian, and the payload.
pub(crate) fn frame(payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("the payloads of tests are small");
    [&length.to_be_bytes(), payload].concat()
}

/// The payload of an error message with a return code and a text for people. Behind the text
/// stands a number that no source explains.
pub(crate) fn error(code: i32, text: &str) -> Vec<u8> {
    let fields = format!("*ERR*\x001\x00{text}\x00{code}\x00*ERR*\x00");
    let length = u32::try_from(fields.len()).expect("it is short");
    let head = [b"NI_RTERR\0".as_slice(), &[40, 0, 0], &code.to_be_bytes(), &length.to_be_bytes()];
    [head.concat(), fields.into_bytes(), vec![0; 4]].concat()
}

/// One frame from a stream; `None` when it ends before the first byte.
pub(crate) fn read_frame(stream: &mut TcpStream) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    if stream.read(&mut length[..1])? == 0 {
        return Ok(None);
    }
    stream.read_exact(&mut length[1..])?;
    let mut payload = vec![0; usize::try_from(u32::from_be_bytes(length)).expect("it fits")];
    stream.read_exact(&mut payload)?;
    Ok(Some(payload))
}

/// A client of an echo server.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) stream: TcpStream,
}

impl Client {
    pub(crate) fn connect(address: &str) -> Self {
        let stream = TcpStream::connect(address).expect("the server listens");
        stream.set_nodelay(true).expect("it is a TCP socket");
        stream.set_read_timeout(Some(PATIENCE)).expect("it is above zero");
        stream.set_write_timeout(Some(PATIENCE)).expect("it is above zero");
        Self { stream }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("the server takes bytes");
    }

    /// The payload of the next frame.
    pub(crate) fn receive(&mut self) -> Vec<u8> {
        read_frame(&mut self.stream).expect("the server answers").expect("the server goes on")
    }

    /// Sends a payload, and demands it back.
    pub(crate) fn echo(&mut self, payload: &[u8]) {
        self.send(&frame(payload));
        assert!(self.receive() == payload, "{} bytes came back otherwise", payload.len());
    }

    /// The return code and the text of the error message that comes next.
    pub(crate) fn refusal(&mut self) -> (i32, String) {
        let payload = self.receive();
        let text = payload.strip_prefix(b"NI_RTERR\0").expect("an error message");
        assert_eq!(text[1], 0, "the opcode of an error");
        let code = i32::from_be_bytes(text[3..7].try_into().expect("four bytes"));
        let fields: Vec<&[u8]> = text[11..].split(|byte| *byte == 0).collect();
        assert_eq!(fields[0], b"*ERR*");
        (code, String::from_utf8_lossy(fields[2]).into_owned())
    }

    /// True when the server has ended the connection and sent nothing before.
    pub(crate) fn at_end(&mut self) -> bool {
        at_end(&mut self.stream)
    }

    /// Says that nothing more will come, and goes on listening.
    pub(crate) fn finish(&self) {
        self.stream.shutdown(Shutdown::Write).expect("it is connected");
    }

    /// Ends the connection with a reset.
    pub(crate) fn reset(self) {
        set_socket_linger(&self.stream, Some(Duration::ZERO)).expect("it is a TCP socket");
    }
}
