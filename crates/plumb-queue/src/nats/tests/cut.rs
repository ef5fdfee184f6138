//! A connection that is cut before the server's acknowledgement comes through.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};

use super::*;

/// What stands in the acknowledgement of a published message.
const MARK: &[u8] = b"\"seq\":";

/// A way to the server that swallows the next acknowledgement once it is armed, and hangs up.
fn way(server: u16) -> (u16, Arc<AtomicBool>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let armed = Arc::new(AtomicBool::new(false));
    let cuts = Arc::clone(&armed);
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else { continue };
            let second = |stream: &TcpStream| stream.try_clone().unwrap();
            pass(second(&client), second(&server), Arc::default());
            pass(server, client, Arc::clone(&cuts));
        }
    });
    (port, armed)
}

fn pass(mut from: TcpStream, mut to: TcpStream, armed: Arc<AtomicBool>) {
    std::thread::spawn(move || {
        let mut bytes = [0; 65_536];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            let piece = &bytes[..count];
            let marked = piece.windows(MARK.len()).any(|window| window == MARK);
            if marked && armed.swap(false, Ordering::SeqCst) || to.write_all(piece).is_err() {
                break;
            }
        }
        // one of them may be closed already
        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
    });
}

#[test]
fn a_message_whose_acknowledgement_was_cut_off_is_there_once() {
    let Some(server) = Server::start() else { return };
    let (port, armed) = way(server.process.port);
    let target = Target { url: format!("nats://127.0.0.1:{port}"), ..server.target("q") };
    let limits = QueueLimits { bytes: 16 << 20, ..QueueLimits::default() };
    let lease = Span::from_ms(LEASE_MS);
    let queue = NatsQueue::open_at(&target, limits, lease, HeldClock::new()).unwrap();
    let sent = || Message { idempotency_key: Some("7".into()), ..message("orders", "1") };
    // the first message of a transaction makes its consumer, which is answered with "seq" as well
    accept(&queue, message("orders", "0")).unwrap();
    armed.store(true, Ordering::SeqCst);
    let refused = accept(&queue, sent()).unwrap_err();
    assert!(matches!(refused, QueueError::Store(_)), "{refused}");
    assert!(!armed.load(Ordering::SeqCst), "it was cut");
    let again = (0..10).find_map(|_| accept(&queue, sent()).ok()).unwrap();
    assert!(again.repeated, "the server had it");
    assert_eq!(bodies(&claim(&queue, 9)), ["0", "1"]);
}
