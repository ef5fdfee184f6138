//! Why the network layer did not run.

use plumb_engine::{Endpoint, EngineError};
use plumb_measure::ByteSize;

use crate::talk::TalkError;

/// Why there is no measurement, or no server. Each message says what to try.
#[derive(Debug, thiserror::Error)]
pub enum NetError {
    /// The engine could not begin.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The message is larger than a frame may announce here.
    #[error("a message of {size} is larger than the limit of {limit}; write a smaller --size")]
    TooLarge {
        /// As asked for.
        size: ByteSize,
        /// The limit of the protocol.
        limit: ByteSize,
    },
    /// The replies to one request are more than a server may send.
    #[error(
        "{replies} replies of {response} to one request are more than the limit of {limit}; ask \
         for fewer --replies or a smaller --response"
    )]
    TooMuch {
        /// As asked for.
        replies: u32,
        /// As asked for.
        response: ByteSize,
        /// The limit of the protocol.
        limit: ByteSize,
    },
    /// A time that must be above zero is not.
    #[error("{0} must be above 0s")]
    NoTime(&'static str),
    /// The other side was reached but is no plumb server, or refuses.
    #[error("{address} {complaint}")]
    Talk {
        /// Who.
        address: String,
        /// What it is or said, with what to try.
        complaint: String,
    },
    /// No verb was named.
    #[error("name a verb: ping, stream or serve")]
    NoVerb,
    /// Standard output or standard error could not be written.
    #[error("cannot write output: {0}")]
    Output(#[from] std::io::Error),
}

impl NetError {
    /// What became of a question to the server at `endpoint`.
    pub(crate) fn talk(endpoint: &Endpoint, error: TalkError) -> Self {
        match error {
            TalkError::Connect(error) => Self::Engine(error),
            other => Self::Talk { address: endpoint.to_string(), complaint: other.to_string() },
        }
    }
}
