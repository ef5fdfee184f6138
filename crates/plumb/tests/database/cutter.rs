//! A way to a PostgreSQL that cuts connections at the end of a transaction.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// A way to the server that cuts a connection at the end of a transaction.
pub(crate) struct Cutter {
    pub(crate) address: String,
    /// The answer to the next COMMIT is swallowed, and its connection closed.
    pub(crate) after: Arc<AtomicBool>,
    /// The next COMMIT itself is.
    pub(crate) before: Arc<AtomicBool>,
    /// What would be cut stays open instead, and nothing passes it any more.
    pub(crate) holds: Arc<AtomicBool>,
}

impl Cutter {
    pub(crate) fn start(server: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound").to_string();
        let (after, before) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let holds = Arc::new(AtomicBool::new(false));
        let cutter = Self {
            address,
            after: Arc::clone(&after),
            before: Arc::clone(&before),
            holds: Arc::clone(&holds),
        };
        let server = server.to_owned();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(&server) else { continue };
                let pair = |stream: &TcpStream| stream.try_clone().expect("a second handle");
                let cut = |armed: &Arc<AtomicBool>| (Arc::clone(armed), Arc::clone(&holds));
                pass(pair(&client), pair(&server), b"COMMIT", cut(&before));
                pass(server, client, b"COMMIT\0", cut(&after));
            }
        });
        cutter
    }
}

/// Hands on what comes, up to a piece with `mark` in it once it is armed.
fn pass(
    mut from: TcpStream,
    mut to: TcpStream,
    mark: &'static [u8],
    (armed, holds): (Arc<AtomicBool>, Arc<AtomicBool>),
) {
    thread::spawn(move || {
        let mut bytes = [0; 65_536];
        let mut held = false;
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            let piece = &bytes[..count];
            let marked = piece.windows(mark.len()).any(|window| window == mark);
            let cut = marked && armed.swap(false, Ordering::SeqCst);
            held |= cut && holds.load(Ordering::SeqCst);
            if !held && (cut || to.write_all(piece).is_err()) {
                break;
            }
        }
        // one of them may be closed already
        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
    });
}
