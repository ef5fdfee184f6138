//! A socket, encrypted or not.

use plumb_measure::Transport;
use plumb_serve::database::tls::Encrypted;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use crate::stream::Wire;

use super::Trouble;

/// Room that answers are read into, at least.
const ROOM: usize = 8 << 10;

/// A socket, or what encrypts it, which lies over an `S`.
#[derive(Debug)]
pub(crate) enum Pipe<S> {
    Plain(Wire),
    Tls(Box<Encrypted<S>>),
    /// A handshake failed, or is under way.
    Gone,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Pipe<S> {
    /// Sends all of `bytes`.
    ///
    /// # Errors
    /// [`Trouble::Socket`].
    pub(crate) async fn send(&mut self, bytes: &[u8]) -> Result<(), Trouble> {
        match self {
            Self::Plain(wire) => wire.write_all(bytes).await?,
            Self::Tls(stream) => {
                stream.write_all(bytes).await?;
                stream.flush().await?;
            }
            Self::Gone => return Err(Trouble::gone()),
        }
        Ok(())
    }

    /// Appends what comes next to `inbox`.
    ///
    /// # Errors
    /// [`Trouble::Socket`], also at the end of what comes.
    pub(crate) async fn fill(&mut self, inbox: &mut Vec<u8>) -> Result<(), Trouble> {
        inbox.reserve(ROOM);
        let read = match self {
            Self::Plain(wire) => wire.read_buf(inbox).await?,
            Self::Tls(stream) => stream.read_buf(inbox).await?,
            Self::Gone => return Err(Trouble::gone()),
        };
        if read == 0 { Err(Trouble::ended()) } else { Ok(()) }
    }

    /// What the socket really is, without what encrypts it.
    pub(crate) fn transport(&self) -> Option<Transport> {
        match self {
            Self::Plain(wire) => wire.transport().ok(),
            Self::Tls(_) | Self::Gone => None,
        }
    }

    /// Takes the socket out, for what is to encrypt it; `None` where there is none, or it is encrypted.
    pub(crate) fn take_plain(&mut self) -> Option<Wire> {
        match std::mem::replace(self, Self::Gone) {
            Self::Plain(wire) => Some(wire),
            Self::Tls(_) | Self::Gone => None,
        }
    }
}
