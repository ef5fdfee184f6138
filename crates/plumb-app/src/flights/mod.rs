//! The flight service: `OData` version 2 in two modes and version 4, and a compact twin of the same
//! data. What requests and answers look like is in `plumb_odata`; here they meet the database.

mod compact;
mod data;
mod document;
mod failure;
pub(crate) mod parts;
mod reader;
mod serve;
mod write;

pub(crate) use compact::serve as compact;
pub(crate) use failure::failure;
pub(crate) use serve::serve;
pub(crate) use write::change;
