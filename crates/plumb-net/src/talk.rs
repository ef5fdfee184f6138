//! A conversation with a plumb server beside the measurement: a question, an answer.

use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;

use plumb_engine::{Connection, Endpoint, EngineError, SocketOptions};
use plumb_measure::{Span, Transport};
use plumb_wire::extension::{Answer, Misunderstood, Request};
use plumb_wire::ni::{self, HEADER_BYTES, Payload};

use crate::aside::{SPEAKS_TLS, TLS_ALERT};

/// No answer is longer.
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// A connection whose calls block.
#[derive(Debug)]
pub(crate) struct Talk(Connection);

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TalkError {
    /// It could not be reached.
    #[error(transparent)]
    Connect(EngineError),
    /// It returned the question: any echo server does.
    #[error("is not a plumb server: this needs plumb net serve")]
    PlainEcho,
    /// It speaks TLS.
    #[error("{SPEAKS_TLS}")]
    Tls,
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
        let options = SocketOptions::default();
        let connection = Connection::open(std::slice::from_ref(endpoint), patience, &options)
            .map_err(TalkError::Connect)?;
        connection.limit_calls(patience)?;
        Ok(Self(connection))
    }

    /// Asks, and waits for the answer.
    pub(crate) fn ask(&mut self, request: Request) -> Result<Answer, TalkError> {
        let mut question = Vec::new();
        request.push(&mut question);
        self.0.write_all(&question)?;
        loop {
            let payload = self.frame()?;
            match Payload::of(&payload) {
                Ok(Payload::Ping) => {
                    let mut pong = Vec::new();
                    ni::push_frame(&mut pong, ni::PONG);
                    self.0.write_all(&pong)?;
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

    /// What it really uses.
    ///
    /// # Errors
    /// When the other side is gone already.
    pub(crate) fn transport(&self) -> io::Result<Transport> {
        self.0.transport()
    }

    /// The socket, for whoever goes on with it.
    pub(crate) fn into_socket(self) -> OwnedFd {
        self.0.into_socket()
    }

    fn frame(&mut self) -> Result<Vec<u8>, TalkError> {
        let mut header = [0; HEADER_BYTES];
        self.0.read_exact(&mut header)?;
        if header.starts_with(TLS_ALERT) {
            return Err(TalkError::Tls);
        }
        let length = ni::payload_length(&header).unwrap_or(0);
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length > ANSWER_BYTES_MAX {
            return Err(Misunderstood::Fields(length).into());
        }
        let mut payload = vec![0; length];
        self.0.read_exact(&mut payload)?;
        Ok(payload)
    }
}
