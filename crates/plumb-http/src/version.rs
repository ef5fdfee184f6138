//! The version of HTTP that is spoken.

use std::fmt;

use clap::ValueEnum;
use plumb_wire::http::{Scheme, Url};
use serde::Serialize;

use crate::HttpError;

/// A version of HTTP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize)]
pub enum HttpVersion {
    /// HTTP/1.1: one request after the other on a connection
    #[default]
    #[value(name = "1.1")]
    #[serde(rename = "1.1")]
    One,
    /// HTTP/2: over https as the handshake agrees on (ALPN), over http without asking
    #[value(name = "2")]
    #[serde(rename = "2")]
    Two,
}

impl HttpVersion {
    /// The protocols that are asked for in a handshake: a server that speaks the other version as
    /// well must not choose it.
    pub(crate) fn alpn(self) -> &'static [&'static [u8]] {
        match self {
            Self::One => &[b"http/1.1"],
            Self::Two => &[b"h2"],
        }
    }

    /// Refuses to speak this version to a proxy that passes on single requests.
    ///
    /// # Errors
    /// [`HttpError::Http2`].
    pub(crate) fn check_proxied(self, proxied: bool, url: &Url) -> Result<(), HttpError> {
        if self == Self::Two && proxied && url.scheme() == Scheme::Http {
            let problem = "a proxy passes on requests for http:// URLs over HTTP/1.1 only; ask for \
                           https://, or leave --proxy out";
            return Err(HttpError::Http2 { problem });
        }
        Ok(())
    }
}

impl fmt::Display for HttpVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::One => "1.1",
            Self::Two => "2",
        })
    }
}
