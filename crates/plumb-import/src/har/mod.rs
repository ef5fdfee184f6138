//! HAR 1.2: what browsers and recording proxies save.

mod chain;
mod convert;
mod cookies;
mod headers;
mod kept;
mod parts;
mod read;
mod shown;
mod timeline;

pub(crate) use convert::import;
pub(crate) use headers::{is_left_out, is_sendable};
