//! HAR 1.2: what browsers and recording proxies save.

mod chain;
mod convert;
mod cookies;
mod headers;
mod kept;
mod multipart;
mod parts;
mod read;
mod shown;
mod timeline;

pub(crate) use convert::import;
