//! A conversation with a plumb server beside the measurement: a question, an answer.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use plumb_engine::{Endpoint, EngineError};
use plumb_measure::Span;
use plumb_wire::extension::{Answer, Misunderstood, Request};
use plumb_wire::ni::{self, HEADER_BYTES, Payload};

/// No answer is longer.
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// A connection whose calls block.
#[derive(Debug)]
pub(crate) enum Talk {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TalkError {
    /// It could not be reached.
    #[error(transparent)]
    Connect(EngineError),
    /// It returned the question: any echo server does.
    #[error("is not a plumb server: this needs plumb net serve")]
    PlainEcho,
    /// It refused, in its own words.
    #[error("refused: {0}")]
    Refused(String),
    /// It answered, but otherwise than plumb does.
    #[error("answered in another way than plumb does: {0}")]
    Misunderstood(#[from] Misunderstood),
    /// The connection failed.
    #[error("gave no answer: {0}")]
    Io(#[from] io::Error),
}

impl Talk {
    /// Connects to `endpoint` within `patience`, which each later answer has, too.
    pub(crate) fn open(endpoint: &Endpoint, patience: Span) -> Result<Self, TalkError> {
        let cannot = |error: io::Error| {
            TalkError::Connect(EngineError::connect(endpoint.to_string(), &error))
        };
        let limit = Duration::from_nanos(patience.ns().max(1_000));
        let talk = match endpoint {
            Endpoint::Tcp(address) => {
                let stream = TcpStream::connect_timeout(address, limit).map_err(cannot)?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(limit))?;
                stream.set_write_timeout(Some(limit))?;
                Self::Tcp(stream)
            }
            Endpoint::Unix(path) => {
                let stream = UnixStream::connect(path).map_err(cannot)?;
                stream.set_read_timeout(Some(limit))?;
                stream.set_write_timeout(Some(limit))?;
                Self::Unix(stream)
            }
            Endpoint::Own => return Err(cannot(ErrorKind::Unsupported.into())),
        };
        Ok(talk)
    }

    /// Asks, and waits for the answer.
    pub(crate) fn ask(&mut self, request: Request) -> Result<Answer, TalkError> {
        let mut question = Vec::new();
        request.push(&mut question);
        self.write(&question)?;
        loop {
            let payload = self.frame()?;
            match Payload::of(&payload) {
                Ok(Payload::Ping) => {
                    let mut pong = Vec::new();
                    ni::push_frame(&mut pong, ni::PONG);
                    self.write(&pong)?;
                }
                Ok(Payload::Pong) => {}
                Ok(Payload::Message(message)) => {
                    return Err(TalkError::Refused(message.to_string()));
                }
                Ok(Payload::Data(_) | Payload::Route) | Err(_) => {
                    return match Answer::parse(&payload)? {
                        Some(answer) => Ok(answer),
                        None if payload == question[HEADER_BYTES..] => Err(TalkError::PlainEcho),
                        None => Err(Misunderstood::Fields(payload.len()).into()),
                    };
                }
            }
        }
    }

    /// The socket, for whoever goes on with it.
    pub(crate) fn into_socket(self) -> OwnedFd {
        match self {
            Self::Tcp(stream) => stream.into(),
            Self::Unix(stream) => stream.into(),
        }
    }

    fn frame(&mut self) -> Result<Vec<u8>, TalkError> {
        let mut header = [0; HEADER_BYTES];
        self.read(&mut header)?;
        let length = ni::payload_length(&header).unwrap_or(0);
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length > ANSWER_BYTES_MAX {
            return Err(Misunderstood::Fields(length).into());
        }
        let mut payload = vec![0; length];
        self.read(&mut payload)?;
        Ok(payload)
    }

    fn read(&mut self, bytes: &mut [u8]) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.read_exact(bytes),
            Self::Unix(stream) => stream.read_exact(bytes),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.write_all(bytes),
            Self::Unix(stream) => stream.write_all(bytes),
        }
    }
}
