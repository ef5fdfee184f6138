//! Why the network layer did not run.

use plumb_engine::{Endpoint, EngineError};
use plumb_measure::ByteSize;
use plumb_wire::datagram::{DATAGRAM_BYTES_MAX, HEAD_BYTES};
use plumb_wire::route::RouteError;

use crate::talk::TalkError;

/// The environment variable that holds the passwords of a route, a line for each `-` of it.
pub const PASSWORD_VARIABLE: &str = "PLUMB_ROUTE_PASSWORD";

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
    /// No datagram has that length.
    #[error(
        "--size {size} is no datagram of plumb: from {HEAD_BYTES}B, which hold token, number and time \
         stamp, to {DATAGRAM_BYTES_MAX}B, the longest that there is"
    )]
    Datagram {
        /// As asked for.
        size: ByteSize,
    },
    /// A datagram that may not be cut into fragments does not fit the path.
    #[error(
        "a datagram of {size} does not go there in one piece: the path takes packets of {mtu} bytes, \
         which hold {content}; take a --size of {content}B or less, or leave --do-not-fragment out"
    )]
    Fragments {
        /// As asked for.
        size: ByteSize,
        /// The longest packet, bytes.
        mtu: u32,
        /// The longest datagram in it, bytes.
        content: u32,
    },
    /// What goes over connections only was asked for over UDP, or the other way round.
    #[error("{0}")]
    Transport(&'static str),
    /// The memory of a server does not hold its largest message.
    #[error(
        "--max-memory {memory} is too little for messages of {message}: it must be {least} or more, or \
         --max-message smaller"
    )]
    Memory {
        /// As asked for.
        memory: ByteSize,
        /// The largest message.
        message: ByteSize,
        /// The least that would do.
        least: ByteSize,
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
    /// None of the addresses of a name answers over UDP; each with its cause.
    #[error("no address of that name answers over UDP: {0}")]
    NoneAnswers(String),
    /// A target of `net delay` without its port.
    #[error("`{target}` names no port: write for example {target}:3298")]
    NoPort {
        /// As given.
        target: String,
    },
    /// The text starts as a route and is none.
    #[error(transparent)]
    Route(#[from] RouteError),
    /// A password stands in the command line, where everybody can read it.
    #[error(
        "a password in the command line can be read by everybody on this machine: write /W/- and \
         be asked for it, or set {PASSWORD_VARIABLE}"
    )]
    OpenPassword,
    /// A password is to be asked for, and nobody is there to be asked.
    #[error(
        "the route asks for {asked} passwords and there is no terminal to ask on: set {PASSWORD_VARIABLE}, \
         with a line for each `-`"
    )]
    NoTerminal {
        /// How many passwords.
        asked: usize,
    },
    /// The environment holds more or fewer passwords than the route asks for.
    #[error(
        "{PASSWORD_VARIABLE} holds {given} passwords where the route has {asked} `-`: write a line for each"
    )]
    Passwords {
        /// `-` in the route.
        asked: usize,
        /// Lines in the environment variable.
        given: usize,
    },
    /// The terminal does not let itself be asked.
    #[error("cannot ask for the password of {host}: {cause}; set {PASSWORD_VARIABLE} instead")]
    Terminal {
        /// The hop.
        host: String,
        /// What the system said.
        cause: std::io::Error,
    },
    /// TLS begins with the first byte, where a router wants the route.
    #[error(
        "--tls does not go through a router, which must read the route first: leave one of them out"
    )]
    EncryptedRoute,
    /// No verb was named.
    #[error("name a verb: ping, stream, serve or delay")]
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
