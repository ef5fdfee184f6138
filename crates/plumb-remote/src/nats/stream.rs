//! A stream of bytes from one client of a NATS server to another.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use async_nats::{Client, HeaderMap, Message, Subscriber};
use futures_util::StreamExt as _;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::SILENCE_NS;

/// The header with the number of a piece.
const NUMBER: &str = "Plumb-Number";
/// Bytes of a piece: servers take a mebibyte by default.
const PIECE: usize = 256 << 10;
/// How long a server has to take the last piece.
const TAKEN: Duration = Duration::from_millis(900);
/// Pieces that have come and are not read.
const WAITING_MAX: usize = 256;

/// What the other side says. An empty piece is its end.
#[derive(Debug)]
pub struct NatsReader {
    pieces: Receiver<Result<Vec<u8>, ()>>,
    rest: io::Cursor<Vec<u8>>,
    /// What takes the pieces from the server, and has subscribed to them.
    taking: JoinHandle<()>,
}

impl NatsReader {
    pub(super) fn of(mut incoming: Subscriber, threads: &Runtime) -> Self {
        let (sender, pieces) = mpsc::sync_channel(WAITING_MAX);
        let taking = threads.spawn(async move {
            let mut expected = 0;
            while let Some(piece) = incoming.next().await {
                let whole = number(&piece) == Some(expected);
                let goes_on = whole && !piece.payload.is_empty();
                expected += 1;
                let piece = if whole { Ok(piece.payload.to_vec()) } else { Err(()) };
                // who does not read is as gone as who does not listen
                if sender.try_send(piece).is_err() || !goes_on {
                    break;
                }
            }
        });
        Self { pieces, rest: io::Cursor::default(), taking }
    }
}

impl Drop for NatsReader {
    fn drop(&mut self) {
        self.taking.abort(); // of one that was cut off no end comes, and nobody reads what else does
    }
}

fn number(piece: &Message) -> Option<u64> {
    piece.headers.as_ref()?.get(NUMBER)?.as_str().parse().ok()
}

impl Read for NatsReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.rest.read(buffer)?;
        if read > 0 || buffer.is_empty() {
            return Ok(read);
        }
        // both sides say now and then that they are there
        match self.pieces.recv_timeout(Duration::from_nanos(2 * SILENCE_NS)) {
            Ok(Ok(piece)) => {
                self.rest = io::Cursor::new(piece);
                self.rest.read(buffer)
            }
            Ok(Err(())) => {
                Err(io::Error::other("the NATS server has lost a part of what was said"))
            }
            Err(mpsc::RecvTimeoutError::Timeout) => Err(io::ErrorKind::TimedOut.into()),
            Err(mpsc::RecvTimeoutError::Disconnected) => Ok(0),
        }
    }
}

/// Waits until the server has taken everything that was said: a process that ends while there is
/// something for it to read resets its connection, and takes along what is still on its way.
async fn taken(client: &Client) {
    let inbox = client.new_inbox();
    if let Ok(mut echo) = client.subscribe(inbox.clone()).await
        && client.publish(inbox, Vec::new().into()).await.is_ok()
    {
        echo.next().await;
    }
}

/// What is said to the other side; its end is said when it is dropped.
#[derive(Debug)]
pub struct NatsWriter {
    client: Client,
    threads: Arc<Runtime>,
    subject: String,
    number: u64,
}

impl NatsWriter {
    pub(super) fn to(client: Client, threads: Arc<Runtime>, subject: String) -> Self {
        Self { client, threads, subject, number: 0 }
    }

    fn publish(&mut self, piece: &[u8]) -> io::Result<()> {
        let mut headers = HeaderMap::new();
        headers.insert(NUMBER, self.number.to_string().as_str());
        self.number += 1;
        let (subject, piece) = (self.subject.clone(), piece.to_vec().into());
        self.wait(self.client.publish_with_headers(subject, headers, piece))
    }

    /// A server that is away takes nothing; the other side has gone long before it comes back.
    fn wait<E: std::error::Error + Send + Sync + 'static>(
        &self,
        sent: impl Future<Output = Result<(), E>>,
    ) -> io::Result<()> {
        let sent = async { timeout(Duration::from_nanos(SILENCE_NS), sent).await };
        match self.threads.block_on(sent) {
            Ok(sent) => sent.map_err(io::Error::other),
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

impl Write for NatsWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = &bytes[..bytes.len().min(PIECE)];
        if !piece.is_empty() {
            self.publish(piece)?;
        }
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.wait(self.client.flush())
    }
}

impl Drop for NatsWriter {
    fn drop(&mut self) {
        let _ = self.publish(&[]); // whoever hears nothing more takes us for gone
        let _ = self.threads.block_on(async { timeout(TAKEN, taken(&self.client)).await });
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};
    use std::net::TcpListener;

    use super::*;
    use crate::{Nats, NatsTarget};

    /// A NATS server for one client, which hands out nothing; the commands come through the channel.
    fn server() -> (Nats, Receiver<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("nats://{}", listener.local_addr().unwrap());
        let (heard, commands) = mpsc::channel();
        std::thread::spawn(move || {
            let (mut to, _) = listener.accept().unwrap();
            let info = "{\"server_id\":\"x\",\"version\":\"2.10.0\",\"proto\":1,\"max_payload\":1048576,\
                        \"headers\":true}";
            to.write_all(format!("INFO {info}\r\n").as_bytes()).unwrap();
            for line in BufReader::new(to.try_clone().unwrap()).lines().map_while(Result::ok) {
                if line == "PING" {
                    to.write_all(b"PONG\r\n").unwrap();
                }
                if heard.send(line).is_err() {
                    break;
                }
            }
        });
        let target = NatsTarget { url, ..NatsTarget::default() };
        (Nats::connect(&target, &plumb_engine::Stop::new().unwrap()).unwrap(), commands)
    }

    #[test]
    fn what_nobody_reads_is_not_subscribed_to_any_more() {
        let (nats, commands) = server();
        let reader = NatsReader::of(nats.subscribe("x".into()).unwrap(), &nats.threads);
        let next = |word: &str| loop {
            let line = commands.recv_timeout(Duration::from_secs(30)).expect(word);
            if let Some(rest) = line.strip_prefix(word) {
                return rest.trim().to_owned();
            }
        };
        let subscribed = next("SUB ");
        drop(reader);
        let number = next("UNSUB ");
        assert!(subscribed.starts_with("x ") && subscribed.ends_with(&number), "{subscribed}");
    }
}
