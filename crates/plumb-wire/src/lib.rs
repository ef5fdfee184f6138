//! Pure codecs: bytes to messages and back. No I/O, no clock; a decoder allocates nothing for a
//! message that is like the last one.

pub mod http;
pub mod ni;
