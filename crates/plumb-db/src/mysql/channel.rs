//! What a session reads and writes: packets over a socket, encrypted or not.

use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use plumb_measure::Transport;
use plumb_serve::database::tls::Encrypted;
use tokio::io::AsyncWrite as _;

use crate::client::{Pipe, Refusal, Trouble};
use crate::stream::Wire;
use plumb_serve::Arrivals;

use plumb_sql::mysql::{self as wire, HEAD, LONGEST};

/// Room that the first answers are read into.
const ROOM: usize = 16 << 10;
/// The longest packet while nothing was said of how large answers may be.
const SHORT: usize = 1 << 20;

/// The server ends the session, or all of them.
const ENDED: [u16; 3] = [1053, 1077, 1927];

/// A refusal of the server.
pub(super) fn refused(refusal: &wire::Refusal<'_>) -> Trouble {
    Trouble::Refused(Refusal {
        number: refusal.code.into(),
        is_fatal: ENDED.contains(&refusal.code),
        message: String::from_utf8_lossy(refusal.message).replace('\n', " "),
    })
}

/// Packets over a socket. A packet is taken only when all of it has come, so whoever stops waiting loses
/// none.
#[derive(Debug)]
pub(super) struct Channel {
    pipe: Pipe<Wire>,
    /// When what was asked is answered.
    pub(super) arrivals: Arc<Arrivals>,
    /// What has come and was not taken yet: from `at`.
    inbox: Vec<u8>,
    at: usize,
    /// What goes out next.
    pub(super) outbox: Vec<u8>,
    longest: usize,
}

impl Channel {
    pub(super) fn plain(wire: Wire) -> Self {
        let arrivals = wire.arrivals();
        Self {
            pipe: Pipe::Plain(wire),
            arrivals,
            inbox: Vec::with_capacity(ROOM),
            at: 0,
            outbox: Vec::new(),
            longest: SHORT,
        }
    }

    /// The same behind a `handshake`.
    ///
    /// # Errors
    /// That of the handshake, or [`Trouble::Garbled`] when something has come already, which would then
    /// be taken for encrypted.
    pub(super) async fn encrypted<F>(
        &mut self,
        handshake: impl FnOnce(Wire) -> F,
    ) -> Result<io::Result<()>, Trouble>
    where
        F: Future<Output = io::Result<Encrypted<Wire>>>,
    {
        if self.at < self.inbox.len() {
            return Err(Trouble::Garbled);
        }
        let wire = self.pipe.take_plain().ok_or(Trouble::Garbled)?;
        Ok(handshake(wire).await.map(|stream| self.pipe = Pipe::Tls(Box::new(stream))))
    }

    /// Packets may be so long, and a little for what is around the values.
    pub(super) fn takes(&mut self, bytes: u64) {
        self.longest = usize::try_from(bytes).unwrap_or(usize::MAX / 2).saturating_add(SHORT);
    }

    /// What the socket really is, without what encrypts it.
    pub(super) fn transport(&self) -> Option<Transport> {
        self.pipe.transport()
    }

    /// Sends what stands in the outbox.
    ///
    /// # Errors
    /// [`Trouble::Socket`].
    pub(super) async fn send(&mut self) -> Result<(), Trouble> {
        self.pipe.send(&self.outbox).await?;
        self.outbox.clear();
        Ok(())
    }

    /// The payload of the next packet, and its number.
    ///
    /// # Errors
    /// [`Trouble`], also when it is longer than packets may be.
    pub(super) async fn packet(&mut self) -> Result<(&[u8], u8), Trouble> {
        let (range, number) = loop {
            if let Some(found) = self.whole()? {
                break found;
            }
            self.fill().await?;
        };
        self.at = range.end;
        self.arrivals.begun();
        Ok((&self.inbox[range], number))
    }

