//! Why figures cannot be sent anywhere.

use plumb_engine::EngineError;
use plumb_wire::http::UrlError;
use thiserror::Error;

/// Why a receiver cannot be used. Nothing was measured yet.
#[derive(Debug, Error)]
pub enum TelemetryError {
    /// What was named is no address: say `http://HOST:PORT/PATH`.
    #[error(
        "--{option} {url}: {}",
        .cause.with_credentials(&format!("give {variables}_USER and {variables}_PASSWORD in the environment"))
    )]
    Url {
        /// The option.
        option: &'static str,
        /// As it was named, without secrets.
        url: String,
        /// What the variables of its credentials begin with.
        variables: &'static str,
        /// What is wrong with it.
        cause: UrlError,
    },
    /// No certificates to believe, or a name that has none.
    #[error("--{option}: {cause}")]
    Tls {
        /// The option.
        option: &'static str,
        /// What is wrong.
        cause: Box<EngineError>,
    },
    /// Credentials that contradict each other, are half, or cannot be read.
    #[error("--{option}: {problem}")]
    Credentials {
        /// The option.
        option: &'static str,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// No thread can be started.
    #[error("--{option}: no thread can be started to send figures: {cause}")]
    Thread {
        /// The option.
        option: &'static str,
        /// What the system says.
        cause: std::io::Error,
    },
}
