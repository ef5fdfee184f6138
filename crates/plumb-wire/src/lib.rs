//! Pure codecs: bytes to messages and back. No I/O and no clock; a decoder of what is timed
//! allocates nothing for a message that is like the last one.

pub mod charset;
pub mod cidr;
pub mod datagram;
pub mod document;
pub mod expression;
pub mod extension;
pub mod http;
pub mod jsonpath;
pub mod ni;
pub mod percent;
pub mod postgres;
pub mod prometheus;
pub mod resp;
pub mod route;
pub mod secret;
pub mod stylesheet;
pub mod xpath;
