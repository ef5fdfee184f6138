//! HAR 1.2: what browsers and recording proxies save.

mod authorization;
mod chain;
mod convert;
mod cookies;
mod given;
mod headers;
mod kept;
mod multipart;
mod parts;
mod read;
mod shown;
mod timeline;

pub(crate) use convert::import;
