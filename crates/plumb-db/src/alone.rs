//! A connection that has the thread to itself: an answer that is to come soon is waited for within the receive.
//! There is nobody else for the runtime to look after meanwhile, and its wait, and what it makes of it, are part
//! of the time of a call.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use plumb_engine::clock::MonotonicClock;
use plumb_measure::Clock as _;
use plumb_serve::ClientSocket;
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{RecvFlags, SendFlags, recv, send};
use tokio::io::{Interest, ReadBuf};

use crate::rest::Rest;
use plumb_serve::Arrivals;

/// A receive waits for so long at most, which the kernel makes a tick of its own; the runtime waits on.
const LONGEST: Duration = Duration::from_millis(1);
/// Where the last answer took longer, the runtime waits for the next from the beginning.
const SOON_NS: u64 = 1_000_000;
/// Bytes that are received at once.
const ROOM: usize = 4 << 10;

/// The waits of one connection.
#[derive(Debug)]
pub(crate) struct Alone {
    rest: Arc<Rest>,
    /// When what is waited for was asked; nothing is while it is zero.
    asked_ns: u64,
    /// The last answer came soon.
    soon: bool,
}

impl Alone {
    /// Of a connection over `socket`, which from now on only this receives from and sends to; `None` where a
    /// socket of this kind cannot.
    ///
    /// # Errors
    /// What the kernel says.
    pub(crate) fn of(socket: &ClientSocket, rest: &Arc<Rest>) -> io::Result<Option<Self>> {
        let Some(descriptor) = socket.waits_for() else { return Ok(None) };
        set_socket_timeout(descriptor, Timeout::Recv, Some(LONGEST))?;
        rustix::io::ioctl_fionbio(descriptor, false)?;
        Ok(Some(Self { rest: Arc::clone(rest), asked_ns: 0, soon: false }))
    }

    /// As `poll_read` of the socket.
    pub(crate) fn poll_read(
        &mut self,
        socket: &ClientSocket,
        arrivals: &Arrivals,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let room = into.remaining().min(ROOM);
        let room = into.initialize_unfilled_to(room);
        let came = match self.within_receive(socket, arrivals, room) {
            Some(came) => came?,
            None => loop {
                ready!(socket.poll_ready(context, Interest::READABLE))?;
                match socket.try_io(Interest::READABLE, |it| {
                    Ok(recv(it, &mut *room, RecvFlags::DONTWAIT)?.0)
                }) {
                    Err(nothing) if nothing.kind() == io::ErrorKind::WouldBlock => {}
                    came => break came?,
                }
            },
        };
        if self.asked_ns > 0 {
            self.soon = MonotonicClock.now_ns().saturating_sub(self.asked_ns) < SOON_NS;
            self.asked_ns = 0;
        }
        into.advance(came);
        Poll::Ready(Ok(()))
    }

    /// What comes while the receive itself waits; `None` when it is not to, or nothing came.
    fn within_receive(
        &mut self,
        socket: &ClientSocket,
        arrivals: &Arrivals,
        room: &mut [u8],
    ) -> Option<io::Result<usize>> {
        if !arrivals.stop_waiting() {
            return None;
        }
        self.rest.begins();
        let came = recv(socket.waits_for()?, room, RecvFlags::empty());
        self.rest.ends();
        match came {
            Ok((came, _)) => Some(Ok(came)),
            Err(Errno::AGAIN | Errno::INTR) => None,
            Err(error) => Some(Err(error.into())),
        }
    }

    /// As `poll_write` of the socket; an answer is waited for then.
    pub(crate) fn poll_write(
        &mut self,
        socket: &ClientSocket,
        arrivals: &Arrivals,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        const FLAGS: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);
        loop {
            ready!(socket.poll_ready(context, Interest::WRITABLE))?;
            match socket.try_io(Interest::WRITABLE, |it| Ok(send(it, bytes, FLAGS)?)) {
                Err(full) if full.kind() == io::ErrorKind::WouldBlock => {}
                sent => {
                    self.asked_ns = MonotonicClock.now_ns();
                    if self.soon {
                        arrivals.wait();
                    }
                    return Poll::Ready(sent);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use plumb_measure::Tick;
    use std::sync::atomic::Ordering;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::UnixListener;

    use super::*;
    use crate::rest::Passes;
    use crate::stream::{Traffic, Wire};
    use plumb_engine::Endpoint;

    /// An answer that comes soon, over and over; then one that is longer than what is received at once.
    #[test]
    fn answers_come_whole_whoever_waits_for_them() {
        const LONG: usize = 3 * ROOM + 1;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let passes = Arc::<Passes>::default();
        let rest = Rest::new(&passes, Tick::Free).unwrap();
        let server = std::os::unix::net::UnixListener::bind(&path).unwrap();
        server.set_nonblocking(true).unwrap();
        let far = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
            runtime.block_on(async {
                let server = UnixListener::from_std(server).unwrap();
                let (mut stream, _) = server.accept().await.unwrap();
                while let Ok(asked) = stream.read_u8().await {
                    let length = if asked == 0 { LONG } else { usize::from(asked) };
                    stream.write_all(&vec![asked; length]).await.unwrap();
                }
            });
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let counted = runtime.block_on(async {
            let traffic = Arc::new(Traffic::default().alone(&rest));
            let mut wire =
                Wire::connect(&Endpoint::Unix(path), Arc::clone(&traffic)).await.unwrap();
            let asks = (1..=200_u8).chain([0, 7]);
            for asked in asks {
                wire.write_all(&[asked]).await.unwrap();
                let length = if asked == 0 { LONG } else { usize::from(asked) };
                let mut answer = vec![1; length];
                wire.read_exact(&mut answer).await.unwrap();
                assert!(answer.iter().all(|it| *it == asked), "{asked}");
            }
            traffic.received.load(Ordering::Relaxed)
        });
        assert_eq!(counted, (1..=200).sum::<u64>() + LONG as u64 + 7);
        assert!(passes.all.load(Ordering::Relaxed) > 0, "some were waited for within the receive");
        far.join().unwrap();
    }
}
