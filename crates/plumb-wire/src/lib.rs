//! Pure codecs: bytes to messages and back. No I/O, no clock, no allocation in a decoder.

pub mod ni;
pub mod route;