    /// Where the next packet lies, if all of it has come. One that is continued is put together.
    fn whole(&mut self) -> Result<Option<(Range<usize>, u8)>, Trouble> {
        let first = self.at + HEAD;
        let (mut end, mut total) = (self.at, 0);
        loop {
            let head = self.inbox.get(end..end + HEAD).and_then(|it| it.try_into().ok());
            let Some(head) = head else { return Ok(None) };
            let (length, number) = wire::head(head);
            total += length;
            if total > self.longest {
                return Err(Trouble::TooLong);
            }
            if self.inbox.len() < end + HEAD + length {
                return Ok(None);
            }
            if length < LONGEST {
                break self.join(first, end, length, total).map(|range| Some((range, number)));
            }
            end += HEAD + length;
        }
    }

    /// Puts a packet together whose last part, of `length`, begins at `last`: heads between parts go.
    fn join(
        &mut self,
        first: usize,
        last: usize,
        length: usize,
        total: usize,
    ) -> Result<Range<usize>, Trouble> {
        let end = last + HEAD + length;
        if first == last + HEAD {
            return Ok(first..end);
        }
        let mut parts = Vec::with_capacity(total);
        let mut at = first;
        while at < end {
            let until = (at + LONGEST).min(end);
            parts.extend_from_slice(&self.inbox[at..until]);
            at = until + HEAD;
        }
        // the joined packet ends where its last part did
        let start = end.checked_sub(parts.len()).ok_or(Trouble::Garbled)?;
        self.inbox[start..end].copy_from_slice(&parts);
        Ok(start..end)
    }

    /// Says farewell, if that can be done at once: a server counts those who do not.
    fn farewell(&mut self) {
        self.outbox.clear();
        wire::quit(&mut self.outbox);
        let mut context = Context::from_waker(Waker::noop());
        match &mut self.pipe {
            Pipe::Plain(wire) => {
                let _ = Pin::new(wire).poll_write(&mut context, &self.outbox);
            }
            Pipe::Tls(stream) => {
                let _ = Pin::new(&mut **stream).poll_write(&mut context, &self.outbox);
                let _ = Pin::new(&mut **stream).poll_flush(&mut context);
            }
            Pipe::Gone => {}
        }
    }

    async fn fill(&mut self) -> Result<(), Trouble> {
        if self.at == self.inbox.len() {
            self.inbox.clear();
            self.at = 0;
        } else if self.at > ROOM {
            self.inbox.drain(..self.at);
            self.at = 0;
        }
        self.pipe.fill(&mut self.inbox).await
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.farewell();
    }
}

#[cfg(test)]
mod tests {
    use plumb_measure::FailureKind;
    use tokio::io::AsyncWriteExt as _;
    use tokio::net::UnixStream;

    use super::*;
    use crate::answer::Failure as _;

    async fn channel(bytes: Vec<u8>) -> Channel {
        let (near, mut far) = UnixStream::pair().unwrap();
        tokio::spawn(async move {
            // whoever reads may stop before the end
            let _ = far.write_all(&bytes).await;
        });
        Channel::plain(Wire::of_pair(near))
    }

    fn block_on<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
    }

    #[test]
    fn a_packet_of_many_parts_is_one() {
        block_on(async {
            let mut bytes = vec![0xff, 0xff, 0xff, 0];
            bytes.resize(HEAD + LONGEST, b'a');
            bytes.extend([2, 0, 0, 1, b'b', b'c', 1, 0, 0, 0, b'd']);
            let mut channel = channel(bytes).await;
            channel.takes(LONGEST as u64);
            let (payload, number) = channel.packet().await.unwrap();
            assert_eq!((payload.len(), number), (LONGEST + 2, 1));
            assert_eq!((payload[0], &payload[LONGEST..]), (b'a', &b"bc"[..]));
            assert_eq!(channel.packet().await.unwrap(), (&b"d"[..], 0));
            let end = channel.packet().await.unwrap_err();
            assert_eq!(end.kind(), FailureKind::Closed);
        });
    }

    #[test]
    fn a_packet_that_is_too_long_is_not_waited_for() {
        block_on(async {
            let mut channel = channel(vec![0xff, 0xff, 0xff, 0]).await;
            assert!(matches!(channel.packet().await, Err(Trouble::TooLong)));
        });
    }
}
