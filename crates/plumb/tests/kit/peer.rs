//! Echo servers that misbehave at a moment of the test's choice.

use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use rustix::net::sockopt::set_socket_linger;

use super::PATIENCE;
use super::ni::{error, frame, read_frame};

/// What happens instead of the answer to a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Misdeed {
    /// The connection is closed.
    Close,
    /// The connection is reset.
    Reset,
    /// The connection is closed, and nobody listens any more.
    Leave,
    /// Nothing.
    Silence,
    /// One byte is another.
    Garble,
    /// An error message.
    Refuse,
    /// None: the test is told, and everything goes on.
    None,
}

/// An echo server on a thread of the test, for one connection at a time.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) address: String,
    reached: Receiver<()>,
}

impl Peer {
    /// Echoes `good` messages a connection, greeting included; then the misdeed.
    pub(crate) fn start(good: u32, misdeed: Misdeed) -> Self {
        let (address, listener) = listener();
        let (tell, reached) = mpsc::channel();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // a client that goes is no matter
                let _ = converse(stream, good, misdeed, &tell);
                if misdeed == Misdeed::Leave {
                    return;
                }
            }
        });
        Self { address, reached }
    }

    /// Waits until a connection has had its good messages.
    pub(crate) fn wait(&self) {
        self.reached.recv_timeout(PATIENCE).expect("the load goes on");
    }
}

fn converse(
    mut stream: TcpStream,
    good: u32,
    misdeed: Misdeed,
    tell: &Sender<()>,
) -> std::io::Result<()> {
    let mut echoed = 0;
    while let Some(mut payload) = read_frame(&mut stream)? {
        if echoed < good || misdeed == Misdeed::None {
            stream.write_all(&frame(&payload))?;
            echoed += 1;
            if echoed == good {
                let _ = tell.send(()); // a test that has ended wants to know nothing
            }
            continue;
        }
        match misdeed {
            Misdeed::Close | Misdeed::Leave => break,
            Misdeed::Reset => {
                set_socket_linger(&stream, Some(Duration::ZERO))?;
                break;
            }
            Misdeed::Silence | Misdeed::None => {}
            Misdeed::Garble => {
                payload[0] ^= 1;
                stream.write_all(&frame(&payload))?;
            }
            Misdeed::Refuse => stream.write_all(&frame(&error(-10, "enough")))?,
        }
    }
    Ok(())
}

/// An echo server that, after the first message of a connection, answers eight messages at once
/// when it has them all, and never fewer.
pub(crate) fn in_eights() -> String {
    let (address, listener) = listener();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            // a client that goes is no matter
            let _ = echo_in_eights(&mut stream);
        }
    });
    address
}

fn echo_in_eights(stream: &mut TcpStream) -> std::io::Result<()> {
    let mut at_once = 1;
    let mut answers = Vec::new();
    let mut held = 0;
    while let Some(payload) = read_frame(stream)? {
        answers.extend(frame(&payload));
        held += 1;
        if held == at_once {
            stream.write_all(&answers)?;
            answers.clear();
            (held, at_once) = (0, 8);
        }
    }
    Ok(())
}

/// A server that answers the first bytes of each client with `answer`, and closes.
pub(crate) fn answering(answer: &'static [u8]) -> String {
    let (address, listener) = listener();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            // a client that goes is no matter
            let _ = read_frame(&mut stream).and_then(|_| stream.write_all(answer));
        }
    });
    address
}

/// A server that takes connections and never answers.
pub(crate) fn silent() -> (String, TcpListener) {
    listener()
}

/// A port on which nobody listens, and which nobody else is given while these tests run: a
/// connection stands at it.
pub(crate) fn nobody() -> String {
    static HELD: Mutex<Vec<(TcpListener, TcpStream)>> = Mutex::new(Vec::new());
    let (address, listener) = listener();
    let stream = TcpStream::connect(address).expect("somebody listens there");
    let ours = stream.local_addr().expect("it is connected").to_string();
    HELD.lock().expect("nobody panics with it").push((listener, stream));
    ours
}

fn listener() -> (String, TcpListener) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
    let address = listener.local_addr().expect("it is bound").to_string();
    (address, listener)
}

/// A server that says `words` to whoever connects, and goes on listening; its address.
pub(crate) fn talking(words: &'static [u8]) -> String {
    let (address, listener) = listener();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.write_all(words); // a client that goes is no matter
            let _ = std::io::copy(&mut stream, &mut std::io::sink());
        }
    });
    address
}

/// An echo server that writes the length of an answer and its payload apart, with Nagle's
/// algorithm on; its address.
pub(crate) fn in_pieces() -> String {
    let (address, listener) = listener();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            while let Ok(Some(payload)) = read_frame(&mut stream) {
                let whole = frame(&payload);
                let (length, payload) = whole.split_at(4);
                // a client that goes is no matter
                if stream.write_all(length).and_then(|()| stream.write_all(payload)).is_err() {
                    break;
                }
            }
        }
    });
    address
}
