//! Media types of answers.

/// Many entities in Atom.
pub const FEED: &str = "application/atom+xml;type=feed;charset=utf-8";
/// One entity in Atom.
pub const ENTRY: &str = "application/atom+xml;type=entry;charset=utf-8";
/// The list of sets in Atom.
pub const SERVICE: &str = "application/atomsvc+xml;charset=utf-8";
/// Any other document in XML.
pub const XML: &str = "application/xml;charset=utf-8";
/// JSON of version 2.
pub const JSON: &str = "application/json;charset=utf-8";
/// JSON of version 4.
pub const JSON_4: &str = "application/json;odata.metadata=minimal;charset=utf-8";
/// A bare value.
pub const TEXT: &str = "text/plain;charset=utf-8";
