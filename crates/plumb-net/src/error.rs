//! Why the network layer did not run.

use plumb_engine::EngineError;
use plumb_measure::ByteSize;

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
    /// No verb was named.
    #[error("name a verb: ping or serve")]
    NoVerb,
    /// Standard output or standard error could not be written.
    #[error("cannot write output: {0}")]
    Output(#[from] std::io::Error),
}
