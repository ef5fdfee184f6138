//! Media types of answers.

pub(super) const FEED: &str = "application/atom+xml;type=feed;charset=utf-8";
pub(super) const ENTRY: &str = "application/atom+xml;type=entry;charset=utf-8";
pub(super) const SERVICE: &str = "application/atomsvc+xml;charset=utf-8";
pub(super) const XML: &str = "application/xml;charset=utf-8";
pub(super) const JSON: &str = "application/json;charset=utf-8";
pub(super) const JSON_4: &str = "application/json;odata.metadata=minimal;charset=utf-8";
pub(super) const TEXT: &str = "text/plain;charset=utf-8";
