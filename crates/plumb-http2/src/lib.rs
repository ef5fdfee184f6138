//! A client of HTTP/2 without I/O: what stands in frames, which streams are under way, and what
//! either side may still send.
//!
//! A [`Client`] is one connection: [`begin`](Client::begin) appends a request to what is to be sent,
//! [`read`](Client::read) takes bytes that came and says what they mean. A [`Request`] is encoded
//! once and copied for each stream; an answer whose head has the bytes of the last one is not decoded
//! again.
//!
//! # Source
//! RFC 9113 (HTTP/2) and RFC 7541 (HPACK).

mod client;
mod error;
mod fields;
mod frame;
mod hpack;
mod request;
mod settings;
mod streams;

pub use client::{Client, Event};
pub use error::{ErrorCode, Violation};
pub use fields::{Fault, Head, LINES_BYTES_MAX};
pub use request::{NoRequest, Request, field};
