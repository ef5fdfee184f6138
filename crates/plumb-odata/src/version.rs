//! The versions of the protocol.

use hyper::header::HeaderName;

/// A version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// 2.0.
    Two,
    /// 4.0.
    Four,
}

impl Version {
    /// The header that names it, and the version.
    #[must_use]
    pub fn header(self) -> (HeaderName, &'static str) {
        match self {
            Self::Two => (HeaderName::from_static("dataserviceversion"), "2.0"),
            Self::Four => (HeaderName::from_static("odata-version"), "4.0"),
        }
    }
}
