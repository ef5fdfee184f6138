//! The document that actions read: as it came in, or as an action made it.

use bytes::Bytes;

/// A document by its form.
#[derive(Clone, Copy, Debug)]
pub enum Body<'a> {
    /// XML, as its bytes.
    Xml(&'a [u8]),
    /// JSON, as its bytes.
    Json(&'a [u8]),
}

impl<'a> Body<'a> {
    /// Its bytes.
    #[must_use]
    pub fn bytes(self) -> &'a [u8] {
        match self {
            Self::Xml(bytes) | Self::Json(bytes) => bytes,
        }
    }

    /// What it is called where documents are sent.
    #[must_use]
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Xml(_) => "application/xml",
            Self::Json(_) => "application/json",
        }
    }
}

/// What the actions of an execution read. A clone shares it.
#[derive(Clone, Debug)]
pub(super) enum Document<'a> {
    /// The message.
    Given(Body<'a>),
    /// XML that an action made.
    MadeXml(Bytes),
    /// JSON that an action made.
    MadeJson(Bytes),
}

impl Document<'_> {
    pub(super) fn body(&self) -> Body<'_> {
        match self {
            Self::Given(body) => *body,
            Self::MadeXml(bytes) => Body::Xml(bytes),
            Self::MadeJson(bytes) => Body::Json(bytes),
        }
    }
}
