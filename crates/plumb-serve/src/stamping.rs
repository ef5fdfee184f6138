//! How long a server has single requests, by time stamps of the kernel, for clients that ask in a header
//! line of theirs: told in a line of a later answer of the connection, since it is known only once the
//! answer has left. A connection of a client that never asked is read and written as ever.

use std::io::{self, IoSlice};
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use plumb_measure::Residence;
use plumb_wire::http::{ASK_HEADER, MessageName, StampedRequest, TOLD_HEADER};
use tokio::io::ReadBuf;
use tokio::net::TcpStream;

use crate::StampedSocket;

const ASK: HeaderName = HeaderName::from_static(ASK_HEADER);
const TOLD: HeaderName = HeaderName::from_static(TOLD_HEADER);

/// The stamps of one connection.
#[derive(Debug, Default)]
pub(crate) struct Stamping {
    /// Its packets can be stamped, as far as is known.
    possible: AtomicBool,
    /// Somebody asked.
    asked: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// None until the kernel was asked.
    socket: Option<StampedSocket>,
    /// The request whose answer is marked.
    marked: MessageName,
    due: Option<StampedRequest>,
}

/// A request that asked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked(MessageName);

impl Stamping {
    /// Of a connection whose packets can be stamped if it is of TCP without TLS.
    pub(crate) fn new(possible: bool) -> Self {
        Self { possible: AtomicBool::new(possible), ..Self::default() }
    }

    /// Whether a request with these `headers` asked. The line is taken out: whoever a request is passed
    /// on to has it on another connection.
    pub(crate) fn asked(&self, headers: &mut HeaderMap) -> Option<Asked> {
        let value = headers.remove(ASK)?;
        let name = value.to_str().ok().and_then(MessageName::read)?;
        self.possible.load(Ordering::Relaxed).then_some(Asked(name))
    }

    /// An answer with these `headers` is complete: adds what is to be told, and has it stamped if its
    /// request `asked`.
    pub(crate) fn answer(&self, asked: Option<Asked>, headers: &mut HeaderMap) {
        if asked.is_none() && !self.is_on() {
            return;
        }
        let mut state = self.state();
        if let Some(told) = state.due.take() {
            insert(headers, TOLD, &told.value());
        }
        let Some(Asked(name)) = asked else { return };
        insert(headers, ASK, &format!("{:x}", name.0));
        self.asked.store(true, Ordering::Relaxed);
        if name != MessageName::default()
            && let Some(socket) = &mut state.socket
        {
            socket.stamps.mark();
            state.marked = name;
        }
    }

    /// True once somebody asked.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Asks the kernel to stamp the packets of `stream`, once; false when it will not: then the stream is
    /// read and written as if nobody had asked.
    pub(crate) fn stands(&self, stream: &TcpStream) -> bool {
        let mut state = self.state();
        if state.socket.is_none() {
            state.socket = StampedSocket::ask(stream).ok();
        }
        let stands = state.socket.is_some();
        if !stands {
            self.possible.store(false, Ordering::Relaxed);
            self.asked.store(false, Ordering::Relaxed);
        }
        stands
    }

    /// As `poll_read` of the stream, once its stamps [stand](Self::stands).
    pub(crate) fn poll_read(
        &self,
        stream: &TcpStream,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut state = self.state();
        let Some(socket) = &mut state.socket else { return Poll::Ready(Err(not_asked())) };
        ready!(socket.poll_read(stream, context, into))?;
        state.look(stream);
        Poll::Ready(Ok(()))
    }

