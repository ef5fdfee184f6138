//! The flight service: `OData` version 2 in two modes and version 4, and a compact twin of the same
//! data.
//!
//! # Source
//! OData Version 2.0: Overview, URI Conventions, Operations, Atom Format, JSON Format (odata.org).
//! OData Version 4.0: Protocol, URL Conventions, JSON Format (OASIS).

mod atom;
pub(crate) mod batch;
mod change_set;
mod compact;
mod data;
mod document;
mod entity;
mod failure;
mod filter;
mod format;
mod json;
mod json4;
mod key;
mod media_type;
mod metadata;
mod metadata4;
mod model;
mod multipart;
mod options;
pub(crate) mod parts;
mod path;
mod reader;
mod serve;
mod service;
mod values;
mod version;
mod write;
mod xml;

pub(crate) use change_set::Change;
pub(crate) use compact::serve as compact;
pub(crate) use failure::failure;
pub(crate) use format::Format;
pub(crate) use path::Resource;
pub(crate) use serve::serve;
pub(crate) use service::Service;
pub(crate) use version::Version;
pub(crate) use write::change;
