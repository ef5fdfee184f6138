//! The process that the other side named when a session began. The driver keeps it for requests to
//! cancel and tells it nobody, so one such request is written to a sheet of paper and read there.

use std::future::{Ready, ready};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Client;
use tokio_postgres::tls::{ChannelBinding, TlsConnect, TlsStream};

/// A request to cancel: its length, its code, a process and a secret, 4 bytes each.
const REQUEST_BYTES: usize = 16;
const CODE: i32 = 80_877_102;
/// What a server answers that would encrypt.
const ENCRYPT: u8 = b'S';

/// The process that `client` would cancel; `None` when the driver writes something else.
pub(crate) async fn of(client: &Client) -> Option<i32> {
    let paper = Paper::default();
    client.cancel_token().cancel_query_raw(paper.clone(), NoHandshake).await.ok()?;
    paper.with(|written| named(written))
}

/// The process that the request at the end of `written` names.
fn named(written: &[u8]) -> Option<i32> {
    let at = written.len().checked_sub(REQUEST_BYTES)?;
    let (numbers, _) = written[at..].as_chunks::<4>();
    let [length, code, process, _] = numbers.try_into().ok()?;
    let request = [length, code].map(i32::from_be_bytes);
    (request == [16, CODE]).then(|| i32::from_be_bytes(process))
}

/// Keeps what is written, and says yes to whoever asks for encryption.
#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl Paper {
    fn with<R>(&self, read: impl FnOnce(&mut Vec<u8>) -> R) -> R {
        read(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl AsyncRead for Paper {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if into.remaining() > 0 {
            into.put_slice(&[ENCRYPT]);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Paper {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.with(|written| written.extend_from_slice(bytes));
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl TlsStream for Paper {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

/// Nothing is encrypted on paper.
struct NoHandshake;

impl TlsConnect<Paper> for NoHandshake {
    type Stream = Paper;
    type Error = io::Error;
    type Future = Ready<io::Result<Paper>>;

    fn connect(self, paper: Paper) -> Self::Future {
        ready(Ok(paper))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_stands_behind_length_and_code() {
        let mut written = b"\0\0\0\x08\x04\xd2\x16\x2f".to_vec(); // asks for encryption first
        written.extend([16, CODE, 4_711, 7].into_iter().flat_map(i32::to_be_bytes));
        assert_eq!(named(&written), Some(4_711));
        assert_eq!(named(&written[..20]), None);
        assert_eq!(named(&[]), None);
    }
}