    /// As `poll_write_vectored` of the stream, once its stamps [stand](Self::stands).
    pub(crate) fn poll_write(
        &self,
        stream: &TcpStream,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.state().socket {
            Some(socket) => socket.poll_write(stream, context, pieces),
            None => Poll::Ready(Err(not_asked())),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Something was read: the marked answer has reached its client, if it was sent.
    fn look(&mut self, stream: &TcpStream) {
        let Some(StampedSocket { stamps, .. }) = &mut self.socket else { return };
        if !stamps.has_begun() {
            return;
        }
        let residence = stamps.take_residence(stream.as_fd());
        stamps.unmark();
        let name = self.marked;
        self.due = residence.map(|Residence { waking_ns, work_ns, sending_ns }| StampedRequest {
            name,
            waking_ns,
            work_ns,
            sending_ns,
        });
    }
}

fn not_asked() -> io::Error {
    io::Error::other("the kernel was not asked for time stamps")
}

fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// Bounds a wait for the kernel, which begins to stamp what comes in a moment after it was asked.
    const ROUNDS_MAX: u64 = 100_000;

    async fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let one = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        (one, listener.accept().await.unwrap().0)
    }

    fn run(task: impl Future<Output = ()>) {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().build().unwrap().block_on(task);
    }

    async fn write(stamping: &Stamping, stream: &TcpStream, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (front, back) = bytes.split_at(bytes.len() / 2);
            let pieces = [IoSlice::new(front), IoSlice::new(back)];
            let written = poll_fn(|context| stamping.poll_write(stream, context, &pieces)).await;
            bytes = &bytes[written.unwrap()..];
        }
    }

    async fn read(stamping: &Stamping, stream: &TcpStream, bytes: &mut [u8]) {
        let mut into = ReadBuf::new(bytes);
        while into.remaining() > 0 {
            poll_fn(|context| stamping.poll_read(stream, context, &mut into)).await.unwrap();
        }
    }

    fn asking(name: &str) -> HeaderMap {
        HeaderMap::from_iter([(ASK, name.parse().unwrap())])
    }

    #[test]
    fn a_request_that_asks_is_told_of_in_the_answer_to_the_next() {
        run(async {
            let (mut client, stream) = pair().await;
            let stamping = Stamping::new(true);
            let mut told = 0;
            for round in 0..ROUNDS_MAX {
                client.write_all(b"ask").await.unwrap();
                let mut headers = asking(&format!("{round:x}"));
                assert!(stamping.stands(&stream));
                read(&stamping, &stream, &mut [0; 3]).await;
                let asked = stamping.asked(&mut headers);
                assert!(headers.is_empty(), "the line is the server's own");
                stamping.answer(asked, &mut headers);
                assert_eq!(headers[ASK], format!("{round:x}"));
                write(&stamping, &stream, b"answer").await;
                client.read_exact(&mut [0; 6]).await.unwrap();
                let Some(value) = headers.get(TOLD) else { continue };
                let of = StampedRequest::read(value.to_str().unwrap()).unwrap();
                assert_eq!(of.name, MessageName(round - 1));
                told += 1;
                if told == 20 {
                    return;
                }
            }
            panic!("{told} requests were told of");
        });
    }

    /// Far more than the buffers hold, to a client that reads once they are full.
    #[test]
    fn a_long_answer_that_is_stamped_goes_through_as_any_other() {
        run(async {
            let (mut client, stream) = pair().await;
            let stamping = Stamping::new(true);
            assert!(stamping.stands(&stream));
            client.write_all(b"ask").await.unwrap();
            read(&stamping, &stream, &mut [0; 3]).await;
            let mut headers = asking("1");
            let asked = stamping.asked(&mut headers);
            stamping.answer(asked, &mut headers);
            let sent: Vec<u8> = (0..12_000_000_u32).map(|at| (at % 251) as u8).collect();
            let mut came = vec![0; sent.len()];
            // the first to run fills the buffers before the other reads
            let reading = async { client.read_exact(&mut came).await.map(drop).unwrap() };
            tokio::join!(write(&stamping, &stream, &sent), reading);
            assert!(came == sent, "other bytes came");
        });
    }

    #[test]
    fn without_a_question_nothing_is_said() {
        let stamping = Stamping::new(true);
        let mut headers = HeaderMap::new();
        let asked = stamping.asked(&mut headers);
        stamping.answer(asked, &mut headers);
        assert!(headers.is_empty() && !stamping.is_on());
        for (possible, name) in [(false, "1"), (true, "no name")] {
            let mut headers = asking(name);
            assert!(Stamping::new(possible).asked(&mut headers).is_none());
        }
    }
}
