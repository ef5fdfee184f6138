//! A connection's bytes in both directions, whatever carries them.

use tokio::io::{AsyncRead, AsyncWrite};

/// Bytes in both directions.
pub trait ByteStream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> ByteStream for S {}

/// Bytes over a socket, in a tunnel, in TLS: what speaks HTTP over it is compiled once for all of them.
pub type BoxedStream = Box<dyn ByteStream>;
