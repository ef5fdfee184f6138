//! What ends a stream or a connection.

use std::fmt;

/// The code with which a stream or a connection ends.
///
/// # Source
/// RFC 9113, section 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ErrorCode(pub u32);

impl ErrorCode {
    /// Nothing is wrong.
    pub const NO_ERROR: Self = Self(0x0);
    /// The other side broke the protocol.
    pub const PROTOCOL_ERROR: Self = Self(0x1);
    /// The other side sent more than it may.
    pub const FLOW_CONTROL_ERROR: Self = Self(0x3);
    /// A frame came for a stream that is over.
    pub const STREAM_CLOSED: Self = Self(0x5);
    /// A frame is longer or shorter than it may be.
    pub const FRAME_SIZE_ERROR: Self = Self(0x6);
    /// The stream was refused before anything was done for it.
    pub const REFUSED_STREAM: Self = Self(0x7);
    /// The stream is not needed any more.
    pub const CANCEL: Self = Self(0x8);
    /// A header block cannot be decoded.
    pub const COMPRESSION_ERROR: Self = Self(0x9);
    /// The other side asks for too much.
    pub const ENHANCE_YOUR_CALM: Self = Self(0xb);

    const NAMES: [&'static str; 14] = [
        "NO_ERROR",
        "PROTOCOL_ERROR",
        "INTERNAL_ERROR",
        "FLOW_CONTROL_ERROR",
        "SETTINGS_TIMEOUT",
        "STREAM_CLOSED",
        "FRAME_SIZE_ERROR",
        "REFUSED_STREAM",
        "CANCEL",
        "COMPRESSION_ERROR",
        "CONNECT_ERROR",
        "ENHANCE_YOUR_CALM",
        "INADEQUATE_SECURITY",
        "HTTP_1_1_REQUIRED",
    ];
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match usize::try_from(self.0).ok().and_then(|at| Self::NAMES.get(at)) {
            Some(name) => f.write_str(name),
            None => write!(f, "error {:#x}", self.0),
        }
    }
}

/// What the other side did that no connection survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} ({code})")]
pub struct Violation {
    /// The code with which the connection ends.
    pub code: ErrorCode,
    /// In words that follow the name of the other side.
    pub what: &'static str,
}

impl Violation {
    pub(crate) const fn new(code: ErrorCode, what: &'static str) -> Self {
        Self { code, what }
    }

    pub(crate) const fn protocol(what: &'static str) -> Self {
        Self::new(ErrorCode::PROTOCOL_ERROR, what)
    }

    pub(crate) const fn size(what: &'static str) -> Self {
        Self::new(ErrorCode::FRAME_SIZE_ERROR, what)
    }

    pub(crate) const fn compression(what: &'static str) -> Self {
        Self::new(ErrorCode::COMPRESSION_ERROR, what)
    }

    pub(crate) const fn flow(what: &'static str) -> Self {
        Self::new(ErrorCode::FLOW_CONTROL_ERROR, what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_the_names_of_the_standard_and_others_their_number() {
        assert_eq!(ErrorCode::ENHANCE_YOUR_CALM.to_string(), "ENHANCE_YOUR_CALM");
        assert_eq!(ErrorCode(0xd).to_string(), "HTTP_1_1_REQUIRED");
        assert_eq!(ErrorCode(0x1f).to_string(), "error 0x1f");
    }
}
