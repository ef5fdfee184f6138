//! Why the network layer did not run.

use plumb_engine::EngineError;
use plumb_measure::ByteSize;
use plumb_wire::route::RouteError;

use crate::password::PASSWORD_VARIABLE;

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
    #[error("name a verb: ping, serve or delay")]
    NoVerb,
    /// Standard output or standard error could not be written.
    #[error("cannot write output: {0}")]
    Output(#[from] std::io::Error),
}
