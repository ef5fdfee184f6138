//! The flight service in `OData`, versions 2 and 4, without I/O: requests are read, entities are
//! written.
//!
//! A path becomes a [`Resource`] of a [`Service`], the query its [`Options`] with their [`filter`];
//! [`batch`] reads many requests out of one, [`values`] what a client writes of an entity. An
//! [`Entity`] is a row of the database with its type ([`model`]); [`atom`], [`json`] and [`json4`] write
//! it in a [`Format`], [`metadata`] and [`metadata4`] describe its type. What cannot be understood is a
//! [`Refusal`].
//!
//! # Source
//! OData Version 2.0: Overview, URI Conventions, Operations, Atom Format, JSON Format (odata.org).
//! OData Version 4.0: Protocol, URL Conventions, JSON Format (OASIS).

pub mod atom;
pub mod batch;
mod change_set;
mod entity;
pub mod filter;
mod format;
pub mod json;
pub mod json4;
pub mod key;
pub mod media_type;
pub mod metadata;
pub mod metadata4;
pub mod model;
mod multipart;
mod options;
mod path;
mod refusal;
mod sap_path;
mod service;
pub mod values;
mod version;
pub mod xml;

pub use change_set::Change;
pub use entity::{Entity, decimal};
pub use format::Format;
pub use options::Options;
pub use path::Resource;
pub use refusal::Refusal;
pub use sap_path::SapPath;
pub use service::Service;
pub use version::Version;
