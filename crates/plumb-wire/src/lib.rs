//! Pure codecs: bytes to messages and back. No I/O and no clock; a decoder of what is timed
//! allocates nothing.

pub mod extension;
pub mod ni;
pub mod route;
